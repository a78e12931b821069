//! What a cache holds, at the grain that is cheap to follow: how many bytes of each heap.
//!
//! A process touches its heap all over and evenly: of the bytes that it touches, as large a part is missing as of its heap. What was missing is there
//! afterwards, and what was used least recently has gone, heap by heap. So lists that fit are read for nothing from the second time on,
//! a heap of twice the cache's size misses half of what it touches, and processes that take turns push each other out. Sets and
//! associativity are not followed, nor the lines of code, messages and tables.

use std::collections::BTreeMap;

/// A cache, of one core or of several. Sizes are bytes.
pub struct Cache {
    size: u64,
    used: u64,
    /// What is there of each heap, and when it was last used.
    heaps: BTreeMap<u64, Part>,
    /// The heaps in the order of their last use.
    order: BTreeMap<u64, u64>,
    uses: u64,
}

#[derive(Clone, Copy)]
struct Part {
    bytes: u64,
    used_at: u64,
}

impl Cache {
    /// An empty one.
    pub fn new(size: u64) -> Cache {
        Cache { size, used: 0, heaps: BTreeMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// So many bytes of a heap of `heap_bytes` are touched; gives how many of them were missing, and are there now.
    pub fn touch(&mut self, heap: u64, heap_bytes: u64, touched: u64) -> u64 {
        if heap_bytes == 0 || touched == 0 {
            return 0;
        }
        let before = self.heaps.get(&heap).copied();
        let there = before.map_or(0, |part| part.bytes).min(heap_bytes);
        let missing = (u128::from(touched) * u128::from(heap_bytes - there) / u128::from(heap_bytes)) as u64;
        let newest = before.is_some_and(|part| part.used_at == self.uses);
        if missing == 0 && newest {
            return 0;
        }
        if let Some(part) = before {
            self.order.remove(&part.used_at);
            self.used -= part.bytes;
        }
        let bytes = (there + missing).min(heap_bytes).min(self.size);
        self.uses += 1;
        self.heaps.insert(heap, Part { bytes, used_at: self.uses });
        self.order.insert(self.uses, heap);
        self.used += bytes;
        self.evict();
        missing
    }

    /// The heaps that were used least recently go, until the rest fits.
    fn evict(&mut self) {
        while self.used > self.size {
            let Some((used_at, oldest)) = self.order.pop_first() else { return };
            let excess = self.used - self.size;
            let bytes = self.heaps.get(&oldest).map_or(0, |part| part.bytes);
            if bytes > excess {
                self.heaps.insert(oldest, Part { bytes: bytes - excess, used_at });
                self.order.insert(used_at, oldest);
                self.used -= excess;
            } else {
                self.heaps.remove(&oldest);
                self.used -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    /// What is missing of touches: heap, its size, bytes.
    fn missing<const N: usize>(size: u64, touches: [(u64, u64, u64); N]) -> [u64; N] {
        let mut cache = Cache::new(size);
        touches.map(|(heap, heap_bytes, touched)| cache.touch(heap, heap_bytes, touched))
    }

    #[test]
    fn a_heap_that_fits_is_fetched_once() {
        assert_eq!(missing(1000, [(1, 800, 800), (1, 800, 800), (1, 800, 8000)]), [800, 0, 0]);
    }

    #[test]
    fn half_of_a_heap_of_twice_the_size_is_missing() {
        assert_eq!(missing(1000, [(1, 2000, 2000), (1, 2000, 2000), (1, 2000, 500)]), [2000, 1000, 250]);
    }

    #[test]
    fn what_was_used_least_recently_goes() {
        let touches = [(1, 600, 600), (2, 400, 400), (1, 600, 60), (3, 300, 300), (1, 600, 600), (2, 400, 400)];
        assert_eq!(missing(1000, touches), [600, 400, 0, 300, 0, 300]);
    }

    #[test]
    fn processes_that_take_turns_push_each_other_out() {
        assert_eq!(missing(100, [(1, 100, 100), (2, 100, 100), (1, 100, 100), (2, 100, 100)]), [100; 4]);
    }

    #[test]
    fn a_heap_that_shrinks_takes_less_room() {
        assert_eq!(missing(100, [(1, 100, 100), (1, 10, 10), (2, 90, 90), (1, 10, 10)]), [100, 0, 90, 0]);
        assert_eq!(missing(0, [(1, 100, 50), (1, 100, 50), (1, 0, 5)]), [50, 50, 0]);
    }
}
