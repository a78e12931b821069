//! Dirty schedulers: threads for built-ins that compute or block for long, and for collections of large heaps; one pool of each
//! kind.
//!
//! A process stays `Running` while it is here, so that it is in no run queue (P1) and its private part belongs to the dirty
//! thread (P2). At most as many threads of a pool work at a time as are online, and none while multi-scheduling is blocked.

use crate::bif::DirtyKind;
use crate::ctx::Ctx;
use crate::process::Process;
use crate::run_queue::Load;
use crate::scheduler::Local;
use crate::vm::{Config, Vm};
use myriad_sync::{CachePadded, Condvar, LockClass, Mutex};
use std::collections::VecDeque;

static CLASS: LockClass = LockClass::new("dirty_run_queue", 610);

struct Waiting(*const Process);
// SAFETY: a process that waits here is `Running`, so nothing frees it; it is `Sync`.
unsafe impl Send for Waiting {}

struct Jobs {
    waiting: VecDeque<Waiting>,
    running: usize,
    /// Most that may run.
    online: usize,
    blocked: bool,
}

struct Pool {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

impl Jobs {
    fn take(&mut self) -> Option<Waiting> {
        if self.running >= self.online || self.blocked {
            return None;
        }
        let process = self.waiting.pop_front()?;
        self.running += 1;
        Some(process)
    }
}

impl Pool {
    fn ran_one(&self) {
        let mut jobs = self.jobs.lock();
        jobs.running -= 1;
        if !jobs.waiting.is_empty() {
            // It may have waited for this thread's place only.
            self.changed.notify_one();
        }
    }

    fn new(online: usize) -> Pool {
        let jobs = Jobs { waiting: VecDeque::new(), running: 0, online, blocked: false };
        Pool { jobs: Mutex::new(&CLASS, jobs), changed: Condvar::new() }
    }

    fn set_online(&self, online: Option<usize>, blocked: bool) {
        let mut jobs = self.jobs.lock();
        jobs.online = online.unwrap_or(jobs.online);
        jobs.blocked = blocked;
        self.changed.notify_all();
    }
}

/// Both pools.
pub struct DirtyPools {
    cpu: Pool,
    io: Pool,
    loads: Box<[CachePadded<Load>]>,
}

impl DirtyPools {
    pub(crate) fn new(config: &Config) -> DirtyPools {
        let loads = (0..config.dirty_cpu + config.dirty_io).map(|_| CachePadded::new(Load::default())).collect();
        DirtyPools { cpu: Pool::new(config.dirty_cpu_online), io: Pool::new(config.dirty_io), loads }
    }

    /// What the dirty schedulers have done: CPU, then I/O.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.loads.iter().map(|load| &**load)
    }

    /// How many CPU schedulers may work, and whether any of either kind may.
    pub(crate) fn set_online(&self, cpu: usize, blocked: bool) {
        self.cpu.set_online(Some(cpu), blocked);
        self.io.set_online(None, blocked);
    }

    /// Does none of them run anything?
    pub(crate) fn is_at_rest(&self) -> bool {
        [&self.cpu, &self.io].iter().all(|pool| pool.jobs.lock().running == 0)
    }

    /// Processes that run on dirty schedulers of this kind.
    pub fn running(&self, kind: DirtyKind) -> usize {
        self.pool(kind).jobs.lock().running
    }

    fn pool(&self, kind: DirtyKind) -> &Pool {
        match kind {
            DirtyKind::Cpu => &self.cpu,
            DirtyKind::Io => &self.io,
        }
    }

    /// Processes that wait for a dirty scheduler of this kind.
    pub fn waiting(&self, kind: DirtyKind) -> usize {
        self.pool(kind).jobs.lock().waiting.len()
    }

    pub(crate) fn enqueue(&self, kind: DirtyKind, process: &Process) {
        let pool = self.pool(kind);
        pool.jobs.lock().waiting.push_back(Waiting(process));
        pool.changed.notify_one();
    }

    /// Lets all threads see that the VM stops.
    pub fn wake_all(&self) {
        for pool in [&self.cpu, &self.io] {
            // Under the lock: who has not seen the VM stop waits by then.
            let _jobs = pool.jobs.lock();
            pool.changed.notify_all();
        }
    }

    /// The thread of one dirty scheduler.
    pub fn run_thread(&'static self, vm: &'static Vm, kind: DirtyKind, index: usize, mut local: Local) {
        let pool = self.pool(kind);
        let load = &self.loads[index];
        load.idle_from(vm.machine.now_ns());
        loop {
            local.slot.park();
            let process = {
                let mut jobs = pool.jobs.lock();
                loop {
                    if vm.is_stopping() {
                        return;
                    }
                    let next = if vm.is_paused() { None } else { jobs.take() };
                    match next {
                        Some(process) => break process,
                        None => jobs = pool.changed.wait(jobs),
                    }
                }
            };
            load.busy_from(vm.machine.now_ns());
            local.slot.unpark();
            Self::run(vm, process, &mut local);
            load.idle_from(vm.machine.now_ns());
            pool.ran_one();
        }
    }

    /// Runs one process that waits, if one does and may: what the thread of one does in one round.
    #[cfg(test)]
    pub(crate) fn step(&self, vm: &'static Vm, kind: DirtyKind, local: &mut Local) -> bool {
        let Some(process) = self.pool(kind).jobs.lock().take() else { return false };
        Self::run(vm, process, local);
        self.pool(kind).ran_one();
        true
    }

    fn run(vm: &'static Vm, process: Waiting, local: &mut Local) {
        // SAFETY: see `Waiting`.
        let process = unsafe { &*process.0 };
        // SAFETY: P2: it is `Running`, and the queue handed it to this thread.
        let private = unsafe { process.private() };
        let mut ctx = Ctx { proc: private, this: process, sched: local, vm };
        let end = ctx.do_tasks_here().unwrap_or_else(|| vm.engine().run_dirty(&mut ctx));
        vm.after_slice(&mut ctx, end);
    }
}
