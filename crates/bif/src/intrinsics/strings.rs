//! Intrinsics of module `string`: texts measured, cut, searched and compared; and the steps of `unicode_util` and `unicode` over
//! characters.
//!
//! A text is done here if it is a flat list of characters or one binary of UTF-8, as far as the Erlang code would look at it.
//!
//! - What has other clusters than single characters and CR LF is declined, and so is what is nested, wrong or rare: that code
//!   begins anew, so that results and errors are its own. The functions that are intrinsics are those which do not call
//!   themselves, so that this happens once in a call.
//! - Work is counted by a [`Budget`](crate::work::Budget), as in formatting.

pub mod case;
pub mod chars;
pub mod compare;
pub mod cut;
pub mod older;
pub mod search;
pub mod separators;
pub mod text;

use myriad_term::Term;

/// What a field is filled with unless something else is said.
pub const SPACE: Term = Term::small(b' ' as i64);
/// Bytes that count as one character where they are looked through many at a time.
const BYTES_AT_ONCE: usize = 16;
/// Characters of patterns, and separators, that are taken; more are declined.
const LONGEST: usize = 256;
/// Characters that count as a reduction.
const CHARS_PER_REDUCTION: usize = 32;
