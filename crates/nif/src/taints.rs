//! The libraries of C code that the VM has loaded since it started, as `erlang:system_info(taints)` shows them.

use myriad_sync::{LockClass, SpinLock};
use myriad_term::Atom;

static CLASS: LockClass = LockClass::new("taints", 912);
static TAINTS: SpinLock<Vec<Atom>> = SpinLock::new(&CLASS, Vec::new());

/// A module's or a driver's library has been loaded.
pub fn add(name: Atom) {
    let mut taints = TAINTS.lock();
    if !taints.contains(&name) {
        taints.push(name);
    }
}

/// All, in the order of loading.
pub fn all() -> Vec<Atom> {
    TAINTS.lock().clone()
}
