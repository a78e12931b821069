//! The shapes of a pattern's groups, as far as two questions need them: is a lookbehind of fixed length, and may what a call
//! has before it match nothing?
//!
//! The answers are those of PCRE 8.44, with its peculiarities: a call of a group that begins later counts as
//! perhaps empty whatever follows it, `(*ACCEPT)` ends a group, a definition is as long as its text. Shapes without calls are
//! settled when their group closes; the others are followed with a bounded number of steps and a bounded depth.

use std::collections::HashMap;

/// What stands in a branch, in order. Things of no length are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// So many characters.
    Fixed(u64),
    /// Something of any length, perhaps none.
    Any,
    /// Something of any length that is not nothing.
    Some,
    /// A byte of a character.
    Byte,
    /// The match ends.
    Accept,
    /// A call of a group by number, from a place; `forward` if the group had not begun there.
    Call { group: usize, at: usize, forward: bool },
    /// A closed group, repeated at least and at most so many times.
    Group { index: usize, min: u32, max: u32 },
    /// The next branch.
    Or,
}

/// Repeated without limit.
pub const UNLIMITED: u32 = u32::MAX;
/// The same, and possessive.
pub const POSSESSIVE: u32 = u32::MAX - 1;

/// How long something is, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// Always so long.
    Fixed(u64),
    /// Not always as long.
    Varies,
    /// Bytes of characters are in it.
    Bytes,
    /// There is a call in it.
    Later,
}

impl Length {
    /// The number of characters, of a fixed length.
    pub fn characters(self) -> u64 {
        if let Length::Fixed(n) = self { n } else { 0 }
    }
}

/// A group.
#[derive(Debug)]
pub struct Shape {
    /// What stands in it.
    pub items: Vec<Item>,
    /// Its place in the pattern.
    pub from: usize,
    /// And its end, once it is closed.
    pub to: Option<usize>,
    /// It is the condition's group.
    pub condition: bool,
    /// PCRE2 would find another length for it, or none.
    pub odd: bool,
    /// Its length, when it is closed.
    length: Length,
    /// There is no call in it: so that is its length for good, and it may match nothing or not.
    settled: Option<bool>,
    /// As this, of what stands in it: a condition's group with one branch has an empty one beside it.
    branches_settled: Option<bool>,
}

/// All groups of a pattern, the whole being the first.
#[derive(Debug)]
pub struct Shapes {
    /// In the order in which they begin.
    pub groups: Vec<Shape>,
    /// The first group of each number.
    pub numbered: Vec<usize>,
    steps: u32,
    /// Lengths of groups with calls, as found at the end.
    lengths: HashMap<usize, u64>,
}

/// Following calls to find lengths.
struct Calls {
    /// All groups are there.
    at_end: bool,
    /// Groups that are being measured.
    under_way: Vec<usize>,
    /// Those that have been.
    known: HashMap<usize, u64>,
}

/// Steps through groups that are called, in all; more than that are taken for the harmless answer.
const STEPS: u32 = 1_000_000;
/// How deep calls are followed.
const DEEPEST: usize = 1500;

impl Shape {
    /// A condition's group with one branch: beside it stands an empty one.
    fn has_empty_branch(&self) -> bool {
        self.condition && !self.items.contains(&Item::Or)
    }

    /// Such a group repeated without limit, and not possessive: PCRE 8.44 does not think of the empty branch.
    fn is_as_it_stands(&self, max: u32) -> bool {
        max == UNLIMITED && self.has_empty_branch()
    }

    /// One that begins at a place.
    pub fn new(from: usize, condition: bool, items: Vec<Item>) -> Shape {
        Shape {
            items,
            from,
            to: None,
            condition,
            odd: condition,
            length: Length::Later,
            settled: None,
            branches_settled: None,
        }
    }
}

impl Shapes {
    /// Only that of the whole pattern.
    pub fn new() -> Shapes {
        let whole = Shape::new(0, false, Vec::new());
        Shapes { groups: vec![whole], numbered: vec![0], steps: 0, lengths: HashMap::new() }
    }

    /// Closes a group.
    pub fn close(&mut self, index: usize, at: usize) {
        let has_calls = |s: &Shapes, item: &Item| match item {
            Item::Call { .. } => true,
            Item::Group { index, .. } => s.groups.get(*index).is_none_or(|g| g.settled.is_none()),
            _ => false,
        };
        let Some(shape) = self.groups.get(index) else { return };
        let calls = shape.items.iter().any(|item| has_calls(self, item));
        let branches_settled = (!calls).then(|| self.branches_may_be_empty(shape));
        let settled = branches_settled.map(|empty| empty || shape.has_empty_branch());
        let (length, odd) = (self.branch_length(index, 0), self.is_odd(index, 0));
        if let Some(shape) = self.groups.get_mut(index) {
            shape.settled = settled;
            shape.branches_settled = branches_settled;
            shape.length = length;
            shape.odd |= odd;
            shape.to = Some(at);
        }
    }

    /// Is there something in a branch whose length PCRE2 would not find as PCRE 8.44 does?
    pub fn is_odd(&self, index: usize, from: usize) -> bool {
        let Some(shape) = self.groups.get(index) else { return false };
        let odd = |item: &Item| match item {
            Item::Accept => true,
            Item::Group { index, .. } => self.groups.get(*index).is_some_and(|g| g.odd),
            _ => false,
        };
        shape.odd || shape.items.get(from..).is_some_and(|items| items.iter().any(odd))
    }

    /// Does another branch follow the one that begins at an item?
    pub fn has_more_branches(&self, index: usize, from: usize) -> bool {
        self.groups.get(index).and_then(|g| g.items.get(from..)).is_some_and(|items| items.contains(&Item::Or))
    }

    /// As below, of a shape without calls that are not settled.
    fn branches_may_be_empty(&self, shape: &Shape) -> bool {
        let empty = |item: &Item| match item {
            Item::Fixed(_) | Item::Some | Item::Byte => false,
            Item::Group { index, min, max } => {
                let settled = |g: &Shape| if g.is_as_it_stands(*max) { g.branches_settled } else { g.settled };
                *min == 0 || self.groups.get(*index).and_then(settled).unwrap_or(true)
            }
            _ => true,
        };
        let mut branches = shape.items.split(|item| *item == Item::Or);
        branches.any(|branch| branch.iter().all(empty))
    }

    /// The length of a branch that just ended.
    pub fn branch_length(&self, index: usize, from: usize) -> Length {
        let items = self.groups.get(index).and_then(|g| g.items.get(from..)).unwrap_or(&[]);
        self.length(items, &mut Calls { at_end: false, under_way: Vec::new(), known: HashMap::new() })
    }

    /// The length of a branch, all groups being there.
    pub fn length_at_end(&mut self, index: usize, from: usize, to: usize) -> Length {
        let known = std::mem::take(&mut self.lengths);
        let mut calls = Calls { at_end: true, under_way: Vec::new(), known };
        let items = self.groups.get(index).and_then(|g| g.items.get(from..to)).unwrap_or(&[]);
        let length = self.length(items, &mut calls);
        self.lengths = calls.known;
        length
    }

    /// The length of what stands in a group or a branch.
    fn length(&self, items: &[Item], calls: &mut Calls) -> Length {
        let (mut whole, mut branch) = (None, 0u64);
        for item in items {
            match item {
                Item::Fixed(n) => branch = branch.saturating_add(*n),
                Item::Any | Item::Some => return Length::Varies,
                Item::Byte => return Length::Bytes,
                Item::Call { group, at, .. } => {
                    if !calls.at_end {
                        return Length::Later;
                    }
                    match self.called_length(*group, *at, calls) {
                        Length::Fixed(n) => branch = branch.saturating_add(n),
                        other => return other,
                    }
                }
                Item::Group { min: 0, .. } => return Length::Varies,
                Item::Group { min: 1, max: POSSESSIVE, .. } => return Length::Varies,
                Item::Group { index, min, max } => {
                    let Some(group) = self.groups.get(*index) else { return Length::Varies };
                    let once = self.group_length(*index, group, calls);
                    match once {
                        Length::Fixed(n) if min == max => {
                            branch = branch.saturating_add(n.saturating_mul(u64::from(*min)));
                        }
                        Length::Fixed(_) => return Length::Varies,
                        other => return other,
                    }
                }
                Item::Accept | Item::Or => {
                    if whole.is_some_and(|whole| whole != branch) {
                        return Length::Varies;
                    }
                    whole = Some(branch);
                    branch = 0;
                    if *item == Item::Accept {
                        return Length::Fixed(whole.unwrap_or(0));
                    }
                }
            }
        }
        match whole {
            Some(whole) if whole != branch => Length::Varies,
            _ => Length::Fixed(branch),
        }
    }

    fn called_length(&self, group: usize, at: usize, calls: &mut Calls) -> Length {
        let Some((index, shape)) = self.numbered.get(group).and_then(|i| Some((*i, self.groups.get(*i)?))) else {
            return Length::Varies;
        };
        let inside = shape.from < at && shape.to.is_none_or(|to| at < to);
        if inside { Length::Varies } else { self.group_length(index, shape, calls) }
    }

    /// The length of a closed group: one that leads back to itself has none.
    fn group_length(&self, index: usize, shape: &Shape, calls: &mut Calls) -> Length {
        if !calls.at_end || shape.settled.is_some() {
            return shape.length;
        }
        if let Some(length) = calls.known.get(&index) {
            return Length::Fixed(*length);
        }
        if calls.under_way.contains(&index) || calls.under_way.len() > DEEPEST {
            return Length::Varies;
        }
        calls.under_way.push(index);
        let length = self.length(&shape.items, calls);
        calls.under_way.pop();
        if let Length::Fixed(length) = length {
            calls.known.insert(index, length);
        }
        length
    }

    /// May all of a branch match nothing, as far as it is there?
    pub fn may_be_empty(&mut self, index: usize, branch: usize) -> bool {
        self.steps += 1;
        self.steps <= STEPS && self.items_may_be_empty(index, branch, &mut Vec::new())
    }

    /// From item `from` of a group on, up to the end of the branch; `calls` are those under way.
    fn items_may_be_empty(&mut self, index: usize, from: usize, calls: &mut Vec<usize>) -> bool {
        let mut at = from;
        while let Some(item) = self.groups.get(index).and_then(|g| g.items.get(at)).copied() {
            self.steps += 1;
            if self.steps > STEPS || calls.len() > DEEPEST {
                return false;
            }
            at += 1;
            match item {
                Item::Fixed(_) | Item::Some | Item::Byte => return false,
                Item::Or => return true,
                Item::Any | Item::Accept | Item::Group { min: 0, .. } => {}
                Item::Call { forward: true, .. } => return true,
                Item::Call { group, at, .. } => {
                    let Some(called) = self.numbered.get(group).copied() else { return true };
                    let Some(shape) = self.groups.get(called) else { return true };
                    let Some(end) = shape.to else { return true };
                    let inside = shape.from <= at && at <= end;
                    if inside || calls.contains(&called) {
                        continue;
                    }
                    calls.push(called);
                    let empty = self.group_may_be_empty(called, calls);
                    calls.pop();
                    if !empty {
                        return false;
                    }
                }
                Item::Group { index: inner, max, .. } => {
                    let Some(group) = self.groups.get(inner) else { return true };
                    let as_it_stands = group.is_as_it_stands(max);
                    if group.has_empty_branch() && !as_it_stands {
                        continue;
                    }
                    calls.push(usize::MAX);
                    let empty = match group.branches_settled {
                        Some(empty) if as_it_stands => empty,
                        _ => self.group_may_be_empty(inner, calls),
                    };
                    calls.pop();
                    if !empty {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn group_may_be_empty(&mut self, index: usize, calls: &mut Vec<usize>) -> bool {
        let Some(shape) = self.groups.get(index) else { return true };
        if let Some(empty) = shape.settled {
            return empty;
        }
        let mut starts = vec![0];
        starts.extend(shape.items.iter().enumerate().filter(|(_, i)| **i == Item::Or).map(|(at, _)| at + 1));
        starts.into_iter().any(|start| self.items_may_be_empty(index, start, calls))
    }
}
