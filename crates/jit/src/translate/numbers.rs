//! Arithmetic, guard built-ins with code of their own, floats.

use super::tests::TypeTest;
use super::{Translator, Unfit};
use crate::builder::block_word;
use myriad_beam::{Arg, Op};
use myriad_interp::decode::At;
use myriad_interp::leaves::Leaf;
use myriad_interp::tiers::REGISTERS;
use myriad_native::form::{Binary, BlockId, Checked, Condition, End, FloatBinary, Op as FormOp, Value};
use myriad_term::boxed::Header;
use myriad_term::{Atom, Kind, Mfa, Term, am, layout};

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
                am::abs => self.magnitude(a, to),
                am::bnot => self.complement(a, to),
                am::not => self.not(a, to),
                am::map_size => self.by_leaf(Leaf::MapSize, &[a], to),
                am::byte_size => self.by_leaf(Leaf::ByteSize, &[a], to),
                am::bit_size => self.by_leaf(Leaf::BitSize, &[a], to),
                am::length => self.by_leaf(Leaf::Length, &[a], to),
                am::get => self.dictionary_value(a, to),
                _ => self.truth_of_type(function, a, to),
            };
        }
        if arity != 2 {
            return Ok(false);
        }
        let b = args.get(first + 1).ok_or(Unfit)?;
        match function {
            am::eq_exact => self.truth_of_comparison(Op::IsEqExact, a, b, to),
            am::ne_exact => self.truth_of_comparison(Op::IsNeExact, a, b, to),
            am::eq => self.truth_of_comparison(Op::IsEq, a, b, to),
            am::ne => self.truth_of_comparison(Op::IsNe, a, b, to),
            am::lt => self.truth_of_comparison(Op::IsLt, a, b, to),
            am::gt => self.truth_of_comparison(Op::IsLt, b, a, to),
            am::ge => self.truth_of_comparison(Op::IsGe, a, b, to),
            am::le => self.truth_of_comparison(Op::IsGe, b, a, to),
            am::and | am::or | am::xor => self.logic(function, a, b, to),
            am::is_function => self.truth_of_arity(a, b, to),
            am::is_map_key => self.is_map_key(a, b, to),
            am::map_get => self.by_leaf(Leaf::MapValue, &[b, a], to),
            am::divide => self.divide_floats(a, b, to),
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

    // ---- truth values

    /// Sets a destination to whether control goes on or leads to the block that is given.
    fn truth(&mut self, to: &Arg, test: impl FnOnce(&mut Self, BlockId) -> Result<(), Unfit>) -> Result<bool, Unfit> {
        let (no, behind) = (self.b.block(), self.b.block());
        test(self, no)?;
        let yes = self.b.word(Term::TRUE.raw());
        self.set(to, yes)?;
        self.b.jump(behind);
        self.b.begin(no);
        let not = self.b.word(Term::FALSE.raw());
        self.set(to, not)?;
        self.b.jump(behind);
        self.b.begin(behind);
        Ok(true)
    }

    fn truth_of_comparison(&mut self, op: Op, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        self.truth(to, |t, no| t.comparison(op, Some(a), Some(b), no))
    }

    fn truth_of_type(&mut self, function: Atom, a: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let Some(test) = TypeTest::of_built_in(function) else { return Ok(false) };
        let word = self.source(a)?;
        self.truth(to, |t, no| {
            t.type_test(test, word, no);
            Ok(())
        })
    }

    /// `not X` of a boolean.
    fn not(&mut self, a: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (word, slow) = (self.source(a)?, self.b.block());
        self.type_test(TypeTest::Boolean, word, slow);
        let is_true = self.b.compare_with(Condition::Equal, word, Term::TRUE.raw());
        let result = self.select(is_true, Term::FALSE, Term::TRUE);
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// `and`, `or` and `xor` of booleans.
    fn logic(&mut self, function: Atom, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (first, second, slow) = (self.source(a)?, self.source(b)?, self.b.block());
        for word in [first, second] {
            self.type_test(TypeTest::Boolean, word, slow);
        }
        let result = if function == am::xor {
            let same = self.b.compare(Condition::Equal, first, second);
            self.select(same, Term::FALSE, Term::TRUE)
        } else {
            let is_true = self.b.compare_with(Condition::Equal, first, Term::TRUE.raw());
            let (then, otherwise) = if function == am::and { (second, first) } else { (first, second) };
            self.b.gives(|value| FormOp::Select(value, is_true, then, otherwise))
        };
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// `is_function(Fun, Arity)`, of an arity that is one.
    fn truth_of_arity(&mut self, fun: &Arg, arity: &Arg, to: &Arg) -> Result<bool, Unfit> {
        if self.constant(arity)?.and_then(Term::as_small).is_none_or(|arity| arity < 0) {
            return Ok(false);
        }
        let (fun, arity) = (self.source(fun)?, self.source(arity)?);
        self.truth(to, |t, no| {
            let is = t.leaf(Leaf::IsFunctionOf, &[fun, arity]);
            t.b.unless(is, no, None);
            Ok(())
        })
    }

    /// `is_map_key(Key, Map)`.
    fn is_map_key(&mut self, key: &Arg, map: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (map, slow) = (self.source(map)?, self.b.block());
        self.type_test(TypeTest::Map, map, slow);
        self.truth(to, |t, no| t.map_value(map, key, no).map(|_| ()))?;
        self.meet(slow)?;
        Ok(true)
    }

    fn select(&mut self, condition: Value, then: Term, otherwise: Term) -> Value {
        let (then, otherwise) = (self.b.word(then.raw()), self.b.word(otherwise.raw()));
        self.b.gives(|value| FormOp::Select(value, condition, then, otherwise))
    }

    /// `get(Key)`
    fn dictionary_value(&mut self, key: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (context, key) = (self.b.load(block_word(REGISTERS.context)), self.source(key)?);
        let value = self.leaf(Leaf::DictionaryValue, &[context, key]);
        self.set(to, value)?;
        Ok(true)
    }

    /// What a leaf gives; where that is none the instruction is visited.
    fn by_leaf(&mut self, leaf: Leaf, arguments: &[&Arg], to: &Arg) -> Result<bool, Unfit> {
        let words = arguments.iter().map(|arg| self.source(arg)).collect::<Result<Vec<Value>, Unfit>>()?;
        let (value, slow) = (self.leaf(leaf, &words), self.b.block());
        self.b.unless_none(value, slow);
        self.set(to, value)?;
        self.meet(slow)?;
        Ok(true)
    }

    // ---- arithmetic

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
            let op = match with {
                Checked::Add => FloatBinary::Add,
                Checked::Sub => FloatBinary::Sub,
                Checked::Mul => FloatBinary::Mul,
            };
            self.tagged_floats(op, [(a, first), (b, second)], to, slow)?;
            self.b.jump(behind);
        } else if self.b.is_open() {
            self.b.jump(slow);
        }
        self.meet_at(slow, behind)?;
        Ok(true)
    }

    /// Of self-tagged doubles, where both are, and so is the result.
    fn tagged_floats(
        &mut self,
        op: FloatBinary,
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
        let result = self.b.float(|value| FormOp::FloatBinary(value, op, x, y));
        let bits = self.b.gives(|value| FormOp::FloatBits(value, result));
        let word = self.b.with(Binary::RotateLeft, bits, layout::FLOAT_ROTATE.into());
        let tagged = self.is_tagged_float(word);
        self.b.unless(tagged, slow, Some(true));
        self.set(to, word)
    }

    /// `/` of self-tagged doubles.
    fn divide_floats(&mut self, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        if !self.may_both_be(a, b, Term::is_immediate_float)? {
            return Ok(false);
        }
        let (first, second, slow) = (self.source(a)?, self.source(b)?, self.b.block());
        self.tagged_floats(FloatBinary::Div, [(a, first), (b, second)], to, slow)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// `abs(X)` of a small integer.
    fn magnitude(&mut self, a: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let (word, slow) = (self.source(a)?, self.b.block());
        let small = self.is_small(word);
        self.b.unless(small, slow, Some(true));
        let zero = self.b.word(0);
        let opposite = self.b.checked(Checked::Sub, zero, word, slow);
        let negative = self.b.compare_with(Condition::Less, word, 0);
        let result = self.b.gives(|value| FormOp::Select(value, negative, opposite, word));
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
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

    /// How far a small integer is shifted, if that is neither backwards nor everything out; else control goes on in `slow`. `None`: it never is.
    fn distance(&mut self, by: &Arg, slow: BlockId) -> Result<Option<Value>, Unfit> {
        const MOST: u64 = 60;
        if let Some(by) = self.constant(by)? {
            let by = by.as_small().and_then(|by| u64::try_from(by).ok()).filter(|by| *by <= MOST);
            return Ok(by.map(|by| self.b.word(by)));
        }
        let by = self.source(by)?;
        let small = self.is_small(by);
        self.b.unless(small, slow, Some(true));
        // The word of a number below zero is above all of these.
        let within = self.b.compare_with(Condition::BelowOrEqual, by, MOST << layout::SMALL_SHIFT);
        self.b.unless(within, slow, Some(true));
        Ok(Some(self.b.with(Binary::ShiftRight, by, layout::SMALL_SHIFT.into())))
    }

    fn shift_right(&mut self, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let slow = self.b.block();
        let Some(by) = self.distance(b, slow)? else { return Ok(false) };
        let value = self.source(a)?;
        let small = self.is_small(value);
        self.b.unless(small, slow, Some(true));
        let shifted = self.b.binary(Binary::ShiftRightSigned, value, by);
        let result = self.b.with(Binary::And, shifted, !layout::TAG_MASK);
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
    }

    fn shift_left(&mut self, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let slow = self.b.block();
        let Some(by) = self.distance(b, slow)? else { return Ok(false) };
        let value = self.source(a)?;
        let small = self.is_small(value);
        self.b.unless(small, slow, Some(true));
        let result = self.b.binary(Binary::ShiftLeft, value, by);
        let back = self.b.binary(Binary::ShiftRightSigned, result, by);
        let fits = self.b.compare(Condition::Equal, back, value);
        self.b.unless(fits, slow, Some(true));
        self.set(to, result)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// By a number above zero.
    fn divide(&mut self, quotient: bool, a: &Arg, b: &Arg, to: &Arg) -> Result<bool, Unfit> {
        let constant = self.constant(b)?;
        if constant.is_some_and(|by| by.as_small().is_none_or(|by| by <= 0)) {
            return Ok(false);
        }
        let (value, by, slow) = (self.source(a)?, self.source(b)?, self.b.block());
        let small = self.both_small(a, value, b, by)?;
        self.b.unless(small, slow, Some(true));
        if constant.is_none() {
            let above = self.b.compare_with(Condition::Greater, by, 0);
            self.b.unless(above, slow, Some(true));
        }
        let shift = layout::SMALL_SHIFT.into();
        let number = self.b.with(Binary::ShiftRightSigned, value, shift);
        let by = match constant.and_then(Term::as_small) {
            Some(by) => self.b.word(by as u64),
            None => self.b.with(Binary::ShiftRightSigned, by, shift),
        };
        let result = self.b.binary(if quotient { Binary::DivideSigned } else { Binary::RemainderSigned }, number, by);
        let result = self.b.with(Binary::ShiftLeft, result, shift);
        self.set(to, result)?;
        self.meet(slow)?;
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
    pub(super) fn tuple_header_of(&mut self, tuple: Value, slow: BlockId) -> Value {
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
        // As OTP: 0.0 stays 0.0.
        let zero = self.b.float(|value| FormOp::Float(value, 0.0));
        let result = self.b.float(|value| FormOp::FloatBinary(value, FloatBinary::Sub, zero, number));
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
