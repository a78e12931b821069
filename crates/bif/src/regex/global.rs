//! `global`: all matches, in the order and with the peculiarities of the loop that module `re` has in Erlang.
//!
//! After an empty match, one that is not empty is tried for, anchored where that search had begun; and the next search begins
//! after it, or one character on.

use super::captured::Captures;
use super::pcre::Outcome;
use super::{Run, atom, pattern};
use myriad_term::{Build, Term};
use myriad_vm::{BifResult, Ctx};
use pcre2_sys::{PCRE2_ANCHORED, PCRE2_NOTEMPTY_ATSTART};

/// All matches.
pub fn run(ctx: &mut Ctx<'_>, run: &Run<'_>, captures: &Captures) -> BifResult {
    let len = run.subject.bytes().len();
    let crlf = pattern::has_crlf(&run.regex.code);
    let bits = run.options.run_bits;
    let (mut places, mut more) = (Vec::new(), Vec::new());
    let (mut found, mut any) = (Vec::new(), false);
    let mut start = run.options.offset;
    while start <= len {
        match run.find(ctx, start, bits, &mut places)? {
            Outcome::Match => {}
            other => {
                let without = run.without(ctx, other)?;
                if without.as_tuple().is_some() {
                    return Ok(without);
                }
                break;
            }
        }
        let Some((at, length)) = places.first().copied() else { break };
        any = true;
        found.extend(captures.of(ctx, run, &places));
        ctx.bump(8);
        if length > 0 {
            start = usize::try_from(at + length).unwrap_or(len);
            continue;
        }
        let outcome = run.find(ctx, start, bits | PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED, &mut more)?;
        let step = match (outcome, more.first()) {
            (Outcome::Match, Some((_, step))) => {
                found.extend(captures.of(ctx, run, &more));
                *step
            }
            (Outcome::NoMatch, _) => 0,
            (other, _) => {
                let without = run.without(ctx, other)?;
                if without.as_tuple().is_some() {
                    return Ok(without);
                }
                0
            }
        };
        let at = usize::try_from(at).unwrap_or(len);
        let next = match usize::try_from(step) {
            Ok(step) if step > 0 => at + step,
            _ => at + width(run.subject.bytes(), at, run.regex.source.is_unicode(), crlf),
        };
        // A match that ends before it begins must not lead back for ever.
        start = next.max(start + usize::from(next <= start));
    }
    match (any, found.is_empty()) {
        (false, _) => atom("nomatch"),
        (true, true) => atom("match"),
        (true, false) => {
            let list: Term = ctx.list(&found);
            let tag = atom("match")?;
            Ok(ctx.tuple(&[tag, list]))
        }
    }
}

/// How far it is to the next character, or over an end of line.
fn width(bytes: &[u8], at: usize, unicode: bool, crlf: bool) -> usize {
    match bytes.get(at..).unwrap_or(&[]) {
        [b'\r', b'\n', ..] if crlf => 2,
        [first, ..] if unicode => match first {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        },
        _ => 1,
    }
}
