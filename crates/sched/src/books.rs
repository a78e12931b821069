//! What schedulers write down of their work, for the balance to be checked once a period (Zhang 2011, 3.3): how many are active in the next one,
//! and, where all work, on which paths processes go from long queues to short ones (`balancing` does that).
//!
//! One scheduler at a time checks the books, the one that has first run its part of the period; at half of it, it looks who waits from then
//! on. The calculations are the paper's ([`balance`](crate::balance)). Three things differ from OTP R13B04: a period is the shorter the more
//! schedulers there are, as the paper proposes, and is over after 10 ms in any case; the number of active ones follows the time that they have worked, not
//! reductions ([`Spent`]): it falls to the most that any of the last 8 periods wanted, and rises when none of them is idle and more waits than one of them
//! gets through soon, or one has worked on and on (`Schedulers::wake_idle`, `Dispatcher::balance`); and a path is followed once for
//! all the processes that it is to take, in one hold of a queue's lock.
//!
//! Schedulers that share a core count once ([`Places::to_have`]), and who works on a core with another gives its process to an idle one whose core
//! rests, after each slice's time of work (`Schedulers::roomier`).
//!
//! A scheduler that is active no more passes on what it has and what comes to it, so that little work runs on few schedulers, and the others
//! sleep (*compaction*); without it (`+scl false`, `+sub true`) all are active.
//!
//! BK1. What is counted is written by its scheduler alone, so a load and a store count; who checks it gets figures that are already old. What has
//!      grown since the last check is reckoned from what was read then, so nothing is ever set back.
//! BK2. Paths are written by who checks, and taken by their scheduler. One that is taken while it changes may mix an old one and a new one: the
//!      queue that it names exists, and too many or too few go there, once.

use crate::balance::{End, HISTORY, Lead, Period};
use crate::places::Places;
use myriad_process::Priority;
use myriad_process::priority::BANDS;
use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use myriad_sync::{CachePadded, LockClass, Mutex};

static CLASS: LockClass = LockClass::new("balance", 580);

/// Reductions of a period, of all schedulers together when all work (3.3.2: 2,000 slices of 2,000 of one).
const PERIOD: u64 = 2000 * 2000;
/// A period has at least so many of each scheduler: a check looks at all of them.
const LEAST_PERIOD: u64 = 16 * crate::SLICE_REDUCTIONS as u64;
/// Half a period takes no longer, nanoseconds, as long as anybody works: who does little is soon known to.
pub(crate) const HALF_NS: u64 = 5_000_000;
/// No queue.
const NONE: usize = usize::MAX;

/// A way on which processes of one band come to a queue, or leave it.
pub(crate) struct Path {
    other: AtomicUsize,
    /// They come.
    pulls: AtomicBool,
    /// How many this queue is to have, and the other one.
    limit: AtomicUsize,
    other_limit: AtomicUsize,
}

impl Default for Path {
    fn default() -> Path {
        let [limit, other_limit] = Default::default();
        Path { other: AtomicUsize::new(NONE), pulls: AtomicBool::new(false), limit, other_limit }
    }
}

/// What a path says.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) other: usize,
    pub(crate) pulls: bool,
    pub(crate) limit: usize,
    pub(crate) other_limit: usize,
}

// Relaxed, all that follow: figures and hints; whoever follows a path takes the queue's lock.
impl Path {
    /// It leads there from now on.
    pub(crate) fn lead(&self, lead: &Lead) {
        let (other, pulls) = match lead.end {
            End::Pulls(from) => (from, true),
            End::Pushes(to) => (to, false),
        };
        self.pulls.store(pulls, Relaxed);
        self.limit.store(lead.limit, Relaxed);
        self.other_limit.store(lead.other_limit, Relaxed);
        self.other.store(other, Relaxed);
    }

    /// It says nothing.
    pub(crate) fn clear(&self) {
        self.other.store(NONE, Relaxed);
    }

    /// What it says, which it says once.
    pub(crate) fn take(&self) -> Option<Taken> {
        let other = self.other.load(Relaxed);
        if other == NONE {
            return None;
        }
        self.other.store(NONE, Relaxed);
        let [limit, other_limit] = [&self.limit, &self.other_limit].map(|word| word.load(Relaxed));
        Some(Taken { other, pulls: self.pulls.load(Relaxed), limit, other_limit })
    }
}

/// What one scheduler writes down (BK1).
#[derive(Default)]
pub(crate) struct Books {
    /// Reductions, by band.
    reductions: [AtomicU64; BANDS],
    /// How often it has found nothing to run.
    waits: AtomicU64,
    /// Half a period that [`longest`](Self::longest) is of.
    pub(crate) half: AtomicU64,
    /// The longest that its queue was then, by band.
    pub(crate) longest: [AtomicUsize; BANDS],
    pub(crate) paths: [Path; BANDS],
}

/// Counts in a word that its thread alone writes.
fn count(word: &AtomicU64, more: u64) {
    word.store(word.load(Relaxed) + more, Relaxed);
}

impl Books {
    /// A slice of so many reductions is over.
    #[inline]
    pub(crate) fn ran(&self, reductions: u64, priority: Priority) {
        count(&self.reductions[priority.band() as usize], reductions);
    }

    /// There is nothing to run.
    pub(crate) fn out_of_work(&self) {
        count(&self.waits, 1);
    }

    /// In this half of a period its queue is so long.
    pub(crate) fn is_long(&self, half: u64, lengths: [usize; BANDS]) {
        // The longest of a whole period counts, so what the first half has seen stays.
        let same = self.half.load(Relaxed) / 2 == half / 2;
        self.half.store(half, Relaxed);
        for (longest, length) in self.longest.iter().zip(lengths) {
            if !same || length > longest.load(Relaxed) {
                longest.store(length, Relaxed);
            }
        }
    }

    pub(crate) fn all_reductions(&self) -> u64 {
        self.reductions.iter().map(|of_band| of_band.load(Relaxed)).sum()
    }

    pub(crate) fn seen(&self) -> Seen {
        Seen {
            reductions: self.reductions.each_ref().map(|of_band| of_band.load(Relaxed)),
            waits: self.waits.load(Relaxed),
        }
    }
}

/// What stood in the books of a scheduler at a check.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) reductions: [u64; BANDS],
    pub(crate) waits: u64,
}

/// What is remembered from check to check.
pub(crate) struct Memory {
    /// At the last end of a period, and at the half after it.
    pub(crate) at_end: Vec<Seen>,
    pub(crate) at_half: Vec<Seen>,
    active_at_begin: usize,
    /// When that was, and what each scheduler had worked by then, nanoseconds.
    pub(crate) ended_ns: u64,
    pub(crate) worked_ns: Vec<u64>,
    /// Reductions of the last periods, by scheduler, and how many active ones each wanted.
    pub(crate) history: Vec<[u64; HISTORY]>,
    wanted: [usize; HISTORY],
}

/// The books of all schedulers.
pub(crate) struct Ledger {
    pub(crate) books: Box<[CachePadded<Books>]>,
    /// Halves of periods that are over.
    pub(crate) halves: CachePadded<AtomicU64>,
    pub(crate) memory: Mutex<Memory>,
}

impl Ledger {
    /// For so many schedulers.
    pub(crate) fn new(schedulers: usize) -> Ledger {
        let memory = Memory {
            at_end: vec![Seen::default(); schedulers],
            at_half: vec![Seen::default(); schedulers],
            active_at_begin: schedulers,
            ended_ns: 0,
            worked_ns: vec![0; schedulers],
            history: vec![[PERIOD; HISTORY]; schedulers],
            wanted: [schedulers; HISTORY],
        };
        Ledger {
            books: (0..schedulers).map(|_| CachePadded::new(Books::default())).collect(),
            halves: CachePadded::new(AtomicU64::new(0)),
            memory: Mutex::new(&CLASS, memory),
        }
    }

    #[inline]
    pub(crate) fn of(&self, id: usize) -> &Books {
        &self.books[id]
    }
}

/// Reductions of a scheduler in a period, of so many.
pub(crate) fn period(schedulers: usize) -> u64 {
    (PERIOD / schedulers.max(1) as u64).max(LEAST_PERIOD)
}

/// A scheduler's place in the periods: its own.
#[derive(Default)]
pub(crate) struct Position {
    pub(crate) half: u64,
    pub(crate) reductions: u64,
    /// How many slices there had been.
    pub(crate) slices: u64,
    pub(crate) began_ns: u64,
}

impl Position {
    /// Has this half of a period taken long enough?
    #[inline]
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.began_ns) >= HALF_NS
    }
}

/// How long a period was, and for how long all schedulers together have worked in it, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) worked_ns: u64,
    pub(crate) passed_ns: u64,
}

impl Spent {
    /// So many schedulers would have had room for that, and a quarter of one more. Wakes and sleeps count as work, so what comes to several and would fit
    /// one of them is seen as more than it is, and stays a little longer where it is.
    fn fits(self) -> usize {
        let quarters = self.worked_ns.saturating_mul(4).div_ceil(self.passed_ns.max(1));
        (quarters + 1).div_ceil(4) as usize
    }

    /// In the place of how many periods it was: one in which little was done takes as long as nobody looks.
    fn periods(self) -> usize {
        (self.passed_ns / (2 * HALF_NS)).clamp(1, HISTORY as u64) as usize
    }
}

/// So many processes come from another queue, or go there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    pub(crate) other: usize,
    pub(crate) pulls: bool,
    pub(crate) many: usize,
}

impl Memory {
    /// Writes a period down, the `number`-th; how many schedulers are active in the next one, of those that may be: all, where no places are given.
    pub(crate) fn begin_period(
        &mut self,
        periods: &[Period],
        spent: Spent,
        number: usize,
        active: usize,
        places: Option<&Places>,
    ) -> usize {
        let (entry, permitted) = (number % HISTORY, periods.len());
        // One that has waited has room for as much as any has done.
        let most = periods.iter().map(Period::reductions).max().unwrap_or(0);
        for (period, history) in periods.iter().zip(&mut self.history) {
            history[entry] = if period.waited { most } else { period.reductions() };
        }
        let wanted = self.wanted_after(periods, spent, active);
        for back in 0..spent.periods() {
            self.wanted[(entry + HISTORY - back) % HISTORY] = wanted;
        }
        let most = self.wanted.iter().max().copied().unwrap_or(permitted);
        // Two that share a core are no two.
        self.active_at_begin = places.map_or(permitted, |places| places.to_have(most).min(permitted));
        debug_assert!((1..=permitted).contains(&self.active_at_begin));
        self.active_at_begin
    }

    /// How many active schedulers a period wants that has been so: those that would have had room for what was done, and no fewer than never waited in the
    /// second half. Where there are more than at its beginning, work has waited.
    fn wanted_after(&self, periods: &[Period], spent: Spent, active: usize) -> usize {
        let permitted = periods.len();
        let worked_through = periods.iter().filter(|period| !period.waited_in_half).count();
        if worked_through == permitted {
            return permitted;
        }
        let risen = if self.active_at_begin < active { active } else { 1 };
        spent.fits().max(risen).max(worked_through).min(permitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A period of so many schedulers: the first of them work through it, and the others do a tenth.
    fn spent(working: usize, schedulers: usize) -> Spent {
        let passed_ns = 2 * HALF_NS;
        Spent { worked_ns: working as u64 * passed_ns + (schedulers - working) as u64 * passed_ns / 10, passed_ns }
    }

    /// The numbers of active ones of 4 schedulers after each period: so many of them work through it, and the others do a tenth.
    fn course(compacts: bool, working: &[usize]) -> Vec<usize> {
        let (ledger, places) = (Ledger::new(4), Places::of(&[None; 4]));
        let mut memory = ledger.memory.lock();
        let mut active = 4;
        let mut after = |(number, working): (usize, &usize)| {
            let of = |id: usize| {
                let works = id < *working;
                let reductions = if works { period(4) } else { period(4) / 10 };
                Period {
                    waited: !works,
                    waited_in_half: !works,
                    longest: [0, 0, 1 + usize::from(works), 0],
                    reductions: [0, 0, reductions, 0],
                }
            };
            let periods: Vec<Period> = (0..4).map(of).collect();
            active = memory.begin_period(&periods, spent(*working, 4), number, active, compacts.then_some(&places));
            active
        };
        working.iter().enumerate().map(&mut after).collect()
    }

    #[test]
    fn the_number_falls_when_no_period_of_eight_wanted_more() {
        assert_eq!(course(true, &[4; 3]), [4; 3]);
        let falls = course(true, &[2; 10]);
        // Beside the two that work through, the others' tenths need a third.
        assert_eq!((falls[HISTORY - 2], falls[HISTORY - 1]), (4, 3));
        // One period of full work holds them for seven more.
        let held = course(true, &[2, 2, 2, 4, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!((held[10], held[11]), (4, 3));
        let idle = course(true, &[0; 12]);
        assert!(idle.is_sorted_by(|before, after| before >= after) && idle[11] == 1, "{idle:?}");
    }

    #[test]
    fn work_fits_where_a_quarter_of_a_scheduler_is_left() {
        let of = |percent: u64| Spent { worked_ns: percent * HALF_NS / 50, passed_ns: 2 * HALF_NS }.fits();
        assert_eq!([0, 75, 76, 100, 175, 176].map(of), [1, 1, 2, 2, 2, 3]);
        assert_eq!(Spent { worked_ns: 5, passed_ns: 0 }.fits(), 6, "no time has passed");
    }

    #[test]
    fn a_long_time_in_which_little_was_done_counts_as_many_periods() {
        let (ledger, places) = (Ledger::new(2), Places::of(&[None; 2]));
        let mut memory = ledger.memory.lock();
        let rested = [Period { waited: true, waited_in_half: true, ..Period::default() }; 2];
        let mut after = |periods: u64, number: usize, active: usize| {
            let spent = Spent { worked_ns: HALF_NS, passed_ns: periods * 2 * HALF_NS };
            memory.begin_period(&rested, spent, number, active, Some(&places))
        };
        assert_eq!([after(1, 0, 2), after(HISTORY as u64, 1, 2)], [2, 1]);
        // One more was made active meanwhile: it stays.
        assert_eq!([after(1, 2, 2), after(1, 3, 2)], [2, 2]);
        assert_eq!(after(20, 4, 2), 1);
    }

    #[test]
    fn without_compaction_all_are_active() {
        assert_eq!(course(false, &[0, 1, 2, 3, 4, 0]), [4; 6]);
    }

    #[test]
    fn a_period_is_the_shorter_the_more_schedulers_there_are() {
        assert_eq!([1, 2, 4].map(period), [PERIOD, PERIOD / 2, PERIOD / 4]);
        assert_eq!(period(1024), LEAST_PERIOD);
    }
}
