//! What fits on a line, and whether a tree fits with the steps to the right that it would take.
//!
//! `after` counts the closing brackets that will follow; `used` the characters of the line without its indentation.

use super::tree::{Id, Link, Tree, What};

/// How long a line may be, and how many characters it may have beside its indentation.
#[derive(Clone, Copy)]
pub struct Line {
    /// Its length.
    pub length: i64,
    /// The characters.
    pub chars: i64,
}

impl Line {
    /// Do `length` characters fit from `column` on, with `after` behind them?
    #[inline]
    pub fn fits(self, length: i64, column: i64, after: i64, used: i64) -> bool {
        length < self.length - column - after && length + used + after <= self.chars
    }

    /// Does an element fit behind the one before it and a comma?
    #[inline]
    pub fn fits_behind(self, length: i64, column: i64, after: i64, used: i64) -> bool {
        // One that others follow is followed by a comma.
        self.fits(length + 1, column, if after == 0 { 1 } else { after }, used)
    }
}

/// How far elements behind a tag, and values below their keys, are moved to the right.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Below the first element behind the tag.
    Tag,
    /// This number of columns.
    Columns(i64),
}

impl Step {
    /// The columns, if a tag (with its bracket and comma) takes more.
    pub fn instead_of(self, tag: i64) -> Option<i64> {
        match self {
            Step::Columns(columns) if tag > columns => Some(columns),
            _ => None,
        }
    }

    /// For the value of a map below its key.
    pub fn of_value(self) -> i64 {
        match self {
            Step::Columns(columns) => columns,
            Step::Tag => 4,
        }
    }
}

/// What is behind an element, for what follows it on its line.
#[inline]
pub fn after_of(next: Link, after: i64) -> i64 {
    if matches!(next, Link::Node(_)) { 0 } else { after + 1 }
}

/// Whether the tree can be laid out with a step, so that what is behind a tag keeps half of the line, or room for all the
/// characters that a line may have. None: it cannot. It goes through the tree as [`super::layout`] does, but for small
/// differences that OTP has as well.
pub struct Sizing<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Its lines.
    pub line: Line,
    /// The step that is tried.
    pub step: Step,
}

impl Sizing<'_> {
    /// A node that begins at `column`.
    pub fn node(&self, id: Id, column: i64, after: i64, used: i64) -> Option<()> {
        let tree = self.tree;
        if self.line.fits(tree.length(id), column, after, used) {
            return Some(());
        }
        match tree.what(id) {
            What::List(first) | What::Tuple(first) => self.elements(first, column + 1, after, used + 1),
            What::Tagged(first) => self.tagged(first, column, after, used + 1),
            What::Map(first) => self.elements(first, column + 2, after, used + 2),
            What::Pair(key, value) => {
                self.node(key, column, after, used)?;
                self.node(value, column + self.step.of_value(), after, 0)
            }
            What::Text(..) | What::String(..) | What::Bytes(_) => Some(()),
        }
    }

    fn tagged(&self, first: Link, column: i64, after: i64, used: i64) -> Option<()> {
        let Link::Node(tag) = first else { return Some(()) };
        let (tag_length, rest, line) = (self.tree.length(tag), self.tree.next(tag), self.line);
        let behind = column + tag_length + 2;
        match self.step.instead_of(tag_length + 2) {
            Some(columns) => {
                let from = column + columns;
                let room = line.chars + from <= line.length || from <= line.length / 2;
                room.then(|| self.tail(rest, from, behind, after, used + tag_length)).flatten()
            }
            None => {
                let room = line.chars + behind < line.length || behind < line.length / 2;
                room.then(|| self.elements(rest, behind, after, used + tag_length + 1)).flatten()
            }
        }
    }

    fn elements(&self, first: Link, from: i64, after: i64, used: i64) -> Option<()> {
        let Link::Node(id) = first else { return Some(()) };
        let next = self.tree.next(id);
        let width = self.element(id, from, after_of(next, after), used)?;
        self.tail(next, from, from + width, after, used + width)
    }

    fn element(&self, id: Id, column: i64, after: i64, used: i64) -> Option<i64> {
        let length = self.tree.length(id);
        if self.line.fits(length, column, after, used) && self.tree.is_text(id) {
            return Some(length);
        }
        self.node(id, column, after, used)?;
        Some(self.line.length)
    }

    fn tail(&self, mut link: Link, from: i64, mut column: i64, after: i64, mut used: i64) -> Option<()> {
        while let Link::Node(id) = link {
            let (length, next) = (self.tree.length(id), self.tree.next(id));
            let behind = after_of(next, after);
            if self.tree.is_text(id) && self.line.fits_behind(length, column, behind, used) {
                (column, used) = (column + length + 1, used + length + 1);
            } else {
                let width = self.element(id, from, behind, 0)?;
                (column, used) = (from + width, width);
            }
            link = next;
        }
        match link {
            Link::Tail(id) if self.tail_fits(id, column, after, used) => Some(()),
            // From where the line is, not from where it would begin.
            Link::Tail(id) => self.node(id, column, after + 1, 0),
            _ => Some(()),
        }
    }

    fn tail_fits(&self, id: Id, column: i64, after: i64, used: i64) -> bool {
        self.tree.is_text(id) && self.line.fits(self.tree.length(id) + 1, column, after + 1, used)
    }
}
