//! A message: one block that holds its link in a queue, its term and token, and the words that they refer to.
//!
//! The sender makes it with one allocation; it moves from the receiver's outer queue to the inner one by its link, and its words
//! to the receiver's heap, or its block as a whole joins the heap (Hedqvist 5.2.1; Zhang 3.2).
//!
//! MB1. The holder of a [`Message`] may read its term and token, and owns its words, until they are [joined](Message::is_joined) to a
//!      heap: from then on term and token are roots of that heap's collections.
//! MB2. A message that joins a heap while it stays in a queue is *shared*: the block is in the heap's chain, and the queue has it
//!      too. Both belong to one process, so no more than one thread is at work with them; the one that lets go last frees it.

use crate::fragment::{Chunk, Fragment};
use crate::meter::{self, Work};
use crate::phases;
use crate::queue_link::{QueueLink, Queued};
use crate::{Heap, LiteralRanges, Payload};
use myriad_term::{Term, TermRef};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// A message, or the word in a queue that leads to one.
#[repr(transparent)]
pub struct Message(NonNull<Chunk>);

// SAFETY: a message owns its block and the counts in it; one that is shared never leaves its process (MB2).
unsafe impl Send for Message {}

impl Message {
    /// Words of a message beside those of its term.
    pub const HEADER_WORDS: usize = size_of::<Chunk>() / 8;

    /// A message of a term, and a sequential trace token (a tuple); or, without one, who sent it if that was a process or port;
    /// or [`Term::NONE`].
    #[inline]
    pub fn new(payload: Payload, token: TermRef<'_>) -> Message {
        let (term, fragment) = payload.into_parts();
        let mut fragment = fragment.unwrap_or_default();
        let token = match token.as_immediate() {
            Some(token) => token,
            None => fragment.add_copy(token),
        };
        meter::message_made();
        let mut message = Message(fragment.into_first());
        debug_assert!(!message.is_joined(), "MB1: a message is made of words that belong to a heap");
        let [term_place, token_place] = message.terms();
        (*term_place, *token_place) = (term, token);
        message
    }

    /// A message of a term that is not copied, as all processes have one heap ([`crate::shared`]); and who sent it, or [`Term::NONE`].
    #[inline]
    pub fn of_shared(term: Term, from: Term) -> Message {
        debug_assert!(from.is_immediate() && crate::one_heap::is_on());
        meter::message_made();
        let mut message = Message(Fragment::new().into_first());
        let [term_place, token_place] = message.terms();
        (*term_place, *token_place) = (term, from);
        message
    }

    /// A message of a process to itself, of a term of its heap, or an immediate one; and who sent it, or [`Term::NONE`].
    #[inline]
    pub fn of_own(term: Term, from: Term) -> Message {
        debug_assert!(from.is_immediate());
        let mut message = Message(Fragment::new().into_first());
        let chunk = message.chunk_mut();
        (chunk.term, chunk.token) = (term, from);
        chunk.link.set_joined();
        message
    }

    /// Where its term is, if that is not in the message's own memory.
    pub fn pointer(&mut self) -> Option<&mut Term> {
        let is_pointer = !self.is_joined() && self.has_no_words() && !self.chunk().term.is_immediate();
        is_pointer.then(|| &mut self.chunk_mut().term)
    }

    fn chunk(&self) -> &Chunk {
        // SAFETY: MB1, the block lives, and no other thread reads or changes it.
        unsafe { self.0.as_ref() }
    }

    fn chunk_mut(&mut self) -> &mut Chunk {
        // SAFETY: MB1, the block lives, and `self` is borrowed exclusively.
        unsafe { self.0.as_mut() }
    }

    /// The term that was sent (MB1).
    #[inline]
    pub fn term(&self) -> TermRef<'_> {
        self.chunk().term
    }

    /// The token, see [`Message::new`].
    #[inline]
    pub fn token(&self) -> TermRef<'_> {
        self.chunk().token
    }

    /// Takes the token away.
    pub fn forget_token(&mut self) {
        self.chunk_mut().token = Term::NONE;
    }

    /// Do its words belong to the receiver's heap (MB1)?
    #[inline]
    pub fn is_joined(&self) -> bool {
        self.chunk().link.is_joined()
    }

    /// Its memory, unless that is the heap's.
    pub fn fragment(&self) -> Option<&Fragment> {
        // SAFETY: a fragment is the address of its first chunk, too.
        (!self.is_joined()).then(|| unsafe { &*ptr::from_ref(self).cast::<Fragment>() })
    }

    /// Is there no word in its block (nor, then, in any further one)?
    #[inline]
    fn has_no_words(&self) -> bool {
        let none = self.chunk().top == Chunk::start(self.0.as_ptr()) && self.chunk().next.is_null();
        debug_assert!(!none || self.chunk().off_heap.first.is_null(), "H5: a message has a chain, and no words");
        none
    }

    /// Words of its memory, unless that is the heap's.
    pub fn words(&self) -> usize {
        self.fragment().map_or(0, Fragment::used_words)
    }

    /// The same, with the bundles that it holds.
    pub fn words_with_bundles(&self) -> usize {
        self.fragment().map_or(0, |fragment| fragment.used_words() + fragment.bundle_words())
    }

    /// Its words, if there are some that [`Message::absorb`] may move.
    #[inline]
    pub fn movable_words(&self) -> Option<usize> {
        self.fragment()?.movable_words().filter(|words| *words > 0)
    }

    /// Term and token, which are roots once they are joined.
    pub fn terms(&mut self) -> [&mut Term; 2] {
        let chunk = self.chunk_mut();
        [&mut chunk.term, &mut chunk.token]
    }

    /// The word that leads to the next message of the queue that it is in.
    pub fn next(&self) -> *mut Option<Message> {
        // A link is the address of a block, of a message at that, or null, as an optional message is. Not by way of `chunk`: the
        // word is written through the pointer, also after others have looked at the message.
        // SAFETY: MB1, the block lives.
        unsafe { (*self.0.as_ptr()).link.next() }.with_mut(|next| next.cast())
    }

    /// A link as a message.
    ///
    /// # Safety
    /// It is one's, came from [`Message::into_link`], and comes here once.
    pub unsafe fn from_link(link: NonNull<QueueLink>) -> Message {
        let message = Message(link.cast());
        debug_assert_eq!(message.chunk().link.queued(), Queued::Message, "another signal is taken for a message");
        message
    }

    /// Where it is, which tells it from all other messages as long as it lives.
    #[inline]
    pub fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Notes where the message is, or was, that was left for the same receiver before it: a hint.
    pub fn set_earlier(&mut self, earlier: usize) {
        self.chunk_mut().link.set_earlier(earlier);
    }

    /// Hands it over as its link.
    pub fn into_link(self) -> NonNull<QueueLink> {
        ManuallyDrop::new(self).0.cast()
    }

    /// Its words move to the heap's block, if they are [movable](Message::movable_words) and the block has [room](Heap::ensure);
    /// else the block joins the heap, and stays the message's too (MB2).
    pub fn absorb(&mut self, heap: &mut Heap) {
        if self.is_joined() {
            return;
        }
        let Some(words) = self.movable_words().filter(|words| heap.ensure(*words)) else {
            return self.join(heap);
        };
        let start = Chunk::start(self.0.as_ptr());
        meter::message_came();
        meter::count(Work::CopiedWord, words as u64);
        // SAFETY: the words are the message's own, all in one chunk and none of them counted, and there is room for them.
        unsafe {
            if phases::is_on() {
                heap.move_in_measured(start, words, self.terms());
            } else {
                heap.move_in(start, words, self.terms());
            }
        }
        let chunk = self.chunk_mut();
        chunk.top = start;
        chunk.link.set_joined();
    }

    /// The block joins the heap, because a collection is coming while its owner looks at the message (MB2).
    pub fn join(&mut self, heap: &mut Heap) {
        if self.is_joined() {
            return;
        }
        meter::message_came();
        self.chunk_mut().link.set_shared();
        heap.attach(Fragment::of_first(self.0));
    }

    /// It is received: its words are the heap's, and the message is no more. Its term and its token.
    #[inline]
    pub fn receive(self, heap: &mut Heap) -> (Term, Term) {
        let (term, token) = (self.chunk().term, self.chunk().token);
        if !self.is_joined() && !self.has_no_words() {
            meter::message_came();
            heap.attach(Fragment::of_first(ManuallyDrop::new(self).0));
        }
        (term, token)
    }

    /// Replaces all literals of these areas, in its memory and in its terms, by copies.
    ///
    /// # Safety
    /// The areas are live; the message is not joined, and its memory holds what it refers to (but for literals).
    pub unsafe fn copy_out(&mut self, areas: &LiteralRanges) {
        debug_assert!(
            !self.is_joined(),
            "MB1: a joined message has no words that could be replaced apart from its heap's"
        );
        let mut memory = Some(Fragment::of_first(self.0));
        // SAFETY: the caller promises that the areas are live, and that the message's memory holds what its terms refer to.
        unsafe { Fragment::copy_out(&mut memory, &mut self.terms(), areas) };
        let first = memory.map(Fragment::into_first);
        debug_assert!(
            first == Some(self.0),
            "MB1: the message's words are in a fragment that begins with another block"
        );
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        if self.chunk().link.is_shared() {
            // It is left to the heap (MB2).
            self.chunk_mut().link.take_shared();
            return;
        }
        debug_assert!(
            !self.is_joined() || self.has_no_words(),
            "MB1: words that belong to a heap go with their message"
        );
        if !self.is_joined() {
            meter::message_came();
        }
        let chunk = self.chunk();
        if chunk.next.is_null() && chunk.off_heap.first.is_null() {
            // SAFETY: MB1: it is the message's alone, and so are the objects in it, none of which counts anything.
            unsafe { Chunk::give(self.0.as_ptr()) };
        } else {
            drop(Fragment::of_first(self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Roots, Settings};
    use myriad_term::{Build, SharedBinary};

    fn list(n: i64) -> Message {
        let items: Vec<Term> = (0..n).map(Term::small).collect();
        Message::new(Payload::build(0, |draft| draft.list(&items)), Term::NONE)
    }

    #[test]
    fn one_block_however_it_ends() {
        let mut heap = Heap::new(&Settings::default());
        let mut message = list(3);
        assert_eq!(message.movable_words(), Some(6));
        message.absorb(&mut heap);
        assert!(message.is_joined() && message.movable_words().is_none() && message.words() == 0);
        assert_eq!(message.receive(&mut heap).0.list_length(), Some(3));
        list(5).receive(&mut heap);
        Message::new(Payload::immediate(Term::OK), Term::NONE).receive(&mut heap);
        drop(list(4));
    }

    #[test]
    fn a_shared_block_outlives_whoever_lets_go_first() {
        let mut heap = Heap::new(&Settings::default());
        let (mut first, mut second) = (list(50), list(60));
        first.join(&mut heap);
        second.join(&mut heap);
        // The queue lets go before the heap...
        drop(second);
        let mut roots = Roots::new();
        for term in first.terms() {
            roots.push(std::slice::from_mut(term));
        }
        // SAFETY: the roots are all that is used.
        unsafe { heap.collect(0, &mut roots).unwrap() };
        // ...and after it: what is left of the block are term and token.
        assert_eq!((first.term().list_length(), first.words()), (Some(50), 0));
        first.receive(&mut heap);
    }

    #[test]
    fn counts_go_with_the_message_or_to_the_heap() {
        let shared = SharedBinary::from_bytes(&[0; 100]);
        let message = || Message::new(Payload::build(0, |draft| draft.shared_binary(shared.clone())), Term::NONE);
        drop(message());
        assert_eq!(shared.references(), 1);
        let mut heap = Heap::new(&Settings::default());
        let mut looked_at = message();
        assert_eq!(looked_at.movable_words(), None, "it counts a binary");
        looked_at.absorb(&mut heap);
        message().receive(&mut heap);
        assert_eq!(shared.references(), 3);
        drop(looked_at);
        drop(heap);
        assert_eq!(shared.references(), 1);
    }
}
