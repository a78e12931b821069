//! Dirty schedulers: threads for built-ins that compute or block for long, and for collections of large heaps; one pool of each
//! kind.
//!
//! A call leaves its process behind (`dirty_call.rs`). A process that is to be collected stays `Running` while it is here, so that
//! it is in no run queue (process/P1) and its private part belongs to the dirty thread (process/P2). At most as many threads of a pool work at a
//! time as are online, and none while multi-scheduling is blocked: the one scheduler that runs then does their work too, in turn
//! with its own (who blocks it, and then reads a file, would wait for ever otherwise). Work is taken by the priorities of its
//! processes, as from a run queue.

use crate::Process;
use crate::bif::DirtyKind;
use crate::ctx::Ctx;
use crate::dirty_call::DirtyCall;
use crate::engine::SliceEnd;
use crate::microstate::{self, State};
use crate::run_queue::{Load, Queues};
use crate::scheduler::{Local, TRIM_AFTER};
use crate::vm::{Config, Vm};
use myriad_process::Priority;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{CachePadded, Condvar, LockClass, Mutex, MutexGuard};

static CLASS: LockClass = LockClass::new("dirty_run_queue", 610);

/// A thread that has worked for so long gives free memory back to the system when it has been idle for [`TRIM_AFTER`].
const TRIM_WORK_NS: u64 = 10_000_000;

/// A process that is to be collected.
struct Running(*const Process);
// SAFETY: it is `Running`, so nothing frees it; it is `Sync`.
unsafe impl Send for Running {}

enum Job {
    Collection(Running),
    Call(DirtyCall),
}

impl Job {
    fn collects(&self) -> bool {
        matches!(self, Job::Collection(_))
    }
}

struct Jobs {
    waiting: Queues<Job>,
    running: usize,
    /// Of those that run, collections.
    collecting: usize,
    /// Most that may run.
    online: usize,
    blocked: bool,
}

struct Pool {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

impl Jobs {
    fn take(&mut self) -> Option<Job> {
        if self.running >= self.online || self.blocked {
            return None;
        }
        let job = self.waiting.pick()?;
        self.running += 1;
        self.collecting += usize::from(job.collects());
        Some(job)
    }

    /// Is there work, and all threads of the pool have to rest, and do?
    fn is_for_the_one(&self) -> bool {
        self.blocked && self.running == 0 && !self.waiting.is_empty()
    }
}

impl Pool {
    /// Takes a job while all threads of the pool have to rest, and do.
    fn take_while_blocked(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        if jobs.is_for_the_one() { jobs.waiting.pick() } else { None }
    }

    fn ran_one(&self, vm: &Vm, collected: bool) {
        let mut jobs = self.jobs.lock();
        jobs.running -= 1;
        jobs.collecting -= usize::from(collected);
        if jobs.is_for_the_one() {
            vm.machine.unpark(0);
        } else if !jobs.waiting.is_empty() {
            // It may have waited for this thread's place only.
            self.changed.notify_one();
        }
    }

    /// Waits for a change, and gives free memory of this thread back if none comes after a time of work.
    fn wait<'a>(&'a self, jobs: MutexGuard<'a, Jobs>, untrimmed_ns: &mut u64) -> MutexGuard<'a, Jobs> {
        let _sleep = microstate::within(State::Sleep);
        if *untrimmed_ns < TRIM_WORK_NS {
            return self.changed.wait(jobs);
        }
        let (jobs, late) = self.changed.wait_timeout(jobs, TRIM_AFTER);
        if !late {
            return jobs;
        }
        drop(jobs);
        *untrimmed_ns = 0;
        let _aux = microstate::within(State::Aux);
        myriad_term::memory::trim();
        self.jobs.lock()
    }

    fn new(online: usize) -> Pool {
        let jobs = Jobs { waiting: Queues::default(), running: 0, collecting: 0, online, blocked: false };
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
    blocked: AtomicBool,
    loads: Box<[CachePadded<Load>]>,
}

impl DirtyPools {
    pub(crate) fn new(config: &Config) -> DirtyPools {
        let loads = (0..config.dirty_cpu + config.dirty_io).map(|_| CachePadded::new(Load::default())).collect();
        DirtyPools {
            cpu: Pool::new(config.dirty_cpu_online),
            io: Pool::new(config.dirty_io),
            blocked: AtomicBool::new(false),
            loads,
        }
    }

    /// What the dirty schedulers have done: CPU, then I/O.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.loads.iter().map(|load| &**load)
    }

    /// How many CPU schedulers may work, and whether any of either kind may.
    pub(crate) fn set_online(&self, cpu: usize, blocked: bool) {
        // Relaxed: the scheduler that runs alone looks again before it parks, and is woken after the change.
        self.blocked.store(blocked, Ordering::Relaxed);
        self.cpu.set_online(Some(cpu), blocked);
        self.io.set_online(None, blocked);
    }

    /// Does none of them run anything?
    pub(crate) fn is_at_rest(&self) -> bool {
        [&self.cpu, &self.io].iter().all(|pool| pool.jobs.lock().running == 0)
    }

    /// Does none of them collect a process?
    pub(crate) fn collects_none(&self) -> bool {
        [&self.cpu, &self.io].iter().all(|pool| pool.jobs.lock().collecting == 0)
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

    fn enqueue(&self, kind: DirtyKind, priority: Priority, job: Job) {
        let pool = self.pool(kind);
        pool.jobs.lock().waiting.push(priority, job);
        pool.changed.notify_one();
    }

    /// A process that stays `Running` is to be collected.
    pub(crate) fn enqueue_collection(&self, kind: DirtyKind, process: &Process) {
        self.enqueue(kind, process.priority(), Job::Collection(Running(process)));
    }

    /// A call is to be run.
    pub(crate) fn enqueue_call(&self, kind: DirtyKind, priority: Priority, call: DirtyCall) {
        self.enqueue(kind, priority, Job::Call(call));
    }

    /// The process ends: a call of its that has not begun is not made (DC2).
    pub(crate) fn forget(&self, process: &Process) {
        let is_of = |job: &Job| matches!(job, Job::Call(call) if call.is_of(process));
        for pool in [&self.cpu, &self.io] {
            // Dropped after the lock.
            let call = pool.jobs.lock().waiting.remove(is_of);
            drop(call);
        }
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
        microstate::join(vm, vm.config.schedulers + index, State::Other);
        let mut untrimmed_ns = 0;
        loop {
            local.slot.park();
            let job = {
                let mut jobs = pool.jobs.lock();
                loop {
                    if vm.is_stopping() {
                        return;
                    }
                    let next = if vm.safepoint_requested() { None } else { jobs.take() };
                    match next {
                        Some(job) => {
                            // DC2: before the queue is let go.
                            local.slot.unpark();
                            break job;
                        }
                        None => jobs = pool.wait(jobs, &mut untrimmed_ns),
                    }
                }
            };
            let collects = job.collects();
            let began = vm.machine.now_ns();
            load.busy_from(began);
            microstate::enter(State::Emulator);
            Self::run(vm, job, &mut local);
            microstate::enter(State::Other);
            let ended = vm.machine.now_ns();
            load.idle_from(ended);
            untrimmed_ns += ended.saturating_sub(began);
            pool.ran_one(vm, collects);
        }
    }

    /// Is there work that the scheduler which runs alone has to do?
    #[inline]
    pub(crate) fn wants_the_one(&self) -> bool {
        // Relaxed: see `set_online`.
        self.blocked.load(Ordering::Relaxed)
            && [&self.cpu, &self.io].iter().any(|pool| pool.jobs.lock().is_for_the_one())
    }

    /// While multi-scheduling is blocked: does one job on the scheduler that runs alone, if there is one.
    pub(crate) fn run_on_the_one(&self, vm: &'static Vm, local: &mut Local) -> bool {
        let Some(job) = self.cpu.take_while_blocked().or_else(|| self.io.take_while_blocked()) else { return false };
        local.dirty = true;
        Self::run(vm, job, local);
        local.dirty = false;
        true
    }

    /// Runs one process that waits, if one does and may: what the thread of one does in one round.
    #[cfg(test)]
    pub(crate) fn step(&self, vm: &'static Vm, kind: DirtyKind, local: &mut Local) -> bool {
        let Some(job) = self.pool(kind).jobs.lock().take() else { return false };
        let collects = job.collects();
        Self::run(vm, job, local);
        self.pool(kind).ran_one(vm, collects);
        true
    }

    fn run(vm: &'static Vm, job: Job, local: &mut Local) {
        let process = match job {
            Job::Call(call) => return call.run(vm, local),
            // SAFETY: see `Running`.
            Job::Collection(process) => unsafe { &*process.0 },
        };
        // SAFETY: process/P2: it is `Running`, and the queue handed it to this thread.
        let private = unsafe { process.private() };
        let mut ctx = Ctx { proc: private, this: process, sched: local, vm };
        let end = ctx.do_tasks_here().unwrap_or(SliceEnd::Yielded);
        vm.after_slice(&mut ctx, end);
    }
}
