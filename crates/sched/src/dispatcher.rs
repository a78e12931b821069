//! What one scheduler does between two slices: it picks a process from its queue or steals one, balances queues, searches for work
//! when it has none, and announces that it parks.
//!
//! The header of the crate has the states of a scheduler and the rules (sched/Q1 to Q4). Hedqvist 5.2.4 has this loop's ancestor, Zhang 3.3
//! OTP's policy of balancing. A search ([`Tuning::search_ns`](crate::Tuning)) saves work that comes in short pauses the system calls of parking and
//! waking, and an idle VM still sleeps.

use crate::books::{Move, Position};
use crate::current::{is_current, leave_scheduler, set_current};
use crate::jobs::{self, Job};
use crate::local::Local;
use crate::lookout::Lookout;
use crate::r13b04;
use crate::run_queue::{RunQueue, Shared};
use crate::schedulers::{SOON, Schedulers};
use crate::tuning::Wakes;
use crate::{Runtime, SLICE_OVERHEAD, SLICE_REDUCTIONS};
use myriad_process::{Priority, Process};
use myriad_sync::atomic::Ordering;
use myriad_sync::idle;
use std::cell::Cell;
use std::marker::PhantomData;
use std::time::Duration;

/// A scheduler that has been idle for this time gives free memory back to the system...
pub const TRIM_AFTER: Duration = Duration::from_millis(500);
/// ...if it has run this many reductions since it last did.
pub const TRIM_REDUCTIONS: u64 = 1_000_000;
/// A thief that has taken so many beside the one that it runs, and has left as many, wakes two others and not just one.
const BURST: usize = 4;
/// So many queues are tried before a thief goes on with what it does when there is nothing to steal.
const STEAL_ATTEMPTS: usize = 8;
/// Turns of a spin loop before each look of a search.
pub const SEARCH_PAUSES: u32 = 16;

/// The part of a scheduler that decides what it runs.
pub struct Dispatcher<R: Runtime> {
    all: &'static Schedulers<R>,
    own: &'static RunQueue<R>,
    id: usize,
    /// It has searched for work before it would have parked, and has not slept since.
    has_searched: bool,
    /// It was woken for what any scheduler may run, and has taken nothing of that yet (sync.idle/IS3).
    claimed: Cell<bool>,
    /// It is counted among those that are parked and could work.
    counted: bool,
    /// It has found nothing to run since it last ran something.
    is_idle: bool,
    /// It has run something, or was woken for work, since it last searched: who only looked after others sleeps on.
    may_search: Cell<bool>,
    /// Where it is in the periods of the balance.
    position: Position,
    /// How often it has looked after the balance since it last found nothing to run.
    looks: u64,
    /// Reductions of the slices that have followed each other by the worker cache (sched.run_queue/R6).
    chain: Cell<u32>,
    /// For how many slices others have waited here, where they are to ([`Wakes::Late`]).
    waited: Cell<u32>,
    /// It has run a job, and no process since.
    after_job: Cell<bool>,
    /// It stays on the thread that has made it (sched.run_queue/R3).
    stays: PhantomData<*const ()>,
}

/// A scheduler searches for work: as long as this lives no other does, and none is woken for any work.
#[must_use]
pub struct Search<R: Runtime> {
    announced: idle::Search<'static>,
    /// When it is over, by the platform's time.
    end_ns: u64,
    /// Where one process waited behind another when the search began, and how many slices there had been: a dialogue, unless that other
    /// one runs on and on.
    single: Option<(&'static RunQueue<R>, u64)>,
}

/// What a look of a search came to.
#[must_use]
pub enum Look<R: Runtime> {
    /// Nothing so far: the search goes on.
    Again(Search<R>),
    /// The search is over: there is work.
    Found,
    /// The search is over: there is none.
    Vain,
}

impl<R: Runtime> Drop for Dispatcher<R> {
    fn drop(&mut self) {
        if is_current(self.own) {
            leave_scheduler();
        }
        // Release: pairs with the Acquire in `new`: the next one finds the private ends as they are now.
        self.own.has_owner.store(false, Ordering::Release);
    }
}

impl<R: Runtime> Dispatcher<R> {
    /// For scheduler `id`; `None` if that has one.
    pub fn new(all: &'static Schedulers<R>, id: usize) -> Option<Self> {
        // Acquire: pairs with the Release in `drop`.
        if all.get(id)?.has_owner.swap(true, Ordering::Acquire) {
            return None;
        }
        Some(Dispatcher {
            all,
            own: &all[id],
            id,
            has_searched: false,
            claimed: Cell::new(false),
            counted: false,
            is_idle: false,
            may_search: Cell::new(true),
            position: Position::default(),
            looks: 0,
            chain: Cell::new(0),
            waited: Cell::new(0),
            after_job: Cell::new(false),
            stays: PhantomData,
        })
    }

    /// The calling thread acts for this scheduler from now on.
    #[inline]
    pub fn enter(&self) {
        set_current(self.id, self.own);
    }

    /// Its own queue, and what it has done.
    #[inline]
    pub fn own(&self) -> &'static RunQueue<R> {
        self.own
    }

    /// A process from its own queue.
    #[inline]
    pub fn pop(&self) -> Option<&'static Process<R>> {
        if self.all.past().is_some() {
            return self.own.pop_shared();
        }
        let cached_first = self.chain.get() < SLICE_REDUCTIONS as u32;
        // SAFETY: sched.run_queue/R3: this is the queue's one dispatcher, which stays on its thread.
        let (process, was_cached, shared) = unsafe { self.own.pop_own(self.all.permitted() > 1, cached_first) };
        if !was_cached {
            self.chain.set(0);
        }
        self.all_may_take(shared);
        process
    }

    /// Adds a process that comes from another queue to its own.
    fn push(&self, process: &Process<R>) {
        // SAFETY: as in `pop`.
        let shared = unsafe { self.own.push_own(process, self.all.permitted() > 1) };
        if shared == Shared(true) {
            self.all.advertise(self.id);
        }
    }

    /// If something has just come to be shared, others learn of it.
    #[inline]
    fn all_may_take(&self, shared: Shared) {
        if shared == Shared(true) {
            self.all.advertise(self.id);
            self.all.wake_for_more(self.id, shared);
        }
    }

    /// A job, if there is one and it is a job's turn: not right after another while a process waits, nor before processes that are more urgent.
    #[inline]
    pub fn pick_job(&self) -> Option<Job> {
        let own = self.own;
        if own.jobs.len() == 0 {
            return None;
        }
        let passes = self.after_job.replace(false) && own.len() > own.jobs.len();
        if passes || own.has_any_of(jobs::BEFORE) {
            return None;
        }
        self.after_job.set(true);
        own.jobs.pop()
    }

    /// A process from its own queue, or from another's that has more than that scheduler runs next.
    #[inline]
    pub fn pick(&self) -> Option<&'static Process<R>> {
        if let Some(past) = self.all.past() {
            return self.all.pick_as_past(past, self.id);
        }
        self.pop().or_else(|| self.steal())
    }

    /// It is about to run something: it counts as busy, and makes up for a search.
    #[inline]
    pub fn begin_work(&mut self) {
        let own = self.own();
        debug_assert!(!own.load.is_running(), "it has something to run already");
        own.load.set_running(true);
        if self.is_idle {
            self.is_idle = false;
            self.may_search.set(true);
            own.load.busy_from(self.all.platform.now_ns());
            self.all.lookout.end(self.id);
        }
        self.make_up_for_others();
    }

    /// As long as it searched, or was on its way, no other scheduler was woken (sched/Q2).
    #[inline]
    fn make_up_for_others(&mut self) {
        if self.has_searched | self.claimed.take() {
            self.has_searched = false;
            self.wake_for_others();
        }
    }

    /// A slice that has used so many reductions is over; `waits`: its process does now; `others_waited`: processes of this queue have, for about a slice.
    #[inline]
    pub fn after_slice(&self, used: u64, priority: Priority, waits: bool, others_waited: bool) {
        // A process that does not wait gives its partner no turn of its own.
        let chain = if waits { self.chain.get().saturating_add(used as u32 + SLICE_OVERHEAD) } else { u32::MAX };
        self.chain.set(chain);
        let own = self.own();
        own.gets_on();
        own.load.count_slice(used);
        self.all.ledger.of(self.id).ran(used, priority);
        own.load.set_running(false);
        if let Some(past) = self.all.past() {
            self.all.after_slice_as_past(past, self.id, used, priority);
        } else if self.wakes_now(others_waited) && own.offers() {
            self.all.wake_idle(self.id);
        }
    }

    /// Is another scheduler to be woken at the end of this slice, if there is work for it?
    #[inline]
    fn wakes_now(&self, others_waited: bool) -> bool {
        match self.all.tuning.wakes {
            Wakes::Soon => true,
            Wakes::Medium => others_waited,
            Wakes::Late(slices) => {
                let waited = self.waited.get() + u32::from(others_waited);
                let wakes = waited >= slices;
                self.waited.set(if wakes { 0 } else { waited });
                wakes
            }
        }
    }

    /// Does a slice end with so many reductions, although the process could run on?
    #[inline]
    pub fn is_slice_over(&self, used: u32) -> bool {
        self.all.past().is_some() && used >= r13b04::SLICE
    }

    /// It has found nothing to run.
    pub fn found_nothing(&mut self, now_ns: u64) {
        debug_assert!(!self.own().load.is_running(), "it runs something");
        self.is_idle = true;
        self.own().gets_on();
        self.looks = 0;
        self.own().load.idle_from(now_ns);
        self.all.ledger.of(self.id).out_of_work();
        if let Some(past) = self.all.past() {
            past.out_of_work(self.id);
        } else if self.position.is_over(now_ns) {
            self.all.keep_books(self.id, &mut self.position, now_ns);
        }
    }

    /// It has found nothing to run: if others work, and there is no other lookout, it looks after those that are held up. Calls `held_up` with each of
    /// them, has what is shared there in its own queue, and gives the nanoseconds after which it should look again.
    pub fn keep_lookout(
        &mut self,
        now_ns: u64,
        is_due: impl Fn(usize) -> bool,
        held_up: impl Fn(usize),
    ) -> Option<u64> {
        let all = self.all;
        let active = all.active();
        // Where none that is active rests, the first of the others looks after them.
        let may_work = self.id < active || self.id == active && active < all.most_active();
        let others_work = may_work && all.awake() > usize::from(self.id < active);
        if !others_work || all.past().is_some() {
            all.lookout.end(self.id);
            return None;
        }
        if !all.lookout.begin(self.id) {
            return None;
        }
        let waits = |id: usize| {
            let queue = &all[id];
            (id != self.id && (!queue.is_empty() || is_due(id))).then(|| queue.load.switches())
        };
        for other in all.lookout.look(now_ns, (0..active).map(waits)) {
            if self.id >= active {
                all.activate(self.id);
            }
            all[other].set_held_up();
            held_up(other);
            self.take_jobs_of(&all[other]);
            all[other].take_over().iter().for_each(|one| self.push(one.process()));
        }
        Some(Lookout::interval_ns(all.len()))
    }

    /// There is no lookout: one that is idle is woken, or the first that is not active, and sees that others work.
    #[cold]
    fn want_lookout(&self) {
        let active = self.all.active();
        if self.all.has_idle() {
            self.all.wake_idle(self.id);
        } else if active < self.all.most_active() {
            self.all.platform.unpark(active);
        }
    }

    /// If work waits that any scheduler may run, one that is idle is woken.
    #[cold]
    fn wake_for_others(&self) {
        if self.all.offers_to(self.id).next().is_some() || self.own.offers() {
            self.all.wake_idle(self.id);
        }
    }

    /// Passes on what still comes to this scheduler, which is not active, to those that were `active` when its step began: by now it
    /// may be active itself.
    pub fn pass_on(&self, active: usize) {
        debug_assert!(self.id >= active, "it would pass on to itself");
        while let Some(job) = self.own.jobs.pop() {
            self.all.enqueue_job_at(self.id % active, job);
        }
        while let Some(process) = self.pop() {
            let place = self.all.place_of(process);
            self.all.enqueue_at(place.unwrap_or(self.id % active), process);
            if place == Some(self.id) {
                // It is active again, for this one.
                return;
            }
        }
    }

    /// Is there a reason to step again? (sched/Q3)
    fn sees_work(&self) -> bool {
        let all = self.all;
        if !self.own().is_empty() || all.is_stopping() || self.id == 0 && all.dirty.wants_the_one() {
            return true;
        }
        all.past().is_none() && self.id < all.active() && all.offers_to(self.id).next().is_some()
    }

    /// On a thread: searches for work, unless another scheduler does; `true` if there is some.
    pub fn search(&mut self, now_ns: u64, next_timer_ns: Option<u64>) -> bool {
        let Some(mut search) = self.begin_search(now_ns, next_timer_ns) else { return false };
        loop {
            myriad_sync::sim_point();
            for _ in 0..SEARCH_PAUSES {
                myriad_sync::spin_hint();
            }
            match self.look(search) {
                Look::Again(on) => search = on,
                Look::Found => return true,
                Look::Vain => return false,
            }
        }
    }

    /// Begins to search for work for a moment ([`Tuning::search_ns`](crate::Tuning)); `None` if another scheduler searches, or this one alone is
    /// active, or is not, or there is no reason to.
    /// Schedulers of OTP R13B04 do not search. Who drives schedulers itself then has this one [`look`](Self::look) until the search is over,
    /// and lets it pause for [`SEARCH_PAUSES`] before each look.
    pub fn begin_search(&self, now_ns: u64, next_timer_ns: Option<u64>) -> Option<Search<R>> {
        let (all, active) = (self.all, self.all.active());
        let most = all.tuning.search_ns;
        if active < 2 || self.id >= active || most == 0 || all.past().is_some() || !self.may_search.take() {
            return None;
        }
        let announced = all.idle.search(&self.own().worker)?;
        let others = all.iter().enumerate().filter(|(id, _)| *id != self.id);
        let single = others.map(|(_, queue)| &**queue).find(|queue| queue.offers_single());
        let single = single.map(|queue| (queue, queue.load.switches()));
        Some(Search { announced, end_ns: now_ns + most.min(next_timer_ns.unwrap_or(most)), single })
    }

    /// One look of a search.
    pub fn look(&mut self, search: Search<R>) -> Look<R> {
        let found = self.sees_work();
        if found || self.all.platform.now_ns() >= search.end_ns {
            self.end_search(search, found)
        } else {
            Look::Again(search)
        }
    }

    /// A search is over.
    fn end_search(&mut self, Search { announced, single, .. }: Search<R>, found: bool) -> Look<R> {
        myriad_sync::sim_point();
        // No scheduler was woken for what has come until here: `begin_work` makes up for that.
        drop(announced);
        self.has_searched = true;
        if found {
            return Look::Found;
        }
        if let Some((victim, before)) = single
            && victim.load.switches() == before
            && let Some(process) = self.steal_from(victim)
        {
            self.push(process);
            return Look::Found;
        }
        Look::Vain
    }

    /// Announces that this scheduler is about to park; `false` if there is work after all (sched/Q2).
    pub fn before_park(&mut self, local: &Local) -> bool {
        let all = self.all;
        myriad_sync::sim_point();
        self.counted = self.id < all.active();
        all.idle.enter(self.id, &self.own().worker, self.counted);
        myriad_sync::sim_point();
        if self.sees_work() {
            return false;
        }
        if self.id >= all.active() {
            // It did not look at the queues of others, for whose work no other scheduler may have been woken because of this one.
            self.make_up_for_others();
        }
        // Work that waited for thread progress may run now, and make processes runnable in this queue: no other thread learns of them.
        let work = !local.go_offline() || self.sees_work();
        if work {
            local.go_online();
        }
        !work
    }

    /// It works again after it has announced that it parks; `parked`: it did park.
    pub fn after_park(&mut self, local: &Local, parked: bool) {
        if parked {
            self.has_searched = false;
            local.go_online();
        }
        let claimed = self.all.idle.leave(self.id, &self.own().worker, self.counted);
        self.claimed.set(claimed);
        self.may_search.set(self.may_search.get() | claimed);
    }

    fn steal(&self) -> Option<&'static Process<R>> {
        self.all.offers_to(self.id).take(STEAL_ATTEMPTS).find_map(|victim| self.steal_from(&self.all[victim]))
    }

    fn steal_from(&self, victim: &RunQueue<R>) -> Option<&'static Process<R>> {
        debug_assert!(!std::ptr::eq(victim, self.own()), "it robs itself");
        self.take_jobs_of(victim);
        let mut stolen = victim.steal_half();
        let first = stolen.pop_front()?;
        self.claimed.set(false);
        myriad_sync::sim_point();
        let more = stolen.len();
        stolen.iter().for_each(|one| self.push(one.process()));
        // Of a burst there is plenty on both sides: so it reaches n schedulers in log n steps.
        let wakes = usize::from(more > 0 || victim.offers()) + usize::from(more >= BURST && victim.len() >= BURST);
        for _ in 0..wakes {
            self.all.wake_idle(self.id);
        }
        Some(first.process())
    }

    /// Takes over half of the jobs that wait in another queue.
    fn take_jobs_of(&self, victim: &RunQueue<R>) {
        let jobs = victim.jobs.take_half();
        if !jobs.is_empty() {
            self.claimed.set(false);
            self.own.jobs.append(jobs);
            self.all.advertise(self.id);
        }
    }

    /// After about a slice's time of work: shares some of each priority, keeps the books, and follows the paths that they have led to. Stealing
    /// alone leaves queues as they are while all schedulers are busy, and some processes would wait many times longer for their turn than
    /// others.
    pub fn balance(&mut self, now_ns: u64) {
        let all = self.all;
        if all.past().is_some() {
            return;
        }
        self.looks += 1;
        if all.permitted() > 1 {
            // SAFETY: as in `pop`.
            let shared = unsafe { self.own.share_all_priorities() };
            self.all_may_take(shared);
            if self.looks * SLICE_REDUCTIONS as u64 >= SOON && self.own.offers() {
                all.raise_beside();
            }
            if all.lookout.is_vacant() {
                self.want_lookout();
            }
        }
        all.keep_books(self.id, &mut self.position, now_ns);
        if let Some(other) = all.roomier(self.id)
            && let Some(process) = self.pop()
        {
            all.enqueue_at(if process.may_run_anywhere() { other } else { self.id }, process);
        }
        for (band, Move { other, pulls, many }) in all.moves(self.id) {
            if pulls {
                all[other].hand_over(band, many).iter().for_each(|one| self.push(one.process()));
            } else {
                self.own.hand_over(band, many).iter().for_each(|one| all.enqueue_at(other, one.process()));
            }
        }
    }
}
