//! The NIFs of `erl_tracer`: the tracer module that stands for a process or port that gets trace messages.

use myriad_term::{Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub ERL_TRACER = "erl_tracer" {
    "enabled" / 3 Nif => enabled_3;
    "trace" / 5 Nif => trace_5;
}}

/// `enabled(Tag, Tracer, Tracee)`: `trace` as long as there is a tracer, other than the traced process itself.
fn enabled_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [tag, tracer, tracee] = [args[0], args[1], args[2]];
    let alive = match (tracer.as_local_pid(), tracer.as_local_port()) {
        (Some(pid), _) => ctx.vm.processes.get(pid).is_some(),
        (_, Some(_)) => true,
        _ => return badarg(),
    };
    Ok(Term::atom(match alive {
        false if tag.is_am(am::trace_status) => am::remove,
        true if tracer != tracee || tag.is_am(am::trace_status) => am::trace,
        _ => am::discard,
    }))
}

/// `trace(Tag, Tracer, Tracee, Term, Options)`: sends `{trace, Tracee, Tag, Term}`, with what the options add.
fn trace_5(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [tag, tracer, tracee, term, options] = [args[0], args[1], args[2], args[3], args[4]];
    let Some(options) = options.as_map() else { return badarg() };
    let mut message = vec![am::trace.term(), tracee, tag, term];
    message.extend(options.get(am::extra.term()));
    if let Some(time) = options.get(am::timestamp.term()) {
        message[0] = am::trace_ts.term();
        message.push(time);
    }
    let message = ctx.tuple(&message);
    ctx.send(tracer, message)?;
    Ok(Term::OK)
}
