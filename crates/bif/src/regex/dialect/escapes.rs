//! Escapes in the old dialect: letters, properties, references; and what follows them, braces and names.

use super::{CLASS_LITERAL, GENERAL, LITERAL, NAME_LIMIT, Scan, Step};
use crate::regex::errors;

impl Scan<'_> {
    /// At a backslash.
    pub(super) fn escape(&mut self, class: bool) -> Step {
        let Some(letter) = self.peek(1) else {
            self.copy(1);
            return Ok(());
        };
        match letter {
            b'Q' => {
                let body = &self.old[self.at + 2..];
                let len = memchr::memmem::find(body, b"\\E").map_or(body.len(), |n| n + 2);
                self.copy(2 + len);
            }
            // By its number, as it could go on a number before it.
            b'F' if !self.strict => self.replace(2, b"\\x46"),
            _ if LITERAL.contains(&letter) && !self.strict => {
                self.skip(1);
                self.copy(1);
            }
            _ if class && CLASS_LITERAL.contains(&letter) && !self.strict => {
                self.skip(1);
                self.copy(1);
            }
            b'8' | b'9' if !class => {
                let digits = self.run(1, |b| b.is_ascii_digit());
                let number =
                    self.old[self.at + 1..][..digits.min(9)].iter().fold(0, |n, b| n * 10 + usize::from(b - b'0'));
                if number > self.groups {
                    self.replace(2, if letter == b'8' { b"\\x38" } else { b"\\x39" });
                } else {
                    self.copy(2);
                }
            }
            b'N' if self.peek(2) == Some(b'{') && !class && !self.is_old_quantifier(2) => {
                return self.fail(errors::NOT_SUPPORTED, 1);
            }
            b'1'..=b'9' if !class && self.refers_to_own_group() => self.copy(2),
            b'1'..=b'7' if !class && self.run(1, |b| b.is_ascii_digit()) > 9 => {
                return self.fail(errors::BIG_NUMBER, 1 + self.run(1, |b| b.is_ascii_digit()));
            }
            b'x' if self.peek(2) != Some(b'{') && !self.peek(2).is_some_and(|b| b.is_ascii_hexdigit()) => {
                self.replace(2, b"\\x00");
            }
            b'c' if self.peek(2).is_some_and(|b| b < 32 || b == 127) => {
                let code = self.peek(2).unwrap_or(0) ^ 0x40;
                self.replace(3, format!("\\x{code:02x}").as_bytes());
            }
            b'p' | b'P' => self.property(class),
            b'g' if !class => return self.reference(),
            b'k' if !class => {
                let name = self.peek(2).is_some_and(|b| b"{<'".contains(&b));
                if name {
                    self.name(3)?
                }
                self.copy(2);
            }
            _ => self.copy(2),
        }
        Ok(())
    }

    /// At a backslash and a digit: is it a reference to a group that is still open? It is noted then.
    pub(super) fn refers_to_own_group(&mut self) -> bool {
        let digits = self.run(1, |b| b.is_ascii_digit()).min(5);
        let number = self.old[self.at + 1..][..digits].iter().fold(0, |n, b| n * 10 + usize::from(b - b'0'));
        let own = self.outer.iter().any(|o| o.group == number);
        if own {
            self.own.insert(number);
        }
        own
    }

    /// The parenthesis just copied opens the newest group.
    pub(super) fn numbered(&mut self) {
        if let Some(outer) = self.outer.last_mut() {
            outer.group = self.groups;
        }
        if self.atomic.contains(&self.groups) {
            self.insert(b"(?>");
        }
    }

    /// At `\p`: the name of a script means those of just this script, without the characters that others share with it.
    pub(super) fn property(&mut self, class: bool) {
        if self.peek(2) != Some(b'{') {
            return self.copy(3);
        }
        let from = 3 + usize::from(self.peek(3) == Some(b'^'));
        let len = self.run(from, |b| b.is_ascii_alphanumeric() || b == b'_');
        let name = self.old.get(self.at + from..).map_or(&[][..], |rest| &rest[..len]);
        let is_script = len > 2 && !GENERAL.contains(&name) && self.peek(from + len) == Some(b'}');
        let cased = !class && self.caseless && matches!(name, b"Lu" | b"Ll" | b"Lt");
        if cased {
            self.insert(b"(?-i:");
        }
        self.copy(from);
        if is_script {
            self.insert(b"sc:");
        }
        let rest = self.run(0, |b| b != b'}');
        self.copy(rest + 1);
        if cased {
            self.insert(b")");
        }
    }

    /// At `\g`.
    pub(super) fn reference(&mut self) -> Step {
        let open = self.peek(2);
        match open {
            Some(b'<' | b'\'') => {
                let close = if open == Some(b'<') { b'>' } else { b'\'' };
                let len = self.run(3, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-'));
                if self.peek(3 + len) != Some(close) {
                    self.copy(2);
                    return Ok(());
                }
                self.name(3)?;
                self.atomic(len + 4);
            }
            Some(b'0'..=b'9' | b'-' | b'+') | Some(b'{') => {
                let from = if open == Some(b'{') { 3 } else { 2 };
                let sign = usize::from(self.peek(from) == Some(b'-'));
                let digits = self.run(from + sign, |b| b.is_ascii_digit());
                let text = self.old.get(self.at + from + sign..).unwrap_or(&[]);
                if self.peek(from) == Some(b'+') || open == Some(b'{') && self.peek(from) == Some(b'}') {
                    return self.fail(errors::ZERO_REFERENCE, if open == Some(b'{') { 3 } else { 1 });
                }
                let end = from + sign + digits;
                if digits > 0 && text[..digits].iter().all(|b| *b == b'0') {
                    return self.fail(errors::ZERO_REFERENCE, if from == 3 { end } else { end - 1 });
                }
                if digits > 9 {
                    return self.fail(errors::BIG_NUMBER, end);
                }
                if from == 3 && (digits > 0 || self.peek(3).is_none()) && self.peek(end) != Some(b'}') {
                    return self.fail(errors::OPEN_REFERENCE, end);
                }
                self.copy(2);
            }
            None => return self.fail(errors::ZERO_REFERENCE, 1),
            Some(_) => return self.fail(errors::ZERO_REFERENCE, 1),
        }
        Ok(())
    }

    /// Copies a call of `len` bytes as an atomic group.
    pub(super) fn atomic(&mut self, len: usize) {
        self.insert(b"(?>");
        self.copy(len);
        self.insert(b")");
    }

    /// Checks the length of a name that begins `ahead`.
    pub(super) fn name(&self, ahead: usize) -> Step {
        let len = self.run(ahead, |b| b.is_ascii_alphanumeric() || b == b'_');
        if len > NAME_LIMIT { self.fail(errors::LONG_NAME, ahead + len) } else { Ok(()) }
    }

    /// Does a quantifier of both dialects begin at this brace?
    pub(super) fn is_old_quantifier(&self, ahead: usize) -> bool {
        let digits = |at: usize| self.run(at, |b| b.is_ascii_digit());
        let first = digits(ahead + 1);
        let next = ahead + 1 + first;
        match self.peek(next) {
            Some(b'}') => first > 0,
            Some(b',') => first > 0 && self.peek(next + 1 + digits(next + 1)) == Some(b'}'),
            _ => false,
        }
    }

    /// At a brace that only PCRE2 would take for a quantifier?
    pub(super) fn only_new_quantifier(&self) -> bool {
        let len = self.run(1, |b| b.is_ascii_digit() || matches!(b, b',' | b' ' | b'\t'));
        if self.peek(1 + len) != Some(b'}') {
            return false;
        }
        let inside = &self.rest()[1..1 + len];
        inside.first() == Some(&b',') || inside.iter().any(|b| matches!(b, b' ' | b'\t'))
    }
}
