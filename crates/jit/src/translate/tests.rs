//! Tests of types, comparisons, selections.

use super::{Translator, Unfit};
use myriad_beam::{Arg, Op};
use myriad_interp::decode::At;
use myriad_native::form::{Binary, BlockId, Condition, End, Op as FormOp, Value};
use myriad_term::boxed::Header;
use myriad_term::{Kind, Term, layout};

/// Keys of a selection that are compared one after the other; more are searched by halves.
const LINEAR: usize = 4;

impl<'a> Translator<'a> {
    /// Makes a test; `false`: it is none, or is to be visited.
    pub(super) fn test(&mut self, at: &At<'a>) -> Result<bool, Unfit> {
        let args = at.args;
        match at.op {
            Op::IsEqExact => return self.equal(at, true),
            Op::IsNeExact => return self.equal(at, false),
            Op::IsLt => self.order(args, Condition::Less)?,
            Op::IsGe => self.order(args, Condition::GreaterOrEqual)?,
            Op::SelectVal => return self.select_value(args),
            Op::SelectTupleArity => self.select_arity(args)?,
            Op::IsTuple => self.boxed_test(args, layout::KIND_MASK, Header::new(Kind::Tuple, 0).raw())?,
            Op::TestArity => {
                let header = self.tuple_header(args, 2)?;
                self.boxed_test(args, u64::MAX, header)?;
            }
            Op::IsTaggedTuple => self.tagged_tuple(args)?,
            Op::IsNonemptyList => self.word_test(args, |t, word| t.has_tag(word, layout::LIST))?,
            Op::IsNil => self.word_test(args, |t, word| t.b.compare_with(Condition::Equal, word, Term::NIL.raw()))?,
            Op::IsList => self.word_test(args, |t, word| {
                let (cons, nil) =
                    (t.has_tag(word, layout::LIST), t.b.compare_with(Condition::Equal, word, Term::NIL.raw()));
                t.b.binary(Binary::Or, cons, nil)
            })?,
            Op::IsAtom => self.word_test(args, |t, word| {
                let bits = t.b.with(Binary::And, word, layout::SUB_MASK);
                t.b.compare_with(Condition::Equal, bits, layout::ATOM)
            })?,
            Op::IsBoolean => self.word_test(args, |t, word| {
                let yes = t.b.compare_with(Condition::Equal, word, Term::TRUE.raw());
                let no = t.b.compare_with(Condition::Equal, word, Term::FALSE.raw());
                t.b.binary(Binary::Or, yes, no)
            })?,
            Op::IsInteger => self.immediate_or_visit(args, |t, word| t.is_small(word))?,
            Op::IsFloat => self.immediate_or_visit(args, Self::is_tagged_float)?,
            Op::IsNumber => self.immediate_or_visit(args, |t, word| {
                let (small, float) = (t.is_small(word), t.is_tagged_float(word));
                t.b.binary(Binary::Or, small, float)
            })?,
            Op::IsPid => self.immediate_or_visit(args, |t, word| {
                let bits = t.b.with(Binary::And, word, layout::SUB_MASK);
                t.b.compare_with(Condition::Equal, bits, layout::LOCAL_PID)
            })?,
            Op::IsMap => self.kinds(args, &[Kind::Map, Kind::MapRoot])?,
            Op::IsFunction => self.kinds(args, &[Kind::Fun, Kind::ExportFun])?,
            Op::IsBitstr => self.kinds(args, &[Kind::HeapBinary, Kind::SharedBinary, Kind::SubBinary])?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn is_tagged_float(&mut self, word: Value) -> Value {
        let bits = self.b.with(Binary::And, word, layout::TAG_MASK);
        let bits = self.b.with(Binary::Sub, bits, layout::FLOAT);
        self.b.compare_with(Condition::BelowOrEqual, bits, 1)
    }

    /// Goes on here if a test of the second argument holds, else at the label in the first.
    fn word_test(&mut self, args: &[Arg], holds: impl FnOnce(&mut Self, Value) -> Value) -> Result<(), Unfit> {
        let (fail, word) = (self.label_of(args, 0)?, self.source(args.get(1).ok_or(Unfit)?)?);
        let holds = holds(self, word);
        self.b.unless(holds, fail, None);
        Ok(())
    }

    /// The same, where a word that it does not hold for is one of another form if it is boxed.
    fn immediate_or_visit(&mut self, args: &[Arg], holds: impl FnOnce(&mut Self, Value) -> Value) -> Result<(), Unfit> {
        let (fail, word) = (self.label_of(args, 0)?, self.source(args.get(1).ok_or(Unfit)?)?);
        let holds = holds(self, word);
        let (other, visited, behind) = (self.b.block(), self.b.block(), self.b.block());
        self.b.end(End::Branch { condition: holds, then: behind, otherwise: other, likely: None });
        self.b.begin(other);
        let boxed = self.has_tag(word, layout::BOXED);
        self.b.end(End::Branch { condition: boxed, then: visited, otherwise: fail, likely: None });
        self.meet_at(visited, behind)
    }

    /// Is the second argument boxed, with such a header under a mask?
    fn boxed_test(&mut self, args: &[Arg], mask: u64, header: u64) -> Result<(), Unfit> {
        let (fail, word) = (self.label_of(args, 0)?, self.source(args.get(1).ok_or(Unfit)?)?);
        self.header_is(word, mask, header, fail);
        Ok(())
    }

    /// Goes on here if a word is boxed and its header is so under a mask.
    fn header_is(&mut self, word: Value, mask: u64, header: u64, fail: BlockId) {
        let boxed = self.has_tag(word, layout::BOXED);
        self.b.unless(boxed, fail, None);
        let mut found = self.field(word, layout::BOXED, 0);
        if mask != u64::MAX {
            found = self.b.with(Binary::And, found, mask);
        }
        let same = self.b.compare_with(Condition::Equal, found, header);
        self.b.unless(same, fail, None);
    }

    fn tuple_header(&self, args: &[Arg], index: usize) -> Result<u64, Unfit> {
        Ok(Header::new(Kind::Tuple, self.number(args, index)? as usize).raw())
    }

    fn tagged_tuple(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (fail, word, header) =
            (self.label_of(args, 0)?, self.source(args.get(1).ok_or(Unfit)?)?, self.tuple_header(args, 2)?);
        let tag = self.constant(args.get(3).ok_or(Unfit)?)?.ok_or(Unfit)?;
        self.header_is(word, u64::MAX, header, fail);
        let first = self.field(word, layout::BOXED, 1);
        let same = self.b.compare_with(Condition::Equal, first, tag.raw());
        self.b.unless(same, fail, None);
        Ok(())
    }

    fn kinds(&mut self, args: &[Arg], kinds: &[Kind]) -> Result<(), Unfit> {
        let (fail, word) = (self.label_of(args, 0)?, self.source(args.get(1).ok_or(Unfit)?)?);
        let boxed = self.has_tag(word, layout::BOXED);
        self.b.unless(boxed, fail, None);
        let header = self.field(word, layout::BOXED, 0);
        let kind = self.b.with(Binary::And, header, layout::KIND_MASK);
        let mut any = self.b.word(0);
        for one in kinds {
            let is = self.b.compare_with(Condition::Equal, kind, Header::new(*one, 0).raw());
            any = self.b.binary(Binary::Or, any, is);
        }
        self.b.unless(any, fail, None);
        Ok(())
    }

    // ---- comparisons

    /// `=:=` and `=/=`.
    fn equal(&mut self, at: &At<'a>, wants: bool) -> Result<bool, Unfit> {
        let [_, a, b] = at.args else { return Err(Unfit) };
        let fail = self.label_of(at.args, 0)?;
        let constants = [self.constant(a)?, self.constant(b)?];
        let (first, second) = (self.source(a)?, self.source(b)?);
        let same = self.b.compare(Condition::Equal, first, second);
        let behind = self.b.block();
        let (if_same, if_not) = if wants { (behind, fail) } else { (fail, behind) };
        if constants.iter().flatten().any(|term| term.is_immediate()) {
            self.b.end(End::Branch { condition: same, then: if_same, otherwise: if_not, likely: None });
            self.b.begin(behind);
            return Ok(true);
        }
        let (other, slow) = (self.b.block(), self.b.block());
        self.b.end(End::Branch { condition: same, then: if_same, otherwise: other, likely: None });
        // Of two words that are not the same both need memory, if they are equal: tags 1 and 2.
        self.b.begin(other);
        let memory = [first, second].map(|word| {
            let bits = self.b.with(Binary::Sub, word, layout::BOXED);
            self.b.with(Binary::And, bits, layout::TAG_MASK & !1)
        });
        let either = self.b.binary(Binary::Or, memory[0], memory[1]);
        self.b.end(End::Branch { condition: either, then: if_not, otherwise: slow, likely: None });
        self.meet_at(slow, behind)?;
        Ok(true)
    }

    /// `<` and `>=`: of two small integers, or two self-tagged doubles; others are visited.
    fn order(&mut self, args: &[Arg], condition: Condition) -> Result<(), Unfit> {
        let fail = self.label_of(args, 0)?;
        let [_, first, second] = args else { return Err(Unfit) };
        let (a, b, behind, slow) = (self.source(first)?, self.source(second)?, self.b.block(), self.b.block());
        let [small, float] = [Term::is_small, Term::is_immediate_float].map(|is| self.may_both_be(first, second, is));
        if small? {
            let (other, are) = (self.b.block(), self.both_small(first, a, second, b)?);
            self.b.unless(are, other, None);
            let holds = self.b.compare(condition, a, b);
            self.b.end(End::Branch { condition: holds, then: behind, otherwise: fail, likely: None });
            self.b.begin(other);
        }
        if float? {
            for (arg, word) in [(first, a), (second, b)] {
                if self.constant(arg)?.is_none() {
                    let tagged = self.is_tagged_float(word);
                    self.b.unless(tagged, slow, None);
                }
            }
            let (x, y) = (self.untag(a), self.untag(b));
            let holds = self.b.gives(|value| FormOp::FloatCompare(value, condition, x, y));
            self.b.end(End::Branch { condition: holds, then: behind, otherwise: fail, likely: None });
        } else {
            self.b.jump(slow);
        }
        self.meet_at(slow, behind)
    }

    /// Does nothing that is known of two operands say that they are not both of a kind?
    pub(super) fn may_both_be(&self, a: &Arg, b: &Arg, is: fn(Term) -> bool) -> Result<bool, Unfit> {
        Ok([self.constant(a)?, self.constant(b)?].into_iter().flatten().all(is))
    }

    /// Are both small integers? A constant need not be looked at.
    pub(super) fn both_small(&mut self, a: &Arg, first: Value, b: &Arg, second: Value) -> Result<Value, Unfit> {
        let is_small =
            |t: &Self, arg: &Arg| -> Result<bool, Unfit> { Ok(t.constant(arg)?.is_some_and(Term::is_small)) };
        Ok(match (is_small(self, a)?, is_small(self, b)?) {
            (true, _) => self.is_small(second),
            (_, true) => self.is_small(first),
            _ => {
                let bits = self.b.binary(Binary::Or, first, second);
                self.is_small(bits)
            }
        })
    }

    // ---- selections

    fn select_value(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let fail = self.label_of(args, 1)?;
        let mut keys = Vec::new();
        for pair in args.get(2).ok_or(Unfit)?.items().chunks_exact(2) {
            let key = self.constant(&pair[0])?.ok_or(Unfit)?;
            if !key.is_immediate() {
                return Ok(false);
            }
            let to = self.label(pair[1].label().ok_or(Unfit)?);
            keys.push((key.raw(), to));
        }
        let word = self.source(args.first().ok_or(Unfit)?)?;
        keys.sort_by_key(|(key, _)| *key);
        keys.dedup_by_key(|(key, _)| *key);
        self.search(word, &keys, fail);
        Ok(true)
    }

    /// Goes on where the key leads that is the word; keys are in ascending order.
    fn search(&mut self, word: Value, keys: &[(u64, BlockId)], fail: BlockId) {
        if keys.len() <= LINEAR {
            for (key, to) in keys {
                let (same, next) = (self.b.compare_with(Condition::Equal, word, *key), self.b.block());
                self.b.end(End::Branch { condition: same, then: *to, otherwise: next, likely: None });
                self.b.begin(next);
            }
            self.b.jump(fail);
            return;
        }
        let (lower, upper) = keys.split_at(keys.len() / 2);
        let below = self.b.compare_with(Condition::Below, word, upper[0].0);
        let (left, right) = (self.b.block(), self.b.block());
        self.b.end(End::Branch { condition: below, then: left, otherwise: right, likely: None });
        self.b.begin(left);
        self.search(word, lower, fail);
        self.b.begin(right);
        self.search(word, upper, fail);
    }

    fn select_arity(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (fail, word) = (self.label_of(args, 1)?, self.source(args.first().ok_or(Unfit)?)?);
        let boxed = self.has_tag(word, layout::BOXED);
        self.b.unless(boxed, fail, None);
        let header = self.field(word, layout::BOXED, 0);
        let mut keys = Vec::new();
        for pair in args.get(2).ok_or(Unfit)?.items().chunks_exact(2) {
            let arity = pair[0].number().and_then(|n| u32::try_from(n).ok()).ok_or(Unfit)?;
            let to = self.label(pair[1].label().ok_or(Unfit)?);
            keys.push((Header::new(Kind::Tuple, arity as usize).raw(), to));
        }
        keys.sort_by_key(|(key, _)| *key);
        keys.dedup_by_key(|(key, _)| *key);
        self.search(header, &keys, fail);
        Ok(())
    }
}
