//! For unit tests: a process on a VM with this crate's built-in functions, and tables without a VM.

use crate::table::{Kind, Options, Protection, Table, WriteConcurrency};
use myriad_sync::{Arc, Progress};
use myriad_term::{Pid, RefNumbers, am};
pub(crate) use myriad_testing::call;
use myriad_vm::Ctx;

/// A domain of progress for so many threads of a test, which lives for ever.
pub(crate) fn domain(threads: usize) -> &'static Arc<Progress> {
    Box::leak(Box::new(Progress::new(threads)))
}

/// A public table of a process, of rows that have their key first.
pub(crate) fn table(kind: Kind, write_concurrency: WriteConcurrency, slices: &'static Progress) -> Arc<Table> {
    let options = Options {
        kind,
        keypos: 0,
        named: false,
        read_concurrency: false,
        write_concurrency,
        decentralized_counters: false,
        compressed: false,
    };
    Arc::new(Table::new(
        RefNumbers([1, 2, 3]),
        am::ok,
        Pid::new(1, 0),
        Protection::Public,
        options,
        (slices.threads(), slices),
    ))
}

/// Runs a test inside a process of a VM of its own.
pub(crate) fn in_process<R>(test: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    myriad_testing::in_process(Box::<crate::Tables>::default(), test)
}
