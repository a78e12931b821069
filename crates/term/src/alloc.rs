//! Where new objects go, and the builders that make them there.
//!
//! A1. [`Alloc::alloc`] never moves or frees an object: process heaps that are full continue in a fragment, and are
//!     collected later, at a point where all roots are known. So BIFs build terms freely.
//! A2. The words that `alloc` returns are initialised by the caller before anything else runs on that heap.

use crate::binary::{HEAP_BINARY_LIMIT, SharedBinary};
use crate::boxed::{Header, Kind};
use crate::id::{RefNumbers, RefUse};
use crate::magic::{Magic, magic_reference};
use crate::word::{Term, TermRef};
use std::ptr::{self, NonNull};

/// The chain of off-heap objects of one heap (term/B3), and what they weigh.
#[derive(Debug)]
pub struct OffHeap {
    /// First object's header, or null.
    pub first: *mut u64,
    /// Bytes of the shared binaries that were linked since the last collection, in words: the virtual binary heap.
    pub binary_words: usize,
}

impl OffHeap {
    /// An empty chain.
    pub const fn new() -> Self {
        OffHeap { first: ptr::null_mut(), binary_words: 0 }
    }

    /// Puts an off-heap object at the head of the chain.
    ///
    /// # Safety
    /// `header` is an initialised off-heap object (term/B3) of the heap that owns this chain, and in no chain yet.
    pub unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller promises that `header` is an off-heap object of this heap, and in no chain yet.
        unsafe { crate::Boxed::at(header).set_off_heap_next(self.first) };
        self.first = header;
        self.binary_words += words;
    }

    /// Puts an off-heap object behind another one of the chain, or at its head if that is null.
    ///
    /// # Safety
    /// As for [`OffHeap::link`]; `after` is in this chain, or null.
    pub unsafe fn link_after(&mut self, after: *mut u64, header: *mut u64, words: usize) {
        // SAFETY: the caller promises that `header` is an off-heap object in no chain yet, and `after` one of this chain or null.
        unsafe {
            if after.is_null() {
                return self.link(header, words);
            }
            let after = crate::Boxed::at(after);
            crate::Boxed::at(header).set_off_heap_next(after.off_heap_next());
            after.set_off_heap_next(header);
        }
        self.binary_words += words;
    }
}

impl Default for OffHeap {
    fn default() -> Self {
        Self::new()
    }
}

/// A place for new objects: a process heap, a message fragment, a literal area, a table row.
pub trait Alloc<'h> {
    /// Room for `words` words (A1, A2).
    fn alloc(&mut self, words: usize) -> NonNull<u64>;

    /// Puts an off-heap object that was made here into the chain of this heap (term/B3); `words` is the size of what it counts.
    ///
    /// # Safety
    /// As for [`OffHeap::link`].
    unsafe fn link(&mut self, header: *mut u64, words: usize);
}

/// A list of `len` items in cells in a row, then `tail`.
#[inline(always)]
pub fn cells<'h, A: Alloc<'h> + ?Sized>(
    heap: &mut A,
    len: usize,
    tail: TermRef<'h>,
    mut item: impl FnMut(usize) -> TermRef<'h>,
) -> TermRef<'h> {
    if len == 0 {
        return tail;
    }
    let cells = heap.alloc(2 * len).as_ptr().cast::<TermRef<'h>>();
    // SAFETY: 2 * len fresh words (A2): each cell leads to the next, the last to the tail.
    unsafe {
        for i in 0..len {
            *cells.add(2 * i) = item(i);
            *cells.add(2 * i + 1) = TermRef::from_cell(cells.add(2 * i + 2));
        }
        *cells.add(2 * len - 1) = tail;
        TermRef::from_cell(cells)
    }
}

/// Builders of terms over any [`Alloc`].
pub trait Build<'h>: Alloc<'h> {
    /// `[head | tail]`
    #[inline]
    fn cons(&mut self, head: TermRef<'h>, tail: TermRef<'h>) -> TermRef<'h> {
        let cell = self.alloc(2).as_ptr().cast::<TermRef<'h>>();
        // SAFETY: two fresh words (A2).
        unsafe {
            *cell = head;
            *cell.add(1) = tail;
            TermRef::from_cell(cell)
        }
    }

    /// A boxed object of terms: header, then `slots`.
    #[inline]
    fn boxed(&mut self, header: Header, slots: &[TermRef<'h>]) -> TermRef<'h> {
        debug_assert!(header.size() == slots.len() && header.holds_terms());
        let at = self.alloc(1 + slots.len()).as_ptr();
        // SAFETY: 1 + len fresh words (A2).
        unsafe {
            *at = header.raw();
            ptr::copy_nonoverlapping(slots.as_ptr(), at.add(1).cast(), slots.len());
            Term::from_boxed(at)
        }
    }

    /// A boxed object of raw words (term/B2).
    #[inline]
    fn boxed_raw(&mut self, header: Header, words: &[u64]) -> TermRef<'h> {
        debug_assert!(header.size() == words.len() && !header.holds_terms());
        let at = self.alloc(1 + words.len()).as_ptr();
        // SAFETY: 1 + len fresh words (A2).
        unsafe {
            *at = header.raw();
            ptr::copy_nonoverlapping(words.as_ptr(), at.add(1), words.len());
            Term::from_boxed(at)
        }
    }

    /// A tuple. At most [`crate::Tuple::MAX_ARITY`] elements.
    #[inline]
    fn tuple(&mut self, elements: &[TermRef<'h>]) -> TermRef<'h> {
        self.boxed(Header::new(Kind::Tuple, elements.len()), elements)
    }

    /// A tuple of `len` elements: the first of those that there are, then `rest`.
    fn tuple_of(&mut self, len: usize, elements: impl Iterator<Item = TermRef<'h>>, rest: TermRef<'h>) -> TermRef<'h> {
        let at = self.alloc(1 + len).as_ptr();
        // SAFETY: 1 + len fresh words (A2).
        unsafe {
            *at = Header::new(Kind::Tuple, len).raw();
            let slots = at.add(1).cast::<TermRef<'h>>();
            let mut elements = elements;
            for i in 0..len {
                *slots.add(i) = elements.next().unwrap_or(rest);
            }
            Term::from_boxed(at)
        }
    }

    /// A float, boxed only if its word cannot tag itself.
    #[inline]
    fn float(&mut self, value: f64) -> TermRef<'h> {
        match Term::immediate_float(value) {
            Some(t) => t,
            None => self.boxed_raw(Header::new(Kind::Float, 1), &[value.to_bits()]),
        }
    }

    /// An integer.
    #[inline]
    fn int(&mut self, value: i64) -> TermRef<'h> {
        match Term::try_small(value) {
            Some(t) => t,
            None => self.big(value < 0, &[value.unsigned_abs()]),
        }
    }

    /// A non-negative integer.
    #[inline]
    fn uint(&mut self, value: u64) -> TermRef<'h> {
        if value <= Term::SMALL_MAX as u64 { Term::small(value as i64) } else { self.big(false, &[value]) }
    }

    /// A wide integer.
    fn int128(&mut self, value: i128) -> TermRef<'h> {
        if let Ok(v) = i64::try_from(value) {
            return self.int(v);
        }
        let m = value.unsigned_abs();
        self.big(value < 0, &[m as u64, (m >> 64) as u64])
    }

    /// An integer from sign and magnitude (least significant limb first): small if it fits, leading zero limbs dropped.
    fn big(&mut self, negative: bool, limbs: &[u64]) -> TermRef<'h> {
        let used = limbs.iter().rposition(|l| *l != 0).map_or(0, |i| i + 1);
        let limbs = &limbs[..used];
        match limbs {
            [] => return Term::small(0),
            [one] if *one <= Term::SMALL_MAX as u64 => {
                return Term::small(if negative { -(*one as i64) } else { *one as i64 });
            }
            [one] if negative && *one == Term::SMALL_MIN.unsigned_abs() => return Term::small(Term::SMALL_MIN),
            _ => {}
        }
        let kind = if negative { Kind::BigNegative } else { Kind::BigPositive };
        self.boxed_raw(Header::new(kind, used), limbs)
    }

    /// A positive integer of `len` limbs, least significant first, of which the last is not zero.
    #[inline]
    fn positive(&mut self, len: usize, mut limb: impl FnMut(usize) -> u64) -> TermRef<'h> {
        if len <= 1 {
            return self.uint(if len == 0 { 0 } else { limb(0) });
        }
        let at = self.alloc(1 + len).as_ptr();
        // SAFETY: 1 + len fresh words (A2).
        unsafe {
            *at = Header::new(Kind::BigPositive, len).raw();
            for i in 0..len {
                *at.add(1 + i) = limb(i);
            }
            Term::from_boxed(at)
        }
    }

    /// A proper list of the items, built back to front.
    fn list(&mut self, items: &[TermRef<'h>]) -> TermRef<'h> {
        self.list_onto(items, Term::NIL)
    }

    /// The items, then `tail`.
    fn list_onto(&mut self, items: &[TermRef<'h>], tail: TermRef<'h>) -> TermRef<'h> {
        cells(self, items.len(), tail, |i| items[i])
    }

    /// The first `len` elements of a list of at least so many, then `tail`.
    fn list_prefix(&mut self, mut list: TermRef<'h>, len: usize, tail: TermRef<'h>) -> TermRef<'h> {
        cells(self, len, tail, |_| match list.as_cons() {
            Some((head, rest)) => {
                list = rest;
                head
            }
            None => Term::NIL,
        })
    }

    /// The first `len` elements of a list of at least so many, last first, then `tail`.
    fn reversed_prefix(&mut self, mut list: TermRef<'h>, len: usize, tail: TermRef<'h>) -> TermRef<'h> {
        if len == 0 {
            return tail;
        }
        let cells = self.alloc(2 * len).as_ptr().cast::<TermRef<'h>>();
        // SAFETY: 2 * len fresh words (A2): each cell leads to the one before it, the first to the tail.
        unsafe {
            for i in 0..len {
                let (head, rest) = list.as_cons().unwrap_or((Term::NIL, Term::NIL));
                list = rest;
                *cells.add(2 * i) = head;
                *cells.add(2 * i + 1) = TermRef::from_cell(cells.wrapping_add(2 * i).wrapping_sub(2));
            }
            *cells.add(1) = tail;
            TermRef::from_cell(cells.add(2 * len - 2))
        }
    }

    /// A list of the bytes as small integers, then `tail`.
    fn byte_list(&mut self, bytes: &[u8], tail: TermRef<'h>) -> TermRef<'h> {
        cells(self, bytes.len(), tail, |i| Term::small(i64::from(bytes[i])))
    }

    /// A list of the characters' code points.
    fn string(&mut self, text: &str) -> TermRef<'h> {
        let mut list = Term::NIL;
        for c in text.chars().rev() {
            list = self.cons(Term::small(i64::from(u32::from(c))), list);
        }
        list
    }

    /// A binary of these bytes: on the heap up to 64 bytes, shared beyond.
    fn binary(&mut self, bytes: &[u8]) -> TermRef<'h> {
        if bytes.len() <= HEAP_BINARY_LIMIT {
            self.heap_binary(bytes, bytes.len() * 8)
        } else {
            self.shared_binary(SharedBinary::from_bytes(bytes))
        }
    }

    /// A bit string of the first `bits` bits of `bytes`.
    fn bitstring(&mut self, bytes: &[u8], bits: usize) -> TermRef<'h> {
        debug_assert!(bits.div_ceil(8) <= bytes.len());
        let bytes = &bytes[..bits.div_ceil(8)];
        if bytes.len() <= HEAP_BINARY_LIMIT {
            return self.heap_binary(bytes, bits);
        }
        let whole = self.shared_binary(SharedBinary::from_bytes(bytes));
        if bits.is_multiple_of(8) { whole } else { self.sub_binary(whole, 0, bits) }
    }

    /// A bit string on the heap, whatever its size.
    fn heap_binary(&mut self, bytes: &[u8], bits: usize) -> TermRef<'h> {
        let words = bytes.len().div_ceil(8);
        let at = self.alloc(2 + words).as_ptr();
        // SAFETY: 2 + words fresh words (A2); the last is zeroed first, so that padding is defined.
        unsafe {
            *at = Header::new(Kind::HeapBinary, 1 + words).raw();
            *at.add(1) = bits as u64;
            if words > 0 {
                *at.add(1 + words) = 0;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(2).cast(), bytes.len());
            Term::from_boxed(at)
        }
    }

    /// A binary on the heap, whatever its size, of so many bytes, which are zero and to be written where the second says, before the term is used.
    fn blank_binary(&mut self, len: usize) -> (TermRef<'h>, *mut u8) {
        let words = len.div_ceil(8);
        let at = self.alloc(2 + words).as_ptr();
        // SAFETY: 2 + words fresh words (A2).
        unsafe {
            *at = Header::new(Kind::HeapBinary, 1 + words).raw();
            *at.add(1) = 8 * len as u64;
            at.add(2).write_bytes(0, words);
            (Term::from_boxed(at), at.add(2).cast())
        }
    }

    /// A reference to a shared binary; takes over one count.
    fn shared_binary(&mut self, binary: SharedBinary) -> TermRef<'h> {
        let size = binary.len();
        let at = self.alloc(4).as_ptr();
        // SAFETY: four fresh words (A2), then an initialised off-heap object.
        unsafe {
            *at = Header::new(Kind::SharedBinary, 3).raw();
            *at.add(1) = size as u64;
            *at.add(2) = binary.into_raw() as u64;
            self.link(at, size / 8);
            Term::from_boxed(at)
        }
    }

    /// `bits` bits of `whole` (a heap or shared binary term) from bit `offset`.
    fn sub_binary(&mut self, whole: TermRef<'h>, offset: usize, bits: usize) -> TermRef<'h> {
        debug_assert!(matches!(whole.boxed_kind(), Some(Kind::HeapBinary | Kind::SharedBinary)));
        self.boxed(Header::new(Kind::SubBinary, 3), &[whole, Term::small(offset as i64), Term::small(bits as i64)])
    }

    /// A reference of this node: with the object that it stands for, if there still is one.
    #[inline]
    fn reference(&mut self, numbers: RefNumbers) -> TermRef<'h> {
        match numbers.used_for() {
            RefUse::Plain | RefUse::Timer => self.boxed_raw(Header::new(Kind::Ref, 2), &numbers.to_words()),
            RefUse::Alias => {
                let [low, high] = numbers.to_words();
                self.boxed_raw(Header::new(Kind::AliasRef, 3), &[low, high, 0])
            }
            RefUse::Magic => match Magic::of_reference(numbers) {
                Some(magic) => magic_reference(self, magic),
                None => self.boxed_raw(Header::new(Kind::Ref, 2), &numbers.to_words()),
            },
        }
    }
}

impl<'h, A: Alloc<'h> + ?Sized> Build<'h> for A {}
