//! `io_lib:write/1,2`: terms as text, without line breaks; what `~w` gives.
//!
//! - A list or tuple is `[Open, [First, $,, Second, ...], Close]`, each element a list of its own; a map is
//!   `[$#, ${, [Pair, $,, Pair, ...], $}]`, a pair `[Key, " => ", Value]`.
//! - With a depth, each element costs one more level than the one before it, and where one is left there are dots.

use super::DEEPEST;
use super::job::Job;
use super::text::{self, Charset};
use myriad_term::map::MapIter;
use myriad_term::{Build, Term};
use myriad_vm::bif::Escape;

const fn char(c: u8) -> Term {
    Term::small(c as i64)
}

/// What a word of a large integer costs.
pub const LIMB: usize = 40;

/// The deepest depth that can be counted; negative ones mean none.
pub const DEPTHS: std::ops::RangeInclusive<i64> = -1 << 32..=1 << 32;

impl Job<'_, '_> {
    /// Writes a term to a number of levels (negative: all).
    pub fn write(&mut self, term: Term, depth: i64, charset: Charset, nested: usize) -> Result<Term, Escape> {
        self.spend(1)?;
        if depth == 0 {
            return Ok(self.text(b"..."));
        }
        if term.is_cons() {
            return self.write_list(term, depth, charset, nested);
        }
        if let Some(tuple) = term.as_tuple() {
            return self.write_tuple(tuple.elements(), depth, charset, nested);
        }
        if term.is_nil() {
            return Ok(self.text(b"[]"));
        }
        if let Some(map) = term.as_map() {
            return self.write_map(map.iter(), depth, charset, nested);
        }
        if let Some(bits) = term.as_bits() {
            self.spend(bits.len() / 4)?;
            let (pieces, _) = text::byte_pieces(self.ctx, bits, usize::try_from(depth).ok());
            return Ok(text::in_brackets(self.ctx, pieces));
        }
        self.write_leaf(term, charset)
    }

    /// A number, an atom or an identifier.
    fn write_leaf(&mut self, term: Term, charset: Charset) -> Result<Term, Escape> {
        if let Some((_, limbs)) = term.as_big() {
            // Decimal digits of large numbers take more than their length.
            self.spend(limbs.len() * LIMB)?;
        }
        self.gathered(|out| {
            if let Some(atom) = term.as_atom() {
                text::push_atom(out, atom, charset)?;
            } else if !text::push_number(out, term) && !text::push_identifier(out, term) {
                return Err(Escape::Decline);
            }
            Ok(())
        })
    }

    /// One level deeper.
    fn within(&mut self, term: Term, depth: i64, charset: Charset, nested: usize) -> Result<(), Escape> {
        if nested >= DEEPEST {
            return Err(Escape::Decline);
        }
        let text = self.write(term, depth, charset, nested + 1)?;
        self.stack.push(text);
        Ok(())
    }

    fn write_list(&mut self, list: Term, mut depth: i64, charset: Charset, nested: usize) -> Result<Term, Escape> {
        if depth == 1 {
            return Ok(self.text(b"[...]"));
        }
        let from = self.stack.len();
        let mut rest = list;
        while let Some((head, tail)) = rest.as_cons() {
            if self.stack.len() > from {
                if depth == 1 {
                    break;
                }
                self.stack.push(char(b','));
            }
            depth -= 1;
            self.within(head, depth, charset, nested)?;
            rest = tail;
        }
        if !rest.is_nil() {
            self.stack.push(char(b'|'));
            if depth == 1 {
                self.stack.extend([char(b'.'); 3]);
            } else {
                self.within(rest, depth - 1, charset, nested)?;
            }
        }
        let elements = self.list_from(from);
        Ok(self.ctx.list(&[char(b'['), elements, char(b']')]))
    }

    fn write_tuple(&mut self, tuple: &[Term], mut depth: i64, charset: Charset, nested: usize) -> Result<Term, Escape> {
        if tuple.is_empty() {
            return Ok(self.text(b"{}"));
        }
        if depth == 1 {
            return Ok(self.text(b"{...}"));
        }
        let from = self.stack.len();
        for element in tuple {
            if self.stack.len() > from {
                self.stack.push(char(b','));
                if depth == 1 {
                    self.stack.extend([char(b'.'); 3]);
                    break;
                }
            }
            depth -= 1;
            self.within(*element, depth, charset, nested)?;
        }
        let elements = self.list_from(from);
        Ok(self.ctx.list(&[char(b'{'), elements, char(b'}')]))
    }

    fn write_map(
        &mut self,
        mut pairs: MapIter<'static>,
        depth: i64,
        charset: Charset,
        nested: usize,
    ) -> Result<Term, Escape> {
        let inner = depth - 1;
        let Some(mut pair) = pairs.next().filter(|_| depth != 1) else { return Ok(self.text(b"#{}")) };
        let from = self.stack.len();
        let mut left = inner;
        loop {
            let at = self.stack.len();
            self.within(pair.0, inner, charset, nested)?;
            let arrow = self.arrow();
            self.stack.push(arrow);
            self.within(pair.1, inner, charset, nested)?;
            let text = self.list_from(at);
            self.stack.push(text);
            if left == 1 {
                self.stack.extend([b',', b'.', b'.', b'.'].map(char));
                break;
            }
            let Some(next) = pairs.next() else { break };
            self.stack.push(char(b','));
            pair = next;
            left -= 1;
        }
        let pairs = self.list_from(from);
        Ok(self.ctx.list(&[char(b'#'), char(b'{'), pairs, char(b'}')]))
    }
}
