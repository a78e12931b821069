//! Tests of types, comparisons: code continues behind them, or at their label.

use super::state::{State, has_kind, is_binary};
use crate::guards;
use crate::machine::{Machine, short};
use myriad_term::boxed::Header;
use myriad_term::{Kind, Term};

super::instructions! {
    IsNonemptyList(s) { s.test((*s.from(s.high())).is_cons(), 1, 2) }
    IsNil(s) { s.test((*s.from(s.high())).is_nil(), 1, 2) }
    IsList(s) { s.test((*s.from(s.high())).is_list(), 1, 2) }
    IsTuple(s) { s.test(has_kind(*s.from(s.high()), |kind| matches!(kind, Kind::Tuple)), 1, 2) }

    IsTupleOfArity(s) {
        let t = *s.from(s.high());
        s.test(t.is_boxed() && *t.boxed_ptr() == u64::from(*s.pc.add(2)), 1, 3)
    }

    IsTupleThenArity(s) {
        let t = *s.from(s.high());
        if !t.is_boxed() {
            return s.jump(1);
        }
        let header = *t.boxed_ptr();
        if header == u64::from(*s.pc.add(3)) {
            s.next(4)
        } else if Header::from_raw(header).kind() == Kind::Tuple {
            s.jump(2)
        } else {
            s.jump(1)
        }
    }

    IsTaggedTuple(s) {
        let t = *s.from(s.high());
        let tagged = t.is_boxed()
            && *t.boxed_ptr() == u64::from(*s.pc.add(2))
            && *t.boxed_ptr().add(1) == short(s.pc.add(3)).raw();
        s.test(tagged, 1, 4)
    }

    IsEqExact(s) {
        let (a, b) = (*s.from(s.high()), *s.from(s.low(1)));
        if a.is(b) {
            s.next(3)
        } else if a.is_immediate() || b.is_immediate() {
            s.jump(2)
        } else {
            s.slow(guards::compare)
        }
    }

    IsNeExact(s) {
        let (a, b) = (*s.from(s.high()), *s.from(s.low(1)));
        if a.is(b) {
            s.jump(2)
        } else if a.is_immediate() || b.is_immediate() {
            s.next(3)
        } else {
            s.slow(guards::compare)
        }
    }

    IsLt(s) { s.order(*s.from(s.high()), *s.from(s.low(1)), |a, b| a < b, 2) }
    IsGe(s) { s.order(*s.from(s.high()), *s.from(s.low(1)), |a, b| a >= b, 2) }
    IsLtRK(s) { s.order(*s.from(s.high()), short(s.pc.add(2)), |a, b| a < b, 1) }
    IsLtKR(s) { s.order(short(s.pc.add(2)), *s.from(s.high()), |a, b| a < b, 1) }
    IsGeRK(s) { s.order(*s.from(s.high()), short(s.pc.add(2)), |a, b| a >= b, 1) }
    IsGeKR(s) { s.order(short(s.pc.add(2)), *s.from(s.high()), |a, b| a >= b, 1) }

    IsBetween(s) {
        let t = *s.from(s.high());
        let (low, high) = (short(s.pc.add(2)), short(s.pc.add(3)));
        if !t.is_small() {
            return s.slow(guards::between);
        }
        s.test(t.raw().wrapping_sub(low.raw()) <= high.raw().wrapping_sub(low.raw()), 1, 4)
    }

    IsIntegerBetween(s) {
        let t = *s.from(s.high());
        let (low, high) = (short(s.pc.add(2)), short(s.pc.add(3)));
        s.test(t.is_small() && t.raw().wrapping_sub(low.raw()) <= high.raw().wrapping_sub(low.raw()), 1, 4)
    }

    IsEqExactK(s) { s.test((*s.from(s.high())).is(short(s.pc.add(2))), 1, 3) }
    IsNeExactK(s) { s.test(!(*s.from(s.high())).is(short(s.pc.add(2))), 1, 3) }

    IsInteger(s) {
        let t = *s.from(s.high());
        s.test(t.is_small() || t.is_big(), 1, 2)
    }

    IsAtom(s) { s.test((*s.from(s.high())).is_atom(), 1, 2) }
    IsFloat(s) { s.test((*s.from(s.high())).is_float(), 1, 2) }
    IsNumber(s) { s.test((*s.from(s.high())).is_number(), 1, 2) }
    IsMap(s) { s.test(has_kind(*s.from(s.high()), |kind| matches!(kind, Kind::Map | Kind::MapRoot)), 1, 2) }
    IsBinary(s) { s.test(is_binary(*s.from(s.high())), 1, 2) }
    IsBitstring(s) { s.test(has_kind(*s.from(s.high()), |kind| matches!(kind, Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary)), 1, 2) }
    IsPid(s) { s.test((*s.from(s.high())).is_pid(), 1, 2) }
    IsBoolean(s) { s.test((*s.from(s.high())).as_bool().is_some(), 1, 2) }
    IsFunction(s) { s.test(has_kind(*s.from(s.high()), |kind| matches!(kind, Kind::Fun | Kind::ExportFun)), 1, 2) }
}
