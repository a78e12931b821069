//! What dirty schedulers do for a VM: calls of built-ins, collections of large heaps, what the process of a large heap need not wait for, and what is left of
//! processes that had such a heap. The pools are in crate `sched`.
//!
//! A call leaves its process behind (`dirty_call.rs`). A process that is collected here stays `Running` from the slice that handed it
//! over until the collection is done, so that it is in no run queue (process/P1) and its owner state belongs to the dirty thread
//! (process/P2). One that is freed here has left the process table, and all threads have moved on since (`exit.rs`).

use crate::Process;
use crate::ctx::Ctx;
use crate::dirty_call::DirtyCall;
use crate::engine::SliceEnd;
use crate::vm::Vm;
use myriad_process::Priority;
use myriad_sched::current::leave_scheduler;
use myriad_sched::microstate::{self, State};
use myriad_sched::{DirtyJob, DirtyKind, Local};

/// A process to be collected.
pub struct Running(*const Process);
// SAFETY: the process is `Running`, so nothing frees it; it is `Sync`.
unsafe impl Send for Running {}

/// A process that has ended, and that no thread can see any more: it is freed by whoever has this.
pub struct Dead(*mut Process);
// SAFETY: `of`: nobody else refers to it, and any thread may free it.
unsafe impl Send for Dead {}

impl Dead {
    /// What has left the process table.
    ///
    /// # Safety
    /// The table gave it, this is done once, and by the time that this is dropped all threads have been quiescent since (process/TB1).
    pub(crate) unsafe fn of(process: *mut Process) -> Dead {
        Dead(process)
    }
}

impl Drop for Dead {
    fn drop(&mut self) {
        // SAFETY: it came from `Box::into_raw` in the table, and nobody refers to it (`of`).
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// What a dirty scheduler does in one go.
pub enum Job {
    /// Collects a process.
    Collection(Running),
    /// Calls a built-in.
    Call(DirtyCall),
    /// Marks what lives in the old generation of a heap whose process goes on.
    Help(myriad_heap::Help),
    /// Frees a process.
    Free(Dead),
}

impl DirtyJob<Vm> for Job {
    fn is_collection(&self) -> bool {
        matches!(self, Job::Collection(_))
    }

    fn ends_with(&self, process: &Process) -> bool {
        matches!(self, Job::Call(call) if call.is_of(process))
    }
}

impl myriad_sched::Runtime for Vm {
    type DirtyJob = Job;
}

impl Vm {
    /// Has a process collected on a dirty scheduler; it stays `Running` until then.
    pub(crate) fn collect_dirty(&self, kind: DirtyKind, process: &Process) {
        self.schedulers.enqueue_dirty(kind, process.priority(), Job::Collection(Running(process)));
    }

    /// Has a heap helped. It is nobody's work in particular, so it has the normal priority.
    pub(crate) fn help(&self, help: myriad_heap::Help) {
        if self.config.dirty_cpu == 0 {
            return help.run();
        }
        self.schedulers.enqueue_dirty(DirtyKind::Cpu, Priority::NORMAL, Job::Help(help));
    }

    /// Has a process freed on a dirty scheduler; at once, if the VM stops.
    pub(crate) fn free_dirty(&self, dead: Dead, priority: Priority) {
        if !self.schedulers.is_stopping() {
            self.schedulers.enqueue_dirty(DirtyKind::Cpu, priority, Job::Free(dead));
        }
    }

    /// The thread of one dirty scheduler, the `index`-th of all.
    pub(crate) fn run_dirty_thread(&'static self, kind: DirtyKind, index: usize) {
        let id = self.config.schedulers + index;
        let Some(local) = self.scheduler_local(id, true) else { return };
        self.account_thread(id, State::Other);
        self.schedulers.run_dirty_thread(kind, index, local, |job, local| self.run_dirty(job, local));
    }

    /// Does one job of a kind, if there is one, for who steps schedulers itself; `local` is a dirty scheduler's.
    pub fn run_dirty_job(&'static self, kind: DirtyKind, local: &mut Local) -> bool {
        leave_scheduler();
        local.slot.unpark();
        let ran = self.schedulers.run_dirty_job(kind, |job| self.run_dirty(job, local));
        local.slot.park();
        ran
    }

    /// Does a job, on the thread of a dirty scheduler or of the one that runs alone.
    pub(crate) fn run_dirty(&'static self, job: Job, local: &mut Local) {
        let process = match job {
            Job::Call(call) => return call.run(self, local),
            Job::Help(help) => return outside(local, || help.run()),
            Job::Free(dead) => return outside(local, || drop(dead)),
            // SAFETY: the process is `Running`, so nothing has freed it.
            Job::Collection(process) => unsafe { &*process.0 },
        };
        // SAFETY: process/P2: it is `Running`, and the queue handed it to this thread.
        let state = unsafe { process.owner_state() };
        let mut ctx = Ctx { state, process, sched: local, vm: self };
        let end = ctx.do_tasks_here().unwrap_or(SliceEnd::Yielded);
        self.after_slice(&mut ctx, end);
    }
}

/// Does work that looks at nothing which thread progress keeps, and may take long: what waits for that does not wait for this.
fn outside(local: &mut Local, work: impl FnOnce()) {
    let _aux = microstate::within(State::Aux);
    local.slot.park();
    work();
    local.slot.unpark();
}
