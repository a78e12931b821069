//! Dirty schedulers: threads for built-ins that compute or block for long, and for collections of large heaps; one pool of each
//! kind.
//!
//! A process stays `Running` while it is here, so that it is in no run queue (P1) and its private part belongs to the dirty
//! thread (P2).

use crate::bif::DirtyKind;
use crate::ctx::Ctx;
use crate::process::Process;
use crate::scheduler::Local;
use crate::vm::Vm;
use myriad_sync::{Condvar, LockClass, Mutex};
use std::collections::VecDeque;

static CLASS: LockClass = LockClass::new("dirty_run_queue", 610);

struct Waiting(*const Process);
// SAFETY: a process that waits here is `Running`, so nothing frees it; it is `Sync`.
unsafe impl Send for Waiting {}

struct Pool {
    queue: Mutex<VecDeque<Waiting>>,
    changed: Condvar,
}

impl Pool {
    fn new() -> Pool {
        Pool { queue: Mutex::new(&CLASS, VecDeque::new()), changed: Condvar::new() }
    }
}

/// Both pools.
pub struct DirtyPools {
    cpu: Pool,
    io: Pool,
}

impl Default for DirtyPools {
    fn default() -> Self {
        DirtyPools { cpu: Pool::new(), io: Pool::new() }
    }
}

impl DirtyPools {
    fn pool(&self, kind: DirtyKind) -> &Pool {
        match kind {
            DirtyKind::Cpu => &self.cpu,
            DirtyKind::Io => &self.io,
        }
    }

    /// Processes that wait for a dirty scheduler of this kind.
    pub fn waiting(&self, kind: DirtyKind) -> usize {
        self.pool(kind).queue.lock().len()
    }

    pub(crate) fn enqueue(&self, kind: DirtyKind, process: &Process) {
        let pool = self.pool(kind);
        pool.queue.lock().push_back(Waiting(process));
        pool.changed.notify_one();
    }

    /// Lets all threads see that the VM stops.
    pub fn wake_all(&self) {
        for pool in [&self.cpu, &self.io] {
            // Under the lock: who has not seen the VM stop waits by then.
            let _queue = pool.queue.lock();
            pool.changed.notify_all();
        }
    }

    /// The thread of one dirty scheduler.
    pub fn run_thread(&'static self, vm: &'static Vm, kind: DirtyKind, mut local: Local) {
        let pool = self.pool(kind);
        loop {
            local.slot.park();
            let process = {
                let mut queue = pool.queue.lock();
                loop {
                    if vm.is_stopping() {
                        return;
                    }
                    match queue.pop_front() {
                        Some(p) => break p,
                        None => queue = pool.changed.wait(queue),
                    }
                }
            };
            local.slot.unpark();
            // SAFETY: see `Waiting`.
            let process = unsafe { &*process.0 };
            // SAFETY: P2: it is `Running`, and the queue handed it to this thread.
            let private = unsafe { process.private() };
            let mut ctx = Ctx { proc: private, this: process, sched: &mut local, vm };
            let end = ctx.do_tasks_here().unwrap_or_else(|| vm.engine().run_dirty(&mut ctx));
            vm.after_slice(&mut ctx, end);
        }
    }
}
