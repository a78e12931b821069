//! The bundles that a heap holds: which of its generations refer to each, as its collections find.
//!
//! HB1. A heap holds each bundle in which a term of its lies (heap/BU1): from the moment when the message's memory joins it, or a collection has it
//!      take the place of what it is a copy of ([`Held::replace_sent`]), until a collection finds no word that leads there; or a bundle that it holds does, until a collection finds a word of the heap's own that leads there.
//!
//! A minor collection does not look at the old generation, so what that refers to stays until a fullsweep, and a minor one has nothing to do with it.

use crate::bundle::{self, Bundle, FIRST};
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Kind, Magic, OffHeap, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A bundle that is held.
struct Hold {
    bundle: Magic,
    /// Words of its block.
    words: u32,
    /// Of so many more words that lead there it is noted where they stand; 0: the bundle stays.
    noted: u32,
    /// The generations of which the collection under way has found words that lead there: young, old.
    seen: [bool; 2],
    /// While it is found what the old generation refers to: has a collection found since the beginning that it refers to this one?
    kept: bool,
    /// How many collections have found it, but for those that do not look at the old generation that refers to it.
    survived: u8,
}

impl Hold {
    /// Of a bundle whose count is the caller's.
    fn new(bundle: Magic) -> Option<Hold> {
        let words = u32::try_from(bundle.get::<Bundle>()?.words()).ok()?;
        Some(Hold { bundle, words, noted: 0, seen: [false; 2], kept: true, survived: 0 })
    }

    /// Where its block begins.
    fn start(&self) -> usize {
        self.bundle.address()
    }

    fn end(&self) -> usize {
        self.start() + 8 * self.words()
    }

    fn addresses(&self) -> Range<usize> {
        self.start()..self.end()
    }

    fn words(&self) -> usize {
        self.words as usize
    }

    /// A collection has found that it is held. A long bundle has paid at the second one, for it would have been copied twice.
    fn has_survived(&mut self) {
        self.survived = self.survived.saturating_add(1);
        if self.survived == 2 && self.words() >= LONG {
            self.bundle.get::<Bundle>().inspect(|bundle| bundle.pays());
        }
    }
}

/// Words from which on a bundle pays that is kept.
const LONG: usize = 1024;

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

/// Terms that were sent as bundles since the last collection, at most: a term that is sent to many, or again, is copied once.
const SENT: usize = 16;

/// A term that was sent, and its copy in a bundle.
struct Sent {
    term: Term,
    copy: Term,
    bundle: Magic,
}

/// What is known of a heap that holds bundles ([`crate::idle`]).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Watch {
    /// Nobody knows of it.
    #[default]
    Unknown,
    /// It was noted when it had been collected so often.
    Noted(u32),
    /// It was asked, when it had this share, and collects.
    Asked(usize),
}

/// The bundles that a heap holds.
#[derive(Default)]
pub(crate) struct Held {
    /// Terms of the heap that were sent, the newest last. None moves before the next collection.
    sent: Vec<Sent>,
    /// Those to which the old generation does not refer; in the order of their addresses while a collection is under way. In one that looks at
    /// all, all.
    holds: Vec<Hold>,
    /// The others, by their addresses.
    old: BTreeMap<usize, Hold>,
    /// Those of which the collection under way has found the first words, by their addresses: other bundles held them (HB1).
    found: BTreeMap<usize, Hold>,
    /// The place in `holds` of the one that was seen last.
    last: usize,
    /// Words that lead to bundles that may be left ([`Hold::noted`]).
    seen: Vec<Seen>,
    /// Words for which a collection found no room that would leave bundles; the next one makes it.
    pub(crate) leaving: usize,
    /// Words of the bundles but for the old ones; of one that was received again since the last collection, more than once.
    words: usize,
    /// Words of the old ones.
    old_words: usize,
    pub(crate) watch: Watch,
}

/// The bundle in which an address lies.
fn around(holds: &mut BTreeMap<usize, Hold>, at: usize) -> Option<&mut Hold> {
    holds.range_mut(..=at).next_back().map(|(_, hold)| hold).filter(|hold| hold.addresses().contains(&at))
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
        let Some(hold) = Hold::new(bundle) else { return 0 };
        if self.holds.last().is_some_and(|last| last.start() == hold.start()) {
            // Again the same: this count is one too many.
            return 0;
        }
        let words = hold.words();
        self.words += words;
        self.holds.push(hold);
        words
    }

    /// Holds what another held.
    pub(crate) fn join(&mut self, other: Held) {
        debug_assert!(other.old.is_empty() && other.found.is_empty(), "what joins a heap has no old generation");
        self.words += other.words;
        self.holds.extend(other.holds);
    }

    /// The bundle of a term that was sent since the last collection, as its copy and the count that is the caller's.
    #[inline]
    pub(crate) fn sent_before(&self, term: Term) -> Option<(Term, Magic)> {
        self.sent(term).map(|sent| (sent.copy, bundle::again(&sent.bundle)))
    }

    /// The copy in a bundle of a term that was sent since the last collection.
    #[inline]
    pub(crate) fn sent_as(&self, term: Term) -> Option<Term> {
        self.sent(term).map(|sent| sent.copy)
    }

    #[inline]
    fn sent(&self, term: Term) -> Option<&Sent> {
        self.sent.iter().find(|sent| sent.term == term)
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

    /// The heap holds the bundles of what was sent, for `replace` to put the copies there in the place of the terms; it says whether it has.
    pub(crate) fn replace_sent(&mut self, mut replace: impl FnMut(Term, Term) -> bool) {
        for Sent { term, copy, bundle } in std::mem::take(&mut self.sent) {
            // What nobody else has is not worth it.
            if bundle.references() > 1 && replace(term, copy) {
                self.hold(bundle);
            }
        }
    }

    /// A collection begins, which looks at all of the heap or not at the old generation.
    pub(crate) fn begin(&mut self, minor: bool) {
        self.leaving = 0;
        self.last = 0;
        debug_assert!(self.seen.is_empty(), "words of an earlier collection were not judged");
        if minor {
            self.holds.retain(|hold| !self.old.contains_key(&hold.start()));
        } else {
            self.holds.extend(std::mem::take(&mut self.old).into_values());
            self.old_words = 0;
        }
        self.holds.sort_unstable_by_key(|hold| hold.start());
        self.holds.dedup_by_key(|hold| hold.start());
        for hold in &mut self.holds {
            // Each word that leads to another object stands for two words and more of what lives, so with this number the bundle stays anyway; it does too where
            // so many hold it that each would have to have less than a word.
            let (words, holders) = (hold.words(), hold.bundle.references());
            hold.noted = if words <= 2 * holders { 0 } else { words.div_ceil(4 * holders) as u32 };
        }
    }

    /// The collection has found a word that leads to this address, in the old generation or elsewhere.
    #[inline]
    pub(crate) fn see(&mut self, word: u64, place: *mut u64, in_old: bool) {
        let at = word as usize;
        if !self.holds.get(self.last).is_some_and(|hold| hold.addresses().contains(&at)) {
            self.last = self.holds.partition_point(|hold| hold.end() <= at);
        }
        match self.holds.get_mut(self.last).filter(|hold| hold.addresses().contains(&at)) {
            Some(hold) => {
                hold.seen[usize::from(in_old)] = true;
                if hold.noted > 0 {
                    hold.noted -= 1;
                    // The first object of a bundle refers to all of it.
                    if at & !7 == hold.start() + 8 * FIRST {
                        hold.noted = 0;
                    }
                    self.seen.push(Seen { word, place, in_old });
                }
            }
            None => self.see_another(at, in_old),
        }
    }

    /// It leads to a bundle that the old generation holds, or that was held by another one alone, which the heap holds until the collection ends: a part
    /// of that was taken.
    #[cold]
    fn see_another(&mut self, at: usize, in_old: bool) {
        if let Some(hold) = around(&mut self.old, at) {
            hold.kept |= in_old;
            return;
        }
        if let Some(hold) = around(&mut self.found, at) {
            hold.seen[usize::from(in_old)] = true;
            return;
        }
        // SAFETY: heap/BU1, heap/BU2.
        let bundle = unsafe { Bundle::at(std::ptr::with_exposed_provenance(at)) };
        if let Some(mut hold) = Hold::new(Magic::clone(&bundle)) {
            hold.seen[usize::from(in_old)] = true;
            self.found.insert(hold.start(), hold);
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
            let i = self.holds.partition_point(|hold| hold.end() <= first.word as usize);
            let Some(hold) = self.holds.get(i) else { break };
            let addresses = hold.addresses();
            let (seen, others) = rest.split_at(rest.partition_point(|seen| (seen.word as usize) < addresses.end));
            rest = others;
            if hold.noted == 0 {
                continue;
            }
            let part = Part { addresses, holders: hold.bundle.references(), seen };
            if leave(self, &part) {
                self.holds[i].seen = [false; 2];
            }
        }
    }

    /// A part that is copied from a bundle, which the heap leaves, has a word that leads to another one: that stays.
    pub(crate) fn see_copied(&mut self, word: u64, in_old: bool) {
        let i = self.holds.partition_point(|hold| hold.end() <= word as usize);
        if let Some(hold) = self.holds.get_mut(i) {
            // If it is the one: not all such words have been noted from here on. If not, another one stays for this time.
            hold.noted = 0;
        }
        self.see(word, std::ptr::null_mut(), in_old);
    }

    /// A collection ends: those go that no word leads to. Gives the words of those that the young generation alone refers to, and of those to which
    /// the old one refers now.
    pub(crate) fn end(&mut self) -> [usize; 2] {
        let mut words = [0; 2];
        let found = std::mem::take(&mut self.found).into_values();
        for mut hold in std::mem::take(&mut self.holds).into_iter().chain(found) {
            let [young, old] = std::mem::take(&mut hold.seen);
            if young || old {
                hold.has_survived();
            }
            if old {
                hold.kept = true;
                words[1] += hold.words();
                self.old.insert(hold.start(), hold);
            } else if young {
                words[0] += hold.words();
                self.holds.push(hold);
            }
        }
        self.words = words[0];
        self.old_words += words[1];
        words
    }

    /// A helper begins to look for the bundles to which a large old generation refers.
    pub(crate) fn begin_marking(&mut self) {
        self.old.values_mut().for_each(|hold| hold.kept = false);
    }

    /// It has found these, by where they begin: some may have been held by other bundles alone (HB1). Whether the young generation refers to the bundles that
    /// it has not found the next collection tells. Gives the words of those, and of what is held besides now.
    pub(crate) fn end_marking(&mut self, found: &BTreeSet<usize>) -> [usize; 2] {
        let mut words = [0; 2];
        for start in found.iter().filter(|start| !self.old.contains_key(start)).copied().collect::<Vec<_>>() {
            // SAFETY: heap/BU1, heap/BU2: a word of the heap leads there, and what held it is held until the next collection ends.
            let bundle = unsafe { Bundle::at(std::ptr::with_exposed_provenance(start)) };
            if let Some(hold) = Hold::new(Magic::clone(&bundle)) {
                words[1] += hold.words();
                self.old.insert(start, hold);
            }
        }
        for (_, hold) in self.old.extract_if(.., |start, hold| !hold.kept && !found.contains(start)) {
            words[0] += hold.words();
            self.holds.push(hold);
        }
        self.words += words[0];
        self.old_words = self.old_words + words[1] - words[0];
        words
    }

    /// The heap ends. Long bundles might have been kept for longer.
    pub(crate) fn heap_ends(self) {
        let long = self.all().filter(|hold| hold.words() >= LONG);
        long.filter_map(|hold| hold.bundle.get::<Bundle>()).for_each(Bundle::tells_nothing);
    }

    /// Words of the bundles.
    pub(crate) fn words(&self) -> usize {
        self.words + self.old_words
    }

    /// Words of those to which the old generation refers.
    pub(crate) fn old_words(&self) -> usize {
        self.old_words
    }

    /// Words of the bundles of what was sent.
    pub(crate) fn sent_words(&self) -> usize {
        self.sent.iter().filter_map(|sent| sent.bundle.get::<Bundle>()).map(Bundle::words).sum()
    }

    /// Words of the bundles, of each as many as come to one of those who hold it.
    pub(crate) fn share(&self) -> usize {
        let share = |bundle: &Magic| bundle.get::<Bundle>().map_or(0, |one| one.words() / bundle.references());
        self.all().map(|hold| &hold.bundle).chain(self.sent.iter().map(|sent| &sent.bundle)).map(share).sum()
    }

    /// Is there a bundle with which a minor collection has something to do?
    pub(crate) fn has_young(&self) -> bool {
        !self.holds.is_empty() || !self.sent.is_empty()
    }

    /// Holds no bundle, not even of what was sent?
    pub(crate) fn is_empty(&self) -> bool {
        self.holds.is_empty() && self.old.is_empty() && self.sent.is_empty()
    }

    fn all(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter().chain(self.old.values())
    }

    /// The addresses of the bundles that are held, and of those that these hold (HB1), in order.
    #[cfg(any(test, heap_check))]
    pub(crate) fn reach(&self) -> Vec<Range<usize>> {
        let mut todo: Vec<Range<usize>> = self.all().map(|hold| hold.addresses()).collect();
        let mut reached = BTreeMap::new();
        while let Some(addresses) = todo.pop() {
            if reached.insert(addresses.start, addresses.end).is_none() {
                // SAFETY: heap/BU1: it is held, by the heap or by a bundle that is.
                let bundle = unsafe { Bundle::at(std::ptr::with_exposed_provenance(addresses.start)) };
                todo.extend(bundle.get::<Bundle>().into_iter().flat_map(Bundle::holds));
            }
        }
        reached.into_iter().map(|(start, end)| start..end).collect()
    }

    /// Where the blocks of bundles begin, once for each count of theirs that the heap has.
    #[cfg(any(test, heap_check))]
    pub(crate) fn each_count(&self, mut tell: impl FnMut(usize)) {
        self.all().chain(self.found.values()).for_each(|hold| tell(hold.start()));
        let sent = self.sent.iter().filter_map(|sent| sent.bundle.get::<Bundle>());
        sent.for_each(|bundle| tell(bundle.addresses().start));
    }

    /// The bundles, as (address, words, how many hold it).
    pub(crate) fn each(&self, mut tell: impl FnMut(usize, usize, usize)) {
        for hold in self.all() {
            tell(hold.start(), hold.words(), hold.bundle.references());
        }
    }
}
