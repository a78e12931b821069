//! The run queue of one scheduler, and what else other threads see of that.
//!
//! R1. `len` and `bound` are changed under the queue's lock, so by one thread at a time: a load and a store do, and a reader
//!     without the lock gets a figure that is already old.
//! R2. A process that is bound to a scheduler (`spawn_opt`'s and `process_flag`'s undocumented option `scheduler`) is never
//!     stolen. The binding does not change while the process is in a queue.
//! R3. The figures of [`Load`] are written by their scheduler alone. They have lines of their own: what others poll while they
//!     look for work ([`RunQueue::len`]) shall not share one with what is written in each slice.

use myriad_process::{Priority, Process, Runtime, Status};
use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::idle::Worker;
use myriad_sync::{CachePadded, LockClass, SpinLock};
use std::collections::VecDeque;

static QUEUE_CLASS: LockClass = LockClass::new("run_queue", 600);

/// Normal processes that run while one low process runs.
const LOW_TURN: usize = 8;

/// A process in a queue, or on its way from one to another.
pub(crate) struct Runnable<R: Runtime>(*const Process<R>);
// SAFETY: sched/Q1 keeps the process alive; it is `Sync`.
unsafe impl<R: Runtime> Send for Runnable<R> {}

impl<R: Runtime> Runnable<R> {
    pub(crate) fn process(&self) -> &'static Process<R> {
        // SAFETY: sched/Q1: only running ends a process, and a runnable one does not run.
        unsafe { &*self.0 }
    }

    fn is_bound(&self) -> bool {
        self.process().bound_to().is_some()
    }
}

/// What waits, by priority, in the order in which it is to run.
pub struct Queues<T> {
    by_priority: [VecDeque<T>; 4],
    /// What the low ones have waited: their number for each normal one that ran.
    passed_over: usize,
}

impl<T> Default for Queues<T> {
    fn default() -> Self {
        Queues { by_priority: Default::default(), passed_over: 0 }
    }
}

impl<T> Queues<T> {
    /// Adds one behind those of its priority.
    pub fn push(&mut self, priority: Priority, one: T) {
        self.by_priority[priority as usize].push_back(one);
    }

    /// Takes out the one that is to run next.
    #[inline]
    pub(crate) fn pick(&mut self) -> Option<T> {
        let [max, high, normal, low] = &mut self.by_priority;
        if max.is_empty() && high.is_empty() && low.is_empty() {
            self.passed_over = 0;
            return normal.pop_front();
        }
        if let Some(one) = max.pop_front().or_else(|| high.pop_front()) {
            return Some(one);
        }
        // Both kinds take turns as if each low one stood in one queue with the normal ones, and let its turn go by but each eighth
        // time: so its share does not depend on how many there are of either.
        let round = LOW_TURN * normal.len();
        if !low.is_empty() && self.passed_over >= round {
            self.passed_over = (self.passed_over - round).min(low.len());
            debug_assert!(max.is_empty() && high.is_empty(), "what is urgent goes first");
            return low.pop_front();
        }
        self.passed_over = if low.is_empty() { 0 } else { self.passed_over + low.len() };
        normal.pop_front()
    }

    /// Takes out the first that `is` holds of.
    pub(crate) fn remove(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        self.by_priority.iter_mut().find_map(|queue| queue.iter().position(&is).and_then(|i| queue.remove(i)))
    }

    pub(crate) fn len(&self) -> usize {
        self.by_priority.iter().map(VecDeque::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_priority.iter().all(VecDeque::is_empty)
    }
}

/// What a scheduler has done (R3).
#[derive(Default)]
pub struct Load {
    /// Reductions run here.
    pub reductions: AtomicU64,
    /// Context switches here.
    pub switches: AtomicU64,
    /// Those to processes of normal or low priority.
    lower: AtomicU64,
    /// A process runs here.
    running: AtomicBool,
    /// Nanoseconds without work, up to `idle_since`.
    idle_ns: AtomicU64,
    /// Since when there is no work; 0 = there is.
    idle_since: AtomicU64,
}

impl Load {
    /// Does a process run here?
    pub fn is_running(&self) -> bool {
        // Relaxed: a figure.
        self.running.load(Ordering::Relaxed)
    }

    /// A process begins, or ceases, to run here.
    #[inline]
    pub fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Relaxed);
    }

    /// How many slices of normal or low processes there have been.
    pub fn lower_slices(&self) -> u64 {
        // Relaxed: a figure.
        self.lower.load(Ordering::Relaxed)
    }

    /// Counts one slice.
    #[inline]
    pub fn count_slice(&self, reductions: u64, priority: Priority) {
        // Relaxed: R3.
        self.reductions.store(self.reductions.load(Ordering::Relaxed) + reductions, Ordering::Relaxed);
        self.switches.store(self.switches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if priority >= Priority::Normal {
            self.lower.store(self.lower.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// There is no work from now on.
    pub fn idle_from(&self, now_ns: u64) {
        // Relaxed: R3: only the scheduler itself writes; readers get a figure.
        if self.idle_since.load(Ordering::Relaxed) == 0 {
            self.idle_since.store(now_ns.max(1), Ordering::Relaxed);
        }
    }

    /// There is work again.
    pub fn busy_from(&self, now_ns: u64) {
        // Relaxed: R3: what it has written itself.
        let since = self.idle_since.load(Ordering::Relaxed);
        if since != 0 {
            let idle = self.idle_ns.load(Ordering::Relaxed) + now_ns.saturating_sub(since);
            // Release: pairs with the Acquire in `idle_ns`: a reader that sees the period over sees it counted.
            self.idle_ns.store(idle, Ordering::Release);
            self.idle_since.store(0, Ordering::Release);
        }
    }

    /// Nanoseconds without work until now.
    pub fn idle_ns(&self, now_ns: u64) -> u64 {
        // Acquire: pairs with the Release in `busy_from`.
        let since = self.idle_since.load(Ordering::Acquire);
        let before = self.idle_ns.load(Ordering::Acquire);
        if since == 0 { before } else { before + now_ns.saturating_sub(since) }
    }
}

/// The run queue of one scheduler, whether that sleeps, and what it has done.
pub struct RunQueue<R: Runtime> {
    queue: SpinLock<Queues<Runnable<R>>>,
    len: AtomicUsize,
    bound: AtomicUsize,
    /// Does it run, or look for work, or sleep? One that was woken may be away for long on a busy machine.
    pub worker: Worker,
    /// What it has done.
    pub load: CachePadded<Load>,
}

impl<R: Runtime> Default for RunQueue<R> {
    fn default() -> Self {
        RunQueue {
            queue: SpinLock::new(&QUEUE_CLASS, Queues::default()),
            len: AtomicUsize::new(0),
            bound: AtomicUsize::new(0),
            worker: Worker::new(),
            load: CachePadded::new(Load::default()),
        }
    }
}

impl<R: Runtime> RunQueue<R> {
    /// Runnable processes here.
    pub fn len(&self) -> usize {
        // Relaxed: a hint; the idle set (sched/Q2) and the lock decide.
        self.len.load(Ordering::Relaxed)
    }

    /// Calls `look` with each process that waits here and the priority at which it does, in the order of their turns in each priority.
    pub fn each(&self, mut look: impl FnMut(Priority, &'static Process<R>)) {
        let queue = self.queue.lock();
        for (priority, waiting) in (0..).zip(&queue.by_priority) {
            waiting.iter().for_each(|one| look(Priority::from_bits(priority), one.process()));
        }
    }

    /// Runnable processes here by priority, highest first; all as normal ones while another thread changes the queue.
    pub fn lengths(&self) -> [usize; 4] {
        match self.queue.try_lock() {
            Some(queue) => queue.by_priority.each_ref().map(VecDeque::len),
            None => [0, 0, self.len(), 0],
        }
    }

    /// No runnable process here?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is there more than the owner runs next, and some of it for anybody (sched/Q3, R2)?
    pub fn offers(&self) -> bool {
        let len = self.len();
        // Relaxed: a hint, as in `len`.
        len > 1 && len > self.bound.load(Ordering::Relaxed)
    }

    /// Does one process wait here that anybody may run?
    pub fn offers_single(&self) -> bool {
        // Relaxed: a hint, as in `len`.
        self.len() == 1 && self.bound.load(Ordering::Relaxed) == 0
    }

    fn count(&self, counter: &AtomicUsize, change: isize) {
        // Relaxed: R1.
        debug_assert!(counter.load(Ordering::Relaxed).checked_add_signed(change).is_some(), "R1: more left than came");
        counter.store(counter.load(Ordering::Relaxed).wrapping_add_signed(change), Ordering::Relaxed);
    }

    /// Adds a process that has just become runnable, or comes from another queue (sched/Q1).
    #[inline]
    pub fn push(&self, process: &Process<R>) {
        self.push_and_count(process);
    }

    /// The same; gives how many of its priority wait here now.
    pub(crate) fn push_and_count(&self, process: &Process<R>) -> usize {
        let (priority, process) = (process.queue_priority(), Runnable::<R>(process));
        debug_assert!(process.process().status() == Status::Runnable, "Q1: only what is runnable waits in a queue");
        let mut queue = self.queue.lock();
        if process.is_bound() {
            self.count(&self.bound, 1);
        }
        queue.push(priority, process);
        self.count(&self.len, 1);
        debug_assert_eq!(self.len(), queue.len(), "R1");
        debug_assert!(self.bound.load(Ordering::Relaxed) <= self.len());
        queue.by_priority[priority as usize].len()
    }

    /// Moves a process that waits here up to the priority that it has become; `false`: it is not here.
    pub fn promote(&self, process: &Process<R>) -> bool {
        let to = process.queue_priority() as usize;
        let mut queue = self.queue.lock();
        for priority in to + 1..queue.by_priority.len() {
            let Some(lower) = queue.by_priority.get_mut(priority) else { break };
            if let Some(i) = lower.iter().position(|p| std::ptr::eq(p.0, process))
                && let Some(found) = lower.remove(i)
            {
                queue.by_priority[to].push_back(found);
                return true;
            }
        }
        false
    }

    /// Takes out the process that is to run next.
    pub fn pop(&self) -> Option<&'static Process<R>> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let process = queue.pick()?;
        debug_assert!(process.process().status() == Status::Runnable, "Q1: only what is runnable waits in a queue");
        self.count(&self.len, -1);
        if process.is_bound() {
            self.count(&self.bound, -1);
        }
        Some(process.process())
    }

    /// Takes out the first of a priority that anybody may run.
    pub(crate) fn take_first(&self, priority: usize) -> Option<&'static Process<R>> {
        self.take_out(|queue| {
            let free = queue[priority].iter().position(|one| !one.is_bound())?;
            queue[priority].remove(free)
        })
    }

    /// Takes out the last of the highest priority that anybody may run.
    pub(crate) fn steal_last(&self) -> Option<&'static Process<R>> {
        self.take_out(|queue| {
            queue.iter_mut().find_map(|queue| {
                let free = queue.iter().rposition(|one| !one.is_bound())?;
                queue.remove(free)
            })
        })
    }

    /// Takes out the one, bound to no scheduler, that `which` takes out.
    fn take_out(
        &self,
        which: impl FnOnce(&mut [VecDeque<Runnable<R>>; 4]) -> Option<Runnable<R>>,
    ) -> Option<&'static Process<R>> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock();
        let taken = which(&mut queue.by_priority)?;
        debug_assert!(!taken.is_bound(), "R2: what is bound stays");
        self.count(&self.len, -1);
        debug_assert_eq!(self.len(), queue.len(), "R1");
        Some(taken.process())
    }

    /// Half of what waits here, for a thief: one that takes everything leaves the owner idle, to rob it in turn.
    pub(crate) fn steal_half(&self) -> VecDeque<Runnable<R>> {
        let mut stolen = VecDeque::new();
        let Some(mut queue) = self.queue.try_lock() else { return stolen };
        for q in &mut queue.by_priority {
            let free = self.free(q);
            take_last(q, free, free.div_ceil(2), &mut stolen);
            if !stolen.is_empty() {
                break;
            }
        }
        self.count(&self.len, -(stolen.len() as isize));
        debug_assert_eq!(self.len(), queue.len(), "R1");
        debug_assert!(!stolen.iter().any(Runnable::is_bound), "R2: what is bound stays");
        stolen
    }

    /// Takes out `many` of the processes that wait here, of each priority its share, for a scheduler with a shorter queue.
    pub(crate) fn hand_over(&self, many: usize) -> VecDeque<Runnable<R>> {
        let mut given = VecDeque::new();
        let Some(mut queue) = self.queue.try_lock() else { return given };
        let len = self.len().max(1);
        for q in &mut queue.by_priority {
            let free = self.free(q);
            take_last(q, free, (q.len() * many).div_ceil(len), &mut given);
        }
        self.count(&self.len, -(given.len() as isize));
        debug_assert_eq!(self.len(), queue.len(), "R1");
        debug_assert!(!given.iter().any(Runnable::is_bound), "R2: what is bound stays");
        given
    }

    /// Half of the normal and low ones that wait here: what is more urgent keeps this scheduler from them.
    pub(crate) fn hand_over_lower(&self) -> VecDeque<Runnable<R>> {
        let mut given = VecDeque::new();
        let Some(mut queue) = self.queue.try_lock() else { return given };
        for q in &mut queue.by_priority[Priority::Normal as usize..] {
            let free = self.free(q);
            take_last(q, free, free.div_ceil(2), &mut given);
        }
        self.count(&self.len, -(given.len() as isize));
        debug_assert_eq!(self.len(), queue.len(), "R1");
        debug_assert!(!given.iter().any(Runnable::is_bound), "R2: what is bound stays");
        given
    }

    /// How many of a queue anybody may run (R2).
    fn free(&self, queue: &VecDeque<Runnable<R>>) -> usize {
        // Relaxed: R1: the caller holds the lock under which it is written.
        if self.bound.load(Ordering::Relaxed) == 0 {
            return queue.len();
        }
        queue.iter().filter(|p| !p.is_bound()).count()
    }
}

/// Moves the last `many` of the `free` processes of a queue to `taken`.
fn take_last<R: Runtime>(
    queue: &mut VecDeque<Runnable<R>>,
    free: usize,
    many: usize,
    taken: &mut VecDeque<Runnable<R>>,
) {
    let mut keep = free.saturating_sub(many);
    if free == queue.len() {
        taken.extend(queue.drain(keep..));
        return;
    }
    for _ in 0..queue.len() {
        let Some(p) = queue.pop_front() else { break };
        if p.is_bound() || keep > 0 {
            keep = keep.saturating_sub(usize::from(!p.is_bound()));
            queue.push_back(p);
        } else {
            taken.push_back(p);
        }
    }
}
