//! Copying terms between heaps: `term::copy`, with literals left where they are, unless they are about to go.

use crate::Fragment;
use crate::bundle::{self, Beyond, HOLD_WORDS, LARGE_WORDS, LEAST_WORDS, Rule, Sharing, hold_in};
use crate::lasting::Lasting;
use crate::phases::{self, Phase};
use myriad_term::{Alloc, Magic, Term, TermRef, copy};
use std::ptr::NonNull;

/// Words that [`copy_term`] needs for a term; more if literals begin to go in between, so the room is a guess, not a promise.
#[inline]
pub fn copied_size(term: TermRef<'_>) -> usize {
    if term.is_immediate() {
        return 0;
    }
    let lasting = Lasting::now();
    copy::size(term, move |at| lasting.holds(at))
}

/// A copy of a term in another heap; literals are not copied.
#[inline]
pub fn copy_term<'h, A: Alloc<'h> + ?Sized>(term: TermRef<'_>, heap: &mut A) -> TermRef<'h> {
    if let Some(term) = term.as_immediate() {
        return term;
    }
    let lasting = Lasting::now();
    let words = copy::size(term, move |at| lasting.holds(at));
    // SAFETY: the size of the same term with the same predicate; the purger asks for who refers to a literal (`literal.rs`).
    unsafe { copy::copy(term, words, heap, move |at| lasting.holds(at)) }
}

impl Fragment {
    /// A copy of a term, in a fragment of its own if it needs memory, and how many words that is.
    #[cfg(test)]
    pub(crate) fn copy_of(term: TermRef<'_>) -> (Term, Option<Fragment>, usize) {
        Fragment::copy_within(term, usize::MAX).expect("no term has as many words as there are addresses")
    }

    /// A copy of a term, in a fragment of its own if it needs memory, and how many words that is; `None` if they would be
    /// more than `limit`, for what becomes no bundle.
    #[inline]
    pub(crate) fn copy_within(term: TermRef<'_>, limit: usize) -> Option<(Term, Option<Fragment>, usize)> {
        if let Some(term) = term.as_immediate() {
            return Some((term, None, 0));
        }
        let lasting = Lasting::now();
        if phases::is_on() {
            return Some(Fragment::measured_copy_of(term, move |at| lasting.holds(at)));
        }
        if bundle::in_use() {
            let small = Fragment::copy_small(term, LARGE_WORDS, lasting);
            return Some(
                small.unwrap_or_else(|_| Fragment::bundled_copy_of(term, Rule::LARGE, move |at| lasting.holds(at))),
            );
        }
        let words = copy::size_within(term, limit, move |at| lasting.holds(at))?;
        // SAFETY: the size of the same term with the same predicate.
        Some(unsafe { Fragment::copy_of_size(term, words, lasting) })
    }

    /// A copy of a term that has nothing to do with bundles, where these are in use and terms of `least` words become some.
    #[inline]
    pub(crate) fn copy_small(
        term: TermRef<'_>,
        least: usize,
        lasting: Lasting,
    ) -> Result<(Term, Option<Fragment>, usize), Beyond> {
        let words = bundle::small_size(term, least, move |at| lasting.holds(at))?;
        // SAFETY: the size of the same term with the same predicate.
        Ok(unsafe { Fragment::copy_of_size(term, words, lasting) })
    }

    /// # Safety
    /// The copy takes so many words.
    #[inline(always)]
    unsafe fn copy_of_size(term: TermRef<'_>, words: usize, lasting: Lasting) -> (Term, Option<Fragment>, usize) {
        let mut fragment = Fragment::with_capacity(words);
        // SAFETY: the caller's promise; the purger asks for who refers to a literal (`literal.rs`).
        let term = unsafe { fragment.copied(term, words, move |at| lasting.holds(at)) };
        (term, (words > 0).then_some(fragment), words)
    }

    /// [`Fragment::copy_within`] any limit with its passes measured: apart, so that those of unmeasured copies stay inlined.
    #[cold]
    #[inline(never)]
    fn measured_copy_of(
        term: TermRef<'_>,
        lasts: impl Fn(*const u64) -> bool + Copy,
    ) -> (Term, Option<Fragment>, usize) {
        let words = phases::measured(Phase::Size, || {
            if bundle::in_use() {
                bundle::small_size(term, LARGE_WORDS, lasts).ok()
            } else {
                Some(copy::size(term, lasts))
            }
        });
        let Some(words) = words else { return Fragment::bundled_copy_of(term, Rule::LARGE, lasts) };
        let mut fragment = Fragment::with_capacity(words);
        // SAFETY: as in `copy_within`.
        let term = phases::measured(Phase::Copy, || unsafe { fragment.copied(term, words, lasts) });
        (term, (words > 0).then_some(fragment), words)
    }

    /// A copy of a term that needs memory: a bundle, by a rule, or a fragment which holds those that the term lies in or refers to.
    pub(crate) fn bundled_copy_of(
        term: TermRef<'_>,
        rule: Rule,
        lasts: impl Fn(*const u64) -> bool,
    ) -> (Term, Option<Fragment>, usize) {
        let copy = Fragment::bundled_copy_within(term, usize::MAX, rule, lasts);
        copy.expect("no term has as many words as there are addresses")
    }

    /// The same; `None` if more than `limit` words would be copied.
    #[inline(never)]
    pub(crate) fn bundled_copy_within(
        term: TermRef<'_>,
        limit: usize,
        rule: Rule,
        lasts: impl Fn(*const u64) -> bool,
    ) -> Option<(Term, Option<Fragment>, usize)> {
        let sharing = phases::measured(Phase::Size, || Sharing::within(term, limit, lasts))?;
        sharing.sent_again();
        if let Some((term, bundle, words)) = sharing.bundle(rule) {
            return Some((term, Some(Fragment::holding(bundle)), words));
        }
        let words = sharing.copied_words();
        let mut fragment = Fragment::with_capacity(sharing.words());
        // SAFETY: whoever has the fragment has the term (heap/PL1, heap/MB1).
        let term = phases::measured(Phase::Copy, || unsafe { sharing.copy(&mut Growing(&mut fragment)).assume_held() });
        Some((term, Some(fragment), words))
    }

    /// The means by which a bundle is held.
    pub(crate) fn holding(bundle: Magic) -> Fragment {
        let mut fragment = Fragment::with_capacity(HOLD_WORDS);
        hold_in(&mut Growing(&mut fragment), bundle);
        fragment
    }

    /// A copy of a term and of all literals that it refers to: for places that no purger asks.
    pub(crate) fn whole_copy_of(term: TermRef<'_>) -> (Term, Option<Fragment>) {
        if let Some(term) = term.as_immediate() {
            return (term, None);
        }
        if bundle::in_use() && bundle::small_size(term, LEAST_WORDS, nothing).is_err() {
            let (term, fragment, _) = Fragment::bundled_copy_of(term, Rule::ALWAYS, nothing);
            return (term, fragment);
        }
        let words = copy::size(term, nothing);
        let mut fragment = Fragment::with_capacity(words);
        // SAFETY: the size of the same term; nothing stays.
        let term = unsafe { fragment.copied(term, words, nothing) };
        (term, Some(fragment))
    }

    /// Adds a copy of a term that needs memory.
    #[cold]
    pub(crate) fn add_copy(&mut self, term: TermRef<'_>) -> Term {
        let lasting = Lasting::now();
        let words = copy::size(term, move |at| lasting.holds(at));
        // SAFETY: the size of the same term with the same predicate; the purger asks for who refers to a literal (`literal.rs`).
        unsafe { self.copied(term, words, move |at| lasting.holds(at)) }
    }

    /// A copy of `words` words, which goes where the fragment goes.
    ///
    /// # Safety
    /// As for [`copy::copy`].
    #[inline(always)]
    unsafe fn copied(&mut self, term: TermRef<'_>, words: usize, is_literal: impl Fn(*const u64) -> bool) -> Term {
        // SAFETY: the caller's promise; whoever has the fragment has the term (heap/PL1, heap/MB1).
        unsafe { copy::copy(term, words, &mut Growing(self), is_literal).assume_held() }
    }
}

/// A fragment that grows.
pub(crate) struct Growing<'f>(pub(crate) &'f mut Fragment);

impl<'f> Alloc<'f> for Growing<'f> {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        self.0.alloc(words)
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.0.off_heap().link(header, words) };
    }
}

/// No literal is shared.
fn nothing(_: *const u64) -> bool {
    false
}
