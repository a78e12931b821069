//! Timers: what happens at a given monotonic time.

use crate::signal::{Parcel, Signal};
use crate::vm::Vm;
use myriad_sync::{LockClass, SpinLock};
use myriad_term::{Atom, Pid};
use std::collections::{BTreeMap, HashMap};

static CLASS: LockClass = LockClass::new("timer_wheel", 650);

/// A timer, to cancel or read it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimerId {
    wheel: u32,
    serial: u64,
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

    /// Sets a timer for monotonic time `at_ns`, on the wheel of `scheduler` (any other thread gives any).
    pub fn set(&self, vm: &'static Vm, scheduler: usize, at_ns: u64, action: Action) -> TimerId {
        let wheel = scheduler % self.wheels.len();
        let (serial, earliest) = {
            let mut w = self.wheels[wheel].lock();
            w.serial += 1;
            let serial = w.serial;
            w.times.insert(serial, at_ns);
            w.by_time.insert((at_ns, serial), action);
            (serial, w.by_time.keys().next().is_some_and(|(t, s)| (*t, *s) == (at_ns, serial)))
        };
        if earliest && crate::scheduler::current() != Some(wheel) {
            vm.machine.unpark(wheel);
        }
        TimerId { wheel: wheel as u32, serial }
    }

    /// Takes a timer back; its time, if it had not fired.
    pub fn cancel(&self, timer: TimerId) -> Option<u64> {
        let mut w = self.wheels[timer.wheel as usize].lock();
        let at = w.times.remove(&timer.serial)?;
        w.by_time.remove(&(at, timer.serial));
        Some(at)
    }

    /// The time at which a timer will fire, if it has not.
    pub fn read(&self, timer: TimerId) -> Option<u64> {
        self.wheels[timer.wheel as usize].lock().times.get(&timer.serial).copied()
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
