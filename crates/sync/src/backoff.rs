//! Waiting a little: [`Backoff`] for loops that retry, [`spin_hint`] for one turn of one.
//!
//! Exponential back-off as in Anderson (1990): each failed try doubles the pause, so that the threads that
//! wait do not slow down the one that works. After some doublings the holder has probably lost its core, and the thread gives
//! its own away instead.

use crate::backend;

/// Pauses of up to `1 << SPIN_STEPS` turns; then the processor is yielded.
const SPIN_STEPS: u32 = 6;

/// Tells the processor that this is a spin loop. In a model, lets the others run; without threads, panics.
#[inline(always)]
pub fn spin_hint() {
    backend::spin_loop();
}

/// The pause between tries, growing.
#[derive(Debug, Default)]
pub struct Backoff {
    step: u32,
}

impl Backoff {
    /// The shortest pause first.
    pub const fn new() -> Self {
        Self { step: 0 }
    }

    /// Waits, longer each time, and yields the processor once spinning has lasted too long.
    pub fn pause(&mut self) {
        if cfg!(any(loom, interleaved)) {
            return backend::thread::yield_now();
        }
        if self.step <= SPIN_STEPS {
            for _ in 0..1u32 << self.step {
                backend::spin_loop();
            }
            self.step += 1;
        } else {
            backend::thread::yield_now();
        }
    }

    /// Whether spinning has lasted so long that blocking would be better.
    pub const fn is_spent(&self) -> bool {
        self.step > SPIN_STEPS
    }

    /// Back to the shortest pause, after a success.
    pub const fn reset(&mut self) {
        self.step = 0;
    }
}
