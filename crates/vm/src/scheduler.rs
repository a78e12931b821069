//! The scheduler: the step function, which runs one slice of one process, and the thread that calls it.
//!
//! `step` runs one slice and says what it did; a thread that calls it and parks is a real scheduler, and a loop over several
//! schedulers' `step` from a seed is the test driver (docs/design.md, section 7). What it runs next is the decision of crate `sched`
//! ([`Dispatcher`]).
//!
//! A process from which another waits for an answer looks for signals each few hundred reductions, answers, and takes its place in the
//! queue behind the process that asked ([`Process::is_asked`]). Giving way so early wakes no scheduler, since two processes in a
//! dialogue run best on one core.

use crate::ctx::Ctx;
use crate::deliver::Handled;
use crate::engine::SliceEnd;
use crate::rest::Rest;
use crate::tracer::{Activity, switches};
use crate::vm::Vm;
use crate::{Process, Signals};
use myriad_heap::meter::{self, Work};
use myriad_heap::shared;
use myriad_process::{Frames, Priority};
use myriad_sched::microstate::{self, State};
use myriad_sched::{DirtyKind, Dispatcher, Job, Local, Look, Pace, SLICE_OVERHEAD, SLICE_REDUCTIONS, Search, jobs};
use myriad_sync::atomic::Ordering;
use myriad_sync::thread::{self, CAN_SPAWN};
use myriad_term::{am, binary};
use std::time::Duration;

/// Reductions of a slice that handling signals may take before the process runs its own code: a flood of them does not keep it from its work.
const SIGNALS_SHARE: i32 = SLICE_REDUCTIONS / 2;
/// Reductions for which timers are fired at a time; processes run in between.
const TIMERS_AT_ONCE: u32 = SLICE_REDUCTIONS as u32;
/// A busy scheduler sees to the events of its file descriptors so often (nanoseconds, and up to a slice more); in the sequential VM as often as OTP's does, after
/// some thousand reductions.
pub(crate) const BUSY_NS: u64 = if CAN_SPAWN { 100_000 } else { 1_000_000 };
/// So often it looks at them itself; if it is busy still, others are to meet them until it has waited. In the sequential VM there are no others.
pub(crate) const OWN_LOOKS: u32 = 20;
/// In the place of the time to have them met: it has waited for them since.
const HAS_WAITED: u64 = u64::MAX;
/// How long a busy scheduler keeps references to widely shared binaries (nanoseconds, and up to a slice more).
const KEEP_REFERENCES_NS: u64 = 1_000_000;

/// What a step did.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Ran a process, or did work of its own, for this number of reductions.
    Ran(u32),
    /// Found nothing to run; the next timer is due in this number of nanoseconds.
    Idle(Option<u64>),
    /// The VM stops.
    Stop,
}

/// A normal scheduler: what its thread, or a test driver, steps.
pub struct Scheduler {
    pub(crate) vm: &'static Vm,
    /// Its own state, as running code sees it.
    pub local: Local,
    /// What it runs next.
    pub(crate) dispatcher: Dispatcher<Vm>,
    /// Reductions since time was looked at.
    unchecked: u32,
    /// When events are to be met next while it is busy, or [`HAS_WAITED`].
    meet_events_ns: u64,
    /// How often it has looked at them itself since it last waited.
    own_looks: u32,
    /// When the references that it keeps go back next ([`binary::renew_references`]).
    next_renewal_ns: u64,
    /// More timers were due then than are fired at a time.
    overdue: bool,
    /// What it sees to when it rests.
    pub(crate) rest: Rest,
    /// The last park met events of file descriptors.
    served: bool,
    /// It has slept, and since then run no process but the one that is told when schedulers wake.
    asleep: bool,
    /// While multi-scheduling is blocked, and in the sequential VM: the last step did work of the dirty schedulers.
    dirty_turn: bool,
    /// The slice that has paused (`sched::pace`).
    paused: Option<Slice>,
}

/// A slice of a process, from its beginning to its end.
struct Slice {
    process: &'static Process,
    /// The priority of who waited for the process to run.
    urgency: Option<Priority>,
    /// Reductions of the pieces before.
    used: u32,
}

impl Scheduler {
    /// Scheduler `id`; `None` if there are more threads than thread progress has room for, or it is there already.
    pub fn new(vm: &'static Vm, id: usize) -> Option<Scheduler> {
        let mut local = vm.scheduler_local(id, false)?;
        if let Some(seed) = vm.config.yields {
            local.pace = Pace::drawn(seed, id);
        }
        vm.draw_migrations(&mut local);
        Some(Scheduler {
            vm,
            local,
            dispatcher: Dispatcher::new(&vm.schedulers, id)?,
            unchecked: 0,
            meet_events_ns: 0,
            own_looks: 0,
            next_renewal_ns: 0,
            overdue: false,
            rest: Rest::default(),
            served: false,
            asleep: false,
            dirty_turn: false,
            paused: None,
        })
    }

    /// Runs one slice of one process, or finds nothing to do.
    pub fn step(&mut self) -> Step {
        self.dispatcher.enter();
        // On with a slice that has paused: what is done between two slices is not done there.
        if let Some(slice) = self.paused.take() {
            return Step::Ran(self.run_on(slice, Signals::empty()));
        }
        self.local.quiescent();
        let schedulers = &self.vm.schedulers;
        if schedulers.is_stopping() {
            binary::keep_no_references();
            return Step::Stop;
        }
        let active = schedulers.active();
        if self.local.id >= active {
            return self.step_inactive(active);
        }
        if self.unchecked >= SLICE_REDUCTIONS as u32 {
            self.check_time();
            self.watch_capacity();
            self.look_for_clean_up();
            self.look_for_bundles();
            self.dispatcher.balance(self.local.now_ns);
        } else if self.overdue {
            self.check_time();
        }
        if self.local.id == 0 && schedulers.dirty.wants_the_one() && self.run_dirty_in_turn() {
            return Step::Ran(SLICE_REDUCTIONS as u32);
        }
        if let Some(job) = self.dispatcher.pick_job() {
            return Step::Ran(self.run_job(job));
        }
        match self.dispatcher.pick() {
            Some(process) => Step::Ran(self.run(process)),
            None => {
                if !self.overdue {
                    self.check_time();
                }
                match self.dispatcher.pop() {
                    Some(process) => Step::Ran(self.run(process)),
                    None => self.nothing_to_run(),
                }
            }
        }
    }

    /// Does what is no process's.
    #[cold]
    fn run_job(&mut self, job: Job) -> u32 {
        self.dispatcher.begin_work();
        let used = job.run();
        self.unchecked += used + SLICE_OVERHEAD;
        self.rest.has_run(u64::from(used));
        let others_waited = self.unchecked >= SLICE_REDUCTIONS as u32;
        self.dispatcher.after_slice(u64::from(used), jobs::PRIORITY, true, others_waited);
        used
    }

    /// No process has come of what was due.
    fn nothing_to_run(&mut self) -> Step {
        if self.overdue {
            return Step::Ran(TIMERS_AT_ONCE);
        }
        self.renew_references();
        self.look_for_bundles();
        self.dispatcher.found_nothing(self.local.now_ns);
        let (vm, now_ns) = (self.vm, self.local.now_ns);
        let look_in = self.dispatcher.keep_lookout(
            now_ns,
            |other| vm.timers.is_due(other, now_ns) || vm.platform.may_miss_events(other),
            |other| {
                vm.fire_timers(other, now_ns, TIMERS_AT_ONCE);
                vm.platform.meet_events(other);
            },
        );
        if !self.dispatcher.own().is_empty() {
            // What it has taken over, or what still came to one that is not active.
            return Step::Ran(0);
        }
        let next_timer = vm.timers.next_in(self.local.id, now_ns);
        Step::Idle(next_timer.into_iter().chain(look_in).min())
    }

    /// This scheduler runs alone: does a job of the dirty schedulers every other time.
    #[cold]
    fn run_dirty_in_turn(&mut self) -> bool {
        let schedulers = &self.vm.schedulers;
        self.dirty_turn = !self.dirty_turn;
        if !self.dirty_turn && !schedulers[0].is_empty() {
            return false;
        }
        let Some(job) = schedulers.dirty.take_for_the_one() else { return false };
        self.dispatcher.begin_work();
        let emulator = microstate::within(State::Emulator);
        self.local.dirty = true;
        self.vm.run_dirty(job, &mut self.local);
        self.local.dirty = false;
        drop(emulator);
        schedulers[0].load.set_running(false);
        self.unchecked = SLICE_REDUCTIONS as u32;
        true
    }

    /// Only fires timers, and passes on what still comes here, to those that were `active` when the step began.
    fn step_inactive(&mut self, active: usize) -> Step {
        self.check_time();
        self.dispatcher.pass_on(active);
        self.nothing_to_run()
    }

    fn check_time(&mut self) {
        self.unchecked = 0;
        self.local.now_ns = self.vm.platform.now_ns();
        self.overdue = !self.vm.fire_timers(self.local.id, self.local.now_ns, TIMERS_AT_ONCE);
        if self.meet_events_ns == HAS_WAITED {
            self.meet_events_ns = self.local.now_ns + BUSY_NS;
            self.own_looks = 0;
        } else if self.local.now_ns >= self.meet_events_ns {
            self.meet_events_ns = self.local.now_ns + BUSY_NS;
            self.see_to_events();
        }
        if self.local.now_ns >= self.next_renewal_ns {
            self.renew_references();
        }
    }

    /// It is busy, and events may have come. A burst of requests is over soon: for what comes until then, another thread would have to be woken.
    fn see_to_events(&mut self) {
        if !CAN_SPAWN || self.own_looks < OWN_LOOKS {
            self.own_looks = self.own_looks.saturating_add(1);
            self.vm.platform.look_at_events(self.local.id);
        } else {
            self.vm.platform.meet_events(self.local.id);
        }
    }

    /// Only after a slice of work: who wakes in an idle VM has better things to do.
    fn watch_capacity(&self) {
        if let Some(capacity) = self.vm.platform.look_at_capacity(self.local.now_ns) {
            self.vm.schedulers.set_capacity(capacity.rounded_up());
        }
    }

    pub(crate) fn look_for_clean_up(&self) {
        self.vm.clean_up.look_if_time(self.local.now_ns, |id| self.vm.platform.unpark(id));
    }

    /// Where memory of bundles could come home, somebody is told.
    fn look_for_bundles(&self) {
        let (vm, now_ns) = (self.vm, self.local.now_ns);
        if vm.holders.is_due(now_ns) {
            vm.ask_idle_holders(now_ns);
        }
        if vm.literals.is_due(now_ns) {
            vm.look_for_left_literals(now_ns);
        }
    }

    /// Others may see what it keeps: now, and after so long at the latest.
    fn renew_references(&mut self) {
        self.next_renewal_ns = self.local.now_ns + KEEP_REFERENCES_NS;
        binary::renew_references();
    }

    /// The thread of this scheduler: steps until the VM stops.
    pub fn run_thread(&mut self) {
        self.vm.account_thread(self.local.id, State::Other);
        loop {
            if self.vm.schedulers.safepoint_requested() {
                self.block_at_safepoint();
            }
            if shared::is_due() {
                self.vm.collect_shared();
            }
            match self.step() {
                Step::Ran(_) => {}
                Step::Idle(next_timer_ns) => {
                    // In a dialogue with the world outside, waiting for that is better than looking at the queues.
                    if self.served || !self.dispatcher.search(self.local.now_ns, next_timer_ns) {
                        self.park(next_timer_ns);
                    }
                }
                Step::Stop => return,
            }
        }
    }

    /// Slices run in pieces from now on, of so many reductions: for who steps several schedulers in the order of virtual time.
    pub fn run_in_pieces(&mut self, reductions: u16) {
        self.local.pace = Pace::in_pieces(reductions);
    }

    /// Has the slice that it runs paused? Then the next step goes on with it.
    pub fn is_in_slice(&self) -> bool {
        self.paused.is_some()
    }

    /// The process whose slice has paused: its number, the words of its heap that are in use, and those of its blocks. For who
    /// simulates caches.
    pub fn heap_in_slice(&self) -> Option<(u64, usize, usize)> {
        let process = self.paused.as_ref()?.process;
        // SAFETY: process/P2: it is Running since its slice began, which this scheduler holds.
        let heap = &unsafe { process.owner_state() }.heap;
        Some((process.pid.data(), heap.used_words(), heap.total_size_words()))
    }

    /// The process whose slice has paused.
    pub fn running(&self) -> Option<&'static Process> {
        self.paused.as_ref().map(|slice| slice.process)
    }

    /// Who steps it itself, and has found it idle, has it search for work ([`Dispatcher::begin_search`]); `None`: it parks at once.
    pub fn begin_search(&self, next_timer_ns: Option<u64>) -> Option<Search<Vm>> {
        if self.served {
            return None;
        }
        self.dispatcher.begin_search(self.local.now_ns, next_timer_ns)
    }

    /// One look of that search ([`Dispatcher::look`]).
    pub fn look(&mut self, search: Search<Vm>) -> Look<Vm> {
        self.dispatcher.enter();
        self.dispatcher.look(search)
    }

    /// Who steps it itself, and has found it idle, asks before it parks: `false` if there is work after all. [`Scheduler::after_park`] must
    /// follow either way.
    pub fn before_park(&mut self) -> bool {
        self.dispatcher.before_park(&self.local)
    }

    /// After [`Scheduler::before_park`]; `parked`: it did park.
    pub fn after_park(&mut self, parked: bool) {
        self.dispatcher.after_park(&self.local, parked);
    }

    /// Who steps it itself, and has ended its wait, has it serve what that has met.
    pub fn serve(&mut self) {
        self.dispatcher.enter();
        self.served = self.vm.platform.serve();
        self.meet_events_ns = HAS_WAITED;
    }

    /// Waits until no stop of the world is requested, or the VM stops for good.
    #[cold]
    fn block_at_safepoint(&mut self) {
        self.renew_references();
        // Retired work that is left waits, as all else does.
        let _ = self.local.go_offline();
        let sleep = microstate::within(State::Sleep);
        self.vm.schedulers.block_at_safepoint();
        drop(sleep);
        self.local.go_online();
    }

    fn park(&mut self, next_timer_ns: Option<u64>) {
        if !self.asleep {
            self.asleep = true;
            let (id, schedulers) = (self.local.id, &self.vm.schedulers);
            self.vm.profile_sleep(id, || {
                let itself = usize::from(id < schedulers.active());
                schedulers.awake().saturating_sub(itself)
            });
        }
        let parked = self.dispatcher.before_park(&self.local);
        if parked {
            // Looking for work has taken time.
            let since = self.vm.platform.now_ns().saturating_sub(self.local.now_ns);
            let timeout = next_timer_ns.map(|ns| Duration::from_nanos(ns.saturating_sub(since)));
            if shared::is_on() {
                let vm = self.vm;
                vm.schedulers.stand_at_safepoint(|| self.park_and_look(timeout));
            } else {
                self.park_and_look(timeout);
            }
        }
        self.dispatcher.after_park(&self.local, parked);
        self.serve();
    }

    /// It slept, and is about to run this process.
    fn awaken(&mut self, process: &Process) {
        self.asleep = !self.vm.profile_wake_up(self.local.id, process, || self.vm.schedulers.awake());
    }

    fn run(&mut self, process: &'static Process) -> u32 {
        self.dispatcher.begin_work();
        if self.asleep {
            self.awaken(process);
        }
        // SAFETY: process/P1: it was in a run queue, which this thread took it out of; nobody changes it before this thread makes it Running.
        let signals = unsafe { take_up(process) };
        let urgency = process.take_urgency();
        // Relaxed: a hint for the thread that wakes it next.
        process.home.store(self.local.id as u32, Ordering::Relaxed);
        // SAFETY: process/P2, this thread has just made it Running.
        let state = unsafe { process.owner_state() };
        state.reductions.begin_slice(self.local.pace.begin_slice());
        state.begin_to_run(process.pid);
        self.run_on(Slice { process, urgency, used: 0 }, signals)
    }

    /// Runs a slice on, to its end or to a pause; the reductions of that. `signals` came before it began.
    #[inline(always)]
    fn run_on(&mut self, slice: Slice, signals: Signals) -> u32 {
        let Slice { process, urgency, used: before } = slice;
        // SAFETY: process/P2: it is Running since the slice began, which is in no other hands.
        let state = unsafe { process.owner_state() };
        let priority = process.priority();
        microstate::enter(State::Emulator);
        let mut ctx = Ctx { state, process, sched: &mut self.local, vm: self.vm };
        let end = if before > 0 { ctx.run_some_more() } else { ctx.run_some_slice(signals) };
        if end == SliceEnd::Yielded && ctx.sched.pace.take_pause() {
            let used = ctx.state.reductions.used_of(ctx.sched.pace.slice());
            debug_assert!(used > before, "a piece without an end");
            if !self.dispatcher.is_slice_over(used) {
                self.paused = Some(Slice { process, urgency, used });
                return used - before;
            }
        }
        ctx.stay_urgent(urgency);
        let used = ctx.state.reductions.end_slice(ctx.sched.pace.slice());
        let forgone = ctx.state.reductions.forgone().unsigned_abs();
        self.vm.after_slice(&mut ctx, end);
        self.end_slice(used, forgone, priority, end);
        used - before
    }

    /// A slice is over that has used so many reductions, and given so many up: who gives up a slice wants others to be run.
    #[inline(always)]
    fn end_slice(&mut self, used: u32, forgone: u32, priority: Priority, end: SliceEnd) {
        microstate::enter(State::Other);
        meter::count(Work::Slice, 1);
        self.unchecked += used + forgone + SLICE_OVERHEAD;
        self.rest.has_run(u64::from(used));
        // Work has waited here for a whole slice, or for many short ones.
        let others_waited = end == SliceEnd::Yielded && self.unchecked >= SLICE_REDUCTIONS as u32;
        self.dispatcher.after_slice(u64::from(used), priority, end == SliceEnd::Waiting, others_waited);
    }
}

/// Makes a process that is runnable `Running`, for the calling thread; gives the signals that have come, if its slice begins with them.
///
/// # Safety
/// process/P1: the caller has taken it out of a queue.
#[inline(always)]
pub(crate) unsafe fn take_up(process: &Process) -> Signals {
    // SAFETY: nobody changes it before this thread makes it Running: the caller's promise.
    if unsafe { process.seen() }.takes_signals() {
        process.start_with_signals()
    } else {
        process.start_running();
        Signals::empty()
    }
}

impl Ctx<'_> {
    /// Runs a slice of what the process has to do: its code, the wait for a dirty scheduler, or its end. `signals` came before it began.
    #[inline(always)]
    pub(crate) fn run_some_slice(&mut self, signals: Signals) -> SliceEnd {
        match &self.state.ending {
            Some(_) => self.run_ending(),
            None if self.state.in_dirty_call => self.run_in_dirty_call(),
            None => self.run_slice(signals),
        }
    }

    /// Goes on with a slice that has paused.
    fn run_some_more(&mut self) -> SliceEnd {
        match &self.state.ending {
            Some(_) => self.run_ending(),
            None if self.state.in_dirty_call => self.run_in_dirty_call(),
            None => self.run_code(),
        }
    }

    /// After a slice that began with this urgency: the process may not have come to what is waited for.
    #[inline(always)]
    pub(crate) fn stay_urgent(&self, urgency: Option<Priority>) {
        if let Some(priority) = urgency
            && self.state.unhandled.is_some()
        {
            self.process.make_urgent(priority);
        }
    }

    #[inline(always)]
    pub(crate) fn run_slice(&mut self, signals: Signals) -> SliceEnd {
        if self.is_watched() || self.vm.switches.any(switches::SLICES) {
            return self.run_watched_slice(signals);
        }
        let end = self.signals_then_code(signals);
        // Perhaps it has been since then.
        if self.is_watched() {
            self.trace_slice_ends(end);
        }
        end
    }

    /// A slice of which somebody wants to know.
    #[cold]
    #[inline(never)]
    fn run_watched_slice(&mut self, signals: Signals) -> SliceEnd {
        if self.is_watched() {
            self.trace_slice_begins();
        }
        let timer = self.slice_timer();
        let end = self.signals_then_code(signals);
        if let Some(timer) = timer {
            self.slice_took(timer);
        }
        if self.is_watched() {
            self.trace_slice_ends(end);
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

    /// Does a process wait for this scheduler that goes before the one that runs (Hedqvist 1998, 5.2.6)?
    pub fn gives_way_to_others(&self) -> bool {
        let levels = self.process.priority().gives_way_to();
        self.vm.schedulers.get(self.sched.id).is_some_and(|queue| queue.has_any_of(levels))
    }

    /// Between two slices: handles signals, as far as their share of a slice goes.
    #[inline]
    pub(crate) fn answer_signals(&mut self) -> Handled {
        if !self.has_signals() {
            return Handled::All;
        }
        self.state.answering = true;
        let handled = self.fetch_signals(SIGNALS_SHARE);
        self.state.answering = false;
        handled
    }

    /// As [`Ctx::answer_signals`], of those that were taken when the slice began.
    #[inline]
    fn answer_taken(&mut self, signals: Signals) -> Handled {
        self.state.answering = true;
        let handled = self.handle_taken(signals, SIGNALS_SHARE);
        self.state.answering = false;
        handled
    }

    #[inline(always)]
    fn signals_then_code(&mut self, signals: Signals) -> SliceEnd {
        let handled = if signals.is_empty() { self.answer_signals() } else { self.answer_taken(signals) };
        if handled == Handled::Fatal {
            return SliceEnd::Exited;
        }
        if self.has_tasks()
            && let Some(end) = self.do_tasks()
        {
            return end;
        }
        if self.state.suspensions.by_others() {
            return self.stay_suspended();
        }
        self.run_code()
    }

    /// Runs the process's code, to the end of the slice or to a pause.
    #[inline(always)]
    fn run_code(&mut self) -> SliceEnd {
        let end = self.vm.engine().run(self);
        if end == SliceEnd::Yielded && self.process.gives_way() && self.answer_who_asked() == Handled::Fatal {
            return SliceEnd::Exited;
        }
        if self.state.frames.has(Frames::LOOPS) {
            return self.end_slice_of_loops(end);
        }
        self.state.waiting = end == SliceEnd::Waiting;
        end
    }

    /// The process has loops of which parts may be wanted, or which are wanted no more.
    #[inline(never)]
    fn end_slice_of_loops(&mut self, end: SliceEnd) -> SliceEnd {
        let engine = self.vm.engine();
        let end = match end {
            // It meets that at once, wherever it waits.
            SliceEnd::Waiting if self.is_to_stop() && engine.is_to_stop(self) => SliceEnd::Yielded,
            SliceEnd::Yielded if self.is_work_wanted() && !self.is_to_stop() => {
                engine.hand_over(self);
                end
            }
            _ => end,
        };
        self.state.waiting = end == SliceEnd::Waiting;
        end
    }

    /// A slice of a process that is suspended.
    #[cold]
    #[inline(never)]
    fn stay_suspended(&mut self) -> SliceEnd {
        // What others asked of it meanwhile has left garbage.
        let full = self.state.resumption.is_none() && self.state.heap.needs_collection();
        // SAFETY: between two slices the X registers are saved, in a place that is a root.
        if full && !unsafe { self.collect(0, &mut []) } {
            return SliceEnd::Exited;
        }
        SliceEnd::Waiting
    }

    /// It has given way to who waits for its answer.
    #[cold]
    #[inline(never)]
    fn answer_who_asked(&mut self) -> Handled {
        let handled = self.answer_signals();
        if handled == Handled::Some {
            // Who asked still waits.
            self.process.ask();
        }
        handled
    }
}

/// So many messages left at the end of a slice, and the process is behind its senders.
const MANY_MESSAGES: usize = 1_000;

impl Vm {
    /// Runs the VM until it stops: on a thread for each scheduler, or (sequential VM) on this one. Returns the exit status.
    pub fn run(&'static self) -> i32 {
        if CAN_SPAWN {
            self.run_threads();
        } else {
            self.run_scheduler(0);
        }
        self.exit_status()
    }

    /// The thread of scheduler `id`.
    fn run_scheduler(&'static self, id: usize) {
        if CAN_SPAWN {
            // The only thread of the sequential VM is the process's own, whose mask is everyone's.
            self.binding.enter(id);
        }
        if let Some(mut scheduler) = Scheduler::new(self, id) {
            scheduler.run_thread();
        }
    }

    /// Starts all scheduler threads, and waits until the VM stops.
    fn run_threads(&'static self) {
        let mut threads = Vec::new();
        for id in 0..self.config.schedulers {
            match thread::spawn(&format!("{}_scheduler", id + 1), move || self.run_scheduler(id)) {
                Ok(thread) => threads.push(thread),
                Err(error) => panic!("cannot start scheduler {}: {error}", id + 1),
            }
        }
        let kinds = std::iter::repeat_n(DirtyKind::Cpu, self.config.dirty_cpu)
            .chain(std::iter::repeat_n(DirtyKind::Io, self.config.dirty_io));
        for (i, kind) in kinds.enumerate() {
            if let Err(error) = thread::spawn(&format!("dirty_{}", i + 1), move || self.run_dirty_thread(kind, i)) {
                panic!("cannot start a dirty scheduler: {error}");
            }
        }
        for t in threads {
            if let Err(panic) = t.join() {
                std::panic::resume_unwind(panic);
            }
        }
        self.schedulers.join_private_threads();
    }

    /// Puts the process where the way its slice ended says.
    #[inline]
    pub(crate) fn after_slice(&'static self, ctx: &mut Ctx<'_>, end: SliceEnd) {
        let plain = ctx.state.unhandled.is_none()
            && !self.switches.any(switches::RUNNABLE_PROCESSES | switches::MIGRATION)
            && !ctx.process.is_behind()
            && !ctx.state.heap.is_to_be_noted();
        if end != SliceEnd::Waiting || !plain {
            self.after_any_slice(ctx, end);
        } else if !ctx.process.try_wait() {
            self.schedulers.enqueue(ctx.process);
        }
    }

    /// As [`Vm::after_slice`], which has the case of most slices inline.
    #[inline(never)]
    fn after_any_slice(&'static self, ctx: &mut Ctx<'_>, end: SliceEnd) {
        let process = ctx.process;
        let many = end != SliceEnd::Waiting && ctx.state.messages.len() >= MANY_MESSAGES;
        process.set_behind(many || ctx.state.unhandled.is_some());
        if self.switches.any(switches::MIGRATION) && end != SliceEnd::Exited {
            ctx.migrate();
        }
        match end {
            // process/G3.
            SliceEnd::Waiting if ctx.state.unhandled.is_some() => self.go_on(process),
            SliceEnd::Yielded => self.go_on(process),
            SliceEnd::Waiting => {
                if ctx.state.heap.is_to_be_noted() {
                    ctx.note_holder();
                    ctx.note_sleeper();
                }
                let profiled = self.switches.any(switches::RUNNABLE_PROCESSES) && !ctx.state.in_dirty_call;
                if profiled {
                    ctx.profile_change(Activity::Inactive);
                }
                if !process.try_wait() {
                    if profiled {
                        ctx.profile_change(Activity::Runnable);
                    }
                    self.schedulers.enqueue(process);
                }
            }
            SliceEnd::Dirty(kind) if ctx.is_handed_over() => self.collect_dirty(kind, process),
            SliceEnd::Dirty(kind) => {
                self.call_dirty(ctx, kind);
                if ctx.state.unhandled.is_some() {
                    self.go_on(process);
                } else if !process.try_wait() {
                    self.schedulers.enqueue(process);
                }
            }
            SliceEnd::Exited => {
                if self.switches.any(switches::RUNNABLE_PROCESSES) && !crate::exit::has_begun(ctx) {
                    ctx.profile_change(Activity::Ended);
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
        self.schedulers.enqueue(process);
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
            // It may wait in a queue already.
            self.schedulers.promote(process);
        }
        true
    }
}
