//! The offset between Erlang's clocks: following the operating system's clock, and messages to the processes that monitor it.

use crate::Signal;
use crate::timer::Action;
use crate::vm::Vm;
use myriad_sched::WarpMode;
use myriad_sched::clock::{CHECK_NS, LEAST_CHANGE_NS};
use myriad_term::Atom;

impl Vm {
    /// Finalizes the time offset if it still can be; gives the state that it had before.
    pub fn finalize_time_offset(&'static self) -> Atom {
        let (before, finalized) = self.clock.finalize(self.platform.as_ref());
        if finalized {
            self.tell_time_offset();
        }
        before
    }

    /// Sends the offset to all processes that monitor the clock service.
    fn tell_time_offset(&'static self) {
        let offset_ns = self.clock.offset_ns();
        for (reference, pid) in self.clock.watchers() {
            self.signal_pid(pid, Signal::TimeOffset { reference, offset_ns });
        }
    }

    /// Begins to compare the offset with the operating system's clock from time to time, if it may change at any time.
    pub(crate) fn follow_system_clock(&'static self) {
        if self.clock.mode() == WarpMode::Multi {
            let check = |vm: &'static Vm| {
                if vm.clock.follow(vm.platform.as_ref(), LEAST_CHANGE_NS) {
                    vm.tell_time_offset();
                }
                vm.follow_system_clock();
            };
            let at = self.platform.now_ns().saturating_add(CHECK_NS);
            self.set_timer(self.timers.reserve(0), at, Action::Call(Box::new(check)));
        }
    }
}
