//! Timers: `start_timer`, `send_after`, reading and cancelling.

use myriad_process::{Message, Payload, TimerId};
use myriad_sched::Destination;
use myriad_sched::clock::{END_NS, START_NS};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::timer::Action;
use myriad_vm::{BifResult, Ctx, Signal};

myriad_vm::bifs! { pub TIMERS = "erlang" {
    "start_timer" / 3 Plain => |ctx, a| set(ctx, [a[0], a[1], a[2]], Term::NIL, true);
    "start_timer" / 4 Plain => |ctx, a| set(ctx, [a[0], a[1], a[2]], a[3], true);
    "send_after" / 3 Plain => |ctx, a| set(ctx, [a[0], a[1], a[2]], Term::NIL, false);
    "send_after" / 4 Plain => |ctx, a| set(ctx, [a[0], a[1], a[2]], a[3], false);
    "cancel_timer" / 1 Plain => |ctx, a| ask(ctx, a[0], Term::NIL, Question::Cancel);
    "cancel_timer" / 2 Plain => |ctx, a| ask(ctx, a[0], a[1], Question::Cancel);
    "read_timer" / 1 Plain => |ctx, a| ask(ctx, a[0], Term::NIL, Question::Read);
    "read_timer" / 2 Plain => |ctx, a| ask(ctx, a[0], a[1], Question::Read);
}}

const NS_PER_MS: i64 = 1_000_000;

/// The machine's time at which a timer set for `time` is due; none if the time is wrong, or none that monotonic time has.
fn due(ctx: &Ctx<'_>, time: Term, absolute: bool) -> Option<u64> {
    let clock = &ctx.vm.clock;
    let ns = time.as_small()?.checked_mul(NS_PER_MS)?;
    let monotonic = if absolute {
        ns
    } else if ns < 0 {
        return None;
    } else {
        clock.monotonic_ns(&*ctx.vm.platform).checked_add(ns)?
    };
    (START_NS..=END_NS).contains(&monotonic).then(|| clock.platform_ns(monotonic))
}

fn set(ctx: &mut Ctx<'_>, [time, to, message]: [Term; 3], options: Term, tagged: bool) -> BifResult {
    let mut absolute = false;
    let mut list = options.list_iter();
    for option in list.by_ref() {
        match option.as_tuple_of::<2>() {
            Some([key, value]) if key.is_am(am::abs) && value.as_bool().is_some() => absolute = value.is(Term::TRUE),
            _ => return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt)),
        }
    }
    if !list.tail().is_nil() {
        return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt));
    }
    let Some(at) = due(ctx, time, absolute) else {
        return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::time));
    };
    let destination = match (to.as_local_pid(), to.as_atom()) {
        (Some(pid), _) => Destination::Process(pid),
        (_, Some(name)) => Destination::Name(name),
        _ => return badarg(),
    };
    let id = ctx.vm.timers.reserve(ctx.sched.id);
    let reference = ctx.reference(id.reference());
    let message = if tagged { ctx.tuple(&[Term::atom(am::timeout), reference, message]) } else { message };
    let action = Action::Message(destination, ctx.whole_payload(message));
    ctx.vm.set_timer(id, at, action);
    Ok(reference)
}

#[derive(Clone, Copy, PartialEq)]
enum Question {
    Read,
    Cancel,
}

/// Milliseconds left, rounded up, or `false`.
fn left(ctx: &mut Ctx<'_>, reference: Term, question: Question) -> Term {
    let Some(id) = reference.as_local_ref().and_then(TimerId::of_reference) else { return Term::FALSE };
    let at = match question {
        Question::Cancel => ctx.vm.timers.cancel(id),
        Question::Read => ctx.vm.timers.read(id),
    };
    match at {
        Some(at) => {
            let ns = at.saturating_sub(ctx.vm.platform.now_ns());
            ctx.uint(ns.div_ceil(NS_PER_MS as u64))
        }
        None => Term::FALSE,
    }
}

fn ask(ctx: &mut Ctx<'_>, reference: Term, options: Term, question: Question) -> BifResult {
    let (mut asynchronous, mut info) = (false, true);
    let mut list = options.list_iter();
    for option in list.by_ref() {
        let Some([key, value]) = option.as_tuple_of::<2>() else { return bad_option(ctx) };
        match (key.as_atom(), value.as_bool()) {
            (Some(am::async_), Some(yes)) => asynchronous = yes,
            (Some(am::info), Some(yes)) if question == Question::Cancel => info = yes,
            _ => return bad_option(ctx),
        }
    }
    if !list.tail().is_nil() {
        return bad_option(ctx);
    }
    if !reference.is_reference() || reference.external_node().is_some() {
        return badarg();
    }
    let left = left(ctx, reference, question);
    if !asynchronous {
        return Ok(if info { left } else { Term::OK });
    }
    if info {
        let kind = if question == Question::Cancel { am::cancel_timer } else { am::read_timer };
        let answer = ctx.tuple(&[Term::atom(kind), reference, left]);
        ctx.signal_to(ctx.pid(), Signal::Message(Message::new(Payload::copy(answer), Term::NONE)));
    }
    Ok(Term::OK)
}

fn bad_option(ctx: &mut Ctx<'_>) -> Result<Term, Escape> {
    ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt))
}
