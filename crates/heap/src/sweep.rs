//! Off-heap chains after a collection, and the virtual binary heaps.
//!
//! Run while from-space still stands: an object of a chain has moved (its header is a forwarding word) or is dead, and
//! then gives its count back at once. The order of a chain stays, so that lists of a process's binaries do.

use crate::heap::Heap;
use crate::sizes;
use myriad_term::{Boxed, Kind, OffHeap, Term};
use std::ptr;

/// The chains being built.
pub(crate) struct Swept {
    pub(crate) young: OffHeap,
    pub(crate) old: OffHeap,
    /// The objects put into each of them last.
    last_young: *mut u64,
    last_old: *mut u64,
    /// Address range of the block whose objects are old now.
    old_base: usize,
    old_len: usize,
}

impl Swept {
    /// Empty chains; objects between the two addresses belong to the old one.
    pub(crate) fn new(old: OffHeap, old_start: *mut u64, old_end: *mut u64) -> Swept {
        Swept {
            young: OffHeap::new(),
            old,
            last_young: ptr::null_mut(),
            last_old: ptr::null_mut(),
            old_base: old_start as usize,
            old_len: old_end as usize - old_start as usize,
        }
    }

    /// Sorts the objects of one chain of from-space.
    ///
    /// # Safety
    /// The chain is that of the heap being collected, all live objects have been moved, and from-space still stands.
    pub(crate) unsafe fn sweep(&mut self, first: *mut u64) {
        let mut at = first;
        while !at.is_null() {
            // SAFETY: the caller's promise. The link is the object's last word; the size is in the header, of the copy if
            // there is one.
            unsafe {
                let word = Term::from_raw(*at);
                let next;
                debug_assert!(
                    word.is_boxed() || word.is_header(),
                    "H5: the chain leads to {at:?}, where no object begins"
                );
                if word.is_boxed() {
                    let object = Boxed::at(word.boxed_ptr());
                    debug_assert!(object.header().is_off_heap(), "H5: {:?} in a chain counts nothing", object.kind());
                    next = object.off_heap_next();
                    let weight = if object.kind() == Kind::SharedBinary { object.word(0) as usize / 8 } else { 0 };
                    let is_old = (object.ptr() as usize).wrapping_sub(self.old_base) < self.old_len;
                    let (chain, last) = if is_old {
                        (&mut self.old, &mut self.last_old)
                    } else {
                        (&mut self.young, &mut self.last_young)
                    };
                    chain.link_after(*last, object.ptr(), weight);
                    *last = object.ptr();
                } else {
                    let object = Boxed::at(at);
                    debug_assert!(
                        object.header().is_off_heap(),
                        "H5: dead {:?} in a chain counted nothing",
                        object.kind()
                    );
                    next = object.off_heap_next();
                    object.release_off_heap();
                }
                at = next;
            }
        }
    }
}

/// The limit that follows, for a virtual heap of `words` under `limit`.
fn next_limit(words: usize, limit: usize, least: usize) -> usize {
    let next = if words > limit {
        sizes::at_least(words.saturating_mul(2)).max(least)
    } else if words < limit / 2 {
        (limit / 4 * 3).max(least)
    } else {
        limit.max(least)
    };
    debug_assert!(words <= next, "{words} words are above a limit of {next}: a collection is due as soon as one ends");
    next
}

impl Heap {
    /// Takes the swept chains.
    pub(crate) fn install_chains(&mut self, swept: Swept) {
        debug_assert!(self.off_heap.first.is_null() && self.old_off_heap.first.is_null(), "H5: a chain was not swept");
        self.off_heap = swept.young;
        self.old_off_heap = swept.old;
    }

    /// Adapts the limits that the chains and bundles are held against.
    pub(crate) fn adapt_limits(&mut self, fullsweep: bool) {
        let least = self.min_bin_vheap_size();
        self.bin_vheap_limit = next_limit(self.off_heap.binary_words, self.bin_vheap_limit, least);
        if fullsweep {
            // What a fullsweep left in the young generation will be promoted: that alone must not make the next one due.
            let words = self.old_off_heap.binary_words.saturating_add(self.off_heap.binary_words);
            self.old_bin_vheap_limit = next_limit(words, self.old_bin_vheap_limit, least);
        }
    }

    /// Takes both chains out, for a sweep.
    pub(crate) fn take_chain(chain: &mut OffHeap) -> *mut u64 {
        chain.binary_words = 0;
        std::mem::replace(&mut chain.first, ptr::null_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::next_limit;
    use crate::{Heap, Roots, Settings};
    use myriad_term::{Build, SharedBinary};

    #[test]
    fn limits_follow_use() {
        assert_eq!(next_limit(10, 46_422, 46_422), 46_422);
        assert_eq!(next_limit(50_000, 46_422, 46_422), 121_536);
        assert_eq!(next_limit(10, 121_536, 46_422), 91_152);
        assert_eq!(next_limit(100_000, 121_536, 46_422), 121_536);
    }

    #[test]
    fn what_a_fullsweep_left_young_is_promoted_without_another() {
        let mut heap = Heap::new(&Settings::default());
        let mut kept = heap.shared_binary(SharedBinary::from_bytes(&[0; 8 * 50_000]));
        let mut roots = Roots::new();
        roots.push(std::slice::from_mut(&mut kept));
        // SAFETY: the root is all that is used.
        unsafe {
            heap.collect(0, &mut roots).unwrap();
            heap.collect(0, &mut roots).unwrap();
            heap.collect_fullsweep(0, &mut roots).unwrap();
            heap.collect(0, &mut roots).unwrap();
        }
        assert!(heap.old_off_heap.binary_words >= 50_000 && !heap.fullsweep_due(), "{:?}", heap.info());
    }
}
