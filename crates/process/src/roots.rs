//! The terms that a process holds outside its heap and its stack, and collections, which begin at them.
//!
//! RT1. [`OwnerState::with_roots`] takes the owner's state apart field by field, so that a new field with terms cannot be forgotten.

use crate::exception::Exception;
use crate::owner::OwnerState;
use crate::process::Process;
use crate::runtime::Runtime;
use crate::signal::Packet;
use myriad_heap::shared::{self, InSignals};
use myriad_heap::{GcReport, Heap, LiteralRanges, MaxHeapExceeded, QueueLink, Roots};
use myriad_term::{Pid, Term};
use std::ptr::NonNull;
use std::slice::from_mut;

impl<R: Runtime> OwnerState<R> {
    /// Does `f` with the heap and all places outside it that hold its terms (RT1); `live` are the live X registers.
    fn with_roots<T>(&mut self, live: &mut [Term], f: impl FnOnce(&mut Heap, &mut Roots<'_>) -> T) -> T {
        debug_assert!(self.ending.is_none(), "an ending process is not collected");
        self.heap.settle_here();
        self.with_roots_and(live, f)
    }

    /// The same of a process that may be at its end.
    fn with_roots_and<T>(&mut self, live: &mut [Term], f: impl FnOnce(&mut Heap, &mut Roots<'_>) -> T) -> T {
        let OwnerState {
            heap,
            messages,
            saved_x,
            trap_args,
            group_leader,
            token,
            parent,
            error_cause,
            exit_reason,
            retry_state,
            exception,
            dictionary,
            // Their terms live in fragments of their own.
            unhandled: _,
            relations: _,
            tasks: _,
            // While there is a rest of a built-in that holds terms, nothing is collected.
            resumption: _,
            // An ending process is not collected, or all that it refers to stays where it is.
            ending: _,
            // No terms.
            reductions: _,
            resume: _,
            markers: _,
            receive_timer: _,
            flags: _,
            waiting: _,
            answering: _,
            in_dirty_call: _,
            suspensions: _,
            error_handler: _,
            initial_call: _,
            watched: _,
            frames: _,
        } = self;
        messages.attach_current(heap);
        let mut roots = Roots::new();
        roots.push(live);
        roots.push(saved_x);
        if let Some(arguments) = trap_args.get_mut() {
            roots.push(arguments);
        }
        for one in [group_leader, token, parent, error_cause, exit_reason, retry_state] {
            roots.push(from_mut(one));
        }
        if let Some(Exception { reason, trace, arguments, info, class: _, frames: _ }) = exception.get_mut() {
            for one in [reason, trace, arguments, info] {
                roots.push(from_mut(one));
            }
        }
        if let Some(dictionary) = dictionary.as_mut() {
            #[cfg(heap_check)]
            dictionary.check(heap);
            let (terms, young) = dictionary.roots();
            roots.push_aged(terms, young);
        }
        if shared::is_on() {
            for term in messages.pointers() {
                // SAFETY: the message's own place; the queue is not looked at while the roots are used, but for other messages.
                unsafe { roots.push_raw(term, 1) };
            }
        }
        for term in messages.roots() {
            roots.push(from_mut(term));
        }
        let done = f(heap, &mut roots);
        if let Some(dictionary) = dictionary {
            // No minor collection since the last one of both generations: this may have been that one.
            dictionary.settle(heap, heap.minor_gcs() == 0);
        }
        done
    }

    /// The process is about to run. Where all have one heap it counts as having run, and tells its roots first if a marking needs them (heap.gathering/GR1).
    #[inline]
    pub fn begin_to_run(&mut self, pid: Pid) {
        if shared::is_on() {
            self.heap.touch();
            if self.heap.is_to_tell_roots() {
                self.with_roots_and(&mut [], |heap, roots| heap.tell_roots(pid.data(), roots));
            }
        }
    }

    /// Collects, so that at least `need` words are free. `live` are the live X registers (or a saved form of them).
    ///
    /// # Errors
    /// The heap has outgrown the limit at which the process must be killed.
    ///
    /// # Safety
    /// Every term of this process that is used afterwards stands in `live`, on its Erlang stack, or in a field that
    /// `with_roots` lists; all others dangle.
    pub unsafe fn collect(&mut self, need: usize, live: &mut [Term]) -> Result<GcReport, MaxHeapExceeded> {
        // SAFETY: the caller's promise; the roots are all there are (RT1).
        self.with_roots(live, |heap, roots| unsafe { heap.collect(need, roots) })
    }

    /// Collects both generations into the least memory (`erlang:hibernate/3`).
    ///
    /// # Errors
    /// As [`OwnerState::collect`].
    ///
    /// # Safety
    /// As for [`OwnerState::collect`].
    pub unsafe fn shrink_to_fit(&mut self, live: &mut [Term]) -> Result<GcReport, MaxHeapExceeded> {
        // SAFETY: the caller promises what `collect` asks for; the roots are all there are (RT1).
        self.with_roots(live, |heap, roots| unsafe { heap.shrink_to_fit(roots) })
    }

    /// Copies what the process, its messages included, refers to in these literal areas.
    ///
    /// # Safety
    /// As for [`OwnerState::collect`]; the areas are live.
    pub unsafe fn copy_literals(&mut self, areas: &LiteralRanges) {
        for message in self.messages.detached() {
            // SAFETY: a message's block holds what it refers to (process/M3), unless that is a literal.
            unsafe { message.copy_out(areas) };
        }
        if shared::is_on() {
            // What the heap refers to waits for its collection (heap.shared/SH4).
            return;
        }
        self.with_roots(&mut [], |heap, roots| {
            if heap.refers_to(areas, roots) {
                // SAFETY: the caller's promise; the roots are all there are (RT1).
                unsafe { heap.copy_out(areas, roots) };
            }
        });
    }
}

impl<R: Runtime> Process<R> {
    /// Calls `visit` with the places of terms of the one heap of all processes that wait in signals to these. All queues are followed at once, a step in each in turn: each step
    /// waits for a line that is in no cache, and whose address is in the one before.
    ///
    /// # Safety
    /// All processes are stopped (sched.safepoint/SF2).
    pub unsafe fn each_in_signals(processes: &[&Process<R>], which: InSignals, visit: &mut dyn FnMut(*mut u64)) {
        let is_new = which == InSignals::New;
        // SAFETY: the caller's promise: nobody takes signals while the process is stopped; what others leave meanwhile refers to nothing (heap.shared/SH2).
        let is_seen = |link: &NonNull<QueueLink>| is_new && unsafe { link.as_ref() }.is_seen();
        let walks = processes.iter().map(|process| {
            // SAFETY: as above.
            let (waiting, state) = unsafe { (process.waiting_signals(), process.seen()) };
            // Those behind one that has been visited came before it, and were visited too (heap.shared/SH5).
            let waiting = waiting.take_while(move |link| !is_seen(link));
            waiting.chain(state.unhandled.iter().flat_map(|signals| signals.nodes()))
        });
        let mut walks: Vec<_> = walks.collect();
        while !walks.is_empty() {
            walks.retain_mut(|walk| {
                let Some(mut link) = walk.next() else { return false };
                if !is_seen(&link) {
                    // SAFETY: as above: the block stays in its queue, and no other thread looks at it.
                    unsafe {
                        if is_new {
                            link.as_mut().set_seen();
                        }
                        Packet::<R>::pointer(link).into_iter().for_each(|place| visit(place.as_ptr().cast()));
                    }
                }
                true
            });
        }
    }

    /// Does `f` with the heap and all places outside it that hold terms of the one heap of all processes, but those [in signals](Process::each_in_signals).
    ///
    /// # Safety
    /// All processes are stopped (sched.safepoint/SF2), and nobody else has a reference to the owner state.
    pub unsafe fn with_roots_stopped<T>(&self, f: impl FnOnce(&mut Heap, &mut Roots<'_>) -> T) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.owner_state() }.with_roots_and(&mut [], f)
    }
}
