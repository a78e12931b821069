//! What is decoded: a generic instruction, what is known at it, and its operands.

use super::emit::Unfit;
use myriad_beam::{Arg, BuiltMessage, Op};

/// A generic instruction, with what is known at it.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// Its index in the function's body.
    pub index: usize,
    /// What it is.
    pub op: Op,
    /// Its operands.
    pub args: &'a [Arg],
    /// Index into the module's line table, 0 = unknown.
    pub line: u32,
    /// Y registers before it, or [`myriad_beam::MIXED`].
    pub frame: u32,
    /// Its operand may not be what it is for: a checked form is wanted.
    pub checked: bool,
    /// It must not run.
    pub refused: bool,
    /// The message that is looked at must be adopted first.
    pub adopts: bool,
    /// It sends a message that is on top of the heap.
    pub message: Option<BuiltMessage>,
}

impl At<'_> {
    /// The number of the label, if it is one.
    pub fn label(&self) -> Option<u32> {
        let number = (self.op == Op::Label).then(|| self.args.first().and_then(Arg::number))??;
        u32::try_from(number).ok()
    }

    /// Words of the heap need in an operand.
    ///
    /// # Errors
    /// It is none, or too large.
    pub fn heap(&self, operand: usize) -> Result<u32, Unfit> {
        Args(self.args).heap(operand)
    }
}

/// The arguments of an instruction.
pub(crate) struct Args<'a>(pub(crate) &'a [Arg]);

impl<'a> Args<'a> {
    /// Argument `i`.
    pub(crate) fn at(&self, i: usize) -> Result<&'a Arg, Unfit> {
        self.0.get(i).ok_or(Unfit)
    }

    /// A plain number.
    pub(crate) fn number(&self, i: usize) -> Result<u32, Unfit> {
        self.at(i)?.number().and_then(|n| u32::try_from(n).ok()).ok_or(Unfit)
    }

    /// A label; 0: none.
    pub(crate) fn label(&self, i: usize) -> u32 {
        self.0.get(i).and_then(Arg::label).unwrap_or(0)
    }

    /// The items of a list.
    pub(crate) fn items(&self, i: usize) -> Result<&'a [Arg], Unfit> {
        Ok(self.at(i)?.items())
    }

    /// Words of a heap need.
    pub(crate) fn heap(&self, i: usize) -> Result<u32, Unfit> {
        match self.at(i)? {
            Arg::Alloc(need) => {
                let extra = need.floats.checked_mul(2).zip(need.funs.checked_mul(3));
                let (floats, funs) = extra.ok_or(Unfit)?;
                let words = need.words.checked_add(floats).and_then(|n| n.checked_add(funs)).ok_or(Unfit)?;
                if words < 1 << 27 { Ok(words) } else { Err(Unfit) }
            }
            Arg::U(words) if *words < 1 << 27 => Ok(*words as u32),
            _ => Err(Unfit),
        }
    }
}

/// Bytes of a frame.
pub(super) fn frame_bytes(slots: u32) -> u32 {
    8 * slots
}
