//! When a process runs: `in` and `out`, and what stands still with it.

use crate::{event, times};
use myriad_term::{Arena, Atom, Build, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::engine::SliceEnd;
use myriad_vm::tracer::flags;

const RUNNING: u32 = flags::RUNNING | flags::RUNNING_PROCS;

/// The function it is in, as `{Module, Function, Arity}`; 0 if that is not known.
fn place<'m>(ctx: &Ctx<'_>, mut memory: &'m Arena) -> TermRef<'m> {
    match ctx.current_function() {
        Some(mfa) => memory.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))]),
        None => Term::small(0),
    }
}

/// A slice begins: sends `in` if that is traced, and starts the clock of call times.
pub(crate) fn slice_begins(ctx: &mut Ctx<'_>) {
    times::slice_begins(ctx);
    if ctx.process.trace.wants(RUNNING) {
        tell(ctx, am::in_);
    }
}

/// A slice is over, and how.
pub(crate) fn slice_ends(ctx: &mut Ctx<'_>, end: SliceEnd) {
    if ctx.state.watched.stopwatch.is_some() {
        times::slice_ends(ctx);
    }
    if end != SliceEnd::Exited && ctx.process.trace.wants(RUNNING) {
        tell(ctx, am::out);
    }
}

fn tell(ctx: &mut Ctx<'_>, tag: Atom) {
    let memory = Arena::new();
    let place = place(ctx, &memory);
    event::about(ctx, RUNNING, tag, &[place]);
}
