//! [`Pins`]: an object goes out of use, and who reads it for long keeps it from being freed, without being waited for.
//!
//! A reader pins the object first, then looks whether it goes already, and gives the pin back if so. Whoever ends the object closes it
//! first, then looks for pins: if there are some, it leaves the object for now and looks again later.
//!
//! PN1. Once [`Pins::close`] or a later [`Pins::is_pinned`] has found no pin, [`Pins::pin`] is false for everyone, and all that readers
//!      did with the object is done (sync/EF1, sync/SL1).
//! PN2. `pin` itself touches the object: its caller has means of its own by which it is not freed that long (thread progress).
//!
//! What was not done: a reader that is registered for thread progress. All that waits to be freed would wait for it.

use crate::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::exit_flag::ExitFlag;

/// Who reads an object for long, and whether it is to go.
#[derive(Debug)]
pub struct Pins {
    closed: ExitFlag,
    count: AtomicUsize,
}

impl Pins {
    const_unless_loom! {
        /// Of an object that nobody has pinned.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self { closed: ExitFlag::new(), count: AtomicUsize::new(0) }
        }
    }

    /// Keeps the object until [`Pins::unpin`] (PN2); `false`: it is to go.
    #[must_use]
    pub fn pin(&self) -> bool {
        // Relaxed: ordered by the fence in `must_take_back`.
        self.count.fetch_add(1, Relaxed);
        let kept = !self.closed.must_take_back();
        if !kept {
            self.unpin();
        }
        kept
    }

    /// Gives a pin back: the caller does not touch the object any more.
    pub fn unpin(&self) {
        // Release: what the reader did is done; pairs with the Acquire in `is_pinned`.
        let before = self.count.fetch_sub(1, Release);
        debug_assert!(before > 0, "more pins are given back than there were");
    }

    /// The object is to go. To be called once; `true`: it is pinned.
    #[must_use]
    pub fn close(&self) -> bool {
        self.closed.set();
        self.is_pinned()
    }

    /// Is it pinned still? For the one that has closed it.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        // Acquire: pairs with the Release in `unpin`.
        self.count.load(Acquire) != 0
    }

    /// Is it to go (a figure, already old)?
    pub fn is_closed(&self) -> bool {
        self.closed.is_set()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Pins;

    #[test]
    fn what_is_closed_is_not_pinned_again() {
        let pins = Pins::new();
        assert!(pins.pin() && !pins.is_closed());
        assert!(pins.close() && pins.is_closed());
        assert!(!pins.pin() && pins.is_pinned());
        pins.unpin();
        assert!(!pins.is_pinned());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::Pins;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    struct Shared {
        pins: Pins,
        /// Is it there? Taking it away stands for freeing it.
        object: UnsafeCell<bool>,
    }
    // SAFETY: the cell is read by those who have pinned it, and written once nobody has (PN1). (Were it otherwise, loom's cell would say so.)
    unsafe impl Sync for Shared {}

    #[test]
    fn loom_what_is_pinned_is_not_freed() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Shared { pins: Pins::new(), object: UnsafeCell::new(true) });
            let readers = [0, 1].map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    if shared.pins.pin() {
                        // SAFETY: pinned.
                        assert!(shared.object.with(|there| unsafe { *there }));
                        shared.pins.unpin();
                    }
                })
            });
            // A second look stands for those after thread progress.
            if !shared.pins.close() || !shared.pins.is_pinned() {
                // SAFETY: PN1.
                shared.object.with_mut(|there| unsafe { *there = false });
            }
            readers.into_iter().for_each(|reader| reader.join().unwrap());
        });
    }
}
