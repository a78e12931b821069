//! [`Heap`]: the memory of one process.
//!
//! One block holds the young generation, growing up from `start`, and the Erlang stack, growing down from `hend`; the
//! room between `htop` and `stop` is for both. Objects that survived two collections are in the old block, which
//! exists only once there are such. What does not fit the block goes to fragments (term/A1), until the next collection.
//!
//! The first four fields are the interpreter's and the JIT's: they allocate by moving `htop` and push by moving `stop`,
//! after one check of the room between. They keep heap/H1 and heap/H2 of the crate's page.

use crate::account::Class;
use crate::block;
use crate::bundle_area;
use crate::due::Thrift;
use crate::fragment::{Chunk, Fragment};
use crate::held::Held;
use crate::large::Large;
use crate::one_heap;
use crate::segment::Segments;
use crate::settings::{MaxHeapSize, Settings};
use crate::sizes;
use myriad_sync::Account;
use myriad_term::boxed::Header;
use myriad_term::{Alloc, Atom, Boxed, Kind, OffHeap, Term, am};
use std::ptr::{self, NonNull};

/// Words that allocation leaves free between heap and stack, so that a frame for a trap or an error handler can be
/// pushed without a check.
pub const RESERVED: usize = 4;

/// Words of the first chunk for what does not fit the block.
const FIRST_OVERFLOW: usize = 253;
/// Most words of such a chunk that are taken in advance.
const LARGEST_OVERFLOW: usize = 1 << 17;

const KILL: u8 = 1;
const ERROR_LOGGER: u8 = 2;
const INCLUDE_SHARED: u8 = 4;
/// Its process has run since the last collection of the one heap.
const TOUCHED: u8 = 8;
/// It holds many words of bundles or messages, and nobody knows of it ([`crate::idle`]).
pub(crate) const TO_NOTE: u8 = 16;
/// Its process has not slept since some of its old generation was emptied ([`crate::emptying`]).
pub(crate) const UNRESTED: u8 = 32;
/// Its process sleeps, and its next collection is to leave it little more than it needs ([`crate::idle`]).
pub(crate) const TO_FIT: u8 = 64;

/// Its old generation is large, and nobody knows that it is to be looked at while the process sleeps ([`crate::asleep`]).
pub(crate) const TO_LOOK: u8 = 128;

/// The memory of one process.
#[repr(C)]
pub struct Heap {
    /// First free word above the young generation.
    pub htop: *mut u64,
    /// Last word pushed on the Erlang stack (`hend` if there is none).
    pub stop: *mut u64,
    /// First word of the block.
    pub start: *mut u64,
    /// End of the block, and base of the stack.
    pub hend: *mut u64,
    /// Young objects below it have survived a collection.
    pub(crate) high_water: *mut u64,
    pub(crate) old_start: *mut u64,
    pub(crate) old_top: *mut u64,
    pub(crate) old_end: *mut u64,
    /// Promotions beyond it make a fullsweep due; at most `old_end`.
    pub(crate) old_limit: *mut u64,
    /// Off-heap objects of the young generation and the fragments (heap/H5).
    pub(crate) off_heap: OffHeap,
    /// Off-heap objects of the old generation.
    pub(crate) old_off_heap: OffHeap,
    /// Chunks; the first may have room for more.
    pub(crate) fragments: *mut Chunk,
    /// Words of objects in chunks.
    pub(crate) fragment_words: usize,
    pub(crate) bin_vheap_limit: usize,
    pub(crate) old_bin_vheap_limit: usize,
    /// What few heaps have; `None`: nothing of it.
    pub(crate) rare: Option<Box<Rare>>,
    pub(crate) fullsweep_after: u16,
    /// Minor collections since the last fullsweep.
    pub(crate) minor_gcs: u16,
    /// What tells whether a look at the old generation pays.
    pub(crate) thrift: Thrift,
    /// Collections so far, beyond 2^32 anew.
    pub(crate) total_gcs: u32,
    /// The thread's collection clock when this heap was last collected. Where there is one heap: the last gathering of roots in which its process was asked.
    pub(crate) last_seen: u32,
    /// The least sizes, by their places in the table of sizes.
    min_heap_place: u8,
    min_bin_vheap_place: u8,
    pub(crate) flags: u8,
    /// The next collection must be a fullsweep.
    pub(crate) fullsweep_next: bool,
    /// The next minor collection may promote all.
    pub(crate) tenure_next: bool,
    /// A collection is asked for.
    pub(crate) collect_next: bool,
    /// Whose account the blocks are on: that of the thread that made or last collected the heap.
    pub(crate) account: Account,
}

/// What few heaps have.
#[derive(Default)]
pub(crate) struct Rare {
    /// Words of its limit; 0: none.
    max_heap_size: usize,
    /// The bundles that it holds.
    pub(crate) held: Held,
    /// Its old generation, if that is large.
    pub(crate) large: Option<Box<Large>>,
    /// Where all processes have one heap: its young memory in which nothing is allocated any more.
    pub(crate) segments: Segments,
}

// SAFETY: a heap owns its blocks, chunks and counts; nothing of it is tied to a thread.
unsafe impl Send for Heap {}

/// Words between two addresses.
#[inline(always)]
pub(crate) fn words_between(low: *mut u64, high: *mut u64) -> usize {
    debug_assert!(low <= high && low.is_aligned() && high.is_aligned(), "H1: {low:?} to {high:?} is no area of words");
    (high as usize - low as usize) / 8
}

/// The figures of a heap that programs can ask for, in words (`process_info(P, garbage_collection_info)`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcInfo {
    /// Size of the old block.
    pub old_heap_block_size: usize,
    /// Size of the young block, stack included.
    pub heap_block_size: usize,
    /// Fragments.
    pub mbuf_size: usize,
    /// Young words that survived the last collection.
    pub recent_size: usize,
    /// Words on the stack.
    pub stack_size: usize,
    /// Words in use in the old block.
    pub old_heap_size: usize,
    /// Words in use by the young generation.
    pub heap_size: usize,
    /// Shared binaries that the young generation refers to.
    pub bin_vheap_size: usize,
    /// How many trigger a collection.
    pub bin_vheap_block_size: usize,
    /// Shared binaries that the old generation refers to.
    pub bin_old_vheap_size: usize,
    /// How many trigger a fullsweep.
    pub bin_old_vheap_block_size: usize,
}

impl GcInfo {
    /// The figures by OTP's names, in its order.
    pub fn named(&self) -> [(Atom, usize); 11] {
        [
            (am::old_heap_block_size, self.old_heap_block_size),
            (am::heap_block_size, self.heap_block_size),
            (am::mbuf_size, self.mbuf_size),
            (am::recent_size, self.recent_size),
            (am::stack_size, self.stack_size),
            (am::old_heap_size, self.old_heap_size),
            (am::heap_size, self.heap_size),
            (am::bin_vheap_size, self.bin_vheap_size),
            (am::bin_vheap_block_size, self.bin_vheap_block_size),
            (am::bin_old_vheap_size, self.bin_old_vheap_size),
            (am::bin_old_vheap_block_size, self.bin_old_vheap_block_size),
        ]
    }
}

impl Heap {
    /// A heap with one block of the least size of the settings, rounded up to the table of sizes.
    pub fn new(settings: &Settings) -> Heap {
        Heap::with_room(settings, 0)
    }

    /// A heap whose first block has room for `words` too (the arguments of a spawn).
    pub fn with_room(settings: &Settings, words: usize) -> Heap {
        let size = sizes::at_least(settings.min_heap_size.max(words.saturating_add(RESERVED)));
        let (start, account) = block::take(size, Class::Process);
        Heap::in_block(settings, start, size, account)
    }

    /// A heap that has only fragments: what is made while the process's own is not to be touched. It is never collected, but
    /// joins that one ([`Heap::join`]).
    pub fn without_block(settings: &Settings) -> Heap {
        Heap::in_block(settings, ptr::null_mut(), 0, Account::SHARED)
    }

    fn in_block(settings: &Settings, start: *mut u64, size: usize, account: Account) -> Heap {
        // The end of the block.
        let hend = start.wrapping_add(size);
        let mut heap = Heap {
            htop: start,
            stop: hend,
            start,
            hend,
            high_water: start,
            old_start: ptr::null_mut(),
            old_top: ptr::null_mut(),
            old_end: ptr::null_mut(),
            old_limit: ptr::null_mut(),
            off_heap: OffHeap::new(),
            old_off_heap: OffHeap::new(),
            fragments: ptr::null_mut(),
            fragment_words: 0,
            bin_vheap_limit: settings.min_bin_vheap_size,
            old_bin_vheap_limit: settings.min_bin_vheap_size,
            total_gcs: 0,
            rare: None,
            fullsweep_after: settings.fullsweep_after,
            minor_gcs: 0,
            thrift: Thrift::default(),
            last_seen: 0,
            min_heap_place: sizes::place(settings.min_heap_size),
            min_bin_vheap_place: sizes::place(settings.min_bin_vheap_size),
            flags: TOUCHED,
            fullsweep_next: false,
            tenure_next: false,
            collect_next: false,
            account,
        };
        heap.set_max_heap_size(settings.max_heap_size);
        heap
    }

    // ---- bounds

    /// heap/H1 for the bounds of both generations, and that they lie apart.
    pub(crate) fn bounds_hold(&self) -> bool {
        let young = [self.start, self.high_water, self.htop, self.stop, self.hend];
        let old = [self.old_start, self.old_top, self.old_limit, self.old_end];
        young.is_sorted() && old.is_sorted() && (self.old_end <= self.start || self.hend <= self.old_start)
    }

    /// Were these words allocated since the last collection and are they not given back? (Of a chunk's words nothing is known.)
    fn may_give_back(&self, at: *mut u64, words: usize) -> bool {
        !(self.start..self.hend).contains(&at) || self.high_water <= at && at.wrapping_add(words) <= self.htop
    }

    // ---- room

    /// Free words between heap and stack.
    #[inline(always)]
    pub fn room(&self) -> usize {
        words_between(self.htop, self.stop)
    }

    /// Can `words` be allocated (or pushed) in the block, leaving [`RESERVED`]?
    #[inline(always)]
    pub fn ensure(&self, words: usize) -> bool {
        self.room() >= words.saturating_add(RESERVED)
    }

    /// Would an object of `words` words not fit the block, and make a collection due ([`Heap::needs_collection`])? Then it is
    /// better made after one that makes room for it: what is fresh need not be copied at once.
    #[inline]
    pub fn outgrown_by(&self, words: usize) -> bool {
        !self.ensure(words) && self.fragment_words.saturating_add(words) > words_between(self.start, self.hend)
    }

    /// Should the owner collect at the next point where all roots are known, though there is room?
    #[inline]
    pub fn needs_collection(&self) -> bool {
        #[cfg(heap_check)]
        if crate::check::stress(self.young_words() + self.old_words()) {
            return true;
        }
        self.fragment_words > words_between(self.start, self.hend)
            || self.off_heap.binary_words > self.bin_vheap_limit
            || self.collect_next
    }

    /// Gives back the words from `at` to the heap's top, which were allocated last and are not used; if others came
    /// after them they become filler.
    ///
    /// # Safety
    /// `words` words at `at` are part of an allocation of this heap, and no term points into them.
    pub unsafe fn give_back(&mut self, at: *mut u64, words: usize) {
        if words == 0 {
            return;
        }
        debug_assert!(
            self.may_give_back(at, words),
            "{words} words at {at:?} are given back that are not the last allocated"
        );
        // SAFETY: the caller's promise: the words are this heap's and unused.
        unsafe {
            if at.add(words) == self.htop {
                self.htop = at;
            } else {
                *at = Header::new(Kind::Filler, words - 1).raw();
            }
        }
    }

    /// Room in the first chunk, when the block has none.
    #[cold]
    #[inline(never)]
    fn alloc_in_chunk(&mut self, words: usize) -> NonNull<u64> {
        // SAFETY: `fragments` is null or a live chunk of this heap.
        unsafe {
            if self.fragments.is_null() || Chunk::free(self.fragments) < words {
                return self.alloc_in_new_chunk(words);
            }
            let at = (*self.fragments).top;
            (*self.fragments).top = at.add(words);
            self.fragment_words += words;
            debug_assert!(
                Chunk::used(self.fragments) <= self.fragment_words,
                "a chunk holds words that the heap does not count"
            );
            NonNull::new_unchecked(at)
        }
    }

    #[cold]
    #[inline(never)]
    fn alloc_in_new_chunk(&mut self, words: usize) -> NonNull<u64> {
        let size = words.max(self.fragment_words.clamp(FIRST_OVERFLOW, LARGEST_OVERFLOW));
        let chunk = Chunk::take(size);
        // SAFETY: the chunk is ours, and has the room.
        unsafe { (*chunk).next = self.fragments };
        self.fragments = chunk;
        self.alloc_in_chunk(words)
    }

    /// A fragment joins the heap: its terms are the process's from now on.
    pub fn attach(&mut self, fragment: Fragment) {
        let (chunks, mut chain) = fragment.into_parts();
        if !chain.first.is_null() && bundle_area::is_in_use() {
            self.hold_bundles(&mut chain);
        }
        debug_assert!(chunks.is_null() || chunks != self.fragments, "MB2: a block joins its heap twice");
        debug_assert!(chain.first.is_null() || chain.first != self.off_heap.first, "H5: a chain joins its heap twice");
        // SAFETY: chunks and chain are whole, and this heap's from here on.
        unsafe {
            if !chunks.is_null() {
                let mut last = chunks;
                self.fragment_words += Chunk::used(last);
                while !(*last).next.is_null() {
                    last = (*last).next;
                    debug_assert!(
                        (*last).off_heap.first.is_null(),
                        "H5: a chunk behind the first has a chain of its own"
                    );
                    self.fragment_words += Chunk::used(last);
                }
                // Behind the first chunk, which may have room left.
                if self.fragments.is_null() {
                    self.fragments = chunks;
                } else {
                    (*last).next = (*self.fragments).next;
                    (*self.fragments).next = chunks;
                }
                self.watch_messages();
            }
            if !chain.first.is_null() {
                let mut last = Boxed::at(chain.first);
                while !last.off_heap_next().is_null() {
                    debug_assert!(last.header().is_off_heap(), "H5: the chain that joins leads to {:?}", last.kind());
                    last = Boxed::at(last.off_heap_next());
                }
                last.set_off_heap_next(self.off_heap.first);
                self.off_heap.first = chain.first;
                self.off_heap.binary_words += chain.binary_words;
            }
        }
    }

    /// A counted object comes, which may be what holds a bundle.
    ///
    /// # Safety
    /// As for [`Alloc::link`].
    #[cold]
    unsafe fn link_or_hold(&mut self, header: *mut u64) {
        let mut chain = OffHeap::new();
        // SAFETY: the caller's promise about the object.
        unsafe {
            chain.link(header, 0);
            self.hold_bundles(&mut chain);
            if !chain.first.is_null() {
                self.off_heap.link(header, 0);
            }
        }
    }

    /// The bundles that a chain holds are the heap's from now on.
    #[cold]
    fn hold_bundles(&mut self, chain: &mut OffHeap) {
        // SAFETY: the chain is whole, and this heap's.
        let words = unsafe { self.held_mut().take_from(chain) };
        // They make collections due as shared binaries do.
        self.off_heap.binary_words += words;
        self.watch_held();
    }

    /// A heap without a block joins this one: its terms are the process's from now on.
    pub fn join(&mut self, mut other: Heap) {
        debug_assert!(other.start.is_null() && other.old_start.is_null(), "a heap with a block cannot join another");
        let chunks = std::mem::replace(&mut other.fragments, ptr::null_mut());
        let chain = std::mem::replace(&mut other.off_heap, OffHeap::new());
        self.attach(Fragment::from_parts(chunks, chain));
        if let Some(rare) = other.rare.take() {
            self.held_mut().join(rare.held);
            self.watch_held();
        }
        self.collect_next |= other.collect_next;
        self.fullsweep_next |= other.fullsweep_next;
    }

    // ---- the stack

    /// Words on the stack.
    #[inline]
    pub fn stack_words(&self) -> usize {
        words_between(self.stop, self.hend)
    }

    /// The words on the stack, the last pushed first.
    #[inline]
    pub fn stack(&self) -> &[u64] {
        // SAFETY: heap/H1.
        unsafe { std::slice::from_raw_parts(self.stop, self.stack_words()) }
    }

    // ---- figures

    /// Words in use: both generations, fragments, stack.
    pub fn used_words(&self) -> usize {
        self.young_words() + self.old_words() + self.fragment_words + self.stack_words()
    }

    /// Words of both blocks and the fragments (`total_heap_size`); where all processes have one heap, those of the young ones.
    pub fn total_size_words(&self) -> usize {
        let segments = self.rare.as_ref().map_or(0, |rare| rare.segments.words);
        self.block_words() + segments + self.old_block_words() + self.fragment_words
    }

    /// What counts for the limit between two collections: not what of the old block is free.
    pub fn limited_words(&self) -> usize {
        if one_heap::is_on() {
            return self.last_reachable();
        }
        self.block_words() + self.old_words() + self.fragment_words + self.held_words()
    }

    /// Words of the bundles that it holds, wholly, whoever else does.
    #[inline]
    pub(crate) fn held_words(&self) -> usize {
        self.held().map_or(0, Held::words)
    }

    /// Words of the young block (`heap_size`).
    #[inline]
    pub fn block_words(&self) -> usize {
        words_between(self.start, self.hend)
    }

    #[inline]
    pub(crate) fn young_words(&self) -> usize {
        words_between(self.start, self.htop)
    }

    #[inline]
    pub(crate) fn mature_words(&self) -> usize {
        words_between(self.start, self.high_water)
    }

    #[inline]
    pub(crate) fn old_words(&self) -> usize {
        self.large().map_or_else(|| words_between(self.old_start, self.old_top), Large::words)
    }

    /// Where the objects of the old generation lie, and what is between them.
    pub(crate) fn old_area(&self) -> (*mut u64, *mut u64) {
        self.large().map_or((self.old_start, self.old_top), Large::area)
    }

    /// Words of the old generation's memory, used or free, but for large gaps.
    #[inline]
    pub(crate) fn old_block_words(&self) -> usize {
        words_between(self.old_start, self.old_end) - self.large().map_or(0, |large| large.free)
    }

    /// All figures.
    pub fn info(&self) -> GcInfo {
        GcInfo {
            old_heap_block_size: self.old_block_words(),
            heap_block_size: self.block_words(),
            mbuf_size: self.fragment_words,
            recent_size: self.mature_words(),
            stack_size: self.stack_words(),
            old_heap_size: self.old_words(),
            heap_size: self.young_words(),
            bin_vheap_size: self.off_heap.binary_words,
            bin_vheap_block_size: self.bin_vheap_limit,
            bin_old_vheap_size: self.old_off_heap.binary_words,
            bin_old_vheap_block_size: self.old_bin_vheap_limit,
        }
    }

    /// Minor collections since the last fullsweep (`minor_gcs`).
    pub fn minor_gcs(&self) -> u16 {
        self.minor_gcs
    }

    /// Collections of this heap so far (beyond 2^32 anew).
    pub fn collections(&self) -> u64 {
        u64::from(self.total_gcs)
    }

    /// The distinct shared binaries of the heap's objects, as (identity, bytes, references): `process_info(P, binary)`
    /// lists them once for each object, and so does this.
    pub fn each_shared_binary(&self, mut tell: impl FnMut(usize, usize, usize)) {
        for chain in [&self.off_heap, &self.old_off_heap] {
            let mut at = chain.first;
            while !at.is_null() {
                // SAFETY: heap/H5, the chain holds live off-heap objects.
                let object = unsafe { Boxed::at(at) };
                debug_assert!(object.header().is_off_heap(), "H5: a chain leads to {:?}", object.kind());
                if object.kind() == Kind::SharedBinary {
                    let binary = object.shared();
                    tell(object.word(1) as usize, binary.len(), binary.references());
                }
                at = object.off_heap_next();
            }
        }
    }

    /// The bundles that the heap holds, as (address, words, how many hold it).
    pub fn each_bundle(&self, tell: impl FnMut(usize, usize, usize)) {
        if let Some(held) = self.held() {
            held.each(tell);
        }
    }

    // ---- settings

    /// The settings in force.
    pub fn settings(&self) -> Settings {
        Settings {
            min_heap_size: self.min_heap_size(),
            min_bin_vheap_size: self.min_bin_vheap_size(),
            fullsweep_after: self.fullsweep_after,
            max_heap_size: self.max_heap_size(),
        }
    }

    /// Words that the young block never falls below.
    #[inline]
    pub(crate) fn min_heap_size(&self) -> usize {
        sizes::at_place(self.min_heap_place)
    }

    /// Words that the limits of the virtual binary heaps never fall below.
    #[inline]
    pub(crate) fn min_bin_vheap_size(&self) -> usize {
        sizes::at_place(self.min_bin_vheap_place)
    }

    /// The limit.
    pub fn max_heap_size(&self) -> MaxHeapSize {
        MaxHeapSize {
            size: self.limit(),
            kill: self.flags & KILL != 0,
            error_logger: self.flags & ERROR_LOGGER != 0,
            include_shared: self.flags & INCLUDE_SHARED != 0,
        }
    }

    /// Words of the limit; 0: none.
    #[inline]
    pub(crate) fn limit(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.max_heap_size)
    }

    pub(crate) fn set_limit(&mut self, words: usize) {
        if words != self.limit() {
            self.rare.get_or_insert_default().max_heap_size = words;
            self.forget_reachable();
        }
    }

    /// Words that the next collection makes room for beside what survives.
    pub(crate) fn leaving_words(&self) -> usize {
        self.held().map_or(0, |held| held.leaving)
    }

    /// The bundles that it holds, if it ever held one.
    pub(crate) fn held(&self) -> Option<&Held> {
        self.rare.as_ref().map(|rare| &rare.held)
    }

    pub(crate) fn held_mut(&mut self) -> &mut Held {
        &mut self.rare.get_or_insert_default().held
    }

    /// Sets the limit.
    pub fn set_max_heap_size(&mut self, limit: MaxHeapSize) {
        self.set_limit(limit.size);
        self.flags = self.flags & !(KILL | ERROR_LOGGER | INCLUDE_SHARED)
            | if limit.kill { KILL } else { 0 }
            | if limit.error_logger { ERROR_LOGGER } else { 0 }
            | if limit.include_shared { INCLUDE_SHARED } else { 0 };
    }

    /// Sets the least size of the block; gives the former. In force from the next collection.
    pub fn set_min_heap_size(&mut self, words: usize) -> usize {
        sizes::at_place(std::mem::replace(&mut self.min_heap_place, sizes::place(words)))
    }

    /// Sets the least limit of the virtual binary heaps; gives the former.
    pub fn set_min_bin_vheap_size(&mut self, words: usize) -> usize {
        sizes::at_place(std::mem::replace(&mut self.min_bin_vheap_place, sizes::place(words)))
    }

    /// Sets the minor collections between fullsweeps; gives the former.
    pub fn set_fullsweep_after(&mut self, collections: u16) -> u16 {
        std::mem::replace(&mut self.fullsweep_after, collections)
    }

    /// Its process is about to run: it may refer to what is young.
    #[inline]
    pub fn touch(&mut self) {
        self.flags |= TOUCHED;
    }

    /// Has its process run since the last collection of the one heap?
    pub fn is_touched(&self) -> bool {
        self.flags & TOUCHED != 0
    }

    /// It refers to nothing that is young, until its process runs.
    pub(crate) fn forget_touch(&mut self) {
        self.flags &= !TOUCHED;
    }

    /// Asks for a collection at the next point where all roots are known ([`Heap::needs_collection`]).
    pub fn request_collection(&mut self) {
        self.collect_next = true;
    }

    /// Asks for a fullsweep at the next such point.
    pub fn request_fullsweep(&mut self) {
        self.collect_next = true;
        self.fullsweep_next = true;
    }

    // ---- memory as a whole

    /// The blocks are on the calling thread's account from now on, as the blocks are that a collection takes and gives back: to be called before
    /// any.
    #[inline]
    pub fn settle_here(&mut self) {
        if self.account != Account::own() {
            let blocks = [self.start, self.old_start].into_iter().filter(|block| !block.is_null()).count();
            let words = self.block_words() + self.old_block_words();
            Class::Process.ledger().adopt(&mut self.account, blocks, words);
        }
    }

    /// The memory areas that hold objects, as (start, end): both generations, fragments.
    pub(crate) fn each_area(&self, mut visit: impl FnMut(*mut u64, *mut u64)) {
        visit(self.start, self.htop);
        let walk = self.large().and_then(Large::walk);
        let (old_start, old_end) = self.old_area();
        visit(old_start, old_end);
        drop(walk);
        let mut chunk = self.fragments;
        while !chunk.is_null() {
            // SAFETY: a live chunk of this heap.
            unsafe {
                visit(Chunk::start(chunk), (*chunk).top);
                chunk = (*chunk).next;
            }
        }
    }

    /// Calls `visit` with each word that is a term: of all objects (dead ones too) and the stack, not of the roots.
    pub fn each_word(&self, mut visit: impl FnMut(Term)) {
        self.each_area(|start, end| {
            // SAFETY: heap/H1 and heap/H2; `each_term` gives places of initialised words.
            unsafe { crate::term_walk::each_term(start, end, |slot| visit(Term::from_raw(*slot))) };
        });
        for word in self.stack() {
            // SAFETY: stack words look like terms.
            visit(unsafe { Term::from_raw(*word) });
        }
    }

    /// Frees the chunks and empties the list.
    ///
    /// # Safety
    /// No term points into them any more.
    pub(crate) unsafe fn drop_fragments(&mut self) {
        // SAFETY: the caller promises that no term points into the chunks any more.
        unsafe { Chunk::give_all(self.fragments) };
        self.fragments = ptr::null_mut();
        self.fragment_words = 0;
    }

    /// Counts more bytes, in words, that the process holds in shared binaries since its last collection.
    pub fn count_binary_words(&mut self, words: usize) {
        self.off_heap.binary_words += words;
    }
}

impl Alloc<'static> for Heap {
    #[inline(always)]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        if self.room() >= words.saturating_add(RESERVED) {
            let at = self.htop;
            // SAFETY: heap/H1 and the room: the words are inside the block, which is not null.
            unsafe {
                self.htop = at.add(words);
                NonNull::new_unchecked(at)
            }
        } else {
            self.alloc_in_chunk(words)
        }
    }

    #[inline(always)]
    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        if words == 0 && bundle_area::is_in_use() {
            // SAFETY: the caller's promise about the object.
            return unsafe { self.link_or_hold(header) };
        }
        // SAFETY: the caller's promise about the object.
        unsafe { self.off_heap.link(header, words) };
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        debug_assert!(self.bounds_hold(), "H1: a heap ends with bounds out of order");
        self.abandon();
        // SAFETY: the process is gone: its objects die, the counts first, then the memory.
        unsafe {
            self.off_heap.release_all();
            self.old_off_heap.release_all();
            self.drop_fragments();
            block::give_of(self.start, self.block_words(), Class::Process, self.account);
            self.give_old();
        }
        if let Some(rare) = self.rare.take() {
            rare.held.heap_ends();
        }
    }
}
