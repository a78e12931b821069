//! How work is balanced, by what each queue came to in a period (Zhang 2011, 3.3.3 to 3.3.6): the number of active schedulers, how long each
//! queue is to be, and on which paths processes go from one to another. Numbers in, numbers out: what is done with the queues is in
//! [`books`](crate::books), and in `past` as OTP R13B04 did it.

use myriad_process::priority::BANDS;

/// Periods by which availability is reckoned (3.3.5).
pub(crate) const HISTORY: usize = 8;
/// Least load, in percents of that at the last rise, with which the number of active schedulers stays (3.3.3).
const STAYS_AT: u64 = 90;

/// What a queue came to in a period.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Period {
    pub(crate) waited: bool,
    pub(crate) waited_in_half: bool,
    pub(crate) longest: [usize; BANDS],
    pub(crate) reductions: [u64; BANDS],
}

impl Period {
    pub(crate) fn reductions(&self) -> u64 {
        self.reductions.iter().sum()
    }
}

/// The load when the number of active schedulers last rose.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rise {
    active: usize,
    longest: usize,
    reductions: u64,
}

/// The number of active schedulers of the next period, from those at its beginning and now (3.3.3), as OTP R13B04 reckons it; ours goes by time
/// ([`books`](crate::books)).
pub(crate) fn next_active(periods: &[Period], period: u64, at_begin: usize, now: usize, rise: &mut Rise) -> usize {
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
    let by_load = if full > 0 { (load.reductions / period) as usize } else { at_begin.saturating_sub(1) };
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

/// What one of the two queues of a path is to do.
pub(crate) struct Lead {
    pub(crate) band: usize,
    pub(crate) queue: usize,
    pub(crate) end: End,
    /// How many the queue is to have, and the other one.
    pub(crate) limit: usize,
    pub(crate) other_limit: usize,
    /// The queue has no room for the band at all.
    pub(crate) evacuates: bool,
}

/// The paths of all bands after such periods, where each queue worked through the second half of the last one.
pub(crate) fn leads(periods: &[Period], history: &[[u64; HISTORY]]) -> Vec<Lead> {
    let available = availability(periods, history);
    let of_band = |band: usize| {
        let longest: Vec<usize> = periods.iter().map(|period| period.longest[band]).collect();
        let shares: Vec<f64> = available.iter().map(|of| of[band]).collect();
        let limits = limits(&longest, &shares);
        let ends = paths(&longest, &limits).into_iter().flat_map(Way::ends);
        let lead = |(queue, end): (usize, End)| {
            let (limit, other_limit) = (limits[queue], limits[end.other()]);
            Lead { band, queue, end, limit, other_limit, evacuates: shares[queue] == 0.0 }
        };
        ends.map(lead).collect::<Vec<_>>()
    };
    (0..BANDS).flat_map(of_band).collect()
}

/// A migration path between two queues, and who of them knows of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Both { from: usize, to: usize },
    Push { from: usize, to: usize },
    Pull { from: usize, to: usize },
}

/// What a queue does by its path.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Pushes(usize),
    Pulls(usize),
}

impl End {
    fn other(self) -> usize {
        match self {
            End::Pushes(other) | End::Pulls(other) => other,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::{Period, Rise, Way, availability, limits, next_active, paths};

    const PERIOD: u64 = 2000 * 2000;

    fn period(waited: bool, long: usize, reductions: u64) -> Period {
        Period { waited, waited_in_half: waited, longest: [0, 0, long, 0], reductions: [0, 0, reductions, 0] }
    }

    #[test]
    fn all_stay_active_that_work_through_the_second_half() {
        let mut worked = [period(true, 5, PERIOD); 4];
        worked.iter_mut().for_each(|period| period.waited_in_half = false);
        assert_eq!(next_active(&worked, PERIOD, 2, 2, &mut Rise::default()), 4);
    }

    #[test]
    fn the_number_falls_by_one_where_all_have_waited() {
        let waited = [period(true, 1, 10); 4];
        assert_eq!(next_active(&waited, PERIOD, 4, 4, &mut Rise::default()), 3);
        assert_eq!(next_active(&waited, PERIOD, 1, 1, &mut Rise::default()), 1);
    }

    #[test]
    fn a_rise_is_remembered_until_the_load_has_fallen_by_a_tenth() {
        let mut rise = Rise::default();
        let mut load = [period(true, 10, 0), period(false, 100, PERIOD), period(true, 1, 10), period(true, 1, 0)];
        // It has risen from 1 to 3 in the period.
        assert_eq!(next_active(&load, PERIOD, 1, 3, &mut rise), 3);
        assert_eq!(next_active(&load, PERIOD, 3, 3, &mut rise), 3);
        load[1].longest[2] = 90;
        assert_eq!(next_active(&load, PERIOD, 3, 3, &mut rise), 1);
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
}
