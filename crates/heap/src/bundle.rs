//! Bundles: the terms of large messages, in blocks of their own that any number of processes share (Johansson et al. 2002, section 5, where the
//! blocks are one message area).
//!
//! A message of [`LARGE_WORDS`] and more is copied once, into a bundle, and what travels is a reference to that; one of [`LEAST_WORDS`] if that pays for its kind
//! (`fate.rs`). It stays a bundle at its receivers; sent again, whole or in part or within a new term, it is not copied. A bundle is immutable and knows
//! nothing of who holds it but how many.
//!
//! BU1. A bundle lives while somebody holds it: a message or payload by an object in its chain ([`hold_in`]), a heap by an entry of its own
//!      (`held.rs`), another bundle by an object in its chain. Whoever has a term that lies in a bundle holds it.
//! BU2. Pointers in a bundle lead into it, into bundles that it holds (they were there before it, so there are no circles), or to literals, whose areas
//!      it counts if these may go.
//! BU3. A bundle's block begins with its counted object: who knows an address there has its count.

use crate::account::Class;
use crate::area_count::{AreaHold, AreasMet};
use crate::bundle_area::{self as area, Range};
use crate::fate;
use crate::phases::{self, Phase};
use myriad_sync::Account;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_term::id::RefNumbers;
use myriad_term::magic::{Placed, magic_reference};
use myriad_term::{Alloc, Boxed, Kind, Magic, OffHeap, Term, TermRef, copy};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Words of the smallest bundle.
pub(crate) const LEAST_WORDS: usize = if cfg!(test) { 40 } else { 64 };
/// Words of a term from which on it becomes a bundle whatever its kind.
pub(crate) const LARGE_WORDS: usize = if cfg!(test) { 60 } else { 2048 };
/// Words of its own that a bundle has before its terms (BU3).
pub(crate) const HEADER: usize = Magic::placed_words::<Bundle>();
/// The word of its block where its first object begins, which refers to all others.
pub(crate) const FIRST: usize = HEADER;
/// Words of the object by which it is held in a chain.
pub(crate) const HOLD_WORDS: usize = 5;

/// Are messages made as bundles?
static IN_USE: AtomicBool = AtomicBool::new(false);

/// From now on large messages are bundles: to be called before the first process is made.
pub fn use_bundles() {
    // Relaxed: there is no other thread yet.
    IN_USE.store(true, Ordering::Relaxed);
}

/// Are large messages bundles?
#[inline(always)]
pub fn in_use() -> bool {
    // Relaxed: see `use_bundles`.
    IN_USE.load(Ordering::Relaxed)
}

/// Gives the system the memory that bundles have left free, as far as it has been kept for others, and what the calling thread has of it.
pub fn give_back() {
    area::give_back();
}

/// When a copy becomes a bundle.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Words from which on it does.
    pub(crate) least: usize,
    /// The kind that learns what becomes of it.
    pub(crate) kind: Option<fate::Kind>,
}

impl Rule {
    /// If it is large.
    pub(crate) const LARGE: Rule = Rule { least: LARGE_WORDS, kind: None };
    /// If it can, for it is placed where many look it up.
    pub(crate) const ALWAYS: Rule = Rule { least: LEAST_WORDS, kind: None };
}

/// A bundle: where it lies, and what its terms count. It is the value of the counted object with which its block begins.
pub(crate) struct Bundle {
    block: NonNull<u64>,
    /// Words of the block.
    words: usize,
    /// Whose it is.
    account: Account,
    off_heap: OffHeap,
    areas: Box<[AreaHold]>,
    /// The kind of message that it was made of, if that is to learn of it.
    kind: Option<fate::Kind>,
    /// Has that learned what there is to learn?
    is_told: AtomicBool,
}

// SAFETY: a bundle owns its block, which nobody writes, and the counts in its chain.
unsafe impl Send for Bundle {}
// SAFETY: as above.
unsafe impl Sync for Bundle {}

impl Bundle {
    /// The addresses of its block.
    pub(crate) fn addresses(&self) -> std::ops::Range<usize> {
        let start = self.block.addr().get();
        start..start + self.words * 8
    }

    /// Words of its block.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The addresses of the bundles that it holds.
    #[cfg(any(test, heap_check))]
    pub(crate) fn holds(&self) -> Vec<std::ops::Range<usize>> {
        let mut held = Vec::new();
        // SAFETY: heap/H5 of the bundle's chain.
        unsafe { each_held_in(&self.off_heap, |bundle| held.push(bundle.addresses())) };
        held
    }

    /// Where the block of the bundle begins in which an address lies.
    ///
    /// # Safety
    /// The address lies in a bundle that is held.
    #[inline]
    pub(crate) unsafe fn start(at: *const u64) -> usize {
        // SAFETY: the caller's promise.
        unsafe { area::start_of(at) }.addr()
    }

    /// It pays: it is sent again, or kept though it is long.
    pub(crate) fn pays(&self) {
        // Relaxed: it orders nothing, and may be noticed twice.
        if let Some(kind) = self.kind
            && !self.is_told.load(Ordering::Relaxed)
        {
            self.is_told.store(true, Ordering::Relaxed);
            kind.was_worth_it();
        }
    }

    /// Nobody will know whether it would have paid.
    pub(crate) fn tells_nothing(&self) {
        // Relaxed: as above.
        self.is_told.store(true, Ordering::Relaxed);
    }

    /// The counted bundle in which an address lies, without touching its count.
    ///
    /// # Safety
    /// The address lies in a bundle that is held.
    pub(crate) unsafe fn at(at: *const u64) -> ManuallyDrop<Magic> {
        // SAFETY: the caller's promise; BU3.
        ManuallyDrop::new(unsafe { Magic::from_raw(area::start_of(at).cast_const().cast()) })
    }
}

/// Calls `each` with the bundles that the objects of a chain hold.
///
/// # Safety
/// The chain is whole (heap/H5).
unsafe fn each_held_in(chain: &OffHeap, mut each: impl FnMut(&Bundle)) {
    let mut at = chain.first;
    while !at.is_null() {
        // SAFETY: the caller's promise.
        let object = unsafe { Boxed::at(at) };
        if object.kind() == Kind::MagicRef
            && let Some(bundle) = object.magic().get::<Bundle>()
        {
            each(bundle);
        }
        at = object.off_heap_next();
    }
}

/// Words of the bundles that the objects of a chain hold, beyond those of the objects: what private memory of the same terms would take.
///
/// # Safety
/// The chain is whole (heap/H5).
pub unsafe fn words_held_in(chain: &OffHeap) -> usize {
    let mut words = 0;
    // SAFETY: the caller's promise.
    unsafe { each_held_in(chain, |bundle| words += bundle.words() - HEADER - HOLD_WORDS) };
    words
}

thread_local! {
    /// Bundles that go, while one is being freed: each holds those before it, as deep as a list may be.
    static GOING: RefCell<Vec<Gone>> = const { RefCell::new(Vec::new()) };
    static FREEING: Cell<bool> = const { Cell::new(false) };
}

/// What is left of a bundle that nobody holds.
struct Gone {
    block: NonNull<u64>,
    words: usize,
    account: Account,
    off_heap: OffHeap,
    /// Given back with the block.
    #[allow(dead_code, reason = "to be dropped")]
    areas: Box<[AreaHold]>,
}

impl Gone {
    fn free(mut self) {
        Class::Bundle.ledger().go(self.account, self.words);
        // SAFETY: BU1: nobody holds the bundle, so its objects die, the counts first.
        unsafe {
            self.off_heap.release_all();
            area::give(self.block, self.words);
        }
    }
}

impl Placed for Bundle {
    unsafe fn end(mut this: NonNull<Bundle>) {
        // SAFETY: nobody holds it any more; its block stays until it is freed below.
        let bundle = unsafe { this.as_mut() };
        #[cfg(any(test, heap_check))]
        crate::census::unlist(bundle.block.addr().get());
        // Relaxed: see `pays`.
        if let Some(kind) = bundle.kind
            && !bundle.is_told.load(Ordering::Relaxed)
        {
            kind.was_wasted();
        }
        // What is left has nothing to drop.
        let off_heap = std::mem::replace(&mut bundle.off_heap, OffHeap::new());
        let areas = std::mem::take(&mut bundle.areas);
        let gone = Gone { block: bundle.block, words: bundle.words, account: bundle.account, off_heap, areas };
        if FREEING.replace(true) {
            return GOING.with_borrow_mut(|going| going.push(gone));
        }
        let mut next = Some(gone);
        while let Some(gone) = next {
            gone.free();
            next = GOING.with_borrow_mut(Vec::pop);
        }
        FREEING.set(false);
    }
}

/// The block of a bundle that is being made.
struct Filling {
    top: NonNull<u64>,
    /// Words behind `top`.
    free: usize,
    off_heap: OffHeap,
}

impl Alloc<'static> for Filling {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        assert!(words <= self.free, "BU1: a bundle was made too small for its term");
        let at = self.top;
        // SAFETY: there are so many words.
        self.top = unsafe { at.add(words) };
        self.free -= words;
        at
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.off_heap.link(header, words) };
    }
}

/// Bundles, by their addresses: nearly always there is one, at most.
#[derive(Default)]
struct Bundles {
    first: Option<(usize, Magic)>,
    others: BTreeMap<usize, Magic>,
}

impl Bundles {
    fn add(&mut self, at: usize, bundle: &Magic) {
        match &self.first {
            None => self.first = Some((at, Magic::clone(bundle))),
            Some((first, _)) if *first == at => {}
            Some(_) => _ = self.others.entry(at).or_insert_with(|| Magic::clone(bundle)),
        }
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    fn each(&self) -> impl Iterator<Item = &Magic> {
        self.first.iter().map(|(_, bundle)| bundle).chain(self.others.values())
    }

    fn into_each(self) -> impl Iterator<Item = Magic> {
        self.first.into_iter().map(|(_, bundle)| bundle).chain(self.others.into_values())
    }
}

/// The bundles that a copy has met, which its place is to hold.
#[derive(Default)]
struct Met {
    bundles: RefCell<Bundles>,
    /// The addresses of the last one.
    last: Cell<(usize, usize)>,
}

impl Met {
    /// Does an address lie in a bundle? Then that is noted.
    #[inline]
    fn meets(&self, range: Range, at: *const u64) -> bool {
        if !range.holds(at) {
            return false;
        }
        let (start, end) = self.last.get();
        if !(start..end).contains(&at.addr()) {
            self.note(at);
        }
        true
    }

    #[cold]
    fn note(&self, at: *const u64) {
        // SAFETY: BU1: whoever copies a term holds the bundles in which its parts lie.
        let met = unsafe { Bundle::at(at) };
        let Some(addresses) = met.get::<Bundle>().map(Bundle::addresses) else { return };
        self.last.set((addresses.start, addresses.end));
        self.bundles.borrow_mut().add(addresses.start, &met);
    }
}

/// An object by which the owner of this memory holds a bundle.
pub(crate) fn hold_in<'h, A: Alloc<'h> + ?Sized>(memory: &mut A, bundle: Magic) {
    magic_reference(memory, bundle);
}

/// Another count of a bundle, which is sent again.
pub(crate) fn again(bundle: &Magic) -> Magic {
    if let Some(bundle) = bundle.get::<Bundle>() {
        bundle.pays();
    }
    Magic::clone(bundle)
}

/// Why a term has to do with bundles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beyond {
    /// It refers to some, and what it has beside is small.
    Refers,
    /// It is large.
    Large,
}

/// Words that a term needs that has nothing to do with bundles: it has less than `least`, and refers to none.
#[inline]
pub(crate) fn small_size(term: TermRef<'_>, least: usize, lasts: impl Fn(*const u64) -> bool) -> Result<usize, Beyond> {
    let range = area::range();
    let meets = &Cell::new(false);
    let words = copy::size_within(term, least - 1, move |at| {
        if range.holds(at) {
            meets.set(true);
            return true;
        }
        lasts(at)
    });
    match words {
        Some(words) if !meets.get() => Ok(words),
        Some(_) => Err(Beyond::Refers),
        None => Err(Beyond::Large),
    }
}

/// A term that is copied to memory that holds the bundles it refers to, but for what `lasts` says lasts without being held.
pub struct Sharing<'t, F> {
    term: TermRef<'t>,
    range: Range,
    lasts: F,
    /// Words that are copied.
    copied: usize,
    /// The areas of what lasts.
    areas: AreasMet,
    holds: Bundles,
}

impl<'t> Sharing<'t, fn(*const u64) -> bool> {
    /// Counts the words, and the bundles; literals are copied.
    pub fn of(term: TermRef<'t>) -> Self {
        Sharing::with(term, |_| false)
    }
}

impl<'t, F: Fn(*const u64) -> bool> Sharing<'t, F> {
    /// Counts the words, and the bundles.
    pub(crate) fn with(term: TermRef<'t>, lasts: F) -> Self {
        Sharing::within(term, usize::MAX, lasts).expect("no term has as many words as there are addresses")
    }

    /// The same; `None` if more than `limit` words would be copied.
    pub(crate) fn within(term: TermRef<'t>, limit: usize, lasts: F) -> Option<Self> {
        let (range, met, areas) = (area::range(), Met::default(), AreasMet::default());
        let copied = copy::size_within(term, limit, |at| {
            if lasts(at) {
                areas.meet(at);
                return true;
            }
            met.meets(range, at)
        })?;
        Some(Sharing { term, range, lasts, copied, areas, holds: met.bundles.into_inner() })
    }

    /// The bundles are sent again.
    pub(crate) fn sent_again(&self) {
        self.holds.each().filter_map(|bundle| bundle.get::<Bundle>()).for_each(Bundle::pays);
    }

    /// The words that are copied.
    pub(crate) fn copied_words(&self) -> usize {
        self.copied
    }

    /// The words that the copy takes, with the objects that hold the bundles.
    pub fn words(&self) -> usize {
        self.copied + self.holds.len() * HOLD_WORDS
    }

    /// Refers to bundles?
    pub fn has_bundles(&self) -> bool {
        self.holds.len() > 0
    }

    /// The copy; what holds the bundles comes behind it.
    pub fn copy<'h, A: Alloc<'h> + ?Sized>(self, memory: &mut A) -> TermRef<'h> {
        let stays = |at: *const u64| (self.lasts)(at) || self.range.holds(at);
        // SAFETY: the size of the same term with the same predicate; the memory holds the bundles that it refers to (BU1). The purger asks for who
        // refers to a literal.
        let copied = unsafe { copy::copy(self.term, self.copied, memory, stays) };
        self.holds.into_each().for_each(|bundle| hold_in(memory, bundle));
        copied
    }

    /// The term in a bundle of its own, if it is large enough; and how many words were copied. What lasts are literals.
    pub(crate) fn bundle(&self, rule: Rule) -> Option<(Term, Magic, usize)> {
        if self.copied < rule.least {
            return None;
        }
        self.make(rule.kind)
    }

    /// `None`: there is no room.
    #[cold]
    fn make(&self, kind: Option<fate::Kind>) -> Option<(Term, Magic, usize)> {
        let words = HEADER + self.copied + self.holds.len() * HOLD_WORDS;
        if words > area::MOST_WORDS {
            return None;
        }
        // No area goes meanwhile: one that is announced from now on waits for thread progress (heap.literal/L3).
        let areas = self.areas.hold()?;
        let block = area::take(words)?;
        let account = Class::Bundle.ledger().come(words);
        // SAFETY: the block has a header.
        let mut filling = Filling { top: unsafe { block.add(HEADER) }, free: words - HEADER, off_heap: OffHeap::new() };
        let stays = |at: *const u64| (self.lasts)(at) || self.range.holds(at);
        // SAFETY: the size of the same term with the same predicate. It lies in the block, and what it refers to beside is held there, or counted (BU2).
        let term = phases::measured(Phase::Copy, || unsafe {
            copy::copy(self.term, self.copied, &mut filling, stays).assume_held()
        });
        self.holds.each().for_each(|bundle| hold_in(&mut filling, Magic::clone(bundle)));
        let off_heap = filling.off_heap;
        let bundle = Bundle { block, words, account, off_heap, areas, kind, is_told: AtomicBool::new(false) };
        // SAFETY: the block has so many words before its terms, and is freed when nobody holds the bundle (BU3).
        let counted = unsafe { Magic::place(block, RefNumbers([0; 3]), bundle) };
        #[cfg(any(test, heap_check))]
        crate::census::list(block.addr().get());
        Some((term, counted, self.copied))
    }
}

/// Words that a term takes which is no matter of bundles: it has too few words to be one, and refers to none. Literals count.
#[inline]
pub fn whole_small_size(term: TermRef<'_>) -> Option<usize> {
    if term.is_immediate() { Some(0) } else { small_size(term, LEAST_WORDS, |_| false).ok() }
}

/// Does an address lie in the memory of bundles?
#[inline(always)]
pub fn is_bundled(at: *const u64) -> bool {
    area::range().holds(at)
}
