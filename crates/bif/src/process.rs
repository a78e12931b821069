//! Processes: making, linking, monitoring, ending, naming them; their flags and dictionaries.

mod dictionary;
mod flags;
mod info;
mod monitor;
mod names;
mod spawn;
#[cfg(test)]
mod tests;

use myriad_process::{Message, Named, Payload};
use myriad_sync::atomic::Ordering;
use myriad_term::{Term, am};
use myriad_trace::life;
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::listing::{IDS_A_REDUCTION, SLOTS_A_REDUCTION};
use myriad_vm::send::Sent;
use myriad_vm::tracer::flags::PROCS;
use myriad_vm::{BifResult, Ctx, Listing, Signal};

pub use dictionary::DICTIONARY;
pub use flags::{FLAGS, INTERNAL_FLAGS};
pub(crate) use flags::{heap_size, max_heap_size, setting};
pub use info::{INFO, INTERNAL_INFO};
pub use monitor::MONITORS;
pub use names::NAMES;
pub use spawn::{INTERNAL_SPAWN, SPAWN};

myriad_vm::bifs! { pub PROCESSES = "erlang" {
    "self" / 0 Guard => |ctx, _| Ok(ctx.pid().term());
    "make_ref" / 0 Plain => |ctx, _| Ok(ctx.make_ref());
    "send" / 2 Plain => send_2;
    "!" / 2 Plain => send_2;
    "send" / 3 Plain => send_3;
    "link" / 1 Plain => link_1;
    "unlink" / 1 Plain => unlink_1;
    "exit" / 1 Plain => |_, a| Err(Escape::Exit(a[0]));
    "exit" / 2 Plain => exit_2;
    "exit_signal" / 2 Plain => exit_2;
    "throw" / 1 Plain => |_, a| Err(Escape::Throw(a[0]));
    "is_process_alive" / 1 Plain => is_process_alive_1;
    "processes" / 0 Plain => processes_0;
    "bump_reductions" / 1 Plain => bump_reductions_1;
    "resume_process" / 1 Plain => resume_process_1;
}}

myriad_vm::bifs! { pub INTERNAL = "erts_internal" {
    "is_process_alive" / 2 Plain => internal_is_process_alive_2;
    "is_system_process" / 1 Plain => is_system_process_1;
    "is_process_executing_dirty" / 1 Plain => |_, a| if a[0].is_pid() { Ok(Term::FALSE) } else { badarg() };
    "dirty_process_handle_signals" / 1 Plain => |_, a| if a[0].is_pid() { Ok(Term::atom(am::normal)) } else { badarg() };
    "suspend_process" / 2 Plain => suspend_process_2;
    "group_leader" / 2 Plain => group_leader_2;
    "group_leader" / 3 Plain => group_leader_3;
    "request_system_task" / 3 Plain => |ctx, a| request_system_task(ctx, ctx.pid().term(), a[0], a[1], a[2]);
    "request_system_task" / 4 Plain => |ctx, a| request_system_task(ctx, a[0], a[1], a[2], a[3]);
}}

myriad_vm::bifs! { pub GROUP_LEADER = "erlang" {
    "group_leader" / 0 Plain => |ctx, _| Ok(ctx.state.group_leader);
}}

fn send_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    ctx.send_or_wait(args[0], args[1])?;
    if args[0].as_local_pid().is_none() && ctx.exhausted() {
        return give_way(ctx, args[1]);
    }
    Ok(args[1])
}

/// A port may have used up the slice of its sender, who may send on and on without a call at which slices end.
#[cold]
fn give_way(ctx: &mut Ctx<'_>, message: Term) -> BifResult {
    ctx.yield_to(Box::new(move |_| Ok(message)))
}

fn send_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut no_connect, mut no_suspend) = (false, false);
    let mut rest = args[2].list_iter();
    for option in rest.by_ref() {
        match option.as_atom() {
            Some(am::noconnect) => no_connect = true,
            Some(am::nosuspend) => no_suspend = true,
            _ => return bad_option(ctx),
        }
    }
    if !rest.tail().is_nil() {
        return bad_option(ctx);
    }
    if no_suspend && is_busy_port(ctx, args[0]) {
        return Ok(Term::atom(am::nosuspend));
    }
    let sent = if no_suspend { ctx.send(args[0], args[1]) } else { ctx.send_or_wait(args[0], args[1]) };
    Ok(match sent? {
        Sent::NoConnection if no_connect => Term::atom(am::noconnect),
        _ => Term::OK,
    })
}

/// `badarg`, for the sake of the options.
#[cold]
fn bad_option(ctx: &mut Ctx<'_>) -> BifResult {
    ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt))
}

/// A port, or the name of one, that would make a sender wait?
fn is_busy_port(ctx: &Ctx<'_>, to: Term) -> bool {
    let named = || match ctx.vm.names.whereis(to.as_atom()?) {
        Some(Named::Port(port)) => Some(port),
        _ => None,
    };
    let port = to.as_local_port().or_else(named);
    port.zip(ctx.vm.ports()).is_some_and(|(port, ports)| ports.is_busy(ctx.vm, port))
}

fn link_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let other = args[0];
    if let Some(pid) = other.as_local_pid() {
        if pid == ctx.pid() {
            return Ok(Term::TRUE);
        }
        life::link(ctx, other);
        if !ctx.state.relations.link(other) {
            return Ok(Term::TRUE);
        }
        if !ctx.signal_to(pid, Signal::Link(ctx.pid())) {
            link_to_nobody(ctx, other, am::noproc)?;
        }
        return Ok(Term::TRUE);
    }
    if let Some(port) = other.as_local_port() {
        life::link(ctx, other);
        if ctx.state.relations.link(other) {
            match ctx.vm.ports() {
                Some(ports) => ports.signal(ctx.vm, port, Signal::Link(ctx.pid())),
                None => link_to_nobody(ctx, other, am::noproc)?,
            }
        }
        return Ok(Term::TRUE);
    }
    if other.is_pid() {
        let reason = if monitor::is_earlier(ctx, other) { am::noproc } else { am::noconnection };
        let reason = Payload::immediate(reason.term());
        ctx.signal_to(ctx.pid(), Signal::Exit { from: other, reason, linked: false });
        return Ok(Term::TRUE);
    }
    badarg()
}

/// The other end is gone: `error:noproc` unless the caller traps exits, then the exit message.
fn link_to_nobody(ctx: &mut Ctx<'_>, other: Term, reason: myriad_term::Atom) -> Result<(), Escape> {
    if ctx.state.flags.trap_exit {
        let reason = Payload::immediate(reason.term());
        // Not over a link: there never was one.
        ctx.state.relations.drop_link(other);
        ctx.signal_to(ctx.pid(), Signal::Exit { from: other, reason, linked: false });
        return Ok(());
    }
    ctx.state.relations.drop_link(other);
    Err(Escape::Error(reason.term()))
}

fn unlink_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let other = args[0];
    if !other.is_pid() && !other.is_port() {
        return badarg();
    }
    // Exit signals that came before take effect before.
    ctx.settle_signals()?;
    ctx.trace(PROCS, am::unlink, &[other]);
    if let Some(id) = ctx.state.relations.unlink(other) {
        let unlink = Signal::Unlink { from: ctx.pid(), id };
        match other.as_local_pid() {
            Some(pid) if !ctx.signal_to(pid, unlink) => ctx.state.relations.unlink_acknowledged(other, id),
            Some(_) => {}
            None => ctx.vm.signal_term(other, Signal::Unlink { from: ctx.pid(), id }),
        }
    }
    Ok(Term::TRUE)
}

fn exit_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [to, reason] = [args[0], args[1]];
    if !to.is_pid() && !to.is_port() {
        return badarg();
    }
    // When it is run again it has been sent.
    if ctx.state.retry_state.is_none() {
        let signal = ctx.exit_signal_to(to, reason, false);
        ctx.vm.signal_term(to, signal);
    }
    // An exit signal to oneself takes effect before the call returns.
    if to == ctx.pid().term() {
        ctx.settle_signals()?;
    }
    Ok(Term::TRUE)
}

fn is_process_alive_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pid) = args[0].as_local_pid() else { return badarg() };
    if pid == ctx.pid() {
        return Ok(Term::TRUE);
    }
    let reference = ctx.make_ref();
    ask_alive(ctx, pid, reference)?;
    await_result(ctx, reference)
}

fn internal_is_process_alive_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pid) = args[0].as_local_pid() else { return badarg() };
    ask_alive(ctx, pid, args[1])?;
    Ok(Term::OK)
}

fn ask_alive(ctx: &mut Ctx<'_>, pid: myriad_term::Pid, reference: Term) -> Result<(), Escape> {
    use myriad_term::Build;
    let Some(numbers) = reference.as_local_ref() else { return badarg() };
    if !ctx.ask(pid, Signal::IsAlive { from: ctx.pid(), reference: numbers }) {
        let answer = ctx.tuple(&[reference, Term::FALSE]);
        ctx.signal_to(ctx.pid(), Signal::Message(Message::new(Payload::copy(answer), Term::NONE)));
    }
    Ok(())
}

/// Waits in Erlang code for `{Reference, Result}`, and gives `Result`.
pub(crate) fn await_result(ctx: &mut Ctx<'_>, reference: Term) -> BifResult {
    use myriad_term::{Export, Mfa};
    let mfa = Mfa { module: am::erts_internal, function: am::await_result, arity: 1 };
    ctx.trap(Export::intern(mfa), &[reference])
}

fn processes_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    ctx.list_all(Listing::of(&ctx.vm.processes))
}

/// What OTP says of its `processes/0`, for the one here: `{ptab_list_bif_info, LeastReductions, Chunks, ChunkSize, SlotsAReduction,
/// ReductionsAFreed, DepartedAReduction, ReductionsForDeparted, PidsAReduction, DebugLevel}`. It begins with any number of
/// reductions, and processes that end during the listing cost no more than others.
pub(crate) fn processes_bif_info(ctx: &mut Ctx<'_>) -> Term {
    use myriad_term::Build;
    let chunks = ctx.vm.processes.limit().div_ceil(Listing::CHUNK);
    let figures = [0, chunks, Listing::CHUNK, SLOTS_A_REDUCTION, 0, IDS_A_REDUCTION, 0, IDS_A_REDUCTION, 0];
    let mut info = vec![Term::atom(am::ptab_list_bif_info)];
    info.extend(figures.map(|n| Term::small(n as i64)));
    ctx.tuple(&info)
}

fn bump_reductions_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_small() {
        // OTP's small integers have 60 bits.
        Some(n @ 0..0x0800_0000_0000_0000) => {
            // No more than the slice has left: `prim_eval` asks for 2^27 to give way.
            let left = ctx.state.reductions.to_spend();
            ctx.bump(usize::try_from(n).map_or(left, |n| n.min(left)));
            Ok(Term::TRUE)
        }
        _ => badarg(),
    }
}

fn is_system_process_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_local_pid() {
        Some(pid) => Ok(Term::bool(ctx.vm.processes.get(pid).is_some_and(|p| p.system))),
        None if args[0].is_pid() => Ok(Term::FALSE),
        None => badarg(),
    }
}

/// `true`, `false`, an error atom, or a reference whose message `{Ref, Result}` the Erlang caller awaits.
fn suspend_process_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    use myriad_term::Build;
    let (mut unless_suspending, mut asynchronous, mut async_tag) = (false, false, Term::NONE);
    let mut options = args[1].list_iter();
    for option in options.by_ref() {
        match (option.as_atom(), option.as_tuple_of::<2>()) {
            (Some(am::unless_suspending), _) => unless_suspending = true,
            (Some(am::asynchronous), _) => asynchronous = true,
            (_, Some([key, tag])) if key.is_am(am::asynchronous) => (asynchronous, async_tag) = (true, tag),
            _ => return Ok(Term::atom(am::badopt)),
        }
    }
    if !options.tail().is_nil() {
        return Ok(Term::atom(am::badopt));
    }
    let Some(pid) = args[0].as_local_pid().filter(|p| *p != ctx.pid()) else { return Ok(Term::atom(am::badarg)) };
    if ctx.vm.processes.get(pid).is_none() {
        return suspended_nobody(ctx, asynchronous, async_tag, am::badarg);
    }
    let suspension = ctx.state.relations.tables().suspending.entry(pid).or_default();
    let active = suspension.active.clone();
    if unless_suspending && suspension.times > 0 {
        // Relaxed: it was set before the message that said so.
        if asynchronous || active.load(Ordering::Relaxed) {
            return Ok(Term::FALSE);
        }
        // The other has not seen the suspension yet; it has when it answers one that is taken back at once.
        let reference = ctx.make_ref();
        let message = ctx.tuple(&[reference, Term::FALSE]);
        let reply = ctx.tuple(&[ctx.pid().term(), message]);
        if !ctx.signal_to(pid, Signal::Suspend { active, reply: Some(Payload::copy(reply)) }) {
            return Ok(Term::FALSE);
        }
        ctx.signal_to(pid, Signal::Resume(ctx.pid()));
        return Ok(reference);
    }
    suspension.times += 1;
    if asynchronous && async_tag.is_none() {
        ctx.signal_to(pid, Signal::Suspend { active, reply: None });
        return Ok(Term::TRUE);
    }
    let (tag, result) = if asynchronous { (async_tag, am::suspended) } else { (ctx.make_ref(), am::true_) };
    let message = ctx.tuple(&[tag, result.term()]);
    let reply = ctx.tuple(&[ctx.pid().term(), message]);
    if !ctx.signal_to(pid, Signal::Suspend { active, reply: Some(Payload::copy(reply)) }) {
        // It has ended since it was looked up, so no answer will come.
        ctx.state.relations.tables().suspending.remove(&pid);
        return suspended_nobody(ctx, asynchronous, async_tag, am::exited);
    }
    Ok(if asynchronous { Term::TRUE } else { tag })
}

/// What `suspend_process/2` gives for a process that is not there, for this reason.
fn suspended_nobody(ctx: &mut Ctx<'_>, asynchronous: bool, tag: Term, reason: myriad_term::Atom) -> BifResult {
    use myriad_term::Build;
    if tag.is_some() {
        let message = ctx.tuple(&[tag, reason.term()]);
        ctx.signal_to(ctx.pid(), Signal::Message(Message::new(Payload::copy(message), Term::NONE)));
        return Ok(Term::TRUE);
    }
    Ok(if asynchronous { Term::TRUE } else { reason.term() })
}

fn resume_process_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(pid) = args[0].as_local_pid() else { return badarg() };
    if !ctx.state.relations.get().is_some_and(|t| t.suspending.contains_key(&pid)) {
        return badarg();
    }
    let alive = ctx.signal_to(pid, Signal::Resume(ctx.pid()));
    let suspending = &mut ctx.state.relations.tables().suspending;
    if let Some(suspension) = suspending.get_mut(&pid).filter(|suspension| alive && suspension.times > 1) {
        suspension.times -= 1;
    } else {
        suspending.remove(&pid);
    }
    // The suspension of a process that has ended is over.
    if alive { Ok(Term::TRUE) } else { badarg() }
}

/// `true`, `badarg`, or `false`: then the Erlang caller asks again with a reference.
fn group_leader_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [leader, pid] = [args[0], args[1]];
    if !leader.is_pid() || !pid.is_pid() {
        return Ok(Term::atom(am::badarg));
    }
    if pid == ctx.pid().term() {
        ctx.state.group_leader = leader;
        return Ok(Term::TRUE);
    }
    Ok(Term::FALSE)
}

/// The process that gets the new leader answers the caller once it has it.
fn group_leader_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    use myriad_term::Build;
    let [leader, pid, reference] = [args[0], args[1], args[2]];
    let (Some(pid), Some(numbers)) = (pid.as_local_pid(), reference.as_local_ref()) else { return badarg() };
    let signal = Signal::GroupLeader { leader: Payload::copy(leader), from: ctx.pid(), reference: numbers };
    if !ctx.ask(pid, signal) {
        let message = ctx.tuple(&[reference, Term::atom(am::badarg)]);
        ctx.signal_to(ctx.pid(), Signal::Message(Message::new(Payload::copy(message), Term::NONE)));
    }
    Ok(Term::OK)
}

fn request_system_task(ctx: &mut Ctx<'_>, requester: Term, target: Term, urgency: Term, request: Term) -> BifResult {
    use myriad_term::Build;
    let (Some(from), Some(to)) = (requester.as_local_pid(), target.as_local_pid()) else { return badarg() };
    let Some(elements) = request.as_tuple().map(|t| t.elements()) else { return badarg() };
    let [kind, id, ..] = elements else { return badarg() };
    let urgency = match urgency.as_atom() {
        Some(am::inherit) => Some(ctx.process.priority()),
        _ => flags::priority(urgency),
    };
    let Some(urgency) = urgency else { return badarg() };
    if !ctx.vm.signal_urgently(to, Signal::Task { from, request: Payload::copy(request), priority: urgency }, urgency) {
        let result = match kind.as_atom() {
            Some(am::garbage_collect | am::check_process_code) => Term::FALSE,
            _ => Term::atom(am::noproc),
        };
        let message = ctx.tuple(&[*kind, *id, result]);
        ctx.signal_to(from, Signal::Message(Message::new(Payload::copy(message), Term::NONE)));
    }
    Ok(Term::OK)
}
