//! What each thread keeps under keys of libraries: as many as they want, where the system has 1,024.

use myriad_sync::atomic::{AtomicUsize, Ordering};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The next key. None comes twice, so that what was kept under one that is used no more is not found.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What this thread keeps, by key.
    static KEPT: RefCell<Vec<*mut c_void>> = const { RefCell::new(Vec::new()) };
}

/// A new key.
pub(crate) fn new_key() -> c_int {
    // Relaxed: only that each comes once matters.
    NEXT.fetch_add(1, Ordering::Relaxed) as c_int
}

/// This thread keeps something. A thread in its last throes keeps nothing.
pub(crate) fn set(key: c_int, data: *mut c_void) {
    // Relaxed: as above; who has a key has seen it made.
    let Some(place) = usize::try_from(key).ok().filter(|key| *key < NEXT.load(Ordering::Relaxed)) else { return };
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() <= place {
            kept.resize(place + 1, null_mut());
        }
        kept[place] = data;
    });
}

/// What this thread keeps.
pub(crate) fn get(key: c_int) -> *mut c_void {
    let place = usize::try_from(key).unwrap_or(usize::MAX);
    KEPT.try_with(|kept| kept.borrow().get(place).copied()).ok().flatten().unwrap_or(null_mut())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_keeps_its_own() {
        let keys: Vec<c_int> = (0..5000).map(|_| new_key()).collect();
        keys.iter().for_each(|key| set(*key, *key as *mut c_void));
        assert!(keys.iter().all(|key| get(*key) == *key as *mut c_void));
        let key = keys[7];
        let other = myriad_sync::thread::spawn("other", move || get(key).is_null()).unwrap();
        assert!(other.join().unwrap());
        set(c_int::MAX, std::ptr::dangling_mut());
        assert!(get(c_int::MAX).is_null() && get(-1).is_null());
    }
}
