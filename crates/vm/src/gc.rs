//! Collecting a process's heap: the roots, and what happens at the limits.

use crate::ctx::Ctx;
use crate::microstate::{State, within};
use crate::process::Private;
use myriad_heap::{Fragment, GcReport, Heap, LiteralRanges, MaxHeapExceeded, Roots};
use myriad_term::{Term, am};

impl Private {
    /// Does `f` with the heap and all places outside it that hold its terms; `live` are the live X registers.
    fn with_roots<R>(&mut self, live: &mut [Term], f: impl FnOnce(&mut Heap, &mut Roots<'_>) -> R) -> R {
        self.messages.attach_current(&mut self.heap);
        let mut roots = Roots::new();
        roots.push(live);
        roots.push(&mut self.saved_x);
        if let Some(arguments) = self.trap_args.get_mut() {
            roots.push(arguments);
        }
        for one in [
            &mut self.group_leader,
            &mut self.token,
            &mut self.parent,
            &mut self.error_cause,
            &mut self.exit_reason,
            &mut self.retry_state,
        ] {
            roots.push(std::slice::from_mut(one));
        }
        if let Some(exception) = self.exception.get_mut() {
            roots.push(std::slice::from_mut(&mut exception.reason));
            roots.push(std::slice::from_mut(&mut exception.trace));
            roots.push(std::slice::from_mut(&mut exception.arguments));
            roots.push(std::slice::from_mut(&mut exception.info));
        }
        if let Some(dictionary) = &mut self.dictionary {
            for (key, value) in &mut dictionary.entries {
                roots.push(std::slice::from_mut(key));
                roots.push(std::slice::from_mut(value));
            }
        }
        for term in self.messages.roots() {
            roots.push(std::slice::from_mut(term));
        }
        f(&mut self.heap, &mut roots)
    }

    /// Collects, so that at least `need` words are free. `live` are the live X registers (or a saved form of them).
    ///
    /// # Safety
    /// Every term of this process that is used afterwards stands in `live`, on its Erlang stack, or in a field of the
    /// private part that `with_roots` lists; all others dangle.
    unsafe fn collect(&mut self, need: usize, live: &mut [Term]) -> Result<GcReport, MaxHeapExceeded> {
        // SAFETY: the caller's promise; the roots are all there are.
        self.with_roots(live, |heap, roots| unsafe { heap.collect(need, roots) })
    }

    /// Collects both generations into the least memory (`erlang:hibernate/3`).
    ///
    /// # Safety
    /// As for [`Private::collect`].
    unsafe fn shrink_to_fit(&mut self, live: &mut [Term]) -> Result<GcReport, MaxHeapExceeded> {
        // SAFETY: as in `collect`.
        self.with_roots(live, |heap, roots| unsafe { heap.shrink_to_fit(roots) })
    }

    /// Copies what the process, its messages included, refers to in these literal areas.
    ///
    /// # Safety
    /// As for [`Private::collect`]; the areas are live.
    pub(crate) unsafe fn copy_literals(&mut self, areas: &LiteralRanges) {
        let _gc = within(State::Gc);
        for message in self.messages.detached() {
            // SAFETY: a message's fragment holds what it refers to (M3), unless that is a literal.
            unsafe {
                Fragment::copy_out(&mut message.fragment, &mut [&mut message.term, &mut message.token], areas);
            }
        }
        self.with_roots(&mut [], |heap, roots| {
            if heap.refers_to(areas, roots) {
                // SAFETY: the caller's promise; the roots are all there are.
                unsafe { heap.copy_out(areas, roots) };
            }
        });
    }
}

impl Ctx<'_> {
    /// Collects, so that at least `need` words are free. `live` are the live X registers. `false`: the heap has outgrown its
    /// limit, and the process ends ([`Private::exit_reason`]).
    ///
    /// # Safety
    /// As for `Private::collect`.
    #[must_use]
    pub unsafe fn collect(&mut self, need: usize, live: &mut [Term]) -> bool {
        let watched = self.collection_begins(need, false);
        let gc = within(State::Gc);
        // SAFETY: the caller's promise.
        let done = unsafe { self.proc.collect(need, live) };
        drop(gc);
        self.collection_ends(watched);
        self.collected(done)
    }

    /// Collects both generations into the least memory (`erlang:hibernate/3`). As [`Ctx::collect`] otherwise.
    ///
    /// # Safety
    /// As for `Private::collect`.
    #[must_use]
    pub unsafe fn shrink_heap(&mut self, live: &mut [Term]) -> bool {
        let watched = self.collection_begins(0, true);
        let gc = within(State::Gc);
        // SAFETY: the caller's promise.
        let done = unsafe { self.proc.shrink_to_fit(live) };
        drop(gc);
        self.collection_ends(watched);
        self.collected(done)
    }

    /// Messages that wait count for the limit too, unless they are kept off the heap.
    fn with_messages(&self, mut report: GcReport) -> Result<GcReport, MaxHeapExceeded> {
        let (proc, limit) = (&*self.proc, self.proc.heap.max_heap_size());
        if limit.size == 0 || proc.flags.off_heap_messages || report.max_heap_exceeded.is_some() {
            return Ok(report);
        }
        let fragments = proc.messages.iter().filter_map(|m| m.fragment.as_ref());
        let total_words = proc.heap.limited_words() + fragments.map(Fragment::used_words).sum::<usize>();
        if total_words > limit.size {
            let exceeded = MaxHeapExceeded { total_words, info: proc.heap.info() };
            if limit.kill {
                return Err(exceeded);
            }
            report.max_heap_exceeded = Some(exceeded);
        }
        Ok(report)
    }

    /// Counts the work, and tells of a heap that is too large.
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
                self.proc.exit_reason = Term::atom(am::killed);
                false
            }
        }
    }
}
