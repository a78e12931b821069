//! System tasks: what `erts_internal:request_system_task/3,4` asks a process to do for itself.

use crate::ctx::Ctx;
use crate::message::Message;
use crate::signal::{Parcel, Signal};
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_term::{Build, Pid, Term, am};

/// Carries out `{Type, Id, Argument}` for `from`, which gets `{Type, Id, Result}`. Tasks come between two slices, or while the
/// process waits in a receive.
pub(crate) fn run(ctx: &mut Ctx<'_>, from: Pid, request: Term) {
    let Some([kind, _, argument]) = request.as_tuple_of::<3>() else { return };
    let result = match kind.as_atom() {
        Some(am::garbage_collect) => {
            if argument.is_am(am::major) {
                ctx.proc.heap.request_fullsweep();
            } else {
                ctx.proc.heap.request_collection();
            }
            Term::TRUE
        }
        Some(am::check_process_code) => Term::bool(argument.as_atom().is_some_and(|module| ctx.runs_old_code(module))),
        _ => Term::atom(am::notsup),
    };
    answer(ctx.vm, from, request, result);
}

/// The process has ended before it could do it.
pub(crate) fn refuse(vm: &'static Vm, from: Pid, request: Parcel) {
    answer(vm, from, request.term, Term::FALSE);
}

fn answer(vm: &'static Vm, from: Pid, request: Term, result: Term) {
    let Some(request) = request.as_tuple() else { return };
    let (Some(kind), Some(id)) = (request.elements().first(), request.elements().get(1)) else { return };
    let mut fragment = Fragment::with_capacity(4 + myriad_heap::copied_size(*id));
    let id = myriad_heap::copy_term(*id, &mut fragment);
    let term = fragment.tuple(&[*kind, id, result]);
    vm.signal_pid(from, Signal::Message(Message { term, fragment: Some(fragment), token: Term::NONE }));
}
