//! Atoms: an index into a table that only grows.
//!
//! T-term/A1. An atom's text never moves and is never freed; equal texts have equal indexes.
//! The well-known atoms of [`crate::am`] come first, in its order, so that their indexes are constants.

use crate::am;
use crate::secret_hash::secret_hash;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashTable;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{AppendVec, LazyLock, LockClass, RwLock};
use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::fmt;
use std::hash::BuildHasher;

/// An atom: the index of its text in the table that all VMs share.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atom(u32);

/// Why a text could not become an atom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomError {
    /// More than 255 characters.
    TooLong,
    /// The table has reached its limit.
    TableFull,
}

/// Most characters in an atom.
pub const MAX_CHARACTERS: usize = 255;

static LIMIT: AtomicUsize = AtomicUsize::new(1 << 20);
static ATOM_CLASS: LockClass = LockClass::new("atom_tab", 900);
/// Taken inside `atom_tab`.
static TEXT_CLASS: LockClass = LockClass::new("atom_texts", 901);

/// What the table holds of an atom.
struct Entry {
    text: &'static str,
    /// The first bytes of the text, as a number that is ordered as they are: most orders of two atoms need no more.
    first: u64,
    /// The hash of the text that OTP's hashes of terms start from.
    hash: u32,
    /// Number of characters if all are of Latin-1, otherwise [`NOT_LATIN1`].
    latin1: u16,
}

/// Texts with other characters.
const NOT_LATIN1: u16 = u16::MAX;

impl Entry {
    fn new(text: &'static str) -> Entry {
        let latin1 = text.chars().all(|c| u32::from(c) <= 0xff).then(|| text.chars().count());
        let latin1 = latin1.and_then(|n| u16::try_from(n).ok()).unwrap_or(NOT_LATIN1);
        let mut first = [0; 8];
        let len = text.len().min(first.len());
        first[..len].copy_from_slice(&text.as_bytes()[..len]);
        Entry { text, first: u64::from_be_bytes(first), hash: hash_of(text), latin1 }
    }
}

struct Table {
    texts: AppendVec<Entry>,
    index: RwLock<HashTable<Slot>>,
    seed: SeedableRandomState,
}

/// An atom in the index. With its hash, so that the index grows without a look at the texts.
struct Slot {
    hash: u32,
    number: u32,
}

impl Slot {
    /// The hash that the index works with: it takes places from the low bits and tells neighbours apart by the high ones.
    fn spread(hash: u32) -> u64 {
        u64::from(hash) << 32 | u64::from(hash)
    }
}

impl Table {
    /// The hash by which a text is filed.
    fn hash(&self, text: &str) -> u32 {
        let hash = self.seed.hash_one(text);
        (hash ^ hash >> 32) as u32
    }

    fn find(&self, index: &HashTable<Slot>, hash: u32, text: &str) -> Option<u32> {
        let is_it =
            |slot: &Slot| slot.hash == hash && self.texts.get(slot.number as usize).is_some_and(|e| e.text == text);
        index.find(Slot::spread(hash), is_it).map(|slot| slot.number)
    }

    /// Files a text that is not in the index yet.
    fn add(&self, index: &mut HashTable<Slot>, hash: u32, text: &'static str) -> Option<u32> {
        let number = self.texts.push(Entry::new(text)).ok()? as u32;
        index.insert_unique(Slot::spread(hash), Slot { hash, number }, |slot| Slot::spread(slot.hash));
        Some(number)
    }
}

/// Atoms that a thread may remember.
const RECENT_ATOMS: usize = 256;

thread_local! {
    /// Atoms that this thread has looked up last, each in the place of its text. Whatever number stands there is that of an atom,
    /// whose text is compared: so it needs no beginning, and no lock.
    static RECENT: [Cell<u32>; RECENT_ATOMS] = const { [const { Cell::new(0) }; RECENT_ATOMS] };
}

/// The place in `RECENT` of a text.
#[inline]
fn recent_slot(text: &[u8]) -> usize {
    let at = |i: usize| text.get(i).map_or(0, |b| usize::from(*b));
    let len = text.len();
    (len.wrapping_mul(37)
        ^ at(0).wrapping_mul(3)
        ^ at(len / 2).wrapping_mul(13)
        ^ at(len.wrapping_sub(1)).wrapping_mul(29))
        % RECENT_ATOMS
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let table = Table {
        texts: AppendVec::new(&TEXT_CLASS, u32::MAX as usize),
        index: RwLock::new(&ATOM_CLASS, HashTable::with_capacity(16 * 1024)),
        seed: secret_hash(),
    };
    let mut index = table.index.write();
    for text in am::NAMES {
        // The table is empty and its limit far: there is room.
        table.add(&mut index, table.hash(text), text);
    }
    drop(index);
    table
});

impl Atom {
    /// The atom of this text, made if new.
    pub fn new(text: &str) -> Result<Atom, AtomError> {
        if let Some(recent) = Self::recent(text.as_bytes()) {
            return Ok(recent);
        }
        let hash = TABLE.hash(text);
        if let Some(found) = Self::filed(hash, text) {
            return Ok(found);
        }
        if text.len() > MAX_CHARACTERS && text.chars().count() > MAX_CHARACTERS {
            return Err(AtomError::TooLong);
        }
        let mut index = TABLE.index.write();
        if let Some(found) = TABLE.find(&index, hash, text) {
            return Ok(Atom(found));
        }
        if index.len() >= limit() {
            drop(index);
            crate::memory::no_more_atoms(limit());
            return Err(AtomError::TableFull);
        }
        TABLE.add(&mut index, hash, Box::leak(text.into())).map(Atom).ok_or(AtomError::TableFull)
    }

    /// The atom of this text, if there is one.
    pub fn existing(text: &str) -> Option<Atom> {
        Self::recent(text.as_bytes()).or_else(|| Self::filed(TABLE.hash(text), text))
    }

    /// The atom of this text, whose hash is known, in the table; this thread remembers it.
    fn filed(hash: u32, text: &str) -> Option<Atom> {
        let found = Atom(TABLE.find(&TABLE.index.read(), hash, text)?);
        RECENT.with(|recent| recent[recent_slot(text.as_bytes())].set(found.0));
        Some(found)
    }

    /// The order of two atoms: that of their characters, which UTF-8 keeps.
    #[inline]
    pub(crate) fn order(self, other: Atom) -> Order {
        let (Some(a), Some(b)) = (TABLE.texts.get(self.0 as usize), TABLE.texts.get(other.0 as usize)) else {
            return self.0.cmp(&other.0);
        };
        a.first.cmp(&b.first).then_with(|| a.text.as_bytes().cmp(b.text.as_bytes()))
    }

    /// The atom whose text is these bytes, if this thread has looked it up lately: so they need no check to be a text.
    #[inline]
    pub(crate) fn recent(text: &[u8]) -> Option<Atom> {
        let likely = Atom(RECENT.with(|recent| recent[recent_slot(text)].get()));
        (likely.text().as_bytes() == text).then_some(likely)
    }

    /// The text.
    pub fn text(self) -> &'static str {
        TABLE.texts.get(self.0 as usize).map_or("", |entry| entry.text)
    }

    /// Number of characters, if all are of Latin-1.
    #[inline]
    pub(crate) fn latin1_length(self) -> Option<usize> {
        let length = TABLE.texts.get(self.0 as usize).map_or(0, |entry| entry.latin1);
        (length != NOT_LATIN1).then_some(usize::from(length))
    }

    /// The hash of the text that OTP's hashes of terms start from.
    #[inline]
    pub(crate) fn text_hash(self) -> u32 {
        TABLE.texts.get(self.0 as usize).map_or(0, |entry| entry.hash)
    }

    /// The index in the table.
    #[inline(always)]
    pub const fn index(self) -> u32 {
        self.0
    }

    /// The atom of an index that came from [`Atom::index`].
    #[inline(always)]
    pub const fn from_index(index: u32) -> Atom {
        Atom(index)
    }

    /// The term.
    #[inline(always)]
    pub const fn term(self) -> crate::Term {
        crate::Term::atom(self)
    }
}

/// How many atoms there are.
pub fn count() -> usize {
    TABLE.index.read().len()
}

/// Bytes of the texts of all atoms.
pub fn text_bytes() -> usize {
    (0..count()).filter_map(|i| TABLE.texts.get(i)).map(|entry| entry.text.len()).sum()
}

/// How many atoms there may be.
pub fn limit() -> usize {
    // Relaxed: set once at start.
    LIMIT.load(Ordering::Relaxed)
}

/// Sets how many atoms there may be (`+t`).
pub fn set_limit(atoms: usize) {
    // Relaxed: set once at start.
    LIMIT.store(atoms, Ordering::Relaxed);
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.text())
    }
}

/// The hash of a text (P. J. Weinberger's), over Latin-1 bytes where the character has one.
fn hash_of(text: &str) -> u32 {
    let mut hash = 0u32;
    let mut add = |byte: u8| {
        hash = (hash << 4).wrapping_add(byte.into());
        let top = hash & 0xf000_0000;
        hash ^= top >> 24;
        hash ^= top;
    };
    let mut utf8 = [0; 4];
    for c in text.chars() {
        match u8::try_from(c) {
            Ok(latin1) => add(latin1),
            Err(_) => c.encode_utf8(&mut utf8).bytes().for_each(&mut add),
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_equal_atoms() {
        let a = Atom::new("some atom of a test").unwrap();
        assert_eq!(a, Atom::new("some atom of a test").unwrap());
        assert_eq!(a.text(), "some atom of a test");
        assert_eq!(Atom::new("true").unwrap(), am::true_);
        assert_eq!(am::false_.text(), "false");
    }

    #[test]
    fn atoms_are_ordered_by_their_characters() {
        let mut texts =
            ["", "a", "a\0", "a\0\0\0\0\0\0\0\0", "abcdefgh", "abcdefgha", "abcdefghb", "abcdefgi", "b", "é", "€", "𝄞"];
        let order = |a: &&str, b: &&str| Atom::new(a).unwrap().order(Atom::new(b).unwrap());
        let sorted = texts;
        texts.reverse();
        texts.sort_by(order);
        assert_eq!(texts, sorted);
    }

    #[test]
    fn many_atoms_are_found_again() {
        let text = |i: usize| format!("one of many atoms {i}");
        let atoms: Vec<Atom> = (0..40_000).map(|i| Atom::new(&text(i)).unwrap()).collect();
        for (i, atom) in atoms.iter().enumerate() {
            assert_eq!(Atom::existing(&text(i)), Some(*atom));
            assert_eq!(atom.text(), text(i));
        }
        assert_eq!(Atom::existing("one of no atoms"), None);
    }

    #[test]
    fn well_known_texts_differ() {
        let texts: std::collections::HashSet<&str> = am::NAMES.iter().copied().collect();
        assert_eq!(texts.len(), am::NAMES.len(), "two names of one text");
    }

    #[test]
    fn characters_are_counted_not_bytes() {
        assert!(Atom::new(&"å".repeat(255)).is_ok());
        assert_eq!(Atom::new(&"å".repeat(256)), Err(AtomError::TooLong));
    }
}
