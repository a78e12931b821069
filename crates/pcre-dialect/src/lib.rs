//! Regular expressions in the dialect of PCRE 8.44, translated for PCRE2.
//!
//! OTP has PCRE 8.44 before release 28 and PCRE2 from then on. Myriad has PCRE2 alone. With a root of an older release, a
//! pattern must mean what it meant there, and be refused with the same message at the same offset; PCRE2 by itself differs in
//! both. [`translate`] takes the bytes of a pattern and [`Options`], and gives the bytes of a PCRE2 pattern that
//! matches the same subjects, or an [`Error`]. With a root of OTP 28 or later nobody calls this crate.
//!
//! It depends on no other crate of Myriad and has no term, process or library in it. The caller compiles the
//! translation with PCRE2, and hands PCRE2's own errors to [`error_of_pcre2`].
//!
//! A pattern goes through two modules, one after the other:
//!
//! | module | does |
//! | --- | --- |
//! | [`check`] | finds what PCRE 8.44 refuses, and collects what the rewriting must know of an accepted pattern |
//! | [`rewrite`] | copies an accepted pattern, replacing the constructs whose meaning differs |
//! | [`lead`] | verbs at the start of a pattern, line ends, blanks and comments: the lexical part of both |
//! | [`latin1`] | letters, blanks and words by Latin-1, as in OTP's character tables |
//! | [`fault`] | messages |
//!
//! Patterns come from users, so time and memory are bounded by the length of the pattern, whatever it holds:
//!
//! - No function recurses with the nesting of the pattern.
//! - Reading and rewriting are passes from left to right. Only lengths of groups and recursion without end need to follow
//!   calls from group to group; `check::shape` does so with a bounded number of steps.
//! - A translation is at most [`MOST_BYTES_FOR_ONE`] times as long as the pattern.
//!
//! The fuzz target `pcre_dialect` holds the crate to them.

#![forbid(unsafe_code)]

mod check;
mod fault;
pub mod latin1;
mod lead;
mod options;
mod rewrite;

pub use fault::{Error, Fault, error_of_pcre2};
pub use options::{Newline, Options};

/// How many bytes of a translation there are at most for one byte of the pattern.
pub const MOST_BYTES_FOR_ONE: usize = 32;

/// Translates a pattern.
///
/// The pattern ends at its first NUL. If it is to be UTF-8 and is not, it comes back unchanged, for PCRE2 to refuse: PCRE 8.44 looks at that
/// before all else, and both name the same offset.
pub fn translate(pattern: &[u8], options: Options) -> Result<Vec<u8>, Error> {
    let text = lead::before_nul(pattern);
    let (start, options) = lead::read(text, options);
    if options.unicode && !options.never_unicode && std::str::from_utf8(text).is_err() {
        return Ok(pattern.to_vec());
    }
    let found = check::check(text, start, options)?;
    Ok(rewrite::rewrite(text, options, &found))
}
