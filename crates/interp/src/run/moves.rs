//! Moves between registers, stack frames, room on the heap.

use super::state::{State, make_room};
use crate::machine::{Machine, short, wide};
use myriad_term::Term;

super::instructions! {
    MoveXX(s) {
        *s.x_at(s.high()) = *s.x_at(s.low(1));
        s.next(2)
    }

    MoveXY(s) {
        *s.y_at(s.high()) = *s.x_at(s.low(1));
        s.next(2)
    }

    MoveYX(s) {
        *s.x_at(s.high()) = *s.y_at(s.low(1));
        s.next(2)
    }

    MoveRR(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        s.next(2)
    }

    MoveKX(s) {
        *s.x_at(s.high()) = short(s.pc.add(1));
        s.next(2)
    }

    MoveKY(s) {
        *s.y_at(s.high()) = short(s.pc.add(1));
        s.next(2)
    }

    MoveC(s) {
        *s.to(s.high()) = Term::from_raw(wide(s.pc.add(1)));
        s.next(3)
    }

    MoveRK(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        *s.to(s.upper(1)) = short(s.pc.add(2));
        s.next(3)
    }

    MoveKK(s) {
        *s.to(s.high()) = short(s.pc.add(1));
        *s.to(s.low(2)) = short(s.pc.add(3));
        s.next(4)
    }

    Move2(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        *s.to(s.upper(1)) = *s.from(s.low(2));
        s.next(3)
    }

    Move3(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        *s.to(s.upper(1)) = *s.from(s.low(2));
        *s.to(s.upper(2)) = *s.from(s.low(3));
        s.next(4)
    }

    Move4(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        *s.to(s.upper(1)) = *s.from(s.low(2));
        *s.to(s.upper(2)) = *s.from(s.low(3));
        *s.to(s.upper(3)) = *s.from(s.low(4));
        s.next(5)
    }

    Move5(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        *s.to(s.upper(1)) = *s.from(s.low(2));
        *s.to(s.upper(2)) = *s.from(s.low(3));
        *s.to(s.upper(3)) = *s.from(s.low(4));
        *s.to(s.upper(4)) = *s.from(s.low(5));
        s.next(6)
    }

    Move6(s) {
        *s.to(s.high()) = *s.from(s.low(1));
        *s.to(s.upper(1)) = *s.from(s.low(2));
        *s.to(s.upper(2)) = *s.from(s.low(3));
        *s.to(s.upper(3)) = *s.from(s.low(4));
        *s.to(s.upper(4)) = *s.from(s.low(5));
        *s.to(s.upper(5)) = *s.from(s.low(6));
        s.next(7)
    }

    Swap(s) {
        std::ptr::swap(s.both(s.high()), s.both(s.low(1)));
        s.next(2)
    }

    SwapXY(s) {
        std::ptr::swap(s.x_at(s.high()), s.y_at(s.low(1)));
        s.next(2)
    }

    Deallocate(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.next(1)
    }

    Trim(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.next(1)
    }

    Allocate0(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.next(2)
    }

    Allocate1(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.sp = s.sp.sub(1);
        *s.sp = Term::NIL;
        s.next(2)
    }

    Allocate2(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.sp = s.sp.sub(2);
        *s.sp = Term::NIL;
        *s.sp.add(1) = Term::NIL;
        s.next(2)
    }

    Allocate3(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.sp = s.sp.sub(3);
        *s.sp = Term::NIL;
        *s.sp.add(1) = Term::NIL;
        *s.sp.add(2) = Term::NIL;
        s.next(2)
    }

    Allocate(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        // At least four words: in pairs from the top, the last ones perhaps twice.
        let old = s.sp;
        s.sp = s.sp.byte_sub(*s.pc.add(2) as usize);
        *s.sp = Term::NIL;
        *s.sp.add(1) = Term::NIL;
        *s.sp.add(2) = Term::NIL;
        *s.sp.add(3) = Term::NIL;
        let mut at = s.sp.add(4);
        while at < old {
            *at = Term::NIL;
            at = at.add(1);
        }
        s.next(3)
    }

    TestHeap(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.next(2)
    }

    AllocateMove1(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.next(4)
    }

    AllocateMove2(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.move_pair(4);
        s.next(5)
    }

    AllocateMove3(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.move_pair(4);
        s.move_pair(5);
        s.next(6)
    }

    InitY(s) {
        let first = s.y_at(s.high());
        for i in 0..*s.pc.add(1) as usize {
            *first.add(i) = Term::NIL;
        }
        s.next(2)
    }
}
