//! How OTP R13B04 shared work among its schedulers (Zhang 2011, section 3.3), for a simulator that is judged by what was measured on that VM.
//!
//! Nothing of it runs in a VM that ships: [`Schedulers::follow_r13b04`](crate::Schedulers::follow_r13b04) switches it on, where the
//! feature `r13b04` is. What is written down of the queues, and what follows from it, is here; what is done with the queues is in `past`.
//!
//! | the paper | here |
//! | --- | --- |
//! | 3.3.3, 3.3.5, 3.3.6: active schedulers, limits and paths | `balance` |
//! | 3.3.4: those that are not active push what comes to them | [`R13b04::place`], and the scheduler's own step |
//! | 3.3.7: whom a scheduler tries to rob | [`victims`] |
//!
//! There are no ports here. Low processes have a queue of their own, where R13B04 had them among the normal ones.

use crate::balance::{End, HISTORY, Lead, Period, Rise, leads, next_active};
use myriad_process::priority::BANDS;
use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use myriad_sync::{CachePadded, LockClass, Mutex};

static CLASS: LockClass = LockClass::new("balance_info", 590);

/// Reductions of a slice (3.3.1).
pub const SLICE: u32 = 2000;
/// Reductions of one scheduler between two checks of the balance (3.3.2).
const PERIOD: u64 = 2000 * 2000;
/// From there on a period is in its second half (3.3.3).
pub(crate) const HALF_PERIOD: u64 = PERIOD / 2;
/// A scheduler wakes another one at this count (4.2.1).
const WAKE_LIMIT: u64 = 50 * 2000;
/// A slice counts for so many reductions at least, and each for as much beside its length (`erl_process.c` of that release).
const LEAST_SLICE: u64 = 200;
/// By so many times its reductions a slice lowers the count where nothing else waits (the same).
const FALLS_BY: u64 = 10;
/// No queue.
pub(crate) const NONE: usize = usize::MAX;

/// A way from one queue to another, of the processes of one priority (3.3.6).
pub(crate) struct Path {
    /// Pushes to this one...
    pub(crate) to: AtomicUsize,
    /// ...once only, or always.
    pub(crate) evacuates: AtomicBool,
    /// Pulls from this one, while it is below its own limit and that one above its.
    pub(crate) from: AtomicUsize,
    pub(crate) limit: AtomicUsize,
    pub(crate) from_limit: AtomicUsize,
}

impl Default for Path {
    fn default() -> Path {
        let (to, from) = (AtomicUsize::new(NONE), AtomicUsize::new(NONE));
        let (limit, from_limit) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Path { to, evacuates: AtomicBool::new(false), from, limit, from_limit }
    }
}

// Relaxed, all that follow: these are figures and hints, and whoever follows one takes the queue's lock.
impl Path {
    pub(crate) fn clear(&self) {
        self.to.store(NONE, Relaxed);
        self.from.store(NONE, Relaxed);
        self.evacuates.store(false, Relaxed);
    }
}

/// What is written down of a queue in a period.
#[derive(Default)]
pub(crate) struct Books {
    /// It has waited in this period.
    pub(crate) out_of_work: AtomicBool,
    /// It has waited in the second half of it.
    pub(crate) half_out_of_work: AtomicBool,
    pub(crate) longest: [AtomicUsize; BANDS],
    pub(crate) reductions: [AtomicU64; BANDS],
    /// Reductions since the last check, of a half or a whole period.
    pub(crate) since_check: AtomicU64,
    /// After it has come to [`WAKE_LIMIT`] another scheduler is woken.
    pub(crate) wake_count: AtomicU64,
    pub(crate) paths: [Path; BANDS],
}

pub(crate) struct Balance {
    /// The next look is at half the period.
    pub(crate) in_first_half: bool,
    active_at_begin: usize,
    rise: Rise,
    /// Reductions of the last periods, by queue.
    pub(crate) history: Vec<[u64; HISTORY]>,
    periods: usize,
}

/// The state of that policy.
pub struct R13b04 {
    pub(crate) books: Box<[CachePadded<Books>]>,
    pub(crate) balance: Mutex<Balance>,
}

impl R13b04 {
    /// For so many schedulers, of which so many are active.
    pub fn new(schedulers: usize, active: usize) -> R13b04 {
        debug_assert!((1..=schedulers).contains(&active));
        let balance = Balance {
            in_first_half: true,
            active_at_begin: active,
            rise: Rise::default(),
            history: vec![[PERIOD; HISTORY]; schedulers],
            periods: 0,
        };
        let books = (0..schedulers).map(|_| CachePadded::new(Books::default())).collect();
        R13b04 { books, balance: Mutex::new(&CLASS, balance) }
    }

    /// The queue to which one that belongs in this one goes (3.3.4, 3.3.6).
    pub(crate) fn place(&self, active: usize, queue: usize, priority: usize) -> usize {
        if queue >= active {
            return queue % active;
        }
        let path = &self.books[queue].paths[priority];
        let to = path.to.load(Relaxed);
        if to >= active {
            return queue;
        }
        if !path.evacuates.load(Relaxed) {
            path.to.store(NONE, Relaxed);
        }
        to
    }

    /// A scheduler has nothing to run.
    pub fn out_of_work(&self, id: usize) {
        self.books[id].out_of_work.store(true, Relaxed);
        self.books[id].half_out_of_work.store(true, Relaxed);
    }

    pub(crate) fn set_paths(&self, periods: &[Period], history: &[[u64; HISTORY]]) {
        for Lead { band, queue, end, limit, other_limit, evacuates } in leads(periods, history) {
            let path = &self.books[queue].paths[band];
            match end {
                End::Pushes(to) => {
                    path.to.store(to, Relaxed);
                    path.evacuates.store(evacuates, Relaxed);
                }
                End::Pulls(from) => {
                    path.from.store(from, Relaxed);
                    path.limit.store(limit, Relaxed);
                    path.from_limit.store(other_limit, Relaxed);
                }
            }
        }
    }
}

impl Books {
    /// What is written down, which begins anew.
    pub(crate) fn take(&self) -> Period {
        Period {
            waited: self.out_of_work.swap(false, Relaxed),
            waited_in_half: self.half_out_of_work.swap(false, Relaxed),
            longest: self.longest.each_ref().map(|longest| longest.swap(0, Relaxed)),
            reductions: self.reductions.each_ref().map(|reductions| reductions.swap(0, Relaxed)),
        }
    }
}

impl Balance {
    /// Writes a period down; how many schedulers are active in the next one.
    pub(crate) fn begin_period(&mut self, periods: &[Period], active: usize) -> usize {
        let entry = self.periods % HISTORY;
        self.periods += 1;
        for (period, history) in periods.iter().zip(&mut self.history) {
            history[entry] = if period.waited { PERIOD } else { period.reductions() };
        }
        self.active_at_begin = next_active(periods, PERIOD, self.active_at_begin, active, &mut self.rise);
        self.active_at_begin
    }
}

/// The count by which a scheduler wakes others, after a slice of so many reductions with so many processes in its queue; and whether it wakes
/// one. The slice that brings the count to its limit wakes nobody: the next one does, and the count begins anew.
pub(crate) fn wake_count(count: u64, long: usize, reductions: u64) -> (u64, bool) {
    let reductions = reductions.max(LEAST_SLICE);
    match long {
        0 => (0, false),
        1 => (count.saturating_sub(FALLS_BY * reductions), false),
        _ if count < WAKE_LIMIT => (count + long as u64 * reductions + LEAST_SLICE, false),
        _ => (0, true),
    }
}

/// Whom a scheduler tries to rob, in order: those that are not active, then those that are, each thief from another one on (3.3.7).
pub(crate) fn victims(id: usize, active: usize, all: usize) -> impl Iterator<Item = usize> {
    let inactive = all - active;
    let passive = (0..inactive).map(move |i| active + (id + i) % inactive);
    passive.chain((1..active).map(move |i| (id + i) % active)).filter(move |victim| *victim != id)
}

#[cfg(test)]
mod tests {
    use super::{victims, wake_count};

    #[test]
    fn the_slice_after_the_one_that_reaches_the_limit_wakes() {
        assert_eq!(wake_count(0, 60, 2000), (120_200, false));
        assert_eq!(wake_count(120_200, 60, 2000), (0, true));
        assert_eq!(wake_count(99_999, 2, 1), (100_599, false));
        assert_eq!(
            [wake_count(5000, 1, 1), wake_count(500, 1, 100), wake_count(500, 0, 100)],
            [(3000, false), (0, false), (0, false)]
        );
    }

    #[test]
    fn thieves_begin_with_those_that_are_not_active() {
        assert_eq!(victims(1, 3, 6).collect::<Vec<_>>(), [4, 5, 3, 2, 0]);
        assert_eq!(victims(0, 1, 1).count(), 0);
    }
}
