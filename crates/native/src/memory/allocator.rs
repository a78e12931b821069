//! Which parts of a region are free: best fit, neighbours joined.
//!
//! Of the free ranges that are large enough the smallest is taken, the lowest of these; what is over stays free. Best fit wastes little where sizes
//! repeat (Johnstone and Wilson, "The Memory Fragmentation Problem: Solved?", 1998), as those of functions do when a module is loaded again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What sizes and places are multiples of, at least.
pub const GRANULE: usize = 16;

/// The free ranges of a region, by offset.
#[derive(Debug)]
pub struct Allocator {
    granule: usize,
    bytes: usize,
    /// From here on nothing has ever been used.
    fresh: usize,
    used: usize,
    /// Freed ranges below `fresh`: start and length.
    by_start: BTreeMap<usize, usize>,
    /// Length and start.
    by_length: BTreeSet<(usize, usize)>,
    /// Bytes that are neither used nor will be used again.
    lost: usize,
}

impl Allocator {
    /// A region of which nothing is used. The granule is a power of two and the size a multiple of it.
    pub fn new(bytes: usize, granule: usize) -> Self {
        Self { granule, bytes, fresh: 0, used: 0, by_start: BTreeMap::new(), by_length: BTreeSet::new(), lost: 0 }
    }

    /// A range of whole granules, and whether it has been used before.
    pub fn allocate(&mut self, bytes: usize, align: usize) -> Option<(Range<usize>, bool)> {
        let length = bytes.max(1).checked_next_multiple_of(self.granule)?;
        let align = align.max(self.granule);
        let fitting = |(whole, start): &&(usize, usize)| {
            let first = start.next_multiple_of(align);
            first - start + length <= *whole
        };
        let found = self.by_length.range((length, 0)..).find(fitting).copied();
        let (range, used_before) = match found {
            Some((whole, start)) => {
                self.forget(start, whole);
                let first = start.next_multiple_of(align);
                self.note(start..first);
                self.note(first + length..start + whole);
                (first..first + length, true)
            }
            None => {
                let first = self.fresh.checked_next_multiple_of(align)?;
                let end = first.checked_add(length).filter(|end| *end <= self.bytes)?;
                let skipped = self.fresh..first;
                self.fresh = end;
                self.join(skipped);
                (first..end, false)
            }
        };
        self.used += range.len();
        Some((range, used_before))
    }

    /// A range with all of its last granule.
    pub fn whole(&self, range: Range<usize>) -> Range<usize> {
        range.start..range.start + range.len().max(1).next_multiple_of(self.granule)
    }

    /// Takes back what `allocate` has given: to be used again, or not.
    pub fn free(&mut self, range: Range<usize>, again: bool) {
        self.used -= range.len();
        if again { self.join(range) } else { self.lost += range.len() }
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes that are free and have been used before.
    pub fn free_again(&self) -> usize {
        self.fresh - self.used - self.lost
    }

    fn join(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        if let Some((&before, &length)) = self.by_start.range(..start).next_back()
            && before + length == start
        {
            self.forget(before, length);
            start = before;
        }
        if let Some(&length) = self.by_start.get(&end) {
            self.forget(end, length);
            end += length;
        }
        self.note(start..end);
    }

    fn note(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.by_start.insert(range.start, range.len());
            self.by_length.insert((range.len(), range.start));
        }
    }

    fn forget(&mut self, start: usize, length: usize) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
        a.start < b.end && b.start < a.end
    }

    proptest! {
        #[test]
        fn ranges_are_apart_aligned_and_come_back(steps in prop::collection::vec((1usize..5000, 0u32..3, any::<bool>(), any::<usize>()), 1..300)) {
            let mut allocator = Allocator::new(1 << 20, GRANULE);
            let mut live: Vec<Range<usize>> = Vec::new();
            for (bytes, shift, frees, which) in steps {
                if frees && !live.is_empty() {
                    let range = live.swap_remove(which % live.len());
                    allocator.free(range, true);
                } else if let Some((range, _)) = allocator.allocate(bytes, 16 << shift) {
                    prop_assert!(range.len() >= bytes && range.start % (16 << shift) == 0 && range.end <= 1 << 20);
                    prop_assert!(live.iter().all(|other| !overlaps(other, &range)));
                    live.push(range);
                }
                prop_assert_eq!(allocator.used(), live.iter().map(Range::len).sum::<usize>());
                prop_assert_eq!(allocator.by_start.values().sum::<usize>(), allocator.free_again());
            }
            live.drain(..).for_each(|range| allocator.free(range, true));
            let whole: Vec<_> = allocator.by_start.iter().collect();
            prop_assert_eq!(whole, if allocator.fresh == 0 { vec![] } else { vec![(&0, &allocator.fresh)] });
        }
    }

    /// Modules are loaded again and again: each time all functions of one, of sizes of its own, go, and others of slightly different sizes come.
    #[test]
    fn fragmentation_stays_bounded_while_modules_are_replaced() {
        let mut random = 12345_u64;
        let mut draw = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        let mut allocator = Allocator::new(1 << 26, GRANULE);
        let mut modules: Vec<Vec<Range<usize>>> = Vec::new();
        let mut most = 0;
        for round in 0..2000 {
            let functions = 20 + draw(100);
            let module = (0..functions).map(|_| allocator.allocate(64 + draw(4000), 16).expect("room").0).collect();
            if round < 50 {
                modules.push(module);
            } else {
                let old = draw(50);
                std::mem::replace(&mut modules[old], module).into_iter().for_each(|range| allocator.free(range, true));
            }
            most = most.max(allocator.used());
        }
        assert!(allocator.fresh < most * 5 / 4, "{} bytes for at most {most}", allocator.fresh);
    }
}
