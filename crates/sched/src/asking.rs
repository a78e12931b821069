//! Schedulers without work that ask a process for a part of its own (docs/parallel.md): who asks, and how one gets what was made for it.
//!
//! A single process in another's queue is not taken at once (sched/Q3), and need not be: the part is made because this scheduler asks, so it goes into its queue.

use crate::Runtime;
use crate::current::current;
use crate::schedulers::Schedulers;
use myriad_process::Process;

impl<R: Runtime> Schedulers<R> {
    /// Would another scheduler do a part of what the process does that runs on `id`? One is without work, or one more may be active; and nothing
    /// waits here that it could take instead.
    #[inline]
    pub fn is_work_wanted(&self, id: usize) -> bool {
        self.past().is_none()
            && self.get(id).is_some_and(|own| own.is_empty())
            && (!self.idle.is_empty() || self.active() < self.most_active())
    }

    /// Puts a process, which is runnable and in no queue, into the queue of a scheduler that asks for work, near that of this thread, and wakes it; or into one as
    /// any other process, if nobody asks any more.
    pub fn give_who_asks(&self, process: &Process<R>) {
        let Some(id) = current() else { return self.enqueue(process) };
        let pushed = self.idle.after_push();
        let named = |other: usize| (other, &self[other].worker);
        let asking = pushed.claim(self.places.to_wake(id, self.active(), self.idle.idle()).map(named));
        let raise = || (self.active() < self.most_active()).then(|| self.raise_active()).flatten();
        match asking.or_else(raise) {
            // It was claimed, or is active only now, so it looks into its queue when it is woken.
            Some(other) if process.may_run_on(other) => {
                self[other].push(process);
                self.advertise(other);
                self.platform.unpark_beside(other);
            }
            Some(other) => {
                self.platform.unpark_beside(other);
                self.enqueue(process);
            }
            None => self.enqueue(process),
        }
    }
}
