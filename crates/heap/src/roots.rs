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

use myriad_term::Term;
use std::marker::PhantomData;

/// Spans kept without allocating.
const INLINE: usize = 8;

#[derive(Clone, Copy)]
struct Span {
    at: *mut Term,
    len: usize,
}

/// A list of places that hold terms.
///
/// Each is read and rewritten by a collection; a place must be listed once only.
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
        let none = Span { at: std::ptr::null_mut(), len: 0 };
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
        if len == 0 {
            return;
        }
        debug_assert!(!at.is_null() && at.is_aligned(), "a root at {at:?} is no place for a term");
        debug_assert!(self.lies_apart(at, len), "the root at {at:?} is listed twice");
        self.words += len;
        match self.inline.get_mut(self.used) {
            Some(free) => {
                *free = Span { at, len };
                self.used += 1;
            }
            None => self.more.push(Span { at, len }),
        }
    }

    /// Has none of the first spans a place of these? (To look at all would take quadratic time.)
    fn lies_apart(&self, at: *mut Term, len: usize) -> bool {
        let first = &self.inline[..self.used];
        first.iter().all(|span| at.wrapping_add(len) <= span.at || span.at.wrapping_add(span.len) <= at)
    }

    /// How many words there are in all.
    #[inline]
    pub fn words(&self) -> usize {
        self.words
    }

    /// All places, as word pointers.
    #[inline(always)]
    pub(crate) fn spans(&self) -> impl Iterator<Item = (*mut u64, usize)> + '_ {
        self.inline[..self.used].iter().chain(&self.more).map(|span| (span.at.cast::<u64>(), span.len))
    }
}

impl Default for Roots<'_> {
    fn default() -> Self {
        Self::new()
    }
}
