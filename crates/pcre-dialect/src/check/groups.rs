//! What an opening parenthesis begins, and how branches and groups end. References and conditions are in `references`.

use super::shape::{Item, Length, Shape};
use super::{Check, Deferred, InlineOptions, Lookbehind, Previous, Step};
use crate::fault::Fault;
use crate::latin1;

/// Kinds of groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Capture,
    Ahead,
    Behind,
    Condition,
    Definition,
}

/// An open group.
pub(super) struct Open {
    pub index: usize,
    pub kind: Kind,
    /// Its number, if it has one.
    pub number: Option<usize>,
    /// Where the branch begins among the items, and in the pattern.
    pub branch: usize,
    branch_at: usize,
    branches: usize,
    /// The inline options outside of it.
    inline: Option<InlineOptions>,
    /// Groups before it and the most after any branch, where each branch counts anew.
    anew: Option<(usize, usize)>,
    work: usize,
    /// It is itself a condition.
    is_condition: bool,
}

impl Open {
    /// The whole pattern.
    pub fn whole() -> Open {
        let (kind, inline, anew) = (Kind::Plain, None, None);
        Open {
            index: 0,
            kind,
            number: None,
            branch: 0,
            branch_at: 0,
            branches: 1,
            inline,
            anew,
            work: 0,
            is_condition: false,
        }
    }
}

/// Longest name of a group.
pub(super) const NAME_LIMIT: usize = 32;
/// Most names.
const NAMES: usize = 10_000;
/// Longest argument of a verb.
const ARGUMENT_LIMIT: usize = 255;

/// Verbs: may they have an argument, must they?
const VERBS: [(&[u8], bool, bool); 9] = [
    (b"", true, true),
    (b"MARK", true, true),
    (b"ACCEPT", false, false),
    (b"F", false, false),
    (b"FAIL", false, false),
    (b"COMMIT", false, false),
    (b"PRUNE", true, false),
    (b"SKIP", true, false),
    (b"THEN", true, false),
];

impl<'a> Check<'a> {
    /// At an opening parenthesis.
    pub(super) fn open(&mut self) -> Step {
        let next = self.peek(1);
        if next == b'*' && (self.peek(2) == b':' || latin1::is_letter(self.peek(2))) {
            return self.verb();
        }
        if next != b'?' {
            self.at += 1;
            return if self.options.no_auto_capture { self.begin(Kind::Plain, 3) } else { self.capture() };
        }
        self.at += 2;
        match self.peek(0) {
            b'|' => {
                self.at += 1;
                let groups = self.groups;
                self.begin(Kind::Plain, 3)?;
                if let Some(open) = self.open.last_mut() {
                    open.anew = Some((groups, groups));
                }
                Ok(())
            }
            b':' | b'>' => {
                self.at += 1;
                self.begin(Kind::Plain, 3)
            }
            b'=' => {
                self.at += 1;
                self.begin(Kind::Ahead, 3)
            }
            b'!' => {
                self.at += 1;
                let repeated = match self.peek(1) {
                    b'*' | b'+' | b'?' => true,
                    b'{' => super::counted(self.text.get(self.at + 2..).unwrap_or(&[])),
                    _ => false,
                };
                if self.peek(0) == b')' && !repeated {
                    self.at += 1;
                    self.previous = Previous::Nothing;
                    self.condition = false;
                    return Ok(());
                }
                self.begin(Kind::Ahead, 3)
            }
            b'<' => match self.peek(1) {
                b'=' | b'!' => {
                    self.at += 2;
                    self.begin(Kind::Behind, 6)
                }
                b if latin1::is_word(b) => self.named(b'>'),
                _ => self.fail_at(Fault::BadLookbehind, 1),
            },
            b'\'' => self.named(b'\''),
            b'P' => {
                self.at += 1;
                match self.peek(0) {
                    b'<' => self.named(b'>'),
                    b'=' => self.by_name(b')', false),
                    b'>' => self.by_name(b')', true),
                    _ => self.fail(Fault::BadPython),
                }
            }
            b'&' => self.by_name(b')', true),
            b'(' => self.condition(),
            b'C' => self.callout(),
            b'R' => {
                self.at += 1;
                if self.peek(0) == b')' { self.call_group(0) } else { self.fail(Fault::OpenCall) }
            }
            b'+' | b'0'..=b'9' => self.call(b')'),
            b'-' if self.peek(1).is_ascii_digit() => self.call(b')'),
            _ => self.options(),
        }
    }

    /// A group that counts begins.
    fn capture(&mut self) -> Step {
        self.groups += 1;
        if self.known.is_some() && self.shapes.numbered.len() == self.groups {
            self.shapes.numbered.push(self.shapes.groups.len());
        }
        self.begin(Kind::Capture, 5)
    }

    /// A group begins; it takes so much of the work space.
    pub(super) fn begin(&mut self, kind: Kind, work: usize) -> Step {
        let index = self.shapes.groups.len();
        let assertion = matches!(kind, Kind::Ahead | Kind::Behind);
        let is_condition = assertion && std::mem::take(&mut self.condition);
        if self.known.is_some() {
            let condition = matches!(kind, Kind::Condition | Kind::Definition);
            self.shapes.groups.push(Shape::new(self.at, condition, Vec::new()));
        }
        let inline = Some(self.inline);
        let branch_at = self.at;
        let number = (kind == Kind::Capture).then_some(self.groups);
        let open =
            Open { index, kind, number, branch: 0, branch_at, branches: 1, inline, anew: None, work, is_condition };
        self.open.push(open);
        self.work += work;
        self.units += work;
        self.previous = Previous::Nothing;
        Ok(())
    }

    /// The end of a branch: that of a lookbehind has to have a fixed length.
    pub(super) fn end_of_branch(&mut self) -> Step {
        let Some(open) = self.open.last() else { return Ok(()) };
        if open.kind != Kind::Behind || self.known.is_none() {
            return Ok(());
        }
        let mut branch = Lookbehind { from: open.branch_at, to: self.at, length: 0 };
        let (group, from) = (open.index, open.branch);
        match self.shapes.branch_length(group, from) {
            Length::Later => {
                let to = self.shapes.groups.get(group).map_or(0, |g| g.items.len());
                self.deferred.push(Deferred { group, from, to, branch });
            }
            length => {
                self.fixed(length)?;
                branch.length = length.characters();
                if self.shapes.is_odd(group, from) {
                    self.found.lookbehinds.push(branch);
                }
            }
        }
        Ok(())
    }

    /// Fails unless it is a fixed length.
    pub(super) fn fixed(&self, length: Length) -> Step {
        match length {
            Length::Fixed(_) | Length::Later => Ok(()),
            Length::Varies => self.fail(Fault::VaryingLookbehind),
            Length::Bytes => self.fail(Fault::ByteInLookbehind),
        }
    }

    /// At `|`.
    pub(super) fn branch(&mut self) -> Step {
        self.end_of_branch()?;
        self.at += 1;
        self.units += 3;
        self.previous = Previous::Nothing;
        let groups = self.groups;
        let building = self.known.is_some();
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        open.branches += 1;
        if let Some((before, most)) = &mut open.anew {
            *most = groups.max(*most);
            self.groups = *before;
        }
        if building {
            let items = &mut self.shapes.groups[open.index].items;
            items.push(Item::Or);
            open.branch = items.len();
            open.branch_at = self.at;
        }
        Ok(())
    }

    /// At the parenthesis that closes the newest group.
    pub(super) fn close(&mut self) -> Step {
        self.end_of_branch()?;
        let Some(open) = self.open.pop() else { return Ok(()) };
        if let Some((_, most)) = open.anew {
            self.groups = self.groups.max(most);
        }
        if let Some(inline) = open.inline {
            self.inline = inline;
        }
        self.work -= open.work;
        let building = self.known.is_some();
        match (open.kind, open.branches) {
            (Kind::Definition, 2..) if building => return self.fail(Fault::ManyDefinitions),
            (Kind::Condition, 3..) if building => return self.fail(Fault::ManyBranches),
            _ => {}
        }
        if building {
            self.shapes.close(open.index, self.at);
        }
        self.at += 1;
        match open.kind {
            Kind::Ahead | Kind::Behind => {
                self.previous = if open.is_condition { Previous::Nothing } else { Previous::Assertion };
            }
            Kind::Definition => {
                self.push(Item::Group { index: open.index, min: 1, max: 1 }, Previous::Definition);
            }
            _ => self.push(Item::Group { index: open.index, min: 1, max: 1 }, Previous::Item),
        }
        Ok(())
    }

    pub(super) fn word(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let len = self.skip_while(latin1::is_word);
        &rest[..len]
    }

    /// At the mark before the name of a group that begins here.
    fn named(&mut self, close: u8) -> Step {
        self.at += 1;
        if self.peek(0).is_ascii_digit() {
            return self.fail(Fault::DigitFirst);
        }
        let name = self.word();
        if self.known.is_none() {
            if self.peek(0) != close {
                return self.fail(Fault::OpenName);
            }
            if self.name_count >= NAMES {
                return self.fail(Fault::ManyNames);
            }
            if name.len() > NAME_LIMIT {
                return self.fail(Fault::LongName);
            }
            self.keep_name(name)?;
        }
        self.at += 1;
        self.capture()
    }

    /// Keeps the name of the next group, unless it is one that must not be.
    fn keep_name(&mut self, name: &'a [u8]) -> Step {
        let number = self.groups + 1;
        // Of two faults that is told whose name came first.
        let first = self.names.get(name).and_then(|numbers| numbers.first()).copied();
        let other = self.named.get(&number).copied();
        match (first, other) {
            (_, Some((other, _))) if other == name => {
                let same = first.is_none_or(|(number_of_first, _)| number_of_first == number);
                return if same || self.inline.same_names { Ok(()) } else { self.fail(Fault::SameName) };
            }
            (Some((_, at)), Some((_, at_other))) if !self.inline.same_names && at < at_other => {
                return self.fail(Fault::SameName);
            }
            (_, Some(_)) => return self.fail(Fault::OtherName),
            (Some(_), None) if !self.inline.same_names => return self.fail(Fault::SameName),
            _ => {}
        }
        let place = self.name_count;
        self.names.entry(name).or_default().push((number, place));
        self.named.entry(number).or_insert((name, place));
        self.name_count += 1;
        Ok(())
    }

    /// At `C`.
    fn callout(&mut self) -> Step {
        self.at += 1;
        let mut number = 0u32;
        while self.peek(0).is_ascii_digit() {
            number = number * 10 + u32::from(self.peek(0) - b'0');
            self.at += 1;
            if number > 255 {
                return self.fail(Fault::BigCallout);
            }
        }
        if self.peek(0) != b')' {
            return self.fail(Fault::OpenCallout);
        }
        self.at += 1;
        self.units += 2;
        self.previous = Previous::Nothing;
        Ok(())
    }

    /// At letters that set options, or something unknown.
    fn options(&mut self) -> Step {
        let (mut set, mut on) = (self.inline, true);
        loop {
            match self.peek(0) {
                b'-' => on = false,
                b'x' => set.extended = on,
                b'J' => set.same_names = on,
                b'X' => set.strict = on,
                b'i' | b'm' | b's' | b'U' => {}
                b':' | b')' => break,
                _ => return self.fail(Fault::BadOption),
            }
            self.at += 1;
        }
        let group = self.peek(0) == b':';
        self.at += 1;
        if group {
            self.begin(Kind::Plain, 3)?;
        }
        self.previous = Previous::Nothing;
        self.inline = set;
        Ok(())
    }

    /// At `(*` and a name.
    fn verb(&mut self) -> Step {
        self.at += 2;
        let rest = self.rest();
        let len = self.skip_while(latin1::is_letter);
        let name = &rest[..len];
        let mut argument = 0;
        if self.peek(0) == b':' {
            self.at += 1;
            argument = self.skip_while(|b| b != b')');
            if argument > ARGUMENT_LIMIT {
                return self.fail(Fault::LongMark);
            }
        }
        if self.peek(0) != b')' {
            return self.fail(Fault::BadVerb);
        }
        match VERBS.iter().find(|(verb, ..)| *verb == name) {
            None => return self.fail(Fault::BadVerb),
            Some((_, false, _)) if argument > 0 => return self.fail(Fault::VerbArgument),
            Some((_, _, true)) if argument == 0 => return self.fail(Fault::MarkArgument),
            Some((b"ACCEPT", ..)) => self.push(Item::Accept, Previous::Nothing),
            // PCRE2 thinks that the branch ends there.
            Some((b"F" | b"FAIL", ..)) => {
                // The first reading keeps no shapes.
                if self.known.is_some() {
                    self.shape().odd = true;
                }
                self.units += 1;
            }
            Some(_) => self.units += 1,
        }
        self.at += 1;
        self.previous = Previous::Nothing;
        Ok(())
    }
}
