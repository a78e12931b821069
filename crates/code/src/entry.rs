//! Where a function begins, in both tiers, and the one operation that sets it.
//!
//! E1. What a function begins with follows from three things that it has: a breakpoint, a built-in, code that the executor has made. Whoever has changed
//!     one of them calls [`Function::settle_entry`] afterwards. That looks at all three under one lock, so the last one to come sees
//!     what all have done, and no change undoes another.
//! E2. A caller reads one of the two words, that of its own tier. While they are set, calls of the two tiers may differ for a moment.
//! E3. Neither word is ever null: a function without native code has the executor's way into tier 0 for it.

use crate::module::{Function, Module};
use crate::{Executor, Runtime};
use myriad_process::CodePtr;
use myriad_sync::atomic::Ordering;
use myriad_sync::{LockClass, Mutex};

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
    pub const ENTRY_OFFSET: usize = std::mem::offset_of!(Function<R>, entry);
    /// The same for callers in machine code.
    pub const NATIVE_OFFSET: usize = std::mem::offset_of!(Function<R>, native);

    /// Sets where the function begins, in both tiers, by what it has now (E1).
    pub fn settle_entry(&self, executor: &dyn Executor<R>) {
        let _one_at_a_time = SETTING.lock();
        // Acquire: who runs the entry of a breakpoint follows that.
        let has_breakpoint = !self.breakpoint.load(Ordering::Acquire).is_null();
        let entry = if has_breakpoint { executor.breakpoint() } else { executor.entry_behind(self) };
        debug_assert!(!entry.tier0.0.is_null() && !entry.native.0.is_null(), "E3: it could not be entered");
        // Release: pair with the Acquire in `entry`, and with machine code's calls, which depend on what they load.
        self.native.store(entry.native.0.cast_mut(), Ordering::Release);
        self.entry.store(entry.tier0.0.cast_mut(), Ordering::Release);
    }

    /// Where callers in tier 0 enter.
    #[inline(always)]
    pub fn entry(&self) -> CodePtr {
        // Acquire: pairs with the Release in `settle_entry`.
        CodePtr(self.entry.load(Ordering::Acquire))
    }

    /// Where callers in machine code enter.
    #[inline(always)]
    pub fn native(&self) -> NativePtr {
        // Acquire: as in `entry`.
        NativePtr(self.native.load(Ordering::Acquire))
    }
}
