//! How OTP R13B04 shared work among its schedulers (Zhang 2011, section 3.3), for a simulator that is judged by what was measured on that VM.
//!
//! Nothing of it runs in a VM that ships: [`Schedulers::follow_r13b04`](crate::Schedulers::follow_r13b04) switches it on, where the
//! feature `r13b04` is. What is written down of the queues, and what follows from it, is here; what is done with the queues is in `past`.
//!
//! | the paper | here |
//! | --- | --- |
//! | 3.3.3: how many schedulers are active in the next period | [`next_active`] |
//! | 3.3.4: those that are not active push what comes to them | [`R13b04::place`], and the scheduler's own step |
//! | 3.3.5, 3.3.6: limits and paths, under full load | [`limits`], [`paths`] |
//! | 3.3.7: whom a scheduler tries to rob | [`victims`] |
//!
//! There are no ports here. Low processes have a queue of their own, where R13B04 had them among the normal ones.

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
/// Periods by which availability is reckoned (3.3.5).
const HISTORY: usize = 8;
/// Least load, in percents of that at the last rise, with which the number of active schedulers stays (3.3.3).
const STAYS_AT: u64 = 90;
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

/// The same, taken out at the end of the period.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Period {
    waited: bool,
    waited_in_half: bool,
    longest: [usize; BANDS],
    reductions: [u64; BANDS],
}

impl Period {
    fn reductions(&self) -> u64 {
        self.reductions.iter().sum()
    }
}

/// The load when the number of active schedulers last rose.
#[derive(Clone, Copy, Default, Debug)]
struct Rise {
    active: usize,
    longest: usize,
    reductions: u64,
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
        let available = availability(periods, history);
        for priority in 0..BANDS {
            let longest: Vec<usize> = periods.iter().map(|period| period.longest[priority]).collect();
            let shares: Vec<f64> = available.iter().map(|by_priority| by_priority[priority]).collect();
            let limits = limits(&longest, &shares);
            let way = |queue: usize| &self.books[queue].paths[priority];
            for (from, to) in paths(&longest, &limits).into_iter().flat_map(Way::ends) {
                match (from, to) {
                    (from, End::Pushes(to)) => {
                        way(from).to.store(to, Relaxed);
                        way(from).evacuates.store(shares[from] == 0.0, Relaxed);
                    }
                    (to, End::Pulls(from)) => {
                        way(to).from.store(from, Relaxed);
                        way(to).limit.store(limits[to], Relaxed);
                        way(to).from_limit.store(limits[from], Relaxed);
                    }
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
        self.active_at_begin = next_active(periods, self.active_at_begin, active, &mut self.rise);
        self.active_at_begin
    }
}

/// The number of active schedulers of the next period, from those at its beginning and now (3.3.3).
fn next_active(periods: &[Period], at_begin: usize, now: usize, rise: &mut Rise) -> usize {
    let online = periods.len();
    let count = |is: fn(&Period) -> bool| periods.iter().filter(|period| is(period)).count();
    let (full, half) = (count(|period| !period.waited), count(|period| !period.waited_in_half));
    if half == online {
        return online;
    }
    let load = Rise {
        active: now,
        longest: periods.iter().map(|period| period.longest.iter().sum()).max().unwrap_or(0),
        reductions: periods.iter().map(Period::reductions).sum(),
    };
    if at_begin < now {
        *rise = load;
        return now.clamp(half.max(1), online);
    }
    let by_load = if full > 0 { (load.reductions / PERIOD) as usize } else { at_begin.saturating_sub(1) };
    let stays = load.longest as u64 * 100 > rise.longest as u64 * STAYS_AT
        && load.reductions * 100 > rise.reductions * STAYS_AT;
    let wanted = if by_load < rise.active && stays { rise.active } else { by_load };
    wanted.clamp(half.max(1), online)
}

/// How far each queue has room for each priority: 1 = wholly (3.3.5).
fn availability(periods: &[Period], history: &[[u64; HISTORY]]) -> Vec<[f64; BANDS]> {
    let mean = |queue: usize| history[queue].iter().sum::<u64>() as f64 / HISTORY as f64;
    let full: Vec<usize> = (0..periods.len()).filter(|queue| !periods[*queue].waited).collect();
    let all: f64 = full.iter().map(|queue| mean(*queue)).sum();
    let of = |(queue, period): (usize, &Period)| match period.waited {
        true => [1.0; BANDS],
        false => {
            let weight = if all > 0.0 { full.len() as f64 * mean(queue) / all } else { 0.0 };
            left_by_higher(period).map(|left| left * weight)
        }
    };
    periods.iter().enumerate().map(of).collect()
}

/// The share of a queue's reductions that those of higher priority leave to each; normal and low ones stood in one queue.
fn left_by_higher(period: &Period) -> [f64; BANDS] {
    let all = period.reductions();
    if all == 0 {
        return [0.0; BANDS];
    }
    let share = |taken: u64| (all - taken) as f64 / all as f64;
    let [max, high, ..] = period.reductions;
    [1.0, share(max), share(max + high), share(max + high)]
}

/// How many processes each queue is to have: the sum of the longest lengths by availability (3.3.5).
fn limits(longest: &[usize], available: &[f64]) -> Vec<usize> {
    let (sum, all) = (longest.iter().sum::<usize>() as f64, available.iter().sum::<f64>());
    available.iter().map(|share| if all > 0.0 { (sum * share / all) as usize } else { 0 }).collect()
}

/// A migration path between two queues, and who of them knows of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Both { from: usize, to: usize },
    Push { from: usize, to: usize },
    Pull { from: usize, to: usize },
}

/// What a queue does by its path.
enum End {
    Pushes(usize),
    Pulls(usize),
}

impl Way {
    fn ends(self) -> Vec<(usize, End)> {
        match self {
            Way::Both { from, to } => vec![(from, End::Pushes(to)), (to, End::Pulls(from))],
            Way::Push { from, to } => vec![(from, End::Pushes(to))],
            Way::Pull { from, to } => vec![(to, End::Pulls(from))],
        }
    }
}

/// The paths of one priority: the queue that is longest above its limit with the one that is farthest below, and so on; what is left
/// over on either side begins anew with the first of the other (3.3.6).
fn paths(longest: &[usize], limits: &[usize]) -> Vec<Way> {
    let surplus = |queue: &usize| longest[*queue] as i64 - limits[*queue] as i64;
    let mut queues: Vec<usize> = (0..longest.len()).filter(|queue| surplus(queue) != 0).collect();
    queues.sort_by_key(|queue| -surplus(queue));
    let (above, mut below): (Vec<usize>, Vec<usize>) = queues.into_iter().partition(|queue| surplus(queue) > 0);
    below.reverse();
    if above.is_empty() || below.is_empty() {
        return Vec::new();
    }
    let pairs = above.len().min(below.len());
    let way = |n: usize| {
        let (from, to) = (above[n % above.len()], below[n % below.len()]);
        match n {
            n if n < pairs => Way::Both { from, to },
            _ if above.len() > below.len() => Way::Push { from, to },
            _ => Way::Pull { from: above[(n - pairs) % above.len()], to },
        }
    };
    (0..above.len().max(below.len())).map(way).collect()
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
    use super::{PERIOD, Period, Rise, Way, availability, limits, next_active, paths, victims, wake_count};

    fn period(waited: bool, long: usize, reductions: u64) -> Period {
        Period { waited, waited_in_half: waited, longest: [0, 0, long, 0], reductions: [0, 0, reductions, 0] }
    }

    #[test]
    fn all_stay_active_that_work_through_the_second_half() {
        let mut worked = [period(true, 5, PERIOD); 4];
        worked.iter_mut().for_each(|period| period.waited_in_half = false);
        assert_eq!(next_active(&worked, 2, 2, &mut Rise::default()), 4);
    }

    #[test]
    fn the_number_falls_by_one_where_all_have_waited() {
        let waited = [period(true, 1, 10); 4];
        assert_eq!(next_active(&waited, 4, 4, &mut Rise::default()), 3);
        assert_eq!(next_active(&waited, 1, 1, &mut Rise::default()), 1);
    }

    #[test]
    fn a_rise_is_remembered_until_the_load_has_fallen_by_a_tenth() {
        let mut rise = Rise::default();
        let mut load = [period(true, 10, 0), period(false, 100, PERIOD), period(true, 1, 10), period(true, 1, 0)];
        // It has risen from 1 to 3 in the period.
        assert_eq!(next_active(&load, 1, 3, &mut rise), 3);
        assert_eq!(next_active(&load, 3, 3, &mut rise), 3);
        load[1].longest[2] = 90;
        assert_eq!(next_active(&load, 3, 3, &mut rise), 1);
    }

    #[test]
    fn who_waited_is_available_and_who_worked_by_what_it_did() {
        let periods = [period(true, 0, 5), period(false, 9, 100), period(false, 9, 300), period(false, 0, 0)];
        let history = [[PERIOD; 8], [100; 8], [300; 8], [200; 8]];
        let available: Vec<f64> = availability(&periods, &history).iter().map(|of| of[2]).collect();
        assert_eq!(available, [1.0, 0.5, 1.5, 0.0]);
        let mut urgent = period(false, 9, 100);
        urgent.reductions = [100, 300, 400, 0];
        assert_eq!(super::left_by_higher(&urgent), [1.0, 0.875, 0.5, 0.5]);
    }

    /// The paper's figure 3.6: both shorter queues pull from the longest, which pushes to the shortest.
    #[test]
    fn paths_lead_from_the_longest_to_the_shortest() {
        let longest = [14, 7, 4];
        let limits = limits(&longest, &[1.0; 3]);
        assert_eq!(limits, [8, 8, 8]);
        assert_eq!(paths(&longest, &limits), [Way::Both { from: 0, to: 2 }, Way::Pull { from: 0, to: 1 }]);
        let more = [Way::Both { from: 1, to: 2 }, Way::Push { from: 0, to: 2 }];
        assert_eq!(paths(&[9, 12, 0], &[7, 7, 7]), more);
        assert_eq!(paths(&[7, 7], &[7, 7]), []);
    }

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
