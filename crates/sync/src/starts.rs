//! [`Starts`]: where the pieces of a region begin, a bit for each granule, read without a lock.
//!
//! ```text
//!    who links                              who looks up an address
//!    writes the piece
//!    its bit = 1            (Release)       finds the bit          (Acquire), and so the piece as it was written
//! ```

use std::ops::Range;

use crate::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Words of bits that are allocated together: for 32,768 granules. Models have few.
const WORDS: usize = if cfg!(loom) { 1 } else { 512 };

type Chunk = [AtomicU64; WORDS];

/// The starts in a region.
#[derive(Debug)]
pub struct Starts {
    /// Null: none of its starts has been noted yet. Chunks stay until the region goes.
    chunks: Box<[AtomicPtr<Chunk>]>,
}

/// The place of a granule: chunk, word, bit.
fn place(granule: usize) -> (usize, usize, u32) {
    (granule / 64 / WORDS, granule / 64 % WORDS, (granule % 64) as u32)
}

impl Starts {
    /// For a region of so many granules.
    pub fn new(granules: usize) -> Self {
        let chunks = granules.div_ceil(64 * WORDS);
        Self { chunks: (0..chunks).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect() }
    }

    /// Something begins at a granule, and is written.
    pub fn note(&self, granule: usize) {
        let (chunk, word, bit) = place(granule);
        // Release: pairs with the Acquire in `at_or_below`.
        self.chunk_to_write(chunk)[word].fetch_or(1 << bit, Release);
    }

    /// What began there is about to be freed.
    pub fn forget(&self, granule: usize) {
        let (chunk, word, bit) = place(granule);
        // Relaxed: who looks it up sees to it that it is not freed meanwhile.
        self.chunk_to_write(chunk)[word].fetch_and(!(1 << bit), Relaxed);
    }

    /// The nearest start at a granule or below it.
    pub fn at_or_below(&self, granule: usize) -> Option<usize> {
        let (last, word, bit) = place(granule);
        let mut words: Range<usize> = 0..word + 1;
        let mut mask = u64::MAX >> (63 - bit);
        for number in (0..=last).rev() {
            if let Some(chunk) = self.chunk(number) {
                for word in words.rev() {
                    // Acquire: pairs with the Release in `note`.
                    let bits = chunk[word].load(Acquire) & mask;
                    if bits != 0 {
                        return Some((number * WORDS + word) * 64 + 63 - bits.leading_zeros() as usize);
                    }
                    mask = u64::MAX;
                }
            }
            words = 0..WORDS;
            mask = u64::MAX;
        }
        None
    }

    fn chunk(&self, number: usize) -> Option<&Chunk> {
        // Acquire: pairs with the Release in `chunk_to_write`.
        let chunk = self.chunks.get(number)?.load(Acquire);
        // SAFETY: null, or a chunk that lives as long as this.
        unsafe { chunk.as_ref() }
    }

    fn chunk_to_write(&self, number: usize) -> &Chunk {
        if let Some(chunk) = self.chunk(number) {
            return chunk;
        }
        let new = Box::into_raw(Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
        // Release: pairs with the Acquire in `chunk`, whose caller finds zeros. Acquire on failure: as there.
        match self.chunks[number].compare_exchange(std::ptr::null_mut(), new, Release, Acquire) {
            // SAFETY: it lives as long as this.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: nobody else has seen it.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: another thread's chunk, which lives as long as this.
                unsafe { &*other }
            }
        }
    }
}

impl Drop for Starts {
    fn drop(&mut self) {
        for chunk in &self.chunks {
            // Relaxed: nobody else has it any more.
            let chunk = chunk.load(Relaxed);
            if !chunk.is_null() {
                // SAFETY: it came from a box, and this is its last user.
                drop(unsafe { Box::from_raw(chunk) });
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Starts;
    use std::collections::BTreeSet;

    #[test]
    fn the_nearest_start_is_found() {
        let mut random = 7_u64;
        let mut draw = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for size in [1, 64, 65, 40_000, 200_000] {
            let (map, mut known) = (Starts::new(size), BTreeSet::new());
            for _ in 0..300 {
                let granule = draw(size);
                if draw(3) > 0 {
                    map.note(granule);
                    known.insert(granule);
                } else if known.remove(&granule) {
                    map.forget(granule);
                }
                let asked = draw(size);
                assert_eq!(map.at_or_below(asked), known.range(..=asked).next_back().copied());
            }
        }
    }
}

/// Caught when tried: Relaxed for the Release in `note`, for the Acquire in `at_or_below` or `chunk`, and for either ordering in `chunk_to_write`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Starts;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    struct Shared {
        starts: Starts,
        piece: UnsafeCell<u64>,
    }

    // SAFETY: the model is about who may read the piece when.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// Who finds a start finds what was written before it was noted, in a chunk that another thread may have made.
    #[test]
    fn what_is_found_is_written() {
        loom::model(|| {
            let shared = Arc::new(Shared { starts: Starts::new(64), piece: UnsafeCell::new(0) });
            let threads = [1, 2].map(|number| {
                let shared = shared.clone();
                thread::spawn(move || {
                    if number == 1 {
                        // SAFETY: nobody reads it before it is noted.
                        shared.piece.with_mut(|piece| unsafe { *piece = 7 });
                    }
                    shared.starts.note(number);
                })
            });
            if shared.starts.at_or_below(1) == Some(1) {
                // SAFETY: it is noted, so it does not change any more.
                assert_eq!(shared.piece.with(|piece| unsafe { *piece }), 7);
            }
            threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
            assert_eq!(shared.starts.at_or_below(3), Some(2));
        });
    }
}
