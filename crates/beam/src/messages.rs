//! What becomes of the objects that a function builds, and which messages lie on top of the heap when they are sent (Johansson, Sagonas and Wilhelmsson 2002,
//! section 5; Carlsson, Sagonas and Wilhelmsson 2003).
//!
//! MS1. An object is *escaping* if it is for one message: it is what is sent, or an element of an object that is escaping, and nothing else that is
//!      still used afterwards refers to it. It is *local* if all that is done with it is to look at it, or to make it an element of local objects. All others are
//!      *unknown*: what is given to a function or returned, lies in a slot, is the result of a send that is used, or is taken apart.
//! MS2. A message is *on top* of the heap, where the instruction that sends it finds it, if the last objects that were built are the message itself and others
//!      that lead from it, each of which is an element of just one of them; if nothing else was put on the heap since the first of them; and if no
//!      slot and no object outside refers to any. It is *dead* afterwards if its sender does not use the result of the send.
//! MS3. What is known ends at each label: of objects that are used behind it, it is not known how.
//!
//! The walk goes over the instructions once, in their order. Which of them leave the heap alone is what beam.effects/V9 rests on, too.

use crate::decode::{AnyReg, Arg, Body, Instr, Reg};
use crate::labels::LabelIndex;
use crate::liveness::Liveness;
use crate::module::Module;
use crate::opcode::Op;
use crate::roles::{each_label, live, results};
use crate::room::{CONS, leaves_heap_alone};
use std::cell::OnceCell;

/// What becomes of an object (MS1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// It stays with the process that builds it.
    Local,
    /// It is for a message.
    Escaping,
    /// Nothing is known.
    Unknown,
}

/// An instruction that builds an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Its index in the function's body.
    pub index: usize,
    /// What becomes of the object.
    pub class: Class,
    /// Whether it is on top of the heap when its message is sent.
    pub on_top: bool,
}

/// A message that is on top of the heap (MS2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltMessage {
    /// The index of the instruction that sends it.
    pub index: usize,
    /// How many words there are of it.
    pub words: u32,
    /// Whether nobody uses it afterwards.
    pub is_dead: bool,
}

/// What [`Module::messages`] found.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// All that builds, in the order of the code.
    pub sites: Vec<Site>,
    /// How many instructions send.
    pub sends: usize,
    /// Messages that are on top of the heap, in the order of their sends.
    pub built: Vec<BuiltMessage>,
}

/// An object that has been built.
struct Object {
    index: usize,
    /// Of one that an instruction puts on top of the heap: how many.
    words: Option<u32>,
    /// The objects that it is an element of, once for each time.
    parents: Vec<usize>,
    /// It may be used in ways that are not followed.
    leaks: bool,
    /// It is sent, and not used afterwards.
    is_sent: bool,
    on_top: bool,
}

struct Walk<'a> {
    module: &'a Module,
    body: &'a Body,
    liveness: OnceCell<Liveness>,
    labels: OnceCell<LabelIndex>,
    objects: Vec<Object>,
    /// X registers that hold objects.
    holds: Vec<(u16, usize)>,
    /// Objects from this one on are on top of the heap.
    top: usize,
    sends: usize,
    built: Vec<BuiltMessage>,
}

pub(crate) fn messages(module: &Module, body: &Body) -> Messages {
    let (liveness, labels) = (OnceCell::new(), OnceCell::new());
    let (objects, holds, built) = (Vec::new(), Vec::new(), Vec::new());
    let mut walk = Walk { module, body, liveness, labels, objects, holds, top: 0, sends: 0, built };
    for (index, instr) in body.iter().enumerate() {
        walk.step(index, instr);
    }
    Messages { sites: walk.sites(), sends: walk.sends, built: walk.built }
}

/// Whether a function has an instruction that sends.
pub(crate) fn sends(module: &Module, body: &Body) -> bool {
    body.iter().any(|instr| sent_with(module, instr).is_some())
}

/// How many arguments an instruction that sends has.
fn sent_with(module: &Module, instr: Instr<'_>) -> Option<u8> {
    match instr.op {
        Op::Send => Some(2),
        Op::CallExt | Op::CallExtLast | Op::CallExtOnly => {
            let import = module.imports.get(usize::try_from(instr.args.get(1)?.number()?).ok()?)?;
            let sends = matches!((module.atom(import.function), import.arity), ("send", 2 | 3) | ("!", 2));
            (sends && module.atom(import.module) == "erlang").then_some(import.arity)
        }
        _ => None,
    }
}

/// Whether an instruction only looks at what it reads, and goes on below or at its labels.
const fn only_looks(op: Op) -> bool {
    use Op::*;
    matches!(op, IsLt | IsGe | IsEq | IsNe | IsEqExact | IsNeExact | SelectVal | SelectTupleArity | HasMapFields)
        || matches!(op, IsInteger | IsFloat | IsNumber | IsBoolean | IsAtom | IsPid | IsReference | IsPort | IsNil)
        || matches!(op, IsList | IsNonemptyList | IsTuple | TestArity | IsTaggedTuple | IsMap | IsBinary | IsBitstr)
        || matches!(op, IsFunction | IsFunction2)
}

/// The operands of an instruction that become elements of what it builds, and where that goes; `None`: it builds nothing that is followed.
fn building<'a>(instr: Instr<'a>) -> Option<(Vec<&'a Arg>, &'a Arg)> {
    let args = instr.args;
    let values = |list: usize, first: usize, step: usize| {
        args.get(list).map(|list| list.items().iter().skip(first).step_by(step).collect::<Vec<_>>())
    };
    match (instr.op, args) {
        (Op::PutList, [head, tail, to]) => Some((vec![head, tail], to)),
        (Op::PutTuple2, [to, _]) => Some((values(1, 0, 1)?, to)),
        (Op::MakeFun3, [_, to, _]) => Some((values(2, 0, 1)?, to)),
        (Op::PutMapAssoc | Op::PutMapExact, [_, _, to, ..]) => Some((values(4, 0, 1)?, to)),
        (Op::UpdateRecord, [_, _, _, to, _]) => Some((values(4, 1, 2)?, to)),
        (Op::BsCreateBin, [_, _, _, _, to, _]) => Some((Vec::new(), to)),
        _ => None,
    }
}

/// The map or tuple that an update begins with, whose elements become those of another one.
fn begins_with(instr: Instr<'_>) -> Option<AnyReg> {
    let place = match instr.op {
        Op::PutMapAssoc | Op::PutMapExact => 1,
        Op::UpdateRecord => 2,
        _ => return None,
    };
    AnyReg::of(instr.args.get(place)?)
}

impl Walk<'_> {
    fn liveness(&self) -> &Liveness {
        self.liveness.get_or_init(|| self.module.liveness(self.body))
    }

    fn held(&self, arg: &Arg) -> Option<usize> {
        match arg.reg() {
            Some(Reg::X(x)) => self.held_by(x),
            _ => None,
        }
    }

    fn held_by(&self, x: u16) -> Option<usize> {
        self.holds.iter().find(|(held, _)| *held == x).map(|(_, object)| *object)
    }

    /// A register holds this object, or none, from now on.
    fn set(&mut self, reg: AnyReg, object: Option<usize>) {
        match (reg, object) {
            (AnyReg::X(x), object) => {
                self.holds.retain(|(held, _)| *held != x);
                self.holds.extend(object.map(|object| (x, object)));
            }
            // A slot: who reads that is not followed.
            (_, Some(object)) => self.objects[object].leaks = true,
            (_, None) => {}
        }
    }

    fn step(&mut self, index: usize, instr: Instr<'_>) {
        match (instr.op, instr.args) {
            (Op::Label, _) => {
                self.leak_live(index);
                self.end();
                return;
            }
            (Op::Move, [from, to]) => {
                let object = self.held(from);
                AnyReg::of(to).into_iter().for_each(|to| self.set(to, object));
                return;
            }
            (Op::Swap, [a, b]) => {
                let objects = (self.held(a), self.held(b));
                AnyReg::of(a).into_iter().for_each(|a| self.set(a, objects.1));
                AnyReg::of(b).into_iter().for_each(|b| self.set(b, objects.0));
                return;
            }
            _ => {}
        }
        if let Some(arity) = sent_with(self.module, instr) {
            self.send(index, instr, arity);
        }
        let built = building(instr);
        self.read(instr, built.as_ref().map(|(elements, _)| &elements[..]));
        if let Some((elements, to)) = built {
            self.build(index, instr, &elements, to);
        } else {
            self.lose(instr);
            instr.writes().for_each(|reg| self.set(reg, None));
        }
        if !self.leaves_alone(instr) {
            self.top = self.objects.len();
        }
        if !instr.goes_on(&self.module.imports) {
            self.end();
        }
    }

    /// Nothing is known behind.
    fn end(&mut self) {
        self.holds.clear();
        self.top = self.objects.len();
    }

    /// What an instruction does with objects in the registers that it reads; elements of what it builds are looked at there.
    fn read(&mut self, instr: Instr<'_>, elements: Option<&[&Arg]>) {
        if self.holds.is_empty() {
            return;
        }
        if !only_looks(instr.op) {
            let is_element = |reg: AnyReg| {
                elements.is_some_and(|elements| elements.iter().any(|element| AnyReg::of(element) == Some(reg)))
            };
            let others = instr.reads(&self.module.lambdas).filter(|reg| !is_element(*reg));
            for reg in others.chain(begins_with(instr)) {
                let AnyReg::X(x) = reg else { continue };
                if let Some(object) = self.held_by(x).filter(|object| !self.objects[*object].is_sent) {
                    self.objects[object].leaks = true;
                }
            }
        }
        if matches!(instr.op, Op::Try | Op::Catch) {
            // A handler finds no X register as it was.
            return;
        }
        let mut targets = Vec::new();
        each_label(instr, |label| targets.push(label));
        for label in targets {
            let labels = self.labels.get_or_init(|| LabelIndex::of(self.body));
            match labels.position(label) {
                Some(target) => self.leak_live(target),
                None => self.leak_all(),
            }
        }
    }

    /// What is live before an instruction is used there in ways that are not followed.
    fn leak_live(&mut self, index: usize) {
        for (x, object) in std::mem::take(&mut self.holds) {
            let is_live = self.liveness().x(index).has(x);
            self.objects[object].leaks |= is_live;
            self.holds.push((x, object));
        }
    }

    fn leak_all(&mut self) {
        for (_, object) in &self.holds {
            self.objects[*object].leaks = true;
        }
    }

    /// X registers that an instruction loses.
    fn lose(&mut self, instr: Instr<'_>) {
        if results(instr.op).is_some() {
            self.holds.clear();
        } else if let Some(live) = live(instr) {
            self.holds.retain(|(x, _)| *x < live);
        }
    }

    fn build(&mut self, index: usize, instr: Instr<'_>, elements: &[&Arg], to: &Arg) {
        let object = self.objects.len();
        for element in elements {
            if let Some(element) = self.held(element) {
                self.objects[element].parents.push(object);
            }
        }
        self.lose(instr);
        let words = match instr.op {
            Op::PutList => Some(CONS),
            Op::PutTuple2 => Some(1 + elements.len() as u32),
            _ => None,
        };
        self.objects.push(Object { index, words, parents: Vec::new(), leaks: false, is_sent: false, on_top: false });
        match AnyReg::of(to) {
            Some(to) => self.set(to, Some(object)),
            None => self.objects[object].leaks = true,
        }
    }

    /// Is what was on top of the heap so still?
    fn leaves_alone(&self, instr: Instr<'_>) -> bool {
        let import = |place: usize| {
            let import = instr.args.get(place).and_then(Arg::number).and_then(|i| self.module.imports.get(i as usize));
            import.is_some_and(|import| import.builds_nothing)
        };
        match instr.op {
            Op::Bif0 => import(0),
            Op::Bif1 | Op::Bif2 | Op::Bif3 => import(1),
            // A float that becomes a term, a fun, a change of what was built.
            Op::Fmove => !instr.writes().any(|reg| !matches!(reg, AnyReg::FR(_))),
            Op::MakeFun3 | Op::SetTupleElement => false,
            op => leaves_heap_alone(op) || matches!(op, Op::Try | Op::Catch | Op::TryEnd),
        }
    }

    fn send(&mut self, index: usize, instr: Instr<'_>, arity: u8) {
        self.sends += 1;
        for x in [0, 2].into_iter().filter(|x| *x < u16::from(arity)) {
            if let Some(other) = self.held_by(x) {
                self.objects[other].leaks = true;
            }
        }
        let Some(message) = self.held_by(1) else { return };
        // The result of `send/3` is an atom; in tail position that of `send/2` is returned.
        let goes_on = matches!(instr.op, Op::Send | Op::CallExt);
        let is_dead = arity == 3 || goes_on && !self.liveness().x(index + 1).has(0);
        let words = self.words_on_top(message);
        if words > 0 {
            self.built.push(BuiltMessage { index, words, is_dead });
        }
        let object = &mut self.objects[message];
        (object.is_sent, object.leaks) = (is_dead, object.leaks || !is_dead);
    }

    /// How many words there are of a message that is on top of the heap.
    fn words_on_top(&mut self, message: usize) -> u32 {
        if message + 1 != self.objects.len() || message < self.top {
            return 0;
        }
        let mut words = 0_u32;
        for index in (self.top..self.objects.len()).rev() {
            let object = &mut self.objects[index];
            let belongs = if index == message {
                object.parents.is_empty()
            } else {
                // What is behind it belongs to the message.
                object.parents.len() == 1
            };
            let Some(more) = object.words.filter(|_| belongs && !object.leaks) else { break };
            words = words.saturating_add(more);
            object.on_top = true;
        }
        words
    }

    fn sites(&self) -> Vec<Site> {
        let mut classes = vec![Class::Unknown; self.objects.len()];
        // Objects are elements of such as are built after them.
        for (index, object) in self.objects.iter().enumerate().rev() {
            let mut uses = object.parents.iter().map(|parent| classes[*parent]);
            classes[index] = match (object.leaks, object.is_sent, uses.next()) {
                (false, true, None) => Class::Escaping,
                (false, false, None) => Class::Local,
                (false, false, Some(first)) if uses.all(|class| class == first) => first,
                _ => Class::Unknown,
            };
        }
        let sites = self.objects.iter().zip(classes);
        sites.map(|(object, class)| Site { index: object.index, class, on_top: object.on_top }).collect()
    }
}
