//! Fences that the thread sanitizer sees, under `--cfg thread_sanitizer`: it takes what two threads do as ordered only if they met at a word.
//!
//! Each fence reads and writes one word, so that any two of them are ordered as sync/SL1 has it. That is more than a fence promises where one thread
//! has not seen what the other stored: a fence too few where others stand near is found by the models under loom, not here. What a lone Acquire
//! fence pairs with, a Release of another kind, meets it at the word that was read before: `acquire_fence!` reads that again.

use std::sync::atomic::{AtomicU32, Ordering, fence as processors};

static MET: AtomicU32 = AtomicU32::new(0);

/// A fence of the processor's, and a meeting with all others.
#[inline]
pub fn fence(order: Ordering) {
    processors(order);
    // AcqRel: pairs with itself in the other fences.
    MET.fetch_add(1, Ordering::AcqRel);
}
