//! [`Private`]: the two ends of a run queue that its scheduler alone touches (sched.run_queue/R3).

use crate::queues::{LEVELS, Turns};
use myriad_process::Priority;
use std::collections::VecDeque;

/// The first and the last of what waits, by priority; what stands between them is shared.
pub(crate) struct Private<T> {
    /// What runs next.
    front: [VecDeque<T>; LEVELS],
    /// What came while some of its priority was shared.
    back: [VecDeque<T>; LEVELS],
    /// All of both.
    len: usize,
    /// Those of them that are bound to this scheduler.
    pub(crate) bound: usize,
    turns: Turns,
}

impl<T> Default for Private<T> {
    fn default() -> Self {
        Private { front: Default::default(), back: Default::default(), len: 0, bound: 0, turns: Turns::default() }
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
        self.front[level].len() + self.back[level].len()
    }

    /// Those of a priority before what is shared of it, and those behind.
    pub(crate) fn ends(&self, level: usize) -> (&VecDeque<T>, &VecDeque<T>) {
        (&self.front[level], &self.back[level])
    }

    /// Adds one behind all of its priority, of which so many are shared.
    #[inline]
    pub(crate) fn push(&mut self, level: usize, one: T, shared: usize) {
        self.len += 1;
        if shared > 0 {
            self.back[level].push_back(one);
        } else {
            self.join(level).push_back(one);
        }
    }

    /// The one that runs next, if nothing of another priority than normal waits, nothing is shared, and there is any.
    #[inline]
    pub(crate) fn pop_normal(&mut self) -> Option<T> {
        let normal = &mut self.front[Priority::Normal as usize];
        if normal.len() != self.len {
            return None;
        }
        self.turns.only_normal();
        let one = normal.pop_front()?;
        self.len -= 1;
        Some(one)
    }

    /// The priority that is to run next, where so many are shared of each.
    pub(crate) fn turn(&mut self, shared: [usize; LEVELS]) -> Option<usize> {
        self.turns.next(std::array::from_fn(|level| self.of(level) + shared[level]))
    }

    /// The first of a priority of which so many are shared; `None` if that is a shared one, or there is none.
    pub(crate) fn pop(&mut self, level: usize, shared: usize) -> Option<T> {
        if self.front[level].is_empty() && shared == 0 {
            self.join(level);
        }
        let one = self.front[level].pop_front()?;
        self.len -= 1;
        Some(one)
    }

    /// Takes what was shared of a priority back: it comes behind the front and before the back.
    pub(crate) fn take_back(&mut self, level: usize, shared: &mut VecDeque<T>) {
        self.len += shared.len();
        self.front[level].append(shared);
        self.join(level);
    }

    /// The queue of a priority of which nothing is shared.
    #[inline]
    fn join(&mut self, level: usize) -> &mut VecDeque<T> {
        let (front, back) = (&mut self.front[level], &mut self.back[level]);
        if !back.is_empty() {
            front.append(back);
        }
        front
    }

    /// All of a priority, for `change` to take some out.
    pub(crate) fn change<X>(&mut self, level: usize, change: impl FnOnce(&mut VecDeque<T>) -> X) -> X {
        let queue = self.join(level);
        let before = queue.len();
        let result = change(queue);
        let after = queue.len();
        self.len = self.len + after - before;
        result
    }
}
