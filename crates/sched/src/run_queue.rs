//! The run queue of one scheduler, and what else other threads see of that.
//!
//! ```text
//!                        front          shared          back
//!   of each priority:  [a b c d]  -->  [e f g h]  -->  [i j k]      a runs next
//!                       private         locked          private
//! ```
//!
//! The scheduler itself takes from the front, and adds at the back (at the front while nothing is shared): no lock, no locked
//! instruction. All others take from the shared part, and add there. Whenever the scheduler has more than it runs next, some of it is
//! shared: half of few processes, all but [`KEPT`] of many. When the front is empty, the scheduler takes so many back. So one lock serves
//! that many, and of a queue of one process, as two in a dialogue have, none is ever taken. A split
//! queue (Dinan et al., Scalable work stealing, 2009) with a private end more, since processes run in the order in which they came.
//! What is private waits for a scheduler whose thread has lost its processor: therefore it is little.
//!
//! R1. What waits privately is counted by the scheduler (`own`), what is shared by who holds the lock (`shared`, `shared_len`,
//!     `bound`): a load and a store do, and a reader without the lock gets a figure that is already old.
//! R2. A process that is bound to a scheduler (`spawn_opt`'s and `process_flag`'s undocumented option `scheduler`) is never
//!     stolen. The binding does not change while the process is in a queue.
//! R3. The private ends are touched by the thread of the scheduler's [`Dispatcher`](crate::Dispatcher) alone: there is one, it stays on the thread that has
//!     made it, and [`is_current`] is true of its queue on that thread alone. What touches them calls nothing that could come back here.
//! R4. Where more waits privately than the scheduler runs next, something is shared that anybody may take; at the latest after the next
//!     process that the scheduler adds or takes ([`RunQueue::push_own`], [`RunQueue::pop_own`]), for thieves may have taken all that was. It is not
//!     so if all of it is bound, or one scheduler alone may be active. Of each priority some is shared each slice's time.
//! R5. Who makes a waiting process more urgent stores that first and then asks each scheduler to sort anew, which takes the request
//!     before its next process (sync.request/RQ1): it finds the process in its queue, or adds it later by its new urgency.
//! R6. What the process that runs has woken stands in the worker cache, of one place, if it alone has come to the queue during the slice. It runs
//!     next if that process waits then, and nothing more urgent does; as long as the slices of such a chain are no more than one whole
//!     slice together. So requests and their replies go before others, but never before what has come of them on the way: programs count on
//!     an order that OTP keeps (what a server has started has begun when its reply is read). Otherwise it goes to the end of
//!     its level, before anything that the scheduler adds later, such as the process that has woken it. It is private, and counts as what the scheduler runs next: all else may be shared.
//!
//! What was not done: an inbox without a lock for what others add. On 60 simulated tiles all cores wait for the locks of queues 0.2 % of their time, and
//! 1 % for the lines that a push to another queue moves, of which an inbox moves as many (Big Bang of 400, `myriad sim`, docs/simulator.md).

use crate::current::is_current;
use crate::jobs::Jobs;
use crate::load::Load;
use crate::private::Private;
use crate::queues::{Queues, band, bits};
use myriad_process::priority::{ALL_BANDS, BANDS, Band};
use myriad_process::{Priority, Process, Runtime, Status};
use myriad_sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use myriad_sync::cell::UnsafeCell;
use myriad_sync::idle::Worker;
use myriad_sync::{CachePadded, LockClass, Request, SpinLock};
use std::collections::VecDeque;

/// So many processes at each private end of a level are enough: each takes a part of a lock's cost so large.
const KEPT: usize = 8;

static QUEUE_CLASS: LockClass = LockClass::new("run_queue", 600);

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

    pub(crate) fn new(process: &Process<R>) -> Self {
        debug_assert!(process.status() == Status::Runnable, "Q1: only what is runnable waits in a queue");
        Runnable(process)
    }

    pub(crate) fn taken(self) -> &'static Process<R> {
        let process = self.process();
        debug_assert!(process.status() == Status::Runnable, "Q1: only what is runnable waits in a queue");
        process
    }
}

/// Has a scheduler shared something just now, that an idle one may be woken for?
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shared(pub bool);

/// The run queue of one scheduler, whether that sleeps, and what it has done.
pub struct RunQueue<R: Runtime> {
    /// The shared part, and its counts.
    queue: SpinLock<Queues<Runnable<R>>>,
    shared_len: AtomicUsize,
    /// By band, and the levels of which there are any, as bits.
    shared: [AtomicUsize; BANDS],
    shared_levels: AtomicU32,
    bound: AtomicUsize,
    /// Something that waits has become more urgent (R5).
    sorts_anew: Request,
    /// Is there a dispatcher for it (R3)?
    pub(crate) has_owner: AtomicBool,
    /// Does it run, or look for work, or sleep? One that was woken may be away for long on a busy machine.
    pub worker: Worker,
    /// Its scheduler does not get on: it has neither ended a slice since, nor found nothing to run (`lookout`).
    held_up: AtomicBool,
    /// The private ends (R3), and how many wait there by band.
    private: CachePadded<UnsafeCell<Private<Runnable<R>>>>,
    own: [AtomicUsize; BANDS],
    pub(crate) jobs: Jobs,
    /// What it has done.
    pub load: CachePadded<Load>,
}

// SAFETY: R3: one thread touches the private ends; what waits there may be sent.
unsafe impl<R: Runtime> Sync for RunQueue<R> {}

impl<R: Runtime> Default for RunQueue<R> {
    fn default() -> Self {
        RunQueue {
            queue: SpinLock::new(&QUEUE_CLASS, Queues::default()),
            shared_len: AtomicUsize::new(0),
            shared: Default::default(),
            shared_levels: AtomicU32::new(0),
            bound: AtomicUsize::new(0),
            sorts_anew: Request::new(),
            has_owner: AtomicBool::new(false),
            worker: Worker::new(),
            held_up: AtomicBool::new(false),
            private: CachePadded::new(UnsafeCell::new(Private::default())),
            own: Default::default(),
            jobs: Jobs::default(),
            load: CachePadded::new(Load::default()),
        }
    }
}

/// What anybody sees.
impl<R: Runtime> RunQueue<R> {
    /// Runnable processes and jobs here.
    pub fn len(&self) -> usize {
        self.lengths().iter().sum::<usize>() + self.jobs.len()
    }

    /// Calls `look` with each process that waits here and the priority at which it does, in the order of their turns in each priority.
    ///
    /// # Safety
    /// R3: the calling thread runs the queue's scheduler, as the one that steps all of a simulated machine does.
    pub unsafe fn each(&self, mut look: impl FnMut(Priority, &'static Process<R>)) {
        let shared = self.queue.lock();
        self.private.with(|private| {
            // SAFETY: R3, the caller's promise; nothing here changes it.
            let private = unsafe { &*private };
            let seen = |level| Priority::of_level(level).unwrap_or(Priority::LOW);
            if let Some((level, one)) = private.cached() {
                look(seen(*level), one.process());
            }
            for level in bits(private.occupied() | shared.levels.occupied()) {
                let (front, back) = private.ends(level);
                let all = front.iter().chain(shared.levels.of(level)).chain(back);
                all.for_each(|one| look(seen(level), one.process()));
            }
        });
    }

    /// Runnable processes here by band, the most urgent first.
    pub fn lengths(&self) -> [usize; BANDS] {
        // Relaxed: a hint; the idle set (sched/Q2) and the lock decide.
        std::array::from_fn(|band| self.own[band].load(Ordering::Relaxed) + self.shared[band].load(Ordering::Relaxed))
    }

    /// No runnable process or job here?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many are shared that anybody may take (R2).
    #[inline]
    fn free_shared(&self) -> usize {
        // Relaxed: a hint, as in `lengths`.
        self.shared_len.load(Ordering::Relaxed).saturating_sub(self.bound.load(Ordering::Relaxed)) + self.jobs.len()
    }

    /// Is there more than the owner runs next, and some of it for anybody (sched/Q3, R2)?
    #[inline]
    pub fn offers(&self) -> bool {
        self.free_shared() > 0 && self.len() > 1
    }

    /// Is something shared that anybody may take?
    #[inline]
    pub(crate) fn shares(&self) -> bool {
        self.free_shared() > 0
    }

    /// Does its scheduler sleep, or not get on, so that what it runs next had better run elsewhere (a figure)?
    #[inline]
    pub fn is_away(&self) -> bool {
        // Relaxed: a figure.
        self.worker.is_away() || self.held_up.load(Ordering::Relaxed)
    }

    /// Its scheduler does not get on, as another has found.
    pub(crate) fn set_held_up(&self) {
        // Relaxed: a figure.
        self.held_up.store(true, Ordering::Relaxed);
    }

    /// Its scheduler does get on.
    #[inline]
    pub(crate) fn gets_on(&self) {
        // Relaxed: a figure. The line is written only where it has to be.
        if self.held_up.load(Ordering::Relaxed) {
            self.held_up.store(false, Ordering::Relaxed);
        }
    }

    /// Does one process wait here that anybody may run?
    pub fn offers_single(&self) -> bool {
        self.free_shared() == 1 && self.len() == 1
    }

    /// Does a process of one of these levels (bits) wait here? On a thread that is not the scheduler's: among those shared.
    #[inline]
    pub fn has_any_of(&self, levels: u32) -> bool {
        // SAFETY: R3: its dispatcher is on this thread.
        let own = || self.private.with(|private| unsafe { &*private }.levels());
        // Relaxed: a hint, as in `lengths`.
        self.shared_levels.load(Ordering::Relaxed) & levels != 0 || is_current(self) && own() & levels != 0
    }

    /// Adds a process that has just become runnable, or comes from another queue (sched/Q1), to what is shared: on any thread.
    pub fn push(&self, process: &Process<R>) {
        let _ = self.push_and_count(process);
    }

    /// The same; gives how many of its band wait here now.
    pub(crate) fn push_and_count(&self, process: &Process<R>) -> usize {
        let (priority, process) = (process.queue_priority(), Runnable::<R>::new(process));
        let mut queue = self.queue.lock();
        if process.is_bound() {
            self.count_bound(1);
        }
        queue.push(priority, process);
        self.count_shared(&queue);
        // Relaxed: a figure.
        queue.levels.count(priority.band().levels()) + self.own[priority.band() as usize].load(Ordering::Relaxed)
    }

    /// Takes out the process that is to run next: of all if the calling thread is the scheduler's, else of what is shared.
    pub fn pop(&self) -> Option<&'static Process<R>> {
        if is_current(self) {
            // SAFETY: R3: its dispatcher is on this thread.
            return unsafe { self.pop_own(false, false) }.0;
        }
        self.pop_shared()
    }

    /// Takes out the process of those shared that is to run next.
    pub(crate) fn pop_shared(&self) -> Option<&'static Process<R>> {
        self.take_shared(Queues::pick)
    }

    /// Takes out the first of a band that anybody may run.
    pub(crate) fn take_first(&self, band: Band) -> Option<&'static Process<R>> {
        self.take_shared(|queue| queue.remove_of(band.levels(), |level| level.iter().position(|one| !one.is_bound())))
    }

    /// Takes out the last of the most urgent level that anybody may run.
    pub(crate) fn steal_last(&self) -> Option<&'static Process<R>> {
        self.take_shared(|queue| queue.remove_of(u32::MAX, |level| level.iter().rposition(|one| !one.is_bound())))
    }

    /// Takes out the one of those shared that `which` takes out.
    fn take_shared(
        &self,
        which: impl FnOnce(&mut Queues<Runnable<R>>) -> Option<Runnable<R>>,
    ) -> Option<&'static Process<R>> {
        // Relaxed: a hint; the lock decides.
        if self.shared_len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut queue = self.queue.lock();
        let taken = which(&mut queue)?;
        if taken.is_bound() {
            self.count_bound(-1);
        }
        self.count_shared(&queue);
        Some(taken.taken())
    }

    /// Half of what waits here, for a thief: one that takes everything leaves the owner idle, to rob it in turn.
    pub(crate) fn steal_half(&self) -> VecDeque<Runnable<R>> {
        self.give(ALL_BANDS, |all| all.div_ceil(2))
    }

    /// Takes out all that is shared and that anybody may run, the most urgent first.
    pub(crate) fn take_over(&self) -> VecDeque<Runnable<R>> {
        ALL_BANDS.into_iter().flat_map(|band| self.give([band], |_| usize::MAX)).collect()
    }

    /// Takes out `many` of a band that wait here, for another scheduler.
    pub(crate) fn hand_over(&self, band: Band, many: usize) -> VecDeque<Runnable<R>> {
        self.give([band], |_| many)
    }

    /// Takes out as many as `share` says of the first of these bands of which anything is shared, where so many wait: as far as they are shared
    /// and bound to no scheduler, the last ones of each level, of the most urgent first.
    fn give<const N: usize>(&self, of: [Band; N], share: impl Fn(usize) -> usize) -> VecDeque<Runnable<R>> {
        let mut given = VecDeque::new();
        let Some(mut queue) = self.queue.try_lock() else { return given };
        // Relaxed: R1: this thread holds the lock under which it is written.
        let bound = self.bound.load(Ordering::Relaxed);
        for band in of {
            let levels = queue.levels.occupied() & band.levels();
            let free_of_band: usize = bits(levels).map(|level| free(queue.levels.of(level), bound)).sum();
            // Relaxed: a figure.
            let most = share(free_of_band + self.own[band as usize].load(Ordering::Relaxed));
            for level in bits(levels) {
                let many = most - given.len();
                queue.levels.change(level, |shared| take_last(shared, free(shared, bound), many, &mut given));
            }
            if !given.is_empty() {
                break;
            }
        }
        self.count_shared(&queue);
        debug_assert!(!given.iter().any(Runnable::is_bound), "R2: what is bound stays");
        given
    }

    /// Moves a process that waits here up to the priority that it has become; `false`: it is not among those shared. Then the
    /// scheduler is to be asked to [sort anew](RunQueue::ask_to_sort).
    pub(crate) fn promote(&self, process: &Process<R>) -> bool {
        // Relaxed: a hint; if something is shared just now, the scheduler itself sorts it (R5).
        if self.shared_len.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut queue = self.queue.lock();
        let found = move_up(&mut queue, |one| std::ptr::eq(one.0, process));
        self.count_shared(&queue);
        found
    }

    /// Has the scheduler move up what has become more urgent, before it takes its next process (R5).
    pub(crate) fn ask_to_sort(&self) {
        self.sorts_anew.make();
    }

    /// The shared part has changed: whoever holds its lock counts.
    fn count_shared(&self, queue: &Queues<Runnable<R>>) {
        // Relaxed: R1.
        let mut all = 0;
        for band in ALL_BANDS {
            let (count, many) = (&self.shared[band as usize], queue.levels.count(band.levels()));
            if count.load(Ordering::Relaxed) != many {
                count.store(many, Ordering::Relaxed);
            }
            all += many;
        }
        self.shared_levels.store(queue.levels.occupied(), Ordering::Relaxed);
        self.shared_len.store(all, Ordering::Relaxed);
        debug_assert!(self.bound.load(Ordering::Relaxed) <= all, "R1: more bound ones than there are");
    }

    /// So many more of those shared are bound.
    fn count_bound(&self, change: isize) {
        // Relaxed: R1.
        self.bound.store(self.bound.load(Ordering::Relaxed).wrapping_add_signed(change), Ordering::Relaxed);
    }
}

/// What its scheduler does.
impl<R: Runtime> RunQueue<R> {
    /// Adds a process that has just become runnable, or comes from another queue (sched/Q1). `shares`: other schedulers may take some.
    ///
    /// # Safety
    /// R3: the calling thread has the queue's dispatcher.
    #[inline]
    pub(crate) unsafe fn push_own(&self, process: &Process<R>, shares: bool) -> Shared {
        let (level, process) = (process.queue_priority().level(), Runnable::<R>::new(process));
        self.private.with_mut(|private| {
            // SAFETY: R3, the caller's promise.
            let private = unsafe { &mut *private };
            // What was woken before this one runs before it.
            if private.has_cached() {
                self.empty_cache(private);
            }
            private.has_grown = true;
            private.bound += usize::from(process.is_bound());
            // Relaxed: what others add meanwhile may come before this one or after it.
            private.push(level, process, self.is_shared(level));
            self.count_own(level, private);
            self.share(private, shares)
        })
    }

    /// As [`RunQueue::push_own`], of a process that was woken by the one that runs: if it is the first to come during the slice, it goes to the
    /// worker cache (R6).
    ///
    /// # Safety
    /// R3: the calling thread has the queue's dispatcher.
    #[inline]
    pub(crate) unsafe fn push_next(&self, process: &Process<R>, shares: bool) -> Shared {
        self.private.with_mut(|private| {
            // SAFETY: R3, the caller's promise.
            let private = unsafe { &mut *private };
            let (level, one) = (process.queue_priority().level(), Runnable::<R>::new(process));
            private.bound += usize::from(one.is_bound());
            if private.has_grown {
                self.empty_cache(private);
                private.push(level, one, self.is_shared(level));
            } else {
                private.has_grown = true;
                private.cache(level, one);
            }
            self.count_own(level, private);
            self.share(private, shares)
        })
    }

    /// The one in the worker cache, if it goes before all that waits; else it goes behind those of its level.
    #[inline]
    fn take_cached(&self, private: &mut Private<Runnable<R>>, goes_first: bool) -> Option<Runnable<R>> {
        let (level, one) = private.cached()?;
        let level = *level;
        // Relaxed: a hint, as in `pop_any`.
        let more_urgent = (private.occupied() | self.shared_levels.load(Ordering::Relaxed)) & ((1 << level) - 1) != 0;
        if !goes_first || more_urgent || one.process().queue_priority().level() != level {
            self.empty_cache(private);
            return None;
        }
        let (_, one) = private.take_cached()?;
        private.bound -= usize::from(one.is_bound());
        self.count_own(level, private);
        Some(one)
    }

    /// What is in the worker cache goes behind those of its level, which may be another by now.
    fn empty_cache(&self, private: &mut Private<Runnable<R>>) {
        let Some((before, one)) = private.take_cached() else { return };
        let level = one.process().queue_priority().level();
        private.push(level, one, self.is_shared(level));
        self.count_own(before, private);
        self.count_own(level, private);
    }

    /// Takes out the process that is to run next: that in the worker cache if `cached_first`, where nothing more urgent waits; and whether it
    /// was that one.
    ///
    /// # Safety
    /// R3: the calling thread has the queue's dispatcher.
    #[inline]
    pub(crate) unsafe fn pop_own(
        &self,
        shares: bool,
        cached_first: bool,
    ) -> (Option<&'static Process<R>>, bool, Shared) {
        self.private.with_mut(|private| {
            // SAFETY: R3, the caller's promise.
            let private = unsafe { &mut *private };
            private.has_grown = false;
            if self.sorts_anew.take() {
                self.sort_anew(private);
            }
            if private.has_cached()
                && let Some(one) = self.take_cached(private, cached_first)
            {
                return (Some(one.taken()), true, self.share(private, shares));
            }
            let normal = Priority::NORMAL.level();
            // Relaxed: a hint; what comes to be shared meanwhile is taken the next time.
            let (level, one) = if self.shared_len.load(Ordering::Relaxed) == 0
                && let Some(one) = private.pop_normal()
            {
                (normal, Some(one))
            } else {
                self.pop_any(private)
            };
            let Some(one) = one else { return (None, false, Shared(false)) };
            private.bound -= usize::from(one.is_bound());
            self.count_own(level, private);
            (Some(one.taken()), false, self.share(private, shares))
        })
    }

    /// Takes out the one that is to run next of all; and its priority.
    fn pop_any(&self, private: &mut Private<Runnable<R>>) -> (usize, Option<Runnable<R>>) {
        loop {
            // Relaxed: hints; the lock decides, and after it the thread sees what it saw under it, or newer.
            let shared = self.shared_levels.load(Ordering::Relaxed);
            let of_band = |band: Band| self.shared[band as usize].load(Ordering::Relaxed);
            let Some(level) = private.turn(shared, of_band) else { return (0, None) };
            let one = private.pop(level, shared & 1 << level != 0).or_else(|| {
                self.take_back(level, private);
                private.pop(level, false)
            });
            // If there is none, others have taken what was shared: the next one has its turn.
            if one.is_some() {
                return (level, one);
            }
        }
    }

    /// Takes back the first of what is shared of a priority.
    fn take_back(&self, level: usize, private: &mut Private<Runnable<R>>) {
        let mut queue = self.queue.lock();
        // Relaxed: R1: this thread holds the lock under which it is written.
        if self.bound.load(Ordering::Relaxed) > 0 {
            let bound = queue.levels.of(level).iter().take(KEPT).filter(|one| one.is_bound()).count();
            private.bound += bound;
            self.count_bound(-(bound as isize));
        }
        queue.levels.change(level, |shared| private.take_back(level, shared, KEPT));
        self.count_shared(&queue);
    }

    #[inline]
    fn count_own(&self, level: usize, private: &Private<Runnable<R>>) {
        let band = band(level);
        // Relaxed: R1.
        self.own[band as usize].store(private.of_band(band), Ordering::Relaxed);
    }

    /// Is some of a level shared (a figure, already old)?
    #[inline]
    fn is_shared(&self, level: usize) -> bool {
        // Relaxed: R1.
        self.shared_levels.load(Ordering::Relaxed) & 1 << level != 0
    }

    /// Shares some of what waits privately, if there is more than the scheduler runs next, and nothing is shared (R4), or more than is kept.
    #[inline]
    fn share(&self, private: &mut Private<Runnable<R>>, shares: bool) -> Shared {
        let free = private.len() - private.bound;
        let is_much = || free > KEPT * (1 + private.occupied().count_ones() as usize);
        if shares && private.len() > 1 && free > 0 && (self.free_shared() == 0 || is_much()) {
            return self.share_most(private);
        }
        Shared(false)
    }

    /// Shares some of each priority of which nothing is shared: now and then, for what is more urgent may be shared all the time.
    ///
    /// # Safety
    /// R3: the calling thread has the queue's dispatcher.
    pub(crate) unsafe fn share_all_priorities(&self) -> Shared {
        self.private.with_mut(|private| {
            // SAFETY: R3, the caller's promise.
            let private = unsafe { &mut *private };
            if private.len() > 1 { self.share_most(private) } else { Shared(false) }
        })
    }

    /// Shares of each priority most of what waits privately: what stands behind something shared, or else all but the half that comes first, and
    /// no more of that than [`KEPT`]. Was there nothing before that anybody may take?
    // Kept out of what each message of a dialogue goes through.
    #[inline(never)]
    fn share_most(&self, private: &mut Private<Runnable<R>>) -> Shared {
        let mut queue = self.queue.lock();
        // Under the lock: a thief may have taken all while this thread waited for it.
        let now = Shared(self.free_shared() == 0);
        // Relaxed: R1: this thread holds the lock under which it is written.
        let (bound, shared_bound) = (private.bound, self.bound.load(Ordering::Relaxed));
        let mut runs_next = !private.has_cached();
        for level in bits(private.occupied() | queue.levels.occupied()) {
            let is_shared = free(queue.levels.of(level), shared_bound) > 0;
            let all = private.of(level);
            // What is more urgent than all the rest runs next, so of that the scheduler keeps the larger half.
            let half = if runs_next { all.div_ceil(2) } else { all / 2 };
            runs_next &= !is_shared && all == 0;
            let keep = if is_shared { 0 } else { half.min(KEPT) };
            let share = |own: &mut VecDeque<_>| {
                let free = free(own, bound);
                queue.levels.change(level, |shared| take_last(own, free, free.saturating_sub(keep), shared));
            };
            if is_shared {
                private.change_back(level, share);
            } else {
                private.change(level, share);
            }
            self.count_own(level, private);
        }
        self.count_shared(&queue);
        now
    }

    /// Moves up what has become more urgent (R5).
    #[cold]
    fn sort_anew(&self, private: &mut Private<Runnable<R>>) {
        let mut queue = self.queue.lock();
        while move_up(&mut queue, |_| true) {}
        self.count_shared(&queue);
        drop(queue);
        for level in bits(private.occupied()) {
            for one in private.change(level, std::mem::take) {
                let to = level.min(one.process().queue_priority().level());
                // A hint, as in `push_own`. What stays goes back in its order.
                private.push(to, one, to != level && self.is_shared(to));
            }
        }
        for band in ALL_BANDS {
            // Relaxed: R1.
            self.own[band as usize].store(private.of_band(band), Ordering::Relaxed);
        }
    }
}

/// Moves the first of those that `which` holds of, and that has become more urgent, up behind those of its priority. Was there one?
fn move_up<R: Runtime>(queues: &mut Queues<Runnable<R>>, which: impl Fn(&Runnable<R>) -> bool) -> bool {
    for level in bits(queues.levels.occupied()) {
        let is = |one: &Runnable<R>| which(one) && one.process().queue_priority().level() < level;
        if let Some(place) = queues.levels.of(level).iter().position(is)
            && let Some(found) = queues.levels.change(level, |lower| lower.remove(place))
        {
            queues.push(found.process().queue_priority(), found);
            return true;
        }
    }
    false
}

/// How many of a queue anybody may run (R2), where so many are bound of this and others.
fn free<R: Runtime>(queue: &VecDeque<Runnable<R>>, bound: usize) -> usize {
    if bound == 0 { queue.len() } else { queue.iter().filter(|one| !one.is_bound()).count() }
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
