//! What the scheduler asks of whatever executes code: the interpreter implements [`Engine`], the scheduler names only this.

use crate::bif::{BifResult, DirtyKind};
use crate::code::Function;
use crate::ctx::Ctx;
use crate::vm::Vm;
use crate::{OwnerState, TraceFrame};
use myriad_code::Executor;
use myriad_process::CodePtr;

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

/// An executor of Erlang code.
pub trait Engine: Executor<Vm> + Send + Sync {
    /// Runs the process of `ctx` from its saved state ([`crate::OwnerState::resume`]) until the slice ends, and saves the state.
    fn run(&self, ctx: &mut Ctx<'_>) -> SliceEnd;

    /// Makes the one call of a built-in that the process stopped before with [`SliceEnd::Dirty`], on what the call has of the
    /// process (`dirty_call.rs`); the process resumes with the result as with that of a resumption.
    fn run_dirty(&self, ctx: &mut Ctx<'_>) -> BifResult;

    /// Does it know [`crate::Escape::Room`]?
    fn makes_room(&self) -> bool {
        false
    }

    /// Where a process is: its function first, then the return points, at most `depth` in all. The process is stopped, or in
    /// a built-in function.
    fn backtrace(&self, process: &OwnerState, depth: usize) -> Vec<TraceFrame>;

    /// Words on the stack below the first return point: the Y registers of the function that a process is in. As
    /// [`Engine::backtrace`].
    fn frame_words(&self, process: &OwnerState) -> usize {
        process.heap.stack_words()
    }

    /// The entry code of functions with a breakpoint ([`crate::code::Function::breakpoint`]); an engine without breakpoints decodes
    /// the function.
    fn breakpoint_stub(&self) -> CodePtr {
        self.undecoded_stub()
    }

    /// The entry that a function has without a breakpoint.
    fn entry_behind(&self, function: &Function) -> CodePtr {
        function.entry()
    }
}
