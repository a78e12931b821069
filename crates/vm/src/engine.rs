//! How the slices end that whatever executes code runs: an [`Engine`], which the interpreter implements.

pub use crate::upcalls::Engine;

use myriad_sched::DirtyKind;

/// How a slice ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum SliceEnd {
    /// Reductions are used up (or the process gave way): put it back in a run queue.
    Yielded,
    /// In a receive (or a waiting BIF) with nothing to match: wait for a signal.
    Waiting,
    /// The process has ended with the reason in [`crate::OwnerState::exit_reason`]; no Erlang code of it runs any more.
    Exited,
    /// Its next step runs on a dirty scheduler of this kind.
    Dirty(DirtyKind),
}
