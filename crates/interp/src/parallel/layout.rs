//! What lies where in the frames of the loops of the module `parallel`: learnt from its code, which a compiler has laid out.
//!
//! A piece of a loop has two frames: that of `loop/6`, which knows what the piece belongs to, and above it, while a step runs, that of the function that goes
//! through the elements. One that makes a list of what comes of them calls itself for the rest: so between these two stands a frame for each element that is done, which waits. Both tiers lay out a frame alike (design, section 3), so one look at the generic instructions tells for both.

use myriad_beam::{AnyReg, Body, Op, Reg};
use myriad_term::{Atom, am};
use myriad_vm::code::{Continuation, Function, Module};
use std::collections::HashMap;

/// The function of a piece: `(F, Rest, N, Loop, Before, After)`.
const PIECE: (&str, u8) = ("loop", 6);
/// Its arguments by place.
const F: u16 = 0;
const LOOP: u16 = 3;
const AFTER: u16 = 5;

/// Those that go through the elements: what is left and how many are the last arguments.
const STEPS: [(&str, u8); 4] = [("each", 3), ("collected", 3), ("folded", 4), ("called", 3)];

/// The frames of the loops of one version of the module.
pub struct Layouts {
    /// That of a piece.
    pub piece: Piece,
    steps: Vec<Step>,
}

/// The frame of `loop/6`: Y registers.
pub struct Piece {
    function: *const Function,
    words: usize,
    /// The fun.
    pub f: usize,
    /// What a piece of this loop is to do.
    pub of: usize,
    /// The pieces that follow.
    pub after: usize,
}

/// A function that goes through the elements.
pub struct Step {
    function: *const Function,
    /// Its arguments.
    pub arity: usize,
    /// Y registers of its frame while an element is done.
    pub words: usize,
    /// Those of a frame that waits for what the elements behind it come to, of a function that makes a list of them.
    pub waiting: Option<usize>,
    /// Where its frame has what is left, by the number of the call of the fun.
    calls: Vec<(u32, Left)>,
}

/// Where a frame has what is left of a piece: Y registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The list behind the element at which the step is, or, if `counts`, the integer that this element is.
    pub rest: usize,
    /// How many elements are left with that one.
    pub n: usize,
    /// Is it a range of integers?
    pub counts: bool,
}

// SAFETY: the functions are those of the module that keeps this; they are compared, never followed.
unsafe impl Send for Layouts {}
// SAFETY: as above.
unsafe impl Sync for Layouts {}

impl Layouts {
    /// Those of the version of the module that this return point is in, if it leads to a piece.
    pub fn of_piece(to: &Continuation) -> Option<&'static Layouts> {
        // SAFETY: code/K3: a function stays, and its module, as long as a process is in it. A stack with the frame is one's that is.
        let function = unsafe { to.function.as_ref() }?;
        if function.mfa.module != am::parallel {
            return None;
        }
        // SAFETY: as above.
        let module = unsafe { function.module.as_ref() }?;
        let learnt = module.learnt.get_or_init(|| Box::new(Layouts::of(module)));
        let layouts = learnt.downcast_ref::<Option<Layouts>>()?.as_ref()?;
        layouts.piece.is(to).then_some(layouts)
    }

    /// Of this version of the module; `None`: it has no such loops.
    fn of(module: &Module) -> Option<Layouts> {
        let piece = {
            let (function, body) = function(module, PIECE)?;
            // At the call of a built-in with which it begins.
            let frame = frames(&body, PIECE.1, Op::CallExt).into_iter().next()?;
            let slot = |argument| frame.slot(Value::Argument(argument));
            Piece { function, words: frame.words, f: slot(F)?, of: slot(LOOP)?, after: slot(AFTER)? }
        };
        let steps: Option<Vec<Step>> = STEPS.iter().map(|name| Step::of(module, *name)).collect();
        Some(Layouts { piece, steps: steps? })
    }

    /// The functions that go through elements.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl Piece {
    /// Does this return point lead to a piece, with the frame that was learnt?
    pub fn is(&self, to: &Continuation) -> bool {
        std::ptr::eq(to.function, self.function) && to.frame as usize == self.words
    }
}

impl Step {
    fn of(module: &Module, name: (&str, u8)) -> Option<Step> {
        let (function, body) = function(module, name)?;
        let (rest, n) = (u16::from(name.1) - 2, u16::from(name.1) - 1);
        let mut words = 0;
        let left = |frame: &Frame| {
            words = frame.words;
            let n = frame.slot(Value::Argument(n))?;
            let list = frame.slot(Value::Tail(rest)).map(|rest| Left { rest, n, counts: false });
            list.or_else(|| Some(Left { rest: frame.slot(Value::Argument(rest))?, n, counts: true }))
                .map(|left| (frame.call, left))
        };
        let calls: Option<Vec<_>> = frames(&body, name.1, Op::CallFun).iter().map(left).collect();
        let calls = calls.filter(|calls| !calls.is_empty())?;
        let waiting = frames(&body, name.1, Op::Call).first().map(|frame| frame.words);
        Some(Step { function, arity: name.1.into(), words, waiting, calls })
    }

    /// Is this the function?
    pub fn is(&self, function: *const Function) -> bool {
        std::ptr::eq(function, self.function)
    }

    /// Does this return point lead to a frame of it that waits?
    pub fn waits(&self, to: &Continuation) -> bool {
        self.is(to.function) && self.waiting.is_some_and(|words| words == to.frame as usize && words != self.words)
    }

    /// Where its frame has what is left, if this return point leads to it. (A point knows the instruction that its call was merged with, which may be an earlier
    /// one.)
    pub fn left(&self, to: &Continuation) -> Option<Left> {
        let call = self.calls.iter().find(|(call, _)| to.call <= *call);
        call.filter(|_| self.is(to.function) && to.frame as usize == self.words).map(|(_, left)| *left)
    }
}

fn function(module: &Module, (name, arity): (&str, u8)) -> Option<(*const Function, Body)> {
    let name = Atom::new(name).ok()?;
    let function = module.functions.iter().find(|f| f.mfa.function == name && f.mfa.arity == arity)?;
    Some((function, module.beam.decode_function(function.index).ok()?))
}

/// What a register holds, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Argument(u16),
    /// The tail of the list that is this argument.
    Tail(u16),
}

/// The Y registers at a call.
struct Frame {
    call: u32,
    words: usize,
    slots: HashMap<u16, Value>,
}

impl Frame {
    /// The slot that holds this, if one alone does: what is written there is read there.
    fn slot(&self, value: Value) -> Option<usize> {
        let mut found = self.slots.iter().filter(|(_, held)| **held == value).map(|(slot, _)| usize::from(*slot));
        found.next().filter(|slot| found.next().is_none() && *slot < self.words)
    }
}

/// The frames at the calls of this kind. Each clause begins, at a label, with the arguments where they came.
fn frames(body: &Body, arity: u8, kind: Op) -> Vec<Frame> {
    let mut found = Vec::new();
    let begin = || (0..u16::from(arity)).map(|x| (Reg::X(x), Value::Argument(x))).collect::<HashMap<_, _>>();
    let (mut held, mut words) = (begin(), 0);
    for (call, instruction) in (0..).zip(body.iter()) {
        let registers: Vec<Option<Reg>> = instruction.args.iter().map(|arg| arg.reg()).collect();
        let value_of = |held: &HashMap<Reg, Value>, from: &Option<Reg>| from.and_then(|from| held.get(&from).copied());
        match (instruction.op, &registers[..]) {
            (Op::Label, _) => (held, words) = (begin(), 0),
            (Op::Allocate | Op::AllocateZero | Op::AllocateHeap | Op::AllocateHeapZero, _) => {
                words = instruction.args.first().and_then(|arg| arg.number()).unwrap_or(0) as usize;
            }
            (Op::Move, [from, to]) => {
                let value = value_of(&held, from);
                set(&mut held, *to, value);
            }
            (Op::GetList, [from, head, tail]) => {
                let list = value_of(&held, from);
                set(&mut held, *head, None);
                let tail_of =
                    |list| if let Value::Argument(argument) = list { Some(Value::Tail(argument)) } else { None };
                set(&mut held, *tail, list.and_then(tail_of));
            }
            (op, _) if op == kind => {
                let slots = held.iter().filter_map(|(register, value)| match register {
                    Reg::Y(slot) => Some((*slot, *value)),
                    Reg::X(_) => None,
                });
                found.push(Frame { call, words, slots: slots.collect() });
                held.retain(|register, _| matches!(register, Reg::Y(_)));
            }
            (Op::Trim, _) => {
                words = instruction.args.get(1).and_then(|arg| arg.number()).unwrap_or(0) as usize;
                held.retain(|register, _| matches!(register, Reg::X(_)));
            }
            (Op::Deallocate, _) => held.retain(|register, _| matches!(register, Reg::X(_))),
            _ => {
                for written in instruction.writes() {
                    match written {
                        AnyReg::X(x) => drop(held.remove(&Reg::X(x))),
                        AnyReg::Y(y) => drop(held.remove(&Reg::Y(y))),
                        AnyReg::FR(_) => {}
                    }
                }
            }
        }
    }
    found
}

/// A register holds this from now on, or nothing that matters.
fn set(held: &mut HashMap<Reg, Value>, to: Option<Reg>, value: Option<Value>) {
    match (to, value) {
        (Some(to), Some(value)) => drop(held.insert(to, value)),
        (Some(to), None) => drop(held.remove(&to)),
        (None, _) => {}
    }
}
