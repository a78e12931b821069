//! The compact form of an element of a packed row: the words of its copy, each in as few bytes as it needs.
//!
//! A copy lies in one stretch of words and points only into itself ([`myriad_term::copy`]), so nothing has to be known of
//! terms: a word becomes a byte of a tag and a small value, or of a tag and a number of bytes that follow; a pointer becomes
//! the distance to what it leads to, which is most often small; the raw words of binaries and big integers become the bytes
//! that count. Objects off the heap keep their place in the row as they are, and the packed form says where.
//!
//! PK1. [`unpack`] gives back, word by word, what [`pack`] has read, with pointers into the new place.

use super::one_more;
use myriad_term::boxed::{Boxed, Header};
use myriad_term::{Alloc, Kind, Term, TermRef};

/// What the low three bits of a first byte say of the word; the five above are a value, or how many bytes of it follow.
mod code {
    /// A small integer: zigzag.
    pub const SMALL: u8 = 0;
    /// A pointer to an object: distance in words.
    pub const BOXED: u8 = 1;
    /// A pointer to a cell: distance in words.
    pub const LIST: u8 = 2;
    /// A float: its word turned so that short ones are small.
    pub const FLOAT: u8 = 3;
    /// An atom: its index.
    pub const ATOM: u8 = 4;
    /// Another immediate.
    pub const OTHER: u8 = 5;
    /// A header of an object of terms.
    pub const HEADER: u8 = 6;
    /// Not one word: the value says what.
    pub const SPECIAL: u8 = 7;
}

/// Values of [`code::SPECIAL`].
mod special {
    /// A heap binary: number of bits, then the bytes.
    pub const BINARY: u64 = 0;
    /// Another raw object: header, then its words.
    pub const RAW: u64 = 1;
    /// An object off the heap: its place in the row, in words.
    pub const KEPT: u64 = 2;
    /// Cells of one byte each, one behind the other: their number, then the bytes.
    pub const TEXT: u64 = 3;
}

/// Values below stand in the first byte itself.
const NEAR: u64 = 24;
/// How far a float's word is turned: its few bits of sign and exponent come to the low end, where the mantissa ends.
const FLOAT_TURN: u32 = 16;
/// Most cells of one stretch of text.
const LONGEST_TEXT: usize = 1 << 16;

fn put(bytes: &mut Vec<u8>, code: u8, value: u64) {
    if value < NEAR {
        bytes.push(code | (value as u8) << 3);
        return;
    }
    let count = (64 - value.leading_zeros()).div_ceil(8) as usize;
    debug_assert!((1..=8).contains(&count) && code < 8);
    bytes.push(code | (NEAR as u8 - 1 + count as u8) << 3);
    bytes.extend_from_slice(&value.to_le_bytes()[..count]);
}

/// Appends the packed form of the words of a copy, the first of which lies at `start`. Objects off the heap are moved to
/// `kept`, which will lie `base` words behind the row's beginning.
///
/// # Safety
/// `start` points at `words` words that a copy has filled, which nothing else uses; its objects off the heap are dead
/// afterwards.
pub unsafe fn pack(
    root: TermRef<'_>,
    start: *const u64,
    words: usize,
    base: usize,
    kept: &mut Vec<u64>,
    bytes: &mut Vec<u8>,
) {
    // SAFETY: the caller's promise, for each `i` below `words`.
    let word = |i: usize| unsafe { *start.add(i) };
    let address = |i: usize| start as u64 + i as u64 * 8;
    put(bytes, if root.is_cons() { code::LIST } else { code::BOXED }, words as u64);
    let mut i = 0;
    while i < words {
        let w = word(i);
        if Header::is_raw(w) {
            let header = Header::from_raw(w);
            let end = i + 1 + header.size();
            if header.is_off_heap() {
                put(bytes, code::SPECIAL, special::KEPT);
                put(bytes, code::SMALL, (base + kept.len()) as u64);
                kept.extend((i..end).map(word));
            } else if header.kind() == Kind::HeapBinary && header.size() == 1 + word(i + 1).div_ceil(64) as usize {
                put(bytes, code::SPECIAL, special::BINARY);
                put(bytes, code::SMALL, word(i + 1));
                let from = bytes.len();
                bytes.extend((i + 2..end).flat_map(|at| word(at).to_ne_bytes()));
                bytes.truncate(from + word(i + 1).div_ceil(8) as usize);
            } else {
                put(bytes, code::SPECIAL, special::RAW);
                put(bytes, code::SMALL, w >> 3);
                bytes.extend((i + 1..end).flat_map(|at| word(at).to_le_bytes()));
            }
            i = end;
            continue;
        }
        // A cell of a byte whose tail is the next one: two such words at least make a text.
        let is_letter = |i: usize| {
            // SAFETY: the words of a copy are terms here.
            let (head, tail) = unsafe { (Term::from_raw(word(i)), Term::from_raw(word(i + 1))) };
            head.as_small().is_some_and(|v| (0..256).contains(&v))
                && tail.is_cons()
                && tail.object_ptr() as u64 == address(i + 2)
        };
        let mut letters = 0;
        while letters < LONGEST_TEXT && i + 2 * letters + 1 < words && is_letter(i + 2 * letters) {
            letters += 1;
        }
        if letters >= 2 {
            put(bytes, code::SPECIAL, special::TEXT);
            put(bytes, code::SMALL, letters as u64);
            bytes.extend((0..letters).map(|n| (word(i + 2 * n) >> 3) as u8));
            i += 2 * letters;
            continue;
        }
        // SAFETY: as above; headers of objects of terms are told by their tag.
        let term = unsafe { Term::from_raw(w) };
        if let Some(value) = term.as_small() {
            put(bytes, code::SMALL, (value << 1 ^ value >> 63) as u64);
        } else if term.is_cons() || term.is_boxed() {
            let code = if term.is_cons() { code::LIST } else { code::BOXED };
            put(bytes, code, (term.object_ptr() as u64).wrapping_sub(address(i)) / 8);
        } else if term.is_immediate_float() {
            put(bytes, code::FLOAT, w.rotate_left(FLOAT_TURN));
        } else if let Some(atom) = term.as_atom() {
            put(bytes, code::ATOM, atom.index().into());
        } else {
            let code = if term.is_header() { code::HEADER } else { code::OTHER };
            put(bytes, code, w >> 3);
        }
        i += 1;
    }
    debug_assert_eq!(i, words, "PK1: the last object ends where the copy does");
}

/// Reads what [`put`] wrote.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// A code and its value.
    #[inline]
    fn next(&mut self) -> Option<(u8, u64)> {
        let (first, rest) = self.0.split_first()?;
        let value = u64::from(first >> 3);
        self.0 = rest;
        if value < NEAR {
            return Some((first & 7, value));
        }
        let count = (value + 1 - NEAR) as usize;
        debug_assert!((1..=8).contains(&count));
        let value = if let Some(eight) = rest.first_chunk::<8>() {
            u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * count)
        } else {
            rest.get(..count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        self.0 = rest.get(count..)?;
        Some((first & 7, value))
    }

    fn value(&mut self) -> Option<u64> {
        self.next().map(|(_, value)| value)
    }

    fn bytes(&mut self, count: usize) -> Option<&[u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }
}

/// Where unpacked words go.
struct Place<'p, A: ?Sized> {
    start: *mut u64,
    words: usize,
    filled: usize,
    heap: &'p mut A,
}

impl<'h, A: Alloc<'h> + ?Sized> Place<'_, A> {
    #[inline]
    fn push(&mut self, word: u64) -> Option<()> {
        if self.filled == self.words {
            return None;
        }
        // SAFETY: there is room for `words` words.
        unsafe { *self.start.add(self.filled) = word };
        self.filled += 1;
        Some(())
    }

    /// Room for `words` words.
    fn room(&mut self, words: usize) -> Option<*mut u64> {
        debug_assert!(self.filled <= self.words);
        if words > self.words - self.filled {
            return None;
        }
        // SAFETY: there is room for `words` words more, as has just been looked at.
        let at = unsafe { self.start.add(self.filled) };
        self.filled += words;
        Some(at)
    }

    /// The word `words` behind the one that comes next.
    #[inline]
    fn ahead(&self, words: u64) -> *mut u64 {
        self.start.wrapping_add(self.filled.wrapping_add(words as usize))
    }

    /// The object that will begin there.
    #[inline]
    fn boxed_ahead(&self, words: u64) -> Term {
        // SAFETY: PK1: it is made before the term is used.
        unsafe { Term::from_boxed(self.ahead(words)) }
    }

    /// The cell that will be there.
    #[inline]
    fn cell_ahead(&self, words: u64) -> Term {
        // SAFETY: PK1: the cell is made before the term is used.
        unsafe { Term::from_cell(self.ahead(words).cast()) }
    }

    /// Takes one thing from the reader.
    #[inline]
    fn take(&mut self, from: &mut Reader<'_>, row: *const u64) -> Option<()> {
        let (code, value) = from.next()?;
        let word = match code {
            code::SMALL => ((value >> 1 ^ (value & 1).wrapping_neg()) as i64 as u64) << 3,
            code::BOXED => self.boxed_ahead(value).raw(),
            code::LIST => self.cell_ahead(value).raw(),
            code::FLOAT => value.rotate_right(FLOAT_TURN),
            code::ATOM => myriad_term::Atom::from_index(value as u32).term().raw(),
            code::OTHER => value << 3 | Term::NIL.raw() & 7,
            code::HEADER => value << 3 | Header::new(Kind::Tuple, 0).raw() & 7,
            _ => return self.take_special(value, from, row),
        };
        self.push(word)
    }

    fn take_special(&mut self, what: u64, from: &mut Reader<'_>, row: *const u64) -> Option<()> {
        let value = from.value()?;
        match what {
            special::BINARY => {
                let (words, count) = (1 + value.div_ceil(64) as usize, value.div_ceil(8) as usize);
                let bytes = from.bytes(count)?;
                let at = self.room(1 + words)?;
                // SAFETY: room for header, size and the bytes, the last word zeroed before.
                unsafe {
                    *at = Header::new(Kind::HeapBinary, words).raw();
                    *at.add(words) = 0;
                    *at.add(1) = value;
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(2).cast(), count);
                }
            }
            special::RAW => {
                let header = value << 3 | Header::new(Kind::Tuple, 0).raw() & 7;
                let bytes = from.bytes(Header::from_raw(header).size().checked_mul(8)?)?;
                self.push(header)?;
                for word in bytes.as_chunks::<8>().0 {
                    self.push(u64::from_le_bytes(*word))?;
                }
            }
            special::KEPT => {
                // SAFETY: the place of an object off the heap in the row (PK1), which is copied as a row's are.
                unsafe {
                    let object = row.add(value as usize);
                    debug_assert!(Header::from_raw(*object).is_off_heap(), "PK1: the place is that of a kept object");
                    let words = 1 + Header::from_raw(*object).size();
                    let at = self.room(words)?;
                    std::ptr::copy_nonoverlapping(object, at, words);
                    one_more(at, self.heap);
                }
            }
            _ => {
                for letter in from.bytes(value as usize)? {
                    let next = self.cell_ahead(2);
                    self.push(u64::from(*letter) << 3)?;
                    self.push(next.raw())?;
                }
            }
        }
        Some(())
    }
}

/// Makes the term again in `heap`.
///
/// # Safety
/// `bytes` begins with what [`pack`] wrote for the row whose words begin at `row`.
pub unsafe fn unpack<'h, A: Alloc<'h> + ?Sized>(bytes: &[u8], row: *const u64, heap: &mut A) -> TermRef<'h> {
    let mut from = Reader(bytes);
    let Some((root, words)) = from.next() else { return Term::NIL };
    let words = words as usize;
    let start = heap.alloc(words).as_ptr();
    let mut place = Place { start, words, filled: 0, heap };
    while place.filled < words {
        if place.take(&mut from, row).is_none() {
            debug_assert!(false, "PK1");
            while place.push(Term::NIL.raw()).is_some() {}
        }
    }
    // SAFETY: the root is the first object of a copy.
    unsafe { if root == code::LIST { Term::from_cell(start.cast()) } else { Boxed::at(start).term() } }
}
