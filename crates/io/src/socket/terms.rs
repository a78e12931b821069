//! Reading and making the maps, names and errors that the functions of this module take and give.

use myriad_term::{Atom, Build, Term, TermRef, am};
use myriad_vm::bif::{BADARG, Escape};
use myriad_vm::{BifResult, Ctx};

/// The atom of a text of ours. A full atom table leaves only what is there already.
pub(super) fn atom_of<'h>(text: &str) -> TermRef<'h> {
    Atom::new(text).unwrap_or(am::undefined).term()
}

/// A map of these pairs.
pub(super) fn map_of<'h, B: Build<'h>>(f: &mut B, pairs: &[(TermRef<'h>, TermRef<'h>)]) -> TermRef<'h> {
    myriad_term::map::from_pairs(f, pairs)
}

/// A map that was given.
#[derive(Clone, Copy)]
pub(super) struct Fields(Term);

impl Fields {
    /// Of a term, if it is a map.
    pub(super) fn of(term: Term) -> Option<Fields> {
        term.as_map().is_some().then_some(Fields(term))
    }

    /// The value of a key.
    pub(super) fn get(self, key: Atom) -> Option<Term> {
        self.0.as_map().and_then(|map| map.get(key.term()))
    }

    /// The value of a number.
    pub(super) fn get_number(self, key: i32) -> Option<Term> {
        self.0.as_map().and_then(|map| map.get(Term::small(i64::from(key))))
    }

    /// The value of a key that has no well-known name.
    pub(super) fn get_by(self, key: &str) -> Option<Term> {
        self.get(Atom::existing(key)?)
    }
}

/// `{ok, Value}`
pub(super) fn ok(ctx: &mut Ctx<'_>, value: Term) -> BifResult {
    Ok(ctx.tuple(&[Term::OK, value]))
}

/// `{error, Reason}`
pub(super) fn error(ctx: &mut Ctx<'_>, reason: Atom) -> BifResult {
    Ok(ctx.tuple(&[am::error.term(), reason.term()]))
}

/// `{invalid, What}`, which the Erlang code makes an error of.
pub(super) fn invalid(ctx: &mut Ctx<'_>, what: Atom) -> BifResult {
    Ok(ctx.tuple(&[am::invalid.term(), what.term()]))
}

/// A size or offset; else the answer: `{invalid, {integer_range, Number}}` for other integers, `badarg` for what is none.
pub(super) fn size_of(ctx: &mut Ctx<'_>, term: Term) -> Result<usize, BifResult> {
    match term.as_usize() {
        Some(size) => Ok(size),
        None if term.is_integer() => {
            let what = ctx.tuple(&[atom_of("integer_range"), term]);
            Err(Ok(ctx.tuple(&[am::invalid.term(), what])))
        }
        None => Err(Err(BADARG)),
    }
}

/// Raises `{invalid, What}`.
pub(super) fn raise_invalid<T>(ctx: &mut Ctx<'_>, what: Term) -> Result<T, Escape> {
    Err(Escape::Error(ctx.tuple(&[am::invalid.term(), what])))
}
