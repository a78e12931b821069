//! Atoms: an index into a table that only grows.
//!
//! T-A1. An atom's text never moves and is never freed; equal texts have equal indexes.
//! The well-known atoms of [`crate::am`] come first, in its order, so that their indexes are constants.

use crate::am;
use crate::mix;
use foldhash::SharedSeed;
use foldhash::fast::SeedableRandomState;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{AppendVec, LockClass, RwLock};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

/// An atom.
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
        Entry { text, hash: mix::text(text), latin1 }
    }
}

struct Table {
    texts: AppendVec<Entry>,
    index: RwLock<HashMap<&'static str, u32, SeedableRandomState>>,
}

/// A hash of short texts that starts from what nobody outside knows, so that texts which collide cannot be chosen.
fn text_hash() -> SeedableRandomState {
    let unknown = std::hash::RandomState::new().build_hasher().finish();
    SeedableRandomState::with_seed(unknown, SharedSeed::global_random())
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
    let texts = AppendVec::new(&TEXT_CLASS, u32::MAX as usize);
    let mut index = HashMap::with_capacity_and_hasher(16 * 1024, text_hash());
    for text in am::NAMES {
        // The table is empty and its limit far: there is room.
        if let Ok(i) = texts.push(Entry::new(text)) {
            index.insert(*text, i as u32);
        }
    }
    Table { texts, index: RwLock::new(&ATOM_CLASS, index) }
});

impl Atom {
    /// The atom of this text, made if new.
    pub fn new(text: &str) -> Result<Atom, AtomError> {
        if let Some(found) = Self::existing(text) {
            return Ok(found);
        }
        if text.len() > MAX_CHARACTERS && text.chars().count() > MAX_CHARACTERS {
            return Err(AtomError::TooLong);
        }
        let mut index = TABLE.index.write();
        if let Some(found) = index.get(text) {
            return Ok(Atom(*found));
        }
        if index.len() >= limit() {
            drop(index);
            crate::memory::no_more_atoms(limit());
            return Err(AtomError::TableFull);
        }
        let text: &'static str = Box::leak(text.into());
        let number = TABLE.texts.push(Entry::new(text)).map_err(|_| AtomError::TableFull)? as u32;
        index.insert(text, number);
        Ok(Atom(number))
    }

    /// The atom of this text, if there is one.
    pub fn existing(text: &str) -> Option<Atom> {
        Self::recent(text.as_bytes()).or_else(|| {
            let found = TABLE.index.read().get(text).map(|i| Atom(*i))?;
            RECENT.with(|recent| recent[recent_slot(text.as_bytes())].set(found.0));
            Some(found)
        })
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
