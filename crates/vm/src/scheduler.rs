//! Schedulers: run queues, picking, stealing, waking, and the step function.
//!
//! `step` runs one slice and says what it did; a thread that calls it and parks is a real scheduler, and a loop over several
//! schedulers' `step` from a seed is the test driver (docs/design.md, section 7). Hedqvist 5.2.4 is the loop's ancestor;
//! processes migrate when a scheduler without work steals some, and when a busy one finds a much longer queue than its own, or one
//! that more urgent processes keep from moving
//! ([`Scheduler::balance`]; Zhang 3.3 has OTP's policy).
//!
//! Q1. A process is in a queue just when its status is `Runnable` (process/P1), so a queue's pointers are alive: only running ends a
//!     process.
//! Q2. A scheduler that is about to park enters the set of idle ones before it looks at the queues a last time; who enqueues
//!     looks at the set after. One that searches looks again when its search is over. So no process that anybody may run waits
//!     for long beside an idle scheduler ([`myriad_sync::IdleSet`] has the protocol). Active ones are counted: when their number
//!     changes, all are woken.
//! Q3. A scheduler whose queue is not empty is awake, or has been woken. So a single process in another's queue is no reason to
//!     stay awake: it is nearly always in a dialogue with the one that runs there, and wants that core.
//!
//! A process that someone waits for looks up each few hundred reductions, answers, and goes behind who has asked
//! ([`Process::is_asked`]); who gives way early wakes nobody, as two in a dialogue run best on one core.
//!
//! Before it parks, one scheduler at a time looks on for a moment ([`SPIN_NS`]): work that comes in short pauses then costs no
//! system call, and an idle VM still sleeps.

use crate::Process;
use crate::ctx::Ctx;
use crate::deliver::Handled;
use crate::engine::SliceEnd;
use crate::microstate::{self, State};
pub use crate::run_queue::Shared;
use crate::tracer::{Activity, switches};
use crate::vm::Vm;
use myriad_process::Priority;
use myriad_sync::atomic::Ordering;
use myriad_sync::idle::AfterPush;
use myriad_sync::{CachePadded, ThreadSlot};
use myriad_term::{Pid, RefNumbers, Term, am};
use std::cell::Cell;
use std::time::Duration;

/// Reductions of one slice.
pub const SLICE_REDUCTIONS: i32 = 4000;
/// Reductions of a slice that handling signals may take before the process runs on: a flood of them stops nobody's own work.
const SIGNALS_SHARE: i32 = SLICE_REDUCTIONS / 2;
/// Timers are fired for so many reductions at a time; processes run in between.
const TIMERS_AT_ONCE: u32 = SLICE_REDUCTIONS as u32;
/// What a slice costs apart from its reductions, in reductions: timers and time are looked at once in [`SLICE_REDUCTIONS`].
const SLICE_OVERHEAD: u32 = 100;
/// The lengths of queues are compared once in so many times [`SLICE_REDUCTIONS`]: some 10 ms of work.
const BALANCE_ROUNDS: u32 = 32;
/// A scheduler that has been idle for so long gives free memory back to the system...
pub(crate) const TRIM_AFTER: Duration = Duration::from_millis(500);
/// ...if it has run so much since it last did.
const TRIM_REDUCTIONS: u64 = 1_000_000;
/// How long a scheduler without work looks for some before it parks.
const SPIN_NS: u64 = 20_000;

/// Where OTP's unique integers begin.
pub const LEAST_UNIQUE: i128 = -576_460_752_303_423_488;

/// X registers: 1,024 of them, as the instruction set has.
pub const X_REGISTERS: usize = 1024;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// What [`current`] tells from now on, for the test driver.
#[cfg(test)]
pub(crate) fn set_current(id: Option<usize>) {
    CURRENT.set(id.unwrap_or(usize::MAX));
}

/// The scheduler whose thread this is; `None` on other threads (dirty ones included).
pub fn current() -> Option<usize> {
    let id = CURRENT.get();
    (id != usize::MAX).then_some(id)
}

/// A scheduler's own state.
pub struct Local {
    /// Number from 0; dirty schedulers come after the normal ones.
    pub id: usize,
    /// Is this a dirty scheduler?
    pub dirty: bool,
    /// X registers of the process that runs. One cache-aligned block.
    pub x: Box<[Term; X_REGISTERS]>,
    /// Thread progress.
    pub slot: ThreadSlot,
    /// Progress of normal schedulers ([`Vm::slices`]); a dirty one has none.
    pub slices: Option<ThreadSlot>,
    refs: u64,
    uniques: u64,
    /// Reductions since time was looked at.
    unchecked: u32,
    /// More timers were due then than are fired at a time.
    overdue: bool,
    /// Reductions since free memory last went back to the system.
    untrimmed: u64,
    rng: u64,
    /// Monotonic time as last read, nanoseconds.
    pub now_ns: u64,
}

impl Local {
    /// For scheduler `id`.
    pub fn new(vm: &'static Vm, id: usize, dirty: bool) -> Option<Local> {
        vm.adopt_thread();
        Some(Local {
            id,
            dirty,
            x: Box::new([Term::NIL; X_REGISTERS]),
            slot: vm.progress.register()?,
            slices: if dirty { None } else { Some(vm.slices.register()?) },
            refs: 0,
            uniques: 0,
            unchecked: 0,
            overdue: false,
            untrimmed: 0,
            rng: vm.machine.seed(id) | 1,
            now_ns: vm.machine.now_ns(),
        })
    }

    /// Holds up nobody's progress until [`Local::go_on`]: no reference into shared structures is held meanwhile. `false`: retired
    /// work has left more, which nobody else may be there for (rows of a large table go in many parts, each between two steps).
    fn rest(&self) -> bool {
        self.slot.park();
        self.slices.as_ref().is_none_or(ThreadSlot::try_park)
    }

    fn go_on(&self) {
        self.slot.unpark();
        if let Some(slot) = &self.slices {
            slot.unpark();
        }
    }

    /// Numbers of a new reference: a counter of this scheduler's own, interleaved with the others' by its number.
    pub fn next_ref(&mut self, vm: &Vm) -> RefNumbers {
        RefNumbers::nth(self.next_ref_value(vm))
    }

    /// Numbers of a new reference that is an alias of a process.
    pub fn next_alias(&mut self, vm: &Vm, pid: Pid) -> RefNumbers {
        vm.processes.alias(self.next_ref_value(vm), pid)
    }

    fn next_ref_value(&mut self, vm: &Vm) -> u64 {
        self.refs += 1;
        self.refs * vm.local_count() as u64 + self.id as u64
    }

    /// A new unique integer, from [`LEAST_UNIQUE`] up; of this scheduler's own.
    pub fn next_unique(&mut self, vm: &Vm) -> i128 {
        let count = self.uniques;
        self.uniques += 1;
        vm.unique(self.id as u64 + 1, count)
    }

    /// A pseudo-random number (xorshift), for choices among equals.
    pub fn random(&mut self) -> u64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        self.rng
    }
}

/// What a step did.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Ran a process, or did work of its own, for so many reductions.
    Ran(u32),
    /// Found nothing to run; the next timer is due in so many nanoseconds.
    Idle(Option<u64>),
    /// The VM stops.
    Stop,
}

/// A scheduler.
pub struct Scheduler {
    vm: &'static Vm,
    /// Its own state.
    pub local: Local,
    /// The last step found nothing.
    was_idle: bool,
    /// It has searched for work before it would have parked, and has not slept since.
    has_searched: bool,
    /// The last park met events of file descriptors.
    served: bool,
    /// It is counted among those that are parked and could work.
    counted: bool,
    /// It has slept, and since then run nothing but who is told when it does.
    asleep: bool,
    /// While multi-scheduling is blocked: the last step did work of the dirty schedulers.
    dirty_turn: bool,
    /// Looks at the time until it looks at others' queues.
    until_balance: u32,
    /// How many slices of normal and low processes each scheduler had run when it did.
    seen_lower: Box<[u64]>,
}

impl Scheduler {
    /// Scheduler `id`; `None` if there are more threads than thread progress has room for.
    pub fn new(vm: &'static Vm, id: usize) -> Option<Scheduler> {
        Some(Scheduler {
            vm,
            local: Local::new(vm, id, false)?,
            was_idle: false,
            has_searched: false,
            served: false,
            counted: false,
            asleep: false,
            dirty_turn: false,
            until_balance: BALANCE_ROUNDS,
            seen_lower: vec![0; vm.schedulers.len()].into(),
        })
    }

    /// Runs one slice of one process, or finds nothing to do.
    pub fn step(&mut self) -> Step {
        CURRENT.set(self.local.id);
        self.local.slot.quiescent();
        if let Some(slot) = &self.local.slices {
            slot.quiescent();
        }
        if self.vm.is_stopping() {
            return Step::Stop;
        }
        let active = self.vm.schedulers_active();
        if self.local.id >= active {
            return self.step_inactive(active);
        }
        if self.local.unchecked >= SLICE_REDUCTIONS as u32 {
            self.check_time();
            self.balance();
        } else if self.local.overdue {
            self.check_time();
        }
        if self.local.id == 0 && self.vm.dirty.wants_the_one() && self.run_dirty_in_turn() {
            return Step::Ran(SLICE_REDUCTIONS as u32);
        }
        let own = &self.vm.schedulers[self.local.id];
        let found = own.pop().or_else(|| self.steal());
        match found {
            Some(process) => Step::Ran(self.run(process)),
            None => {
                if !self.local.overdue {
                    self.check_time();
                }
                match own.pop() {
                    Some(process) => Step::Ran(self.run(process)),
                    None => self.nothing_to_run(),
                }
            }
        }
    }

    /// No process has come of what was due.
    fn nothing_to_run(&mut self) -> Step {
        if self.local.overdue {
            return Step::Ran(TIMERS_AT_ONCE);
        }
        self.was_idle = true;
        self.vm.schedulers[self.local.id].load.idle_from(self.local.now_ns);
        Step::Idle(self.vm.timers.next_in(self.local.id, self.local.now_ns))
    }

    /// Multi-scheduling is blocked: does a job of the dirty schedulers every other time.
    #[cold]
    fn run_dirty_in_turn(&mut self) -> bool {
        let own = &self.vm.schedulers[0];
        self.dirty_turn = !self.dirty_turn;
        if !self.dirty_turn && !own.is_empty() {
            return false;
        }
        self.begin_work();
        let emulator = microstate::within(State::Emulator);
        let ran = self.vm.dirty.run_on_the_one(self.vm, &mut self.local);
        drop(emulator);
        self.vm.schedulers[0].load.set_running(false);
        self.local.unchecked = SLICE_REDUCTIONS as u32;
        ran
    }

    /// It has something to run.
    #[inline]
    fn begin_work(&mut self) {
        let own = &self.vm.schedulers[self.local.id];
        own.load.set_running(true);
        if self.was_idle {
            self.was_idle = false;
            own.load.busy_from(self.vm.machine.now_ns());
        }
        if self.has_searched {
            self.has_searched = false;
            self.make_up_for_search();
        }
    }

    /// As long as it searched nobody was woken for any work. It has taken some: if more waits, another one is woken now (Q2).
    #[cold]
    fn make_up_for_search(&self) {
        if self.vm.schedulers.iter().any(|s| s.offers()) {
            self.vm.wake_idle(self.local.id);
        }
    }

    /// Only fires timers, and passes on what still comes here, to those that were `active` when the step began: by now it may be
    /// active itself.
    fn step_inactive(&mut self, active: usize) -> Step {
        self.check_time();
        while let Some(process) = self.vm.schedulers[self.local.id].pop() {
            self.vm.enqueue_at(self.local.id % active, process);
        }
        self.nothing_to_run()
    }

    fn check_time(&mut self) {
        self.local.unchecked = 0;
        self.local.now_ns = self.vm.machine.now_ns();
        self.local.overdue = !self.vm.timers.fire(self.vm, self.local.id, self.local.now_ns, TIMERS_AT_ONCE);
    }

    /// The thread of this scheduler: steps until the VM stops.
    pub fn run_thread(&mut self) {
        microstate::join(self.vm, self.local.id, State::Other);
        loop {
            if self.vm.safepoint_requested() {
                self.block_at_safepoint();
            }
            match self.step() {
                Step::Ran(_) => {}
                Step::Idle(next_timer_ns) => {
                    // In a dialogue with the world outside, waiting for that is better than looking at the queues.
                    if self.served || !self.spin(next_timer_ns) {
                        self.park(next_timer_ns);
                    }
                }
                Step::Stop => return,
            }
        }
    }

    /// Waits until the world goes on, or the VM stops for good.
    #[cold]
    fn block_at_safepoint(&mut self) {
        // What is left to do waits, as all else does.
        let _ = self.local.rest();
        let sleep = microstate::within(State::Sleep);
        self.vm.block_at_safepoint();
        drop(sleep);
        self.local.go_on();
    }

    /// Is there a reason to step again? (Q3)
    fn sees_work(&self) -> bool {
        let (vm, id) = (self.vm, self.local.id);
        if !vm.schedulers[id].is_empty() || vm.is_stopping() || id == 0 && vm.dirty.wants_the_one() {
            return true;
        }
        id < vm.schedulers_active() && vm.schedulers.iter().any(|s| s.offers())
    }

    /// Looks for work for a moment; `true` if there is some.
    pub(crate) fn spin(&mut self, next_timer_ns: Option<u64>) -> bool {
        let (vm, id) = (self.vm, self.local.id);
        let active = vm.schedulers_active();
        if active < 2 || id >= active {
            return false;
        }
        let Some(search) = vm.idle.search(&vm.schedulers[id].worker) else { return false };
        let switches = |s: &Shared| s.load.switches.load(Ordering::Relaxed);
        // One process that waits behind another: a dialogue, unless the other runs on and on.
        let single = vm.schedulers.iter().find(|s| s.offers_single()).map(|s| (s, switches(s)));
        let end = self.local.now_ns + SPIN_NS.min(next_timer_ns.unwrap_or(SPIN_NS));
        let mut found = false;
        while !found && vm.machine.now_ns() < end {
            myriad_sync::sim_point();
            for _ in 0..16 {
                myriad_sync::spin_hint();
            }
            found = self.sees_work();
        }
        myriad_sync::sim_point();
        // Nobody was woken for what has come until here: `begin_work` makes up for that.
        drop(search);
        self.has_searched = true;
        if !found
            && let Some((victim, before)) = single
            && switches(victim) == before
            && let Some(process) = self.steal_from(victim)
        {
            self.vm.schedulers[id].push(process);
            found = true;
        }
        found
    }

    fn park(&mut self, next_timer_ns: Option<u64>) {
        if !self.asleep {
            self.asleep = true;
            let id = self.local.id;
            self.vm.profile_sleep(id, || {
                let itself = usize::from(id < self.vm.schedulers_active());
                self.vm.awake().saturating_sub(itself)
            });
        }
        let parked = self.before_park();
        if parked {
            // Looking for work has taken time.
            let since = self.vm.machine.now_ns().saturating_sub(self.local.now_ns);
            let timeout = next_timer_ns.map(|ns| Duration::from_nanos(ns.saturating_sub(since)));
            self.park_and_trim(timeout);
        }
        self.after_park(parked);
        self.served = self.vm.machine.serve();
    }

    /// Parks; after a period of work first for a while only, and if nothing comes then free memory goes back to the system.
    fn park_and_trim(&mut self, timeout: Option<Duration>) {
        let (vm, id) = (self.vm, self.local.id);
        let _sleep = microstate::within(State::Sleep);
        if self.local.untrimmed < TRIM_REDUCTIONS || timeout.is_some_and(|timeout| timeout <= TRIM_AFTER) {
            vm.machine.park(id, timeout);
            return;
        }
        let before = vm.machine.now_ns();
        vm.machine.park(id, Some(TRIM_AFTER));
        if u128::from(vm.machine.now_ns().saturating_sub(before)) >= TRIM_AFTER.as_nanos() {
            self.local.untrimmed = 0;
            let _aux = microstate::within(State::Aux);
            myriad_term::memory::trim();
        }
    }

    /// Announces that this scheduler is about to park; `false` if there is work after all (Q2).
    pub(crate) fn before_park(&mut self) -> bool {
        let vm = self.vm;
        myriad_sync::sim_point();
        self.counted = self.local.id < vm.schedulers_active();
        vm.idle.enter(&vm.schedulers[self.local.id].worker, self.counted);
        myriad_sync::sim_point();
        if self.sees_work() {
            return false;
        }
        // What waited for thread progress may run now, and make processes runnable here: nobody else is told of them.
        let work = !self.local.rest() || self.sees_work();
        if work {
            self.local.go_on();
        }
        !work
    }

    pub(crate) fn after_park(&mut self, parked: bool) {
        if parked {
            self.has_searched = false;
            self.local.go_on();
        }
        self.vm.idle.leave(&self.vm.schedulers[self.local.id].worker, self.counted);
    }

    fn steal(&mut self) -> Option<&'static Process> {
        let all = &self.vm.schedulers;
        for i in 1..all.len() {
            let victim = &all[(self.local.id + i) % all.len()];
            if victim.offers()
                && let Some(process) = self.steal_from(victim)
            {
                return Some(process);
            }
        }
        None
    }

    /// Now and then: takes over processes from the longest queue, so that both are as long. Stealing alone leaves queues as
    /// they are while all schedulers are busy, and some processes would wait many times longer for their turn than others.
    fn balance(&mut self) {
        self.until_balance -= 1;
        if self.until_balance > 0 {
            return;
        }
        self.until_balance = BALANCE_ROUNDS;
        let vm = self.vm;
        // Relaxed: a figure.
        vm.balances.fetch_add(1, Ordering::Relaxed);
        let own = &vm.schedulers[self.local.id];
        let (mut runs_lower, mut kept_waiting) = (false, Vec::new());
        for (id, seen) in self.seen_lower.iter_mut().enumerate().take(vm.schedulers_active()) {
            let before = std::mem::replace(seen, vm.schedulers[id].load.lower_slices());
            let stands = before == *seen;
            if id == self.local.id {
                runs_lower = !stands;
            } else if stands && !vm.schedulers[id].is_empty() {
                kept_waiting.push(id);
            }
        }
        if !runs_lower {
            // Who comes here waits behind processes of high priority, perhaps for ever.
            return;
        }
        for process in kept_waiting.into_iter().flat_map(|id: usize| vm.schedulers[id].hand_over_lower()) {
            // SAFETY: Q1: it is still runnable, and goes from one queue to another.
            own.push(unsafe { &*process.0 });
        }
        let Some(longest) = vm.schedulers[..vm.schedulers_active()].iter().max_by_key(|s| s.len()) else { return };
        let surplus = longest.len().saturating_sub(own.len());
        if surplus > 1 {
            for process in longest.hand_over(surplus / 2) {
                // SAFETY: Q1: it is still runnable, and goes from one queue to another.
                own.push(unsafe { &*process.0 });
            }
        }
    }

    fn steal_from(&self, victim: &Shared) -> Option<&'static Process> {
        let mut stolen = victim.steal_half();
        let first = stolen.pop_front()?;
        myriad_sync::sim_point();
        let more = !stolen.is_empty();
        for p in stolen {
            // SAFETY: Q1: it is still runnable, and goes from one queue to another.
            self.vm.schedulers[self.local.id].push(unsafe { &*p.0 });
        }
        if more || victim.offers() {
            self.vm.wake_idle(self.local.id);
        }
        // SAFETY: Q1.
        Some(unsafe { &*first.0 })
    }

    /// It slept, and is about to run this process.
    fn awaken(&mut self, process: &Process) {
        self.asleep = !self.vm.profile_wake_up(self.local.id, process, || self.vm.awake());
    }

    fn run(&mut self, process: &'static Process) -> u32 {
        self.begin_work();
        let own = &self.vm.schedulers[self.local.id];
        if self.asleep {
            self.awaken(process);
        }
        process.start_running();
        let urgency = process.take_urgency();
        // Relaxed: a hint for who wakes it.
        process.home.store(self.local.id as u32, Ordering::Relaxed);
        // SAFETY: process/P2, this thread has just made it Running.
        let private = unsafe { process.private() };
        private.reductions_left = SLICE_REDUCTIONS;
        let priority = process.priority();
        microstate::enter(State::Emulator);
        let mut ctx = Ctx { proc: private, this: process, sched: &mut self.local, vm: self.vm };
        let end = match &ctx.proc.ending {
            Some(_) => ctx.run_ending(),
            None if ctx.proc.away => ctx.run_away(),
            None => ctx.run_slice(),
        };
        if let Some(priority) = urgency
            && ctx.proc.unhandled.is_some()
        {
            // It may not have come to what is waited for.
            process.make_urgent(priority);
        }
        let used = SLICE_REDUCTIONS.saturating_sub(ctx.proc.reductions_left).max(0) as u32;
        ctx.proc.reductions += u64::from(used);
        self.vm.after_slice(&mut ctx, end);
        microstate::enter(State::Other);
        self.local.unchecked += used + SLICE_OVERHEAD;
        self.local.untrimmed += u64::from(used);
        own.load.count_slice(u64::from(used), priority);
        own.load.set_running(false);
        if end == SliceEnd::Yielded && own.offers() && self.local.unchecked >= SLICE_REDUCTIONS as u32 {
            // Work has waited here for a whole slice, or for many short ones.
            self.vm.wake_idle(self.local.id);
        }
        used
    }
}

impl Ctx<'_> {
    pub(crate) fn run_slice(&mut self) -> SliceEnd {
        if self.is_watched() {
            self.vm.tracer().slice_begins(self);
        }
        let slice = self.vm.switches.any(switches::SLICES).then(|| (self.vm.machine.now_ns(), self.current_function()));
        let end = self.signals_then_code();
        if let Some((since_ns, from)) = slice {
            self.vm.tracer().slice_took(self, since_ns, from);
        }
        if self.is_watched() {
            self.vm.tracer().slice_ends(self, end);
        }
        end
    }

    /// A slice of its end.
    #[cold]
    fn run_ending(&mut self) -> SliceEnd {
        self.trace_exiting(am::in_exiting);
        let end = crate::exit::go_on(self);
        if end != SliceEnd::Exited {
            self.trace_exiting(am::out_exiting);
        }
        end
    }

    /// Between two slices: handles signals, as far as their share of a slice goes.
    pub(crate) fn answer_signals(&mut self) -> Handled {
        if !self.has_signals() {
            return Handled::All;
        }
        self.proc.answering = true;
        let handled = self.fetch_signals(SIGNALS_SHARE);
        self.proc.answering = false;
        handled
    }

    fn signals_then_code(&mut self) -> SliceEnd {
        if self.answer_signals() == Handled::Fatal {
            return SliceEnd::Exited;
        }
        if self.has_tasks()
            && let Some(end) = self.do_tasks()
        {
            return end;
        }
        if self.proc.suspended > 0 {
            // What others asked of it meanwhile has left garbage.
            let full = self.proc.resumption.is_none() && self.proc.heap.needs_collection();
            // SAFETY: between two slices the X registers are saved, in a place that is a root.
            if full && !unsafe { self.collect(0, &mut []) } {
                return SliceEnd::Exited;
            }
            return SliceEnd::Waiting;
        }
        let end = self.vm.engine().run(self);
        if end == SliceEnd::Yielded && self.this.gives_way() {
            match self.answer_signals() {
                Handled::All => {}
                // Who asked still waits.
                Handled::Some => self.this.ask(),
                Handled::Fatal => return SliceEnd::Exited,
            }
        }
        self.proc.waiting = end == SliceEnd::Waiting;
        end
    }
}

impl Vm {
    /// Active schedulers that are not parked (a figure).
    fn awake(&self) -> usize {
        self.schedulers_active().saturating_sub(self.idle.len())
    }

    /// Puts the process where the way its slice ended says.
    pub(crate) fn after_slice(&'static self, ctx: &mut Ctx<'_>, end: SliceEnd) {
        let process = ctx.this;
        match end {
            // process/G3.
            SliceEnd::Waiting if ctx.proc.unhandled.is_some() => self.go_on(process),
            SliceEnd::Yielded => self.go_on(process),
            SliceEnd::Waiting => {
                let profiled = self.switches.any(switches::RUNNABLE_PROCESSES) && !ctx.proc.away;
                if profiled {
                    self.tracer().process_changes(ctx, Activity::Inactive);
                }
                if !process.try_wait() {
                    if profiled {
                        self.tracer().process_changes(ctx, Activity::Runnable);
                    }
                    self.enqueue(process);
                }
            }
            SliceEnd::Dirty(kind) if ctx.is_handed_over() => self.dirty.enqueue_collection(kind, process),
            SliceEnd::Dirty(kind) => {
                self.call_dirty(ctx, kind);
                if ctx.proc.unhandled.is_some() {
                    self.go_on(process);
                } else if !process.try_wait() {
                    self.enqueue(process);
                }
            }
            SliceEnd::Exited => {
                if self.switches.any(switches::RUNNABLE_PROCESSES) && !crate::exit::has_begun(ctx) {
                    self.tracer().process_changes(ctx, Activity::Ended);
                }
                if !crate::exit::finish(ctx) {
                    ctx.trace_exiting(am::out_exiting);
                    self.go_on(process);
                }
            }
        }
    }

    /// The process has more to do.
    fn go_on(&'static self, process: &Process) {
        process.stay_runnable();
        self.enqueue(process);
    }

    /// Puts a runnable process in this thread's queue (or in its home's, from another thread).
    fn enqueue(&'static self, process: &Process) {
        match current() {
            Some(id) if process.bound_to().is_none_or(|b| b == id) => self.schedulers[id].push(process),
            Some(id) => self.enqueue_at(self.place_of(process).unwrap_or(id), process),
            None => {
                let home = process.home.load(Ordering::Relaxed) as usize;
                self.enqueue_at(self.place_of(process).unwrap_or(home), process);
            }
        }
    }

    pub(crate) fn enqueue_at(&'static self, id: usize, process: &Process) {
        let target = &self.schedulers[id];
        target.push(process);
        myriad_sync::sim_point();
        let pushed = self.idle.after_push();
        if pushed.is_idle(&target.worker) {
            self.machine.unpark(id);
        } else if target.offers() {
            self.wake_one(pushed, id);
        }
    }

    /// The scheduler that a process is bound to, if that one is active: a process bound to another runs anywhere.
    fn place_of(&self, process: &Process) -> Option<usize> {
        process.bound_to().filter(|id| *id < self.schedulers_active())
    }

    /// Puts a process that a signal has just made runnable in a queue.
    ///
    /// In its home's, if that scheduler is awake: its heap is in that core's cache. If the home sleeps, in the waker's: two
    /// processes in a dialogue then share a core, and neither pays for waking one (Hedqvist 5.2.8 aims at the same).
    pub(crate) fn enqueue_woken(&'static self, process: &Process) {
        if let Some(id) = self.place_of(process) {
            self.enqueue_at(id, process);
            return;
        }
        let home = process.home.load(Ordering::Relaxed) as usize % self.schedulers_active();
        match current() {
            Some(id) => {
                // In either queue the process runs; `enqueue_at` looks again (Q2).
                let target = if self.schedulers[home].worker.is_away() { id } else { home };
                if target == id {
                    self.schedulers[id].push(process);
                    if self.schedulers[id].offers() {
                        self.wake_idle(id);
                    }
                } else {
                    self.enqueue_at(target, process);
                }
            }
            None => self.enqueue_at(home, process),
        }
    }

    /// Sends a signal that someone of this priority waits to be handled: no process of lower priority keeps the receiver from it.
    /// `false`: it has ended.
    pub fn signal_urgently(&'static self, to: myriad_term::Pid, signal: crate::Signal, priority: Priority) -> bool {
        let Some(process) = self.processes.get(to) else { return false };
        let higher = priority < process.queue_priority();
        if higher {
            process.make_urgent(priority);
        }
        if !self.send(process, signal) {
            return false;
        }
        process.ask();
        if higher && process.status() == myriad_process::Status::Runnable {
            // It may wait in a queue already. If it is on its way to one, it goes there as urgent.
            let _ = self.schedulers.iter().any(|shared| shared.promote(process));
        }
        true
    }

    /// Is there an active scheduler without work?
    pub fn has_idle_scheduler(&self) -> bool {
        !self.idle.is_empty()
    }

    /// Wakes one idle scheduler, if there is one, to steal from `id`, where work has been left (Q2).
    pub(crate) fn wake_idle(&'static self, id: usize) {
        self.wake_one(self.idle.after_push(), id);
    }

    #[inline]
    fn wake_one(&'static self, pushed: AfterPush<'_>, id: usize) {
        if pushed.wants_one() {
            self.claim_one(pushed, id);
        }
    }

    // Kept out of `enqueue_woken`, which each message of a dialogue goes through, and which then wakes nobody.
    #[inline(never)]
    fn claim_one(&'static self, pushed: AfterPush<'_>, id: usize) {
        let n = self.schedulers_active();
        let others = (1..=n).map(|i| (id + i) % n);
        if let Some(other) = pushed.claim(others.map(|other| (other, &self.schedulers[other].worker))) {
            self.machine.unpark(other);
        }
    }
}

/// Makes a process runnable for the first time.
pub fn start(vm: &'static Vm, process: &Process) {
    vm.wake(process);
}

/// Which priority names there are, for the BIFs.
pub const fn priority_atom(priority: Priority) -> myriad_term::Atom {
    use myriad_term::am;
    match priority {
        Priority::Max => am::max,
        Priority::High => am::high,
        Priority::Normal => am::normal,
        Priority::Low => am::low,
    }
}

/// Padding so that two schedulers' shared parts never share a line.
pub type PaddedShared = CachePadded<Shared>;
