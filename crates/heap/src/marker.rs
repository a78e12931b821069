//! Following all that words of a heap lead to, and setting its bits ([`crate::marking`]).

use crate::bundle_area;
use crate::marking::Marking;
use myriad_sync::prefetch::prefetch;
use myriad_term::Term;
use myriad_term::boxed::Header;
use std::collections::BTreeSet;

/// Words of one object that are looked at together, and how often that is done between two questions whether to stop.
const A_WHILE: u32 = 1024;
/// Objects whose memory is asked for before they are looked at.
const AHEAD: usize = 8;

/// Words of an object that are still to be followed.
#[derive(Clone, Copy)]
struct Rest {
    next: *const u64,
    end: *const u64,
}

/// A marking under way. Depth first, with the rests of objects on a stack of its own; where that would become too large (deep terms), what is left is found by
/// another pass over the marked objects.
pub(crate) struct Marker<'m> {
    marking: &'m Marking,
    bundle_range: bundle_area::Range,
    pub(crate) bundles: BTreeSet<usize>,
    last_bundle: usize,
    rests: Vec<Rest>,
    most_rests: usize,
    pub(crate) overflowed: bool,
    /// Words of objects whose memory was asked for, the oldest at `oldest`; 0 (a number) where there is none.
    ahead: [u64; AHEAD],
    oldest: usize,
    /// Words of the objects that it has marked.
    marked: usize,
    left: u32,
}

impl<'m> Marker<'m> {
    pub(crate) fn new(marking: &'m Marking) -> Marker<'m> {
        Marker {
            marking,
            bundle_range: bundle_area::range(),
            bundles: BTreeSet::new(),
            last_bundle: 0,
            rests: Vec::new(),
            most_rests: if cfg!(any(test, heap_check)) { 8 } else { 4096.max(marking.map.words() / 32) },
            overflowed: false,
            ahead: [0; AHEAD],
            oldest: 0,
            marked: 0,
            left: A_WHILE,
        }
    }

    /// Marks all that these words lead to; gives how many words of objects were not marked before.
    ///
    /// # Safety
    /// heap.marking/MA1; they are words of the heap.
    pub(crate) unsafe fn follow(&mut self, words: &[u64]) -> Option<usize> {
        let before = self.marked;
        if !words.is_empty() {
            let words = words.as_ptr_range();
            // SAFETY: the caller's promise.
            unsafe { self.follow_rest(Rest { next: words.start, end: words.end })? };
        }
        Some(self.marked - before)
    }

    /// The same of all words of marked objects from one place to another.
    ///
    /// # Safety
    /// As for [`Marker::follow`]; they are whole objects.
    pub(crate) unsafe fn follow_all(&mut self, start: *mut u64, end: *mut u64) -> Option<()> {
        let mut at = start;
        while at < end {
            // SAFETY: the caller's promise.
            unsafe {
                let word = *at;
                let words = if Header::is_raw(word) { 1 + Header::from_raw(word).size() } else { 1 };
                if words == 1 && !Term::from_raw(word).is_header() {
                    self.follow_rest(Rest { next: at, end: at.add(1) })?;
                }
                at = at.add(words);
            }
        }
        Some(())
    }

    /// # Safety
    /// As for [`Marker::follow`].
    unsafe fn follow_rest(&mut self, rest: Rest) -> Option<()> {
        self.rests.push(rest);
        loop {
            // SAFETY: heap.marking/MA1: rests are words of live objects, or the caller's; what was met leads to an object.
            unsafe {
                if let Some(rest) = self.rests.pop() {
                    self.follow_words(rest);
                } else if self.ahead.iter().any(|word| *word != 0) {
                    let word = self.next_ahead(0);
                    self.visit(word);
                } else {
                    return Some(());
                }
            }
            self.left -= 1;
            if self.left == 0 {
                self.left = A_WHILE;
                self.marking.look_up();
                if self.marking.is_stopping() {
                    return None;
                }
            }
        }
    }

    /// Looks at the words of an object up to one that leads to another object to be marked; what is left comes after that.
    ///
    /// # Safety
    /// As for [`Marker::follow`].
    #[inline(always)]
    unsafe fn follow_words(&mut self, rest: Rest) {
        let Rest { mut next, end } = rest;
        for _ in 0..A_WHILE {
            if next == end {
                return;
            }
            // SAFETY: the caller's promise.
            unsafe {
                let word = *next;
                next = next.add(1);
                if !self.is_met(word) {
                    continue;
                }
                let oldest = self.next_ahead(word);
                if oldest != 0 {
                    if next != end {
                        self.rests.push(Rest { next, end });
                    }
                    return self.visit(oldest);
                }
            }
        }
        self.rests.push(Rest { next, end });
    }

    /// Puts a word behind those whose memory was asked for; gives the oldest.
    #[inline(always)]
    fn next_ahead(&mut self, word: u64) -> u64 {
        let oldest = std::mem::replace(&mut self.ahead[self.oldest], word);
        self.oldest = (self.oldest + 1) % AHEAD;
        oldest
    }

    /// Does a word of a live object lead to one of the part that is not marked? Then its memory is asked for.
    ///
    /// # Safety
    /// It is a word of an object of the heap that lives, or a root's (heap.marking/MA1).
    #[inline(always)]
    unsafe fn is_met(&mut self, word: u64) -> bool {
        // SAFETY: a word of the heap.
        let term = unsafe { Term::from_raw(word) };
        if term.is_immediate() {
            return false;
        }
        let at = term.object_ptr();
        let Some(place) = self.marking.map.place(at.addr()) else {
            self.see_bundle(at);
            return false;
        };
        if self.marking.map.is_set(place) {
            return false;
        }
        prefetch(at);
        true
    }

    /// A live object refers to something outside of the part.
    #[inline]
    fn see_bundle(&mut self, at: *const u64) {
        if self.bundle_range.holds(at) {
            // SAFETY: heap.marking/MA1: what a live object refers to is held.
            let bundle = unsafe { bundle_area::start_of(at) }.addr();
            if bundle != self.last_bundle {
                self.last_bundle = bundle;
                self.bundles.insert(bundle);
            }
        }
    }

    /// Marks an object of the part, and has its words followed.
    ///
    /// # Safety
    /// The word was met ([`Marker::is_met`]), or is 0, which stands for none.
    #[inline(always)]
    unsafe fn visit(&mut self, word: u64) {
        if word == 0 {
            return;
        }
        // SAFETY: a word that was met leads to an object of the part, whose words stay (heap.marking/MA1).
        unsafe {
            let term = Term::from_raw(word);
            let at = term.object_ptr().cast_const();
            let Some(place) = self.marking.map.place(at.addr()) else { return };
            let (words, first) = if term.is_cons() {
                (2, 0)
            } else {
                let header = Header::from_raw(*at);
                (1 + header.size(), if header.holds_terms() { 1 } else { 1 + header.size() })
            };
            if !self.marking.map.set(place, words) {
                return;
            }
            self.marked += words;
            if first == words {
                return;
            }
            if self.rests.len() >= self.most_rests {
                self.overflowed = true;
            } else {
                self.rests.push(Rest { next: at.add(first), end: at.add(words) });
            }
        }
    }
}
