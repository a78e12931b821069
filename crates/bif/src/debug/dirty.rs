//! `erts_debug:dirty_cpu/2`, `dirty_io/2` and `dirty/3`: work on dirty schedulers for OTP's own tests to look at.

use myriad_process::{Message, Payload};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{DirtyKind, Escape, NOTSUP, badarg};
use myriad_vm::{BifResult, Ctx, Signal};
use std::time::{Duration, Instant};

/// How many copies `copy` makes.
const COPIES: usize = 1000;
/// How long `ready_wait6_done` waits.
const LONG_WAIT: Duration = Duration::from_secs(6);

/// How often `alive_waitexiting` looks, and how long it stays when its process has ended.
const LOOK: Duration = Duration::from_millis(100);
const AFTER_EXIT: Duration = Duration::from_secs(1);

/// The kind of scheduler that this runs on; `None`: a normal one.
fn kind_here(ctx: &Ctx<'_>) -> Option<DirtyKind> {
    let config = &ctx.vm.config;
    match ctx.sched.id {
        _ if !ctx.sched.dirty => None,
        id if id < config.schedulers => None,
        id if id < config.schedulers + config.dirty_cpu => Some(DirtyKind::Cpu),
        _ => Some(DirtyKind::Io),
    }
}

/// `dirty(Type, What, Argument)`: on a scheduler of this type.
pub(super) fn dirty_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let kind = match args[0].as_atom() {
        Some(am::normal) => return run(ctx, args[1], args[2]),
        Some(am::dirty_cpu) => DirtyKind::Cpu,
        Some(am::dirty_io) => DirtyKind::Io,
        _ => return badarg(),
    };
    // A call that has begun continues on the scheduler to which it has come.
    if kind_here(ctx).is_none() && ctx.state.retry_state.is_none() {
        return Err(Escape::Dirty(kind));
    }
    run(ctx, args[1], args[2])
}

/// Does it here.
pub(super) fn run(ctx: &mut Ctx<'_>, what: Term, argument: Term) -> BifResult {
    let here = kind_here(ctx);
    match what.as_atom() {
        Some(am::scheduler) if argument.is_am(am::type_) => Ok(Term::atom(match here {
            None => am::normal,
            Some(DirtyKind::Cpu) => am::dirty_cpu,
            Some(DirtyKind::Io) => am::dirty_io,
        })),
        Some(am::error) => match argument.as_atom() {
            Some(reason @ (am::notsup | am::undef | am::badarith | am::noproc | am::system_limit)) => {
                Err(Escape::Error(reason.term()))
            }
            _ => badarg(),
        },
        Some(am::copy) => {
            let mut list = Term::NIL;
            for _ in 0..COPIES {
                let copy = myriad_heap::copy_term(argument, &mut ctx.state.heap);
                list = ctx.cons(copy, list);
            }
            Ok(list)
        }
        Some(am::send) => tell(ctx, argument, am::ok.term()),
        Some(am::wait) => {
            let Some(ms) = argument.as_usize() else { return badarg() };
            wait(Duration::from_millis(ms as u64), here == Some(DirtyKind::Cpu));
            Ok(Term::OK)
        }
        Some(am::reschedule) => reschedule(ctx, argument, here),
        Some(am::ready_wait6_done) => {
            tell(ctx, argument, am::ready.term())?;
            wait(LONG_WAIT, false);
            tell(ctx, argument, am::done.term())
        }
        Some(am::alive_waitexiting) if here.is_none() => Err(NOTSUP),
        Some(am::alive_waitexiting) => {
            tell(ctx, argument, am::alive.term())?;
            while !ctx.process.is_exiting() {
                myriad_sync::thread::sleep(LOOK);
            }
            myriad_sync::thread::sleep(AFTER_EXIT);
            Ok(Term::OK)
        }
        _ => badarg(),
    }
}

/// Sends `{Tag, Self}`.
fn tell(ctx: &mut Ctx<'_>, to: Term, tag: Term) -> BifResult {
    let Some(pid) = to.as_local_pid() else { return badarg() };
    let own = ctx.pid().term();
    let message = ctx.tuple(&[tag, own]);
    ctx.vm.signal_pid(pid, Signal::Message(Message::new(Payload::copy(message), Term::NONE)));
    Ok(Term::OK)
}

/// Sleeps, or keeps the processor busy.
fn wait(time: Duration, busy: bool) {
    let begin = Instant::now();
    while busy && begin.elapsed() < time {
        myriad_sync::spin_hint();
    }
    myriad_sync::thread::sleep(time.saturating_sub(begin.elapsed()));
}

/// Comes back to a scheduler N / 2 times, every other time of the other kind.
fn reschedule(ctx: &mut Ctx<'_>, times: Term, here: Option<DirtyKind>) -> BifResult {
    let left = if ctx.state.retry_state.is_none() { times } else { ctx.state.retry_state };
    match left.as_usize() {
        Some(0) => {
            ctx.state.retry_state = Term::NONE;
            Ok(Term::OK)
        }
        Some(n) if n.is_multiple_of(2) => {
            ctx.state.retry_state = Term::small(n as i64 - 2);
            let other = match here {
                None | Some(DirtyKind::Io) => DirtyKind::Cpu,
                Some(DirtyKind::Cpu) => DirtyKind::Io,
            };
            Err(Escape::Dirty(if n.is_multiple_of(4) { other } else { here.unwrap_or(DirtyKind::Cpu) }))
        }
        _ => badarg(),
    }
}
