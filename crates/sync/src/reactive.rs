//! [`ReactiveLock`]: a flag while few want the lock, a queue while many do.
//!
//! Lim and Agarwal (Reactive Synchronization Algorithms for Multiprocessors, 1994) choose the protocol by what the last acquisitions
//! met: repeated failures change it from test-and-test-and-set to queueing, repeated immediate acquisitions change it back. Here the
//! flag decides in both protocols who holds the lock, and the queue only decides who may try; so a thread that still waits by
//! the earlier protocol does no harm, and the change needs no second lock. The queue is that of [`McsLock`](crate::McsLock).
//!
//! ```text
//!   free, by flag  <----------- IMMEDIATE times at once ----------- free, by queue
//!        |  ^                                                          |  ^
//!        v  |                                                          v  |
//!   held, by flag  ---- taken after FAILURES looks: held, by queue     held, by queue
//! ```
//!
//! RL1. Only the holder changes the word while it is held: a thread takes it by a compare-exchange from a word that says free.
//! RL2. In the protocol by flag a thread takes the lock whenever it is free; in the protocol by queue as the oldest of the queue, or
//!      when the queue is empty. A thread that waits by flag goes to the queue when it finds the other protocol; one that stands in
//!      the queue takes the lock by whichever protocol it finds.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    backoff::Backoff,
    mcs::Queue,
    spin::{RawSpin, Spinning},
};

const HELD: u32 = 1;
/// The protocol is queueing.
const QUEUEING: u32 = 2;

/// A thread that takes the lock after so many looks at a held one changes to queueing: the pauses of a [`Backoff`] are then spent.
const FAILURES: u32 = if cfg!(loom) { 1 } else { 8 };

/// After so many acquisitions in succession that met nobody the holder changes back.
const IMMEDIATE: u32 = if cfg!(loom) { 1 } else { 64 };

/// Mutual exclusion by a flag or by a queue, as the load wants it.
pub type ReactiveLock<T> = Spinning<Reactive, T>;

/// The word that is taken, and the queue of those that may not try yet.
#[derive(Debug)]
pub struct Reactive {
    word: AtomicU32,
    /// Acquisitions by queue in succession that met nobody. The holder alone touches it.
    immediate: AtomicU32,
    queue: Queue,
}

impl Reactive {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { word: AtomicU32::new(0), immediate: AtomicU32::new(0), queue: Queue::new() }
        }
    }

    /// Changes the word from one that says free to a held one; says whether this thread did.
    #[inline]
    fn take(&self, free: u32, held: u32) -> bool {
        // Acquire: pairs with the Release in `unlock`. Relaxed on failure: only a guess for the next try.
        self.word.compare_exchange(free, held, Acquire, Relaxed).is_ok()
    }

    /// Takes the lock if it is free and no other waits, by queue.
    fn try_by_queue(&self) -> bool {
        let taken = self.queue.is_empty() && self.take(QUEUEING, QUEUEING | HELD);
        if taken {
            self.count_immediate();
        }
        taken
    }

    /// The holder has met nobody: after enough of that it changes to the protocol by flag.
    fn count_immediate(&self) {
        // Relaxed, all: these words are the holder's own (RL1); the Release in `unlock` hands them on.
        let times = self.immediate.load(Relaxed) + 1;
        self.immediate.store(times % IMMEDIATE, Relaxed);
        if times == IMMEDIATE {
            self.word.store(HELD, Relaxed);
        }
    }

    /// Waits by flag; false once the protocol is queueing.
    fn lock_by_flag(&self) -> bool {
        let (mut backoff, mut failures) = (Backoff::new(), 0);
        loop {
            let held = if failures < FAILURES { HELD } else { HELD | QUEUEING };
            // Relaxed: a first look, which `take` checks.
            match self.word.load(Relaxed) {
                0 if self.take(0, held) => return true,
                0 | HELD => failures += 1,
                _ => return false,
            }
            backoff.pause();
        }
    }

    /// Waits for this thread's turn, then for the flag, and gives the turn on: the next one watches the flag while this one works.
    fn lock_by_queue(&self) {
        self.queue.in_turn(|| {
            let mut backoff = Backoff::new();
            loop {
                // Relaxed: as in `lock_by_flag`.
                let word = self.word.load(Relaxed);
                if word & HELD == 0 && self.take(word, word | HELD) {
                    break;
                }
                backoff.pause();
            }
        });
        // Relaxed: as in `count_immediate`.
        self.immediate.store(0, Relaxed);
    }
}

// SAFETY: RL1: only a change from a word without HELD to one with it acquires, and the Acquire there pairs with the Release in `unlock`.
unsafe impl RawSpin for Reactive {
    fn lock(&self) {
        if !self.try_lock() && !self.lock_by_flag() {
            self.lock_by_queue();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.take(0, HELD) || self.try_by_queue()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // Relaxed load: only the holder, this thread, changes it (RL1). Release: pairs with the Acquire in `take`.
        self.word.store(self.word.load(Relaxed) & QUEUEING, Release);
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::{IMMEDIATE, QUEUEING, ReactiveLock};
    use crate::{LockClass, atomic::Ordering::Relaxed};
    use std::time::Duration;

    static CLASS: LockClass = LockClass::new("reactive", 1);

    fn by_queue(lock: &ReactiveLock<u32>) -> bool {
        lock.raw.word.load(Relaxed) & QUEUEING != 0
    }

    #[test]
    fn the_protocol_follows_the_load() {
        let lock = ReactiveLock::new(&CLASS, 0);
        // Under miri the waiter takes as much longer for as many looks.
        let held_ms = if cfg!(miri) { 500 } else { 5 };
        while !by_queue(&lock) {
            std::thread::scope(|scope| {
                let _held = lock.lock();
                scope.spawn(|| drop(lock.lock()));
                std::thread::sleep(Duration::from_millis(held_ms));
            });
        }
        for _ in 1..IMMEDIATE {
            *lock.lock() += 1;
        }
        assert!(by_queue(&lock));
        *lock.lock() += 1;
        assert!(!by_queue(&lock));
        assert_eq!(lock.into_inner(), IMMEDIATE);
    }
}

/// Caught when tried: the Acquire in `take` and the Release in `unlock` made Relaxed; a change back that frees the word; a thread in
/// the queue that takes the lock without a look whether it is held, or only while the protocol is queueing. The word alone orders
/// what is done under the lock; what the queue needs is in the models of the MCS lock.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{QUEUEING, ReactiveLock};
    use crate::{
        LockClass,
        atomic::Ordering::Relaxed,
        spin::loom_tests::{excludes, locked, tried},
    };

    static CLASS: LockClass = LockClass::new("reactive", 1);

    fn by_queue() -> ReactiveLock<u32> {
        let lock = ReactiveLock::new(&CLASS, 0);
        lock.raw.word.store(QUEUEING, Relaxed);
        lock
    }

    /// One failure changes to queueing, one immediate acquisition back: both protocols and both changes occur.
    #[test]
    fn excludes_in_both_protocols_and_between_them() {
        for new in [|| ReactiveLock::new(&CLASS, 0), by_queue] {
            excludes(2, new, locked);
            excludes(2, new, tried);
        }
    }
}
