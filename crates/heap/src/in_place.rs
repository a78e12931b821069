//! Collecting the old generation of a large heap where it is ([`crate::large`]): what its owner does.

use crate::account::Class;
use crate::attribution::Told;
use crate::block::{self, Move};
use crate::candidates::Owned;
use crate::gaps::Gaps;
use crate::heap::{Heap, Rare, words_between};
use crate::large::{Cycle, LARGE, Large, SWEPT_AT_ONCE, UNHURRIED};
use crate::marking::{Help, Marking, OfGaps, Released, Stage};
use crate::old_space::{Block, OldSpace};
use crate::one_heap;
use crate::reserved::HUGE_PAGE;
use crate::roots::Roots;
use crate::sizes;
use crate::term_walk::each_term;
use myriad_sync::{Account, Arc};
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Kind, Term};
use std::collections::BTreeSet;
use std::ptr;

/// A marking for which no helper comes is given up after so many collections, if the heap has become several times as large meanwhile.
const PATIENT: u32 = 64;

/// Before others are released, gaps are kept for what so many collections promote.
const KEPT: usize = 4;

/// Where a heap's old objects go.
pub(crate) trait Destination: OldSpace {
    /// That of a heap, to which up to `words` words come, and where what comes is scanned from.
    fn open(heap: &mut Heap, words: usize) -> (Self, *mut u64)
    where
        Self: Sized;

    /// All has come; gives its words.
    fn close(self, heap: &mut Heap, opened: *mut u64) -> usize;
}

impl Destination for Block {
    fn open(heap: &mut Heap, _: usize) -> (Block, *mut u64) {
        (Block { top: heap.old_top }, heap.old_top)
    }

    fn close(self, heap: &mut Heap, opened: *mut u64) -> usize {
        debug_assert!(self.top <= heap.old_end, "C1: survivors were written beyond the old block");
        heap.old_top = self.top;
        words_between(opened, self.top)
    }
}

impl Destination for Gaps {
    fn open(heap: &mut Heap, words: usize) -> (Gaps, *mut u64) {
        heap.make_usable(Gaps::room_for(words));
        let mut gaps = heap.large_mut().map_or_else(Gaps::default, |large| {
            large.use_released();
            std::mem::take(&mut large.gaps)
        });
        let start = gaps.begin();
        (gaps, start)
    }

    fn close(self, heap: &mut Heap, _: *mut u64) -> usize {
        let Some(large) = heap.large_mut() else { return 0 };
        large.gaps = self;
        let filled = large.gaps.finish();
        let words = large.note(&filled);
        heap.prepare_end();
        words
    }
}

impl Heap {
    pub(crate) fn large(&self) -> Option<&Large> {
        self.rare.as_ref().and_then(|rare| rare.large.as_deref())
    }

    pub(crate) fn large_mut(&mut self) -> Option<&mut Large> {
        self.rare.as_mut().and_then(|rare| rare.large.as_deref_mut())
    }

    /// Work for a helper thread, that the last collection has found. Who does not give it to one keeps the old generation from being collected in place.
    pub fn take_help(&mut self) -> Option<Help> {
        self.large_mut().and_then(|large| large.help.pop())
    }

    /// An old generation to which up to so many words come: with addresses of its own, if it is large and there are any, else a block of a size.
    pub(crate) fn make_old(&mut self, words: usize, size: usize, plan: Move) {
        debug_assert!(self.large().is_none(), "the old generation is still there");
        debug_assert!(words <= size, "C1: an old generation of {size} words is made for {words}");
        if sizes::at_least(words.saturating_mul(2)) >= LARGE
            && let Some(large) = Large::new(words)
        {
            self.install_large(large);
            self.make_usable_for(words, plan.freed);
        } else {
            let size = sizes::at_least(size);
            self.install_old_block(block::take_for(size, Class::Process, plan), size);
        }
    }

    /// A large old generation with as many addresses as there are for the heap of all processes; where it begins, and its words.
    pub(crate) fn make_widest_old(&mut self) -> Option<(*mut u64, usize)> {
        let large = Large::widest()?;
        let range = large.range();
        self.install_large(large);
        Some(range)
    }

    fn install_large(&mut self, large: Large) {
        let start = large.range().0;
        Class::Process.ledger().come(0);
        (self.old_start, self.old_top, self.old_limit, self.old_end) = (start, start, start, start);
        self.rare.get_or_insert_default().large = Some(Box::new(large));
    }

    /// Of a large old generation, makes so many words behind what was ever used memory.
    pub(crate) fn make_usable(&mut self, words: usize) {
        self.make_usable_for(words, 0);
    }

    /// So many words are given back then.
    fn make_usable_for(&mut self, words: usize, freed: usize) {
        let Some(large) = self.large_mut() else { return };
        let needed = large.gaps.end().wrapping_add(words);
        if needed > large.usable {
            let (start, reserved) = large.range();
            let least = words_between(large.usable, needed).next_multiple_of(HUGE_PAGE / 8);
            let more = least.min(words_between(large.usable, start.wrapping_add(reserved)));
            block::require_for(more, Class::Process, Move { copied: 0, freed });
            if !large.memory.commit(large.usable.addr(), more * 8) {
                block::out_of_memory(more, Class::Process);
            }
            large.usable = large.usable.wrapping_add(more);
        }
        if needed > self.old_end {
            self.end_at(needed);
        }
    }

    /// The memory that counts as the old generation's ends behind this address.
    fn end_at(&mut self, needed: *mut u64) {
        let (start, before) = (self.old_start, self.old_block_words());
        let Some(large) = self.large_mut() else { return };
        let words =
            words_between(start, needed).next_multiple_of(HUGE_PAGE / 8).min(words_between(start, large.usable));
        let end = start.wrapping_add(words);
        large.gaps.set_limit(end);
        self.old_end = end;
        Class::Process.ledger().resize(Account::own(), before, self.old_block_words());
        self.show_end();
    }

    /// Something may have been put at the end of a large old generation: behind it there is to be memory for what comes.
    pub(crate) fn prepare_end(&mut self) {
        let Some(large) = self.large() else { return };
        let (end, ahead) = (large.gaps.end(), large.ahead());
        if self.old_room() > ahead {
            self.make_usable(ahead);
        }
        self.end_at(end);
        if let Some(large) = self.large_mut() {
            large.populate();
            // What is filled while gaps are released is known when all are.
            if large.cycle.as_ref().is_none_or(|cycle| !cycle.is_swept) {
                let free = large.free.saturating_sub(large.gaps.take_refilled());
                self.set_free(free);
            }
        }
    }

    /// So many words are those of large gaps, and do not count as memory.
    fn set_free(&mut self, words: usize) {
        let before = self.old_block_words();
        let Some(large) = self.large_mut() else { return };
        if std::mem::replace(&mut large.free, words) != words {
            Class::Process.ledger().resize(Account::own(), before, self.old_block_words());
        }
    }

    /// The bounds of the old generation are those of its free end.
    fn show_end(&mut self) {
        if let Some(end) = self.large().map(|large| large.gaps.end()) {
            (self.old_top, self.old_limit) = (end, self.old_end);
        }
    }

    /// All of a large old generation is new.
    pub(crate) fn settle_old(&mut self) {
        let (start, top, end) = (self.old_start, self.old_top, self.old_end);
        if let Some(large) = self.large_mut() {
            large.gaps = Gaps::at_end(top, end);
            large.words = words_between(start, top);
            (large.live, large.grown) = (large.words, 0);
            self.end_at(top);
        }
    }

    /// Takes so many words in one piece behind all that was ever used, for which there is room ([`Heap::old_room`]).
    pub(crate) fn take_old(&mut self, words: usize) -> *mut u64 {
        debug_assert!(words <= self.old_room(), "C1: the old generation has no room for {words} words");
        self.make_usable(words);
        let Some(large) = self.large_mut() else {
            let at = self.old_top;
            self.old_top = at.wrapping_add(words);
            return at;
        };
        let at = large.gaps.take_at_end(words);
        if let Some(evacuation) = &mut large.evacuation {
            let start = at.expose_provenance();
            evacuation.note(std::iter::once(start..start + 8 * words));
        }
        large.words += words;
        large.grown += words;
        self.show_end();
        at
    }

    /// Gives the memory of an old generation back that was taken out.
    ///
    /// # Safety
    /// It was the heap's, with so many words on this account, and nobody refers to it.
    pub(crate) unsafe fn give_old_generation(
        large: Option<Box<Large>>,
        start: *mut u64,
        words: usize,
        account: Account,
    ) {
        if large.is_some() {
            Class::Process.ledger().go(account, words);
        } else {
            // SAFETY: the caller's promise.
            unsafe { block::give_of(start, words, Class::Process, account) };
        }
    }

    /// Gives the old generation back. No helper works at it any more.
    ///
    /// # Safety
    /// Nobody refers to it.
    pub(crate) unsafe fn give_old(&mut self) {
        // Of a large one as long as it is there: its gaps do not count.
        let words = self.old_block_words();
        let large = self.rare.as_mut().and_then(|rare| rare.large.take());
        // SAFETY: the caller's promise.
        unsafe { Heap::give_old_generation(large, self.old_start, words, self.account) };
    }

    /// Takes a large old generation out, which is about to be emptied. No helper works at it any more.
    pub(crate) fn take_large(&mut self) -> Option<Box<Large>> {
        let mut large = self.rare.as_mut().and_then(|rare| rare.large.take())?;
        large.stop();
        Some(large)
    }

    /// Stops the helper that marks, since words of old objects are about to be written.
    pub(crate) fn stop_marking(&mut self) {
        if let Some(large) = self.large_mut() {
            large.stop();
        }
    }

    /// Is a large old generation being marked? Then the words that lead from it to bundles are looked for.
    pub(crate) fn is_marked(&self) -> bool {
        self.large().is_some_and(|large| large.cycle.is_some())
    }

    /// A minor collection is over: goes on with the marking of a large old generation, or empties some of it, or begins a marking. Gives the words that it has moved.
    ///
    /// # Safety
    /// The roots are as for [`Heap::collect`].
    pub(crate) unsafe fn advance_in_place(&mut self, roots: &Roots<'_>) -> usize {
        let Some(large) = self.large_mut() else { return 0 };
        large.asleep.collected();
        let moved = if large.cycle.is_none() && large.evacuation.is_some() {
            // SAFETY: the caller's promise; no helper works at the generation.
            unsafe { self.evacuate_some(roots) }
        } else {
            self.advance_marking(roots);
            0
        };
        self.look_before_sleep();
        moved
    }

    /// A collection is over: goes on with the marking of a large old generation, or begins one.
    pub(crate) fn advance_marking(&mut self, roots: &Roots<'_>) {
        let Some(large) = self.large_mut() else { return };
        let Some(cycle) = &mut large.cycle else {
            if self.is_marking_due(LARGE / 4) {
                self.begin_marking(Told::by_nobody(self.words_into_old(roots)));
            }
            return;
        };
        let marking = Arc::clone(&cycle.marking);
        cycle.collections += 1;
        if cycle.collections > PATIENT && large.grown - cycle.grown > 2 * cycle.words + 8 * LARGE {
            // No helper comes.
            large.stop();
            self.request_fullsweep();
            return;
        }
        let marked = marking.stage(|stage| match stage {
            Stage::Marked(bundles) => Some(std::mem::take(bundles)),
            _ => None,
        });
        if let Some(bundles) = marked {
            self.sweep_marked(&marking, bundles);
        } else if let Some(released) = large.take_released() {
            self.end_marking(released);
        }
    }

    /// Has a large old generation, which is not being marked, grown so that it is to be: by so many words, or more if more lives?
    pub(crate) fn is_marking_due(&self, least: usize) -> bool {
        self.large().is_some_and(|large| {
            large.cycle.is_none()
                && (large.is_sparse
                    || large.grown >= large.patience(least)
                    || self.old_off_heap.binary_words > self.old_bin_vheap_limit
                    || self.minor_gcs >= self.fullsweep_after)
        })
    }

    /// The words of the young generation, the stack and the roots that lead into the old generation.
    fn words_into_old(&self, roots: &Roots<'_>) -> Vec<u64> {
        let mut into_old = Vec::new();
        let Some(large) = self.large() else { return into_old };
        let (start, end) = (self.old_start, large.gaps.end());
        let mut look = |word: u64| {
            // SAFETY: only looked at.
            let term = unsafe { Term::from_raw(word) };
            if !term.is_immediate() && (start..end).contains(&term.object_ptr()) {
                into_old.push(word);
            }
        };
        // SAFETY: heap/H1 and heap/H2; the fragments have just been emptied.
        unsafe { each_term(self.start, self.htop, |slot| look(*slot)) };
        self.stack().iter().for_each(|word| look(*word));
        for (at, len) in roots.spans() {
            // SAFETY: a listed root is an initialised word.
            (0..len).for_each(|i| look(unsafe { *at.add(i) }));
        }
        into_old
    }

    /// Begins to mark a large old generation from the words that lead into it.
    pub(crate) fn begin_marking(&mut self, told: Told) {
        if self.prepare_marking() {
            self.start_marking(told);
        }
    }

    /// What lies in a large old generation now will be marked ([`Heap::start_marking`]); what is promoted from now on lives. `false`: it cannot be marked.
    pub(crate) fn prepare_marking(&mut self) -> bool {
        let Some(large) = self.large() else { return false };
        let (start, end) = (self.old_start, large.gaps.end());
        let Some(marking) = Marking::new(&large.memory, words_between(start, end)).map(Arc::new) else {
            // No addresses are left for its maps.
            self.request_fullsweep();
            return false;
        };
        self.minor_gcs = 0;
        if let Some(Rare { large: Some(large), held, .. }) = self.rare.as_deref_mut() {
            held.begin_marking();
            large.is_sparse = false;
            large.evacuation = None;
            large.asleep.marks();
            large.cycle = Some(Cycle {
                marking,
                swept: ptr::null_mut(),
                bundles: None,
                is_swept: false,
                used: 0,
                not_counted: 0,
                collections: 0,
                grown: large.grown,
                words: large.words,
            });
        }
        true
    }

    /// A helper marks from the words that led into the old generation when that was prepared.
    pub(crate) fn start_marking(&mut self, told: Told) {
        let Some(large) = self.large_mut() else { return };
        let Some(cycle) = &large.cycle else { return };
        cycle.marking.stage(|stage| *stage = Stage::Mark(told));
        large.help.push(Help::mark(&cycle.marking, None));
    }

    /// All that lives is marked: gives back the counts of a part of the others. When no others are left, a helper releases the gaps.
    fn sweep_marked(&mut self, marking: &Arc<Marking>, bundles: BTreeSet<usize>) {
        let Some(Rare { large: Some(large), .. }) = self.rare.as_deref_mut() else { return };
        // What all processes promote mostly dies before the next marking: about as much is filled, and free again, each time.
        let soon_filled = large.grown.max(large.patience(UNHURRIED));
        let Some(cycle) = &mut large.cycle else { return };
        cycle.bundles.get_or_insert(bundles);
        let (mut words, mut left) = (0, SWEPT_AT_ONCE);
        loop {
            // SAFETY: heap/H5: the chain holds off-heap objects of the old generation, and nobody refers to those that are not marked.
            unsafe {
                let chain = &mut self.old_off_heap;
                let at = if cycle.swept.is_null() { chain.first } else { Boxed::at(cycle.swept).off_heap_next() };
                if at.is_null() {
                    break;
                }
                if left == 0 {
                    self.old_off_heap.binary_words -= words.min(self.old_off_heap.binary_words);
                    return;
                }
                left -= 1;
                let object = Boxed::at(at);
                if marking.map.place(at.addr()).is_none_or(|place| marking.is_live(place)) {
                    cycle.swept = at;
                    continue;
                }
                let next = object.off_heap_next();
                if cycle.swept.is_null() {
                    chain.first = next;
                } else {
                    Boxed::at(cycle.swept).set_off_heap_next(next);
                }
                if object.kind() == Kind::SharedBinary {
                    words += object.word(0) as usize / 8;
                }
                object.release_off_heap();
                *at = Header::new(Kind::Filler, object.size()).raw();
            }
        }
        cycle.is_swept = true;
        let behind = words_between(marking.map.address(marking.map.words()), large.gaps.end());
        cycle.used = marking.map.words() + behind;
        let memory = match (one_heap::is_on(), one_heap::is_at_rest()) {
            (true, true) => OfGaps::AT_REST,
            (true, false) => OfGaps::filled(soon_filled),
            (false, _) => OfGaps::filled(0),
        };
        if one_heap::is_on() {
            // What was left of gaps that several threads filled may be all that is free.
            large.gaps.keep_no_more(marking, memory.kept);
        }
        let earlier = large.gaps.renew(Arc::clone(marking), KEPT * large.promoted);
        cycle.not_counted = (behind as i64 - large.gaps.free() as i64) - large.grown as i64;
        // Who has nothing to do fills no gaps.
        let is_at_rest = large.asleep.before.is_some() || one_heap::is_on() && one_heap::is_at_rest();
        let owned = Owned {
            gaps: large.gaps.owned(),
            end: large.gaps.end(),
            promotes: if is_at_rest { 0 } else { large.grown },
        };
        large.evacuation = Some(Box::default());
        large.gaps.are_given_back(memory);
        marking.stage(|stage| *stage = Stage::Release { owned: Some(owned), memory });
        large.help.push(Help::mark(marking, earlier));
        self.old_off_heap.binary_words -= words.min(self.old_off_heap.binary_words);
        self.show_end();
        self.adapt_limits(true);
    }

    /// All gaps are released.
    fn end_marking(&mut self, Released { live, free, candidates }: Released) {
        let Some(Rare { large: Some(large), held, .. }) = self.rare.as_deref_mut() else { return };
        let Some(cycle) = large.cycle.take() else { return };
        // Nothing refers to the others any more, for what was dead has been overwritten (heap.large/LG1).
        let [gone, come] = held.end_marking(&cycle.bundles.unwrap_or_default());
        self.old_off_heap.binary_words = (self.old_off_heap.binary_words + come).saturating_sub(gone);
        large.words = usize::try_from(live as i64 + cycle.not_counted + large.grown as i64).unwrap_or(0);
        large.meanwhile = large.grown - cycle.grown;
        (large.live, large.grown) = (large.words, 0);
        large.asleep.marked(large.words);
        let evacuation = large.evacuation.take();
        let is_sparse = evacuation.is_none() && cycle.used > 2 * large.live + 8 * LARGE;
        if let (Some(mut evacuation), Some(candidates)) = (evacuation, candidates) {
            evacuation.begin(candidates);
            large.evacuation = Some(evacuation);
        }
        let free = free.saturating_sub(large.gaps.take_refilled());
        self.show_end();
        self.set_free(free);
        if is_sparse {
            self.request_fullsweep();
        }
    }
}
