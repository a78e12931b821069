//! For unit tests: a process on a VM with this crate's built-in functions.

pub(crate) use myriad_testing::{call, text};
use myriad_vm::Ctx;

/// Runs a test inside a process of a VM of its own.
pub(crate) fn in_process<R>(test: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    myriad_testing::in_process(Box::<crate::Builtins>::default(), test)
}
