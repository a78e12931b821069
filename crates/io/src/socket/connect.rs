//! Names and connections: `bind`, `connect`, `listen`, `shutdown`, `sockname`, `peername`, and taking a wish back.

use super::address::Address;
use super::state::{State, flag, with_open};
use super::terms::{atom_of, error, invalid, ok, raise_invalid};
use super::wait::{self, Side};
use crate::posix;
use crate::system::{get_option, last_error};
use myriad_term::{Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;
use rustix::net::Shutdown;

/// What a call of the system answers that gives 0 or fails.
fn checked(code: i32) -> Result<(), Errno> {
    if code == 0 { Ok(()) } else { Err(last_error()) }
}

/// `nif_bind(Socket, Address)`
pub(super) fn bind_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        let Some(address) = Address::of_term(args[1]) else { return invalid(ctx, am::sockaddr) };
        let (at, len) = address.parts();
        // SAFETY: an open descriptor; the address is as long as said.
        let result = checked(unsafe { libc::bind(state.raw_fd(), at, len) });
        if result.is_ok() {
            state.reading |= flag::BOUND;
        }
        posix::unit(ctx, result)
    })
}

/// `nif_listen(Socket, Backlog)`
pub(super) fn listen_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(backlog) = args[1].as_small().and_then(|n| i32::try_from(n).ok()) else { return badarg() };
    with_open(ctx, args[0], |ctx, _, state| {
        // SAFETY: an open descriptor.
        let result = checked(unsafe { libc::listen(state.raw_fd(), backlog) });
        if result.is_ok() {
            state.reading |= flag::LISTENING;
        }
        posix::unit(ctx, result)
    })
}

/// `nif_connect(Socket, Reference, Address)`: begins to connect.
pub(super) fn connect_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(reference) = args[1].as_local_ref() else { return badarg() };
    with_open(ctx, args[0], |ctx, handle, state| {
        let Some(address) = Address::of_term(args[2]) else { return invalid(ctx, am::sockaddr) };
        let pid = ctx.pid();
        if state.connector.as_ref().is_some_and(|waiter| waiter.pid != pid) {
            return error(ctx, am::already);
        }
        let (at, len) = address.parts();
        // SAFETY: an open descriptor; the address is as long as said.
        let result = checked(unsafe { libc::connect(state.raw_fd(), at, len) });
        if !matches!(result, Err(Errno::INPROGRESS | Errno::ALREADY)) {
            state.connector = None;
            state.writing &= !flag::CONNECTING;
        }
        match result {
            Ok(()) if address.family() == Some(libc::AF_UNSPEC) => {
                state.writing &= !flag::CONNECTED;
                Ok(Term::OK)
            }
            Ok(()) => {
                state.writing |= flag::CONNECTED;
                Ok(Term::OK)
            }
            Err(Errno::INPROGRESS | Errno::ALREADY) => match state.wait_connected(ctx, handle, reference) {
                Ok(()) => Ok(am::select.term()),
                Err(reason) => error(ctx, reason),
            },
            Err(errno) => posix::error(ctx, errno),
        }
    })
}

/// `nif_connect(Socket)`: what has become of the connection, after the message `select`.
pub(super) fn connect_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        match &state.connector {
            None => return raise_invalid(ctx, atom_of("state")),
            Some(waiter) if waiter.pid != ctx.pid() => return raise_invalid(ctx, atom_of("state")),
            Some(_) => state.connector = None,
        }
        state.writing &= !flag::CONNECTING;
        let result = outcome(state);
        if result.is_ok() {
            state.writing |= flag::CONNECTED;
        }
        posix::unit(ctx, result)
    })
}

/// What the system says has become of a connection.
fn outcome(state: &State) -> Result<(), Errno> {
    let fd = state.fd().ok_or(Errno::BADF)?;
    let code = get_option(fd, (libc::SOL_SOCKET, libc::SO_ERROR), 4)?;
    match code.first_chunk::<4>().map(|four| i32::from_ne_bytes(*four)) {
        None | Some(0) => Ok(()),
        Some(code) => Err(Errno::from_raw_os_error(code)),
    }
}

/// `nif_shutdown(Socket, How)`
pub(super) fn shutdown_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        let how = match args[1].as_atom() {
            Some(am::read) => Shutdown::Read,
            Some(am::write) => Shutdown::Write,
            Some(am::read_write) => Shutdown::Both,
            Some(_) => {
                let what = ctx.tuple(&[atom_of("how"), args[1]]);
                return raise_invalid(ctx, what);
            }
            None => return badarg(),
        };
        let result = state.fd().ok_or(Errno::BADF).and_then(|fd| rustix::net::shutdown(fd, how));
        posix::unit(ctx, result)
    })
}

/// `nif_sockname(Socket)`
pub(super) fn sockname_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    // SAFETY: an open descriptor; at most the room's length is written.
    name(ctx, args[0], |fd, at, len| unsafe { libc::getsockname(fd, at, len) })
}

/// `nif_peername(Socket)`
pub(super) fn peername_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    // SAFETY: as above.
    name(ctx, args[0], |fd, at, len| unsafe { libc::getpeername(fd, at, len) })
}

fn name(
    ctx: &mut Ctx<'_>,
    socket: Term,
    call: impl FnOnce(i32, *mut libc::sockaddr, *mut libc::socklen_t) -> i32,
) -> BifResult {
    with_open(ctx, socket, |ctx, _, state| {
        let mut address = Address::room();
        let (at, mut len) = address.parts_mut();
        match checked(call(state.raw_fd(), at, &raw mut len)) {
            Ok(()) => {
                address.set_len(len);
                let name = address.term(ctx);
                ok(ctx, name)
            }
            Err(errno) => posix::error(ctx, errno),
        }
    })
}

/// `nif_cancel(Socket, Operation, Reference)`
pub(super) fn cancel_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(operation), Some(reference)) = (args[1].as_atom(), args[2].as_local_ref()) else { return badarg() };
    let side = match operation.text() {
        "connect" => None,
        "accept" => Some(Side::Accept),
        "send" | "sendto" | "sendmsg" | "sendfile" => Some(Side::Write),
        "recv" | "recvfrom" | "recvmsg" => Some(Side::Read),
        _ => return badarg(),
    };
    with_open(ctx, args[0], |ctx, _, state| {
        let pid = ctx.pid();
        let answer = match side {
            None => state.cancel_connect(pid, reference),
            Some(side) => state.cancel(wait::system(ctx), side, pid, reference),
        };
        Ok(answer.term())
    })
}
