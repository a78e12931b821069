//! Machine code as a back end gives it, before it stands anywhere.

use std::fmt::{self, Display, Formatter};

use crate::form::{Form, Point, Symbol};

/// Code of one function. It may stand at any address of its alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Instructions, and constants behind them.
    pub bytes: Vec<u8>,
    /// What the address of the first byte must be a multiple of: a power of two.
    pub align: usize,
    /// Words that depend on the place or the symbols.
    pub relocations: Vec<Relocation>,
    /// Where the function is entered.
    pub entry: u32,
    /// Where its points are, by point.
    pub points: Vec<(Point, u32)>,
    /// From which offset on code is of which number ([`Op::Source`](crate::form::Op::Source)), ascending. Before the first it is of none.
    pub sources: Vec<(u32, u32)>,
    /// Why the optimising way was declined, and the plain one taken.
    pub declined: Option<Refused>,
    /// How it was made.
    pub figures: Figures,
}

/// A word of the code to which the value of a symbol has to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where it is: eight bytes, the lowest first.
    pub offset: u32,
    /// Whose value.
    pub symbol: Symbol,
    /// What is added besides.
    pub addend: i64,
}

/// An instruction, for people to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Where it begins in the code.
    pub offset: u32,
    /// How many bytes it takes.
    pub bytes: u32,
    /// Its text, in Intel's notation.
    pub text: String,
}

/// How code was made: what reports sum up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Places where the code leaves the function: these have been edited.
    pub exits: u32,
    /// Ways in besides the entry.
    pub points: u32,
    /// Overflow checks that branch on the processor's flag...
    pub flag_branches: u32,
    /// ...and those that go by a register.
    pub flag_registers: u32,
    /// Bytes of the spill area that it uses.
    pub spill_bytes: u32,
    /// Operations of the form.
    pub operations: u32,
}

/// How code is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Spends time on better code, if the form is not too large for that.
    pub optimise: bool,
    /// Checks the work of the code generator's front half as well, which takes a third of the time more.
    pub check: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { optimise: true, check: cfg!(debug_assertions) }
    }
}

/// Why there is no code for a form. The function stays in tier 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The form is not one: a fault of who made it.
    Form(String),
    /// It is too large: how many of what, of how many at most.
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// The code generator failed.
    Generator(String),
    /// Its code is not as the edits need it.
    Unexpected(String),
    /// What makes the form, or the code generator, has panicked: what it has said ([`caught`](crate::caught)).
    Panicked(String),
    /// There is no back end for this processor.
    Processor,
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(what) => write!(f, "bad form: {what}"),
            Self::TooLarge { what, found, most } => write!(f, "{found} {what}, more than {most}"),
            Self::Generator(what) => write!(f, "code generator: {what}"),
            Self::Unexpected(what) => write!(f, "unexpected code: {what}"),
            Self::Panicked(what) => write!(f, "panic: {what}"),
            Self::Processor => f.write_str("no code for this processor"),
        }
    }
}

impl std::error::Error for Refused {}

/// How many operations a form has, ends counted.
pub fn operations(form: &Form) -> usize {
    form.blocks.iter().map(|block| block.ops.len() + 1).sum()
}
