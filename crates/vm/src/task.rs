//! System tasks: what a process is asked to do for itself (`erts_internal:request_system_task/3,4`, and the literal collector's
//! requests).
//!
//! The code check is answered where the signal is handled. Tasks that move terms wait until the process stands between two
//! slices and has no rest of a built-in that holds terms, because then all its roots are known; if its heap is large, they are done on a dirty
//! scheduler, as is a large collection that the process needs itself (`gc.rs`).

use crate::Signal;
use crate::bif::DirtyKind;
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::vm::Vm;
use myriad_heap::shared;
use myriad_process::{Message, Payload, Priority, Task};
use myriad_term::{Build, Pid, Term, TermRef, am};

/// Takes up `{Type, Id, Argument}` for `from`, which will get `{Type, Id, Result}`.
pub(crate) fn take_up(ctx: &mut Ctx<'_>, from: Pid, request: Payload, priority: Priority) {
    let Some((kind, argument)) = parts(&request) else { return };
    match kind.as_atom() {
        Some(am::garbage_collect | am::copy_literals | am::system_task_test) => {
            ctx.state.tasks.get_or_insert_default().push(Task { from, request, priority });
            ctx.state.interrupt();
        }
        Some(am::check_process_code) => {
            let result = argument.as_atom().is_some_and(|module| ctx.runs_old_code(module));
            answer(ctx.vm, from, &request, Term::bool(result));
        }
        _ => answer(ctx.vm, from, &request, Term::atom(am::notsup)),
    }
}

/// The type of a request and its argument, `[]` if it has none.
fn parts(request: &Payload) -> Option<(TermRef<'_>, TermRef<'_>)> {
    match request.term().as_tuple()?.elements() {
        [kind, _] => Some((*kind, Term::NIL)),
        [kind, _, argument] => Some((*kind, *argument)),
        _ => None,
    }
}

/// The process has ended before it could do it.
pub(crate) fn refuse(vm: &'static Vm, from: Pid, request: &Payload) {
    let copies =
        request.term().as_tuple().is_some_and(|t| t.elements().first().is_some_and(|k| k.is_am(am::copy_literals)));
    // One that has ended has nothing left to copy.
    answer(vm, from, request, if copies { Term::OK } else { Term::FALSE });
}

/// The process ends with tasks undone.
pub(crate) fn refuse_all(ctx: &mut Ctx<'_>) {
    let Some(mut tasks) = ctx.state.tasks.take() else { return };
    while let Some(Task { from, request, .. }) = tasks.pick() {
        refuse(ctx.vm, from, &request);
    }
}

fn answer(vm: &'static Vm, from: Pid, request: &Payload, result: Term) {
    let request = request.term();
    let Some([kind, id, ..]) = request.as_tuple().map(|request| request.elements()) else { return };
    let Some(kind) = kind.as_immediate() else { return };
    let answer = Payload::build(4 + myriad_heap::copied_size(*id), |draft| {
        let id = myriad_heap::copy_term(*id, draft);
        draft.tuple(&[kind, id, result])
    });
    vm.signal_pid(from, Signal::Message(Message::new(answer, Term::NONE)));
}

impl Ctx<'_> {
    /// Is there something to do before the process runs on, and may it be done now?
    #[inline]
    pub fn has_tasks(&self) -> bool {
        let state = &*self.state;
        state.resumption.as_ref().is_none_or(|suspended| suspended.collectable)
            && state.tasks.as_ref().is_some_and(|tasks| !state.flags.gc_disabled || tasks.is_needed())
    }

    /// Does it, or hands the process over to a dirty scheduler for it. `None`: the process runs on.
    ///
    /// The process stands between two slices: its live X registers are saved.
    pub(crate) fn do_tasks(&mut self) -> Option<SliceEnd> {
        if self.collects_long() {
            self.state.tasks.get_or_insert_default().hand_over();
            return Some(SliceEnd::Dirty(DirtyKind::Cpu));
        }
        let mut tasks = self.state.tasks.take()?;
        if self.state.flags.gc_disabled && !tasks.is_empty() {
            // They wait until that is over.
            self.state.tasks = Some(Box::new(tasks.take_requests()));
        }
        // SAFETY: between two slices, all terms are where `collect` looks.
        let done = tasks.take_need().is_none_or(|need| unsafe { self.collect(need, &mut []) });
        let mut end = (!done).then_some(SliceEnd::Exited);
        while end.is_none()
            && let Some(task) = tasks.pick()
        {
            self.bump(1);
            end = match self.do_task(task) {
                false => Some(SliceEnd::Exited),
                true => self.exhausted().then_some(SliceEnd::Yielded),
            };
        }
        if !tasks.is_empty() {
            // They are done in another slice, or refused by its end.
            tasks.take_back();
            self.state.tasks = Some(tasks);
        }
        end
    }

    /// Does what is asked for, and says so. `false`: the process ends.
    fn do_task(&mut self, Task { from, request, .. }: Task) -> bool {
        let Some((kind, argument)) = parts(&request) else { return true };
        let (lives, result) = if kind.is_am(am::system_task_test) {
            // What OTP's tests ask for: nothing but the answer.
            (true, Term::TRUE)
        } else if kind.is_am(am::copy_literals) {
            (self.copy_going_literals(), Term::OK)
        } else {
            if shared::is_on() {
                shared::request();
            } else if argument.is_am(am::major) {
                self.state.heap.request_fullsweep();
            }
            // SAFETY: between two slices, all terms are where `collect` looks.
            (unsafe { self.collect(0, &mut []) }, Term::TRUE)
        };
        answer(self.vm, from, &request, result);
        lives
    }

    /// Copies what the process holds of the literals that are to go. `false`: that is too much for its heap.
    fn copy_going_literals(&mut self) -> bool {
        let areas = self.vm.literals.going();
        // SAFETY: between two slices, all terms are where the collector looks; the areas are freed only after the answer.
        unsafe { self.copy_literals(&areas) };
        let limit = self.state.heap.max_heap_size().size;
        // What was a literal counts now.
        let too_large = limit != 0 && self.state.heap.total_size_words() > limit;
        // SAFETY: between two slices, all terms are where `collect` looks.
        !too_large || unsafe { self.collect(0, &mut []) }
    }

    /// Is the process to go to a dirty scheduler for its tasks, not for a call?
    pub(crate) fn is_handed_over(&self) -> bool {
        self.state.tasks.as_ref().is_some_and(|tasks| tasks.is_handed_over())
    }

    /// On a dirty scheduler: does what the process was handed over for. `None`: it was not for that.
    pub(crate) fn do_tasks_here(&mut self) -> Option<SliceEnd> {
        self.state.tasks.as_ref().filter(|tasks| tasks.is_handed_over())?;
        Some(self.do_tasks().unwrap_or(SliceEnd::Yielded))
    }

    /// Would a collection now take so long that others should not wait for it?
    pub fn collects_long(&self) -> bool {
        !self.sched.dirty && self.vm.config.dirty_cpu > 0 && self.state.heap.collection_estimate() > LONG_COLLECTION
    }

    /// The process stops before its next instruction, and collects on a dirty scheduler so that `need` words are free.
    pub fn hand_over(&mut self, need: usize) -> SliceEnd {
        let tasks = self.state.tasks.get_or_insert_default();
        tasks.need(need);
        tasks.hand_over();
        SliceEnd::Dirty(DirtyKind::Cpu)
    }
}

/// Words to be copied above which a collection is handed to a dirty scheduler, as OTP does: about half a millisecond. So is what is left of a process with as
/// many.
pub(crate) const LONG_COLLECTION: usize = 128 * 1024;
