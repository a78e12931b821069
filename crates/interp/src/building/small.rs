//! Small binaries, made in one pass: most that are not appended to are.
//!
//! Nothing is allocated and nothing raised before all is known to be right, so whatever is unusual (a wrong type, a size
//! that is none, more than a heap binary holds) is left to [`super::create_bin`], which begins anew.

use super::{Segment, code_point, size_in_bits};
use crate::bits;
use crate::instr::segment;
use crate::machine::Machine;
use myriad_term::binary::HEAP_BINARY_LIMIT;
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Kind, Term};
use std::ops::Range;

/// Bytes that one write may touch beyond the end.
const WORD: usize = 8;

/// Bytes on their way into a heap binary. Bits from `at` to the end of the byte it is in are zero.
pub(super) struct Bytes {
    bytes: [u8; HEAP_BINARY_LIMIT + WORD],
    at: usize,
}

impl Bytes {
    /// None.
    pub(super) fn new() -> Bytes {
        Bytes { bytes: [0; HEAP_BINARY_LIMIT + WORD], at: 0 }
    }

    /// The first `bits` bits, fewer than eight, are those of a byte.
    pub(super) fn begin_in(&mut self, byte: u8, bits: usize) {
        self.bytes[0] = byte & !(0xff >> bits);
        self.at = bits;
    }

    /// How many bits there are.
    pub(super) fn bits(&self) -> usize {
        self.at
    }

    /// How many bytes hold them.
    pub(super) fn len(&self) -> usize {
        self.at.div_ceil(8)
    }

    /// Copies them to where there is room for them, and perhaps for more.
    ///
    /// # Safety
    /// There is room for `room` bytes, no fewer than hold them, and nobody else reads or writes there.
    pub(super) unsafe fn copy_to(&self, to: *mut u8, room: usize) {
        debug_assert!(self.len() <= room);
        // SAFETY: the caller's promise; the buffer is longer than a word.
        unsafe {
            if self.len() <= WORD && room >= WORD {
                // One instruction, of a size that is known.
                std::ptr::copy_nonoverlapping(self.bytes.as_ptr(), to, WORD);
            } else {
                std::ptr::copy_nonoverlapping(self.bytes.as_ptr(), to, self.len());
            }
        }
    }

    /// Adds the low `n` bits of a number.
    #[inline(always)]
    fn number(&mut self, n: usize, value: u64) -> Option<()> {
        if n == 0 {
            return Some(());
        }
        let skip = self.at % 8;
        if n + skip > 64 {
            return None;
        }
        let place = self.bytes.get_mut(self.at / 8..)?.first_chunk_mut::<WORD>()?;
        let before = u64::from(place[0]) << 56;
        *place = (before | value << (64 - n) >> skip).to_be_bytes();
        self.at += n;
        (self.at <= 8 * HEAP_BINARY_LIMIT).then_some(())
    }

    /// Adds whole bytes.
    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        if !self.at.is_multiple_of(8) {
            return None;
        }
        let from = self.at / 8;
        let to = from + bytes.len();
        if to > HEAP_BINARY_LIMIT {
            return None;
        }
        self.bytes[from..to].copy_from_slice(bytes);
        // What a number before has cleared stays clear.
        self.bytes[to] = 0;
        self.at = 8 * to;
        Some(())
    }

    fn char(&mut self, kind: u32, flags: u32, c: char) -> Option<()> {
        match kind {
            segment::UTF8 => {
                let mut buffer = [0; 4];
                let bits = 8 * c.encode_utf8(&mut buffer).len();
                self.number(bits, u64::from(u32::from_be_bytes(buffer)) >> (32 - bits))
            }
            segment::UTF16 => c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| {
                let unit = if bits::is_little(flags) { unit.swap_bytes() } else { *unit };
                self.number(16, unit.into())
            }),
            _ => {
                let c = if bits::is_little(flags) { u32::from(c).swap_bytes() } else { u32::from(c) };
                self.number(32, c.into())
            }
        }
    }
}

/// The bit string of the `n` segments that `segment` gives, if it is a small one.
///
/// # Safety
/// They are segments of the instruction at hand.
#[inline(always)]
pub(super) unsafe fn create(m: &mut Machine<'_, '_>, n: usize, segment: impl Fn(usize) -> Segment) -> Option<Term> {
    let mut to = Bytes::new();
    // SAFETY: the caller's promise.
    unsafe { fill(m, &mut to, 0..n, segment)? };
    let words = to.at.div_ceil(64);
    let at = m.heap().alloc(2 + words).as_ptr();
    // SAFETY: fresh words, as many as were asked for (term/A2); the buffer has whole words.
    unsafe {
        *at = Header::new(Kind::HeapBinary, 1 + words).raw();
        *at.add(1) = to.at as u64;
        std::ptr::copy_nonoverlapping(to.bytes.as_ptr(), at.add(2).cast(), 8 * words);
        Some(Term::from_boxed(at))
    }
}

/// Adds segments, if all are of usual types and sizes and there is room for them.
///
/// # Safety
/// They are segments of the instruction at hand.
#[inline(always)]
pub(super) unsafe fn fill(
    m: &Machine<'_, '_>,
    to: &mut Bytes,
    segments: Range<usize>,
    segment: impl Fn(usize) -> Segment,
) -> Option<()> {
    for i in segments {
        let s = segment(i);
        // SAFETY: the caller promises that the segments are of the instruction at hand.
        unsafe {
            match s.kind {
                segment::INTEGER => {
                    let value = s.value(m).as_small()? as u64;
                    let n = size_in_bits(s.size(m), s.unit).ok().filter(|n| *n <= 64)?;
                    to.number(n, if n > 8 && bits::is_little(s.flags) { bits::to_little(value, n) } else { value })?;
                }
                segment::STRING => to.bytes(s.string())?,
                segment::UTF8 | segment::UTF16 | segment::UTF32 => to.char(s.kind, s.flags, code_point(s.value(m))?)?,
                segment::BINARY if s.size(m).is_am(myriad_term::am::all) => {
                    to.bytes(s.value(m).as_aligned_bytes().filter(|_| s.unit == 8)?)?;
                }
                _ => return None,
            }
        }
    }
    Some(())
}
