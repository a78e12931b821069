//! Module `string`: texts measured, cut, searched and compared, tried before its Erlang code.
//!
//! A text is done here if it is a flat list of characters or one binary of UTF-8, as far as the Erlang code would look at it.
//!
//! ST1. What has other clusters than single characters and CR LF is declined, and so is what is nested, wrong or rare: that code
//!      begins anew, so that results and errors are its own. The functions that have a body are those which do not call
//!      themselves, so that this happens once in a call.
//! ST2. Work is counted by a [`Budget`](crate::format::Budget), as in formatting.

mod case;
mod compare;
mod cut;
mod search;
mod separators;
mod text;

use myriad_term::am;
use myriad_vm::bif::Escape;

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
    "equal" / 2 Body until 25 => |ctx, a| compare::equal(ctx, a, false);
    "equal" / 3 Body until 25 => |ctx, a| compare::equal(ctx, a, a[2].as_bool().ok_or(Escape::Decline)?);
}}
