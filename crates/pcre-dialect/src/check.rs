//! What PCRE 8.44 refuses, with the fault and the place that it tells.
//!
//! It reads a pattern twice, and so does this: the first time for its form, counting groups and keeping names, the second
//! time for what needs to know them: references to groups, calls without end, the lengths of lookbehinds. So an error
//! of form goes before all others wherever it stands, and what is only looked at when all is read (numeric references, lookbehinds
//! with calls in them) comes last, placed at the end.
//!
//! | module | reads |
//! | --- | --- |
//! | this one | what stands in a branch, repetitions |
//! | [`escapes`] | what follows a backslash |
//! | [`classes`] | classes in brackets |
//! | [`groups`] | what follows an opening parenthesis; the ends of branches and groups |
//! | [`references`] | references, calls, conditions |
//! | [`shape`] | how long a group is, and whether it may match nothing |
//!
//! - Nothing here recurses with the nesting of the pattern; what follows calls is bounded in `shape`.
//! - Two passes, each linear in the pattern: what a pass keeps of the pattern is not larger than a few times its text.

pub(crate) mod classes;
mod escapes;
mod groups;
mod properties;
mod references;
mod shape;

use crate::fault::{Error, Fault};
use crate::lead;
use crate::options::Options;
use groups::Open;
use shape::{Item, POSSESSIVE, Shape, Shapes, UNLIMITED};
use std::collections::{BTreeSet, HashMap};

/// What is found out about a pattern that is good.
#[derive(Default, Debug)]
pub struct Found {
    /// How many groups it has.
    pub groups: usize,
    /// Groups that refer back to themselves.
    pub own: BTreeSet<usize>,
    /// Conditions that PCRE2 would refuse: the places of their parentheses, and what is as good.
    pub conditions: Vec<(usize, &'static [u8])>,
    /// Branches of lookbehinds whose length PCRE2 might not know, or find to be another.
    pub lookbehinds: Vec<Lookbehind>,
}

/// A branch of a lookbehind: its place, and how many characters it goes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lookbehind {
    /// Where it begins.
    pub from: usize,
    /// And ends.
    pub to: usize,
    /// Characters.
    pub length: u64,
}

/// A branch of a lookbehind with calls in it: the group, its items, its place.
struct Deferred {
    group: usize,
    from: usize,
    to: usize,
    branch: Lookbehind,
}

type Step<T = ()> = Result<T, Error>;

/// What can be changed in the middle of a pattern, for the rest of a group.
#[derive(Clone, Copy)]
struct InlineOptions {
    extended: bool,
    same_names: bool,
    /// Unknown escapes are errors.
    strict: bool,
}

/// What a repetition would repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    /// There is nothing.
    Nothing,
    /// A character, or something that can be counted as one: the last item of the branch.
    One,
    /// A reference, a group, a call: the last item of the branch.
    Item,
    /// An assertion, which is no item.
    Assertion,
    /// A definition, which is never run.
    Definition,
}

/// What the first reading finds out.
struct Known<'a> {
    /// How many groups there are.
    groups: usize,
    /// The number of the first group of each name.
    names: HashMap<&'a [u8], usize>,
}

struct Check<'a> {
    text: &'a [u8],
    at: usize,
    options: Options,
    inline: InlineOptions,
    /// What the first reading has found, in the second.
    known: Option<&'a Known<'a>>,
    /// Groups that have begun.
    groups: usize,
    /// Names, with the numbers they stand for; and numbers with names; each with how many names came before.
    names: HashMap<&'a [u8], Vec<(usize, usize)>>,
    named: HashMap<usize, (&'a [u8], usize)>,
    name_count: usize,
    /// Groups that are open, the whole being the first.
    open: Vec<Open>,
    /// Units of PCRE 8.44's work space that the open groups take.
    work: usize,
    /// Units that what was read takes there at least.
    units: usize,
    previous: Previous,
    /// The next assertion is a condition.
    condition: bool,
    shapes: Shapes,
    /// Branches of lookbehinds with calls in them.
    deferred: Vec<Deferred>,
    found: Found,
    /// The highest number that is referred to.
    highest_reference: usize,
}

/// PCRE 8.44's work space for open groups, in its units, and the place each takes.
const WORK_SPACE: usize = 3996;
/// Units that a pattern may have in all, of which each character takes two at least.
const LARGEST: usize = 1 << 16;

/// Finds what is wrong with a pattern, which begins at `start` behind its verbs, has no NUL, and is good UTF-8 if it has to be.
pub fn check(text: &[u8], start: usize, options: Options) -> Result<Found, Error> {
    if options.unicode && options.never_unicode {
        return Err(Error { fault: Fault::UtfDisabled, offset: 0 });
    }
    let mut form = Check::new(text, start, options, None);
    form.pattern()?;
    if form.units > LARGEST {
        return Err(Error { fault: Fault::TooLarge, offset: text.len() });
    }
    let names = form.names.into_iter().filter_map(|(name, numbers)| Some((name, numbers.first()?.0))).collect();
    let known = Known { groups: form.groups, names };
    let mut meaning = Check::new(text, start, options, Some(&known));
    meaning.pattern()?;
    meaning.end()
}

impl<'a> Check<'a> {
    fn new(text: &'a [u8], at: usize, options: Options, known: Option<&'a Known<'a>>) -> Check<'a> {
        Check {
            text,
            at,
            options,
            inline: InlineOptions { extended: options.extended, same_names: options.same_names, strict: false },
            known,
            groups: 0,
            names: HashMap::new(),
            named: HashMap::new(),
            name_count: 0,
            open: vec![Open::whole()],
            work: 3,
            units: 0,
            previous: Previous::Nothing,
            condition: false,
            shapes: Shapes::new(),
            deferred: Vec::new(),
            found: Found::default(),
            highest_reference: 0,
        }
    }

    /// The byte so far on, 0 behind the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or(&[])
    }

    fn fail<T>(&self, fault: Fault) -> Step<T> {
        self.fail_at(fault, 0)
    }

    /// Fails that far ahead.
    fn fail_at<T>(&self, fault: Fault, ahead: usize) -> Step<T> {
        Err(Error { fault, offset: (self.at + ahead).min(self.text.len()) })
    }

    fn skip_while(&mut self, kind: impl Fn(u8) -> bool) -> usize {
        let count = self.rest().iter().take_while(|b| kind(**b)).count();
        self.at += count;
        count
    }

    /// A number of digits; too big a one is an error.
    fn number(&mut self) -> Step<usize> {
        let mut number = 0usize;
        let mut big = false;
        while self.peek(0).is_ascii_digit() {
            big |= number > i32::MAX as usize / 10 - 1;
            number = number.wrapping_mul(10).wrapping_add(usize::from(self.peek(0) - b'0'));
            self.at += 1;
        }
        if big { self.fail(Fault::BigNumber) } else { Ok(number) }
    }

    /// Reads all of it, up to the end or to a parenthesis too many.
    fn pattern(&mut self) -> Step {
        while self.at < self.text.len() {
            if self.known.is_none() && self.work > WORK_SPACE {
                return self.fail(Fault::TooComplicated);
            }
            if self.skip_blanks()? {
                continue;
            }
            match self.peek(0) {
                b')' if self.open.len() == 1 => break,
                b')' => self.close()?,
                b'|' => self.branch()?,
                b'^' | b'$' => {
                    self.at += 1;
                    self.previous = Previous::Nothing;
                }
                b'[' => self.class()?,
                b'*' => self.repeated(1, 0, UNLIMITED)?,
                b'+' => self.repeated(1, 1, UNLIMITED)?,
                b'?' => self.repeated(1, 0, 1)?,
                b'{' if counted(&self.rest()[1..]) => self.counts()?,
                b'(' => self.open()?,
                b'\\' => self.escape()?,
                _ => self.literal(),
            }
        }
        if self.known.is_none() && self.work > WORK_SPACE {
            return self.fail(Fault::TooComplicated);
        }
        if self.open.len() > 1 {
            self.end_of_branch()?;
            return self.fail(Fault::OpenGroup);
        }
        Ok(())
    }

    /// What is left to be found when all is read.
    fn end(mut self) -> Step<Found> {
        if self.at < self.text.len() {
            return self.fail(Fault::Unmatched);
        }
        self.shapes.close(0, self.at);
        if self.highest_reference > self.groups {
            return self.fail(Fault::NoSuchGroup);
        }
        let any_odd = self.shapes.groups.iter().any(|g| g.odd);
        for deferred in std::mem::take(&mut self.deferred) {
            let length = self.shapes.length_at_end(deferred.group, deferred.from, deferred.to);
            self.fixed(length)?;
            if any_odd {
                self.found.lookbehinds.push(Lookbehind { length: length.characters(), ..deferred.branch });
            }
        }
        self.found.groups = self.groups;
        Ok(self.found)
    }

    /// Comments, and blanks where they mean nothing; tells whether there were any.
    fn skip_blanks(&mut self) -> Step<bool> {
        let blanks = lead::blanks(self.rest(), self.inline.extended, self.options);
        self.at += blanks;
        if self.at >= self.text.len()
            && lead::is_open_comment(self.text, self.at - blanks, self.inline.extended, self.options)
        {
            return self.fail(Fault::OpenComment);
        }
        Ok(blanks > 0)
    }

    /// A character that stands for itself.
    fn literal(&mut self) {
        self.at += self.width();
        self.units += 1;
        self.one();
    }

    /// How many bytes the character here has.
    fn width(&self) -> usize {
        match self.peek(0) {
            0xc0..=0xdf if self.options.unicode => 2,
            0xe0..=0xef if self.options.unicode => 3,
            0xf0..=0xff if self.options.unicode => 4,
            _ => 1,
        }
    }

    /// Something of one character was read.
    fn one(&mut self) {
        self.push(Item::Fixed(1), Previous::One);
    }

    /// The group that is open.
    fn shape(&mut self) -> &mut Shape {
        let index = self.open.last().map_or(0, |open| open.index);
        &mut self.shapes.groups[index]
    }

    fn items(&mut self) -> &mut Vec<Item> {
        &mut self.shape().items
    }

    fn push(&mut self, item: Item, previous: Previous) {
        self.previous = previous;
        self.units += 1;
        if self.known.is_none() {
            return;
        }
        let items = self.items();
        match (items.last_mut(), item) {
            (Some(Item::Fixed(n)), Item::Fixed(more)) => *n += more,
            _ => items.push(item),
        }
    }

    /// Puts in what a repetition gives.
    fn push_repeated(&mut self, item: Item) {
        let items = self.items();
        match (items.last_mut(), item) {
            (Some(Item::Fixed(n)), Item::Fixed(more)) => *n += more,
            // What is said once need not be said again.
            (Some(Item::Any), Item::Any) => {}
            _ => items.push(item),
        }
    }

    /// At `{`, counts following.
    fn counts(&mut self) -> Step {
        let start = self.at;
        self.at += 1;
        let min = self.count()?;
        let mut max = min;
        if self.peek(0) == b',' {
            self.at += 1;
            max = UNLIMITED;
            if self.peek(0) != b'}' {
                max = self.count()?;
                if max < min {
                    return self.fail(Fault::CountsOutOfOrder);
                }
            }
        }
        let len = self.at + 1 - start;
        self.at = start;
        self.repeated(len, min, max)
    }

    fn count(&mut self) -> Step<u32> {
        let mut count = 0;
        while self.peek(0).is_ascii_digit() {
            count = count * 10 + u32::from(self.peek(0) - b'0');
            self.at += 1;
            if count > 65535 {
                return self.fail(Fault::BigCount);
            }
        }
        Ok(count)
    }

    /// At a repetition of so many bytes: what comes before it, so often.
    fn repeated(&mut self, len: usize, min: u32, max: u32) -> Step {
        let previous = std::mem::replace(&mut self.previous, Previous::Nothing);
        if previous == Previous::Nothing {
            return self.fail_at(Fault::NothingToRepeat, len - 1);
        }
        self.at += len;
        self.skip_blanks()?;
        let possessive = self.peek(0) == b'+';
        let max = if possessive { max.min(POSSESSIVE) } else { max };
        self.at += usize::from(possessive || self.peek(0) == b'?');
        if max == 0 && matches!(previous, Previous::One | Previous::Item) {
            self.units = self.units.saturating_sub(2);
        }
        if self.known.is_none() {
            return Ok(());
        }
        match previous {
            Previous::Nothing | Previous::Definition => {}
            // PCRE2 takes it for something of another length.
            Previous::Assertion if min > 0 => self.shape().odd = true,
            Previous::Assertion => self.push_repeated(Item::Any),
            Previous::One => {
                // `\R{2}` and `\C{2}` count as two characters, as PCRE 8.44 has it.
                let again = match self.items().pop() {
                    Some(Item::Fixed(n)) if n > 1 => {
                        self.items().push(Item::Fixed(n - 1));
                        Item::Fixed(1)
                    }
                    Some(item) => item,
                    None => return Ok(()),
                };
                self.shape().odd |= min == max && !matches!(again, Item::Fixed(_));
                match (min, max) {
                    (_, 0) => {}
                    (1, 1) => self.push_repeated(again),
                    (0, _) => self.push_repeated(Item::Any),
                    (n, m) if n == m => self.push_repeated(Item::Fixed(u64::from(n))),
                    _ => self.push_repeated(Item::Some),
                }
            }
            Previous::Item => match self.items().pop() {
                Some(Item::Group { index, .. }) => self.items().push(Item::Group { index, min, max }),
                Some(Item::Any) if max == 0 => {}
                Some(call @ Item::Call { .. }) => self.repeat_call(call, min, max),
                Some(item) => self.items().push(item),
                None => {}
            },
        }
        Ok(())
    }

    /// A repeated call is as a group with the call in it.
    fn repeat_call(&mut self, call: Item, min: u32, max: u32) {
        let at = self.at;
        let index = self.shapes.groups.len();
        self.shapes.groups.push(Shape::new(at, false, vec![call]));
        self.shapes.close(index, at);
        self.items().push(Item::Group { index, min, max });
    }
}

/// Do counts follow, up to the closing brace?
pub fn counted(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    let first = digits(text);
    let rest = &text[first..];
    match rest.first() {
        Some(b'}') => first > 0,
        Some(b',') => first > 0 && rest.get(1 + digits(&rest[1..])) == Some(&b'}'),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
