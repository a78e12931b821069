//! Funs: making them by name, and what they say of themselves.

use myriad_observe::heap_walk::walk_heaps;
use myriad_sync::atomic::Ordering;
use myriad_term::boxed::{Header, Kind};
use myriad_term::{Atom, Build, Export, FunEntry, Mfa, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::code::Function;
use myriad_vm::{BifResult, Ctx};
use std::ptr;

/// `erlang:make_fun(Module, Function, Arity)`.
pub(super) fn make_fun_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(module), Some(function)) = (args[0].as_atom(), args[1].as_atom()) else { return badarg() };
    let Some(arity) = args[2].as_small().and_then(|a| u8::try_from(a).ok()) else { return badarg() };
    let export = Export::intern(Mfa { module, function, arity });
    // SAFETY: an aligned address looks like a small integer, and is just what an export fun holds.
    let address = unsafe { Term::from_raw(ptr::from_ref(export) as u64) };
    Ok(ctx.boxed(Header::new(Kind::ExportFun, 1), &[address]))
}

/// The name of the function behind a local fun; the empty list if its code is not loaded.
fn name_of(entry: &FunEntry) -> Term {
    Function::of_fun(entry).map_or(Term::NIL, |function| function.mfa.function.term())
}

/// `erlang:fun_info(Fun, Item)`: `{Item, Value}`.
pub(super) fn fun_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(item) = args[1].as_atom() else { return badarg() };
    if item == am::refc && args[0].as_local_fun().is_some() {
        return references(ctx, args[0]);
    }
    let value = if let Some(export) = args[0].as_export_fun() {
        export_info(export, item)
    } else if let Some((entry, creator, free)) = args[0].as_local_fun() {
        local_info(ctx, entry, creator, free, item)
    } else {
        None
    };
    match value {
        Some(value) => Ok(ctx.tuple(&[item.term(), value])),
        None => badarg(),
    }
}

/// `{refc, Count}`: how many objects there are of the fun's entry, and one if its code is loaded.
fn references(ctx: &mut Ctx<'_>, fun: Term) -> BifResult {
    let Some((entry, ..)) = fun.as_local_fun() else { return badarg() };
    // Acquire: as in `Function::of_fun`.
    let mut count = i64::from(!entry.code.load(Ordering::Acquire).is_null());
    let counted = walk_heaps(ctx, &mut |_, _, object| {
        let of_entry = object.kind() == Kind::Fun && object.word(0) == ptr::from_ref(entry) as u64;
        count += i64::from(of_entry);
    });
    if !counted {
        return ctx.yield_to(Box::new(move |ctx| references(ctx, fun)));
    }
    Ok(ctx.tuple(&[am::refc.term(), Term::small(count)]))
}

fn export_info(export: &Export, item: Atom) -> Option<Term> {
    Some(match item {
        am::type_ => Term::atom(am::external),
        am::module => export.mfa.module.term(),
        am::name => export.mfa.function.term(),
        am::arity => Term::small(i64::from(export.mfa.arity)),
        am::env => Term::NIL,
        am::pid | am::index | am::uniq | am::new_index | am::new_uniq | am::refc => Term::UNDEFINED,
        _ => return None,
    })
}

fn local_info(ctx: &mut Ctx<'_>, entry: &FunEntry, creator: Term, free: &[Term], item: Atom) -> Option<Term> {
    Some(match item {
        am::type_ => Term::atom(am::local),
        am::module => entry.id.module.term(),
        am::name => name_of(entry),
        am::arity => Term::small(i64::from(entry.id.arity)),
        am::env => ctx.list(free),
        am::pid if ctx.vm.release.fun_pid_is_init => myriad_term::Pid::new(0, 0).term(),
        am::pid => creator,
        am::index => Term::small(i64::from(entry.id.old_index)),
        am::new_index => Term::small(i64::from(entry.id.index)),
        am::uniq => Term::small(i64::from(entry.id.old_uniq)),
        am::new_uniq => ctx.binary(&entry.id.uniq),
        // Entries are not counted: one for the term that is asked about, one for the loaded code.
        _ => return None,
    })
}

/// `erlang:fun_info_mfa(Fun)`: `{Module, Name, Arity}`.
pub(super) fn fun_info_mfa_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (module, name, arity) = if let Some(export) = args[0].as_export_fun() {
        (export.mfa.module, export.mfa.function.term(), export.mfa.arity)
    } else if let Some((entry, ..)) = args[0].as_local_fun() {
        (entry.id.module, name_of(entry), entry.id.arity)
    } else {
        return badarg();
    };
    Ok(ctx.tuple(&[module.term(), name, Term::small(i64::from(arity))]))
}

/// `erlang:fun_to_list(Fun)`.
pub(super) fn fun_to_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[0].is_fun() {
        return badarg();
    }
    // OTP gives the bytes of the text in UTF-8, not its characters.
    let text = myriad_term::print::fun_text(args[0]);
    Ok(ctx.byte_list(text.as_bytes(), Term::NIL))
}
