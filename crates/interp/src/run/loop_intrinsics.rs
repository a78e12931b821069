//! Steps of loop intrinsics (`vm::intrinsic`): from the return of the fun to its next call.

use super::state::{State, make_room};
use crate::instr::LIST_SLOTS;
use crate::machine::{Machine, SlowOp};
use crate::{calls, loop_intrinsics};
use myriad_term::boxed::Header;
use myriad_term::{Kind, Term};

/// Header of a step of an iterator over a map.
const PAIR_AND_REST: u64 = Header::new(Kind::Tuple, 3).raw();

/// Carriage return, which is one cluster with a line feed.
const CR: i64 = 13;

/// Is a small integer a character of Latin-1?
#[inline(always)]
fn is_latin1(small: Term) -> bool {
    (0..256).contains(&small.small_value())
}

super::instructions! {
    // What it goes through is the last argument, the accumulator, if there is one, that before it.
    EnterLoop(s) {
        let last = s.high() as usize - 1;
        let rest = *s.x.add(last);
        if rest.is_immediate() || s.loop_is_traced() {
            return s.jump(5);
        }
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        *s.sp = rest;
        *s.sp.add(1) = *s.x;
        if last == 2 {
            *s.x = *s.x.add(1);
        }
        s.next(6)
    }

    FirstChar(s) {
        let text = *s.x;
        if !text.is_cons() {
            return s.next(4);
        }
        if (*text.cell()).is_small() && !loop_intrinsics::is_traced(s.function(1)) {
            return s.ret();
        }
        s.jump(3)
    }

    // A character of Latin-1 before another one or alone. Other characters, and binaries, are for the native intrinsic.
    FirstCluster(s) {
        let text = *s.x;
        if !text.is_cons() {
            return s.next(4);
        }
        let (first, rest) = (*text.cell(), *text.cell().add(1));
        let second = if rest.is_cons() { *rest.cell() } else { first };
        if !first.is_small() || !second.is_small() || !rest.is_list() || loop_intrinsics::is_traced(s.function(1)) {
            return s.jump(3);
        }
        if is_latin1(first) && is_latin1(second) && first.small_value() != CR {
            return s.ret();
        }
        s.next(4)
    }

    EachStep(s) { s.list_step(false) }

    FoldStep(s) { s.list_step(true) }

    // The frame becomes one of the result, waiting for the rest of the list, and a new one stands before it.
    MapStep(s) {
        let (rest, fun) = (*s.sp, *s.sp.add(1));
        let room = (s.sp as usize).wrapping_sub(s.htop as usize);
        if room < 8 * loop_intrinsics::MAP_ROOM || s.loop_is_traced() {
            return s.slow(loop_intrinsics::map_step);
        }
        if !rest.is_cons() {
            let last = s.htop.cast::<Term>();
            if rest.is_nil() {
                *last = *s.x;
                *last.add(1) = Term::NIL;
                *s.x = Term::from_cell(last);
                s.htop = s.htop.add(2);
            }
            return s.end_of_loop(rest, loop_intrinsics::map_step);
        }
        let cell = rest.cell();
        *s.sp.add(1) = *s.x;
        *s.x = *cell;
        s.sp = s.sp.add(1);
        s.push(6);
        s.sp = s.sp.sub(2);
        *s.sp.add(1) = fun;
        *s.sp = *cell.add(1);
        s.call_of_loop(1)
    }

    FoldPairsStep(s) {
        let rest = *s.sp;
        if !rest.is_boxed() || *rest.boxed_ptr() != PAIR_AND_REST || s.loop_is_traced() {
            return s.slow(loop_intrinsics::call_next);
        }
        let step = rest.boxed_ptr().cast::<Term>();
        *s.x.add(2) = *s.x;
        *s.x = *step.add(1);
        *s.x.add(1) = *step.add(2);
        *s.sp = *step.add(3);
        s.call_of_loop(2)
    }
}

/// # Safety
/// As of all of [`State`]'s; the instruction at hand is one of a loop, whose frame is on top.
#[allow(unsafe_op_in_unsafe_fn, clippy::missing_safety_doc, reason = "one contract for all, stated above")]
impl<const SOURCES: u8, const DESTINATIONS: u8> State<SOURCES, DESTINATIONS> {
    /// Are functions of the loop's module traced?
    #[inline(always)]
    unsafe fn loop_is_traced(self) -> bool {
        loop_intrinsics::is_traced(self.function(3))
    }

    /// A step of a loop over a list that `folds` it, or only calls.
    #[inline(always)]
    unsafe fn list_step(self, folds: bool) {
        let rest = *self.sp;
        if self.loop_is_traced() {
            return self.slow(loop_intrinsics::leave_list);
        }
        if !rest.is_cons() {
            if !folds {
                *self.x = Term::OK;
            }
            return self.end_of_loop(rest, loop_intrinsics::leave_list);
        }
        if folds {
            *self.x.add(1) = *self.x;
        }
        let cell = rest.cell();
        *self.x = *cell;
        *self.sp = *cell.add(1);
        self.call_of_loop(1)
    }

    /// Returns what is in X0, unless the list ends otherwise.
    #[inline(always)]
    unsafe fn end_of_loop(mut self, rest: Term, otherwise: SlowOp) {
        if !rest.is_nil() {
            return self.slow(otherwise);
        }
        self.sp = self.sp.add(LIST_SLOTS);
        self.ret()
    }

    /// Calls the fun on the arguments in place. The step counts as `calls` calls more: the loop's of itself, that of `next/1`.
    #[inline(always)]
    unsafe fn call_of_loop(mut self, calls: i32) {
        (*self.m).reds -= calls;
        let function = self.local_fun(*self.sp.add(1));
        if function.is_null() {
            return self.slow(calls::call_fun);
        }
        self.push(1);
        self.enter(function)
    }
}
