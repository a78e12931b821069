//! A scheduler: the loop of `vm::Scheduler`, without what serves code, tracing and events.

use super::task::{SliceEnd, Task};
use super::world::{Fake, World};
use crate::{Dispatcher, Local, SLICE_REDUCTIONS};
use myriad_sync::atomic::Ordering;
use myriad_sync::interleave::draw;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Reductions for which timers are fired at a time.
const TIMERS_AT_ONCE: u32 = SLICE_REDUCTIONS as u32;

pub(super) struct Scheduler {
    world: &'static World,
    pub(super) local: Local,
    dispatcher: Dispatcher<Fake>,
    unchecked: u32,
    overdue: bool,
    dirty_turn: bool,
}

enum Step {
    Ran,
    Idle(Option<u64>),
    Stop,
}

impl Scheduler {
    pub(super) fn new(world: &'static World, id: usize) -> Scheduler {
        let local = world.local(id, false);
        let dispatcher = Dispatcher::new(&world.schedulers, id).expect("the only one");
        Scheduler { world, local, dispatcher, unchecked: 0, overdue: false, dirty_turn: false }
    }

    pub(super) fn run_thread(&mut self) {
        loop {
            if self.world.schedulers.safepoint_requested() {
                let _ = self.local.go_offline();
                self.world.at_safepoint.fetch_add(1, Relaxed);
                self.world.schedulers.block_at_safepoint();
                self.world.at_safepoint.fetch_sub(1, Relaxed);
                self.local.go_online();
            }
            match self.step() {
                Step::Ran => {}
                Step::Idle(next_timer_ns) => {
                    if !self.dispatcher.search(self.local.now_ns, next_timer_ns) {
                        self.park(next_timer_ns);
                    }
                }
                Step::Stop => return,
            }
        }
    }

    fn step(&mut self) -> Step {
        self.dispatcher.enter();
        self.local.quiescent();
        let schedulers = &self.world.schedulers;
        if schedulers.is_stopping() {
            return Step::Stop;
        }
        let active = schedulers.active();
        if self.local.id >= active {
            self.check_time();
            self.dispatcher.pass_on(active);
            return self.nothing_to_run();
        }
        if self.unchecked >= SLICE_REDUCTIONS as u32 {
            self.check_time();
            self.dispatcher.balance(self.local.now_ns);
        } else if self.overdue {
            self.check_time();
        }
        if self.local.id == 0 && schedulers.dirty.wants_the_one() && self.run_dirty_in_turn() {
            return Step::Ran;
        }
        if let Some(process) = self.dispatcher.pick() {
            return self.run(self.world.task_of(process));
        }
        if !self.overdue {
            self.check_time();
        }
        match self.dispatcher.pop() {
            Some(process) => self.run(self.world.task_of(process)),
            None => self.nothing_to_run(),
        }
    }

    fn nothing_to_run(&mut self) -> Step {
        if self.overdue {
            return Step::Ran;
        }
        self.dispatcher.found_nothing(self.local.now_ns);
        let (world, now_ns) = (self.world, self.local.now_ns);
        let look_in = self.dispatcher.keep_lookout(
            now_ns,
            |other| world.timers.is_due(other, now_ns),
            |other| {
                world.fire_timers(other, now_ns, TIMERS_AT_ONCE);
            },
        );
        if !self.dispatcher.own().is_empty() {
            return Step::Ran;
        }
        let next_timer = world.timers.next_in(self.local.id, now_ns);
        Step::Idle(next_timer.into_iter().chain(look_in).min())
    }

    fn check_time(&mut self) {
        self.unchecked = 0;
        self.local.now_ns = self.world.now_ns();
        self.overdue = !self.world.fire_timers(self.local.id, self.local.now_ns, TIMERS_AT_ONCE);
    }

    fn run_dirty_in_turn(&mut self) -> bool {
        let schedulers = &self.world.schedulers;
        self.dirty_turn = !self.dirty_turn;
        if !self.dirty_turn && !schedulers[0].is_empty() {
            return false;
        }
        let Some(job) = schedulers.dirty.take_for_the_one() else { return false };
        self.dispatcher.begin_work();
        self.world.run_dirty(&job, true);
        schedulers[0].load.set_running(false);
        self.unchecked = SLICE_REDUCTIONS as u32;
        true
    }

    fn park(&mut self, next_timer_ns: Option<u64>) {
        let parked = self.dispatcher.before_park(&self.local);
        if parked {
            let since = self.world.now_ns().saturating_sub(self.local.now_ns);
            let timeout = next_timer_ns.map(|ns| Duration::from_nanos(ns.saturating_sub(since)));
            self.world.schedulers.platform.park(self.local.id, timeout);
        }
        self.dispatcher.after_park(&self.local, parked);
    }

    fn run(&mut self, task: &'static Task) -> Step {
        self.dispatcher.begin_work();
        let priority = task.process.priority();
        // Relaxed: a hint, as in the VM.
        task.process.home.store(self.local.id as u32, Ordering::Relaxed);
        let (used, waits) = run_slice(self.world, task, &self.local);
        self.unchecked += used;
        let others_waited = self.unchecked >= SLICE_REDUCTIONS as u32;
        self.dispatcher.after_slice(u64::from(used), priority, waits, others_waited);
        Step::Ran
    }
}

/// Runs a slice of a task, on a scheduler or a private thread; its reductions, and whether the task waits then.
pub(super) fn run_slice(world: &'static World, task: &'static Task, local: &Local) -> (u32, bool) {
    let process = &task.process;
    // What it does at the start of a slice in the VM; half of them take their signals later.
    if draw(2) == 0 {
        task.saw(process.start_with_signals());
    } else {
        process.start_running();
    }
    process.take_urgency();
    task.begins(world, local.id);
    let priority = process.priority();
    let used = if world.sleeps { SLICE_REDUCTIONS as u32 } else { [100, 1000, 4000][draw(3) as usize] };
    let end = task.slice(world, local);
    // What follows may give it to another thread.
    task.ends();
    let waits = matches!(end, SliceEnd::Waiting);
    match end {
        SliceEnd::Yielded => world.goes_on(process),
        SliceEnd::Waiting => world.waits(process),
        SliceEnd::Exited => {
            world.take_private_thread_from(process);
            process.set_exiting();
            task.saw(process.close());
            process.set_free();
        }
        SliceEnd::Dirty(kind, job) => world.schedulers.enqueue_dirty(kind, priority, job),
    }
    (used, waits)
}
