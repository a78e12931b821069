//! Sends of messages that are on top of the heap, where they were built (beam.messages/MS2).
//!
//! The instruction stands in front of the call that sends. What it does is all that this call would do where the receiver is a process of this node and nobody
//! watches; everywhere else it does nothing, and the call finds the message on the heap.

use crate::machine::{Machine, high};
use crate::{bifs, costs};
use myriad_process::CodePtr;
use myriad_term::{Term, am};
use myriad_vm::Resume;

/// Words of the instruction.
const WORDS: usize = 2;

/// Sends the message, and goes on behind the call; or goes on with the call.
pub unsafe fn built(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the call is behind the instruction; the operands of both.
    let (call, words, is_dead, arity) =
        unsafe { (pc.add(WORDS), high(pc) as usize, *pc.add(1) != 0, high(pc.add(WORDS))) };
    let (to, message) = (m.x(0), m.x(1));
    let has_options = arity == 3;
    if m.ctx.vm.switches.hooked() || has_options && !are_without_effect(m.x(2)) {
        return call;
    }
    m.leave();
    m.ctx.state.resume = Resume::inside(CodePtr(call));
    let forgone = m.ctx.state.reductions.forgone();
    // SAFETY: beam.messages/MS2, which the decoder has found to hold here.
    if !unsafe { m.ctx.send_built(to, message, words) } {
        return call;
    }
    let left = m.reds;
    m.come_back();
    // SAFETY: the call, which is of a built-in.
    if let Some((def, _)) = unsafe { bifs::called(m, call) } {
        costs::called(def, left - m.reds - (m.ctx.state.reductions.forgone() - forgone));
    }
    m.reds -= 1;
    if is_dead {
        // SAFETY: beam.messages/MS2: nothing that is looked at leads there, as X registers are lost.
        unsafe { m.heap().give_up(words) };
    }
    let result = match (has_options, is_dead) {
        (true, _) => Term::OK,
        // Nobody reads it, but a collection may look at the register.
        (false, true) => Term::NIL,
        (false, false) => message,
    };
    m.set_x(0, result);
    // SAFETY: the call.
    let next = unsafe { bifs::deliver(m, call) };
    if m.heap().needs_collection() { m.collect_at(0, 1, next) } else { next }
}

/// Are these options of `erlang:send/3` that say nothing about a process of this node?
fn are_without_effect(options: Term) -> bool {
    let known = |option: Term| option.is(Term::atom(am::noconnect)) || option.is(Term::atom(am::nosuspend));
    let mut left = options;
    while let Some((option, rest)) = left.as_cons() {
        if !known(option) {
            return false;
        }
        left = rest;
    }
    left.is_nil()
}
