//! Segments: the young memory of a process of the one heap ([`crate::shared`]). When its block is full it gets another one, and the full one stays as it is.

use crate::account::Class;
use crate::block;
use crate::fragment::Chunk;
use crate::heap::{Heap, RESERVED};
use crate::literal::is_literal;
#[cfg(heap_check)]
use crate::one_heap;
use crate::one_heap::taken;
use crate::roots::Roots;
use crate::sizes;
use crate::young_blocks;
use myriad_sync::Account;
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Kind, Term};
use std::collections::HashSet;
use std::ptr;

/// Words of a segment, at most, unless more are needed at once.
pub(crate) const SEGMENT: usize = 8 * 1024;
/// A segment is somewhat larger if more is needed at once: it still waits where young blocks do.
const _: () = assert!(2 * SEGMENT <= young_blocks::MOST);

/// A young block in which nothing is allocated any more.
pub(crate) struct Segment {
    pub(crate) start: *mut u64,
    pub(crate) words: usize,
    pub(crate) account: Account,
}

/// Young memory in which nothing is allocated any more.
#[derive(Default)]
pub(crate) struct Segments {
    pub(crate) blocks: Vec<Segment>,
    /// Chunks, of which none has a chain.
    pub(crate) chunks: Vec<*mut Chunk>,
    /// Words of objects.
    pub(crate) words: usize,
    /// What [`Heap::exceeds`] has found last, and the words that were young then.
    reachable: usize,
    counted: usize,
    /// Words beside young ones that may have become reachable since.
    uncounted: usize,
}

impl Segments {
    /// None.
    pub(crate) const NONE: Segments =
        Segments { blocks: Vec::new(), chunks: Vec::new(), words: 0, reachable: 0, counted: 0, uncounted: 0 };

    /// Those of another owner join them.
    pub(crate) fn join(&mut self, other: Segments) {
        self.blocks.extend(other.blocks);
        self.chunks.extend(other.chunks);
        self.words += other.words;
    }

    /// Is there no memory, with objects or without?
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.chunks.is_empty()
    }
}

impl Segment {
    /// Gives its block back.
    ///
    /// # Safety
    /// Nobody refers to it.
    pub(crate) unsafe fn give(self) {
        // SAFETY: the caller's promise.
        unsafe { block::give_of(self.start, self.words, Class::Process, self.account) };
    }
}

impl Heap {
    /// Has room for so many words: the block becomes a segment, and there is another one. Nothing moves but the stack.
    pub(crate) fn take_segment(&mut self, need: usize) {
        let chunks = self.retire_chunks();
        let counted = std::mem::take(&mut self.off_heap.binary_words);
        (self.collect_next, self.fullsweep_next) = (false, false);
        self.total_gcs = self.total_gcs.wrapping_add(1);
        #[cfg(heap_check)]
        one_heap::be_due();
        let mut words = chunks + counted / 8;
        if !self.ensure(need) {
            let least = self.stack_words().saturating_add(need).saturating_add(RESERVED);
            let wanted = (2 * self.block_words()).min(SEGMENT).max(self.min_heap_size());
            let size = sizes::at_least(least.saturating_mul(2).min(least.saturating_add(SEGMENT)).max(wanted));
            self.replace_block(size);
            words += size;
        }
        taken(words);
        debug_assert!(self.ensure(need), "another segment has no room for {need} words");
    }

    /// Does a process that has a limit refer to more words than that? What is reachable counts, whoever else refers to it. It is counted when so much was allocated
    /// since the last time that it may be too much, and again only after an eighth of the limit.
    pub(crate) fn exceeds(&mut self, need: usize, roots: &Roots<'_>) -> Option<usize> {
        let limit = self.max_heap_size();
        if limit.size == 0 {
            return None;
        }
        let young = self.all_young_words();
        let segments = &mut self.rare.get_or_insert_default().segments;
        let since = young.saturating_sub(segments.counted).saturating_add(segments.uncounted).saturating_add(need);
        if segments.reachable.saturating_add(since) <= limit.size || segments.reachable > 0 && since < limit.size / 8 {
            return None;
        }
        let reachable = self.reachable_words(roots, limit.size, limit.include_shared);
        let segments = &mut self.rare.get_or_insert_default().segments;
        (segments.reachable, segments.counted, segments.uncounted) = (reachable, young, 0);
        (reachable + need > limit.size).then_some(reachable + need)
    }

    /// What of `young` words lives has become old: for the limit they count as much until it is looked at again.
    pub(crate) fn count_promoted(&mut self, young: usize) {
        let left = self.all_young_words();
        if self.limit() > 0 {
            let segments = &mut self.rare.get_or_insert_default().segments;
            let since = young.saturating_sub(segments.counted);
            (segments.uncounted, segments.counted) = (segments.uncounted.saturating_add(since), left);
        }
    }

    /// Words of all objects that the process refers to, and of its stack; if it is more than `enough`, it may be less than they are.
    fn reachable_words(&self, roots: &Roots<'_>, enough: usize, with_binaries: bool) -> usize {
        let (mut seen, mut left, mut words) = (HashSet::new(), Vec::new(), self.stack_words());
        each_root(self, roots, |word| left.push(word));
        while let Some(word) = left.pop() {
            // SAFETY: heap/H2: words of the heap look like terms, and lead to objects, which do not change.
            unsafe {
                let term = Term::from_raw(word);
                if term.is_immediate() || is_literal(term.object_ptr()) || !seen.insert(term.object_ptr()) {
                    continue;
                }
                let at = term.object_ptr();
                if term.is_cons() {
                    words += 2;
                    left.extend([*at, *at.add(1)]);
                } else {
                    let object = Boxed::at(at);
                    words += 1 + object.size();
                    if with_binaries && object.kind() == Kind::SharedBinary {
                        words += object.word(0) as usize / 8;
                    }
                    if !Header::is_raw(*at) {
                        (1..=object.size()).for_each(|i| left.push(*at.add(i)));
                    }
                }
            }
            if words > enough {
                break;
            }
        }
        words
    }

    /// There is another limit: what is reachable is not known.
    pub(crate) fn forget_reachable(&mut self) {
        let segments = &mut self.rare.get_or_insert_default().segments;
        (segments.reachable, segments.uncounted) = (0, usize::MAX);
    }

    /// What counts for the limit between two looks.
    pub(crate) fn last_reachable(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.segments.reachable)
    }

    /// What was allocated in chunks is done; gives its words.
    pub(crate) fn retire_chunks(&mut self) -> usize {
        let words = std::mem::take(&mut self.fragment_words);
        let mut chunk = std::mem::replace(&mut self.fragments, ptr::null_mut());
        if chunk.is_null() {
            return 0;
        }
        let segments = &mut self.rare.get_or_insert_default().segments;
        segments.words += words;
        while !chunk.is_null() {
            segments.chunks.push(chunk);
            // SAFETY: a live chunk of this heap.
            chunk = unsafe { std::mem::replace(&mut (*chunk).next, ptr::null_mut()) };
        }
        words
    }

    /// The block becomes a segment, if there is something in it; the stack goes to one of `size` words.
    pub(crate) fn replace_block(&mut self, size: usize) {
        let (stack, used) = (self.stack_words(), self.young_words());
        let old = Segment { start: self.start, words: self.block_words(), account: self.account };
        let (new, account) = block::take(size, Class::Process);
        let end = new.wrapping_add(size);
        let stop = end.wrapping_sub(stack);
        // SAFETY: the new block has room for the stack.
        unsafe { ptr::copy_nonoverlapping(self.stop, stop, stack) };
        (self.start, self.htop, self.high_water, self.stop, self.hend) = (new, new, new, stop, end);
        self.account = account;
        if used == 0 {
            // SAFETY: nobody refers to an empty block.
            unsafe { old.give() };
        } else {
            let segments = &mut self.rare.get_or_insert_default().segments;
            segments.blocks.push(old);
            segments.words += used;
        }
        debug_assert!(self.bounds_hold(), "H1: another segment has bounds out of order");
    }

    /// The block joins these segments, and the heap has none any more, and no stack.
    pub(crate) fn leave_block(&mut self, segments: &mut Segments) {
        segments.words += self.young_words();
        segments.blocks.push(Segment { start: self.start, words: self.block_words(), account: self.account });
        let none = ptr::null_mut();
        (self.start, self.htop, self.high_water, self.stop, self.hend) = (none, none, none, none, none);
        self.account = Account::SHARED;
    }

    /// Words of young objects.
    pub(crate) fn all_young_words(&self) -> usize {
        self.young_words() + self.fragment_words + self.rare.as_ref().map_or(0, |rare| rare.segments.words)
    }
}

/// Calls `look` with each word that is a process's.
pub(crate) fn each_root(heap: &Heap, roots: &Roots<'_>, mut look: impl FnMut(u64)) {
    heap.stack().iter().for_each(|word| look(*word));
    for (at, len) in roots.spans() {
        // SAFETY: a listed root is an initialised word.
        (0..len).for_each(|i| look(unsafe { *at.add(i) }));
    }
}
