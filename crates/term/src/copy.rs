//! Copying a term into another heap: its size in words, and the copy.
//!
//! No sharing is kept: a part that is reached twice is copied twice, as OTP does for messages. Literals, told by a predicate,
//! are not copied. The bytes of shared binaries stay where they are and gain a count; a small part of one becomes a heap
//! binary, so that 64 bytes do not hold a megabyte.
//!
//! Both passes are loops. The copy keeps a stack of runs of words that may still point at originals: a list's cells are laid
//! out one after another at once, and a list or tuple without pointers in it is never looked at again.

use crate::alloc::Alloc;
use crate::binary::{Bits, HEAP_BINARY_LIMIT, SharedBinary};
use crate::boxed::{Boxed, Header, Kind};
use crate::magic::Magic;
use crate::stack::Stack;
use crate::word::{Term, TermRef};
use std::mem::ManuallyDrop;
use std::ptr;

/// Words of a `SharedBinary` object, header included.
const SHARED_WORDS: usize = 4;
/// Words of a `SubBinary` object, header included.
const SUB_WORDS: usize = 4;

/// What becomes of a sub binary or match context.
enum PartCopy<'a> {
    /// A heap binary of its bits.
    Flat(Bits<'a>),
    /// A sub binary of the same shared bytes: the shared object, bit offset, bit size.
    Part(Boxed<'a, 'a>, usize, usize),
}

fn part_copy<'a>(part: Boxed<'a, 'a>) -> PartCopy<'a> {
    let at = |i: usize| part.slot(i).small_value() as usize;
    let size = if part.kind() == Kind::MatchContext { at(2) - at(1) } else { at(2) };
    // SAFETY of the layout (term/T1): slot 0 of a part is a heap or shared binary.
    let whole = part.slot(0);
    match whole.held_boxed() {
        Some(whole) if whole.kind() == Kind::SharedBinary && size > HEAP_BINARY_LIMIT * 8 => {
            PartCopy::Part(whole, at(1), size)
        }
        Some(whole) => PartCopy::Flat(Bits::new(whole.whole_bytes(), at(1), size)),
        None => PartCopy::Flat(Bits::new(&[], 0, 0)),
    }
}

const fn heap_binary_words(bits: usize) -> usize {
    2 + bits.div_ceil(64)
}

/// Words that [`copy`] needs for a term.
#[inline]
pub fn size(term: TermRef<'_>, is_literal: impl Fn(*const u64) -> bool) -> usize {
    // A term of so many words does not exist, so the limit costs nothing.
    size_within(term, usize::MAX, is_literal).unwrap_or(usize::MAX)
}

/// The same, if they are no more than `limit`; no more than that many words are looked at, or as many as one object has.
#[inline]
pub fn size_within(term: TermRef<'_>, limit: usize, is_literal: impl Fn(*const u64) -> bool) -> Option<usize> {
    let mut words = 0;
    let mut todo: Stack<TermRef<'_>, 32> = Stack::new();
    let mut next = Some(term);
    while let Some(mut term) = next {
        while term.is_cons() && !is_literal(term.object_ptr()) {
            words += 2;
            let cell = term.cell();
            // SAFETY: term/T1.
            let (head, tail) = unsafe { (*cell, *cell.add(1)) };
            if !head.is_immediate() {
                todo.push(head);
            }
            term = tail;
            if words > limit {
                return None;
            }
        }
        if let Some(object) = term.as_boxed()
            && !is_literal(object.ptr())
        {
            match object.kind() {
                Kind::SubBinary | Kind::MatchContext => {
                    words += match part_copy(object) {
                        PartCopy::Flat(bits) => heap_binary_words(bits.len()),
                        PartCopy::Part(..) => SUB_WORDS + SHARED_WORDS,
                    };
                }
                _ => {
                    words += 1 + object.size();
                    if object.header().holds_terms() {
                        object.slots().iter().filter(|t| !t.is_immediate()).for_each(|t| todo.push(*t));
                    }
                }
            }
        }
        if words > limit {
            return None;
        }
        next = todo.pop();
    }
    Some(words)
}

/// A copy of a term in `heap`.
///
/// # Safety
/// `words` is what [`size`] gave for it with the same predicate, which holds for literals only: they stay in the copy, and must be
/// held for as long as that.
#[inline]
pub unsafe fn copy<'h, A: Alloc<'h> + ?Sized>(
    term: TermRef<'_>,
    words: usize,
    heap: &mut A,
    is_literal: impl Fn(*const u64) -> bool,
) -> TermRef<'h> {
    // SAFETY: its words are read here alone, while the caller holds them; what stays in the copy is literals (the caller's promise).
    let term: Term = unsafe { term.assume_held() };
    if words == 0 {
        return term;
    }
    let start = heap.alloc(words).as_ptr();
    let end = start.wrapping_add(words);
    let mut copier = Copier { top: start, end, heap, is_literal, tails: Stack::new() };
    let (root, first) = copier.object(term);
    copier.finish(first);
    root
}

/// Replaces what these words refer to by copies in `heap`; headers may be among them.
///
/// # Safety
/// The words are initialised, nobody else reads or writes them, and the terms among them are whole. `words` is the sum of what [`size`] gave for each of them
/// with the same predicate, which holds for literals, and for what is where the words themselves go: such objects stay in their place.
#[inline]
pub unsafe fn copy_parts<'h, A: Alloc<'h> + ?Sized>(
    parts: *mut [Term],
    words: usize,
    heap: &mut A,
    stays: impl Fn(*const u64) -> bool,
) {
    if words == 0 {
        return;
    }
    let start = heap.alloc(words).as_ptr();
    let end = start.wrapping_add(words);
    let mut copier = Copier { top: start, end, heap, is_literal: stays, tails: Stack::new() };
    let at = parts.cast::<Term>();
    copier.finish(Some(Run { at, end: at.wrapping_add(parts.len()), step: 1 }));
}

/// Copied words, every `step`th of which may still point at an original.
#[derive(Clone, Copy)]
struct Run {
    at: *mut Term,
    end: *mut Term,
    step: usize,
}

struct Copier<'c, A: ?Sized, F> {
    top: *mut u64,
    end: *mut u64,
    heap: &'c mut A,
    is_literal: F,
    /// Tails of improper lists that point at an original.
    tails: Stack<Run, 4>,
}

impl<'h, A: Alloc<'h> + ?Sized, F: Fn(*const u64) -> bool> Copier<'_, A, F> {
    /// Copies what the words of a run refer to, and all that this refers to.
    #[inline(always)]
    fn finish(&mut self, first: Option<Run>) {
        let mut todo: Stack<Run, 16> = Stack::new();
        let mut next = first.or_else(|| self.tails.pop());
        while let Some(mut run) = next {
            while run.at < run.end {
                let place = run.at;
                run.at = place.wrapping_add(run.step);
                // SAFETY: the words of a run are terms in the copier's block (term/A2), or those that it was given.
                let term = unsafe { *place };
                if term.is_immediate() {
                    continue;
                }
                let (copy, parts) = self.object(term);
                // SAFETY: as above.
                unsafe { *place = copy };
                if let Some(parts) = parts {
                    if run.at < run.end {
                        todo.push(run);
                    }
                    run = parts;
                }
            }
            next = todo.pop().or_else(|| self.tails.pop());
        }
        debug_assert!(self.top == self.end);
    }

    /// Copies the object of a term that is not immediate; with the words of the copy that are still to be looked at.
    #[inline]
    fn object(&mut self, term: Term) -> (Term, Option<Run>) {
        if (self.is_literal)(term.object_ptr()) {
            return (term, None);
        }
        match term.held_boxed() {
            Some(object) if object.kind() == Kind::Tuple => self.terms(object),
            Some(object) => self.boxed(object),
            None if term.is_cons() => self.list(term),
            None => (term, None),
        }
    }

    #[inline]
    fn take(&mut self, words: usize) -> *mut u64 {
        let at = self.top;
        debug_assert!(at as usize + words * 8 <= self.end as usize);
        // SAFETY: `size` counted every object that is copied here.
        self.top = unsafe { at.add(words) };
        at
    }

    #[inline]
    fn list(&mut self, first: Term) -> (Term, Option<Run>) {
        let start = self.top.cast::<Term>();
        let mut cell = start;
        let mut from = first.cell();
        let mut pointers = false;
        // SAFETY: term/T1 for the source; `size` counted two words for each cell, and `cell` moves on by as many.
        unsafe {
            let tail = loop {
                debug_assert!(cell.add(2) as usize <= self.end as usize);
                let (head, tail) = (*from, *from.add(1));
                *cell = head;
                pointers |= !head.is_immediate();
                if !tail.is_cons() || (self.is_literal)(tail.object_ptr()) {
                    break tail;
                }
                let next = cell.add(2);
                *cell.add(1) = Term::from_cell(next);
                cell = next;
                from = tail.cell();
            };
            let last = cell.add(1);
            *last = tail;
            let end = last.add(1);
            self.top = end.cast();
            if tail.is_boxed() {
                self.tails.push(Run { at: last, end, step: 1 });
            }
            let heads = if pointers { Some(Run { at: start, end, step: 2 }) } else { None };
            (Term::from_cell(start), heads)
        }
    }

    /// An object that holds terms.
    #[inline]
    fn terms(&mut self, object: Boxed<'static, 'static>) -> (Term, Option<Run>) {
        let slots = object.slots();
        let at = self.take(1 + slots.len());
        let mut pointers = false;
        // SAFETY: fresh words for the header and the slots.
        unsafe {
            *at = object.header().raw();
            let start = at.add(1).cast::<Term>();
            for (i, slot) in slots.iter().enumerate() {
                *start.add(i) = *slot;
                pointers |= !slot.is_immediate();
            }
            let parts = if pointers { Some(Run { at: start, end: start.add(slots.len()), step: 1 }) } else { None };
            (Term::from_boxed(at), parts)
        }
    }

    fn boxed(&mut self, object: Boxed<'static, 'static>) -> (Term, Option<Run>) {
        let copy = match object.kind() {
            Kind::SubBinary | Kind::MatchContext => self.part(object),
            Kind::SharedBinary => self.shared(object),
            Kind::MagicRef => self.magic(object),
            _ if object.header().holds_terms() => return self.terms(object),
            _ => self.plain(object),
        };
        (copy, None)
    }

    fn plain(&mut self, object: Boxed<'static, 'static>) -> Term {
        let words = 1 + object.size();
        let at = self.take(words);
        // SAFETY: term/T1 and term/B1 for the source; fresh words for the copy.
        unsafe {
            ptr::copy_nonoverlapping(object.ptr(), at, words);
            Term::from_boxed(at)
        }
    }

    fn shared(&mut self, object: Boxed<'static, 'static>) -> Term {
        let at = self.take(SHARED_WORDS);
        let one_more: SharedBinary = (*object.shared()).clone();
        // SAFETY: fresh words; then an initialised off-heap object that holds the new count. Not writable: another heap may
        // see the bytes beyond its end.
        unsafe {
            *at = Header::new(Kind::SharedBinary, SHARED_WORDS - 1).raw();
            *at.add(1) = object.word(0);
            *at.add(2) = one_more.into_raw() as u64;
            self.heap.link(at, object.word(0) as usize / 8);
            Term::from_boxed(at)
        }
    }

    fn magic(&mut self, object: Boxed<'static, 'static>) -> Term {
        let copy = self.plain(object);
        // SAFETY: word 2 of a magic reference is what `Magic::into_raw` gave; the object keeps its own count. The copy is
        // an initialised off-heap object once the new count is in place.
        unsafe {
            let held = ManuallyDrop::new(Magic::from_raw(object.word(2) as *const ()));
            let at = copy.boxed_ptr();
            *at.add(3) = Magic::clone(&held).into_raw() as u64;
            self.heap.link(at, 0);
        }
        copy
    }

    fn part(&mut self, part: Boxed<'static, 'static>) -> Term {
        match part_copy(part) {
            PartCopy::Part(whole, offset, size) => {
                let at = self.take(SUB_WORDS);
                let shared = self.shared(whole);
                // SAFETY: fresh words.
                unsafe {
                    *at = Header::new(Kind::SubBinary, SUB_WORDS - 1).raw();
                    *at.add(1) = shared.raw();
                    *at.add(2) = Term::small(offset as i64).raw();
                    *at.add(3) = Term::small(size as i64).raw();
                    Term::from_boxed(at)
                }
            }
            PartCopy::Flat(bits) => {
                let words = heap_binary_words(bits.len());
                let at = self.take(words);
                // SAFETY: fresh words: header, bit size, then room for the bytes, the last word zeroed first.
                unsafe {
                    *at = Header::new(Kind::HeapBinary, words - 1).raw();
                    *at.add(1) = bits.len() as u64;
                    if words > 2 {
                        *at.add(words - 1) = 0;
                    }
                    let bytes = bits.to_bytes();
                    ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(2).cast(), bytes.len());
                    Term::from_boxed(at)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;
    use crate::compare::compare;
    use crate::{Build, SharedBinary};
    use std::cmp::Ordering;

    fn none(_: *const u64) -> bool {
        false
    }

    fn copied<'h>(term: TermRef<'_>, to: &mut &'h Arena) -> TermRef<'h> {
        // SAFETY: the size of the same term; nothing stays.
        unsafe { copy(term, size(term, none), to, none) }
    }

    #[test]
    fn a_copy_is_equal_and_elsewhere() {
        let mut from = &Arena::new();
        let mut to = &Arena::new();
        let big = from.big(true, &[1, 2, 3]);
        let float = from.float(0.0);
        let text = from.string("abc");
        let binary = from.binary(&[7; 100]);
        let inner = from.tuple(&[big, float, text, binary]);
        let list = from.list_onto(&[inner, Term::small(1), text], Term::TRUE);
        let copy = copied(list, &mut to);
        assert_eq!(compare(list, copy), Ordering::Equal);
        assert!(!list.is(copy));
    }

    #[test]
    fn shared_bytes_are_counted_not_copied() {
        let mut from = &Arena::new();
        let to = Arena::new();
        let bytes = SharedBinary::from_bytes(&[9; 1000]);
        let held = bytes.clone();
        let whole = from.shared_binary(bytes);
        let part = from.sub_binary(whole, 8, 8 * 500);
        let small = from.sub_binary(whole, 16, 24);
        assert_eq!(held.references(), 2);
        let copy = copied(part, &mut &to);
        assert_eq!(held.references(), 3);
        assert_eq!(compare(part, copy), Ordering::Equal);
        let flat = copied(small, &mut &to);
        assert_eq!((flat.boxed_kind(), held.references()), (Some(Kind::HeapBinary), 3));
        drop(to);
        assert_eq!(held.references(), 2);
    }

    #[test]
    fn deep_and_long_terms_need_no_stack() {
        let mut from = &Arena::new();
        let mut to = &Arena::new();
        let mut deep = Term::NIL;
        for i in 0..crate::test_terms::many(200_000) {
            deep = if i % 2 == 0 { from.tuple(&[deep]) } else { from.cons(deep, Term::NIL) };
        }
        let copy = copied(deep, &mut to);
        assert_eq!(compare(deep, copy), Ordering::Equal);
    }

    #[test]
    fn improper_tails_and_parts_of_parts() {
        let mut from = &Arena::new();
        let mut to = &Arena::new();
        let mut all = Term::NIL;
        // Not many: each round holds the one before several times.
        for i in 0..7 {
            let float = from.float(0.0);
            let pair = from.tuple(&[Term::small(i), float]);
            let inner = from.cons(pair, all);
            let improper = from.list_onto(&[Term::small(i), inner, float], pair);
            let nested = from.tuple(&[improper, Term::NIL, pair]);
            all = from.list_onto(&[nested, Term::TRUE, improper], if i % 3 == 0 { nested } else { Term::NIL });
            if i % 2 == 0 {
                all = from.tuple(&[all]);
            }
        }
        assert_eq!(compare(all, copied(all, &mut to)), Ordering::Equal);
    }
}
