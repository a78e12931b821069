//! [`ExitFlag`]: an object ends while others give it things, and nothing that was given stays behind.
//!
//! A giver leaves the gift first, then looks whether the object ends, and takes the gift back if so. The thread that ends the object
//! sets the flag first, then collects what the object was given.
//!
//! EF1. A gift is seen by the thread that ends the object, after [`ExitFlag::set`], or [`ExitFlag::must_take_back`] is true for the
//!      giver (sync/SL1). Both may happen, so a gift must be such that taking it twice does no harm (a lock decides who has it).
//!
//! What was not done: a lock around both steps. Every giver would have to take the lock of the object's end.

use crate::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
    fence,
};

/// Whether an object ends, or has ended.
#[derive(Debug)]
pub struct ExitFlag(AtomicBool);

impl ExitFlag {
    const_unless_loom! {
        /// It lives.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    /// It ends. To be called once, before what it was given is collected.
    pub fn set(&self) {
        // Relaxed: ordered by the fence, which pairs with that in `must_take_back` (EF1).
        self.0.store(true, Relaxed);
        fence(SeqCst);
    }

    /// To be asked after something was given: is it to be taken back, for the object ends?
    #[must_use]
    pub fn must_take_back(&self) -> bool {
        // Pairs with the fence in `set` (EF1).
        fence(SeqCst);
        // Relaxed: ordered by the fence.
        self.0.load(Relaxed)
    }

    /// Does it end (a figure, already old)? For callers that give nothing.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Relaxed: a thread that has learned of the end, by a signal or under a lock, sees the flag by that.
        self.0.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ExitFlag;

    #[test]
    fn what_comes_too_late_is_taken_back() {
        let flag = ExitFlag::new();
        assert!(!flag.must_take_back() && !flag.is_set());
        flag.set();
        assert!(flag.must_take_back() && flag.is_set());
    }
}

/// Caught when tried: no fence in `set`; no fence in `must_take_back`; `is_set` in its place; a look before the gift; gifts
/// collected before `set`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::ExitFlag;
    use crate::atomic::{AtomicBool, Ordering::Relaxed};
    use loom::thread;
    use std::sync::Arc;

    #[test]
    fn loom_no_gift_stays_behind() {
        loom::model(|| {
            let object = Arc::new((ExitFlag::new(), [AtomicBool::new(false), AtomicBool::new(false)]));
            let givers = [0, 1].map(|giver| {
                let object = object.clone();
                thread::spawn(move || {
                    let (flag, gifts) = &*object;
                    // Relaxed: the protocol has to order.
                    gifts[giver].store(true, Relaxed);
                    flag.must_take_back()
                })
            });
            let (flag, gifts) = &*object;
            flag.set();
            let collected = gifts.each_ref().map(|gift| gift.load(Relaxed));
            let taken_back = givers.map(|giver| giver.join().unwrap());
            for giver in [0, 1] {
                assert!(collected[giver] || taken_back[giver], "the gift of {giver} stays behind");
            }
        });
    }
}
