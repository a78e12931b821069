//! What the command line decides and `erlang:system_flag/2` may change later: heap sizes of new processes, the depth of stack
//! traces.

use myriad_heap::Settings;
use myriad_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Term, am};
use std::ptr;

static CLASS: LockClass = LockClass::new("system_defaults", 660);
static LOGGER_CLASS: LockClass = LockClass::new("system_logger", 661);

/// Settings that may change.
pub struct Defaults {
    heap: AtomicPtr<Settings>,
    backtrace_depth: AtomicUsize,
    /// The receiver of the emulator's own reports: a pid, `logger` or `undefined`. An immediate.
    system_logger: Mutex<Term>,
    /// All heap settings there ever were: each lives on, for readers that have just got it, and is used again.
    known: Mutex<Vec<&'static Settings>>,
}

impl Defaults {
    /// As the command line says.
    pub fn new(heap: Settings, backtrace_depth: usize) -> Defaults {
        let defaults = Defaults {
            heap: AtomicPtr::new(ptr::null_mut()),
            backtrace_depth: AtomicUsize::new(backtrace_depth),
            system_logger: Mutex::new(&LOGGER_CLASS, Term::atom(am::logger)),
            known: Mutex::new(&CLASS, Vec::new()),
        };
        defaults.set_heap(heap);
        defaults
    }

    /// Heap sizes of new processes.
    pub fn heap(&self) -> Settings {
        // Acquire: pairs with the Release in `set_heap`, so that the settings are seen as they were written.
        // SAFETY: never null after `new`; settings are never freed.
        unsafe { *self.heap.load(Ordering::Acquire) }
    }

    /// Sets the heap sizes of new processes.
    pub fn set_heap(&self, settings: Settings) {
        let mut known = self.known.lock();
        let same = known.iter().copied().find(|s| **s == settings);
        let settings = same.unwrap_or_else(|| {
            let new: &'static Settings = Box::leak(Box::new(settings));
            known.push(new);
            new
        });
        // Release: pairs with the Acquire in `heap`.
        self.heap.store(ptr::from_ref(settings).cast_mut(), Ordering::Release);
    }

    /// The receiver of the emulator's own reports: a local pid, `logger` (the process of that name) or `undefined` (none).
    pub fn system_logger(&self) -> Term {
        *self.system_logger.lock()
    }

    /// Sets the receiver of these reports; gives the old one.
    pub fn set_system_logger(&self, logger: Term) -> Term {
        std::mem::replace(&mut *self.system_logger.lock(), logger)
    }

    /// Most entries of a stack trace that is asked for.
    pub fn backtrace_depth(&self) -> usize {
        // Relaxed: one number.
        self.backtrace_depth.load(Ordering::Relaxed)
    }

    /// Most entries of the stack trace of an exception: at least the one where it began.
    pub fn exception_depth(&self) -> usize {
        self.backtrace_depth().max(1)
    }

    /// Sets the depth of stack traces; gives the old one.
    pub fn set_backtrace_depth(&self, depth: usize) -> usize {
        self.backtrace_depth.swap(depth, Ordering::Relaxed)
    }
}
