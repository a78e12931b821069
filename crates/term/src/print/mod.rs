//! Terms as text: the form of `erlang:display/1`, of error reports and crash dumps, and of `pid_to_list/1` and its like.
//!
//! P1. Nothing here recurses on terms: nesting is limited by memory only.
//! P2. With a limit, at most that many terms (and characters of strings, bytes of binaries) are printed, then `...`.
//!
//! Floats have six digits here, as BEAM prints them; their exact text is in `number_text`. `io:format/2` prints in Erlang.

mod atom;
mod identity;
#[cfg(test)]
mod tests;
mod walk;

pub use atom::{atom_text, needs_quotes};
pub use identity::{NodeLookup, fun_text, parse_pid, parse_port, parse_ref, pid_text, port_text, ref_text};

use crate::word::TermRef;
use std::fmt;
use walk::Printer;

/// Terms that `{:?}` shows.
const DEBUG_LIMIT: usize = 400;

/// What `erlang:display/1` prints, without its `\r\n` at the end. Characters of strings beyond ASCII are Latin-1 bytes, those of
/// atoms UTF-8, as on BEAM.
pub fn display(term: TermRef<'_>) -> Vec<u8> {
    let mut printer = Printer::new(usize::MAX, true);
    printer.print(term);
    printer.into_bytes()
}

/// The same in UTF-8 throughout, of at most `limit` terms (P2): for reports and crash dumps.
pub fn text(term: TermRef<'_>, limit: usize) -> String {
    let mut printer = Printer::new(limit, false);
    printer.print(term);
    String::from_utf8(printer.into_bytes()).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

impl fmt::Display for TermRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(*self, usize::MAX))
    }
}

impl fmt::Debug for TermRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(*self, DEBUG_LIMIT))
    }
}
