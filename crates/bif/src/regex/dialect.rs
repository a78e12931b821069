//! From the dialect of OTP's older releases, that of PCRE 8.44, to that of PCRE2.
//!
//! The two differ in few places, which one pass over the pattern rewrites:
//! - an unknown letter after a backslash stands for itself, and so do `\8` and `\9` where no such group has begun, and
//!   `\B`, `\R`, `\z` and others in a class;
//! - `{,3}` and braces with blanks in them are plain text;
//! - a recursive call is atomic, and so is a group that refers back to itself by number;
//! - a hyphen after a class in a class stands for itself;
//! - a property named as a script is of that script alone;
//! - `\p{Lu}` and the like are not caseless (in classes they are: there is no writing it otherwise);
//! - a NUL ends the pattern; `(*UTF8)` is `(*UTF)`.
//!
//! What only PCRE2 knows is refused here. [`Translated::original`] leads from a place in the new text to that in the old.

mod escapes;

use super::errors;
use std::collections::BTreeSet;

/// A rewritten pattern.
pub struct Translated {
    /// For PCRE2.
    pub text: Vec<u8>,
    /// Places in `text`, in order, after which the old text is so much further on.
    shifts: Vec<(usize, isize)>,
}

impl Translated {
    /// A text as it is.
    pub fn new(text: Vec<u8>) -> Translated {
        Translated { text, shifts: Vec::new() }
    }

    /// The place in the old pattern of a place in the new.
    pub fn original(&self, at: usize) -> usize {
        let shift = self.shifts.iter().rev().find(|(from, _)| *from <= at).map_or(0, |(_, shift)| *shift);
        at.saturating_add_signed(shift)
    }
}

/// Letters that mean nothing after a backslash.
const LITERAL: &[u8] = b"IJMOTYijmqy";
/// Those that mean nothing in a class.
const CLASS_LITERAL: &[u8] = b"ABCGKRXZgkz";
/// Longer names of properties that are no scripts.
const GENERAL: [&[u8]; 6] = [b"Any", b"Xan", b"Xps", b"Xsp", b"Xuc", b"Xwd"];
/// Verbs at the start of a pattern, those before `=` with a number.
const START_VERBS: [&[u8]; 14] = [
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
/// Verbs anywhere, and whether they take a name.
const VERBS: [(&[u8], bool); 9] = [
    (b"", true),
    (b"MARK", true),
    (b"ACCEPT", false),
    (b"F", false),
    (b"FAIL", false),
    (b"COMMIT", false),
    (b"PRUNE", true),
    (b"SKIP", true),
    (b"THEN", true),
];
/// Longest name of a group.
const NAME_LIMIT: usize = 32;
/// The library refuses deeper nested groups; nothing is rewritten inside them.
const DEEPEST: usize = 1000;

type Error = (i32, usize);
type Step = Result<(), Error>;

/// What an open parenthesis leads back to.
struct Outer {
    extended: bool,
    /// The number of the group, 0 if it has none.
    group: usize,
}

struct Scan<'a> {
    old: &'a [u8],
    at: usize,
    out: Translated,
    /// Groups that have begun.
    groups: usize,
    /// Blanks and comments are skipped: now, and outside each open parenthesis.
    extended: bool,
    outer: Vec<Outer>,
    /// Groups that refer back to themselves: those found, and those known from the pass before.
    own: BTreeSet<usize>,
    atomic: BTreeSet<usize>,
    /// There may be a reference to what a group matched.
    references: bool,
    /// Some of it may be caseless.
    caseless: bool,
    no_auto_capture: bool,
    /// `(?X)`: unknown escapes are errors.
    strict: bool,
}

/// The options of a pattern that matter here.
#[derive(Clone, Copy, Default)]
pub struct Modes {
    /// Blanks and comments are skipped.
    pub extended: bool,
    /// Plain parentheses have no number.
    pub no_auto_capture: bool,
    /// Letters match in either case.
    pub caseless: bool,
}

/// Rewrites a pattern.
pub fn translate(pattern: &[u8], modes: Modes) -> Result<Translated, Error> {
    let (out, own) = pass(pattern, modes, BTreeSet::new())?;
    if own.is_empty() { Ok(out) } else { Ok(pass(pattern, modes, own)?.0) }
}

/// One pass: the new text, and the groups that refer back to themselves and are not in `atomic`.
fn pass(pattern: &[u8], modes: Modes, atomic: BTreeSet<usize>) -> Result<(Translated, BTreeSet<usize>), Error> {
    let end = memchr::memchr(0, pattern).unwrap_or(pattern.len());
    let out = Translated { text: Vec::with_capacity(end + 8), shifts: Vec::new() };
    let old = &pattern[..end];
    let mut scan = Scan {
        old,
        at: 0,
        out,
        groups: 0,
        extended: modes.extended,
        outer: Vec::new(),
        own: BTreeSet::new(),
        atomic,
        references: refers_back(old),
        caseless: modes.caseless || memchr::memmem::find(old, b"(?").is_some() && old.contains(&b'i'),
        no_auto_capture: modes.no_auto_capture,
        strict: false,
    };
    scan.start_verbs();
    while let Some(byte) = scan.peek(0) {
        if scan.outer.len() > DEEPEST {
            scan.copy(scan.old.len() - scan.at);
            break;
        }
        match byte {
            b'\\' => scan.escape(false)?,
            b'[' => scan.class()?,
            b'(' => scan.open()?,
            b')' => {
                if let Some(outer) = scan.outer.pop() {
                    scan.extended = outer.extended;
                    if scan.atomic.contains(&outer.group) {
                        scan.insert(b")");
                    }
                }
                scan.copy(1);
            }
            b'{' if scan.only_new_quantifier() => {
                scan.insert(b"\\");
                scan.copy(1);
            }
            b'#' if scan.extended => {
                let line = memchr::memchr(b'\n', &scan.old[scan.at..]);
                scan.copy(line.map_or(scan.old.len() - scan.at, |n| n + 1));
            }
            _ => scan.copy(1),
        }
    }
    Ok((scan.out, scan.own))
}

impl Scan<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.old.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &[u8] {
        self.old.get(self.at..).unwrap_or(&[])
    }

    fn copy(&mut self, count: usize) {
        let part = self.old.get(self.at..).unwrap_or(&[]);
        let part = &part[..count.min(part.len())];
        self.out.text.extend_from_slice(part);
        self.at += part.len();
    }

    fn shift(&mut self, by: isize) {
        let last = self.out.shifts.last().map_or(0, |(_, shift)| *shift);
        self.out.shifts.push((self.out.text.len(), last + by));
    }

    /// Leaves bytes of the old text out.
    fn skip(&mut self, count: usize) {
        self.at += count;
        self.shift(count as isize);
    }

    /// Puts bytes in that the old text has not.
    fn insert(&mut self, text: &[u8]) {
        self.out.text.extend_from_slice(text);
        self.shift(-(text.len() as isize));
    }

    fn fail<T>(&self, error: i32, ahead: usize) -> Result<T, Error> {
        Err((error, self.at + ahead))
    }

    /// Puts other bytes in the place of some.
    fn replace(&mut self, count: usize, text: &[u8]) {
        self.out.text.extend_from_slice(text);
        self.at += count;
        self.shift(count as isize - text.len() as isize);
    }

    /// How many bytes from `ahead` on are of a kind.
    fn run(&self, ahead: usize, kind: impl Fn(u8) -> bool) -> usize {
        self.old.get(self.at + ahead..).unwrap_or(&[]).iter().take_while(|b| kind(**b)).count()
    }

    fn start_verbs(&mut self) {
        while self.rest().starts_with(b"(*") {
            let body = &self.old[self.at + 2..];
            let Some(close) = memchr::memchr(b')', body) else { return };
            let verb = &body[..close];
            let known = |v: &&[u8]| {
                **v == *verb
                    || v.ends_with(b"=") && verb.strip_prefix(*v).is_some_and(|n| n.iter().all(u8::is_ascii_digit))
            };
            if !START_VERBS.iter().any(known) {
                return;
            }
            if verb == b"UTF8" {
                self.copy(5);
                self.skip(1);
                self.copy(1);
            } else {
                self.copy(close + 3);
            }
        }
    }

    /// At the bracket of a class.
    fn class(&mut self) -> Step {
        // `[:alpha:]` outside a class is an error, and `[[:<:]]` a word boundary.
        if matches!(self.peek(1), Some(b':' | b'.' | b'=')) && posix(self.rest()).is_some() {
            self.copy(1);
            return Ok(());
        }
        self.copy(1);
        if self.peek(0) == Some(b'^') {
            self.copy(1);
        }
        if self.peek(0) == Some(b']') {
            self.copy(1);
        }
        while let Some(byte) = self.peek(0) {
            let set = match byte {
                b']' => {
                    self.copy(1);
                    return Ok(());
                }
                b'\\' => {
                    let letter = self.peek(1).unwrap_or(0);
                    self.escape(true)?;
                    b"dDsSwWhHvVpP".contains(&letter)
                }
                b'[' => match posix(self.rest()) {
                    Some(len) => {
                        self.copy(len);
                        true
                    }
                    None => {
                        self.copy(1);
                        false
                    }
                },
                _ => {
                    self.copy(1);
                    // The end of a range may not be a class; that is for PCRE2 to say.
                    false
                }
            };
            if set && self.peek(0) == Some(b'-') && self.peek(1) != Some(b']') {
                self.insert(b"\\");
                self.copy(1);
            }
        }
        Ok(())
    }

    fn push(&mut self, extended: bool) {
        self.outer.push(Outer { extended: self.extended, group: 0 });
        self.extended = extended;
    }

    /// At an opening parenthesis.
    fn open(&mut self) -> Step {
        match (self.peek(1), self.peek(2)) {
            (Some(b'*'), Some(b')' | b':' | b'a'..=b'z' | b'A'..=b'Z')) => return self.verb(),
            (Some(b'?'), _) => {}
            _ => {
                self.groups += usize::from(!self.no_auto_capture);
                self.push(self.extended);
                self.copy(1);
                if !self.no_auto_capture {
                    self.numbered();
                }
                return Ok(());
            }
        }
        let Some(kind) = self.peek(2) else { return self.fail(errors::BAD_OPTION, 2) };
        match kind {
            b'#' => {
                let len = self.run(0, |b| b != b')');
                self.copy(len + 1);
            }
            b'<' => {
                match self.peek(3) {
                    Some(b'=' | b'!') => {
                        // The older library takes a reference to a group for something of any length.
                        if self.references
                            && let Some(end) = alternative_end(self.old, self.at, refers_back)
                        {
                            return Err((errors::VARYING_LOOKBEHIND, end));
                        }
                    }
                    Some(b) if b.is_ascii_alphanumeric() || b == b'_' => self.groups += 1,
                    _ => return self.fail(errors::NO_NAME, 3),
                }
                self.name(3)?;
                self.group(3);
            }
            b'\'' => {
                self.groups += 1;
                self.name(3)?;
                self.group(3);
            }
            b'P' => match self.peek(3) {
                Some(b'<') => {
                    if self.peek(4).is_none() {
                        return self.fail(errors::OPEN_NAME, 4);
                    }
                    self.groups += 1;
                    self.name(4)?;
                    self.group(4);
                }
                Some(b'>') => self.call(),
                Some(b'=') => {
                    let len = self.run(0, |b| b != b')');
                    self.copy(len + 1);
                }
                _ => return self.fail(errors::BAD_P, 3),
            },
            b':' | b'|' | b'>' | b'=' | b'!' => self.group(3),
            b'(' => self.condition()?,
            b'C' => {
                let digits = self.run(3, |b| b.is_ascii_digit());
                if self.peek(3 + digits) != Some(b')') {
                    return self.fail(errors::BAD_CALLOUT, 3 + digits);
                }
                self.copy(4 + digits);
            }
            b'R' | b'&' | b'0'..=b'9' | b'+' => self.call(),
            b'-' if self.peek(3).is_some_and(|b| b.is_ascii_digit()) => self.call(),
            _ => return self.options(),
        }
        Ok(())
    }

    /// A group whose opening has `len` bytes.
    fn group(&mut self, len: usize) {
        self.push(self.extended);
        self.copy(len);
    }

    /// At `(?R)`, `(?1)`, `(?&name)`, `(?P>name)`: up to the parenthesis that closes it.
    fn call(&mut self) {
        match memchr::memchr(b')', self.rest()) {
            Some(close)
                if close > 2
                    && self.rest()[3..close].iter().all(|b| b.is_ascii_alphanumeric() || b"_>".contains(b)) =>
            {
                self.atomic(close + 1);
            }
            _ => self.group(2),
        }
    }

    /// At `(?(`.
    fn condition(&mut self) -> Step {
        let rest = &self.rest()[3..];
        if rest.is_empty() || rest[0] == b')' {
            return self.fail(errors::NO_CONDITION, 3);
        }
        let assertion = |t: &[u8]| matches!(t, [b'=' | b'!' | b'C', ..] | [b'<', b'=' | b'!', ..]);
        let begins = rest[0].is_ascii_alphanumeric() || b"_<'+-&?*".contains(&rest[0]) || rest[0] >= 128;
        if !begins || rest[0] == b'?' && !assertion(&rest[1..]) {
            return self.fail(errors::NO_CONDITION, 3);
        }
        if rest.starts_with(b"VERSION") && matches!(rest.get(7), Some(b'=' | b'>')) {
            return self.fail(errors::BAD_CONDITION, 10);
        }
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 && rest[..digits].iter().all(|b| *b == b'0') && rest.get(digits) == Some(&b')') {
            return self.fail(errors::ZERO_CONDITION, 4 + digits);
        }
        let assertion = rest[0] == b'?';
        self.push(self.extended);
        if assertion {
            self.copy(2);
            return Ok(());
        }
        let len = self.run(0, |b| b != b')');
        self.copy(len + 1);
        Ok(())
    }

    /// At `(?` and letters.
    fn options(&mut self) -> Step {
        let (mut ahead, mut minus, mut extended) = (2, false, self.extended);
        let mut kept = b"(?".to_vec();
        let end = loop {
            let Some(byte) = self.peek(ahead) else { return self.fail(errors::BAD_OPTION, ahead) };
            match byte {
                b'-' if minus => {}
                b'-' => {
                    minus = true;
                    kept.push(byte);
                }
                b'X' => self.strict = !minus,
                b'x' => {
                    extended = !minus;
                    kept.push(byte);
                }
                b'i' | b'm' | b's' | b'U' | b'J' => kept.push(byte),
                b')' | b':' => break byte,
                _ => return self.fail(errors::BAD_OPTION, ahead),
            }
            ahead += 1;
        };
        if end == b':' {
            self.push(extended);
        } else {
            self.extended = extended;
        }
        let same = self.rest().get(..ahead) == Some(&kept[..]);
        if same {
            self.copy(ahead + 1);
        } else {
            self.replace(ahead, &kept);
            self.copy(1);
        }
        Ok(())
    }

    /// At `(*`.
    fn verb(&mut self) -> Step {
        let letters = self.run(2, |b| b.is_ascii_alphabetic());
        let argument = self.peek(2 + letters) == Some(b':');
        let end = 2 + letters + if argument { self.run(2 + letters, |b| b != b')') } else { 0 };
        if self.peek(end) != Some(b')') {
            return self.fail(errors::BAD_VERB, end);
        }
        let name = &self.rest()[2..2 + letters];
        match VERBS.iter().find(|(verb, _)| *verb == name) {
            None => self.fail(errors::BAD_VERB, end),
            Some((_, false)) if argument => self.fail(errors::VERB_ARGUMENT, end),
            Some(_) => {
                self.copy(end + 1);
                Ok(())
            }
        }
    }
}

/// The length of `[:name:]`, `[.x.]`, `[=x=]`.
fn posix(text: &[u8]) -> Option<usize> {
    let [b'[', kind @ (b':' | b'.' | b'='), body @ ..] = text else { return None };
    let plain = |b: &&u8| !b"]\\[".contains(b) && *b != kind;
    let len = body.iter().take_while(plain).count();
    body.get(len..)?.starts_with(&[*kind, b']']).then_some(len + 4)
}

/// Is there a reference to what a group matched, `\1` or `\k` and a name? (`\g` may be a call as well.)
fn refers_back(pattern: &[u8]) -> bool {
    let (mut at, mut class) = (0, false);
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' => {
                at += 1;
                let digit_after = pattern.get(at + 1).is_some_and(u8::is_ascii_digit);
                match pattern.get(at) {
                    Some(b'1'..=b'9') if !class && !digit_after => return true,
                    Some(b'k') if !class => return true,
                    _ => {}
                }
            }
            b'[' => class = true,
            b']' => class = false,
            _ => {}
        }
        at += 1;
    }
    false
}

/// The place of the parenthesis that closes the group that opens at `open`.
pub fn group_end(pattern: &[u8], open: usize) -> Option<usize> {
    group_borders(pattern, open)?.last().copied()
}

/// The places where the alternatives of the group end that opens at `open`.
fn group_borders(pattern: &[u8], open: usize) -> Option<Vec<usize>> {
    let (mut depth, mut at) = (0usize, open);
    let (mut class, mut borders) = (false, Vec::new());
    loop {
        match pattern.get(at)? {
            b'\\' if pattern.get(at + 1) == Some(&b'Q') => {
                at += 3 + memchr::memmem::find(pattern.get(at + 2..)?, b"\\E")?;
            }
            b'\\' => at += 1,
            b'[' if !class => {
                class = true;
                at += usize::from(pattern.get(at + 1) == Some(&b'^'));
                at += usize::from(pattern.get(at + 1) == Some(&b']'));
            }
            b']' => class = false,
            b'(' if !class => depth += 1,
            b'|' if !class && depth == 1 => borders.push(at),
            b')' if !class => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    borders.push(at);
                    return Some(borders);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Where the first alternative ends that `is_it` holds for, of the group that opens at `open`.
pub fn alternative_end(pattern: &[u8], open: usize, is_it: fn(&[u8]) -> bool) -> Option<usize> {
    let mut start = open + 1;
    for end in group_borders(pattern, open)? {
        if pattern.get(start..end).is_some_and(is_it) {
            return Some(end);
        }
        start = end + 1;
    }
    None
}

/// Is something in it repeated, not always as often, or something that is not always as long?
pub fn repeats(pattern: &[u8]) -> bool {
    let (mut at, mut class) = (0, false);
    while let Some(byte) = pattern.get(at) {
        match byte {
            b'\\' if !class && matches!(pattern.get(at + 1), Some(b'R' | b'X')) => return true,
            b'\\' => at += 1,
            b'[' => class = true,
            b']' => class = false,
            b'*' | b'+' if !class => return true,
            // Not that of `(?:`, nor of the assertion's own beginning.
            b'?' if !class && at > 0 && pattern[at - 1] != b'(' => return true,
            b'{' if !class => {
                let rest = &pattern[at + 1..];
                let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
                if digits > 0 && rest.get(digits) == Some(&b',') {
                    return true;
                }
            }
            _ => {}
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests;
