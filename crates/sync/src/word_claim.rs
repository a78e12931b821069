//! A right that a word of plain memory stands for, which several threads may want: the one that changes the word has it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Changes the word at `at` from `from` to `to`; `false` if it is not `from`, as after another thread's claim. It orders nothing else.
///
/// # Safety
/// The word is there, aligned, and may be read and written; other threads change it in this way alone while this is called.
pub unsafe fn claim_word(at: *mut u64, from: u64, to: u64) -> bool {
    // SAFETY: the caller's promise.
    let word = unsafe { AtomicU64::from_ptr(at) };
    // Relaxed: one of the claims succeeds; what it is a right to is ordered by how the claimers got to the word.
    word.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
}

#[cfg(all(test, not(any(loom, interleaved))))]
mod tests {
    use super::claim_word;

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
}
