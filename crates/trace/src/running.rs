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
        tell(ctx, RUNNING, am::in_);
    }
}

/// A port does something in the process's place (`begins`), or has done it: with the flag `running_procs` this is told as if the process stood still.
#[inline]
pub fn stands_aside(ctx: &Ctx<'_>, begins: bool) {
    if ctx.process.trace.wants(flags::RUNNING_PROCS) {
        tell(ctx, flags::RUNNING_PROCS, if begins { am::out } else { am::in_ });
    }
}

/// A slice is over, and how.
pub(crate) fn slice_ends(ctx: &mut Ctx<'_>, end: SliceEnd) {
    if ctx.state.watched.stopwatch.is_some() {
        times::slice_ends(ctx);
    }
    if end != SliceEnd::Exited && ctx.process.trace.wants(RUNNING) {
        tell(ctx, RUNNING, am::out);
    }
}

#[cold]
fn tell(ctx: &Ctx<'_>, mask: u32, tag: Atom) {
    let memory = Arena::new();
    let place = place(ctx, &memory);
    event::about(ctx, mask, tag, &[place]);
}
