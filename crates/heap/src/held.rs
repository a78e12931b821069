//! The bundles that a heap holds: which of its generations refer to each, as its collections find.
//!
//! HB1. A heap holds each bundle in which a term of its lies (heap/BU1): from the moment when the message's memory joins it until a collection
//!      finds no word that leads there; or a bundle that it holds does, until a collection finds a word of the heap's own that leads there. A minor collection does not look at the old generation, so what that refers to stays until a fullsweep.

use crate::bundle::{Bundle, FIRST};
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Kind, Magic, OffHeap, Term};
use std::ops::Range;

/// A bundle that is held.
struct Hold {
    addresses: Range<usize>,
    /// Does the old generation refer to it?
    is_old: bool,
    /// The generations of which the collection under way has found words that lead there: young, old.
    seen: [bool; 2],
    /// Of so many more such words it is noted where they stand; 0: the bundle stays.
    noted: usize,
    bundle: Magic,
}

impl Hold {
    fn words(&self) -> usize {
        (self.addresses.end - self.addresses.start) / 8
    }
}

/// A word that leads to a bundle, as the collection under way has left it.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) word: u64,
    pub(crate) place: *mut u64,
    pub(crate) in_old: bool,
}

/// What a heap has of a bundle: all the words that lead there, in the order of where they lead to.
pub(crate) struct Part<'s> {
    pub(crate) addresses: Range<usize>,
    /// How many hold the bundle.
    pub(crate) holders: usize,
    pub(crate) seen: &'s [Seen],
}

/// Large terms that were sent since the last collection, at most: a term that is sent to many, or again, is copied once.
const SENT: usize = 4;

/// A term that was sent, and its bundle.
struct Sent {
    term: Term,
    copy: Term,
    bundle: Magic,
}

/// The bundles that a heap holds.
#[derive(Default)]
pub(crate) struct Held {
    /// Terms of the heap that were sent, the newest last. None moves before the next collection.
    sent: Vec<Sent>,
    /// In the order of their addresses while a collection is under way.
    holds: Vec<Hold>,
    /// The place of the one that was seen last.
    last: usize,
    /// Words that lead to bundles that may be left ([`Hold::noted`]).
    seen: Vec<Seen>,
    /// Words for which a collection found no room that would leave bundles; the next one makes it.
    pub(crate) leaving: usize,
    /// Words of the bundles; of one that was received again since the last collection, more than once.
    words: usize,
}

impl Held {
    /// Moves the objects that hold bundles from a chain to entries here; gives the words of these bundles.
    ///
    /// # Safety
    /// The chain is whole; the caller owns its objects.
    pub(crate) unsafe fn take_from(&mut self, chain: &mut OffHeap) -> usize {
        let (mut words, mut at, mut before) = (0, chain.first, std::ptr::null_mut::<u64>());
        while !at.is_null() {
            // SAFETY: heap/H5 of the caller's chain.
            unsafe {
                let object = Boxed::at(at);
                let next = object.off_heap_next();
                let bundle = (object.kind() == Kind::MagicRef).then(|| object.magic());
                if let Some(bundle) = bundle.filter(|magic| magic.get::<Bundle>().is_some()) {
                    if before.is_null() {
                        chain.first = next;
                    } else {
                        Boxed::at(before).set_off_heap_next(next);
                    }
                    // The object was nothing but this count.
                    *at = Header::new(Kind::Filler, object.header().size()).raw();
                    words += self.hold(std::mem::ManuallyDrop::into_inner(bundle));
                } else {
                    before = at;
                }
                at = next;
            }
        }
        words
    }

    /// Holds a bundle, whose count is the caller's; gives its words.
    fn hold(&mut self, bundle: Magic) -> usize {
        let Some(value) = bundle.get::<Bundle>() else { return 0 };
        let (addresses, words) = (value.addresses(), value.words());
        if self.holds.last().is_some_and(|last| last.addresses.start == addresses.start) {
            // Again the same: this count is one too many.
            return 0;
        }
        self.words += words;
        self.holds.push(Hold { addresses, is_old: false, seen: [false; 2], noted: 0, bundle });
        words
    }

    /// Holds what another held.
    pub(crate) fn join(&mut self, other: Held) {
        self.words += other.words;
        self.holds.extend(other.holds);
    }

    /// The bundle of a term that was sent since the last collection, as its copy and the count that is the caller's.
    #[inline]
    pub(crate) fn sent_before(&self, term: Term) -> Option<(Term, Magic)> {
        self.sent.iter().find(|sent| sent.term == term).map(|sent| (sent.copy, sent.bundle.clone()))
    }

    /// A term was sent, as this bundle.
    pub(crate) fn note_sent(&mut self, term: Term, copy: Term, bundle: Magic) {
        if self.sent.len() == SENT {
            self.sent.remove(0);
        }
        self.sent.push(Sent { term, copy, bundle });
    }

    /// The terms of the heap move: what was sent is not known by its address any more.
    pub(crate) fn forget_sent(&mut self) {
        self.sent.clear();
    }

    /// A collection begins.
    pub(crate) fn begin(&mut self, minor: bool) {
        self.forget_sent();
        self.leaving = 0;
        self.holds.sort_unstable_by_key(|hold| hold.addresses.start);
        self.holds.dedup_by(|other, first| {
            let same = other.addresses.start == first.addresses.start;
            first.is_old |= same && other.is_old;
            same
        });
        for hold in &mut self.holds {
            // A minor collection does not see all words that lead to what the old generation refers to. Each word that leads to another
            // object stands for two words and more of what lives, so beyond this number the bundle stays anyway.
            hold.noted = if minor && hold.is_old { 0 } else { hold.words() / (4 * hold.bundle.references()) };
        }
        self.last = 0;
    }

    /// The collection has found a word that leads to this address, in the old generation or elsewhere.
    #[inline]
    pub(crate) fn see(&mut self, word: u64, place: *mut u64, in_old: bool) {
        let at = word as usize;
        if !self.holds.get(self.last).is_some_and(|hold| hold.addresses.contains(&at)) {
            self.last = self.holds.partition_point(|hold| hold.addresses.end <= at);
        }
        if !self.holds.get(self.last).is_some_and(|hold| hold.addresses.contains(&at)) {
            self.hold_inner(at);
        }
        if let Some(hold) = self.holds.get_mut(self.last) {
            hold.seen[usize::from(in_old)] = true;
            if hold.noted > 0 {
                hold.noted -= 1;
                // The first object of a bundle refers to all of it.
                if at & !7 == hold.addresses.start + 8 * FIRST {
                    hold.noted = 0;
                }
                self.seen.push(Seen { word, place, in_old });
            }
        }
    }

    /// What the heap has of each bundle that it may leave. Those for which `leave` says that it has left them are no longer held.
    pub(crate) fn judge(&mut self, mut leave: impl FnMut(&mut Held, &Part<'_>) -> bool) {
        if self.seen.is_empty() {
            return;
        }
        let mut seen = std::mem::take(&mut self.seen);
        seen.sort_unstable_by_key(|seen| (seen.word, seen.in_old));
        let mut rest = &seen[..];
        while let Some(first) = rest.first() {
            let i = self.holds.partition_point(|hold| hold.addresses.end <= first.word as usize);
            let Some(hold) = self.holds.get(i) else { break };
            let addresses = hold.addresses.clone();
            let (seen, others) = rest.split_at(rest.partition_point(|seen| (seen.word as usize) < addresses.end));
            rest = others;
            if hold.noted == 0 {
                continue;
            }
            let part = Part { addresses, holders: hold.bundle.references(), seen };
            if leave(self, &part) {
                // Its place may be another one: parts of others may have come.
                let i = self.holds.partition_point(|hold| hold.addresses.end <= part.addresses.start);
                self.holds[i].seen = [false; 2];
            }
        }
    }

    /// A part that is copied from a bundle, which the heap leaves, has a word that leads to another one: that stays.
    pub(crate) fn see_copied(&mut self, word: u64, in_old: bool) {
        self.see(word, std::ptr::null_mut(), in_old);
        if let Some(hold) = self.holds.get_mut(self.last) {
            hold.noted = 0;
        }
    }

    /// Holds a bundle that was held by another one alone, which the heap holds until the collection ends: a part of that was taken.
    #[cold]
    fn hold_inner(&mut self, at: usize) {
        // SAFETY: heap/BU1, heap/BU2.
        let bundle = unsafe { Bundle::at(std::ptr::with_exposed_provenance(at)) };
        if let Some(addresses) = bundle.get::<Bundle>().map(Bundle::addresses) {
            debug_assert!(self.last == self.holds.partition_point(|hold| hold.addresses.end <= at));
            self.holds.insert(
                self.last,
                Hold { addresses, is_old: false, seen: [false; 2], noted: 0, bundle: Magic::clone(&bundle) },
            );
        }
    }

    /// A collection ends: those go that no word leads to. Gives the words of those that the young generation alone refers to, and of the others.
    pub(crate) fn end(&mut self, minor: bool) -> [usize; 2] {
        let mut words = [0; 2];
        self.holds.retain_mut(|hold| {
            let [young, old] = std::mem::take(&mut hold.seen);
            hold.is_old = old || minor && hold.is_old;
            if young || hold.is_old {
                words[usize::from(hold.is_old)] += hold.words();
            }
            young || hold.is_old
        });
        self.words = words[0] + words[1];
        words
    }

    /// Words of the bundles.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Holds no bundle?
    pub(crate) fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }

    /// The addresses of the bundles that are held, and of those that these hold (HB1), in order.
    #[cfg(any(test, heap_check))]
    pub(crate) fn reach(&self) -> Vec<Range<usize>> {
        let mut todo: Vec<Range<usize>> = self.holds.iter().map(|hold| hold.addresses.clone()).collect();
        let mut reached = std::collections::BTreeMap::new();
        while let Some(addresses) = todo.pop() {
            if reached.insert(addresses.start, addresses.end).is_none() {
                // SAFETY: heap/BU1: it is held, by the heap or by a bundle that is.
                let bundle = unsafe { Bundle::at(std::ptr::with_exposed_provenance(addresses.start)) };
                todo.extend(bundle.get::<Bundle>().into_iter().flat_map(Bundle::holds));
            }
        }
        reached.into_iter().map(|(start, end)| start..end).collect()
    }

    /// The bundles, as (address, words, how many hold it).
    pub(crate) fn each(&self, mut tell: impl FnMut(usize, usize, usize)) {
        for hold in &self.holds {
            tell(hold.addresses.start, hold.words(), hold.bundle.references());
        }
    }
}
