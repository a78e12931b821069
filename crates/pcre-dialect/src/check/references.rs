//! References to groups: what they matched, calls, conditions.

use super::groups::{Kind, NAME_LIMIT};
use super::shape::Item;
use super::{Check, Previous, Step};
use crate::fault::Fault;

impl Check<'_> {
    /// At the mark before a name that is referred to, or called.
    pub(super) fn by_name(&mut self, close: u8, call: bool) -> Step {
        self.at += 1;
        if self.peek(0).is_ascii_digit() {
            return self.fail(Fault::DigitFirst);
        }
        let name = self.word();
        let Some(known) = self.known else {
            if name.is_empty() {
                return self.fail(Fault::NoName);
            }
            if self.peek(0) != close {
                return self.fail(Fault::OpenName);
            }
            if name.len() > NAME_LIMIT {
                return self.fail(Fault::LongName);
            }
            self.at += 1;
            self.push(Item::Any, Previous::Item);
            return Ok(());
        };
        let Some(number) = known.names.get(name).copied() else { return self.fail(Fault::NoSuchGroup) };
        if call {
            return self.call_group(number);
        }
        self.at += 1;
        self.refers_to(number);
        Ok(())
    }

    /// A reference to what a group matched was read.
    pub(super) fn refers_to(&mut self, number: usize) {
        if self.open.iter().any(|open| open.number == Some(number)) {
            self.found.own.insert(number);
        }
        self.push(Item::Any, Previous::Item);
    }

    /// At the number of a call; at the closing mark already for the whole pattern.
    pub(super) fn call(&mut self, close: u8) -> Step {
        let sign = self.peek(0);
        match sign {
            b'+' if !self.peek(1).is_ascii_digit() => return self.fail_at(Fault::NoDigit, 1),
            b'+' | b'-' => self.at += 1,
            _ => {}
        }
        let mut number = self.number()?;
        if self.peek(0) != close {
            return self.fail(Fault::OpenCall);
        }
        match sign {
            b'+' | b'-' if number == 0 => return self.fail(Fault::ZeroReference),
            b'-' if number > self.groups => return self.fail(Fault::NoSuchGroup),
            b'-' => number = self.groups + 1 - number,
            b'+' => number += self.groups,
            _ => {}
        }
        self.call_group(number)
    }

    /// At the mark that ends a call of a group.
    pub(super) fn call_group(&mut self, number: usize) -> Step {
        if let Some(known) = self.known {
            let forward = number >= self.shapes.numbered.len();
            if forward && number > known.groups {
                return self.fail(Fault::NoSuchGroup);
            }
            if !forward && self.is_endless(number) {
                return self.fail(Fault::EndlessCall);
            }
            let at = self.at;
            self.push(Item::Call { group: number, at, forward }, Previous::Item);
        } else {
            self.push(Item::Any, Previous::Item);
        }
        self.at += 1;
        Ok(())
    }

    /// Is the group open, and may nothing have been matched since it began? Within a condition that is not asked.
    fn is_endless(&mut self, number: usize) -> bool {
        let index = self.shapes.numbered.get(number).copied().unwrap_or(0);
        let Some(called) = self.open.iter().position(|open| open.index == index) else { return false };
        if self.open.iter().any(|open| matches!(open.kind, Kind::Condition | Kind::Definition)) {
            return false;
        }
        (called..self.open.len()).rev().all(|depth| self.has_nothing_before(depth))
    }

    /// May all have matched nothing that the current branch of an open group has so far? Of an open assertion in it, PCRE 8.44
    /// looks at the first branch; any other open group may have matched nothing.
    fn has_nothing_before(&mut self, depth: usize) -> bool {
        let mut branch = self.open[depth].branch;
        for (index, open) in self.open[depth..].iter().enumerate() {
            if index > 0 && !matches!(open.kind, Kind::Ahead | Kind::Behind) {
                return true;
            }
            if !self.shapes.may_be_empty(open.index, branch) {
                return false;
            }
            if self.shapes.has_more_branches(open.index, branch) {
                return true;
            }
            branch = 0;
        }
        true
    }

    /// At the parenthesis of a condition.
    pub(super) fn condition(&mut self) -> Step {
        let start = self.at;
        let mut assertion = self.at;
        if self.rest().starts_with(b"(?C") {
            let digits = self.rest()[3..].iter().take_while(|b| b.is_ascii_digit()).count();
            if self.peek(3 + digits) == b')' {
                assertion += 4 + digits;
            }
            if self.text.get(assertion) != Some(&b'(') {
                return self.fail(Fault::NoAssertion);
            }
        }
        let after = self.text.get(assertion + 1..).unwrap_or(&[]);
        let is_assertion = matches!(after, [b'?', b'=' | b'!', ..] | [b'?', b'<', b'=' | b'!', ..]);
        if is_assertion {
            self.begin(Kind::Condition, 3)?;
            self.condition = true;
            return Ok(());
        }
        self.at += 1;
        let close = match (self.peek(0), self.peek(1)) {
            (b'R', b'&') => {
                self.at += 2;
                None
            }
            (b'<', _) => {
                self.at += 1;
                Some(b'>')
            }
            (b'\'', _) => {
                self.at += 1;
                Some(b'\'')
            }
            (b'+' | b'-' | b'0'..=b'9', _) => return self.numeric_condition(),
            _ => Some(0),
        };
        if self.peek(0).is_ascii_digit() {
            return self.fail(Fault::DigitFirst);
        }
        let name = self.word();
        if name.is_empty() {
            return self.fail(Fault::NoAssertion);
        }
        if let Some(close) = close.filter(|c| *c != 0) {
            if self.peek(0) != close {
                return self.fail(Fault::BadCondition);
            }
            self.at += 1;
        }
        if self.peek(0) != b')' {
            return self.fail(Fault::BadCondition);
        }
        self.at += 1;
        let mut kind = Kind::Condition;
        if let Some(known) = self.known
            && !known.names.contains_key(name)
        {
            match name {
                [b'R', digits @ ..] if close == Some(0) => {
                    if !digits.iter().all(u8::is_ascii_digit) {
                        return self.fail(Fault::NoSuchGroup);
                    }
                    let big = digits.iter().rev().skip(9).any(|d| *d != b'0');
                    if big {
                        return self.fail(Fault::BigNumber);
                    }
                    let number = digits.iter().fold(0, |n, d| n * 10 + usize::from(d - b'0'));
                    if !digits.is_empty() && number == 0 {
                        self.found.conditions.push((start, b"(R)"));
                    } else if number > known.groups {
                        self.found.conditions.push((start, b"(?!)"));
                    }
                }
                b"DEFINE" if close == Some(0) => kind = Kind::Definition,
                _ => return self.fail(Fault::NoSuchGroup),
            }
        }
        self.begin(kind, 8)
    }

    /// At a number, or a sign before one.
    fn numeric_condition(&mut self) -> Step {
        let sign = self.peek(0);
        if matches!(sign, b'+' | b'-') {
            self.at += 1;
        }
        let number = self.number()?;
        if self.peek(0) != b')' {
            return self.fail(Fault::BadCondition);
        }
        self.at += 1;
        if let Some(known) = self.known {
            if number == 0 {
                return self.fail(Fault::ZeroCondition);
            }
            let number = match sign {
                b'-' => (self.groups + 1).saturating_sub(number),
                b'+' => self.groups + number,
                _ => number,
            };
            if number == 0 || number > known.groups {
                return self.fail(Fault::NoSuchGroup);
            }
        }
        self.begin(Kind::Condition, 6)
    }
}
