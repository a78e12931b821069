//! [`Summons`]: others ask one thread to do work that lies under a lock; while nobody asks, the thread takes no lock to find that out.
//!
//! Who asks adds the work, sets the word, both under the lock, and then unparks the thread, in this order. The thread clears the word
//! first, and then looks for work under the lock.
//!
//! ```text
//!    who asks                          the thread that is asked
//!    lock                              is the word set? if not, sleep, until unparked
//!    add work                          clear the word
//!    set the word                      lock
//!    unlock                            take one piece of work, if there is any
//!    unpark the thread                 unlock
//!                                      if there was some: set the word, there may be more
//! ```
//!
//! SU1. No work stays behind unasked for. If the thread misses a piece, its lock came before that of who added it, and so did the
//!      clearing: the word is set. If the thread sleeps by then, the unparking comes after the setting, so it finds the word set.
//!
//! The lock makes store and look one step, so no fence is needed, and `call` asks to be shown that the lock is held.
//!
//! What was not done: a count of the pieces of work, which each of them would have to keep right, also where others take work away.

use crate::{
    MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Whether the thread is asked for.
#[derive(Debug)]
pub struct Summons(AtomicBool);

impl Summons {
    const_unless_loom! {
        /// Nobody asks.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    /// Asks for the thread, which is to be unparked then. `_under` is the lock under which the work was added.
    pub fn call<T>(&self, _under: &MutexGuard<'_, T>) {
        // Relaxed: the lock orders it with the clearing, and the unparking with the look before a sleep (SU1).
        self.0.store(true, Relaxed);
    }

    /// For the thread, before it sleeps and between other work: is it asked for?
    #[inline]
    pub fn is_called(&self) -> bool {
        // Relaxed: as in `call`.
        self.0.load(Relaxed)
    }

    /// For the thread: what `look`, which takes the lock, finds. It stays asked for if that was something, since there may be more.
    pub fn answer<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        // Relaxed: as in `call`. Before the look (SU1).
        self.0.store(false, Relaxed);
        let found = look();
        if found.is_some() {
            self.0.store(true, Relaxed);
        }
        found
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Summons;
    use crate::{LockClass, Mutex};

    static CLASS: LockClass = LockClass::new("summons_test", 1);

    #[test]
    fn it_is_asked_for_until_a_look_finds_nothing() {
        let (summons, work) = (Summons::new(), Mutex::new(&CLASS, vec![1, 2]));
        assert!(!summons.is_called());
        summons.call(&work.lock());
        for left in [Some(2), Some(1)] {
            assert_eq!(summons.answer(|| work.lock().pop()), left);
            assert!(summons.is_called(), "there may be more");
        }
        assert_eq!(summons.answer(|| work.lock().pop()), None);
        assert!(!summons.is_called());
    }
}

/// Caught when tried, each as work that nobody does (a deadlock): the word cleared after the look; not set again after work was found; set before
/// the work is added; the thread unparked before the word is set.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Summons;
    use crate::{LockClass, Mutex, Parker};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("summons_model", 1);

    #[test]
    fn loom_no_work_stays_behind() {
        const CALLERS: u32 = 2;
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Arc::new((Summons::new(), Mutex::new(&CLASS, 0), Parker::new()));
            let callers = [(); CALLERS as usize].map(|()| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (summons, work, parker) = &*shared;
                    let mut added = work.lock();
                    *added += 1;
                    summons.call(&added);
                    drop(added);
                    parker.unpark();
                })
            });
            let (summons, work, parker) = &*shared;
            let take = || {
                let mut left = work.lock();
                *left = u32::checked_sub(*left, 1)?;
                Some(())
            };
            let mut done = 0;
            while done < CALLERS {
                if !summons.is_called() {
                    parker.park(None);
                } else if summons.answer(take).is_some() {
                    done += 1;
                }
            }
            callers.into_iter().for_each(|caller| caller.join().unwrap());
        });
    }
}
