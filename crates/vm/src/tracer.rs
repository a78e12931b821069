//! What the VM tells its tracer, and the words that it tests before it does.
//!
//! | module | holds |
//! | --- | --- |
//! | [`flags`] | the trace flags of a process or port, stated once |
//! | [`switches`] | the word that says what of the whole VM is watched |
//! | [`watched`] | what is counted and measured of one process |
//! | [`events`] | what the [`Tracer`] is told of |
//! | `points` | the trace points: a test of one of these words, then a call of the [`Tracer`] |
//!
//! Crate `trace` implements [`Tracer`]. The trace points on calls of functions are not here: a breakpoint is an entry of its own,
//! which the engine runs ([`crate::code::Function::breakpoint`]).
//!
//! TR1. The VM calls the tracer only behind a test of a word that is at hand anyhow: the flags of the process
//!      ([`Process::trace`](crate::Process)), the VM's [`Switches`](switches::Switches), the process's own token. A VM in which nothing
//!      is traced pays for those tests alone.

pub mod events;
pub mod flags;
mod points;
pub mod switches;
pub mod watched;

pub use crate::upcalls::Tracer;
pub use events::{Activity, Collection, ReplyDelivery, SpawnMessages};

use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::vm::Vm;
use crate::{OwnerState, Process};
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Mfa, Pid, Term, TermRef};

/// The tracer of a VM in which nothing can be traced: for tests.
pub struct NoTracer;

impl Tracer for NoTracer {
    fn event(&self, _: &mut Ctx<'_>, _: u32, _: Atom, _: &[TermRef<'_>]) {}
    fn sends(&self, _: &mut Ctx<'_>, _: Term, _: Term) {}
    fn receives(&self, _: &mut Ctx<'_>, _: TermRef<'_>, _: &Message) {}
    fn spawns(&self, _: &mut Ctx<'_>, _: &Process, _: Mfa, _: &[Term], _: bool) {}
    fn saved_calls_end(&self, _: &mut Ctx<'_>) {}
    fn slice_begins(&self, _: &mut Ctx<'_>) {}
    fn slice_ends(&self, _: &mut Ctx<'_>, _: SliceEnd) {}
    fn slice_took(&self, _: &mut Ctx<'_>, _: u64, _: Option<Mfa>) {}
    fn collection_begins(&self, _: &mut Ctx<'_>, _: &Collection, _: usize) {}
    fn collection_ends(&self, _: &mut Ctx<'_>, _: &Collection) {}

    fn sends_with_token(&self, ctx: &mut Ctx<'_>, _: Term, _: Term, payload: Payload) -> Message {
        Message::new(payload, ctx.pid().term())
    }

    fn exits_with_token(&self, _: &mut Ctx<'_>, _: Term, _: Term) -> Option<Payload> {
        None
    }

    fn spawns_with_token(&self, _: &mut Ctx<'_>, _: &mut OwnerState, _: Pid, _: SpawnMessages<'_>) -> Option<Payload> {
        None
    }

    fn process_wakes(&self, _: &'static Vm, _: &Process) {}
    fn process_changes(&self, _: &mut Ctx<'_>, _: Activity) {}
    fn scheduler_changes(&self, _: &'static Vm, _: usize, _: bool, _: usize) {}

    fn is_profiler(&self, _: Pid) -> bool {
        false
    }
}
