//! Match specifications: heads compiled to a list of tests, guards and bodies to a postfix program.
//!
//! | module | holds |
//! | --- | --- |
//! | [`compile`] | from a term to a [`Spec`], with OTP's errors |
//! | [`head`] | the tests of a head |
//! | [`machine`] | running a specification on a term |
//! | [`functions`] | the functions that guards and bodies may call |
//! | [`trace`] | what tracing asks of them |
//! | [`keys`] | which keys a specification can match; whether it keeps the key |
//!
//! SP1. All terms of a specification lie in its own memory, which lives as long as it does; or, if it is used during one
//!      call of a built-in only, in that call's arguments.
//! SP2. A program leaves just one value; each operation finds its operands on the stack.
//! SP3. Terms are as deep as users make them, so compiling and running are loops.

pub mod compile;
pub mod functions;
pub mod head;
pub mod keys;
pub mod machine;
pub mod trace;

use functions::Function;
use head::Test;
use myriad_heap::Fragment;
use myriad_sync::Arc;
use myriad_term::{Atom, Term, TermRef, am};

/// What a specification is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Rows of tables.
    Table,
    /// Argument lists of traced calls.
    Trace,
    /// Receiver and message, of messages that are sent.
    Send,
    /// Node, sender and message, of messages that arrive.
    Receive,
}

impl Dialect {
    /// May an action or question that only tracing knows be used?
    fn knows(self, name: Atom) -> bool {
        match self {
            Dialect::Table => false,
            Dialect::Trace => true,
            Dialect::Send => !matches!(name, am::caller | am::caller_line),
            Dialect::Receive => {
                matches!(name, am::message | am::display | am::return_trace | am::exception_trace)
            }
        }
    }
}

/// A compiled specification.
pub struct Spec {
    /// Its clauses, to be tried in order.
    clauses: Vec<Clause>,
    /// Most variables of a clause.
    variables: usize,
    /// What it is for.
    pub dialect: Dialect,
    memory: Fragment,
}

// SAFETY: all terms lie in memory that outlives the specification (SP1) and are never changed.
unsafe impl Sync for Spec {}

impl Spec {
    /// Calls `visit` with each boxed object in its memory.
    pub fn each_object(&self, visit: impl FnMut(myriad_term::Boxed)) {
        self.memory.each_object(visit);
    }

    /// The heads of its clauses as they were written, to be tried in order.
    pub fn heads(&self) -> impl Iterator<Item = TermRef<'_>> {
        self.clauses.iter().map(|clause| clause.head)
    }
}

/// What the magic reference of a compiled specification holds.
pub struct Compiled(pub Arc<Spec>);

/// One clause.
struct Clause {
    /// The head as it was written.
    head: Term,
    /// The head.
    tests: Vec<Test>,
    /// The guards: the last value of each must be `true`.
    guards: Vec<Op>,
    /// What the clause gives.
    body: Body,
    /// The variables' slots, in the order of the variables' numbers: what `'$$'` lists.
    all: Vec<u32>,
}

/// The result of a clause.
enum Body {
    /// `'$_'`
    Whole,
    /// A term without memory.
    Immediate(Term),
    /// A program that leaves the result on the stack (SP2).
    Program(Vec<Op>),
}

/// Where an operation makes its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On the heap that gets the result; everything it refers to is there, too.
    Result,
    /// In memory that is dropped after the clause; it may refer to the row and to the specification.
    Scratch,
}

/// An operation of a postfix program.
#[derive(Clone, Copy)]
pub enum Op {
    /// A term of the specification.
    Constant(Term, Place),
    /// The value of the variable in this slot.
    Variable(u32, Place),
    /// `'$_'`
    Whole(Place),
    /// `'$$'`
    All(Place),
    /// A tuple of as many values.
    Tuple(u32, Place),
    /// A cell of head and tail.
    Cons(Place),
    /// A map of as many pairs.
    Map(u32, Place),
    /// A call of a function, with as many of the last values as it has arguments.
    Call(&'static Function),
    /// The top value moves to the result heap.
    Keep,
    /// All of these values are Booleans: are all true?
    And(u32),
    /// All of these values are Booleans: is one true?
    Or(u32),
    /// Goes on behind the place if the value is false.
    AndAlso(u32),
    /// Goes on behind the place if the value is true.
    OrElse(u32),
    /// The end of a guard: fails the clause unless the value is `true`.
    Guard,
    /// The end of a body expression whose value does not count.
    Drop,
    /// A trace action with as many arguments.
    Action(Atom, u32),
}
