//! Marking: which objects of a large old generation live, found by a helper thread while the process runs.
//!
//! Objects do not change, and none of the old generation refers to the young one (heap/H4). So what is reachable from the words that the process has at one
//! moment, the end of a minor collection, can be followed without a barrier: all that the process refers to later in the part that is marked was
//! reachable then (Johansson, Sagonas, Wilhelmsson 2002, section 4, leave the old generation in place; a snapshot at the beginning, Yuasa 1990).
//!
//! ```text
//!   owner: takes the roots          sweeps its chain piece by piece    uses the gaps, piece by piece
//!            |                         ^          |                        ^          ^
//!            v                         |          v                        |          |
//!   helper: Mark ---> Marking ---> Marked      Release ------------> Releasing ---> Ready
//! ```
//!
//! MA1. While a helper works ([`Stage::Marking`], [`Stage::Releasing`]) the memory stays, and no word of an object that is reachable from the roots is
//!      written but raw ones. Its addresses stay reserved as long as one may work there; who wants to write there stops it first.
//! MA2. What the owner promotes into the part meanwhile stands in a map of its own ([`Marking::promoted`]), for a map is one thread's at a time (heap.live_map/LM1).
//!      What it refers to was reachable when the marking began, or is new itself, so nobody need follow it.
//! MA3. While gaps are released, the owner puts something only into those that begin in pieces it was told of, and into its own ([`Owned`]), and reads and sets no bits
//!      behind these gaps. The helper reads and sets bits behind them only, and looks into none of the owner's. Nobody walks over gaps meanwhile, for what refers to one that is
//!      filled may not be filler yet.

use crate::attribution::Told;
use crate::candidates::{Candidates, Owned};
use crate::live_map::{LiveMap, LongestGaps, PIECE, fill};
use crate::marker::Marker;
use crate::one_heap;
use crate::reserved::{self, HUGE_PAGE};
use myriad_sync::atomic::{AtomicBool, AtomicU32, Ordering};
use myriad_sync::{Arc, Condvar, LockClass, Mutex, thread};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// Addresses that were reserved for an old generation.
pub(crate) struct Reservation {
    base: usize,
    len: usize,
    /// Has all of it been usable from the beginning?
    is_usable: bool,
}

impl Reservation {
    /// So many bytes, or fewer if there are no more addresses, but at least as many as `least`.
    pub(crate) fn new(bytes: usize, least: usize) -> Option<Reservation> {
        let lens = std::iter::successors(Some(bytes), |len| Some(len / 2)).take_while(|len| *len >= least);
        let lens = lens.map(|len| len.next_multiple_of(HUGE_PAGE) + HUGE_PAGE);
        let made = { lens }.find_map(Reservation::of)?;
        reserved::prefer_huge_pages(made.base, made.len);
        Some(made)
    }

    fn of(len: usize) -> Option<Reservation> {
        let usable = reserved::reserve_usable(len).map(|base| Reservation { base, len, is_usable: true });
        usable.or_else(|| reserved::reserve(len).map(|base| Reservation { base, len, is_usable: false }))
    }

    /// Makes pages of it usable. `false`: the system has no memory for them.
    pub(crate) fn commit(&self, at: usize, len: usize) -> bool {
        debug_assert!((self.base..self.base + self.len).contains(&at) && len <= self.base + self.len - at);
        self.is_usable || reserved::commit(at, len)
    }

    /// The first word, where a huge page may begin.
    pub(crate) fn start(&self) -> *mut u64 {
        std::ptr::with_exposed_provenance_mut(self.base.next_multiple_of(HUGE_PAGE))
    }

    pub(crate) fn words(&self) -> usize {
        (self.len - HUGE_PAGE) / 8
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: reserved with this length; who drops it has no reference to it.
        unsafe { reserved::unreserve(self.base, self.len) };
    }
}

/// How far a marking is.
pub(crate) enum Stage {
    /// Waits for a helper, with the words that lead to what lives.
    Mark(Told),
    Marking,
    /// All that lives has its bits; these bundles are referred to (where they begin).
    Marked(BTreeSet<usize>),
    /// The owner has no more to do with what is dead; waits for a helper, which looks for pieces to be emptied if it is told what the owner fills.
    Release {
        owned: Option<Owned>,
        memory: OfGaps,
    },
    /// Gaps become filler, and the memory of large ones the system's: so long are those in the pieces that the owner was not told of, but may be.
    Releasing(LongestGaps),
    /// All are, and so long are gaps in the pieces that the owner was not told of.
    Ready(Released, LongestGaps),
    /// The owner wants it no more.
    Stopped,
}

/// What becomes of the memory of gaps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfGaps {
    /// That of gaps of so many bytes is given back to the system...
    pub(crate) given_from: usize,
    /// ...but of so many words in all, since they will soon be filled.
    pub(crate) kept: usize,
}

impl OfGaps {
    /// Of what will be filled: so many words stay.
    pub(crate) fn filled(kept: usize) -> OfGaps {
        OfGaps { given_from: GIVEN_BACK, kept }
    }

    /// Of what nobody fills for a while.
    pub(crate) const AT_REST: OfGaps = OfGaps { given_from: GIVEN_BACK_AT_REST, kept: 0 };
}

/// What was found when gaps were released.
pub(crate) struct Released {
    /// Words that lived when that began.
    pub(crate) live: usize,
    /// Words of large gaps, whose memory is the system's or waits for what fills it.
    pub(crate) free: usize,
    /// Pieces to be emptied.
    pub(crate) candidates: Option<Box<Candidates>>,
}

struct State {
    stage: Stage,
    /// Walks over all objects, dead ones too, that are not over.
    walks: usize,
    /// Addresses that the helper is to take memory for.
    asked: Vec<Range<usize>>,
}

static CLASS: LockClass = LockClass::new("heap_marking", 953);

/// The marking of the lower part of an old generation.
pub(crate) struct Marking {
    /// What lives: the helper's while it works.
    pub(crate) map: LiveMap,
    /// What the owner has promoted into the part since the marking began.
    pub(crate) promoted: LiveMap,
    /// Where it is, which stays reserved as long as a helper may work there.
    _memory: Arc<Reservation>,
    stopping: AtomicBool,
    /// The helper may have been asked for something.
    is_asked: AtomicBool,
    /// How often it has slept to let others go first.
    naps: AtomicU32,
    state: Mutex<State>,
    changed: Condvar,
}

/// What a helper thread is to do for a heap.
pub struct Help(Work);

enum Work {
    /// Goes on with a marking, and frees an earlier one.
    Marking(Arc<Marking>, #[allow(dead_code, reason = "to be dropped")] Option<Arc<Marking>>),
    /// Takes memory for addresses of a range.
    Populate(Arc<Reservation>, Range<usize>),
}

impl Help {
    /// Goes on with a marking, and frees an earlier one.
    pub(crate) fn mark(marking: &Arc<Marking>, earlier: Option<Arc<Marking>>) -> Help {
        Help(Work::Marking(Arc::clone(marking), earlier))
    }

    /// Takes memory for these addresses, which may be used, of a range.
    pub(crate) fn populate(memory: &Arc<Reservation>, addresses: Range<usize>) -> Help {
        Help(Work::Populate(Arc::clone(memory), addresses))
    }

    /// Does it. That may take some seconds for a heap of some gigabytes.
    pub fn run(self) {
        match self.0 {
            Work::Marking(marking, _) => marking.go_on(),
            Work::Populate(_memory, addresses) => populate(&addresses),
        }
    }
}

/// How long a helper sleeps at a time to let others go first, and how often before all go on: if they do not by then, they wait for somebody else.
const NAP: Duration = Duration::from_micros(50);
const NAPS: u32 = 40;

/// Takes memory for addresses that may be used.
fn populate(addresses: &Range<usize>) {
    let start = addresses.start / PAGE * PAGE;
    reserved::populate(start, addresses.end - start);
}

impl Marking {
    /// Does what a helper has to do at this stage.
    fn go_on(&self) {
        let mut state = self.state.lock();
        let done = match std::mem::replace(&mut state.stage, Stage::Stopped) {
            Stage::Mark(told) => {
                state.stage = Stage::Marking;
                drop(state);
                // SAFETY: MA1.
                unsafe { self.mark(&told) }.map_or(Stage::Stopped, Stage::Marked)
            }
            Stage::Release { owned, memory } => {
                state.stage = Stage::Releasing(LongestGaps::default());
                while state.walks > 0 {
                    state = self.changed.wait(state);
                }
                drop(state);
                // SAFETY: MA1 and MA3.
                let released = unsafe { self.release(owned.as_ref(), memory) };
                Stage::Ready(released, self.take_longest())
            }
            other => {
                state.stage = other;
                return;
            }
        };
        let mut state = self.state.lock();
        while !state.asked.is_empty() {
            drop(state);
            self.answer();
            state = self.state.lock();
        }
        state.stage = done;
        self.changed.notify_all();
    }

    /// Has the helper take memory for addresses that may be used, beside what it does: two threads that help at once would leave the process and those that wait for
    /// it few processors, or none. `false`: there is no helper now, and none is coming.
    pub(crate) fn ask(&self, addresses: &Range<usize>) -> bool {
        let mut state = self.state.lock();
        let is_helped = !matches!(state.stage, Stage::Marked(_) | Stage::Ready(..) | Stage::Stopped);
        if is_helped {
            state.asked.push(addresses.clone());
            // Relaxed: the helper looks at it now and then; what was asked is known by the lock.
            self.is_asked.store(true, Ordering::Relaxed);
        }
        is_helped
    }

    /// The helper does what it was asked for.
    fn answer(&self) {
        // Relaxed: see `Marking::ask`; at its end the helper looks without it.
        self.is_asked.store(false, Ordering::Relaxed);
        let asked = std::mem::take(&mut self.state.lock().asked);
        asked.iter().for_each(populate);
    }

    /// The same now and then, where the helper has much to do.
    pub(crate) fn look_up(&self) {
        // Relaxed: see `Marking::ask`.
        if self.is_asked.load(Ordering::Relaxed) {
            self.answer();
        }
        self.give_way();
    }

    /// The helper lets those go first who are to stop, or have: if it had the processor of one of them, all would wait for that one.
    fn give_way(&self) {
        // Relaxed: the helper's own number.
        while one_heap::is_awaited() && self.naps.fetch_add(1, Ordering::Relaxed) < NAPS {
            thread::sleep(NAP);
        }
        if !one_heap::is_awaited() {
            self.naps.store(0, Ordering::Relaxed);
        }
    }

    /// Of the first `words` words of a range, from no words yet. `None`: there are no addresses for its maps.
    pub(crate) fn new(memory: &Arc<Reservation>, words: usize) -> Option<Marking> {
        Some(Marking {
            map: LiveMap::new(memory.start(), words)?,
            promoted: LiveMap::new(memory.start(), words)?,
            _memory: Arc::clone(memory),
            stopping: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            naps: AtomicU32::new(0),
            state: Mutex::new(&CLASS, State { stage: Stage::Mark(Told::NOTHING), walks: 0, asked: Vec::new() }),
            changed: Condvar::new(),
        })
    }

    /// Looks at the stage, which only the owner changes where no helper works.
    pub(crate) fn stage<T>(&self, look: impl FnOnce(&mut Stage) -> T) -> T {
        look(&mut self.state.lock().stage)
    }

    /// Ends it; no helper works at it afterwards.
    pub(crate) fn stop(&self) {
        // Relaxed: the helper looks at it now and then; what it did is known by the lock.
        self.stopping.store(true, Ordering::Relaxed);
        let mut state = self.state.lock();
        while matches!(state.stage, Stage::Marking | Stage::Releasing(_)) {
            state = self.changed.wait(state);
        }
        state.stage = Stage::Stopped;
    }

    /// Is the helper to stop?
    pub(crate) fn is_stopping(&self) -> bool {
        // Relaxed: see `Marking::stop`.
        self.stopping.load(Ordering::Relaxed)
    }

    /// No gaps are released until what is given here is dropped: for who walks over all objects, dead ones too.
    pub(crate) fn walk(&self) -> Walk<'_> {
        let mut state = self.state.lock();
        while matches!(state.stage, Stage::Releasing(_)) && state.walks == 0 {
            state = self.changed.wait(state);
        }
        state.walks += 1;
        Walk(self)
    }

    /// Sets the bits of all that is reachable; gives the bundles that are referred to. `None`: it was stopped.
    ///
    /// # Safety
    /// MA1; the roots are words of the heap (heap/H2, heap/H3).
    unsafe fn mark(&self, told: &Told) -> Option<BTreeSet<usize>> {
        let mut marker = Marker::new(self);
        // SAFETY: the caller's promise.
        let shares = told.share(|words| unsafe { marker.follow(words) })?;
        if one_heap::is_on() {
            shares.publish();
        }
        // SAFETY: as above.
        unsafe {
            while std::mem::take(&mut marker.overflowed) {
                let mut place = 0;
                while let Some(run) = self.map.next_set(place) {
                    place = run.end;
                    marker.follow_all(self.map.address(run.start), self.map.address(run.end))?;
                }
            }
        }
        Some(marker.bundles)
    }

    /// Is the word of this number known to live? For the owner, once all is marked.
    pub(crate) fn is_live(&self, place: usize) -> bool {
        self.map.is_set(place) || self.promoted.is_set(place)
    }

    /// How long gaps are in the pieces whose gaps are released and that nobody has asked for before.
    pub(crate) fn take_longest(&self) -> LongestGaps {
        self.stage(|stage| match stage {
            Stage::Releasing(longest) | Stage::Ready(_, longest) => std::mem::take(longest),
            _ => LongestGaps::default(),
        })
    }

    /// The same, and what was found, if all gaps are released.
    pub(crate) fn take_released(&self) -> Option<(Released, LongestGaps)> {
        self.stage(|stage| match std::mem::replace(stage, Stage::Stopped) {
            Stage::Ready(released, longest) => Some((released, longest)),
            other => {
                *stage = other;
                None
            }
        })
    }

    /// Makes each gap an object, those of a piece to be emptied on their own, and tells the owner now and then of the others that are.
    ///
    /// # Safety
    /// MA3: nobody looks into the gaps that the owner was not told of.
    pub(crate) unsafe fn release(&self, owned: Option<&Owned>, mut memory: OfGaps) -> Released {
        let mut survey = owned.and_then(|owned| Some((owned, Candidates::choose(&self.map, &self.promoted, owned)?)));
        let (mut place, mut longest, mut told) = (0, LongestGaps::new(&self.map), 0);
        let (mut live, mut free, mut taken_over) = (0, 0, 0);
        let mut tell = |longest: &LongestGaps, place| {
            let pieces = longest.pieces(&self.map, place);
            if pieces >= told + TOLD || place == usize::MAX {
                self.stage(|stage| {
                    if let Stage::Releasing(released) = stage {
                        released.learn(longest, told..pieces);
                    }
                });
                told = pieces;
                self.look_up();
            }
        };
        while let Some(run) = self.map.next_free(place, usize::MAX) {
            if run.end > taken_over {
                let to = (run.end.next_multiple_of(PIECE) + TOLD * PIECE).min(self.map.words());
                live += self.map.take_over(&self.promoted, taken_over, to);
                taken_over = to;
                continue;
            }
            // SAFETY: the caller's promise.
            unsafe { self.survey(&mut survey, place..run.start) };
            // All gaps that begin before this one are released.
            tell(&longest, run.start);
            place = run.end;
            let mut rest = run;
            while !rest.is_empty() {
                let whole = (rest.clone(), false);
                let (gap, is_candidate) = survey.as_ref().map_or(whole, |(_, candidates)| candidates.part(&rest));
                rest.start = gap.end;
                // SAFETY: the caller's promise.
                free += unsafe { self.release_gap(&gap, &mut memory) };
                if is_candidate {
                    // It is no gap for the owner (heap.candidates/CA1).
                    self.map.set(gap.start, gap.len());
                } else {
                    longest.note(&gap);
                }
            }
        }
        live += self.map.take_over(&self.promoted, taken_over, self.map.words());
        // SAFETY: as above.
        unsafe { self.survey(&mut survey, place..self.map.words()) };
        self.promoted.empty();
        tell(&longest, usize::MAX);
        Released { live, free, candidates: survey.map(|(_, candidates)| Box::new(candidates)) }
    }

    /// Looks through a run of words that live; at the end of the part that is marked, through what lies behind it too.
    ///
    /// # Safety
    /// As for [`Marking::release`]; nothing in the run has been released.
    unsafe fn survey(&self, survey: &mut Option<(&Owned, Candidates)>, run: Range<usize>) {
        let Some((owned, candidates)) = survey else { return };
        let end = if run.end == self.map.words() { owned.end } else { self.map.address(run.end) };
        // SAFETY: the caller's promise: a run begins with an object and ends with one, and what lies behind the part is objects (heap.large/LG1).
        unsafe { candidates.look_through(owned, self.map.address(run.start).addr()..end.addr()) };
    }

    /// Makes a gap one object, and does with its memory what is said; gives how many of its words do not count as memory, for it is large.
    ///
    /// # Safety
    /// As for [`Marking::release`].
    unsafe fn release_gap(&self, gap: &Range<usize>, memory: &mut OfGaps) -> usize {
        let start = self.map.address(gap.start);
        // SAFETY: the caller's promise.
        unsafe { fill(start, gap.len()) };
        let first = (start.addr() + 8).next_multiple_of(PAGE);
        let end = self.map.address(gap.end).addr() / PAGE * PAGE;
        if end < first + memory.given_from {
            return 0;
        }
        let stays = (memory.kept * 8 / PAGE * PAGE).min(end - first);
        memory.kept -= stays / 8;
        if stays < end - first {
            reserved::decommit(first + stays, end - first - stays);
        }
        (end - first) / 8
    }
}

/// A walk over all objects of an old generation.
pub(crate) struct Walk<'m>(&'m Marking);

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.0.state.lock().walks -= 1;
        self.0.changed.notify_all();
    }
}

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// From so many bytes on, the memory of a gap goes back to the system; and where nobody has anything to do.
pub(crate) const GIVEN_BACK: usize = 64 << 10;
const GIVEN_BACK_AT_REST: usize = PAGE;

/// Pieces of the map whose gaps were released that the owner is told of at once: of a huge page of objects, or two.
const TOLD: usize = if cfg!(test) { 2 } else { 256 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helper_takes_memory_when_it_is_asked() {
        let memory = Arc::new(Reservation::new(HUGE_PAGE, HUGE_PAGE).unwrap());
        assert!(memory.commit(memory.start().addr(), PAGE));
        let addresses = memory.start().addr()..memory.start().addr() + PAGE;
        let marking = Marking::new(&memory, 64).unwrap();
        assert!(marking.ask(&addresses), "the helper is coming");
        marking.go_on();
        assert!(marking.stage(|stage| matches!(stage, Stage::Marked(_))));
        assert!(marking.state.lock().asked.is_empty() && !marking.ask(&addresses), "the helper is gone");
        marking.stage(|stage| *stage = Stage::Release { owned: None, memory: OfGaps::filled(0) });
        assert!(marking.ask(&addresses));
        marking.go_on();
        assert!(marking.state.lock().asked.is_empty() && !marking.ask(&addresses));
    }

    /// Of a large gap the first words keep their memory, with what is in it; the others' are zero.
    #[test]
    #[cfg(not(miri))]
    fn so_much_memory_of_large_gaps_is_kept() {
        const WORDS: usize = 4 * GIVEN_BACK / 8;
        let memory = Arc::new(Reservation::new(HUGE_PAGE, HUGE_PAGE).unwrap());
        assert!(memory.commit(memory.start().addr(), WORDS * 8));
        for kept in [0, WORDS / 2, 2 * WORDS] {
            let marking = Marking::new(&memory, WORDS).unwrap();
            // SAFETY: the range's own words; nobody else looks at them.
            let values = unsafe {
                (0..WORDS).for_each(|i| *memory.start().add(i) = u64::MAX);
                marking.release(None, OfGaps::filled(kept));
                (0..WORDS).map(|i| *memory.start().add(i)).collect::<Vec<u64>>()
            };
            let there = values.iter().filter(|value| **value == u64::MAX).count();
            let page = PAGE / 8;
            assert!((kept.min(WORDS - page)..kept.min(WORDS) + page).contains(&there), "{there} of {kept}");
        }
    }
}
