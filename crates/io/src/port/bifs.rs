//! The port functions of `erts_internal` and `erlang`.
//!
//! Those of `erts_internal` give the reason of an error as a value; `erlang` raises it.

use super::driver::{Context, Driver};
use super::operations::{Answer, SLICE, reply, seen};
use super::{Command, Port, State as PortState, System, Task, Via, drivers, options, poll};
use crate::bytes::{Output, iodata};
use myriad_process::{Listing, Named, Payload};
use myriad_sched::microstate::{State, within};
use myriad_term::etf::{self, DecodeOptions, EncodeOptions};
use myriad_term::{Arena, Atom, Build, Pid, Port as PortId, Term, TermRef, am};
use myriad_trace::{life, profile};
use myriad_vm::bif::{BADARG, DirtyKind, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::tracer::flags;
use myriad_vm::{BifResult, Ctx, Signal, Vm};

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

/// The port that a term names, and the system, or nothing. It may be gone by its turn.
fn there(ctx: &Ctx<'_>, term: Term) -> Option<(&'static System, &'static Port)> {
    Some((System::of(ctx.vm)?, find(ctx, term).ok().flatten()?))
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
    let Some(of) = drivers::find(system, &target) else { return bad() };
    if of.open_blocks && !ctx.sched.dirty {
        return Err(Escape::Dirty(DirtyKind::Io));
    }
    let opened = match (of.open)(&target, &settings) {
        Ok(opened) => opened,
        Err(atom) => return reason(atom),
    };
    let os_pid = opened.os_pid;
    let Some(port) = system.create(of, opened, &settings, ctx.pid(), true) else { return reason(am::system_limit) };
    // Linked before anything can happen to the port: its exit signal counts only over a link.
    ctx.state.relations.link(port.id.term());
    port.trace_opening(system, ctx.pid());
    let acknowledged = port.lock().driver.acknowledges_start().then(|| ctx.sched.next_ref());
    if let Some(reference) = acknowledged {
        port.lock().common.rare.get_mut().opener = Some((ctx.pid(), reference));
    }
    let begun = port.begin_driver(system);
    port.trace_opened(system, ctx.pid(), begun.is_ok());
    if let Err(refused) = begun {
        ctx.state.relations.drop_link(port.id.term());
        return reason(refused);
    }
    life::link(ctx, port.id.term());
    if let Some(pid) = os_pid
        && poll::watch_program(system, port, pid).is_err()
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
    // `erlang` waits for the answer then.
    Ok(acknowledged.map_or(id.term(), |reference| ctx.reference(reference)))
}

/// Lets a port begin to work when dropped: when a signal with it has been handled, or will never be.
struct Begin {
    system: &'static System,
    port: PortId,
}

impl Drop for Begin {
    fn drop(&mut self) {
        let Some(port) = self.system.get(self.port) else { return };
        port.perform(self.system, None, Task::Untold, |system, port| {
            let mut state = port.lock();
            if state.common.is_open() {
                port.call_driver(system, &mut state, |driver, context| driver.start(context));
            }
        });
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
    let data = Output::of(args[1], port.apart());
    ctx.bump(data.as_ref().map_or(0, |data| data.len() / 256) + 50);
    let sender = ctx.pid();
    if !port.begin_for(ctx, system, Task::Named(am::command)) {
        if !force && nosuspend && port.backlog.is_full() {
            return reason(am::false_);
        }
        if !force && !nosuspend && port.retry_if_full(system, sender) {
            ctx.wait_at_busy_port(true);
            return Err(Escape::Wait);
        }
        let reference = ctx.sched.next_ref();
        let via = Via::Call { force, nosuspend, reference: Some(reference) };
        port.leave_command(system, Command { sender, data, via });
        return Ok(ctx.reference(reference));
    }
    let command = Command { sender, data, via: Via::Call { force, nosuspend, reference: None } };
    let work = port.works(system);
    let mut state = port.lock();
    let answer = if command.waits(&state.common) {
        port.retry_when_free(system, &mut state.common, sender);
        ctx.wait_at_busy_port(true);
        Err(Escape::Wait)
    } else {
        reason(command.send(port, system, &mut state))
    };
    drop((state, work));
    ctx.bump(port.take_slice(SLICE) as usize);
    port.end_for(ctx, system);
    answer
}

fn port_control_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(operation) = args[1].as_small().and_then(|n| u32::try_from(n).ok()) else { return bad() };
    let Some(data) = iodata(args[2]) else { return bad() };
    ctx.bump(100);
    let Some((system, port)) = there(ctx, args[0]) else { return bad() };
    port.ask(ctx, system, Task::Named(am::control), move |system, port, caller| {
        asked(system, port, |driver, context| {
            let tag = driver.has_control().then_some(am::control);
            let answer = traced(context, caller, tag, (operation, &data), |context| {
                driver.control(context, caller, operation, &data)
            })?;
            Some(Controlled { answer, is_binary: driver.answers_in_binaries() })
        })
    })
}

/// The bytes of an answer of `port_control/3`.
struct Controlled {
    answer: Vec<u8>,
    is_binary: bool,
}

/// A list of bytes or a binary, or `badarg`.
impl Answer for Option<Controlled> {
    fn build<'h, B: Build<'h>>(self, memory: &mut B) -> TermRef<'h> {
        match self {
            Some(Controlled { answer, is_binary: true }) => memory.binary(&answer),
            Some(Controlled { answer, .. }) => memory.byte_list(&answer, Term::NIL),
            None => am::badarg.term(),
        }
    }

    fn words(&self) -> usize {
        self.as_ref().map_or(0, |controlled| 2 * controlled.answer.len())
    }
}

fn port_call_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(operation) = args[1].as_small().and_then(|n| u32::try_from(n).ok()) else { return bad() };
    let Some((system, port)) = there(ctx, args[0]) else { return bad() };
    let data = etf::encode(args[2], EncodeOptions::default());
    ctx.bump(100);
    port.ask(ctx, system, Task::Named(am::call), move |system, port, caller| {
        Encoded(asked(system, port, |driver, context| {
            let tag = driver.has_call().then_some(am::call);
            traced(context, caller, tag, (operation, &data), |context| driver.call(context, caller, operation, &data))
        }))
    })
}

/// A term in the external format, in `{ok, Term}`, or `badarg`.
struct Encoded(Option<Vec<u8>>);

impl Answer for Encoded {
    fn build<'h, B: Build<'h>>(self, memory: &mut B) -> TermRef<'h> {
        let term = self.0.and_then(|bytes| etf::decode(memory, &bytes, DecodeOptions::default()).ok());
        term.map_or(am::badarg.term(), |decoded| memory.tuple(&[Term::OK, decoded.term]))
    }

    fn words(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::len)
    }
}

/// Asks the driver of a port for an answer; nothing if the port is not open, or the driver has no answer.
fn asked<T>(
    system: &'static System,
    port: &Port,
    ask: impl FnOnce(&mut dyn Driver, &mut Context<'_>) -> Option<T>,
) -> Option<T> {
    let _work = port.works(system);
    let mut state = port.lock();
    if state.common.is_open() { port.call_driver(system, &mut state, ask) } else { None }
}

/// Has the driver do what a process asks for by `port_control/3` or `port_call/3`, and tells of request and answer, if they have a name.
fn traced(
    context: &mut Context<'_>,
    caller: Pid,
    name: Option<Atom>,
    (operation, data): (u32, &[u8]),
    work: impl FnOnce(&mut Context<'_>) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let Some(name) = name else { return work(context) };
    let (port, system) = (context.port, context.system);
    port.trace_received(system, caller, |memory| {
        let data = memory.binary(data);
        let request = memory.tuple(&[Term::small(i64::from(operation)), data]);
        memory.tuple(&[name.term(), request])
    });
    let answer = work(context)?;
    // A call's answer that is no term is none.
    let is_answer = || name != am::call || etf::decode(&mut &Arena::new(), &answer, DecodeOptions::default()).is_ok();
    if port.trace.wants(flags::SEND) && is_answer() {
        port.trace_sent(system, caller, |memory| {
            let data = memory.binary(&answer);
            let answer = memory.tuple(&[name.term(), data]);
            memory.tuple(&[port.id.term(), answer])
        });
    }
    Some(answer)
}

fn port_close_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((system, port)) = there(ctx, args[0]) else { return bad() };
    if !ctx.sched.dirty && port.lock().driver.stop_waits() {
        return Err(Escape::Dirty(DirtyKind::Io));
    }
    port.ask(ctx, system, Task::Named(am::close), |system, port, caller| {
        let _work = port.works(system);
        let mut state = port.lock();
        if port.driver.of_system || !state.common.is_open() {
            return am::badarg.term();
        }
        port.trace_received(system, caller, |_| am::close.term());
        port.exit(system, &mut state, Term::atom(am::normal), true);
        Term::TRUE
    })
}

fn port_connect_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some((system, port)), Some(pid)) = (there(ctx, args[0]), args[1].as_local_pid()) else { return bad() };
    port.ask(ctx, system, Task::Named(am::connect), move |system, port, caller| {
        if !port.lock().common.is_open() {
            return am::badarg.term();
        }
        if !port.connect(system, caller, pid, true) {
            return am::badarg.term();
        }
        // It is told as sent, and is not: the call's answer says so.
        port.trace_sent(system, caller, |memory| memory.tuple(&[port.id.term(), am::connected.term()]));
        Term::TRUE
    })
}

fn port_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    info(ctx, args[0], None)
}

fn port_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(item) = args[1].as_atom() else { return bad() };
    info(ctx, args[0], Some(item))
}

/// What `port_info/1,2` says: all, or one item. A port that is closing is there until its output is written.
fn info(ctx: &mut Ctx<'_>, port: Term, item: Option<Atom>) -> BifResult {
    let Ok(port) = find(ctx, port) else { return bad() };
    let (Some(system), Some(port)) = (System::of(ctx.vm), port) else { return Ok(Term::UNDEFINED) };
    if port.begin_for(ctx, system, Task::Named(am::info)) {
        let vm = ctx.vm;
        let info = seen(port, |state| told(port, ctx, vm, state, item)).unwrap_or(Term::UNDEFINED);
        port.end_for(ctx, system);
        return Ok(info);
    }
    let (caller, reference) = (ctx.pid(), ctx.sched.next_ref());
    let operation = move |system: &'static System, port: &Port| {
        let words = seen(port, |state| {
            let watchers = state.common.rare.get().map_or(0, |rare| rare.watchers.len());
            2 * (state.common.links.len() + watchers + port.name.len())
        });
        reply(system, caller, reference, words.unwrap_or(0) + 64, |draft| {
            seen(port, |state| told(port, draft, system.vm, state, item)).unwrap_or(Term::UNDEFINED)
        });
    };
    port.leave(system, Some(caller), operation);
    Ok(ctx.reference(reference))
}

fn told<'h, B: Build<'h>>(port: &Port, memory: &mut B, vm: &Vm, state: &PortState, item: Option<Atom>) -> TermRef<'h> {
    match item {
        None => port.all_info(memory, vm, state),
        Some(item) => port.info(memory, vm, state, item).unwrap_or(am::badarg.term()),
    }
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
    let Ok(Some(port)) = find(ctx, args[0]) else { return badarg() };
    let state = port.lock();
    if !state.common.is_open() {
        return badarg();
    }
    let Some(data) = &state.common.data else { return Ok(Term::UNDEFINED) };
    // As `inet` has it: the name of a module.
    if let Some(immediate) = data.term().as_immediate() {
        return Ok(immediate);
    }
    let data = Payload::copy(data.term());
    drop(state);
    Ok(data.attach(&mut ctx.state.heap))
}
