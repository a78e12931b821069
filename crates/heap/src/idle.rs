//! Heaps that hold many words beside their blocks while their processes sleep: bundles, and messages that no collection has emptied. What these refer to no longer would stay, and
//! what is left lies between what others had, for nobody collects who allocates nothing. So such a heap is to be noted when its process goes to sleep, and whoever has noted it
//! asks for a collection some time later (crate `vm`, `holders.rs`). Large old generations need more than one ([`crate::asleep`]).
//!
//! ```text
//!             holds many words          its process sleeps          is asked, has not collected since
//!   Unknown -------------------> (TO_NOTE) ---------------> Noted ------------------------------------> Asked, collects
//!      ^                             ^                        |                                            |
//!      |                             +--- has collected itself                                              | its process sleeps again
//!      |                             +--- holds many words still, and its process has run again  <----------+
//!      +-------------------------------------------------------------- holds few --------------------------+
//! ```

use crate::asleep::Awaited;
use crate::heap::{Heap, TO_FIT, TO_LOOK, TO_NOTE, UNRESTED};
use crate::held::{Held, Watch};
use crate::one_heap;

/// Words of bundles and messages that are many.
const MANY: usize = if cfg!(test) { 60 } else { 1024 };

/// A heap whose process sleeps is fitted to what lives if it has no more than so many times the words of its messages.
const WORTH_FITTING: usize = 4;

/// What there is to note of a heap whose process goes to sleep.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// Its messages' words, and its share of those of the bundles that it holds: to be asked later.
    Sleeps(usize),
    /// It was asked, and has so much left of the share that it had.
    Answers {
        /// What it had.
        had: usize,
        /// What it has.
        left: usize,
    },
}

impl Heap {
    /// Is there something to note when the process goes to sleep ([`Heap::note_held`], [`Heap::note_asleep`])?
    #[inline(always)]
    pub fn is_to_be_noted(&self) -> bool {
        self.flags & (TO_NOTE | UNRESTED | TO_LOOK) != 0
    }

    /// Words of messages that a collection would empty.
    fn waiting_words(&self) -> usize {
        if one_heap::is_on() { 0 } else { self.fragment_words }
    }

    fn holds_many(&self) -> bool {
        let held = self.held().map_or(0, |held| held.words() + held.sent_words());
        self.waiting_words() + held >= MANY
    }

    fn share_beside(&self) -> usize {
        self.waiting_words() + self.held().map_or(0, Held::share)
    }

    /// Bundles or messages have come, or bundles were made of what was sent.
    pub(crate) fn watch_held(&mut self) {
        if self.holds_many() && self.held_mut().watch == Watch::Unknown {
            self.flags |= TO_NOTE;
        }
    }

    /// A message has come.
    #[inline]
    pub(crate) fn watch_messages(&mut self) {
        if self.fragment_words >= MANY {
            self.watch_held();
        }
    }

    /// The process goes to sleep: it has rested, and gives what there is to note of the bundles that it holds.
    pub fn note_held(&mut self) -> Option<Holder> {
        let is_to_note = self.flags & TO_NOTE != 0;
        self.flags &= !(TO_NOTE | UNRESTED);
        if !is_to_note {
            return None;
        }
        let (many, share, collections) = (self.holds_many(), self.share_beside(), self.total_gcs);
        let held = self.held_mut();
        if let Watch::Asked(had) = held.watch {
            // Not noted now: it was woken for this alone.
            held.watch = Watch::Unknown;
            self.flags |= if many { TO_NOTE } else { 0 };
            return Some(Holder::Answers { had, left: share });
        }
        held.watch = if many { Watch::Noted(collections) } else { Watch::Unknown };
        many.then_some(Holder::Sleeps(share))
    }

    /// Whoever has noted it asks, if `at_rest` while there is nothing else to do. `true`: the owner is to collect, for it sleeps: it has not done so since, or there is rest.
    pub fn is_asked(&mut self, at_rest: bool) -> bool {
        let (many, share, collections) = (self.holds_many(), self.share_beside(), self.total_gcs);
        let held = self.held_mut();
        let asleep = many && (at_rest || held.watch == Watch::Noted(collections));
        held.watch = if asleep { Watch::Asked(share) } else { Watch::Unknown };
        let old = held.old_words();
        self.flags |= if many { TO_NOTE } else { 0 };
        // A look at the old generation is to cost less than what may come of it.
        self.fullsweep_next |= asleep && old >= MANY && self.old_words() <= old;
        let is_worth_fitting = self.young_words() + self.old_words() <= WORTH_FITTING * self.waiting_words();
        if asleep && is_worth_fitting && self.large().is_none() && self.limit() == 0 {
            self.flags |= TO_FIT;
        }
        asleep
    }
}

impl Heap {
    /// A collection is over that has left the old generation where it is.
    pub(crate) fn look_before_sleep(&mut self) {
        let collections = self.total_gcs;
        let Some(large) = self.large_mut() else { return };
        large.asleep.is_asked = false;
        if (large.asleep.has_run || large.is_under_way()) && large.asleep.is_to_note(collections) {
            self.flags |= TO_LOOK;
        }
    }

    /// The process goes to sleep: what it is to be asked for then.
    pub fn note_asleep(&mut self) -> Option<Awaited> {
        if self.flags & TO_LOOK == 0 {
            return None;
        }
        self.flags &= !TO_LOOK;
        let collections = self.total_gcs;
        let large = self.large_mut()?;
        large.asleep.noted = Some(collections);
        Some(if large.is_under_way() { Awaited::Steps } else { Awaited::Marking { vain: large.asleep.vain } })
    }

    /// Whoever has noted it asks. `true`: the owner is to collect, for it sleeps: it has not done so since, or there are steps to make.
    pub fn is_asked_asleep(&mut self) -> bool {
        let collections = self.total_gcs;
        let Some(large) = self.large_mut() else { return false };
        let has_slept = large.asleep.noted.take() == Some(collections);
        if !large.is_under_way() {
            if !has_slept {
                self.flags |= TO_LOOK;
                return false;
            }
            large.is_sparse = true;
            large.asleep.before = Some(large.words());
        }
        large.asleep.is_asked = true;
        true
    }
}
