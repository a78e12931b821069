//! [`Private`]: the two ends of a run queue that its scheduler alone touches (sched.run_queue/R3).

use crate::queues::{Levels, Turns, band};
use myriad_process::Priority;
use myriad_process::priority::{BANDS, Band};
use std::collections::VecDeque;

/// The first and the last of what waits, by priority; what stands between them is shared.
pub(crate) struct Private<T> {
    /// What runs next.
    front: Levels<T>,
    /// What came while some of its priority was shared.
    back: Levels<T>,
    /// The worker cache (Hedqvist 1998, 5.2.8): one that runs next, before all of its level.
    cached: Option<(usize, T)>,
    /// Has anything come since the scheduler last took something out?
    pub(crate) has_grown: bool,
    /// All of these, by band.
    counts: [usize; BANDS],
    len: usize,
    /// Those of them that are bound to this scheduler.
    pub(crate) bound: usize,
    turns: Turns,
}

impl<T> Default for Private<T> {
    fn default() -> Self {
        Private {
            cached: None,
            has_grown: false,
            front: Levels::default(),
            back: Levels::default(),
            counts: [0; BANDS],
            len: 0,
            bound: 0,
            turns: Turns::default(),
        }
    }
}

impl<T> Private<T> {
    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many there are of a priority.
    #[inline]
    pub(crate) fn of(&self, level: usize) -> usize {
        self.front.of(level).len() + self.back.of(level).len()
    }

    /// How many there are of a band.
    #[inline]
    pub(crate) fn of_band(&self, band: Band) -> usize {
        self.counts[band as usize]
    }

    /// The levels of which there are any, as bits.
    #[inline]
    pub(crate) fn occupied(&self) -> u32 {
        self.front.occupied() | self.back.occupied()
    }

    /// The same, with that of the one in the worker cache.
    #[inline]
    pub(crate) fn levels(&self) -> u32 {
        self.occupied() | self.cached.as_ref().map_or(0, |(level, _)| 1 << level)
    }

    /// Those of a priority before what is shared of it, and those behind.
    pub(crate) fn ends(&self, level: usize) -> (&VecDeque<T>, &VecDeque<T>) {
        (self.front.of(level), self.back.of(level))
    }

    /// Adds one behind all of its level, of which some are shared, or none.
    #[inline(always)]
    pub(crate) fn push(&mut self, level: usize, one: T, is_shared: bool) {
        self.count(level, 1);
        if is_shared {
            self.back.change(level, |back| back.push_back(one));
        } else {
            self.join(level);
            self.front.change(level, |front| front.push_back(one));
        }
    }

    /// Puts one in the worker cache, which is empty.
    #[inline]
    pub(crate) fn cache(&mut self, level: usize, one: T) {
        debug_assert!(self.cached.is_none(), "there is one place");
        self.count(level, 1);
        self.cached = Some((level, one));
    }

    /// Is there one in the worker cache?
    #[inline]
    pub(crate) fn has_cached(&self) -> bool {
        self.cached.is_some()
    }

    /// Takes out the one in the worker cache.
    #[inline]
    pub(crate) fn take_cached(&mut self) -> Option<(usize, T)> {
        let (level, one) = self.cached.take()?;
        self.count(level, -1);
        Some((level, one))
    }

    /// The one in the worker cache, to look at.
    pub(crate) fn cached(&self) -> Option<&(usize, T)> {
        self.cached.as_ref()
    }

    /// The one that runs next, if nothing of another level than that of `normal` waits, nothing is shared, and there is any.
    #[inline]
    pub(crate) fn pop_normal(&mut self) -> Option<T> {
        if self.front.of(Priority::NORMAL.level()).len() != self.len {
            return None;
        }
        self.turns.only_normal();
        self.take_first(Priority::NORMAL.level())
    }

    /// The level that is to run next, where these are shared, and so many of a band.
    pub(crate) fn turn(&mut self, levels: u32, shared: impl Fn(Band) -> usize) -> Option<usize> {
        let counts = &self.counts;
        self.turns
            .next(self.front.occupied() | self.back.occupied() | levels, |band| counts[band as usize] + shared(band))
    }

    /// The first of a level, of which some are shared, or none; `None` if it is a shared one, or there is none.
    pub(crate) fn pop(&mut self, level: usize, is_shared: bool) -> Option<T> {
        if self.front.of(level).is_empty() && !is_shared {
            self.join(level);
        }
        self.take_first(level)
    }

    #[inline(always)]
    fn take_first(&mut self, level: usize) -> Option<T> {
        let one = self.front.change(level, VecDeque::pop_front)?;
        self.count(level, -1);
        Some(one)
    }

    /// Takes the first of what is shared of a level back, at most so many: they come behind the front, and before the back.
    pub(crate) fn take_back(&mut self, level: usize, shared: &mut VecDeque<T>, most: usize) {
        let many = shared.len().min(most);
        self.count(level, many as isize);
        self.front.change(level, |front| front.extend(shared.drain(..many)));
        if shared.is_empty() {
            self.join(level);
        }
    }

    /// Nothing is shared of a level: its two ends are one queue, in front.
    #[inline(always)]
    fn join(&mut self, level: usize) {
        if !self.back.of(level).is_empty() {
            let mut back = self.back.change(level, std::mem::take);
            self.front.change(level, |front| front.append(&mut back));
        }
    }

    /// All of a level, for `change` to take some out.
    pub(crate) fn change<X>(&mut self, level: usize, change: impl FnOnce(&mut VecDeque<T>) -> X) -> X {
        self.join(level);
        let before = self.front.of(level).len() as isize;
        let result = self.front.change(level, change);
        self.count(level, self.front.of(level).len() as isize - before);
        result
    }

    /// Those of a level that stand behind what is shared of it, for `change` to take some out.
    pub(crate) fn change_back<X>(&mut self, level: usize, change: impl FnOnce(&mut VecDeque<T>) -> X) -> X {
        let before = self.back.of(level).len() as isize;
        let result = self.back.change(level, change);
        self.count(level, self.back.of(level).len() as isize - before);
        result
    }

    /// There are so many more of a level.
    #[inline(always)]
    fn count(&mut self, level: usize, more: isize) {
        let count = &mut self.counts[band(level) as usize];
        *count = count.wrapping_add_signed(more);
        self.len = self.len.wrapping_add_signed(more);
    }
}
