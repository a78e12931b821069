//! Classes in the old dialect.

use super::{CASES, Scan};
use crate::check::classes::{BORDERS, posix_end};
use crate::options::Newline;

/// Is this the one item of a class, a carriage return or a line feed?
fn is_line_end(item: &[u8]) -> bool {
    let digits =
        |text: &[u8], radix| std::str::from_utf8(text).ok().and_then(|text| u8::from_str_radix(text, radix).ok());
    let code = match item {
        [byte] => Some(*byte),
        [b'\\', b'n'] => Some(b'\n'),
        [b'\\', b'r'] => Some(b'\r'),
        [b'\\', b'c', letter] => Some(letter.to_ascii_uppercase() ^ 0x40),
        [b'\\', b'x', b'{', code @ .., b'}'] | [b'\\', b'x', code @ ..] => digits(code, 16),
        [b'\\', b'o', b'{', code @ .., b'}'] | [b'\\', code @ ..] => digits(code, 8),
        _ => None,
    };
    matches!(code, Some(b'\n' | b'\r'))
}

impl Scan<'_> {
    /// At the bracket of a class.
    pub(super) fn class(&mut self) {
        if BORDERS.iter().any(|b| self.rest().starts_with(b)) {
            return self.copy(BORDERS[0].len());
        }
        let start = self.out.len();
        // Properties of letters of one case, which stand in a class of their own.
        let mut cased: Vec<u8> = Vec::new();
        self.copy(1);
        // Empty quotations before the first character mean nothing, and `^` may follow them.
        if self.skip_empty_quotations() && matches!(self.peek(0), Some(b'.' | b':' | b'=')) {
            // It stood between the bracket and what would now look like a name in brackets.
            self.insert(b"\\");
        }
        let negated = self.peek(0) == Some(b'^');
        if negated {
            self.copy(1);
            self.skip_empty_quotations();
        }
        let body = self.out.len();
        if self.peek(0) == Some(b']') {
            self.copy(1);
        }
        while let Some(byte) = self.peek(0) {
            let set = match byte {
                b']' => break,
                b'\\' => {
                    let letter = self.peek(1).unwrap_or(0);
                    match self.cased_property() {
                        Some(len) => {
                            cased.extend(self.rest().get(..len).unwrap_or(&[]));
                            self.skip(len);
                        }
                        None => self.escape(true),
                    }
                    b"dDsSwWhHvVpP".contains(&letter)
                }
                b'[' => match posix_end(self.rest()) {
                    Some(end) => {
                        match self.rest().get(..end + 2) {
                            Some(b"[:upper:]" | b"[:lower:]") if self.ignores_case => {
                                self.replace(end + 2, b"[:alpha:]")
                            }
                            Some(b"[:^upper:]" | b"[:^lower:]") if self.ignores_case => {
                                self.replace(end + 2, b"[:^alpha:]");
                            }
                            _ => self.copy(end + 2),
                        }
                        true
                    }
                    None => {
                        if matches!(self.peek(1), Some(b'.' | b':' | b'=')) {
                            // What comes after it may look like a name in brackets without the quotations in it.
                            self.insert(b"\\");
                        }
                        self.copy(1);
                        false
                    }
                },
                b'^' if self.out.len() == body => {
                    self.insert(b"\\");
                    self.copy(1);
                    false
                }
                _ => {
                    self.copy(1);
                    false
                }
            };
            // Behind a class, and behind an empty quotation, a hyphen makes no range.
            let quotation = self.rest().starts_with(b"\\Q\\E");
            if set || quotation {
                self.skip_empty_quotations();
            }
            if (set || quotation) && self.peek(0) == Some(b'-') && self.peek(1) != Some(b']') {
                self.insert(b"\\");
                self.copy(1);
            }
        }
        let empty = self.out.len() == body;
        if negated && is_line_end(&self.out[body..]) && !matches!(self.options.newline, Newline::Cr | Newline::Lf) {
            // Alone it would not count as one that the pattern names, of which a search does not skip the half.
            self.out.extend_from_within(body..);
        }
        self.copy(1);
        if !cased.is_empty() {
            self.put_cased(start, empty, negated, &cased);
        }
    }

    /// Was there one?
    fn skip_empty_quotations(&mut self) -> bool {
        let start = self.at;
        loop {
            match self.rest() {
                [b'\\', b'E', ..] => self.skip(2),
                [b'\\', b'Q', b'\\', b'E', ..] => self.skip(4),
                _ => return self.at > start,
            }
        }
    }

    /// At a backslash: the length of a property of letters of one case, where that makes a difference.
    fn cased_property(&self) -> Option<usize> {
        let [b'\\', b'p' | b'P', b'{', name @ ..] = self.rest() else { return None };
        let name = name.strip_prefix(b"^").unwrap_or(name);
        let known = name.get(2) == Some(&b'}') && CASES.contains(&&name[..2]);
        (self.caseless && known).then(|| self.rest().len() - name.len() + 3)
    }

    /// Writes the class that begins at `start` of the new text anew, with properties that are not caseless.
    fn put_cased(&mut self, start: usize, empty: bool, negated: bool, cased: &[u8]) {
        let class = self.out.split_off(start);
        let parts: [&[u8]; 5] = match (empty, negated) {
            (true, false) => [b"(?-i:[", cased, b"])", b"", b""],
            (true, true) => [b"(?-i:[^", cased, b"])", b"", b""],
            (false, false) => [b"(?>", &class, b"|(?-i:[", cased, b"]))"],
            (false, true) => [b"(?>(?=", &class, b")(?-i:[^", cased, b"]))"],
        };
        self.insert(&parts.concat());
    }
}
