//! Any pattern in the dialect of PCRE 8.44 is translated or refused, in bounded time and memory.
//!
//! The input: a byte of options, a byte whose value modulo five is the line end, the pattern.

use myriad_pcre_dialect::{MOST_BYTES_FOR_ONE, Newline, Options, translate};

const NEWLINES: [Newline; 5] = [Newline::Lf, Newline::Cr, Newline::CrLf, Newline::Any, Newline::AnyCrLf];

/// See the file's head.
pub fn pcre_dialect(bytes: &[u8]) {
    let [bits, newline, pattern @ ..] = bytes else { return };
    let has = |bit: u8| bits >> bit & 1 != 0;
    let options = Options {
        unicode: has(0),
        never_unicode: has(1),
        extended: has(2),
        no_auto_capture: has(3),
        same_names: has(4),
        caseless: has(5),
        newline: NEWLINES[usize::from(*newline) % NEWLINES.len()],
    };
    match translate(pattern, options) {
        Ok(new) => assert!(new.len() <= MOST_BYTES_FOR_ONE * pattern.len(), "{} bytes", new.len()),
        Err(error) => assert!(error.offset <= pattern.len(), "{error:?}"),
    }
}
