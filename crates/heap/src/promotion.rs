//! Moving what lives of all that is young to the old generation of the one heap ([`crate::shared`]): by one thread at first, by several when it is much.
//!
//! Each thread copies to gaps that are lent to it ([`Gaps::lend`]) and scans what it has copied. Where others have nothing to do it gives them processes whose roots
//! nobody has seen, and ranges of objects that are not scanned (Halstead 1985; Flood, Detlefs, Shavit, Zhang 2001, whose threads steal from each other's deques).
//!
//! An object that has moved is marked in its first word: a boxed one has there the boxed word of its copy, a list cell the address of its copy with the tag of a header,
//! which no head of a list has. For objects that are counted, or changed in place, one exchange decides which of two copies counts; who loses takes its own back and goes on
//! with the winner's. An exchange takes as long as to copy a small object, so others are marked by a plain write (Marlow, Harris, James, Peyton Jones 2008).
//!
//! PR1. Of young objects only the first word is written, in one of these ways, so all other words may be read meanwhile. What one thread has copied another looks at only
//!      when it gets it from the list, or when all have met.
//! PR2. Two threads that find an object in the same moment may each copy it, if it never changes and counts nothing: then both copies are good, and nobody can tell that there are two.

use crate::copy::{Span, copy_words};
use crate::gaps::{Gaps, PIECE, WINDOWS, window_for};
use crate::heap::Heap;
use crate::live_map::fill;
use crate::pinned::Pinned;
use crate::roots::Roots;
use crate::shared::{InSignals, Process};
use myriad_sync::word_claim::{forward_word, seen_word, write_word};
use myriad_sync::work_list::Worker;
use myriad_sync::{LockClass, Mutex};
use myriad_term::boxed::Header;
use myriad_term::{Kind, Term};
use std::ops::Range;

/// Words of the end that a thread is lent at once when there are several.
const LENT: usize = if cfg!(any(miri, heap_check)) { PIECE } else { 4096 };
/// So many threads copy at most.
pub(crate) const MOST_PROMOTERS: usize = 8;
/// Words that are to be free at the end beside those that one thread needs.
pub(crate) const ROOM: usize = MOST_PROMOTERS * WINDOWS.len() * LENT;
/// Words that are scanned between two looks whether others need something.
const STEP: usize = 256;
/// Fewer words than that are not given away.
const LEAST_GIVEN: usize = if cfg!(heap_check) { 4 } else { 128 };
/// The tag of a list cell's first word that has moved.
const MOVED: u64 = Header::new(Kind::Filler, 0).raw() & 7;

static GAPS_CLASS: LockClass = LockClass::new("promotion", 33);

/// What all threads have in common.
pub(crate) struct Promotion<'p> {
    old: Span,
    literals: Span,
    pinned: &'p Pinned,
    gaps: Mutex<Gaps>,
}

/// What threads give each other.
pub(crate) enum Piece<'p, P> {
    /// Processes whose roots nobody has seen.
    Roots(&'p mut [P]),
    /// Objects that were copied and not scanned.
    Objects(Range<usize>),
}

/// A gap that a thread fills.
#[derive(Clone, Default)]
struct Lent {
    /// Where what it has put there begins.
    start: usize,
    scanned: usize,
    /// Free.
    gap: Range<usize>,
}

/// A thread's part of it, which is `ALONE` or one of several.
pub(crate) struct Promoter<'p, const ALONE: bool> {
    promotion: &'p Promotion<'p>,
    lent: [Lent; WINDOWS.len()],
    unscanned: Vec<Range<usize>>,
    /// Words that it has scanned.
    pub(crate) scanned: usize,
}

/// Does it do no harm to copy an object twice (PR2)? Others are changed, or counted.
#[inline(always)]
fn may_be_two(header: Header) -> bool {
    !header.is_off_heap() && !matches!(header.kind(), Kind::SubBinary | Kind::MatchContext)
}

fn pointer(at: usize) -> *mut u64 {
    std::ptr::with_exposed_provenance_mut(at)
}

impl<'p> Promotion<'p> {
    /// To these gaps, in an old generation that has this range.
    pub(crate) fn new(old: Span, literals: Span, pinned: &'p Pinned, gaps: Gaps) -> Promotion<'p> {
        Promotion { old, literals, pinned, gaps: Mutex::new(&GAPS_CLASS, gaps) }
    }

    /// All has moved.
    pub(crate) fn end(self) -> Gaps {
        self.gaps.into_inner()
    }

    /// Does an object that a word leads to stay, for it is old, or a literal?
    #[inline(always)]
    fn stays(&self, word: u64) -> bool {
        self.old.holds(word as usize) || self.literals.holds(word as usize)
    }
}

impl<'p, const ALONE: bool> Promoter<'p, ALONE> {
    pub(crate) fn new(promotion: &'p Promotion<'p>) -> Promoter<'p, ALONE> {
        Promoter { promotion, lent: Default::default(), unscanned: Vec::new(), scanned: 0 }
    }

    /// Gives back what was lent; what is left to be scanned.
    pub(crate) fn end(mut self) -> Vec<Range<usize>> {
        self.list_unscanned();
        let mut gaps = self.promotion.gaps.lock();
        for Lent { start, gap, .. } in std::mem::take(&mut self.lent) {
            gaps.take_back(start..gap.start, gap);
        }
        drop(gaps);
        self.unscanned
    }

    /// Room for an object.
    #[inline(always)]
    fn take(&mut self, words: usize) -> *mut u64 {
        let window = window_for(words);
        let gap = &mut self.lent[window].gap;
        let at = gap.start;
        if words <= WINDOWS[window].0 && words * 8 <= gap.end - at {
            gap.start = at + words * 8;
            return pointer(at);
        }
        self.take_elsewhere(window, words)
    }

    #[cold]
    #[inline(never)]
    fn take_elsewhere(&mut self, window: usize, words: usize) -> *mut u64 {
        if words > WINDOWS[window].0 {
            let room = self.promotion.gaps.lock().lend_apart(words);
            self.unscanned.push(room.clone());
            return pointer(room.start);
        }
        let lent = &mut self.lent[window];
        if lent.scanned < lent.gap.start {
            self.unscanned.push(lent.scanned..lent.gap.start);
        }
        let mut gaps = self.promotion.gaps.lock();
        gaps.take_back(lent.start..lent.gap.start, lent.gap.clone());
        let gap = gaps.lend(window, words, if ALONE { PIECE } else { LENT });
        drop(gaps);
        (lent.start, lent.scanned, lent.gap) = (gap.start, gap.start, gap.start + words * 8..gap.end);
        pointer(gap.start)
    }

    /// The object that was copied last counts: what was taken for it is filled.
    #[inline(always)]
    fn keep(&mut self, at: *mut u64, words: usize) {
        if words > WINDOWS[window_for(words)].0 {
            let nothing = at.addr() + words * 8..at.addr() + words * 8;
            self.promotion.gaps.lock().take_back(at.addr()..nothing.start, nothing);
        }
    }

    /// It does not: another thread's copy does.
    #[cold]
    fn leave(&mut self, at: *mut u64, words: usize) {
        if words <= WINDOWS[window_for(words)].0 {
            let gap = &mut self.lent[window_for(words)].gap;
            debug_assert_eq!(gap.start, at.addr() + words * 8, "another object was copied since then");
            gap.start = at.addr();
            return;
        }
        let room = self.unscanned.pop().unwrap_or_default();
        debug_assert_eq!(room.start, at.addr(), "another object was copied since then");
        // It is an object without terms until the next marking.
        // SAFETY: it was taken for the copy that does not count.
        unsafe { fill(at, words) };
        self.promotion.gaps.lock().take_back(room.clone(), room.end..room.end);
    }

    /// The first word of a young object.
    ///
    /// # Safety
    /// It begins there.
    #[inline(always)]
    unsafe fn first(&self, at: *mut u64) -> u64 {
        // SAFETY: the caller's object, whose first word is written by `mark_moved` alone.
        unsafe { if ALONE { *at } else { seen_word(at) } }
    }

    /// It has moved, if its first word is still this; else gives the word that stands there now. What `may_be_two` has moved whatever stands there (PR2).
    ///
    /// # Safety
    /// A young object begins there, of which [`Promoter::first`] has given `from`.
    #[inline(always)]
    unsafe fn mark_moved(&self, at: *mut u64, from: u64, to: u64, may_be_two: bool) -> Result<(), u64> {
        // SAFETY: the caller's object, whose first word is written in these ways alone (PR1).
        unsafe {
            if ALONE {
                *at = to;
            } else if may_be_two {
                write_word(at, to);
            } else {
                return forward_word(at, from, to);
            }
        }
        Ok(())
    }

    /// Moves the object behind `word`, unless that stays, and writes its new word to `slot`.
    ///
    /// # Safety
    /// `word` is a word of the heap (heap/H2) that stands at `slot`, which is nobody else's.
    #[inline(always)]
    unsafe fn forward(&mut self, word: u64, slot: *mut u64) {
        // SAFETY: the caller's promise: a boxed or list word leads to an object of the heap.
        unsafe {
            let term = Term::from_raw(word);
            if self.promotion.stays(word) {
                return;
            }
            if self.promotion.pinned.holds(word as usize) {
                *slot = self.copy_of_pinned(word);
            } else if term.is_boxed() {
                *slot = self.boxed(term.boxed_ptr());
            } else if term.is_cons() {
                self.list(term.object_ptr(), slot);
            }
        }
    }

    /// The word of the copy of an object that stays for some process.
    ///
    /// # Safety
    /// `word` leads to such an object.
    #[cold]
    #[inline(never)]
    unsafe fn copy_of_pinned(&mut self, word: u64) -> u64 {
        let pinned = self.promotion.pinned;
        let mut take = |words| {
            let at = self.take(words);
            self.keep(at, words);
            at
        };
        // SAFETY: the caller's promise about the word; heap.copy/C1.
        unsafe { pinned.copy_of(word, &mut take) }
    }

    /// Moves a boxed object; gives its new word.
    ///
    /// # Safety
    /// It is a young one of the heap, moved or not, and stays for nobody.
    #[inline(always)]
    unsafe fn boxed(&mut self, at: *mut u64) -> u64 {
        // SAFETY: the caller's promise; heap.copy/C1.
        unsafe {
            let header = self.first(at);
            if !Term::from_raw(header).is_header() {
                debug_assert!(self.promotion.old.holds(header as usize), "H2: {header:#x} at {at:?} is no header");
                return header;
            }
            let words = 1 + Header::from_raw(header).size();
            let new = self.take(words);
            *new = header;
            copy_words(at.add(1), new.add(1), words - 1);
            let word = Term::from_boxed(new).raw();
            match self.mark_moved(at, header, word, may_be_two(Header::from_raw(header))) {
                Ok(()) => {
                    self.keep(new, words);
                    word
                }
                Err(winner) => {
                    self.leave(new, words);
                    winner
                }
            }
        }
    }

    /// Moves a list cell and those behind its tail; writes the new word of the first to `slot`.
    ///
    /// # Safety
    /// The cell is a young one of the heap, moved or not, and stays for nobody; `slot` is nobody else's.
    #[inline(always)]
    unsafe fn list(&mut self, cell: *mut u64, slot: *mut u64) {
        let (mut cell, mut slot) = (cell, slot);
        loop {
            // SAFETY: `cell` is a young cell, which has moved or not; heap.copy/C1; `slot` is the caller's or a tail just made.
            unsafe {
                let head = self.first(cell);
                if Term::from_raw(head).is_header() {
                    *slot = Term::from_cell(pointer((head & !7) as usize).cast()).raw();
                    return;
                }
                let tail = *cell.add(1);
                let new = self.take(2);
                *new = head;
                *new.add(1) = tail;
                if let Err(winner) = self.mark_moved(cell, head, new.expose_provenance() as u64 | MOVED, true) {
                    self.leave(new, 2);
                    *slot = Term::from_cell(pointer((winner & !7) as usize).cast()).raw();
                    return;
                }
                *slot = Term::from_cell(new.cast()).raw();
                slot = new.add(1);
                let next = Term::from_raw(tail);
                if !next.is_cons() || self.promotion.stays(tail) {
                    return;
                }
                if self.promotion.pinned.holds(tail as usize) {
                    *slot = self.copy_of_pinned(tail);
                    return;
                }
                cell = next.object_ptr();
            }
        }
    }

    /// Moves what these words lead to.
    ///
    /// # Safety
    /// They are words of the heap, and nobody else's.
    unsafe fn root_words(&mut self, at: *mut u64, len: usize) {
        for i in 0..len {
            // SAFETY: the caller's promise.
            unsafe {
                let word = *at.add(i);
                if !Term::from_raw(word).is_immediate() {
                    self.forward(word, at.add(i));
                }
            }
        }
    }

    /// Moves what the roots of these processes lead to, but for those that are pinned and what is to stay in place.
    ///
    /// # Safety
    /// The processes are stopped.
    pub(crate) unsafe fn roots_of<P: Process>(&mut self, processes: &mut [P]) {
        let mut processes: Vec<&mut P> =
            processes.iter_mut().filter_map(|process| (!process.is_pinned()).then_some(process)).collect();
        for process in &mut processes {
            process.with_roots(&mut |heap: &mut Heap, roots: &mut Roots<'_>| {
                // SAFETY: the stack and the roots are the process's own words.
                unsafe {
                    self.root_words(heap.stop, heap.stack_words());
                    for (at, len) in roots.spans_for(true) {
                        self.root_words(at, len);
                    }
                }
            });
        }
        // SAFETY: the places are of signals to these processes, which nobody takes meanwhile.
        P::each_in_signals(&mut processes, InSignals::New, &mut |place| unsafe { self.root_words(place, 1) });
    }

    /// Scans up to `STEP` words of what is not scanned, or somewhat more; `false`: nothing is left.
    ///
    /// # Safety
    /// What is not scanned are objects that this thread may write (PR1).
    unsafe fn scan_some(&mut self) -> bool {
        let Some(range) = self.next_unscanned() else { return false };
        let (mut at, end) = (range.start, range.end.min(range.start + STEP * 8));
        while at < end {
            let slot = pointer(at);
            // SAFETY: heap/H2 of objects that were copied whole.
            unsafe {
                let word = *slot;
                at += 8;
                if !Term::from_raw(word).is_immediate() {
                    self.forward(word, slot);
                } else if Header::is_raw(word) {
                    at += std::hint::black_box(Header::from_raw(word).size()) * 8;
                }
            }
        }
        debug_assert!(at <= range.end, "H2: the last object that was copied ends behind {:#x}", range.end);
        self.scanned += (at - range.start) / 8;
        if at < range.end {
            self.unscanned.push(at..range.end);
        }
        true
    }

    #[inline]
    fn next_unscanned(&mut self) -> Option<Range<usize>> {
        if let Some(range) = self.unscanned.pop() {
            return Some(range);
        }
        let lent = self.lent.iter_mut().find(|lent| lent.scanned < lent.gap.start)?;
        Some(std::mem::replace(&mut lent.scanned, lent.gap.start)..lent.gap.start)
    }

    /// What is not scanned is in the list of that.
    fn list_unscanned(&mut self) {
        for lent in self.lent.iter_mut().filter(|lent| lent.scanned < lent.gap.start) {
            self.unscanned.push(lent.scanned..lent.gap.start);
            lent.scanned = lent.gap.start;
        }
    }
}

impl Promoter<'_, true> {
    /// Scans all, unless that are more than so many words; gives whether all is scanned.
    ///
    /// # Safety
    /// No other thread copies.
    pub(crate) unsafe fn scan(&mut self, most: usize) -> bool {
        while self.scanned <= most {
            // SAFETY: the caller's promise.
            let some = unsafe { self.scan_some() };
            if !some {
                return true;
            }
        }
        false
    }
}

impl Promoter<'_, false> {
    /// Does its part, until all is done.
    ///
    /// # Safety
    /// Processes of the list are stopped.
    pub(crate) unsafe fn work<P: Process>(&mut self, worker: &mut Worker<'_, Piece<'_, P>>) {
        while let Some(piece) = worker.take() {
            match piece {
                // SAFETY: the caller's promise.
                Piece::Roots(processes) => unsafe { self.roots_of(processes) },
                Piece::Objects(range) => self.unscanned.push(range),
            }
            // SAFETY: PR1: this thread has made it, or got it from the list.
            while unsafe { self.scan_some() } {
                if worker.is_wanted() {
                    self.share(worker);
                }
            }
        }
    }

    /// Gives away half of what is not scanned.
    fn share<P>(&mut self, worker: &mut Worker<'_, Piece<'_, P>>) {
        self.list_unscanned();
        let half = self.unscanned.len() / 2;
        let words: usize = self.unscanned[..half].iter().map(|range| range.len() / 8).sum();
        if words >= LEAST_GIVEN {
            worker.give(self.unscanned.drain(..half).map(Piece::Objects));
        }
    }
}
