//! Rows: one object of a table, in one block of memory of its own.
//!
//! A row is a header followed by the copied tuple and all that it refers to, so that a row points only into itself (literals
//! are copied too: modules are purged without asking tables). Where large terms are bundles (heap/bundle), large elements are. Copying a row out is therefore one pass over its words that
//! adds the distance to each pointer, or a plain memory copy if all elements are immediate.
//!
//! In a table that is `compressed`, a row with memory beside its key is packed ([`packed`]): after the tuple's words come the
//! key, then what it counts off the heap, then the compact form of the other elements.
//!
//! R1. A row belongs to one table. It is read while its shard's lock is held, or, in a hash table, by readers without it
//!     (ets.table/TB4). It is changed and unlinked while the lock is held for writing, and freed once it can have no reader.
//! R2. The words of a row are terms or headers, as in a heap (term/B2), and its pointers lead into the row, or into bundles that it holds. In a packed one
//!     that holds for the key and what is off the heap; an element's word may be a mark of where its compact form is.
//! R3. What changes in a row that is in a table: the link, the flags, and immediate elements other than the key, which become
//!     other immediate ones. These words are read and written as atomics; a reader without the lock learns from its shard's
//!     sequence number that what it read does not belong together. All else stays as it is until the row is freed; but where
//!     there are no readers without the lock, a row may be filled anew ([`Row::rewrite`]).

mod pack;
mod packed;

use myriad_heap::Payload;
use myriad_heap::bundle::{self, Sharing};
use myriad_heap::heap_walk::{each_object, each_reachable};
use myriad_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use myriad_term::boxed::{Boxed, Header};
use myriad_term::{Alloc, Arena, Build, Kind, Magic, OffHeap, SharedBinary, Term, TermRef, copy, memory};
use std::alloc::{Layout, dealloc};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// What OTP calls the memory of rows.
const PURPOSE: memory::Purpose = memory::Purpose("ets", "db_term");

/// All elements are immediate: nothing to relocate.
const FLAT: u32 = 1;
/// Deleted while the table was fixed: still there so that traversals find their place.
const HIDDEN: u32 = 2;
/// Holds counted objects.
const OFF_HEAP: u32 = 4;
/// Some elements are in their compact form.
const PACKED: u32 = 8;
/// Some words lead to bundles, which counted objects of the row hold.
const BUNDLES: u32 = 16;

/// What the rows of a table look like.
#[derive(Clone, Copy)]
pub struct Form {
    /// Position of the key, counted from 0.
    pub keypos: usize,
    /// Are rows with memory beside their key packed (the table is `compressed`)?
    pub packed: bool,
}

#[repr(C)]
struct Head {
    next: Link,
    hash: u32,
    flags: AtomicU32,
    words: usize,
    off_heap: *mut u64,
}

/// Words of a row beside its tuple.
pub const HEAD_WORDS: usize = size_of::<Head>() / 8;

/// A row that is held for `'r` (R1): by a lock, by looking without one for as long as rows are not freed, or by an owner. Its
/// terms are of that lifetime, so that nobody keeps one for longer.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Row<'r>(NonNull<Head>, PhantomData<&'r Head>);

/// Where a row is, for stores, which keep their rows.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RowAddress(NonNull<Head>);

// SAFETY: R1: the shard's lock orders all access.
unsafe impl Send for RowAddress {}
// SAFETY: as above.
unsafe impl Sync for RowAddress {}

impl RowAddress {
    /// The row.
    ///
    /// # Safety
    /// R1: it is held for `'r`.
    #[inline]
    pub const unsafe fn row<'r>(self) -> Row<'r> {
        Row(self.0, PhantomData)
    }

    /// As a number, for thread progress.
    pub const fn as_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }
}

/// A link of a chain: where its next row is.
#[repr(transparent)]
pub struct Link(AtomicPtr<Head>);

impl Link {
    /// An end of a chain.
    pub const fn end() -> Link {
        Link(AtomicPtr::new(ptr::null_mut()))
    }

    /// The row that it leads to.
    #[inline]
    pub fn get(&self) -> Option<Row<'_>> {
        // Acquire: pairs with the Release in `set`: a row's words come before the link that leads to it.
        NonNull::new(self.0.load(Ordering::Acquire)).map(|head| Row(head, PhantomData))
    }

    /// Leads elsewhere from now on.
    ///
    /// # Safety
    /// R1: the lock of the link's shard is held for writing, or no other thread knows of the link.
    #[inline]
    pub unsafe fn set(&self, row: Option<RowAddress>) {
        // Release: see `get`.
        self.0.store(row.map_or(ptr::null_mut(), |row| row.0.as_ptr()), Ordering::Release);
    }
}

/// A word of a row's tuple, as one that may change (R3).
///
/// # Safety
/// `at` is a word of a live row.
#[inline]
unsafe fn shared_word<'a>(at: *mut u64) -> &'a AtomicU64 {
    // SAFETY: the caller's promise; a word is as large as an atomic one, and aligned.
    unsafe { &*at.cast::<AtomicU64>() }
}

/// Nothing is a literal to a row.
fn no_literal(_: *const u64) -> bool {
    false
}

/// Words that [`copy_out`] needs for a term.
pub fn copied_size(term: TermRef<'_>) -> usize {
    if term.is_immediate() { 0 } else { copy::size(term, no_literal) }
}

/// A tuple that is to be a row, and how many words the row needs for it.
#[derive(Clone, Copy)]
pub struct Measured<'t> {
    tuple: TermRef<'t>,
    words: usize,
    /// Some elements are to be in bundles.
    bundles: bool,
}

impl<'t> Measured<'t> {
    /// Counts the words.
    #[inline]
    pub fn of(tuple: TermRef<'t>) -> Measured<'t> {
        let elements = tuple.as_tuple().map_or(&[][..], |t| t.elements());
        let flat = elements.iter().all(|e| e.is_immediate());
        if flat {
            return Measured { tuple, words: 1 + elements.len(), bundles: false };
        }
        if bundle::in_use() {
            let small = elements.iter().map(|e| bundle::whole_small_size(*e)).sum::<Option<usize>>();
            let words = small.map_or(usize::MAX, |small| 1 + elements.len() + small);
            return Measured { tuple, words, bundles: small.is_none() };
        }
        Measured { tuple, words: copy::size(tuple, no_literal), bundles: false }
    }

    /// The words; of one with elements in bundles more than any number, for it is not known how many are copied for it.
    #[inline]
    pub const fn words(self) -> usize {
        self.words
    }

    /// The tuple's elements.
    #[inline]
    pub fn elements(&self) -> &[TermRef<'t>] {
        self.tuple.as_tuple().map_or(&[], |t| t.elements())
    }
}

/// A whole copy of a term (which may lie in a row or a specification) in `heap`.
#[inline]
pub fn copy_out<'h, A: Alloc<'h> + ?Sized>(term: TermRef<'_>, heap: &mut A) -> TermRef<'h> {
    match term.as_immediate() {
        Some(term) => term,
        None if bundle::in_use() => Sharing::of(term).copy(heap),
        // SAFETY: the size of the same term; nothing stays.
        None => unsafe { copy::copy(term, copy::size(term, no_literal), heap, no_literal) },
    }
}

/// Hands out the one block of a row.
struct Block<'b> {
    at: *mut u64,
    /// Words from there on.
    words: usize,
    off_heap: OffHeap,
    row: PhantomData<&'b u64>,
}

impl<'b> Alloc<'b> for Block<'b> {
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        debug_assert!(words <= self.words, "a row was made too small for its tuple");
        let at = self.at;
        self.at = at.wrapping_add(words);
        self.words -= words;
        NonNull::new(at).unwrap_or(NonNull::dangling())
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.off_heap.link(header, words) };
    }
}

impl<'r> Row<'r> {
    fn layout(words: usize) -> Layout {
        memory::layout::<u64>(HEAD_WORDS + words, PURPOSE)
    }

    /// A row with a copy of `tuple`, filed under `hash`. (The rows of compressed tables, too, if all elements are immediate.)
    pub fn new(tuple: TermRef<'_>, hash: u32) -> Self {
        Row::sized(Measured::of(tuple), hash)
    }

    /// The same of a tuple that has been measured.
    pub fn sized(tuple: Measured<'_>, hash: u32) -> Self {
        if tuple.bundles {
            return Row::with_bundles(tuple.elements(), hash);
        }
        let (elements, words) = (tuple.elements(), tuple.words());
        let flat = words == 1 + elements.len();
        let mut row = Row::allocate(words, hash, if flat { FLAT } else { 0 });
        if flat {
            // SAFETY: 1 + len fresh words after the header.
            unsafe {
                *row.data() = Header::new(Kind::Tuple, elements.len()).raw();
                ptr::copy_nonoverlapping(elements.as_ptr(), row.data().add(1).cast(), elements.len());
            }
        } else {
            row.fill(tuple);
        }
        row
    }

    /// A row whose large elements are in bundles, as those are that refer to some.
    #[cold]
    fn with_bundles(elements: &[TermRef<'_>], hash: u32) -> Self {
        let memory: Vec<Payload> = elements.iter().map(|element| Payload::whole(*element)).collect();
        let arena = Arena::new();
        let elements: Vec<TermRef<'_>> = memory.iter().map(Payload::term).collect();
        let sharing = Sharing::of((&mut &arena).tuple(&elements));
        let words = sharing.words();
        let mut row = Row::allocate(words, hash, if sharing.has_bundles() { BUNDLES } else { 0 });
        let mut block = Block { at: row.data(), words, off_heap: OffHeap::new(), row: PhantomData };
        let copied = sharing.copy(&mut block);
        debug_assert!(copied.boxed_ptr() == row.data() && block.words == 0);
        row.keep(&block.off_heap);
        row
    }

    /// Copies a tuple with memory into a row that is ours alone.
    fn fill(&mut self, Measured { tuple, words, .. }: Measured<'_>) {
        let mut block = Block { at: self.data(), words, off_heap: OffHeap::new(), row: PhantomData };
        // SAFETY: `words` is the size of the tuple, which has memory; nothing stays.
        let copied = unsafe { copy::copy(tuple, words, &mut block, no_literal) };
        debug_assert!(copied.boxed_ptr() == self.data());
        self.keep(&block.off_heap);
    }

    /// A block for so many words, with its header filled in.
    fn allocate(words: usize, hash: u32, flags: u32) -> Self {
        let layout = Self::layout(words);
        // SAFETY: the layout is not empty.
        let head = unsafe { memory::allocate(layout, PURPOSE) }.cast::<Head>();
        let flags = AtomicU32::new(flags);
        // SAFETY: a fresh block that begins with room for the header.
        unsafe { head.write(Head { next: Link::end(), hash, flags, words, off_heap: ptr::null_mut() }) };
        Row(head, PhantomData)
    }

    /// Notes the counted objects of a row that is ours alone.
    fn keep(&mut self, objects: &OffHeap) {
        debug_assert!(self.flags() & (OFF_HEAP | HIDDEN) == 0, "what a row counts is noted once, before it is seen");
        if !objects.first.is_null() {
            let flags = self.flags() | OFF_HEAP;
            // SAFETY: the fresh row is ours alone.
            let head = unsafe { self.0.as_mut() };
            head.off_heap = objects.first;
            head.flags = AtomicU32::new(flags);
        }
    }

    #[inline]
    fn head(self) -> &'r Head {
        // SAFETY: R1.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn flags(self) -> u32 {
        // Relaxed: changed under the lock for writing only; a reader without it looks at the shard's sequence number.
        self.head().flags.load(Ordering::Relaxed)
    }

    #[inline]
    fn data(self) -> *mut u64 {
        // SAFETY: the row's words follow its header.
        unsafe { self.0.as_ptr().cast::<u64>().add(HEAD_WORDS) }
    }

    /// The tuple: the row's own, or one in `memory` if the row is packed. While the lock is held, or by a reader that knows that what
    /// it finds in the tuple may not belong together.
    #[inline]
    pub fn term(self, memory: &'r Arena) -> TermRef<'r> {
        if self.is_packed() {
            return self.unpack(&mut { memory });
        }
        // SAFETY: R2: the row begins with the tuple's header.
        unsafe { Term::from_boxed(self.data()) }
    }

    /// Number of elements.
    #[inline]
    fn len(self) -> usize {
        // SAFETY: R2: the tuple's header stays.
        let header = Header::from_raw(unsafe { *self.data() });
        debug_assert!(header.kind() == Kind::Tuple, "R2: a row begins with its tuple's header");
        header.size()
    }

    /// The word of the element at `index`, which is below the row's length.
    #[inline]
    fn slot(self, index: usize) -> TermRef<'r> {
        debug_assert!(index < self.len());
        // SAFETY: R2: that many words follow the tuple's header. Relaxed: R3.
        unsafe { Term::from_raw(shared_word(self.data().add(1 + index)).load(Ordering::Relaxed)) }
    }

    /// The element at `index`, counted from 0, if it is an immediate one.
    #[inline]
    pub fn immediate(self, index: usize) -> Option<Term> {
        let slot = (index < self.len()).then(|| self.slot(index))?;
        slot.as_immediate().filter(|slot| !packed::is_mark(*slot))
    }

    /// A copy of the element at `index`, counted from 0, if there is one.
    #[inline]
    pub fn copy_element<'h, A: Alloc<'h> + ?Sized>(self, index: usize, heap: &mut A) -> Option<TermRef<'h>> {
        let slot = (index < self.len()).then(|| self.slot(index))?;
        Some(if packed::is_mark(slot) { self.unpack_element(slot, heap) } else { copy_out(slot, heap) })
    }

    /// The element at `keypos`, counted from 0 (every row of a table has it).
    #[inline]
    pub fn key(self, keypos: usize) -> TermRef<'r> {
        self.slot(keypos)
    }

    /// The hash it is filed under.
    #[inline]
    pub fn hash(self) -> u32 {
        self.head().hash
    }

    /// The next row of the chain.
    #[inline]
    pub fn next(self) -> Option<Row<'r>> {
        self.head().next.get()
    }

    /// The link to the next row.
    #[inline]
    pub fn link(self) -> &'r Link {
        &self.head().next
    }

    /// Are some elements in their compact form?
    #[inline]
    fn is_packed(self) -> bool {
        self.flags() & PACKED != 0
    }

    /// Deleted while the table was fixed?
    #[inline]
    pub fn is_hidden(self) -> bool {
        self.flags() & HIDDEN != 0
    }

    /// Hides the row, or shows it again.
    ///
    /// # Safety
    /// R1: the shard's lock is held for writing.
    pub unsafe fn set_hidden(self, hidden: bool) {
        debug_assert!(self.is_hidden() != hidden, "a row is hidden once, and shown once");
        let flags = if hidden { self.flags() | HIDDEN } else { self.flags() & !HIDDEN };
        // Relaxed: as in `flags`.
        self.head().flags.store(flags, Ordering::Relaxed);
    }

    /// Words that the row takes; of bundles all, whoever else holds them.
    #[inline]
    pub fn words(self) -> usize {
        HEAD_WORDS + self.head().words + if self.flags() & BUNDLES != 0 { self.bundle_words() } else { 0 }
    }

    #[cold]
    fn bundle_words(self) -> usize {
        // SAFETY: R2: the chain's objects are in the row.
        unsafe { bundle::words_held_in(&OffHeap { first: self.head().off_heap, binary_words: 0 }) }
    }

    /// Sets an element to an immediate term; only over an immediate one.
    ///
    /// # Safety
    /// R1: the shard's lock is held for writing; no term of the row's tuple is in use; `index` is not the key's.
    pub unsafe fn set_immediate(self, index: usize, value: Term) {
        debug_assert!(value.is_immediate() && self.immediate(index).is_some());
        // SAFETY: an element of the row's own tuple; R2 stays. Relaxed: R3.
        unsafe { shared_word(self.data().add(1 + index)).store(value.raw(), Ordering::Relaxed) };
    }

    /// Takes over the elements of a tuple, if both are without memory and of one size; otherwise `false`, and nothing has
    /// changed.
    ///
    /// # Safety
    /// As for [`Row::set_immediate`]; the key's word stays what it is, and the row is visible.
    #[inline]
    pub unsafe fn overwrite(self, elements: &[TermRef<'_>]) -> bool {
        let fits = self.flags() == FLAT && self.head().words == 1 + elements.len();
        if !fits || !elements.iter().all(|e| e.is_immediate()) {
            return false;
        }
        debug_assert_eq!(elements.len(), self.len());
        for (i, element) in elements.iter().enumerate() {
            // SAFETY: the row has exactly that many elements; R2 stays. Relaxed: R3.
            unsafe { shared_word(self.data().add(1 + i)).store(element.raw(), Ordering::Relaxed) };
        }
        true
    }

    /// Becomes the row of another tuple that takes as many words, if both have memory; otherwise `false`, and nothing has
    /// changed. Terms of the row are worthless afterwards, its key among them.
    ///
    /// # Safety
    /// R1: the lock is held for writing, and there are no readers without it; the tuple's hash is the row's.
    #[inline]
    pub unsafe fn rewrite(mut self, tuple: Measured<'_>) -> bool {
        let words = tuple.words();
        let has_memory = words != 1 + tuple.elements().len();
        if !has_memory || tuple.bundles || self.flags() & !OFF_HEAP != 0 || self.head().words != words {
            return false;
        }
        // SAFETY: the caller promises that no other thread reads the row. What the chain counts is released before its words go;
        // the copy fills just as many words.
        unsafe {
            let head = self.0.as_mut();
            if head.flags.load(Ordering::Relaxed) & OFF_HEAP != 0 {
                OffHeap { first: head.off_heap, binary_words: 0 }.release_all();
                head.off_heap = ptr::null_mut();
                // Relaxed: as in `flags`.
                head.flags.store(0, Ordering::Relaxed);
            }
        }
        self.fill(tuple);
        debug_assert!(self.words() == HEAD_WORDS + words && self.flags() & !OFF_HEAP == 0);
        true
    }

    /// A copy of the tuple in `heap`.
    #[inline]
    pub fn copy_to<'h, A: Alloc<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        let head = self.head();
        let from = self.data();
        if self.is_packed() {
            return self.unpack(heap);
        }
        let to = heap.alloc(head.words).as_ptr();
        if self.flags() & FLAT != 0 {
            debug_assert_eq!(head.words, 1 + self.len(), "a row without memory is its tuple");
            for i in 0..head.words {
                // SAFETY: `words` words on both sides; no pointer among them. Relaxed: R3.
                unsafe { *to.add(i) = shared_word(from.add(i)).load(Ordering::Relaxed) };
            }
            // SAFETY: the copied tuple.
            return unsafe { Term::from_boxed(to) };
        }
        self.relocate(from, to, heap);
        // SAFETY: the copied tuple.
        unsafe { Term::from_boxed(to) }
    }

    #[inline(never)]
    fn relocate<'h, A: Alloc<'h> + ?Sized>(self, from: *mut u64, to: *mut u64, heap: &mut A) {
        let words = self.head().words;
        let has_bundles = self.flags() & BUNDLES != 0;
        let distance = (to as u64).wrapping_sub(from as u64);
        let mut i = 0;
        while i < words {
            // SAFETY: R2: word `i` is a term or a header; a raw object's words are stepped over by its header. The room
            // behind `to` is as large.
            unsafe {
                // Relaxed: R3.
                let word = shared_word(from.add(i)).load(Ordering::Relaxed);
                let term = Term::from_raw(word);
                if Header::is_raw(word) {
                    let header = Header::from_raw(word);
                    copy_words(from.add(i), to.add(i), 1 + header.size());
                    if header.is_off_heap() {
                        one_more(to.add(i), heap);
                    }
                    i += 1 + header.size();
                    continue;
                }
                let stays = term.is_immediate() || has_bundles && bundle::is_bundled(term.object_ptr());
                *to.add(i) = if stays { word } else { word.wrapping_add(distance) };
            }
            i += 1;
        }
        debug_assert_eq!(i, words, "R2: the last object of a row ends where the row does");
    }

    /// Calls `each` with the counted objects of the row.
    pub fn for_each_off_heap(self, mut each: impl FnMut(Boxed<'_, '_>)) {
        let mut at = self.head().off_heap;
        debug_assert_eq!(at.is_null(), self.flags() & OFF_HEAP == 0, "a row says whether it holds counted objects");
        while !at.is_null() {
            // SAFETY: R2: the chain's objects are in the row.
            unsafe {
                let object = Boxed::at(at);
                each(object);
                at = object.off_heap_next();
            }
        }
    }

    /// Calls `visit` with each boxed object of the row, of a packed one with those of the key (at `keypos`, counted from 0): the
    /// rest is no objects. While the lock is held.
    pub fn each_object(self, keypos: usize, visit: &mut dyn FnMut(Boxed<'_, '_>)) {
        if self.is_packed() {
            each_reachable(&[self.key(keypos)], visit);
        } else if self.flags() & FLAT == 0 {
            // SAFETY: R2: as in a heap; the row begins with its own tuple. The lock keeps it as it is.
            unsafe { each_object(self.data(), self.data().add(self.head().words), visit) };
        }
    }

    /// Where it is.
    pub const fn address(self) -> RowAddress {
        RowAddress(self.0)
    }

    /// Frees the row.
    ///
    /// # Safety
    /// R1: it has left its table (or never was in one), and no term of it is in use.
    pub unsafe fn free(self) {
        let head = self.head();
        let layout = Self::layout(head.words);
        debug_assert_eq!(head.off_heap.is_null(), self.flags() & OFF_HEAP == 0, "what is counted would stay");
        // SAFETY: the caller's promise; the chain's objects are the row's and die with it.
        unsafe {
            if self.flags() & OFF_HEAP != 0 {
                OffHeap { first: head.off_heap, binary_words: 0 }.release_all();
            }
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

/// Copies words of a row, mostly few: then without a call.
///
/// # Safety
/// There are `words` words at both places, which do not overlap.
#[inline(always)]
unsafe fn copy_words(from: *mut u64, to: *mut u64, words: usize) {
    // SAFETY: the caller's promise. Relaxed: R3.
    unsafe {
        if words > 8 {
            return ptr::copy_nonoverlapping(from, to, words);
        }
        for i in 0..words {
            *to.add(i) = shared_word(from.add(i)).load(Ordering::Relaxed);
        }
    }
}

/// Gives the copy of an off-heap object a count of its own and puts it into the heap's chain.
///
/// # Safety
/// `at` is a word for word copy of a live off-heap object, in the heap, in no chain yet.
unsafe fn one_more<'h, A: Alloc<'h> + ?Sized>(at: *mut u64, heap: &mut A) {
    // SAFETY: the caller's promise: the copied count is the original's, so it is cloned and not taken.
    unsafe {
        let object = Boxed::at(at);
        debug_assert!(matches!(object.kind(), Kind::SharedBinary | Kind::MagicRef), "nothing else is counted");
        if object.kind() == Kind::SharedBinary {
            let held = ManuallyDrop::new(SharedBinary::from_raw(object.word(1) as *const ()));
            std::mem::forget(SharedBinary::clone(&held));
            *at = Header::new(Kind::SharedBinary, object.size()).raw();
            let words = object.word(0) as usize / 8;
            heap.link(at, words);
        } else {
            let held = ManuallyDrop::new(Magic::from_raw(object.word(2) as *const ()));
            std::mem::forget(Magic::clone(&held));
            heap.link(at, 0);
        }
    }
}

/// Frees a row by its address, for thread progress.
///
/// # Safety
/// As for [`Row::free`]; `row` came from [`RowAddress::as_raw`].
pub unsafe fn free_at(row: *mut ()) {
    debug_assert!(!row.is_null() && row.cast::<Head>().is_aligned());
    if let Some(head) = NonNull::new(row) {
        // SAFETY: the caller's promise.
        unsafe { Row(head.cast(), PhantomData).free() };
    }
}

/// A row on its way into a table: freed if it does not get there.
pub struct NewRow(RowAddress);

impl NewRow {
    /// Owns a row that is in no table.
    pub fn new(tuple: TermRef<'_>, hash: u32, form: Form) -> NewRow {
        let row = if form.packed { Row::packed(tuple, hash, form.keypos) } else { Row::new(tuple, hash) };
        NewRow(row.address())
    }

    /// The row.
    pub fn row(&self) -> Row<'_> {
        // SAFETY: it is in no table: its owner holds it.
        unsafe { self.0.row() }
    }

    /// Gives the row to a table.
    pub fn into_row(self) -> RowAddress {
        ManuallyDrop::new(self).0
    }
}

impl Drop for NewRow {
    fn drop(&mut self) {
        // SAFETY: it never got into a table.
        unsafe { self.0.row().free() };
    }
}

/// A list of copies of the rows, the last row first.
pub fn list_reversed<'r, 'h, A: Build<'h> + ?Sized>(rows: impl Iterator<Item = Row<'r>>, heap: &mut A) -> TermRef<'h> {
    let mut list = Term::NIL;
    for row in rows {
        let copy = row.copy_to(heap);
        list = heap.cons(copy, list);
    }
    list
}
