//! What a process sends, places to be shared, or gets of its parent: copies, or bundles where these are in use.
//!
//! What is sent is most often something large in a small tuple, or in two (`{Tag, N, Data}`, `{'$gen_cast', {put, Data}}`), and it is the large part that is sent
//! again, in another tuple. So the large elements of small tuples become bundles of their own.

use crate::bundle::{self, Bundle, Sharing};
use crate::literal::{Lasting, is_literal};
use crate::transfer::Growing;
use crate::{Fragment, Heap, Payload, copy_term};
use myriad_term::{Arena, Build, Magic, Term, TermRef, copy};

/// Words from which on an element becomes a bundle of its own.
const PART_WORDS: usize = if cfg!(test) { 60 } else { 256 };
/// Elements of a small tuple, at most.
const WIDTH: usize = 8;
/// Small tuples within each other.
const DEPTH: usize = 3;

/// Is this a part that would become a bundle of its own?
fn is_large(part: Term, lasting: Lasting) -> bool {
    let stays = |at: *const u64| lasting.holds(at) || bundle::is_bundled(at);
    !part.is_immediate() && copy::size_within(part, PART_WORDS, stays).is_none()
}

/// Tuples whose large elements are bundles, on their way into a message.
struct Parts<'a> {
    arena: &'a Arena,
    lasting: Lasting,
    /// What holds the elements.
    memory: Vec<Payload>,
    /// Words that were copied.
    words: usize,
}

impl Heap {
    /// A copy of a term of this heap for another process, and how many words were copied: none of a large term that was sent before.
    #[inline]
    pub fn payload(&mut self, term: Term) -> (Payload, usize) {
        if bundle::in_use() { self.bundled_payload(term) } else { Payload::copy_counted(term) }
    }

    /// The same; `None` if more than `limit` words would have to be copied.
    #[inline]
    pub fn payload_within(&mut self, term: Term, limit: usize) -> Option<(Payload, usize)> {
        if bundle::in_use() { Some(self.bundled_payload(term)) } else { Payload::copy_within(term, limit) }
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
        self.payload_of_parts(term).unwrap_or_else(|| self.noted_payload(term))
    }

    /// A copy of a term, of which it is noted that it was sent if it is a bundle.
    fn noted_payload(&mut self, term: Term) -> (Payload, usize) {
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

    /// A copy of a small tuple with large elements.
    fn payload_of_parts(&mut self, term: Term) -> Option<(Payload, usize)> {
        let arena = Arena::new();
        let lasting = Lasting::now();
        let mut parts = Parts { arena: &arena, lasting, memory: Vec::new(), words: 0 };
        let tuple = self.tuple_of_parts(term, DEPTH, &mut parts)?;
        let sharing = Sharing::with(tuple, |at| lasting.holds(at));
        let words = parts.words + sharing.copied_words();
        let mut fragment = Fragment::with_capacity(sharing.words());
        // SAFETY: heap/PL1: the copy is in the fragment, which holds what it refers to.
        let payload = unsafe {
            let copied = sharing.copy(&mut Growing(&mut fragment)).assume_held();
            Payload::of(copied, fragment)
        };
        Some((payload, words))
    }

    /// The same tuple with the bundles of its large elements in their place; `None`: it has none, or is not small.
    fn tuple_of_parts<'a>(&mut self, term: Term, depth: usize, parts: &mut Parts<'a>) -> Option<TermRef<'a>> {
        let lasting = parts.lasting;
        let stays = lasting.holds(term.object_ptr()) || bundle::is_bundled(term.object_ptr());
        let tuple = term.as_tuple().filter(|tuple| !stays && tuple.elements().len() <= WIDTH)?;
        let large: Vec<bool> = tuple.elements().iter().map(|element| is_large(*element, lasting)).collect();
        if !large.contains(&true) {
            return None;
        }
        let elements = tuple.elements().iter().zip(large);
        let elements: Vec<TermRef<'a>> =
            elements.map(|(element, large)| if large { self.part(*element, depth, parts) } else { *element }).collect();
        Some((&mut { parts.arena }).tuple(&elements))
    }

    /// A large element's bundle, or the tuple with the bundles of its elements.
    fn part<'a>(&mut self, term: Term, depth: usize, parts: &mut Parts<'a>) -> TermRef<'a> {
        if let Some((copy, bundle)) = self.held().and_then(|held| held.sent_before(term)) {
            // SAFETY: heap/PL1: the fragment holds the bundle.
            parts.memory.push(unsafe { Payload::of(copy, Fragment::holding(bundle)) });
            return copy;
        }
        if depth > 0
            && let Some(tuple) = self.tuple_of_parts(term, depth - 1, parts)
        {
            return tuple;
        }
        let (payload, words) = self.noted_payload(term);
        // SAFETY: the payload is kept beside the tuples that refer to it.
        let copy = unsafe { payload.term().assume_held() };
        parts.words += words;
        parts.memory.push(payload);
        copy
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
