//! What the VM tells its tracer, and the words that it tests before it does.
//!
//! | module | holds |
//! | --- | --- |
//! | [`flags`] | the trace flags of a process or port, stated once |
//! | [`switches`] | the word that says what of the whole VM is watched |
//! | [`watched`] | what is counted and measured of one process |
//! | `points` | the trace points: a test of one of these words, then a call of the [`Tracer`] |
//!
//! Crate `trace` implements [`Tracer`]. The trace points on calls of functions are not here: a breakpoint is an entry of its own,
//! which the engine runs ([`crate::code::Function::breakpoint`]).
//!
//! TR1. The VM calls the tracer only behind a test of a word that is at hand anyhow: the flags of the process
//!      ([`Process::trace`](crate::Process)), the VM's [`Switches`](switches::Switches), the process's own token. A VM in which nothing
//!      is traced pays for those tests alone.

pub mod flags;
mod points;
pub mod switches;
pub mod watched;

use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::vm::Vm;
use crate::{OwnerState, Process};
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Mfa, Pid, Term};
use std::any::Any;

/// A garbage collection that is traced or measured.
pub struct Collection {
    /// Are both generations collected?
    pub major: bool,
    /// Words of the heap in use before.
    pub words_before: usize,
    /// When it began, by the machine's clock.
    pub since_ns: u64,
}

/// How a process that is profiled has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// It can run again after all.
    Runnable,
    /// It waits.
    Inactive,
    /// It has ended.
    Ended,
}

/// How the reply to a spawn comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyDelivery {
    /// The spawn waits for it.
    AtOnce,
    /// It comes as a message, which the parent receives at some time.
    AsMessage,
    /// Not at all.
    Never,
}

/// A spawn by a process with a sequential trace token, seen as two messages.
#[derive(Clone, Copy)]
pub struct SpawnMessages {
    /// The message that the request is shown as.
    pub request: Term,
    /// The message that the reply is shown as.
    pub reply: Term,
    /// How the reply comes.
    pub delivery: ReplyDelivery,
}

/// What the VM tells of all that happens (TR1). The thread that runs a process, to which `ctx` belongs, tells what concerns it.
pub trait Tracer: Any + Send + Sync {
    /// The process wants this told for one of these flags: a message with `tag` and `parts`.
    fn event(&self, ctx: &mut Ctx<'_>, flags: u32, tag: Atom, parts: &[Term]);

    /// The process, which has the flag `send`, sends `message` to the pid, port, alias or name `to`.
    fn sends(&self, ctx: &mut Ctx<'_>, to: Term, message: Term);

    /// A message comes to the process, which has the flag `'receive'`; the sender is [`Term::NONE`] where it is not known.
    fn receives(&self, ctx: &mut Ctx<'_>, from: Term, message: &Message);

    /// The process has made `child`, which calls `call` with `args` and which no other thread knows yet.
    fn spawns(&self, ctx: &mut Ctx<'_>, child: &Process, call: Mfa, args: &[Term], linked: bool);

    /// The process, which saves its calls, ends.
    fn saved_calls_end(&self, ctx: &mut Ctx<'_>);

    /// A slice begins of a process that has flags or a stopwatch.
    fn slice_begins(&self, ctx: &mut Ctx<'_>);

    /// It is over.
    fn slice_ends(&self, ctx: &mut Ctx<'_>, end: SliceEnd);

    /// A slice that began in the function `from` has taken the time since then ([`switches::SLICES`]).
    fn slice_took(&self, ctx: &mut Ctx<'_>, since_ns: u64, from: Option<Mfa>);

    /// A collection begins, so that `need` words become free.
    fn collection_begins(&self, ctx: &mut Ctx<'_>, collection: &Collection, need: usize);

    /// It is over.
    fn collection_ends(&self, ctx: &mut Ctx<'_>, collection: &Collection);

    /// The process, which has a token, sends `message` to `to`: makes what is sent of `payload`, the copy, and the token.
    fn sends_with_token(&self, ctx: &mut Ctx<'_>, to: Term, message: Term, payload: Payload) -> Message;

    /// The process, which has a token, sends an exit signal to `to`; gives the token that goes along.
    fn exits_with_token(&self, ctx: &mut Ctx<'_>, to: Term, reason: Term) -> Option<Payload>;

    /// The process, which has a token, makes `new`, whose pid is `child`; gives the token of a reply that comes as a message.
    fn spawns_with_token(
        &self,
        ctx: &mut Ctx<'_>,
        new: &mut OwnerState,
        child: Pid,
        messages: SpawnMessages,
    ) -> Option<Payload>;

    /// A signal has made `process` runnable, and it is in no run queue yet, so that no thread runs it
    /// ([`switches::RUNNABLE_PROCESSES`]).
    fn process_wakes(&self, vm: &'static Vm, process: &Process);

    /// The process of `ctx` has changed so ([`switches::RUNNABLE_PROCESSES`]).
    fn process_changes(&self, ctx: &mut Ctx<'_>, activity: Activity);

    /// A scheduler wakes or goes to sleep; `awake` schedulers are awake then ([`switches::SCHEDULERS`]).
    fn scheduler_changes(&self, vm: &'static Vm, scheduler: usize, active: bool, awake: usize);

    /// Is this the process that gets the messages of `system_profile`? It gets none about its own running.
    fn is_profiler(&self, pid: Pid) -> bool;
}

/// The tracer of a VM in which nothing can be traced: for tests.
pub struct NoTracer;

impl Tracer for NoTracer {
    fn event(&self, _: &mut Ctx<'_>, _: u32, _: Atom, _: &[Term]) {}
    fn sends(&self, _: &mut Ctx<'_>, _: Term, _: Term) {}
    fn receives(&self, _: &mut Ctx<'_>, _: Term, _: &Message) {}
    fn spawns(&self, _: &mut Ctx<'_>, _: &Process, _: Mfa, _: &[Term], _: bool) {}
    fn saved_calls_end(&self, _: &mut Ctx<'_>) {}
    fn slice_begins(&self, _: &mut Ctx<'_>) {}
    fn slice_ends(&self, _: &mut Ctx<'_>, _: SliceEnd) {}
    fn slice_took(&self, _: &mut Ctx<'_>, _: u64, _: Option<Mfa>) {}
    fn collection_begins(&self, _: &mut Ctx<'_>, _: &Collection, _: usize) {}
    fn collection_ends(&self, _: &mut Ctx<'_>, _: &Collection) {}

    fn sends_with_token(&self, ctx: &mut Ctx<'_>, _: Term, _: Term, payload: Payload) -> Message {
        payload.message_from(ctx.pid())
    }

    fn exits_with_token(&self, _: &mut Ctx<'_>, _: Term, _: Term) -> Option<Payload> {
        None
    }

    fn spawns_with_token(&self, _: &mut Ctx<'_>, _: &mut OwnerState, _: Pid, _: SpawnMessages) -> Option<Payload> {
        None
    }

    fn process_wakes(&self, _: &'static Vm, _: &Process) {}
    fn process_changes(&self, _: &mut Ctx<'_>, _: Activity) {}
    fn scheduler_changes(&self, _: &'static Vm, _: usize, _: bool, _: usize) {}

    fn is_profiler(&self, _: Pid) -> bool {
        false
    }
}
