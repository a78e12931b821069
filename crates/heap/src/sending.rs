//! What a process sends, places to be shared, or gets of its parent: copies, or bundles where these are in use.

use crate::bundle::{self, Bundle};
use crate::literal::{Lasting, is_literal};
use crate::{Fragment, Heap, Payload, copy_term};
use myriad_term::{Magic, Term, TermRef, copy};

impl Heap {
    /// A copy of a term of this heap for another process, and how many words were copied: none of a large term that was sent before.
    #[inline]
    pub fn payload(&mut self, term: Term) -> (Payload, usize) {
        if bundle::in_use() { self.bundled_payload(term) } else { Payload::copy_counted(term) }
    }

    /// The same term, in a bundle that the heap holds if it is large, these are in use and it is in none yet; and how many words were copied.
    pub fn share(&mut self, term: Term) -> (Term, usize) {
        if !bundle::in_use()
            || term.is_immediate()
            || bundle::is_bundled(term.object_ptr())
            || bundle::whole_small_size(term).is_some()
        {
            return (term, 0);
        }
        let (payload, words) = self.bundled_payload(term);
        (payload.attach(self), words)
    }

    fn bundled_payload(&mut self, term: Term) -> (Payload, usize) {
        if term.is_immediate() {
            return (Payload::immediate(term), 0);
        }
        if let Some((copy, bundle)) = self.held().and_then(|held| held.sent_before(term)) {
            // SAFETY: heap/PL1: the fragment holds the bundle.
            return (unsafe { Payload::of(copy, Fragment::holding(bundle)) }, 0);
        }
        let (payload, words) = Payload::copy_counted(term);
        if words >= bundle::LEAST_WORDS
            && !is_literal(term.object_ptr())
            && bundle::is_bundled(payload.term().object_ptr())
        {
            // SAFETY: the payload holds the bundle and is there; the entry holds it too.
            let (copy, bundle) = unsafe { (payload.term().assume_held(), Bundle::at(payload.term().object_ptr())) };
            self.held_mut().note_sent(term, copy, Magic::clone(&bundle));
        }
        (payload, words)
    }
}

/// Words that [`adopt`] needs in a heap's block for a term.
#[inline]
pub fn adopted_size(term: TermRef<'_>) -> usize {
    if term.is_immediate() {
        return 0;
    }
    let lasting = Lasting::now();
    if bundle::in_use() {
        return bundle::small_size(term, |at| lasting.holds(at)).unwrap_or(0);
    }
    copy::size(term, |at| lasting.holds(at))
}

/// A copy of a term as a heap's own, which is a bundle if it is large and these are in use; literals are not copied.
#[inline]
pub fn adopt(term: TermRef<'_>, heap: &mut Heap) -> Term {
    if bundle::in_use() && !term.is_immediate() {
        let lasting = Lasting::now();
        if bundle::small_size(term, |at| lasting.holds(at)).is_none() {
            return Payload::copy(term).attach(heap);
        }
    }
    copy_term(term, heap)
}
