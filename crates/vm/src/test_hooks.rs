//! What OTP's own test suites may change in a running VM through `erts_debug:set_internal_state/2`. Nothing else sets it.
//!
//! Each hook is a number with a default, read by the production code that it bends: a limit that suites make small to see long
//! work yield, a delay. So that code holds one call, and this file says what there is. State that suites set where it
//! lives (the next process number, reductions left, the heap) is changed through its owner and not listed here.

use myriad_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A number that suites may change.
pub struct Hook {
    value: AtomicUsize,
    default: usize,
}

impl Hook {
    const fn new(default: usize) -> Hook {
        Hook { value: AtomicUsize::new(default), default }
    }

    /// The number that holds now.
    #[inline]
    pub fn get(&self) -> usize {
        // Relaxed: one number, and nothing else is ordered by it.
        self.value.load(Ordering::Relaxed)
    }

    /// Sets the number, or the default again; gives what held before.
    pub fn set(&self, value: Option<usize>) -> usize {
        // Relaxed: as in `get`.
        self.value.swap(value.unwrap_or(self.default), Ordering::Relaxed)
    }
}

/// The hooks of one VM.
pub struct TestHooks {
    is_open: AtomicBool,
    /// `binary_loop_limit`: how many bytes functions of `binary` copy, compare or search in one slice at most.
    pub binary_bytes: Hook,
    /// `unicode_loop_limit`: how many characters functions of `unicode` convert in one slice at most.
    pub unicode_chars: Hook,
    /// `re_loop_limit`: how many steps a match may take on a normal scheduler, before it is made again on a dirty one.
    pub regex_steps: Hook,
    /// `test_long_gc_sleep`: by how many milliseconds each collection that the system monitor watches is prolonged.
    pub collection_ms: Hook,
}

impl Default for TestHooks {
    fn default() -> TestHooks {
        TestHooks {
            is_open: AtomicBool::new(false),
            // No limit beside the slice's.
            binary_bytes: Hook::new(myriad_term::Term::SMALL_MAX as usize),
            unicode_chars: Hook::new(40_000),
            regex_steps: Hook::new(20_000),
            collection_ms: Hook::new(0),
        }
    }
}

impl TestHooks {
    /// `available_internal_state`: may suites look inside at all?
    pub fn is_open(&self) -> bool {
        // Relaxed: nothing else is ordered by it.
        self.is_open.load(Ordering::Relaxed)
    }

    /// Opens the inside, or closes it; gives what it was.
    pub fn open(&self, open: bool) -> bool {
        // Relaxed: as in `is_open`.
        self.is_open.swap(open, Ordering::Relaxed)
    }

    /// Sleeps at the end of a collection, if one is to be prolonged.
    #[cold]
    pub fn prolong_collection(&self) {
        match self.collection_ms.get() {
            0 => {}
            ms => myriad_sync::thread::sleep(Duration::from_millis(ms as u64)),
        }
    }
}
