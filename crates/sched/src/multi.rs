//! How many schedulers run: `schedulers_online`, dirty CPU schedulers online, and blocked multi-scheduling.
//!
//! Schedulers with lower numbers are *online*; of those, all are *active*, or only the first while some process blocks
//! multi-scheduling. One that is not active passes on what comes to it and sleeps.
//!
//! B1. Blocking holds once every scheduler and private thread has begun a new step after the number of active ones was lowered: thread
//!     progress tells, so that a slice pays nothing for it. For `block` no dirty scheduler runs anything either.

use crate::Runtime;
use crate::local::Local;
use crate::schedulers::Schedulers;
use myriad_process::Process;
use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::Pid;

static CLASS: LockClass = LockClass::new("multi_scheduling", 270);

/// Which schedulers a block stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// All but one, and the dirty ones.
    All,
    /// All but one; dirty schedulers keep working.
    Normal,
}

/// `erlang:system_info(multi_scheduling)`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MultiScheduling {
    /// No process blocks it.
    Enabled,
    /// A process blocks all schedulers.
    Blocked,
    /// A process blocks normal schedulers only.
    BlockedNormal,
}

struct State {
    /// The processes that block all schedulers, and how often each does.
    all: Vec<(Pid, u32)>,
    /// The processes that block normal schedulers, and how often each does.
    normal: Vec<(Pid, u32)>,
    dirty_cpu_online: usize,
}

impl State {
    fn blockers(&mut self, block: Block) -> &mut Vec<(Pid, u32)> {
        match block {
            Block::All => &mut self.all,
            Block::Normal => &mut self.normal,
        }
    }

    fn now(&self) -> MultiScheduling {
        if !self.all.is_empty() {
            MultiScheduling::Blocked
        } else if !self.normal.is_empty() {
            MultiScheduling::BlockedNormal
        } else {
            MultiScheduling::Enabled
        }
    }
}

/// How many may be active and how many are, in one word: the second never exceeds the first, and changes by itself only as long as that stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counts {
    permitted: usize,
    active: usize,
}

impl Counts {
    #[inline]
    fn of(word: u64) -> Counts {
        Counts { permitted: (word >> 32) as usize, active: (word & u64::from(u32::MAX)) as usize }
    }

    fn word(self) -> u64 {
        debug_assert!((1..=self.permitted).contains(&self.active));
        (self.permitted as u64) << 32 | self.active as u64
    }
}

/// How many schedulers are online and active, and which processes block them.
pub(crate) struct Multi {
    online: AtomicUsize,
    counts: AtomicU64,
    state: Mutex<State>,
}

impl Multi {
    /// With `online` schedulers online, and none blocked.
    pub fn new(online: usize, dirty_cpu_online: usize) -> Multi {
        Multi {
            online: AtomicUsize::new(online),
            counts: AtomicU64::new(Counts { permitted: online, active: online }.word()),
            state: Mutex::new(&CLASS, State { all: Vec::new(), normal: Vec::new(), dirty_cpu_online }),
        }
    }
}

/// Dirty CPU schedulers online after the number of normal ones has changed: both change in the same proportion, in whole
/// percents rounded down, as OTP reckons it.
fn dirty_in_proportion(dirty: usize, from: usize, to: usize, all: usize, all_dirty: usize) -> usize {
    let percent_of_all = all_dirty * 100 / all.max(1);
    let percent = to * percent_of_all / from.max(1);
    (dirty * percent / 100).clamp(1, all_dirty.max(1)).min(to)
}

impl<R: Runtime> Schedulers<R> {
    /// How many schedulers are online: those with lower numbers.
    pub fn online(&self) -> usize {
        // Relaxed: one number.
        self.multi.online.load(Ordering::Relaxed)
    }

    /// How many schedulers run ordinary work: those with lower numbers.
    #[inline]
    pub fn active(&self) -> usize {
        // Relaxed: a process that goes to the wrong queue is passed on; B1 waits for progress.
        self.counts().active
    }

    /// How many schedulers may run ordinary work: those that are online, or one while multi-scheduling is blocked.
    pub fn permitted(&self) -> usize {
        self.counts().permitted
    }

    #[inline]
    fn counts(&self) -> Counts {
        // Relaxed: as in `active`.
        Counts::of(self.multi.counts.load(Ordering::Relaxed))
    }

    /// From now on so many of those that may be are active.
    pub(crate) fn set_active(&self, active: usize) {
        let change = |word| {
            let counts = Counts::of(word);
            Some(Counts { active: active.clamp(1, counts.permitted), ..counts }.word())
        };
        // Relaxed: as in `active`.
        let before = self.multi.counts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
        let before = Counts::of(before.unwrap_or_else(|word| word)).active;
        let active = self.active();
        // Those that are no more pass on what they have.
        (before.min(active)..before.max(active)).for_each(|id| self.platform.unpark(id));
    }

    /// One more is active, if one may be: work waits, and all that are have some. Gives its number; the caller unparks it.
    pub(crate) fn raise_active(&self) -> Option<usize> {
        self.raise(|counts| counts.active + 1).map(|counts| counts.active)
    }

    /// Scheduler `id` is active, if it may be, and so are those with lower numbers.
    #[cold]
    pub(crate) fn activate(&self, id: usize) {
        if let Some(before) = self.raise(|_| id + 1) {
            (before.active..=id).for_each(|id| self.platform.unpark(id));
        }
    }

    /// So many are active, if so many may be and fewer are; gives what was.
    fn raise(&self, wanted: impl Fn(Counts) -> usize) -> Option<Counts> {
        let raised = |word| {
            let counts = Counts::of(word);
            let active = wanted(counts);
            (counts.active < active && active <= counts.permitted).then(|| Counts { active, ..counts }.word())
        };
        // Relaxed: as in `active`.
        self.multi.counts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, raised).ok().map(Counts::of)
    }

    /// Dirty CPU schedulers online.
    pub fn dirty_cpu_online(&self) -> usize {
        self.multi.state.lock().dirty_cpu_online
    }

    /// Is multi-scheduling blocked?
    pub fn multi_scheduling(&self) -> MultiScheduling {
        self.multi.state.lock().now()
    }

    /// The processes that block it, the last one first.
    pub fn blockers(&self, block: Block) -> Vec<Pid> {
        self.multi.state.lock().blockers(block).iter().rev().map(|(pid, _)| *pid).collect()
    }

    /// Sets how many schedulers are online; gives the old number. `None` if there are fewer schedulers, or it is 0.
    pub fn set_online(&self, online: usize) -> Option<usize> {
        if !(1..=self.len()).contains(&online) {
            return None;
        }
        let mut state = self.multi.state.lock();
        // Relaxed: written under the lock; readers get one number.
        let old = self.multi.online.swap(online, Ordering::Relaxed);
        if online != old {
            let n = &self.numbers;
            state.dirty_cpu_online = dirty_in_proportion(state.dirty_cpu_online, old, online, n.normal, n.dirty_cpu);
        }
        self.apply(&state);
        Some(old)
    }

    /// Sets how many dirty CPU schedulers are online; gives the old number. `None`: there are fewer, it is 0, or more than
    /// there are normal schedulers online.
    pub fn set_dirty_cpu_online(&self, online: usize) -> Option<usize> {
        let mut state = self.multi.state.lock();
        if !(1..=self.numbers.dirty_cpu.min(self.online())).contains(&online) {
            return None;
        }
        let old = std::mem::replace(&mut state.dirty_cpu_online, online);
        debug_assert!(old >= 1);
        self.apply(&state);
        Some(old)
    }

    /// Lets all schedulers learn of a change.
    fn apply(&self, state: &State) {
        let blocked = state.now();
        let active = if blocked == MultiScheduling::Enabled { self.online() } else { 1 };
        debug_assert!((1..=self.len()).contains(&active) && active <= self.online());
        // Relaxed: as in `active`.
        self.multi.counts.store(Counts { permitted: active, active }.word(), Ordering::Relaxed);
        self.private.set_blocked(blocked != MultiScheduling::Enabled);
        self.dirty.set_online(state.dirty_cpu_online, blocked == MultiScheduling::Blocked);
        // Some pass on what they have, others look for work.
        self.unpark_all();
    }

    /// Takes back one blocking of `pid`, or (at its end) all. Gives what holds then.
    pub fn unblock(&self, pid: Pid, block: Block) -> MultiScheduling {
        let mut state = self.multi.state.lock();
        let blockers = state.blockers(block);
        if let Some(i) = blockers.iter().position(|(p, _)| *p == pid) {
            debug_assert!(blockers[i].1 > 0, "who blocks no more is not listed");
            blockers[i].1 -= 1;
            if blockers[i].1 == 0 {
                blockers.remove(i);
                self.apply(&state);
            }
        }
        state.now()
    }

    /// A process that blocks multi-scheduling ends.
    pub fn blocker_ends(&self, pid: Pid) {
        let mut state = self.multi.state.lock();
        state.all.retain(|(p, _)| *p != pid);
        state.normal.retain(|(p, _)| *p != pid);
        self.apply(&state);
    }
}

impl<R: Runtime> Schedulers<R> {
    /// Blocks multi-scheduling in the name of a process, the one that runs on this scheduler. It holds once the answer says so.
    pub fn block(&self, process: &Process<R>, block: Block, local: &Local) -> Arc<AtomicBool> {
        let pid = process.pid;
        process.set_blocks_schedulers();
        let mut state = self.multi.state.lock();
        let blockers = state.blockers(block);
        match blockers.iter_mut().find(|(p, _)| *p == pid) {
            Some((_, times)) => *times = times.saturating_add(1),
            None => blockers.push((pid, 1)),
        }
        self.apply(&state);
        drop(state);
        local.grace_period()
    }

    /// Has the grace period passed that began with a change of the number of active ones, and is this scheduler active, or a private thread?
    pub fn have_settled(&self, local: &Local, reached: &AtomicBool) -> bool {
        // Acquire: pairs with the Release in `Local::grace_period`.
        reached.load(Ordering::Acquire) && (local.private || local.id < self.active())
    }

    /// Does the blocking hold (B1)?
    pub fn are_blocked(&self, local: &Local, block: Block, reached: &AtomicBool) -> bool {
        self.have_settled(local, reached) && local.id == 0 && (block == Block::Normal || self.dirty.is_at_rest())
    }
}

#[cfg(test)]
mod tests {
    use super::dirty_in_proportion;

    #[test]
    fn dirty_schedulers_follow_as_on_otp() {
        // Total, total dirty, then (online, dirty online) as OTP 25 goes from one to the next.
        type Steps = &'static [(usize, usize)];
        let runs: [(usize, usize, Steps); 3] = [
            (12, 12, &[(12, 12), (6, 6), (12, 12), (1, 1), (5, 5), (7, 7), (12, 11)]),
            (12, 10, &[(8, 5), (6, 3), (12, 4), (1, 1), (5, 4), (7, 4), (12, 5)]),
            (12, 6, &[(12, 6), (6, 1)]),
        ];
        for (all, all_dirty, steps) in runs {
            for pair in steps.windows(2) {
                let [(from, dirty), (to, expected)] = [pair[0], pair[1]];
                assert_eq!(dirty_in_proportion(dirty, from, to, all, all_dirty), expected, "{from} to {to}");
            }
        }
    }
}
