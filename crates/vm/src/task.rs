//! System tasks: what a process is asked to do for itself (`erts_internal:request_system_task/3,4`, and the literal collector's
//! requests).
//!
//! The code check is answered where the signal is handled. Tasks that move terms wait until the process stands between two
//! slices and has no rest of a built-in that holds terms, because then all its roots are known; if its heap is large, they are done on a dirty
//! scheduler, as is a large collection that the process needs itself (`gc.rs`).

use crate::bif::DirtyKind;
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::message::Message;
use crate::process::Priority;
use crate::signal::{Parcel, Signal};
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_term::{Build, Pid, Term, am};
use std::collections::VecDeque;

/// What a process has to do before it runs on. Boxed where it is kept: nearly always there is nothing.
#[derive(Default)]
pub struct Tasks {
    /// Tasks, in the order they came.
    list: Vec<Request>,
    /// The process itself wants so many words: a collection, whether there is room or not.
    need: Option<usize>,
    /// A dirty scheduler does it, or is about to.
    handed_over: bool,
}

/// What somebody asks for. The request lives in its own parcel.
struct Request {
    from: Pid,
    request: Parcel,
    priority: Priority,
}

/// So many tasks of normal priority are done before one of low priority.
const LOW_TURN: usize = 8;

/// The order in which tasks are done.
fn by_priority(list: Vec<Request>) -> Vec<Request> {
    let mut queues: [VecDeque<Request>; 4] = Default::default();
    for request in list {
        let place = request.priority as usize;
        queues[place.min(3)].push_back(request);
    }
    let [max, high, mut normal, mut low] = queues;
    let mut all: Vec<Request> = max.into_iter().chain(high).collect();
    while !normal.is_empty() || !low.is_empty() {
        all.extend(normal.drain(..LOW_TURN.min(normal.len())));
        all.extend(low.pop_front());
    }
    all
}

/// Takes up `{Type, Id, Argument}` for `from`, which will get `{Type, Id, Result}`.
pub(crate) fn take_up(ctx: &mut Ctx<'_>, from: Pid, request: Parcel, priority: Priority) {
    let Some((kind, argument)) = parts(&request) else { return };
    match kind.as_atom() {
        Some(am::garbage_collect | am::copy_literals | am::system_task_test) => {
            ctx.proc.tasks.get_or_insert_default().list.push(Request { from, request, priority });
            if !ctx.proc.answering {
                // It runs, and has looked at its signals on the way: it gives way at the next chance.
                ctx.proc.reductions_left = ctx.proc.reductions_left.min(0);
            }
        }
        Some(am::check_process_code) => {
            let result = argument.as_atom().is_some_and(|module| ctx.runs_old_code(module));
            answer(ctx.vm, from, &request, Term::bool(result));
        }
        _ => answer(ctx.vm, from, &request, Term::atom(am::notsup)),
    }
}

/// The type of a request and its argument, `[]` if it has none.
fn parts(request: &Parcel) -> Option<(Term, Term)> {
    match request.term.as_tuple()?.elements() {
        [kind, _] => Some((*kind, Term::NIL)),
        [kind, _, argument] => Some((*kind, *argument)),
        _ => None,
    }
}

/// The process has ended before it could do it.
pub(crate) fn refuse(vm: &'static Vm, from: Pid, request: &Parcel) {
    let copies =
        request.term.as_tuple().is_some_and(|t| t.elements().first().is_some_and(|k| k.is_am(am::copy_literals)));
    // One that has ended has nothing left to copy.
    answer(vm, from, request, if copies { Term::OK } else { Term::FALSE });
}

/// The process ends with tasks undone.
pub(crate) fn refuse_all(ctx: &mut Ctx<'_>) {
    for Request { from, request, .. } in ctx.proc.tasks.take().map(|tasks| tasks.list).unwrap_or_default() {
        refuse(ctx.vm, from, &request);
    }
}

fn answer(vm: &'static Vm, from: Pid, request: &Parcel, result: Term) {
    let Some(request) = request.term.as_tuple() else { return };
    let (Some(kind), Some(id)) = (request.elements().first(), request.elements().get(1)) else { return };
    let mut fragment = Fragment::with_capacity(4 + myriad_heap::copied_size(*id));
    let id = myriad_heap::copy_term(*id, &mut fragment);
    let term = fragment.tuple(&[*kind, id, result]);
    vm.signal_pid(from, Signal::Message(Message { term, fragment: Some(fragment), token: Term::NONE }));
}

impl Ctx<'_> {
    /// Is there something to do before the process runs on, and may it be done now?
    pub fn has_tasks(&self) -> bool {
        let proc = &*self.proc;
        proc.resumption.as_ref().is_none_or(|suspended| suspended.collectable)
            && proc.tasks.as_ref().is_some_and(|tasks| !proc.flags.gc_disabled || tasks.need.is_some())
    }

    /// Does it, or hands the process over to a dirty scheduler for it. `None`: the process runs on.
    ///
    /// The process stands between two slices: its live X registers are saved.
    pub(crate) fn do_tasks(&mut self) -> Option<SliceEnd> {
        if self.collects_long() {
            self.proc.tasks.get_or_insert_default().handed_over = true;
            return Some(SliceEnd::Dirty(DirtyKind::Cpu));
        }
        let mut tasks = self.proc.tasks.take()?;
        if self.proc.flags.gc_disabled && !tasks.list.is_empty() {
            // They wait until that is over.
            let list = std::mem::take(&mut tasks.list);
            self.proc.tasks = Some(Box::new(Tasks { list, ..Tasks::default() }));
        }
        // SAFETY: between two slices, all terms are where `collect` looks.
        let done = tasks.need.is_none_or(|need| unsafe { self.collect(need, &mut []) });
        (!done || !self.do_requests(tasks.list)).then_some(SliceEnd::Exited)
    }

    /// `false`: the process ends.
    fn do_requests(&mut self, requests: Vec<Request>) -> bool {
        let requests = if requests.len() > 1 { by_priority(requests) } else { requests };
        for Request { from, request, .. } in requests {
            let Some((kind, argument)) = parts(&request) else { continue };
            let result = if kind.is_am(am::system_task_test) {
                // What OTP's tests ask for: nothing but the answer.
                Term::TRUE
            } else if kind.is_am(am::copy_literals) {
                let areas = self.vm.literals.going();
                // SAFETY: as in `do_tasks`; the areas are freed only after the answer.
                unsafe { self.proc.copy_literals(&areas) };
                let limit = self.proc.heap.max_heap_size().size;
                // What was a literal counts now.
                let too_large = limit != 0 && self.proc.heap.total_size_words() > limit;
                // SAFETY: as in `do_tasks`.
                if too_large && unsafe { !self.collect(0, &mut []) } {
                    answer(self.vm, from, &request, Term::OK);
                    return false;
                }
                Term::OK
            } else {
                if argument.is_am(am::major) {
                    self.proc.heap.request_fullsweep();
                }
                // SAFETY: as in `do_tasks`.
                if unsafe { !self.collect(0, &mut []) } {
                    answer(self.vm, from, &request, Term::TRUE);
                    return false;
                }
                Term::TRUE
            };
            answer(self.vm, from, &request, result);
        }
        true
    }

    /// Is the process to go to a dirty scheduler for its tasks, not for a call?
    pub(crate) fn is_handed_over(&self) -> bool {
        self.proc.tasks.as_ref().is_some_and(|tasks| tasks.handed_over)
    }

    /// On a dirty scheduler: does what the process was handed over for. `None`: it was not for that.
    pub(crate) fn do_tasks_here(&mut self) -> Option<SliceEnd> {
        self.proc.tasks.as_ref().filter(|tasks| tasks.handed_over)?;
        Some(self.do_tasks().unwrap_or(SliceEnd::Yielded))
    }

    /// Would a collection now take so long that others should not wait for it?
    pub fn collects_long(&self) -> bool {
        !self.sched.dirty && self.vm.config.dirty_cpu > 0 && self.proc.heap.collection_estimate() > LONG_COLLECTION
    }

    /// The process stops before its next instruction, and collects on a dirty scheduler so that `need` words are free.
    pub fn hand_over(&mut self, need: usize) -> SliceEnd {
        let tasks = self.proc.tasks.get_or_insert_default();
        tasks.need = Some(need);
        tasks.handed_over = true;
        SliceEnd::Dirty(DirtyKind::Cpu)
    }
}

/// Words to be copied above which a collection is handed to a dirty scheduler, as OTP does: about half a millisecond.
const LONG_COLLECTION: usize = 128 * 1024;
