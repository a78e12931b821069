//! Messages that lie on top of the heap, where they were built to be sent (beam.messages/MS2): what was built goes into the message's block as it is, word
//! by word, and only what it refers to elsewhere is copied.
//!
//! The words above the heap's top are room that a check has made sure of. So they can be written by the instructions that build, in either tier and whatever
//! becomes of the registers meanwhile, and be given up when the message has them. Parts that lie in bundles, or were sent as some, are held, not copied. Where the message is to be made in the
//! usual way after all, they are the heap's, as ever.

use crate::bundle::{self, Bundle, HOLD_WORDS, LARGE_WORDS, LEAST_WORDS, hold_in};
use crate::bundle_area;
use crate::fate;
use crate::lasting::Lasting;
use crate::meter::{self, Work};
use crate::phases::{self, Phase};
use crate::transfer::Growing;
use crate::{Fragment, Heap, Payload};
use myriad_term::{Term, copy};
use std::ptr;

/// The words in which a message was built.
#[derive(Clone, Copy)]
struct Built {
    start: *mut Term,
    words: usize,
}

impl Built {
    /// Is it an object among them that the term refers to?
    fn holds(self, term: Term) -> bool {
        term.object_ptr().addr().wrapping_sub(self.start.addr()) < 8 * self.words
    }

    /// The words.
    ///
    /// # Safety
    /// They are initialised, and nobody writes them as long as the result is used.
    unsafe fn terms<'b>(self) -> &'b [Term] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start, self.words) }
    }
}

impl Heap {
    /// A message of a term, and how many words were copied. `None`: it is to be made in the usual way, for it becomes a bundle, or has more than `limit`
    /// words that were not built there.
    ///
    /// # Safety
    /// The term's object lies in the last `words` words of the block, and so does the rest of the tuples and list cells of which these words consist: one of
    /// them refers to each, once, and nothing else in the heap does.
    #[inline]
    pub unsafe fn payload_of_built(&self, term: Term, words: usize, limit: usize) -> Option<(Payload, usize)> {
        let built = Built { start: self.htop.wrapping_sub(words).cast(), words };
        debug_assert!(
            self.start.addr() <= built.start.addr() && built.holds(term),
            "a message of {words} words is not on top of the heap"
        );
        // SAFETY: heap/H2: words of the young generation; the caller's promise about what they are.
        let has_parts = unsafe { built.terms() }.iter().any(|word| !word.is_immediate() && !built.holds(*word));
        if has_parts || phases::is_on() || words >= LEAST_WORDS && bundle::in_use() {
            // SAFETY: the caller's promise.
            return unsafe {
                if bundle::in_use() {
                    payload_with_parts::<true>(self, built, term, limit)
                } else {
                    payload_with_parts::<false>(self, built, term, limit)
                }
            };
        }
        let mut fragment = Fragment::with_capacity(words);
        // SAFETY: fresh words, as many as were built.
        let term = unsafe { move_to(built, fragment.alloc(words).as_ptr().cast(), term) };
        meter::count(Work::Copy, 1);
        meter::count(Work::CopiedWord, words as u64);
        // SAFETY: heap/PL1: what was built lies in the fragment.
        Some((unsafe { Payload::of(term, fragment) }, words))
    }

    /// The heap is as it was before the last `words` words of the block.
    ///
    /// # Safety
    /// They are objects that were built since the last collection, and no term that is ever looked at leads to one of them.
    #[inline]
    pub unsafe fn give_up(&mut self, words: usize) {
        let at = self.htop.wrapping_sub(words);
        // SAFETY: the caller's promise.
        unsafe { self.give_back(at, words) };
    }
}

/// The same of a message with parts that were not built there; are bundles in use?
///
/// # Safety
/// Of [`Heap::payload_of_built`].
#[inline(never)]
unsafe fn payload_with_parts<const BUNDLES: bool>(
    heap: &Heap,
    built: Built,
    term: Term,
    limit: usize,
) -> Option<(Payload, usize)> {
    let (words, lasting) = (built.words, Lasting::now());
    let mut held = Bundles::default();
    // SAFETY: the caller's promise.
    let parts = phases::measured(Phase::Size, || unsafe {
        size_of_parts::<BUNDLES>(heap, (built, term), lasting, limit, &mut held)
    })?;
    let mut fragment = Fragment::with_capacity(words + parts + held.count * HOLD_WORDS);
    let term = phases::measured(Phase::Copy, || {
        let to = fragment.alloc(words).as_ptr().cast::<Term>();
        // SAFETY: fresh words, as many as were built; the size of the parts with the same predicate.
        unsafe {
            let term = move_to(built, to, term);
            if BUNDLES && held.are_sent {
                refer_to_bundles(heap, built, to);
            }
            let there = to.addr();
            // Where no bundle was met none is looked for.
            let bundles = if BUNDLES && held.count > 0 { bundle_area::range() } else { bundle_area::Range::NONE };
            let stays = move |at: *const u64| {
                at.addr().wrapping_sub(there) < 8 * words || lasting.holds(at) || BUNDLES && bundles.holds(at)
            };
            copy::copy_parts(ptr::slice_from_raw_parts_mut(to, words), parts, &mut Growing(&mut fragment), stays);
            term
        }
    });
    // SAFETY: as in `Bundles::add`.
    held.each(|at| unsafe { hold_in(&mut Growing(&mut fragment), bundle::again(&Bundle::at(at))) });
    meter::count(Work::Copy, 1);
    meter::count(Work::CopiedWord, (words + parts) as u64);
    // SAFETY: heap/PL1: what was built lies in the fragment, and so do the copies of its parts.
    Some((unsafe { Payload::of(term, fragment) }, words + parts))
}

/// Bundles in which parts of a message lie, or as which they were sent, by where they begin.
#[derive(Default)]
struct Bundles {
    starts: [usize; 2],
    count: usize,
    /// Are there parts that do not lie there, but were sent as bundles?
    are_sent: bool,
}

impl Bundles {
    /// A part, or what it was sent as, lies there. `None`: there are too many.
    fn add(&mut self, at: *const u64) -> Option<()> {
        // SAFETY: heap/BU1: the heap holds what its terms lie in, and what they were sent as.
        let start = unsafe { Bundle::start(at) };
        if !self.starts[..self.count].contains(&start) {
            *self.starts.get_mut(self.count)? = start;
            self.count += 1;
        }
        Some(())
    }

    fn each(&self, each: impl FnMut(*const u64)) {
        self.starts[..self.count].iter().map(|start| ptr::with_exposed_provenance(*start)).for_each(each);
    }
}

/// Words of the copies of what was not built there, but for parts that lie in bundles or were sent as some, which are noted; `None`: they are more than `limit`,
/// with them it becomes a bundle, or others of them refer to some.
///
/// # Safety
/// The words are initialised, and whole objects.
#[inline(always)]
unsafe fn size_of_parts<const BUNDLES: bool>(
    heap: &Heap,
    (built, term): (Built, Term),
    lasting: Lasting,
    limit: usize,
    held: &mut Bundles,
) -> Option<usize> {
    let mut parts = 0;
    // SAFETY: the caller's promise.
    for part in unsafe { built.terms() } {
        // Headers count as immediate terms.
        if part.is_immediate() || built.holds(*part) {
            continue;
        }
        if BUNDLES && bundle::is_bundled(part.object_ptr()) {
            held.add(part.object_ptr())?;
            continue;
        }
        if BUNDLES && let Some(copy) = heap.sent_as(*part) {
            held.add(copy.object_ptr())?;
            held.are_sent = true;
            continue;
        }
        parts += if BUNDLES {
            bundle::small_size(*part, LARGE_WORDS, move |at| lasting.holds(at)).ok()?
        } else {
            copy::size_within(*part, limit - parts, move |at| lasting.holds(at))?
        };
    }
    if BUNDLES && built.words + parts >= LEAST_WORDS {
        if built.words + parts >= LARGE_WORDS || fate::Kind::of(term).pays() {
            return None;
        }
        fate::was_copied();
    }
    Some(parts)
}

/// Moves what was built to other words: where the term leads then.
///
/// # Safety
/// There are as many words, and the term is an object of them.
#[inline(always)]
unsafe fn move_to(built: Built, to: *mut Term, term: Term) -> Term {
    let by = (to.addr() as u64).wrapping_sub(built.start.addr() as u64);
    // SAFETY: an object that is moved lies as far into the new words as it did into the old; tags are in bits that distances of words leave alone.
    let moved = |term: Term| unsafe { Term::from_raw(term.raw().wrapping_add(by)) };
    // SAFETY: the caller's promise.
    for (i, word) in unsafe { built.terms() }.iter().enumerate() {
        let is_built = !word.is_immediate() && built.holds(*word);
        // SAFETY: within the new words.
        unsafe { to.add(i).write(if is_built { moved(*word) } else { *word }) };
    }
    moved(term)
}

/// Where the words of a message refer to what was sent as a bundle they refer to that now.
///
/// # Safety
/// `to` has the words that were built, moved there.
unsafe fn refer_to_bundles(heap: &Heap, built: Built, to: *mut Term) {
    // SAFETY: the caller's promise.
    for (i, word) in unsafe { built.terms() }.iter().enumerate() {
        if !word.is_immediate()
            && let Some(copy) = heap.sent_as(*word)
        {
            // SAFETY: within the new words.
            unsafe { to.add(i).write(copy) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Roots, Settings};
    use myriad_term::compare::compare;
    use myriad_term::{Build, SharedBinary};
    use std::cmp::Ordering;

    /// `{ok, [1, {Part, Part}], Part}`, of which the tuples and the list are on top.
    fn build(heap: &mut Heap, part: Term) -> (Term, usize) {
        let before = heap.used_words();
        let inner = heap.tuple(&[part, part]);
        let last = heap.cons(inner, Term::NIL);
        let list = heap.cons(Term::small(1), last);
        let message = heap.tuple(&[Term::OK, list, part]);
        (message, heap.used_words() - before)
    }

    #[test]
    fn what_was_built_moves_and_its_parts_are_copied() {
        let mut heap = Heap::new(&Settings::default());
        let text = heap.string("text");
        let before = heap.used_words();
        let (message, words) = build(&mut heap, text);
        assert_eq!(words, 3 + 2 + 2 + 4);
        let (usual, usual_words) = Payload::copy_counted(message);
        // SAFETY: just built, and nothing else refers to it.
        let longer = unsafe { heap.payload_of_built(message, words, 3 * 8 - 1) };
        assert!(longer.is_none(), "a text of four cells, three times");
        // SAFETY: as above.
        let (payload, copied) = unsafe { heap.payload_of_built(message, words, 3 * 8) }.unwrap();
        assert_eq!((copied, payload.words()), (usual_words, usual.words()));
        assert_eq!(compare(payload.term(), usual.term()), Ordering::Equal);
        // SAFETY: no term leads there that is looked at.
        unsafe { heap.give_up(words) };
        assert_eq!(heap.used_words(), before);
        let mut other = Heap::new(&Settings::default());
        let mut message = Message::new(payload, Term::NONE);
        assert_eq!(message.movable_words(), Some(copied), "all of it is in one block");
        message.absorb(&mut other);
        let (mut received, _) = message.receive(&mut other);
        assert_eq!(compare(received, usual.term()), Ordering::Equal);
        let mut roots = Roots::new();
        roots.push(std::slice::from_mut(&mut received));
        other.check(&roots);
    }

    #[test]
    fn counts_are_taken_for_its_parts() {
        let shared = SharedBinary::from_bytes(&[7; 100]);
        let mut heap = Heap::new(&Settings::default());
        let binary = heap.shared_binary(shared.clone());
        let (message, words) = build(&mut heap, binary);
        // SAFETY: as above.
        let (payload, _) = unsafe { heap.payload_of_built(message, words, usize::MAX) }.unwrap();
        assert_eq!(shared.references(), 2 + 3, "a part that occurs three times is copied three times");
        drop((payload, heap));
        assert_eq!(shared.references(), 1);
    }
}
