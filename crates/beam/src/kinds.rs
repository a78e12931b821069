//! Which instructions read or write through a term whose kind the function's own code proves.
//!
//! `get_hd` reads the memory that its operand points at, as if it were a cons. The compiler has seen to it that it is one; a
//! file made by hand, or damaged, has not. This analysis finds the instructions of which the code itself shows that they are
//! right; the engine must check the operand of all others. Claims of the type chunk are not believed.
//!
//! KD1. `get_list`, `get_hd` and `get_tl` are proved where every way there has tested or made the operand as a cons.
//! KD2. `get_tuple_element` is proved where every way there has tested or made the operand as a tuple of enough elements.
//! KD3. `set_tuple_element` is *fresh* where the operand is what `setelement/3` has just returned: nothing has been built,
//!      called or collected since, so that the tuple is young, known to nothing else, and not part of the value put into it. No
//!      check finds that out later: what is not fresh must not run. It is proved where there are enough elements, too.
//! KD4. What runs a checked instruction refuses what it does not find right, so that behind it the operand is what it expects.
//! KD5. The message that `loop_rec` shows is not the process's before `remove_message` accepts it. Where something else than a
//!     look at it comes first (a term is built, a function called, another message looked at while a slot may hold part of
//!     this one), the process must adopt the message: from there on it is as any other term. Compilers keep to looks;
//!     `prim_eval`, which is written by hand, does not.
//!
//! A forward data-flow analysis over one function (Kildall, 1973), made when the function is decoded. Registers that hold the
//! same term are in one *class*: a test of one is a test of all. Knowledge only falls where ways meet, passes over the code are
//! repeated until it does so no more, and what would need too much of anything is left unproved.

use crate::decode::{Arg, Body, Instr, Reg};
use crate::module::Module;
use crate::opcode::{Kind, Op};
use crate::roles::{each_destination, each_label, live, results};

/// Registers that are tracked at a time. Compilers' code hardly reaches a dozen.
const MOST_TRACKED: usize = 48;
/// Passes over the code. Compilers' code needs two where there is a receive loop, else one.
const MOST_PASSES: usize = 6;

/// What is known of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Nil,
    Cons,
    /// Nil or a cons.
    List,
    /// A tuple of at least this number of elements.
    Tuple(u32),
    /// The same, as `setelement/3` returned it (KD3).
    Fresh(u32),
    /// This integer.
    Int(u32),
}

impl Known {
    /// What is known if it is one or the other.
    fn or(self, other: Known) -> Known {
        use Known::*;
        match (self, other) {
            (a, b) if a == b => a,
            (Nil | Cons | List, Nil | Cons | List) => List,
            (Fresh(a), Fresh(b)) => Fresh(a.min(b)),
            (Tuple(a) | Fresh(a), Tuple(b) | Fresh(b)) => Tuple(a.min(b)),
            _ => Nothing,
        }
    }

    /// What is known of a tuple of this that turned out to have at least `arity` elements.
    fn of_arity(self, arity: u32) -> Known {
        match self {
            Known::Tuple(known) => Known::Tuple(known.max(arity)),
            Known::Fresh(known) => Known::Fresh(known.max(arity)),
            _ => Known::Tuple(arity),
        }
    }

    /// The least number of elements of a tuple.
    fn arity(self) -> Option<u32> {
        match self {
            Known::Tuple(arity) | Known::Fresh(arity) => Some(arity),
            _ => None,
        }
    }
}

/// A register of which something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    reg: Reg,
    /// Registers of one class hold the same term.
    class: u16,
    known: Known,
}

/// What is known at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    entries: Vec<Entry>,
    /// Catches that may be active: their slots and the labels of their handlers.
    handlers: Vec<(u16, u32)>,
    next_class: u16,
    /// A message is looked at that has not been accepted.
    looking: bool,
    /// A slot has been set since the message was shown.
    kept: bool,
    /// Something may be fresh (KD3).
    fresh: bool,
}

impl State {
    fn find(&self, reg: Reg) -> Option<Entry> {
        self.entries.iter().copied().find(|entry| entry.reg == reg)
    }

    fn known(&self, reg: Reg) -> Known {
        self.find(reg).map_or(Known::Nothing, |entry| entry.known)
    }

    /// Becomes what is known elsewhere.
    fn assign(&mut self, other: &State) {
        let State { entries, handlers, next_class, looking, kept, fresh } = other;
        self.entries.clone_from(entries);
        self.handlers.clone_from(handlers);
        (self.next_class, self.looking, self.kept, self.fresh) = (*next_class, *looking, *kept, *fresh);
    }

    /// The register is overwritten by a term of which nothing is known.
    fn forget(&mut self, reg: Reg) {
        if let Some(at) = self.entries.iter().position(|entry| entry.reg == reg) {
            self.entries.remove(at);
        }
    }

    fn add(&mut self, reg: Reg, class: u16, known: Known) {
        self.fresh |= matches!(known, Known::Fresh(_));
        if self.entries.len() < MOST_TRACKED {
            self.entries.push(Entry { reg, class, known });
        }
    }

    fn new_class(&mut self) -> u16 {
        if self.next_class == u16::MAX {
            // Names have run out, which no function of a compiler's comes near to.
            self.entries.clear();
            self.next_class = 0;
        }
        self.next_class += 1;
        self.next_class
    }

    /// The register is overwritten by a term of its own.
    fn set(&mut self, reg: Reg, known: Known) {
        self.forget(reg);
        if known != Known::Nothing {
            let class = self.new_class();
            self.add(reg, class, known);
        }
    }

    /// One register's term goes to another one.
    fn copy(&mut self, from: Reg, to: Reg) {
        if from == to {
            return;
        }
        self.forget(to);
        let entry = match self.find(from) {
            Some(entry) => entry,
            None => {
                let entry = Entry { reg: from, class: self.new_class(), known: Known::Nothing };
                self.add(from, entry.class, entry.known);
                entry
            }
        };
        self.add(to, entry.class, entry.known);
    }

    fn swap(&mut self, a: Reg, b: Reg) {
        for entry in &mut self.entries {
            if entry.reg == a {
                entry.reg = b;
            } else if entry.reg == b {
                entry.reg = a;
            }
        }
    }

    /// The term in a register turned out to be this.
    fn learn(&mut self, reg: Reg, known: Known) {
        match self.find(reg) {
            Some(Entry { class, .. }) => {
                self.entries.iter_mut().filter(|entry| entry.class == class).for_each(|entry| entry.known = known);
            }
            None => self.set(reg, known),
        }
    }

    fn learn_arity(&mut self, reg: Reg, arity: u32) {
        self.learn(reg, self.known(reg).of_arity(arity));
    }

    /// What was fresh may be old, or known to others.
    fn age(&mut self) {
        if !std::mem::take(&mut self.fresh) {
            return;
        }
        for entry in &mut self.entries {
            if let Known::Fresh(arity) = entry.known {
                entry.known = Known::Tuple(arity);
            }
        }
    }

    /// X registers from `live` on are lost.
    fn prune(&mut self, live: u16) {
        self.entries.retain(|entry| !matches!(entry.reg, Reg::X(x) if x >= live));
    }

    fn forget_frame(&mut self) {
        self.entries.retain(|entry| matches!(entry.reg, Reg::X(_)));
    }

    /// The lower slots of the frame are dropped.
    fn trim(&mut self, count: u16) {
        self.entries.retain(|entry| !matches!(entry.reg, Reg::Y(y) if y < count));
        for entry in &mut self.entries {
            if let Reg::Y(y) = &mut entry.reg {
                *y -= count;
            }
        }
    }

    /// What is known where this way and another one meet: whether that is less than was known of this one. The order of the
    /// entries stays.
    fn meet(&mut self, other: &State) -> bool {
        let mut changed = other.looking && !self.looking || other.kept && !self.kept;
        self.looking |= other.looking;
        self.kept |= other.kept;
        self.fresh |= other.fresh;
        for handler in &other.handlers {
            if !self.handlers.contains(handler) {
                self.handlers.push(*handler);
                changed = true;
            }
        }
        // Registers of one class are of one class still if the other way agrees.
        let mut classes = Numbers::<(u16, u16)>::new();
        self.entries.retain_mut(|entry| {
            let Some(there) = other.find(entry.reg) else {
                changed = true;
                return false;
            };
            entry.class = classes.number_of((entry.class, there.class));
            let known = entry.known.or(there.known);
            changed |= known != entry.known;
            entry.known = known;
            true
        });
        changed |= classes.len != self.next_class;
        self.next_class = classes.len;
        self.normalize();
        changed
    }

    /// Leaves out what says nothing (a class of one register of which nothing is known), and numbers classes from 0.
    fn normalize(&mut self) {
        let alone = |entries: &[Entry], class| entries.iter().filter(|entry| entry.class == class).count() == 1;
        let mut at = 0;
        while let Some(entry) = self.entries.get(at) {
            if entry.known == Known::Nothing && alone(&self.entries, entry.class) {
                self.entries.remove(at);
            } else {
                at += 1;
            }
        }
        let mut names = Numbers::<u16>::new();
        for entry in &mut self.entries {
            entry.class = names.number_of(entry.class);
        }
        self.next_class = names.len;
    }
}

/// Numbers from 0 for the items of a state, of which there are no more than registers that are tracked.
struct Numbers<T> {
    items: [T; MOST_TRACKED],
    len: u16,
}

impl<T: Copy + Default + PartialEq> Numbers<T> {
    fn new() -> Self {
        Numbers { items: [T::default(); MOST_TRACKED], len: 0 }
    }

    /// The number of an item: a new one if it has none.
    fn number_of(&mut self, item: T) -> u16 {
        let len = usize::from(self.len);
        let known = self.items[..len].iter().position(|known| *known == item);
        let number = known.unwrap_or_else(|| {
            self.items[len] = item;
            self.len += 1;
            len
        });
        number as u16
    }
}

/// What is known at a label.
struct Place {
    label: u32,
    /// This pass has come by.
    passed: bool,
    /// `None`: no way there is known yet.
    state: Option<State>,
}

/// What is known at the labels of a function.
struct Labels {
    places: Vec<Place>,
    /// Less is known at a label that this pass has come by.
    fell: bool,
}

impl Labels {
    fn of(body: &Body) -> Labels {
        let labels = body.iter().filter(|instr| instr.op == Op::Label).filter_map(|instr| instr.args.first()?.number());
        let mut places: Vec<_> =
            labels.map(|label| Place { label: label as u32, passed: false, state: None }).collect();
        places.sort_unstable_by_key(|place| place.label);
        Labels { places, fell: false }
    }

    fn place(&mut self, label: u32) -> Option<&mut Place> {
        let at = self.places.binary_search_by_key(&label, |place| place.label).ok()?;
        self.places.get_mut(at)
    }

    fn begin_pass(&mut self) {
        self.fell = false;
        self.places.iter_mut().for_each(|place| place.passed = false);
    }

    /// Brings a state to a label.
    fn edge(&mut self, label: u32, state: &State) {
        let Some(place) = self.place(label) else { return };
        let changed = match &mut place.state {
            None => {
                let mut state = state.clone();
                state.normalize();
                place.state = Some(state);
                true
            }
            Some(known) => known.meet(state),
        };
        let fell = changed && place.passed;
        self.fell |= fell;
    }

    /// The pass comes to a label, and takes over what is known there; false if no way there is known.
    fn arrive(&mut self, label: u32, state: &mut State) -> bool {
        let Some(place) = self.place(label) else { return false };
        place.passed = true;
        place.state.as_ref().is_some_and(|known| {
            state.assign(known);
            true
        })
    }
}

/// What the engine must check or do, by the index of an instruction in the function's body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proofs {
    unproved: Vec<u32>,
    refused: Vec<u32>,
    adopts: Vec<u32>,
}

impl Proofs {
    /// Whether the instruction of an index must check its operand (KD1 to KD4).
    pub fn must_check(&self, index: usize) -> bool {
        has(&self.unproved, index)
    }

    /// Whether the instruction of an index, which changes a tuple, must not run (KD3).
    pub fn must_refuse(&self, index: usize) -> bool {
        has(&self.refused, index)
    }

    /// Whether the process must adopt the message that it looks at before the instruction of an index (KD5).
    pub fn must_adopt(&self, index: usize) -> bool {
        has(&self.adopts, index)
    }

    /// How many instructions must check their operands.
    pub fn checks(&self) -> usize {
        self.unproved.len()
    }

    /// How many must not run.
    pub fn refusals(&self) -> usize {
        self.refused.len()
    }

    /// How often a message must be adopted.
    pub fn adoptions(&self) -> usize {
        self.adopts.len()
    }
}

fn has(sorted: &[u32], index: usize) -> bool {
    u32::try_from(index).is_ok_and(|index| sorted.binary_search(&index).is_ok())
}

/// Whether it reads or writes through a term without a look at what that is.
pub const fn is_access(op: Op) -> bool {
    matches!(op, Op::GetList | Op::GetHd | Op::GetTl | Op::GetTupleElement | Op::SetTupleElement)
}

/// Whether it may be done with a message that has not been accepted.
fn may_look(op: Op) -> bool {
    use Op::*;
    let looks = matches!(op, Line | Label | Move | Swap | GetList | GetHd | GetTl | GetTupleElement | GetMapElements)
        || matches!(op, Init | InitYregs | Jump | SelectVal | SelectTupleArity | TestHeap | Trim | RecvMarkerClear)
        || matches!(op, Bif0 | Bif1 | Bif2 | Bif3 | GcBif1 | GcBif2 | GcBif3);
    // Tests have their label first, and nothing that they write.
    let mut kinds = op.kinds().iter();
    looks
        || kinds.next() == Some(&Kind::Fail)
            && kinds.all(|kind| matches!(kind, Kind::Src | Kind::Srcs | Kind::Uint | Kind::Atom))
}

/// What a function, whose entry label is given, proves.
pub(crate) fn proofs(module: &Module, entry: u32, body: &Body) -> Proofs {
    let matters = |op| is_access(op) || op == Op::LoopRec;
    if !body.iter().any(|instr| matters(instr.op)) {
        return Proofs::default();
    }
    let mut labels = Labels::of(body);
    labels.edge(entry, &State::default());
    let mut pass = Pass { module, labels, found: Proofs::default() };
    for _ in 0..MOST_PASSES {
        pass.run(body);
        if !pass.labels.fell {
            return pass.found;
        }
    }
    let all = |wanted: fn(Op) -> bool| -> Vec<u32> {
        body.iter().enumerate().filter(|(_, instr)| wanted(instr.op)).map(|(index, _)| index as u32).collect()
    };
    Proofs { unproved: all(is_access), refused: all(|op| op == Op::SetTupleElement), adopts: all(|op| !may_look(op)) }
}

/// One pass over the code, in its order.
struct Pass<'a> {
    module: &'a Module,
    labels: Labels,
    found: Proofs,
}

impl Pass<'_> {
    fn run(&mut self, body: &Body) {
        self.labels.begin_pass();
        self.found = Proofs::default();
        // What is known here, if control comes here as far as is known yet.
        let (mut state, mut reached) = (State::default(), false);
        for (index, instr) in body.iter().enumerate() {
            if instr.op == Op::Label {
                let label = instr.args.first().and_then(Arg::number).unwrap_or(0) as u32;
                if reached {
                    self.labels.edge(label, &state);
                }
                reached = self.labels.arrive(label, &mut state);
                // The process may stop at the head of a loop, and be collected.
                state.age();
            } else if reached {
                if is_access(instr.op) && !self.is_proved(&state, instr) {
                    self.found.unproved.push(index as u32);
                }
                if instr.op == Op::SetTupleElement && !self.is_fresh(&state, instr) {
                    self.found.refused.push(index as u32);
                }
                if state.looking && !look(&mut state, instr) {
                    self.found.adopts.push(index as u32);
                }
                reached = self.step(&mut state, instr);
            }
        }
    }

    /// What is known of an operand.
    fn known(&self, state: &State, arg: Option<&Arg>) -> Known {
        match arg {
            Some(Arg::Nil) => Known::Nil,
            Some(Arg::I(value)) => u32::try_from(*value).map_or(Known::Nothing, Known::Int),
            Some(Arg::Lit(index)) => self.module.literals.get(*index).map_or(Known::Nothing, of_external),
            Some(arg) => arg.reg().map_or(Known::Nothing, |reg| state.known(reg)),
            None => Known::Nothing,
        }
    }

    /// Whether an access finds what it expects.
    fn is_proved(&self, state: &State, instr: Instr<'_>) -> bool {
        let args = instr.args;
        match instr.op {
            Op::GetTupleElement => {
                let (tuple, element) = (self.known(state, args.first()), args.get(1).and_then(Arg::number));
                tuple.arity().zip(element).is_some_and(|(arity, element)| element < u64::from(arity))
            }
            Op::SetTupleElement => {
                let (tuple, element) = (self.known(state, args.get(1)), args.get(2).and_then(Arg::number));
                tuple.arity().zip(element).is_some_and(|(arity, element)| element < u64::from(arity))
            }
            _ => self.known(state, args.first()) == Known::Cons,
        }
    }

    /// Whether a tuple may be changed (KD3).
    fn is_fresh(&self, state: &State, instr: Instr<'_>) -> bool {
        let fresh = |arg| matches!(self.known(state, arg), Known::Fresh(_));
        fresh(instr.args.get(1)) && !fresh(instr.args.first())
    }

    /// What an instruction changes; false if control does not come to the next one.
    fn step(&mut self, state: &mut State, instr: Instr<'_>) -> bool {
        let (op, args) = (instr.op, instr.args);
        let reg = |index: usize| args.get(index).and_then(Arg::reg);
        let number = |index: usize| args.get(index).and_then(Arg::number).unwrap_or(0);
        let label = args.first().and_then(Arg::label).unwrap_or(0);
        match op {
            Op::Move => {
                if let (Some(from), Some(to)) = (reg(0), reg(1)) {
                    state.copy(from, to);
                } else if let Some(to) = reg(1) {
                    state.set(to, self.known(state, args.first()));
                }
                self.tell_handlers(state, reg(1));
                return true;
            }
            Op::Swap => {
                if let (Some(a), Some(b)) = (reg(0), reg(1)) {
                    state.swap(a, b);
                }
                self.tell_handlers(state, reg(0));
                self.tell_handlers(state, reg(1));
                return true;
            }
            Op::SetTupleElement => {
                if let (Some(tuple), Known::Fresh(_)) = (reg(1), self.known(state, args.get(1))) {
                    state
                        .learn_arity(tuple, u32::try_from(number(2)).map_or(u32::MAX, |place| place.saturating_add(1)));
                }
                return true;
            }
            Op::Line => return true,
            // These only read, or drop.
            Op::GetList | Op::GetHd | Op::GetTl | Op::GetTupleElement | Op::Init | Op::InitYregs | Op::Trim => {}
            _ => state.age(),
        }
        match op {
            Op::GetList | Op::GetHd | Op::GetTl => {
                if let Some(reg) = reg(0) {
                    state.learn(reg, Known::Cons);
                }
            }
            Op::GetTupleElement => {
                if let Some(reg) = reg(0) {
                    state.learn_arity(
                        reg,
                        u32::try_from(number(1)).map_or(u32::MAX, |element| element.saturating_add(1)),
                    );
                }
            }
            Op::IsNonemptyList | Op::IsNil | Op::IsList => {
                self.test_list(state, op, label, reg(1));
                return true;
            }
            Op::IsEqExact => {
                self.test_equal(state, label, args);
                return true;
            }
            Op::IsTuple | Op::TestArity | Op::IsTaggedTuple => {
                self.labels.edge(label, state);
                if let Some(reg) = reg(1) {
                    let arity = if op == Op::IsTuple { 0 } else { number(2) };
                    state.learn_arity(reg, u32::try_from(arity).unwrap_or(u32::MAX));
                }
                return true;
            }
            Op::SelectTupleArity => {
                self.select_arity(state, args);
                return false;
            }
            Op::Deallocate | Op::Allocate | Op::AllocateHeap | Op::AllocateZero | Op::AllocateHeapZero => {
                state.forget_frame();
            }
            Op::Trim => state.trim(u16::try_from(number(0)).unwrap_or(u16::MAX)),
            Op::Try | Op::Catch => {
                self.begin_catch(state, args);
                return true;
            }
            Op::TryEnd | Op::TryCase | Op::CatchEnd => {
                state.handlers.retain(|(slot, _)| Some(Reg::Y(*slot)) != reg(0));
            }
            _ => {}
        }
        self.write(state, instr);
        if op == Op::LoopRec {
            (state.looking, state.kept) = (true, false);
        }
        !op.is_terminal()
    }

    /// The general case: registers written and lost, and labels branched to.
    fn write(&mut self, state: &mut State, instr: Instr<'_>) {
        let result = self.result(state, instr);
        let (mut count, mut last) = (0, None);
        each_destination(instr, |reg| {
            state.forget(reg);
            (count, last) = (count + 1, Some(reg));
        });
        each_label(instr, |label| self.labels.edge(label, state));
        self.learn_from(state, instr, last);
        let loses_x = results(instr.op).is_some();
        if loses_x {
            (count, last) = (1, Some(Reg::X(0)));
        }
        if let Some(live) = if loses_x { Some(0) } else { live(instr) } {
            state.prune(live);
        }
        if let (1, Some(to)) = (count, last) {
            state.set(to, result);
        }
        if !state.handlers.is_empty() {
            each_destination(instr, |reg| self.tell_handlers(state, Some(reg)));
        }
    }

    /// What is known of the one result of an instruction.
    fn result(&self, state: &State, instr: Instr<'_>) -> Known {
        let args = instr.args;
        match instr.op {
            Op::PutList => Known::Cons,
            Op::PutTuple2 => args.get(1).map_or(Known::Nothing, |items| Known::Tuple(items.items().len() as u32)),
            Op::UpdateRecord => match args.get(1).and_then(Arg::number).map(u32::try_from) {
                Some(Ok(size)) => Known::Tuple(size),
                _ => Known::Nothing,
            },
            Op::CallExt => match args.get(1).and_then(Arg::number) {
                Some(import) => self.returned(state, import),
                None => Known::Nothing,
            },
            _ => Known::Nothing,
        }
    }

    /// Module, name and arity of an import.
    fn import(&self, index: u64) -> Option<(&str, &str, u8)> {
        let import = self.module.imports.get(usize::try_from(index).ok()?)?;
        Some((self.module.atom(import.module), self.module.atom(import.function), import.arity))
    }

    /// What is known of what an imported function returns.
    fn returned(&self, state: &State, import: u64) -> Known {
        match self.import(import) {
            Some(("erlang", "setelement", 3)) => {
                let known = state.known(Reg::X(1)).arity().unwrap_or(0);
                let index = if let Known::Int(index) = state.known(Reg::X(0)) { index } else { 1 };
                Known::Fresh(known.max(index))
            }
            Some(("erlang", name, arity)) => of_built_in(name, arity),
            Some(("os", "timestamp", 0)) => Known::Tuple(3),
            _ => Known::Nothing,
        }
    }

    /// A guard built-in that has not failed shows what its arguments are.
    fn learn_from(&self, state: &mut State, instr: Instr<'_>, written: Option<Reg>) {
        let (import, first) = match instr.op {
            Op::Bif1 | Op::Bif2 => (1, 2),
            Op::GcBif1 | Op::GcBif2 => (2, 3),
            _ => return,
        };
        let arg = |index: usize| instr.args.get(first + index);
        let reg = |index: usize| arg(index).and_then(Arg::reg).filter(|reg| Some(*reg) != written);
        match instr.args.get(import).and_then(Arg::number).and_then(|index| self.import(index)) {
            Some(("erlang", "hd" | "tl", 1)) => {
                if let Some(reg) = reg(0) {
                    state.learn(reg, Known::Cons);
                }
            }
            Some(("erlang", "tuple_size", 1)) => {
                if let Some(reg) = reg(0) {
                    state.learn_arity(reg, 0);
                }
            }
            Some(("erlang", "element", 2)) => {
                if let (Some(reg), Known::Int(index)) = (reg(1), self.known(state, arg(0))) {
                    state.learn_arity(reg, index);
                }
            }
            _ => {}
        }
    }

    fn test_list(&mut self, state: &mut State, op: Op, label: u32, reg: Option<Reg>) {
        let Some(reg) = reg else { return self.labels.edge(label, state) };
        let (good, bad) = match (op, state.known(reg)) {
            (Op::IsNonemptyList, Known::List) => (Known::Cons, Known::Nil),
            (Op::IsNil, Known::List) => (Known::Nil, Known::Cons),
            (Op::IsList, known @ (Known::Nil | Known::Cons)) => (known, known),
            (Op::IsNonemptyList, known) => (Known::Cons, known),
            (Op::IsNil, known) => (Known::Nil, known),
            (_, known) => (Known::List, known),
        };
        if bad != Known::Nothing {
            state.learn(reg, bad);
        }
        self.labels.edge(label, state);
        state.learn(reg, good);
    }

    fn test_equal(&mut self, state: &mut State, label: u32, args: &[Arg]) {
        let (reg, constant) = match args {
            [_, a, b] if b.reg().is_none() => (a.reg(), self.known(state, Some(b))),
            [_, a, b] if a.reg().is_none() => (b.reg(), self.known(state, Some(a))),
            _ => (None, Known::Nothing),
        };
        match (reg, constant) {
            (Some(reg), Known::Nil) => self.test_list(state, Op::IsNil, label, Some(reg)),
            (Some(reg), constant) if constant != Known::Nothing => {
                self.labels.edge(label, state);
                state.learn(reg, constant);
            }
            _ => self.labels.edge(label, state),
        }
    }

    fn select_arity(&mut self, state: &State, args: &[Arg]) {
        let Some(items) = args.get(2).map(Arg::items) else { return };
        for pair in items.chunks_exact(2) {
            let (Some(arity), Some(label)) = (pair[0].number(), pair[1].label()) else { continue };
            let mut known = state.clone();
            if let (Some(reg), Ok(arity)) = (args.first().and_then(Arg::reg), u32::try_from(arity)) {
                known.learn_arity(reg, arity);
            }
            self.labels.edge(label, &known);
        }
        if let Some(label) = args.get(1).and_then(Arg::label) {
            self.labels.edge(label, state);
        }
    }

    fn begin_catch(&mut self, state: &mut State, args: &[Arg]) {
        if let (Some(Reg::Y(slot)), Some(label)) = (args.first().and_then(Arg::reg), args.get(1).and_then(Arg::label)) {
            state.forget(Reg::Y(slot));
            state.handlers.push((slot, label));
            self.tell_handlers(state, Some(Reg::Y(slot)));
        }
    }

    /// A slot has been written: an exception from here on finds it so in a handler.
    fn tell_handlers(&mut self, state: &State, written: Option<Reg>) {
        if state.handlers.is_empty() || !matches!(written, Some(Reg::Y(_))) {
            return;
        }
        let mut there = state.clone();
        there.prune(0);
        there.age();
        for (_, label) in &state.handlers {
            self.labels.edge(*label, &there);
        }
    }
}

/// Does an instruction with a message that has not been accepted; false if the message must be adopted first (KD5).
fn look(state: &mut State, instr: Instr<'_>) -> bool {
    match instr.op {
        Op::RemoveMessage => state.looking = false,
        Op::LoopRec | Op::LoopRecEnd => {
            state.looking = false;
            return !state.kept;
        }
        Op::Move if instr.args.first().and_then(Arg::reg).is_none() => {}
        Op::Init | Op::InitYregs => {}
        op if may_look(op) => {
            each_destination(instr, |reg| state.kept |= matches!(reg, Reg::Y(_)));
        }
        _ => {
            state.looking = false;
            return false;
        }
    }
    true
}

/// What is known of a literal, by the head of its external term.
fn of_external(bytes: &[u8]) -> Known {
    match *bytes {
        [131, 104, arity, ..] => Known::Tuple(u32::from(arity)),
        [131, 105, a, b, c, d, ..] => Known::Tuple(u32::from_be_bytes([a, b, c, d])),
        [131, 106, ..] => Known::Nil,
        [131, 107, a, b, ..] if a | b != 0 => Known::Cons,
        [131, 108, a, b, c, d, ..] if a | b | c | d != 0 => Known::Cons,
        _ => Known::Nothing,
    }
}

/// What is known of what a function of module `erlang` returns.
fn of_built_in(name: &str, arity: u8) -> Known {
    match (name, arity) {
        ("list_to_tuple" | "make_tuple" | "append_element" | "tuple_append", _) => Known::Tuple(0),
        ("date" | "time" | "now", 0) => Known::Tuple(3),
        ("localtime" | "universaltime", 0) | ("split_binary", 2) => Known::Tuple(2),
        _ => Known::Nothing,
    }
}
