//! The trace points of the VM: each tests a word inline and calls the tracer out of line (vm/TR1).

use super::switches::{COLLECTIONS, NEW_PROCESSES, RUNNABLE_PROCESSES, SCHEDULERS};
use super::{Collection, flags};
use crate::Process;
use crate::ctx::Ctx;
use crate::vm::Vm;
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Mfa, Term, am};

impl Ctx<'_> {
    /// Sends a trace message about this process if it is traced for one of these flags.
    #[inline]
    pub fn trace(&mut self, mask: u32, tag: Atom, parts: &[Term]) {
        if self.process.trace.wants(mask) {
            self.trace_event(mask, tag, parts);
        }
    }

    #[cold]
    fn trace_event(&mut self, mask: u32, tag: Atom, parts: &[Term]) {
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
    fn trace_arrived(&mut self, from: Term, message: &Message) {
        let from = if from.is_none() && message.token().is_pid() { message.token() } else { from };
        self.vm.tracer().receives(self, from, message);
    }

    /// A message of this process, which has a sequential trace token, to `to`.
    #[cold]
    pub(crate) fn outgoing_with_token(&mut self, to: Term, message: Term, payload: Payload) -> Message {
        self.vm.tracer().sends_with_token(self, to, message, payload)
    }

    /// This process has made `child`, which nobody knows yet, and which calls `call` with `args`.
    #[inline]
    pub(crate) fn trace_spawn(&mut self, child: &Process, call: Mfa, args: &[Term], linked: bool) {
        if self.process.trace.flags() != 0 || self.vm.switches.any(NEW_PROCESSES) {
            self.trace_spawned(child, call, args, linked);
        }
    }

    #[cold]
    fn trace_spawned(&mut self, child: &Process, call: Mfa, args: &[Term], linked: bool) {
        self.vm.tracer().spawns(self, child, call, args, linked);
    }

    /// This process ends.
    #[inline]
    pub(crate) fn trace_exit(&mut self) {
        let reason = self.state.exit_reason;
        self.trace(flags::PROCS, am::exit, &[reason]);
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

    /// A collection begins, one of both generations if it is `major` or due; nothing if nobody wants to know.
    #[inline]
    pub(crate) fn collection_begins(&mut self, need: usize, major: bool) -> Option<Collection> {
        let watched = self.process.trace.wants(flags::GARBAGE_COLLECTION) || self.vm.switches.any(COLLECTIONS);
        if watched { Some(self.watch_collection(need, major)) } else { None }
    }

    #[cold]
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
            self.vm.tracer().collection_ends(self, &collection);
        }
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
    fn tell_of_waking(&'static self, process: &Process) {
        self.tracer().process_wakes(self, process);
    }

    /// A scheduler goes to sleep; so many are awake then.
    pub(crate) fn profile_sleep(&'static self, scheduler: usize, awake: impl FnOnce() -> usize) {
        if self.switches.any(SCHEDULERS) {
            self.tracer().scheduler_changes(self, scheduler, false, awake());
        }
    }

    /// A scheduler that slept is about to run this process: is that told, or need not be? One that wakes only to run the profiler
    /// is still taken to sleep.
    pub(crate) fn profile_wake_up(
        &'static self,
        scheduler: usize,
        process: &Process,
        awake: impl FnOnce() -> usize,
    ) -> bool {
        if !self.switches.any(SCHEDULERS) {
            return true;
        }
        let counts = !self.tracer().is_profiler(process.pid);
        if counts {
            self.tracer().scheduler_changes(self, scheduler, true, awake());
        }
        counts
    }
}
