//! The inner message queue of one process: what its owner has fetched and not yet received.
//!
//! M1. Only the owner touches it (the outer queue of signals is `signal.rs`).
//! M2. Messages keep the order in which they were fetched; `receive` scans from the save position.
//! M3. A message's terms stay in its own block until the owner accepts it, or until a collection while the owner looks at
//!     it: then the block joins the heap and the term becomes a root ([`MessageQueue::roots`]). A small first message
//!     moves to the heap when the owner comes to look at it ([`MessageQueue::small_first`]). What the owner sends to itself
//!     is part of the heap from the beginning ([`MessageQueue::push_own`]).

use myriad_heap::Heap;
pub use myriad_heap::Message;
use myriad_term::{Term, TermRef};

/// Most words of a message that moves to the heap, instead of joining it.
const SMALL: usize = 32;
/// A message that is behind fewer others is near the front.
const SHORT: usize = 16;

/// The queue, with the receive position.
///
/// The messages' own links make it a list; `position` is the link (the `Option<Message>`) that holds the message to look at next.
pub struct MessageQueue {
    first: Option<Message>,
    last: *mut Option<Message>,
    position: *mut Option<Message>,
    len: usize,
    attached: usize,
}

// SAFETY: the raw pointers lead into this queue's own nodes (or its own `first`, as null); it moves as a whole.
unsafe impl Send for MessageQueue {}

impl MessageQueue {
    /// An empty queue.
    pub const fn new() -> Self {
        // Null stands for the link `first`, whose address changes when the queue is moved.
        MessageQueue { first: None, last: std::ptr::null_mut(), position: std::ptr::null_mut(), len: 0, attached: 0 }
    }

    fn link(&mut self, at: *mut Option<Message>) -> &mut Option<Message> {
        // SAFETY: null is `first`; any other is the `next` of a node of this queue (M1).
        if at.is_null() { &mut self.first } else { unsafe { &mut *at } }
    }

    /// Number of messages.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// No message?
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a message.
    #[inline]
    pub fn push(&mut self, message: Message) {
        debug_assert!(!message.is_joined(), "M3: a message joins the heap of the process that has it in its queue");
        self.append(message);
    }

    #[inline(always)]
    fn append(&mut self, message: Message) {
        let last = self.last;
        self.last = end_behind(&message);
        let link = self.link(last);
        debug_assert!(link.is_none(), "M2: nothing stands behind the last message");
        // SAFETY: the link's own place; what stood there is no message that would have to be dropped (M2).
        unsafe { std::ptr::write(link, Some(message)) };
        self.len += 1;
    }

    /// May a message whose term is part of the heap be appended? It is to be near the front (M3).
    #[inline]
    pub const fn is_short(&self) -> bool {
        self.len < SHORT
    }

    /// Appends a message of the owner's to itself, whose term is part of the heap.
    #[inline]
    pub fn push_own(&mut self, message: Message) {
        debug_assert!(message.is_joined() && self.is_short(), "M3: a root is near the front");
        self.append(message);
        self.attached += 1;
    }

    /// Puts a message before all others (and starts the scan over).
    pub fn push_front(&mut self, message: Message) {
        debug_assert!(!message.is_joined(), "M3: as in `push`");
        debug_assert_eq!(self.len == 0, self.first.is_none());
        let behind = end_behind(&message);
        match self.first.take() {
            None => self.last = behind,
            // SAFETY: the new message's own link.
            next => unsafe { behind.write(next) },
        }
        self.first = Some(message);
        self.len += 1;
        self.position = std::ptr::null_mut();
    }

    /// The message at the receive position.
    #[inline]
    pub fn peek(&mut self) -> Option<&mut Message> {
        let at = self.position;
        self.link(at).as_mut()
    }

    /// Moves the receive position past the message it is at.
    #[inline]
    pub fn advance(&mut self) {
        let at = self.position;
        if let Some(message) = self.link(at) {
            self.position = message.next();
        }
    }

    /// Starts the scan from the first message.
    #[inline]
    pub fn rewind(&mut self) {
        self.position = std::ptr::null_mut();
    }

    /// Sets the receive position behind all messages that are there now (a receive marker: no earlier one can match).
    pub fn seek_to_end(&mut self) {
        self.position = self.last;
    }

    /// The end of the queue as it is now, for [`MessageQueue::seek`].
    pub fn end_mark(&self) -> QueueMark {
        QueueMark(self.last)
    }

    /// Sets the receive position to a mark.
    ///
    /// # Safety
    /// The mark is of this queue, and no message has been taken out since it was made ([`MessageQueue::take`] tells).
    pub unsafe fn seek(&mut self, mark: QueueMark) {
        self.position = mark.0;
    }

    /// Takes out the message at the receive position and starts over. Tells where its link was, so that marks that
    /// stood right behind it can be moved there.
    #[inline]
    pub fn take(&mut self) -> Option<(Message, Taken)> {
        let at = self.position;
        let message = self.link(at).take()?;
        let taken = Taken { gone: QueueMark(message.next()), now: QueueMark(at) };
        // SAFETY: the link of a message that was in this queue (M1); nobody follows it from there any more.
        let behind = unsafe { message.next().read() };
        if behind.is_none() {
            self.last = at;
        }
        // SAFETY: the link's own place, from which the message has just been taken.
        unsafe { std::ptr::write(self.link(at), behind) };
        debug_assert!(self.len > 0 && self.attached >= usize::from(message.is_joined()), "more were taken than came");
        self.len -= 1;
        self.position = std::ptr::null_mut();
        if message.is_joined() {
            self.attached -= 1;
        }
        debug_assert_eq!(self.len == 0, self.first.is_none());
        debug_assert!(self.attached <= self.len);
        Some((message, taken))
    }

    /// Takes the tokens from all messages.
    pub fn forget_tokens(&mut self) {
        self.iter_mut().filter(|message| !message.token().is_immediate()).for_each(Message::forget_token);
    }

    /// The messages, the first one first, whatever the receive position.
    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        // SAFETY: the links of messages in this queue, which is borrowed (M1).
        std::iter::successors(self.first.as_ref(), |message| unsafe { (*message.next()).as_ref() })
    }

    /// As [`MessageQueue::iter`], to be changed where they stand.
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Message> {
        let mut link: *mut Option<Message> = &raw mut self.first;
        std::iter::from_fn(move || {
            // SAFETY: the links of messages in this queue, which is borrowed (M1); each message is met once.
            let message = unsafe { (*link).as_mut() }?;
            link = message.next();
            Some(message)
        })
    }

    /// The messages whose terms are not part of the heap (M3), to be changed where they stand.
    pub fn detached(&mut self) -> impl Iterator<Item = &mut Message> {
        self.iter_mut().filter(|message| !message.is_joined())
    }

    /// The terms of messages that are in no message's memory, where all processes have one heap: roots of a collection.
    pub fn pointers(&mut self) -> impl Iterator<Item = &mut Term> {
        self.iter_mut().filter_map(Message::pointer)
    }

    /// Words that the messages take in blocks of their own, beside [`MessageQueue::node_bytes`]; of bundles all words, whoever else holds them.
    pub fn words(&self) -> usize {
        self.iter().map(Message::words_with_bundles).sum()
    }

    /// Bytes of the queue itself: what its messages take beside their words.
    pub const fn node_bytes(&self) -> usize {
        MessageQueue::node_bytes_of(self.len)
    }

    /// Bytes that a queue takes for this number of messages, beside their words.
    pub const fn node_bytes_of(messages: usize) -> usize {
        messages * Message::HEADER_WORDS * 8
    }

    /// Lets the message at the receive position join the heap, because a collection is coming while the owner looks at it (M3).
    pub fn attach_current(&mut self, heap: &mut Heap) {
        let at = self.position;
        let Some(message) = self.link(at).as_mut().filter(|message| message.words() > 0) else { return };
        message.join(heap);
        debug_assert!(message.is_joined());
        self.attached += 1;
        debug_assert!(self.attached <= self.len);
    }

    /// Words of the message at the receive position, if it is the first and small and still in its own block: it should
    /// [move](MessageQueue::absorb_first) to the heap. (Other messages should not: roots must be near the front.)
    #[inline]
    pub fn small_first(&self) -> Option<usize> {
        let first = self.first.as_ref().filter(|_| self.position.is_null())?;
        first.movable_words().filter(|words| *words <= SMALL)
    }

    /// What the owner finds at the receive position without doing anything about it.
    #[inline(always)]
    pub fn look(&self) -> Found<'_> {
        // SAFETY: a link of this queue, or null for `first` (M1).
        let link = unsafe { self.position.as_ref() };
        match link.unwrap_or(&self.first) {
            None => Found::Nothing,
            Some(message) if self.position.is_null() && message.movable_words().is_some_and(|words| words <= SMALL) => {
                Found::Movable
            }
            Some(message) => Found::Term(message.term()),
        }
    }

    /// Moves the first message to the heap, which has the room.
    pub fn absorb_first(&mut self, heap: &mut Heap) {
        let Some(first) = self.first.as_mut().filter(|first| first.words() > 0) else { return };
        first.absorb(heap);
        debug_assert!(first.is_joined());
        self.attached += 1;
        debug_assert!(self.attached <= self.len);
    }

    /// The messages whose terms are part of the heap: roots of a collection. None in nearly every case.
    pub fn roots(&mut self) -> Vec<&mut Term> {
        // They are near the front, where the owner looks: the rest, which may be long, is not walked.
        let attached = self.attached;
        let joined = self.iter_mut().filter(|message| message.is_joined()).take(attached);
        joined.flat_map(Message::terms).collect()
    }
}

impl Default for MessageQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MessageQueue {
    fn drop(&mut self) {
        while let Some(message) = self.first.take() {
            // SAFETY: the link of a message that was in this queue (M1).
            self.first = unsafe { (*message.next()).take() };
        }
    }
}

/// What stands at the receive position.
pub enum Found<'q> {
    /// No message.
    Nothing,
    /// The term of a message, to be looked at where it is.
    Term(TermRef<'q>),
    /// A message that is to move to the heap first ([`MessageQueue::small_first`]).
    Movable,
}

/// The link behind a message that is to be the last of a queue: nothing follows it.
fn end_behind(message: &Message) -> *mut Option<Message> {
    let link = message.next();
    // SAFETY: the message's own link; what an earlier queue left there is nothing that would have to be dropped.
    unsafe { link.write(None) };
    link
}

/// A place between messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QueueMark(*mut Option<Message>);

// SAFETY: only an address to compare, used by the queue's owner.
unsafe impl Send for QueueMark {}
// SAFETY: only an address to compare, used by the queue's owner.
unsafe impl Sync for QueueMark {}

/// What [`MessageQueue::take`] did to marks.
pub struct Taken {
    /// Marks that are equal to this one…
    pub gone: QueueMark,
    /// …are to become this one.
    pub now: QueueMark,
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_heap::Payload;

    fn message(v: i64) -> Message {
        Message::new(Payload::immediate(Term::small(v)), Term::NONE)
    }

    fn take(q: &mut MessageQueue) -> Option<i64> {
        q.take().and_then(|(m, _)| m.term().as_small())
    }

    #[test]
    fn a_selective_receive_leaves_earlier_messages_in_place() {
        let mut q = MessageQueue::new();
        (1..=4).for_each(|v| q.push(message(v)));
        q.advance();
        assert_eq!(take(&mut q), Some(2));
        assert_eq!(take(&mut q), Some(1));
        (0..2).for_each(|_| q.advance());
        assert!(q.peek().is_none());
        q.push(message(5));
        assert_eq!(take(&mut q), Some(5));
        q.push(message(6));
        assert_eq!((take(&mut q), take(&mut q), take(&mut q), take(&mut q)), (Some(3), Some(4), Some(6), None));
        assert!(q.is_empty());
    }

    #[test]
    fn a_small_first_message_moves_to_the_heap() {
        use myriad_heap::Settings;
        use myriad_term::Build;
        let in_fragment = |n: i64| {
            let items: Vec<Term> = (0..n).map(Term::small).collect();
            Message::new(Payload::build(0, |draft| draft.list(&items)), Term::NONE)
        };
        let mut heap = Heap::new(&Settings::default());
        let room = heap.room();
        let mut q = MessageQueue::new();
        [3, 4, 100].into_iter().for_each(|n| q.push(in_fragment(n)));
        // One that is not the first stays where it is.
        q.advance();
        assert_eq!(q.small_first(), None);
        q.rewind();
        assert_eq!(q.small_first(), Some(6));
        q.absorb_first(&mut heap);
        // Once.
        assert_eq!(q.small_first(), None);
        assert_eq!((heap.room(), q.roots().len(), q.words()), (room - 6, 2, 208));
        for (n, words) in [(3, Some(8)), (4, None), (100, None)] {
            let (message, _) = q.take().unwrap();
            assert_eq!(message.term().list_length(), Some(n));
            assert_eq!(message.is_joined(), n == 3);
            assert_eq!(q.small_first(), words);
        }
        assert!(q.roots().is_empty());
    }

    #[test]
    fn what_the_owner_sends_to_itself_is_a_root() {
        let mut q = MessageQueue::new();
        q.push(message(1));
        q.push_own(Message::of_own(Term::small(2), Term::NONE));
        q.push(message(3));
        assert_eq!((q.len(), q.roots().len(), q.detached().count(), q.small_first()), (3, 2, 2, None));
        assert_eq!((take(&mut q), take(&mut q), take(&mut q)), (Some(1), Some(2), Some(3)));
        assert!(q.roots().is_empty());
        (0..SHORT as i64).for_each(|v| q.push_own(Message::of_own(Term::small(v), Term::NONE)));
        assert!(!q.is_short());
    }

    /// Random steps, and after each the queue holds what a plain list of the messages' lengths holds.
    #[test]
    fn messages_are_kept_whatever_is_done_meanwhile() {
        use myriad_heap::{Roots, Settings};
        use myriad_term::Build;
        let mut seed = 7u64;
        let mut below = |n: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % n
        };
        let mut heap = Heap::new(&Settings::default());
        let (mut q, mut model, mut at) = (MessageQueue::new(), Vec::new(), 0);
        for _ in 0..if cfg!(miri) { 400 } else { 20_000 } {
            match below(8) {
                0..3 if model.len() < 12 => {
                    let n = [0, 1, 3, 20][below(4) as usize];
                    let items: Vec<Term> = (0..n).map(Term::small).collect();
                    q.push(Message::new(Payload::build(0, |draft| draft.list(&items)), Term::NONE));
                    model.push(n as usize);
                }
                3 if at < model.len() => {
                    q.advance();
                    at += 1;
                }
                4 => q.attach_current(&mut heap),
                5 if q.small_first().is_some_and(|words| heap.ensure(words)) => q.absorb_first(&mut heap),
                6 if at < model.len() => {
                    let (message, _) = q.take().unwrap();
                    assert_eq!(message.term().list_length(), Some(model.remove(at)));
                    at = 0;
                    message.receive(&mut heap);
                }
                7 => {
                    q.attach_current(&mut heap);
                    let mut roots = Roots::new();
                    for term in q.roots() {
                        roots.push(std::slice::from_mut(term));
                    }
                    // SAFETY: nothing but the queue refers to the heap.
                    unsafe { heap.collect(0, &mut roots).unwrap() };
                }
                _ => {}
            }
            let lengths: Vec<_> = q.iter().map(|message| message.term().list_length().unwrap()).collect();
            assert_eq!(lengths, model);
            assert_eq!(q.len(), model.len());
            assert_eq!(q.peek().map(|message| message.term().list_length().unwrap()), model.get(at).copied());
        }
    }

    #[test]
    fn a_mark_skips_what_was_there_before() {
        let mut q = MessageQueue::new();
        q.push(message(1));
        let mark = q.end_mark();
        q.push(message(2));
        // SAFETY: nothing was taken since.
        unsafe { q.seek(mark) };
        assert_eq!(take(&mut q), Some(2));
        assert_eq!(take(&mut q), Some(1));
    }

    #[test]
    fn a_mark_behind_a_taken_message_moves_to_its_place() {
        let mut q = MessageQueue::new();
        q.push(message(1));
        let mut mark = q.end_mark();
        let (_, taken) = q.take().unwrap();
        if mark == taken.gone {
            mark = taken.now;
        }
        q.push(message(2));
        // SAFETY: the mark was moved with the take.
        unsafe { q.seek(mark) };
        assert_eq!(take(&mut q), Some(2));
    }
}
