//! Small dense thread numbers, for choosing a shard.
//!
//! A thread takes the smallest free number when it first asks and returns it when it ends, so the numbers stay
//! below the largest number of threads that ever lived at once. Two threads never have one number at the same
//! time, so what a thread finds at [`own`] its number it may write alone. Threads already in their last throes have none;
//! [`index`], which only chooses a shard, is 0 for them.

use std::{
    cell::Cell,
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Numbers given back, and the first never given.
struct Numbers {
    free: BTreeSet<usize>,
    next: usize,
}

// Not the crate's own `Mutex`: profiling that counts by thread number, and a model has no statics.
static NUMBERS: std::sync::Mutex<Numbers> = std::sync::Mutex::new(Numbers { free: BTreeSet::new(), next: 0 });

/// Numbers given so far: `Numbers::next`, to be read without the lock.
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// So many threads can have names: the most schedulers that there can be (`+S`).
const NAMES: usize = 1024;

/// The numbers of threads that have names, by name; one more, as 0 is none.
static NAMED: [AtomicUsize; NAMES] = [const { AtomicUsize::new(0) }; NAMES];

const UNKNOWN: usize = usize::MAX;
/// The thread has given its number back.
const GONE: usize = usize::MAX - 1;

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
            // Relaxed: who counts on what a thread wrote has heard of that by other means.
            GIVEN.store(numbers.next, Relaxed);
            numbers.next - 1
        });
        Self(index)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = INDEX.try_with(|index| index.set(GONE));
        NUMBERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).free.insert(self.0);
    }
}

/// This thread's number. Model threads are all 0: they are coroutines of one thread.
#[inline]
pub fn index() -> usize {
    own(usize::MAX).unwrap_or(0)
}

/// This thread's number, if it is below `most` and no other thread has it: not for a thread that is ending, nor in a model.
///
/// A number passes from a thread to the next by way of a lock, which orders what they do with it.
#[inline]
pub fn own(most: usize) -> Option<usize> {
    if cfg!(any(loom, feature = "single")) {
        return None;
    }
    known(most).or_else(|| first_index().filter(|index| *index < most))
}

/// As [`own`], but for a thread that has not asked for its number yet.
#[inline]
pub fn known(most: usize) -> Option<usize> {
    if cfg!(any(loom, feature = "single")) {
        return None;
    }
    INDEX.try_with(Cell::get).ok().filter(|known| *known < most.min(GONE))
}

/// How many numbers have been given: no thread has this one or a larger one, unless it has just begun.
pub fn given() -> usize {
    GIVEN.load(Relaxed)
}

/// The calling thread goes by this name from now on, among the threads of its kind (schedulers), and keeps it as long as it lives.
pub fn be_named(name: usize) {
    if let (Some(index), Some(named)) = (own(usize::MAX), NAMED.get(name)) {
        // Relaxed: who asks for figures of a thread that has just begun may do without.
        named.store(index + 1, Relaxed);
    }
}

/// The number of the thread with a name, if there is one.
pub fn named(name: usize) -> Option<usize> {
    NAMED.get(name)?.load(Relaxed).checked_sub(1)
}

/// Runs `work` under another number, for one thread that does the work of several in turn (back end `sim`). No other thread may have the number.
#[cfg(feature = "sim")]
pub(crate) fn stand_for<R>(index: usize, work: impl FnOnce() -> R) -> R {
    let own = INDEX.replace(index);
    // Relaxed: as in `Lease::take`.
    GIVEN.fetch_max(index + 1, Relaxed);
    let result = work();
    INDEX.set(own);
    result
}

#[cold]
fn first_index() -> Option<usize> {
    match INDEX.try_with(Cell::get).unwrap_or(GONE) {
        GONE => None,
        UNKNOWN => {
            let taken = LEASE.try_with(|lease| lease.0).ok()?;
            let _ = INDEX.try_with(|index| index.set(taken));
            Some(taken)
        }
        index => Some(index),
    }
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
