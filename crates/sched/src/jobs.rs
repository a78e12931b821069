//! Jobs: what schedulers run beside processes, such as a port for which operations wait. (OTP has a queue of ports in each run queue, Zhang 3.3.)
//!
//! A job has level 10 of the 32 (Hedqvist 1998, 5.2.6): it goes before processes of lower priority, but after each job one process has a slice, if
//! any waits, so that busy ports do not keep processes from running. Any scheduler may run any job.
//!
//! A job stands in one queue, which counts it for its scheduler and for thieves (`RunQueue::is_empty`, `RunQueue::offers`), so what holds of
//! processes that are shared (sched/Q2 to Q4) holds of jobs.

use myriad_process::Priority;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{LockClass, SpinLock};
use std::collections::VecDeque;

static JOBS_CLASS: LockClass = LockClass::new("job_queue", 605);

/// The priority of jobs.
pub const PRIORITY: Priority = Priority::of_level(LEVEL).unwrap();
const LEVEL: usize = 10;
/// The levels that go before jobs, as bits.
pub(crate) const BEFORE: u32 = (1 << LEVEL) - 1;

/// Work for any scheduler: it tells how many reductions it has used.
pub struct Job(Box<dyn FnOnce() -> u32 + Send>);

impl Job {
    /// To be done once.
    pub fn new(work: impl FnOnce() -> u32 + Send + 'static) -> Job {
        Job(Box::new(work))
    }

    /// Does it; gives the reductions.
    pub fn run(self) -> u32 {
        (self.0)()
    }
}

/// The jobs in one scheduler's queue.
pub(crate) struct Jobs {
    queue: SpinLock<VecDeque<Job>>,
    len: AtomicUsize,
}

impl Default for Jobs {
    fn default() -> Self {
        Jobs { queue: SpinLock::new(&JOBS_CLASS, VecDeque::new()), len: AtomicUsize::new(0) }
    }
}

impl Jobs {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: as of processes that are shared (sched.run_queue/R1).
        self.len.load(Ordering::Relaxed)
    }

    fn change<X>(&self, change: impl FnOnce(&mut VecDeque<Job>) -> X) -> X {
        let mut queue = self.queue.lock();
        let result = change(&mut queue);
        // Relaxed: as above.
        self.len.store(queue.len(), Ordering::Relaxed);
        result
    }

    pub(crate) fn push(&self, job: Job) {
        self.change(|queue| queue.push_back(job));
    }

    pub(crate) fn pop(&self) -> Option<Job> {
        if self.len() == 0 { None } else { self.change(VecDeque::pop_front) }
    }

    /// Half of them, the last ones, for a thief.
    pub(crate) fn take_half(&self) -> VecDeque<Job> {
        if self.len() == 0 { VecDeque::new() } else { self.change(|queue| queue.split_off(queue.len() / 2)) }
    }

    /// Adds what comes from another queue.
    pub(crate) fn append(&self, mut more: VecDeque<Job>) {
        if !more.is_empty() {
            self.change(|queue| queue.append(&mut more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Job, Jobs};

    #[test]
    fn a_thief_takes_half_and_one_alone_whole() {
        let jobs = Jobs::default();
        (0..5).for_each(|n| jobs.push(Job::new(move || n)));
        let stolen = jobs.take_half();
        assert_eq!((jobs.len(), stolen.len()), (2, 3));
        let other = Jobs::default();
        other.append(stolen);
        let all = std::iter::from_fn(|| other.pop()).map(Job::run);
        assert_eq!(all.collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(jobs.pop().map(Job::run), Some(0));
        assert_eq!((jobs.take_half().len(), jobs.len(), jobs.take_half().len()), (1, 0, 0));
    }
}
