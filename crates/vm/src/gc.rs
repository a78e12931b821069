//! Collecting a process's heap: the roots, and what happens at the limits.

use crate::ctx::Ctx;
use crate::process::Private;
use myriad_heap::{MaxHeapExceeded, Roots};
use myriad_term::Term;

impl Private {
    /// Collects, so that at least `need` words are free. `live` are the live X registers (or a saved form of them).
    ///
    /// # Safety
    /// Every term of this process that is used afterwards stands in `live`, on its Erlang stack, or in a field of the
    /// private part that this function lists; all others dangle.
    pub unsafe fn collect(&mut self, need: usize, live: &mut [Term]) -> Result<(), MaxHeapExceeded> {
        self.messages.attach_current(&mut self.heap);
        let mut roots = Roots::new();
        roots.push(live);
        roots.push(&mut self.saved_x);
        roots.push(&mut self.trap_args);
        for one in [
            &mut self.group_leader,
            &mut self.token,
            &mut self.parent,
            &mut self.error_cause,
            &mut self.exit_reason,
            &mut self.retry_state,
            &mut self.exception.reason,
            &mut self.exception.trace,
            &mut self.exception.arguments,
            &mut self.exception.info,
        ] {
            roots.push(std::slice::from_mut(one));
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
        // SAFETY: the caller's promise; the roots are all there are.
        let report = unsafe { self.heap.collect(need, &mut roots) }?;
        self.reductions_left =
            self.reductions_left.saturating_sub(i32::try_from(report.words_copied / 8).unwrap_or(i32::MAX));
        Ok(())
    }
}

impl Ctx<'_> {
    /// Collects if the heap asks for it, or cannot give `need` words. `live` are the live X registers.
    ///
    /// # Safety
    /// As for [`Private::collect`].
    pub unsafe fn collect_if_needed(&mut self, need: usize, live: &mut [Term]) -> Result<(), MaxHeapExceeded> {
        if self.proc.resumption.is_none() && (self.proc.heap.needs_collection() || !self.proc.heap.ensure(need)) {
            // SAFETY: the caller's promise.
            unsafe { self.proc.collect(need, live) }
        } else {
            Ok(())
        }
    }
}
