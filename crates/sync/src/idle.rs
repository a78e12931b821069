//! [`IdleSet`]: workers that sleep when they find no work, and producers that wake them.
//!
//! A worker announces that it is idle, then looks for work a last time, then sleeps. A producer leaves work where workers look, then
//! looks for an idle worker, and wakes one. Before a worker announces itself it may search for a while; one worker at a time does so,
//! and as long as it does producers wake nobody. The sleep modules of rayon and tokio are of this kind.
//!
//! ```text
//!   worker                      the set                            producer
//!   ------                      -------                            --------
//!   Busy
//!    | search                   searching = true
//!   Searching                                                      push; fence; sees the searcher: wakes nobody
//!    | found, or time over      searching = false; fence
//!   Busy -- looks at the queues (IS2)
//!    | enter                    its bit set; fence
//!   Idle -- last look (IS1)                                        push; fence; sees the bit
//!    | sleeps                                                      claim: Idle -> Woken, then unpark (IS3)
//!   Woken
//!    | leave                    its bit cleared
//!   Busy
//! ```
//!
//! A worker makes all its moves but that to Woken, which a producer makes. A worker may leave from Idle by itself: it has seen work
//! in its last look, its timer is due, or it was woken for something that only it may do.
//!
//! IS1. A worker's fence in [`IdleSet::enter`] and a producer's in [`IdleSet::after_push`] are a case of sync/SL1: the worker sees the work
//!      in its last look, or the producer sees the worker idle.
//! IS2. A producer that sees a search under way wakes nobody. So a worker whose search is over, whether it has found work or not,
//!      must look again, and wake another worker if there is more than it takes itself; by the fence at the end of a [`Search`] it
//!      sees what came during the search (sync/SL1 again: that fence, and the producer's).
//! IS3. A producer that claims an idle worker must wake it. Another producer that sees that worker Woken or Busy need not: the next
//!      `enter` of that worker comes later than the fence of this producer, so the worker's last look finds the work (IS1). Perhaps
//!      no sooner than that: the worker may have found other work. So one that was claimed, as [`IdleSet::leave`] tells, must look
//!      again before it does that, and wake another worker for what it leaves.
//!
//! All accesses but one are Relaxed: the fences order them, and what is left in a queue is ordered by the queue's own lock.
//!
//! What was not done:
//! - *SeqCst accesses and no fences.* The lengths of all queues would have to be SeqCst as well, in each push and take, and loom
//!   could not check it.
//! - *Idle and searching workers counted in one word*, as tokio does. The look of a producer is one load then instead of two; but the
//!   end of a search is a read-modify-write, and so is each step of a worker.
//! - *A number that counts announcements*, which a worker notes before it looks and compares when it sleeps (an event count). Each
//!   producer would have to write it, even when all workers are busy.
//! - *To wake a worker for each piece of work.* Two processes in a dialogue would wake a core for every message.
//! - *All idle workers search.* They take the lines of the queues from those at work, and burn what a container's quota allows.
//!
//! The idle workers stand in [`Bits`]: a producer looks at one word for 64 of them. Whether a worker may be claimed is in its own word
//! alone; a worker's bit is set and cleared by nobody else, so that no late hand clears that of one that has come back.

use crate::atomic::{
    AtomicBool, AtomicU8,
    Ordering::{Acquire, Relaxed, SeqCst},
    fence,
};
use crate::{Bits, CachePadded};

const BUSY: u8 = 0;
const SEARCHING: u8 = 1;
const IDLE: u8 = 2;
const WOKEN: u8 = 3;

/// What one worker is doing. It is best kept beside its queue: a producer that has just left work there looks here next.
#[derive(Debug)]
pub struct Worker(AtomicU8);

impl Worker {
    const_unless_loom! {
        /// At work.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicU8::new(BUSY))
        }
    }

    /// Does it sleep, or is about to, or has not yet come back (a figure, already old)?
    #[inline]
    pub fn is_away(&self) -> bool {
        self.0.load(Relaxed) != BUSY
    }
}

impl Worker {
    /// Has it been claimed, and not come back yet? Then a wake-up is on its way to it (IS3).
    pub fn is_claimed(&self) -> bool {
        // Relaxed: for a checker, while no producer is at work.
        self.0.load(Relaxed) == WOKEN
    }
}

/// Which workers are idle, and whether one searches.
#[derive(Debug)]
pub struct IdleSet {
    idle: Bits,
    searching: CachePadded<AtomicBool>,
}

/// A worker searches for work until this is dropped; then it looks again (IS2).
#[must_use]
#[derive(Debug)]
pub struct Search<'a> {
    set: &'a IdleSet,
    worker: &'a Worker,
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        self.worker.0.store(BUSY, Relaxed);
        // Relaxed: ordered by the fence, which pairs with that in `after_push` (IS2).
        self.set.searching.store(false, Relaxed);
        fence(SeqCst);
    }
}

/// The set as a producer sees it that has left work: after the fence.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct AfterPush<'a>(&'a IdleSet);

impl IdleSet {
    /// A set in which none of so many workers is idle.
    pub fn new(workers: usize) -> Self {
        Self { idle: Bits::new(workers), searching: CachePadded::new(AtomicBool::new(false)) }
    }

    /// A worker begins to search; nothing if another one does.
    pub fn search<'a>(&'a self, worker: &'a Worker) -> Option<Search<'a>> {
        // Relaxed: only the end of a search is ordered with anything.
        self.searching.compare_exchange(false, true, Relaxed, Relaxed).ok()?;
        worker.0.store(SEARCHING, Relaxed);
        Some(Search { set: self, worker })
    }

    /// A worker, of this number, is idle from now on: it looks for work a last time, and sleeps if there is none, then [`leaves`](Self::leave).
    /// Unless `counted` it is woken only for what is left in its own place.
    pub fn enter(&self, number: usize, worker: &Worker, counted: bool) {
        // Relaxed: both are ordered by the fence, which pairs with that in `after_push` (IS1).
        worker.0.store(IDLE, Relaxed);
        if counted {
            self.idle.set(number);
        }
        fence(SeqCst);
    }

    /// A worker is no longer idle; `counted` as when it entered. Had a producer claimed it (IS3)?
    pub fn leave(&self, number: usize, worker: &Worker, counted: bool) -> bool {
        // Relaxed: a producer that still sees it idle wakes it in vain.
        if counted {
            self.idle.clear(number);
        }
        // Acquire: pairs with the fence in `after_push`, after which a producer claims: the worker sees what was left for it (IS3).
        worker.0.swap(BUSY, Acquire) == WOKEN
    }

    /// A producer has left work where workers look for it: gives the set, to look for an idle one.
    #[inline]
    pub fn after_push(&self) -> AfterPush<'_> {
        // Pairs with the fences in `enter` (IS1) and at the end of a search (IS2).
        fence(SeqCst);
        AfterPush(self)
    }

    /// How many workers are idle and counted (a figure, already old).
    pub fn len(&self) -> usize {
        self.idle.len()
    }

    /// Those that are idle and counted (a figure, already old).
    pub fn idle(&self) -> &Bits {
        &self.idle
    }

    /// Does no counted worker look for work, idle or searching (a figure, already old)?
    pub fn is_empty(&self) -> bool {
        self.idle.is_empty() && !self.searching.load(Relaxed)
    }
}

impl AfterPush<'_> {
    /// Is this worker to be woken for what was left for it alone?
    #[inline]
    pub fn is_idle(self, worker: &Worker) -> bool {
        // Relaxed: ordered by the fence.
        worker.0.load(Relaxed) == IDLE
    }

    /// Is there an idle worker to be woken for work that any worker may do, and no search under way (IS2)?
    #[inline]
    pub fn wants_one(self) -> bool {
        // Relaxed: ordered by the fence.
        !self.0.idle.is_empty() && !self.0.searching.load(Relaxed)
    }

    /// Claims an idle worker for work that any worker may do: the first of `workers` (each with its name) that is idle. The caller
    /// must wake it (IS3).
    pub fn claim<'w, N>(self, workers: impl IntoIterator<Item = (N, &'w Worker)>) -> Option<N> {
        if !self.wants_one() {
            return None;
        }
        // Relaxed: ordered by the fence. Of several producers one succeeds, so one alone pays for waking.
        let claim =
            |worker: &Worker| self.is_idle(worker) && worker.0.compare_exchange(IDLE, WOKEN, Relaxed, Relaxed).is_ok();
        workers.into_iter().find(|(_, worker)| claim(worker)).map(|(name, _)| name)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{IdleSet, Worker};

    #[test]
    fn idle_ones_are_claimed_once() {
        let (set, workers) = (IdleSet::new(3), [Worker::new(), Worker::new(), Worker::new()]);
        assert!(set.is_empty() && set.after_push().claim(workers.iter().enumerate()).is_none());
        set.enter(1, &workers[1], true);
        set.enter(2, &workers[2], true);
        assert_eq!((set.len(), set.is_empty()), (2, false));
        assert!(set.after_push().is_idle(&workers[1]) && !workers[0].is_away() && workers[1].is_away());
        assert_eq!(set.after_push().claim(workers.iter().enumerate()), Some(1));
        assert!(!set.after_push().is_idle(&workers[1]) && workers[1].is_away(), "woken, but not back");
        assert_eq!(set.after_push().claim(workers.iter().enumerate()), Some(2));
        assert_eq!(set.after_push().claim(workers.iter().enumerate()), None);
        assert!(set.leave(1, &workers[1], true) && set.leave(2, &workers[2], true), "claimed, both");
        assert!(set.is_empty() && !workers[1].is_away());
        set.enter(1, &workers[1], true);
        assert!(!set.leave(1, &workers[1], true), "by itself");
    }

    #[test]
    fn nobody_is_woken_while_one_searches() {
        let (set, workers) = (IdleSet::new(3), [Worker::new(), Worker::new()]);
        set.enter(0, &workers[0], true);
        let search = set.search(&workers[1]).expect("nobody searches");
        assert!(set.search(&workers[0]).is_none() && workers[1].is_away());
        assert_eq!(set.after_push().claim(workers.iter().enumerate()), None);
        drop(search);
        assert_eq!(set.after_push().claim(workers.iter().enumerate()), Some(0));
    }

    #[test]
    fn who_may_not_work_is_not_counted() {
        let (set, worker) = (IdleSet::new(3), Worker::new());
        set.enter(0, &worker, false);
        assert!(set.is_empty() && set.after_push().is_idle(&worker));
        assert_eq!(set.after_push().claim([(0, &worker)]), None);
        set.leave(0, &worker, false);
        assert!(!worker.is_away());
    }
}

/// Caught when tried: no fence in `enter`, none in `after_push`, none at the end of a search (work is left beside one that
/// sleeps); the state or the count of `enter`, or the end of a search, stored after the fence; a last look before `enter`, or
/// none; a push after the fence; one that was claimed and not woken; nobody woken after a search, or only after one that found
/// work; an AcqRel fence for any of the three; Relaxed for the Acquire of `leave`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{IdleSet, Worker};
    use crate::Parker;
    use crate::atomic::{AtomicUsize, Ordering::Relaxed};
    use loom::thread;
    use std::sync::Arc;

    /// Two workers that look at two queues; the lengths stand for the queues.
    struct Shared {
        set: IdleSet,
        workers: [Worker; 2],
        parkers: [Parker; 2],
        queues: [AtomicUsize; 2],
    }

    impl Shared {
        fn new() -> Arc<Shared> {
            Arc::new(Shared {
                set: IdleSet::new(3),
                workers: [Worker::new(), Worker::new()],
                parkers: [Parker::new(), Parker::new()],
                queues: [AtomicUsize::new(0), AtomicUsize::new(0)],
            })
        }

        /// Brings a piece of work that anybody may do.
        fn push(&self, queue: usize) {
            // Relaxed: the protocol has to order.
            self.queues[queue].fetch_add(1, Relaxed);
            self.wake_one();
        }

        fn wake_one(&self) {
            if let Some(claimed) = self.set.after_push().claim(self.workers.iter().enumerate()) {
                self.parkers[claimed].unpark();
            }
        }

        /// Brings a piece of work for this worker alone.
        fn push_to(&self, worker: usize) {
            self.queues[0].fetch_add(1, Relaxed);
            if self.set.after_push().is_idle(&self.workers[worker]) {
                self.parkers[worker].unpark();
            }
        }

        fn sees_work(&self) -> bool {
            self.queues.iter().any(|queue| queue.load(Relaxed) > 0)
        }

        fn take(&self) -> bool {
            self.queues.iter().any(|queue| {
                queue.load(Relaxed) > 0 && queue.fetch_update(Relaxed, Relaxed, |length| length.checked_sub(1)).is_ok()
            })
        }

        /// Sleeps if there is no work.
        fn rest(&self, worker: usize, counted: bool) {
            self.set.enter(worker, &self.workers[worker], counted);
            if !self.sees_work() {
                self.parkers[worker].park(None);
            }
            self.set.leave(worker, &self.workers[worker], counted);
        }

        /// Gets one piece of work.
        fn work(&self, worker: usize) {
            while !self.take() {
                self.rest(worker, true);
            }
        }

        /// Looks for work for a while. When that is over it takes a piece, if there is one, and wakes another for what is left.
        fn search(&self, worker: usize) -> bool {
            let search = self.set.search(&self.workers[worker]).expect("the only one that does");
            self.sees_work();
            drop(search);
            let took = self.take();
            if took && self.sees_work() {
                self.wake_one();
            }
            took
        }
    }

    fn check(preemptions: usize, model: fn()) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(model);
    }

    #[test]
    fn loom_work_wakes_the_idle_one() {
        check(4, || {
            let shared = Shared::new();
            let brings = shared.clone();
            let brings = thread::spawn(move || brings.push(0));
            shared.work(0);
            brings.join().unwrap();
        });
    }

    #[test]
    fn loom_work_for_one_wakes_it() {
        check(4, || {
            let shared = Shared::new();
            let brings = shared.clone();
            let brings = thread::spawn(move || brings.push_to(0));
            while !shared.take() {
                shared.rest(0, false);
            }
            brings.join().unwrap();
        });
    }

    /// A worker that leaves by itself, and has been claimed, must know of the work (IS3).
    #[test]
    fn loom_one_that_was_claimed_sees_the_work() {
        check(4, || {
            let shared = Shared::new();
            let brings = shared.clone();
            let brings = thread::spawn(move || brings.push(0));
            shared.set.enter(0, &shared.workers[0], true);
            let claimed = shared.set.leave(0, &shared.workers[0], true);
            assert!(!claimed || shared.sees_work());
            brings.join().unwrap();
        });
    }

    /// One producer wakes the worker, and the other one relies on that (IS3).
    #[test]
    fn loom_two_bring_work_for_one() {
        check(2, || {
            let shared = Shared::new();
            let bring = [0, 1].map(|queue| {
                let brings = shared.clone();
                thread::spawn(move || brings.push(queue))
            });
            shared.work(0);
            shared.work(0);
            bring.into_iter().for_each(|brings| brings.join().unwrap());
        });
    }

    /// A search is a reason not to wake the other worker, which sleeps: the worker that searches wakes it afterwards (IS2).
    #[test]
    fn loom_work_that_comes_during_a_search_is_done() {
        check(3, || {
            let shared = Shared::new();
            shared.set.enter(1, &shared.workers[1], true);
            let brings = shared.clone();
            let brings = thread::spawn(move || {
                brings.push(0);
                brings.push(1);
            });
            let took = shared.search(0);
            brings.join().unwrap();
            assert!(
                shared.parkers[1].take_notice(),
                "the other sleeps, and work is left (the first took some: {took})"
            );
        });
    }
}
