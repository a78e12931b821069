//! Objects moved as a whole: a young generation to a block of another size, a small fragment to the block.
//!
//! A generation, right after a collection: there are no fragments, and nothing in the old generation points to the young one (heap/H4), so
//! only the young objects, the stack and the roots are looked at. Each pointer into the young generation moves by the
//! same distance.

use crate::account::Class;
use crate::block::{self, Move};
use crate::heap::Heap;
use crate::phases::{self, Phase};
use crate::roots::Roots;
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Term};
use std::ptr;

/// The move: words of one range, by one distance.
#[derive(Clone, Copy)]
struct Shift {
    base: usize,
    len: usize,
    distance: usize,
}

impl Shift {
    /// `words` words at `from` move to `to`.
    #[inline(always)]
    fn new(from: *mut u64, words: usize, to: *mut u64) -> Shift {
        // Exposed: the words that are moved hold addresses of both places.
        let (base, target) = (from.expose_provenance(), to.expose_provenance());
        let distance = target.wrapping_sub(base);
        debug_assert!(
            distance.is_multiple_of(8),
            "words that move by {distance} bytes would change the tags of pointers"
        );
        Shift { base, len: words * 8, distance }
    }

    /// Does this address lie in what moves?
    fn moves(self, at: *mut u64) -> bool {
        at.addr().wrapping_sub(self.base) < self.len
    }

    #[inline(always)]
    fn word(self, word: u64) -> u64 {
        // SAFETY: heap/H2, words of a heap look like terms.
        let term = unsafe { Term::from_raw(word) };
        let inside = (term.object_ptr() as usize).wrapping_sub(self.base) < self.len;
        // The distance is a multiple of eight: the tag stays.
        if !term.is_immediate() && inside { word.wrapping_add(self.distance as u64) } else { word }
    }

    unsafe fn all(self, at: *mut u64, len: usize) {
        for i in 0..len {
            // SAFETY: the caller's words.
            unsafe { *at.add(i) = self.word(*at.add(i)) };
        }
    }
}

impl Heap {
    /// Moves objects to the block, and lets `terms` refer to them there.
    ///
    /// # Safety
    /// `words` words at `from` hold whole objects, none of them counted, that nothing refers to but they themselves and `terms`;
    /// the block has [room](Heap::ensure) for them.
    #[inline]
    pub(crate) unsafe fn move_in(&mut self, from: *mut u64, words: usize, terms: [&mut Term; 2]) {
        let to = self.htop;
        debug_assert!(self.ensure(words), "{words} words are moved to a block that has no room for them");
        let shift = Shift::new(from, words, to);
        debug_assert!(!shift.moves(to), "objects are moved over themselves");
        // SAFETY: the caller's promise; heap/H1 and heap/H2 for the words moved.
        unsafe {
            ptr::copy_nonoverlapping(from, to, words);
            self.htop = to.add(words);
            shift.heap(to, self.htop);
            for term in terms {
                *term = Term::from_raw(shift.word(term.raw()));
            }
        }
    }

    /// The same, measured: apart, so that the other stays inlined.
    ///
    /// # Safety
    /// As for [`Heap::move_in`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn move_in_measured(&mut self, from: *mut u64, words: usize, terms: [&mut Term; 2]) {
        // SAFETY: the caller's promise.
        phases::measured(Phase::Copy, || unsafe { self.move_in(from, words, terms) });
    }

    /// Moves the young generation and the stack to a block of `size` words.
    ///
    /// # Safety
    /// As [`Heap::collect`]; there are no fragments; `size` holds both.
    pub(crate) unsafe fn relocate(&mut self, size: usize, roots: &mut Roots<'_>) {
        debug_assert!(self.fragments.is_null(), "H3: words of fragments, which do not move, may refer to what does");
        if let Some(rare) = &mut self.rare {
            rare.held.forget_sent();
        }
        let (used, stack) = (self.young_words(), self.stack_words());
        debug_assert!(used + stack <= size, "{used} words and a stack of {stack} are moved to a block of {size}");
        let plan = Move { copied: used + stack, freed: self.block_words() };
        let new = block::take_for(size, Class::Process, plan);
        let new_end = new.wrapping_add(size);
        let new_stop = new_end.wrapping_sub(stack);
        let shift = Shift::new(self.start, used, new);
        // SAFETY: both parts fit the new block; heap/H1 and heap/H2 for the words moved; heap/H5 for the chain.
        unsafe {
            ptr::copy_nonoverlapping(self.start, new, used);
            ptr::copy_nonoverlapping(self.stop, new_stop, stack);
            shift.heap(new, new.add(used));
            shift.all(new_stop, stack);
            for (at, len) in roots.spans() {
                shift.all(at, len);
            }
            let moved = |link: *mut u64| match link.addr() {
                0 => link,
                address => ptr::with_exposed_provenance_mut(address.wrapping_add(shift.distance)),
            };
            self.off_heap.first = moved(self.off_heap.first);
            let mut at = self.off_heap.first;
            while !at.is_null() {
                let object = Boxed::at(at);
                let next = object.off_heap_next();
                debug_assert!(
                    next.is_null() || shift.moves(next),
                    "H5: the young chain leads to {next:?}, which is not young"
                );
                at = moved(next);
                object.set_off_heap_next(at);
            }
            block::give(self.start, self.block_words(), Class::Process);
        }
        let mature = self.mature_words();
        self.start = new;
        self.htop = new.wrapping_add(used);
        self.high_water = new.wrapping_add(mature);
        self.stop = new_stop;
        self.hend = new_end;
        debug_assert!(self.bounds_hold(), "H1: a move left bounds out of order");
    }
}

impl Shift {
    /// The words of objects.
    unsafe fn heap(self, start: *mut u64, end: *mut u64) {
        let mut at = start;
        while at < end {
            // SAFETY: heap/H2.
            unsafe {
                let word = *at;
                if Term::from_raw(word).is_header() {
                    let header = Header::from_raw(word);
                    at = if header.holds_terms() { at.add(1) } else { at.add(1 + header.size()) };
                } else {
                    *at = self.word(word);
                    at = at.add(1);
                }
            }
        }
        debug_assert!(at == end, "H2: the last object that moved ends beyond {end:?}");
    }
}
