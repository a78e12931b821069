//! Verbs at the start of a pattern, ends of lines, which they may change, and comments.

use crate::latin1::is_space;
use crate::options::{Newline, Options};

/// The pattern proper: a NUL ends it.
pub fn before_nul(pattern: &[u8]) -> &[u8] {
    &pattern[..memchr::memchr(0, pattern).unwrap_or(pattern.len())]
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

/// Where the pattern proper begins, and the options with what stands before it.
pub fn read(text: &[u8], mut options: Options) -> (usize, Options) {
    let mut at = 0;
    while let Some(verb) = verb(&text[at..]) {
        at += verb.len() + 3;
        match verb {
            b"UTF8" | b"UTF" => options.unicode = true,
            b"CR" => options.newline = Newline::Cr,
            b"LF" => options.newline = Newline::Lf,
            b"CRLF" => options.newline = Newline::CrLf,
            b"ANY" => options.newline = Newline::Any,
            b"ANYCRLF" => options.newline = Newline::AnyCrLf,
            _ => {}
        }
    }
    (at, options)
}

/// The length of the end of line that a text begins with.
fn line_end(text: &[u8], options: Options) -> Option<usize> {
    let any = options.newline == Newline::Any;
    match text {
        [b'\r', b'\n', ..] if !matches!(options.newline, Newline::Cr | Newline::Lf) => Some(2),
        [b'\r', ..] if !matches!(options.newline, Newline::Lf | Newline::CrLf) => Some(1),
        [b'\n', ..] if !matches!(options.newline, Newline::Cr | Newline::CrLf) => Some(1),
        [0x0b | 0x0c, ..] if any => Some(1),
        [0x85, ..] if any && !options.unicode => Some(1),
        [0xc2, 0x85, ..] if any && options.unicode => Some(2),
        [0xe2, 0x80, 0xa8 | 0xa9, ..] if any && options.unicode => Some(3),
        _ => None,
    }
}

/// How far the next line is.
fn line(text: &[u8], options: Options) -> usize {
    let end = (0..text.len()).find_map(|at| Some(at + line_end(&text[at..], options)?));
    end.unwrap_or(text.len())
}

/// Blanks and comments up to ends of lines, if they mean nothing: where what follows begins.
fn plain_blanks(text: &[u8], extended: bool, options: Options) -> usize {
    let mut at = 0;
    if !extended {
        return at;
    }
    loop {
        at += text[at..].iter().take_while(|b| is_space(**b)).count();
        if text.get(at) != Some(&b'#') {
            return at;
        }
        at += line(&text[at..], options);
    }
}

/// How far what is skipped at once goes: blanks and comments that mean nothing, then a comment in parentheses.
pub fn blanks(text: &[u8], extended: bool, options: Options) -> usize {
    let blanks = plain_blanks(text, extended, options);
    let rest = &text[blanks..];
    if !rest.starts_with(b"(?#") {
        return blanks;
    }
    blanks + memchr::memchr(b')', rest).map_or(rest.len(), |close| close + 1)
}

/// Is what is skipped there a comment in parentheses that has no end?
pub fn is_open_comment(text: &[u8], at: usize, extended: bool, options: Options) -> bool {
    let text = text.get(at..).unwrap_or(&[]);
    let rest = &text[plain_blanks(text, extended, options)..];
    rest.starts_with(b"(?#") && !rest.contains(&b')')
}
