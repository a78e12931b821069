//! The bytes of an argument of a call that goes on slice by slice.
//!
//! LA1. The arguments of a call stay where they are until it is over: nothing is collected between its slices (`Ctx::yield_to` and
//!      `Ctx::yield_as`; the rest of a call that may be collected, `Ctx::yield_without_terms`, has no terms). Their terms may be kept, which is what [`Bytes`] does; a borrow of their bytes ends with the slice.

use myriad_term::Term;
use std::ops::{Deref, Range};

/// Bytes of a binary that is an argument (LA1).
pub struct Bytes {
    binary: Term,
    range: Range<usize>,
    /// A copy, if the binary does not lie at a byte border.
    moved: Option<Vec<u8>>,
}

impl Bytes {
    /// The bytes of a term, if it is a binary.
    pub fn of(binary: Term) -> Option<Bytes> {
        let bits = binary.as_bits().filter(|bits| bits.is_binary())?;
        Self::part_of(binary, 0..bits.len() / 8)
    }

    /// Some of the whole bytes of a term, if it is a bit string that has them.
    pub fn part_of(binary: Term, range: Range<usize>) -> Option<Bytes> {
        let part = binary.as_bits()?.part(range.start * 8, range.len() * 8)?;
        let within = binary.as_aligned_bytes().is_some();
        let moved = if within { None } else { Some(part.to_bytes().into_owned()) };
        Some(Bytes { binary, range, moved })
    }

    /// Did they have to be copied?
    pub const fn is_moved(&self) -> bool {
        self.moved.is_some()
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.moved {
            Some(bytes) => bytes,
            None => self.binary.as_aligned_bytes().and_then(|all| all.get(self.range.clone())).unwrap_or_default(),
        }
    }
}
