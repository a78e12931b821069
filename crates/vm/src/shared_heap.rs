//! Collecting the one heap of all processes (`+heap=shared`): a scheduler that finds it due stops the others between two slices, and does it.

use crate::vm::Vm;
use crate::{Process, ProcessTable};
use myriad_heap::phases::{Phase, measured};
use myriad_heap::shared::{self, World};
use myriad_heap::{Heap, Roots};
use myriad_sched::microstate::{State, within};
use std::time::Duration;

/// How long to wait for slices that run.
const PATIENCE: Duration = Duration::from_secs(10);

/// All processes of a VM that stands.
struct Stopped<'a>(&'a ProcessTable);

impl World for Stopped<'_> {
    fn each(&mut self, active: bool, visit: &mut dyn FnMut(&mut Heap, &mut Roots<'_>, bool)) {
        self.0.each(|process| {
            // SAFETY: sched.safepoint/SF2; this is the only reference.
            unsafe {
                if active && !process.seen().heap.is_touched() && process.has_no_signals() {
                    return;
                }
                let is_pinned = is_pinned(process);
                process.with_roots_stopped(|heap, roots| visit(heap, roots, is_pinned));
            }
        });
    }
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
        // SAFETY: all schedulers and private threads stand (sched.safepoint/SF2).
        let help = unsafe { measured(Phase::Minor, || shared::collect(&mut Stopped(&self.processes))) };
        drop(stopped);
        self.stops.whole.note(self.platform.now_ns() - asked);
        drop(gc);
        help.into_iter().for_each(|help| self.help(help));
    }
}
