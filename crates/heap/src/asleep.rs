//! Large old generations of processes that sleep. What dies there is found by a marking, and what is sparse is emptied, by steps at the end of collections ([`crate::large`]): who
//! sleeps has none. So such a heap is to be noted when its process goes to sleep after a collection, and whoever has noted it asks for collections while a scheduler has nothing to do
//! (crate `vm`, `sleepers.rs`): for a marking, and then for what comes of it.

/// So often the time to the next marking for who sleeps doubles, if little comes of it.
const MOST_VAIN: u32 = 9;

/// So many collections later it is noted anew.
const FORGOTTEN: u32 = 16;

/// What a sleeping process is to be asked for collections for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// Its old generation is marked, or emptied, which goes on with them.
    Steps,
    /// A marking: something may have died. Little has come of so many, one after another, for which it was asked before.
    Marking {
        /// How many.
        vain: u32,
    },
}

/// What a large old generation has to do with that.
#[derive(Default)]
pub(crate) struct Asleep {
    /// Somebody has noted it, after so many collections.
    pub(crate) noted: Option<u32>,
    /// The next collection is one that was asked for.
    pub(crate) is_asked: bool,
    /// There were others since the last marking began: what has died since nobody knows.
    pub(crate) has_run: bool,
    /// Words before the marking that was asked for and is not over.
    pub(crate) before: Option<usize>,
    pub(crate) vain: u32,
}

impl Asleep {
    /// Is it to be noted after so many collections? Whoever noted it may have forgotten it.
    pub(crate) fn is_to_note(&self, collections: u32) -> bool {
        self.noted.is_none_or(|noted| collections.wrapping_sub(noted) >= FORGOTTEN)
    }

    /// There is a collection.
    pub(crate) fn collected(&mut self) {
        self.has_run |= !self.is_asked;
    }

    /// A marking begins.
    pub(crate) fn marks(&mut self) {
        self.has_run = false;
    }

    /// A marking is over, and so many words are left.
    pub(crate) fn marked(&mut self, left: usize) {
        if let Some(before) = self.before.take() {
            self.vain = if left > before / 4 * 3 { (self.vain + 1).min(MOST_VAIN) } else { 0 };
        }
    }
}
