//! A process that does what the seed draws.

use super::world::{Fake, World};
use crate::{Block, DirtyJob, DirtyKind, Local};
use myriad_process::{Priority, Process, Signals, TimerId};
use myriad_sync::atomic::AtomicBool;
use myriad_sync::interleave::draw;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Nobody runs it.
const NOBODY: usize = usize::MAX;

/// How a slice ended.
pub(super) enum SliceEnd {
    Yielded,
    Waiting,
    Exited,
    Dirty(DirtyKind, Job),
}

/// A task that stays `Running` until a dirty scheduler has worked for it.
pub(super) struct Job {
    pub(super) task: &'static Task,
    collects: bool,
}

impl DirtyJob<Fake> for Job {
    fn is_collection(&self) -> bool {
        self.collects
    }

    fn ends_with(&self, process: &Process<Fake>) -> bool {
        std::ptr::eq(&raw const self.task.process, process)
    }
}

/// What it does of its own.
#[derive(Default)]
struct Own {
    timer: Option<TimerId>,
    /// It blocks multi-scheduling: that holds once the flag says so; and whether it has seen it hold.
    block: Option<(Block, Arc<AtomicBool>, bool)>,
}

/// A process, its signals, and what has become of it. What is counted is std's, and no point where another thread goes on.
pub(super) struct Task {
    pub(super) process: Process<Fake>,
    /// Signals that it has taken.
    pub(super) seen: AtomicU64,
    /// How often it was made runnable, and how often it ran.
    pub(super) made_runnable: AtomicU64,
    pub(super) ran: AtomicU64,
    runs_on: AtomicUsize,
    own: Mutex<Own>,
}

impl Task {
    pub(super) fn new(process: Process<Fake>) -> Task {
        Task {
            process,
            seen: AtomicU64::new(0),
            made_runnable: AtomicU64::new(0),
            ran: AtomicU64::new(0),
            runs_on: AtomicUsize::new(NOBODY),
            own: Mutex::default(),
        }
    }

    /// Does a scheduler run it, a dirty one too?
    pub(super) fn runs(&self) -> bool {
        self.runs_on.load(Relaxed) != NOBODY
    }

    /// A scheduler (or dirty thread) runs it now, alone.
    pub(super) fn taken_by(&self, id: usize) {
        let before = self.runs_on.swap(id, Relaxed);
        assert_eq!(before, NOBODY, "{:?} runs on {before} and {id}", self.process.pid);
    }

    pub(super) fn begins(&self, world: &World, id: usize) {
        self.taken_by(id);
        self.ran.fetch_add(1, Relaxed);
        world.slice_begins(id);
    }

    pub(super) fn ends(&self) {
        assert_ne!(self.runs_on.swap(NOBODY, Relaxed), NOBODY, "it does not run");
    }

    /// It has taken these signals.
    pub(super) fn saw(&self, signals: Signals<Fake>) {
        self.seen.fetch_add(signals.count() as u64, Relaxed);
    }

    fn see_signals(&self) {
        self.saw(self.process.take_signals());
    }

    /// One slice of it.
    pub(super) fn slice(&'static self, world: &'static World, local: &Local) -> SliceEnd {
        self.see_signals();
        let mut own = self.own.lock().expect("a slice at a time");
        if own.block.is_some() {
            return self.slice_as_blocker(&mut own, world, local);
        }
        for _ in 0..draw(4) {
            if !world.has_budget() {
                return SliceEnd::Waiting;
            }
            self.act(&mut own, world, local);
        }
        let menu = &world.menu;
        match draw(10) {
            0..3 if world.has_budget() => SliceEnd::Yielded,
            3 if self.process.pid.data() % 4 == 3 => SliceEnd::Exited,
            4..6 if menu.dirty && world.has_budget() => {
                let kind = if draw(2) == 0 { DirtyKind::Cpu } else { DirtyKind::Io };
                SliceEnd::Dirty(kind, Job { task: self, collects: draw(2) == 0 })
            }
            6 if menu.blocks && world.has_budget() => {
                let block = if draw(2) == 0 { Block::All } else { Block::Normal };
                let reached = world.schedulers.block(&self.process, block, local);
                own.block = Some((block, reached, false));
                SliceEnd::Yielded
            }
            _ => SliceEnd::Waiting,
        }
    }

    fn act(&self, own: &mut Own, world: &'static World, local: &Local) {
        let menu = &world.menu;
        match draw(9) {
            0 => world.spawn(local.scheduler(world.schedulers.len()) as u32),
            5 if menu.moves => world.move_process(&self.process),
            1 | 2 if menu.timers => match own.timer.take() {
                Some(timer) if draw(2) == 0 => world.cancel_timer(timer),
                _ => {
                    let wheel = if draw(3) == 0 {
                        draw(world.schedulers.len() as u64) as usize
                    } else {
                        local.scheduler(world.schedulers.len())
                    };
                    own.timer = Some(world.set_timer(wheel, self.process.pid));
                }
            },
            3 | 4 if menu.urgency => {
                let priority = Priority::of_level([5, 15, 20, 25, 30, 31][draw(6) as usize]).expect("a level");
                match draw(3) {
                    0 => self.process.set_priority(priority),
                    1 => drop(self.process.bind(draw(world.schedulers.len() as u64 + 1) as u32)),
                    _ => {
                        let other = world.any_task();
                        other.process.make_urgent(priority);
                        world.schedulers.promote(&other.process);
                    }
                }
            }
            _ => world.signal(world.any_task()),
        }
    }

    /// Waits until the block holds, works on for a while, and takes it back; if it is one of all, not before the dirty jobs are done
    /// (by the one scheduler that runs).
    fn slice_as_blocker(&self, own: &mut Own, world: &'static World, local: &Local) -> SliceEnd {
        let Some((block, reached, holds)) = &mut own.block else { return SliceEnd::Waiting };
        if !*holds {
            if world.schedulers.are_blocked(local, *block, reached) {
                *holds = true;
                world.block_holds(*block);
            }
        } else if draw(3) == 0 && !(*block == Block::All && world.dirty_jobs_wait()) {
            world.block_ends(*block);
            world.schedulers.unblock(self.process.pid, *block);
            own.block = None;
        } else {
            world.signal(world.any_task());
        }
        SliceEnd::Yielded
    }
}
