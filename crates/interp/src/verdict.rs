//! What whoever makes machine code has found about a function.

use myriad_sync::atomic::{AtomicU8, Ordering};

/// Why a function has no machine code: a number of the compiler's own; 0: nobody has tried, or it has some.
#[derive(Default)]
pub struct Verdict(AtomicU8);

impl Verdict {
    /// Notes why.
    pub fn set(&self, number: u8) {
        // Relaxed: nothing else is read by it.
        self.0.store(number, Ordering::Relaxed);
    }

    /// What was noted last.
    pub fn get(&self) -> u8 {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}
