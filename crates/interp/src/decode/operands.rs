//! What is decoded: a generic instruction, what is known at it, and its operands.

use super::emit::Unfit;
use myriad_beam::{Arg, Op};

/// A generic instruction, with what is known at it.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) op: Op,
    pub(crate) args: &'a [Arg],
    pub(crate) line: u32,
    pub(crate) frame: u32,
    /// Its operand may not be what it is for: a checked form is wanted.
    pub(crate) checked: bool,
    /// It must not run.
    pub(crate) refused: bool,
    /// The message that is looked at must be adopted first.
    pub(crate) adopts: bool,
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
