//! Verbs at the start of a pattern, ends of lines, which they may change, and comments.

use super::Modes;
use crate::regex::tables::is_space;

/// What ends a line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Newline {
    /// A carriage return.
    Cr,
    /// A line feed.
    #[default]
    Lf,
    /// Both, in this order.
    CrLf,
    /// Any that Unicode knows.
    Any,
    /// One of the three.
    AnyCrLf,
}

/// Verbs at the start of a pattern, those before `=` with a number.
const VERBS: [&[u8]; 14] = [
    b"UTF8",
    b"UTF",
    b"UCP",
    b"NO_AUTO_POSSESS",
    b"NO_START_OPT",
    b"LIMIT_MATCH=",
    b"LIMIT_RECURSION=",
    b"CR",
    b"LF",
    b"CRLF",
    b"ANY",
    b"ANYCRLF",
    b"BSR_ANYCRLF",
    b"BSR_UNICODE",
];

/// The verb that a pattern begins with.
pub fn verb(text: &[u8]) -> Option<&[u8]> {
    let body = text.strip_prefix(b"(*")?;
    let verb = &body[..memchr::memchr(b')', body)?];
    let known = |v: &&[u8]| {
        **v == *verb || v.ends_with(b"=") && verb.strip_prefix(*v).is_some_and(|n| n.iter().all(u8::is_ascii_digit))
    };
    VERBS.iter().any(known).then_some(verb)
}

/// Where the pattern proper begins, and the modes with what stands before it.
pub fn read(text: &[u8], mut modes: Modes) -> (usize, Modes) {
    let mut at = 0;
    while let Some(verb) = verb(&text[at..]) {
        at += verb.len() + 3;
        match verb {
            b"UTF8" | b"UTF" => modes.unicode = true,
            b"CR" => modes.newline = Newline::Cr,
            b"LF" => modes.newline = Newline::Lf,
            b"CRLF" => modes.newline = Newline::CrLf,
            b"ANY" => modes.newline = Newline::Any,
            b"ANYCRLF" => modes.newline = Newline::AnyCrLf,
            _ => {}
        }
    }
    (at, modes)
}

/// The length of the end of line that a text begins with.
fn line_end(text: &[u8], modes: Modes) -> Option<usize> {
    let any = modes.newline == Newline::Any;
    match text {
        [b'\r', b'\n', ..] if !matches!(modes.newline, Newline::Cr | Newline::Lf) => Some(2),
        [b'\r', ..] if !matches!(modes.newline, Newline::Lf | Newline::CrLf) => Some(1),
        [b'\n', ..] if !matches!(modes.newline, Newline::Cr | Newline::CrLf) => Some(1),
        [0x0b | 0x0c, ..] if any => Some(1),
        [0x85, ..] if any && !modes.unicode => Some(1),
        [0xc2, 0x85, ..] if any && modes.unicode => Some(2),
        [0xe2, 0x80, 0xa8 | 0xa9, ..] if any && modes.unicode => Some(3),
        _ => None,
    }
}

/// How far the next line is.
fn line(text: &[u8], modes: Modes) -> usize {
    let end = (0..text.len()).find_map(|at| Some(at + line_end(&text[at..], modes)?));
    end.unwrap_or(text.len())
}

/// Blanks and comments up to ends of lines, if they mean nothing: where what follows begins.
fn plain_blanks(text: &[u8], extended: bool, modes: Modes) -> usize {
    let mut at = 0;
    if !extended {
        return at;
    }
    loop {
        at += text[at..].iter().take_while(|b| is_space(**b)).count();
        if text.get(at) != Some(&b'#') {
            return at;
        }
        at += line(&text[at..], modes);
    }
}

/// How far what is skipped at once goes: blanks and comments that mean nothing, then a comment in parentheses.
pub fn blanks(text: &[u8], extended: bool, modes: Modes) -> usize {
    let blanks = plain_blanks(text, extended, modes);
    let rest = &text[blanks..];
    if !rest.starts_with(b"(?#") {
        return blanks;
    }
    blanks + memchr::memchr(b')', rest).map_or(rest.len(), |close| close + 1)
}

/// Is what is skipped there a comment in parentheses that has no end?
pub fn is_open_comment(text: &[u8], at: usize, extended: bool, modes: Modes) -> bool {
    let text = text.get(at..).unwrap_or(&[]);
    let rest = &text[plain_blanks(text, extended, modes)..];
    rest.starts_with(b"(?#") && !rest.contains(&b')')
}
