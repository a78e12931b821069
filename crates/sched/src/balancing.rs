//! What is done with the [`books`](crate::books): they are kept, and checked, and lead to migration paths.

use crate::Runtime;
use crate::balance::{End, HISTORY, Period, Way, availability, limits, paths};
use crate::books::{Lead, Memory, Move, Position, Seen, period};
use crate::schedulers::Schedulers;
use myriad_process::priority::{ALL_BANDS, Band};
use myriad_sync::atomic::Ordering::Relaxed;

// Relaxed, all: sched.books/BK1.
impl<R: Runtime> Schedulers<R> {
    /// Scheduler `id` writes down how long its queue is, and checks the books if half a period is over.
    pub(crate) fn keep_books(&self, id: usize, position: &mut Position) {
        let (ledger, books) = (&self.ledger, self.ledger.of(id));
        let half = ledger.halves.load(Relaxed);
        books.is_long(half, self[id].lengths());
        let run = books.all_reductions();
        if half != position.half {
            *position = Position { half, reductions: run };
        } else if run - position.reductions >= period(self.online()) / 2 {
            self.check_books();
        }
    }

    /// Half a period is over. One scheduler checks, the others go on.
    #[cold]
    fn check_books(&self) {
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
        let next = memory.begin_period(&periods, (half / 2) as usize, active.min(most), self.ledger.compacts);
        self.ledger.books.iter().flat_map(|books| &books.paths).for_each(|path| path.clear());
        let at_work = &periods[..active.min(most)];
        if at_work.iter().all(|period| !period.waited_in_half) {
            self.set_paths(at_work, &memory.history);
        }
        drop(memory);
        if next != active {
            self.set_active(next);
        }
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

    fn set_paths(&self, periods: &[Period], history: &[[u64; HISTORY]]) {
        let available = availability(periods, history);
        for band in ALL_BANDS.map(|band| band as usize) {
            let longest: Vec<usize> = periods.iter().map(|period| period.longest[band]).collect();
            let shares: Vec<f64> = available.iter().map(|of| of[band]).collect();
            let limits = limits(&longest, &shares);
            for (queue, end) in paths(&longest, &limits).into_iter().flat_map(Way::ends) {
                let (other, pulls) = match end {
                    End::Pulls(from) => (from, true),
                    End::Pushes(to) => (to, false),
                };
                let lead = Lead { other, pulls, limit: limits[queue], other_limit: limits[other] };
                self.ledger.of(queue).paths[band].lead(lead);
            }
        }
    }

    /// What the paths of scheduler `id` have it take or give: the band, from which queue, to which, and how many. Asked once.
    pub(crate) fn moves(&self, id: usize) -> impl Iterator<Item = (Band, Move)> {
        ALL_BANDS.into_iter().filter_map(move |band| {
            let lead = self.ledger.of(id).paths[band as usize].take()?;
            let long = |queue: usize| self.get(queue).map_or(0, |queue| queue.lengths()[band as usize]);
            let (own, other) = (long(id), long(lead.other));
            let many = if lead.pulls {
                lead.limit.saturating_sub(own).min(other.saturating_sub(lead.other_limit))
            } else {
                own.saturating_sub(lead.limit).min(lead.other_limit.saturating_sub(other))
            };
            (many > 0).then_some((band, Move { other: lead.other, pulls: lead.pulls, many }))
        })
    }
}
