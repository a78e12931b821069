//! How much memory a term will take, before it is decoded: so that a heap can be made ready for it.
//!
//! A walk over the bytes without a stack: only how many terms are still to come counts, not where they belong. The figure is
//! exact for most terms; what a large map takes is not known before its keys are hashed. Nothing depends on it: where the
//! bytes are no term, it is what came before.

use super::decode::DecodeError;
use super::reader::Reader;
use super::tag;
use crate::binary::HEAP_BINARY_LIMIT;
use crate::map::FLAT_LIMIT;
use crate::word::Term;

/// Words for a pair of a large map: its cell, and its share of the nodes.
const HASH_PAIR_WORDS: usize = 4;

/// The words that the term at byte `at` will take; of one of many bytes, those that its first `most` bytes ask for.
pub fn words(input: &[u8], at: usize, most: usize) -> usize {
    let mut measure = Measure { reader: Reader::new(input, at), words: 0, terms: 1 };
    let end = measure.reader.left().saturating_sub(most);
    while measure.terms > 0 && measure.reader.left() > end && measure.terms <= measure.reader.left() {
        measure.terms -= 1;
        if measure.term().is_err() {
            break;
        }
    }
    measure.words
}

struct Measure<'a> {
    reader: Reader<'a>,
    words: usize,
    /// Terms to come.
    terms: usize,
}

impl Measure<'_> {
    fn container(&mut self, words: usize, terms: usize) -> Result<(), DecodeError> {
        self.terms = self.terms.saturating_add(terms);
        // Memory in proportion to the input (term/E1): sizes that lie do not count.
        if self.terms > self.reader.left() {
            return Err(DecodeError::BadArg);
        }
        self.words = self.words.saturating_add(words);
        Ok(())
    }

    fn skip(&mut self, words: usize, bytes: usize) -> Result<(), DecodeError> {
        self.reader.take(bytes)?;
        self.words = self.words.saturating_add(words);
        Ok(())
    }

    fn binary(&mut self, len: usize) -> Result<(), DecodeError> {
        self.skip(if len <= HEAP_BINARY_LIMIT { 2 + len.div_ceil(8) } else { 4 }, len)
    }

    fn atom(&mut self) -> Result<(), DecodeError> {
        let tag = self.reader.u8()?;
        self.atom_of(tag)
    }

    fn atom_of(&mut self, tag: u8) -> Result<(), DecodeError> {
        let len = match tag {
            tag::ATOM | tag::ATOM_UTF8 => usize::from(self.reader.u16()?),
            tag::SMALL_ATOM | tag::SMALL_ATOM_UTF8 => usize::from(self.reader.u8()?),
            tag::ATOM_CACHE_REF => 1,
            _ => return Err(DecodeError::BadArg),
        };
        self.skip(0, len)
    }

    fn term(&mut self) -> Result<(), DecodeError> {
        match self.reader.u8()? {
            tag::SMALL_INTEGER => self.skip(0, 1),
            tag::INTEGER => self.skip(0, 4),
            tag::NIL => Ok(()),
            tag::NEW_FLOAT => {
                let value = f64::from_bits(self.reader.u64()?);
                self.skip(if Term::immediate_float(value).is_some() { 0 } else { 2 }, 0)
            }
            tag::FLOAT => self.skip(2, 31),
            tag::STRING => {
                let len = usize::from(self.reader.u16()?);
                self.skip(2 * len, len)
            }
            tag::BINARY => {
                let len = self.reader.u32()? as usize;
                self.binary(len)
            }
            tag::BIT_BINARY => {
                let len = self.reader.u32()? as usize;
                self.skip(4, 1)?;
                self.binary(len)
            }
            tag::SMALL_BIG => {
                let len = usize::from(self.reader.u8()?);
                self.skip(1 + len.div_ceil(8), 1 + len)
            }
            tag::LARGE_BIG => {
                let len = self.reader.u32()? as usize;
                self.skip(1 + len.div_ceil(8), len.saturating_add(1))
            }
            tag::SMALL_TUPLE => {
                let arity = usize::from(self.reader.u8()?);
                self.container(1 + arity, arity)
            }
            tag::LARGE_TUPLE => {
                let arity = self.reader.u32()? as usize;
                self.container(1 + arity, arity)
            }
            tag::LIST => {
                let len = self.reader.u32()? as usize;
                self.container(2 * len, len + 1)
            }
            tag::MAP => {
                let size = self.reader.u32()? as usize;
                let words = if size <= FLAT_LIMIT { 3 + 2 * size } else { HASH_PAIR_WORDS * size };
                self.container(words, 2 * size)
            }
            tag::NEW_FUN => {
                self.skip(0, 4 + 1 + 16 + 4)?;
                let free = self.reader.u32()? as usize;
                self.atom()?;
                // Two integers, the creator and the free variables.
                self.container(3 + free, 3 + free)
            }
            tag::EXPORT => {
                self.atom()?;
                self.atom()?;
                self.container(2, 1)
            }
            form @ (tag::NEW_PID | tag::PID) => self.identifier(3, if form == tag::NEW_PID { 12 } else { 9 }),
            tag::NEW_PORT => self.identifier(3, 8),
            tag::PORT => self.identifier(3, 5),
            tag::V4_PORT => self.identifier(3, 12),
            form @ (tag::NEWER_REFERENCE | tag::NEW_REFERENCE) => {
                let count = usize::from(self.reader.u16()?);
                self.identifier(5, 4 * count + if form == tag::NEWER_REFERENCE { 4 } else { 1 })
            }
            tag::REFERENCE => self.identifier(5, 5),
            atom => self.atom_of(atom),
        }
    }

    /// An identifier, which takes `words`: the node's name, then `bytes` bytes.
    fn identifier(&mut self, words: usize, bytes: usize) -> Result<(), DecodeError> {
        self.atom()?;
        self.skip(words, bytes)
    }
}
