//! One heap of all processes (`+heap=shared`; Johansson, Sagonas, Wilhelmsson 2002, section 4): a message is a pointer.
//!
//! A process allocates in a block of its own, with its stack on top, as in the other architectures. When that is full it gets another one, and the full one
//! stays as it is: a *segment*. No process collects. When enough has been taken, or somebody asks, all schedulers stop between two slices, and what lives of
//! all that is young goes to the one old generation, which stays in place (`large.rs`) and is marked by a helper while the processes run (`marking.rs`).
//!
//! ```text
//!   process A         process B          processes that have ended
//!   block+stack       block+stack
//!   segments          segments           segments                       young: pointers lead anywhere
//!   chunks            chunks             chunks
//!       |                 |                  |
//!       +-----------------+------------------+--->  old generation       its objects refer to old ones only (heap/H4)
//! ```
//!
//! SH1. Young memory is freed only by a collection, which has all processes stopped; so a pointer to it is good in all of them.
//! SH2. What leaves a process otherwise than by a message is a copy (timers, signals, tables): it refers to nothing but itself and literals. So only
//!      processes and their messages hold pointers into the heap.
//! SH3. A process that is inside a built-in whose terms nobody lists is *pinned*: all that its roots lead to stays where it is, and all of its own memory. The
//!      built-in has got its terms from these roots, or made them in that memory. Who else refers to what stays gets a copy of it, so that nothing old refers to
//!      it (`pinned.rs`).
//! SH4. Literals that are to go wait for a collection of all during which no process is pinned: in one pass over the old generation and all roots, who refers to
//!      them gets copies. Until then whoever copies a term takes them along (vm/LC1), for a copy is no root.

use crate::account::{self, Class};
use crate::block;
use crate::copy::{Copier, Span, beside, mode};
use crate::fragment::Chunk;
use crate::gaps::Gaps;
use crate::heap::{Heap, RESERVED};
use crate::in_place::Destination;
use crate::literal::{self, LiteralArea, LiteralRanges, is_literal};
use crate::marking::Help;
use crate::one_heap::{self, Segment, Segments, is_old, taken};
pub use crate::one_heap::{is_due, is_on, is_over, request};
use crate::pinned::Pinned;
use crate::purge::Copies;
use crate::roots::Roots;
use crate::settings::Settings;
use crate::sizes;
use crate::term_walk::each_term;
use myriad_sync::{LockClass, Mutex};
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Boxed, Kind, OffHeap, Term};
use std::collections::HashSet;
use std::ptr::{self, NonNull};

/// Words of a segment, at most, unless more are needed at once.
const SEGMENT: usize = 8 * 1024;

static OLD_CLASS: LockClass = LockClass::new("shared_heap", 20);
/// The old generation, in a heap without a young one.
static OLD: Mutex<Option<Heap>> = Mutex::new(&OLD_CLASS, None);
static GOING_CLASS: LockClass = LockClass::new("going_literals", 948);
/// Literals that are to go (SH4).
static GOING: Mutex<Vec<LiteralArea>> = Mutex::new(&GOING_CLASS, Vec::new());
static ABANDONED_CLASS: LockClass = LockClass::new("abandoned_memory", 947);
/// Memory of processes that have ended.
static ABANDONED: Mutex<Vec<Memory>> = Mutex::new(&ABANDONED_CLASS, Vec::new());

/// What is left of a process that has ended.
struct Memory {
    segments: Segments,
    off_heap: OffHeap,
}

// SAFETY: it owns its blocks and counts.
unsafe impl Send for Memory {}

/// All processes have one heap from now on: to be called before the first is made. `false`: there are no addresses for it.
pub fn use_one_heap(schedulers: usize) -> bool {
    let mut old = Heap::without_block(&Settings::default());
    let Some((start, words)) = old.make_widest_old() else { return false };
    *OLD.lock() = Some(old);
    one_heap::begin(start, words, schedulers);
    true
}

/// Only the one heap refers to the terms of this area, and no copy of a term does from now on: it is to go (SH4).
pub fn release(area: LiteralArea) {
    GOING.lock().push(area);
    request();
}

/// Where the literals lie that are to go and are still there: copies of terms go on to take them along (SH4).
pub fn leaving() -> LiteralRanges {
    let mut ranges = LiteralRanges::default();
    GOING.lock().iter().for_each(|area| ranges.join(&area.ranges()));
    ranges
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
        let since = young.checked_sub(segments.counted).unwrap_or(young) + need;
        if segments.reachable + since <= limit.size || segments.reachable > 0 && since < limit.size / 8 {
            return None;
        }
        let reachable = self.reachable_words(roots, limit.size, limit.include_shared);
        let segments = &mut self.rare.get_or_insert_default().segments;
        (segments.reachable, segments.counted) = (reachable, young);
        (reachable + need > limit.size).then_some(reachable + need)
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

    /// What counts for the limit between two looks.
    pub(crate) fn last_reachable(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.segments.reachable)
    }

    /// What was allocated in chunks is done; gives its words.
    fn retire_chunks(&mut self) -> usize {
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
    fn replace_block(&mut self, size: usize) {
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

    /// Words of young objects.
    fn all_young_words(&self) -> usize {
        self.young_words() + self.fragment_words + self.rare.as_ref().map_or(0, |rare| rare.segments.words)
    }

    /// Its process has ended: the memory is that of those who refer to it (SH1).
    pub fn abandon(&mut self) {
        if !is_on() {
            return;
        }
        self.retire_chunks();
        if self.young_words() > 0 {
            taken(self.young_words());
            self.stop = self.hend;
            self.replace_block(sizes::at_least(RESERVED + 1));
        }
        let off_heap = std::mem::replace(&mut self.off_heap, OffHeap::new());
        let segments = self.rare.as_mut().map(|rare| std::mem::take(&mut rare.segments)).unwrap_or_default();
        debug_assert!(off_heap.first.is_null() || !segments.is_empty(), "H5: a chain of objects that lie nowhere");
        if !segments.is_empty() {
            ABANDONED.lock().push(Memory { segments, off_heap });
        }
    }
}

impl Pinned {
    /// Frees what nothing lives in.
    ///
    /// # Safety
    /// What lives has moved, but for what is pinned.
    unsafe fn free(&self, segments: &mut Segments) {
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
            if segments.is_empty() {
                segments.words = 0;
            }
        }
    }

    /// Of the objects of a chain those that have moved are the old generation's, those that stay remain, and the others give their counts back, unless all stay.
    ///
    /// # Safety
    /// As for [`Pinned::free`]; what has moved still stands.
    unsafe fn sweep(&self, chain: &mut OffHeap, all_stay: bool, old: &mut OffHeap) {
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
                    old.link(object.ptr(), weight);
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

/// All processes, stopped.
pub trait World {
    /// Calls `visit` with each process's heap and all places outside it that hold terms, and whether it is inside a built-in whose terms are not among them. If only
    /// `active` ones are asked for: those that have run since the last collection ([`Heap::is_touched`]), or for which something has come.
    fn each(&mut self, active: bool, visit: &mut dyn FnMut(&mut Heap, &mut Roots<'_>, bool));
}

/// Collects: all that is young, and all if that was asked for. Gives what helpers are to do.
///
/// # Safety
/// All processes are stopped, and `world` tells all of them (SH2).
pub unsafe fn collect(world: &mut impl World) -> Vec<Help> {
    let mut old = OLD.lock();
    let Some(old) = old.as_mut() else { return Vec::new() };
    let full = one_heap::begin_collection();
    let mut abandoned = std::mem::take(&mut *ABANDONED.lock());
    // SAFETY: the caller's promise.
    unsafe {
        let mut into_old = Vec::new();
        let (mut pinned, words) = find_pinned(world, &mut into_old);
        let words = words + abandoned.iter().map(|memory| memory.segments.words).sum::<usize>();
        let promoted = promote(world, &mut pinned, old, words);
        let mut chain = std::mem::replace(&mut old.old_off_heap, OffHeap::new());
        pinned.give_copies(&mut chain);
        world.each(true, &mut |heap, _, is_pinned| finish(heap, is_pinned, &pinned, &mut chain));
        abandoned.retain_mut(|memory| {
            pinned.sweep(&mut memory.off_heap, false, &mut chain);
            pinned.free(&mut memory.segments);
            !memory.segments.is_empty()
        });
        old.old_off_heap = chain;
        ABANDONED.lock().append(&mut abandoned);
        account::collected(words - promoted.min(words));
        old.minor_gcs = old.minor_gcs.saturating_add(1);
        if full {
            old.collect_old(world, &into_old);
            if !is_any_pinned(world) {
                old.release_literals(world);
            } else if !GOING.lock().is_empty() {
                one_heap::ask_next();
            }
            one_heap::end_full();
        } else if old.is_marking_due() {
            old.mark_from(world, into_old);
        } else {
            old.advance_marking(&Roots::new());
        }
        std::iter::from_fn(|| old.take_help()).collect()
    }
}

/// What stays where it is, and how many words are young.
unsafe fn find_pinned(world: &mut impl World, into_old: &mut Vec<u64>) -> (Pinned, usize) {
    let (mut pinned, mut words) = (Pinned::default(), 0);
    world.each(true, &mut |heap, roots, is_pinned| {
        words += heap.all_young_words();
        if is_pinned {
            // SAFETY: the roots' words are words of the heap.
            each_root(heap, roots, |word| unsafe { pinned.pin(word, into_old) });
        }
    });
    pinned.are_complete();
    (pinned, words)
}

/// Is any process inside a built-in whose terms nobody lists? They may be literals alone, and the process may not have run since the last collection.
fn is_any_pinned(world: &mut impl World) -> bool {
    let mut any = false;
    world.each(false, &mut |_, _, is_pinned| any |= is_pinned);
    any
}

/// Calls `look` with each word that is a process's.
fn each_root(heap: &Heap, roots: &Roots<'_>, mut look: impl FnMut(u64)) {
    heap.stack().iter().for_each(|word| look(*word));
    for (at, len) in roots.spans() {
        // SAFETY: a listed root is an initialised word.
        (0..len).for_each(|i| look(unsafe { *at.add(i) }));
    }
}

/// Moves all that lives and is not pinned to the old generation; gives its words.
unsafe fn promote(world: &mut impl World, pinned: &mut Pinned, old: &mut Heap, words: usize) -> usize {
    let words = words + pinned.words();
    if words > old.old_room() {
        block::out_of_memory(words, Class::Process);
    }
    let (into_old, scan_old) = Gaps::open(old, words);
    let range = Span::new(old.old_start, old.old_end);
    let mut copier = Copier::<{ mode::TENURE }, { beside::PINNED }, Gaps> {
        young: Span::of((0, 0)),
        mature: 0,
        old: range,
        to_young: Span::of((0, 0)),
        to_old: range,
        literals: Span::of(literal::range()),
        bundles: Span::of((0, 0)),
        held: None,
        pinned: Some(&mut *pinned),
        top: ptr::null_mut(),
        into_old,
    };
    // SAFETY: the caller's promise: these are all roots, and the old generation has room for all that is young (heap/C1).
    unsafe {
        world.each(true, &mut |heap, roots, is_pinned| {
            if is_pinned {
                return;
            }
            let stack = heap.stack_words();
            copier.roots(heap.stop, stack);
            for (at, len) in roots.spans_for(true) {
                copier.roots(at, len);
            }
        });
        copier.scan(ptr::null_mut(), scan_old);
    }
    copier.into_old.close(old, scan_old)
}

/// All that lives has moved: a heap begins anew.
fn finish(heap: &mut Heap, is_pinned: bool, pinned: &Pinned, old_chain: &mut OffHeap) {
    heap.total_gcs = heap.total_gcs.wrapping_add(1);
    heap.minor_gcs = heap.minor_gcs.saturating_add(1);
    // SAFETY: all that lives has moved, but for what is pinned, and the memory still stands.
    unsafe {
        pinned.sweep(&mut heap.off_heap, is_pinned, old_chain);
        heap.retire_chunks();
        if is_pinned || pinned.any_in(heap.start, heap.young_words()) {
            if heap.young_words() > 0 {
                let size = sizes::at_least((heap.stack_words() + RESERVED).max(heap.min_heap_size()));
                heap.replace_block(size);
            }
        } else {
            (heap.htop, heap.high_water) = (heap.start, heap.start);
            shrink(heap);
        }
        if is_pinned {
            return;
        }
        if let Some(rare) = &mut heap.rare {
            pinned.free(&mut rare.segments);
        }
        heap.forget_touch();
    }
}

/// A block that is empty becomes smaller, if it is large.
fn shrink(heap: &mut Heap) {
    let needed = (2 * heap.stack_words()).max(heap.min_heap_size()).max(RESERVED);
    if heap.block_words() > SEGMENT && heap.block_words() > 4 * needed {
        heap.replace_block(sizes::at_least(needed));
    }
}

impl Heap {
    /// Begins to mark the old generation from all roots.
    fn mark_from(&mut self, world: &mut impl World, mut into_old: Vec<u64>) {
        world.each(false, &mut |heap, roots, _| {
            each_root(heap, roots, |word| {
                // SAFETY: only looked at.
                let term = unsafe { Term::from_raw(word) };
                if !term.is_immediate() && is_old(term.object_ptr()) {
                    into_old.push(word);
                }
            });
        });
        self.begin_marking(into_old);
    }

    /// Who refers to literals that are to go gets copies (SH4); nothing is young.
    fn release_literals(&mut self, world: &mut impl World) {
        let going = std::mem::take(&mut *GOING.lock());
        if going.is_empty() {
            return;
        }
        let mut areas = LiteralRanges::default();
        going.iter().for_each(|area| areas.join(&area.ranges()));
        let (start, end) = self.old_area();
        let mut copies = Copies::new(&areas, InOld(self));
        // SAFETY: heap/H1 and heap/H2; all roots are listed. Copies are old, so all may refer to them (heap/H4).
        unsafe {
            each_term(start, end, |slot| copies.replace(slot));
            world.each(false, &mut |heap, roots, _| {
                (0..heap.stack_words()).for_each(|i| copies.replace(heap.stop.add(i)));
                for (at, len) in roots.spans() {
                    (0..len).for_each(|i| copies.replace(at.add(i)));
                }
            });
        }
    }

    /// Collects the old generation now, while the world stands.
    fn collect_old(&mut self, world: &mut impl World, into_old: &[u64]) {
        self.stop_marking();
        self.mark_from(world, into_old.to_vec());
        while self.is_marked() {
            while let Some(help) = self.take_help() {
                help.run();
            }
            self.advance_marking(&Roots::new());
        }
    }
}

/// Room behind what is old.
struct InOld<'h>(&'h mut Heap);

impl<'h> Alloc<'h> for InOld<'h> {
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        if words > self.0.old_room() {
            block::out_of_memory(words, Class::Process);
        }
        // SAFETY: an address of the old generation.
        unsafe { NonNull::new_unchecked(self.0.take_old(words)) }
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.0.old_off_heap.link(header, words) };
    }
}

/// Words of the old generation's objects, as far as is known.
pub fn old_words() -> usize {
    OLD.lock().as_ref().map_or(0, Heap::old_words)
}
