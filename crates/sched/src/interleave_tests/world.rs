//! A world of tasks and schedulers, and what must hold in it.
//!
//! T1. A task runs as often as it was made runnable, and on one scheduler at a time. No signal is lost.
//! T2. When all threads sleep, nothing is left to do: no task is runnable or runs, no dirty job waits, no timer is overdue. A task may
//!     sleep at the beginning of a slice; then no queue offers anything that an idle scheduler could run (sched/Q2), and only what
//!     its scheduler runs next, or what is bound to it, waits.
//! T3. While a block of multi-scheduling holds, slices begin on the first scheduler alone, and for `Block::All` no dirty job on a
//!     thread of the pools. While the world is stopped no slice begins on any, and no dirty scheduler collects.

use super::scheduler::{Scheduler, run_slice};
use super::task::{Job, Task};
use crate::local::SharedCounts;
use crate::places::Places;
use crate::schedulers::Numbers;
use crate::{Action, Block, DirtyKind, Local, MultiScheduling, Runtime, Schedulers, Threads, Timers};
use myriad_heap::{Heap, Settings};
use myriad_process::{CodePtr, OwnerState, Priority, Process, Resume, Signal, Status, TimerId, Wake};
use myriad_sync::interleave::{at_standstill, draw};
use myriad_sync::machine::Place;
use myriad_sync::thread::{sleep, spawn};
use myriad_sync::{Progress, spin_hint};
use myriad_term::{Mfa, Pid, RefNumbers, am};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Most schedulers.
const SCHEDULERS: usize = 4;
/// Most tasks.
const TASKS: usize = 12;
/// Most private threads.
const PRIVATE: usize = 2;
/// A timer is late if all threads sleep so long after its time.
const LATE_NS: u64 = 5_000_000;

/// What tasks and outsiders may do.
#[derive(Clone, Copy)]
pub(super) struct Menu {
    /// About how much is done.
    pub actions: i64,
    /// Dirty jobs.
    pub dirty: bool,
    /// Timers set and cancelled.
    pub timers: bool,
    /// Priorities, urgency, bindings.
    pub urgency: bool,
    /// The world is stopped from outside.
    pub stops: bool,
    /// Multi-scheduling is blocked, and the number of schedulers changed.
    pub blocks: bool,
    /// Tasks move to private threads and back.
    pub moves: bool,
}

/// The layer above, of which this needs the dirty jobs alone.
pub(super) enum Fake {}

impl myriad_process::Runtime for Fake {
    type Module = ();
    type Function = ();
    type Suspended = ();
    type Watched = Vec<u8>;
    type Request = ();
    type Question = ();
    type Returned = ();
}

impl Runtime for Fake {
    type DirtyJob = Job;
}

pub(super) struct World {
    pub(super) schedulers: Schedulers<Fake>,
    pub(super) timers: Timers<World>,
    pub(super) menu: Menu,
    progress: Arc<Progress>,
    slices: Arc<Progress>,
    counts: SharedCounts,
    tasks: [OnceLock<Task>; TASKS],
    made: AtomicUsize,
    budget: AtomicI64,
    sent: AtomicU64,
    timers_known: Mutex<Vec<TimerId>>,
    timers_set: AtomicU64,
    timers_over: AtomicU64,
    /// Blocks that hold: of normal schedulers, and of those the ones of all.
    blocks: [AtomicUsize; 2],
    /// The world is stopped, this many times.
    stopped: AtomicUsize,
    collecting: AtomicUsize,
    /// At the last standstill no task ran and no timer was set.
    at_rest: AtomicBool,
    /// Tasks sleep in slices (T2). Then all slices are long, so that after each a scheduler is woken for what waits.
    pub(super) sleeps: bool,
    /// Schedulers that sleep in a slice.
    in_slice: [AtomicBool; SCHEDULERS],
    /// Schedulers that wait at a safepoint.
    pub(super) at_safepoint: AtomicUsize,
}

/// So many schedulers, two to a core.
fn two_by_two(schedulers: usize) -> Vec<Option<Place>> {
    (0..schedulers as u16)
        .map(|id| Some(Place { thread: id % 2, core: id / 2, module: id / 2, ..Place::default() }))
        .collect()
}

impl World {
    fn new(menu: Menu, numbers: Numbers) -> World {
        let threads = numbers.normal + numbers.dirty_cpu + numbers.dirty_io + numbers.private;
        World {
            schedulers: Schedulers::new(
                numbers,
                crate::Tuning::default(),
                Arc::new(Threads::new(numbers.normal)),
                Places::of(&if draw(2) == 0 { two_by_two(numbers.normal) } else { vec![None; numbers.normal] }),
            ),
            timers: Timers::new(numbers.normal),
            menu,
            progress: Progress::new(threads),
            slices: Progress::new(numbers.normal + numbers.private),
            counts: SharedCounts::default(),
            tasks: Default::default(),
            made: AtomicUsize::new(0),
            budget: AtomicI64::new(menu.actions),
            sent: AtomicU64::new(0),
            timers_known: Mutex::default(),
            timers_set: AtomicU64::new(0),
            timers_over: AtomicU64::new(0),
            blocks: Default::default(),
            stopped: AtomicUsize::new(0),
            collecting: AtomicUsize::new(0),
            at_rest: AtomicBool::new(false),
            sleeps: draw(2) == 0,
            in_slice: Default::default(),
            at_safepoint: AtomicUsize::new(0),
        }
    }

    pub(super) fn local(&self, id: usize, dirty: bool) -> Local {
        let numbers = &self.schedulers.numbers;
        let threads = numbers.normal + numbers.dirty_cpu + numbers.dirty_io;
        let slices = (!dirty).then(|| self.slices.register().expect("a place"));
        Local::new(threads, id, self.progress.register().expect("a place"), slices, &*self.schedulers.platform)
    }

    // ---- private threads

    /// To a private thread, if there is one, or back.
    pub(super) fn move_process(&'static self, process: &Process<Fake>) {
        if !self.take_private_thread_from(process) {
            let start = |thread| spawn(&format!("private_{thread}"), move || self.run_private_thread(thread));
            process.set_private_thread(self.schedulers.take_private_thread(start));
        }
    }

    /// `false`: it had none.
    pub(super) fn take_private_thread_from(&self, process: &Process<Fake>) -> bool {
        let thread = process.set_private_thread(None);
        thread.inspect(|thread| self.schedulers.give_back_private_thread(*thread)).is_some()
    }

    fn run_private_thread(&'static self, thread: usize) {
        let numbers = &self.schedulers.numbers;
        let threads = numbers.normal + numbers.dirty_cpu + numbers.dirty_io + 1;
        let slots = [&self.progress, &self.slices].map(|domain| domain.register().expect("a place"));
        let id = threads - 1 + thread;
        let local = Local::of_private_thread(threads, id, slots, &self.counts, &*self.schedulers.platform);
        self.schedulers
            .run_private_thread(thread, local, |process, local, _| run_slice(self, self.task_of(process), local).0);
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.schedulers.platform.now_ns()
    }

    /// May more be done? It will be.
    pub(super) fn has_budget(&self) -> bool {
        self.budget.fetch_sub(1, Relaxed) > 0
    }

    fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter_map(OnceLock::get)
    }

    pub(super) fn any_task(&'static self) -> &'static Task {
        let all: Vec<&Task> = self.tasks().collect();
        all[draw(all.len() as u64) as usize]
    }

    pub(super) fn task_of(&'static self, process: &Process<Fake>) -> &'static Task {
        self.task(process.pid)
    }

    fn task(&'static self, pid: Pid) -> &'static Task {
        self.tasks[pid.data() as usize].get().expect("it was made")
    }

    /// A new task, which is runnable, of this scheduler; none if there are too many.
    pub(super) fn spawn(&'static self, home: u32) {
        let number = self.made.fetch_add(1, Relaxed);
        let Some(place) = self.tasks.get(number) else { return };
        let initial_call = Mfa { module: am::erlang, function: am::apply, arity: 2 };
        let state = OwnerState::new(Heap::new(&Settings::default()), Resume::inside(CodePtr::NULL), initial_call);
        let process = Process::new(Pid::from_data(number as u64), Priority::NORMAL, false, home, state);
        assert!(place.set(Task::new(process)).is_ok(), "a new place");
        let task = self.task(Pid::from_data(number as u64));
        self.left_signal(task, |world, process| world.schedulers.enqueue(process));
    }

    /// Leaves a signal for a task.
    pub(super) fn signal(&self, task: &Task) {
        self.left_signal(task, |world, process| world.schedulers.enqueue_woken(process));
    }

    fn left_signal(&self, task: &Task, enqueue: impl FnOnce(&World, &Process<Fake>)) {
        // Any signal will do; one that has ended takes none.
        let Ok(wake) = task.process.push(Signal::Demonitor(RefNumbers([0; 3]))) else { return };
        self.sent.fetch_add(1, Relaxed);
        if wake == Wake::Enqueue {
            task.made_runnable.fetch_add(1, Relaxed);
            enqueue(self, &task.process);
        }
    }

    /// A slice is over, and the process has more to do.
    pub(super) fn goes_on(&'static self, process: &Process<Fake>) {
        self.task_of(process).made_runnable.fetch_add(1, Relaxed);
        process.stay_runnable();
        self.schedulers.enqueue(process);
    }

    /// A slice is over, and the process has nothing to do.
    pub(super) fn waits(&'static self, process: &Process<Fake>) {
        if !process.try_wait() {
            self.task_of(process).made_runnable.fetch_add(1, Relaxed);
            self.schedulers.enqueue(process);
        }
    }

    // ---- dirty jobs

    /// Does a job, on a thread of the pools or on the one scheduler that runs.
    pub(super) fn run_dirty(&'static self, job: &Job, alone: bool) {
        use crate::DirtyJob;
        let (task, collects) = (job.task, job.is_collection());
        task.taken_by(usize::MAX - 1);
        let collecting = usize::from(collects && !alone);
        self.collecting.fetch_add(collecting, Relaxed);
        self.check_dirty(collects, alone);
        if !alone && draw(2) == 0 {
            sleep(Duration::from_micros(draw(100)));
        } else {
            spin_hint();
        }
        self.check_dirty(collects, alone);
        self.collecting.fetch_sub(collecting, Relaxed);
        task.ends();
        if draw(2) == 0 { self.goes_on(&task.process) } else { self.waits(&task.process) }
    }

    /// T3.
    fn check_dirty(&self, collects: bool, alone: bool) {
        assert!(alone || self.blocks[1].load(Relaxed) == 0, "T3: a dirty job runs while all schedulers are blocked");
        assert!(!collects || self.stopped.load(Relaxed) == 0, "T3: a collection while the world is stopped");
    }

    pub(super) fn dirty_jobs_wait(&self) -> bool {
        [DirtyKind::Cpu, DirtyKind::Io].iter().any(|kind| self.schedulers.dirty.waiting(*kind) > 0)
    }

    // ---- timers

    pub(super) fn set_timer(&self, wheel: usize, pid: Pid) -> TimerId {
        self.timers_set.fetch_add(1, Relaxed);
        let at_ns = self.now_ns() + [1_000, 200_000, 3_000_000, 40_000_000][draw(4) as usize];
        let (id, sooner) = self.timers.set_receive(wheel, at_ns, pid);
        self.timers_known.lock().expect("no panic").push(id);
        if sooner && crate::current() != Some(id.wheel()) {
            self.schedulers.platform.unpark(id.wheel());
        }
        id
    }

    pub(super) fn cancel_timer(&self, id: TimerId) {
        if self.timers.cancel(id).is_some() {
            self.timers_over.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn fire_timers(&'static self, wheel: usize, now_ns: u64, reductions: u32) -> bool {
        self.timers.fire(wheel, now_ns, reductions, |action| {
            let Action::Receive(pid, _) = action else { panic!("no other is set") };
            self.timers_over.fetch_add(1, Relaxed);
            self.signal(self.task(pid));
        })
    }

    // ---- T3

    pub(super) fn slice_begins(&self, scheduler: usize) {
        if self.sleeps && scheduler < SCHEDULERS && draw(8) == 0 {
            self.in_slice[scheduler].store(true, Relaxed);
            sleep(Duration::from_micros(draw(100)));
            self.in_slice[scheduler].store(false, Relaxed);
        }
        assert!(scheduler == 0 || self.blocks[0].load(Relaxed) == 0, "T3: a slice on {scheduler} while it is blocked");
        assert_eq!(self.stopped.load(Relaxed), 0, "T3: a slice while the world is stopped");
    }

    /// The block of the calling task holds now.
    pub(super) fn block_holds(&self, block: Block) {
        let running = self.tasks().filter(|task| task.runs()).count();
        assert!(block == Block::Normal || running == 1, "T3: {running} run where one may");
        self.blocks[0].fetch_add(1, Relaxed);
        self.blocks[1].fetch_add(usize::from(block == Block::All), Relaxed);
    }

    pub(super) fn block_ends(&self, block: Block) {
        self.blocks[0].fetch_sub(1, Relaxed);
        self.blocks[1].fetch_sub(usize::from(block == Block::All), Relaxed);
    }

    /// Some times in a row, so that schedulers are on their way out of one stop when the next is requested.
    fn stop_again_and_again(&self) {
        for _ in 0..1 + draw(4) {
            self.stop_for_a_moment();
            pass_time();
        }
    }

    fn stop_for_a_moment(&self) {
        let Some(stopped) = self.schedulers.stop_world(Duration::from_millis(20)) else { return };
        self.stopped.fetch_add(1, Relaxed);
        assert_eq!(self.collecting.load(Relaxed), 0, "T3: a collection while the world is stopped");
        let dirty = self.schedulers.numbers.dirty_cpu + self.schedulers.numbers.dirty_io;
        let running = self.tasks().filter(|task| task.runs()).count();
        assert!(running <= dirty, "T3: the world is stopped, and {running} run");
        pass_time();
        self.stopped.fetch_sub(1, Relaxed);
        drop(stopped);
    }

    // ---- T1, T2

    /// T2.
    fn at_standstill(&self, now: Duration) -> Result<(), String> {
        // Who waits at a safepoint looks now and then whether that is released.
        let stops = self.schedulers.safepoint_requested() || self.schedulers.is_stopping();
        if stops || self.at_safepoint.load(Relaxed) > 0 || self.schedulers.world.safepoint.are_stopped(1) {
            return Ok(());
        }
        let is_left = |task: &&Task| match task.process.status() {
            Status::Waiting => !task.process.has_no_signals(),
            status => status == Status::Runnable,
        };
        let busy: Vec<bool> = self.in_slice.iter().map(|sleeps| sleeps.load(Relaxed)).collect();
        let may_wait: usize =
            self.schedulers.iter().zip(&busy).map(|(queue, busy)| if *busy { queue.len() } else { 0 }).sum();
        let active = self.schedulers.active();
        let all_busy = busy[..active].iter().all(|busy| *busy);
        let offered = !all_busy && self.schedulers.iter().any(|queue| queue.offers());
        let left = self.tasks().filter(is_left).count().saturating_sub(may_wait);
        let owned = self.owned() - busy.iter().filter(|busy| **busy).count() as isize;
        let dirty = [DirtyKind::Cpu, DirtyKind::Io].map(|kind| self.waits_in_vain(kind));
        let queued: Vec<usize> = self.schedulers.iter().map(|queue| queue.len()).collect();
        let late = (now.as_nanos() as u64).saturating_sub(LATE_NS);
        let is_overdue = |timer: &TimerId| self.timers.read(*timer).is_some_and(|at_ns| at_ns < late);
        let overdue = self.timers_known.lock().expect("no panic").iter().any(is_overdue);
        if left > 0 || owned != 0 || offered || dirty != [0, 0] || overdue {
            return Err(format!(
                "T2: all sleep: {left} tasks are left, {owned} run, queues {queued:?} (offered {offered}, {active} active), busy {busy:?}, dirty {dirty:?}, overdue {overdue}"
            ));
        }
        let owned = self.tasks().any(|task| task.process.status().has_owner());
        self.at_rest.store(!owned && self.timers.count() == 0, Relaxed);
        Ok(())
    }

    /// Tasks that are `Running`, without those of dirty jobs.
    fn owned(&self) -> isize {
        let dirty = &self.schedulers.dirty;
        let jobs: usize =
            [DirtyKind::Cpu, DirtyKind::Io].map(|kind| dirty.waiting(kind) + dirty.running(kind)).iter().sum();
        self.tasks().filter(|task| task.process.status().has_owner()).count() as isize - jobs as isize
    }

    /// Dirty jobs that wait though one could run.
    fn waits_in_vain(&self, kind: DirtyKind) -> usize {
        let dirty = &self.schedulers.dirty;
        let may_run = match kind {
            // The one scheduler that runs does all the work, in turn.
            _ if self.schedulers.multi_scheduling() == MultiScheduling::Blocked => {
                usize::from(!self.in_slice[0].load(Relaxed))
            }
            DirtyKind::Cpu => self.schedulers.dirty_cpu_online(),
            DirtyKind::Io => self.schedulers.numbers.dirty_io,
        };
        if dirty.running(kind) < may_run { dirty.waiting(kind) } else { 0 }
    }

    /// T1, when all threads have ended.
    fn check_sums(&self) {
        let mut seen = 0;
        for task in self.tasks() {
            assert_eq!(task.made_runnable.load(Relaxed), task.ran.load(Relaxed), "T1: {:?}", task.process.pid);
            assert!(task.process.has_no_signals(), "T1: {:?} has not seen its signals", task.process.pid);
            seen += task.seen.load(Relaxed);
        }
        assert_eq!(self.sent.load(Relaxed), seen, "T1: signals");
        assert_eq!(self.timers_set.load(Relaxed), self.timers_over.load(Relaxed), "timers");
        assert!(self.schedulers.iter().all(|queue| queue.is_empty()), "something waits in a queue");
    }

    /// A thread that is no scheduler.
    fn outsider(&'static self) {
        for _ in 0..4 + draw(6) {
            match draw(8) {
                0 => sleep(Duration::from_micros(draw(300))),
                1 if self.menu.stops => self.stop_again_and_again(),
                2 if self.menu.stops => self.schedulers.while_stopping(spin_hint),
                3 if self.menu.blocks => {
                    let online = 1 + draw(self.schedulers.len() as u64) as usize;
                    assert!(self.schedulers.set_online(online).is_some());
                }
                4 if self.menu.timers => {
                    let timer =
                        self.set_timer(draw(self.schedulers.len() as u64) as usize, self.any_task().process.pid);
                    if draw(2) == 0 {
                        self.cancel_timer(timer);
                    }
                }
                _ => self.signal(self.any_task()),
            }
        }
    }
}

fn pass_time() {
    match draw(2) {
        0 => (0..draw(20)).for_each(|_| spin_hint()),
        _ => sleep(Duration::from_micros(draw(150))),
    }
}

/// One run: schedulers, tasks and outsiders, until nothing moves any more.
pub(super) fn drive(menu: Menu) {
    let normal = 2 + draw(SCHEDULERS as u64 - 1) as usize;
    let dirty_cpu = if menu.dirty { 1 + draw(2) as usize } else { 0 };
    let online = if menu.blocks { 1 + draw(normal as u64) as usize } else { normal };
    let numbers = Numbers {
        normal,
        online,
        dirty_cpu,
        dirty_cpu_online: dirty_cpu,
        dirty_io: usize::from(menu.dirty),
        private: if menu.moves { PRIVATE } else { 0 },
    };
    let world: &'static World = Box::leak(Box::new(World::new(menu, numbers)));
    at_standstill(|now| world.at_standstill(now));
    let start = |name: String, body: Box<dyn FnOnce() + Send>| spawn(&name, body).expect("a thread");
    let mut threads = Vec::new();
    for id in 0..normal {
        threads.push(start(format!("scheduler_{id}"), Box::new(move || Scheduler::new(world, id).run_thread())));
    }
    for index in 0..numbers.dirty_cpu + numbers.dirty_io {
        let kind = if index < dirty_cpu { DirtyKind::Cpu } else { DirtyKind::Io };
        let body = move || {
            let local = world.local(normal + index, true);
            world.schedulers.run_dirty_thread(kind, index, local, |job, _| world.run_dirty(&job, false));
        };
        threads.push(start(format!("dirty_{index}"), Box::new(body)));
    }
    (0..1 + draw(4)).for_each(|home| world.spawn((home as usize % normal) as u32));
    let outsiders: Vec<_> =
        (0..1 + draw(2)).map(|n| start(format!("outsider_{n}"), Box::new(move || world.outsider()))).collect();
    outsiders.into_iter().for_each(|thread| thread.join().expect("it ends"));
    world.at_rest.store(false, Relaxed);
    for _ in 0..100 {
        sleep(Duration::from_millis(20));
        if world.at_rest.load(Relaxed) {
            break;
        }
    }
    assert!(world.at_rest.load(Relaxed), "no rest");
    world.schedulers.stop();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
    world.schedulers.join_private_threads();
    world.check_sums();
    // SAFETY: it was leaked above, and all threads that knew it have ended.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(world).cast_mut()) });
}
