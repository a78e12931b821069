//! `trace_info/2`.

use super::{bad_option, plain, tracer_term};
use myriad_process::Tracee;
use myriad_sync::Arc;
use myriad_term::{Atom, Build, Export, Mfa, Term, am};
use myriad_trace::breakpoint::{Breakpoint, MaybeSpec};
use myriad_trace::event::goes_on;
use myriad_trace::{Filter, Filtered, Tracing, breakpoint};
use myriad_vm::code::Function;
use myriad_vm::tracer::flags;
use myriad_vm::{BifResult, Ctx};

pub(super) fn trace_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [what, key] = [args[0], args[1]];
    let vm = ctx.vm;
    if let Some(name) = what.as_atom() {
        return match name {
            am::new | am::new_processes => of_tracee(ctx, Tracing::of(vm).new_processes(), Term::UNDEFINED, key),
            am::new_ports => of_tracee(ctx, &Tracing::of(vm).new_ports, Term::UNDEFINED, key),
            am::send => of_filter(ctx, Filtered::Send, key),
            am::receive => of_filter(ctx, Filtered::Receive, key),
            am::on_load => on_load(ctx, key),
            _ => bad_option(ctx),
        };
    }
    if let Some(pid) = what.as_local_pid() {
        return match vm.processes.get(pid).filter(|p| !p.is_exiting()) {
            Some(process) => of_tracee(ctx, &process.trace, what, key),
            None => of_nobody(key),
        };
    }
    if let Some(port) = what.as_local_port() {
        let mut seen = None;
        if let Some(ports) = vm.ports() {
            ports.with_tracee(vm, port, &mut |tracee| {
                let copy = Tracee::default();
                copy.set(tracee.flags(), tracee.tracer());
                seen = Some(copy);
            });
        }
        return match seen {
            Some(tracee) => of_tracee(ctx, &tracee, what, key),
            None => of_nobody(key),
        };
    }
    match what.as_tuple_of::<3>() {
        Some([module, function, arity]) => {
            match (module.as_atom(), function.as_atom(), arity.as_small().map(u8::try_from)) {
                (Some(module), Some(function), Some(Ok(arity))) => {
                    of_function(ctx, Mfa { module, function, arity }, key)
                }
                // No function has that many arguments.
                (Some(_), Some(_), Some(Err(_))) => Ok(ctx.tuple(&[key, Term::UNDEFINED])),
                _ => plain(),
            }
        }
        None if what.as_tuple().is_some() => plain(),
        None => bad_option(ctx),
    }
}

/// The answers for a process that has ended.
fn of_nobody(key: Term) -> BifResult {
    if matches!(key.as_atom(), Some(am::flags | am::tracer)) { Ok(Term::UNDEFINED) } else { plain() }
}

fn of_tracee(ctx: &mut Ctx<'_>, tracee: &Tracee, whose: Term, key: Term) -> BifResult {
    let tracer = tracee.tracer().filter(|tracer| goes_on(ctx.vm, *tracer, whose));
    let value = match key.as_atom() {
        Some(am::flags) => {
            let set = if tracer.is_some() { tracee.flags() } else { 0 };
            let list: Vec<Term> =
                flags::ALL.iter().filter(|(_, bit)| set & bit != 0).map(|(name, _)| name.term()).collect();
            ctx.list(&list)
        }
        Some(am::tracer) => tracer.and_then(|tracer| tracer_term(ctx, tracer)).unwrap_or(Term::NIL),
        _ => return plain(),
    };
    Ok(ctx.tuple(&[key, value]))
}

fn of_filter(ctx: &mut Ctx<'_>, of: Filtered, key: Term) -> BifResult {
    if !key.is_am(am::match_spec) {
        return plain();
    }
    let value = match Tracing::of(ctx.vm).filter(of) {
        Filter::All => Term::TRUE,
        Filter::Nothing => Term::FALSE,
        Filter::Some(spec) => myriad_heap::copy_term(spec.source(), ctx),
    };
    Ok(ctx.tuple(&[key, value]))
}

fn source(ctx: &mut Ctx<'_>, spec: &MaybeSpec) -> Term {
    spec.as_ref().map_or(Term::NIL, |spec| myriad_heap::copy_term(spec.source(), ctx))
}

/// Keys in the order of `all`.
const KEYS: [Atom; 6] = [am::traced, am::match_spec, am::meta, am::meta_match_spec, am::call_time, am::call_count];

/// What a breakpoint says of one key; `false` if nothing.
fn value(ctx: &mut Ctx<'_>, breakpoint: &Breakpoint, kind: Atom, key: Atom) -> Option<Term> {
    Some(match key {
        am::traced => Term::atom(if breakpoint.call.is_some() { kind } else { am::false_ }),
        am::match_spec => match &breakpoint.call {
            Some(spec) => source(ctx, spec),
            None => Term::FALSE,
        },
        am::meta => match &breakpoint.meta {
            Some(meta) => meta.tracer().and_then(|tracer| tracer_term(ctx, tracer)).unwrap_or(Term::NIL),
            None => Term::FALSE,
        },
        am::meta_match_spec => match &breakpoint.meta {
            Some(meta) => source(ctx, &meta.spec),
            None => Term::FALSE,
        },
        am::call_count => breakpoint.count.as_ref().map_or(Term::FALSE, |count| Term::small(count.calls() as i64)),
        am::call_time => match breakpoint.time.as_ref().map(Arc::clone) {
            Some(times) => {
                let mut list = Vec::new();
                for (pid, spent) in times.all() {
                    let micros = (spent.ns / 1000) as i64;
                    let parts = [spent.calls as i64, micros / 1_000_000, micros % 1_000_000].map(Term::small);
                    list.push(ctx.tuple(&[pid.term(), parts[0], parts[1], parts[2]]));
                }
                ctx.list(&list)
            }
            None => Term::FALSE,
        },
        _ => return None,
    })
}

fn of_function(ctx: &mut Ctx<'_>, mfa: Mfa, key: Term) -> BifResult {
    let guard = Tracing::of(ctx.vm).lock();
    let global = Export::find(mfa).and_then(|export| guard.global(export));
    let local = super::pattern::function_of(ctx.vm, mfa).map(|f: &'static Function| breakpoint::of(f).cloned());
    drop(guard);
    let (breakpoint, kind) = match (global, local) {
        (Some(spec), _) => (Breakpoint { call: Some(spec), ..Breakpoint::default() }, am::global),
        (None, Some(Some(breakpoint))) => (breakpoint, am::local),
        // A built-in of a module that is not loaded.
        (None, None) if ctx.vm.bifs.bif(mfa).is_some() => return Ok(ctx.tuple(&[key, Term::FALSE])),
        (None, Some(None)) => return Ok(ctx.tuple(&[key, Term::FALSE])),
        (None, None) => return Ok(ctx.tuple(&[key, Term::UNDEFINED])),
    };
    if key.is_am(am::meta) && breakpoint.meta.is_none() {
        // So OTP has it, where `all` has `false`.
        return Ok(ctx.tuple(&[key, Term::NIL]));
    }
    whole_or_part(ctx, key, &KEYS, |ctx, key| value(ctx, &breakpoint, kind, key))
}

/// The value of one key, or of all of them.
fn whole_or_part(
    ctx: &mut Ctx<'_>,
    key: Term,
    keys: &[Atom],
    value: impl Fn(&mut Ctx<'_>, Atom) -> Option<Term>,
) -> BifResult {
    let result = if key.is_am(am::all) {
        let mut list = Vec::new();
        for key in keys {
            let value = value(ctx, *key).unwrap_or(Term::FALSE);
            list.push(ctx.tuple(&[key.term(), value]));
        }
        ctx.list(&list)
    } else {
        match key.as_atom().and_then(|key| value(ctx, key)) {
            Some(value) => value,
            None => return plain(),
        }
    };
    Ok(ctx.tuple(&[key, result]))
}

/// What new code gets; of counts, that there will be one.
fn on_load(ctx: &mut Ctx<'_>, key: Term) -> BifResult {
    let set = Tracing::of(ctx.vm).lock().on_load.clone();
    let Some((breakpoint, global)) = set else { return Ok(ctx.tuple(&[key, Term::FALSE])) };
    let kind = if global { am::global } else { am::local };
    const ON_LOAD: [Atom; 5] = [am::traced, am::match_spec, am::meta, am::meta_match_spec, am::call_count];
    whole_or_part(ctx, key, &ON_LOAD, |ctx, key| match key {
        am::call_count => Some(Term::bool(breakpoint.count.is_some())),
        _ => value(ctx, &breakpoint, kind, key),
    })
}
