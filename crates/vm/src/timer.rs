//! Timers of a VM: setting one, and what it does when it is due. The wheels are in crate `sched`.
//!
//! A timer that is to send a message to a process is taken back when that process ends; one to a name stays, and finds out which process
//! has the name when it fires.

use crate::vm::Vm;
use crate::{Process, Signal};
use myriad_heap::meter::{self, Work};
use myriad_process::{Message, Named, Payload, TimerId};
use myriad_sched::Destination;
use myriad_term::{Pid, Term};

/// What a timer does.
pub type Action = myriad_sched::Action<Vm>;

impl Vm {
    /// Sets the receive timer of a process for the platform's time `at_ns`, on the wheel of `scheduler`.
    pub fn set_receive_timer(&'static self, scheduler: usize, at_ns: u64, pid: Pid) -> TimerId {
        let (id, sooner) = self.timers.set_receive(scheduler, at_ns, pid);
        self.note_set(id, sooner);
        id
    }

    fn note_set(&self, id: TimerId, sooner: bool) {
        if sooner && myriad_sched::current() != Some(id.wheel()) {
            self.platform.unpark(id.wheel());
        }
    }

    /// Sets a reserved timer for the platform's time `at_ns`. One for a process that has ended is taken back again.
    pub fn set_timer(&'static self, id: TimerId, at_ns: u64, action: Action) {
        meter::count(Work::Timer, 1);
        let owner = action.owner();
        let receiver = owner.and_then(|pid| self.processes.get(pid));
        if let Some(process) = receiver {
            process.note_timer_on(id.wheel());
        }
        let sooner = self.timers.set(id, at_ns, action);
        if owner.is_some() && receiver.is_none_or(Process::must_take_back) {
            self.timers.cancel(id);
        } else {
            self.note_set(id, sooner);
        }
    }

    /// Fires what is due on a scheduler's wheel, until about `reductions` are spent. `false`: more may be due.
    pub(crate) fn fire_timers(&'static self, scheduler: usize, now_ns: u64, reductions: u32) -> bool {
        self.timers.fire(scheduler, now_ns, reductions, |action| self.do_action(action))
    }

    fn do_action(&'static self, action: Action) {
        match action {
            Action::Receive(pid, id) => {
                self.signal_pid(pid, Signal::ReceiveTimeout(id));
            }
            Action::Message(to, payload) => self.send_from_timer(to, payload),
            Action::Call(f) => f(self),
        }
    }

    fn send_from_timer(&'static self, to: Destination, payload: Payload) {
        let pid = match to {
            Destination::Process(pid) => Some(pid),
            Destination::Name(name) => match self.names.whereis(name) {
                Some(Named::Process(pid)) => Some(pid),
                _ => None,
            },
        };
        if let Some(pid) = pid {
            self.signal_pid(pid, Signal::Message(Message::new(payload, Term::NONE)));
        }
    }
}
