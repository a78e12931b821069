//! Packed rows: the rows of tables that are `compressed`.
//!
//! | words | hold |
//! | --- | --- |
//! | 1 + elements | the tuple's header; the key; other elements: themselves if immediate, or marks |
//! | any | what the key refers to |
//! | any | objects off the heap of all other elements (ets/R2) |
//! | any | the compact forms of these elements, in bytes |
//!
//! A mark is a word with the tag that no term has ([`myriad_term::word::Tag::Free`]), and says how many bytes from the row's
//! first word its compact form begins. So the key is looked at as in any row, immediate elements are changed in place, and one
//! element can be had without the others.

use super::{Block, PACKED, Row, copied_size, copy_out, no_literal, pack};
use myriad_term::boxed::{Boxed, Header};
use myriad_term::word::Tag;
use myriad_term::{Alloc, Kind, OffHeap, Term, TermRef, copy};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::ptr;

/// The tag of a mark.
const MARK: u64 = 7;

/// Is the word of an element a mark?
#[inline]
pub fn is_mark(word: TermRef<'_>) -> bool {
    matches!(word.tag(), Tag::Free)
}

/// Buffers that a thread uses again for each row that it packs.
#[derive(Default)]
struct Buffers {
    /// The copy of an element.
    image: Vec<u64>,
    /// The objects off the heap of all elements.
    kept: Vec<u64>,
    /// The compact forms of all elements.
    bytes: Vec<u8>,
    /// Element words.
    slots: Vec<u64>,
}

/// Words (and bytes) that buffers may keep between rows.
const KEEP: usize = 1 << 14;

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

impl Buffers {
    /// The word of an element: itself, or a mark of its compact form, counted from where the forms begin.
    fn element(&mut self, element: TermRef<'_>, base: usize) -> u64 {
        if element.is_immediate() {
            return element.raw();
        }
        let mark = (self.bytes.len() as u64) << 3 | MARK;
        let words = copied_size(element);
        self.image.clear();
        self.image.reserve(words);
        let start = self.image.as_mut_ptr();
        let mut block = Block { at: start, words, off_heap: OffHeap::new(), row: PhantomData };
        // SAFETY: the size of the same element; nothing stays.
        let copied = unsafe { copy::copy(element, words, &mut block, no_literal) };
        // SAFETY: the copy has filled `words` words of the image, which nothing else uses.
        unsafe { pack::pack(copied, start, words, base, &mut self.kept, &mut self.bytes) };
        mark
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.bytes.clear();
        self.slots.clear();
        if self.image.capacity() > KEEP || self.bytes.capacity() > KEEP || self.kept.capacity() > KEEP {
            *self = Buffers::default();
        }
    }
}

impl<'r> Row<'r> {
    /// A row with a copy of `tuple`, packed if it has memory beside its key.
    pub(super) fn packed(tuple: TermRef<'_>, hash: u32, keypos: usize) -> Self {
        let elements = tuple.as_tuple().map_or(&[][..], |t| t.elements());
        if elements.iter().enumerate().all(|(i, e)| i == keypos || e.is_immediate()) {
            return Row::new(tuple, hash);
        }
        BUFFERS.with_borrow_mut(|buffers| {
            let row = Row::assemble(elements, hash, keypos, buffers);
            buffers.clear();
            row
        })
    }

    fn assemble(elements: &[TermRef<'_>], hash: u32, keypos: usize, buffers: &mut Buffers) -> Self {
        let key = elements.get(keypos).copied().unwrap_or(Term::NIL);
        let key_words = copied_size(key);
        let base = 1 + elements.len() + key_words;
        for (i, element) in elements.iter().enumerate() {
            let word = if i == keypos { key.raw() } else { buffers.element(*element, base) };
            buffers.slots.push(word);
        }
        let Buffers { kept, bytes, slots, .. } = buffers;
        let forms = base + kept.len();
        let mut row = Row::allocate(forms + bytes.len().div_ceil(8), hash, PACKED);
        let data = row.data();
        let mut block = Block {
            at: data.wrapping_add(1 + elements.len()),
            words: key_words,
            off_heap: OffHeap::new(),
            row: PhantomData,
        };
        // SAFETY: the fresh row has so many words: header, elements, key, objects off the heap, compact forms (in words, the
        // last of which is zeroed before).
        unsafe {
            *data = Header::new(Kind::Tuple, elements.len()).raw();
            for (i, slot) in slots.iter().enumerate() {
                let mark = is_mark(Term::from_raw(*slot));
                // Marks count from the row's first word.
                *data.add(1 + i) = if mark { slot + ((forms as u64 * 8) << 3) } else { *slot };
            }
            *data.add(1 + keypos) = copy::copy(key, key_words, &mut block, no_literal).raw();
            ptr::copy_nonoverlapping(kept.as_ptr(), data.add(base), kept.len());
            let mut at = base;
            while at < forms {
                let object = data.add(at);
                block.off_heap.link(object, 0);
                at += 1 + Boxed::at(object).size();
            }
            debug_assert_eq!(at, forms, "the last kept object ends where the compact forms begin");
            if !bytes.is_empty() {
                *data.add(forms + bytes.len().div_ceil(8) - 1) = 0;
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), data.add(forms).cast(), bytes.len());
        }
        row.keep(&block.off_heap);
        row
    }

    /// The bytes from a mark on.
    fn bytes_at(self, mark: TermRef<'_>) -> &'r [u8] {
        let from = (mark.raw() >> 3) as usize;
        let end = self.head().words * 8;
        debug_assert!(is_mark(mark) && from <= end);
        // SAFETY: ets/R3: these bytes of the row stay as they are.
        unsafe { std::slice::from_raw_parts(self.data().cast::<u8>().add(from), end.saturating_sub(from)) }
    }

    /// The element of a mark.
    #[inline(never)]
    pub(super) fn unpack_element<'h, A: Alloc<'h> + ?Sized>(self, mark: TermRef<'_>, heap: &mut A) -> TermRef<'h> {
        // SAFETY: the mark leads to what `pack` wrote for this row.
        unsafe { pack::unpack(self.bytes_at(mark), self.data(), heap) }
    }

    /// The whole tuple.
    #[inline(never)]
    pub(super) fn unpack<'h, A: Alloc<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        let len = self.len();
        let tuple = heap.alloc(1 + len).as_ptr();
        // SAFETY: fresh words for the header and the elements.
        unsafe {
            *tuple = Header::new(Kind::Tuple, len).raw();
            // What the elements refer to is made next, on the same heap (term/A2).
            for i in 0..len {
                *tuple.add(1 + i) = Term::NIL.raw();
            }
            for i in 0..len {
                let slot = self.slot(i);
                let element = if is_mark(slot) { self.unpack_element(slot, heap) } else { copy_out(slot, heap) };
                *tuple.add(1 + i) = element.raw();
            }
            Term::from_boxed(tuple)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::row::{Form, NewRow};
    use myriad_term::equal::eq_exact;
    use myriad_term::{Arena, Atom, Build, SharedBinary, Term, TermRef, am};

    fn packed(tuple: TermRef<'_>, keypos: usize) -> NewRow {
        NewRow::new(tuple, 7, Form { keypos, packed: true })
    }

    /// Every kind of word: small and large numbers, floats short and long, text, deep lists, binaries of all sizes.
    fn elements<'h>(heap: &mut &'h Arena) -> Vec<TermRef<'h>> {
        let mut all = Vec::new();
        for bits in [0, 1, 5, 23, 24, 47, 48, 59] {
            for value in [1i64 << bits, -(1i64 << bits), (1i64 << bits) - 1] {
                all.push(heap.tuple(&[Term::small(value)]));
            }
        }
        for value in [0.0, -0.0, 1.5, 3.125e-3, -1e300, 1e-300, std::f64::consts::PI] {
            let value = heap.float(value);
            all.push(heap.cons(value, Term::NIL));
        }
        all.push(heap.string("a text of some length"));
        all.push(heap.string("ab"));
        all.push(heap.string("a"));
        all.push(heap.list_onto(&[Term::small(1), Term::small(2), Term::small(256)], Term::small(3)));
        all.push(heap.list(&[Term::NIL, Term::TRUE, Term::small(255)]));
        all.push(heap.big(false, &[1, 2, 3]));
        all.push(heap.big(true, &[u64::MAX]));
        for length in [0, 1, 7, 8, 9, 63, 64] {
            all.push(heap.binary(&vec![0xa5; length]));
        }
        let shared = heap.shared_binary(SharedBinary::from_bytes(&[9; 1000]));
        let part = heap.sub_binary(shared, 3, 5001);
        all.push(heap.tuple(&[part, shared, am::ok.term()]));
        let mut deep = Term::NIL;
        for i in 0..5000 {
            deep = if i % 2 == 0 { heap.tuple(&[deep, Term::small(i)]) } else { heap.cons(deep, Term::small(-i)) };
        }
        all.push(deep);
        all.push(heap.string(&"x".repeat(70_000)));
        let pairs: Vec<_> = (0..100).map(|i| (Term::small(i), all[i as usize % all.len()])).collect();
        all.push(myriad_term::map::from_pairs(heap, &pairs));
        all.push(myriad_term::map::from_pairs(heap, &pairs[..5]));
        all
    }

    #[test]
    fn what_was_packed_comes_back() {
        let mut heap = &Arena::new();
        let all = elements(&mut heap);
        for (i, element) in all.iter().enumerate() {
            let key = all[(i * 7 + 3) % all.len()];
            let tuple = heap.tuple(&[Term::small(1), *element, key, Term::TRUE]);
            let row = packed(tuple, 2);
            let mut copy = &Arena::new();
            assert!(eq_exact(row.row().copy_to(&mut copy), tuple), "{i}");
            assert!(eq_exact(row.row().term(copy), tuple), "{i}");
            assert!(eq_exact(row.row().key(2), key), "{i}");
            let one = row.row().copy_element(1, &mut copy);
            assert!(one.is_some_and(|one| eq_exact(one, *element)), "{i}");
            assert!(row.row().immediate(1).is_none() && row.row().immediate(2).is_none());
            assert!(row.row().immediate(3).is_some_and(|e| e.is(Term::TRUE)));
            assert!(row.row().immediate(4).is_none() && row.row().copy_element(4, &mut copy).is_none());
        }
        let tuple = heap.tuple(&all);
        let row = packed(tuple, 0);
        assert!(eq_exact(row.row().copy_to(&mut &Arena::new()), tuple));
    }

    #[test]
    fn counted_objects_live_as_long_as_the_row() {
        let shared = SharedBinary::from_bytes(&[9; 1000]);
        {
            let row = {
                let mut heap = &Arena::new();
                let binary = heap.shared_binary(shared.clone());
                let part = heap.sub_binary(binary, 8, 8 * 900);
                let inner = heap.list(&[binary, part]);
                packed(heap.tuple(&[binary, inner]), 0)
            };
            assert_eq!(shared.references(), 1 + 3);
            let copy = Arena::new();
            row.row().copy_to(&mut &copy);
            assert_eq!(shared.references(), 1 + 6);
            drop(copy);
            let mut count = 0;
            row.row().for_each_off_heap(|_| count += 1);
            assert_eq!((count, shared.references()), (3, 1 + 3));
        }
        assert_eq!(shared.references(), 1);
    }

    #[test]
    fn packed_rows_are_smaller() {
        let mut heap = &Arena::new();
        let atoms: Vec<TermRef<'_>> =
            (0..50).map(|i| Atom::new(&format!("packed_{}", i % 5)).expect("room for atoms").term()).collect();
        for (element, most) in [(heap.string("a text of some length"), 10), (heap.list(&atoms), 30)] {
            let tuple = heap.tuple(&[Term::small(1), element]);
            let (plain, packed) = (NewRow::new(tuple, 7, Form { keypos: 0, packed: false }), packed(tuple, 0));
            assert!(packed.row().words() <= super::super::HEAD_WORDS + 3 + most, "{}", packed.row().words());
            assert!(packed.row().words() < plain.row().words() / 2);
        }
    }
}
