//! Receiving: `recv`, `recvfrom`, `recvmsg`.

use super::address::Address;
use super::control;
use super::state::{Count, Handle, State, with_open};
use super::terms::{atom_of, error, map_of, ok, raise_invalid, size_of};
use super::wait::{self, Patience, Side, Turn};
use crate::posix;
use crate::system::last_error;
use myriad_term::{BinaryBuffer, Build, Term, am, memory};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;

/// Data up to this size is read into the thread's own room and copied from there: what is asked for is often much more than what comes.
const COPIED: usize = 64 << 10;

/// What a call takes beside the socket.
struct Wish {
    patience: Patience,
    flags: i32,
    /// Bytes that are wanted; 0: what there is.
    length: usize,
    /// The room for ancillary data.
    control: usize,
}

impl Wish {
    fn of(ctx: &mut Ctx<'_>, length: Term, control: Term, flags: Term, reference: Term) -> Result<Wish, BifResult> {
        let flags = flags.as_small().and_then(|flags| i32::try_from(flags).ok());
        let (Some(flags), Some(patience)) = (flags, Patience::of(reference)) else { return Err(badarg()) };
        let (length, control) = (size_of(ctx, length)?, size_of(ctx, control)?);
        Ok(Wish { patience, flags, length, control })
    }
}

/// What came.
struct Received {
    bytes: Term,
    len: usize,
    address: Address,
    control: Vec<u8>,
    flags: i32,
}

/// Receives into a binary of the caller's.
fn receive(ctx: &mut Ctx<'_>, state: &State, room: usize, control: usize, flags: i32) -> Result<Received, Errno> {
    let mut got = Received { bytes: Term::NIL, len: 0, address: Address::room(), control: Vec::new(), flags: 0 };
    memory::fallibly(|| got.control.try_reserve_exact(control)).map_err(|_| Errno::NOMEM)?;
    got.control.resize(control, 0);
    if room <= COPIED {
        return crate::port::with_buffer(|buffer| {
            let buffer = buffer.get_mut(..room).ok_or(Errno::NOMEM)?;
            got.len = receive_into(state, buffer.as_mut_ptr(), room, flags, &mut got)?;
            got.bytes = ctx.binary(buffer.get(..got.len).unwrap_or(&[]));
            Ok(got)
        });
    }
    let mut bytes = BinaryBuffer::new();
    bytes.try_reserve_exact(room).map_err(|_| Errno::NOMEM)?;
    got.len = receive_into(state, bytes.as_mut_ptr(), room, flags, &mut got)?;
    // SAFETY: the system has written so many bytes of the room.
    unsafe { bytes.advance(got.len.min(room)) };
    got.bytes = bytes.shrunk().into_term(ctx);
    Ok(got)
}

/// Receives so many bytes at most to where `at` points.
fn receive_into(state: &State, at: *mut u8, room: usize, flags: i32, got: &mut Received) -> Result<usize, Errno> {
    let (name, name_len) = got.address.parts_mut();
    let mut vector = libc::iovec { iov_base: at.cast(), iov_len: room };
    // SAFETY: of numbers and pointers, for which nothing is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = name.cast();
    header.msg_namelen = name_len;
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    if !got.control.is_empty() {
        header.msg_control = got.control.as_mut_ptr().cast();
        header.msg_controllen = got.control.len() as _;
    }
    let len = crate::file::retry(|| {
        // SAFETY: an open descriptor; all rooms are live and as long as said.
        let code = unsafe { libc::recvmsg(state.raw_fd(), &raw mut header, flags) };
        usize::try_from(code).map_err(|_| last_error())
    })?;
    got.address.set_len(header.msg_namelen);
    got.control.truncate(header.msg_controllen as usize);
    got.flags = header.msg_flags;
    Ok(len)
}

/// What the call makes of what came.
type Finish = fn(&mut Ctx<'_>, &Handle, &mut State, &Wish, usize, Received) -> BifResult;

/// A call: whose turn it is, then the system, then what is made of that.
fn call(
    ctx: &mut Ctx<'_>,
    socket: Term,
    wish: Result<Wish, BifResult>,
    room: fn(&State, &Wish) -> (usize, usize),
    finish: Finish,
) -> BifResult {
    let wish = match wish {
        Ok(wish) => wish,
        Err(answer) => return answer,
    };
    with_open(ctx, socket, |ctx, handle, state| {
        match state.turn(ctx, handle, Side::Read, wish.patience) {
            Turn::Tries => {}
            Turn::Queued => return Ok(am::select.term()),
            Turn::Again => return raise_invalid(ctx, atom_of("state")),
        }
        state.add(Count::ReadTries, 1);
        let (room, control) = room(state, &wish);
        match receive(ctx, state, room, control, wish.flags) {
            Ok(got) if got.len == 0 && room > 0 && handle.socket.is_stream() => {
                state.add(Count::ReadFails, 1);
                state.fail(wait::system(ctx), Side::Read, am::closed);
                error(ctx, am::closed)
            }
            Ok(got) => {
                ctx.bump(got.len / 256 + 20);
                finish(ctx, handle, state, &wish, room, got)
            }
            Err(Errno::AGAIN) => match wish.patience {
                Patience::Zero => {
                    state.filled = 0;
                    Ok(Term::OK)
                }
                Patience::Message(reference) => {
                    state.filled = 0;
                    state.wait_answer(ctx, handle, Side::Read, reference)
                }
            },
            Err(errno) => {
                state.add(Count::ReadFails, 1);
                state.fail(wait::system(ctx), Side::Read, posix::atom(errno));
                posix::error(ctx, errno)
            }
        }
    })
}

/// The caller has got what it wanted.
fn done(ctx: &Ctx<'_>, state: &mut State, len: usize) {
    state.add(Count::ReadBytes, len);
    state.add(Count::ReadPackages, 1);
    state.raise(Count::ReadLargest, len);
    state.next(wait::system(ctx), Side::Read, ctx.pid());
}

/// `nif_recv(Socket, Length, Flags, Reference)`
pub(super) fn recv_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let wish = Wish::of(ctx, args[1], Term::small(0), args[2], args[3]);
    let room = |state: &State, wish: &Wish| match wish.length {
        0 => (state.settings.buffer, 0),
        length => (length, 0),
    };
    call(ctx, args[0], wish, room, |ctx, handle, state, wish, room, got| {
        let is_stream = handle.socket.is_stream();
        if is_stream && wish.length == 0 && got.len == room {
            // The buffer is full: there may be more.
            state.filled += 1;
            if state.filled < state.settings.fills {
                state.add(Count::ReadBytes, got.len);
                state.add(Count::ReadPackages, 1);
                state.raise(Count::ReadLargest, got.len);
                return Ok(ctx.tuple(&[am::more.term(), got.bytes]));
            }
        }
        state.filled = 0;
        match wish.patience {
            Patience::Message(reference) if is_stream && got.len < wish.length => {
                // A part: the rest is waited for.
                state.add(Count::ReadBytes, got.len);
                match state.wait(ctx, handle, Side::Read, reference) {
                    Ok(()) => Ok(ctx.tuple(&[am::select.term(), got.bytes])),
                    Err(reason) => error(ctx, reason),
                }
            }
            _ => {
                done(ctx, state, got.len);
                ok(ctx, got.bytes)
            }
        }
    })
}

/// `nif_recvfrom(Socket, Length, Flags, Reference)`
pub(super) fn recvfrom_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let wish = Wish::of(ctx, args[1], Term::small(0), args[2], args[3]);
    let room = |state: &State, wish: &Wish| match wish.length {
        0 => (state.settings.buffer, 0),
        length => (length, 0),
    };
    call(ctx, args[0], wish, room, |ctx, _, state, _, _, got| {
        done(ctx, state, got.len);
        let address = got.address.term(ctx);
        let both = ctx.tuple(&[address, got.bytes]);
        ok(ctx, both)
    })
}

/// `nif_recvmsg(Socket, Length, ControlLength, Flags, Reference)`
pub(super) fn recvmsg_5(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let wish = Wish::of(ctx, args[1], args[2], args[3], args[4]);
    let room = |state: &State, wish: &Wish| {
        let or = |asked, default| if asked == 0 { default } else { asked };
        (or(wish.length, state.settings.buffer), or(wish.control, state.settings.control_in))
    };
    call(ctx, args[0], wish, room, |ctx, _, state, _, _, got| {
        done(ctx, state, got.len);
        let iov = ctx.list(&[got.bytes]);
        let control = control::terms(ctx, &got.control);
        let flags = control::flag_names(ctx, got.flags);
        let mut pairs = vec![(am::iov.term(), iov), (am::ctrl.term(), control), (am::flags.term(), flags)];
        if got.address.family().is_some() {
            let address = got.address.term(ctx);
            pairs.push((am::addr.term(), address));
        }
        let message = map_of(ctx, &pairs);
        ok(ctx, message)
    })
}
