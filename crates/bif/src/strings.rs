//! Module `string`: texts measured, cut, searched and compared, tried before its Erlang code; and the steps of `unicode_util` and
//! `unicode` over characters.
//!
//! A text is done here if it is a flat list of characters or one binary of UTF-8, as far as the Erlang code would look at it.
//!
//! - What has other clusters than single characters and CR LF is declined, and so is what is nested, wrong or rare: that code
//!   begins anew, so that results and errors are its own. The functions that have a body are those which do not call
//!   themselves, so that this happens once in a call.
//! - Work is counted by a [`Budget`](crate::format::Budget), as in formatting.

mod case;
mod chars;
mod compare;
mod cut;
mod older;
mod search;
mod separators;
mod text;

use myriad_term::{Term, am};
use myriad_vm::bif::Escape;

/// What a field is filled with unless something else is said.
const SPACE: Term = Term::small(b' ' as i64);
/// Bytes that count as one character where they are looked through many at a time.
const BYTES_AT_ONCE: usize = 16;
/// Characters of patterns, and separators, that are taken; more are declined.
const LONGEST: usize = 256;
/// Characters that count as a reduction.
const CHARS_PER_REDUCTION: usize = 32;

myriad_vm::bifs! { pub STRING = "string" {
    "length" / 1 Body until 25 => cut::length;
    "reverse" / 1 Body until 25 => cut::reverse;
    "slice" / 2 Body until 25 => |ctx, a| cut::slice(ctx, a[0], a[1], None);
    "slice" / 3 Body until 25 => |ctx, a| cut::slice(ctx, a[0], a[1], Some(a[2]).filter(|most| !most.is_am(am::infinity)));
    "trim" / 1 Body until 25 => |ctx, a| cut::trim(ctx, a[0], None, None);
    "trim" / 2 Body until 25 => |ctx, a| cut::trim(ctx, a[0], Some(a[1]), None);
    "trim" / 3 Body until 25 => |ctx, a| cut::trim(ctx, a[0], Some(a[1]), Some(a[2]));
    "lexemes" / 2 Body until 25 => search::lexemes;
    "find" / 2 Body until 25 => |ctx, a| search::find(ctx, a, false);
    "find" / 3 Body until 25 => |ctx, a| match a[2].as_atom() {
        Some(am::leading) => search::find(ctx, a, false),
        Some(am::trailing) => search::find(ctx, a, true),
        _ => Err(Escape::Decline),
    };
    "split" / 2 Body until 25 => |ctx, a| search::split(ctx, a, search::Where::Leading);
    "split" / 3 Body until 25 => |ctx, a| search::split(ctx, a, match a[2].as_atom() {
        Some(am::leading) => search::Where::Leading,
        Some(am::trailing) => search::Where::Trailing,
        Some(am::all) => search::Where::All,
        _ => return Err(Escape::Decline),
    });
    "prefix" / 2 Body until 25 => search::prefix;
    "uppercase" / 1 Body until 25 => |ctx, a| case::convert(ctx, a[0], case::Case::Upper);
    "lowercase" / 1 Body until 25 => |ctx, a| case::convert(ctx, a[0], case::Case::Lower);
    "casefold" / 1 Body until 25 => |ctx, a| case::convert(ctx, a[0], case::Case::Fold);
    "titlecase" / 1 Body until 25 => |ctx, a| case::title(ctx, a[0]);
    "pad" / 2 Body until 25 => |ctx, a| cut::pad(ctx, a[0], a[1], cut::Side::Trailing, SPACE);
    "pad" / 3 Body until 25 => |ctx, a| cut::pad(ctx, a[0], a[1], cut::Side::of(a[2])?, SPACE);
    "pad" / 4 Body until 25 => |ctx, a| cut::pad(ctx, a[0], a[1], cut::Side::of(a[2])?, a[3]);
    "take" / 2 Body until 25 => |ctx, a| search::take(ctx, a, false);
    "take" / 3 Body until 25 => |ctx, a| search::take(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?);
    "take" / 4 Body until 25 => |ctx, a| match a[3].as_atom() {
        Some(am::leading) => search::take(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?),
        _ => Err(Escape::Decline),
    };
    "nth_lexeme" / 3 Body until 25 => search::nth_lexeme;
    "equal" / 2 Body until 25 => |ctx, a| compare::equal(ctx, a, false);
    "equal" / 3 Body until 25 => |ctx, a| compare::equal(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?);
    "chr" / 2 Body => |ctx, a| older::index(ctx, a, false);
    "rchr" / 2 Body => |ctx, a| older::index(ctx, a, true);
    "str" / 2 Body => older::index_of;
    "substr" / 2 Body => |ctx, a| older::part(ctx, a[0], a[1], None);
    "substr" / 3 Body => |ctx, a| older::part(ctx, a[0], a[1], Some(a[2]));
    "strip" / 1 Body => |ctx, a| older::strip(ctx, a[0], None, None);
    "strip" / 2 Body => |ctx, a| older::strip(ctx, a[0], Some(a[1]), None);
    "strip" / 3 Body => |ctx, a| older::strip(ctx, a[0], Some(a[1]), Some(a[2]));
    "tokens" / 2 Body => older::tokens;
    "to_upper" / 1 Body => |ctx, a| older::convert(ctx, a, true);
    "to_lower" / 1 Body => |ctx, a| older::convert(ctx, a, false);
}}

myriad_vm::bifs! { pub UNICODE_UTIL = "unicode_util" {
    "cp" / 1 Body until 25 => chars::first_char;
    "gc" / 1 Body until 25 => chars::first_cluster;
}}

myriad_vm::bifs! { pub UNICODE = "unicode" {
    "characters_to_list" / 1 Body => chars::to_list;
}}
