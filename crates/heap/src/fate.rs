//! Does it pay to make bundles of such messages? Learned from what became of those before.
//!
//! A bundle of some hundred words costs more than a copy, and gives that back when it is sent again (docs/heaps.md, "From how many words on"). Whether it will be
//! nobody can see in a term; but messages of a program are of few kinds, by their tags and shapes, and one is treated as the other. So each kind has a saturating counter, as branch
//! predictors have: of its bundles that were wasted, for nobody sent them again or kept them though they were long, less those that were not. A kind of which many were wasted is copied, as with private
//! heaps, but for one message after [`TRIAL`] copied ones, which tells when that changes.
//!
//! Kinds are hashed to few places, and all threads share these. Two kinds at one place, or a count that is lost when two threads write it, cost time and nothing else.

use myriad_sync::atomic::{AtomicU8, Ordering};
use myriad_term::{Kind as TermKind, Term};
use std::cell::Cell;

/// Places for kinds.
const PLACES: usize = 1024;
/// Bundles of a kind that were wasted, less what those that were not have made up for, from which on no more are made; and the most that count.
const TOO_MANY: u8 = 8;
const MOST: u8 = 2 * TOO_MANY;
/// For how many wasted bundles one makes up that has paid.
const WORTH: u8 = 2;
/// After so many messages that a thread has copied the next one becomes a bundle. (A prime: kinds may take turns.)
const TRIAL: u32 = 251;
/// Elements of a message that count for its kind.
const TOLD: usize = 4;
/// An odd number without a pattern (the golden ratio's), whose products differ in their first bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many bundles were wasted.
static WASTED: [AtomicU8; PLACES] = [const { AtomicU8::new(0) }; PLACES];

thread_local! {
    /// Messages copied since the last trial.
    static COPIED: Cell<u32> = const { Cell::new(0) };
}

/// A kind of message, by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind(u16);

/// Puts a number into a hash.
fn mix(hash: u64, number: u64) -> u64 {
    (hash ^ number).wrapping_mul(SPREAD).rotate_left(29)
}

/// What a term shows at first sight: an atom itself, of a tuple its arity and its tag, else what it is.
fn look(term: Term) -> u64 {
    if let Some(atom) = term.as_atom() {
        return atom.term().raw();
    }
    let Some(object) = term.as_boxed() else {
        return if term.is_cons() { 1 } else { 2 };
    };
    match object.kind() {
        TermKind::Tuple => {
            let tag = object.slots().first().and_then(|slot| slot.as_atom());
            mix(object.size() as u64, tag.map_or(0, |tag| tag.term().raw()))
        }
        TermKind::Map => 3,
        TermKind::Fun => 4,
        _ => 5,
    }
}

impl Kind {
    /// That of a term: of a tuple, by its arity and what its first elements show.
    pub(crate) fn of(term: Term) -> Kind {
        let shown = match term.as_boxed().filter(|object| object.kind() == TermKind::Tuple) {
            Some(tuple) => {
                let slots = tuple.slots();
                slots.iter().take(TOLD).fold(slots.len() as u64, |hash, slot| mix(hash, look(*slot)))
            }
            None => look(term),
        };
        Kind((shown.wrapping_mul(SPREAD) >> (u64::BITS - PLACES.ilog2())) as u16)
    }

    fn wasted(self) -> &'static AtomicU8 {
        &WASTED[usize::from(self.0)]
    }

    /// Is a message of this kind to become a bundle?
    pub(crate) fn pays(self) -> bool {
        // Relaxed, here and below: a count that orders nothing.
        self.wasted().load(Ordering::Relaxed) < TOO_MANY || COPIED.get() >= TRIAL
    }

    /// One becomes a bundle. If that is a trial, others are copied first before the next.
    pub(crate) fn is_bundled(self) {
        if self.wasted().load(Ordering::Relaxed) >= TOO_MANY {
            COPIED.set(0);
        }
    }

    /// A bundle of this kind has gone that has not paid.
    pub(crate) fn was_wasted(self) {
        let wasted = self.wasted().load(Ordering::Relaxed);
        if wasted < MOST {
            self.wasted().store(wasted + 1, Ordering::Relaxed);
        }
    }

    /// One has paid.
    pub(crate) fn was_worth_it(self) {
        let wasted = self.wasted().load(Ordering::Relaxed);
        if wasted > 0 {
            self.wasted().store(wasted.saturating_sub(WORTH), Ordering::Relaxed);
        }
        if wasted >= TOO_MANY {
            // It was a trial: the next one comes soon.
            COPIED.set(TRIAL);
        }
    }
}

/// A message was copied whose kind does not pay.
pub(crate) fn was_copied() {
    COPIED.set(COPIED.get().saturating_add(1));
}
