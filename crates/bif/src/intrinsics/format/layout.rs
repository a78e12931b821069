//! A tree of texts laid out in lines, as `io_lib_pretty` lays it out.
//!
//! What fits on the rest of its line is written on one. A container that does not is broken: texts follow each other as long
//! as they fit, anything else among its elements stands on lines of its own, and new lines begin below the first element.
//! Behind a tuple's tag they do so too, or, where that would leave too little room ([`super::sizing`]), a few columns to the right of
//! the tuple.
//!
//! `after` counts the closing brackets that will follow; `used` the characters of the line without its indentation.
//!
//! L1. Indentations are shared lists: each container puts its own in front of that of what holds it.
//! L2. Items wait in `row` until the tail of their list is known; the code that pushes there must take them back.

use super::sizing::{Line, Sizing, Step, after_of};
use super::text::{byte_pieces, filled, in_brackets, list_of, list_of_text};
use super::tree::{Closing, Id, Link, Tree, What};
use myriad_term::{Build, Term};
use myriad_vm::Ctx;

/// The text of the tree, beginning at `column`.
pub fn lay_out(ctx: &mut Ctx<'_>, tree: &Tree, root: Id, column: i64, line: Line) -> Term {
    let [arrow, dots] = [" => ", "..."].map(|text| list_of_text(ctx, text, Term::NIL));
    let mut layout = Layout { ctx, tree, line, step: Step::Columns(1), arrow, dots, row: Vec::new() };
    let length = tree.length(root);
    if line.length == 0 || length < line.length - column && length <= line.chars {
        return layout.one_line(root);
    }
    let fits = |step: &Step| Sizing { tree, line, step: *step }.node(root, column, 0, 0).is_some();
    if let Some(step) = [Step::Tag, Step::Columns(4)].into_iter().find(fits) {
        layout.step = step;
    }
    let indentation = layout.spaces(column - 1);
    layout.node(root, column, indentation, 0, 0)
}

/// A character.
const fn char(c: u8) -> Term {
    Term::small(c as i64)
}

struct Layout<'a, 'b> {
    ctx: &'a mut Ctx<'b>,
    tree: &'a Tree,
    line: Line,
    step: Step,
    /// What stands between key and value on one line.
    arrow: Term,
    dots: Term,
    /// L2
    row: Vec<Term>,
}

impl Layout<'_, '_> {
    // ---- all on one line

    fn one_line(&mut self, id: Id) -> Term {
        match self.tree.what(id) {
            What::Text(from, to) => list_of(self.ctx, self.tree.chars(from, to), Term::NIL),
            What::String(from, to, closing) => self.string(from, to, closing),
            What::Bytes(bits) => {
                let inner = self.byte_list(bits, id);
                in_brackets(self.ctx, inner)
            }
            What::List(first) => {
                let inner = self.one_line_row(first, b'|');
                self.ctx.list(&[char(b'['), inner, char(b']')])
            }
            What::Tagged(first) | What::Tuple(first) => {
                let inner = self.one_line_row(first, b',');
                self.ctx.list(&[char(b'{'), inner, char(b'}')])
            }
            What::Map(first) => {
                let inner = self.one_line_row(first, b',');
                self.ctx.list(&[char(b'#'), char(b'{'), inner, char(b'}')])
            }
            What::Pair(key, value) => {
                let (key, value) = (self.one_line(key), self.one_line(value));
                self.ctx.list(&[key, self.arrow, value])
            }
        }
    }

    fn string(&mut self, from: u32, to: u32, closing: Closing) -> Term {
        let quoted = list_of(self.ctx, self.tree.chars(from, to), Term::NIL);
        let open = char(b'<');
        match closing {
            // The one end that is a row of characters like any.
            Closing::Whole => in_brackets(self.ctx, quoted),
            Closing::Utf8 => {
                let end = list_of_text(self.ctx, closing.text(), Term::NIL);
                self.ctx.list(&[open, open, quoted, end])
            }
            Closing::Cut | Closing::CutUtf8 => {
                let end = list_of_text(self.ctx, closing.text(), Term::NIL);
                self.ctx.list_onto(&[open, open, quoted], end)
            }
        }
    }

    /// What is between the brackets of a bit string.
    fn byte_list(&mut self, bits: Term, id: Id) -> Term {
        match bits.as_bits() {
            Some(bits) => byte_pieces(self.ctx, bits, self.tree.depth(id)).0,
            None => Term::NIL,
        }
    }

    fn one_line_row(&mut self, first: Link, separator: u8) -> Term {
        let Link::Node(id) = first else { return self.dots };
        let mark = self.row.len();
        let item = self.one_line(id);
        self.row.push(item);
        let mut link = self.tree.next(id);
        while let Link::Node(id) = link {
            let item = self.one_line(id);
            self.row.extend([char(b','), item]);
            link = self.tree.next(id);
        }
        let tail = match link {
            Link::Tail(id) => {
                self.row.push(char(separator));
                self.one_line(id)
            }
            Link::Dots => {
                self.row.push(char(separator));
                self.dots
            }
            Link::End | Link::Node(_) => Term::NIL,
        };
        self.take_row(mark, tail)
    }

    /// The items that wait since `mark`, before `tail`.
    fn take_row(&mut self, mark: usize, tail: Term) -> Term {
        let list = self.ctx.list_onto(&self.row[mark..], tail);
        self.row.truncate(mark);
        list
    }

    // ---- indentation (L1)

    /// That many spaces, halves shared: a single one has an empty half twice.
    fn spaces(&mut self, count: i64) -> Term {
        let space = char(b' ');
        match usize::try_from(count).unwrap_or(0) {
            1 => self.ctx.list(&[space, Term::NIL]),
            count => filled(self.ctx, space, count),
        }
    }

    /// That many more columns.
    fn indent(&mut self, count: i64, indentation: Term) -> Term {
        match count {
            1 => self.ctx.cons(char(b' '), indentation),
            4 => {
                let two = self.spaces(2);
                self.ctx.list_onto(&[two, two], indentation)
            }
            _ => {
                let spaces = self.spaces(count);
                self.ctx.cons(spaces, indentation)
            }
        }
    }

    // ---- broken

    fn node(&mut self, id: Id, column: i64, indentation: Term, after: i64, used: i64) -> Term {
        if self.line.fits(self.tree.length(id), column, after, used) {
            return self.one_line(id);
        }
        match self.tree.what(id) {
            What::List(first) => {
                let inner = self.indent(1, indentation);
                let inner = self.elements(first, column + 1, inner, after, b'|', used + 1);
                self.ctx.list(&[char(b'['), inner, char(b']')])
            }
            What::Tuple(first) => {
                let inner = self.indent(1, indentation);
                let inner = self.elements(first, column + 1, inner, after, b',', used + 1);
                self.ctx.list(&[char(b'{'), inner, char(b'}')])
            }
            What::Tagged(first) => {
                let inner = self.tagged(first, column, indentation, after, used + 1);
                self.ctx.list(&[char(b'{'), inner, char(b'}')])
            }
            What::Map(first) => {
                let inner = self.indent(2, indentation);
                let inner = self.pairs(first, column + 2, inner, after, used + 1);
                self.ctx.list(&[char(b'#'), char(b'{'), inner, char(b'}')])
            }
            What::Bytes(bits) => {
                let inner = self.indent(2, indentation);
                let inner = self.bytes(id, bits, column + 2, inner, after, used);
                in_brackets(self.ctx, inner)
            }
            What::Pair(key, value) => {
                let columns = self.step.of_value();
                let inner = self.indent(columns, indentation);
                let key = self.node(key, column, indentation, after, used);
                let value = self.node(value, column + columns, inner, after, 0);
                let arrow = list_of_text(self.ctx, " =>\n", Term::NIL);
                self.ctx.list_onto(&[key, arrow, inner], value)
            }
            What::Text(..) | What::String(..) => self.one_line(id),
        }
    }

    fn tagged(&mut self, first: Link, column: i64, indentation: Term, after: i64, used: i64) -> Term {
        let Link::Node(id) = first else { return self.dots };
        let (length, rest) = (self.tree.length(id), self.tree.next(id));
        let behind = column + length + 2;
        let tag = self.one_line(id);
        match self.step.instead_of(length + 2) {
            Some(columns) => {
                let inner = self.indent(columns, indentation);
                let mark = self.row.len();
                self.row.push(tag);
                let end = self.tail(rest, column + columns, behind, inner, after, b',', used + length);
                self.take_row(mark, end)
            }
            None => {
                let inner = self.indent(length + 2, indentation);
                let end = self.elements(rest, behind, inner, after, b',', used + length + 1);
                self.ctx.list_onto(&[tag, char(b',')], end)
            }
        }
    }

    fn elements(&mut self, first: Link, from: i64, indentation: Term, after: i64, separator: u8, used: i64) -> Term {
        let Link::Node(id) = first else { return self.dots };
        let next = self.tree.next(id);
        let mark = self.row.len();
        let (item, width) = self.element(id, from, indentation, after_of(next, after), used);
        self.row.push(item);
        let end = self.tail(next, from, from + width, indentation, after, separator, used + width);
        self.take_row(mark, end)
    }

    /// An element, and how far it takes the line: to its end if more than a text.
    fn element(&mut self, id: Id, column: i64, indentation: Term, after: i64, used: i64) -> (Term, i64) {
        let length = self.tree.length(id);
        if self.tree.is_text(id) && self.line.fits(length, column, after, used) {
            return (self.one_line(id), length);
        }
        (self.node(id, column, indentation, after, used), self.line.length)
    }

    /// The elements behind the first, which go to `row`; what their list ends in.
    #[expect(clippy::too_many_arguments, reason = "the state of a line")]
    fn tail(
        &mut self,
        mut link: Link,
        from: i64,
        mut column: i64,
        indentation: Term,
        after: i64,
        separator: u8,
        mut used: i64,
    ) -> Term {
        while let Link::Node(id) = link {
            let (length, next) = (self.tree.length(id), self.tree.next(id));
            let behind = after_of(next, after);
            if self.tree.is_text(id) && self.line.fits_behind(length, column, behind, used) {
                let item = self.one_line(id);
                self.row.extend([char(b','), item]);
                (column, used) = (column + length + 1, used + length + 1);
            } else {
                let (item, width) = self.element(id, from, indentation, behind, 0);
                self.row.extend([char(b','), char(b'\n'), indentation, item]);
                (column, used) = (from + width, width);
            }
            link = next;
        }
        match link {
            Link::Dots => {
                self.row.push(char(separator));
                self.dots
            }
            Link::Tail(id) => {
                let length = self.tree.length(id) + 1;
                self.row.push(char(separator));
                if self.tree.is_text(id) && self.line.fits(length, column, after + 1, used) {
                    return self.one_line(id);
                }
                self.row.extend([char(b'\n'), indentation]);
                self.node(id, from, indentation, after + 1, 0)
            }
            Link::End | Link::Node(_) => Term::NIL,
        }
    }

    /// The pairs of a map: elements, but that what stands before the first one on its line is forgotten behind it.
    fn pairs(&mut self, first: Link, from: i64, indentation: Term, after: i64, used: i64) -> Term {
        let Link::Node(id) = first else { return self.dots };
        let next = self.tree.next(id);
        let mark = self.row.len();
        let (item, width) = self.element(id, from, indentation, after_of(next, after), used);
        self.row.push(item);
        let end = self.tail(next, from, from + width, indentation, after, b',', width);
        self.take_row(mark, end)
    }

    /// The bytes of a bit string, in lines of as many as fit; the last, with the bits behind it, is a list of its own.
    fn bytes(&mut self, id: Id, bits: Term, column: i64, indentation: Term, after: i64, used: i64) -> Term {
        let all = self.byte_list(bits, id);
        let room = (self.line.length - column).min(self.line.chars - 4 - used);
        let room = (room - after).max(8);
        let (mut rest, mut left) = (all, room);
        let mark = self.row.len();
        let comma = char(b',');
        while let Some((digits, more)) = rest.as_cons()
            && let Some((separator, behind)) = more.as_cons()
            && separator.is(comma)
        {
            let length = digits.list_iter().count() as i64 + 1;
            if length > left {
                self.row.extend([char(b'\n'), indentation]);
                left = room;
            }
            left -= length;
            self.row.extend([digits, comma]);
            rest = behind;
        }
        let length: usize =
            rest.list_iter().map(|piece| if piece.is_list() { piece.list_iter().count() } else { 1 }).sum();
        if length as i64 > left {
            self.row.extend([char(b'\n'), indentation, rest]);
            rest = Term::NIL;
        }
        self.take_row(mark, rest)
    }
}
