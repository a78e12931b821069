//! Errors of patterns, in the words and at the places that OTP's older releases have for them.
//!
//! PCRE2 numbers its errors as the older PCRE did, plus 100, but words some of them anew, and notices some earlier or later
//! in the pattern: [`WORDS`] and [`placed`] say what differs. What is not there is as PCRE2 has it. Found by asking OTP.

use super::dialect::{alternative_end, group_end, repeats};

/// The pattern is no UTF-8.
pub const BAD_UTF: i32 = -3;
/// `(?<` and no name.
pub const NO_NAME: i32 = 1001;
/// `(?(0)`.
pub const ZERO_CONDITION: i32 = 1002;
/// A name of more than 32 characters.
pub const LONG_NAME: i32 = 1003;
/// Something odd in a condition.
pub const BAD_CONDITION: i32 = 1004;
/// `\g{0}`
pub const ZERO_REFERENCE: i32 = 1005;
/// `(?i`, `(?^`.
pub const BAD_OPTION: i32 = 111;
/// `(?P` and nothing known.
pub const BAD_P: i32 = 141;
/// `(?C` and no number.
pub const BAD_CALLOUT: i32 = 139;
/// `(*FOO)`
pub const BAD_VERB: i32 = 160;
/// `(*ACCEPT:X)`
pub const VERB_ARGUMENT: i32 = 159;
/// A name that does not end.
pub const OPEN_NAME: i32 = 142;
/// `\N{name}`
pub const NOT_SUPPORTED: i32 = 137;
/// A number that is too big.
pub const BIG_NUMBER: i32 = 161;
/// `\g{` and no end.
pub const OPEN_REFERENCE: i32 = 157;
/// A lookbehind assertion of no fixed length.
pub const VARYING_LOOKBEHIND: i32 = 125;
/// `(?(` and no condition.
pub const NO_CONDITION: i32 = 128;

/// Words that differ from PCRE2's.
static WORDS: &[(i32, &str)] = &[
    (109, "nothing to repeat"),
    (114, "missing )"),
    (118, "missing ) after comment"),
    (119, "regular expression is too complicated"),
    (122, "unmatched parentheses"),
    (124, "malformed number or name after (?("),
    (125, "lookbehind assertion is not fixed length"),
    (126, "a numbered reference must not be zero"),
    (127, "conditional group contains more than two branches"),
    (128, "assertion expected after (?( or (?(?C)"),
    (129, "digit expected after (?+"),
    (134, "character value in \\x{} or \\o{} is too large"),
    (136, "\\C not allowed in lookbehind assertion"),
    (137, "PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u"),
    (138, "number after (?C is > 255"),
    (139, "closing ) for (?C expected"),
    (142, "syntax error in subpattern name (missing terminator)"),
    (143, "two named subpatterns have the same name"),
    (144, "group name must start with a non-digit"),
    (147, "unknown property name after \\P or \\p"),
    (154, "DEFINE group contains more than one branch"),
    (158, "(?R or (?[+-]digits must be followed by )"),
    (159, "an argument is not allowed for (*ACCEPT), (*FAIL), or (*COMMIT)"),
    (161, "number is too big"),
    (168, "\\c must be followed by an ASCII character"),
    (174, "setting UTF is disabled by the application"),
    (177, "character value in \\x{} or \\o{} is too large"),
    (178, "digits missing in \\x{} or \\o{}"),
    (182, "closing ) for (?C expected"),
    (184, "regular expression is too complicated"),
    (187, "lookbehind assertion is not fixed length"),
    (194, "unrecognized character after (? or (?-"),
    (195, "(*VERB) not recognized or malformed"),
    (200, "lookbehind assertion is not fixed length"),
    (BAD_UTF, "invalid UTF-8 string"),
    (NO_NAME, "unrecognized character after (?<"),
    (ZERO_CONDITION, "invalid condition (?(0)"),
    (LONG_NAME, "subpattern name is too long (maximum 32 characters)"),
    (BAD_CONDITION, "malformed number or name after (?("),
    (ZERO_REFERENCE, "a numbered reference must not be zero"),
];

/// The text of an error.
pub fn text(error: i32) -> String {
    // All that is wrong with UTF-8 has one text.
    let error = if (-23..=BAD_UTF).contains(&error) { BAD_UTF } else { error };
    let known = WORDS.iter().find(|(number, _)| *number == error);
    known.map_or_else(|| super::pcre::error_text(error), |(_, text)| (*text).to_owned())
}

/// Place of the last `what` before `at`.
fn before(pattern: &[u8], at: usize, what: &[u8]) -> Option<usize> {
    let part = pattern.get(..at.min(pattern.len()))?;
    part.windows(what.len()).rposition(|w| w == what)
}

/// Does a condition begin right before the name or number at `at`, or at it?
fn in_condition(pattern: &[u8], at: usize) -> bool {
    let end = pattern.len().min(at + 1);
    before(pattern, end, b"(?(").is_some_and(|open| !pattern[open + 3..at.max(open + 3)].contains(&b')'))
}

/// Where the numeric reference ends that goes on at `at`, as the older PCRE counts: at the end of the pattern, as it is looked
/// at last; one to the left is found at once.
fn reference_end(pattern: &[u8], at: usize) -> Option<usize> {
    let escape = before(pattern, at, b"\\")?;
    let digit = |i: usize| pattern.get(i).is_some_and(u8::is_ascii_digit);
    if !is_number(&pattern[escape..at]) || !digit(at) && !digit(at.wrapping_sub(1)) {
        return None;
    }
    if !pattern[escape..at].contains(&b'-') && pattern.get(at) != Some(&b'-') {
        return Some(pattern.len());
    }
    let end = name_end(pattern, at);
    Some(if pattern.get(end) == Some(&b'}') { end } else { end - 1 })
}

/// Where the name that goes on at `at` ends.
fn name_end(pattern: &[u8], at: usize) -> usize {
    let rest = pattern.get(at..).unwrap_or(&[]);
    at + rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
}

/// Number and place of an error that PCRE2 has noticed at `at`.
pub fn placed(pattern: &[u8], error: i32, at: usize) -> (i32, usize) {
    let at = at.min(pattern.len());
    let same = (error, at);
    match error {
        115 if in_condition(pattern, at) => {
            let close = pattern[at..].iter().position(|b| *b == b')');
            (error, close.map_or(pattern.len(), |n| at + n + 1))
        }
        115 => {
            let plain = || reference_end(pattern, at).unwrap_or_else(|| name_end(pattern, at));
            (error, quoted_number_end(pattern, at).unwrap_or_else(plain))
        }
        113 => {
            let open = [&b"[."[..], b"[="].into_iter().filter_map(|w| before(pattern, at, w)).max();
            (error, open.unwrap_or(at))
        }
        130 => match before(pattern, at, b"[:") {
            Some(open) => (error, open + if pattern.get(open + 2) == Some(&b'^') { 3 } else { 2 }),
            None => same,
        },
        150 if pattern[..at].ends_with(b":]") => (error, before(pattern, at, b"[:").unwrap_or(at)),
        137 | 143 | 147 | 150 | 151 | 165 | 169 | 171 => (error, at.saturating_sub(1)),
        105 => (error, big_number_end(pattern, at)),
        120 => (error, pattern.len()),
        178 if pattern[..at].ends_with(b"\\x{") && at == pattern.len() => (167, at),
        178 if pattern[..at].ends_with(b"\\o{") && at == pattern.len() => (164, at),
        178 if pattern[..at].ends_with(b"\\o{") => (error, at - 2),
        164 => (error, at + pattern[at..].iter().take_while(|b| matches!(b, b'0'..=b'7')).count()),
        167 => (error, at + pattern[at..].iter().take_while(|b| b.is_ascii_hexdigit()).count()),
        154 => {
            let open = before(pattern, pattern.len().min(at + 3), b"(?(").unwrap_or(at);
            (error, group_end(pattern, open).unwrap_or(at))
        }
        125 | 187 | 200 => {
            let open = before(pattern, at + 1, b"(").unwrap_or(at);
            let end = || group_end(pattern, open).unwrap_or(at);
            (error, alternative_end(pattern, open, repeats).unwrap_or_else(end))
        }
        127 => {
            let open = before(pattern, at + 1, b"(").unwrap_or(at);
            (error, group_end(pattern, open).unwrap_or(at))
        }
        128 | 129 => (error, at + 1),
        142 | 124 | 162 if in_condition(pattern, at) => (BAD_CONDITION, at),
        114 if before(pattern, at, b"(?").is_some_and(|open| is_call(&pattern[open + 2..at])) => (158, at),
        174 => (error, 0),
        // No name follows: a group that begins with a repetition.
        BAD_VERB
            if pattern[..at].ends_with(b"(*")
                && !pattern.get(at).is_some_and(|b| b.is_ascii_alphabetic() || *b == b':') =>
        {
            (109, at - 1)
        }
        _ => same,
    }
}

/// Behind the digit that makes a number too big for a quantifier, of the digits before `at`.
fn big_number_end(pattern: &[u8], at: usize) -> usize {
    let digits = pattern[..at].iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let mut number = 0u32;
    for (index, digit) in pattern[at - digits..at].iter().enumerate() {
        number = number * 10 + u32::from(digit - b'0');
        if number > 65535 {
            return at - digits + index + 1;
        }
    }
    at
}

/// Where the number in `\g<-1>` or `\g'1'` ends that begins or goes on at `at`.
fn quoted_number_end(pattern: &[u8], at: usize) -> Option<usize> {
    let end = pattern.len().min(at + 3);
    let open = [&b"\\g<"[..], b"\\g'"].into_iter().filter_map(|w| before(pattern, end, w)).max()?;
    let body = pattern.get(open + 3..)?;
    let sign = usize::from(matches!(body.first(), Some(b'-' | b'+')));
    let digits = body[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
    let close = open + 3 + sign + digits;
    (digits > 0 && close + 1 >= at && matches!(pattern.get(close), Some(b'>' | b'\''))).then_some(close)
}

/// `\12`, `\g12`, `\g{12`, up to somewhere in the number?
fn is_number(text: &[u8]) -> bool {
    let rest = text.strip_prefix(b"\\").unwrap_or(text);
    let rest = rest.strip_prefix(b"g").unwrap_or(rest);
    let rest = rest.strip_prefix(b"{").unwrap_or(rest);
    let rest = rest.strip_prefix(b"-").unwrap_or(rest);
    rest.iter().all(u8::is_ascii_digit)
}

/// `R`, `12`, `+1`, `-1`?
fn is_call(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    text == b"R" || !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
