//! A term with the memory that it needs: on its way from one process to another, or kept outside all processes.
//!
//! PL1. Whatever the term refers to is in the payload's own memory, or a literal that lasts (`literal.rs`), and the payload gives
//!      the term out for as long as it is borrowed only, or with the memory.
//!
//! ```compile_fail,E0505
//! use myriad_heap::Payload;
//! use myriad_term::{Build, Term};
//! let payload = Payload::build(4, |draft| draft.tuple(&[Term::OK]));
//! let term = payload.term();
//! drop(payload);
//! assert!(term.as_tuple().is_some());
//! ```
//!
//! ```compile_fail,E0521
//! use myriad_heap::Payload;
//! use myriad_term::{Build, Term};
//! let mut kept = Term::NIL;
//! Payload::build(4, |draft| {
//!     kept = draft.tuple(&[Term::OK]);
//!     Term::OK
//! });
//! ```

use crate::bundle::{Beyond, Rule};
use crate::lasting::Lasting;
use crate::meter::{self, Work};
use crate::phases;
use crate::{Fragment, Heap};
use myriad_term::{Alloc, Term, TermRef};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A term with the memory that it needs (PL1).
pub struct Payload {
    term: Term,
    fragment: Option<Fragment>,
}

/// Memory in which a term is being made, of the lifetime `'b` that no other memory has.
pub struct Draft<'b> {
    fragment: Fragment,
    /// Invariant: neither longer nor shorter.
    brand: PhantomData<fn(&'b ()) -> &'b ()>,
}

impl<'b> Alloc<'b> for Draft<'b> {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        self.fragment.alloc(words)
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.fragment.off_heap().link(header, words) };
    }
}

impl Draft<'static> {
    /// Memory for terms without a lifetime, with room for `words` for a start.
    ///
    /// # Safety
    /// They are used no longer than the draft, or the fragment that it becomes, is kept.
    pub const unsafe fn unbound(fragment: Fragment) -> Self {
        Draft { fragment, brand: PhantomData }
    }

    /// The memory.
    pub fn into_fragment(self) -> Fragment {
        self.fragment
    }
}

impl Payload {
    /// A term that needs no memory.
    pub const fn immediate(term: Term) -> Payload {
        assert!(term.is_immediate(), "PL1: a term needs memory that its payload has not");
        Payload { term, fragment: None }
    }

    /// A term that `make` builds, in memory with room for `words` for a start. It may hold literals, and no other terms of a process.
    #[inline]
    pub fn build(words: usize, make: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>) -> Payload {
        Payload::on(Fragment::with_capacity(words), |_, draft| make(draft), Term::NONE)
    }

    /// A term that `make` builds of this one and more, in its memory. As [`Payload::build`] otherwise.
    #[inline]
    pub fn and_then(self, make: impl for<'b> FnOnce(TermRef<'b>, &mut Draft<'b>) -> TermRef<'b>) -> Payload {
        Payload::on(self.fragment.unwrap_or_default(), make, self.term)
    }

    #[inline]
    fn on(
        fragment: Fragment,
        make: impl for<'b> FnOnce(TermRef<'b>, &mut Draft<'b>) -> TermRef<'b>,
        of: Term,
    ) -> Payload {
        let mut draft = Draft { fragment, brand: PhantomData };
        let term = make(of, &mut draft);
        // SAFETY: PL1: the memory goes where the term goes.
        let term = unsafe { term.assume_held() };
        Payload { term, fragment: Some(draft.fragment) }
    }

    /// A copy of a term.
    pub fn copy(term: TermRef<'_>) -> Payload {
        Payload::copy_counted(term).0
    }

    /// A copy of a term, and how many words it takes.
    pub fn copy_counted(term: TermRef<'_>) -> (Payload, usize) {
        Payload::copy_within(term, usize::MAX).expect("no term has as many words as there are addresses")
    }

    /// A copy of a term, and how many words it takes; `None` if these would be more than `limit`, and it becomes no bundle.
    // One function, into which both passes over the term are inlined: each message goes through it.
    #[inline(never)]
    pub fn copy_within(term: TermRef<'_>, limit: usize) -> Option<(Payload, usize)> {
        Some(Payload::counted(Fragment::copy_within(term, limit)?))
    }

    /// The same, if it has nothing to do with bundles, where these are in use and terms of `least` words become some.
    #[inline]
    pub(crate) fn copy_small(term: TermRef<'_>, least: usize) -> Result<(Payload, usize), Beyond> {
        // Where parts are measured it is done elsewhere.
        if term.is_immediate() || phases::is_on() {
            return Err(Beyond::Large);
        }
        Fragment::copy_small(term, least, Lasting::now()).map(Payload::counted)
    }

    /// The same of a term that has, by a rule; `None` if more than `limit` words would be copied.
    pub(crate) fn copy_beyond(term: TermRef<'_>, limit: usize, rule: Rule) -> Option<(Payload, usize)> {
        let lasting = Lasting::now();
        Fragment::bundled_copy_within(term, limit, rule, |at| lasting.holds(at)).map(Payload::counted)
    }

    #[inline(always)]
    fn counted((term, fragment, words): (Term, Option<Fragment>, usize)) -> (Payload, usize) {
        meter::count(Work::Copy, u64::from(words > 0));
        meter::count(Work::CopiedWord, words as u64);
        debug_assert!(fragment.is_some() || words == 0, "PL1: what takes memory has it");
        (Payload { term, fragment }, words)
    }

    /// A copy of a term and of all literals in it, for what is kept outside processes (vm/LC2).
    pub fn whole(term: TermRef<'_>) -> Payload {
        let (term, fragment) = Fragment::whole_copy_of(term);
        Payload { term, fragment }
    }

    /// The term.
    #[inline]
    pub const fn term(&self) -> TermRef<'_> {
        self.term
    }

    /// Its memory, if it has any.
    pub const fn memory(&self) -> Option<&Fragment> {
        self.fragment.as_ref()
    }

    /// Words that its memory takes.
    pub fn words(&self) -> usize {
        self.fragment.as_ref().map_or(0, Fragment::used_words)
    }

    /// One of the terms that it is made of, with all its memory; `None` if `part` gives none.
    pub fn part(self, part: impl for<'b> FnOnce(TermRef<'b>) -> Option<TermRef<'b>>) -> Option<Payload> {
        let term = part(self.term)?;
        // SAFETY: PL1: of the same memory.
        Some(Payload { term: unsafe { term.assume_held() }, fragment: self.fragment })
    }

    /// The term, a term of the process now whose heap the memory joins.
    pub fn attach(self, heap: &mut Heap) -> Term {
        if let Some(fragment) = self.fragment {
            heap.attach(fragment);
        }
        self.term
    }

    /// The same, but its words move to the heap's block if they are [movable](Fragment::movable_words) and the block has [room](Heap::ensure).
    pub fn settle(self, heap: &mut Heap) -> Term {
        let Payload { mut term, fragment } = self;
        let Some(fragment) = fragment else { return term };
        match fragment.movable().filter(|(_, words)| heap.ensure(*words)) {
            Some((start, words)) => {
                let mut none = Term::NONE;
                // SAFETY: PL1: nothing but the term refers to the words, which are the fragment's own, in one chunk and none of them
                // counted; there is room for them.
                unsafe { heap.move_in(start, words, [&mut term, &mut none]) };
            }
            None => heap.attach(fragment),
        }
        term
    }

    /// A term that lies in a fragment.
    ///
    /// # Safety
    /// PL1: all memory that it takes, but for literals, is the fragment's.
    pub const unsafe fn of(term: Term, fragment: Fragment) -> Payload {
        Payload { term, fragment: Some(fragment) }
    }

    /// Term and memory.
    pub(crate) fn into_parts(self) -> (Term, Option<Fragment>) {
        (self.term, self.fragment)
    }
}
