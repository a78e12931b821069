//! Loading NIF libraries: those of OTP that are part of the VM, and C libraries.

use crate::libraries;
use crate::native_names;
use myriad_nif::load::Refusal;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::code::NifBinding;
use myriad_vm::os_text::name_bytes;
use myriad_vm::{BifResult, Ctx};

/// `erlang:load_nif(Path, LoadInfo)`. The libraries that are part of the VM are named like their modules, which call this for
/// themselves; any other is a file.
pub(super) fn load_nif_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(path) = name_bytes(args[0], native_names::encoding(ctx.vm), true) else { return badarg() };
    let library = path.rsplit(|b| *b == b'/').next().unwrap_or(&path);
    let module = std::str::from_utf8(library).ok().and_then(Atom::existing);
    let (why, text) = match module.filter(|name| ctx.vm.bifs.is_nif_module(*name)) {
        Some(name) => match ctx.vm.code.bind_nifs(name, &ctx.vm.bifs, ctx.vm.engine()) {
            NifBinding::Bound => return Ok(Term::OK),
            NifBinding::Again => (am::reload, b"NIF library already loaded (reload disallowed since OTP 20).".to_vec()),
            NifBinding::NotLoaded => return badarg(),
        },
        None => {
            let file = [&path[..], b".so"].concat();
            match load(ctx, &file, args[1]) {
                Ok(()) => return Ok(Term::OK),
                Err(refusal) => (refusal.reason, refusal.text),
            }
        }
    };
    let text = ctx.byte_list(&text, Term::NIL);
    let reason = ctx.tuple(&[Term::atom(why), text]);
    Ok(ctx.tuple(&[Term::atom(am::error), reason]))
}

/// Loads a C library, if the file is one.
fn load(ctx: &mut Ctx<'_>, file: &[u8], info: Term) -> Result<(), Refusal> {
    match libraries::refusal(file) {
        None => myriad_nif::load::load(ctx, file, info),
        Some(why) => {
            let text = [b"Failed to load NIF library: '", file, b": ", why.as_bytes(), b"'"].concat();
            Err(Refusal { reason: am::load_failed, text })
        }
    }
}
