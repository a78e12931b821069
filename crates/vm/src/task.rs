//! System tasks: what `erts_internal:request_system_task/3,4` asks a process to do for itself.

use crate::ctx::Ctx;
use crate::message::Message;
use crate::signal::{Parcel, Signal};
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_term::{Build, Pid, Term, am};

/// Carries out `{Type, Id, Arguments...}` for `from`, which gets `{Type, Id, Result}`.
pub(crate) fn run(ctx: &mut Ctx<'_>, from: Pid, request: Term) {
    let old_code_of = match request.as_tuple_of() {
        Some([kind, _, module]) if kind.is(Term::atom(am::check_process_code)) => module.as_atom(),
        _ => None,
    };
    let result = match old_code_of {
        Some(module) => ctx.runs_old_code(module, true),
        None => ctx.proc.resumption.is_none(),
    };
    answer(ctx.vm, from, request, Term::bool(result));
}

/// The process has ended before it could do it.
pub(crate) fn refuse(vm: &'static Vm, from: Pid, request: Parcel) {
    answer(vm, from, request.term, Term::atom(am::noproc));
}

fn answer(vm: &'static Vm, from: Pid, request: Term, result: Term) {
    let Some(request) = request.as_tuple() else { return };
    let (Some(kind), Some(id)) = (request.elements().first(), request.elements().get(1)) else { return };
    let mut fragment = Fragment::with_capacity(4 + myriad_heap::copied_size(*id));
    let id = myriad_heap::copy_term(*id, &mut fragment);
    let term = fragment.tuple(&[*kind, id, result]);
    vm.signal_pid(from, Signal::Message(Message { term, fragment: Some(fragment), token: Term::NONE }));
}
