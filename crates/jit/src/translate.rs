//! From the generic instructions of a function to its form.
//!
//! X and float registers are variables of the form; Y registers are in their frame, read and written there. Code that is common is
//! made here (`calls`, `tests`, `data`, `numbers`, `bits`); all else, and whatever a fast path does not do, is a *visit*: the registers that the instruction wants go to
//! the register block, tier 0 runs it from the companion, and machine code goes on behind it with the registers that are live there.
//!
//! J1. At a visit the block holds each X register that is live, and some term in each other one below the instruction's `Live`: a collection looks at
//!     all of those.
//! J2. Where machine code goes on behind a call or a visit, or at a label from tier 0, nothing is in variables but what is loaded there: all that is live.
//! J3. A loop passes breakpoints by only where it is deaf: where nothing within it, no call and no message, can tell it that another process has set one. It
//!     meets that at its next slice, which begins at its entry. A call that has passed a breakpoint runs tier 0 instead
//!     ([`NativeCode::passes_breakpoints`](myriad_interp::code::NativeCode)).

mod bits;
mod calls;
mod constants;
mod data;
mod numbers;
mod tests;

use crate::builder::{Builder, block_word, word_at};
use crate::live::{Live, branches};
use crate::name::{Constant, Name};
use crate::outline::Outline;
use myriad_beam::{Arg, MIXED, Op, Reg};
use myriad_interp::decode::{At, constant};
use myriad_interp::tiers::{FLOAT_REGISTERS, REGISTERS};
use myriad_native::form::{
    ARGUMENTS, Binary, BlockId, Condition, End, Form, Op as FormOp, Place, Point, Region, Symbol, Type, Value,
    Variable, Width,
};
use myriad_term::{Term, layout};
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use std::collections::{HashMap, HashSet};

/// Why a function stays in tier 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declined {
    /// It is longer than this many instructions.
    TooLong,
    /// It uses more registers than have variables.
    TooManyRegisters,
    /// An operand is not as expected, or beyond a limit of tier 0.
    Unfit,
    /// It branches back by itself.
    Loops,
    /// The VM has a way of its own to run it.
    Intrinsic,
}

/// Instructions of a function, at most.
const MAX_INSTRUCTIONS: usize = 20_000;
/// X registers that have variables.
const MAX_X: usize = 256;

/// A function's form, and what its companion has to hold.
pub(crate) struct Translated {
    /// The form.
    pub(crate) form: Form,
    /// The rest.
    pub(crate) outline: Outline,
}

/// An instruction that is beyond what is expected of it.
pub(crate) struct Unfit;

/// A function on its way.
pub(crate) struct Translator<'a> {
    b: Builder,
    vm: &'static Vm,
    module: &'static Module,
    function: &'static Function,
    list: &'a [At<'a>],
    live: &'a Live<'a>,
    sp: Variable,
    x: Vec<Option<Variable>>,
    floats: Vec<Option<Variable>>,
    labels: HashMap<u32, BlockId>,
    /// Labels that visited instructions branch to.
    entered: Vec<u32>,
    tails: HashSet<usize>,
    returning: HashSet<usize>,
    /// Does nothing within the function tell it of what others have done (J3)?
    is_deaf: bool,
    /// Registers that hold tuples of at least so many elements, as has been found since the last label.
    tuples: Vec<(Reg, u32)>,
    names: Vec<Name>,
    numbers: HashMap<Name, Symbol>,
    orders: Vec<Vec<Constant>>,
    /// Where the function itself begins, behind its entry.
    body: BlockId,
    /// The labels of the entry and of the clause failure.
    entry: u32,
    info: u32,
    /// The instruction at hand.
    index: usize,
}

/// Is the function a loop that is deaf (J3)?
pub(crate) fn is_deaf_loop(module: &Module, function: &Function, list: &[At<'_>]) -> bool {
    let entry = module.beam.functions.get(function.index as usize).map(|def| def.entry);
    let loops =
        |at: &At<'_>| matches!(at.op, Op::CallLast | Op::CallOnly) && at.args.get(1).and_then(Arg::label) == entry;
    is_deaf(list) && list.iter().any(loops)
}

/// Can no instruction tell the function of what others have done, and go on in it?
fn is_deaf(list: &[At<'_>]) -> bool {
    use Op::{Apply, Call, CallExt, CallFun, CallFun2, LoopRec, Send, Timeout};
    let hears = |at: &At<'_>| matches!(at.op, Call | CallExt | CallFun | CallFun2 | Apply | LoopRec | Send | Timeout);
    !list.iter().any(hears)
}

/// Makes the form of a function.
pub(crate) fn translate(
    vm: &'static Vm,
    module: &'static Module,
    function: &'static Function,
    list: &[At<'_>],
    live: &Live<'_>,
) -> Result<Translated, Declined> {
    if list.len() > MAX_INSTRUCTIONS {
        return Err(Declined::TooLong);
    }
    let def = module.beam.functions.get(function.index as usize).ok_or(Declined::Unfit)?;
    let arity = usize::from(function.mfa.arity);
    let mut b = Builder::new(ARGUMENTS);
    let (sp, body) = (b.variable(Type::Word), b.block());
    let mut t = Translator {
        b,
        vm,
        module,
        function,
        list,
        live,
        sp,
        x: vec![None; MAX_X],
        floats: vec![None; FLOAT_REGISTERS],
        labels: HashMap::new(),
        entered: Vec::new(),
        tails: HashSet::new(),
        returning: HashSet::new(),
        is_deaf: is_deaf(list),
        tuples: Vec::new(),
        names: Vec::new(),
        numbers: HashMap::new(),
        orders: Vec::new(),
        body,
        entry: def.entry,
        info: def.info,
        index: 0,
    };
    t.enter(arity).map_err(|Unfit| Declined::Unfit)?;
    for index in 0..list.len() {
        t.index = index;
        t.instruction(index)?;
    }
    if t.b.is_open() {
        return Err(Declined::Unfit);
    }
    t.ways_in()
}

impl<'a> Translator<'a> {
    /// The entry: arguments go to their variables.
    fn enter(&mut self, arity: usize) -> Result<(), Unfit> {
        let sp = self.b.parameter(0);
        self.b.set(self.sp, sp);
        for i in 0..arity {
            let value = if i < ARGUMENTS { self.b.parameter(1 + i) } else { self.load_x(i) };
            self.set_x(i as u16, value)?;
        }
        self.b.jump(self.body);
        Ok(())
    }

    /// The blocks through which tier 0 enters at labels.
    fn ways_in(mut self) -> Result<Translated, Declined> {
        let mut entered = std::mem::take(&mut self.entered);
        entered.sort_unstable();
        entered.dedup();
        let mut labels = Vec::with_capacity(entered.len());
        let places: HashMap<u32, usize> = self.list.iter().filter_map(|at| Some((at.label()?, at.index))).collect();
        for (number, label) in entered.into_iter().enumerate() {
            let at = *places.get(&label).ok_or(Declined::Unfit)?;
            let point = Point((2 * self.list.len() + number) as u32);
            let (way, to) = (self.b.block(), self.label(label));
            let (sp, x0) = self.b.enter_at(point, way);
            self.b.begin(way);
            self.load_live(at, sp, x0).map_err(|Unfit| Declined::TooManyRegisters)?;
            self.b.jump(to);
            labels.push((label, point));
        }
        let Translator { names, orders, tails, returning, .. } = self;
        Ok(Translated { form: self.b.finish(), outline: Outline { names, orders, labels, tails, returning } })
    }

    fn instruction(&mut self, index: usize) -> Result<(), Declined> {
        let at = self.list[index];
        if let Some(label) = at.label() {
            return self.define(label);
        }
        if !self.b.is_open() {
            // Control does not come here.
            return Ok(());
        }
        self.b.op(FormOp::Source(at.index as u32));
        if at.adopts {
            self.adopt(index).map_err(|Unfit| Declined::Unfit)?;
        }
        let done = match (at.refused || self.is_left(at.op), at.checked) {
            (true, _) => Ok(false),
            (_, true) => self.take_apart(&at),
            _ => self.native(&at),
        };
        match done {
            Ok(true) => Ok(()),
            Ok(false) => self.visit(index).map_err(|Unfit| Declined::TooManyRegisters),
            Err(Unfit) => Err(Declined::Unfit),
        }
    }

    /// For tests: is it left to tier 0 though it has code of its own? (The markers of catches are made here alone.)
    fn is_left(&self, op: Op) -> bool {
        self.vm.config.native_visits && !matches!(op, Op::Try | Op::Catch | Op::Line)
    }

    /// A label is here.
    fn define(&mut self, label: u32) -> Result<(), Declined> {
        if self.module.beam.loop_head(label).is_some() {
            return Err(Declined::Loops);
        }
        self.tuples.clear();
        let block = if label == self.entry { self.body } else { self.label(label) };
        if self.b.is_open() {
            self.b.jump(block);
        }
        self.b.begin(block);
        Ok(())
    }

    /// The block of a label.
    pub(crate) fn label(&mut self, label: u32) -> BlockId {
        if label == self.entry {
            return self.body;
        }
        let b = &mut self.b;
        *self.labels.entry(label).or_insert_with(|| b.block())
    }

    /// Makes machine code of an instruction; `false`: it is to be visited.
    fn native(&mut self, at: &At<'a>) -> Result<bool, Unfit> {
        let args = at.args;
        match at.op {
            Op::Move => self.move_(args)?,
            Op::Swap => self.swap(args)?,
            Op::Jump => {
                let to = self.label_of(args, 0)?;
                self.b.jump(to);
            }
            Op::Return => self.return_()?,
            Op::Call => return self.call(args),
            Op::CallLast => return self.call_last(args, self.number(args, 2)?),
            Op::CallOnly => return self.call_last(args, 0),
            Op::CallExt => return self.call_ext(args),
            Op::CallExtLast => return self.call_ext_last(args, self.number(args, 2)?),
            Op::CallExtOnly => return self.call_ext_last(args, 0),
            Op::Allocate | Op::AllocateZero => return self.allocate(at, 0),
            Op::AllocateHeap | Op::AllocateHeapZero => {
                let words = at.heap(1).map_err(|_| Unfit)?;
                return self.allocate(at, words);
            }
            Op::Deallocate | Op::Trim => self.drop_frame(self.number(args, 0)?),
            Op::TestHeap => {
                let words = at.heap(0).map_err(|_| Unfit)?;
                self.test_heap(words)?;
            }
            Op::Init => self.init(args)?,
            Op::InitYregs => self.init(args.first().map(Arg::items).ok_or(Unfit)?)?,
            Op::PutList => self.put_list(args)?,
            Op::PutTuple2 => self.put_tuple(args)?,
            Op::GetList => self.get_list(args)?,
            Op::GetHd => self.get_cell(args, 0)?,
            Op::GetTl => self.get_cell(args, 8)?,
            Op::GetTupleElement => self.get_element(args)?,
            Op::SetTupleElement => self.set_element(args)?,
            Op::CallFun | Op::CallFun2 => return self.call_fun(at),
            Op::MakeFun3 => self.make_fun(args)?,
            Op::Bif0 => return self.self_pid(args),
            Op::Try | Op::Catch => self.try_(at)?,
            Op::TryEnd => self.try_end(args)?,
            Op::TryCase => return self.try_case(args),
            Op::CatchEnd => self.catch_end(args)?,
            _ => return Ok(self.test(at)? || self.number_op(at)? || self.bit_op(at)?),
        }
        Ok(true)
    }

    // ---- operands

    /// A plain number.
    pub(crate) fn number(&self, args: &[Arg], index: usize) -> Result<u32, Unfit> {
        args.get(index).and_then(Arg::number).and_then(|n| u32::try_from(n).ok()).ok_or(Unfit)
    }

    /// The block of a label operand; that of 0 is the function's clause failure.
    pub(crate) fn label_of(&mut self, args: &[Arg], index: usize) -> Result<BlockId, Unfit> {
        let label = args.get(index).and_then(Arg::label).ok_or(Unfit)?;
        Ok(self.label(if label == 0 { self.info } else { label }))
    }

    /// The term of a constant operand; `None` for registers.
    pub(crate) fn constant(&self, arg: &Arg) -> Result<Option<Term>, Unfit> {
        if arg.reg().is_some() { Ok(None) } else { constant(self.module, arg).map(Some).map_err(|_| Unfit) }
    }

    /// The variable of an X register.
    fn variable(&mut self, x: usize) -> Result<Variable, Unfit> {
        let b = &mut self.b;
        let slot = self.x.get_mut(x).ok_or(Unfit)?;
        Ok(*slot.get_or_insert_with(|| b.variable(Type::Word)))
    }

    /// The variable of a float register.
    pub(crate) fn float_variable(&mut self, arg: &Arg) -> Result<Variable, Unfit> {
        let Arg::FR(register) = arg else { return Err(Unfit) };
        let b = &mut self.b;
        let slot = self.floats.get_mut(usize::from(*register)).ok_or(Unfit)?;
        Ok(*slot.get_or_insert_with(|| b.variable(Type::Float)))
    }

    /// An X register's value.
    pub(crate) fn x(&mut self, x: u16) -> Result<Value, Unfit> {
        let variable = self.variable(usize::from(x))?;
        Ok(self.b.get(variable))
    }

    /// Sets an X register.
    pub(crate) fn set_x(&mut self, x: u16, value: Value) -> Result<(), Unfit> {
        self.tuples.retain(|(reg, _)| *reg != Reg::X(x));
        let variable = self.variable(usize::from(x))?;
        self.b.set(variable, value);
        Ok(())
    }

    fn load_x(&mut self, x: usize) -> Value {
        self.b.load(block_word(REGISTERS.x + 8 * x))
    }

    /// The value of a source.
    pub(crate) fn source(&mut self, arg: &Arg) -> Result<Value, Unfit> {
        match arg.reg() {
            Some(Reg::X(x)) => self.x(x),
            Some(Reg::Y(y)) => {
                let sp = self.b.get(self.sp);
                Ok(self.b.load(word_at(sp, 8 * i32::from(y), Region::Stack)))
            }
            None => {
                let constant = self.constant_of(arg)?;
                Ok(self.constant_value(&constant))
            }
        }
    }

    /// Sets a destination.
    pub(crate) fn set(&mut self, arg: &Arg, value: Value) -> Result<(), Unfit> {
        match arg.reg().ok_or(Unfit)? {
            Reg::X(x) => self.set_x(x, value),
            Reg::Y(y) => {
                self.tuples.retain(|(reg, _)| *reg != Reg::Y(y));
                let sp = self.b.get(self.sp);
                self.b.store(word_at(sp, 8 * i32::from(y), Region::Stack), value);
                Ok(())
            }
        }
    }

    // ---- visits

    /// Puts what an instruction wants into the block (J1), X registers from this one on.
    fn store_wanted(&mut self, wanted: &[(u16, bool)], from: usize, index: usize) -> Result<(), Unfit> {
        for (x, is_live) in wanted.iter().filter(|(x, _)| usize::from(*x) >= from) {
            let value = self.x_or_nil(*x, *is_live)?;
            self.b.store(block_word(REGISTERS.x + 8 * usize::from(*x)), value);
        }
        for register in self.live.floats(index) {
            let variable = self.float_variable(&Arg::FR(register))?;
            let value = self.b.get(variable);
            self.b.store(float_place(register), value);
        }
        Ok(())
    }

    fn x_or_nil(&mut self, x: u16, is_live: bool) -> Result<Value, Unfit> {
        if is_live { self.x(x) } else { Ok(self.b.word(Term::NIL.raw())) }
    }

    /// Takes what is live before an instruction of the body out of the block (J2), where the stack pointer and X0 are these.
    pub(crate) fn load_live(&mut self, index: usize, sp: Value, x0: Value) -> Result<(), Unfit> {
        self.b.set(self.sp, sp);
        self.set_x(0, x0)?;
        for x in self.live.x(index) {
            if x > 0 {
                let value = self.load_x(usize::from(x));
                self.set_x(x, value)?;
            }
        }
        for register in self.live.floats(index) {
            let value = self.b.load(float_place(register));
            let variable = self.float_variable(&Arg::FR(register))?;
            self.b.set(variable, value);
        }
        Ok(())
    }

    /// Tier 0 runs the instruction of this number; machine code goes on behind it, where control does.
    pub(crate) fn visit(&mut self, index: usize) -> Result<(), Unfit> {
        let at = self.list[index];
        // Tier 0 may write any of them.
        self.tuples.clear();
        let info = self.info;
        self.entered.extend(branches(at.op, at.args).map(|label| if label == 0 { info } else { label }));
        let mut wanted = self.live.wanted_x(at.index);
        if at.op == Op::TryCase && wanted.first() != Some(&(0, true)) {
            // It looks whether it has come from an exception.
            wanted.insert(0, (0, true));
        }
        if self.is_tail(index) || self.live.ends(at.index) {
            return self.descend_with(index, &wanted);
        }
        self.store_wanted(&wanted, 0, at.index)?;
        self.returning.insert(index);
        self.leave(Name::Visit(index), Point(index as u32), at.index + 1)
    }

    /// Goes on at an instruction in tier 0, which finds what it wants, and does not come back but by what that leads to.
    pub(crate) fn descend_with(&mut self, index: usize, wanted: &[(u16, bool)]) -> Result<(), Unfit> {
        if self.is_tail(index) {
            self.tails.insert(index);
        }
        self.store_wanted(wanted, ARGUMENTS, self.list[index].index)?;
        let most = wanted.iter().map(|(x, _)| x + 1).filter(|x| usize::from(*x) <= ARGUMENTS).max().unwrap_or(0);
        let mut x = Vec::with_capacity(most.into());
        for i in 0..most {
            x.push(self.x_or_nil(i, wanted.contains(&(i, true)))?);
        }
        self.descend(index, &x)
    }

    /// Does a call of a fun drop its frame and return behind, so that tier 0 makes a tail call of it?
    pub(crate) fn is_tail(&self, index: usize) -> bool {
        matches!(self.list[index].op, Op::CallFun | Op::CallFun2)
            && self.list[index].frame != MIXED
            && matches!(self.list.get(index + 1..index + 3), Some([drop, after]) if drop.op == Op::Deallocate && after.op == Op::Return)
    }

    /// The message is adopted before an instruction, all of whose registers stay.
    fn adopt(&mut self, index: usize) -> Result<(), Unfit> {
        let at = self.list[index].index;
        let live: Vec<(u16, bool)> = self.live.x(at).into_iter().map(|x| (x, true)).collect();
        self.store_wanted(&live, 0, at)?;
        self.leave(Name::Adoption(index), Point((self.list.len() + index) as u32), at)
    }

    /// Goes on in tier 0 at what is named, and afterwards here, with what is live before an instruction of the body.
    fn leave(&mut self, name: Name, point: Point, then: usize) -> Result<(), Unfit> {
        let (target, what) = (self.b.load(block_word(REGISTERS.visit)), self.named(name));
        let sp = self.b.get(self.sp);
        let (sp_after, x0_after, next) = (self.b.value(Type::Word), self.b.value(Type::Word), self.b.block());
        self.b.end(End::Visit { target, sp, what, point, sp_after, x0_after, next, rare: false });
        self.b.begin(next);
        self.load_live(then, sp_after, x0_after)
    }

    /// Goes on at an instruction in tier 0, with these X registers, and does not come back but by what that leads to.
    pub(crate) fn descend(&mut self, index: usize, x: &[Value]) -> Result<(), Unfit> {
        let what = self.named(Name::Visit(index));
        self.b.store(block_word(REGISTERS.way_down), what);
        let (target, sp) = (self.b.load(block_word(REGISTERS.descend)), self.b.get(self.sp));
        self.b.end(End::Tail { target, sp, x: x.to_vec() });
        Ok(())
    }

    /// Runs the rest of the instruction natively unless `condition` is 0: then it is visited, and both ways meet behind it.
    pub(crate) fn or_visit(
        &mut self,
        condition: Value,
        native: impl FnOnce(&mut Self) -> Result<(), Unfit>,
    ) -> Result<(), Unfit> {
        let slow = self.b.block();
        self.b.unless(condition, slow, Some(true));
        native(self)?;
        self.meet(slow)
    }

    /// The instruction is visited in `slow`, and control goes on behind both.
    pub(crate) fn meet(&mut self, slow: BlockId) -> Result<(), Unfit> {
        let behind = self.b.block();
        if self.b.is_open() {
            self.b.jump(behind);
        }
        self.meet_at(slow, behind)
    }

    /// The same where the other ways lead to `behind` already.
    pub(crate) fn meet_at(&mut self, slow: BlockId, behind: BlockId) -> Result<(), Unfit> {
        let tuples = self.tuples.clone();
        self.b.begin(slow);
        self.visit(self.index)?;
        if self.b.is_open() {
            self.b.jump(behind);
        }
        self.tuples = tuples;
        self.b.begin(behind);
        Ok(())
    }

    // ---- words

    /// Is this small?
    pub(crate) fn is_small(&mut self, word: Value) -> Value {
        let tag = self.b.with(Binary::And, word, layout::TAG_MASK);
        self.b.compare_with(Condition::Equal, tag, 0)
    }

    /// Does this have a tag?
    pub(crate) fn has_tag(&mut self, word: Value, tag: u64) -> Value {
        let bits = self.b.with(Binary::And, word, layout::TAG_MASK);
        self.b.compare_with(Condition::Equal, bits, tag)
    }

    /// The word at an object's header and so many words behind, whose word has a tag.
    pub(crate) fn field(&mut self, object: Value, tag: u64, index: i32) -> Value {
        self.b.load(word_at(object, 8 * index - tag as i32, Region::Heap))
    }
}

/// Where a float register is.
fn float_place(register: u16) -> Place {
    Place { width: Width::Float, ..block_word(REGISTERS.floats + 8 * usize::from(register)) }
}
