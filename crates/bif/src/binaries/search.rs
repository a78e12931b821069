//! Searching binaries: one pattern by memory search, several by an automaton that prefers the leftmost and there the longest
//! match, as OTP's.

use super::{LONG, bytes};
use crate::guards::sub_binary;
use crate::work;
use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;
use myriad_term::{Build, Magic, Term, am, magic};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use std::borrow::Cow;
use std::ops::Range;

myriad_vm::bifs! { pub SEARCH = "binary" {
    "compile_pattern" / 1 Plain => compile_pattern_1;
    "match" / 2 Plain => |ctx, a| find(ctx, a[0], a[1], Term::NIL, false);
    "match" / 3 Plain => |ctx, a| find(ctx, a[0], a[1], a[2], false);
    "matches" / 2 Plain => |ctx, a| find(ctx, a[0], a[1], Term::NIL, true);
    "matches" / 3 Plain => |ctx, a| find(ctx, a[0], a[1], a[2], true);
    "split" / 2 Plain => |ctx, a| split(ctx, a[0], a[1], Term::NIL);
    "split" / 3 Plain => |ctx, a| split(ctx, a[0], a[1], a[2]);
}}

/// Bytes that are searched for one reduction.
const BYTES_PER_REDUCTION: usize = 1024;

/// A compiled pattern.
enum Searcher {
    One(memmem::Finder<'static>),
    Many(AhoCorasick),
}

/// A pattern as it was given.
enum Pattern<'a> {
    One(Cow<'a, [u8]>),
    Many(AhoCorasick),
    Compiled(std::mem::ManuallyDrop<Magic>),
}

/// Start and length.
type Found = (usize, usize);

fn needle<'a>(term: Term) -> Result<Cow<'a, [u8]>, Escape> {
    let needle = bytes(term)?;
    if needle.is_empty() { badarg() } else { Ok(needle) }
}

fn pattern<'a>(term: Term) -> Result<Pattern<'a>, Escape> {
    if term.is_cons() {
        let mut items = term.list_iter();
        let mut needles = items.by_ref().map(needle).collect::<Result<Vec<_>, _>>()?;
        if !items.tail().is_nil() {
            return badarg();
        }
        if needles.len() == 1 {
            return needles.pop().map(Pattern::One).ok_or(BADARG);
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles);
        return automaton.map(Pattern::Many).map_err(|_| myriad_vm::bif::SYSTEM_LIMIT);
    }
    if let Some([kind, reference]) = term.as_tuple_of::<2>() {
        let magic = reference.as_magic().ok_or(BADARG)?;
        return match (kind.as_atom(), magic.get::<Searcher>()) {
            (Some(am::bm), Some(Searcher::One(_))) | (Some(am::ac), Some(Searcher::Many(_))) => Ok(Pattern::Compiled(magic)),
            _ => badarg(),
        };
    }
    needle(term).map(Pattern::One)
}

impl Pattern<'_> {
    /// All matches that do not overlap, from left to right; or the first only.
    fn search(&self, text: &[u8], all: bool) -> Vec<Found> {
        let limit = if all { usize::MAX } else { 1 };
        let one = |finder: &memmem::Finder<'_>| {
            let len = finder.needle().len();
            finder.find_iter(text).take(limit).map(|at| (at, len)).collect()
        };
        let many = |a: &AhoCorasick| a.find_iter(text).take(limit).map(|m| (m.start(), m.len())).collect();
        match self {
            Pattern::One(needle) => match needle.as_ref() {
                [byte] => memchr::memchr_iter(*byte, text).take(limit).map(|at| (at, 1)).collect(),
                needle if !all => memmem::find(text, needle).map(|at| (at, needle.len())).into_iter().collect(),
                needle => one(&memmem::Finder::new(needle)),
            },
            Pattern::Many(automaton) => many(automaton),
            Pattern::Compiled(magic) => match magic.get::<Searcher>() {
                Some(Searcher::One(finder)) => one(finder),
                Some(Searcher::Many(automaton)) => many(automaton),
                None => Vec::new(),
            },
        }
    }
}

/// `{bm | ac, Reference}`
fn compile_pattern_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (kind, searcher) = match pattern(args[0])? {
        Pattern::One(needle) => (am::bm, Searcher::One(memmem::Finder::new(needle.as_ref()).into_owned())),
        Pattern::Many(automaton) => (am::ac, Searcher::Many(automaton)),
        Pattern::Compiled(_) => return badarg(),
    };
    let numbers = ctx.sched.next_ref(ctx.vm);
    let reference = magic::magic_reference(ctx, numbers, Magic::new(searcher));
    Ok(ctx.tuple(&[kind.term(), reference]))
}

/// What options say.
#[derive(Default)]
struct Options {
    /// Where to search, in bytes.
    scope: Range<usize>,
    /// They are those of `split`.
    splits: bool,
    global: bool,
    trim: bool,
    trim_all: bool,
}

/// The options for a subject of `size` bytes.
fn options(list: Term, size: usize, splits: bool) -> Result<Options, Escape> {
    let mut options = Options { scope: 0..size, splits, ..Options::default() };
    let mut items = list.list_iter();
    for item in items.by_ref() {
        match item.as_atom() {
            Some(am::global) if splits => options.global = true,
            Some(am::trim) if splits => options.trim = true,
            Some(am::trim_all) if splits => options.trim_all = true,
            Some(_) => return badarg(),
            None => match item.as_tuple_of::<2>() {
                Some([key, part]) if key.is_am(am::scope) => match part.as_tuple_of::<2>() {
                    Some([start, len]) => options.scope = scope(start, len, size)?,
                    None => return badarg(),
                },
                _ => return badarg(),
            },
        }
    }
    // `split` takes a list that ends in anything.
    if splits && list.is_list() || items.tail().is_nil() { Ok(options) } else { badarg() }
}

/// From a start and a length, which may be negative: then the scope ends where it is said to start.
fn scope(start: Term, len: Term, size: usize) -> Result<Range<usize>, Escape> {
    let (Some(start), Some(len)) = (start.as_usize(), len.as_small()) else { return badarg() };
    let end = i64::try_from(start).ok().and_then(|s| s.checked_add(len)).and_then(|e| usize::try_from(e).ok()).ok_or(BADARG)?;
    let scope = start.min(end)..start.max(end);
    if scope.end > size { badarg() } else { Ok(scope) }
}

/// The matches in the scope, counted from the start of the subject.
fn search(ctx: &mut Ctx<'_>, subject: &[u8], by: Term, options: &Options, all: bool) -> Result<Vec<Found>, Escape> {
    let scope = subject.get(options.scope.clone()).ok_or(BADARG)?;
    if scope.is_empty() && (!options.splits || subject.is_empty()) {
        // OTP does not look at the pattern then.
        return Ok(Vec::new());
    }
    let pattern = pattern(by)?;
    if scope.len() > LONG {
        work::dirty(ctx)?;
    }
    let mut found = pattern.search(scope, all);
    let seen = if all { scope.len() } else { found.first().map_or(scope.len(), |(at, _)| *at) };
    ctx.bump(seen / BYTES_PER_REDUCTION + found.len() / 8);
    for (at, _) in &mut found {
        *at += options.scope.start;
    }
    Ok(found)
}

fn find(ctx: &mut Ctx<'_>, subject: Term, by: Term, list: Term, all: bool) -> BifResult {
    let text = bytes(subject)?;
    let options = options(list, text.len(), false)?;
    let found = search(ctx, &text, by, &options, all)?;
    let tuples: Vec<Term> =
        found.into_iter().map(|(at, len)| ctx.tuple(&[Term::small(at as i64), Term::small(len as i64)])).collect();
    Ok(match tuples.first() {
        _ if all => ctx.list(&tuples),
        Some(first) => *first,
        None => Term::atom(am::nomatch),
    })
}

fn split(ctx: &mut Ctx<'_>, subject: Term, by: Term, list: Term) -> BifResult {
    let text = bytes(subject)?;
    let options = options(list, text.len(), true)?;
    let found = search(ctx, &text, by, &options, options.global)?;
    let mut parts: Vec<Found> = Vec::with_capacity(found.len() + 1);
    let mut from = 0;
    for (at, len) in found {
        parts.push((from, at - from));
        from = at + len;
    }
    parts.push((from, text.len() - from));
    if options.trim_all {
        parts.retain(|(_, len)| *len > 0);
    } else if options.trim {
        while parts.last().is_some_and(|(_, len)| *len == 0) {
            parts.pop();
        }
    }
    if let [(0, len)] = parts.as_slice()
        && *len == text.len()
    {
        return Ok(ctx.list(&[subject]));
    }
    let terms: Vec<Term> = parts.into_iter().map(|(at, len)| sub_binary(ctx, subject, at * 8, len * 8)).collect();
    Ok(ctx.list(&terms))
}

#[cfg(test)]
mod tests {
    use crate::test_support::{call, in_process, text};
    use myriad_term::{Build, Term, am};

    #[test]
    fn compiled_patterns_work_as_their_sources() {
        in_process(|ctx| {
            let subject = ctx.binary(b"aXbYYc");
            let [x, yy, y] = [b"X".as_slice(), b"YY", b"Y"].map(|t| ctx.binary(t));
            let list = ctx.list(&[y, x, yy]);
            let Ok(many) = call(ctx, "binary", "compile_pattern", &[list]) else { panic!("a pattern") };
            let Ok(one) = call(ctx, "binary", "compile_pattern", &[yy]) else { panic!("a pattern") };
            assert_eq!(text(call(ctx, "binary", "matches", &[subject, many])), "[{1,1},{3,2}]");
            assert_eq!(text(call(ctx, "binary", "match", &[subject, one])), "{3,2}");
            let reference = one.as_tuple_of::<2>().map(|[_, r]| r).unwrap();
            let wrong = ctx.tuple(&[Term::atom(am::ac), reference]);
            assert_eq!(text(call(ctx, "binary", "match", &[subject, wrong])), "error:badarg");
        });
    }
}
