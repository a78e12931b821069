//! What an export runs while no module defines it (code/K1): a function of its own, made with the export and as immortal.

use crate::{Executor, Function, Runtime};
use myriad_process::CodePtr;
use myriad_sync::OnceLock;
use myriad_sync::atomic::AtomicPtr;
use myriad_term::{Mfa, code::on_new_export};
use std::ptr;

static STUB: OnceLock<CodePtr> = OnceLock::new();

/// From now on (and for exports made before) every export has code. Only the first engine of an OS process counts: the stub
/// works for any VM.
pub fn install<R: Runtime>(engine: &dyn Executor<R>) {
    STUB.get_or_init(|| engine.undefined_stub());
    on_new_export(make::<R>);
}

fn make<R: Runtime>(mfa: Mfa) -> *mut () {
    let stub = STUB.get().copied().unwrap_or(CodePtr::NULL);
    ptr::from_mut(Box::leak(Box::new(Function::<R>::new(mfa, stub, u32::MAX)))).cast()
}

impl<R: Runtime> Function<R> {
    /// A function without a module yet.
    pub fn new(mfa: Mfa, entry: CodePtr, index: u32) -> Function<R> {
        Function {
            entry: AtomicPtr::new(entry.0.cast_mut()),
            native: AtomicPtr::new(ptr::null_mut()),
            mfa,
            index,
            module: ptr::null(),
            bif: AtomicPtr::new(ptr::null_mut()),
            decoded: AtomicPtr::new(ptr::null_mut()),
            breakpoint: AtomicPtr::new(ptr::null_mut()),
        }
    }
}
