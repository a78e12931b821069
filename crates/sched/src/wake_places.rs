//! Where schedulers' threads wake: beside their wakers, not behind them.
//!
//! Who wakes another scheduler for work that waits works on. If the system puts the thread that wakes on its waker's processor, it stands still until the waker
//! sleeps, or the system looks again, after milliseconds, while other processors do nothing. Linux does so in half of all wake-ups where it is the guest of
//! a hypervisor: to a guest a processor that has nothing to do looks like one that the hypervisor has taken away. So who wakes compares its
//! processor and how long it took with those of its waker, and once that was too bad, each of the next [`TRUST_AFTER`] such wake-ups keeps
//! the thread off its waker's processor until it is up. Where the system does well, nothing is done.
//!
//! What was not done: to bind the threads, of which each would wait for its own processor while others are free, and several programs on a machine
//! for the same ones.

use myriad_sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use myriad_sync::machine::affinity::{KeptOff, Thread, current_processor};
use myriad_sync::{CachePadded, LockClass, Mutex, OnceLock};

static CLASS: LockClass = LockClass::new("wake_place", 669);

/// A wake-up on the waker's processor that took longer was behind the waker, nanoseconds: several times what a sleeping processor needs to wake.
const BEHIND_NS: u64 = 200_000;
/// After so many wake-ups the system is trusted again.
const TRUST_AFTER: u32 = 1000;

/// All schedulers' threads.
pub(crate) struct WakePlaces {
    sleepers: Box<[CachePadded<Sleeper>]>,
    /// So many wake-ups more are not left to the system. A figure, as all here: written by several threads, of which one may be lost.
    distrust: AtomicU32,
}

/// A scheduler's thread, and its last wake-up.
#[derive(Default)]
struct Sleeper {
    /// Known since it first slept.
    thread: OnceLock<Option<Thread>>,
    /// When it was woken, and on which processor the waker ran; 0: not since it last looked.
    woken_ns: AtomicU64,
    waker: AtomicU32,
    kept_off: Off,
}

struct Off(Mutex<Option<KeptOff>>);

impl Default for Off {
    fn default() -> Off {
        Off(Mutex::new(&CLASS, None))
    }
}

impl WakePlaces {
    pub(crate) fn new(schedulers: usize) -> WakePlaces {
        WakePlaces { sleepers: (0..schedulers).map(|_| CachePadded::default()).collect(), distrust: AtomicU32::new(0) }
    }

    /// The calling thread, that of scheduler `id`, is about to sleep.
    pub(crate) fn sleeps(&self, id: usize) {
        self.sleepers[id].thread.get_or_init(Thread::current);
    }

    /// Time that processors have worked for the thread of scheduler `id`, nanoseconds, if it has slept yet and the system tells.
    pub(crate) fn worked_ns(&self, id: usize) -> Option<u64> {
        self.sleepers[id].thread.get().copied().flatten()?.worked_ns()
    }

    /// The calling thread is about to wake that of scheduler `id`, and works on.
    pub(crate) fn wakes(&self, id: usize, now_ns: u64) {
        let (sleeper, Some(processor)) = (&self.sleepers[id], current_processor()) else { return };
        // Relaxed, all: figures.
        let distrust = self.distrust.load(Relaxed);
        if distrust > 0
            && let Some(thread) = sleeper.thread.get().copied().flatten()
        {
            self.distrust.store(distrust - 1, Relaxed);
            let mut kept_off = sleeper.kept_off.0.lock();
            if kept_off.is_none() {
                *kept_off = thread.keep_off(processor);
            }
        }
        // After that: a thread that something else wakes meanwhile does not take this for done, and lets itself back after the notice to come.
        sleeper.waker.store(processor, Relaxed);
        sleeper.woken_ns.store(now_ns, Relaxed);
    }

    /// The calling thread, that of scheduler `id`, is up.
    pub(crate) fn is_up(&self, id: usize, now_ns: impl Fn() -> u64) {
        let sleeper = &self.sleepers[id];
        // Relaxed, all: figures. Its waker's notice has come after them.
        let woken_ns = sleeper.woken_ns.load(Relaxed);
        if woken_ns == 0 {
            return;
        }
        sleeper.woken_ns.store(0, Relaxed);
        if let Some(kept_off) = sleeper.kept_off.0.lock().take() {
            kept_off.let_back();
        } else if current_processor() == Some(sleeper.waker.load(Relaxed))
            && now_ns().saturating_sub(woken_ns) >= BEHIND_NS
        {
            self.distrust.store(TRUST_AFTER, Relaxed);
        }
    }
}

#[cfg(all(test, not(interleaved)))]
mod tests {
    use super::{BEHIND_NS, TRUST_AFTER, WakePlaces};
    use myriad_sync::atomic::Ordering::Relaxed;
    use myriad_sync::machine::affinity::{Thread, allowed_processors, current_processor};

    #[test]
    fn who_woke_behind_its_waker_is_kept_off_its_processor_the_next_times() {
        let Some(thread) = Thread::current() else { return };
        let places = WakePlaces::new(1);
        let all = allowed_processors(thread).unwrap();
        // Bound for a moment, so that this thread finds itself where it was woken from.
        thread.bind(all[0]).unwrap();
        places.sleeps(0);
        places.wakes(0, 1);
        places.is_up(0, || 1 + BEHIND_NS);
        thread.unbind().unwrap();
        assert_eq!(places.distrust.load(Relaxed), TRUST_AFTER);

        places.wakes(0, 1);
        let waker = places.sleepers[0].waker.load(Relaxed);
        let others: Vec<u32> = all.iter().copied().filter(|one| *one != waker).collect();
        if !others.is_empty() {
            assert_eq!(allowed_processors(thread).unwrap(), others);
            assert!(others.contains(&current_processor().unwrap()));
        }
        places.is_up(0, || 2);
        assert_eq!(allowed_processors(thread).unwrap(), all);
        assert_eq!(places.distrust.load(Relaxed), TRUST_AFTER - 1);
    }

    #[test]
    fn a_quick_wake_up_is_left_to_the_system() {
        let places = WakePlaces::new(1);
        places.sleeps(0);
        places.wakes(0, 1);
        places.is_up(0, || 2);
        places.is_up(0, || 1 + BEHIND_NS);
        assert_eq!(places.distrust.load(Relaxed), 0);
    }
}
