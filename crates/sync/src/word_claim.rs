//! Rights that a word of plain memory stands for, which several threads may want: the one that changes the word has it.
//!
//! A copying collector's threads claim objects in this way: who finds one copies it first and then puts the copy's address in the place of its header. Who loses takes
//! the winner's address, and its own copy is none. Nobody waits. All orderings are Relaxed: an address that was met is written to other places, but nobody looks at what
//! lies there before the threads have met (a lock, a join), but for its maker and whom that tells of it.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Changes the word at `at` from `from` to `to`; `false` if it is not `from`, as after another thread's claim. It orders nothing else.
///
/// # Safety
/// The word is there, aligned, and may be read and written; other threads change it in this way alone while this is called.
#[cfg(not(loom))]
pub unsafe fn claim_word(at: *mut u64, from: u64, to: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { forward_word(at, from, to) }.is_ok()
}

/// The same; if it is not `from`, tells what it is.
///
/// # Safety
/// As for [`claim_word`].
#[cfg(not(loom))]
#[inline(always)]
pub unsafe fn forward_word(at: *mut u64, from: u64, to: u64) -> Result<(), u64> {
    // SAFETY: the caller's promise.
    forward(unsafe { AtomicU64::from_ptr(at) }, from, to)
}

/// The word at `at`, which others may claim meanwhile.
///
/// # Safety
/// As for [`claim_word`], but that it need not be writable.
#[cfg(not(loom))]
#[inline(always)]
pub unsafe fn seen_word(at: *mut u64) -> u64 {
    // SAFETY: the caller's promise.
    seen(unsafe { AtomicU64::from_ptr(at) })
}

/// Writes the word at `at`, which others may write and look at meanwhile: what several may have made is good whosever it is.
///
/// # Safety
/// As for [`claim_word`].
#[cfg(not(loom))]
#[inline(always)]
pub unsafe fn write_word(at: *mut u64, to: u64) {
    // SAFETY: the caller's promise.
    // Relaxed: it orders nothing.
    unsafe { AtomicU64::from_ptr(at) }.store(to, Relaxed);
}

#[inline(always)]
fn forward(word: &AtomicU64, from: u64, to: u64) -> Result<(), u64> {
    // Relaxed: one of the claims succeeds; what it is a right to is ordered by how the claimers got to the word, and how they meet.
    word.compare_exchange(from, to, Relaxed, Relaxed).map(|_| ())
}

#[inline(always)]
fn seen(word: &AtomicU64) -> u64 {
    // Relaxed: as above.
    word.load(Relaxed)
}

#[cfg(all(test, not(any(loom, interleaved))))]
mod tests {
    use super::{claim_word, forward_word, seen_word, write_word};

    #[test]
    fn one_of_all_claims_succeeds() {
        let mut word = 7u64;
        let at = (&raw mut word).expose_provenance();
        let claims: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(move || {
                    // SAFETY: the word outlives the threads, which claim alone.
                    unsafe { claim_word(std::ptr::with_exposed_provenance_mut(at), 7, 8) }
                })
            })
            .collect();
        let won = claims.into_iter().map(|claim| claim.join().unwrap()).filter(|won| *won).count();
        assert_eq!((won, word), (1, 8));
    }

    #[test]
    fn who_loses_learns_what_it_is() {
        let mut word = 7u64;
        // SAFETY: the test's own word.
        unsafe {
            assert_eq!(forward_word(&raw mut word, 7, 9), Ok(()));
            assert_eq!(forward_word(&raw mut word, 7, 11), Err(9));
            assert_eq!(seen_word(&raw mut word), 9);
            write_word(&raw mut word, 10);
            assert_eq!(seen_word(&raw mut word), 10);
        }
    }
}

/// Caught when tried: a load and a store instead of the exchange; the loser's own address instead of the winner's.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{forward, seen};
    use crate::cell::UnsafeCell;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;
    use std::sync::Arc;

    const HEADER: u64 = 0;

    /// An object that two threads find, and a place for the copy of each, whose address is its number.
    struct Heap {
        object: AtomicU64,
        contents: u64,
        copies: [UnsafeCell<u64>; 2],
    }

    // SAFETY: each copy is one thread's until both have met, which loom checks.
    unsafe impl Sync for Heap {}
    // SAFETY: as above.
    unsafe impl Send for Heap {}

    impl Heap {
        /// What a thread does that finds the object: gives the address for the place where it found it.
        fn copy(&self, thread: usize) -> u64 {
            let header = seen(&self.object);
            if header != HEADER {
                return header;
            }
            // SAFETY: this thread's own place.
            self.copies[thread].with_mut(|copy| unsafe { *copy = self.contents });
            let address = 1 + thread as u64;
            match forward(&self.object, header, address) {
                Ok(()) => address,
                Err(winner) => {
                    // Its own copy is none: something else goes there.
                    // SAFETY: this thread's own place.
                    self.copies[thread].with_mut(|copy| unsafe { *copy = 0 });
                    winner
                }
            }
        }
    }

    #[test]
    fn loom_both_who_find_an_object_get_one_copy() {
        loom::model(|| {
            let copies = [(); 2].map(|()| UnsafeCell::new(0));
            let heap = Arc::new(Heap { object: AtomicU64::new(HEADER), contents: 7, copies });
            let other = {
                let heap = heap.clone();
                thread::spawn(move || heap.copy(1))
            };
            let found = [heap.copy(0), other.join().unwrap()];
            assert_eq!(found[0], found[1]);
            // SAFETY: the other thread has ended.
            let copied = heap.copies[found[0] as usize - 1].with(|copy| unsafe { *copy });
            assert_eq!(copied, 7);
        });
    }
}
