//! Registered names.

use myriad_term::{Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::registry::Named;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub NAMES = "erlang" {
    "register" / 2 Plain => register_2;
    "unregister" / 1 Plain => unregister_1;
    "whereis" / 1 Plain => whereis_1;
    "registered" / 0 Plain => registered_0;
}}

fn register_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    let named = match (args[1].as_local_pid(), args[1].as_local_port()) {
        (Some(pid), _) => Named::Process(pid),
        (_, Some(port)) => Named::Port(port),
        _ => return badarg(),
    };
    if ctx.vm.names.register(ctx.vm, name, named) { Ok(Term::TRUE) } else { badarg() }
}

fn unregister_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_atom() {
        Some(name) if ctx.vm.names.unregister(ctx.vm, name) => Ok(Term::TRUE),
        _ => badarg(),
    }
}

fn whereis_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    Ok(match ctx.vm.names.whereis(name) {
        Some(Named::Process(pid)) => pid.term(),
        Some(Named::Port(port)) => port.term(),
        None => Term::atom(am::undefined),
    })
}

fn registered_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let names: Vec<Term> = ctx.vm.names.names().into_iter().map(Term::atom).collect();
    Ok(ctx.list(&names))
}
