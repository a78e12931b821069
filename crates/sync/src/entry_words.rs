//! [`EntryWords`]: where code is entered, in a word for each of two kinds of callers, while several things decide where that is.
//!
//! Whoever has changed one of the things settles the words afterwards, looking at all of them.
//!
//! EW1. Looks and stores of one settling are under a lock, so the last one sees what all have changed, and no change undoes another. Whoever
//!      learns from the one that has settled that it has, enters by what that has stored, or by what has been stored since.
//! EW2. What a caller is led to is whole: it was when the words were settled, or before that by the thread that has settled them.
//! EW3. A caller reads one of the two words. While they are set, calls of the two kinds may differ for a moment.
//!
//! What was not done: one word that leads to both, a load more for each call; a word that each changer stores by itself, where the last one to store
//! would undo what it has not seen.

use crate::Mutex;
use crate::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};
use std::mem::offset_of;

/// Where code is entered.
#[derive(Debug)]
#[repr(C)]
pub struct EntryWords {
    interpreted: AtomicPtr<u32>,
    native: AtomicPtr<u8>,
}

impl EntryWords {
    /// Where the word for callers that are interpreted is, bytes from the start.
    pub const INTERPRETED_OFFSET: usize = offset_of!(EntryWords, interpreted);
    /// The same for callers in machine code.
    pub const NATIVE_OFFSET: usize = offset_of!(EntryWords, native);

    const_unless_loom! {
        /// These, until they are settled otherwise.
        pub fn new(interpreted: *const u32, native: *const u8) -> Self {
            Self { interpreted: AtomicPtr::new(interpreted.cast_mut()), native: AtomicPtr::new(native.cast_mut()) }
        }
    }

    /// Sets both words by what `look` finds (EW1). All that settle the same words do so by the same lock.
    pub fn settle(&self, lock: &Mutex<()>, look: impl FnOnce() -> (*const u32, *const u8)) {
        let _one_at_a_time = lock.lock();
        let (interpreted, native) = look();
        // Release: pair with the Acquire in `interpreted` and `native`, and with machine code's own loads, on which its jumps depend (EW2).
        self.native.store(native.cast_mut(), Release);
        self.interpreted.store(interpreted.cast_mut(), Release);
    }

    /// Where callers that are interpreted enter.
    #[inline(always)]
    pub fn interpreted(&self) -> *const u32 {
        // Acquire: pairs with the Release in `settle`.
        self.interpreted.load(Acquire)
    }

    /// Where callers in machine code enter.
    #[inline(always)]
    pub fn native(&self) -> *const u8 {
        // Acquire: as above.
        self.native.load(Acquire)
    }
}

/// Machine code (`Published`) that is published, found, traced and purged.
///
/// Caught when tried: Relaxed for the Release of either word in `settle`, for the Acquire in either of `interpreted` and `native`, for the Release in
/// `Published::publish`, for the Acquire in `Published::get`, for the Release in `Pins::unpin`; no lock in `settle`; a look before the lock; a settling before
/// the change; a publication without a pin; freeing without a look at the pins, or before the caller's slice has ended.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::EntryWords;
    use crate::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    };
    use crate::cell::UnsafeCell;
    use crate::{LockClass, Mutex, Pins, Published};
    use loom::thread;
    use std::ptr::{NonNull, without_provenance};
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("entry_words", 1);

    /// Code, which is written before it is published. Freeing it is another write.
    struct Code(UnsafeCell<u32>);
    // SAFETY: the cell is written before it is published and when nobody enters it. (Were it otherwise, loom's cell would say so.)
    unsafe impl Send for Code {}
    // SAFETY: as above.
    unsafe impl Sync for Code {}

    const UNCOMPILED: usize = 1;
    const BREAKPOINT: usize = 2;
    const WHOLE: u32 = 7;

    /// A function of a module.
    struct Function {
        words: EntryWords,
        lock: Mutex<()>,
        has_breakpoint: AtomicBool,
        machine_code: Published<Code>,
        /// Does an export lead here?
        is_exported: AtomicBool,
        /// Of the module.
        pins: Pins,
    }

    impl Function {
        fn new(has_breakpoint: bool) -> Arc<Function> {
            let at = if has_breakpoint { BREAKPOINT } else { UNCOMPILED };
            Arc::new(Function {
                words: EntryWords::new(without_provenance(at), without_provenance(at)),
                lock: Mutex::new(&CLASS, ()),
                has_breakpoint: AtomicBool::new(has_breakpoint),
                machine_code: Published::new(),
                is_exported: AtomicBool::new(true),
                pins: Pins::new(),
            })
        }

        fn settle(&self) {
            self.words.settle(&self.lock, || {
                // Relaxed: who stores it settles the words afterwards, so this is ordered by the lock (EW1).
                let at = match self.machine_code.get() {
                    _ if self.has_breakpoint.load(Relaxed) => without_provenance(BREAKPOINT),
                    Some(code) => std::ptr::from_ref(code).cast::<u8>(),
                    None => without_provenance(UNCOMPILED),
                };
                (at.cast(), at)
            });
        }

        fn set_breakpoint(&self, it_has: bool) {
            self.has_breakpoint.store(it_has, Relaxed);
            self.settle();
        }

        fn compile(&self) {
            let code = Box::new(Code(UnsafeCell::new(0)));
            // SAFETY: nobody else has it.
            code.0.with_mut(|word| unsafe { *word = WHOLE });
            // SAFETY: it comes from a box.
            assert!(unsafe { self.machine_code.publish(NonNull::from(Box::leak(code))) });
            self.settle();
        }

        /// Calls it, as either kind of caller does: where has it led?
        fn call(&self, natively: bool) -> usize {
            let at = if natively { self.words.native() } else { self.words.interpreted().cast() };
            if at.addr() > BREAKPOINT {
                // SAFETY: the words lead to code that is whole and not freed: to be shown.
                let word = unsafe { &*at.cast::<Code>() }.0.with(|word| unsafe { *word });
                assert_eq!(word, WHOLE, "it is not whole, or freed");
            }
            at.addr()
        }
    }

    fn check(model: impl Fn() + Send + Sync + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    /// A breakpoint is set or cleared while the function is compiled and called.
    fn breakpoint(sets: bool, natively: bool) {
        check(move || {
            let function = Function::new(!sets);
            let has_settled = Arc::new(AtomicBool::new(false));
            let (compiler, tracer, told) = (function.clone(), function.clone(), has_settled.clone());
            let compiler = thread::spawn(move || compiler.compile());
            let tracer = thread::spawn(move || {
                tracer.set_breakpoint(sets);
                // Release: stands for a message.
                told.store(true, Release);
            });
            // Acquire: as above.
            let is_told = has_settled.load(Acquire);
            let at = function.call(natively);
            assert!(!is_told || (at == BREAKPOINT) == sets, "a call has missed a change that its caller had heard of");
            compiler.join().unwrap();
            tracer.join().unwrap();
            let at = function.call(natively);
            assert_eq!((at == BREAKPOINT, at == UNCOMPILED), (sets, false), "a change was undone");
        });
    }

    #[test]
    fn loom_a_breakpoint_is_set_while_code_is_published() {
        breakpoint(true, true);
        breakpoint(true, false);
    }

    #[test]
    fn loom_a_breakpoint_is_cleared_while_code_is_published() {
        breakpoint(false, true);
        breakpoint(false, false);
    }

    /// The module is purged while the function is compiled and called.
    #[test]
    fn loom_code_is_freed_when_nobody_can_enter_it() {
        check(|| {
            let function = Function::new(false);
            let has_passed = Arc::new(AtomicBool::new(false));
            let (compiler, caller, passed) = (function.clone(), function.clone(), has_passed.clone());
            let compiler = thread::spawn(move || {
                // Its caller keeps the module that long: a slice that has begun before the purge (code/U4).
                if compiler.pins.pin() {
                    compiler.compile();
                    compiler.pins.unpin();
                }
            });
            let caller = thread::spawn(move || {
                // Acquire: pairs with the Release of who changes exports.
                if caller.is_exported.load(Acquire) {
                    caller.call(true);
                }
                // Release: stands for thread progress, as does the Acquire below.
                passed.store(true, Release);
            });
            function.is_exported.store(false, Release);
            let free = || {
                // SAFETY: nobody enters it (to be shown), and it stays in memory until the model ends.
                function.machine_code.get().map(|code| code.0.with_mut(|word| unsafe { *word = 0 })).is_some()
            };
            let is_free = !function.pins.close() && has_passed.load(Acquire);
            let had_code = is_free && free();
            compiler.join().unwrap();
            caller.join().unwrap();
            assert!(!function.pins.is_pinned());
            if is_free {
                assert_eq!(function.machine_code.is_there(), had_code, "code has come when all was freed");
            } else {
                free();
            }
        });
    }
}
