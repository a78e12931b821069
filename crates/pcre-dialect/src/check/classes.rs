//! Classes in brackets.

use super::escapes::Escape;
use super::{Check, Step};
use crate::fault::{Error, Fault};

/// Names of classes in classes.
const POSIX: [&[u8]; 14] = [
    b"alpha", b"lower", b"upper", b"alnum", b"ascii", b"blank", b"cntrl", b"digit", b"graph", b"print", b"punct",
    b"space", b"word", b"xdigit",
];
/// Where a word begins and ends, as some systems write it.
pub const BORDERS: [&[u8]; 2] = [b"[[:<:]]", b"[[:>:]]"];

/// The place of the mark that closes `[:name:]`, `[.x.]` or `[=x=]`.
pub fn posix_end(text: &[u8]) -> Option<usize> {
    let [b'[', kind @ (b':' | b'.' | b'='), ..] = text else { return None };
    let mut at = 2;
    loop {
        match text.get(at..)? {
            [b'\\', b']' | b'\\', ..] => at += 2,
            [b']', ..] | [] => return None,
            [b'[', next, ..] if next == kind => return None,
            [mark, b']', ..] if mark == kind => return Some(at),
            _ => at += 1,
        }
    }
}

impl Check<'_> {
    /// At an opening bracket.
    pub(super) fn class(&mut self) -> Step {
        if BORDERS.iter().any(|b| self.rest().starts_with(b)) {
            self.at += BORDERS[0].len();
            self.units += 1;
            // It is written out as a look behind or ahead, which is what would be repeated.
            self.previous = super::Previous::Assertion;
            return Ok(());
        }
        if posix_end(self.rest()).is_some() {
            return self.fail(if self.peek(1) == b':' { Fault::PosixOutsideClass } else { Fault::Collating });
        }
        self.at += 1;
        let mut negated = false;
        loop {
            match self.rest() {
                [b'\\', b'E', ..] => self.at += 2,
                [b'\\', b'Q', b'\\', b'E', ..] => self.at += 4,
                [b'^', ..] if !negated => {
                    negated = true;
                    self.at += 1;
                }
                _ => break,
            }
        }
        let (mut first, mut quoted) = (true, false);
        while self.at < self.text.len() {
            if self.peek(0) == b']' && !first && !quoted {
                self.at += 1;
                self.one();
                return Ok(());
            }
            first = false;
            self.member(&mut quoted)?;
        }
        self.fail(Fault::OpenClass)
    }

    /// At something in a class.
    fn member(&mut self, quoted: &mut bool) -> Step {
        let low = match self.rest() {
            [b'\\', b'E', ..] if *quoted => {
                *quoted = false;
                self.at += 2;
                return Ok(());
            }
            _ if *quoted => self.plain(),
            [b'[', kind, ..] if posix_end(self.rest()).is_some() => {
                let end = posix_end(self.rest()).unwrap_or(0);
                if *kind != b':' {
                    return self.fail(Fault::Collating);
                }
                let name = self.rest().get(2..end).unwrap_or(&[]);
                let plain = name.strip_prefix(b"^").unwrap_or(name);
                if !POSIX.contains(&plain) {
                    return self.fail_at(Fault::UnknownPosix, 2 + name.len() - plain.len());
                }
                self.at += end + 2;
                return Ok(());
            }
            [b'\\', ..] => match self.class_escape(quoted)? {
                Some(low) => low,
                None => return Ok(()),
            },
            _ => self.plain(),
        };
        self.range(low, quoted)
    }

    /// At a character: it; the place is behind it then.
    fn plain(&mut self) -> u32 {
        let character = self.character();
        self.at += self.width();
        character
    }

    /// At a backslash: the character it stands for, if it does.
    fn class_escape(&mut self, quoted: &mut bool) -> Step<Option<u32>> {
        let letter = match self.escaped(true)? {
            Escape::Character(code) => {
                self.at += 1;
                return Ok(Some(code));
            }
            Escape::Reference(_) => return Ok(None),
            Escape::Letter(letter) => letter,
        };
        let character = match letter {
            b'b' => Some(8),
            b'N' => return self.fail(Fault::NoNewlineInClass),
            b'Q' => {
                *quoted = true;
                None
            }
            b'p' | b'P' => {
                self.property()?;
                None
            }
            b'E' | b'd' | b'D' | b's' | b'S' | b'w' | b'W' | b'h' | b'H' | b'v' | b'V' => None,
            _ if self.inline.strict => return self.fail(Fault::ClassEscape),
            _ => Some(u32::from(letter)),
        };
        self.at += 1;
        Ok(character)
    }

    /// Behind a character in a class: the rest of a range, if it is one.
    fn range(&mut self, low: u32, quoted: &mut bool) -> Step {
        while self.rest().starts_with(b"\\E") {
            *quoted = false;
            self.at += 2;
        }
        if *quoted || self.peek(0) != b'-' {
            return Ok(());
        }
        let hyphen = self.at;
        self.at += 1;
        while self.rest().starts_with(b"\\E") {
            self.at += 2;
        }
        while self.rest().starts_with(b"\\Q") {
            self.at += 2;
            if !self.rest().starts_with(b"\\E") {
                *quoted = true;
                break;
            }
            self.at += 2;
        }
        if self.at >= self.text.len() || !*quoted && self.peek(0) == b']' {
            self.at = hyphen;
            return Ok(());
        }
        let (high, last) = match self.rest() {
            [b'\\', ..] if !*quoted => {
                let escape = self.escaped(true)?;
                let last = self.at;
                self.at += 1;
                match escape {
                    Escape::Character(code) => (code, last),
                    Escape::Letter(b'b') => (8, last),
                    _ => return Err(Error { fault: Fault::RangeOfClass, offset: last }),
                }
            }
            [b'[', ..] if !*quoted && posix_end(self.rest()).is_some() => return self.fail(Fault::RangeOfClass),
            _ => {
                let high = self.plain();
                (high, self.at - 1)
            }
        };
        if high < low { Err(Error { fault: Fault::RangeOutOfOrder, offset: last }) } else { Ok(()) }
    }
}
