//! Heaps that hold many words of bundles while their processes sleep: what these refer to no longer would stay, for nobody collects who allocates nothing. So such a
//! heap is to be noted when its process goes to sleep, and whoever has noted it asks for a collection some time later (crate `vm`, `holders.rs`).
//!
//! ```text
//!             holds many words          its process sleeps          is asked, has not collected since
//!   Unknown -------------------> (TO_NOTE) ---------------> Noted ------------------------------------> Asked, collects
//!      ^                             ^                        |                                            |
//!      |                             +--- has collected itself                                              | its process sleeps again
//!      |                             +--- holds many words still, and its process has run again  <----------+
//!      +-------------------------------------------------------------- holds few --------------------------+
//! ```

use crate::heap::{Heap, TO_NOTE, UNRESTED};
use crate::held::Watch;

/// Words of bundles that are many.
const MANY: usize = if cfg!(test) { 60 } else { 1024 };

/// What there is to note of a heap whose process goes to sleep.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// Its share of the words of the bundles that it holds: to be asked later.
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
    /// Is there something to note when the process goes to sleep ([`Heap::note_held`])?
    #[inline(always)]
    pub fn is_to_be_noted(&self) -> bool {
        self.flags & (TO_NOTE | UNRESTED) != 0
    }

    fn holds_many(&self) -> bool {
        self.held().is_some_and(|held| held.words() + held.sent_words() >= MANY)
    }

    /// Bundles have come, or were made of what was sent.
    pub(crate) fn watch_held(&mut self) {
        if self.holds_many() && self.held_mut().watch == Watch::Unknown {
            self.flags |= TO_NOTE;
        }
    }

    /// The process goes to sleep: it has rested, and gives what there is to note of the bundles that it holds.
    pub fn note_held(&mut self) -> Option<Holder> {
        let is_to_note = self.flags & TO_NOTE != 0;
        self.flags &= !(TO_NOTE | UNRESTED);
        if !is_to_note {
            return None;
        }
        let (many, collections) = (self.holds_many(), self.total_gcs);
        let held = self.held_mut();
        let share = held.share();
        if let Watch::Asked(had) = held.watch {
            // Not noted now: it was woken for this alone.
            held.watch = Watch::Unknown;
            self.flags |= if many { TO_NOTE } else { 0 };
            return Some(Holder::Answers { had, left: share });
        }
        held.watch = if many { Watch::Noted(collections) } else { Watch::Unknown };
        many.then_some(Holder::Sleeps(share))
    }

    /// Whoever has noted it asks. `true`: the owner is to collect, for it has not done so since.
    pub fn is_asked(&mut self) -> bool {
        let (many, collections) = (self.holds_many(), self.total_gcs);
        let held = self.held_mut();
        let asleep = many && held.watch == Watch::Noted(collections);
        held.watch = if asleep { Watch::Asked(held.share()) } else { Watch::Unknown };
        let old = held.old_words();
        self.flags |= if many { TO_NOTE } else { 0 };
        // A look at the old generation is to cost less than what may come of it.
        self.fullsweep_next |= asleep && old >= MANY && self.old_words() <= old;
        asleep
    }
}
