//! Threads that compile, and what waits for them.
//!
//! W1. A job pins the version of its function's module, from a slice that runs it until the job is dropped (code/U4): so no worker is
//!     registered for thread progress, or waited for.
//! W2. A worker that takes a job drops all those whose modules are to go: a purged version waits for one compilation at most.
//! W3. A scheduler holds the queue's lock for a push only, and a worker as long as it takes to look at all jobs.
//!
//! Workers are as nice as processes of low priority, so that on a small machine those that run processes go first.

use crate::views::Views;
use myriad_native::link::CodeSpace;
use myriad_sync::{Arc, Condvar, LockClass, Mutex, thread};
use myriad_vm::Vm;
use myriad_vm::code::{Function, Module};
use std::collections::VecDeque;

/// Most jobs that wait.
const LONGEST_QUEUE: usize = 1024;

/// Enough for Cranelift on large functions.
const STACK_BYTES: usize = 8 << 20;

/// A function to be compiled (W1).
pub(crate) struct Job {
    vm: &'static Vm,
    function: &'static Function,
    module: &'static Module,
}

impl Job {
    /// `None`: its module is to go, or it has none. A process that runs the function asks.
    pub(crate) fn new(vm: &'static Vm, function: &'static Function) -> Option<Job> {
        let module = function.module()?;
        module.pins.pin().then_some(Job { vm, function, module })
    }

    fn run(self, space: &Arc<CodeSpace>, views: &Views) {
        // SAFETY: W1.
        unsafe { views.compile(self.vm, self.function, space) };
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.module.pins.unpin();
    }
}

static CLASS: LockClass = LockClass::new("compile_queue", 735);

/// What workers share.
struct Shared {
    jobs: Mutex<VecDeque<Job>>,
    there_are_jobs: Condvar,
    space: Arc<CodeSpace>,
    views: Arc<Views>,
}

impl Shared {
    /// Waits for a job.
    fn next(&self) -> Job {
        let mut jobs = self.jobs.lock();
        loop {
            // W2.
            jobs.retain(|job| !job.module.pins.is_closed());
            let next = jobs.pop_front();
            self.views.counters().wait(jobs.len());
            if let Some(job) = next {
                return job;
            }
            jobs = self.there_are_jobs.wait(jobs);
        }
    }

    fn work(&self) -> ! {
        myriad_sched::give_way();
        loop {
            self.next().run(&self.space, &self.views);
        }
    }
}

/// The threads, which end with the VM.
pub(crate) struct Workers(Arc<Shared>);

impl Workers {
    /// Starts so many; `None`: there are none, or the system gives none.
    pub(crate) fn start(threads: usize, space: &Arc<CodeSpace>, views: &Arc<Views>) -> Option<Workers> {
        let jobs = Mutex::new(&CLASS, VecDeque::new());
        let shared =
            Arc::new(Shared { jobs, there_are_jobs: Condvar::new(), space: space.clone(), views: views.clone() });
        let mut started = 0;
        for number in 1..=threads {
            let own = shared.clone();
            let thread = thread::spawn_with_stack(&format!("compiler_{number}"), STACK_BYTES, move || own.work());
            started += usize::from(thread.is_ok());
        }
        (started > 0).then_some(Workers(shared))
    }

    /// Adds a job, unless there are too many.
    #[must_use]
    pub(crate) fn push(&self, job: Job) -> bool {
        let mut jobs = self.0.jobs.lock();
        let has_room = jobs.len() < LONGEST_QUEUE;
        if has_room {
            jobs.push_back(job);
            self.0.views.counters().wait(jobs.len());
            self.0.there_are_jobs.notify_one();
        }
        has_room
    }
}
