//! What a process sends, places to be shared, or gets as an argument: copies, or bundles where these are in use.
//!
//! What is sent is most often something large in a small tuple, or in two (`{Tag, N, Data}`, `{'$gen_cast', {put, Data}}`), in a short list, a map of few keys or a fun,
//! and it is the large part that is sent again, in another one. So the large parts of what is small become bundles of their own. What is not large becomes one only where that pays
//! (`fate.rs`).

use crate::account::Class;
use crate::block;
use crate::bundle::{self, Beyond, Bundle, LARGE_WORDS, LEAST_WORDS, Rule, Sharing};
use crate::fate;
use crate::lasting::Lasting;
use crate::literal::is_literal;
use crate::transfer::Growing;
use crate::{Fragment, Heap, Payload, copy_term};
use myriad_term::{Arena, Boxed, Build, Kind, Magic, Term, TermRef, copy};

/// Words from which on a part of what is to become a bundle becomes one of its own.
const PART_WORDS: usize = if cfg!(test) { 60 } else { 256 };
/// Elements of a small tuple or list, values of a small map, free variables of a small fun, at most.
const WIDTH: usize = 8;
/// Small ones within each other.
const DEPTH: usize = 3;

/// Small terms whose large parts are bundles, on their way into a message.
struct Parts<'a> {
    arena: &'a Arena,
    lasting: Lasting,
    /// By which a part becomes a bundle.
    rule: Rule,
    /// What holds the parts.
    memory: Vec<Payload>,
    /// Words that were copied.
    words: usize,
    /// Words that may be; `None`: they would be more.
    limit: Option<usize>,
}

impl Heap {
    /// A copy of a term of this heap for another process, and how many words were copied: none of a large term that was sent before.
    #[inline]
    pub fn payload(&mut self, term: Term) -> (Payload, usize) {
        // No term has as many words as there are addresses, but a second large part may have more than the first one has left of them.
        self.payload_within(term, usize::MAX).unwrap_or_else(|| block::out_of_memory(usize::MAX, Class::Fragment))
    }

    /// The same; `None` if more than `limit` words would have to be copied.
    #[inline]
    pub fn payload_within(&mut self, term: Term, limit: usize) -> Option<(Payload, usize)> {
        if !bundle::in_use() {
            return Payload::copy_within(term, limit);
        }
        match Payload::copy_small(term, LEAST_WORDS) {
            Ok(small) => Some(small),
            Err(beyond) => self.bundled_payload(term, beyond, limit),
        }
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
        let shared = self.sent_before(term).or_else(|| self.payload_by(term, usize::MAX, Rule::ALWAYS));
        shared.map_or((term, 0), |(payload, words)| (payload.attach(self), words))
    }

    /// The payload of a term that is no small one: it is a bundle, becomes one, or refers to some, or does not pay.
    #[inline(never)]
    fn bundled_payload(&mut self, term: Term, beyond: Beyond, limit: usize) -> Option<(Payload, usize)> {
        if term.is_immediate() {
            return Some((Payload::immediate(term), 0));
        }
        if bundle::is_bundled(term.object_ptr()) {
            // SAFETY: heap/BU1: the heap holds what its terms lie in; heap/PL1: the fragment does then.
            return unsafe {
                let bundle = Bundle::at(term.object_ptr());
                Some((Payload::of(term, Fragment::holding(bundle::again(&bundle))), 0))
            };
        }
        if beyond == Beyond::Refers {
            return Payload::copy_beyond(term, limit, Rule::LARGE);
        }
        if let Some(sent_before) = self.sent_before(term) {
            return Some(sent_before);
        }
        let kind = fate::Kind::of(term);
        if kind.pays() {
            kind.is_bundled();
            return self.payload_by(term, limit, Rule { least: LEAST_WORDS, kind: Some(kind) });
        }
        fate::was_copied();
        match Payload::copy_small(term, LARGE_WORDS) {
            Ok(copied) => Some(copied),
            Err(_) => self.payload_by(term, limit, Rule::LARGE),
        }
    }

    /// The bundle of a term that was sent before, and is not copied.
    fn sent_before(&self, term: Term) -> Option<(Payload, usize)> {
        let (copy, bundle) = self.held()?.sent_before(term)?;
        // SAFETY: heap/PL1: the fragment holds the bundle.
        Some((unsafe { Payload::of(copy, Fragment::holding(bundle)) }, 0))
    }

    /// The copy in a bundle of a term that was sent since the last collection.
    #[inline]
    pub(crate) fn sent_as(&self, term: Term) -> Option<Term> {
        self.held()?.sent_as(term)
    }

    /// A copy of a term, or of what is small with its large parts as bundles, by a rule.
    fn payload_by(&mut self, term: Term, limit: usize, rule: Rule) -> Option<(Payload, usize)> {
        let arena = Arena::new();
        let lasting = Lasting::now();
        let mut parts = Parts { arena: &arena, lasting, rule, memory: Vec::new(), words: 0, limit: Some(limit) };
        match self.of_parts(term, DEPTH, &mut parts) {
            Some(small) => parts.payload(small),
            None => self.noted_payload(term, limit, rule),
        }
    }

    /// A copy of a term, by a rule. It is noted that it was sent if it is a bundle.
    fn noted_payload(&mut self, term: Term, limit: usize, rule: Rule) -> Option<(Payload, usize)> {
        let (payload, words) = Payload::copy_beyond(term, limit, rule)?;
        if words >= rule.least && !is_literal(term.object_ptr()) && bundle::is_bundled(payload.term().object_ptr()) {
            // SAFETY: the payload holds the bundle and is there; the entry holds it too.
            let (copy, bundle) = unsafe { (payload.term().assume_held(), Bundle::at(payload.term().object_ptr())) };
            self.held_mut().note_sent(term, copy, Magic::clone(&bundle));
            self.watch_held();
        }
        Some((payload, words))
    }

    /// The same term with the bundles of its large parts in their place; `None`: it has none, or is not small.
    fn of_parts<'a>(&mut self, term: Term, depth: usize, parts: &mut Parts<'a>) -> Option<TermRef<'a>> {
        if parts.lasting.holds(term.object_ptr()) || bundle::is_bundled(term.object_ptr()) {
            return None;
        }
        match term.as_boxed() {
            Some(object) => self.object_of_parts(object, depth, parts),
            None => self.list_of_parts(term, depth, parts),
        }
    }

    /// The same of a tuple, map or fun.
    fn object_of_parts<'a>(
        &mut self,
        object: Boxed<'_, 'static>,
        depth: usize,
        parts: &mut Parts<'a>,
    ) -> Option<TermRef<'a>> {
        // Before the parts stand the keys of a map, and a fun's entry and creator.
        let first = match object.kind() {
            Kind::Tuple => 0,
            Kind::Map => 1,
            Kind::Fun => 2,
            _ => return None,
        };
        let (kept, slots) = object.slots().split_at_checked(first).filter(|(_, slots)| slots.len() <= WIDTH)?;
        let large = parts.large_ones(slots);
        if large == 0 {
            return None;
        }
        let mut copied: Vec<TermRef<'a>> = kept.to_vec();
        copied.extend((0..).zip(slots).map(|(i, slot)| self.part_if(large >> i & 1 == 1, *slot, depth, parts)));
        Some((&mut { parts.arena }).boxed(object.header(), &copied))
    }

    /// The same of a short list.
    fn list_of_parts<'a>(&mut self, list: Term, depth: usize, parts: &mut Parts<'a>) -> Option<TermRef<'a>> {
        let (mut elements, mut length, mut tail) = ([Term::NIL; WIDTH], 0, list);
        while let Some((head, rest)) = tail.as_cons() {
            *elements.get_mut(length)? = head;
            (length, tail) = (length + 1, rest);
        }
        let large = parts.large_ones(&elements[..length]);
        if large == 0 {
            return None;
        }
        let mut copied: TermRef<'a> = tail;
        for (i, element) in elements[..length].iter().enumerate().rev() {
            let element = self.part_if(large >> i & 1 == 1, *element, depth, parts);
            copied = (&mut { parts.arena }).cons(element, copied);
        }
        Some(copied)
    }

    /// A part, as a bundle if it is large.
    fn part_if<'a>(&mut self, is_large: bool, part: Term, depth: usize, parts: &mut Parts<'a>) -> TermRef<'a> {
        if is_large { self.part(part, depth, parts) } else { part }
    }

    /// A large part's bundle, or what is small with the bundles of its parts.
    fn part<'a>(&mut self, term: Term, depth: usize, parts: &mut Parts<'a>) -> TermRef<'a> {
        if let Some(sent_before) = self.sent_before(term) {
            return parts.keep(sent_before);
        }
        if depth > 0
            && let Some(small) = self.of_parts(term, depth - 1, parts)
        {
            return small;
        }
        let made = parts.limit.and_then(|limit| self.noted_payload(term, limit, parts.rule));
        parts.limit = made.as_ref().and_then(|(_, words)| parts.limit?.checked_sub(*words));
        made.map_or(Term::NIL, |made| parts.keep(made))
    }
}

impl<'a> Parts<'a> {
    /// A part, for which so many words were copied.
    fn keep(&mut self, (part, words): (Payload, usize)) -> TermRef<'a> {
        // SAFETY: the payload is kept beside the terms that refer to it.
        let term = unsafe { part.term().assume_held() };
        self.words += words;
        self.memory.push(part);
        term
    }

    /// Is this a part that would become a bundle of its own?
    fn is_large(&self, part: Term) -> bool {
        let stays = |at: *const u64| self.lasting.holds(at) || bundle::is_bundled(at);
        let most = PART_WORDS.max(self.rule.least) - 1;
        !part.is_immediate() && copy::size_within(part, most, stays).is_none()
    }

    /// Which of these would? A bit for each, of [`WIDTH`] at most.
    fn large_ones(&self, parts: &[Term]) -> u8 {
        parts.iter().enumerate().fold(0, |large, (i, part)| large | u8::from(self.is_large(*part)) << i)
    }

    /// A copy of what is small, whose large parts these are; `None`: there are too many words to copy.
    fn payload(self, small: TermRef<'_>) -> Option<(Payload, usize)> {
        self.limit?;
        let sharing = Sharing::with(small, |at| self.lasting.holds(at));
        let words = self.words + sharing.copied_words();
        let mut fragment = Fragment::with_capacity(sharing.words());
        // SAFETY: heap/PL1: the copy is in the fragment, which holds what it refers to.
        let payload = unsafe {
            let copied = sharing.copy(&mut Growing(&mut fragment)).assume_held();
            Payload::of(copied, fragment)
        };
        Some((payload, words))
    }
}

impl Heap {
    /// Words that a term of this heap takes as the argument of a process that has another one; `None`: it is to be a bundle, or refers to some.
    pub fn handed_down_size(&self, term: Term) -> Option<usize> {
        let lasting = Lasting::now();
        let lasts = |at: *const u64| lasting.holds(at);
        if !bundle::in_use() || term.is_immediate() {
            return Some(copy::size(term, lasts));
        }
        let words = bundle::small_size(term, LARGE_WORDS, lasts).ok()?;
        let becomes_one = || self.sent_as(term).is_some() || fate::Kind::of(term).pays();
        (words < LEAST_WORDS || !becomes_one()).then_some(words)
    }

    /// A term of this heap as such an argument.
    pub fn hand_down(&mut self, term: Term, heap: &mut Heap) -> Term {
        if bundle::in_use() && self.handed_down_size(term).is_none() {
            return self.payload(term).0.attach(heap);
        }
        copy_term(term, heap)
    }
}
