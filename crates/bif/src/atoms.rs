//! Atoms and their text.

use myriad_term::atom::{AtomError, MAX_CHARACTERS};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::{Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};
use std::borrow::Cow;

myriad_vm::bifs! { pub ATOMS = "erlang" {
    "atom_to_list" / 1 Plain => |ctx, a| a[0].as_atom().map(|atom| ctx.string(atom.text())).ok_or(myriad_vm::bif::BADARG);
    "atom_to_binary" / 2 Plain => atom_to_binary_2;
    "list_to_atom" / 1 Plain => |_, a| made(&list_text(a[0])?);
    "list_to_existing_atom" / 1 Plain => |_, a| existing(list_text(a[0]));
    "binary_to_atom" / 2 Plain => |_, a| made(&binary_text(&a[0], a[1])?);
    "binary_to_existing_atom" / 2 Plain => |_, a| existing(binary_text(&a[0], a[1]));
}}

fn made(text: &str) -> BifResult {
    match Atom::new(text) {
        Ok(atom) => Ok(atom.term()),
        Err(AtomError::TooLong | AtomError::TableFull) => Err(SYSTEM_LIMIT),
    }
}

/// The atom of a text; whatever is wrong with the text, no such atom exists.
fn existing(text: Result<impl AsRef<str>, Escape>) -> BifResult {
    match text.ok().and_then(|text| Atom::existing(text.as_ref())) {
        Some(atom) => Ok(atom.term()),
        None => badarg(),
    }
}

/// The text of a list of characters.
pub(crate) fn list_text(list: Term) -> Result<String, Escape> {
    let mut text = String::new();
    let mut items = list.list_iter();
    let mut count = 0;
    for item in items.by_ref() {
        let Some(c) = item.as_small().and_then(|v| u32::try_from(v).ok()).and_then(char::from_u32) else {
            return badarg();
        };
        text.push(c);
        count += 1;
        if count > MAX_CHARACTERS {
            return Err(SYSTEM_LIMIT);
        }
    }
    if items.tail().is_nil() { Ok(text) } else { badarg() }
}

fn binary_text(binary: &Term, encoding: Term) -> Result<Cow<'_, str>, Escape> {
    let Some(bytes) = binary.as_binary() else { return badarg() };
    let text = match encoding.as_atom() {
        Some(am::latin1) => Cow::Owned(bytes.iter().map(|b| char::from(*b)).collect::<String>()),
        Some(am::utf8 | am::unicode) => match valid(bytes) {
            Ok(text) => text,
            // Too long before it is wrong.
            Err(right) => {
                let too_long = right.chars().count() >= MAX_CHARACTERS;
                return if too_long { Err(SYSTEM_LIMIT) } else { badarg() };
            }
        },
        _ => return badarg(),
    };
    let too_long = text.len() > MAX_CHARACTERS && text.chars().count() > MAX_CHARACTERS;
    if too_long { Err(SYSTEM_LIMIT) } else { Ok(text) }
}

/// The text that bytes are, or what of them is right.
fn valid(bytes: Cow<'_, [u8]>) -> Result<Cow<'_, str>, String> {
    let right = |error: std::str::Utf8Error, bytes: &[u8]| {
        let right = bytes.get(..error.valid_up_to()).unwrap_or_default();
        std::str::from_utf8(right).unwrap_or_default().to_owned()
    };
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| right(error, bytes)),
        Cow::Owned(bytes) => {
            String::from_utf8(bytes).map(Cow::Owned).map_err(|error| right(error.utf8_error(), error.as_bytes()))
        }
    }
}

fn atom_to_binary_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(atom) = args[0].as_atom() else { return badarg() };
    match args[1].as_atom() {
        Some(am::utf8 | am::unicode) => Ok(ctx.binary(atom.text().as_bytes())),
        Some(am::latin1) => {
            let bytes: Option<Vec<u8>> = atom.text().chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
            bytes.map(|b| ctx.binary(&b)).ok_or(myriad_vm::bif::BADARG)
        }
        _ => badarg(),
    }
}
