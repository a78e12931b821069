//! Looking at messages, and waiting for one (`crate::receive` has the rest).

use super::state::State;
use crate::machine::{Machine, target};
use crate::receive;
use myriad_process::message::Found;
use myriad_term::Term;
use myriad_vm::engine::SliceEnd;

super::instructions! {
    LoopRec(s) {
        if (*(*s.m).heap).needs_collection() {
            return s.slow(receive::loop_rec);
        }
        match (*s.m).ctx.state.messages.look() {
            Found::Term(term) => {
                // The message stays in the queue, or its words join the heap, for as long as the code looks at it.
                *s.x = term.assume_held();
                s.next(2)
            }
            Found::Nothing if !(*s.m).ctx.has_signals() => s.jump(1),
            Found::Nothing | Found::Movable => s.slow(receive::loop_rec),
        }
    }

    Wait(s) {
        if (*s.m).ctx.has_signals() || (*s.m).ctx.has_tasks() {
            return s.slow(receive::wait);
        }
        s.save();
        let again = target(s.pc.add(1));
        s.m().stop_without_registers(SliceEnd::Waiting, again);
        (*s.m).next = std::ptr::null();
    }
}
