//! [`OutsideWait`]: a thread that at times waits where only an event wakes it, instead of by its parker.
//!
//! It waits in a call of the operating system that a [`Parker`](crate::Parker) cannot end; an *interrupt*, which is an event too and costs a call, ends it. So
//! a waker notifies the thread first, by what that looks at before it sleeps, then looks whether it waits outside, and interrupts it only then. The
//! thread says first that it waits outside, then looks whether it was notified, and waits only if not. Another thread may take the events in
//! its place; if there is an interrupt among them, it passes that on if the thread waits by now.
//!
//! OW1. Who waits outside and has found no notice is seen to wait by any waker that notifies it after that look (Dekker's protocol: sync/SL1).
//! OW2. An interrupt that another thread has taken is passed on, unless the thread will look for the notice before it waits.
//! OW3. An interrupt may come when its thread waits no more, and then ends its next wait early: waits are repeated anyway.
//!
//! What was not done: an interrupt at every notice, which needs no protocol and costs a call of the operating system each time.

use crate::atomic::{
    AtomicBool,
    Ordering::{Relaxed, SeqCst},
    fence,
};

/// Whether one thread waits outside.
#[derive(Debug)]
pub struct OutsideWait(AtomicBool);

/// The thread waits outside until this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Outside<'a>(&'a OutsideWait);

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl OutsideWait {
    const_unless_loom! {
        /// The thread does not wait outside.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    /// Says that the calling thread, the only one that may, waits outside: before it looks for a notice, and then waits if there is none.
    pub fn begin(&self) -> Outside<'_> {
        // Relaxed: ordered by the fence.
        self.0.store(true, Relaxed);
        // Pairs with the fence in `needs_interrupt` (OW1).
        fence(SeqCst);
        Outside(self)
    }

    /// Says that the thread waits outside no more: for who has forgotten the guard of [`OutsideWait::begin`].
    pub fn end(&self) {
        // Relaxed: who still sees it as waiting interrupts it once too often (OW3).
        self.0.store(false, Relaxed);
    }

    /// To be asked after the thread was notified, or after an interrupt of its was taken in its place: does its wait have to be ended by an interrupt?
    #[must_use]
    pub fn needs_interrupt(&self) -> bool {
        // Pairs with the fence in `begin` (OW1, OW2).
        fence(SeqCst);
        // Relaxed: ordered by the fence.
        self.0.load(Relaxed)
    }

    /// Does the thread wait outside? (A figure, already old.)
    pub fn is_on(&self) -> bool {
        self.0.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::OutsideWait;

    #[test]
    fn it_waits_until_the_guard_is_dropped() {
        let wait = OutsideWait::new();
        assert!(!wait.needs_interrupt());
        let outside = wait.begin();
        assert!(wait.needs_interrupt() && wait.is_on());
        drop(outside);
        assert!(!wait.needs_interrupt() && !wait.is_on());
    }
}

/// Caught when tried: no fence in `begin`, one of Acquire or Release there, none in `needs_interrupt`, one of `AcqRel` there (each a wake-up that is lost: a
/// deadlock); an interrupt that is not passed on, a look for a notice before `begin`, a look at who waits before the notice (so too).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::OutsideWait;
    use crate::Parker;
    use loom::sync::{Condvar, Mutex};
    use loom::thread;
    use std::sync::Arc;

    /// A thread that waits outside once, and what it waits in there.
    struct Shared {
        wait: OutsideWait,
        parker: Parker,
        /// An interrupt has come and was not taken.
        interrupt: Mutex<bool>,
        comes: Condvar,
    }

    impl Shared {
        fn new() -> Arc<Shared> {
            let (interrupt, comes) = (Mutex::new(false), Condvar::new());
            Arc::new(Shared { wait: OutsideWait::new(), parker: Parker::new(), interrupt, comes })
        }

        /// Waits until it was notified.
        fn wait(&self) {
            let _outside = self.wait.begin();
            while !self.parker.take_notice() {
                let mut interrupt = self.interrupt.lock().unwrap();
                while !std::mem::take(&mut *interrupt) {
                    interrupt = self.comes.wait(interrupt).unwrap();
                }
            }
        }

        fn wake(&self) {
            self.parker.unpark();
            self.interrupt();
        }

        fn interrupt(&self) {
            if self.wait.needs_interrupt() {
                *self.interrupt.lock().unwrap() = true;
                self.comes.notify_one();
            }
        }

        /// Takes the events in the place of the thread.
        fn take(&self) {
            let interrupt = std::mem::take(&mut *self.interrupt.lock().unwrap());
            if interrupt {
                self.interrupt();
            }
        }
    }

    #[test]
    fn loom_who_waits_outside_is_woken() {
        loom::model(|| {
            let shared = Shared::new();
            let waker = shared.clone();
            let waker = thread::spawn(move || waker.wake());
            shared.wait();
            waker.join().unwrap();
        });
    }

    #[test]
    fn loom_an_interrupt_that_another_takes_is_passed_on() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Shared::new();
            let (waker, taker) = (shared.clone(), shared.clone());
            let waker = thread::spawn(move || waker.wake());
            let taker = thread::spawn(move || taker.take());
            shared.wait();
            waker.join().unwrap();
            taker.join().unwrap();
        });
    }
}
