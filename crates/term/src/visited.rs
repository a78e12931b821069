//! [`Visited`]: which objects a walk through a term has seen.
//!
//! A bit for each word of the pages of memory in which objects have been seen. Objects that are made together lie together, so
//! most of them are found in the page of the one before, and one page's bits are a line of the cache.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Bytes of a page: 512 words.
const PAGE_SHIFT: u32 = 12;
const WORD_SHIFT: u32 = 3;

/// The bits of one page.
type Bits = [u64; 8];

/// Addresses of words.
pub struct Visited {
    /// Where the bits of a page are.
    pages: HashMap<usize, usize, RandomState>,
    bits: Vec<Bits>,
    /// The page asked for last, and where its bits are.
    page: usize,
    at: usize,
}

impl Visited {
    /// Nothing yet.
    pub fn new() -> Visited {
        // No object lies in the last page of all memory.
        Visited { pages: HashMap::default(), bits: Vec::new(), page: usize::MAX, at: 0 }
    }

    /// Has this one been visited for the first time now?
    #[inline]
    pub fn is_first(&mut self, object: *const u64) -> bool {
        let address = object as usize;
        if address >> PAGE_SHIFT != self.page {
            self.turn_to(address >> PAGE_SHIFT);
        }
        let word = address >> WORD_SHIFT & ((1 << (PAGE_SHIFT - WORD_SHIFT)) - 1);
        let Some(bits) = self.bits.get_mut(self.at) else { return false };
        let (part, bit) = (&mut bits[word / 64 % 8], 1 << (word % 64));
        let first = *part & bit == 0;
        *part |= bit;
        first
    }

    #[inline(never)]
    fn turn_to(&mut self, page: usize) {
        self.page = page;
        self.at = *self.pages.entry(page).or_insert_with(|| {
            self.bits.push([0; 8]);
            self.bits.len() - 1
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Visited;
    use std::collections::HashSet;

    #[test]
    fn each_word_is_first_once() {
        let mut seen = HashSet::new();
        let mut visited = Visited::new();
        // Near ones, far ones, and those again.
        let mut state = 1u64;
        for _ in 0..crate::test_terms::many(200_000) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let far = (state >> 33 & 7) << 40 | (state >> 40 & 0x3F) << 12;
            let object = (far | (state >> 50 & 0x1FF) << 3) as *const u64;
            assert_eq!(visited.is_first(object), seen.insert(object), "{object:p}");
        }
        assert!(seen.len() > crate::test_terms::many(1000) / 2);
    }
}
