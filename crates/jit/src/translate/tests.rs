//! Tests of types, comparisons, selections, and the values of keys.

use super::{Translator, Unfit};
use crate::name::Constant;
use myriad_beam::{Arg, Op};
use myriad_interp::decode::At;
use myriad_interp::leaves::Leaf;
use myriad_native::form::{Binary, BlockId, Condition, End, Op as FormOp, Value};
use myriad_term::boxed::Header;
use myriad_term::{Atom, Kind, Term, am, layout};

/// Keys of a selection that are compared one after the other; more are searched by halves.
const LINEAR: usize = 4;

/// A test of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TypeTest {
    Tuple,
    Map,
    Function,
    Reference,
    Bitstring,
    Binary,
    Integer,
    Float,
    Number,
    Pid,
    NonemptyList,
    Nil,
    List,
    Atom,
    Boolean,
}

impl TypeTest {
    /// The test that an instruction makes.
    fn of(op: Op) -> Option<TypeTest> {
        Some(match op {
            Op::IsTuple => TypeTest::Tuple,
            Op::IsMap => TypeTest::Map,
            Op::IsFunction => TypeTest::Function,
            Op::IsReference => TypeTest::Reference,
            Op::IsBitstr => TypeTest::Bitstring,
            Op::IsBinary => TypeTest::Binary,
            Op::IsInteger => TypeTest::Integer,
            Op::IsFloat => TypeTest::Float,
            Op::IsNumber => TypeTest::Number,
            Op::IsPid => TypeTest::Pid,
            Op::IsNonemptyList => TypeTest::NonemptyList,
            Op::IsNil => TypeTest::Nil,
            Op::IsList => TypeTest::List,
            Op::IsAtom => TypeTest::Atom,
            Op::IsBoolean => TypeTest::Boolean,
            _ => return None,
        })
    }

    /// The test that a built-in makes.
    pub(super) fn of_built_in(function: Atom) -> Option<TypeTest> {
        Some(match function {
            am::is_tuple => TypeTest::Tuple,
            am::is_map => TypeTest::Map,
            am::is_function => TypeTest::Function,
            am::is_reference => TypeTest::Reference,
            am::is_bitstring => TypeTest::Bitstring,
            am::is_binary => TypeTest::Binary,
            am::is_integer => TypeTest::Integer,
            am::is_float => TypeTest::Float,
            am::is_number => TypeTest::Number,
            am::is_pid => TypeTest::Pid,
            am::is_list => TypeTest::List,
            am::is_atom => TypeTest::Atom,
            am::is_boolean => TypeTest::Boolean,
            _ => return None,
        })
    }
}

impl<'a> Translator<'a> {
    /// Makes a test; `false`: it is none, or is to be visited.
    pub(super) fn test(&mut self, at: &At<'a>) -> Result<bool, Unfit> {
        let args = at.args;
        match at.op {
            Op::IsEqExact | Op::IsNeExact | Op::IsEq | Op::IsNe | Op::IsLt | Op::IsGe => {
                let fail = self.label_of(args, 0)?;
                self.comparison(at.op, args.get(1), args.get(2), fail)?;
            }
            Op::SelectVal => return self.select_value(args),
            Op::SelectTupleArity => self.select_arity(args)?,
            Op::TestArity => {
                let (fail, word, header) = (self.label_of(args, 0)?, self.tested(args)?, self.tuple_header(args, 2)?);
                self.header_is(word, header, fail);
            }
            Op::IsTaggedTuple => self.tagged_tuple(args)?,
            Op::IsFunction2 => {
                let (fail, word, arity) =
                    (self.label_of(args, 0)?, self.tested(args)?, self.source(args.get(2).ok_or(Unfit)?)?);
                let is = self.leaf(Leaf::IsFunctionOf, &[word, arity]);
                self.b.unless(is, fail, None);
            }
            Op::HasMapFields => self.has_fields(args)?,
            Op::GetMapElements => self.get_map_elements(args)?,
            op => {
                let Some(test) = TypeTest::of(op) else { return Ok(false) };
                let (fail, word) = (self.label_of(args, 0)?, self.tested(args)?);
                self.type_test(test, word, fail);
            }
        }
        Ok(true)
    }

    /// What a test looks at.
    fn tested(&mut self, args: &[Arg]) -> Result<Value, Unfit> {
        self.source(args.get(1).ok_or(Unfit)?)
    }

    pub(super) fn is_tagged_float(&mut self, word: Value) -> Value {
        let bits = self.b.with(Binary::And, word, layout::TAG_MASK);
        let bits = self.b.with(Binary::Sub, bits, layout::FLOAT);
        self.b.compare_with(Condition::BelowOrEqual, bits, 1)
    }

    /// Goes on here if a word is of a type, else at `fail`.
    pub(super) fn type_test(&mut self, test: TypeTest, word: Value, fail: BlockId) {
        use TypeTest as T;
        match test {
            T::Tuple => self.kinds(word, &[Kind::Tuple], fail),
            T::Map => self.kinds(word, &[Kind::Map, Kind::MapRoot], fail),
            T::Function => self.kinds(word, &[Kind::Fun, Kind::ExportFun], fail),
            T::Reference => {
                self.kinds(word, &[Kind::Ref, Kind::AliasRef, Kind::MagicRef, Kind::ExternalRef], fail);
            }
            T::Bitstring => self.kinds(word, &[Kind::HeapBinary, Kind::SharedBinary, Kind::SubBinary], fail),
            T::Binary => self.is_binary(word, fail),
            T::Integer => {
                let small = self.is_small(word);
                self.or_kinds(small, word, &[Kind::BigPositive, Kind::BigNegative], fail);
            }
            T::Float => {
                let tagged = self.is_tagged_float(word);
                self.or_kinds(tagged, word, &[Kind::Float], fail);
            }
            T::Number => {
                let (small, float) = (self.is_small(word), self.is_tagged_float(word));
                let either = self.b.binary(Binary::Or, small, float);
                self.or_kinds(either, word, &[Kind::BigPositive, Kind::BigNegative, Kind::Float], fail);
            }
            T::Pid => {
                let bits = self.b.with(Binary::And, word, layout::SUB_MASK);
                let local = self.b.compare_with(Condition::Equal, bits, layout::LOCAL_PID);
                self.or_kinds(local, word, &[Kind::ExternalPid], fail);
            }
            T::NonemptyList | T::Nil | T::List | T::Atom | T::Boolean => {
                let holds = self.word_is(test, word);
                self.b.unless(holds, fail, None);
            }
        }
    }

    /// Is a word of a type that the word alone tells?
    fn word_is(&mut self, test: TypeTest, word: Value) -> Value {
        match test {
            TypeTest::NonemptyList => self.has_tag(word, layout::LIST),
            TypeTest::Nil => self.b.compare_with(Condition::Equal, word, Term::NIL.raw()),
            TypeTest::List => {
                let (cons, nil) = (self.word_is(TypeTest::NonemptyList, word), self.word_is(TypeTest::Nil, word));
                self.b.binary(Binary::Or, cons, nil)
            }
            TypeTest::Atom => {
                let bits = self.b.with(Binary::And, word, layout::SUB_MASK);
                self.b.compare_with(Condition::Equal, bits, layout::ATOM)
            }
            _ => {
                let yes = self.b.compare_with(Condition::Equal, word, Term::TRUE.raw());
                let no = self.b.compare_with(Condition::Equal, word, Term::FALSE.raw());
                self.b.binary(Binary::Or, yes, no)
            }
        }
    }

    /// Goes on here if an immediate test holds or the word is boxed and of one of these kinds.
    fn or_kinds(&mut self, holds: Value, word: Value, kinds: &[Kind], fail: BlockId) {
        let (other, behind) = (self.b.block(), self.b.block());
        self.b.end(End::Branch { condition: holds, then: behind, otherwise: other, likely: None });
        self.b.begin(other);
        self.kinds(word, kinds, fail);
        self.b.jump(behind);
        self.b.begin(behind);
    }

    /// Goes on here if a word is boxed and its header is this one.
    fn header_is(&mut self, word: Value, header: u64, fail: BlockId) {
        let boxed = self.has_tag(word, layout::BOXED);
        self.b.unless(boxed, fail, None);
        let found = self.field(word, layout::BOXED, 0);
        let same = self.b.compare_with(Condition::Equal, found, header);
        self.b.unless(same, fail, None);
    }

    fn tuple_header(&self, args: &[Arg], index: usize) -> Result<u64, Unfit> {
        Ok(Header::new(Kind::Tuple, self.number(args, index)? as usize).raw())
    }

    fn tagged_tuple(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (fail, word, header) = (self.label_of(args, 0)?, self.tested(args)?, self.tuple_header(args, 2)?);
        let tag = self.constant_of(args.get(3).ok_or(Unfit)?)?;
        self.header_is(word, header, fail);
        let first = self.field(word, layout::BOXED, 1);
        let same = self.compare_with_constant(Condition::Equal, first, &tag);
        self.b.unless(same, fail, None);
        Ok(())
    }

    /// The kind of a boxed word; others go on at `fail`.
    fn kind_of(&mut self, word: Value, fail: BlockId) -> Value {
        let boxed = self.has_tag(word, layout::BOXED);
        self.b.unless(boxed, fail, None);
        let header = self.field(word, layout::BOXED, 0);
        self.b.with(Binary::And, header, layout::KIND_MASK)
    }

    /// Goes on here if a word is boxed and of one of these kinds.
    fn kinds(&mut self, word: Value, kinds: &[Kind], fail: BlockId) {
        let kind = self.kind_of(word, fail);
        let mut any = None;
        for one in kinds {
            let is = self.b.compare_with(Condition::Equal, kind, Header::new(*one, 0).raw());
            any = Some(any.map_or(is, |any| self.b.binary(Binary::Or, any, is)));
        }
        if let Some(any) = any {
            self.b.unless(any, fail, None);
        }
    }

    fn is_binary(&mut self, word: Value, fail: BlockId) {
        let kind = self.kind_of(word, fail);
        let (on_heap, other, part_or_not, behind) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let heap = self.b.compare_with(Condition::Equal, kind, Header::new(Kind::HeapBinary, 0).raw());
        self.b.end(End::Branch { condition: heap, then: on_heap, otherwise: other, likely: None });
        self.b.begin(on_heap);
        // Its first word has the number of bits.
        let bits = self.field(word, layout::BOXED, 1);
        let within_byte = self.b.with(Binary::And, bits, 7);
        self.b.end(End::Branch { condition: within_byte, then: fail, otherwise: behind, likely: Some(false) });
        self.b.begin(other);
        let shared = self.b.compare_with(Condition::Equal, kind, Header::new(Kind::SharedBinary, 0).raw());
        self.b.end(End::Branch { condition: shared, then: behind, otherwise: part_or_not, likely: None });
        self.b.begin(part_or_not);
        let part = self.b.compare_with(Condition::Equal, kind, Header::new(Kind::SubBinary, 0).raw());
        self.b.unless(part, fail, None);
        let is = self.leaf(Leaf::IsBinary, &[word]);
        self.b.unless(is, fail, None);
        self.b.jump(behind);
        self.b.begin(behind);
    }

    // ---- comparisons

    /// Goes on here if a comparison holds, else at `fail`.
    pub(super) fn comparison(&mut self, op: Op, a: Option<&Arg>, b: Option<&Arg>, fail: BlockId) -> Result<(), Unfit> {
        let (Some(a), Some(b)) = (a, b) else { return Err(Unfit) };
        let behind = self.b.block();
        match op {
            Op::IsEqExact => self.equal(Leaf::Equal, a, b, behind, fail)?,
            Op::IsNeExact => self.equal(Leaf::Equal, a, b, fail, behind)?,
            Op::IsEq => self.equal(Leaf::EqualInValue, a, b, behind, fail)?,
            Op::IsNe => self.equal(Leaf::EqualInValue, a, b, fail, behind)?,
            Op::IsLt => self.order(a, b, Condition::Less, behind, fail)?,
            _ => self.order(a, b, Condition::GreaterOrEqual, behind, fail)?,
        }
        self.b.begin(behind);
        Ok(())
    }

    /// `=:=` or `==`.
    fn equal(&mut self, leaf: Leaf, a: &Arg, b: &Arg, yes: BlockId, no: BlockId) -> Result<(), Unfit> {
        // What is equal to this is this. Small integers are equal in value to floats.
        let settles =
            |term: &Term| if leaf == Leaf::Equal { term.is_immediate() } else { term.is_atom() || term.is_nil() };
        let settled = [self.constant(a)?, self.constant(b)?].iter().flatten().any(settles);
        let (first, second) = (self.source(a)?, self.source(b)?);
        let same = self.b.compare(Condition::Equal, first, second);
        if settled {
            self.b.end(End::Branch { condition: same, then: yes, otherwise: no, likely: None });
            return Ok(());
        }
        let (other, slow) = (self.b.block(), self.b.block());
        self.b.end(End::Branch { condition: same, then: yes, otherwise: other, likely: None });
        self.b.begin(other);
        if leaf == Leaf::Equal {
            // Of two words that are not the same both need memory, if they are equal: tags 1 and 2.
            for word in [first, second] {
                let bits = self.b.with(Binary::Sub, word, layout::BOXED);
                let bits = self.b.with(Binary::And, bits, layout::TAG_MASK & !1);
                let memory = self.b.compare_with(Condition::Equal, bits, 0);
                // Most comparisons are of atoms and small integers.
                self.b.unless(memory, no, Some(false));
            }
            self.b.jump(slow);
        } else {
            let small = self.both_small(a, first, b, second)?;
            self.b.end(End::Branch { condition: small, then: no, otherwise: slow, likely: Some(true) });
        }
        self.b.begin(slow);
        let equal = self.leaf(leaf, &[first, second]);
        self.b.end(End::Branch { condition: equal, then: yes, otherwise: no, likely: None });
        Ok(())
    }

    /// `<` and `>=`: of two small integers, or two self-tagged doubles, or by a leaf.
    fn order(
        &mut self,
        first: &Arg,
        second: &Arg,
        condition: Condition,
        yes: BlockId,
        no: BlockId,
    ) -> Result<(), Unfit> {
        let (a, b, slow) = (self.source(first)?, self.source(second)?, self.b.block());
        let [small, float] = [Term::is_small, Term::is_immediate_float].map(|is| self.may_both_be(first, second, is));
        if small? {
            let (other, are) = (self.b.block(), self.both_small(first, a, second, b)?);
            self.b.unless(are, other, Some(true));
            let holds = self.b.compare(condition, a, b);
            self.b.end(End::Branch { condition: holds, then: yes, otherwise: no, likely: None });
            self.b.begin(other);
        }
        if float? {
            for (arg, word) in [(first, a), (second, b)] {
                if self.constant(arg)?.is_none() {
                    let tagged = self.is_tagged_float(word);
                    self.b.unless(tagged, slow, Some(true));
                }
            }
            let (x, y) = (self.untag(a), self.untag(b));
            let holds = self.b.gives(|value| FormOp::FloatCompare(value, condition, x, y));
            self.b.end(End::Branch { condition: holds, then: yes, otherwise: no, likely: None });
        } else {
            self.b.jump(slow);
        }
        self.b.begin(slow);
        let order = self.leaf(Leaf::Order, &[a, b]);
        let holds = self.b.compare_with(condition, order, 0);
        self.b.end(End::Branch { condition: holds, then: yes, otherwise: no, likely: None });
        Ok(())
    }

    // ---- maps

    /// Goes on here if a map has all keys.
    fn has_fields(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (fail, map) = (self.label_of(args, 0)?, self.tested(args)?);
        self.type_test(TypeTest::Map, map, fail);
        for key in args.get(2).ok_or(Unfit)?.items() {
            self.map_value(map, key, fail)?;
        }
        Ok(())
    }

    /// Goes on here, with the values in their registers, if a map has all keys.
    fn get_map_elements(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (fail, map) = (self.label_of(args, 0)?, self.tested(args)?);
        for pair in args.get(2).ok_or(Unfit)?.items().chunks(2) {
            let [key, to] = pair else { return Err(Unfit) };
            let value = self.map_value(map, key, fail)?;
            self.set(to, value)?;
        }
        Ok(())
    }

    /// The value of a key; without one control goes on at `fail`.
    pub(super) fn map_value(&mut self, map: Value, key: &Arg, fail: BlockId) -> Result<Value, Unfit> {
        let key = self.source(key)?;
        let value = self.leaf(Leaf::MapValue, &[map, key]);
        self.b.unless_none(value, fail);
        Ok(value)
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
            keys.push((key.raw(), self.constant_of(&pair[0])?, to));
        }
        let word = self.source(args.first().ok_or(Unfit)?)?;
        keys.sort_by_key(|(key, ..)| *key);
        keys.dedup_by_key(|(key, ..)| *key);
        let keys: Vec<(Constant, BlockId)> = keys.into_iter().map(|(_, key, to)| (key, to)).collect();
        if keys.len() > LINEAR && keys.iter().any(|(key, _)| matches!(key, Constant::Named(_))) {
            self.orders.push(keys.iter().map(|(key, _)| key.clone()).collect());
        }
        self.search(word, &keys, fail);
        Ok(true)
    }

    /// Goes on where the key leads that is the word; keys are in ascending order.
    fn search(&mut self, word: Value, keys: &[(Constant, BlockId)], fail: BlockId) {
        if keys.len() <= LINEAR {
            for (key, to) in keys {
                let (same, next) = (self.compare_with_constant(Condition::Equal, word, key), self.b.block());
                self.b.end(End::Branch { condition: same, then: *to, otherwise: next, likely: None });
                self.b.begin(next);
            }
            self.b.jump(fail);
            return;
        }
        let (lower, upper) = keys.split_at(keys.len() / 2);
        let below = self.compare_with_constant(Condition::Below, word, &upper[0].0);
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
        let keys: Vec<(Constant, BlockId)> = keys.into_iter().map(|(key, to)| (Constant::Word(key), to)).collect();
        self.search(header, &keys, fail);
        Ok(())
    }
}
