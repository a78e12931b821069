//! Schedulers that share work as those of OTP R13B04 did ([`R13b04`]; Zhang 2011, 3.3): what they do with their queues.
//!
//! | the paper | here |
//! | --- | --- |
//! | 3.3.1: what becomes runnable goes to the queue in which it was last | `enqueue_as_past` |
//! | 3.3.2: each period one scheduler checks the balance | `check_as_past` |
//! | 3.3.6, 3.3.7: pulling, and stealing one process at a time | `pick_as_past` |
//! | 4.2.1: a busy scheduler wakes others, one by one | `after_slice_as_past` |

use crate::Runtime;
use crate::balance::Period;
use crate::multi::MultiScheduling;
use crate::r13b04::{HALF_PERIOD, NONE, Path, R13b04, victims, wake_count};
use crate::schedulers::Schedulers;
use myriad_process::priority::{ALL_BANDS, Band};
use myriad_process::{Priority, Process};
use myriad_sync::atomic::Ordering::Relaxed;

// Relaxed, all: figures and hints; whoever follows one takes the queue's lock.
impl<R: Runtime> Schedulers<R> {
    /// A process that belongs in this queue has become runnable: it goes there, or where that queue pushes to. A scheduler that waits
    /// is woken for what comes to its own queue.
    pub(crate) fn enqueue_as_past(&self, past: &R13b04, queue: usize, process: &Process<R>) {
        let band = process.queue_priority().band() as usize;
        let to = if process.bound_to().is_some() { queue } else { past.place(self.active(), queue, band) };
        let long = self[to].push_and_count(process);
        past.books[to].longest[band].fetch_max(long, Relaxed);
        self.wake_if_idle(to);
    }

    /// What a scheduler runs next: it pulls, looks into its own queue, and steals (3.3.6, 3.3.7). All that waits is shared: each queue was one
    /// under one lock.
    pub(crate) fn pick_as_past(&self, past: &R13b04, id: usize) -> Option<&'static Process<R>> {
        ALL_BANDS.into_iter().for_each(|band| self.pull_as_past(past, id, band));
        self[id]
            .pop_shared()
            .or_else(|| victims(id, self.active(), self.len()).find_map(|victim| self[victim].steal_last()))
    }

    fn pull_as_past(&self, past: &R13b04, id: usize, band: Band) {
        let path = &past.books[id].paths[band as usize];
        let from = path.from.load(Relaxed);
        if from >= self.len() {
            return;
        }
        let above = self[from].lengths()[band as usize] > path.from_limit.load(Relaxed);
        let below = self[id].lengths()[band as usize] < path.limit.load(Relaxed);
        match (above && below).then(|| self[from].take_first(band)).flatten() {
            Some(process) => self[id].push(process),
            None => path.from.store(NONE, Relaxed),
        }
    }

    /// A slice of so many reductions is over.
    pub(crate) fn after_slice_as_past(&self, past: &R13b04, id: usize, used: u64, priority: Priority) {
        let books = &past.books[id];
        books.reductions[priority.band() as usize].fetch_add(used, Relaxed);
        if books.since_check.fetch_add(used, Relaxed) + used >= HALF_PERIOD {
            self.check_as_past(past);
        }
        let (count, wakes) = wake_count(books.wake_count.load(Relaxed), self[id].len(), used);
        books.wake_count.store(count, Relaxed);
        if wakes && !self.wake_idle(id) {
            // All that are active work: one more becomes active.
            let active = self.active();
            if active < self.online() && self.multi_scheduling() == MultiScheduling::Enabled {
                self.set_active(active + 1);
            }
        }
    }

    /// At half a period: what counts from there on. At its end: the number of active schedulers, and the paths. One scheduler checks,
    /// the others go on.
    #[cold]
    fn check_as_past(&self, past: &R13b04) {
        let Some(mut balance) = past.balance.try_lock() else { return };
        past.books.iter().for_each(|books| books.since_check.store(0, Relaxed));
        balance.in_first_half = !balance.in_first_half;
        if !balance.in_first_half {
            for (books, queue) in past.books.iter().zip(self.iter()) {
                books.half_out_of_work.store(queue.worker.is_away(), Relaxed);
            }
            return;
        }
        let periods: Vec<Period> = past.books.iter().map(|books| books.take()).collect();
        if self.multi_scheduling() != MultiScheduling::Enabled {
            return;
        }
        // Relaxed: a figure.
        self.balances.fetch_add(1, Relaxed);
        let online = self.online();
        let next = balance.begin_period(&periods[..online], self.active());
        past.books.iter().flat_map(|books| &books.paths).for_each(Path::clear);
        if next == online {
            past.set_paths(&periods[..online], &balance.history);
        }
        drop(balance);
        self.set_active(next);
    }
}
