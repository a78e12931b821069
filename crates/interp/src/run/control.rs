//! Calls, returns, jumps, selections, `try`.

use super::state::{State, make_room};
use crate::calls;
use crate::errors;
use crate::machine::{Machine, short, target, wide};
use myriad_term::Term;

super::instructions! {
    Call(s) {
        s.push(1);
        s.enter(s.function(2))
    }

    CallLast(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.enter(s.function(1))
    }

    CallOnly(s) { s.enter(s.function(1)) }

    CallExt(s) {
        s.push(1);
        s.enter(s.export(2))
    }

    CallExtLast(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.enter(s.export(1))
    }

    CallExtOnly(s) { s.enter(s.export(1)) }

    MoveCall(s) {
        *s.x = *s.from(s.high());
        s.push(1);
        s.enter(s.function(2))
    }

    MoveCallLast(s) {
        *s.x = *s.from(s.high());
        s.sp = s.sp.byte_add(*s.pc.add(1) as usize);
        s.enter(s.function(2))
    }

    MoveCallOnly(s) {
        *s.x = *s.from(s.high());
        s.enter(s.function(1))
    }

    TrimCall(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.push(1);
        s.enter(s.function(2))
    }

    SwapCall(s) {
        std::ptr::swap(s.both(s.high()), s.both(s.low(1)));
        s.push(2);
        s.enter(s.function(3))
    }

    SwapXYCall(s) {
        std::ptr::swap(s.x_at(s.high()), s.y_at(s.low(1)));
        s.push(2);
        s.enter(s.function(3))
    }

    MoveKCall(s) {
        *s.x_at(s.high()) = short(s.pc.add(1));
        s.push(2);
        s.enter(s.function(3))
    }

    MoveKCallOnly(s) {
        *s.x_at(s.high()) = short(s.pc.add(1));
        s.enter(s.function(2))
    }

    Return(s) { s.ret() }

    MoveReturn(s) {
        *s.x = *s.from(s.high());
        s.ret()
    }

    MoveKReturn(s) {
        *s.x = short(s.pc.add(1));
        s.ret()
    }

    MoveCReturn(s) {
        *s.x = Term::from_raw(wide(s.pc.add(1)));
        s.ret()
    }

    DeallocateReturn(s) {
        s.sp = s.sp.byte_add(s.high() as usize);
        s.ret()
    }

    MoveDeallocateReturn(s) {
        *s.x = *s.from(s.high());
        s.sp = s.sp.byte_add(*s.pc.add(1) as usize);
        s.ret()
    }

    AllocateMoveCall(s) {
        if s.lacks() {
            return s.slow(make_room);
        }
        s.small_frame();
        s.move_pair(3);
        s.push(4);
        s.enter(s.function(5))
    }

    Jump(s) { s.jump(1) }

    SelectTable(s) {
        let value = *s.from(s.high());
        let index = value.small_value().wrapping_sub(i64::from(*s.pc.add(3) as i32)) as u64;
        if value.is_small() && index < u64::from(*s.pc.add(2)) {
            s.pc = target(s.pc.add(4 + index as usize));
            return s.go();
        }
        s.jump(1)
    }

    SelectLinear(s) {
        let value = *s.from(s.high());
        let mut at = s.pc.add(3);
        let end = at.add(2 * *s.pc.add(2) as usize);
        s.pc = loop {
            if at == end {
                break target(s.pc.add(1));
            }
            if value.is(short(at)) {
                break target(at.add(1));
            }
            at = at.add(2);
        };
        s.go()
    }

    SelectBinary(s) {
        let value = (*s.from(s.high())).raw() as i64;
        let table = s.pc.add(3);
        let (mut from, mut to) = (0, *s.pc.add(2) as usize);
        s.pc = loop {
            if from >= to {
                break target(s.pc.add(1));
            }
            let middle = (from + to) / 2;
            let key = i64::from(*table.add(2 * middle) as i32);
            if key == value {
                break target(table.add(2 * middle + 1));
            }
            if key < value {
                from = middle + 1;
            } else {
                to = middle;
            }
        };
        s.go()
    }

    SelectArity(s) {
        let tuple = *s.from(s.high());
        let mut at = s.pc.add(3);
        let end = at.add(2 * *s.pc.add(2) as usize);
        let header = if tuple.is_boxed() { *tuple.boxed_ptr() } else { 0 };
        s.pc = loop {
            if at == end {
                break target(s.pc.add(1));
            }
            if header == u64::from(*at) {
                break target(at.add(1));
            }
            at = at.add(2);
        };
        s.go()
    }

    Try(s) {
        *s.y_at(s.high()) = Term::catch(target(s.pc.add(1)) as u64);
        s.next(2)
    }

    TryEnd(s) {
        *s.y_at(s.high()) = Term::NIL;
        s.next(1)
    }

    TryCase(s) {
        if !(*s.x).is_none() {
            // Behind a call that was not to return.
            return s.slow(errors::unreachable_code);
        }
        *s.y_at(s.high()) = Term::NIL;
        *s.x = *s.x.add(1);
        *s.x.add(1) = *s.x.add(2);
        *s.x.add(2) = *s.x.add(3);
        s.next(1)
    }

    CallFun(s) {
        let function = s.local_fun(s.operand(2));
        if function.is_null() {
            return s.slow(calls::call_fun);
        }
        s.push(1);
        s.enter(function)
    }

    CallFunLast(s) {
        let function = s.local_fun(s.operand(2));
        if function.is_null() {
            return s.slow(calls::call_fun_last);
        }
        s.sp = s.sp.byte_add(*s.pc.add(1) as usize);
        s.enter(function)
    }
}
