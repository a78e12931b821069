//! Loading NIF libraries: those of OTP that are part of the VM, and C libraries.

use crate::libraries;
use crate::native_names;
use myriad_nif::load::Turn;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::code::{BuiltInNifs, NifBinding};
use myriad_vm::os_text::name_bytes;
use myriad_vm::{BifResult, Ctx};

/// `erlang:load_nif(Path, LoadInfo)`. The libraries that are part of the VM are named like their modules, which call this for
/// themselves; any other is a file.
pub(super) fn load_nif_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(path) = name_bytes(args[0], native_names::encoding(ctx.vm), true) else { return badarg() };
    let library = path.rsplit(|b| *b == b'/').next().unwrap_or(&path);
    // `prim_net` names its library otherwise.
    let library = if library == b"net" { b"prim_net" } else { library };
    let module = std::str::from_utf8(library).ok().and_then(Atom::existing);
    let (why, text) = match module.filter(|name| ctx.vm.bifs.is_nif_module(*name)) {
        Some(name) => match ctx.vm.code.bind_nifs(name, &ctx.vm.bifs, ctx.vm.engine(), Box::new(BuiltInNifs)) {
            NifBinding::Bound => return Ok(Term::OK),
            NifBinding::Again => (am::reload, b"NIF library already loaded (reload disallowed since OTP 20).".to_vec()),
            NifBinding::NotLoaded => return badarg(),
        },
        None => {
            let file = [&path[..], b".so"].concat();
            if let Some(why) = libraries::refusal(&file) {
                let text = [b"Failed to load NIF library: '", &file[..], b": ", why.as_bytes(), b"'"].concat();
                return Ok(refused(ctx, am::load_failed, &text));
            }
            return match ctx.current_function() {
                Some(mfa) => load_in_turn(ctx, mfa.module, file, args[1]),
                None => Ok(refused(ctx, am::bad_lib, b"Library module cannot be found")),
            };
        }
    };
    Ok(refused(ctx, why, &text))
}

/// `{error, {Why, Text}}`
fn refused(ctx: &mut Ctx<'_>, why: Atom, text: &[u8]) -> Term {
    let text = ctx.byte_list(text, Term::NIL);
    let reason = ctx.tuple(&[Term::atom(why), text]);
    ctx.tuple(&[Term::atom(am::error), reason])
}

/// Loads a C library for a module, once nobody else does.
fn load_in_turn(ctx: &mut Ctx<'_>, module: Atom, file: Vec<u8>, info: Term) -> BifResult {
    let Some(turn) = Turn::of(module) else {
        let mut file = Some(file);
        return ctx.yield_to(Box::new(move |ctx| load_in_turn(ctx, module, file.take().unwrap_or_default(), info)));
    };
    match myriad_nif::load::load(ctx, &turn, &file, info) {
        Ok(()) => Ok(Term::OK),
        Err(refusal) => Ok(refused(ctx, refusal.reason, &refusal.text)),
    }
}
