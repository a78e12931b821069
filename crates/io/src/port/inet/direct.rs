//! Requests that are answered by their caller's own call (intrinsics of `prim_inet`).
//!
//! The Erlang code of `prim_inet` hands data to its port and waits for the message `{inet_reply, Socket, Result}`. What a message costs
//! aside, it is looked for behind all messages that the sender has not received: a send takes 20 ms where a million of them wait. Here
//! the socket gives its answer to the call. Whatever would not be answered at once is declined before anything is done (a busy port, one
//! that another thread works on, what makes the port busy), and so is what somebody traces; then the Erlang code does it, with its message.
//! So it is with `{inet_async, Socket, Number, Result}` where somebody asks for what has come already.
//!
//! What a server asks for again and again, to receive and to be active again, is asked here without lists of bytes for `port_control/3` and its answer.

use super::super::sender::Direct;
use super::super::{Port, State, System, Task};
use super::options::Active;
use super::{FOREVER, MAGIC, request, tcp, udp};
use crate::bytes::{APART, Output, Piece};
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::tracer::flags;
use myriad_vm::{BifResult, Ctx};

myriad_vm::intrinsics! { pub INTRINSICS {
    "prim_inet" {
        "send" / 3 => Native(send_3);
        "do_sendto" / 4 until 25 => Native(do_sendto_4);
        "recv0" / 3 => Native(recv0_3);
        "async_recv" / 3 => Native(async_recv_3);
        "setopts" / 2 => Native(setopts_2);
    }
}}

/// Reductions of a request, as of `port_control/3`.
const COST: usize = 100;
/// `inet`'s number of IPv4.
const IPV4: u8 = 1;

/// `(Socket, Data, Options)`
fn send_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[2].is_nil() {
        return Err(Escape::Decline);
    }
    let data = Output::of(args[1], APART).ok_or(Escape::Decline)?;
    send(ctx, args[0], data)
}

/// `(Socket, Address, AncillaryData, Data)`, here with an IPv4 address and no ancillary data.
fn do_sendto_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let datagram = datagram(args).ok_or(Escape::Decline)?;
    send(ctx, args[0], Output::One(Piece::Own(datagram, 0)))
}

/// The address, the length of no ancillary data, and the data.
fn datagram(args: &[Term]) -> Option<Vec<u8>> {
    let [address, port] = args[1].as_tuple_of::<2>()?;
    let port = u16::try_from(port.as_small()?).ok()?;
    let mut bytes = vec![IPV4];
    bytes.extend_from_slice(&port.to_be_bytes());
    for part in address.as_tuple_of::<4>()? {
        bytes.push(u8::try_from(part.as_small()?).ok()?);
    }
    bytes.extend_from_slice(&[0; 4]);
    if !args[2].is_nil() {
        return None;
    }
    bytes.extend_from_slice(&Output::of(args[3], usize::MAX)?.to_vec());
    Some(bytes)
}

/// Does something in the turn of an open port that nobody traces, and gives what `work` does, or declines.
fn at_once<T>(
    ctx: &Ctx<'_>,
    socket: Term,
    work: impl FnOnce(&'static System, &Port, &mut State) -> Option<T>,
) -> Result<T, Escape> {
    let id = socket.as_local_port().ok_or(Escape::Decline)?;
    let system = System::of(ctx.vm).ok_or(Escape::Decline)?;
    let port = system.get(id).ok_or(Escape::Decline)?;
    let is_traced = ctx.process.trace.wants(flags::RECEIVE | flags::RUNNING_PROCS) || port.trace.flags() != 0;
    if is_traced || !port.begin_for(ctx, system, Task::Untold) {
        return Err(Escape::Decline);
    }
    let works = port.works(system);
    let mut state = port.lock();
    let done = if state.common.is_open() { work(system, port, &mut state) } else { None };
    drop((state, works));
    port.end_for(ctx, system);
    done.ok_or(Escape::Decline)
}

fn send(ctx: &mut Ctx<'_>, socket: Term, data: Output) -> BifResult {
    let (pid, len) = (ctx.pid(), data.len());
    let direct = at_once(ctx, socket, |system, port, state| {
        if state.common.busy || !state.driver.answers_at_once(len) {
            return None;
        }
        state.common.direct = Some(Direct::sender(pid));
        port.output(system, state, pid, data);
        state.common.direct.take()
    })?;
    ctx.bump(len / 256 + 50);
    let outcome = direct.outcome();
    debug_assert!(outcome.is_some(), "a driver that answers at once has not answered");
    match outcome.unwrap_or(Err(am::closed)) {
        Ok(()) => Ok(Term::OK),
        Err(reason) => Ok(ctx.tuple(&[am::error.term(), reason.term()])),
    }
}

/// `(Socket, Length, Time)`, where what is asked for has come: the time does not matter.
fn recv0_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let length = args[1].as_small().and_then(|length| u32::try_from(length).ok()).ok_or(Escape::Decline)?;
    args[2].as_small().ok_or(Escape::Decline)?;
    let pid = ctx.pid();
    let received = at_once(ctx, args[0], |system, port, state| {
        port.call_driver(system, state, |driver, context| driver.receive_at_once(context, pid, length))
    })?;
    ctx.bump(COST);
    Ok(received.settle(&mut ctx.state.heap))
}

/// `(Socket, Length, Time)`: `{ok, Number}`, and the answer comes by message.
fn async_recv_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let length = args[1].as_small().and_then(|length| u32::try_from(length).ok()).ok_or(Escape::Decline)?;
    let time = match args[2].as_small().ok_or(Escape::Decline)? {
        ..0 => FOREVER,
        time => u32::try_from(time).map_err(|_| Escape::Decline)?,
    };
    let mut data = [0; 8];
    data[..4].copy_from_slice(&time.to_be_bytes());
    data[4..].copy_from_slice(&length.to_be_bytes());
    let answer = control(ctx, args[0], request::TCP_RECEIVE, &data)?;
    match *answer {
        [1, high, low] => {
            let number = Term::small(i64::from(u16::from_be_bytes([high, low])));
            Ok(ctx.tuple(&[Term::OK, number]))
        }
        _ => Ok(refusal(ctx, &answer)),
    }
}

/// `(Socket, [{active, once | true | false}])`
fn setopts_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (first, rest) = args[1].as_cons().ok_or(Escape::Decline)?;
    let [option, value] = first.as_tuple_of::<2>().ok_or(Escape::Decline)?;
    let data = Active::named(value).filter(|_| option.is_am(am::active) && rest.is_nil()).ok_or(Escape::Decline)?;
    let answer = control(ctx, args[0], request::SETOPTS, &data)?;
    if answer.first() == Some(&1) { Ok(Term::OK) } else { Ok(refusal(ctx, &answer)) }
}

/// `{error, Reason}`, by the bytes of an answer.
fn refusal(ctx: &mut Ctx<'_>, answer: &[u8]) -> Term {
    let reason = answer.get(1..).and_then(|text| std::str::from_utf8(text).ok()).and_then(|text| Atom::new(text).ok());
    ctx.tuple(&[am::error.term(), reason.unwrap_or(am::einval).term()])
}

/// What `port_control/3` gives for this request; declined where that fails.
fn control(ctx: &mut Ctx<'_>, socket: Term, request: u64, data: &[u8]) -> Result<Vec<u8>, Escape> {
    let (pid, operation) = (ctx.pid(), (MAGIC + request) as u32);
    let answer = at_once(ctx, socket, |system, port, state| {
        if !std::ptr::eq(port.driver, &raw const tcp::DRIVER) && !std::ptr::eq(port.driver, &raw const udp::DRIVER) {
            return None;
        }
        port.call_driver(system, state, |driver, context| Some(driver.control(context, pid, operation, data)))
    })?;
    ctx.bump(COST);
    // Nothing has been done where there is no answer.
    answer.ok_or(Escape::Decline)
}
