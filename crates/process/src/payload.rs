//! A term on its way from one process to another, with the memory it needs.

use crate::message::Message;
use myriad_heap::{Fragment, Heap};
use myriad_term::{Pid, Term};

/// A term with the memory it needs (`signal.rs`, process/G2).
pub struct Payload {
    /// The term, immediate or in `fragment` (or a literal).
    pub term: Term,
    /// Its memory.
    pub fragment: Option<Fragment>,
}

impl Payload {
    /// A term that needs no memory.
    pub const fn immediate(term: Term) -> Payload {
        Payload { term, fragment: None }
    }

    /// A copy of a term.
    pub fn copy(term: Term) -> Payload {
        Payload::copy_counted(term).0
    }

    /// A copy of a term, and how many words it takes.
    // One function, into which both passes over the term are inlined: each message goes through it.
    #[inline(never)]
    pub fn copy_counted(term: Term) -> (Payload, usize) {
        let (term, fragment, words) = Fragment::copy_of(term);
        debug_assert_eq!(fragment.is_none(), words == 0, "G2: what takes memory has it");
        (Payload { term, fragment }, words)
    }

    /// A copy of a term and of all literals in it, for what is kept outside processes (vm/LC2).
    pub fn whole(term: Term) -> Payload {
        let (term, fragment) = Fragment::whole_copy_of(term);
        Payload { term, fragment }
    }

    /// As a message without a trace token.
    pub fn into_message(self) -> Message {
        Message::new(self.term, self.fragment, Term::NONE)
    }

    /// As a message of a process without a trace token.
    pub fn message_from(self, from: Pid) -> Message {
        Message::new(self.term, self.fragment, from.term())
    }

    /// The term, its memory handed to `heap`.
    pub fn attach(self, heap: &mut Heap) -> Term {
        if let Some(fragment) = self.fragment {
            heap.attach(fragment);
        }
        self.term
    }
}
