//! From the dialect of PCRE 8.44 to that of PCRE2.
//!
//! The two differ in few places, which one pass over the pattern rewrites:
//! - an unknown letter after a backslash stands for itself, and so do `\8` and `\9` where no such group has begun, and
//!   `\B`, `\R`, `\z` and others in a class;
//! - `{,3}` and braces with blanks in them are plain text;
//! - a recursive call is atomic, and so is a group that refers back to itself;
//! - a hyphen after a class in a class stands for itself;
//! - a property named as a script is of that script alone;
//! - `\p{Lu}` and the like are not caseless, also in classes (`[a\p{Lu}]` is an atomic group of `[a]` and `(?-i:[\p{Lu}])`);
//! - a backtracking verb in an assertion that is a condition acts as in any assertion: `(?(?=A)Y|N)` is `(?:(?=A|)(?(?=A)Y|N))`,
//!   unless `A` has groups with numbers or a `\K`, or is written twice itself;
//! - in a pattern with `(*THEN)`, an assertion is a condition, `(?(?=A)|(*FAIL))`, which PCRE2 lets the verb through, unless there
//!   are other verbs or a `\K` in it;
//! - `[^\n]` is `[^\n\n]`, and as the other one looks to PCRE2 as if it named no end of line, where such may have two characters;
//! - `[:upper:]` and `[:lower:]` are `[:alpha:]` where case is ignored;
//! - a lookbehind whose length PCRE2 would not find goes back by a counted dot, and looks ahead from there;
//! - blanks and a comment between a repetition and the sign that makes it lazy or possessive go away;
//! - a NUL ends the pattern; `(*UTF8)` is `(*UTF)`.
//!
//! [`super::check`] has found nothing wrong with the pattern before.

mod classes;
mod escapes;

use crate::check::{Found, Lookbehind, counted};
use crate::latin1::{is_letter, is_word};
use crate::lead;
use crate::options::Options;

/// Letters that mean nothing after a backslash.
const LITERAL: &[u8] = b"IJMOTYijmqy";
/// Those that mean nothing in a class.
const CLASS_LITERAL: &[u8] = b"ABCGKRXZgkz";
/// Properties of letters of one case.
const CASES: [&[u8]; 3] = [b"Lu", b"Ll", b"Lt"];
/// Longer names of properties that are no scripts.
const GENERAL: [&[u8]; 6] = [b"Any", b"Xan", b"Xps", b"Xsp", b"Xuc", b"Xwd"];

/// What an open parenthesis leads back to.
struct Outer {
    extended: bool,
    ignores_case: bool,
    /// A group is around what it has, or around it: a parenthesis more closes it.
    double: bool,
    /// Groups before it and the most after any branch, where each branch counts anew.
    anew: Option<(usize, usize)>,
    assertion: Option<Assertion>,
}

/// A positive assertion.
#[derive(Clone, Copy)]
struct Assertion {
    /// It is a condition; where in the new text the conditional group begins.
    condition: Option<usize>,
    /// And the assertion.
    from: usize,
    /// What had been seen before it.
    seen: Seen,
}

/// How many of them.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Verbs that end more than a branch.
    verbs: usize,
    /// `\K`, which has no effect from within a condition.
    resets: usize,
    /// Groups with numbers.
    captures: usize,
    /// Assertions written twice.
    doubled: usize,
}

struct Scan<'a> {
    old: &'a [u8],
    at: usize,
    out: Vec<u8>,
    options: Options,
    found: &'a Found,
    /// Groups that have begun.
    groups: usize,
    /// Blanks and comments are skipped: now, and outside each open parenthesis.
    extended: bool,
    /// Letters match in either case, now.
    ignores_case: bool,
    outer: Vec<Outer>,
    seen: Seen,
    /// A conditional group has begun there in the new text, and its assertion is to come.
    conditional: Option<usize>,
    /// There may be a `(*THEN)`.
    then: bool,
    /// Some of it may be caseless.
    caseless: bool,
    /// `(?X)`: unknown escapes are errors.
    strict: bool,
}

/// Rewrites a pattern that [`crate::check`] has accepted; `found` is what it has found there.
pub fn rewrite(old: &[u8], options: Options, found: &Found) -> Vec<u8> {
    let mut scan = Scan {
        old,
        at: 0,
        out: Vec::with_capacity(old.len() + 8),
        options,
        found,
        groups: 0,
        extended: options.extended,
        ignores_case: options.caseless,
        outer: Vec::new(),
        seen: Seen::default(),
        conditional: None,
        then: memchr::memmem::find(old, b"(*THEN").is_some(),
        caseless: options.caseless || memchr::memmem::find(old, b"(?").is_some() && old.contains(&b'i'),
        strict: false,
    };
    let mut borders = borders(found);
    scan.start_verbs();
    while let Some(byte) = scan.peek(0) {
        while borders.last().is_some_and(|(at, _)| *at <= scan.at) {
            let text = borders.pop().map_or_else(String::new, |(_, text)| text);
            scan.insert(text.as_bytes());
        }
        match byte {
            b'\\' => scan.escape(false),
            b'[' => scan.class(),
            b'(' => scan.open(),
            b'|' => {
                if let Some(Outer { anew: Some((before, most)), .. }) = scan.outer.last_mut() {
                    *most = scan.groups.max(*most);
                    scan.groups = *before;
                }
                scan.copy(1);
            }
            b')' => {
                if let Some(outer) = scan.outer.pop() {
                    (scan.extended, scan.ignores_case) = (outer.extended, outer.ignores_case);
                    if let Some((_, most)) = outer.anew {
                        scan.groups = scan.groups.max(most);
                    }
                    if outer.double {
                        scan.insert(b")");
                    }
                    scan.copy(1);
                    match outer.assertion {
                        Some(Assertion { condition: Some(whole), from, seen }) => scan.end_condition(whole, from, seen),
                        Some(Assertion { condition: None, from, seen }) => scan.end_assertion(from, seen),
                        None => {}
                    }
                } else {
                    scan.copy(1);
                }
            }
            b'{' if scan.only_new_quantifier() => {
                scan.insert(b"\\");
                scan.copy(1);
            }
            b'*' | b'+' | b'?' => scan.repetition(1),
            b'{' if counted(&old[scan.at + 1..]) => {
                let len = scan.run(0, |b| b != b'}');
                scan.repetition(len + 1);
            }
            b'#' if scan.extended => {
                let len = lead::blanks(scan.rest(), true, options);
                scan.copy(len);
            }
            _ => scan.copy(1),
        }
    }
    scan.out
}

/// What is to be put in at the borders of lookbehinds, the last place first.
fn borders(found: &Found) -> Vec<(usize, String)> {
    let mut borders = Vec::new();
    for Lookbehind { from, to, length } in found.lookbehinds.iter().filter(|l| l.length <= 65535) {
        borders.push((*from, "(?=".to_owned()));
        borders.push((*to, format!(")(?s:.){{{length}}}")));
    }
    borders.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    borders
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
        self.out.extend_from_slice(part);
        self.at += part.len();
    }

    /// Leaves bytes of the old text out.
    fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Puts bytes in that the old text has not.
    fn insert(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    /// Puts other bytes in the place of some.
    fn replace(&mut self, count: usize, text: &[u8]) {
        self.insert(text);
        self.skip(count);
    }

    /// At a repetition of `len` bytes.
    fn repetition(&mut self, len: usize) {
        self.copy(len);
        let blanks = lead::blanks(self.rest(), self.extended, self.options);
        if matches!(self.peek(blanks), Some(b'+' | b'?')) {
            self.skip(blanks);
            self.copy(1);
        }
    }

    /// How many bytes from `ahead` on are of a kind.
    fn run(&self, ahead: usize, kind: impl Fn(u8) -> bool) -> usize {
        self.old.get(self.at + ahead..).unwrap_or(&[]).iter().take_while(|b| kind(**b)).count()
    }

    fn start_verbs(&mut self) {
        while let Some(verb) = lead::verb(self.rest()) {
            let len = verb.len();
            if verb == b"UTF8" {
                self.copy(5);
                self.skip(1);
                self.copy(1);
            } else {
                self.copy(len + 3);
            }
        }
    }

    fn push(&mut self, extended: bool) {
        let (was, ignores_case) = (self.extended, self.ignores_case);
        self.outer.push(Outer { extended: was, ignores_case, double: false, anew: None, assertion: None });
        self.conditional = None;
        self.extended = extended;
    }

    /// At an opening parenthesis.
    fn open(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some(b'*'), Some(next)) if next == b':' || is_letter(next) => {
                let len = self.run(0, |b| b != b')');
                const FAR: [&[u8]; 3] = [b"COMMIT", b"PRUNE", b"SKIP"];
                let name = self.rest().get(2..len).unwrap_or(&[]).split(|b| *b == b':').next();
                self.seen.verbs += usize::from(name.is_some_and(|name| FAR.contains(&name)));
                return self.copy(len + 1);
            }
            (Some(b'?'), _) => {}
            _ if self.options.no_auto_capture => return self.group(1),
            _ => return self.capture(1),
        }
        match self.peek(2).unwrap_or(0) {
            b'#' => {
                let len = self.run(0, |b| b != b')');
                self.copy(len + 1);
            }
            b'<' if self.peek(3) == Some(b'=') => self.assertion(4),
            b'=' => self.assertion(3),
            b'<' if self.peek(3) == Some(b'!') => self.group(4),
            b'<' | b'\'' => self.named(3),
            b'P' => match self.peek(3) {
                Some(b'<') => self.named(4),
                Some(b'>') => self.call(),
                _ => {
                    let len = self.run(0, |b| b != b')');
                    self.copy(len + 1);
                }
            },
            b'|' => {
                self.group(3);
                if let Some(outer) = self.outer.last_mut() {
                    outer.anew = Some((self.groups, self.groups));
                }
            }
            b':' | b'>' | b'!' => self.group(3),
            b'(' => self.condition(),
            b'C' => {
                let digits = self.run(3, |b| b.is_ascii_digit());
                self.copy(4 + digits);
            }
            b'R' | b'&' | b'0'..=b'9' | b'+' => self.call(),
            b'-' if self.peek(3).is_some_and(|b| b.is_ascii_digit()) => self.call(),
            _ => self.options(),
        }
    }

    /// A group with a number, whose opening has `len` bytes.
    fn capture(&mut self, len: usize) {
        self.groups += 1;
        self.seen.captures += 1;
        self.group(len);
        if self.found.own.contains(&self.groups) {
            self.insert(b"(?>");
            if let Some(outer) = self.outer.last_mut() {
                outer.double = true;
            }
        }
    }

    /// A group whose name begins `ahead`.
    fn named(&mut self, ahead: usize) {
        let name = self.run(ahead, is_word);
        self.capture(ahead + name + 1);
    }

    /// At a positive assertion, whose opening has `len` bytes.
    fn assertion(&mut self, len: usize) {
        let assertion = Assertion { condition: self.conditional, from: self.out.len(), seen: self.seen };
        self.group(len);
        if let Some(outer) = self.outer.last_mut() {
            outer.assertion = Some(assertion);
        }
    }

    /// After an assertion that is none: a condition lets verbs through that come after it. If it is repeated, that has a meaning of
    /// its own.
    fn end_assertion(&mut self, from: usize, seen: Seen) {
        let rest = &self.rest()[lead::blanks(self.rest(), self.extended, self.options)..];
        let repeated = match rest {
            [b'*' | b'+' | b'?', ..] => true,
            [b'{', counts @ ..] => counted(counts),
            _ => false,
        };
        if self.then && !repeated && (self.seen.verbs, self.seen.resets) == (seen.verbs, seen.resets) {
            let assertion = self.out.split_off(from);
            self.out.extend_from_slice(b"(?");
            self.out.extend_from_slice(&assertion);
            self.out.extend_from_slice(b"|(*FAIL))");
        }
    }

    /// After an assertion that is a condition: if verbs in it may end more than itself, it stands before the conditional group as
    /// well, where PCRE2 lets them. If it only fails there, an empty branch goes on to the condition, which fails again.
    fn end_condition(&mut self, whole: usize, from: usize, seen: Seen) {
        let now = self.seen;
        let cannot = now.captures > seen.captures || now.resets > seen.resets || now.doubled > seen.doubled;
        if now.verbs == seen.verbs || cannot {
            return;
        }
        let conditional = self.out.split_off(whole);
        let assertion = &conditional[from - whole..];
        self.out.extend_from_slice(b"(?:");
        self.out.extend_from_slice(&assertion[..assertion.len() - 1]);
        self.out.extend_from_slice(b"|)");
        self.out.extend_from_slice(&conditional);
        self.seen.doubled += 1;
        if let Some(outer) = self.outer.last_mut() {
            outer.double = true;
        }
    }

    /// A group whose opening has `len` bytes.
    fn group(&mut self, len: usize) {
        self.push(self.extended);
        self.copy(len);
    }

    /// At `(?R)`, `(?1)`, `(?&name)`, `(?P>name)`: up to the parenthesis that closes it.
    fn call(&mut self) {
        let len = self.run(0, |b| b != b')');
        self.atomic(len + 1);
    }

    /// At `(?(`.
    fn condition(&mut self) {
        let assertion = self.peek(3) == Some(b'?');
        let whole = self.out.len();
        self.push(self.extended);
        if assertion {
            self.conditional = Some(whole);
            return self.copy(2);
        }
        if let Some((_, text)) = self.found.conditions.iter().find(|(at, _)| *at == self.at + 2) {
            self.copy(2);
            let len = self.run(0, |b| b != b')');
            return self.replace(len + 1, text);
        }
        let len = self.run(0, |b| b != b')');
        self.copy(len + 1);
    }

    /// At `(?` and letters.
    fn options(&mut self) {
        let (mut ahead, mut minus, mut extended, mut ignores_case) = (2, false, self.extended, self.ignores_case);
        let mut kept = b"(?".to_vec();
        let end = loop {
            let byte = self.peek(ahead).unwrap_or(b')');
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
                b'i' => {
                    ignores_case = !minus;
                    kept.push(byte);
                }
                b'm' | b's' | b'U' | b'J' => kept.push(byte),
                b')' | b':' => break byte,
                _ => {}
            }
            ahead += 1;
        };
        if end == b':' {
            self.push(extended);
        } else {
            self.extended = extended;
        }
        self.ignores_case = ignores_case;
        let same = self.rest().get(..ahead) == Some(&kept[..]);
        if same {
            self.copy(ahead + 1);
        } else {
            self.replace(ahead, &kept);
            self.copy(1);
        }
    }
}

#[cfg(test)]
mod tests;
