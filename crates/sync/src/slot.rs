//! Small dense thread numbers, for choosing a shard.
//!
//! A thread takes the smallest free number when it first asks and returns it when it ends, so the numbers stay
//! below the largest number of threads that ever lived at once. Two threads never have one number at the same
//! time, except threads already in their last throes (all 0): a number chooses a shard, it grants nothing.

use std::{cell::Cell, collections::BTreeSet};

/// Numbers given back, and the first never given.
struct Numbers {
    free: BTreeSet<usize>,
    next: usize,
}

// Not the crate's own `Mutex`: profiling that counts by thread number, and a model has no statics.
static NUMBERS: std::sync::Mutex<Numbers> = std::sync::Mutex::new(Numbers { free: BTreeSet::new(), next: 0 });

const UNKNOWN: usize = usize::MAX;

std::thread_local! {
    /// Read on each use; `LEASE` only on the first.
    static INDEX: Cell<usize> = const { Cell::new(UNKNOWN) };
    static LEASE: Lease = Lease::take();
}

struct Lease(usize);

impl Lease {
    fn take() -> Self {
        let mut numbers = NUMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let index = numbers.free.pop_first().unwrap_or_else(|| {
            numbers.next += 1;
            numbers.next - 1
        });
        Self(index)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What runs after this on the dying thread shares shard 0.
        let _ = INDEX.try_with(|index| index.set(0));
        NUMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).free.insert(self.0);
    }
}

/// This thread's number. Model threads are all 0: they are coroutines of one thread.
#[inline]
pub fn index() -> usize {
    if cfg!(any(loom, feature = "single")) {
        return 0;
    }
    let known = INDEX.try_with(Cell::get).unwrap_or(0);
    if known == UNKNOWN { first_index() } else { known }
}

#[cold]
fn first_index() -> usize {
    let taken = LEASE.try_with(|lease| lease.0).unwrap_or(0);
    let _ = INDEX.try_with(|index| index.set(taken));
    taken
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::index;
    use std::sync::Barrier;

    #[test]
    fn threads_alive_together_have_different_small_numbers() {
        let barrier = Barrier::new(8);
        let mut seen: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let mine = index();
                        barrier.wait();
                        assert_eq!(mine, index());
                        mine
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 8);
    }
}
