//! The life of processes: made, linked, named, ended; and what new and linked ones inherit.

use crate::Tracing;
use crate::event;
use myriad_term::{Arena, Build, Mfa, Term, am};
use myriad_vm::Ctx;
use myriad_vm::Process;
use myriad_vm::tracer::flags;

const INHERIT_ON_SPAWN: u32 = flags::SET_ON_SPAWN | flags::SET_ON_FIRST_SPAWN;
const INHERIT_ON_LINK: u32 = flags::SET_ON_LINK | flags::SET_ON_FIRST_LINK;

/// A process that the running one has made, and no other thread knows yet, gets its flags; `linked` if it is linked to this one.
#[cold]
fn inherit(ctx: &mut Ctx<'_>, child: &Process, linked: bool) {
    let vm = ctx.vm;
    let guard = Tracing::of(vm).lock();
    let alive = ctx.process.trace.tracer().is_some_and(|tracer| event::goes_on(vm, tracer, ctx.pid().term()));
    let own = if alive { ctx.process.trace.flags() } else { 0 };
    let new = Tracing::of(vm).new_processes();
    let (mut flags, mut tracer) = (new.flags(), new.tracer());
    let mut left = own;
    for (asked, first, all) in
        [(true, flags::SET_ON_FIRST_SPAWN, INHERIT_ON_SPAWN), (linked, flags::SET_ON_FIRST_LINK, INHERIT_ON_LINK)]
    {
        if asked && own & all != 0 {
            flags |= own & flags::EVERY;
            tracer = ctx.process.trace.tracer();
            if own & first != 0 {
                flags &= !all;
                left &= !all;
            }
        }
    }
    if left != own {
        ctx.process.trace.set(left, ctx.process.trace.tracer());
    }
    child.trace.set(flags, tracer);
    drop(guard);
}

/// A process has been made, which no other thread knows yet and which calls `mfa` with `args`.
pub(crate) fn spawned(ctx: &mut Ctx<'_>, child: &Process, mfa: Mfa, args: &[Term], linked: bool) {
    inherit(ctx, child, linked);
    let (own, new) = (ctx.pid().term(), child.pid.term());
    let mut memory = &Arena::new();
    // The messages copy the arguments.
    let list = memory.list(args);
    let call = memory.tuple(&[mfa.module.term(), mfa.function.term(), list]);
    event::about(ctx, flags::PROCS, am::spawn, &[new, call]);
    if linked {
        event::about(ctx, flags::PROCS, am::link, &[new]);
    }
    let scheduler = ctx.scheduler_number();
    event::about_process(ctx.vm, child, scheduler, flags::PROCS, am::spawned, &[own, call]);
    if linked {
        event::about_process(ctx.vm, child, scheduler, flags::PROCS, am::getting_linked, &[own]);
    }
}

/// The process links itself to another.
#[inline]
pub fn link(ctx: &mut Ctx<'_>, other: Term) {
    if ctx.process.trace.flags() == 0 {
        return;
    }
    event::about(ctx, flags::PROCS, am::link, &[other]);
    if ctx.process.trace.wants(INHERIT_ON_LINK)
        && let Some(process) = other.as_local_pid().and_then(|pid| ctx.vm.processes.get(pid))
    {
        pass_on(ctx, process);
    }
}

#[cold]
fn pass_on(ctx: &mut Ctx<'_>, process: &Process) {
    let guard = Tracing::of(ctx.vm).lock();
    let (own, tracer) = (ctx.process.trace.flags(), ctx.process.trace.tracer());
    let mut flags = process.trace.flags() | own & flags::EVERY;
    if own & flags::SET_ON_FIRST_LINK != 0 {
        flags &= !INHERIT_ON_LINK;
        ctx.process.trace.set(own & !INHERIT_ON_LINK, tracer);
    }
    if process.trace.tracer().is_none() || process.trace.tracer() == tracer {
        process.trace.set(flags, tracer);
    }
    drop(guard);
}
