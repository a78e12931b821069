//! Funs: making them by name, and what they say of themselves.

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
        am::module => entry.module.term(),
        am::name => name_of(entry),
        am::arity => Term::small(i64::from(entry.arity)),
        am::env => ctx.list(free),
        am::pid if ctx.vm.release.fun_pid_is_init => myriad_term::Pid::new(0, 0).term(),
        am::pid => creator,
        am::index | am::new_index => Term::small(i64::from(entry.index)),
        am::uniq => Term::small(i64::from(entry.old_uniq)),
        am::new_uniq => ctx.binary(&entry.uniq),
        // Entries are not counted: one for the term that is asked about, one for the loaded code.
        am::refc => Term::small(1 + i64::from(entry.is_loaded())),
        _ => return None,
    })
}

/// `erlang:fun_info_mfa(Fun)`: `{Module, Name, Arity}`.
pub(super) fn fun_info_mfa_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (module, name, arity) = if let Some(export) = args[0].as_export_fun() {
        (export.mfa.module, export.mfa.function.term(), export.mfa.arity)
    } else if let Some((entry, ..)) = args[0].as_local_fun() {
        (entry.module, name_of(entry), entry.arity)
    } else {
        return badarg();
    };
    Ok(ctx.tuple(&[module.term(), name, Term::small(i64::from(arity))]))
}

/// `erlang:fun_to_list(Fun)`.
pub(super) fn fun_to_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let text = if let Some(export) = args[0].as_export_fun() {
        let Mfa { module, function, arity } = export.mfa;
        format!("fun {}:{}/{arity}", quoted(module), quoted(function))
    } else if let Some((entry, ..)) = args[0].as_local_fun() {
        format!("#Fun<{}.{}.{}>", quoted(entry.module), entry.index, entry.old_uniq)
    } else {
        return badarg();
    };
    // OTP gives the bytes of the text in UTF-8, not its characters.
    Ok(ctx.byte_list(text.as_bytes(), Term::NIL))
}

/// An atom as OTP's run-time system prints it: quoted unless it is a Latin-1 word that begins with a small letter.
fn quoted(atom: Atom) -> String {
    let text = atom.text();
    let is_small = |c: char| c.is_ascii_lowercase() || matches!(c, '\u{df}'..='\u{ff}') && c != '÷';
    let is_capital = |c: char| c.is_ascii_uppercase() || matches!(c, '\u{c0}'..='\u{de}') && c != '×';
    let is_inner = |c: char| is_small(c) || is_capital(c) || c.is_ascii_digit() || c == '_';
    if text.starts_with(is_small) && text.chars().all(is_inner) {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        let letter = match c {
            '\n' => 'n',
            '\r' => 'r',
            '\t' => 't',
            '\u{b}' => 'v',
            '\u{8}' => 'b',
            '\u{c}' => 'f',
            '\'' | '\\' => c,
            '\0'..='\u{1f}' | '\u{80}'..='\u{9f}' => {
                quoted.push_str(&format!("\\{:03o}", u32::from(c)));
                continue;
            }
            _ => {
                quoted.push(c);
                continue;
            }
        };
        quoted.extend(['\\', letter]);
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_are_quoted_as_otp_quotes_them() {
        let cases = [
            ("", "''"),
            ("A", "'A'"),
            ("a_1", "a_1"),
            ("aB9", "aB9"),
            ("a@b", "'a@b'"),
            ("é1", "é1"),
            ("aÀß", "aÀß"),
            ("a÷", "'a÷'"),
            ("_a", "'_a'"),
            ("it's", "'it\\'s'"),
            ("a\\b", "'a\\\\b'"),
            ("a\n\u{b}\u{1b}\u{7f}\u{80}", "'a\\n\\v\\033\u{7f}\\200'"),
            ("日", "'日'"),
            ("end", "end"),
        ];
        for (text, want) in cases {
            assert_eq!(quoted(Atom::new(text).unwrap()), want);
        }
    }
}
