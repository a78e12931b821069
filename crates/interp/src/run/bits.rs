//! Matching of bit strings of whole bytes or of few bits; all else is out of line.

use super::state::{CONTEXT, State, peek_bits};
use crate::bits;
use crate::machine::Machine;
use crate::matching;
use myriad_term::Term;

super::instructions! {
    BsStart(s) {
        let t = s.operand(1);
        if t.is_boxed() && *t.boxed_ptr() == CONTEXT {
            *s.to(s.high()) = t;
            return s.next(4);
        }
        s.slow(matching::start)
    }

    BsGetFixed(s) {
        let (w1, n) = (*s.pc.add(1), *s.pc.add(4) as usize);
        if let Some((object, position, end)) = s.context() {
            if position + n > end {
                return s.jump(2);
            }
            if let Some(value) = peek_bits(object, position, n) {
                let value = if w1 >> 16 != 0 { bits::sign_extend(value, n) } else { value as i64 };
                *object.add(2) = ((position + n) << 3) as u64;
                *s.to(w1 & 0xffff) = Term::small(value);
                return s.next(5);
            }
        }
        s.slow(matching::get_fixed)
    }

    BsTestUnit(s) {
        if let Some((_, position, end)) = s.context() {
            let (left, unit) = (end - position, *s.pc.add(2) as usize);
            let whole = if unit == 8 { left % 8 == 0 } else { left % unit.max(1) == 0 };
            return s.test(whole, 1, 3);
        }
        s.slow(matching::test_unit)
    }

    BsTestTail(s) {
        if let Some((_, position, end)) = s.context() {
            return s.test(end - position == *s.pc.add(2) as usize, 1, 3);
        }
        s.slow(matching::test_tail)
    }

    BsEnsureExactly(s) {
        if let Some((_, position, end)) = s.context() {
            return s.test(end - position == *s.pc.add(2) as usize, 1, 3);
        }
        s.slow(matching::ensure_exactly)
    }

    BsEnsureAtLeast(s) {
        if let Some((_, position, end)) = s.context() {
            let (left, need, unit) = (end - position, *s.pc.add(2) as usize, *s.pc.add(3) as usize);
            let whole = left >= need && (unit == 1 || if unit == 8 { (left - need) % 8 == 0 } else { (left - need) % unit.max(1) == 0 });
            return s.test(whole, 1, 4);
        }
        s.slow(matching::ensure_at_least)
    }

    BsMatchInteger(s) {
        let (w1, n) = (*s.pc.add(1), *s.pc.add(3) as usize);
        if w1 >> 16 == 0
            && n <= 56
            && n > 0
            && let Some((object, position, end)) = s.context()
            && position + n <= end
            && let Some(value) = peek_bits(object, position, n)
        {
            *object.add(2) = ((position + n) << 3) as u64;
            *s.to(w1 & 0xffff) = Term::small(value as i64);
            return s.next(4);
        }
        s.slow(matching::match_integer)
    }

    BsGetPosition(s) {
        if let Some((_, position, _)) = s.context() {
            *s.to(s.low(1)) = Term::small(position as i64);
            return s.next(3);
        }
        s.slow(matching::get_position)
    }

    BsSetPosition(s) {
        let t = s.operand(1);
        if let Some((object, _, end)) = s.context()
            && t.is_small()
            && t.small_value() as usize <= end
        {
            *object.add(2) = t.raw();
            return s.next(2);
        }
        s.slow(matching::set_position)
    }
}
