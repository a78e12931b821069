//! What is loaded, and what it says of itself.

use myriad_beam::BeamFile;
use myriad_term::{Atom, Build, Export, Mfa, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::code::{Module, export_list, function_list, nif_list};
use myriad_vm::{BifResult, Ctx};

/// `erlang:module_loaded(Module)`: is there a current version?
pub(super) fn module_loaded_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    Ok(Term::bool(ctx.vm.code.current(name).is_some()))
}

/// `erlang:check_old_code(Module)`: is there an old version?
pub(super) fn check_old_code_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    Ok(Term::bool(ctx.vm.code.state(name).old.is_some()))
}

fn names(ctx: &mut Ctx<'_>, names: Vec<Atom>) -> BifResult {
    let names: Vec<Term> = names.into_iter().map(Atom::term).collect();
    Ok(ctx.list(&names))
}

/// `erlang:loaded()`: modules with a current or an old version.
pub(super) fn loaded_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let list = ctx.vm.code.loaded();
    names(ctx, list)
}

/// `erlang:pre_loaded()`.
pub(super) fn pre_loaded_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let list = ctx.vm.code.preloaded();
    names(ctx, list)
}

fn item(ctx: &mut Ctx<'_>, module: &Module, key: Atom) -> Option<Term> {
    Some(match key {
        am::module => module.name.term(),
        am::exports => export_list(ctx, module),
        am::functions => function_list(ctx, module),
        am::nifs => nif_list(ctx, module),
        am::attributes => module.attributes(ctx),
        am::compile => module.compile_info(ctx),
        am::md5 => ctx.binary(&module.md5),
        am::native => Term::FALSE,
        am::native_addresses => Term::NIL,
        _ => return None,
    })
}

fn current(ctx: &Ctx<'_>, name: Term) -> Option<&'static Module> {
    ctx.vm.code.current(name.as_atom()?)
}

/// `erlang:get_module_info(Module)`: what `Module:module_info()` gives.
pub(super) fn get_module_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(module) = current(ctx, args[0]) else { return badarg() };
    let mut list = Term::NIL;
    for key in [am::md5, am::compile, am::attributes, am::exports, am::module] {
        let Some(value) = item(ctx, module, key) else { return badarg() };
        let pair = ctx.tuple(&[key.term(), value]);
        list = ctx.cons(pair, list);
    }
    Ok(list)
}

/// `erlang:get_module_info(Module, Key)`: what `Module:module_info(Key)` gives.
pub(super) fn get_module_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(module), Some(key)) = (current(ctx, args[0]), args[1].as_atom()) else { return badarg() };
    item(ctx, module, key).map_or_else(badarg, Ok)
}

/// A function's name from three terms. Outer nothing: not a name; inner: no function can have this arity.
fn mfa(args: &[Term]) -> Option<Option<Mfa>> {
    let (module, function, arity) = (args[0].as_atom()?, args[1].as_atom()?, args[2].as_small()?);
    Some(u8::try_from(arity).ok().map(|arity| Mfa { module, function, arity }))
}

/// `erlang:function_exported(Module, Function, Arity)`: true of built-ins even if their module is not loaded.
pub(super) fn function_exported_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(mfa) = mfa(args) else { return badarg() };
    let is_exported = |mfa| ctx.vm.bifs.bif(mfa).is_some() || Export::find(mfa).is_some_and(Export::is_defined);
    Ok(Term::bool(mfa.is_some_and(is_exported)))
}

/// `erlang:is_builtin(Module, Function, Arity)`.
pub(super) fn is_builtin_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(mfa) = mfa(args) else { return badarg() };
    if args[2].as_small().is_none_or(|n| n >= 1 << 59) {
        // No small integer in OTP.
        return badarg();
    }
    let by_instruction = |mfa: Mfa| {
        mfa.module == am::erlang
            && matches!((mfa.function, mfa.arity), (am::apply, 2 | 3) | (am::hibernate, 3) | (am::yield_, 0))
    };
    Ok(Term::bool(mfa.is_some_and(|mfa| ctx.vm.bifs.bif(mfa).is_some() || by_instruction(mfa))))
}

/// The file's chunks, if it is a plain .beam file: these two functions do not inflate.
fn chunks(bytes: &[u8]) -> Option<BeamFile<'_>> {
    if bytes.starts_with(b"FOR1") { BeamFile::parse(bytes).ok() } else { None }
}

/// `erts_internal:beamfile_chunk(Code, Id)`: the chunk of a four-letter name, or `undefined`.
pub(super) fn beamfile_chunk_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(bytes) = args[0].as_binary() else { return badarg() };
    if args[1].list_length() != Some(4) {
        return badarg();
    }
    let mut id = [0_u8; 4];
    for (letter, term) in id.iter_mut().zip(args[1].list_iter()) {
        match term.as_small().and_then(|v| u8::try_from(v).ok()) {
            Some(byte) => *letter = byte,
            None => return badarg(),
        }
    }
    let file = chunks(&bytes);
    match file.as_ref().and_then(|file| file.chunk(&id)) {
        Some(chunk) => Ok(ctx.binary(chunk)),
        None => Ok(Term::UNDEFINED),
    }
}

/// `erts_internal:beamfile_module_md5(Code)`: the module's MD5, or `undefined`.
pub(super) fn beamfile_module_md5_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(bytes) = args[0].as_binary() else { return badarg() };
    match chunks(&bytes).as_ref().and_then(myriad_beam::module_md5) {
        Some(md5) => Ok(ctx.binary(&md5)),
        None => Ok(Term::UNDEFINED),
    }
}

/// `code:coverage_support()`: there is none in the VM, so `cover` instruments modules itself.
pub(super) fn coverage_support_0(_: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    Ok(Term::FALSE)
}
