//! Calls of built-in functions.

use super::emit::Emitter;
use super::operands::{At, frame_bytes};
use crate::instr::{NO_CONTINUATION, Op};
use myriad_beam::{MIXED, always_raises};
use myriad_term::am;
use myriad_vm::bif::BifDef;

/// Words of a message that are sent as they were built, at most.
const MOST_BUILT: u32 = 0xffff;

/// A call of a built-in: `last` = Y registers to drop, in tail position.
pub(super) fn call_bif(e: &mut Emitter, def: &'static BifDef, arity: u32, last: Option<u32>) {
    e.op(if last.is_some() { Op::CallBifLast } else { Op::CallBif }, arity);
    e.wide(std::ptr::from_ref(def) as u64);
    match last {
        Some(slots) => {
            e.word(frame_bytes(slots));
            return_to_caller(e, slots);
        }
        // Compilers share such a call between places with different frames: there is no one record to return by.
        None if e.frame == MIXED && def.module == "erlang" && always_raises(def.function, def.arity) => {
            e.word(NO_CONTINUATION);
        }
        None => e.continuation(1),
    }
}

/// In front of a call that sends a message that is on top of the heap.
pub(super) fn send_built(e: &mut Emitter, at: &At<'_>) {
    if let Some(message) = at.message.filter(|message| message.words <= MOST_BUILT) {
        e.op(Op::SendBuilt, message.words);
        e.word(message.is_dead.into());
    }
}

/// Where the call of a built-in in tail position returns to if it is traced: the frame stays until then.
pub(super) fn return_to_caller(e: &mut Emitter, slots: u32) {
    e.continuation(1);
    e.op(Op::DeallocateReturn, frame_bytes(slots));
}

/// The function of the table that OTP's loader knows by this name.
pub(super) fn named_bif(e: &Emitter, function: myriad_term::Atom, arity: u8) -> Option<&'static BifDef> {
    e.vm.bifs.bif(crate::machine::mfa(am::erlang, function, arity))
}
