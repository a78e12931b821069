//! What follows a backslash, outside classes and in them.

use super::shape::Item;
use super::{Check, Previous, Step};
use crate::fault::{Error, Fault};

/// What an escape stands for.
pub(super) enum Escape {
    /// A character.
    Character(u32),
    /// A letter with a meaning, the place being on it; of `\p{...}` all is read.
    Letter(u8),
    /// A group that it refers to.
    Reference(usize),
}

/// Letters with a meaning.
const LETTERS: &[u8] = b"AGKBbDdSsWwNCPpRHhVvXZzEQk";
/// Those that stand for one control character.
const CONTROLS: [(u8, u32); 6] = [(b'a', 7), (b'e', 27), (b'f', 12), (b'n', 10), (b'r', 13), (b't', 9)];
/// Letters of what is no character: nothing to repeat.
const ANCHORS: &[u8] = b"AGKBbZz";

impl Check<'_> {
    /// At a backslash in a branch.
    pub(super) fn escape(&mut self) -> Step {
        let letter = match self.escaped(false)? {
            Escape::Character(_) => {
                self.at += 1;
                self.one();
                return Ok(());
            }
            Escape::Reference(number) => {
                self.at += 1;
                self.highest_reference = self.highest_reference.max(number);
                self.refers_to(number);
                return Ok(());
            }
            Escape::Letter(letter) => letter,
        };
        match letter {
            b'Q' => {
                self.at += 1;
                self.quoted();
            }
            b'E' => self.at += 1,
            b'g' => return self.angle_call(),
            b'k' => {
                let close = match self.peek(1) {
                    b'<' => b'>',
                    b'\'' => b'\'',
                    b'{' => b'}',
                    _ => return self.fail(Fault::NoQuotedName),
                };
                self.at += 1;
                return self.by_name(close, false);
            }
            b'C' if self.options.unicode => {
                self.at += 1;
                self.push(Item::Byte, Previous::One);
            }
            b'R' | b'X' => {
                self.at += 1;
                self.push(Item::Some, Previous::One);
            }
            b'p' | b'P' => {
                self.property()?;
                self.at += 1;
                self.one();
            }
            _ if ANCHORS.contains(&letter) => {
                self.at += 1;
                self.units += 1;
                self.previous = Previous::Nothing;
            }
            _ => {
                self.at += 1;
                self.one();
            }
        }
        Ok(())
    }

    /// Behind `\Q`: plain text up to `\E`.
    fn quoted(&mut self) {
        while self.at < self.text.len() {
            if self.rest().starts_with(b"\\E") {
                self.at += 2;
                return;
            }
            self.literal();
        }
    }

    /// On the letter of `\g<` or `\g'`.
    fn angle_call(&mut self) -> Step {
        self.at += 1;
        let close = if self.peek(0) == b'<' { b'>' } else { b'\'' };
        if !matches!(self.peek(1), b'+' | b'-' | b'0'..=b'9') {
            return self.by_name(close, true);
        }
        let digits = self.text.get(self.at + 2..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count();
        if self.peek(2 + digits) != close {
            return self.fail(Fault::NoReference);
        }
        self.at += 1;
        if matches!(self.peek(0), b'-') && digits == 0 {
            return self.fail_at(Fault::BadOption, 1);
        }
        self.call(close)
    }

    /// At a backslash: what it stands for. The place is then on its last byte.
    pub(super) fn escaped(&mut self, class: bool) -> Step<Escape> {
        self.at += 1;
        if self.at >= self.text.len() {
            return self.fail(Fault::EndsInBackslash);
        }
        let letter = self.peek(0);
        if !letter.is_ascii_alphanumeric() {
            let character = self.character();
            self.at += self.width() - 1;
            return Ok(Escape::Character(character));
        }
        if let Some((_, code)) = CONTROLS.iter().find(|(l, _)| *l == letter) {
            return Ok(Escape::Character(*code));
        }
        if LETTERS.contains(&letter) {
            if letter == b'N' && self.peek(1) == b'{' && !super::counted(self.text.get(self.at + 2..).unwrap_or(&[])) {
                return self.fail(Fault::NotSupported);
            }
            return Ok(Escape::Letter(letter));
        }
        match letter {
            b'l' | b'L' | b'u' | b'U' => self.fail(Fault::NotSupported),
            b'g' if !class => self.numbered_reference(),
            b'0'..=b'9' => self.digits(class),
            b'o' => self.octal(),
            b'x' => self.hexadecimal(),
            b'c' => {
                self.at += 1;
                if self.at >= self.text.len() {
                    return self.fail(Fault::EndsInControl);
                }
                let byte = self.peek(0);
                if byte > 127 {
                    return self.fail(Fault::ControlNotAscii);
                }
                Ok(Escape::Character(u32::from(byte.to_ascii_uppercase() ^ 0x40)))
            }
            _ if self.inline.strict => self.fail(Fault::UnknownEscape),
            _ => Ok(Escape::Character(u32::from(letter))),
        }
    }

    /// The character here.
    pub(super) fn character(&self) -> u32 {
        let text = self.rest();
        let text = text.get(..self.width()).unwrap_or(text);
        match std::str::from_utf8(text) {
            Ok(text) if self.options.unicode => text.chars().next().map_or(0, u32::from),
            _ => u32::from(self.peek(0)),
        }
    }

    /// On the letter of `\g`.
    fn numbered_reference(&mut self) -> Step<Escape> {
        let next = self.peek(1);
        if matches!(next, b'<' | b'\'') {
            return Ok(Escape::Letter(b'g'));
        }
        let braced = next == b'{';
        if braced {
            let body = self.text.get(self.at + 2..).unwrap_or(&[]);
            let name = body.iter().find(|b| !matches!(b, b'-' | b'0'..=b'9'));
            if name.is_some_and(|b| *b != b'}') {
                return Ok(Escape::Letter(b'k'));
            }
            self.at += 1;
        }
        let back = self.peek(1) == b'-';
        self.at += usize::from(back);
        // The place stays on the last digit.
        self.at += 1;
        let number = self.number().map_err(|error| Error { offset: error.offset - 1, ..error })?;
        self.at -= 1;
        if braced {
            self.at += 1;
            if self.peek(0) != b'}' {
                return self.fail(Fault::NoReference);
            }
        }
        match number {
            0 => self.fail(Fault::ZeroReference),
            n if back && n > self.groups => self.fail(Fault::NoSuchGroup),
            n if back => Ok(Escape::Reference(self.groups + 1 - n)),
            n => Ok(Escape::Reference(n)),
        }
    }

    /// On the first digit: a reference, or a character by its octal number.
    fn digits(&mut self, class: bool) -> Step<Escape> {
        let first = self.peek(0);
        if first != b'0' && !class {
            let start = self.at;
            let number = self.number().map_err(|error| Error { offset: error.offset - 1, ..error })?;
            if number < 8 || number <= self.groups {
                self.at -= 1;
                return Ok(Escape::Reference(number));
            }
            self.at = start;
        }
        if first >= b'8' {
            return Ok(Escape::Character(u32::from(first)));
        }
        let mut code = u32::from(first - b'0');
        for _ in 0..2 {
            if !matches!(self.peek(1), b'0'..=b'7') {
                break;
            }
            self.at += 1;
            code = code * 8 + u32::from(self.peek(0) - b'0');
        }
        if code > 255 && !self.options.unicode {
            return self.fail(Fault::BigOctal);
        }
        Ok(Escape::Character(code))
    }

    /// The largest code of a character.
    fn largest(&self) -> u32 {
        if self.options.unicode { 0x10_ffff } else { 0xff }
    }

    /// Behind the brace: digits and a closing brace.
    fn braced(&mut self, base: u32, other: Fault) -> Step<Escape> {
        let (mut code, mut big) = (0u32, false);
        while let Some(digit) = char::from(self.peek(0)).to_digit(base) {
            code = code.saturating_mul(base).saturating_add(digit);
            big |= code > self.largest();
            self.at += 1;
        }
        match self.peek(0) {
            _ if big => self.fail(Fault::BigCharacter),
            b'}' if self.options.unicode && (0xd800..=0xdfff).contains(&code) => self.fail(Fault::Surrogate),
            b'}' => Ok(Escape::Character(code)),
            _ => self.fail(other),
        }
    }

    /// On the letter of `\o`.
    fn octal(&mut self) -> Step<Escape> {
        if self.peek(1) != b'{' {
            return self.fail(Fault::NoOctalBrace);
        }
        if self.peek(2) == b'}' {
            return self.fail(Fault::NoDigits);
        }
        self.at += 2;
        self.braced(8, Fault::NotOctal)
    }

    /// On the letter of `\x`.
    fn hexadecimal(&mut self) -> Step<Escape> {
        if self.peek(1) == b'{' {
            self.at += 2;
            if self.peek(0) == b'}' {
                return self.fail(Fault::NoDigits);
            }
            return self.braced(16, Fault::NotHexadecimal);
        }
        let mut code = 0;
        for _ in 0..2 {
            let Some(digit) = char::from(self.peek(1)).to_digit(16) else { break };
            self.at += 1;
            code = code * 16 + digit;
        }
        Ok(Escape::Character(code))
    }

    /// On the letter of `\p`: up to the end of the property's name.
    pub(super) fn property(&mut self) -> Step {
        self.at += 1;
        if self.at >= self.text.len() {
            return self.fail(Fault::BadProperty);
        }
        if self.peek(0) != b'{' {
            let known = super::properties::is_property(&[self.peek(0)]);
            return if known { Ok(()) } else { self.fail(Fault::UnknownProperty) };
        }
        self.at += usize::from(self.peek(1) == b'^');
        self.at += 1;
        let rest = self.rest();
        let len = rest.iter().take(super::properties::LONGEST + 1).take_while(|b| **b != b'}').count();
        if len > super::properties::LONGEST || len == rest.len() {
            self.at += len.min(super::properties::LONGEST);
            return self.fail(Fault::BadProperty);
        }
        self.at += len;
        if super::properties::is_property(&rest[..len]) { Ok(()) } else { self.fail(Fault::UnknownProperty) }
    }
}
