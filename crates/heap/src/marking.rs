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
//! MA3. While gaps are released, the owner puts something only into those that begin in pieces it was told of, and reads and sets no bits behind these gaps. The helper
//!      reads and sets bits behind them only. Nobody walks over gaps meanwhile, for what refers to one that is filled may not be filler yet.

use crate::bundle_area;
use crate::live_map::{LiveMap, LongestGaps, PIECE, fill};
use crate::reserved;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::prefetch::prefetch;
use myriad_sync::{Arc, Condvar, LockClass, Mutex};
use myriad_term::Term;
use myriad_term::boxed::Header;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of a huge page.
const HUGE: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };

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
        let lens = lens.map(|len| len.next_multiple_of(HUGE) + HUGE);
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
        std::ptr::with_exposed_provenance_mut(self.base.next_multiple_of(HUGE))
    }

    pub(crate) fn words(&self) -> usize {
        (self.len - HUGE) / 8
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
    Mark(Vec<u64>),
    Marking,
    /// All that lives has its bits; these bundles are referred to (where they begin).
    Marked(BTreeSet<usize>),
    /// The owner has no more to do with what is dead; waits for a helper.
    Release,
    /// Gaps become filler, and the memory of large ones the system's: so long are those in the pieces that the owner was not told of, but may be.
    Releasing(LongestGaps),
    /// All are. So many words lived when they began to become it, and so long are gaps in the pieces that the owner was not told of.
    Ready(usize, LongestGaps),
    /// The owner wants it no more.
    Stopped,
}

struct State {
    stage: Stage,
    /// Walks over all objects, dead ones too, that are not over.
    walks: usize,
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
            Work::Populate(_memory, addresses) => {
                let start = addresses.start / PAGE * PAGE;
                reserved::populate(start, addresses.end - start);
            }
        }
    }
}

impl Marking {
    /// Does what a helper has to do at this stage.
    fn go_on(&self) {
        let mut state = self.state.lock();
        let done = match std::mem::replace(&mut state.stage, Stage::Stopped) {
            Stage::Mark(roots) => {
                state.stage = Stage::Marking;
                drop(state);
                // SAFETY: MA1.
                unsafe { self.mark(&roots) }.map_or(Stage::Stopped, Stage::Marked)
            }
            Stage::Release => {
                state.stage = Stage::Releasing(LongestGaps::default());
                while state.walks > 0 {
                    state = self.changed.wait(state);
                }
                drop(state);
                // SAFETY: MA1 and MA3.
                let live = unsafe { self.release() };
                Stage::Ready(live, self.take_released().0)
            }
            other => {
                state.stage = other;
                return;
            }
        };
        let mut state = self.state.lock();
        state.stage = done;
        self.changed.notify_all();
    }

    /// Of the first `words` words of a range. `None`: there are no addresses for its maps.
    pub(crate) fn new(memory: &Arc<Reservation>, words: usize, roots: Vec<u64>) -> Option<Marking> {
        Some(Marking {
            map: LiveMap::new(memory.start(), words)?,
            promoted: LiveMap::new(memory.start(), words)?,
            _memory: Arc::clone(memory),
            stopping: AtomicBool::new(false),
            state: Mutex::new(&CLASS, State { stage: Stage::Mark(roots), walks: 0 }),
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
    unsafe fn mark(&self, roots: &[u64]) -> Option<BTreeSet<usize>> {
        let mut marker = Marker::new(self);
        // SAFETY: the caller's promise.
        unsafe {
            marker.follow(roots)?;
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

    /// How long gaps are in the pieces whose gaps are released and that nobody has asked for before; and the words that lived, if all are.
    pub(crate) fn take_released(&self) -> (LongestGaps, Option<usize>) {
        self.stage(|stage| match stage {
            Stage::Releasing(released) => (std::mem::take(released), None),
            Stage::Ready(live, released) => (std::mem::take(released), Some(*live)),
            _ => (LongestGaps::default(), None),
        })
    }

    /// Makes each gap one object, and tells the owner now and then of those that are; gives the words that lived when that began.
    ///
    /// # Safety
    /// MA3: nobody looks into the gaps that the owner was not told of.
    pub(crate) unsafe fn release(&self) -> usize {
        let (mut place, mut longest, mut told) = (0, LongestGaps::new(&self.map), 0);
        let (mut live, mut taken_over) = (0, 0);
        let mut tell = |longest: &LongestGaps, place| {
            let pieces = longest.pieces(&self.map, place);
            if pieces >= told + TOLD || place == usize::MAX {
                self.stage(|stage| {
                    if let Stage::Releasing(released) = stage {
                        released.learn(longest, told..pieces);
                    }
                });
                told = pieces;
            }
        };
        while let Some(run) = self.map.next_free(place, usize::MAX) {
            if run.end > taken_over {
                let to = (run.end.next_multiple_of(PIECE) + TOLD * PIECE).min(self.map.words());
                live += self.map.take_over(&self.promoted, taken_over, to);
                taken_over = to;
                continue;
            }
            // All gaps that begin before this one are released.
            tell(&longest, run.start);
            place = run.end;
            longest.note(&run);
            let start = self.map.address(run.start);
            // SAFETY: the caller's promise.
            unsafe { fill(start, run.len()) };
            let first = (start.addr() + 8).next_multiple_of(PAGE);
            let end = self.map.address(run.end).addr() / PAGE * PAGE;
            if end >= first + GIVEN_BACK {
                reserved::decommit(first, end - first);
            }
        }
        live += self.map.take_over(&self.promoted, taken_over, self.map.words());
        self.promoted.empty();
        tell(&longest, usize::MAX);
        live
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
const PAGE: usize = 4096;
/// From so many bytes on, the memory of a gap goes back to the system.
pub(crate) const GIVEN_BACK: usize = 64 << 10;

/// Pieces of the map whose gaps were released that the owner is told of at once: of a huge page of objects, or two.
const TOLD: usize = if cfg!(test) { 2 } else { 256 };

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
struct Marker<'m> {
    marking: &'m Marking,
    bundle_range: bundle_area::Range,
    bundles: BTreeSet<usize>,
    last_bundle: usize,
    rests: Vec<Rest>,
    most_rests: usize,
    overflowed: bool,
    /// Words of objects whose memory was asked for, the oldest at `oldest`; 0 (a number) where there is none.
    ahead: [u64; AHEAD],
    oldest: usize,
    left: u32,
}

impl<'m> Marker<'m> {
    fn new(marking: &'m Marking) -> Marker<'m> {
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
            left: A_WHILE,
        }
    }

    /// Marks all that these words lead to.
    ///
    /// # Safety
    /// MA1; they are words of the heap.
    unsafe fn follow(&mut self, words: &[u64]) -> Option<()> {
        if words.is_empty() {
            return Some(());
        }
        let words = words.as_ptr_range();
        // SAFETY: the caller's promise.
        unsafe { self.follow_rest(Rest { next: words.start, end: words.end }) }
    }

    /// The same of all words of marked objects from one place to another.
    ///
    /// # Safety
    /// As for [`Marker::follow`]; they are whole objects.
    unsafe fn follow_all(&mut self, start: *mut u64, end: *mut u64) -> Option<()> {
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
            // SAFETY: MA1: rests are words of live objects, or the caller's; what was met leads to an object.
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
                // Relaxed: see `Marking::stop`.
                if self.marking.stopping.load(Ordering::Relaxed) {
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
            // SAFETY: MA1: what a live object refers to is held.
            let bundle = unsafe { bundle_area::start_of(at) }.addr();
            if bundle != self.last_bundle {
                self.last_bundle = bundle;
                self.bundles.insert(bundle);
            }
        }
    }

    /// Marks an object of the part, and has its words followed.
    #[inline(always)]
    unsafe fn visit(&mut self, word: u64) {
        if word == 0 {
            return;
        }
        // SAFETY: a word that was met leads to an object of the part, whose words stay (MA1).
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
            if !self.marking.map.set(place, words) || first == words {
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
