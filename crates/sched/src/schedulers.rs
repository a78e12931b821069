//! All schedulers: where a process that becomes runnable goes, and which scheduler is woken for it.

use crate::Runtime;
use crate::books::Ledger;
use crate::current::{current, is_current};
use crate::dirty::DirtyPools;
use crate::jobs::Job;
use crate::lookout::Lookout;
use crate::multi::Multi;
use crate::places::Places;
use crate::platform::Platform;
use crate::r13b04::R13b04;
use crate::run_queue::{RunQueue, Shared};
use crate::safepoint::World;
use crate::seats::Seats;
use crate::tuning::{Tuning, Wakes};
use myriad_process::{Process, Status};
use myriad_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use myriad_sync::idle::AfterPush;
use myriad_sync::{Adverts, Arc, CachePadded, IdleSet};
use std::ops::Deref;

/// A scheduler that has so many reductions before it, or has run so many without a pause, does not get through soon: another is to help it, also one that is
/// not active.
pub(crate) const SOON: u64 = 32 * crate::SLICE_REDUCTIONS as u64;
/// So many processes are more than a scheduler gets through soon.
const MANY: usize = 128;

/// How many schedulers of each kind there are.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Normal ones.
    pub normal: usize,
    /// Of those, online at start.
    pub online: usize,
    /// Dirty CPU schedulers.
    pub dirty_cpu: usize,
    /// Of those, online at start.
    pub dirty_cpu_online: usize,
    /// Dirty I/O schedulers.
    pub dirty_io: usize,
    /// Private threads, at most.
    pub private: usize,
}

/// The normal schedulers as other threads see them (as a slice: their run queues), and the pools of dirty ones.
pub struct Schedulers<R: Runtime> {
    queues: Box<[CachePadded<RunQueue<R>>]>,
    /// Schedulers without work (sched/Q2).
    pub(crate) idle: IdleSet,
    /// The queues of which something is shared (sched/Q4).
    pub(crate) adverts: Adverts,
    pub(crate) places: Places,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) multi: Multi,
    pub(crate) numbers: Numbers,
    pub(crate) world: World,
    /// The dirty schedulers.
    pub dirty: DirtyPools<R::DirtyJob>,
    pub(crate) private: Seats<R>,
    stopping: AtomicBool,
    /// So many of the online ones can be busy at once (a figure).
    capacity: AtomicUsize,
    #[cfg(feature = "r13b04")]
    past: myriad_sync::OnceLock<R13b04>,
    pub(crate) ledger: Ledger,
    pub(crate) lookout: Lookout,
    pub(crate) tuning: Tuning,
    /// How often a scheduler has compared the lengths of the run queues (a statistic).
    pub balances: AtomicUsize,
}

impl<R: Runtime> Deref for Schedulers<R> {
    type Target = [CachePadded<RunQueue<R>>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.queues
    }
}

impl<R: Runtime> Schedulers<R> {
    /// As many as `numbers` says, on a platform, tuned so, in these places. None of them runs yet.
    pub fn new(numbers: Numbers, tuning: Tuning, platform: Arc<dyn Platform>, places: Places) -> Self {
        debug_assert!(numbers.normal > 0, "nothing would run");
        debug_assert!(numbers.dirty_cpu_online <= numbers.dirty_cpu);
        Schedulers {
            queues: (0..numbers.normal).map(|_| CachePadded::new(RunQueue::default())).collect(),
            idle: IdleSet::new(numbers.normal),
            adverts: Adverts::new(numbers.normal),
            places,
            platform,
            multi: Multi::new(numbers.online.clamp(1, numbers.normal), numbers.dirty_cpu_online.max(1)),
            numbers,
            world: World::default(),
            dirty: DirtyPools::new(&numbers),
            private: Seats::new(numbers.private),
            stopping: AtomicBool::new(false),
            capacity: AtomicUsize::new(numbers.normal),
            #[cfg(feature = "r13b04")]
            past: myriad_sync::OnceLock::new(),
            ledger: Ledger::new(numbers.normal),
            lookout: Lookout::new(numbers.normal),
            tuning,
            balances: AtomicUsize::new(0),
        }
    }

    /// From now on work is shared as in OTP R13B04; `false`: it was before, or this build cannot.
    pub fn follow_r13b04(&self) -> bool {
        #[cfg(feature = "r13b04")]
        let followed = self.past.set(R13b04::new(self.len(), self.active())).is_ok();
        #[cfg(not(feature = "r13b04"))]
        let followed = false;
        followed
    }

    /// That policy, if it is followed.
    #[cfg(feature = "r13b04")]
    #[inline]
    pub(crate) fn past(&self) -> Option<&R13b04> {
        self.past.get()
    }

    /// There is no such policy in this build.
    #[cfg(not(feature = "r13b04"))]
    #[inline]
    pub(crate) fn past(&self) -> Option<&R13b04> {
        None
    }

    /// Is the VM stopping?
    #[inline]
    pub fn is_stopping(&self) -> bool {
        // Acquire: pairs with the Release in `stop`.
        self.stopping.load(Ordering::Acquire)
    }

    /// Ends all schedulers, each after its slice or job.
    pub fn stop(&self) {
        // Release: pairs with the Acquire in `is_stopping`: what the caller has written is seen with the flag.
        self.stopping.store(true, Ordering::Release);
        self.unpark_all();
        self.dirty.wake_all();
    }

    pub(crate) fn unpark_all(&self) {
        (0..self.len()).for_each(|id| self.platform.unpark(id));
        self.private.unpark_all();
    }

    /// How many online schedulers can be busy at once, by what the machine gives this process (`sync::machine::Capacity`): at least 1. As
    /// many as are online, until the platform has told.
    #[inline]
    pub fn capacity(&self) -> usize {
        // Relaxed: a figure.
        self.capacity.load(Ordering::Relaxed).clamp(1, self.online())
    }

    /// From now on so many. If fewer can be busy than before, as many fewer are active, and do not wait for the books to be checked: until
    /// then the threads would take turns on the processors, and what one has in its queue would wait for all of them.
    pub fn set_capacity(&self, capacity: usize) {
        // Relaxed: as above.
        let before = self.capacity.swap(capacity, Ordering::Relaxed);
        let most = self.most_active();
        if capacity < before && most < self.active() {
            self.set_active(most);
        }
    }

    /// Active schedulers that are not parked (a figure).
    pub fn awake(&self) -> usize {
        self.active().saturating_sub(self.idle.len())
    }

    /// Is there an active scheduler without work?
    pub fn has_idle(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Puts a runnable process in this thread's queue (or in its home's, from another thread).
    #[inline]
    pub fn enqueue(&self, process: &Process<R>) {
        if let Some(past) = self.past() {
            // Relaxed: a hint, as below.
            let home = process.home.load(Ordering::Relaxed) as usize;
            return self.enqueue_as_past(past, self.place_of(process).or(current()).unwrap_or(home), process);
        }
        match current() {
            // For what comes behind others, an idle scheduler is woken when it has waited (`Dispatcher::after_slice`).
            Some(id) if process.may_run_on(id) => {
                let _ = self.push_here(id, process);
            }
            _ if !process.may_run_anywhere() && self.enqueue_privately(process) => {}
            Some(id) => self.enqueue_at(self.place_of(process).unwrap_or(id), process),
            None => {
                // Relaxed: a hint; any queue will do.
                let home = process.home.load(Ordering::Relaxed) as usize;
                self.enqueue_at(self.place_of(process).unwrap_or(home), process);
            }
        }
    }

    /// Puts a runnable process in the queue of scheduler `id`, and wakes it if it is idle; or another one, if its
    /// queue has more than it runs next. It may be bound to another that was not active a moment ago: then it runs here once.
    pub fn enqueue_at(&self, id: usize, process: &Process<R>) {
        if let Some(past) = self.past() {
            return self.enqueue_as_past(past, id, process);
        }
        self[id].push(process);
        self.wake_for(id);
    }

    /// Has a scheduler do this job: the one of this thread, or one that is idle.
    pub fn enqueue_job(&self, job: Job) {
        self.enqueue_job_at(current().unwrap_or(0) % self.active(), job);
    }

    /// Puts a job in the queue of scheduler `id`, and wakes it or another as for a process.
    pub(crate) fn enqueue_job_at(&self, id: usize, job: Job) {
        self[id].jobs.push(job);
        self.wake_for(id);
    }

    /// Something was put in the queue of scheduler `id`: wakes that if it is idle, or another one if there is more than it runs next.
    #[inline]
    fn wake_for(&self, id: usize) {
        let target = &self[id];
        myriad_sync::sim_point();
        let pushed = self.idle.after_push();
        self.adverts.advertise(id);
        if pushed.is_idle(&target.worker) {
            self.platform.unpark(id);
        } else if target.offers() {
            self.wake_one(pushed, id);
        }
    }

    /// Adds a process to the queue of this thread's scheduler, `id`.
    #[inline]
    fn push_here(&self, id: usize, process: &Process<R>) -> Shared {
        let own = &self[id];
        let shared = if is_current(own) {
            // SAFETY: sched.run_queue/R3: `set_current` was told so on this thread.
            unsafe { own.push_own(process, self.permitted() > 1) }
        } else {
            own.push(process);
            Shared(true)
        };
        if shared == Shared(true) {
            self.advertise(id);
        }
        shared
    }

    /// The same, of a process that a signal has woken: if a process runs here, it is that one's partner (sched.run_queue/R6).
    #[inline]
    fn push_woken_here(&self, id: usize, process: &Process<R>) -> Shared {
        let own = &self[id];
        if !self.tuning.caches || !own.load.is_running() || !is_current(own) {
            return self.push_here(id, process);
        }
        // SAFETY: sched.run_queue/R3: `set_current` was told so on this thread.
        let shared = unsafe { own.push_next(process, self.permitted() > 1) };
        if shared == Shared(true) {
            self.advertise(id);
        }
        shared
    }

    /// Is one more to be active, as more waits in this queue than its scheduler gets through soon?
    fn wants_more(&self, id: usize) -> bool {
        let is_pressed = || {
            let waiting = self[id].len();
            waiting >= MANY || waiting as u64 * self[id].load.slice_cost() >= SOON
        };
        self.active() < self.most_active() && is_pressed()
    }

    /// Something has come to be shared here (sched/Q4).
    #[inline(never)]
    pub(crate) fn advertise(&self, id: usize) {
        let _fence = self.idle.after_push();
        self.adverts.advertise(id);
    }

    /// Something has come to the queue of this thread's scheduler: wakes an idle one if there is more than that runs next. If something
    /// came to be shared just now, the look at who is idle must come after it (sched/Q2). If not, a scheduler that is about to park finds
    /// what was shared before, so one that is seen as idle too late was not needed.
    #[inline]
    pub(crate) fn wake_for_more(&self, id: usize, shared: Shared) {
        if self[id].offers()
            && (shared == Shared(true) || !self.idle.is_empty() || self.wants_more(id))
            && !matches!(self.tuning.wakes, Wakes::Late(_))
        {
            self.wake_idle(id);
        }
    }

    /// Does this queue offer something? One that is advertised and has nothing for others loses its advert.
    pub(crate) fn has_offer(&self, id: usize) -> bool {
        let queue = &self[id];
        if !queue.shares() {
            self.adverts.withdraw(id, || queue.shares());
        }
        queue.offers()
    }

    /// Queues that offer something to this scheduler: those of schedulers that are not active first, then the nearest.
    pub(crate) fn offers_to(&self, id: usize) -> impl Iterator<Item = usize> {
        let active = self.active();
        let inactive = self.adverts.from(active).filter(move |other| *other != id);
        let nearest =
            self.places.nearest(id, |index, of| self.adverts.among(index, of)).filter(move |other| *other < active);
        inactive.chain(nearest).filter(|other| self.has_offer(*other))
    }

    /// The scheduler that a process is bound to, if that one may be active, which it is then: a process bound to another runs anywhere.
    pub(crate) fn place_of(&self, process: &Process<R>) -> Option<usize> {
        let id = process.bound_to().filter(|id| *id < self.permitted())?;
        if id >= self.active() {
            self.activate(id);
        }
        Some(id)
    }

    /// How many schedulers may be active by what the machine gives, too, if their number follows the work.
    pub(crate) fn most_active(&self) -> usize {
        if self.tuning.compacts { self.permitted().min(self.capacity()) } else { self.permitted() }
    }

    /// Puts a process that a signal has just made runnable in a queue.
    ///
    /// In its home's, if that scheduler is awake: its heap is in that core's cache. If the home sleeps, in the waker's: two
    /// processes in a dialogue then share a core, and neither pays for waking one (Hedqvist 5.2.8 aims at the same).
    pub fn enqueue_woken(&self, process: &Process<R>) {
        debug_assert!(process.status() == Status::Runnable, "Q1: a signal has made it so");
        // Relaxed: a hint; any queue will do.
        let home = process.home.load(Ordering::Relaxed) as usize;
        if let Some(past) = self.past() {
            return self.enqueue_as_past(past, self.place_of(process).unwrap_or(home), process);
        }
        let bound = !process.may_run_anywhere();
        match current() {
            Some(id) if !bound && (home == id || self[home % self.active()].is_away()) => {
                // In either queue the process runs.
                let shared = self.push_woken_here(id, process);
                self.wake_for_more(id, shared);
            }
            _ if bound && self.enqueue_privately(process) => {}
            _ => self.enqueue_at(self.place_of(process).unwrap_or(home % self.active()), process),
        }
    }

    /// Moves a process that waits in a queue up to the priority that it has become. If it is on its way to one, it goes there as urgent
    /// anyway.
    pub fn promote(&self, process: &Process<R>) {
        if !self.iter().any(|queue| queue.promote(process)) {
            self.iter().for_each(|queue| queue.ask_to_sort());
        }
    }

    /// Wakes one idle scheduler, if there is one, to steal from `id`, where work has been left (sched/Q2). Did it?
    pub fn wake_idle(&self, id: usize) -> bool {
        self.wake_one(self.idle.after_push(), id)
    }

    /// Wakes this scheduler if it is idle.
    pub(crate) fn wake_if_idle(&self, id: usize) {
        if self.idle.after_push().is_idle(&self[id].worker) {
            self.platform.unpark(id);
        }
    }

    #[inline]
    fn wake_one(&self, pushed: AfterPush<'_>, id: usize) -> bool {
        if pushed.wants_one() {
            return self.claim_one(pushed, id);
        }
        self.wants_more(id) && self.raise_beside()
    }

    /// One more is active, and works beside this one, if all that are work, or are on their way, and one more may be. Is it?
    #[cold]
    pub(crate) fn raise_beside(&self) -> bool {
        let raises = self.past().is_none() && self.active() < self.most_active() && self.idle.is_empty();
        raises && self.raise_active().inspect(|one| self.platform.unpark_beside(*one)).is_some()
    }

    // Kept out of `enqueue_woken`, which each message of a dialogue goes through, and which then wakes no scheduler.
    #[inline(never)]
    fn claim_one(&self, pushed: AfterPush<'_>, id: usize) -> bool {
        let idle = self.idle.idle();
        let named = |other: usize| (other, &self[other].worker);
        let claimed = pushed.claim(self.places.to_wake(id, self.active(), idle).map(named));
        claimed.inspect(|other| self.platform.unpark_beside(*other)).is_some()
    }
}
