//! What a match gives back: which groups, in which form.

use super::Run;
use super::options::{Form, Which};
use super::pcre::Place;
use crate::iolists::bytes_of;
use myriad_term::binary::HEAP_BINARY_LIMIT;
use myriad_term::{Build, Term, am};
use myriad_vm::Ctx;
use myriad_vm::bif::{Escape, badarg};

/// A group that is wanted: any of these numbers that took part.
type Wanted = Vec<usize>;

/// The groups of each match that are wanted.
enum Groups {
    /// Only that there is a match.
    None,
    /// Those from this one on, as far as they took part.
    From(usize),
    /// The whole.
    Whole,
    /// These.
    Listed(Vec<Wanted>),
}

/// How to make terms of matches.
pub struct Captures {
    groups: Groups,
    /// The binary that the subject lies in, and the bit where it begins.
    whole: Option<(Term, usize)>,
}

/// The value of a group that took no part.
const NOWHERE: Place = (-1, 0);

impl Captures {
    /// Reads what is wanted; badarg if there is something else in the list.
    pub fn new(ctx: &mut Ctx<'_>, run: &Run<'_>, subject: Term) -> Result<Captures, Escape> {
        let names = &run.regex.names;
        let groups = match run.options.which {
            Which::All => Groups::From(0),
            Which::AllButFirst => Groups::From(1),
            Which::First => Groups::Whole,
            Which::Nothing => Groups::None,
            Which::AllNames if names.is_empty() => Groups::None,
            Which::AllNames => Groups::Listed(names.iter().map(|(_, groups)| groups.clone()).collect()),
            Which::Listed(list) => Groups::Listed(listed(ctx, run, list)?),
        };
        let whole = subject.binary_parts().map(|(whole, offset, _)| (whole, offset));
        Ok(Captures { groups, whole })
    }

    /// The groups of a match; nothing if only its being there is wanted.
    pub fn of(&self, ctx: &mut Ctx<'_>, run: &Run<'_>, places: &[Place]) -> Option<Term> {
        let items: Vec<Term> = match &self.groups {
            Groups::None => return None,
            Groups::From(first) => places.iter().skip(*first).map(|p| self.one(ctx, run, *p)).collect(),
            Groups::Whole => places.iter().take(1).map(|p| self.one(ctx, run, *p)).collect(),
            Groups::Listed(list) => list
                .iter()
                .map(|numbers| {
                    let nth = |n: &usize| places.get(*n).copied().filter(|p| *p != NOWHERE);
                    self.one(ctx, run, numbers.iter().find_map(nth).unwrap_or(NOWHERE))
                })
                .collect(),
        };
        Some(ctx.list(&items))
    }

    fn one(&self, ctx: &mut Ctx<'_>, run: &Run<'_>, (at, len): Place) -> Term {
        if matches!(run.options.form, Form::Index) {
            return ctx.tuple(&[Term::small(at), Term::small(len)]);
        }
        let (at, len) = (usize::try_from(at).unwrap_or(0), usize::try_from(len).unwrap_or(0));
        let bytes = run.subject.bytes().get(at..at + len).unwrap_or(&[]);
        match (run.options.form, self.whole) {
            (Form::List, _) if run.regex.source.is_unicode() => characters(ctx, bytes),
            (Form::List, _) => ctx.byte_list(bytes, Term::NIL),
            (_, Some((whole, offset))) if bytes.len() > HEAP_BINARY_LIMIT => {
                ctx.sub_binary(whole, offset + at * 8, len * 8)
            }
            _ => ctx.binary(bytes),
        }
    }
}

/// Part of a text as a list of characters; as `unicode:characters_to_list/1` gives it if `\C` has cut through a character.
fn characters(ctx: &mut Ctx<'_>, bytes: &[u8]) -> Term {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return ctx.string(text),
        Err(error) => error,
    };
    let (good, rest) = bytes.split_at(error.valid_up_to());
    let list = ctx.string(&String::from_utf8_lossy(good));
    let rest = ctx.binary(rest);
    let what = if error.error_len().is_none() { am::incomplete } else { am::error };
    ctx.tuple(&[what.term(), list, rest])
}

/// The groups that a list of numbers and names asks for.
fn listed(ctx: &mut Ctx<'_>, run: &Run<'_>, list: Term) -> Result<Vec<Wanted>, Escape> {
    let names = &run.regex.names;
    let by_name = |name: &[u8]| {
        // A name ends where a C string does.
        let name = name.split(|b| *b == 0).next().unwrap_or(&[]);
        names.iter().find(|(n, _)| n == name).map_or_else(Vec::new, |(_, groups)| groups.clone())
    };
    let mut wanted = Vec::new();
    let mut items = list.list_iter();
    for item in items.by_ref() {
        wanted.push(match (item.as_small(), item.as_atom()) {
            (Some(n), _) => match i32::try_from(n).ok().and_then(|n| usize::try_from(n).ok()) {
                Some(n) => vec![n],
                None => return badarg(),
            },
            (_, Some(name)) => by_name(name.text().as_bytes()),
            _ if item.is_nil() => return badarg(),
            _ => by_name(&bytes_of(ctx, item)?),
        });
    }
    if items.tail().is_nil() { Ok(wanted) } else { badarg() }
}
