//! What waits by priority, and which priority has its turn.

use myriad_process::Priority;
use myriad_process::priority::{Band, LEVELS};
use std::collections::VecDeque;

/// Normal processes that run while one low process runs.
const LOW_TURN: usize = 8;

/// Levels as bits: bit *n* is level *n*, so that the most urgent one is the lowest.
pub(crate) fn bits(mut levels: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = first(levels)?;
        levels &= levels - 1;
        Some(first)
    })
}

fn first(levels: u32) -> Option<usize> {
    (levels != 0).then_some(levels.trailing_zeros() as usize)
}

/// The band of a level.
#[inline(always)]
pub(crate) fn band(level: usize) -> Band {
    const OF: [Band; LEVELS] = {
        let mut of = [Band::Low; LEVELS];
        let mut level = 0;
        while level < LEVELS {
            if let Some(priority) = Priority::of_level(level) {
                of[level] = priority.band();
            }
            level += 1;
        }
        of
    };
    OF[level]
}

/// A queue for each level.
pub(crate) struct Levels<T> {
    queues: [VecDeque<T>; LEVELS],
    /// Those that are not empty, as bits.
    occupied: u32,
}

impl<T> Default for Levels<T> {
    fn default() -> Self {
        Levels { queues: Default::default(), occupied: 0 }
    }
}

impl<T> Levels<T> {
    /// Those that are not empty, as bits.
    #[inline]
    pub(crate) fn occupied(&self) -> u32 {
        self.occupied
    }

    /// The queue of a level.
    #[inline]
    pub(crate) fn of(&self, level: usize) -> &VecDeque<T> {
        &self.queues[level]
    }

    /// Changes the queue of a level.
    #[inline(always)]
    pub(crate) fn change<X>(&mut self, level: usize, change: impl FnOnce(&mut VecDeque<T>) -> X) -> X {
        let queue = &mut self.queues[level];
        let result = change(queue);
        let bit = 1 << level;
        self.occupied = if queue.is_empty() { self.occupied & !bit } else { self.occupied | bit };
        result
    }

    /// How many there are of some levels.
    pub(crate) fn count(&self, of: u32) -> usize {
        bits(self.occupied & of).map(|level| self.queues[level].len()).sum()
    }
}

/// Whose turn it is.
#[derive(Default)]
pub(crate) struct Turns {
    /// What the low ones have waited: their number for each normal one that ran.
    passed_over: usize,
}

impl Turns {
    /// Nothing but normal ones wait.
    #[inline]
    pub(crate) fn only_normal(&mut self) {
        self.passed_over = 0;
    }

    /// The level that is to run next, where these are occupied, and so many wait of a band; `None`: nothing waits.
    pub(crate) fn next(&mut self, occupied: u32, waiting: impl Fn(Band) -> usize) -> Option<usize> {
        let of = |band: Band| first(occupied & band.levels());
        if let Some(urgent) = of(Band::Max).or_else(|| of(Band::High)) {
            return Some(urgent);
        }
        let (Some(normal), Some(low)) = (of(Band::Normal), of(Band::Low)) else {
            self.only_normal();
            return first(occupied);
        };
        // Both kinds take turns as if each low one stood in one queue with the normal ones, and let its turn go by but each eighth
        // time: so its share does not depend on how many there are of either.
        let (normal_ones, low_ones) = (waiting(Band::Normal), waiting(Band::Low));
        let round = LOW_TURN * normal_ones;
        if self.passed_over >= round {
            self.passed_over = (self.passed_over - round).min(low_ones);
            return Some(low);
        }
        self.passed_over += low_ones;
        Some(normal)
    }
}

/// What waits, by priority, in the order in which it is to run.
pub struct Queues<T> {
    pub(crate) levels: Levels<T>,
    turns: Turns,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Queues { levels: Levels::default(), turns: Turns::default() }
    }
}

impl<T> Queues<T> {
    /// Adds one behind those of its priority.
    pub fn push(&mut self, priority: Priority, one: T) {
        self.levels.change(priority.level(), |queue| queue.push_back(one));
    }

    /// Takes out the one that is to run next.
    #[inline]
    pub(crate) fn pick(&mut self) -> Option<T> {
        let Queues { levels, turns } = self;
        let level = turns.next(levels.occupied(), |band| levels.count(band.levels()))?;
        levels.change(level, VecDeque::pop_front)
    }

    /// Takes out the first that `is` holds of, of the most urgent level that has one.
    pub(crate) fn remove(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        self.remove_of(u32::MAX, |queue| queue.iter().position(&is))
    }

    /// Takes out the one whose place `which` tells, of the most urgent of some levels that has one.
    pub(crate) fn remove_of(&mut self, levels: u32, which: impl Fn(&VecDeque<T>) -> Option<usize>) -> Option<T> {
        bits(self.levels.occupied() & levels).find_map(|level| {
            let place = which(self.levels.of(level))?;
            self.levels.change(level, |queue| queue.remove(place))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.levels.count(u32::MAX)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.levels.occupied() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(waiting: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut queues = Queues::default();
        for level in waiting {
            queues.push(Priority::of_level(level).expect("a level"), level);
        }
        std::iter::from_fn(|| queues.pick()).collect()
    }

    #[test]
    fn more_urgent_levels_go_first() {
        assert_eq!(order([20, 31, 29, 0, 14, 15, 5, 21, 19]), [0, 5, 14, 15, 19, 20, 21, 29, 31]);
    }

    #[test]
    fn a_low_one_runs_among_normal_ones_of_any_level() {
        let mut queues = Queues::default();
        let push = |queues: &mut Queues<Priority>, level| {
            let priority = Priority::of_level(level).expect("a level");
            queues.push(priority, priority);
        };
        push(&mut queues, 31);
        push(&mut queues, 25);
        let mut ran = Vec::new();
        while let Some(one) = queues.pick() {
            ran.push(one.level());
            if one.band() == Band::Low {
                break;
            }
            push(&mut queues, 25);
        }
        assert_eq!(ran, [vec![25; LOW_TURN], vec![31]].concat());
    }
}
