//! The words outside a heap that point into it: X registers, process dictionary, messages, saved terms.
//!
//! The Erlang stack is not listed: the collector knows where it is. A place that is listed is borrowed, so that nobody reads a term
//! there while a collection may write it:
//!
//! ```compile_fail,E0503
//! use myriad_heap::Roots;
//! use myriad_term::Term;
//! let mut registers = [Term::NIL; 2];
//! let roots = Roots::of(&mut registers);
//! assert!(registers[0].is_nil());
//! assert_eq!(roots.words(), 2);
//! ```

use crate::heap::Heap;
use crate::literal::is_literal;
use crate::one_heap;
use myriad_term::Term;
use std::marker::PhantomData;
use std::ops::Range;

/// Spans kept without allocating.
const INLINE: usize = 8;

/// Who reads a span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// Every collection, and all else that looks at roots.
    All,
    /// All but minor collections: these read parts of it.
    AllButMinor,
    /// Minor collections alone: it is a part of another span.
    Minor,
}

#[derive(Clone, Copy)]
struct Span {
    at: *mut Term,
    len: usize,
    reader: Reader,
}

/// A list of places that hold terms.
///
/// Each is read and rewritten by a collection; a place must be listed once only. A minor collection passes over those of [`Roots::push_aged`] that hold
/// nothing that it could move.
pub struct Roots<'a> {
    inline: [Span; INLINE],
    used: usize,
    more: Vec<Span>,
    words: usize,
    borrows: PhantomData<&'a mut [Term]>,
}

impl<'a> Roots<'a> {
    /// No roots beside the stack.
    #[inline]
    pub const fn new() -> Roots<'a> {
        let none = Span { at: std::ptr::null_mut(), len: 0, reader: Reader::All };
        Roots { inline: [none; INLINE], used: 0, more: Vec::new(), words: 0, borrows: PhantomData }
    }

    /// One slice.
    #[inline]
    pub fn of(terms: &'a mut [Term]) -> Roots<'a> {
        let mut roots = Roots::new();
        roots.push(terms);
        roots
    }

    /// Adds a slice.
    #[inline]
    pub fn push(&mut self, terms: &'a mut [Term]) {
        // SAFETY: borrowed for as long as the list lives.
        unsafe { self.push_raw(terms.as_mut_ptr(), terms.len()) };
    }

    /// Adds a slice of which minor collections read only these parts, which lie apart: what is beside them such collections leave as it is
    /// ([`Heap::keeps_at_minor`]).
    pub fn push_aged(&mut self, terms: &'a mut [Term], young: impl IntoIterator<Item = Range<usize>>) {
        let (at, len) = (terms.as_mut_ptr(), terms.len());
        self.add(Span { at, len, reader: Reader::AllButMinor });
        for part in young {
            assert!(part.start <= part.end && part.end <= len, "a part of the slice");
            self.add(Span { at: at.wrapping_add(part.start), len: part.len(), reader: Reader::Minor });
        }
    }

    /// Adds one term.
    #[inline]
    pub fn push_one(&mut self, term: &'a mut Term) {
        self.push(std::slice::from_mut(term));
    }

    /// Adds `len` terms at `at`.
    ///
    /// # Safety
    /// They are initialised, and nothing else refers to them while the list is used.
    #[inline]
    pub unsafe fn push_raw(&mut self, at: *mut Term, len: usize) {
        self.add(Span { at, len, reader: Reader::All });
    }

    #[inline]
    fn add(&mut self, span: Span) {
        let Span { at, len, reader } = span;
        if len == 0 {
            return;
        }
        debug_assert!(!at.is_null() && at.is_aligned(), "a root at {at:?} is no place for a term");
        debug_assert!(self.lies_apart(span), "the root at {at:?} is listed twice");
        if reader != Reader::AllButMinor {
            self.words += len;
        }
        match self.inline.get_mut(self.used) {
            Some(free) => {
                *free = span;
                self.used += 1;
            }
            None => self.more.push(span),
        }
    }

    /// Has none of the first spans that are read with it a place of these? (To look at all would take quadratic time.)
    fn lies_apart(&self, new: Span) -> bool {
        let mut first = self.inline[..self.used].iter().filter(|span| span.is_read(new.reader == Reader::Minor));
        first.all(|span| new.at.wrapping_add(new.len) <= span.at || span.at.wrapping_add(span.len) <= new.at)
    }

    /// How many words a minor collection reads.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// All places, as word pointers.
    #[inline(always)]
    pub(crate) fn spans(&self) -> impl Iterator<Item = (*mut u64, usize)> + '_ {
        self.spans_for(false)
    }

    /// All places that a minor collection, or another one, has to read.
    #[inline(always)]
    pub(crate) fn spans_for(&self, minor: bool) -> impl Iterator<Item = (*mut u64, usize)> + '_ {
        let all = self.inline[..self.used].iter().chain(&self.more);
        all.filter(move |span| span.is_read(minor)).map(|span| (span.at.cast::<u64>(), span.len))
    }
}

impl Span {
    /// Does a minor collection, or another one, read it?
    #[inline(always)]
    fn is_read(&self, minor: bool) -> bool {
        self.reader != if minor { Reader::AllButMinor } else { Reader::Minor }
    }
}

impl Heap {
    /// Does each minor collection from now on leave this term as it is, so that it need not see the place where it stands? Until both
    /// generations are collected: what is old stays in its place till then, or moves in a step that looks at all places (`evacuation.rs`), and is old then too. What a bundle holds has to be seen: what is not is no longer held.
    #[inline]
    pub fn keeps_at_minor(&self, term: Term) -> bool {
        if term.is_immediate() {
            return true;
        }
        let at = term.object_ptr();
        if one_heap::is_on() {
            return one_heap::is_old(at) || is_literal(at);
        }
        let (old_start, old_end) = self.old_area();
        (old_start..old_end).contains(&at) || is_literal(at)
    }
}

impl Default for Roots<'_> {
    fn default() -> Self {
        Self::new()
    }
}
