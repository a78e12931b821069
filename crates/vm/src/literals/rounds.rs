//! The rounds in which literals go, as their collector leads them.

use crate::bif::{BifResult, Escape};
use crate::ctx::Ctx;
use crate::runtime::Signal;
use crate::vm::Vm;
use myriad_heap::{LiteralArea, Payload, shared};
use myriad_process::Message;
use myriad_term::{Pid, Term, am};

impl Vm {
    /// Nobody can get at the terms of this area any more who does not refer to them already: it is to go.
    pub fn release_literals(&'static self, area: LiteralArea) {
        if area.size_words() == 0 {
            return;
        }
        if let Some(collector) = self.literals.wait(area) {
            self.have_round(collector);
        }
    }

    /// Has the collector see to areas that bundles counted, and no longer do.
    pub(crate) fn look_for_left_literals(&'static self, now_ns: u64) {
        if let Some(collector) = self.literals.leader_of_left(now_ns) {
            self.have_round(collector);
        }
    }

    fn have_round(&'static self, collector: Pid) {
        let message = Message::new(Payload::immediate(Term::atom(am::copy_literals)), Term::NONE);
        self.signal_pid(collector, Signal::Message(message));
    }
}

impl Ctx<'_> {
    /// `erts_literal_area_collector:release_area_switch()`: no process refers to the areas of the last round any more. Is there
    /// another round?
    pub fn switch_literals(&mut self) -> BifResult {
        let (vm, pid) = (self.vm, self.pid());
        if self.state.retry_state.is_some() {
            // Called again: all have made progress, or this was another signal.
            if vm.literals.is_announced() {
                return Err(Escape::Wait);
            }
            self.state.retry_state = Term::NONE;
            if !vm.literals.is_for_nobody() {
                return Ok(Term::TRUE);
            }
        }
        let (gone, another) = vm.literals.next_round();
        if !gone.is_empty() {
            self.sched.slot.retire(move || {
                if shared::is_on() {
                    gone.into_iter().for_each(shared::release);
                } else {
                    drop(gone);
                }
            });
        }
        if !another {
            return Ok(Term::FALSE);
        }
        self.state.retry_state = Term::TRUE;
        self.sched.slot.retire(move || {
            vm.literals.ask();
            vm.signal_pid(pid, Signal::Call(Box::new(|_| {})));
        });
        Err(Escape::Wait)
    }
}
