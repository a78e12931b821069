//! When and how much is collected, and what size the blocks get.
//!
//! A minor collection copies the young objects above the high-water mark to a new young block and promotes those below
//! it to the old block: an object that survives two is old. A fullsweep empties the old block too. A small heap's fullsweep
//! puts all into the young block again (the least memory); a large one's sorts by age like a minor one, so that the
//! next minor collection does not copy a gigabyte once more.
//!
//! Where nearly all fresh objects survived the last time, as in a process that builds up its state, another round in the
//! young block would only copy them once more: then all go to the old block at once, and the young block, emptied, stays
//! where it is.
//!
//! Sizes. The young block follows what survived and what is on the stack: as much again is left free, but beyond that
//! no more than [`NURSERY`] words (more would leave the cache and lengthen pauses) or what the roots and the stack
//! weigh (every collection reads them all, so collections must become rarer as these grow). A heap that is collected
//! again and again while hardly any other on its thread is gets [`BUSY`] words whatever survives. A block that had to be larger, because
//! all might have survived, and of which hardly anything is used, goes back to [`RESTING`] words: else each process that gets
//! messages in blocks of their own would end with a block that holds many times what it needs. The old block gets
//! twice what it must hold, so that a heap that grows to N words is copied about twice by all fullsweeps together, or just that where the last
//! fullsweep found half of it dead. When there is a fullsweep: [`crate::due`]. A heap whose size is
//! limited gets what it needs, where room that is only wished for would end the process now or when it is full.

use crate::account::{self, Class};
use crate::block::{self, Move};
use crate::bundle_area;
use crate::copy::{Copier, Span, beside, mode};
use crate::gaps::Gaps;
use crate::heap::{GcInfo, Heap, RESERVED, TO_FIT, words_between};
use crate::in_place::Destination;
use crate::literal;
use crate::meter::{self, Work};
use crate::old_space::Block;
use crate::one_heap;
use crate::phases::{self, Phase};
use crate::roots::Roots;
use crate::sizes;
use crate::sweep::Swept;
use myriad_sync::Account;
use myriad_term::OffHeap;
use std::cell::Cell;
use std::ptr;

/// Free words of the young block beyond which survivors do not enlarge it.
const NURSERY: usize = 64 * 1024;
/// Words of the young block of a heap that is its thread's busiest.
const BUSY: usize = 10_958;
/// Words of the young block of any other heap of which hardly anything survives; OTP's heaps come to as many.
const RESTING: usize = 2_586;
/// Up to this number of words a fullsweep puts all into the young block.
/// (Small in tests, as the other bounds are, so that small heaps meet every way of collecting.)
const SINGLE: usize = if cfg!(test) { 300 } else { 16 * 1024 };
/// Fresh words below which survivors say nothing about those to come.
const TENURE_LEAST: usize = if cfg!(test) { 60 } else { 1_000 };
/// A heap that is fitted to what lives has room for such a part of it more.
const FIT: usize = 4;
/// A heap is busy if it is collected again within this number of ticks of its thread's clock, on threads that know busy ones.
const BUSY_TICKS: u32 = 3;

thread_local! {
    /// Counts the collections that this thread ran.
    static CLOCK: Cell<u32> = const { Cell::new(0) };
    /// A heap is busy if it is collected again within this number of ticks.
    static TICKS: Cell<u32> = const { Cell::new(BUSY_TICKS) };
}

/// From now on no heap of this thread counts as busy: heaps grow by what survives alone, as OTP's do. For who simulates OTP.
pub fn grow_by_survivors() {
    TICKS.set(0);
}

/// What a collection did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcReport {
    /// Words moved: the work done, for reductions.
    pub words_copied: usize,
    /// Words of objects that died.
    pub words_reclaimed: usize,
    /// Was the old generation collected too?
    pub fullsweep: bool,
    /// The heap is larger than it may be, but its process is not to be killed for it.
    pub max_heap_exceeded: Option<MaxHeapExceeded>,
}

/// A heap would be larger than its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxHeapExceeded {
    /// Words that it would have had during the collection.
    pub total_words: usize,
    /// The figures before the collection.
    pub info: GcInfo,
}

/// What a collection does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plan {
    Minor,
    /// Fullsweep, sorting by age.
    Full,
    /// Fullsweep, all into the young block.
    Single,
    /// Minor, all into the old block.
    Tenure,
}

impl Heap {
    /// Collects: a minor collection, or a fullsweep if one is due. Afterwards [`Heap::ensure`]`(need)` holds, no
    /// fragments are left, and all terms of the heap have moved. Fails, leaving all as it was, if the heap would
    /// exceed its limit and the limit kills.
    ///
    /// # Safety
    /// `roots` lists every place outside the heap and its stack that holds a term of this heap and is used again.
    pub unsafe fn collect(&mut self, need: usize, roots: &mut Roots<'_>) -> Result<GcReport, MaxHeapExceeded> {
        if one_heap::is_on() {
            return self.go_on_in_segment(need, roots);
        }
        if self.flags & TO_FIT != 0 {
            // SAFETY: the caller's promise.
            return unsafe { self.collect_to_fit(need, roots) };
        }
        let plan = if self.fullsweep_due() {
            self.fullsweep_plan()
        } else if self.tenure_next && self.old_room() >= self.young_words() + self.fragment_words {
            Plan::Tenure
        } else {
            Plan::Minor
        };
        // SAFETY: the caller promises that `roots` are all the terms of the heap that are used afterwards.
        unsafe { self.run(plan, need, roots) }
    }

    /// Collects both generations.
    ///
    /// # Safety
    /// As [`Heap::collect`].
    pub unsafe fn collect_fullsweep(
        &mut self,
        need: usize,
        roots: &mut Roots<'_>,
    ) -> Result<GcReport, MaxHeapExceeded> {
        if one_heap::is_on() {
            return self.go_on_in_segment(need, roots);
        }
        let plan = self.fullsweep_plan();
        // SAFETY: the caller promises that `roots` are all the terms of the heap that are used afterwards.
        unsafe { self.run(plan, need, roots) }
    }

    /// Collects both generations into a block with no room left (`erlang:hibernate/3`).
    ///
    /// # Safety
    /// As [`Heap::collect`].
    pub unsafe fn shrink_to_fit(&mut self, roots: &mut Roots<'_>) -> Result<GcReport, MaxHeapExceeded> {
        if one_heap::is_on() {
            return self.go_on_in_segment(0, roots);
        }
        // SAFETY: the caller promises that `roots` are all the terms of the heap that are used afterwards.
        unsafe {
            let report = self.run(Plan::Single, 0, roots)?;
            self.relocate(self.young_words() + self.stack_words() + RESERVED, roots);
            Ok(report)
        }
    }

    /// Collects all of the heap of a process that sleeps into a block with little room left.
    ///
    /// # Safety
    /// As [`Heap::collect`].
    #[cold]
    unsafe fn collect_to_fit(&mut self, need: usize, roots: &mut Roots<'_>) -> Result<GcReport, MaxHeapExceeded> {
        // SAFETY: the caller promises that `roots` are all the terms of the heap that are used afterwards.
        unsafe {
            let report = self.run(Plan::Single, need, roots)?;
            let used = self.young_words() + self.stack_words() + RESERVED;
            let size = sizes::at_least(used.saturating_add(need.max(used / FIT)));
            if size < self.block_words() {
                self.relocate(size, roots);
            }
            Ok(report)
        }
    }

    /// Where all processes have one heap, none collects: it gets room elsewhere.
    fn go_on_in_segment(&mut self, need: usize, roots: &Roots<'_>) -> Result<GcReport, MaxHeapExceeded> {
        let info = self.info();
        let exceeded = self.exceeds(need, roots).map(|total_words| MaxHeapExceeded { total_words, info });
        if let Some(exceeded) = exceeded
            && self.max_heap_size().kill
        {
            return Err(exceeded);
        }
        self.take_segment(need);
        Ok(GcReport { words_copied: self.stack_words(), max_heap_exceeded: exceeded, ..GcReport::default() })
    }

    /// Collects both generations into the young block, whatever their size and limit. Does not rely on heap/H4.
    ///
    /// # Safety
    /// As [`Heap::collect`].
    pub(crate) unsafe fn collect_into_young(&mut self, roots: &mut Roots<'_>) -> GcReport {
        let limit = self.limit();
        self.set_limit(0);
        // SAFETY: the caller promises that `roots` are all terms of the heap that are used afterwards. Without a limit it does not fail.
        let report = unsafe { self.run(Plan::Single, 0, roots) }.unwrap_or_default();
        self.set_limit(limit);
        debug_assert!(self.old_start.is_null(), "H4 was not relied on, and something stayed in the old generation");
        report
    }

    /// Makes room to push `words` on the stack: a collection if there is none.
    ///
    /// # Safety
    /// As [`Heap::collect`].
    pub unsafe fn ensure_stack(&mut self, words: usize, roots: &mut Roots<'_>) -> Result<(), MaxHeapExceeded> {
        if !self.ensure(words) {
            // SAFETY: the caller promises that `roots` are all the terms of the heap that are used afterwards.
            unsafe { self.collect(words, roots)? };
        }
        Ok(())
    }

    /// The most words that [`Heap::collect`] would move now: whether to do it on a dirty scheduler.
    pub fn collection_estimate(&self) -> usize {
        if one_heap::is_on() {
            return 0;
        }
        let young = self.young_words() + self.fragment_words + self.stack_words();
        if self.fullsweep_due() || self.flags & TO_FIT != 0 { young + self.old_words() } else { young }
    }

    fn fullsweep_plan(&self) -> Plan {
        let all = self.young_words() + self.fragment_words + self.old_words();
        if all <= SINGLE || self.fullsweep_after == 0 { Plan::Single } else { Plan::Full }
    }

    /// Is this heap collected far more often than others on this thread?
    fn tick(&mut self) -> bool {
        let now = CLOCK.get().wrapping_add(1);
        CLOCK.set(now);
        let since = now.wrapping_sub(std::mem::replace(&mut self.last_seen, now));
        self.total_gcs > 2 && since <= TICKS.get()
    }

    /// The size of the next young block, to which up to `survivors` words and the stack go.
    fn young_size(&self, survivors: usize, need: usize, roots: usize, busy: bool) -> usize {
        let size = self.block_words();
        let stack = self.stack_words();
        let mut wanted = size.max(self.min_heap_size());
        if busy && wanted < BUSY {
            wanted = sizes::above(wanted);
        }
        // What is likely to live: what did so last time.
        let live = self.mature_words() + stack;
        let free = live.min(NURSERY.max(stack + roots));
        if size - live.min(size) < free {
            wanted = wanted.max(sizes::at_least(live + free));
        }
        let mut least = survivors + stack + RESERVED;
        if need > wanted / 2 {
            // Surely more than will be free: better now than by a second move.
            least = least.saturating_add(need);
        }
        if least > wanted { sizes::at_least(least) } else { wanted }
    }

    /// The same without room for what is to come, beyond what is asked for.
    fn least_young_size(&self, survivors: usize, need: usize) -> usize {
        let least = survivors + self.stack_words() + RESERVED;
        sizes::at_least(least.saturating_add(need).max(self.min_heap_size()))
    }

    unsafe fn run(&mut self, plan: Plan, need: usize, roots: &mut Roots<'_>) -> Result<GcReport, MaxHeapExceeded> {
        let phase = if matches!(plan, Plan::Full | Plan::Single) { Phase::Major } else { Phase::Minor };
        // SAFETY: the caller's promise about the roots.
        phases::measured(phase, || unsafe { self.run_plan(plan, need, roots) })
    }

    unsafe fn run_plan(&mut self, plan: Plan, need: usize, roots: &mut Roots<'_>) -> Result<GcReport, MaxHeapExceeded> {
        debug_assert!(!self.start.is_null(), "a heap without a block is never collected: it joins another");
        debug_assert!(self.bounds_hold(), "H1: a collection begins with bounds out of order");
        self.flags &= !TO_FIT;
        let info = self.info();
        let before = info.heap_size + info.old_heap_size + info.mbuf_size;
        let busy = self.tick();
        let survivors = match plan {
            Plan::Minor | Plan::Full => before - info.old_heap_size - info.recent_size,
            Plan::Single => before,
            Plan::Tenure => 0,
        } + self.leaving_words();
        let mut size = self.young_size(survivors, need, roots.words(), busy);
        if self.limit() != 0 {
            let later = info.old_heap_size.saturating_add((size + info.mbuf_size).saturating_mul(2));
            let total = before.saturating_add(size).max(later);
            if self.limit_exceeded(total, info).is_some() {
                size = self.least_young_size(survivors, need).min(size);
            }
        }
        let exceeded = self.limit_exceeded(before.saturating_add(size), info);
        if let Some(exceeded) = exceeded
            && self.max_heap_size().kill
        {
            return Err(exceeded);
        }
        debug_assert!(
            size >= survivors + info.stack_size + RESERVED,
            "C1: {survivors} survivors and the stack do not fit a young block of {size} words"
        );
        #[cfg(heap_check)]
        if plan != Plan::Single {
            self.check(roots);
        }
        let (asked, seemed_to_pay) = (self.fullsweep_next, self.is_stale());
        // What the collection finds may ask for another one (`leave.rs`).
        self.fullsweep_next &= matches!(plan, Plan::Minor | Plan::Tenure);
        // SAFETY: the caller's promise; `size` holds the survivors and the stack (heap/C1).
        let mut words_copied = unsafe {
            let promote = plan != Plan::Single;
            let way = if plan == Plan::Single && self.old_start.is_null() { Plan::Minor } else { plan };
            match way {
                Plan::Minor => self.copy::<{ mode::MINOR }>(size, promote, roots),
                Plan::Tenure => self.copy::<{ mode::TENURE }>(size, promote, roots),
                Plan::Full => self.copy::<{ mode::FULL }>(size, promote, roots),
                Plan::Single => self.copy::<{ mode::SINGLE }>(size, promote, roots),
            }
        };
        let emptied = if matches!(plan, Plan::Minor | Plan::Tenure) { before - info.old_heap_size } else { before };
        debug_assert!(words_copied <= emptied, "{words_copied} words were copied of {emptied}: some of them twice");
        self.total_gcs = self.total_gcs.wrapping_add(1);
        let fresh = info.heap_size - info.recent_size + info.mbuf_size;
        if matches!(plan, Plan::Minor | Plan::Tenure) {
            self.minor_gcs = self.minor_gcs.saturating_add(1);
            let survived = if plan == Plan::Minor { self.young_words() } else { words_copied };
            let candidates = if plan == Plan::Minor { fresh } else { fresh + info.recent_size };
            self.tenure_next = candidates >= TENURE_LEAST && survived >= candidates / 4 * 3;
            self.thrift.minor(fresh, info.stack_size, self.old_words() > info.old_heap_size);
        } else {
            self.minor_gcs = 0;
            let live = if plan == Plan::Full { self.old_words() } else { words_copied };
            self.thrift.fullsweep(live, info.old_heap_size + info.recent_size, info.stack_size, seemed_to_pay);
        }
        self.collect_next = self.leaving_words() > 0;
        // SAFETY: the caller's promise; the heap is whole again.
        unsafe { self.resize_young(need, plan, busy, roots) };
        if plan == Plan::Full
            && (asked || seemed_to_pay || !busy)
            && self.young_words() + self.old_words() <= SINGLE / 4
        {
            // Hardly anything of a large heap was alive: that fits the young block.
            let all = self.young_words() + self.old_words();
            let least = all.saturating_add(self.stack_words()).saturating_add(need).saturating_add(RESERVED);
            let size = sizes::at_least(least.max(self.min_heap_size()));
            // SAFETY: as above; `size` holds all (heap/C1).
            unsafe { self.copy::<{ mode::SINGLE }>(size, false, roots) };
        }
        if matches!(plan, Plan::Minor | Plan::Tenure) {
            // SAFETY: the caller's promise; there are no fragments.
            words_copied += unsafe { self.advance_in_place(roots) };
        }
        #[cfg(heap_check)]
        self.check(roots);
        debug_assert!(self.bounds_hold(), "H1: a collection left bounds out of order");
        debug_assert!(self.ensure(need), "a collection for {need} words left no room for them");
        let words_reclaimed = before.saturating_sub(self.young_words() + self.old_words());
        account::collected(words_reclaimed);
        meter::count(Work::Collection, 1);
        meter::count(Work::Allocated, fresh as u64);
        meter::count(Work::CollectedWord, words_copied as u64);
        Ok(GcReport {
            words_copied,
            words_reclaimed,
            fullsweep: matches!(plan, Plan::Full | Plan::Single),
            max_heap_exceeded: exceeded,
        })
    }

    fn limit_exceeded(&self, words: usize, info: GcInfo) -> Option<MaxHeapExceeded> {
        let limit = self.max_heap_size();
        if limit.size == 0 {
            return None;
        }
        let shared = if limit.include_shared { info.bin_vheap_size + info.bin_old_vheap_size } else { 0 };
        let total_words = words.saturating_add(shared).saturating_add(self.held_words());
        (total_words > limit.size).then_some(MaxHeapExceeded { total_words, info })
    }

    /// Grows the young block for `need`, or shrinks it if hardly anything is in it.
    unsafe fn resize_young(&mut self, need: usize, plan: Plan, busy: bool, roots: &mut Roots<'_>) {
        let size = self.block_words();
        let needed =
            self.young_words().saturating_add(self.stack_words()).saturating_add(need).saturating_add(RESERVED);
        let least = if plan == Plan::Single || self.limit() != 0 {
            self.min_heap_size()
        } else if busy {
            NURSERY
        } else {
            RESTING
        };
        let wanted = if needed > size {
            sizes::at_least(needed)
        } else if needed < size / 4 && size > least {
            sizes::at_least((needed * 3).max(least).max(self.min_heap_size()))
        } else {
            return;
        };
        if needed > size || wanted < size {
            // SAFETY: the caller's promise; all fits, since `wanted >= needed` less what is only wished for.
            unsafe { self.relocate(wanted, roots) };
        }
    }

    /// Makes the old block that a minor collection needs, if there is none.
    fn ensure_old_block(&mut self, words: usize) {
        if self.old_start.is_null() && words > 0 {
            self.make_old(words, words.saturating_mul(2), Move { copied: 0, freed: 0 });
        }
    }

    pub(crate) fn install_old_block(&mut self, start: *mut u64, size: usize) {
        debug_assert_eq!(start.is_null(), size == 0, "an old block without words, or words without a block");
        self.old_start = start;
        self.old_top = start;
        self.old_end = start.wrapping_add(size);
        self.old_limit = self.old_end;
    }

    /// [`Heap::copy_beside`], for where the old objects go.
    unsafe fn copy<const MODE: u8>(&mut self, size: usize, promote: bool, roots: &mut Roots<'_>) -> usize {
        if MODE == mode::MINOR && promote {
            self.ensure_old_block(self.mature_words());
        }
        // SAFETY: the caller's promise.
        unsafe {
            if matches!(MODE, mode::MINOR | mode::TENURE) && self.large().is_some() {
                self.copy_beside::<MODE, Gaps>(size, promote, roots)
            } else {
                self.copy_beside::<MODE, Block>(size, promote, roots)
            }
        }
    }

    /// [`Heap::copy_to`], for what there is beside the generations.
    unsafe fn copy_beside<const MODE: u8, O: Destination>(
        &mut self,
        size: usize,
        promote: bool,
        roots: &mut Roots<'_>,
    ) -> usize {
        // SAFETY: the caller's promise.
        unsafe {
            // A minor collection without fragments leaves alone what is in no generation, as it does what the old one holds.
            let leaves = promote && matches!(MODE, mode::MINOR | mode::TENURE) && self.fragments.is_null();
            let leaves = leaves && !self.is_marked();
            if self.held().is_some_and(|held| if leaves { held.has_young() } else { !held.is_empty() }) {
                self.copy_to::<MODE, { beside::BUNDLES }, O>(size, promote, roots)
            } else if self.fragments.is_null() {
                self.copy_to::<MODE, { beside::NOTHING }, O>(size, promote, roots)
            } else {
                self.copy_to::<MODE, { beside::FRAGMENTS }, O>(size, promote, roots)
            }
        }
    }

    /// Copies what is alive to a new young block of `size` words and to the old destination; gives the words moved.
    #[inline(never)]
    unsafe fn copy_to<const MODE: u8, const BESIDE: u8, O: Destination>(
        &mut self,
        size: usize,
        promote: bool,
        roots: &mut Roots<'_>,
    ) -> usize {
        let minor = MODE == mode::MINOR || MODE == mode::TENURE;
        debug_assert!(
            BESIDE != beside::NOTHING || self.fragments.is_null(),
            "H3: there are fragments that the copier would not empty"
        );
        let promoted = match MODE {
            mode::MINOR if promote => self.mature_words(),
            mode::TENURE => self.young_words() + self.fragment_words,
            _ => 0,
        };
        debug_assert!(promoted <= self.old_room(), "C1: the old block has no room for {promoted} words of survivors");
        let from_young = (self.start, self.block_words());
        let from_old = (self.old_start, self.old_block_words());
        let (old_start, old_used_end) = self.old_area();
        let old_used = Span::new(old_start, old_used_end);
        let from_large = if minor { None } else { self.take_large() };
        let stack = self.stack_words();
        // Emptied wholly, the block can stay.
        let in_place = MODE == mode::TENURE && size == from_young.1;
        // Of what is collected only the stack surely lives.
        let freed = if minor { from_young.1 } else { from_young.1 + from_old.1 };
        let plan = Move { copied: stack, freed };
        let new = if in_place { self.start } else { block::take_for(size, Class::Process, plan) };
        let new_end = new.wrapping_add(size);
        let new_stop = new_end.wrapping_sub(stack);
        let literals = Span::of(literal::range());
        let young = Span::new(self.start, self.htop);
        // With no old block a fullsweep into the young block is a minor collection that promotes nothing.
        let mature = if promote { self.mature_words() * 8 } else { 0 };
        match MODE {
            mode::FULL => {
                let words = self.old_words() + self.mature_words() + self.leaving_words();
                let size = if self.thrift.is_growing() { words.saturating_mul(2) } else { words };
                self.make_old(words, size, Move { copied: 0, freed: freed.saturating_sub(size) });
            }
            mode::SINGLE => self.install_old_block(ptr::null_mut(), 0),
            _ => {}
        }
        let (into_old, scan_old) = O::open(self, promoted);
        let mut rare = self.rare.take();
        let held = rare.as_deref_mut().map(|rare| &mut rare.held);
        let bundles = bundle_area::range();
        let mut copier = Copier::<MODE, BESIDE, O> {
            young,
            mature,
            // Objects of the present old block stay in a minor collection: its used part suffices, and what is promoted
            // now must be known as to-space as well.
            old: if minor { Span::new(self.old_start, self.old_end) } else { old_used },
            to_young: if in_place { Span::of((0, 0)) } else { Span::new(new, new_end) },
            to_old: Span::new(self.old_start, self.old_end),
            literals,
            bundles: Span::of((bundles.base, bundles.len)),
            held,
            top: new,
            into_old,
        };
        // SAFETY: the caller lists all roots; destinations have room (heap/C1): the young block by `size`, the old one because
        // a minor collection is run only if all mature objects fit, and a fullsweep's was made for all.
        unsafe {
            copier.begin_with_held(minor && promote);
            if in_place {
                copier.roots(self.stop, stack);
            } else {
                copier.stack(self.stop, new_stop, stack);
            }
            for (at, len) in roots.spans_for(minor && promote) {
                copier.roots(at, len);
            }
            copier.scan(new, scan_old);
            let (top, into_old) = (copier.top, copier.into_old);
            debug_assert!(top <= new_stop, "C1: survivors were written over the stack");
            debug_assert!(MODE != mode::TENURE || top == new, "something stayed young where all was to be promoted");

            self.rare = rare;
            let young_chain = Heap::take_chain(&mut self.off_heap);
            let kept = if minor { std::mem::take(&mut self.old_off_heap) } else { OffHeap::new() };
            let adapts = !young_chain.is_null() || !minor || BESIDE == beside::BUNDLES;
            if !young_chain.is_null() || !minor {
                let mut swept = Swept::new(kept, self.old_start, self.old_end);
                swept.sweep(young_chain);
                if !minor {
                    swept.sweep(Heap::take_chain(&mut self.old_off_heap));
                }
                self.install_chains(swept);
            } else {
                self.old_off_heap = kept;
            }

            self.start = new;
            self.htop = top;
            self.high_water = top;
            self.stop = new_stop;
            self.hend = new_end;
            let promoted = into_old.close(self, scan_old);
            if MODE == mode::FULL {
                self.settle_old();
            }
            if BESIDE == beside::BUNDLES {
                self.leave_bundles(minor && promote);
            }
            if adapts {
                self.adapt_limits(!minor);
            }
            if MODE == mode::FULL && self.large().is_none() {
                // The block was made for the worst case; the next fullsweep is due when twice what lives is there.
                let live = self.old_words();
                let limit = sizes::at_least(live.saturating_mul(2).max(SINGLE)).min(self.old_block_words());
                let left = block::truncate(self.old_start, self.old_block_words(), limit, Class::Process);
                self.old_end = self.old_start.add(left);
                self.old_limit = self.old_start.add(limit);
            }
            if !in_place {
                block::give(from_young.0, from_young.1, Class::Process);
            }
            if !minor {
                Heap::give_old_generation(from_large, from_old.0, from_old.1, Account::own());
            }
            if BESIDE != beside::NOTHING {
                self.drop_fragments();
            }
            words_between(new, top) + promoted
        }
    }
}
