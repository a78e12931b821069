//! The invariants of a heap (crate page) as a function: panics with the name of one that is broken.
//!
//! Linear in the size of the heap and independent of how the collector works. Run around each collection under
//! `--cfg heap_check`, and by the tests.

use crate::fragment::Chunk;
use crate::heap::Heap;
use crate::held::Held;
use crate::large::Large;
use crate::literal::is_literal;
use crate::roots::Roots;
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Term};
use std::collections::HashSet;
use std::ops::Range;

/// Should a heap of `words` words be collected without need? One of some questions is answered with yes, so that
/// programs run under `--cfg heap_check` meet a collection wherever one may happen; of large heaps fewer, so that they end.
#[cfg(heap_check)]
pub(crate) fn stress(words: usize) -> bool {
    use std::cell::Cell;
    const ONE_IN: usize = 13;
    const WORDS_A_QUESTION: usize = 256;
    thread_local! { static ASKED: Cell<usize> = const { Cell::new(0) } }
    ASKED.set(ASKED.get() + 1);
    let yes = ASKED.get() >= ONE_IN.max(words / WORDS_A_QUESTION);
    if yes {
        ASKED.set(0);
    }
    yes
}

/// A range of addresses.
type Area = (usize, usize);

fn inside(area: Area, at: *mut u64) -> bool {
    (area.0..area.1).contains(&(at as usize))
}

/// Where a pointer may lead.
struct Allowed<'h> {
    areas: Vec<Area>,
    /// Bundles, in order.
    bundles: &'h [Range<usize>],
    name: &'static str,
}

impl Allowed<'_> {
    fn in_bundle(&self, at: usize) -> bool {
        let i = self.bundles.partition_point(|bundle| bundle.end <= at);
        self.bundles.get(i).is_some_and(|bundle| bundle.contains(&at))
    }

    fn check(&self, term: Term, whence: *const u64) {
        if term.is_immediate() {
            assert!(!term.is_header(), "H2: header word at {whence:?} where a term should be");
            return;
        }
        let at = term.object_ptr();
        let known = self.areas.iter().any(|area| inside(*area, at)) || is_literal(at) || self.in_bundle(at.addr());
        assert!(known, "{}: word {:#x} at {whence:?} leads out", self.name, term.raw());
        // SAFETY: it lies in initialised memory of the heap.
        let first = unsafe { Term::from_raw(*at) };
        if term.is_boxed() {
            assert!(first.is_header(), "H2: boxed word {:#x} at {whence:?} leads to no header", term.raw());
        } else {
            assert!(!first.is_none(), "H6: list cell {at:?} has no head");
        }
    }

    fn check_area(&self, area: Area, off_heap: &mut usize) {
        let mut at = area.0 as *mut u64;
        while (at as usize) < area.1 {
            // SAFETY: heap/H1, initialised words.
            let word = unsafe { *at };
            // SAFETY: only looked at.
            let term = unsafe { Term::from_raw(word) };
            if term.is_header() {
                let header = Header::from_raw(word);
                assert!(at as usize + 8 + header.size() * 8 <= area.1, "H2: object at {at:?} exceeds its area");
                *off_heap += usize::from(header.is_off_heap());
                if !header.holds_terms() {
                    at = at.wrapping_add(header.size());
                }
            } else {
                self.check(term, at);
            }
            at = at.wrapping_add(1);
        }
    }
}

impl Heap {
    /// Checks heap/H1 to H6.
    pub(crate) fn check(&self, roots: &Roots<'_>) {
        assert!(self.start <= self.high_water && self.high_water <= self.htop, "H1: high-water mark");
        assert!(self.htop <= self.stop && self.stop <= self.hend, "H1: top and stack");
        assert!(self.old_start <= self.old_top && self.old_top <= self.old_limit, "H1: old block");
        assert!(self.old_limit <= self.old_end, "H1: limit of the old block");
        if self.large().is_some_and(|large| large.cycle.as_ref().is_none_or(|cycle| !cycle.is_swept)) {
            let [used, memory] = [self.old_words(), self.old_block_words()];
            assert!(used <= memory, "H1: {used} old words have memory of {memory}");
        }
        let mature = (self.start as usize, self.high_water as usize);
        let fresh = (self.high_water as usize, self.htop as usize);
        let _walk = self.large().and_then(Large::walk);
        let old = self.old_area();
        let old = (old.0 as usize, old.1 as usize);
        let mut fragments = Vec::new();
        let mut chunk = self.fragments;
        let mut chunks = HashSet::new();
        while !chunk.is_null() {
            assert!(chunks.insert(chunk), "MB2: the chunk at {chunk:?} joined its heap twice");
            // SAFETY: a live chunk of this heap.
            unsafe {
                fragments.push((Chunk::start(chunk) as usize, (*chunk).top as usize));
                chunk = (*chunk).next;
            }
        }
        let words: usize = fragments.iter().map(|area| (area.1 - area.0) / 8).sum();
        assert_eq!(words, self.fragment_words, "H1: words in fragments");

        let bundles = &self.held().map_or_else(Vec::new, Held::reach)[..];
        let in_old = Allowed { areas: vec![old], bundles, name: "H4" };
        let in_mature = Allowed { areas: vec![old, mature], bundles, name: "H4" };
        let mut all = fragments.clone();
        all.extend([old, mature, fresh]);
        let anywhere = Allowed { areas: all, bundles, name: "H3" };
        let (mut young_off_heap, mut old_off_heap) = (0, 0);
        in_old.check_area(old, &mut old_off_heap);
        in_mature.check_area(mature, &mut young_off_heap);
        anywhere.check_area(fresh, &mut young_off_heap);
        for area in &fragments {
            anywhere.check_area(*area, &mut young_off_heap);
        }
        for word in self.stack() {
            // SAFETY: only looked at.
            anywhere.check(unsafe { Term::from_raw(*word) }, word);
        }
        for (at, len) in roots.spans() {
            for i in 0..len {
                // SAFETY: a listed root is an initialised word.
                anywhere.check(unsafe { Term::from_raw(*at.add(i)) }, at.wrapping_add(i));
            }
        }
        let mut young_areas = fragments;
        young_areas.extend([mature, fresh]);
        check_chain(self.off_heap.first, &young_areas, young_off_heap);
        check_chain(self.old_off_heap.first, &[old], old_off_heap);
    }
}

fn check_chain(first: *mut u64, areas: &[Area], objects: usize) {
    let mut seen = HashSet::new();
    let mut at = first;
    while !at.is_null() {
        assert!(areas.iter().any(|area| inside(*area, at)), "H5: {at:?} is in the wrong chain");
        assert!(seen.insert(at), "H5: {at:?} is in a chain twice");
        // SAFETY: it lies in initialised memory of the heap.
        let object = unsafe { Boxed::at(at) };
        assert!(object.header().is_off_heap(), "H5: {at:?} is no off-heap object");
        at = object.off_heap_next();
    }
    assert_eq!(seen.len(), objects, "H5: objects in no chain");
}
