//! [`Request`]: any thread asks one thread to look at something anew.
//!
//! RQ1. Who takes a request sees what was written before it was made. One that is made while the thread looks is there afterwards.
//!
//! So the thread sees what was written before a request either in what it does after it has taken the request, or (if it takes it later)
//! in the look that it has then. Requests do not add up: what is looked at is looked at whole.

use crate::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};

/// Whether a request has been made that is not yet taken.
#[derive(Debug)]
pub struct Request(AtomicBool);

impl Request {
    const_unless_loom! {
        /// None.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    /// Makes one.
    pub fn make(&self) {
        // Release: pairs with the Acquire in `take` (RQ1).
        self.0.store(true, Release);
    }

    /// Takes it, if one has been made; for one thread.
    #[inline]
    pub fn take(&self) -> bool {
        // Relaxed: mostly there is none; one that is missed is taken the next time. Acquire: pairs with the Release in `make`.
        self.0.load(Relaxed) && self.0.swap(false, Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Request;

    #[test]
    fn is_taken_once() {
        let request = Request::new();
        assert!(!request.take());
        request.make();
        request.make();
        assert!(request.take() && !request.take());
    }
}

/// Caught when tried: Relaxed for the Release of `make`, and for the Acquire of `take`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Request;
    use crate::atomic::{AtomicU32, Ordering::Relaxed};
    use loom::thread;
    use std::sync::Arc;

    /// A process is put in a queue by its priority, which another thread raises: the owner of the queue has it at the higher one in the end.
    #[test]
    fn what_was_written_before_a_request_is_seen() {
        loom::model(|| {
            let shared = Arc::new((AtomicU32::new(0), Request::new()));
            let asks = shared.clone();
            let asker = thread::spawn(move || {
                asks.0.store(1, Relaxed);
                asks.1.make();
            });
            let (priority, request) = &*shared;
            let early = request.take();
            // It is added, by the priority that is seen now.
            let mut queued = priority.load(Relaxed);
            let late = request.take();
            if late {
                queued = priority.load(Relaxed);
            }
            // A request that is not taken yet is taken some time.
            assert!(!(early || late) || queued == 1);
            asker.join().unwrap();
        });
    }
}
