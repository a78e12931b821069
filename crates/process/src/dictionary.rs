//! The process dictionary.

use hashbrown::HashTable;
use myriad_term::Term;
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;

/// The process dictionary: a small open map, in a plain vector while short.
#[derive(Default)]
pub struct Dictionary {
    /// Key and value.
    pub entries: Vec<(Term, Term)>,
    /// Positions in `entries` by the hashes of their keys, once there are many.
    index: HashTable<u32>,
}

/// How many entries a dictionary searches one by one.
const LINEAR_ENTRIES: usize = 12;

/// The hash of a key, in all bits of the word. What equals an immediate is that word.
#[inline]
fn key_hash(key: Term) -> u64 {
    let hash = if key.is_immediate() { key.raw() } else { u64::from(internal_hash(key, 0)) };
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26)
}

impl Dictionary {
    fn position(&self, key: Term) -> Option<usize> {
        if self.entries.len() <= LINEAR_ENTRIES {
            let mut keys = self.entries.iter().map(|(k, _)| *k);
            return if key.is_immediate() { keys.position(|k| k.is(key)) } else { keys.position(|k| eq_exact(k, key)) };
        }
        self.index.find(key_hash(key), |i| eq_exact(self.entries[*i as usize].0, key)).map(|i| *i as usize)
    }

    /// The value of a key.
    pub fn get(&self, key: Term) -> Option<Term> {
        self.position(key).map(|i| self.entries[i].1)
    }

    /// Sets a value; gives the old one.
    pub fn put(&mut self, key: Term, value: Term) -> Option<Term> {
        if let Some(i) = self.position(key) {
            return Some(std::mem::replace(&mut self.entries[i].1, value));
        }
        self.entries.push((key, value));
        debug_assert!(self.index.is_empty() || self.index.len() + 1 == self.entries.len(), "each key has its place");
        match self.entries.len() {
            n if n <= LINEAR_ENTRIES => {}
            n if n == LINEAR_ENTRIES + 1 => (0..n).for_each(|i| self.enter(i)),
            n => self.enter(n - 1),
        }
        None
    }

    /// Takes a key out; gives its value.
    pub fn erase(&mut self, key: Term) -> Option<Term> {
        let i = self.position(key)?;
        let last = self.entries.len() - 1;
        if last > LINEAR_ENTRIES {
            if let Ok(entry) = self.index.find_entry(key_hash(key), |place| *place as usize == i) {
                entry.remove();
            }
            if let Some(place) = self.index.find_mut(key_hash(self.entries[last].0), |place| *place as usize == last) {
                *place = i as u32;
            }
        } else {
            self.index.clear();
        }
        let value = self.entries.swap_remove(i).1;
        debug_assert!(self.index.is_empty() || self.index.len() == self.entries.len(), "each key has its place");
        debug_assert!(self.position(key).is_none());
        Some(value)
    }

    /// Enters the key at the position in the index.
    fn enter(&mut self, position: usize) {
        let entries = &self.entries;
        let hash = |place: &u32| key_hash(entries[*place as usize].0);
        self.index.insert_unique(hash(&(position as u32)), position as u32, hash);
    }
}
