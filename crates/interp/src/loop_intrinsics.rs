//! Loop intrinsics (`vm::intrinsic`) where a step is not plain: the end of a map's batch, no room, tracing, no proper list. The frames
//! are those of `decode::loop_intrinsics`.

use crate::calls;
use crate::instr::{LIST_SLOTS, Op, PAIR_SLOTS};
use crate::machine::{Machine, target, wide};
use myriad_heap::RESERVED;
use myriad_term::Term;
use myriad_vm::code::Function;

/// Words of room that a step of `lists:map/2` wants: a frame or a cell, and what each call may push.
pub const MAP_ROOM: usize = LIST_SLOTS + RESERVED;

/// Are functions of the loop's module traced? Then its own code runs, so that the tracer sees its calls: from its entry on, the
/// next time it calls itself.
///
/// # Safety
/// The function of an instruction of a loop.
#[inline(always)]
pub unsafe fn is_traced(function: *const Function) -> bool {
    // SAFETY: the caller's promise; a loop is a function of a module, which is there as long as its code (code/K3).
    unsafe { (*(*function).module).is_traced() }
}

/// Calls the loop's function with its arguments in place, by its own code: through the entry where the call may be traced.
///
/// # Safety
/// `pc` is a step of a loop over a list.
unsafe fn leave(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let function = wide(pc.add(3)) as *const Function;
        if is_traced(function) { calls::enter(m, function) } else { target(pc.add(5)) }
    }
}

/// `foreach_1(F, Rest)` or `foldl_1(F, Acc, Rest)`.
pub unsafe fn leave_list(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the frame of the loop; what the instruction is.
    unsafe {
        let (rest, fun) = (*m.sp(), *m.sp().add(1));
        if m.op(pc) == Op::FoldStep {
            m.set_x(1, m.x(0));
            m.set_x(2, rest);
        } else {
            m.set_x(1, rest);
        }
        m.set_x(0, fun);
        m.drop_frame(8 * LIST_SLOTS);
        leave(m, pc)
    }
}

/// `[Result | map_1(F, Rest)]`, with `Result` in X0.
pub unsafe fn map_step(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    if m.heap().room() < MAP_ROOM {
        return m.collect_at(MAP_ROOM, 1, pc);
    }
    // SAFETY: the frame of the loop, which becomes that of its recursion: a word less; operands of the instruction.
    unsafe {
        let (rest, fun) = (*m.sp(), *m.sp().add(1));
        *m.sp().add(1) = m.x(0);
        m.drop_frame(8);
        m.push(target(pc.add(6)).cast());
        m.set_x(0, fun);
        m.set_x(1, rest);
        leave(m, pc)
    }
}

/// What is left of an iterator is no step, or a call of `next/1` must not be left out: calls it, unless that is the end.
pub unsafe fn call_next(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the frame of the loop; operands of the instruction.
    unsafe {
        let (rest, accumulator) = (*m.sp(), m.x(0));
        *m.sp().add(2) = accumulator;
        m.set_x(0, rest);
        m.push(target(pc.add(6)).cast());
        calls::enter(m, wide(pc.add(7)) as *const Function)
    }
}

/// `next/1` has returned a step or `none`.
pub unsafe fn pairs_next(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the frame of the loop; operands of the instruction.
    unsafe {
        let function = wide(pc.add(1)) as *const Function;
        let (step, fun, accumulator) = (m.x(0), *m.sp().add(1), *m.sp().add(2));
        if is_traced(function) {
            m.set_x(0, fun);
            m.set_x(1, accumulator);
            m.set_x(2, step);
            m.drop_frame(8 * PAIR_SLOTS);
            return calls::enter(m, function);
        }
        m.set_x(0, accumulator);
        if step.is_am(myriad_term::am::none) {
            m.drop_frame(8 * PAIR_SLOTS);
            return m.pop();
        }
        *m.sp() = step;
        *m.sp().add(2) = Term::NIL;
        target(pc.add(3))
    }
}
