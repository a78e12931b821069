//! What an export runs while no module defines it (code/K1): a function of its own, made with the export and as immortal.

use crate::{Entry, Executor, Function, NativePtr, Runtime};
use myriad_process::CodePtr;
use myriad_sync::atomic::AtomicPtr;
use myriad_sync::{EntryWords, OnceLock};
use myriad_term::{Mfa, code::on_new_export};
use std::ptr;

static ENTRY: OnceLock<Shared> = OnceLock::new();

/// The entry of all of them.
struct Shared(Entry);
// SAFETY: code that never changes; nobody follows the addresses but who runs it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// From now on (and for exports made before) every export has code. Only the first engine of an OS process counts: the stub
/// works for any VM.
pub fn install<R: Runtime>(engine: &dyn Executor<R>) {
    ENTRY.get_or_init(|| Shared(engine.undefined()));
    on_new_export(make::<R>);
}

fn make<R: Runtime>(mfa: Mfa) -> *mut () {
    let nothing = Entry { tier0: CodePtr::NULL, native: NativePtr(ptr::null()) };
    let entry = ENTRY.get().map_or(nothing, |shared| shared.0);
    ptr::from_mut(Box::leak(Box::new(Function::<R>::new(mfa, entry, u32::MAX)))).cast()
}

impl<R: Runtime> Function<R> {
    /// A function without a module yet.
    pub fn new(mfa: Mfa, entry: Entry, index: u32) -> Function<R> {
        Function {
            entry: EntryWords::new(entry.tier0.0, entry.native.0),
            mfa,
            index,
            module: ptr::null(),
            bif: AtomicPtr::new(ptr::null_mut()),
            decoded: AtomicPtr::new(ptr::null_mut()),
            breakpoint: AtomicPtr::new(ptr::null_mut()),
        }
    }
}
