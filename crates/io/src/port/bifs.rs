//! The port functions of `erts_internal` and `erlang`.
//!
//! Those of `erts_internal` give the reason of an error as a value; `erlang` raises it.

use super::options::{self, Settings, Target};
use super::ram_file::RamFile;
use super::signals::output_of;
use super::stream::{Ends, Program, Stream};
use super::trace_file::TraceFile;
use super::tty::Terminal;
use super::udp::Udp;
use super::{Driver, New, Port, System, Waiter, poll, spawn};
use crate::bytes::iodata;
use crate::posix;
use myriad_process::{Named, Payload};
use myriad_sched::microstate::{State, within};
use myriad_sync::Arc;
use myriad_term::{Atom, Build, Term, am};
use myriad_trace::{life, profile};
use myriad_vm::bif::{BADARG, DirtyKind, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx, Signal};

myriad_vm::bifs! { pub INTERNAL = "erts_internal" {
    "open_port" / 2 Plain => open_port;
    "port_command" / 3 Plain => port_command_3;
    "port_close" / 1 Plain => port_close_1;
    "port_connect" / 2 Plain => port_connect_2;
    "port_control" / 3 Plain => port_control_3;
    "port_call" / 3 Plain => |_, _| bad();
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
fn find(ctx: &Ctx<'_>, term: Term) -> Result<Option<Arc<Port>>, Escape> {
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
fn open(ctx: &Ctx<'_>, term: Term) -> Option<(&'static System, Arc<Port>)> {
    let port = find(ctx, term).ok().flatten()?;
    let is_open = port.lock().is_open();
    System::of(ctx.vm).filter(|_| is_open).map(|s| (s, port))
}

/// The drivers that OTP has and this VM lacks: opening one fails, rather than run a program of that name.
const ABSENT_DRIVERS: [&[u8]; 3] = [b"tcp_inet", b"sctp_inet", b"trace_ip_drv"];

/// The first word of a command names a driver, if there is one of that name.
fn driver_word(line: &[u8]) -> &[u8] {
    line.split(|b| b.is_ascii_whitespace()).next().unwrap_or(line)
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
    let settings = match options::settings(args[1], &target) {
        Ok(settings) => settings,
        Err(atom) => return reason(atom),
    };
    match &target {
        Target::Spawn(line) | Target::Driver(line) => match driver_word(line) {
            b"tty_sl" => return open_terminal(ctx, system, line, &settings),
            word if ABSENT_DRIVERS.contains(&word) => return bad(),
            b"udp_inet" => return open_driver(ctx, system, line, &settings, Driver::Udp(Udp::new())),
            b"ram_file_drv" => return open_driver(ctx, system, line, &settings, Driver::Ram(RamFile::default())),
            b"trace_file_drv" => {
                return match TraceFile::open(line) {
                    Some(Ok(file)) => open_driver(ctx, system, line, &settings, Driver::TraceFile(file)),
                    Some(Err(errno)) => reason(posix::atom(errno)),
                    None => bad(),
                };
            }
            _ if matches!(target, Target::Driver(_)) => return bad(),
            _ => {}
        },
        Target::Fd(input, output) if *input < 0 || *output < 0 => return reason(am::einval),
        _ => {}
    }
    open_stream(ctx, system, &target, &settings)
}

/// A port of the calling process, linked to it, as the options say.
fn new_port(ctx: &Ctx<'_>, name: Vec<u8>, settings: &Settings, driver: Driver) -> New {
    let &Settings { binary, eof, parallelism, busy_limits, .. } = settings;
    New { name, owner: ctx.pid(), binary, eof, parallelism, busy_limits, os_pid: None, linked: true, driver }
}

fn open_driver(
    ctx: &mut Ctx<'_>,
    system: &'static System,
    line: &[u8],
    settings: &Settings,
    driver: Driver,
) -> BifResult {
    let new = new_port(ctx, line.to_vec(), settings, driver);
    let Some(port) = system.create(new) else { return reason(am::system_limit) };
    ctx.state.relations.link(port.id.term());
    life::link(ctx, port.id.term());
    Ok(port.id.term())
}

/// The port of the interactive terminal; there is one only where there is a terminal.
fn open_terminal(ctx: &mut Ctx<'_>, system: &'static System, line: &[u8], settings: &Settings) -> BifResult {
    let Some(terminal) = Terminal::open() else { return bad() };
    let mut stream = Stream::new(settings.framing, Program::None);
    stream.terminal = Some(terminal);
    let new = new_port(ctx, line.to_vec(), settings, Driver::Stream(stream));
    let Some(port) = system.create(new) else { return reason(am::system_limit) };
    ctx.state.relations.link(port.id.term());
    if let Driver::Stream(stream) = &mut port.lock().driver {
        stream.open(port.id, Ends::of_numbers(Some(0), Some(1)));
        stream.begin(system);
    }
    Ok(port.id.term())
}

/// Lets a port begin to read when dropped: when a signal with it has been handled, or will never be.
struct Begin {
    system: &'static System,
    port: Arc<Port>,
}

impl Drop for Begin {
    fn drop(&mut self) {
        self.port.begin(self.system);
    }
}

fn open_stream(ctx: &mut Ctx<'_>, system: &'static System, target: &Target, settings: &Settings) -> BifResult {
    // Starting a program keeps the thread until the program's image is there.
    if !matches!(target, Target::Fd(..)) && !ctx.sched.dirty {
        return Err(Escape::Dirty(DirtyKind::Io));
    }
    let (ends, process, name) = match target {
        Target::Fd(input, output) => {
            let ends = Ends::of_numbers(settings.input.then_some(*input), settings.output.then_some(*output));
            (ends, None, format!("{input}/{output}").into_bytes())
        }
        Target::File(name) => match Ends::of_file(name, settings.input, settings.output) {
            Ok(ends) => (ends, None, name.clone()),
            Err(_) => return reason(am::einval),
        },
        Target::Spawn(text) | Target::Driver(text) | Target::Executable(text) => match spawn::start(target, settings) {
            Ok(started) => (started.ends, Some(started.process), text.clone()),
            Err(errno) => return reason(posix::atom(errno)),
        },
    };
    let program = match process {
        Some(Err(status)) if settings.exit_status => Program::Ended(status),
        Some(Ok(_)) if settings.exit_status => Program::Running,
        _ => Program::None,
    };
    let driver = Driver::Stream(Stream::new(settings.framing, program));
    let new = New { os_pid: process.and_then(Result::ok), ..new_port(ctx, name, settings, driver) };
    let Some(port) = system.create(new) else { return reason(am::system_limit) };
    // Linked before anything can happen to the port: its exit signal counts only over a link.
    ctx.state.relations.link(port.id.term());
    life::link(ctx, port.id.term());
    if let Some(Ok(pid)) = process
        && poll::watch_child(system, port.id, pid).is_err()
    {
        return Err(SYSTEM_LIMIT);
    }
    if let Driver::Stream(stream) = &mut port.lock().driver {
        stream.open(port.id, ends);
        if !ctx.sched.dirty {
            stream.begin(system);
        }
    }
    if ctx.sched.dirty {
        // The caller shall be back, and linked, before a short program has ended: what it says to the port at once finds it
        // open. So the port begins when the caller waits or its time is over: then it takes its signals.
        let (id, mut begin) = (port.id, Some(Begin { system, port: port.clone() }));
        return ctx.yield_to(Box::new(move |ctx| {
            let begin = begin.take();
            ctx.vm.signal_pid(ctx.pid(), Signal::Call(Box::new(move |_| drop(begin))));
            ctx.bump(500);
            profile::port_call(ctx, false);
            Ok(id.term())
        }));
    }
    ctx.bump(500);
    Ok(port.id.term())
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
    if !state.is_open() {
        return bad();
    }
    if force && matches!(state.driver, Driver::Stream(_)) {
        return reason(am::notsup);
    }
    if state.busy {
        if nosuspend {
            return Ok(Term::FALSE);
        }
        let waiter = Waiter::Retry(ctx.pid());
        if !state.waiters.contains(&waiter) {
            state.waiters.push(waiter);
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
    let Some((system, port)) = open(ctx, args[0]) else { return bad() };
    let _work = port.works(system);
    ctx.bump(100);
    if let Driver::Stream(stream) = &mut port.lock().driver {
        let answer = stream.terminal.as_mut().and_then(|terminal| terminal.control(operation, &data));
        return answer.map_or_else(bad, |answer| Ok(ctx.byte_list(&answer, Term::NIL)));
    }
    {
        let mut state = port.lock();
        if let Driver::TraceFile(file) = &mut state.driver {
            let Some(done) = file.control(operation) else { return bad() };
            if let Err(errno) = done {
                port.fail(system, &mut state, errno);
            }
            return Ok(ctx.byte_list(&[0], Term::NIL));
        }
        if !matches!(state.driver, Driver::Udp(_)) {
            return bad();
        }
    }
    let answer = port.udp_control(system, ctx.pid(), u64::from(operation), &data);
    Ok(ctx.byte_list(&answer, Term::NIL))
}

fn port_close_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((system, port)) = open(ctx, args[0]) else { return bad() };
    let _work = port.works(system);
    let mut state = port.lock();
    if matches!(state.driver, Driver::Forker) {
        return bad();
    }
    port.trace_command(system, ctx.pid(), |_| am::close.term());
    port.exit(system, &mut state, Term::atom(am::normal), true);
    Ok(Term::TRUE)
}

fn port_connect_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some((system, port)), Some(pid)) = (open(ctx, args[0]), args[1].as_local_pid()) else { return bad() };
    if matches!(port.lock().driver, Driver::Forker) {
        return bad();
    }
    port.trace_command(system, ctx.pid(), |memory| memory.tuple(&[am::connect.term(), pid.term()]));
    if port.connect(system, pid) { Ok(Term::TRUE) } else { bad() }
}

fn port_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match find(ctx, args[0]) {
        Ok(Some(port)) => Ok(port.all_info(ctx, &port.lock())),
        Ok(None) => Ok(Term::UNDEFINED),
        Err(_) => bad(),
    }
}

fn port_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(item) = args[1].as_atom() else { return bad() };
    match find(ctx, args[0]) {
        Ok(Some(port)) => port.info(ctx, &port.lock(), item).map_or_else(bad, Ok),
        Ok(None) => Ok(Term::UNDEFINED),
        Err(_) => bad(),
    }
}

fn ports_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let ports: Vec<Term> =
        System::of(ctx.vm).map(System::all).unwrap_or_default().iter().map(|p| p.id.term()).collect();
    Ok(ctx.list(&ports))
}

fn port_set_data_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((_, port)) = open(ctx, args[0]) else { return badarg() };
    port.lock().data = Some(Payload::whole(args[1]));
    Ok(Term::TRUE)
}

fn port_get_data_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((_, port)) = open(ctx, args[0]) else { return badarg() };
    let data = port.lock().data.as_ref().map(|d| Payload::copy(d.term()));
    Ok(data.map_or(Term::UNDEFINED, |d| d.attach(&mut ctx.state.heap)))
}
