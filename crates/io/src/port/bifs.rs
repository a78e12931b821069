//! The port functions of `erts_internal` and `erlang`.
//!
//! Those of `erts_internal` give the reason of an error as a value; `erlang` raises it.

use super::driver::{Context, Driver};
use super::signals::output_of;
use super::{Port, State as PortState, System, Waiter, drivers, options, poll};
use crate::bytes::iodata;
use myriad_process::{Listing, Named, Payload};
use myriad_sched::microstate::{State, within};
use myriad_term::etf::{self, DecodeOptions, EncodeOptions};
use myriad_term::{Atom, Build, Pid, Port as PortId, Term, am};
use myriad_trace::{life, profile};
use myriad_vm::bif::{BADARG, DirtyKind, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx, Signal};

myriad_vm::bifs! { pub INTERNAL = "erts_internal" {
    "open_port" / 2 Plain => open_port;
    "port_command" / 3 Plain => port_command_3;
    "port_close" / 1 Plain => port_close_1;
    "port_connect" / 2 Plain => port_connect_2;
    "port_control" / 3 Plain => port_control_3;
    "port_call" / 3 Plain => port_call_3;
    "port_info" / 1 Plain => port_info_1;
    "port_info" / 2 Plain => port_info_2;
}}

myriad_vm::bifs! { pub ERLANG = "erlang" {
    "ports" / 0 Plain => ports_0;
    "port_set_data" / 2 Plain => port_set_data_2;
    "port_get_data" / 1 Plain => port_get_data_1;
}}

/// `badarg` as a value.
fn bad() -> BifResult {
    reason(am::badarg)
}

fn reason(atom: Atom) -> BifResult {
    Ok(atom.term())
}

/// The port that a term names: `Err` if it is no name or port, nothing if there is none.
fn find(ctx: &Ctx<'_>, term: Term) -> Result<Option<&'static Port>, Escape> {
    let id = match (term.as_local_port(), term.as_atom()) {
        (Some(id), _) => Some(id),
        (_, Some(name)) => match ctx.vm.names.whereis(name) {
            Some(Named::Port(id)) => Some(id),
            _ => None,
        },
        _ => return Err(BADARG),
    };
    Ok(id.and_then(|id| System::of(ctx.vm)?.get(id)))
}

/// The port and the system, or nothing.
fn open(ctx: &Ctx<'_>, term: Term) -> Option<(&'static System, &'static Port)> {
    let port = find(ctx, term).ok().flatten()?;
    let is_open = port.lock().common.is_open();
    System::of(ctx.vm).filter(|_| is_open).map(|s| (s, port))
}

/// A process that opens a port does not count as runnable until it is open (`system_profile`, `exclusive`).
fn open_port(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !ctx.sched.dirty {
        profile::port_call(ctx, true);
    }
    let port = within(State::Port);
    let result = open_port_2(ctx, args);
    drop(port);
    if !matches!(result, Err(Escape::Dirty(_) | Escape::Yield)) {
        profile::port_call(ctx, false);
    }
    result
}

fn open_port_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(system) = System::of(ctx.vm) else { return bad() };
    let Some(target) = options::target(args[0]) else { return bad() };
    let settings = match options::settings(args[1], &target, ctx.vm.config.flags.port_parallelism) {
        Ok(settings) => settings,
        Err(atom) => return reason(atom),
    };
    let Some(of) = drivers::find(&target) else { return bad() };
    if of.open_blocks && !ctx.sched.dirty {
        return Err(Escape::Dirty(DirtyKind::Io));
    }
    let opened = match (of.open)(&target, &settings) {
        Ok(opened) => opened,
        Err(atom) => return reason(atom),
    };
    let Some(port) = system.create(of, opened, &settings, ctx.pid(), true) else { return reason(am::system_limit) };
    // Linked before anything can happen to the port: its exit signal counts only over a link.
    ctx.state.relations.link(port.id.term());
    life::link(ctx, port.id.term());
    if let Some(pid) = port.os_pid
        && poll::watch_child(system, port.id, pid).is_err()
    {
        return Err(SYSTEM_LIMIT);
    }
    let id = port.id;
    let begin = Begin { system, port: id };
    if ctx.sched.dirty {
        // The caller shall be back, and linked, before a short program has ended: what it says to the port at once finds it
        // open. So the port begins when the caller waits or its time is over: then it takes its signals.
        let mut begin = Some(begin);
        return ctx.yield_to(Box::new(move |ctx| {
            let begin = begin.take();
            ctx.vm.signal_pid(ctx.pid(), Signal::Call(Box::new(move |_| drop(begin))));
            ctx.bump(500);
            profile::port_call(ctx, false);
            Ok(id.term())
        }));
    }
    drop(begin);
    ctx.bump(500);
    Ok(id.term())
}

/// Lets a port begin to work when dropped: when a signal with it has been handled, or will never be.
struct Begin {
    system: &'static System,
    port: PortId,
}

impl Drop for Begin {
    fn drop(&mut self) {
        let Some(port) = self.system.get(self.port) else { return };
        let mut state = port.lock();
        if state.common.is_open() {
            port.call_driver(self.system, &mut state, |driver, context| driver.start(context));
        }
    }
}

fn port_command_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    ctx.wait_at_busy_port(false);
    let (mut force, mut nosuspend) = (false, false);
    let mut items = args[2].list_iter();
    for item in items.by_ref() {
        match item.as_atom() {
            Some(am::force) => force = true,
            Some(am::nosuspend) => nosuspend = true,
            _ => return reason(am::badopt),
        }
    }
    if !items.tail().is_nil() {
        return reason(am::badopt);
    }
    let (Some(system), Ok(Some(port))) = (System::of(ctx.vm), find(ctx, args[0])) else { return bad() };
    let _work = port.works(system);
    let mut state = port.lock();
    if !state.common.is_open() {
        return bad();
    }
    if force && !port.driver.soft_busy {
        return reason(am::notsup);
    }
    if state.common.busy {
        if nosuspend {
            return Ok(Term::FALSE);
        }
        let waiter = Waiter::Retry(ctx.pid());
        if !state.common.waiters.contains(&waiter) {
            state.common.waiters.push(waiter);
        }
        ctx.wait_at_busy_port(true);
        return Err(Escape::Wait);
    }
    let Some(data) = output_of(args[1]) else { return bad() };
    ctx.bump(data.bytes().len() / 256 + 50);
    port.output(system, &mut state, ctx.pid(), data);
    Ok(Term::TRUE)
}

fn port_control_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(operation) = args[1].as_small().and_then(|n| u32::try_from(n).ok()) else { return bad() };
    let Some(data) = iodata(args[2]) else { return bad() };
    ctx.bump(100);
    let answer = asks(ctx, args[0], |driver, context, caller| driver.control(context, caller, operation, &data));
    answer.map_or_else(bad, |answer| Ok(ctx.byte_list(&answer, Term::NIL)))
}

fn port_call_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(operation) = args[1].as_small().and_then(|n| u32::try_from(n).ok()) else { return bad() };
    let data = etf::encode(args[2], EncodeOptions::default());
    ctx.bump(100);
    let answer = asks(ctx, args[0], |driver, context, caller| driver.call(context, caller, operation, &data));
    let answer = answer.and_then(|bytes| etf::decode(&mut ctx.state.heap, &bytes, DecodeOptions::default()).ok());
    answer.map_or_else(bad, |answer| Ok(answer.term))
}

/// Asks the driver of a port for an answer at once; nothing if there is no such port, or the driver has no answer.
fn asks(
    ctx: &Ctx<'_>,
    port: Term,
    ask: impl FnOnce(&mut dyn Driver, &mut Context<'_>, Pid) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let (system, port) = (System::of(ctx.vm)?, find(ctx, port).ok().flatten()?);
    let _work = port.works(system);
    let mut state = port.lock();
    if !state.common.is_open() {
        return None;
    }
    port.call_driver(system, &mut state, |driver, context| ask(driver, context, ctx.pid()))
}

fn port_close_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((system, port)) = open(ctx, args[0]) else { return bad() };
    let _work = port.works(system);
    let mut state = port.lock();
    if port.driver.of_system {
        return bad();
    }
    port.trace_command(system, ctx.pid(), |_| am::close.term());
    port.exit(system, &mut state, Term::atom(am::normal), true);
    Ok(Term::TRUE)
}

fn port_connect_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some((system, port)), Some(pid)) = (open(ctx, args[0]), args[1].as_local_pid()) else { return bad() };
    port.trace_command(system, ctx.pid(), |memory| memory.tuple(&[am::connect.term(), pid.term()]));
    if port.connect(system, pid) { Ok(Term::TRUE) } else { bad() }
}

fn port_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    looked_at(ctx, args[0], |ctx, port, state| Some(port.all_info(ctx, state)))
}

fn port_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(item) = args[1].as_atom() else { return bad() };
    looked_at(ctx, args[0], |ctx, port, state| port.info(ctx, state, item))
}

/// What `look` sees of a port; `undefined` if it is gone. One that is closing is there until its output is written.
fn looked_at(
    ctx: &mut Ctx<'_>,
    port: Term,
    look: impl FnOnce(&mut Ctx<'_>, &Port, &PortState) -> Option<Term>,
) -> BifResult {
    let Ok(port) = find(ctx, port) else { return bad() };
    let Some(port) = port else { return Ok(Term::UNDEFINED) };
    let state = port.lock();
    if state.common.is_gone() {
        return Ok(Term::UNDEFINED);
    }
    look(ctx, port, &state).map_or_else(bad, Ok)
}

fn ports_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let Some(system) = System::of(ctx.vm) else { return Ok(Term::NIL) };
    ctx.list_all(Listing::of(&system.table))
}

fn port_set_data_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((_, port)) = open(ctx, args[0]) else { return badarg() };
    port.lock().common.data = Some(Payload::whole(args[1]));
    Ok(Term::TRUE)
}

fn port_get_data_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((_, port)) = open(ctx, args[0]) else { return badarg() };
    let data = port.lock().common.data.as_ref().map(|d| Payload::copy(d.term()));
    Ok(data.map_or(Term::UNDEFINED, |d| d.attach(&mut ctx.state.heap)))
}
