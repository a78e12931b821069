//! Dirty schedulers: threads for built-ins that compute or block for long, and for collecting and freeing large heaps; one pool of each
//! kind.
//!
//! At most as many threads of a pool work at a time as are online, and none while multi-scheduling is blocked: the one scheduler that
//! runs then does their work too, in turn with its own (a process that blocks it, and then reads a file, would wait for ever
//! otherwise). Work is taken by the priorities of its processes, as from a run queue. In the sequential VM (`CAN_SPAWN` is false) the
//! pools have no threads and are blocked for good: its scheduler does all their work in turn.
//!
//! ```text
//!   a thread of a pool:
//!                       job, a place, no block, no safepoint
//!     offline, waits --------------------------------------> online, runs the job
//!        ^    |  nothing for 500 ms after work:                  |
//!        |    +- free memory goes back to the system             |
//!        +-------------------------------------------------------+
//!                        the job is over: another thread may take the place
//! ```
//!
//! DP1. A thread that takes a job goes online in thread progress before it lets go of the queue's lock: what the job refers to, and
//!      only the queue kept until then, outlives it.
//! DP2. Who makes a job the work of the scheduler that runs alone calls that scheduler (`sync::Summons`), under the lock of the job's pool,
//!      and then unparks it, if it is not that scheduler itself. So no such job waits while that scheduler sleeps (sync/SU1).
//!
//! A thread of a pool sleeps on a condition under the pool's lock, not in the idle set of normal schedulers: jobs are long, so a lock
//! and a call of the operating system for each do not count, and the lock makes store and look one step. It holds normal
//! schedulers up in one respect only: while it runs a job it is inside in thread progress, so what all threads may see is freed
//! late. What normal schedulers alone read has a domain without dirty ones (`Vm::slices`).

use crate::Runtime;
use crate::current::current;
use crate::dispatcher::TRIM_AFTER;
use crate::load::Load;
use crate::local::Local;
use crate::microstate::{self, State};
use crate::queues::Queues;
use crate::schedulers::{Numbers, Schedulers};
use myriad_process::{Priority, Process};
use myriad_sync::thread::CAN_SPAWN;
use myriad_sync::{CachePadded, Condvar, LockClass, Mutex, MutexGuard, Summons};

static CLASS: LockClass = LockClass::new("dirty_run_queue", 610);

/// A thread that has worked for so long gives free memory back to the system when it has been idle for [`TRIM_AFTER`].
const TRIM_WORK_NS: u64 = 10_000_000;

/// The two pools of dirty schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirtyKind {
    /// Long computing.
    Cpu,
    /// Blocking system calls.
    Io,
}

/// What a dirty scheduler does in one go.
pub trait DirtyJob<R: myriad_process::Runtime>: Send {
    /// Is it the collection of a process, which no other thread may look at until it is over?
    fn is_collection(&self) -> bool;
    /// Does a process that ends have it forgotten, if it has not begun?
    fn ends_with(&self, process: &Process<R>) -> bool;
}

struct Jobs<J> {
    waiting: Queues<J>,
    running: usize,
    /// Of those that run, collections.
    collecting: usize,
    /// Most that may run.
    online: usize,
    blocked: bool,
}

/// A job, and whether it is a collection.
type Taken<J> = (J, bool);

impl<J> Jobs<J> {
    /// May another job be begun?
    fn has_place(&self) -> bool {
        self.running < self.online && !self.blocked
    }

    fn take(&mut self, is_collection: impl Fn(&J) -> bool) -> Option<Taken<J>> {
        if !self.has_place() {
            return None;
        }
        let job = self.waiting.pick()?;
        let collects = is_collection(&job);
        self.running += 1;
        self.collecting += usize::from(collects);
        debug_assert!(self.running <= self.online && self.collecting <= self.running);
        Some((job, collects))
    }

    /// Is there work that no thread of the pool may do, since all are blocked, and does none of them run any more?
    fn is_for_the_one(&self) -> bool {
        self.blocked && self.running == 0 && !self.waiting.is_empty()
    }
}

struct Pool<J> {
    jobs: Mutex<Jobs<J>>,
    changed: Condvar,
}

impl<J> Pool<J> {
    fn new(online: usize) -> Self {
        let jobs = Jobs { waiting: Queues::default(), running: 0, collecting: 0, online, blocked: !CAN_SPAWN };
        Pool { jobs: Mutex::new(&CLASS, jobs), changed: Condvar::new() }
    }

    /// Takes a job while all threads of the pool have to rest, and do.
    fn take_while_blocked(&self) -> Option<J> {
        let mut jobs = self.jobs.lock();
        if jobs.is_for_the_one() { jobs.waiting.pick() } else { None }
    }

    /// Waits for a change, and gives free memory of this thread back if none comes after a time of work.
    fn wait<'a>(&'a self, jobs: MutexGuard<'a, Jobs<J>>, untrimmed_ns: &mut u64) -> MutexGuard<'a, Jobs<J>> {
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
}

/// Both pools.
pub struct DirtyPools<J> {
    cpu: Pool<J>,
    io: Pool<J>,
    /// Calls the scheduler that runs alone (DP2).
    for_the_one: Summons,
    loads: Box<[CachePadded<Load>]>,
}

impl<J> DirtyPools<J> {
    pub(crate) fn new(numbers: &Numbers) -> Self {
        let loads = (0..numbers.dirty_cpu + numbers.dirty_io).map(|_| CachePadded::new(Load::default())).collect();
        DirtyPools {
            cpu: Pool::new(numbers.dirty_cpu_online),
            io: Pool::new(numbers.dirty_io),
            for_the_one: Summons::new(),
            loads,
        }
    }

    /// What the dirty schedulers have done: CPU, then I/O.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        self.loads.iter().map(|load| &**load)
    }

    /// How many CPU schedulers may work, and whether any of either kind may.
    pub(crate) fn set_online(&self, cpu: usize, blocked: bool) {
        self.cpu.jobs.lock().online = cpu;
        for pool in self.pools() {
            let mut jobs = pool.jobs.lock();
            jobs.blocked = blocked || !CAN_SPAWN;
            self.ask_the_one(&jobs);
            pool.changed.notify_all();
        }
    }

    /// What waits may have become the work of the scheduler that runs alone: calls it, if it has (DP2).
    fn ask_the_one(&self, jobs: &MutexGuard<'_, Jobs<J>>) -> bool {
        let asks = jobs.is_for_the_one();
        if asks {
            self.for_the_one.call(jobs);
        }
        asks
    }

    /// A job is over. `true`: the scheduler that runs alone is to be unparked (DP2).
    #[must_use]
    fn ran_one(&self, kind: DirtyKind, collected: bool) -> bool {
        let pool = self.pool(kind);
        let mut jobs = pool.jobs.lock();
        debug_assert!(jobs.running > 0 && jobs.collecting >= usize::from(collected));
        jobs.running -= 1;
        jobs.collecting -= usize::from(collected);
        let asks = self.ask_the_one(&jobs);
        if !asks && !jobs.waiting.is_empty() {
            // It may have waited for this thread's place only.
            pool.changed.notify_one();
        }
        asks
    }

    fn pools(&self) -> [&Pool<J>; 2] {
        [&self.cpu, &self.io]
    }

    fn pool(&self, kind: DirtyKind) -> &Pool<J> {
        match kind {
            DirtyKind::Cpu => &self.cpu,
            DirtyKind::Io => &self.io,
        }
    }

    /// Does none of them run anything?
    pub fn is_at_rest(&self) -> bool {
        self.pools().iter().all(|pool| pool.jobs.lock().running == 0)
    }

    /// Does none of them collect a process?
    pub fn collects_none(&self) -> bool {
        self.pools().iter().all(|pool| pool.jobs.lock().collecting == 0)
    }

    /// Processes that run on dirty schedulers of this kind.
    pub fn running(&self, kind: DirtyKind) -> usize {
        self.pool(kind).jobs.lock().running
    }

    /// Processes that wait for a dirty scheduler of this kind.
    pub fn waiting(&self, kind: DirtyKind) -> usize {
        self.pool(kind).jobs.lock().waiting.len()
    }

    /// Adds a job. `true`: the scheduler that runs alone is to be unparked (DP2).
    #[must_use]
    fn enqueue(&self, kind: DirtyKind, priority: Priority, job: J) -> bool {
        let pool = self.pool(kind);
        let mut jobs = pool.jobs.lock();
        jobs.waiting.push(priority, job);
        let asks = self.ask_the_one(&jobs);
        drop(jobs);
        pool.changed.notify_one();
        asks
    }

    /// Forgets the jobs of a process that ends, but for those that have begun.
    pub fn forget<R: myriad_process::Runtime>(&self, process: &Process<R>)
    where
        J: DirtyJob<R>,
    {
        for pool in self.pools() {
            // Dropped after the lock.
            let job = pool.jobs.lock().waiting.remove(|job| job.ends_with(process));
            drop(job);
        }
    }

    /// Lets all threads see that the VM stops.
    pub(crate) fn wake_all(&self) {
        self.wake(|_| true);
    }

    /// Lets threads see that a safepoint was released, if jobs have waited for that.
    pub(crate) fn wake_for_waiting(&self) {
        self.wake(|jobs| jobs.has_place() && !jobs.waiting.is_empty());
    }

    fn wake(&self, is_for_them: impl Fn(&Jobs<J>) -> bool) {
        for pool in self.pools() {
            // Under the lock: a thread that has not seen the change waits by then.
            let jobs = pool.jobs.lock();
            if is_for_them(&jobs) {
                pool.changed.notify_all();
            }
        }
    }

    /// May there be work that the scheduler which runs alone has to do?
    #[inline]
    pub fn wants_the_one(&self) -> bool {
        self.for_the_one.is_called()
    }

    /// A job for the scheduler that runs alone, which calls it.
    pub fn take_for_the_one(&self) -> Option<J> {
        self.for_the_one.answer(|| self.cpu.take_while_blocked().or_else(|| self.io.take_while_blocked()))
    }
}

impl<R: Runtime> Schedulers<R> {
    /// Adds a job of the dirty schedulers, at the priority of its process.
    pub fn enqueue_dirty(&self, kind: DirtyKind, priority: Priority, job: R::DirtyJob) {
        if self.dirty.enqueue(kind, priority, job) && current() != Some(0) {
            self.platform.unpark(0);
        }
    }

    /// Does one job, if one waits and may run: what the thread of a dirty scheduler does in one round.
    pub fn run_dirty_job(&self, kind: DirtyKind, run: impl FnOnce(R::DirtyJob)) -> bool {
        let Some((job, collects)) = self.dirty.pool(kind).jobs.lock().take(R::DirtyJob::is_collection) else {
            return false;
        };
        run(job);
        self.ran_dirty_job(kind, collects);
        true
    }

    fn ran_dirty_job(&self, kind: DirtyKind, collects: bool) {
        if self.dirty.ran_one(kind, collects) {
            self.platform.unpark(0);
        }
    }

    /// Waits for a job (DP1); `None`: the VM stops.
    fn next_dirty_job(&self, kind: DirtyKind, local: &Local, untrimmed_ns: &mut u64) -> Option<Taken<R::DirtyJob>> {
        let pool = self.dirty.pool(kind);
        local.slot.park();
        let mut jobs = pool.jobs.lock();
        while !self.is_stopping() {
            let next = if self.safepoint_requested() { None } else { jobs.take(R::DirtyJob::is_collection) };
            match next {
                Some(taken) => {
                    local.slot.unpark();
                    return Some(taken);
                }
                None => jobs = pool.wait(jobs, untrimmed_ns),
            }
        }
        None
    }

    /// The thread of one dirty scheduler, the `index`-th of all: has `run` do jobs until the VM stops.
    pub fn run_dirty_thread(
        &self,
        kind: DirtyKind,
        index: usize,
        mut local: Local,
        mut run: impl FnMut(R::DirtyJob, &mut Local),
    ) {
        debug_assert!(local.dirty && local.id == self.len() + index);
        let load = &self.dirty.loads[index];
        load.idle_from(self.platform.now_ns());
        let mut untrimmed_ns = 0;
        while let Some((job, collects)) = self.next_dirty_job(kind, &local, &mut untrimmed_ns) {
            let began = self.platform.now_ns();
            load.busy_from(began);
            microstate::enter(State::Emulator);
            run(job, &mut local);
            microstate::enter(State::Other);
            let ended = self.platform.now_ns();
            load.idle_from(ended);
            untrimmed_ns += ended.saturating_sub(began);
            self.ran_dirty_job(kind, collects);
        }
    }
}
