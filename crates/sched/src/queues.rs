//! What waits by priority, and which priority has its turn.

use myriad_process::Priority;
use std::collections::VecDeque;

/// How many priorities there are.
pub(crate) const LEVELS: usize = 4;
const MAX: usize = Priority::Max as usize;
const HIGH: usize = Priority::High as usize;
const NORMAL: usize = Priority::Normal as usize;
const LOW: usize = Priority::Low as usize;

/// Normal processes that run while one low process runs.
const LOW_TURN: usize = 8;

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

    /// The priority that is to run next, where so many wait of each; `None`: nothing waits.
    pub(crate) fn next(&mut self, waiting: [usize; LEVELS]) -> Option<usize> {
        if let Some(urgent) = [MAX, HIGH].into_iter().find(|level| waiting[*level] > 0) {
            return Some(urgent);
        }
        let (normal, low) = (waiting[NORMAL], waiting[LOW]);
        if low == 0 {
            self.only_normal();
            return (normal > 0).then_some(NORMAL);
        }
        // Both kinds take turns as if each low one stood in one queue with the normal ones, and let its turn go by but each eighth
        // time: so its share does not depend on how many there are of either.
        let round = LOW_TURN * normal;
        if self.passed_over >= round {
            self.passed_over = (self.passed_over - round).min(low);
            return Some(LOW);
        }
        self.passed_over += low;
        Some(NORMAL)
    }
}

/// What waits, by priority, in the order in which it is to run.
pub struct Queues<T> {
    pub(crate) by_priority: [VecDeque<T>; LEVELS],
    turns: Turns,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Queues { by_priority: Default::default(), turns: Turns::default() }
    }
}

impl<T> Queues<T> {
    /// Adds one behind those of its priority.
    pub fn push(&mut self, priority: Priority, one: T) {
        self.by_priority[priority as usize].push_back(one);
    }

    /// Takes out the one that is to run next.
    #[inline]
    pub(crate) fn pick(&mut self) -> Option<T> {
        let level = self.turns.next(self.by_priority.each_ref().map(VecDeque::len))?;
        self.by_priority[level].pop_front()
    }

    /// Takes out the first that `is` holds of.
    pub(crate) fn remove(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        self.by_priority.iter_mut().find_map(|queue| queue.iter().position(&is).and_then(|i| queue.remove(i)))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_priority.iter().map(VecDeque::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_priority.iter().all(VecDeque::is_empty)
    }
}
