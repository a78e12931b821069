//! Atoms: an index into a table that only grows.
//!
//! T-A1. An atom's text never moves and is never freed; equal texts have equal indexes.
//! The well-known atoms of [`crate::am`] come first, in its order, so that their indexes are constants.

use crate::am;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{AppendVec, LockClass, RwLock};
use std::collections::HashMap;
use std::fmt;
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

struct Table {
    texts: AppendVec<&'static str>,
    index: RwLock<HashMap<&'static str, u32>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let texts = AppendVec::new(&TEXT_CLASS, u32::MAX as usize);
    let mut index = HashMap::with_capacity(16 * 1024);
    for text in am::NAMES {
        // The table is empty and its limit far: there is room.
        if let Ok(i) = texts.push(*text) {
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
        let number = TABLE.texts.push(text).map_err(|_| AtomError::TableFull)? as u32;
        index.insert(text, number);
        Ok(Atom(number))
    }

    /// The atom of this text, if there is one.
    pub fn existing(text: &str) -> Option<Atom> {
        TABLE.index.read().get(text).map(|i| Atom(*i))
    }

    /// The text.
    pub fn text(self) -> &'static str {
        TABLE.texts.get(self.0 as usize).copied().unwrap_or("")
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
