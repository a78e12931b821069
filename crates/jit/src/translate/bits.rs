//! Matching of bit strings whose fields have fixed sizes; all else is visited.
//!
//! A match context holds the whole binary, the position and the end, both as small integers: in units of an eighth of a bit.

use super::{Translator, Unfit};
use crate::builder::word_at;
use myriad_beam::{Arg, Op};
use myriad_interp::decode::At;
use myriad_interp::leaves::Leaf;
use myriad_interp::{SIGNED, is_little};
use myriad_native::form::{Binary, BlockId, Condition, End, Op as FormOp, Place, Region, Type, Unary, Value, Width};
use myriad_term::boxed::Header;
use myriad_term::{Kind, layout};

/// A position by the number of bits: a small integer.
const BIT: u64 = 1 << layout::SMALL_SHIFT;
/// What of a position is not whole bytes.
const WITHIN_BYTE: u64 = 7 * BIT;
/// The widest field that a word always holds, at whatever bit it begins.
const WIDEST: u64 = 56;

/// Words of a context.
const WHOLE: i32 = 1;
const POSITION: i32 = 2;
const LIMIT: i32 = 3;

/// A field that is there: where it begins.
struct Field {
    context: Value,
    position: Value,
    behind: Value,
}

impl<'a> Translator<'a> {
    /// Makes an instruction that matches; `false`: it is none, or is to be visited.
    pub(super) fn bit_op(&mut self, at: &At<'a>) -> Result<bool, Unfit> {
        let args = at.args;
        match at.op {
            Op::BsStartMatch3 => self.start_match(args.get(1), args.get(3)),
            Op::BsStartMatch4 => self.start_match(args.get(2), args.get(3)),
            Op::BsGetInteger2 => self.get_integer(args),
            Op::BsGetUtf8 => self.take_utf8(args, args.get(4)),
            Op::BsSkipUtf8 => self.take_utf8(args, None),
            Op::BsSkipBits2 => self.skip(args),
            Op::BsTestTail2 => self.test_tail(args),
            Op::BsTestUnit => self.test_unit(args),
            Op::BsGetPosition => self.get_position(args),
            Op::BsSetPosition => self.set_position(args),
            _ => Ok(false),
        }
    }

    /// What is a context already stays one.
    fn start_match(&mut self, from: Option<&Arg>, to: Option<&Arg>) -> Result<bool, Unfit> {
        let (Some(from), Some(to)) = (from, to) else { return Err(Unfit) };
        let (term, slow) = (self.source(from)?, self.b.block());
        self.is_context(term, slow);
        self.set(to, term)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// What is no context goes on in `slow`.
    fn is_context(&mut self, term: Value, slow: BlockId) {
        let boxed = self.has_tag(term, layout::BOXED);
        self.b.unless(boxed, slow, Some(true));
        let header = self.field(term, layout::BOXED, 0);
        let is = self.b.compare_with(Condition::Equal, header, Header::new(Kind::MatchContext, 3).raw());
        self.b.unless(is, slow, Some(true));
    }

    /// A field of so many bits, if it is there: else control goes on at `fail`.
    fn wanted(&mut self, context: &Arg, bits: u64, fail: BlockId, slow: BlockId) -> Result<Field, Unfit> {
        let context = self.source(context)?;
        self.is_context(context, slow);
        let (position, end) = (self.field(context, layout::BOXED, POSITION), self.field(context, layout::BOXED, LIMIT));
        let behind = self.b.with(Binary::Add, position, bits * BIT);
        let there = self.b.compare(Condition::LessOrEqual, behind, end);
        self.b.unless(there, fail, None);
        Ok(Field { context, position, behind })
    }

    /// The position is behind the field from now on.
    fn pass(&mut self, field: &Field) {
        let place = word_at(field.context, 8 * POSITION - layout::BOXED as i32, Region::Heap);
        self.b.store(place, field.behind);
    }

    /// The address of the byte that a field begins in, and how many bytes the binary has room for.
    fn bytes(&mut self, field: &Field) -> (Value, Value) {
        let [data, room] = [Type::Word; 2].map(|of| self.b.variable(of));
        let whole = self.field(field.context, layout::BOXED, WHOLE);
        let header = self.field(whole, layout::BOXED, 0);
        let kind = self.b.with(Binary::And, header, layout::KIND_MASK);
        let on_heap = self.b.compare_with(Condition::Equal, kind, Header::new(Kind::HeapBinary, 0).raw());
        let (heap, shared, behind) = (self.b.block(), self.b.block(), self.b.block());
        self.b.end(End::Branch { condition: on_heap, then: heap, otherwise: shared, likely: None });
        self.b.begin(heap);
        let words = self.b.with(Binary::ShiftRight, header, layout::SIZE_SHIFT.into());
        let words = self.b.with(Binary::And, words, u32::MAX.into());
        // Padding to a whole word is part of the object.
        let bytes = self.b.with(Binary::ShiftLeft, words, 3);
        let bytes = self.b.with(Binary::Sub, bytes, 8);
        let first = self.b.with(Binary::Add, whole, 16 - layout::BOXED);
        self.b.set(data, first);
        self.b.set(room, bytes);
        self.b.jump(behind);
        self.b.begin(shared);
        let (bytes, block) = (self.field(whole, layout::BOXED, 1), self.field(whole, layout::BOXED, 2));
        let first = self.b.load(word_at(block, layout::SHARED_DATA as i32, Region::Other));
        self.b.set(data, first);
        self.b.set(room, bytes);
        self.b.jump(behind);
        self.b.begin(behind);
        let (data, room) = (self.b.get(data), self.b.get(room));
        let at = self.b.with(Binary::ShiftRight, field.position, u64::from(layout::SMALL_SHIFT) + 3);
        let left = self.b.binary(Binary::Sub, room, at);
        (self.b.binary(Binary::Add, data, at), left)
    }

    /// The value of a field of at most [`WIDEST`] bits; what cannot be read as a word goes on in `slow`.
    fn peek(&mut self, field: &Field, bits: u64, signed: bool, slow: BlockId) -> Value {
        let value = self.b.variable(Type::Word);
        let (address, left) = self.bytes(field);
        let (general, behind) = (self.b.block(), self.b.block());
        let odd = self.b.with(Binary::And, field.position, WITHIN_BYTE);
        if bits == 8 {
            let even = self.b.compare_with(Condition::Equal, odd, 0);
            self.b.unless(even, general, Some(true));
            let byte = self.b.load(byte_at(address));
            let byte = if signed { self.extend(byte, 8, true, 56) } else { byte };
            self.b.set(value, byte);
            self.b.jump(behind);
        } else {
            self.b.jump(general);
        }
        self.b.begin(general);
        let enough = self.b.compare_with(Condition::AboveOrEqual, left, 8);
        self.b.unless(enough, slow, Some(true));
        let word = self.b.load(word_at(address, 0, Region::Heap));
        let word = self.b.gives(|value| FormOp::Unary(value, Unary::SwapBytes, word));
        let odd = self.b.with(Binary::ShiftRight, odd, layout::SMALL_SHIFT.into());
        let word = self.b.binary(Binary::ShiftLeft, word, odd);
        let read = self.extend(word, bits, signed, 0);
        self.b.set(value, read);
        self.b.jump(behind);
        self.b.begin(behind);
        self.b.get(value)
    }

    /// The first `bits` of a word that has been shifted left by so many.
    fn extend(&mut self, word: Value, bits: u64, signed: bool, by: u64) -> Value {
        let word = if by > 0 { self.b.with(Binary::ShiftLeft, word, by) } else { word };
        self.b.with(if signed { Binary::ShiftRightSigned } else { Binary::ShiftRight }, word, 64 - bits)
    }

    fn get_integer(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [_, context, _, Arg::I(size), unit, flags, to] = args else { return Ok(false) };
        let (unit, flags) = (unit.number().ok_or(Unfit)?, flags.number().ok_or(Unfit)? as u32);
        let bits = u64::try_from(*size).ok().and_then(|size| size.checked_mul(unit.max(1)));
        let Some(bits) = bits.filter(|bits| (1..=WIDEST).contains(bits)) else { return Ok(false) };
        if is_little(flags) && bits > 8 {
            return Ok(false);
        }
        let (fail, slow) = (self.label_of(args, 0)?, self.b.block());
        let field = self.wanted(context, bits, fail, slow)?;
        let value = self.peek(&field, bits, flags & SIGNED != 0, slow);
        self.pass(&field);
        let small = self.b.with(Binary::ShiftLeft, value, layout::SMALL_SHIFT.into());
        self.set(to, small)?;
        self.meet(slow)?;
        Ok(true)
    }

    /// A character in UTF-8: one below 128 at the start of a byte here, others by a leaf.
    fn take_utf8(&mut self, args: &[Arg], to: Option<&Arg>) -> Result<bool, Unfit> {
        let context = args.get(1).ok_or(Unfit)?;
        let (fail, slow) = (self.label_of(args, 0)?, self.b.block());
        let (other, behind) = (self.b.block(), self.b.block());
        let field = self.wanted(context, 8, fail, slow)?;
        let odd = self.b.with(Binary::And, field.position, WITHIN_BYTE);
        let even = self.b.compare_with(Condition::Equal, odd, 0);
        self.b.unless(even, other, Some(true));
        let (address, _) = self.bytes(&field);
        let byte = self.b.load(byte_at(address));
        let ascii = self.b.compare_with(Condition::Below, byte, 128);
        self.b.unless(ascii, other, None);
        self.pass(&field);
        let small = self.b.with(Binary::ShiftLeft, byte, layout::SMALL_SHIFT.into());
        self.set_if_wanted(to, small)?;
        self.b.jump(behind);
        self.b.begin(other);
        let point = self.leaf(Leaf::TakeUtf8, &[field.context]);
        self.b.unless_none(point, fail);
        self.set_if_wanted(to, point)?;
        self.b.jump(behind);
        self.meet_at(slow, behind)?;
        Ok(true)
    }

    fn set_if_wanted(&mut self, to: Option<&Arg>, value: Value) -> Result<(), Unfit> {
        to.map_or(Ok(()), |to| self.set(to, value))
    }

    fn skip(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [_, context, Arg::I(size), unit, ..] = args else { return Ok(false) };
        let bits = u64::try_from(*size).ok().and_then(|size| size.checked_mul(unit.number()?));
        let Some(bits) = bits.filter(|bits| *bits < 1 << 32) else { return Ok(false) };
        let (fail, slow) = (self.label_of(args, 0)?, self.b.block());
        let field = self.wanted(context, bits, fail, slow)?;
        self.pass(&field);
        self.meet(slow)?;
        Ok(true)
    }

    /// What is left of a context: in units of its position.
    fn left(&mut self, context: &Arg, slow: BlockId) -> Result<Value, Unfit> {
        let context = self.source(context)?;
        self.is_context(context, slow);
        let (position, end) = (self.field(context, layout::BOXED, POSITION), self.field(context, layout::BOXED, LIMIT));
        Ok(self.b.binary(Binary::Sub, end, position))
    }

    fn test_tail(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [_, context, bits, ..] = args else { return Err(Unfit) };
        let Some(bits) = bits.number().filter(|bits| *bits < 1 << 32) else { return Ok(false) };
        let (fail, slow) = (self.label_of(args, 0)?, self.b.block());
        let left = self.left(context, slow)?;
        let same = self.b.compare_with(Condition::Equal, left, bits * BIT);
        self.b.unless(same, fail, None);
        self.meet(slow)?;
        Ok(true)
    }

    fn test_unit(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [_, context, unit, ..] = args else { return Err(Unfit) };
        let Some(unit) = unit.number().filter(|unit| unit.is_power_of_two() && *unit < 1 << 16) else {
            return Ok(false);
        };
        let (fail, slow) = (self.label_of(args, 0)?, self.b.block());
        let left = self.left(context, slow)?;
        let rest = self.b.with(Binary::And, left, (unit - 1) * BIT);
        let whole = self.b.compare_with(Condition::Equal, rest, 0);
        self.b.unless(whole, fail, None);
        self.meet(slow)?;
        Ok(true)
    }

    fn get_position(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [context, to, _] = args else { return Err(Unfit) };
        let (context, slow) = (self.source(context)?, self.b.block());
        self.is_context(context, slow);
        let position = self.field(context, layout::BOXED, POSITION);
        self.set(to, position)?;
        self.meet(slow)?;
        Ok(true)
    }

    fn set_position(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let [context, position] = args else { return Err(Unfit) };
        let (context, position, slow) = (self.source(context)?, self.source(position)?, self.b.block());
        self.is_context(context, slow);
        let small = self.is_small(position);
        self.b.unless(small, slow, Some(true));
        let end = self.field(context, layout::BOXED, LIMIT);
        // What is below 0 is above all without its sign.
        let within = self.b.compare(Condition::BelowOrEqual, position, end);
        self.b.unless(within, slow, Some(true));
        self.b.store(word_at(context, 8 * POSITION - layout::BOXED as i32, Region::Heap), position);
        self.meet(slow)?;
        Ok(true)
    }
}

fn byte_at(address: Value) -> Place {
    Place { width: Width::U8, ..word_at(address, 0, Region::Heap) }
}
