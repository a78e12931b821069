//! `trace_info/2` and `trace_delivered/1`, where nothing is traced.

use super::bad_option;
use myriad_term::{Build, Export, Mfa, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub TRACING = "erlang" {
    "trace_info" / 2 Plain => trace_info_2;
    "trace_delivered" / 1 Plain => trace_delivered_1;
}}

fn trace_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [what, key] = [args[0], args[1]];
    let Some(key_name) = key.as_atom() else { return badarg() };
    let value = if let Some(name) = what.as_atom() {
        match name {
            am::new | am::new_processes | am::new_ports => return flags_or_tracer(ctx, key),
            am::send | am::receive if key_name == am::match_spec => Term::TRUE,
            am::send | am::receive => return badarg(),
            am::on_load => Term::FALSE,
            _ => return bad_option(ctx),
        }
    } else if let Some(pid) = what.as_local_pid() {
        if ctx.vm.processes.get(pid).is_none() {
            return Ok(Term::UNDEFINED);
        }
        return flags_or_tracer(ctx, key);
    } else if what.as_local_port().is_some() {
        return flags_or_tracer(ctx, key);
    } else {
        match what.as_tuple_of::<3>() {
            Some([module, function, arity]) => {
                match (module.as_atom(), function.as_atom(), arity.as_small().map(u8::try_from)) {
                    (Some(module), Some(function), Some(Ok(arity))) => {
                        let mfa = Mfa { module, function, arity };
                        let exists =
                            ctx.vm.bifs.bif(mfa).is_some() || Export::find(mfa).is_some_and(Export::is_defined);
                        if exists { Term::FALSE } else { Term::UNDEFINED }
                    }
                    _ => return badarg(),
                }
            }
            None => return bad_option(ctx),
        }
    };
    Ok(ctx.tuple(&[key, value]))
}

fn flags_or_tracer(ctx: &mut Ctx<'_>, key: Term) -> BifResult {
    if key.is_am(am::flags) || key.is_am(am::tracer) { Ok(ctx.tuple(&[key, Term::NIL])) } else { badarg() }
}

/// All trace messages have been delivered, for there are none: the message that says so comes at once.
fn trace_delivered_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].as_local_pid().is_none() && !args[0].is_am(am::all) {
        return badarg();
    }
    let reference = ctx.make_ref();
    let message = ctx.tuple(&[Term::atom(am::trace_delivered), args[0], reference]);
    ctx.send(ctx.pid().term(), message)?;
    Ok(reference)
}
