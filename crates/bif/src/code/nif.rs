//! Loading NIF libraries: those of OTP that are part of the VM.

use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::code::NifBinding;
use myriad_vm::{BifResult, Ctx};

/// A library's path: a list of characters or a UTF-8 binary.
fn path(term: Term) -> Option<String> {
    if let Some(bytes) = term.as_binary() {
        return String::from_utf8(bytes.into_owned()).ok();
    }
    term.list_length()?;
    term.list_iter().map(|c| c.as_small().and_then(|c| char::from_u32(u32::try_from(c).ok()?))).collect()
}

/// `erlang:load_nif(Path, LoadInfo)`. The libraries that there are are named like their modules, which call this for
/// themselves; any other is answered as a file that is not there.
pub(super) fn load_nif_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(path) = path(args[0]) else { return badarg() };
    let library = path.rsplit('/').next().unwrap_or(&path);
    let module = Atom::existing(library).filter(|name| ctx.vm.bifs.is_nif_module(*name));
    let bound = match module {
        Some(name) => ctx.vm.code.bind_nifs(name, &ctx.vm.bifs, ctx.vm.engine()),
        None => NifBinding::NotLoaded,
    };
    let (why, text) = match bound {
        NifBinding::Bound => return Ok(Term::OK),
        NifBinding::Again => (am::reload, "NIF library already loaded (reload disallowed since OTP 20).".to_owned()),
        NifBinding::NotLoaded => {
            let reason = "cannot open shared object file: No such file or directory";
            (am::load_failed, format!("Failed to load NIF library: '{path}.so: {reason}'"))
        }
    };
    let text = ctx.string(&text);
    let reason = ctx.tuple(&[Term::atom(why), text]);
    Ok(ctx.tuple(&[Term::atom(am::error), reason]))
}
