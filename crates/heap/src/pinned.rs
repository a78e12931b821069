//! Objects of the one heap that stay where they are in a collection, though they are young ([`crate::shared`]).
//!
//! A built-in that has given way, or runs on a dirty scheduler, holds terms in places that nobody lists. What its process refers to stays in place until it is over. Other
//! processes that refer to the same get copies, once for each object: whoever makes one has the lock of the copies' counted objects.

use crate::fragment::Chunk;
use crate::literal::is_literal;
use crate::one_heap::is_old;
use crate::segment::Segments;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Boxed, Kind, OffHeap, Term, copy};
use std::collections::HashMap;
use std::ptr::{self, NonNull};

static COPIES_CLASS: LockClass = LockClass::new("pinned_copies", 32);

/// The objects, and the copies that others have got.
pub(crate) struct Pinned {
    /// The word of the copy of each; 0: there is none.
    copies: HashMap<usize, AtomicU64>,
    in_order: Vec<usize>,
    /// Words that all copies would have.
    words: usize,
    /// Counted objects among the copies.
    counted: Mutex<Counted>,
}

struct Counted(OffHeap);

// SAFETY: the objects are whoever's that has the chain.
unsafe impl Send for Counted {}

impl Default for Pinned {
    fn default() -> Pinned {
        let counted = Mutex::new(&COPIES_CLASS, Counted(OffHeap::new()));
        Pinned { copies: HashMap::new(), in_order: Vec::new(), words: 0, counted }
    }
}

/// Is it copied as a whole, with what it counts? (Such an object refers to a binary at most.)
fn is_made_anew(header: Header) -> bool {
    !header.holds_terms() || matches!(header.kind(), Kind::SubBinary | Kind::MatchContext)
}

fn none(_: *const u64) -> bool {
    false
}

/// An address without the tag of a word that leads there.
fn place(word: usize) -> usize {
    word & !7
}

impl Pinned {
    /// All that a word leads to stays; what leads into the old generation is noted.
    ///
    /// # Safety
    /// It is a word of the heap.
    pub(crate) unsafe fn pin(&mut self, word: u64, into_old: &mut Vec<u64>) {
        let mut left = vec![word];
        while let Some(word) = left.pop() {
            // SAFETY: heap/H2: words of the heap look like terms, and lead to objects.
            unsafe {
                let term = Term::from_raw(word);
                if term.is_immediate() || is_literal(term.object_ptr()) {
                    continue;
                }
                let at = term.object_ptr();
                if is_old(at) {
                    into_old.push(word);
                } else if self.copies.insert(at.addr(), AtomicU64::new(0)).is_none() {
                    if !term.is_boxed() {
                        self.words += 2;
                        left.extend([*at, *at.add(1)]);
                        continue;
                    }
                    debug_assert!(Term::from_raw(*at).is_header(), "H2: {word:#x} leads to no object");
                    let header = Header::from_raw(*at);
                    self.words += if is_made_anew(header) { copy::size(term, none) } else { 1 + header.size() };
                    if !Header::is_raw(*at) {
                        (1..=header.size()).for_each(|i| left.push(*at.add(i)));
                    }
                }
            }
        }
    }

    /// No others come.
    pub(crate) fn are_complete(&mut self) {
        self.in_order = self.copies.keys().copied().collect();
        self.in_order.sort_unstable();
    }

    /// Words that copies of all would have.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Does a word, or an address, lead to one of them?
    #[inline]
    pub(crate) fn holds(&self, word: usize) -> bool {
        !self.copies.is_empty() && self.copies.contains_key(&place(word))
    }

    /// Is one of them there?
    pub(crate) fn any_in(&self, start: *mut u64, words: usize) -> bool {
        let first = self.in_order.partition_point(|at| *at < start.addr());
        self.in_order.get(first).is_some_and(|at| *at < start.wrapping_add(words).addr())
    }

    /// The word that leads to the copy of one of them, whose words are those of the object: they are to be forwarded as others are. `take` gives room for it.
    ///
    /// # Safety
    /// The word leads to one of them; there is room for the copy (heap.copy/C1).
    pub(crate) unsafe fn copy_of(&self, word: u64, take: &mut dyn FnMut(usize) -> *mut u64) -> u64 {
        let Some(copied) = self.copies.get(&place(word as usize)) else { return word };
        let mut counted = self.counted.lock();
        // Relaxed: written under the lock.
        let found = copied.load(Ordering::Relaxed);
        if found != 0 {
            return found;
        }
        // SAFETY: the caller's promise about the word and the room.
        let new = unsafe {
            let term = Term::from_raw(word);
            let at = term.object_ptr();
            if term.is_boxed() && is_made_anew(Header::from_raw(*at)) {
                let mut memory = Old { take, chain: &mut counted.0 };
                copy::copy(term, copy::size(term, none), &mut memory, none).assume_held().raw()
            } else {
                let words = if term.is_boxed() { 1 + Header::from_raw(*at).size() } else { 2 };
                let to = take(words);
                std::ptr::copy_nonoverlapping(at, to, words);
                if term.is_boxed() { Term::from_boxed(to).raw() } else { Term::from_cell(to.cast()).raw() }
            }
        };
        // Relaxed: as above.
        copied.store(new, Ordering::Relaxed);
        new
    }

    /// The counted objects among the copies join a chain.
    pub(crate) fn give_copies(&self, chain: &mut OffHeap) {
        let mut at = std::mem::replace(&mut self.counted.lock().0, OffHeap::new()).first;
        while !at.is_null() {
            // SAFETY: heap/H5: a chain of objects that have just been made.
            unsafe {
                let object = Boxed::at(at);
                let next = object.off_heap_next();
                let words = if object.kind() == Kind::SharedBinary { object.word(0) as usize / 8 } else { 0 };
                chain.link(at, words);
                at = next;
            }
        }
    }

    /// Frees what nothing lives in.
    ///
    /// # Safety
    /// What lives has moved, but for what is pinned.
    pub(crate) unsafe fn free(&self, segments: &mut Segments) {
        // SAFETY: the caller's promise.
        unsafe {
            for segment in std::mem::take(&mut segments.blocks) {
                if self.any_in(segment.start, segment.words) {
                    segments.blocks.push(segment);
                } else {
                    segment.give();
                }
            }
            for chunk in std::mem::take(&mut segments.chunks) {
                if self.any_in(Chunk::start(chunk), Chunk::used(chunk)) {
                    segments.chunks.push(chunk);
                } else {
                    Chunk::give_all(chunk);
                }
            }
            let blocks = segments.blocks.iter().map(|segment| segment.words).sum::<usize>();
            let chunks = segments.chunks.iter().map(|chunk| Chunk::used(*chunk)).sum::<usize>();
            segments.words = segments.words.min(blocks + chunks);
        }
    }

    /// Of the objects of a chain those that have moved are the old generation's and join `swept`, those that stay remain, and the others give their counts back, unless
    /// all stay.
    ///
    /// # Safety
    /// As for [`Pinned::free`]; what has moved still stands.
    pub(crate) unsafe fn sweep(&self, chain: &mut OffHeap, all_stay: bool, swept: &mut Swept) {
        let mut at = std::mem::replace(chain, OffHeap::new()).first;
        while !at.is_null() {
            // SAFETY: heap/H5: the chain leads to counted objects, or to where they were.
            unsafe {
                let word = Term::from_raw(*at);
                let object = Boxed::at(if word.is_boxed() { word.boxed_ptr() } else { at });
                debug_assert!(object.header().is_off_heap(), "H5: {:?} in a chain counts nothing", object.kind());
                let next = object.off_heap_next();
                let weight = if object.kind() == Kind::SharedBinary { object.word(0) as usize / 8 } else { 0 };
                if word.is_boxed() {
                    swept.link(object.ptr(), weight);
                } else if all_stay || self.holds(at.addr()) {
                    chain.link(at, weight);
                } else {
                    object.release_off_heap();
                }
                at = next;
            }
        }
    }
}

/// Counted objects that have become old, in a chain of their own.
pub(crate) struct Swept {
    first: *mut u64,
    last: *mut u64,
    words: usize,
}

// SAFETY: the objects are whoever's that has the chain.
unsafe impl Send for Swept {}

impl Default for Swept {
    fn default() -> Swept {
        Swept { first: ptr::null_mut(), last: ptr::null_mut(), words: 0 }
    }
}

impl Swept {
    /// # Safety
    /// As for [`OffHeap::link`].
    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise.
        unsafe { Boxed::at(header).set_off_heap_next(self.first) };
        if self.first.is_null() {
            self.last = header;
        }
        self.first = header;
        self.words += words;
    }

    /// They stand before those of another chain.
    pub(crate) fn before(self, mut chain: OffHeap) -> OffHeap {
        if !self.first.is_null() {
            // SAFETY: heap/H5: a counted object, the last of a chain.
            unsafe { Boxed::at(self.last).set_off_heap_next(chain.first) };
            chain.first = self.first;
            chain.binary_words += self.words;
        }
        chain
    }
}

/// The old generation, as memory for copies.
struct Old<'o> {
    take: &'o mut dyn FnMut(usize) -> *mut u64,
    chain: &'o mut OffHeap,
}

impl<'h> Alloc<'h> for Old<'_> {
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        // SAFETY: heap.copy/C1: there is room.
        unsafe { NonNull::new_unchecked((self.take)(words)) }
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.chain.link(header, words) };
    }
}
