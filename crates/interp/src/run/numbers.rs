//! Arithmetic of small integers and of floats; all else is out of line.

use super::state::State;
use crate::guards;
use crate::machine::Machine;
use myriad_term::Term;

super::instructions! {
    Add(s) { s.arithmetic(|a, b| (a.raw() as i64).checked_add(b.raw() as i64)) }
    Subtract(s) { s.arithmetic(|a, b| (a.raw() as i64).checked_sub(b.raw() as i64)) }

    AddSmall(s) {
        let a = *s.from(*s.pc.add(1) & 0xffff);
        if a.is_small()
            && let Some(sum) = (a.raw() as i64).checked_add(i64::from(*s.pc.add(5) as i32))
        {
            *s.to(s.high()) = Term::from_raw(sum as u64);
            return s.next(6);
        }
        s.slow(guards::arithmetic)
    }

    AddRegisters(s) { s.register_arithmetic(i64::checked_add) }
    SubtractRegisters(s) { s.register_arithmetic(i64::checked_sub) }
    Multiply(s) { s.arithmetic(|a, b| a.small_value().checked_mul(b.raw() as i64)) }
    Band(s) { s.arithmetic(|a, b| Some((a.raw() & b.raw()) as i64)) }
    Bor(s) { s.arithmetic(|a, b| Some((a.raw() | b.raw()) as i64)) }

    Bsr(s) {
        s.arithmetic(|a, b| {
            let shift = b.small_value();
            (0..=60).contains(&shift).then(|| (a.small_value() >> shift) << 3)
        })
    }

    Bsl(s) {
        s.arithmetic(|a, b| {
            let (v, shift) = (a.raw() as i64, b.small_value());
            ((0..=60).contains(&shift) && (v << shift) >> shift == v).then(|| v << shift)
        })
    }

    Div(s) {
        s.arithmetic(|a, b| {
            let divisor = b.small_value();
            (divisor > 0).then(|| (a.small_value() / divisor) << 3)
        })
    }

    Rem(s) {
        s.arithmetic(|a, b| {
            let divisor = b.raw() as i64;
            (divisor > 0).then(|| (a.raw() as i64) % divisor)
        })
    }

    FMoveFromTerm(s) {
        let value = s.operand(1).as_float().unwrap_or(0.0);
        *s.m().floats.get_unchecked_mut(s.high() as usize) = value;
        s.next(2)
    }

    FMoveToTerm(s) {
        match Term::immediate_float(*s.m().floats.get_unchecked(*s.pc.add(1) as usize)) {
            Some(t) => {
                *s.to(s.high()) = t;
                s.next(2)
            }
            None => s.slow(guards::fmove_to_term),
        }
    }

    FMove(s) {
        let value = *s.m().floats.get_unchecked(*s.pc.add(1) as usize);
        *s.m().floats.get_unchecked_mut(s.high() as usize) = value;
        s.next(2)
    }

    FAdd(s) { s.float(|a, b| a + b) }
    FSub(s) { s.float(|a, b| a - b) }
    FMul(s) { s.float(|a, b| a * b) }
    FDiv(s) { s.float(|a, b| a / b) }

    // As OTP: 0.0 stays 0.0.
    FNegate(s) {
        let value = *s.m().floats.get_unchecked(*s.pc.add(1) as usize);
        *s.m().floats.get_unchecked_mut(s.high() as usize) = 0.0 - value;
        s.next(2)
    }

    FConv(s) {
        let value = s.operand(1);
        if value.is_small() {
            *s.m().floats.get_unchecked_mut(s.high() as usize) = value.small_value() as f64;
            return s.next(2);
        }
        if value.is_immediate_float()
            && let Some(number) = value.as_float()
        {
            *s.m().floats.get_unchecked_mut(s.high() as usize) = number;
            return s.next(2);
        }
        s.slow(guards::fconv)
    }
}
