//! Collecting the heap of the process that runs: what it costs, and what happens at the limits.

use crate::ctx::Ctx;
use myriad_heap::{GcReport, LiteralRanges, MaxHeapExceeded};
use myriad_sched::microstate::{State, within};
use myriad_term::{Term, am};

impl Ctx<'_> {
    /// Collects, so that at least `need` words are free. `live` are the live X registers. `false`: the heap has outgrown its
    /// limit, and the process ends ([`OwnerState::exit_reason`](crate::OwnerState::exit_reason)).
    ///
    /// # Safety
    /// As for `OwnerState::collect`.
    #[must_use]
    pub unsafe fn collect(&mut self, need: usize, live: &mut [Term]) -> bool {
        let watched = self.collection_begins(need, false);
        let gc = within(State::Gc);
        // SAFETY: the caller promises that all terms that are used afterwards stand in `live`, on the stack or in a root field.
        let done = unsafe { self.state.collect(need, live) };
        drop(gc);
        while let Some(help) = self.state.heap.take_help() {
            self.vm.help(help);
        }
        self.collection_ends(watched);
        self.collected(done)
    }

    /// Collects both generations into the least memory (`erlang:hibernate/3`). As [`Ctx::collect`] otherwise.
    ///
    /// # Safety
    /// As for `OwnerState::collect`.
    #[must_use]
    pub unsafe fn shrink_heap(&mut self, live: &mut [Term]) -> bool {
        let watched = self.collection_begins(0, true);
        let gc = within(State::Gc);
        // SAFETY: the caller promises that all terms that are used afterwards stand in `live`, on the stack or in a root field.
        let done = unsafe { self.state.shrink_to_fit(live) };
        drop(gc);
        self.collection_ends(watched);
        self.collected(done)
    }

    /// Copies what the process, its messages included, refers to in these literal areas.
    ///
    /// # Safety
    /// As for `OwnerState::collect`; the areas are live.
    pub(crate) unsafe fn copy_literals(&mut self, areas: &LiteralRanges) {
        let _gc = within(State::Gc);
        // SAFETY: the caller promises that the areas are live, and all terms that are used afterwards in root fields or on the stack.
        unsafe { self.state.copy_literals(areas) };
    }

    /// Messages that wait count for the limit too, unless they are kept off the heap.
    fn with_messages(&self, mut report: GcReport) -> Result<GcReport, MaxHeapExceeded> {
        let (state, limit) = (&*self.state, self.state.heap.max_heap_size());
        if limit.size == 0 || state.flags.off_heap_messages || report.max_heap_exceeded.is_some() {
            return Ok(report);
        }
        let total_words = state.heap.limited_words() + state.messages.words();
        if total_words > limit.size {
            let exceeded = MaxHeapExceeded { total_words, info: state.heap.info() };
            if limit.kill {
                return Err(exceeded);
            }
            report.max_heap_exceeded = Some(exceeded);
        }
        Ok(report)
    }

    /// Counts the work, and reports a heap that is too large.
    fn collected(&mut self, done: Result<GcReport, MaxHeapExceeded>) -> bool {
        match done.and_then(|report| self.with_messages(report)) {
            Ok(report) => {
                self.bump(report.words_copied / 8);
                if let Some(exceeded) = report.max_heap_exceeded {
                    crate::report::heap_exceeded(self, &exceeded);
                }
                true
            }
            Err(exceeded) => {
                crate::report::heap_exceeded(self, &exceeded);
                self.state.exit_reason = Term::atom(am::killed);
                false
            }
        }
    }
}
