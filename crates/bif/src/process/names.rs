//! Registered names.

use myriad_process::Named;
use myriad_sync::Retirer;
use myriad_term::{Atom, Build, Term, am};
use myriad_trace::event::{self, Fate};
use myriad_trace::module::Event;
use myriad_vm::bif::badarg;
use myriad_vm::tracer::flags;
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
    if !ctx.vm.names.register(&ctx.vm.processes, name, named, Retirer::Thread(&ctx.sched.slot)) {
        return badarg();
    }
    trace(ctx, named, am::register, name);
    Ok(Term::TRUE)
}

fn unregister_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    let named = ctx.vm.names.whereis(name);
    match named {
        Some(named) if ctx.vm.names.unregister(&ctx.vm.processes, name, Retirer::Thread(&ctx.sched.slot)) => {
            trace(ctx, named, am::unregister, name);
            Ok(Term::TRUE)
        }
        _ => badarg(),
    }
}

/// Tells the tracer of a process that its name changes.
fn trace(ctx: &Ctx<'_>, named: Named, tag: Atom, name: Atom) {
    if let Named::Process(pid) = named
        && let Some(process) = ctx.vm.processes.get(pid)
    {
        event::about_process(ctx.vm, process, ctx.scheduler_number(), flags::PROCS, tag, &[name.term()]);
    }
    if let Named::Port(port) = named
        && let Some(ports) = ctx.vm.ports()
    {
        ports.with_tracee(ctx.vm, port, &mut |tracee| {
            if tracee.wants(flags::PORTS)
                && let Some(tracer) = tracee.tracer()
                && let Fate::Told(receiver) = event::fate(ctx.vm, tracer, flags::PORTS, tag, port.term())
            {
                let (flags, scheduler, parts) = (tracee.flags(), ctx.scheduler_number(), &[name.term()]);
                receiver.tell(ctx.vm, &Event { flags, scheduler, tracee: port.term(), tag, parts, result: None });
            }
        });
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
