//! Calls, returns, frames, handlers.

use super::{Translator, Unfit};
use crate::builder::{block_word, word_at};
use crate::name::Name;
use myriad_beam::{Arg, Op, Reg};
use myriad_heap::RESERVED;
use myriad_interp::decode::{At, is_ordinary_call};
use myriad_interp::tiers::REGISTERS;
use myriad_native::form::{
    ARGUMENTS, Binary, BlockId, Condition, End, Op as FormOp, Place, Point, Region, Type, Value, Variable, Width,
};
use myriad_term::boxed::Header;
use myriad_term::{Export, FunEntry, FunId, Kind, Term, layout};
use myriad_vm::code::Function;
use std::mem::offset_of;

/// Whom a call runs.
enum Callee {
    /// A function of this module.
    Local(&'static Function),
    /// What the export of this import leads to then.
    Import(u32, &'static Export),
}

/// Where a call goes on.
struct Return {
    sp: Value,
    x0: Value,
    block: BlockId,
}

/// Words of a fun before its free variables.
pub(super) const FUN_WORDS: usize = 3;

/// Where a fun's entry says how many arguments it takes, one byte.
const FUN_ARITY: usize = offset_of!(FunEntry, id) + offset_of!(FunId, arity);

impl<'a> Translator<'a> {
    pub(super) fn return_(&mut self) -> Result<(), Unfit> {
        let (sp, x0) = (self.b.get(self.sp), self.x(0)?);
        self.b.end(End::Return { sp, x0 });
        Ok(())
    }

    pub(super) fn call(&mut self, args: &'a [Arg]) -> Result<bool, Unfit> {
        let callee = self.local(args)?;
        self.call_with_return(callee)
    }

    pub(super) fn call_last(&mut self, args: &'a [Arg], slots: u32) -> Result<bool, Unfit> {
        let callee = self.local(args)?;
        self.tail_call(callee, slots)
    }

    pub(super) fn call_ext(&mut self, args: &'a [Arg]) -> Result<bool, Unfit> {
        match self.import(args)? {
            Some(callee) => self.call_with_return(callee),
            None => Ok(false),
        }
    }

    pub(super) fn call_ext_last(&mut self, args: &'a [Arg], slots: u32) -> Result<bool, Unfit> {
        match self.import(args)? {
            Some(callee) => self.tail_call(callee, slots),
            None => Ok(false),
        }
    }

    fn local(&self, args: &[Arg]) -> Result<Callee, Unfit> {
        let label = args.get(1).and_then(Arg::label).ok_or(Unfit)?;
        let index = self.module.beam.function_at(label).ok_or(Unfit)?;
        Ok(Callee::Local(self.module.functions.get(index as usize).ok_or(Unfit)?))
    }

    /// `None`: tier 0 has an instruction for the call.
    fn import(&self, args: &[Arg]) -> Result<Option<Callee>, Unfit> {
        let index = self.number(args, 1)?;
        let export = *self.module.imports.get(index as usize).ok_or(Unfit)?;
        Ok(is_ordinary_call(self.vm, export).then_some(Callee::Import(index, export)))
    }

    fn arity(callee: &Callee) -> usize {
        match callee {
            Callee::Local(function) => function.mfa.arity.into(),
            Callee::Import(_, export) => export.mfa.arity.into(),
        }
    }

    /// The X registers that a call has in machine registers; the others go to the block.
    fn arguments(&mut self, arity: usize) -> Result<Vec<Value>, Unfit> {
        for i in ARGUMENTS..arity {
            let value = self.x(i as u16)?;
            self.b.store(block_word(REGISTERS.x + 8 * i), value);
        }
        (0..arity.min(ARGUMENTS)).map(|i| self.x(i as u16)).collect()
    }

    /// Counts a reduction; where none is left, tier 0 runs the instruction, which finds out why.
    fn count(&mut self, x: &[Value]) -> Result<(), Unfit> {
        let (stops, here) = (self.b.block(), self.b.block());
        self.count_or(stops);
        self.b.jump(here);
        self.b.begin(stops);
        self.descend(self.index, x)?;
        self.b.begin(here);
        Ok(())
    }

    /// The same, where none left leads to `stops`, uncounted.
    fn count_or(&mut self, stops: BlockId) {
        let left = self.b.counter();
        let runs = self.b.compare_with(Condition::Greater, left, 1);
        self.b.unless(runs, stops, Some(true));
        let left = self.b.with(Binary::Sub, left, 1);
        self.b.op(FormOp::SetCounter(left));
    }

    /// Tells tier 0 whom the call runs, in case that has no machine code; and where its code is.
    fn target(&mut self, callee: &Callee) -> Value {
        let function = match callee {
            Callee::Local(function) => self.function_address(function.index),
            Callee::Import(index, _) => {
                let export = self.import_address(*index);
                self.b.load(word_at(export, offset_of!(Export, code) as i32, Region::Other))
            }
        };
        self.entry_of(function)
    }

    /// The same of a function at an address.
    fn entry_of(&mut self, function: Value) -> Value {
        self.b.store(block_word(REGISTERS.callee), function);
        self.b.load(word_at(function, Function::NATIVE_OFFSET as i32, Region::Other))
    }

    fn call_with_return(&mut self, callee: Callee) -> Result<bool, Unfit> {
        let x = self.arguments(Self::arity(&callee))?;
        self.count(&x)?;
        let target = self.target(&callee);
        let next = self.end_call(target, x);
        self.go_on(next)?;
        Ok(true)
    }

    /// Calls in tail position.
    fn end_tail(&mut self, target: Value, x: Vec<Value>) {
        let sp = self.b.get(self.sp);
        self.b.end(End::Tail { target, sp, x });
    }

    /// Pushes the return point, and calls: where it goes on.
    fn end_call(&mut self, target: Value, x: Vec<Value>) -> Return {
        let (sp, record) = (self.b.get(self.sp), self.named(Name::Record(self.index)));
        self.b.store(word_at(sp, -8, Region::Stack), record);
        let sp = self.b.with(Binary::Sub, sp, 8);
        let (sp_after, x0_after, next) = (self.b.value(Type::Word), self.b.value(Type::Word), self.b.block());
        let point = Point(self.index as u32);
        self.returning.insert(self.index);
        self.b.end(End::Call { target, sp, x, point, sp_after, x0_after, next });
        Return { sp: sp_after, x0: x0_after, block: next }
    }

    /// Goes on behind a call.
    fn go_on(&mut self, Return { sp, x0, block }: Return) -> Result<(), Unfit> {
        self.b.begin(block);
        self.load_live(self.list[self.index].index + 1, sp, x0)
    }

    fn tail_call(&mut self, callee: Callee, slots: u32) -> Result<bool, Unfit> {
        let x = self.arguments(Self::arity(&callee))?;
        self.count(&x)?;
        if let Callee::Local(function) = callee
            && std::ptr::eq(function, self.function)
        {
            if self.is_deaf {
                self.drop_frame(slots);
                self.b.jump(self.body);
                return Ok(true);
            }
            // A loop; where calls are traced, the next turn is one.
            let module = self.module_address();
            let breakpoints = Place {
                width: Width::U32,
                ..word_at(module, myriad_vm::code::Module::BREAKPOINTS_OFFSET as i32, Region::Other)
            };
            let count = self.b.load(breakpoints);
            let none = self.b.compare_with(Condition::Equal, count, 0);
            let traced = self.b.block();
            self.b.unless(none, traced, Some(true));
            self.drop_frame(slots);
            self.b.jump(self.body);
            self.b.begin(traced);
        }
        let target = self.target(&callee);
        self.drop_frame(slots);
        self.end_tail(target, x);
        Ok(true)
    }

    /// A call of a local fun that takes as many arguments; others are for tier 0. Its free variables go behind the arguments.
    pub(super) fn call_fun(&mut self, at: &At<'a>) -> Result<bool, Unfit> {
        let index = self.index;
        let (arity, fun) = match at.op {
            Op::CallFun => {
                let arity = self.number(at.args, 0)?;
                (arity, Arg::X(u16::try_from(arity).map_err(|_| Unfit)?))
            }
            _ => (self.number(at.args, 1)?, at.args.get(2).ok_or(Unfit)?.clone()),
        };
        let (fun, slow) = (self.source(&fun)?, self.b.block());
        let boxed = self.has_tag(fun, layout::BOXED);
        self.b.unless(boxed, slow, Some(true));
        let header = self.field(fun, layout::BOXED, 0);
        let kind = self.b.with(Binary::And, header, layout::KIND_MASK);
        let is_local = self.b.compare_with(Condition::Equal, kind, Header::new(Kind::Fun, 0).raw());
        self.b.unless(is_local, slow, Some(true));
        let entry = self.field(fun, layout::BOXED, 1);
        let takes = Place { width: Width::U8, ..word_at(entry, FUN_ARITY as i32, Region::Other) };
        let takes = self.b.load(takes);
        let fits = self.b.compare_with(Condition::Equal, takes, arity.into());
        self.b.unless(fits, slow, Some(true));
        let function = self.b.load(word_at(entry, offset_of!(FunEntry, code) as i32, Region::Other));
        let loaded = self.b.compare_with(Condition::NotEqual, function, 0);
        self.b.unless(loaded, slow, Some(true));
        self.count_or(slow);
        let mut x = self.arguments(arity as usize)?;
        x.extend(self.free_variables(fun, header, arity as usize));
        let target = self.entry_of(function);
        if self.is_tail(index) {
            let slots = self.number(self.list[index + 1].args, 0)?;
            self.drop_frame(slots);
            self.end_tail(target, x);
            self.b.begin(slow);
            self.descend_fun(at)?;
        } else {
            let next = self.end_call(target, x);
            self.b.begin(slow);
            self.descend_fun(at)?;
            self.go_on(next)?;
        }
        Ok(true)
    }

    /// What is no such fun, or finds no reductions left, is for tier 0.
    fn descend_fun(&mut self, at: &At<'a>) -> Result<(), Unfit> {
        let wanted = self.live.wanted_x(at.index);
        self.descend_with(self.index, &wanted)
    }

    /// The free variables of a fun go behind its arguments: those that machine registers have are given, the others are copied to the block.
    fn free_variables(&mut self, fun: Value, header: Value, arity: usize) -> Vec<Value> {
        let behind = self.b.block();
        let object = self.b.with(Binary::Sub, fun, layout::BOXED);
        let words = self.b.with(Binary::ShiftRight, header, layout::SIZE_SHIFT.into());
        let variables: Vec<Variable> = (arity..ARGUMENTS).map(|_| self.b.variable(Type::Word)).collect();
        // What is not there is anything, but nothing that was before (native.form/F2).
        variables.iter().for_each(|variable| self.b.set(*variable, fun));
        for (i, variable) in variables.iter().enumerate() {
            let more = self.b.compare_with(Condition::Above, words, (FUN_WORDS - 1 + i) as u64);
            self.b.unless(more, behind, None);
            let value = self.b.load(word_at(object, 8 * (FUN_WORDS + i) as i32, Region::Heap));
            self.b.set(*variable, value);
        }
        let given = variables.len();
        let more = self.b.compare_with(Condition::Above, words, (FUN_WORDS - 1 + given) as u64);
        self.b.unless(more, behind, None);
        let bytes = self.b.with(Binary::ShiftLeft, words, 3);
        let last = self.b.binary(Binary::Add, object, bytes);
        let first = self.b.with(Binary::Add, object, 8 * (FUN_WORDS + given) as u64);
        self.copy_to_x(first, last, arity + given, behind);
        variables.into_iter().map(|variable| self.b.get(variable)).collect()
    }

    /// Copies words, to the last of which there is an address, to X registers of the block from one on; then control is in `behind`.
    fn copy_to_x(&mut self, first: Value, last: Value, x: usize, behind: BlockId) {
        let [from, to] = [Type::Word; 2].map(|of| self.b.variable(of));
        let (turn, copies) = (self.b.block(), self.b.block());
        let registers = self.b.load(block_word(REGISTERS.x_pointer));
        let registers = self.b.with(Binary::Add, registers, 8 * x as u64);
        self.b.set(from, first);
        self.b.set(to, registers);
        self.b.jump(turn);
        self.b.begin(turn);
        let (source, target) = (self.b.get(from), self.b.get(to));
        let more = self.b.compare(Condition::BelowOrEqual, source, last);
        self.b.end(End::Branch { condition: more, then: copies, otherwise: behind, likely: None });
        self.b.begin(copies);
        let value = self.b.load(word_at(source, 0, Region::Heap));
        self.b.store(word_at(target, 0, Region::Registers), value);
        let (source, target) = (self.b.with(Binary::Add, source, 8), self.b.with(Binary::Add, target, 8));
        self.b.set(from, source);
        self.b.set(to, target);
        self.b.jump(turn);
        self.b.begin(behind);
    }

    // ---- frames

    /// Drops Y registers.
    pub(super) fn drop_frame(&mut self, slots: u32) {
        if slots > 0 {
            self.tuples.retain(|(reg, _)| matches!(reg, Reg::X(_)));
            let sp = self.b.get(self.sp);
            let sp = self.b.with(Binary::Add, sp, 8 * u64::from(slots));
            self.b.set(self.sp, sp);
        }
    }

    /// Is there room for so many words?
    pub(super) fn has_room(&mut self, words: u32) -> Value {
        let (sp, top) = (self.b.get(self.sp), self.b.load(block_word(REGISTERS.heap_top)));
        let room = self.b.binary(Binary::Sub, sp, top);
        self.b.compare_with(Condition::AboveOrEqual, room, 8 * u64::from(words + RESERVED as u32))
    }

    pub(super) fn allocate(&mut self, at: &At<'a>, words: u32) -> Result<bool, Unfit> {
        let slots = self.number(at.args, 0)?;
        let zero = matches!(at.op, Op::AllocateZero | Op::AllocateHeapZero);
        if slots > 64 {
            return Ok(false);
        }
        let room = self.has_room(slots + words);
        self.or_visit(room, |t| {
            let sp = t.b.get(t.sp);
            let sp = t.b.with(Binary::Sub, sp, 8 * u64::from(slots));
            t.b.set(t.sp, sp);
            t.tuples.retain(|(reg, _)| matches!(reg, Reg::X(_)));
            if zero {
                let nil = t.b.word(Term::NIL.raw());
                (0..slots as i32).for_each(|y| t.b.store(word_at(sp, 8 * y, Region::Stack), nil));
            }
            Ok(())
        })?;
        Ok(true)
    }

    pub(super) fn test_heap(&mut self, words: u32) -> Result<(), Unfit> {
        if words > 0 {
            let room = self.has_room(words);
            self.or_visit(room, |_| Ok(()))?;
        }
        Ok(())
    }

    pub(super) fn init(&mut self, slots: &[Arg]) -> Result<(), Unfit> {
        let nil = self.b.word(Term::NIL.raw());
        slots.iter().try_for_each(|slot| self.set(slot, nil))
    }

    // ---- handlers

    pub(super) fn try_(&mut self, at: &At<'a>) -> Result<(), Unfit> {
        let (Some(Reg::Y(slot)), Some(label)) =
            (at.args.first().and_then(Arg::reg), at.args.get(1).and_then(Arg::label))
        else {
            return Err(Unfit);
        };
        let marker = self.named(Name::Marker { label, slot: slot.into(), line: at.line });
        self.entered.push(label);
        self.set(&at.args[0], marker)
    }

    pub(super) fn try_end(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let nil = self.b.word(Term::NIL.raw());
        self.set(args.first().ok_or(Unfit)?, nil)
    }

    /// Behind an exception: X1 to X3 of the block have its class, reason and trace still, and X0 is no term. `false`: something is between.
    pub(super) fn try_case(&mut self, args: &[Arg]) -> Result<bool, Unfit> {
        let before = self.list[..self.index].iter().rev().find(|at| at.op != Op::Line);
        if before.is_none_or(|at| at.op != Op::Label) {
            return Ok(false);
        }
        let x0 = self.x(0)?;
        let caught = self.b.compare_with(Condition::Equal, x0, Term::NONE.raw());
        self.or_visit(caught, |t| {
            t.try_end(args)?;
            for to in 0..3 {
                let value = t.load_x(usize::from(to) + 1);
                t.set_x(to, value)?;
            }
            Ok(())
        })?;
        Ok(true)
    }

    /// The end of a `catch`, where there was no exception.
    pub(super) fn catch_end(&mut self, args: &[Arg]) -> Result<(), Unfit> {
        let x0 = self.x(0)?;
        let passed = self.b.compare_with(Condition::NotEqual, x0, Term::NONE.raw());
        self.or_visit(passed, |t| t.try_end(args))
    }
}
