//! What is done with the [`books`](crate::books): they are kept, and checked, and lead to migration paths.

use crate::Runtime;
use crate::balance::{Period, leads};
use crate::books::{Memory, Move, Position, Seen, Spent, period};
use crate::schedulers::Schedulers;
use myriad_process::priority::{ALL_BANDS, Band};
use myriad_sync::atomic::Ordering::Relaxed;

// Relaxed, all: sched.books/BK1.
impl<R: Runtime> Schedulers<R> {
    /// Scheduler `id` writes down how long its queue is, and checks the books if half a period is over.
    pub(crate) fn keep_books(&self, id: usize, position: &mut Position, now_ns: u64) {
        let (ledger, books) = (&self.ledger, self.ledger.of(id));
        let half = ledger.halves.load(Relaxed);
        books.is_long(half, self[id].lengths());
        let run = books.all_reductions();
        if half != position.half {
            let load = &self[id].load;
            let slices = load.switches();
            load.have_taken(slices - position.slices, run - position.reductions);
            *position = Position { half, reductions: run, slices, began_ns: now_ns };
        } else if run - position.reductions >= period(self.most_active()) / 2 || position.is_over(now_ns) {
            self.check_books(now_ns);
        }
    }

    /// Half a period is over. One scheduler checks, the others go on.
    #[cold]
    fn check_books(&self, now_ns: u64) {
        let Some(mut memory) = self.ledger.memory.try_lock() else { return };
        let half = self.ledger.halves.load(Relaxed);
        self.ledger.halves.store(half + 1, Relaxed);
        let seen: Vec<Seen> = self.ledger.books.iter().map(|books| books.seen()).collect();
        if half.is_multiple_of(2) {
            memory.at_half = seen;
            return;
        }
        // A figure.
        self.balances.fetch_add(1, Relaxed);
        let most = self.most_active();
        let periods: Vec<Period> = (0..most).map(|id| self.period_of(id, half, &memory, seen[id])).collect();
        let active = self.active();
        memory.at_end = seen;
        let places = self.tuning.compacts.then_some(&self.places);
        let spent = self.spent(&mut memory, now_ns);
        let next = memory.begin_period(&periods, spent, (half / 2) as usize, active.min(most), places);
        self.ledger.books.iter().flat_map(|books| &books.paths).for_each(|path| path.clear());
        let at_work = &periods[..active.min(most)];
        if at_work.iter().all(|period| !period.waited_in_half) {
            for lead in leads(at_work, &memory.history) {
                self.ledger.of(lead.queue).paths[lead.band].lead(&lead);
            }
        }
        drop(memory);
        if next != active {
            self.set_active(next);
        }
    }

    /// What has passed since the last period ended, and what all that may be active have worked.
    fn spent(&self, memory: &mut Memory, now_ns: u64) -> Spent {
        let mut worked_ns = 0;
        for (id, before) in memory.worked_ns.iter_mut().enumerate() {
            let by_now =
                self.platform.worked_ns(id).unwrap_or_else(|| now_ns.saturating_sub(self[id].load.idle_ns(now_ns)));
            worked_ns += by_now.saturating_sub(std::mem::replace(before, by_now));
        }
        Spent { worked_ns, passed_ns: now_ns.saturating_sub(std::mem::replace(&mut memory.ended_ns, now_ns)) }
    }

    fn period_of(&self, id: usize, half: u64, memory: &Memory, now: Seen) -> Period {
        let (books, end) = (self.ledger.of(id), memory.at_end[id]);
        let away = self[id].worker.is_away();
        let is_of_it = books.half.load(Relaxed) / 2 == half / 2;
        Period {
            waited: away || now.waits != end.waits,
            waited_in_half: away || now.waits != memory.at_half[id].waits,
            longest: books.longest.each_ref().map(|longest| if is_of_it { longest.load(Relaxed) } else { 0 }),
            reductions: std::array::from_fn(|band| now.reductions[band] - end.reductions[band]),
        }
    }

    /// Where what would run next on `id` had better go, as another scheduler works on the same core: to the nearest that is idle on a core
    /// where nobody works. Of two on a core the one with the higher number gives, or they would change places.
    pub(crate) fn roomier(&self, id: usize) -> Option<usize> {
        if !self.places.mates(id).iter().any(|mate| *mate < id && self[*mate].load.is_running()) {
            return None;
        }
        let (idle, active) = (self.idle.idle(), self.active());
        self.places
            .nearest(id, |index, of| idle.word(index) & of)
            .find(|other| self.places.is_alone(*other, active, idle))
    }

    /// What the paths of scheduler `id` have it take or give: the band, from which queue, to which, and how many. Asked once.
    pub(crate) fn moves(&self, id: usize) -> impl Iterator<Item = (Band, Move)> {
        ALL_BANDS.into_iter().filter_map(move |band| {
            let path = self.ledger.of(id).paths[band as usize].take()?;
            let long = |queue: usize| self.get(queue).map_or(0, |queue| queue.lengths()[band as usize]);
            let (own, other) = (long(id), long(path.other));
            let many = if path.pulls {
                path.limit.saturating_sub(own).min(other.saturating_sub(path.other_limit))
            } else {
                own.saturating_sub(path.limit).min(path.other_limit.saturating_sub(other))
            };
            (many > 0).then_some((band, Move { other: path.other, pulls: path.pulls, many }))
        })
    }
}
