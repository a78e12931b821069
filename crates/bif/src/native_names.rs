//! File names between Erlang and the operating system, and what the command line says of encodings and warnings.

use myriad_sync::OnceLock;
use myriad_term::{Atom, Build, Export, Mfa, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::emulator_flags::{FileNames, Warnings, WrongNames};
use myriad_vm::os_text::{Encoding, name_bytes};
use myriad_vm::{BifResult, Ctx, Vm};
use std::ffi::CStr;

myriad_vm::bifs! { pub PRIM_FILE = "prim_file" {
    "internal_name2native" / 1 Plain => internal_name2native_1;
    "internal_native2name" / 1 Plain => internal_native2name_1;
    "internal_normalize_utf8" / 1 Plain => internal_normalize_utf8_1;
    "is_translatable" / 1 Plain => is_translatable_1;
}}

myriad_vm::bifs! { pub FILE = "file" {
    "native_name_encoding" / 0 Plain => |ctx, _| Ok(Term::atom(if names(ctx.vm).utf8 { am::utf8 } else { am::latin1 }));
}}

myriad_vm::bifs! { pub IO = "io" {
    "printable_range" / 0 Plain => |ctx, _| Ok(Term::atom(printable_range(ctx.vm)));
}}

myriad_vm::bifs! { pub ERROR_LOGGER = "error_logger" {
    "warning_map" / 0 Plain => |ctx, _| Ok(Term::atom(match ctx.vm.config.flags.warnings {
        Warnings::Warning => am::warning,
        Warnings::Info => am::info,
        Warnings::Error => am::error,
    }));
}}

/// As the flag `+pc` says: which characters are shown in strings.
pub fn printable_range(vm: &'static Vm) -> Atom {
    if vm.config.flags.shows_unicode { am::unicode } else { am::latin1 }
}

/// How names of files are encoded, and what a name that is wrong in UTF-8 leads to.
#[derive(Clone, Copy)]
pub struct Names {
    pub(crate) utf8: bool,
    wrong: Atom,
}

/// As the flag `+fn` says: `u`, `l` or `a` (as the locale), then `w`, `i` or `e`.
pub fn names(vm: &'static Vm) -> Names {
    let utf8 = match vm.config.flags.file_names {
        FileNames::Utf8 => true,
        FileNames::Latin1 => false,
        FileNames::Locale => locale_is_utf8(),
    };
    let wrong = match vm.config.flags.wrong_names {
        WrongNames::Warning => am::warning,
        WrongNames::Ignored => am::ignore,
        WrongNames::Error => am::error,
    };
    Names { utf8, wrong }
}

/// The encoding of the names of files and variables.
pub fn encoding(vm: &'static Vm) -> Encoding {
    if names(vm).utf8 { Encoding::Utf8 } else { Encoding::Latin1 }
}

/// Is the character set of the locale UTF-8? Looked up once: the environment of the system process names it.
fn locale_is_utf8() -> bool {
    static LOCALE: OnceLock<bool> = OnceLock::new();
    *LOCALE.get_or_init(look_up_locale)
}

fn look_up_locale() -> bool {
    // SAFETY: a locale object of our own, freed after its last use; the text that it gives is read before.
    unsafe {
        let locale = libc::newlocale(libc::LC_CTYPE_MASK, c"".as_ptr(), std::ptr::null_mut());
        if locale.is_null() {
            return false;
        }
        let name = libc::nl_langinfo_l(libc::CODESET, locale);
        let utf8 = !name.is_null() && matches!(CStr::from_ptr(name).to_bytes(), b"UTF-8" | b"utf8" | b"utf-8");
        libc::freelocale(locale);
        utf8
    }
}

/// The name in the system's encoding, with a NUL at its end.
fn internal_name2native_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(mut name) = name_bytes(args[0], encoding(ctx.vm), true) else { return badarg() };
    name.push(0);
    ctx.bump(name.len() / 16);
    Ok(ctx.binary(&name))
}

fn bytes(term: &Term) -> Result<std::borrow::Cow<'_, [u8]>, Escape> {
    term.as_binary().ok_or(myriad_vm::bif::BADARG)
}

fn internal_native2name_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let native = bytes(&args[0])?;
    let names = names(ctx.vm);
    if !names.utf8 {
        return Ok(ctx.byte_list(&native, Term::NIL));
    }
    match std::str::from_utf8(&native) {
        Ok(text) => Ok(ctx.string(text)),
        Err(_) => Ok(ctx.tuple(&[am::error.term(), names.wrong.term()])),
    }
}

/// The characters, composed (NFC): which the Erlang library does.
fn internal_normalize_utf8_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if std::str::from_utf8(&bytes(&args[0])?).is_err() {
        return badarg();
    }
    let nfc = Export::intern(Mfa { module: am::unicode, function: am::characters_to_nfc_list, arity: 1 });
    ctx.trap(nfc, args)
}

fn is_translatable_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let native = bytes(&args[0])?;
    Ok(Term::bool(!names(ctx.vm).utf8 || std::str::from_utf8(&native).is_ok()))
}
