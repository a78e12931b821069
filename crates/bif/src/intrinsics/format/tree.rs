//! A term as a tree of texts, with the number of characters that each part takes on one line.
//!
//! Depth is spent as `io_lib_pretty` spends it: each element of a list or tuple, and each pair of a map, leaves one less to
//! those behind it; what an element holds has one less than the element. Where one is left `...` stands for the rest.
//!
//! N1. A node's `next` says what stands behind it in the list, tuple or map that it is part of.

use super::DEEPEST;
use super::pretty::Options;
use super::text::{self, Charset};
use crate::work::Budget;
use myriad_term::{Bits, Term, Tuple};
use myriad_vm::Ctx;
use myriad_vm::bif::Escape;

/// A node of the tree.
pub type Id = u32;

/// The beginning or the rest of what a container holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Nothing.
    End,
    /// `...`
    Dots,
    /// An element, with others behind it.
    Node(Id),
    /// The tail of an improper list.
    Tail(Id),
}

/// How a binary's string ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closing {
    /// `>>`
    Whole,
    /// `/utf8>>`
    Utf8,
    /// `...>>`
    Cut,
    /// `/utf8...>>`
    CutUtf8,
}

impl Closing {
    /// The text between the quote and the end.
    pub fn text(self) -> &'static str {
        match self {
            Closing::Whole => ">>",
            Closing::Utf8 => "/utf8>>",
            Closing::Cut => "...>>",
            Closing::CutUtf8 => "/utf8...>>",
        }
    }
}

/// What a node stands for.
#[derive(Clone, Copy)]
pub enum What {
    /// A text: characters from here to there.
    Text(u32, u32),
    /// A binary as a string: its quoted characters.
    String(u32, u32, Closing),
    /// A bit string, byte by byte.
    Bytes(Term),
    /// A list.
    List(Link),
    /// A tuple that begins with an atom and has more than that.
    Tagged(Link),
    /// Another tuple.
    Tuple(Link),
    /// A map's pairs.
    Map(Link),
    /// A key and its value.
    Pair(Id, Id),
}

struct Node {
    what: What,
    length: i64,
    next: Link,
    /// What was left of the depth; for bytes.
    depth: Option<usize>,
}

/// The tree.
pub struct Tree {
    nodes: Vec<Node>,
    chars: Vec<u32>,
    bytes: usize,
}

/// Words of lists that a node makes, its characters aside: separators, brackets, its places in them.
const NODE_WORDS: usize = 10;
/// Words for a byte that is written as a number.
const BYTE_WORDS: usize = 10;

impl Tree {
    /// The tree of a list, tuple, map or bit string, and its root.
    pub fn of(ctx: &Ctx<'_>, term: Term, options: &Options, budget: &mut Budget) -> Result<(Tree, Id), Escape> {
        let tree = Tree { nodes: Vec::new(), chars: Vec::new(), bytes: 0 };
        let shown = Charset::printable(ctx.vm);
        let mut growing = Growing { tree, ctx, options, budget, shown };
        let root = growing.term(term, options.depth, 0)?;
        Ok((growing.tree, root))
    }

    /// About how many words the text will take.
    pub fn words(&self) -> usize {
        2 * self.chars.len() + NODE_WORDS * self.nodes.len() + BYTE_WORDS * self.bytes
    }

    fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    /// What the node stands for.
    #[inline]
    pub fn what(&self, id: Id) -> What {
        self.node(id).what
    }

    /// Its characters, on one line.
    #[inline]
    pub fn length(&self, id: Id) -> i64 {
        self.node(id).length
    }

    /// What stands behind it (N1).
    #[inline]
    pub fn next(&self, id: Id) -> Link {
        self.node(id).next
    }

    /// The depth that was left for it.
    pub fn depth(&self, id: Id) -> Option<usize> {
        self.node(id).depth
    }

    /// A text, or a pair of two, which others may follow on its line?
    #[inline]
    pub fn is_text(&self, id: Id) -> bool {
        let is_one = |id| matches!(self.what(id), What::Text(..) | What::String(..));
        is_one(id) || matches!(self.what(id), What::Pair(key, value) if is_one(key) && is_one(value))
    }

    /// Characters of a text.
    #[inline]
    pub fn chars(&self, from: u32, to: u32) -> &[u32] {
        &self.chars[from as usize..to as usize]
    }
}

/// One less; no limit stays none.
fn less(depth: Option<usize>) -> Option<usize> {
    depth.map(|depth| depth.saturating_sub(1))
}

/// A tree that is being made.
struct Growing<'a, 'b> {
    tree: Tree,
    ctx: &'a Ctx<'b>,
    options: &'a Options,
    budget: &'a mut Budget,
    /// Which characters may stand in a string.
    shown: Charset,
}

/// The elements of a container that is being made.
struct Row {
    first: Link,
    last: Option<Id>,
    length: i64,
}

impl Row {
    fn new(brackets: i64) -> Row {
        Row { first: Link::End, last: None, length: brackets }
    }
}

impl Growing<'_, '_> {
    fn add(&mut self, what: What, length: i64, depth: Option<usize>) -> Result<Id, Escape> {
        let id = Id::try_from(self.tree.nodes.len()).map_err(|_| Escape::Decline)?;
        self.tree.nodes.push(Node { what, length, next: Link::End, depth });
        Ok(id)
    }

    /// Puts a node, or dots, at the end of a row.
    fn append(&mut self, row: &mut Row, link: Link) {
        row.length += match link {
            Link::Node(id) | Link::Tail(id) => self.tree.length(id),
            Link::Dots => 3,
            Link::End => 0,
        };
        match row.last.and_then(|last| self.tree.nodes.get_mut(last as usize)) {
            Some(last) => {
                last.next = link;
                row.length += 1;
            }
            None => row.first = link,
        }
        if let Link::Node(id) = link {
            row.last = Some(id);
        }
    }

    /// What has been pushed since `from`, as a node.
    fn text(&mut self, from: usize) -> Result<Id, Escape> {
        let chars = &self.tree.chars[from..];
        let length = text::width(chars).ok_or(Escape::Decline)?;
        self.budget.spend(self.ctx, length)?;
        let (from, to) = self.range(from)?;
        self.add(What::Text(from, to), length as i64, None)
    }

    fn range(&self, from: usize) -> Result<(u32, u32), Escape> {
        let to = u32::try_from(self.tree.chars.len()).map_err(|_| Escape::Decline)?;
        Ok((from as u32, to))
    }

    fn constant(&mut self, text: &str) -> Result<Id, Escape> {
        let from = self.tree.chars.len();
        self.tree.chars.extend(text.bytes().map(u32::from));
        self.text(from)
    }

    fn term(&mut self, term: Term, depth: Option<usize>, level: usize) -> Result<Id, Escape> {
        if level > DEEPEST {
            return Err(Escape::Decline);
        }
        self.budget.spend(self.ctx, 1)?;
        if term.is_cons() {
            return self.list(term, depth, level);
        }
        if term.is_nil() {
            return self.constant("[]");
        }
        let from = self.tree.chars.len();
        if let Some(atom) = term.as_atom() {
            text::push_atom(&mut self.tree.chars, atom, self.options.charset)?;
            return self.text(from);
        }
        if let Some(tuple) = term.as_tuple() {
            return self.tuple(tuple, depth, level);
        }
        if let Some(map) = term.as_map() {
            return match depth {
                _ if map.size() == 0 => self.constant("#{}"),
                Some(1) => self.constant("#{...}"),
                _ => self.pairs(map, depth, level),
            };
        }
        if let Some(bits) = term.as_bits() {
            return self.bit_string(term, bits, depth);
        }
        self.budget.spend(self.ctx, text::number_cost(term))?;
        if text::push_number(&mut self.tree.chars, term) {
            return self.text(from);
        }
        if !text::push_identifier(&mut self.tree.chars, term) {
            return Err(Escape::Decline);
        }
        // A fun's names may be beyond Latin-1, of which OTP makes an error.
        if self.tree.chars[from..].iter().any(|c| *c > 255) {
            return Err(Escape::Decline);
        }
        self.text(from)
    }

    fn list(&mut self, list: Term, depth: Option<usize>, level: usize) -> Result<Id, Escape> {
        if self.options.strings && depth != Some(1) {
            let shown = if self.options.charset == Charset::Latin1 { Charset::Latin1 } else { self.shown };
            let mut string = Vec::new();
            let rest = self.budget.each(self.ctx, list, |char| {
                let Some(char) = text::code_point(char).filter(|c| shown.shows(*c)) else { return false };
                string.push(char);
                true
            })?;
            if rest.is_nil() {
                let from = self.tree.chars.len();
                text::push_quoted(&mut self.tree.chars, string.into_iter(), u32::from('"'), self.options.charset);
                return self.text(from);
            }
        }
        let (mut rest, mut left) = (list, depth);
        let mut row = Row::new(2);
        loop {
            if rest.is_nil() {
                break;
            }
            if left == Some(1) {
                self.append(&mut row, Link::Dots);
                break;
            }
            match rest.as_cons() {
                Some((head, tail)) => {
                    left = less(left);
                    let node = self.term(head, left, level + 1)?;
                    self.append(&mut row, Link::Node(node));
                    rest = tail;
                }
                None => {
                    let node = self.term(rest, less(left), level + 1)?;
                    self.append(&mut row, Link::Tail(node));
                    break;
                }
            }
        }
        self.add(What::List(row.first), row.length, depth)
    }

    fn tuple(&mut self, tuple: Tuple<'_, 'static>, depth: Option<usize>, level: usize) -> Result<Id, Escape> {
        let elements = tuple.elements();
        if elements.is_empty() {
            return self.constant("{}");
        }
        if self.options.records && elements[0].is_atom() {
            return Err(Escape::Decline);
        }
        if depth == Some(1) {
            return self.constant("{...}");
        }
        let mut left = depth;
        let mut row = Row::new(2);
        for element in elements {
            if left == Some(1) {
                self.append(&mut row, Link::Dots);
                break;
            }
            left = less(left);
            let node = self.term(*element, left, level + 1)?;
            self.append(&mut row, Link::Node(node));
        }
        let tagged = elements.len() > 1 && elements[0].is_atom();
        let what = if tagged { What::Tagged(row.first) } else { What::Tuple(row.first) };
        self.add(what, row.length, depth)
    }

    fn pairs(&mut self, map: myriad_term::Map<'_, 'static>, depth: Option<usize>, level: usize) -> Result<Id, Escape> {
        let within = less(depth);
        let mut left = depth;
        let mut row = Row::new(3);
        for (key, value) in map.iter() {
            if left == Some(1) {
                self.append(&mut row, Link::Dots);
                break;
            }
            left = less(left);
            let key = self.term(key, within, level + 1)?;
            let value = self.term(value, within, level + 1)?;
            let length = self.tree.length(key) + 4 + self.tree.length(value);
            let pair = self.add(What::Pair(key, value), length, None)?;
            self.append(&mut row, Link::Node(pair));
        }
        self.add(What::Map(row.first), row.length, depth)
    }

    fn bit_string(&mut self, term: Term, bits: Bits<'_>, depth: Option<usize>) -> Result<Id, Escape> {
        if bits.is_empty() {
            return self.constant("<<>>");
        }
        if depth == Some(1) {
            return self.constant("<<...>>");
        }
        if self.options.strings && bits.is_binary() {
            let bytes = bits.to_bytes();
            if let Some((string, closing)) = self.string_of(&bytes, less(depth))? {
                return self.string(&string, closing);
            }
        }
        let most = depth.map_or(usize::MAX, |depth| depth.saturating_sub(1));
        let bytes = (bits.len() / 8).min(most);
        self.budget.spend(self.ctx, bytes.saturating_mul(4))?;
        self.tree.bytes += bytes;
        let length = 4 + text::bytes_length(bits, depth);
        self.add(What::Bytes(term), length as i64, depth)
    }

    /// What is shown of a binary as a string, at most four characters for each of `depth`; none if it is shown as bytes.
    fn string_of(&mut self, bytes: &[u8], depth: Option<usize>) -> Result<Option<(Vec<u32>, Closing)>, Escape> {
        let most = depth.map_or(bytes.len(), |depth| bytes.len().min(depth.saturating_mul(4)));
        if most == 0 {
            return Ok(None);
        }
        self.budget.spend(self.ctx, most)?;
        if self.options.charset == Charset::Unicode
            && let Some((string, used)) = utf8_start(bytes, most, self.shown)
        {
            let ascii = used == string.len();
            return Ok(if used == bytes.len() {
                Some((string, if ascii { Closing::Whole } else { Closing::Utf8 }))
            } else if depth.is_some_and(|depth| depth > 0 && string.len() >= depth) {
                Some((string, if ascii { Closing::Cut } else { Closing::CutUtf8 }))
            } else {
                None
            });
        }
        let start = &bytes[..most];
        let string: Vec<u32> = start.iter().map(|b| u32::from(*b)).take_while(|c| Charset::Latin1.shows(*c)).collect();
        Ok(if string.len() == bytes.len() {
            Some((string, Closing::Whole))
        } else if depth.is_some_and(|depth| depth > 0 && string.len() >= depth) {
            Some((string, Closing::Cut))
        } else {
            None
        })
    }

    fn string(&mut self, string: &[u32], closing: Closing) -> Result<Id, Escape> {
        let from = self.tree.chars.len();
        text::push_quoted(&mut self.tree.chars, string.iter().copied(), u32::from('"'), Charset::Unicode);
        let chars = &self.tree.chars[from..];
        let length = match closing {
            // Said of the characters, not of their clusters; there are none beyond Latin-1.
            Closing::Whole | Closing::Cut => chars.len(),
            Closing::Utf8 | Closing::CutUtf8 => text::width(chars).ok_or(Escape::Decline)?,
        };
        let length = length + 2 + closing.text().len();
        self.budget.spend(self.ctx, length)?;
        let (from, to) = self.range(from)?;
        self.add(What::String(from, to, closing), length as i64, None)
    }
}

/// The first characters of UTF-8, up to `most` and to one that is not shown, and how many bytes they take; none if those up to
/// `most` are not UTF-8.
fn utf8_start(bytes: &[u8], most: usize, shown: Charset) -> Option<(Vec<u32>, usize)> {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The bytes behind the characters that matter may be anything.
        Err(error) => {
            let text = std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?;
            text.chars().nth(most - 1)?;
            text
        }
    };
    let (mut string, mut used) = (Vec::with_capacity(most.min(valid.len())), 0);
    for c in valid.chars().take(most).take_while(|c| shown.shows(u32::from(*c))) {
        string.push(u32::from(c));
        used += c.len_utf8();
    }
    Some((string, used))
}
