//! What of the whole VM is watched, in one word: no process's own flags say so.
//!
//! Each bit is set and cleared by the part of the tracer that it belongs to, and says no more than that the tracer must be
//! asked. Built-ins that an instruction calls are asked about at each call, so what makes them come by where traced ones do is
//! counted in the same word: breakpoints on built-ins, and processes that save their calls.

use myriad_sync::atomic::{AtomicU64, Ordering};

/// `system_profile` reports processes.
pub const RUNNABLE_PROCESSES: u32 = 1 << 0;
/// `system_profile` reports ports.
pub const RUNNABLE_PORTS: u32 = 1 << 1;
/// `system_profile` reports schedulers.
pub const SCHEDULERS: u32 = 1 << 2;
/// `system_profile` takes a process that opens a port for one that cannot run.
pub const EXCLUSIVE: u32 = 1 << 3;
/// `system_monitor` reports long collections or large heaps.
pub const COLLECTIONS: u32 = 1 << 4;
/// `system_monitor` reports long slices.
pub const SLICES: u32 = 1 << 5;
/// New processes get trace flags, whichever process makes them.
pub const NEW_PROCESSES: u32 = 1 << 6;
/// Processes move to private threads and back at random (`+JMmigrate`).
pub const MIGRATION: u32 = 1 << 7;

/// One hook on the calls of built-ins; the number of hooks stands above the bits.
const HOOK: u64 = 1 << 32;

/// The word.
///
/// It is read and written Relaxed: a switch counts from the next event on, and what it makes the tracer look at is ordered by
/// the tracer itself.
#[derive(Default)]
pub struct Switches(AtomicU64);

impl Switches {
    /// Is one of these set?
    #[inline(always)]
    pub fn any(&self, mask: u32) -> bool {
        // Relaxed: see the type.
        self.0.load(Ordering::Relaxed) & u64::from(mask) != 0
    }

    /// Sets those of `mask` that are in `on`, and clears the others of `mask`.
    pub fn set(&self, mask: u32, on: u32) {
        let (mask, on) = (u64::from(mask), u64::from(on & mask));
        // Relaxed: see the type.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| Some(word & !mask | on));
    }

    /// Is there a hook on the calls of any built-in?
    #[inline(always)]
    pub fn hooked(&self) -> bool {
        // Relaxed: see the type.
        self.0.load(Ordering::Relaxed) >= HOOK
    }

    /// Adds a hook on the calls of built-ins.
    pub fn add_hook(&self) {
        // Relaxed: see the type.
        self.0.fetch_add(HOOK, Ordering::Relaxed);
    }

    /// Takes one away that [`Switches::add_hook`] has added.
    pub fn remove_hook(&self) {
        // Relaxed: see the type.
        let before = self.0.fetch_sub(HOOK, Ordering::Relaxed);
        debug_assert!(before >= HOOK, "a hook is taken away that nobody has added");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_and_hooks_share_a_word() {
        let switches = Switches::default();
        switches.set(COLLECTIONS | SLICES, SLICES);
        switches.add_hook();
        switches.add_hook();
        assert!(switches.any(SLICES | SCHEDULERS) && !switches.any(COLLECTIONS) && switches.hooked());
        switches.set(COLLECTIONS | SLICES, COLLECTIONS | SCHEDULERS);
        assert!(switches.any(COLLECTIONS) && !switches.any(SLICES | SCHEDULERS));
        switches.remove_hook();
        assert!(switches.hooked());
        switches.remove_hook();
        assert!(!switches.hooked() && switches.any(COLLECTIONS));
    }
}
