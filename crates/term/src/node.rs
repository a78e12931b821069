//! The name and creation of this node, which order its pids, ports and references among those of other nodes, and whether there
//! have been any of those.

use crate::am;
use crate::atom::Atom;
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Creation above, atom index below.
static LOCAL: AtomicU64 = AtomicU64::new(am::nonode_nohost.index() as u64);

/// Has an identifier of another node been made?
static OTHERS: AtomicBool = AtomicBool::new(false);

/// Name and creation of this node: `nonode@nohost` and 0 until distribution starts.
#[inline]
pub fn local() -> (Atom, u32) {
    // Relaxed: one word, which says all; the atom's text was published by the atom table.
    let word = LOCAL.load(Ordering::Relaxed);
    (Atom::from_index(word as u32), (word >> 32) as u32)
}

/// Gives this node its name and creation (`net_kernel` does, through `setnode/2`).
pub fn set_local(name: Atom, creation: u32) {
    // Relaxed: as above.
    LOCAL.store(u64::from(creation) << 32 | u64::from(name.index()), Ordering::Relaxed);
}

/// The first word of another node's identifiers: creation above, atom index below.
pub(crate) fn word_of_other(name: Atom, creation: u32) -> u64 {
    // Relaxed: a thread that gets the identifier sees what was done before it was handed on. Mostly it is set already.
    if !OTHERS.load(Ordering::Relaxed) {
        OTHERS.store(true, Ordering::Relaxed);
    }
    u64::from(creation) << 32 | u64::from(name.index())
}

/// May there be identifiers of other nodes?
pub fn knows_others() -> bool {
    // Relaxed: as above.
    OTHERS.load(Ordering::Relaxed)
}
