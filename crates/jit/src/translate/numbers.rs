//! Arithmetic, guard built-ins with code of their own, floats.

use super::{Translator, Unfit};
use myriad_beam::{Arg, Op};
use myriad_interp::decode::At;
use myriad_native::form::{Binary, BlockId, Checked, Condition, End, FloatBinary, Op as FormOp, Value};
use myriad_term::boxed::Header;
use myriad_term::{Kind, Mfa, Term, am, layout};

/// The bits of a double's exponent, all of which are set in those that are not finite.
const EXPONENT: u64 = 0x7ff0_0000_0000_0000;

impl<'a> Translator<'a> {
    /// Makes arithmetic and the like; `false`: it is to be visited.
    pub(super) fn number_op(&mut self, at: &At<'a>) -> Result<bool, Unfit> {
        let args = at.args;
        match at.op {
            Op::GcBif2 => self.guard(args, 2, 3, 5),
            Op::GcBif1 => self.guard(args, 2, 3, 4),
            Op::Bif2 => self.guard(args, 1, 2, 4),
            Op::Bif1 => self.guard(args, 1, 2, 3),
            Op::Fmove => self.move_float(args),
            Op::Fconv => self.convert(args),
            Op::Fadd => self.float(args, FloatBinary::Add),
            Op::Fsub => self.float(args, FloatBinary::Sub),
            Op::Fmul => self.float(args, FloatBinary::Mul),
            Op::Fdiv => self.float(args, FloatBinary::Div),
            Op::Fnegate => self.negate(args),
            _ => Ok(false),
        }
    }

    /// A guard built-in: where its import is, where its arguments begin, and where its destination is.
    fn guard(&mut self, args: &[Arg], import: usize, first: usize, to: usize) -> Result<bool, Unfit> {
        let index = self.number(args, import)? as usize;
        let Mfa { module, function, arity } = self.module.imports.get(index).ok_or(Unfit)?.mfa;
        if module != am::erlang {
            return Ok(false);
        }
        let (Some(a), Some(to)) = (args.get(first), args.get(to)) else { return Err(Unfit) };
        if arity == 1 {
            return match function {
                am::hd => self.cell(a, 0, to),
                am::tl => self.cell(a, 1, to),
                am::tuple_size => self.tuple_size(a, to),
                am::minus => self.minus(a, to),
                am::bnot => self.complement(a, to),
                _ => Ok(false),
            };
        }
        let b = args.get(first + 1).ok_or(Unfit)?;
        match function {
            am::plus => self.checked(Checked::Add, a, b, to),
            am::minus => self.checked(Checked::Sub, a, b, to),
            am::times => self.checked(Checked::Mul, a, b, to),
            am::band => self.bits(Binary::And, a, b, to),
            am::bor => self.bits(Binary::Or, a, b, to),
            am::bxor => self.bits(Binary::Xor, a, b, to),
            am::bsr => self.shift_right(a, b, to),
            am::bsl => self.shift_left(a, b, to),
            am::div | am::rem => self.divide(function == am::div, a, b, to),
            am::element => self.element(a, b, to),
            _ => Ok(false),
        }
    }

    /// Sum, difference or product of two small integers that is one, or of two self-tagged doubles.
    fn checked(&mut self, with: Checked, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (first, second) = (self.source(a)?, self.source(b)?);
        let (slow, behind) = (self.b.block(), self.b.block());
        let may_be_floats = self.may_both_be(a, b, Term::is_immediate_float)?;
        if self.may_both_be(a, b, Term::is_small)? {
            let (other, small) = (self.b.block(), self.both_small(a, first, b, second)?);
            self.b.unless(small, if may_be_floats { other } else { slow }, Some(true));
            let shifts = with == Checked::Mul;
            let shift = layout::SMALL_SHIFT.into();
            let factor = if shifts { self.b.with(Binary::ShiftRightSigned, first, shift) } else { first };
            let result = self.b.checked(with, factor, second, slow);
            self.set(to, result)?;
            self.b.jump(behind);
            self.b.begin(other);
        }
        if may_be_floats {
            self.checked_floats(with, [(a, first), (b, second)], to, slow)?;
            self.b.jump(behind);
        } else if self.b.is_open() {
            self.b.jump(slow);
        }
        self.meet_at(slow, behind)?;
        Ok(true)
    }

    /// The same of self-tagged doubles, where both are, and so is the result.
    fn checked_floats(
        &mut self,
        with: Checked,
        operands: [(&Arg, Value); 2],
        to: &Arg,
        slow: BlockId,
    ) -> Result<(), Unfit> {
        for (arg, word) in operands {
            if self.constant(arg)?.is_none() {
                let tagged = self.is_tagged_float(word);
                self.b.unless(tagged, slow, None);
            }
        }
        let [x, y] = operands.map(|(_, word)| self.untag(word));
        let op = match with {
            Checked::Add => FloatBinary::Add,
            Checked::Sub => FloatBinary::Sub,
            Checked::Mul => FloatBinary::Mul,
        };
        let result = self.b.float(|value| FormOp::FloatBinary(value, op, x, y));
        let bits = self.b.gives(|value| FormOp::FloatBits(value, result));
        let word = self.b.with(Binary::RotateLeft, bits, layout::FLOAT_ROTATE.into());
        let tagged = self.is_tagged_float(word);
        self.b.unless(tagged, slow, Some(true));
        self.set(to, word)
    }

    /// `-X` of a small integer.
    fn minus(&mut self, a: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (word, slow) = (self.source(a)?, self.b.block());
        let small = self.is_small(word);
        self.b.unless(small, slow, Some(true));
        let zero = self.b.word(0);
        let result = self.b.checked(Checked::Sub, zero, word, slow);
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// `bnot X` of a small integer.
    fn complement(&mut self, a: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let word = self.source(a)?;
        let small = self.is_small(word);
        self.or_visit(small, |t| {
            let result = t.b.with(Binary::Xor, word, !layout::TAG_MASK);
            t.set(to, result)
        })?;
        Ok(true)
    }

    fn bits(&mut self, op: Binary, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (first, second) = (self.source(a)?, self.source(b)?);
        let small = self.both_small(a, first, b, second)?;
        self.or_visit(small, |t| {
            let result = t.b.binary(op, first, second);
            t.set(to, result)
        })?;
        Ok(true)
    }

    /// How far a constant shifts, if it does not shift everything out.
    fn shift(&self, by: &Arg) -> Result<Option<u64>, Unfit> {
        Ok(self.constant(by)?.and_then(Term::as_small).and_then(|by| u64::try_from(by).ok()).filter(|by| *by <= 60))
    }

    fn shift_right(&mut self, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let Some(by) = self.shift(b)? else { return Ok(false) };
        let value = self.source(a)?;
        let small = self.is_small(value);
        self.or_visit(small, |t| {
            let shifted = t.b.with(Binary::ShiftRightSigned, value, by);
            let result = t.b.with(Binary::And, shifted, !layout::TAG_MASK);
            t.set(to, result)
        })?;
        Ok(true)
    }

    fn shift_left(&mut self, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let Some(by) = self.shift(b)? else { return Ok(false) };
        let value = self.source(a)?;
        let slow = self.b.block();
        let small = self.is_small(value);
        self.b.unless(small, slow, Some(true));
        let result = self.b.with(Binary::ShiftLeft, value, by);
        let back = self.b.with(Binary::ShiftRightSigned, result, by);
        let fits = self.b.compare(Condition::Equal, back, value);
        self.b.unless(fits, slow, Some(true));
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// By a constant above zero.
    fn divide(&mut self, quotient: bool, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let Some(by) = self.constant(b)?.and_then(Term::as_small).filter(|by| *by > 0) else { return Ok(false) };
        let value = self.source(a)?;
        let small = self.is_small(value);
        self.or_visit(small, |t| {
            let number = t.b.with(Binary::ShiftRightSigned, value, layout::SMALL_SHIFT.into());
            let op = if quotient { Binary::DivideSigned } else { Binary::RemainderSigned };
            let result = t.b.with(op, number, by as u64);
            let result = t.b.with(Binary::ShiftLeft, result, layout::SMALL_SHIFT.into());
            t.set(to, result)
        })?;
        Ok(true)
    }

    /// Head or tail of a list cell.
    fn cell(&mut self, list: &Arg, index: i32, to: &Arg) -> Result<bool, Unfit> {
        let list = self.source(list)?;
        let cons = self.has_tag(list, layout::LIST);
        self.or_visit(cons, |t| {
            let value = t.field(list, layout::LIST, index);
            t.set(to, value)
        })?;
        Ok(true)
    }

    /// The header of a tuple; what is none goes on in `slow`.
    fn tuple_header_of(&mut self, tuple: Value, slow: BlockId) -> Value {
        let boxed = self.has_tag(tuple, layout::BOXED);
        self.b.unless(boxed, slow, Some(true));
        let header = self.field(tuple, layout::BOXED, 0);
        let kind = self.b.with(Binary::And, header, layout::KIND_MASK);
        let is = self.b.compare_with(Condition::Equal, kind, Header::new(Kind::Tuple, 0).raw());
        self.b.unless(is, slow, Some(true));
        header
    }

    fn tuple_size(&mut self, tuple: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (tuple, slow) = (self.source(tuple)?, self.b.block());
        let header = self.tuple_header_of(tuple, slow);
        let size = self.b.with(Binary::ShiftRight, header, layout::SIZE_SHIFT.into());
        let size = self.b.with(Binary::ShiftLeft, size, layout::SMALL_SHIFT.into());
        self.set(to, size)?;
        self.meet(slow)?;
        Ok(true)
    }

    fn element(&mut self, index: &Arg, tuple: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (index, tuple, slow) = (self.source(index)?, self.source(tuple)?, self.b.block());
        let small = self.is_small(index);
        self.b.unless(small, slow, Some(true));
        let header = self.tuple_header_of(tuple, slow);
        let size = self.b.with(Binary::ShiftRight, header, layout::SIZE_SHIFT.into());
        let size = self.b.with(Binary::ShiftLeft, size, layout::SMALL_SHIFT.into());
        // From 1: what is below goes round.
        let from_zero = self.b.with(Binary::Sub, index, 1 << layout::SMALL_SHIFT);
        let within = self.b.compare(Condition::Below, from_zero, size);
        self.b.unless(within, slow, Some(true));
        // The word of a small integer is its value by eight.
        let at = self.b.binary(Binary::Add, tuple, index);
        let value = self.field(at, layout::BOXED, 0);
        self.set(to, value)?;
        self.meet(slow)?;
        Ok(true)
    }

    // ---- floats

    fn is_finite(&mut self, number: Value) -> Value {
        let bits = self.b.gives(|value| FormOp::FloatBits(value, number));
        let exponent = self.b.with(Binary::And, bits, EXPONENT);
        self.b.compare_with(Condition::NotEqual, exponent, EXPONENT)
    }

    fn float(&mut self, args: &[Arg], op: FloatBinary) -> Result<bool, Unfit> {
        let [_, a, b, to] = args else { return Err(Unfit) };
        let [a, b, to] = [self.float_variable(a)?, self.float_variable(b)?, self.float_variable(to)?];
        let (first, second) = (self.b.get(a), self.b.get(b));
        let result = self.b.float(|value| FormOp::FloatBinary(value, op, first, second));
        let finite = self.is_finite(result);
        self.or_visit(finite, |t| {
            t.b.set(to, result);
            Ok(())
        })?;
        Ok(true)
    }

    fn negate(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [_, from, to] = args else { return Err(Unfit) };
        let [from, to] = [self.float_variable(from)?, self.float_variable(to)?];
        let number = self.b.get(from);
        let result = self.b.float(|value| FormOp::FloatNegate(value, number));
        self.b.set(to, result);
        Ok(true)
    }

    /// The double of a self-tagged word.
    pub(super) fn untag(&mut self, word: Value) -> Value {
        let bits = self.b.with(Binary::RotateLeft, word, 64 - u64::from(layout::FLOAT_ROTATE));
        self.b.float(|value| FormOp::BitsFloat(value, bits))
    }

    fn move_float(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [from, to] = args else { return Err(Unfit) };
        match (from, to) {
            (Arg::FR(_), Arg::FR(_)) => {
                let (from, to) = (self.float_variable(from)?, self.float_variable(to)?);
                let number = self.b.get(from);
                self.b.set(to, number);
            }
            (Arg::FR(_), _) => {
                let from = self.float_variable(from)?;
                let number = self.b.get(from);
                let bits = self.b.gives(|value| FormOp::FloatBits(value, number));
                let word = self.b.with(Binary::RotateLeft, bits, layout::FLOAT_ROTATE.into());
                let tagged = self.is_tagged_float(word);
                self.or_visit(tagged, |t| t.set(to, word))?;
            }
            (_, Arg::FR(_)) => {
                let (word, to) = (self.source(from)?, self.float_variable(to)?);
                let tagged = self.is_tagged_float(word);
                self.or_visit(tagged, |t| {
                    let number = t.untag(word);
                    t.b.set(to, number);
                    Ok(())
                })?;
            }
            _ => return Err(Unfit),
        }
        Ok(true)
    }

    fn convert(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [from, to] = args else { return Err(Unfit) };
        let (word, to) = (self.source(from)?, self.float_variable(to)?);
        let (small, other, behind) = (self.b.block(), self.b.block(), self.b.block());
        let is_small = self.is_small(word);
        self.b.end(End::Branch { condition: is_small, then: small, otherwise: other, likely: None });
        self.b.begin(small);
        let number = self.b.with(Binary::ShiftRightSigned, word, layout::SMALL_SHIFT.into());
        let number = self.b.float(|value| FormOp::ToFloat(value, number));
        self.b.set(to, number);
        self.b.jump(behind);
        self.b.begin(other);
        let tagged = self.is_tagged_float(word);
        self.or_visit(tagged, |t| {
            let number = t.untag(word);
            t.b.set(to, number);
            Ok(())
        })?;
        self.b.jump(behind);
        self.b.begin(behind);
        Ok(true)
    }
}
