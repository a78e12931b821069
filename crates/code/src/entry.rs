//! Where a function begins, in both tiers, and the one operation that sets it.
//!
//! E1. What a function begins with follows from three things that it has: a breakpoint, a built-in, code that the executor has made. Whoever has changed
//!     one of them calls [`Function::settle_entry`] afterwards (sync/EW1 to sync/EW3).
//! E2. Neither word is ever null: a function without native code has the executor's way into tier 0 for it.

use crate::module::{Function, Module};
use crate::{Executor, Runtime};
use myriad_process::CodePtr;
use myriad_sync::atomic::Ordering;
use myriad_sync::{EntryWords, LockClass, Mutex};

/// An address in machine code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NativePtr(pub *const u8);

/// Where a function begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// For callers in tier 0.
    pub tier0: CodePtr,
    /// For callers in machine code.
    pub native: NativePtr,
}

impl<R: Runtime> Module<R> {
    /// Where the number of [`breakpoints`](Module::breakpoints) is, 32 bits, bytes from the module's start.
    pub const BREAKPOINTS_OFFSET: usize = std::mem::offset_of!(Module<R>, breakpoints);
}

static CLASS: LockClass = LockClass::new("function_entry", 705);
static SETTING: Mutex<()> = Mutex::new(&CLASS, ());

impl<R: Runtime> Function<R> {
    /// Where the word is that callers in tier 0 enter by, bytes from the function's start.
    pub const ENTRY_OFFSET: usize = std::mem::offset_of!(Function<R>, entry) + EntryWords::INTERPRETED_OFFSET;
    /// The same for callers in machine code.
    pub const NATIVE_OFFSET: usize = std::mem::offset_of!(Function<R>, entry) + EntryWords::NATIVE_OFFSET;

    /// Sets where the function begins, in both tiers, by what it has now (E1).
    pub fn settle_entry(&self, executor: &dyn Executor<R>) {
        self.entry.settle(&SETTING, || {
            // Relaxed: who stores it settles the entry afterwards (E1), so this is ordered by the lock.
            let has_breakpoint = !self.breakpoint.load(Ordering::Relaxed).is_null();
            let entry = if has_breakpoint { executor.breakpoint() } else { executor.entry_behind(self) };
            debug_assert!(!entry.tier0.0.is_null() && !entry.native.0.is_null(), "E2: it could not be entered");
            (entry.tier0.0, entry.native.0)
        });
    }

    /// Where callers in tier 0 enter.
    #[inline(always)]
    pub fn entry(&self) -> CodePtr {
        CodePtr(self.entry.interpreted())
    }

    /// Where callers in machine code enter.
    #[inline(always)]
    pub fn native(&self) -> NativePtr {
        NativePtr(self.entry.native())
    }
}
