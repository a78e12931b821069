//! Moves, lists, tuples.

use super::calls::FUN_WORDS;
use super::{Translator, Unfit};
use crate::builder::{block_word, word_at};
use crate::name::Name;
use myriad_beam::{Arg, Op};
use myriad_interp::decode::At;
use myriad_interp::tiers::REGISTERS;
use myriad_native::form::{Binary, Condition, Region, Value};
use myriad_term::boxed::Header;
use myriad_term::{Kind, Mfa, am, layout};

impl Translator<'_> {
    pub(super) fn move_(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let [from, to] = args else { return Err(Unfit) };
        let value = self.source(from)?;
        self.set(to, value)
    }

    pub(super) fn swap(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let [a, b] = args else { return Err(Unfit) };
        let (first, second) = (self.source(a)?, self.source(b)?);
        self.set(a, second)?;
        self.set(b, first)
    }

    /// Takes words of the heap, of which there are enough: the address of the first.
    pub(super) fn take(&mut self, words: u64) -> Value {
        let top = self.b.load(block_word(REGISTERS.heap_top));
        let after = self.b.with(Binary::Add, top, 8 * words);
        self.b.store(block_word(REGISTERS.heap_top), after);
        top
    }

    pub(super) fn put_list(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let [head, tail, to] = args else { return Err(Unfit) };
        let (head, tail) = (self.source(head)?, self.source(tail)?);
        let cell = self.take(2);
        self.b.store(word_at(cell, 0, Region::Heap), head);
        self.b.store(word_at(cell, 8, Region::Heap), tail);
        let list = self.b.with(Binary::Or, cell, layout::LIST);
        self.set(to, list)
    }

    pub(super) fn put_tuple(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let [to, items] = args else { return Err(Unfit) };
        let items = items.items();
        let values = items.iter().map(|item| self.source(item)).collect::<Result<Vec<Value>, Unfit>>()?;
        let object = self.take(1 + values.len() as u64);
        let header = self.b.word(Header::new(Kind::Tuple, values.len()).raw());
        self.b.store(word_at(object, 0, Region::Heap), header);
        for (i, value) in values.into_iter().enumerate() {
            self.b.store(word_at(object, 8 * (1 + i as i32), Region::Heap), value);
        }
        let tuple = self.b.with(Binary::Or, object, layout::BOXED);
        self.set(to, tuple)
    }

    /// A fun with its free variables. That there is room nobody has checked (beam.effects/V9).
    pub(super) fn make_fun(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (index, to, free) = (self.number(args, 0)?, args.get(1).ok_or(Unfit)?, args.get(2).ok_or(Unfit)?.items());
        let values = free.iter().map(|item| self.source(item)).collect::<Result<Vec<Value>, Unfit>>()?;
        let room = self.has_room((FUN_WORDS + values.len()) as u32);
        self.or_visit(room, |t| {
            let (entry, creator) = (t.named(Name::Fun(index)), t.b.load(block_word(REGISTERS.pid)));
            let object = t.take((FUN_WORDS + values.len()) as u64);
            let header = t.b.word(Header::new(Kind::Fun, FUN_WORDS - 1 + values.len()).raw());
            for (i, value) in [header, entry, creator].into_iter().chain(values).enumerate() {
                t.b.store(word_at(object, 8 * i as i32, Region::Heap), value);
            }
            let fun = t.b.with(Binary::Or, object, layout::BOXED);
            t.set(to, fun)
        })
    }

    /// `self()`; `false`: it is another built-in.
    pub(super) fn self_pid(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let import = self.module.imports.get(self.number(args, 0)? as usize).ok_or(Unfit)?;
        if import.mfa != (Mfa { module: am::erlang, function: am::self_, arity: 0 }) {
            return Ok(false);
        }
        let pid = self.b.load(block_word(REGISTERS.pid));
        self.set(args.get(1).ok_or(Unfit)?, pid)?;
        Ok(true)
    }

    pub(super) fn get_list(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let [list, head, tail] = args else { return Err(Unfit) };
        let list = self.source(list)?;
        let first = self.field(list, layout::LIST, 0);
        let rest = self.field(list, layout::LIST, 1);
        self.set(head, first)?;
        self.set(tail, rest)
    }

    /// The word in a cell that stands so many bytes from its start.
    pub(super) fn get_cell(&mut self, args: &[Arg], bytes: i32) -> Result<(), Unfit> {
        let [list, to] = args else { return Err(Unfit) };
        let list = self.source(list)?;
        let value = self.field(list, layout::LIST, bytes / 8);
        self.set(to, value)
    }

    /// What takes a list or tuple apart of which no proof says that it is one; `false`: it is to be visited.
    pub(super) fn take_apart(&mut self, at: &At<'_>) -> Result<bool, Unfit> {
        let source = at.args.first().ok_or(Unfit)?;
        match at.op {
            Op::GetList | Op::GetHd | Op::GetTl => {
                let list = self.source(source)?;
                let cons = self.has_tag(list, layout::LIST);
                self.or_visit(cons, |t| match at.op {
                    Op::GetList => t.get_list(at.args),
                    Op::GetHd => t.get_cell(at.args, 0),
                    _ => t.get_cell(at.args, 8),
                })?;
            }
            Op::GetTupleElement => {
                let (tuple, least) = (source.reg().ok_or(Unfit)?, 1 + self.number(at.args, 1)?);
                if self.tuples.iter().any(|(reg, size)| *reg == tuple && *size >= least) {
                    self.get_element(at.args)?;
                    return Ok(true);
                }
                let (word, slow) = (self.source(source)?, self.b.block());
                let header = self.tuple_header_of(word, slow);
                let least_header = Header::new(Kind::Tuple, least as usize).raw();
                let reaches = self.b.compare_with(Condition::AboveOrEqual, header, least_header);
                self.b.unless(reaches, slow, Some(true));
                self.tuples.push((tuple, least));
                self.get_element(at.args)?;
                self.meet(slow)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Changes an element of a tuple that nobody else knows yet.
    pub(super) fn set_element(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let [value, tuple, _] = args else { return Err(Unfit) };
        let (value, tuple, index) = (self.source(value)?, self.source(tuple)?, self.number(args, 2)?);
        let index = i32::try_from(index).ok().filter(|index| *index < 1 << 24).ok_or(Unfit)?;
        self.b.store(word_at(tuple, 8 * (1 + index) - layout::BOXED as i32, Region::Heap), value);
        Ok(())
    }

    pub(super) fn get_element(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let (tuple, index) = (self.source(args.first().ok_or(Unfit)?)?, self.number(args, 1)?);
        let index = i32::try_from(index).ok().filter(|index| *index < 1 << 24).ok_or(Unfit)?;
        let value = self.field(tuple, layout::BOXED, 1 + index);
        self.set(args.get(2).ok_or(Unfit)?, value)
    }
}
