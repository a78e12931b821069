//! Timers: what happens at a given monotonic time.

use crate::signal::{Parcel, Signal};
use crate::vm::Vm;
use myriad_sync::{LockClass, SpinLock};
use myriad_term::{Atom, Pid, RefNumbers};
use std::collections::{BTreeMap, HashMap};

static CLASS: LockClass = LockClass::new("timer_wheel", 650);

/// A timer, to cancel or read it: its wheel, and a number that is unique there.
///
/// A timer that has a reference takes its number from it ([`TimerId::of_reference`]), so that no table from references to
/// timers is needed; receive timers have numbers above all of those.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimerId {
    wheel: u32,
    serial: u64,
}

/// Receive timers' numbers begin here: no reference's value is so large.
const RECEIVE_TIMERS: u64 = 1 << 63;

impl TimerId {
    /// The timer of a reference that [`crate::scheduler::Local::next_ref`] made.
    pub fn of_reference(vm: &Vm, numbers: RefNumbers) -> TimerId {
        let serial = vm.ref_value(numbers);
        let maker = serial % vm.local_count() as u64;
        TimerId { wheel: (maker % vm.schedulers.len() as u64) as u32, serial }
    }
}

/// Where a timer's message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A process.
    Process(Pid),
    /// Whoever has the name then.
    Name(Atom),
}

/// What a timer does.
pub enum Action {
    /// The receive timer of a process, with its serial.
    Receive(Pid, u64),
    /// Sends a message.
    Message(Destination, Parcel),
    /// Runs on the scheduler's thread; short.
    Call(Box<dyn FnOnce(&'static Vm) + Send>),
}

#[derive(Default)]
struct Wheel {
    by_time: BTreeMap<(u64, u64), Action>,
    times: HashMap<u64, u64>,
    serial: u64,
}

/// All timers, a wheel for each scheduler.
pub struct Timers {
    wheels: Box<[SpinLock<Wheel>]>,
}

impl Timers {
    /// For `schedulers` schedulers.
    pub fn new(schedulers: usize) -> Timers {
        Timers { wheels: (0..schedulers).map(|_| SpinLock::new(&CLASS, Wheel::default())).collect() }
    }

    /// Sets the receive timer of a process for the machine's time `at_ns`, on the wheel of `scheduler`.
    pub fn set_receive(&self, vm: &'static Vm, scheduler: usize, at_ns: u64, pid: Pid, receive: u64) -> TimerId {
        let wheel = scheduler % self.wheels.len();
        let serial = {
            let mut w = self.wheels[wheel].lock();
            w.serial += 1;
            RECEIVE_TIMERS + w.serial
        };
        let id = TimerId { wheel: wheel as u32, serial };
        self.set(vm, id, at_ns, Action::Receive(pid, receive));
        id
    }

    /// Sets a timer for the machine's time `at_ns`.
    pub fn set(&self, vm: &'static Vm, id: TimerId, at_ns: u64, action: Action) {
        let wheel = id.wheel as usize;
        let earliest = {
            let mut w = self.wheels[wheel].lock();
            w.times.insert(id.serial, at_ns);
            w.by_time.insert((at_ns, id.serial), action);
            w.by_time.keys().next().is_some_and(|(t, s)| (*t, *s) == (at_ns, id.serial))
        };
        if earliest && crate::scheduler::current() != Some(wheel) {
            vm.machine.unpark(wheel);
        }
    }

    /// Takes a timer back; its time, if it had not fired and its receiver lives.
    pub fn cancel(&self, vm: &Vm, timer: TimerId) -> Option<u64> {
        let (at, action) = {
            let mut w = self.wheels[timer.wheel as usize].lock();
            let at = w.times.remove(&timer.serial)?;
            (at, w.by_time.remove(&(at, timer.serial))?)
        };
        action.has_receiver(vm).then_some(at)
    }

    /// The time at which a timer will fire, if it has not and its receiver lives.
    pub fn read(&self, vm: &Vm, timer: TimerId) -> Option<u64> {
        let w = self.wheels[timer.wheel as usize].lock();
        let at = *w.times.get(&timer.serial)?;
        w.by_time.get(&(at, timer.serial))?.has_receiver(vm).then_some(at)
    }

    /// Nanoseconds from `now_ns` to the next timer of a scheduler.
    pub fn next_in(&self, scheduler: usize, now_ns: u64) -> Option<u64> {
        let w = self.wheels.get(scheduler)?.lock();
        w.by_time.keys().next().map(|(at, _)| at.saturating_sub(now_ns))
    }

    /// Fires what is due on a scheduler's wheel.
    pub(crate) fn fire(&self, vm: &'static Vm, scheduler: usize, now_ns: u64) {
        let Some(wheel) = self.wheels.get(scheduler) else { return };
        loop {
            let due = {
                let mut w = wheel.lock();
                let Some(entry) = w.by_time.first_entry() else { return };
                if entry.key().0 > now_ns {
                    return;
                }
                let ((_, serial), action) = entry.remove_entry();
                w.times.remove(&serial);
                action
            };
            due.run(vm);
        }
    }
}

impl Action {
    /// A timer for a process that has ended is as one that has fired.
    fn has_receiver(&self, vm: &Vm) -> bool {
        match self {
            Action::Message(Destination::Process(pid), _) | Action::Receive(pid, _) => vm.processes.get(*pid).is_some(),
            _ => true,
        }
    }

    fn run(self, vm: &'static Vm) {
        match self {
            Action::Receive(pid, serial) => {
                vm.signal_pid(pid, Signal::ReceiveTimeout(serial));
            }
            Action::Message(to, parcel) => {
                let pid = match to {
                    Destination::Process(pid) => Some(pid),
                    Destination::Name(name) => match vm.names.whereis(name) {
                        Some(crate::registry::Named::Process(pid)) => Some(pid),
                        _ => None,
                    },
                };
                if let Some(pid) = pid {
                    vm.signal_pid(pid, Signal::Message(parcel.into_message()));
                }
            }
            Action::Call(f) => f(vm),
        }
    }
}
