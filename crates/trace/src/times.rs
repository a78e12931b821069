//! Call counts and call times.
//!
//! A process that is traced for calls and enters a function with `call_time` leaves a frame with the number of the function it
//! was in before; the time between such events goes to the function that was current. Time in which the process does not run
//! does not count.

use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use myriad_sync::{Arc, LazyLock, LockClass, Mutex, Weak};
use myriad_term::Pid;
use myriad_vm::Ctx;
use std::collections::{BTreeMap, HashMap};

/// `call_count`
#[derive(Default)]
pub struct Count {
    calls: AtomicU64,
    paused: AtomicBool,
}

impl Count {
    /// One more call.
    pub fn hit(&self) {
        // Relaxed: a statistic.
        if !self.paused.load(Ordering::Relaxed) {
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        // Relaxed: a statistic.
        self.calls.load(Ordering::Relaxed)
    }

    /// Stops counting, or counts again.
    pub fn pause(&self, paused: bool) {
        // Relaxed: a statistic.
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// Begins from nothing.
    pub fn restart(&self) {
        // Relaxed: a statistic.
        self.calls.store(0, Ordering::Relaxed);
        self.pause(false);
    }
}

/// Calls and nanoseconds of one process in one function.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Spent {
    /// How often the process has called the function.
    pub calls: u64,
    /// Nanoseconds.
    pub ns: u64,
}

static TIMES_CLASS: LockClass = LockClass::nested("call_times", 730);
static ALL_CLASS: LockClass = LockClass::new("all_call_times", 729);

/// Those there are, by number: frames name them so.
static ALL: LazyLock<Mutex<HashMap<u64, Weak<Times>>>> = LazyLock::new(|| Mutex::new(&ALL_CLASS, HashMap::new()));
static NEXT: AtomicU64 = AtomicU64::new(1);

/// `call_time` of one function.
pub struct Times {
    number: u64,
    paused: AtomicBool,
    spent: Mutex<BTreeMap<Pid, Spent>>,
}

impl Times {
    /// New ones.
    pub fn new() -> Arc<Times> {
        // Relaxed: only uniqueness counts.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let times = Arc::new(Times {
            number,
            paused: AtomicBool::new(false),
            spent: Mutex::new(&TIMES_CLASS, BTreeMap::new()),
        });
        ALL.lock().insert(number, Arc::downgrade(&times));
        times
    }

    /// The number, never 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    fn by_number(number: u64) -> Option<Arc<Times>> {
        ALL.lock().get(&number)?.upgrade()
    }

    /// What each process has spent.
    pub fn all(&self) -> Vec<(Pid, Spent)> {
        self.spent.lock().iter().map(|(pid, spent)| (*pid, *spent)).collect()
    }

    /// Stops counting, or counts again.
    pub fn pause(&self, paused: bool) {
        // Relaxed: a statistic.
        self.paused.store(paused, Ordering::Relaxed);
    }

    /// Begins from nothing.
    pub fn restart(&self) {
        self.spent.lock().clear();
        self.pause(false);
    }

    /// Is it counting?
    pub fn is_active(&self) -> bool {
        // Relaxed: a statistic.
        !self.paused.load(Ordering::Relaxed)
    }

    fn add(&self, pid: Pid, calls: u64, ns: u64) {
        if self.is_active() {
            let mut all = self.spent.lock();
            let spent = all.entry(pid).or_default();
            spent.calls += calls;
            spent.ns += ns;
        }
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        ALL.lock().remove(&self.number);
    }
}

fn stop_the_watch(ctx: &mut Ctx<'_>, next: u64) -> u64 {
    let (pid, now) = (ctx.pid(), ctx.vm.platform.now_ns());
    let watch = ctx.state.watched.stopwatch.get_or_insert_default();
    let ns = now.saturating_sub(watch.since_ns);
    watch.since_ns = now;
    let before = std::mem::replace(&mut watch.current, next);
    if before != 0
        && let Some(times) = Times::by_number(before)
    {
        times.add(pid, 0, ns);
    }
    before
}

/// A function whose time counts is entered; gives the number of the one before.
pub(crate) fn called(ctx: &mut Ctx<'_>, times: &Times) -> u64 {
    let before = stop_the_watch(ctx, times.number);
    times.add(ctx.pid(), 1, 0);
    before
}

/// It has returned to where the function with this number (or none) was current.
pub fn returned(ctx: &mut Ctx<'_>, before: u64) {
    stop_the_watch(ctx, before);
}

/// The slice ends, or the process: time stands still.
pub(crate) fn slice_ends(ctx: &mut Ctx<'_>) {
    let current = ctx.state.watched.stopwatch.as_ref().map_or(0, |w| w.current);
    stop_the_watch(ctx, current);
}

/// A slice begins: the time of the function in which the process stopped runs again.
pub(crate) fn slice_begins(ctx: &mut Ctx<'_>) {
    let now = ctx.vm.platform.now_ns();
    if let Some(watch) = ctx.state.watched.get_mut().and_then(|w| w.stopwatch.as_mut()) {
        watch.since_ns = now;
    }
}
