//! `halt/2`.

use super::bad_option;
use crate::unicode::characters;
use myriad_observe::crash_dump;
use myriad_term::{Term, am};
use myriad_vm::bif::{DirtyKind, Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub HALT = "erlang" {
    "halt" / 2 Plain => halt_2;
}}

/// Characters of a slogan that are kept.
const SLOGAN_CHARACTERS: usize = 1023;
/// Exit status after a crash dump.
const CRASH_STATUS: i32 = 1;

/// With a status, `abort`, or a string that becomes the slogan of a crash dump. Option: `{flush, Boolean}`.
fn halt_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut flush = true;
    let mut options = args[1].list_iter();
    for option in options.by_ref() {
        match option.as_tuple_of::<2>() {
            Some([key, value]) if key.is_am(am::flush) => match value.as_bool() {
                Some(value) => flush = value,
                None => return bad_option(ctx),
            },
            _ => return bad_option(ctx),
        }
    }
    if !options.tail().is_nil() {
        return bad_option(ctx);
    }
    if args[0].is_am(am::abort) {
        // SAFETY: `signal` has no conditions for this one: the abort is wanted, so nothing is to report a broken invariant.
        unsafe { libc::signal(libc::SIGABRT, libc::SIG_DFL) };
        std::process::abort();
    }
    if args[0].is_list() {
        return match characters(args[0], SLOGAN_CHARACTERS) {
            Some(slogan) => crash(ctx, &slogan),
            None => badarg(),
        };
    }
    let Some(status) = args[0].as_usize() else { return badarg() };
    #[cfg(heap_check)]
    if !ctx.sched.dirty {
        return stop_counted(ctx, status, flush, LOOKS);
    }
    stop(ctx, status, flush)
}

/// Stops the VM; with what is under way done first, if so.
fn stop(ctx: &mut Ctx<'_>, status: usize, flush: bool) -> BifResult {
    if flush {
        if !ctx.sched.dirty && ctx.vm.config.dirty_io > 0 {
            return Err(Escape::Dirty(DirtyKind::Io));
        }
        ctx.vm.before_halt();
    }
    ctx.vm.stop((status & 0xff) as i32);
    // The process does nothing more: the VM stops.
    Err(Escape::Wait)
}

/// How often counts that are wrong are looked at again: for longer than a call on a dirty scheduler lasts in a test, whose thread meanwhile frees nothing of what it has had to keep for
/// thread progress, such as processes that have ended there.
#[cfg(heap_check)]
const LOOKS: u32 = 1000;

/// The same, after a census of bundles: none may be held by fewer or more than are counted.
#[cfg(heap_check)]
fn stop_counted(ctx: &mut Ctx<'_>, status: usize, flush: bool, looks: u32) -> BifResult {
    match myriad_observe::census::miscounts(ctx) {
        Some(miscounts) if miscounts.is_empty() => return stop(ctx, status, flush),
        Some(miscounts) => assert!(looks > 0, "heap/BU1: bundles have other counts than holders: {miscounts:?}"),
        // The world did not stand, however often that was tried.
        None if looks == 0 => return stop(ctx, status, flush),
        None => {}
    }
    myriad_sync::thread::sleep(std::time::Duration::from_millis(10));
    ctx.yield_to(Box::new(move |ctx| stop_counted(ctx, status, flush, looks - 1)))
}

fn crash(ctx: &mut Ctx<'_>, slogan: &str) -> BifResult {
    crash_dump::report(slogan, Some((ctx.process, ctx.state)), crash_dump::Haste::Orderly);
    ctx.vm.stop(CRASH_STATUS);
    Err(Escape::Wait)
}
