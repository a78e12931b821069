//! Caches and memory of a machine: what it takes a core to get at what its process touches.
//!
//! Each core has a cache of its own, groups of cores share a larger one, and behind that are memory controllers. A line that is not in the
//! core's own cache takes what the machine says, from the shared cache or from memory; what a slice does not touch costs nothing, and what the
//! first cache gives is part of the work. All lines from memory go through the controller of their group of cores at its bandwidth, one
//! core at a time ([`Busy`]).

use crate::busy::Busy;
use crate::cache::Cache;

/// Bytes of a line.
const LINE: f64 = 64.0;

/// What caches and memory are like. Sizes are bytes, times nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes {
    /// A word of a heap.
    pub word: u64,
    /// The cache of a core.
    pub own_cache: u64,
    /// A cache that cores share, and how many do.
    pub shared_cache: u64,
    pub shared_cache_cores: usize,
    /// A line from the shared cache.
    pub shared_cache_ns: f64,
    /// A line from memory.
    pub memory_ns: f64,
    /// What a controller moves in a nanosecond, and how many cores it serves.
    pub bytes_per_ns: f64,
    pub controller_cores: usize,
    /// Words of its heap that a process reads in a reduction.
    pub read_words: f64,
}

/// A heap as a core sees it at the end of a piece. Sizes are words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapSeen {
    /// Whose it is.
    pub heap: u64,
    /// In use.
    pub used: u64,
    /// Of its blocks.
    pub size: u64,
}

/// What a piece did to a heap. Counts of words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The heap, and the words of its blocks.
    pub heap: u64,
    pub size: u64,
    /// Words that it has more than before the piece.
    pub allocated: u64,
    /// Words that a collection has moved.
    pub collected: u64,
    pub reductions: u32,
}

impl Touched {
    /// By a piece between two looks at the heap, of which the one before is missing when a slice begins, and the one after when it ends.
    pub fn between(
        before: Option<HeapSeen>,
        after: Option<HeapSeen>,
        collected: u64,
        reductions: u32,
    ) -> Option<Touched> {
        let seen = after.or(before)?;
        let allocated = before.zip(after).map_or(0, |(before, after)| after.used.saturating_sub(before.used));
        Some(Touched { heap: seen.heap, size: seen.size.max(seen.used), allocated, collected, reductions })
    }
}

/// The caches and controllers of a machine.
pub struct Memory {
    sizes: Sizes,
    own: Vec<Cache>,
    shared: Vec<Cache>,
    controllers: Vec<Busy>,
}

impl Memory {
    /// For so many cores.
    pub fn new(sizes: &Sizes, cores: usize) -> Memory {
        let parts = |of: usize| cores.div_ceil(of);
        Memory {
            sizes: sizes.clone(),
            own: (0..cores).map(|_| Cache::new(sizes.own_cache)).collect(),
            shared: (0..parts(sizes.shared_cache_cores)).map(|_| Cache::new(sizes.shared_cache)).collect(),
            controllers: vec![Busy::default(); parts(sizes.controller_cores)],
        }
    }

    /// How long a core waits for what it touches from a time on (nanoseconds).
    pub fn touch(&mut self, core: usize, at: u64, touched: Touched) -> u64 {
        let sizes = &self.sizes;
        if sizes.shared_cache_ns == 0.0 && sizes.memory_ns == 0.0 {
            return 0;
        }
        let Touched { heap, size, allocated, collected, reductions } = touched;
        // A collection reads what it moves, and writes it.
        let words = allocated + 2 * collected + (f64::from(reductions) * sizes.read_words) as u64;
        let heap_bytes = size * sizes.word;
        let missing = self.own[core].touch(heap, heap_bytes, words * sizes.word);
        if missing == 0 {
            return 0;
        }
        let far = self.shared[core / sizes.shared_cache_cores].touch(heap, heap_bytes, missing);
        let lines = |bytes: u64| bytes as f64 / LINE;
        let near_ns = (lines(missing - far) * sizes.shared_cache_ns) as u64;
        if far == 0 {
            return near_ns;
        }
        let far_ns = (lines(far) * sizes.memory_ns) as u64;
        let moves_ns = ((far as f64 / sizes.bytes_per_ns) as u64).max(1);
        let controller = &mut self.controllers[core / sizes.controller_cores];
        let start = controller.first_gap(at, moves_ns);
        controller.add(start, start + moves_ns, moves_ns / 2);
        near_ns + far_ns.max(start + moves_ns - at)
    }
}

#[cfg(test)]
mod tests {
    use super::{HeapSeen, Memory, Sizes, Touched};

    fn sizes() -> Sizes {
        Sizes {
            word: 8,
            own_cache: 64 * 100,
            shared_cache: 64 * 1000,
            shared_cache_cores: 2,
            shared_cache_ns: 10.0,
            memory_ns: 100.0,
            bytes_per_ns: 64.0,
            controller_cores: 4,
            read_words: 2.0,
        }
    }

    /// So many lines of a heap of as many lines.
    fn lines(heap: u64, lines: u64) -> Touched {
        Touched { heap, size: lines * 8, allocated: lines * 8, collected: 0, reductions: 0 }
    }

    #[test]
    fn lines_come_from_memory_then_from_the_shared_cache_then_from_the_own() {
        let mut memory = Memory::new(&sizes(), 4);
        let waits = [(0, 1), (0, 1), (1, 1), (2, 1), (0, 2), (0, 1)]
            .map(|(core, heap)| memory.touch(core, 0, lines(heap, 100)));
        assert_eq!(waits, [10_000, 0, 1000, 10_000, 10_000, 1000]);
    }

    #[test]
    fn a_collection_touches_words_twice_and_a_reduction_reads() {
        let mut memory = Memory::new(&sizes(), 4);
        let touched = Touched { heap: 1, size: 80_000, allocated: 0, collected: 40, reductions: 8 };
        assert_eq!(memory.touch(0, 0, touched), 1200);
    }

    #[test]
    fn a_controller_serves_one_core_after_the_other() {
        let mut memory = Memory::new(&Sizes { bytes_per_ns: 0.32, ..sizes() }, 4);
        let waits = [0, 2].map(|core| memory.touch(core, 0, lines(core as u64, 100)));
        assert_eq!(waits, [20_000, 40_000]);
        assert_eq!(memory.touch(1, 20_000, lines(7, 10)), 22_000);
    }

    #[test]
    fn memory_in_no_time_is_not_looked_at() {
        let mut memory = Memory::new(&Sizes { shared_cache_ns: 0.0, memory_ns: 0.0, ..sizes() }, 4);
        assert_eq!(memory.touch(0, 0, lines(1, 100)), 0);
    }

    #[test]
    fn what_a_piece_has_touched_is_between_two_looks() {
        let seen = |used| Some(HeapSeen { heap: 5, used, size: 100 });
        let allocated = |before, after| Touched::between(before, after, 0, 4).map(|touched| touched.allocated);
        assert_eq!(allocated(seen(10), seen(30)), Some(20));
        assert_eq!(allocated(seen(30), seen(10)), Some(0));
        assert_eq!([allocated(None, seen(30)), allocated(seen(30), None)], [Some(0); 2]);
        assert_eq!(allocated(None, None), None);
    }
}
