//! When a process runs: `in` and `out`, and what stands still with it.

use super::flags;
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use myriad_heap::Fragment;
use myriad_term::{Atom, Build, Term, am};

const RUNNING: u32 = flags::RUNNING | flags::RUNNING_PROCS;

impl Ctx<'_> {
    /// The function it is in, as `{Module, Function, Arity}`; 0 if that is not known.
    fn place(&self, memory: &mut Fragment) -> Term {
        match self.vm.engine().backtrace(self.proc, 1).first() {
            Some(frame) => {
                let arity = Term::small(i64::from(frame.mfa.arity));
                memory.tuple(&[frame.mfa.module.term(), frame.mfa.function.term(), arity])
            }
            None => Term::small(0),
        }
    }

    /// Is there anything to be done around its slices?
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.this.trace.flags() != 0 || self.proc.watched.stopwatch.is_some()
    }

    #[cold]
    pub(crate) fn trace_slice_begins(&mut self) {
        self.time_slice_begins();
        if self.this.trace.wants(RUNNING) {
            self.trace_running(am::in_);
        }
    }

    #[cold]
    pub(crate) fn trace_slice_ends(&mut self, end: SliceEnd) {
        if self.proc.watched.stopwatch.is_some() {
            self.time_slice_ends();
        }
        if end != SliceEnd::Exited && self.this.trace.wants(RUNNING) {
            self.trace_running(am::out);
        }
    }

    fn trace_running(&mut self, tag: Atom) {
        let mut memory = Fragment::with_capacity(8);
        let place = self.place(&mut memory);
        self.trace(RUNNING, tag, &[place]);
    }

    /// A slice of its end begins or is over.
    pub(crate) fn trace_exiting(&mut self, tag: Atom) {
        self.trace(flags::EXITING, tag, &[Term::small(0)]);
    }

    /// The process has ended.
    #[cold]
    pub(crate) fn trace_exited(&mut self) {
        self.trace(flags::EXITING, am::out_exited, &[Term::small(0)]);
    }
}
