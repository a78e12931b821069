//! What stands before the code of a loop intrinsic (`vm::intrinsic`): the first step, a continuation record, and the step that the
//! fun's return leads to. A step runs one iteration. One that finds no element, or that a tracer must see, leads to the
//! function's own code, behind all this.
//!
//! For a step over a text it is one instruction; the native intrinsic of the function, if it has one, stands behind that.
//!
//! The frame is the loop's own: Y0 is what is left to go through, Y1 the fun, and in a fold over a map Y2 keeps the accumulator
//! while `next/1` runs.

use super::emit::{Emitter, Unfit};
use super::operands::{At, frame_bytes};
use crate::instr::{LIST_SLOTS, Op, PAIR_SLOTS};
use myriad_beam::Op as Generic;
use myriad_heap::RESERVED;
use myriad_term::{Mfa, am};
use myriad_vm::code::Function;
use myriad_vm::intrinsic::Loop;

/// Labels that no function has.
pub(super) const OWN_CODE: u32 = u32::MAX;
const STEP: u32 = u32::MAX - 1;

/// X0, Y0 and Y1 as operands.
const X0: u32 = 0;
const Y0: u32 = 1;
const Y1: u32 = 9;

/// The code before that of `function`, which [`OWN_CODE`] is to lead to and whose instructions are `list`; nothing if they are no
/// such loop.
pub(super) fn translate(
    e: &mut Emitter,
    function: &'static Function,
    shape: Loop,
    list: &[At<'_>],
) -> Result<(), Unfit> {
    if let Loop::Char | Loop::Cluster = shape {
        e.place(0, 0);
        e.op(if shape == Loop::Char { Op::FirstChar } else { Op::FirstCluster }, 0);
        e.wide(std::ptr::from_ref(function) as u64);
        e.label(OWN_CODE);
        return Ok(());
    }
    let fun_call = list.iter().find(|at| matches!(at.op, Generic::CallFun | Generic::CallFun2));
    let call = list.iter().find(|at| matches!(at.op, Generic::Call | Generic::CallLast));
    let (Some(fun_call), Some(call)) = (fun_call, call) else { return Ok(()) };
    let slots = if shape == Loop::FoldPairs { PAIR_SLOTS } else { LIST_SLOTS } as u32;
    e.place(0, 0);
    e.op(Op::EnterLoop, shape.arity().into());
    e.word(8 * (slots + RESERVED as u32));
    e.word(frame_bytes(slots));
    e.wide(std::ptr::from_ref(function) as u64);
    e.label(OWN_CODE);
    e.place(fun_call.line, slots);
    let returned = e.announce(fun_call.line, slots, fun_call.index as u32);
    let step = |e: &mut Emitter, op: Op| {
        e.op(op, shape.fun_arity().into());
        e.lead_to(returned);
        e.word(Y1);
        e.wide(std::ptr::from_ref(function) as u64);
        e.label(OWN_CODE);
    };
    match shape {
        Loop::Each | Loop::Fold => {
            let op = if shape == Loop::Each { Op::EachStep } else { Op::FoldStep };
            step(e, op);
            e.return_here(returned);
            step(e, op);
        }
        Loop::Map => {
            step(e, Op::EachStep);
            e.return_here(returned);
            step(e, Op::MapStep);
            let joined = e.announce(call.line, 1, call.index as u32);
            e.lead_to(joined);
            e.return_here(joined);
            e.place(call.line, 1);
            e.op(Op::HeapPutListReturn, 1);
            e.word(8 * (2 + RESERVED as u32));
            e.word(frame_bytes(1));
            e.pair(Y0, X0);
        }
        Loop::FoldPairs => {
            let next = Mfa { module: function.mfa.module, function: am::next, arity: 1 };
            let next = e.module.functions.iter().find(|f| f.mfa == next).ok_or(Unfit)?;
            let stepped = e.announce(call.line, slots, call.index as u32);
            let step = |e: &mut Emitter| {
                step(e, Op::FoldPairsStep);
                e.lead_to(stepped);
                e.wide(std::ptr::from_ref(next) as u64);
            };
            step(e);
            e.return_here(returned);
            e.define(STEP);
            step(e);
            e.return_here(stepped);
            e.op(Op::FoldPairsNext, 0);
            e.wide(std::ptr::from_ref(function) as u64);
            e.label(STEP);
        }
        Loop::Char | Loop::Cluster => {}
    }
    Ok(())
}
