//! Schedulers that sleep are woken to give memory back (`+swct`).
//!
//! A block that is freed goes back to the thread that has allocated it, whoever frees it, and that thread's part of the allocator gives memory
//! back to the system when the thread collects it: a scheduler that has worked does, once it has been idle for a while. What others free
//! of its blocks while it sleeps would stay until it works again. Nothing tells who has allocated what is freed. So schedulers that
//! work, or are about to park, look now and then at how much is in use, and when that has become so much less since another has
//! collected, that one is woken to collect again.
//!
//! CU1. Each fall in use wakes a scheduler once: what was in use at most counts from then on as what is in use now.
//! CU2. Nothing but memory rests on a look, so two at a time, or one that finds old figures, do no harm.
//!
//! Heaps, messages, bundles and binaries count. Rows of tables do not: their memory is counted by the table, and to add that up costs too much.
//! Nothing that waits for thread progress waits for a wake-up: a scheduler sees to it before it parks (sync.progress/G5).

use myriad_heap::account;
use myriad_sched::dispatcher::TRIM_AFTER;
use myriad_sync::CachePadded;
use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use myriad_term::{binary, memory};

/// From one look to the next (nanoseconds): who has worked looks again when it has slept for so long, so what is freed last is seen.
const LOOK_EVERY_NS: u64 = TRIM_AFTER.as_nanos() as u64;

/// Which schedulers are to give memory back.
pub(crate) struct CleanUp {
    /// A scheduler collects when so many bytes fewer are in use.
    threshold: usize,
    next_look_ns: AtomicU64,
    schedulers: Box<[CachePadded<Collector>]>,
}

/// A scheduler that collects.
#[derive(Default)]
struct Collector {
    /// Most bytes in use since it last did, or was told to, as far as looks have seen.
    most: AtomicUsize,
    /// It is to collect.
    is_due: AtomicBool,
}

/// The bytes of all heaps, messages, bundles and shared binaries.
pub(crate) fn bytes_in_use() -> usize {
    account::heaps().size * size_of::<usize>() + binary::shared_bytes()
}

impl CleanUp {
    pub(crate) fn new(schedulers: usize, threshold: usize) -> CleanUp {
        let schedulers = (0..schedulers).map(|_| CachePadded::default()).collect();
        CleanUp { threshold, next_look_ns: AtomicU64::new(0), schedulers }
    }

    /// Is it time to look? Then for one of those who ask.
    #[inline]
    fn is_time(&self, now_ns: u64) -> bool {
        // Relaxed, here and below: CU2.
        let next_ns = self.next_look_ns.load(Ordering::Relaxed);
        let new_ns = now_ns.saturating_add(LOOK_EVERY_NS);
        let exchange = || self.next_look_ns.compare_exchange(next_ns, new_ns, Ordering::Relaxed, Ordering::Relaxed);
        now_ns >= next_ns && exchange().is_ok()
    }

    /// If it is time, sees whether schedulers are to give memory back, and has `wake` wake them.
    #[inline]
    pub(crate) fn look_if_time(&self, now_ns: u64, wake: impl FnMut(usize)) {
        if self.is_time(now_ns) && memory::can_trim() {
            self.look(bytes_in_use()).for_each(wake);
        }
    }

    /// So many bytes are in use: the schedulers that are to be woken for that.
    fn look(&self, in_use: usize) -> impl Iterator<Item = usize> {
        self.schedulers.iter().enumerate().filter_map(move |(id, one)| {
            let most = one.most.fetch_max(in_use, Ordering::Relaxed).max(in_use);
            (most - in_use >= self.threshold).then(|| {
                one.most.store(in_use, Ordering::Relaxed);
                one.is_due.store(true, Ordering::Relaxed);
                id
            })
        })
    }

    /// Is this scheduler to collect? It does, soon after.
    pub(crate) fn take_due(&self, id: usize) -> bool {
        let is_due = &self.schedulers[id].is_due;
        // Relaxed: who set it has woken this scheduler since, which orders them (sync.parker/K2).
        is_due.load(Ordering::Relaxed) && is_due.swap(false, Ordering::Relaxed)
    }

    /// It has collected when so many bytes were in use.
    pub(crate) fn is_done(&self, id: usize, in_use: usize) {
        self.schedulers[id].most.store(in_use, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{CleanUp, LOOK_EVERY_NS};

    fn looks(clean_up: &CleanUp, in_use: usize) -> Vec<usize> {
        clean_up.look(in_use).collect()
    }

    #[test]
    fn one_look_at_a_time() {
        let clean_up = CleanUp::new(1, 10);
        let asked = [0, 1, LOOK_EVERY_NS - 1, LOOK_EVERY_NS, LOOK_EVERY_NS + 1];
        assert_eq!(asked.map(|now_ns| clean_up.is_time(now_ns)), [true, false, false, true, false]);
    }

    #[test]
    fn each_fall_wakes_once() {
        let clean_up = CleanUp::new(2, 10);
        assert_eq!(looks(&clean_up, 50), []);
        assert_eq!(looks(&clean_up, 41), []);
        assert!(!clean_up.take_due(0));
        // Bit by bit is a fall, too.
        assert_eq!(looks(&clean_up, 40), [0, 1]);
        assert_eq!([clean_up.take_due(0), clean_up.take_due(0)], [true, false]);
        assert_eq!(looks(&clean_up, 40), []);
        assert_eq!(looks(&clean_up, 31), []);
        assert_eq!(looks(&clean_up, 60), []);
        // Who has collected meanwhile does not do it again.
        clean_up.is_done(1, 52);
        assert_eq!(looks(&clean_up, 45), [0]);
        assert_eq!(looks(&clean_up, 42), [1]);
    }
}
