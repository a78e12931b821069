//! The copying loop: Cheney's breadth-first copy, with two destinations.
//!
//! A [`Copier`] knows the memory being emptied (from-space) and the two places that survivors go to: the new young
//! block, and the old block (a new one in a fullsweep). Roots are forwarded first; then both places are scanned until
//! nothing unscanned is left. No recursion, no stack: long lists and deep terms cost nothing special.
//!
//! Forwarding, in from-space:
//! - a moved boxed object has, in place of its header, its new boxed word (tag boxed, where a header has its own);
//! - a moved list cell has [`Term::NONE`] as head (heap/H6) and its new list word as tail.
//!
//! A list's cells are copied along its tails at once, so that they lie one after another, and a list is scanned at the
//! speed of memory. The scan looks at those tails again and finds that they point to to-space; therefore from-space
//! and to-space never overlap.
//!
//! C1. Each destination has room for all that can go there; the caller counted.
//! C2. By heap/H4, what goes to the old block points only to what goes there too, or is there.

use crate::held::Held;
use crate::old_space::OldSpace;
use myriad_term::Term;
use myriad_term::boxed::Header;

/// What is emptied, and where to.
pub(crate) mod mode {
    /// The young block: mature objects to the old block, others to the new young block.
    pub(crate) const MINOR: u8 = 0;
    /// Both blocks: old and mature objects to the new old block, others to the new young block.
    pub(crate) const FULL: u8 = 1;
    /// Both blocks: all to the new young block.
    pub(crate) const SINGLE: u8 = 2;
    /// The young block: all to the old block.
    pub(crate) const TENURE: u8 = 3;
}

/// A range of addresses.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    base: usize,
    len: usize,
}

impl Span {
    /// From `start` to `end`.
    #[inline(always)]
    pub(crate) fn new(start: *mut u64, end: *mut u64) -> Span {
        debug_assert!(
            start.is_aligned() && end.is_aligned(),
            "an area that does not consist of words: tags would matter"
        );
        Span { base: start as usize, len: end as usize - start as usize }
    }

    /// From a base address and a length in bytes.
    #[inline(always)]
    pub(crate) fn of((base, len): (usize, usize)) -> Span {
        Span { base, len }
    }

    #[inline(always)]
    pub(crate) fn holds(self, at: usize) -> bool {
        at.wrapping_sub(self.base) < self.len
    }

    /// Do `words` words from `at` on lie inside?
    fn holds_words(self, at: *mut u64, words: usize) -> bool {
        let offset = at.addr().wrapping_sub(self.base);
        offset <= self.len && words * 8 <= self.len - offset
    }
}

/// What there is beside the generations.
pub(crate) mod beside {
    /// Literals.
    pub(crate) const NOTHING: u8 = 0;
    /// Fragments to empty, too; these have no range, so all that is in no known range is taken to be in one (heap/H3).
    pub(crate) const FRAGMENTS: u8 = 1;
    /// Bundles that the heap holds, and perhaps fragments.
    pub(crate) const BUNDLES: u8 = 2;
}

/// A collection under way; `BESIDE` as above.
pub(crate) struct Copier<'h, const MODE: u8, const BESIDE: u8, O: OldSpace> {
    /// The young block being emptied.
    pub(crate) young: Span,
    /// Bytes of it below the high-water mark.
    pub(crate) mature: usize,
    /// The present old block: of a minor collection the destination, else being emptied.
    pub(crate) old: Span,
    /// All of the new young block (empty if nothing goes there).
    pub(crate) to_young: Span,
    /// All of the new old block (fullsweep only).
    pub(crate) to_old: Span,
    /// The range of literals.
    pub(crate) literals: Span,
    /// The range of bundles, and those that the heap holds.
    pub(crate) bundles: Span,
    pub(crate) held: Option<&'h mut Held>,
    /// First free word of the new young block.
    pub(crate) top: *mut u64,
    /// The old destination.
    pub(crate) into_old: O,
}

/// Where an object goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Stay,
    Young,
    Old,
}

/// Copies the words after a header. Most objects are small: two overlapping halves, no loop, no call.
#[inline(always)]
pub(crate) unsafe fn copy_words(from: *const u64, to: *mut u64, words: usize) {
    type Two = [u64; 2];
    type Four = [u64; 4];
    // SAFETY: the caller's objects, apart from each other; both halves are inside.
    unsafe {
        if words <= 4 {
            if words >= 2 {
                let (first, last) = (*from.cast::<Two>(), *from.add(words - 2).cast::<Two>());
                *to.cast() = first;
                *to.add(words - 2).cast() = last;
            } else if words == 1 {
                *to = *from;
            }
        } else if words <= 8 {
            let (first, last) = (*from.cast::<Four>(), *from.add(words - 4).cast::<Four>());
            *to.cast() = first;
            *to.add(words - 4).cast() = last;
        } else {
            std::ptr::copy_nonoverlapping(from, to, words);
        }
    }
}

impl<const MODE: u8, const BESIDE: u8, O: OldSpace> Copier<'_, MODE, BESIDE, O> {
    /// Where the object goes that a boxed or list word points at. Areas are aligned to words, so the tag may stay on.
    #[inline(always)]
    fn destination(&self, word: u64) -> To {
        let at = word as usize;
        let offset = at.wrapping_sub(self.young.base);
        if offset < self.young.len {
            return match MODE {
                mode::TENURE => To::Old,
                mode::SINGLE => To::Young,
                _ if offset < self.mature => To::Old,
                _ => To::Young,
            };
        }
        if (MODE == mode::FULL || MODE == mode::SINGLE) && self.old.holds(at) {
            return if MODE == mode::SINGLE { To::Young } else { To::Old };
        }
        if BESIDE != beside::NOTHING {
            let stays = self.literals.holds(at)
                || BESIDE == beside::BUNDLES && self.bundles.holds(at)
                || self.to_young.holds(at)
                || (MODE == mode::MINOR || MODE == mode::TENURE) && self.old.holds(at)
                || MODE == mode::FULL && self.to_old.holds(at);
            return match MODE {
                _ if stays => To::Stay,
                mode::TENURE => To::Old,
                _ => To::Young,
            };
        }
        To::Stay
    }

    /// Does a word lead to a place that survivors go to, or to a bundle that has taken the place of one?
    fn has_moved(&self, word: u64) -> bool {
        let at = word as usize;
        self.to_young.holds(at) || self.to_old.holds(at) || BESIDE == beside::BUNDLES && self.bundles.holds(at)
    }

    /// Would an object of the old generation refer to a young one (heap/H4), if what goes to `to` were written to `slot`?
    fn breaks_age(&self, to: To, slot: *mut u64) -> bool {
        to == To::Young && self.to_old.holds(slot.addr())
    }

    /// Takes `words` words of a destination.
    #[inline(always)]
    fn take(&mut self, to: To, words: usize) -> *mut u64 {
        let at = if to == To::Old {
            self.into_old.take(words)
        } else {
            let at = self.top;
            self.top = at.wrapping_add(words);
            at
        };
        let block = if to == To::Old { self.to_old } else { self.to_young };
        debug_assert!(block.holds_words(at, words), "C1: {words} words at {at:?} do not fit the block that they go to");
        at
    }

    /// What was sent as a bundle is in the heap no longer: the bundle takes its place. Then the collection begins with the bundles that the heap holds.
    ///
    /// # Safety
    /// Nothing has been moved.
    pub(crate) unsafe fn begin_with_held(&mut self, minor: bool) {
        let Some(held) = self.held.take() else { return };
        // SAFETY: the caller's promise; what was sent lies where it lay, for this is the first collection since.
        held.replace_sent(|term, copy| unsafe { self.replace(term, copy) });
        held.begin(minor);
        self.held = Some(held);
    }

    /// All that refers to an object of from-space is to refer to its copy in a bundle. `false`: it is not in from-space.
    ///
    /// # Safety
    /// An object that is not off-heap begins there, which has not been moved.
    unsafe fn replace(&self, term: Term, copy: Term) -> bool {
        if BESIDE != beside::BUNDLES || self.destination(term.raw()) == To::Stay {
            return false;
        }
        let at = term.object_ptr();
        // SAFETY: the caller's promise: the forwarding word, or cell, of an object.
        unsafe {
            if term.is_cons() {
                *at = Term::NONE.raw();
                *at.add(1) = copy.raw();
            } else {
                debug_assert!(
                    !Header::from_raw(*at).is_off_heap(),
                    "H5: a bundle takes the place of an object of a chain"
                );
                *at = copy.raw();
            }
        }
        true
    }

    /// Moves the object behind `word`, if it is in from-space, and writes its new word to `slot`.
    ///
    /// # Safety
    /// `word` is a word of the heap being collected (heap/H2, heap/H3); `slot` is where it stands.
    #[inline(always)]
    pub(crate) unsafe fn forward(&mut self, word: u64, slot: *mut u64) {
        // SAFETY: the caller's promise: a boxed or list word points at an object of the heap.
        unsafe {
            let term = Term::from_raw(word);
            if term.is_boxed() {
                let at = term.boxed_ptr();
                let to = self.destination(word);
                debug_assert!(!self.breaks_age(to, slot), "C2: old object at {slot:?} refers to a young one");
                if to != To::Stay {
                    let word = self.boxed(at, to);
                    *slot = word;
                    if BESIDE == beside::BUNDLES {
                        // A bundle may have taken its place.
                        self.see(word, slot);
                    }
                } else if BESIDE == beside::BUNDLES {
                    self.see(word, slot);
                }
            } else if term.is_cons() {
                let to = self.destination(word);
                debug_assert!(!self.breaks_age(to, slot), "C2: old object at {slot:?} refers to a young list");
                if to != To::Stay {
                    self.list(term.object_ptr(), to, slot);
                } else if BESIDE == beside::BUNDLES {
                    self.see(word, slot);
                }
            }
        }
    }

    /// A word at `slot` stays: if it leads to a bundle, the heap goes on holding that.
    #[inline(always)]
    fn see(&mut self, word: u64, slot: *mut u64) {
        if !self.bundles.holds(word as usize) {
            return;
        }
        let in_old = match MODE {
            mode::MINOR | mode::TENURE => self.old.holds(slot.addr()),
            mode::FULL => self.to_old.holds(slot.addr()),
            _ => false,
        };
        if let Some(held) = &mut self.held {
            held.see(word, slot, in_old);
        }
    }

    /// Moves a boxed object; gives its new word.
    #[inline(always)]
    unsafe fn boxed(&mut self, at: *mut u64, to: To) -> u64 {
        // SAFETY: `at` is a header in from-space, or the forwarding word that replaced one; C1.
        unsafe {
            let header = *at;
            if !Term::from_raw(header).is_header() {
                debug_assert!(
                    self.has_moved(header),
                    "{header:#x} at {at:?} is neither a header nor a forwarding word"
                );
                return header;
            }
            let words = Header::from_raw(header).size();
            debug_assert!(
                !self.young.holds(at.addr()) || self.young.holds_words(at, 1 + words),
                "H2: object at {at:?} of {words} words ends beyond the young generation"
            );
            let new = self.take(to, 1 + words);
            *new = header;
            copy_words(at.add(1), new.add(1), words);
            let word = Term::from_boxed(new).raw();
            *at = word;
            word
        }
    }

    /// Moves a list cell and those behind its tail; writes the new word of the first to `slot`.
    #[inline(always)]
    unsafe fn list(&mut self, cell: *mut u64, to: To, slot: *mut u64) {
        let (mut cell, mut to, mut slot) = (cell, to, slot);
        loop {
            // SAFETY: `cell` is a cell in from-space, moved or not; C1; `slot` is the caller's or a tail just made.
            unsafe {
                let head = *cell;
                let tail = *cell.add(1);
                if head == Term::NONE.raw() {
                    debug_assert!(self.has_moved(tail), "H6: the list cell at {cell:?} has no head and has not moved");
                    *slot = tail;
                    if BESIDE == beside::BUNDLES {
                        // As above.
                        self.see(tail, slot);
                    }
                    return;
                }
                let new = self.take(to, 2);
                let word = Term::from_cell(new.cast()).raw();
                *new = head;
                *cell = Term::NONE.raw();
                *cell.add(1) = word;
                *slot = word;
                slot = new.add(1);
                let next = Term::from_raw(tail);
                if !next.is_cons() {
                    *slot = tail;
                    return;
                }
                cell = next.object_ptr();
                to = self.destination(tail);
                debug_assert!(!self.breaks_age(to, slot), "C2: the old list cell before {slot:?} has a young tail");
                if to == To::Stay {
                    *slot = tail;
                    return;
                }
            }
        }
    }

    /// Forwards `len` words in place.
    ///
    /// # Safety
    /// They are roots of the heap being collected.
    #[inline(always)]
    pub(crate) unsafe fn roots(&mut self, at: *mut u64, len: usize) {
        for i in 0..len {
            // SAFETY: the caller promises that the words are roots of the heap being collected.
            unsafe { self.forward(*at.add(i), at.add(i)) };
        }
    }

    /// Forwards the stack while it moves from `from` to `to`.
    ///
    /// # Safety
    /// `from` is the stack of the heap being collected, `to` has room for it.
    #[inline(always)]
    pub(crate) unsafe fn stack(&mut self, from: *mut u64, to: *mut u64, len: usize) {
        debug_assert!(from.addr().abs_diff(to.addr()) >= len * 8, "the stack would be written over what is left of it");
        for i in 0..len {
            // SAFETY: the caller promises that `from` is the stack of the heap being collected, and that `to` has room for it.
            unsafe {
                let word = *from.add(i);
                *to.add(i) = word;
                self.forward(word, to.add(i));
            }
        }
    }

    /// Scans both destinations from the given places until nothing is left.
    ///
    /// # Safety
    /// Both places are borders between objects, and all before them is scanned.
    #[inline(always)]
    pub(crate) unsafe fn scan(&mut self, young: *mut u64, old: *mut u64) {
        let (mut young, mut old) = (young, old);
        loop {
            while young < self.top {
                // SAFETY: whole objects lie between the scan place and the top.
                young = unsafe { self.scan_word(young) };
            }
            debug_assert!(young == self.top, "H2: the last object copied to the young block ends beyond its top");
            if MODE == mode::SINGLE {
                return;
            }
            while let Some((at, end)) = self.into_old.unscanned(old) {
                old = at;
                while old < end {
                    // SAFETY: heap/H2: what is not scanned are objects that were copied there whole.
                    old = unsafe { self.scan_word(old) };
                }
                debug_assert!(old == end, "H2: the last object copied to the old generation ends beyond its top");
            }
            if young == self.top {
                return;
            }
        }
    }

    /// Scans one word, or steps over a raw object; gives the next place.
    #[inline(always)]
    unsafe fn scan_word(&mut self, at: *mut u64) -> *mut u64 {
        // SAFETY: heap/H2 of copied objects.
        unsafe {
            let word = *at;
            if !Term::from_raw(word).is_immediate() {
                self.forward(word, at);
            } else if Header::is_raw(word) {
                // The black box makes this a branch, so that the next address need not wait for this word.
                return at.add(1).add(std::hint::black_box(Header::from_raw(word).size()));
            }
            at.add(1)
        }
    }
}
