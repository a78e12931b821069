//! `string:find/2,3`, `split/2,3`, `prefix/2`, `take/2,3,4`, `lexemes/2` and `nth_lexeme/3`.
//!
//! A pattern is found where its characters are, the last of them being a cluster.

use super::LONGEST;
use super::separators::{Mark, Separators};
use super::text::{Next, Text, each, ends_before, is_alone, with_text};
use crate::work::Budget;
use myriad_term::{Build, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Characters and tokens that there is room for at first.
const AT_FIRST: usize = 16;

/// What is looked for: some characters, the last of which is a cluster unless others join it.
struct Pattern {
    first: u32,
    /// Those behind the first.
    others: Vec<u32>,
}

impl Pattern {
    /// The characters of a list or a binary that is not empty.
    fn of(data: Term) -> Result<Pattern, Escape> {
        fn read<T: Text>(mut text: T) -> Option<Pattern> {
            let Next::Char(first) = text.next() else { return None };
            char::from_u32(first)?;
            let (mut others, mut last) = (Vec::new(), first);
            loop {
                match text.next() {
                    Next::Char(char) if others.len() < LONGEST => {
                        // (A list may hold what is no character.)
                        char::from_u32(char)?;
                        if others.is_empty() {
                            others.reserve(AT_FIRST);
                        }
                        others.push(char);
                        last = char;
                    }
                    Next::End if is_alone(last) => return Some(Pattern { first, others }),
                    _ => return None,
                }
            }
        }
        with_text!(data, text => read(text)).ok_or(Escape::Decline)
    }

    /// What is behind the pattern if it stands at the head of a text.
    fn behind<T: Text>(&self, text: T) -> Result<Option<T>, Escape> {
        let mut rest = text;
        let (mut wanted, mut others) = (self.first, self.others.iter());
        loop {
            let next = rest.next();
            let is_last = others.as_slice().is_empty();
            match next {
                Next::Other => return Err(Escape::Decline),
                Next::Char(char) if char == wanted && !is_last => {}
                Next::Char(char) if is_last => {
                    // The Erlang code looks where the cluster ends, whatever it is.
                    let mut after = rest;
                    if !is_alone(char) {
                        return Err(Escape::Decline);
                    }
                    let whole = ends_before(char, after.next())?;
                    return Ok((char == wanted && whole).then_some(rest));
                }
                _ => return Ok(None),
            }
            match others.next() {
                Some(char) => wanted = *char,
                None => return Ok(None),
            }
        }
    }

    /// Work of looking at one place.
    fn cost(&self) -> usize {
        1 + self.others.len()
    }
}

/// A place where a pattern was found.
struct Place<T> {
    at: T,
    behind: T,
    /// Characters from where the search began.
    chars: usize,
}

/// The first place where the pattern is.
fn search<T: Text>(ctx: &Ctx<'_>, budget: &mut Budget, text: T, pattern: &Pattern) -> Result<Option<Place<T>>, Escape> {
    let (mut at, mut chars) = (text, 0);
    loop {
        let next = each(ctx, budget, &mut at, |char| {
            let goes_on = char != pattern.first;
            chars += usize::from(goes_on);
            goes_on
        })?;
        match next {
            Next::End => return Ok(None),
            Next::Other => return Err(Escape::Decline),
            Next::Char(_) => {}
        }
        budget.spend(ctx, pattern.cost())?;
        if let Some(behind) = pattern.behind(at)? {
            return Ok(Some(Place { at, behind, chars }));
        }
        at.next();
        chars += 1;
    }
}

/// The last place where the pattern is, which may overlap with one before.
fn search_last<T: Text>(
    ctx: &Ctx<'_>,
    budget: &mut Budget,
    text: T,
    pattern: &Pattern,
) -> Result<Option<Place<T>>, Escape> {
    let (mut from, mut skipped, mut last) = (text, 0, None);
    while let Some(place) = search(ctx, budget, from, pattern)? {
        let chars = skipped + place.chars;
        from = place.at;
        from.next();
        skipped = chars + 1;
        last = Some(Place { chars, ..place });
    }
    Ok(last)
}

/// The text from where the pattern is, or `nomatch`.
pub fn find(ctx: &mut Ctx<'_>, args: &[Term], last: bool) -> BifResult {
    let pattern = Pattern::of(args[1])?;
    with_text!(args[0], text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let search = if last { search_last } else { search };
        let place = search(ctx, &mut budget, text, &pattern)?;
        budget.charge(ctx);
        Ok(place.map_or(Term::atom(am::nomatch), |place| place.at.rest(ctx, args[0])))
    })
}

/// The text behind the pattern, if it begins with that, or `nomatch`.
pub fn prefix(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let pattern = Pattern::of(args[1])?;
    ctx.bump(pattern.cost() / super::CHARS_PER_REDUCTION);
    with_text!(args[0], text => {
        let behind = pattern.behind(text)?;
        Ok(behind.map_or(Term::atom(am::nomatch), |behind| behind.rest(ctx, args[0])))
    })
}

/// Which places a text is split at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The first.
    Leading,
    /// The last.
    Trailing,
    /// All.
    All,
}

/// The parts of a text between places where the pattern is.
pub fn split(ctx: &mut Ctx<'_>, args: &[Term], places: Where) -> BifResult {
    let pattern = Pattern::of(args[1])?;
    let whole = args[0];
    with_text!(whole, text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let parts = match places {
            Where::All => split_all(ctx, &mut budget, whole, text, &pattern)?,
            _ => {
                let search = if places == Where::Trailing { search_last } else { search };
                match search(ctx, &mut budget, text, &pattern)? {
                    None => ctx.list(&[whole]),
                    Some(Place { at, behind, chars }) => {
                        ctx.make_room(2 * chars)?;
                        let (before, rest) = (text.up_to(ctx, whole, at, chars), behind.rest(ctx, whole));
                        ctx.list(&[before, rest])
                    }
                }
            }
        };
        budget.charge(ctx);
        Ok(parts)
    })
}

fn split_all<T: Text>(ctx: &mut Ctx<'_>, budget: &mut Budget, whole: Term, text: T, pattern: &Pattern) -> BifResult {
    let (mut from, mut parts) = (text, Vec::new());
    while let Some(Place { at, behind, chars }) = search(ctx, budget, from, pattern)? {
        if parts.is_empty() {
            parts.reserve(AT_FIRST);
        }
        parts.push(from.up_to(ctx, whole, at, chars));
        from = behind;
    }
    if parts.is_empty() {
        return Ok(ctx.list(&[whole]));
    }
    parts.push(from.rest(ctx, whole));
    Ok(ctx.list(&parts))
}

/// The text up to its first cluster that is no separator, and the rest; or up to its first separator.
pub fn take(ctx: &mut Ctx<'_>, args: &[Term], complement: bool) -> BifResult {
    let separators = Separators::of(args[1])?;
    let whole = args[0];
    with_text!(whole, text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let (end, chars) = if complement {
            let mark = separators.search(ctx, &mut budget, text)?;
            (mark.at, mark.chars)
        } else {
            separators.skip(ctx, &mut budget, text)?
        };
        ctx.make_room(2 * chars)?;
        budget.charge(ctx);
        let (taken, rest) = (text.up_to(ctx, whole, end, chars), end.rest(ctx, whole));
        Ok(ctx.tuple(&[taken, rest]))
    })
}

/// The parts of a text between separators, none of them empty.
pub fn lexemes(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let separators = Separators::of(args[1])?;
    let whole = args[0];
    with_text!(whole, text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let (mut from, mut parts) = (text, Vec::with_capacity(AT_FIRST));
        loop {
            let Mark { at, chars, behind, .. } = separators.search(ctx, &mut budget, from)?;
            if chars > 0 {
                parts.push(from.up_to(ctx, whole, at, chars));
            }
            match behind {
                Some(behind) => from = behind,
                None => break,
            }
        }
        budget.charge(ctx);
        Ok(ctx.list(&parts))
    })
}

/// One of those parts, or an empty text. Of each one the first cluster has to be known, as the Erlang code steps over that first.
pub fn nth_lexeme(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let separators = Separators::of(args[2])?;
    let (whole, number) = (args[0], args[1].as_usize().filter(|number| *number > 0).ok_or(Escape::Decline)?);
    with_text!(whole, text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let (mut from, mut left) = (text, number);
        loop {
            let Mark { at, chars, behind, .. } = separators.search(ctx, &mut budget, from)?;
            if chars > 0 {
                begins_alone(from)?;
                left -= 1;
                if left == 0 {
                    budget.charge(ctx);
                    return Ok(from.up_to(ctx, whole, at, chars));
                }
            }
            match behind {
                Some(behind) => from = behind,
                None => {
                    budget.charge(ctx);
                    return Ok(at.rest(ctx, whole));
                }
            }
        }
    })
}

/// Declines a text whose first cluster is not one character, or may be joined by others.
fn begins_alone<T: Text>(mut text: T) -> Result<(), Escape> {
    match text.next() {
        Next::Char(char) if is_alone(char) && ends_before(char, text.next())? => Ok(()),
        _ => Err(Escape::Decline),
    }
}
