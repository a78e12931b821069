//! Sends that are answered by their caller's own call (intrinsics of `prim_inet`).
//!
//! The Erlang code of `prim_inet` hands data to its port and waits for the message `{inet_reply, Socket, Result}`. What a message costs
//! aside, it is looked for behind all messages that the sender has not received: a send takes 20 ms where a million of them wait. Here
//! the socket gives its answer to the call. Whatever would not be answered at once is declined before anything is done (a busy port, one
//! that another thread works on, what makes the port busy), and so is what somebody traces; then the Erlang code does it, with its message.

use super::super::System;
use super::super::sender::Direct;
use crate::bytes::{Output, Piece};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::tracer::flags;
use myriad_vm::{BifResult, Ctx};

myriad_vm::intrinsics! { pub INTRINSICS {
    "prim_inet" {
        "send" / 3 => Native(send_3);
        "do_sendto" / 4 until 25 => Native(do_sendto_4);
    }
}}

/// `inet`'s number of IPv4.
const IPV4: u8 = 1;

/// `(Socket, Data, Options)`
fn send_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[2].is_nil() {
        return Err(Escape::Decline);
    }
    let data = Output::of(args[1]).ok_or(Escape::Decline)?;
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
    bytes.extend_from_slice(&Output::of(args[3])?.to_vec());
    Some(bytes)
}

fn send(ctx: &mut Ctx<'_>, socket: Term, data: Output) -> BifResult {
    let id = socket.as_local_port().ok_or(Escape::Decline)?;
    let system = System::of(ctx.vm).ok_or(Escape::Decline)?;
    let port = system.get(id).ok_or(Escape::Decline)?;
    if ctx.process.trace.wants(flags::RECEIVE) || port.trace.flags() != 0 || !port.begin(system) {
        return Err(Escape::Decline);
    }
    let len = data.len();
    let work = port.works(system);
    let mut state = port.lock();
    let is_free = state.common.is_open() && !state.common.busy && state.driver.answers_at_once(len);
    if is_free {
        state.common.direct = Some(Direct::of(ctx.pid()));
        port.output(system, &mut state, ctx.pid(), data);
    }
    let direct = state.common.direct.take();
    drop((state, work));
    port.end(system);
    match direct {
        None => Err(Escape::Decline),
        Some(direct) => {
            ctx.bump(len / 256 + 50);
            debug_assert!(direct.outcome().is_some(), "a driver that answers at once has not answered");
            match direct.outcome().unwrap_or(Err(am::closed)) {
                Ok(()) => Ok(Term::OK),
                Err(reason) => Ok(ctx.tuple(&[am::error.term(), reason.term()])),
            }
        }
    }
}
