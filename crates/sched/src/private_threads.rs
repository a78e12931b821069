//! Private threads: a process that asks for one runs on a thread of the operating system of its own, and gives it back when it likes
//! (Hedqvist 1998, 5.2.5 and 5.2.8).
//!
//! Each has a queue of one process. A private thread takes part in all that schedulers take part in (thread progress, safepoints, the
//! blocking of multi-scheduling) but has no run queue that others could take from, no timers, and no place in the idle set: who makes its
//! process runnable wakes it. Threads that have no process stay, and serve the next one.
//!
//! ```text
//!             given a process                      put: and unparked
//!   idle ---------------------------> waits  ---------------------------> has a process to run
//!     ^                                 ^                                        |
//!     |                                 +---- the slice is over: it waits -------+---> puts it again
//!     +--- given back, by the process or at its end -----------------------------+
//! ```
//!
//! PT1. A thread belongs to one process at most, from [`Schedulers::take_private_thread`] to [`Schedulers::give_back_private_thread`], and
//!      the process's placement names it. The placement is changed by the process itself while it runs, so nothing but its next way into a
//!      queue differs: switching over moves no signal and no state.
//! PT2. What stands in the queue of one is runnable, as what stands in a run queue (sched/Q1), and its process is in no other queue. So the
//!      queue is empty whenever its process runs, wherever that is, and so when the thread is given to another.
//! PT3. No wake-up is lost: who puts a process there unparks the thread afterwards, and that looks each time it has been unparked
//!      (sync.parker/K1).
//! PT4. All private threads that live are counted before they are started, so who stops the world waits for them too: one that is started
//!      meanwhile was started by a scheduler or private thread that was not stopped yet.
//!
//! While multi-scheduling is blocked a private thread hands its process to the schedulers, as a scheduler does that is not active; the
//! process comes back when its slice there is over and nothing is blocked any more. Who blocks may so wait for processes with private threads.
//!
//! What was not done: a thread for each process (Hedqvist's figure 3 shows what that costs); a run queue for each private thread, which
//! other schedulers would have to be kept from robbing.

use crate::Runtime;
use crate::current::act_for_private_thread;
use crate::dispatcher::{TRIM_AFTER, TRIM_REDUCTIONS};
use crate::load::Load;
use crate::local::Local;
use crate::nice::Niceness;
use crate::run_queue::Runnable;
use crate::schedulers::Schedulers;
use crate::seats::Seat;
use myriad_process::Process;
use myriad_sync::thread::JoinHandle;
use std::io;

impl<R: Runtime> Schedulers<R> {
    /// A private thread for a process, or `None` if there are as many as may be, or the system gives no more. `start` starts a new one,
    /// which calls [`Schedulers::run_private_thread`].
    pub fn take_private_thread(&self, start: impl FnOnce(usize) -> io::Result<JoinHandle<()>>) -> Option<usize> {
        let (thread, new) = self.private.reserve()?;
        if new {
            self.private.begin(thread, start).ok()?;
        }
        Some(thread)
    }

    /// Its process has no private thread any more; it runs, or was never published.
    pub fn give_back_private_thread(&self, thread: usize) {
        self.private.give_back(thread);
    }

    /// Most private threads.
    pub fn most_private_threads(&self) -> usize {
        self.private.most()
    }

    /// What private threads have done.
    pub fn private_loads(&self) -> impl Iterator<Item = &Load> {
        self.private.each().map(|seat| &seat.load)
    }

    /// Puts a runnable process in the queue of its private thread, and wakes that; `false`: it has none, or multi-scheduling is blocked.
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue_privately(&self, process: &Process<R>) -> bool {
        let Some(thread) = process.private_thread() else { return false };
        if self.private.is_blocked() {
            return false;
        }
        let seat = self.private.seat(thread);
        let before = seat.next.lock().replace(Runnable::new(process));
        debug_assert!(before.is_none(), "PT2: it is in its queue already");
        seat.parker.unpark();
        true
    }

    /// The private thread of this number: has `run` run slices until the VM stops. That counts each, and gives its reductions.
    pub fn run_private_thread(
        &self,
        thread: usize,
        mut local: Local,
        mut run: impl FnMut(&'static Process<R>, &mut Local, &Load) -> u32,
    ) {
        debug_assert!(local.private);
        act_for_private_thread();
        let seat = self.private.seat(thread);
        let mut untrimmed = 0;
        let mut niceness = Niceness::of_new_thread();
        seat.load.idle_from(self.platform.now_ns());
        loop {
            if self.safepoint_requested() {
                // Retired work that is left waits, as all else does.
                let _ = local.go_offline();
                self.block_at_safepoint();
                local.go_online();
            }
            local.quiescent();
            if self.is_stopping() {
                break;
            }
            let next = seat.next.lock().take();
            match next {
                Some(process) if self.private.is_blocked() => self.enqueue_at(0, process.taken()),
                Some(process) => {
                    let process = process.taken();
                    niceness.become_that_of(process.priority());
                    local.now_ns = self.platform.now_ns();
                    seat.load.busy_from(local.now_ns);
                    untrimmed += u64::from(run(process, &mut local, &seat.load));
                }
                None => self.park_privately(seat, &local, &mut untrimmed),
            }
        }
        self.private.ended();
    }

    /// Waits until the process is to run, or something else has come up (PT3). After a time of work free memory goes back to the system.
    fn park_privately(&self, seat: &Seat<R>, local: &Local, untrimmed: &mut u64) {
        if local.go_offline() {
            seat.load.idle_from(self.platform.now_ns());
            let trims = *untrimmed >= TRIM_REDUCTIONS;
            if !seat.parker.park(trims.then_some(TRIM_AFTER)) && trims {
                *untrimmed = 0;
                myriad_term::memory::trim();
            }
        }
        local.go_online();
    }

    /// Waits until all private threads have ended, after [`Schedulers::stop`].
    pub fn join_private_threads(&self) {
        loop {
            match self.private.to_be_joined().map(JoinHandle::join) {
                None => return,
                Some(Ok(())) => {}
                Some(Err(panic)) => std::panic::resume_unwind(panic),
            }
        }
    }
}
