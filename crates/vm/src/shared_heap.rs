//! Collecting the one heap of all processes (`+heap=shared`): a scheduler that finds it due stops the others between two slices, and does it.

use crate::vm::Vm;
use crate::{Process, ProcessTable};
use myriad_heap::phases::{Phase, measured};
use myriad_heap::shared::{self, InSignals, Stop, Unneeded, World};
use myriad_heap::{Heap, Roots};
use myriad_sched::microstate::{State, within};
use myriad_term::Pid;
use std::time::Duration;

/// How long to wait for slices that run.
const PATIENCE: Duration = Duration::from_secs(10);

/// All processes of a VM that stands.
struct Stopped<'a>(&'a ProcessTable);

/// One of them.
struct One<'a>(&'a Process);

// SAFETY: sched.safepoint/SF2: who stopped the world gives it to the threads that are stopped, one each.
unsafe impl Send for One<'_> {}

impl World for Stopped<'_> {
    type Process<'w>
        = One<'w>
    where
        Self: 'w;

    fn processes(&mut self, active: bool) -> Vec<One<'_>> {
        // SAFETY: sched.safepoint/SF2.
        self.0.all().filter(|process| !active || unsafe { is_active(process) }).map(One).collect()
    }

    fn process(&mut self, number: u64) -> Option<One<'_>> {
        self.0.get(Pid::from_data(number)).map(One)
    }

    fn processes_from(&mut self, place: usize, most: usize) -> (Vec<One<'_>>, Option<usize>) {
        let (processes, next) = self.0.from_place(place, most);
        (processes.into_iter().map(One).collect(), next)
    }
}

impl shared::Process for One<'_> {
    fn heap(&mut self) -> &mut Heap {
        // SAFETY: sched.safepoint/SF2; this is the only reference.
        unsafe { &mut self.0.owner_state().heap }
    }

    fn number(&self) -> u64 {
        self.0.pid.data()
    }

    fn is_pinned(&mut self) -> bool {
        // SAFETY: sched.safepoint/SF2.
        unsafe { is_pinned(self.0) }
    }

    fn with_roots(&mut self, visit: &mut dyn FnMut(&mut Heap, &mut Roots<'_>)) {
        // SAFETY: sched.safepoint/SF2; this is the only reference.
        unsafe { self.0.with_roots_stopped(visit) };
    }

    fn each_in_signals(processes: &mut [&mut Self], which: InSignals, visit: &mut dyn FnMut(*mut u64)) {
        let processes: Vec<&Process> = processes.iter().map(|one| one.0).collect();
        // SAFETY: sched.safepoint/SF2.
        unsafe { Process::each_in_signals(&processes, which, visit) };
    }
}

/// Has it run since the last collection, or has it signals?
///
/// # Safety
/// sched.safepoint/SF2.
unsafe fn is_active(process: &Process) -> bool {
    // SAFETY: the caller's promise.
    unsafe { process.seen().heap.is_touched() || has_signals(process) }
}

/// Has it signals that it has not handled? Those that it has taken count: who is not asked for the roots of a marking tells them without its signals.
///
/// # Safety
/// sched.safepoint/SF2.
pub(crate) unsafe fn has_signals(process: &Process) -> bool {
    // SAFETY: the caller's promise.
    unsafe { process.seen() }.unhandled.is_some() || !process.has_no_signals()
}

/// Is it inside a built-in whose terms nobody knows (heap.shared/SH3), or at its end?
///
/// # Safety
/// sched.safepoint/SF2.
unsafe fn is_pinned(process: &Process) -> bool {
    // SAFETY: the caller's promise.
    let state = unsafe { process.seen() };
    state.ending.is_some()
        || state.in_dirty_call
        || state.resumption.as_ref().is_some_and(|suspended| !suspended.collectable)
}

impl Vm {
    /// Stops the world and collects the one heap, if that is still due. Another thread may do so just now: then the caller has to stop.
    pub(crate) fn collect_shared(&'static self) {
        let gc = within(State::Gc);
        let asked = self.platform.now_ns();
        let Some(stopped) = self.schedulers.stop_world(PATIENCE) else { return };
        self.stops.asked.note(self.platform.now_ns() - asked);
        if !shared::is_due() {
            return;
        }
        let together = |work: &(dyn Fn() + Sync)| stopped.together(work);
        let now_ns = || self.platform.now_ns();
        // SAFETY: all schedulers and private threads stand (sched.safepoint/SF2).
        let help = unsafe {
            measured(Phase::Minor, || shared::collect(&mut Stopped(&self.processes), &Stop::new(&together, &now_ns)))
        };
        self.stops.whole.note(self.platform.now_ns() - asked);
        drop(stopped);
        shared::give_back(Unneeded::ForAWhile(self.platform.now_ns()));
        drop(gc);
        help.into_iter().for_each(|help| self.help(help));
    }
}
