//! The steps of a purge that OTP's purger and literal collector take.

use myriad_process::{Message, Payload};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{NOTSUP, badarg};
use myriad_vm::code::PurgeStep;
use myriad_vm::{BifResult, Ctx, Signal};

/// `erts_internal:purge_module(Module, Step)`; giving up is answered with `false`, which a soft purge then returns.
pub(super) fn purge_module_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if ctx.state.initial_call.module != am::erts_code_purger {
        return Err(NOTSUP);
    }
    let (Some(name), Some(step)) = (args[0].as_atom(), args[1].as_atom()) else { return badarg() };
    let step = match step {
        am::prepare => PurgeStep::Prepare,
        am::prepare_on_load => PurgeStep::PrepareOnLoad,
        am::abort => PurgeStep::Abort,
        am::complete => PurgeStep::Complete,
        _ => return badarg(),
    };
    let done = ctx.vm.purge(name, step);
    Ok(Term::bool(done && step != PurgeStep::Abort))
}

/// `erts_internal:check_process_code(Module)`: does the caller run in the old version?
pub(super) fn check_process_code_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    Ok(Term::bool(ctx.runs_old_code(name)))
}

/// `erts_internal:check_dirty_process_code(Pid, Module)`: `normal`, because a process answers for itself also while a call of
/// its runs on a dirty scheduler.
pub(super) fn check_dirty_process_code_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if ctx.state.initial_call.module != am::erts_dirty_process_signal_handler {
        return Err(NOTSUP);
    }
    if args[0].as_local_pid().is_none() || args[1].as_atom().is_none() {
        return badarg();
    }
    Ok(Term::atom(am::normal))
}

/// `erts_literal_area_collector:release_area_switch()`: the last areas can go; are there others to be copied out of?
pub(super) fn release_area_switch_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    if ctx.state.initial_call.module != am::erts_literal_area_collector {
        return Err(NOTSUP);
    }
    ctx.switch_literals()
}

/// `erts_literal_area_collector:send_copy_request(To, Area, How)`: has a process copy what it holds of the areas that are to go,
/// and answer `{copy_literals, {Area, How, To}, ok}`.
pub(super) fn send_copy_request_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if ctx.state.initial_call.module != am::erts_literal_area_collector {
        return Err(NOTSUP);
    }
    let Some(to) = args[0].as_local_pid() else { return badarg() };
    let id = ctx.tuple(&[args[1], args[2], args[0]]);
    let request = ctx.tuple(&[Term::atom(am::copy_literals), id, Term::NIL]);
    if !ctx.signal_to(
        to,
        Signal::Task { from: ctx.pid(), request: Payload::copy(request), priority: ctx.process.priority() },
    ) {
        let answer = ctx.tuple(&[Term::atom(am::copy_literals), id, Term::OK]);
        ctx.vm.send(ctx.process, Signal::Message(Message::new(Payload::copy(answer), Term::NONE)));
    }
    Ok(Term::OK)
}
