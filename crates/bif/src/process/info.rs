//! `process_info` and asking a process to collect its garbage.

use super::await_result;
use myriad_heap::shared;
use myriad_observe::info::{Items, are_items, default_items, info_by_visit, own_info};
use myriad_term::{Mfa, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Escape, Signal};

myriad_vm::bifs! { pub INFO = "erlang" {
    "process_info" / 1 Plain => |ctx, a| { let items = default_items(ctx); ask(ctx, a[0], items, true) };
    "process_info" / 2 Plain => |ctx, a| ask(ctx, a[0], a[1], false);
}}

myriad_vm::bifs! { pub INTERNAL_INFO = "erts_internal" {
    "garbage_collect" / 1 Plain => garbage_collect_1;
}}

fn ask(ctx: &mut Ctx<'_>, pid: Term, items: Term, by_default: bool) -> BifResult {
    let Some(pid) = pid.as_local_pid().filter(|_| are_items(items)) else { return badarg() };
    if pid == ctx.pid() {
        // Signals on their way to oneself count as received.
        ctx.settle_signals()?;
        return Ok(own_info(ctx, items, by_default));
    }
    let Some(process) = ctx.vm.processes.get(pid) else { return Ok(Term::UNDEFINED) };
    if let Some(answer) = info_by_visit(ctx, process, items, by_default) {
        return Ok(answer);
    }
    let reference = ctx.make_ref();
    let Some(numbers) = reference.as_local_ref() else { return badarg() };
    let info = Signal::Ask { from: ctx.pid(), reference: numbers, question: Items::question(items, by_default) };
    if ctx.ask(pid, info) { await_result(ctx, reference) } else { Ok(Term::UNDEFINED) }
}

/// The process's own collection; it happens when the call returns.
fn garbage_collect_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_atom() {
        Some(am::major | am::minor) if ctx.state.flags.gc_disabled => {}
        Some(am::major | am::minor) if shared::is_on() => return collect_all(ctx),
        Some(am::major) => ctx.state.heap.request_fullsweep(),
        Some(am::minor) => ctx.state.heap.request_collection(),
        _ => return badarg(),
    }
    Ok(Term::TRUE)
}

/// Where all processes have one heap: waits until it has been collected.
fn collect_all(ctx: &mut Ctx<'_>) -> BifResult {
    let name = Mfa { module: am::erts_internal, function: am::garbage_collect, arity: 1 };
    let request = shared::request();
    ctx.yield_without_terms(
        name,
        Box::new(move |_| if shared::is_over(request) { Ok(Term::TRUE) } else { Err(Escape::Yield) }),
    )
}
