//! Words and objects as a dump writes them (`crash_dump/terms.rs` has the other side): each object a line `ADDRESS:object`, in which
//! other objects are named by address.

use super::DumpFile;
use std::cell::Cell;
use std::collections::HashMap;

/// A word: an immediate term, or where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word<'a> {
    Small(&'a str),
    Atom(&'a str),
    Nil,
    Pid(&'a str),
    Port(&'a str),
    Object(u64),
    /// What the dump says in words: a return address, a catch.
    Note(&'a str),
}

/// An object.
#[derive(Debug, PartialEq, Eq)]
pub enum Object<'a> {
    Cons(Word<'a>, Word<'a>),
    Tuple(Vec<Word<'a>>),
    Float(&'a str),
    /// Digits, perhaps after a base.
    Bignum(&'a str),
    /// Its keys, a tuple; its values.
    FlatMap(Word<'a>, Vec<Word<'a>>),
    /// The root or an inner node of a trie: pairs and further nodes.
    MapNode(Vec<Word<'a>>),
    /// The bytes in base 64.
    HeapBinary(&'a str),
    /// A part of a shared binary, or of an object of this heap: where, from which byte on, how many.
    Slice(u64, u64, u64),
    /// In the external term format, in base 64.
    External(&'a str),
    Unknown,
}

/// Objects made for the dump, of terms that take no words in the heap, have addresses from here on.
const MADE: u64 = 0xf000_0000_0000_0000;

impl<'a> Word<'a> {
    /// The word that a text begins with, and the rest.
    pub fn parse(text: &'a str) -> Option<(Word<'a>, &'a str)> {
        let rest = text.get(1..)?;
        match text.as_bytes().first()? {
            b'I' => {
                let (digits, rest) = split_at(rest, |byte| byte.is_ascii_digit() || byte == b'-');
                Some((Word::Small(digits), rest))
            }
            b'A' => {
                let (length, rest) = hex(rest)?;
                let (name, rest) = rest.strip_prefix(':')?.split_at_checked(usize::try_from(length).ok()?)?;
                Some((Word::Atom(name), rest))
            }
            b'N' => Some((Word::Nil, rest)),
            b'H' => hex(rest).map(|(at, rest)| (Word::Object(at), rest)),
            kind @ (b'P' | b'p') => {
                let (name, rest) = rest.split_at_checked(rest.find('>')? + 1)?;
                Some((if *kind == b'P' { Word::Pid(name) } else { Word::Port(name) }, rest))
            }
            b'S' => Some((Word::Note(rest), "")),
            _ => None,
        }
    }

    fn is_made(self) -> bool {
        matches!(self, Word::Object(at) if at >= MADE)
    }

    /// Words with commas between, as long as they can be understood.
    fn list(mut text: &'a str) -> Vec<Word<'a>> {
        let mut words = Vec::new();
        while let Some((word, rest)) = Word::parse(text) {
            words.push(word);
            let Some(next) = rest.strip_prefix(',') else { break };
            text = next;
        }
        words
    }
}

impl<'a> Object<'a> {
    /// The object of what stands behind an address.
    pub fn parse(text: &'a str) -> Object<'a> {
        Self::known(text).unwrap_or(Object::Unknown)
    }

    fn known(text: &'a str) -> Option<Object<'a>> {
        let (kind, rest) = text.split_at_checked(1)?;
        Some(match kind {
            "l" => {
                let (head, rest) = Word::parse(rest)?;
                let (tail, _) = Word::parse(rest.strip_prefix('|')?)?;
                Object::Cons(head, tail)
            }
            "t" => Object::Tuple(Word::list(hex(rest)?.1.strip_prefix(':')?)),
            "F" => Object::Float(hex(rest)?.1.strip_prefix(':')?),
            "B" => Object::Bignum(rest),
            "M" => Self::map(rest)?,
            "Y" => Self::binary(rest)?,
            "E" => Object::External(hex(rest)?.1.strip_prefix(':')?),
            _ => return None,
        })
    }

    fn map(text: &'a str) -> Option<Object<'a>> {
        let (kind, rest) = text.split_at_checked(1)?;
        let rest = hex(rest)?.1.strip_prefix(':')?;
        Some(match kind {
            "f" => {
                let (keys, rest) = Word::parse(rest)?;
                Object::FlatMap(keys, Word::list(rest.strip_prefix(':')?))
            }
            "h" => Object::MapNode(Word::list(hex(rest)?.1.strip_prefix(':')?)),
            "n" => Object::MapNode(Word::list(rest)),
            _ => return None,
        })
    }

    fn binary(text: &'a str) -> Option<Object<'a>> {
        let (kind, rest) = text.split_at_checked(1)?;
        let (first, rest) = hex(rest)?;
        let rest = rest.strip_prefix(':')?;
        if kind == "h" {
            return Some(Object::HeapBinary(rest));
        }
        let (from, rest) = hex(rest)?;
        let (bytes, _) = hex(rest.strip_prefix(':')?)?;
        Some(Object::Slice(first, from, bytes))
    }

    /// What kind of object it is.
    pub fn kind(&self) -> &'static str {
        match self {
            Object::Cons(..) => "cons",
            Object::Tuple(_) => "tuple",
            Object::Float(_) => "float",
            Object::Bignum(_) => "bignum",
            Object::FlatMap(..) | Object::MapNode(_) => "map",
            Object::HeapBinary(_) => "heap binary",
            Object::Slice(..) => "shared or sub binary",
            Object::External(_) => "fun, reference, bit string, ...",
            Object::Unknown => "not understood",
        }
    }

    /// The words that it takes where it stands, if the dump tells.
    pub fn words(&self, at: u64) -> Option<usize> {
        if at >= MADE {
            return Some(0);
        }
        match self {
            Object::Cons(..) | Object::Float(_) => Some(2),
            Object::Tuple(elements) => Some(1 + elements.len()),
            Object::Bignum(digits) => Some(1 + digits.len().saturating_sub("16#".len()).div_ceil(16)),
            Object::FlatMap(_, parts) => Some(2 + parts.len()),
            // A pair that was made for the dump has its two words in the node.
            Object::MapNode(parts) => Some(1 + parts.len() + parts.iter().filter(|part| part.is_made()).count()),
            Object::HeapBinary(text) => Some(1 + text.len() / 4 * 3 / 8),
            Object::Slice(..) | Object::External(_) | Object::Unknown => None,
        }
    }
}

/// The objects of a process and what all share, by address.
pub struct Objects<'a> {
    by_address: HashMap<u64, &'a str>,
    /// Shared binaries in base 64.
    binaries: HashMap<u64, &'a str>,
    /// How many terms may still be printed.
    pub budget: Cell<usize>,
}

/// How many terms are printed of a process.
const BUDGET: usize = 50_000;

impl<'a> Objects<'a> {
    /// The objects of a process of the dump.
    pub fn of(dump: &DumpFile<'a>, pid: &str) -> Objects<'a> {
        let own = dump.of("proc_heap", pid).into_iter();
        let lines = own.chain(dump.named("literals")).flat_map(|section| section.lines());
        let binaries = dump.named("binary").filter_map(|section| {
            let (_, bytes) = section.lines().next()?.split_once(':')?;
            Some((u64::from_str_radix(section.of, 16).ok()?, bytes))
        });
        Objects {
            by_address: lines.filter_map(object).collect(),
            binaries: binaries.collect(),
            budget: Cell::new(BUDGET),
        }
    }

    /// The object at an address.
    pub fn at(&self, address: u64) -> Option<Object<'a>> {
        self.by_address.get(&address).map(|text| Object::parse(text))
    }

    /// The bytes of a shared binary, in base 64.
    pub fn binary(&self, address: u64) -> Option<&'a str> {
        self.binaries.get(&address).copied()
    }
}

/// A line of a heap: the address and what stands there.
pub fn object(line: &str) -> Option<(u64, &str)> {
    let (address, text) = line.split_once(':')?;
    Some((u64::from_str_radix(address, 16).ok()?, text))
}

fn split_at(text: &str, belongs: impl Fn(u8) -> bool) -> (&str, &str) {
    // The bytes that belong are ASCII, so this is the beginning of a character.
    text.split_at(text.bytes().take_while(|byte| belongs(*byte)).count())
}

/// The hexadecimal number that a text begins with, and the rest.
fn hex(text: &str) -> Option<(u64, &str)> {
    let (digits, rest) = split_at(text, |byte| byte.is_ascii_hexdigit());
    Some((u64::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_each_kind() {
        let words = Word::list("I-3,A3:a,b,N,H7FFF,P<0.1.0>,p<0.2>,SReturn addr 0x1 (a:b/1)");
        let expected = [
            Word::Small("-3"),
            Word::Atom("a,b"),
            Word::Nil,
            Word::Object(0x7fff),
            Word::Pid("<0.1.0>"),
            Word::Port("<0.2>"),
            Word::Note("Return addr 0x1 (a:b/1)"),
        ];
        assert_eq!(words, expected);
        for bad in ["", "x", "A9:abc", "Hxyz", "P<0.1", "A1:é", "é"] {
            assert_eq!(Word::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn objects_of_each_kind_with_their_words() {
        let cases = [
            ("lI1|N", Object::Cons(Word::Small("1"), Word::Nil), Some(2)),
            ("t2:N,N", Object::Tuple(vec![Word::Nil; 2]), Some(3)),
            ("F3:1.5", Object::Float("1.5"), Some(2)),
            ("B16#10000000000000000", Object::Bignum("16#10000000000000000"), Some(3)),
            ("Mf1:H10:N", Object::FlatMap(Word::Object(16), vec![Word::Nil]), Some(3)),
            ("Mh1:1:H10", Object::MapNode(vec![Word::Object(16)]), Some(2)),
            ("Mn1:H10", Object::MapNode(vec![Word::Object(16)]), Some(2)),
            ("Mn1:HF000000000000000", Object::MapNode(vec![Word::Object(MADE)]), Some(3)),
            ("Yh3:AQID", Object::HeapBinary("AQID"), Some(1)),
            ("YcFF:1:2", Object::Slice(255, 1, 2), None),
            ("E2:g2o=", Object::External("g2o="), None),
            ("t", Object::Unknown, None),
            ("Yx", Object::Unknown, None),
        ];
        for (text, object, words) in cases {
            assert_eq!(Object::parse(text), object);
            assert_eq!(object.words(16), words, "{text}");
            assert_eq!(object.words(MADE), Some(0));
        }
    }
}
