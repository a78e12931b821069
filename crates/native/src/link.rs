//! Puts code into code memory, and finds it again from any address in it.
//!
//! ```text
//!    a piece:   [token | bytes of code | number of sources]  [code ... 0..3 bytes]  [offset | source] ...
//!               16 bytes, on a multiple of 16                 entered by others      in the order of offsets
//! ```
//!
//! K1. What stands before and behind the code is written before the piece's start is noted in [`Starts`], and does not change while it is noted.
//!
//! So whoever finds the start of a piece at or below an address finds all that is to be known about it there: nothing is allocated, copied or locked,
//! and a signal handler may look as well. Who looks up an address sees to it that its code is not freed meanwhile; the address at
//! which its own thread executes is such a one, and so is every address in a frame of a process that it may read.

use myriad_sync::Starts;

use crate::code::Code;
use crate::form::{Point, Symbol};
use crate::memory::{CodeMemory, GRANULE, Mode, NoMemory, Piece};

/// Bytes before the code.
const HEADER: usize = 16;

/// Code in memory.
#[derive(Debug)]
pub struct CodeSpace {
    memory: CodeMemory,
    starts: Starts,
}

/// A function that can be entered.
#[derive(Debug)]
#[must_use]
pub struct Linked {
    /// The address of its entry.
    pub entry: usize,
    /// The addresses of its points.
    pub points: Vec<(Point, usize)>,
    piece: Piece,
}

impl Linked {
    /// The addresses of its code.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        self.piece.address..self.piece.address + self.piece.bytes
    }
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the function was linked with.
    pub token: u64,
    /// The number of the instruction, if code at the address has one.
    pub source: Option<u32>,
    /// How many bytes the address is behind the start of the code.
    pub offset: u32,
}

impl CodeSpace {
    /// Reserves address space for code.
    pub fn new(bytes: usize, mode: Mode) -> Result<Self, NoMemory> {
        let memory = CodeMemory::new(bytes, mode)?;
        let starts = Starts::new(memory.addresses().len() / GRANULE);
        Ok(Self { memory, starts })
    }

    /// The memory, for what is to be reported of it.
    pub fn memory(&self) -> &CodeMemory {
        &self.memory
    }

    /// Copies code to where it may be executed. `resolve` says what symbols stand for; the token is what [`CodeSpace::find`] gives.
    pub fn link(&self, code: &Code, token: u64, mut resolve: impl FnMut(Symbol) -> u64) -> Result<Linked, NoMemory> {
        let length = code.bytes.len();
        let table = HEADER + length.next_multiple_of(4);
        let mut draft = self.memory.allocate(table + 8 * code.sources.len(), code.align.max(HEADER))?;
        let start = draft.address();
        let bytes = draft.bytes_mut();
        bytes[..8].copy_from_slice(&token.to_le_bytes());
        bytes[8..12].copy_from_slice(&(length as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&(code.sources.len() as u32).to_le_bytes());
        bytes[HEADER..HEADER + length].copy_from_slice(&code.bytes);
        bytes[HEADER + length..table].fill(0);
        for relocation in &code.relocations {
            let word = resolve(relocation.symbol).wrapping_add_signed(relocation.addend);
            let at = HEADER + relocation.offset as usize;
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        for (row, (offset, source)) in bytes[table..].chunks_exact_mut(8).zip(&code.sources) {
            row[..4].copy_from_slice(&offset.to_le_bytes());
            row[4..].copy_from_slice(&source.to_le_bytes());
        }
        let piece = draft.publish()?;
        self.starts.note((start - self.memory.addresses().start) / GRANULE);
        let at = |offset: u32| start + HEADER + offset as usize;
        Ok(Linked {
            entry: at(code.entry),
            points: code.points.iter().map(|(point, offset)| (*point, at(*offset))).collect(),
            piece,
        })
    }

    /// Takes the memory of a function back.
    ///
    /// # Safety
    /// It is of this space, and no thread executes it, will enter it, or looks up an address of it any more.
    pub unsafe fn free(&self, linked: Linked) {
        self.starts.forget((linked.piece.address - self.memory.addresses().start) / GRANULE);
        // SAFETY: the caller's promise.
        unsafe { self.memory.free(linked.piece) };
    }

    /// The function and the instruction at an address; also from a signal handler.
    pub fn find(&self, address: usize) -> Option<Found> {
        let addresses = self.memory.addresses();
        if !addresses.contains(&address) {
            return None;
        }
        let start = addresses.start + GRANULE * self.starts.at_or_below((address - addresses.start) / GRANULE)?;
        // SAFETY: K1: a piece begins there, and its header is written. The caller sees to it that it stays.
        let (token, length, count) = unsafe {
            let header = start as *const u32;
            (start as *const u64, header.add(2).read(), header.add(3).read())
        };
        // SAFETY: as above.
        let token = unsafe { token.read() };
        let offset = u32::try_from(address.checked_sub(start + HEADER)?).ok().filter(|offset| *offset < length)?;
        let table = (start + HEADER + (length as usize).next_multiple_of(4)) as *const [u32; 2];
        // SAFETY: K1: that many rows stand behind the code.
        let rows = unsafe { std::slice::from_raw_parts(table, count as usize) };
        let row = rows.partition_point(|[from, _]| *from <= offset).checked_sub(1);
        Some(Found { token, source: row.map(|row| rows[row][1]), offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Figures, Relocation};

    fn code(length: usize, sources: &[(u32, u32)]) -> Code {
        Code {
            bytes: vec![0xcc; length],
            align: 16,
            relocations: vec![Relocation { offset: 2, symbol: Symbol(5), addend: -1 }],
            entry: 1,
            points: vec![(Point(9), 12)],
            sources: sources.to_vec(),
            declined: None,
            figures: Figures::default(),
        }
    }

    #[test]
    fn symbols_are_put_in_and_addresses_are_found() {
        for mode in [Mode::Double, Mode::Single] {
            let space = CodeSpace::new(1 << 20, mode).expect("space");
            let first = space
                .link(&code(101, &[(4, 70), (50, 71)]), 1, |Symbol(number)| u64::from(number) * 100)
                .expect("linked");
            let second = space.link(&code(10, &[]), 2, |_| 0).expect("linked");
            let start = first.entry - 1;
            assert_eq!(first.points, [(Point(9), start + 12)]);
            assert_eq!(start % 16, 0);
            // SAFETY: it is there.
            assert_eq!(unsafe { ((start + 2) as *const u64).read_unaligned() }, 499);
            let find = |address| space.find(address).map(|found| (found.token, found.source, found.offset));
            assert_eq!(find(start), Some((1, None, 0)));
            assert_eq!(find(start + 49), Some((1, Some(70), 49)));
            assert_eq!(find(start + 100), Some((1, Some(71), 100)));
            assert_eq!(find(start + 101), None);
            assert_eq!(find(start - 1), None);
            assert_eq!(find(second.entry), Some((2, None, 1)));
            assert_eq!(find(space.memory().addresses().end - 1), None);
            assert_eq!(find(8), None);
            // SAFETY: nobody enters or looks up either.
            unsafe { space.free(first) };
            assert_eq!(find(start), None);
            assert_eq!(find(second.entry), Some((2, None, 1)));
            // SAFETY: as above.
            unsafe { space.free(second) };
            assert_eq!(space.memory().usage().used, 0);
        }
    }
}
