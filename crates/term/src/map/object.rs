//! What a map is: the object and its parts. What is done with maps is in the modules beside this one.

use crate::boxed::{Boxed, Kind};
use crate::word::TermRef;

/// Most keys of a flat map.
pub const FLAT_LIMIT: usize = 32;

/// Levels of a trie: two hashes of 32 bits.
pub const MAX_LEVEL: u32 = 16;

/// `aux` of a node whose leaves have equal hashes (term.map/M4).
pub const COLLISION: u32 = 1 << 16;

/// A key and its value.
pub type Pair<'h> = (TermRef<'h>, TermRef<'h>);

/// A map of either form.
#[derive(Clone, Copy)]
pub struct Map<'a, 'h>(pub(super) Boxed<'a, 'h>);

/// The two forms of a map.
#[derive(Clone, Copy)]
pub enum View<'a, 'h> {
    /// Keys, and the values in their order.
    Flat {
        /// The keys, sorted.
        keys: &'a [TermRef<'h>],
        /// The values.
        values: &'a [TermRef<'h>],
    },
    /// The root of a trie.
    Hash {
        /// Number of keys.
        size: usize,
        /// Bitmap of the children.
        bitmap: u32,
        /// Leaves and nodes.
        children: &'a [TermRef<'h>],
    },
}

impl<'h> TermRef<'h> {
    /// The map.
    #[inline]
    pub fn as_map(&self) -> Option<Map<'_, 'h>> {
        self.held_map()
    }

    /// The map, as [`TermRef::held_boxed`].
    #[inline]
    pub(crate) fn held_map(self) -> Option<Map<'h, 'h>> {
        match self.held_boxed() {
            Some(b) if matches!(b.kind(), Kind::Map | Kind::MapRoot) => Some(Map(b)),
            _ => None,
        }
    }
}

impl<'a, 'h> Map<'a, 'h> {
    /// The term.
    #[inline]
    pub fn term(self) -> TermRef<'h> {
        self.0.term()
    }

    /// The object.
    #[inline]
    pub fn boxed(self) -> Boxed<'a, 'h> {
        self.0
    }

    /// The same for as long as its memory is held, see [`TermRef::held_boxed`].
    pub(super) fn held(self) -> Map<'h, 'h> {
        Map(self.0.held())
    }

    /// Is it a flat map?
    #[inline]
    pub fn is_flat(self) -> bool {
        self.0.kind() == Kind::Map
    }

    /// Its form and parts.
    #[inline]
    pub fn view(self) -> View<'a, 'h> {
        let slots = self.0.slots();
        if self.is_flat() {
            let keys = slots[0].as_tuple().map_or(&[][..], |t| t.elements());
            View::Flat { keys, values: &slots[1..] }
        } else {
            let size = slots[0].as_usize().unwrap_or(0);
            View::Hash { size, bitmap: self.0.header().aux(), children: &slots[1..] }
        }
    }

    /// The key tuple of a flat map.
    pub(super) fn key_tuple(self) -> TermRef<'h> {
        self.0.slot(0)
    }

    /// The keys of a flat map as a tuple, which maps with the same keys may share.
    pub fn flat_keys(self) -> Option<TermRef<'h>> {
        self.is_flat().then(|| self.key_tuple())
    }

    /// Number of keys.
    #[inline]
    pub fn size(self) -> usize {
        if self.is_flat() { self.0.size() - 1 } else { self.0.slot(0).as_usize().unwrap_or(0) }
    }
}
