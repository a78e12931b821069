//! Code memory: address space reserved at the start, of which pieces are handed out, written, published, and taken back.
//!
//! W1. No mapping may be written and executed at once, at any time.
//! W2. A piece is written only before it is published; then it stays as it is until it is freed.
//! W3. Memory that has held published code is written again only where all threads of the process can be made to forget the old instructions.
//!
//! [`Mode::Double`]: one file without a name is mapped twice, for writing and for executing. [`Mode::Single`], for systems that allow no such file: one mapping,
//! whose pages are made executable once they have been written and are never writable again; each piece has pages of its own, and freed ones
//! are given back to the system, not used again.
//!
//! On x86 a processor sees what another one has written, but may already have fetched old instructions (Intel's manual, volume 3, 9.1.3: cross-modifying
//! code needs a serialising instruction). Pieces are entered by an address that is stored after them, so no processor has fetched
//! from memory that is new. For memory used again (W3) `membarrier` serialises all threads of the process before the piece is published. Where the system
//! does not know that command, freed memory stays unused.

mod allocator;
mod system;

use std::ops::Range;

use myriad_sync::{LockClass, Mutex};

use allocator::Allocator;
pub use allocator::GRANULE;
use system::Mapping;
pub use system::largest_file;

/// Innermost but for what the system does.
static CODE_MEMORY: LockClass = LockClass::new("code_memory", 740);

/// How writing and executing are kept apart (W1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By two mappings of the same memory.
    Double,
    /// By changing the rights of pages, once.
    Single,
}

/// Why there is no memory for code. Functions stay in tier 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoMemory {
    /// The system refused something: its error number.
    System(i32),
    /// The region is full, or too small for the request.
    Full,
}

impl std::fmt::Display for NoMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::System(number) => write!(f, "{}", std::io::Error::from_raw_os_error(*number)),
            Self::Full => f.write_str("the region for code is full"),
        }
    }
}

impl std::error::Error for NoMemory {}

/// Bytes of a [`CodeMemory`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Reserved address space.
    pub reserved: usize,
    /// In pieces, rounded up to what they take.
    pub used: usize,
    /// Once used, and free now.
    pub free: usize,
}

/// A region for code.
#[derive(Debug)]
pub struct CodeMemory {
    mapping: Mapping,
    state: Mutex<Allocator>,
    /// W3: can all threads be made to forget?
    forgets: bool,
}

/// A piece that is published: an address range that is executable. It has to be given back by [`CodeMemory::free`]; otherwise it stays for good.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Piece {
    /// The first byte.
    pub address: usize,
    /// How many bytes were asked for.
    pub bytes: usize,
}

/// A piece that is being written. Dropped, it is free again.
#[derive(Debug)]
pub struct Draft<'m> {
    memory: &'m CodeMemory,
    /// Offsets in the region. Empty once it is published.
    range: Range<usize>,
    bytes: usize,
    /// Parts of it have been used before.
    used_before: bool,
}

impl CodeMemory {
    /// Reserves `bytes` (rounded up to pages) of address space. No memory is taken yet.
    pub fn new(bytes: usize, mode: Mode) -> Result<Self, NoMemory> {
        let bytes = bytes.checked_next_multiple_of(system::PAGE).filter(|bytes| *bytes > 0).ok_or(NoMemory::Full)?;
        let mapping = Mapping::new(bytes, mode)?;
        let granule = match mode {
            Mode::Double => GRANULE,
            Mode::Single => system::PAGE,
        };
        let state = Mutex::new(&CODE_MEMORY, Allocator::new(bytes, granule));
        // W2, W3: in single mode pages are never written again.
        let forgets = mode == Mode::Double && system::register_for_serialising();
        Ok(Self { mapping, state, forgets })
    }

    /// The addresses at which code can be.
    pub fn addresses(&self) -> Range<usize> {
        self.mapping.execute..self.mapping.execute + self.mapping.bytes
    }

    /// A piece of `bytes`, whose address is a multiple of `align`, a power of two.
    pub fn allocate(&self, bytes: usize, align: usize) -> Result<Draft<'_>, NoMemory> {
        let (range, used_before) = self.state.lock().allocate(bytes, align).ok_or(NoMemory::Full)?;
        let draft = Draft { memory: self, range, bytes, used_before };
        self.mapping.prepare(&draft.range)?;
        Ok(draft)
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// It is of this memory, and no thread executes it or will enter it any more.
    pub unsafe fn free(&self, piece: Piece) {
        let start = piece.address - self.mapping.execute;
        let range = start..start + piece.bytes;
        let mut state = self.state.lock();
        // With the lock: the range is nobody else's yet.
        let range = state.whole(range);
        self.mapping.discard(&range);
        state.free(range, self.forgets);
    }

    /// How much is in use.
    pub fn usage(&self) -> Usage {
        let state = self.state.lock();
        Usage { reserved: self.mapping.bytes, used: state.used(), free: state.free_again() }
    }
}

impl Draft<'_> {
    /// Where it will be executed.
    pub fn address(&self) -> usize {
        self.memory.mapping.execute + self.range.start
    }

    /// What is written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let start = (self.memory.mapping.write + self.range.start) as *mut u8;
        // SAFETY: `Mapping::prepare` has made the range writable; the allocator has given it to nobody else; it has been
        // zero, or bytes of an earlier piece, so it is initialised.
        unsafe { std::slice::from_raw_parts_mut(start, self.bytes) }
    }

    /// Ends the writing: from now on the piece may be entered, by whoever has learnt its address from this call.
    pub fn publish(mut self) -> Result<Piece, NoMemory> {
        self.memory.mapping.finish(&self.range)?;
        if self.used_before {
            // W3. Only memory that can be forgotten is handed out again.
            system::serialise_all_threads()?;
        }
        let piece = Piece { address: self.address(), bytes: self.bytes };
        self.range = 0..0;
        Ok(piece)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.range.is_empty() {
            let range = self.range.clone();
            // Nobody has executed it. In single mode its pages may be executable already, and stay away (W2).
            let again = matches!(self.memory.mapping.mode, Mode::Double);
            self.memory.mapping.discard(&range);
            let mut state = self.memory.state.lock();
            state.free(range, again && (self.memory.forgets || !self.used_before));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mov eax, number; ret`
    fn write(draft: &mut Draft<'_>, number: u8) {
        let code = [0xb8, number, 0, 0, 0, 0xc3];
        draft.bytes_mut()[..6].copy_from_slice(&code);
    }

    fn run(piece: &Piece) -> u64 {
        // SAFETY: the test has written a function that takes nothing and gives a word.
        let function = unsafe { std::mem::transmute::<usize, extern "C" fn() -> u64>(piece.address) };
        function()
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn code_runs_in_both_modes_and_memory_is_used_again_in_one() {
        for mode in [Mode::Double, Mode::Single] {
            let memory = CodeMemory::new(1 << 20, mode).expect("memory for code");
            let mut first = memory.allocate(6, 16).expect("a piece");
            write(&mut first, 7);
            let first = first.publish().expect("published");
            assert_eq!(run(&first), 7);
            let address = first.address;
            // SAFETY: it has returned, and nobody else knows it.
            unsafe { memory.free(first) };
            let mut second = memory.allocate(6, 16).expect("a piece");
            write(&mut second, 8);
            let second = second.publish().expect("published");
            assert_eq!(run(&second), 8);
            assert_eq!(second.address == address, mode == Mode::Double && memory.forgets);
        }
    }

    /// The rights of the mapping at an address, as the system says.
    fn rights(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let holds = |line: &&str| {
            let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
            let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).expect("an address"));
            (start..end).contains(&address)
        };
        let line = maps.lines().find(holds).expect("a mapping");
        line.split(' ').nth(1).expect("rights").to_owned()
    }

    #[test]
    fn nothing_is_writable_and_executable() {
        for mode in [Mode::Double, Mode::Single] {
            let memory = CodeMemory::new(1 << 20, mode).expect("memory for code");
            let mut draft = memory.allocate(100, 16).expect("a piece");
            draft.bytes_mut().fill(0xcc);
            let written = draft.bytes_mut().as_ptr() as usize;
            assert!(rights(written).starts_with("rw-"));
            let piece = draft.publish().expect("published");
            assert!(rights(piece.address).starts_with("r-x"));
            assert_eq!(&rights(written)[..3], if mode == Mode::Double { "rw-" } else { "r-x" });
        }
    }

    #[test]
    fn a_full_region_and_a_draft_that_is_dropped() {
        let memory = CodeMemory::new(1 << 16, Mode::Double).expect("memory for code");
        assert_eq!(memory.allocate(1 << 17, 16).map(|_| ()), Err(NoMemory::Full));
        let draft = memory.allocate(1 << 16, 16).expect("all of it");
        assert_eq!(memory.allocate(1, 16).map(|_| ()), Err(NoMemory::Full));
        drop(draft);
        let draft = memory.allocate(1 << 16, 16).expect("all of it again");
        assert_eq!(memory.usage(), Usage { reserved: 1 << 16, used: 1 << 16, free: 0 });
        drop(draft);
        assert_eq!(memory.usage().used, 0);
    }
}
