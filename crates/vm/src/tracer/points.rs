//! The trace points of the VM: each tests a word inline and calls the tracer out of line (vm/TR1).

use super::switches::{COLLECTIONS, NEW_PROCESSES, RUNNABLE_PROCESSES, SCHEDULERS, SLICES};
use super::{Activity, Collection, flags};
use crate::Process;
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::vm::Vm;
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Mfa, Term, TermRef, am};

impl Ctx<'_> {
    /// Sends a trace message about this process if it is traced for one of these flags.
    #[inline]
    pub fn trace(&mut self, mask: u32, tag: Atom, parts: &[TermRef<'_>]) {
        if self.process.trace.wants(mask) {
            self.trace_event(mask, tag, parts);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_event(&mut self, mask: u32, tag: Atom, parts: &[TermRef<'_>]) {
        self.vm.tracer().event(self, mask, tag, parts);
    }

    /// This process sends `message` to `to`.
    #[inline]
    pub(crate) fn trace_send(&mut self, to: Term, message: Term) {
        if self.process.trace.wants(flags::SEND) {
            self.trace_sent(to, message);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_sent(&mut self, to: Term, message: Term) {
        self.vm.tracer().sends(self, to, message);
    }

    /// A message comes to this process from `from` ([`Term::NONE`]: the message alone says from whom).
    #[inline]
    pub(crate) fn trace_arrival(&mut self, from: Term, message: &Message) {
        if self.process.trace.wants(flags::RECEIVE) {
            self.trace_arrived(from, message);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_arrived(&mut self, from: Term, message: &Message) {
        let from = if from.is_none() && message.token().is_pid() { message.token() } else { from };
        self.vm.tracer().receives(self, from, message);
    }

    /// A message of this process, which has a sequential trace token, to `to`.
    #[cold]
    #[inline(never)]
    pub(crate) fn outgoing_with_token(&mut self, to: Term, message: Term, payload: Payload) -> Message {
        self.vm.tracer().sends_with_token(self, to, message, payload)
    }

    /// This process has made `child`, which no other thread knows yet, and which calls `call` with `args`.
    #[inline]
    pub(crate) fn trace_spawn(&mut self, child: &Process, call: Mfa, args: &[Term], linked: bool) {
        if self.process.trace.flags() != 0 || self.vm.switches.any(NEW_PROCESSES) {
            self.trace_spawned(child, call, args, linked);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_spawned(&mut self, child: &Process, call: Mfa, args: &[Term], linked: bool) {
        self.vm.tracer().spawns(self, child, call, args, linked);
    }

    /// This process ends.
    #[inline]
    pub(crate) fn trace_exit(&mut self) {
        let reason = self.state.exit_reason;
        self.trace(flags::PROCS, am::exit, &[reason]);
    }

    /// This process ends, and saves no calls any more.
    pub(crate) fn forget_saved_calls(&mut self) {
        if self.state.flags.save_calls > 0 {
            self.vm.tracer().saved_calls_end(self);
        }
    }

    /// A slice of its end begins or is over.
    pub(crate) fn trace_exiting(&mut self, tag: Atom) {
        self.trace(flags::EXITING, tag, &[Term::small(0)]);
    }

    /// Does anybody want to know when its slices begin and end?
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.process.trace.flags() != 0 || self.state.watched.stopwatch.is_some()
    }

    /// A slice begins of a process that is watched.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_slice_begins(&mut self) {
        self.vm.tracer().slice_begins(self);
    }

    /// It is over.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_slice_ends(&mut self, end: SliceEnd) {
        self.vm.tracer().slice_ends(self, end);
    }

    /// The time and the function at the begin of a slice, if long slices are reported.
    #[inline]
    pub(crate) fn slice_timer(&self) -> Option<(u64, Option<Mfa>)> {
        if self.vm.switches.any(SLICES) { Some(self.start_of_slice()) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn start_of_slice(&self) -> (u64, Option<Mfa>) {
        (self.vm.platform.now_ns(), self.current_function())
    }

    /// A slice with a timer is over.
    #[cold]
    #[inline(never)]
    pub(crate) fn slice_took(&mut self, (since_ns, from): (u64, Option<Mfa>)) {
        self.vm.tracer().slice_took(self, since_ns, from);
    }

    /// The process can no longer run, or can again after all; `system_profile` reports processes.
    #[cold]
    #[inline(never)]
    pub(crate) fn profile_change(&mut self, activity: Activity) {
        self.vm.tracer().process_changes(self, activity);
    }

    /// A collection begins, one of both generations if it is `major` or due; `None` if collections are neither traced nor measured.
    #[inline]
    pub(crate) fn collection_begins(&mut self, need: usize, major: bool) -> Option<Collection> {
        let watched = self.process.trace.wants(flags::GARBAGE_COLLECTION) || self.vm.switches.any(COLLECTIONS);
        if watched { Some(self.watch_collection(need, major)) } else { None }
    }

    #[cold]
    #[inline(never)]
    fn watch_collection(&mut self, need: usize, major: bool) -> Collection {
        let major = major || self.state.heap.fullsweep_due();
        let mut collection = Collection { major, words_before: self.state.heap.used_words(), since_ns: 0 };
        self.vm.tracer().collection_begins(self, &collection, need);
        collection.since_ns = self.vm.platform.now_ns();
        collection
    }

    /// It is over.
    #[inline]
    pub(crate) fn collection_ends(&mut self, watched: Option<Collection>) {
        if let Some(collection) = watched {
            self.watched_collection_ends(&collection);
        }
    }

    #[cold]
    #[inline(never)]
    fn watched_collection_ends(&mut self, collection: &Collection) {
        self.vm.tracer().collection_ends(self, collection);
    }
}

impl Vm {
    /// A signal has made a process runnable; it is in no queue yet.
    #[inline]
    pub(crate) fn profile_waking(&'static self, process: &Process) {
        // One that is away has not ceased to be runnable.
        if self.switches.any(RUNNABLE_PROCESSES) && !process.is_dirty() {
            self.tell_of_waking(process);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_of_waking(&'static self, process: &Process) {
        self.tracer().process_wakes(self, process);
    }

    /// A scheduler goes to sleep; `awake` gives how many are awake then.
    pub(crate) fn profile_sleep(&'static self, scheduler: usize, awake: impl FnOnce() -> usize) {
        if self.switches.any(SCHEDULERS) {
            self.tracer().scheduler_changes(self, scheduler, false, awake());
        }
    }

    /// A scheduler that slept is about to run this process. `false`: it wakes only to run the profiler, and still counts as asleep.
    pub(crate) fn profile_wake_up(
        &'static self,
        scheduler: usize,
        process: &Process,
        awake: impl FnOnce() -> usize,
    ) -> bool {
        if !self.switches.any(SCHEDULERS) {
            return true;
        }
        if self.tracer().is_profiler(process.pid) {
            return false;
        }
        self.tracer().scheduler_changes(self, scheduler, true, awake());
        true
    }
}
