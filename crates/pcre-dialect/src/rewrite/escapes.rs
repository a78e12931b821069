//! Escapes in the old dialect: letters, properties, references; and what follows them, braces and names.

use super::{CASES, CLASS_LITERAL, GENERAL, LITERAL, Scan};

impl Scan<'_> {
    /// At a backslash.
    pub(super) fn escape(&mut self, class: bool) {
        let Some(letter) = self.peek(1) else {
            return self.copy(1);
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
            b'x' if self.peek(2) != Some(b'{') && !self.peek(2).is_some_and(|b| b.is_ascii_hexdigit()) => {
                self.replace(2, b"\\x00");
            }
            b'c' if self.peek(2).is_some_and(|b| b < 32 || b == 127) => {
                let code = self.peek(2).unwrap_or(0) ^ 0x40;
                self.replace(3, format!("\\x{code:02x}").as_bytes());
            }
            b'K' if !class => {
                self.seen.resets += 1;
                self.copy(2);
            }
            // What follows is part of it, be it a backslash or a parenthesis.
            b'c' => self.copy(3),
            b'p' | b'P' => self.property(class),
            b'g' if !class && matches!(self.peek(2), Some(b'<' | b'\'')) => {
                let len = self.run(3, |b| !matches!(b, b'>' | b'\''));
                self.atomic(len + 4);
            }
            _ => self.copy(2),
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
        let cased = !class && self.caseless && CASES.contains(&name);
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

    /// Copies a call of `len` bytes as an atomic group.
    pub(super) fn atomic(&mut self, len: usize) {
        self.insert(b"(?>");
        self.copy(len);
        self.insert(b")");
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
