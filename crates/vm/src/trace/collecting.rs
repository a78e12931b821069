//! Garbage collections: their trace messages.

use super::flags::GARBAGE_COLLECTION;
use crate::ctx::Ctx;
use myriad_heap::Fragment;
use myriad_term::{Build, Term, am};

/// Words that the messages' lists take.
const LIST_WORDS: usize = 12 * 5;

/// A collection that is told of.
pub(crate) struct Watched {
    major: bool,
    words_before: usize,
    since_ns: u64,
}

impl Ctx<'_> {
    /// A collection begins, one of both generations if it is `major` or due; nothing if nobody wants to know.
    #[inline]
    pub(crate) fn collection_begins(&mut self, need: usize, major: bool) -> Option<Watched> {
        if self.this.trace.wants(GARBAGE_COLLECTION) || self.vm.trace.monitor.watches_collections() {
            Some(self.watch_begin(need, major))
        } else {
            None
        }
    }

    #[cold]
    fn watch_begin(&mut self, need: usize, major: bool) -> Watched {
        let major = major || self.proc.heap.fullsweep_due();
        let words_before = self.proc.heap.used_words();
        self.trace_collection(if major { am::gc_major_start } else { am::gc_minor_start }, need);
        Watched { major, words_before, since_ns: self.vm.machine.now_ns() }
    }

    /// It is over.
    #[inline]
    pub(crate) fn collection_ends(&mut self, watched: Option<Watched>) {
        if let Some(watched) = watched {
            self.watch_end(&watched);
        }
    }

    #[cold]
    fn watch_end(&mut self, watched: &Watched) {
        let reclaimed = watched.words_before.saturating_sub(self.proc.heap.used_words());
        self.trace_collection(if watched.major { am::gc_major_end } else { am::gc_minor_end }, reclaimed);
        if self.vm.trace.monitor.watches_collections() {
            self.vm.test_hooks.prolong_collection();
            self.watch_collection(watched.since_ns);
        }
    }

    /// `first` stands under `wordsize`, where OTP tells what is wanted, and then what was reclaimed.
    #[cold]
    fn trace_collection(&mut self, tag: myriad_term::Atom, first: usize) {
        if !self.this.trace.wants(GARBAGE_COLLECTION) {
            return;
        }
        let info = self.proc.heap.info();
        let mut memory = Fragment::with_capacity(LIST_WORDS + 4);
        let figures = [
            (am::wordsize, first),
            (am::old_heap_block_size, info.old_heap_block_size),
            (am::heap_block_size, info.heap_block_size),
            (am::mbuf_size, info.mbuf_size),
            (am::recent_size, info.recent_size),
            (am::stack_size, info.stack_size),
            (am::old_heap_size, info.old_heap_size),
            (am::heap_size, info.heap_size),
            (am::bin_vheap_size, info.bin_vheap_size),
            (am::bin_vheap_block_size, info.bin_vheap_block_size),
            (am::bin_old_vheap_size, info.bin_old_vheap_size),
            (am::bin_old_vheap_block_size, info.bin_old_vheap_block_size),
        ];
        let pairs: Vec<Term> =
            figures.iter().map(|(name, n)| memory.tuple(&[name.term(), Term::small(*n as i64)])).collect();
        let list = memory.list(&pairs);
        self.trace(GARBAGE_COLLECTION, tag, &[list]);
    }
}
