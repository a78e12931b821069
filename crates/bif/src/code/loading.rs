//! From bytes to a loaded module, and back to none.

use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Atom, Build, Term, am};
use myriad_trace::Tracing;
use myriad_trace::breakpoint::Patterns;
use myriad_vm::bif::{SYSTEM_LIMIT, badarg};
use myriad_vm::code::{Deleted, FinishError, PreparedCode, prepare};
use myriad_vm::{BifResult, Ctx, Vm, report};

use super::refusal;

/// Bytes of a file that count as one reduction.
const BYTES_PER_REDUCTION: usize = 128;

/// `erts_internal:prepare_loading(Module, Code)`: a reference to the prepared code, or `{error, Reason}`.
pub(super) fn prepare_loading_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(name), Some(bytes)) = (args[0].as_atom(), args[1].as_binary()) else { return badarg() };
    ctx.bump(bytes.len() / BYTES_PER_REDUCTION);
    match prepare(&bytes, &ctx.vm.bifs, ctx.vm.engine()) {
        Ok(prepared) if prepared.name() == name => {
            let numbers = ctx.sched.next_ref();
            Ok(magic_reference(ctx, Magic::new(numbers, PreparedCode::new(prepared))))
        }
        other => {
            let (place, what) = match other {
                Ok(other) => refusal::of_name(other.name()),
                Err(error) => refusal::of(&error),
            };
            report::line(ctx, &refusal::text(name, place, &what));
            Ok(ctx.tuple(&[Term::atom(am::error), Term::atom(am::badfile)]))
        }
    }
}

/// The current version of a module is about to become old: its breakpoints go.
fn forget(vm: &'static Vm, patterns: &mut Patterns, name: Atom) {
    if let Some(module) = vm.code.current(name) {
        patterns.forget(vm, module);
    }
}

/// A new version has become current.
fn welcome(vm: &'static Vm, patterns: &mut Patterns, name: Atom) {
    if let Some(module) = vm.code.current(name) {
        patterns.welcome(vm, module);
    }
}

/// `erlang:finish_loading([Prepared])`: `ok`, or `{Why, [Module]}`.
///
/// It gives way before the code changes, as OTP's does: a process that was ready to run when the code was loaded runs in the old one first.
pub(super) fn finish_loading_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let list = args[0];
    if list.list_length().is_none() {
        return badarg();
    }
    ctx.yield_to(Box::new(move |ctx| finish_loading(ctx, list)))
}

fn finish_loading(ctx: &mut Ctx<'_>, list: Term) -> BifResult {
    let Some(magics) = list.list_iter().map(|t| t.as_magic()).collect::<Option<Vec<_>>>() else { return badarg() };
    let Some(list) = magics.iter().map(|m| m.get::<PreparedCode>()).collect::<Option<Vec<_>>>() else {
        return badarg();
    };
    // Breakpoints of the versions that become old go; those for all new code come.
    let vm = ctx.vm;
    let mut guard = Tracing::of(vm).lock();
    for code in list.iter().filter(|code| !code.has_on_load) {
        forget(vm, &mut guard, code.name);
    }
    let done = vm.code.finish_loading(&list);
    if done.is_ok() {
        list.iter().for_each(|code| welcome(vm, &mut guard, code.name));
    }
    drop(guard);
    let (why, names) = match done {
        Ok(()) => return Ok(Term::OK),
        Err(FinishError::Used) => return badarg(),
        Err(FinishError::SeveralWithOnLoad) => return Err(SYSTEM_LIMIT),
        Err(FinishError::Duplicated(names)) => (am::duplicated, names),
        Err(FinishError::NotPurged(names)) => (am::not_purged, names),
        Err(FinishError::OnLoad(names)) => (am::on_load, names),
    };
    let names: Vec<Term> = names.into_iter().map(Atom::term).collect();
    let names = ctx.list(&names);
    Ok(ctx.tuple(&[Term::atom(why), names]))
}

/// `erlang:has_prepared_code_on_load(Prepared)`.
pub(super) fn has_prepared_code_on_load_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(magic) = args[0].as_magic() else { return badarg() };
    match magic.get::<PreparedCode>() {
        Some(code) if code.is_fresh() => Ok(Term::bool(code.has_on_load)),
        _ => badarg(),
    }
}

/// `erlang:call_on_load_function(Module)`: goes on as a call of that function.
pub(super) fn call_on_load_function_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_atom().and_then(|name| ctx.vm.code.on_load_function(name)) {
        Some(export) => ctx.trap(export, &[]),
        None => badarg(),
    }
}

/// `erlang:finish_after_on_load(Module, Keep)`.
pub(super) fn finish_after_on_load_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(name), Some(keep)) = (args[0].as_atom(), args[1].as_bool()) else { return badarg() };
    let vm = ctx.vm;
    let mut guard = Tracing::of(vm).lock();
    if keep && vm.code.state(name).on_load.is_some() {
        forget(vm, &mut guard, name);
    }
    let done = vm.code.finish_after_on_load(name, keep);
    if done && keep {
        welcome(vm, &mut guard, name);
    }
    drop(guard);
    if done { Ok(Term::TRUE) } else { badarg() }
}

/// `erlang:delete_module(Module)`: `true`, or `undefined` if it was never loaded.
pub(super) fn delete_module_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    let vm = ctx.vm;
    let mut guard = Tracing::of(vm).lock();
    if vm.code.state(name).old.is_none() {
        forget(vm, &mut guard, name);
    }
    let deleted = vm.code.delete(name);
    drop(guard);
    match deleted {
        Deleted::Done => Ok(Term::TRUE),
        Deleted::NotLoaded => Ok(Term::UNDEFINED),
        Deleted::NotPurged => badarg(),
    }
}
