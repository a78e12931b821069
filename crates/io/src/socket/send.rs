//! Sending: `send`, `sendto`, `sendmsg`, `sendfile`.

use super::address::Address;
use super::control;
use super::state::{Count, Handle, State, with_open};
use super::terms::{Fields, atom_of, error, invalid, ok, raise_invalid, size_of};
use super::wait::{self, Patience, Side, Turn};
use crate::bytes::Piece;
use crate::posix;
use crate::system::last_error;
use myriad_term::{Build, RefNumbers, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Most pieces of one call of the system.
pub(super) const PIECES: usize = 1024;
/// So many bytes of a file are sent in one go, under the socket's lock (io/SO1): some hundreds of microseconds where the peer takes all at once.
const FILE_TURN: usize = 1 << 20;

/// Sends pieces, with an address and ancillary data where there are such.
fn send(
    state: &State,
    pieces: &[libc::iovec],
    address: Option<&Address>,
    control: &[u8],
    flags: i32,
) -> Result<usize, Errno> {
    // SAFETY: of numbers and pointers, for which nothing is a value.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    if let Some(address) = address {
        let (at, len) = address.parts();
        (header.msg_name, header.msg_namelen) = (at.cast_mut().cast(), len);
    }
    (header.msg_iov, header.msg_iovlen) = (pieces.as_ptr().cast_mut(), pieces.len() as _);
    if !control.is_empty() {
        (header.msg_control, header.msg_controllen) = (control.as_ptr().cast_mut().cast(), control.len() as _);
    }
    crate::file::retry(|| {
        // SAFETY: an open descriptor; what the header leads to is live, as long as said, and only read.
        let code = unsafe { libc::sendmsg(state.raw_fd(), &raw const header, flags | libc::MSG_NOSIGNAL) };
        usize::try_from(code).map_err(|_| last_error())
    })
}

fn piece(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// Whether the caller may send; else what it is answered.
fn turn(ctx: &mut Ctx<'_>, handle: &Handle, state: &mut State, reference: RefNumbers) -> Result<(), BifResult> {
    match state.turn(ctx, handle, Side::Write, Patience::Message(reference)) {
        Turn::Tries => Ok(()),
        Turn::Queued => Err(Ok(am::select.term())),
        Turn::Again => Err(raise_invalid(ctx, atom_of("state"))),
    }
}

/// A part was sent: who sends waits for the rest.
fn wait_for_rest(
    ctx: &mut Ctx<'_>,
    handle: &Handle,
    state: &mut State,
    reference: RefNumbers,
    sent: usize,
) -> BifResult {
    state.add(Count::WriteWaits, 1);
    match state.wait(ctx, handle, Side::Write, reference) {
        Ok(()) => {
            let sent = ctx.uint(sent as u64);
            Ok(ctx.tuple(&[am::select.term(), sent]))
        }
        Err(reason) => error(ctx, reason),
    }
}

/// The answer when so many of `len` bytes were sent.
fn answer(
    ctx: &mut Ctx<'_>,
    handle: &Handle,
    state: &mut State,
    reference: RefNumbers,
    sent: Result<usize, Errno>,
    len: usize,
    has_more: bool,
) -> BifResult {
    match sent {
        Ok(sent) => {
            ctx.bump(sent / 256 + 20);
            if sent >= len || !handle.socket.is_stream() {
                if has_more {
                    let sent = ctx.uint(sent as u64);
                    return Ok(ctx.tuple(&[am::iov.term(), sent]));
                }
                state.add(Count::WriteBytes, sent);
                state.add(Count::WritePackages, 1);
                state.raise(Count::WriteLargest, sent);
                state.next(wait::system(ctx), Side::Write, ctx.pid());
                return Ok(Term::OK);
            }
            wait_for_rest(ctx, handle, state, reference, sent)
        }
        Err(Errno::AGAIN) => {
            state.add(Count::WriteWaits, 1);
            state.wait_answer(ctx, handle, Side::Write, reference)
        }
        Err(errno) => {
            state.add(Count::WriteFails, 1);
            state.fail(wait::system(ctx), Side::Write, posix::atom(errno));
            posix::error(ctx, errno)
        }
    }
}

fn flags_of(term: Term) -> Option<i32> {
    i32::try_from(term.as_small()?).ok()
}

/// `nif_send(Socket, Binary, Flags, Reference)`
pub(super) fn send_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(bytes), Some(flags), Some(reference)) = (args[1].as_binary(), flags_of(args[2]), args[3].as_local_ref())
    else {
        return badarg();
    };
    with_open(ctx, args[0], |ctx, handle, state| {
        if let Err(answer) = turn(ctx, handle, state, reference) {
            return answer;
        }
        state.add(Count::WriteTries, 1);
        let sent = send(state, &[piece(&bytes)], None, &[], flags);
        answer(ctx, handle, state, reference, sent, bytes.len(), false)
    })
}

/// `nif_sendto(Socket, Binary, Address, Flags, Reference)`
pub(super) fn sendto_5(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(bytes), Some(flags), Some(reference)) = (args[1].as_binary(), flags_of(args[3]), args[4].as_local_ref())
    else {
        return badarg();
    };
    with_open(ctx, args[0], |ctx, handle, state| {
        let Some(address) = Address::of_term(args[2]) else { return invalid(ctx, am::sockaddr) };
        if let Err(answer) = turn(ctx, handle, state, reference) {
            return answer;
        }
        state.add(Count::WriteTries, 1);
        let sent = send(state, &[piece(&bytes)], Some(&address), &[], flags);
        answer(ctx, handle, state, reference, sent, bytes.len(), false)
    })
}

/// `nif_sendmsg(Socket, Message, Flags, Reference, IoVector)`
pub(super) fn sendmsg_5(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(message), Some(flags), Some(reference)) =
        (Fields::of(args[1]), flags_of(args[2]), args[3].as_local_ref())
    else {
        return badarg();
    };
    with_open(ctx, args[0], |ctx, handle, state| {
        let Some(pieces) = pieces_of(args[4]) else { return invalid(ctx, am::iov) };
        let has_more = pieces.len() > PIECES;
        if has_more && !handle.socket.is_stream() {
            return invalid(ctx, am::iov);
        }
        let address = match message.get(am::addr) {
            None => None,
            Some(term) => match Address::of_term(term) {
                None => return invalid(ctx, am::addr),
                address => address,
            },
        };
        let control = match message.get(am::ctrl) {
            None => Vec::new(),
            Some(term) => match control::bytes(term) {
                Some(bytes) => bytes,
                None => return invalid(ctx, am::ctrl),
            },
        };
        if let Err(answer) = turn(ctx, handle, state, reference) {
            return answer;
        }
        state.add(Count::WriteTries, 1);
        let vectors: Vec<libc::iovec> = pieces.iter().take(PIECES).map(|one| piece(one.bytes())).collect();
        let len = vectors.iter().map(|vector| vector.iov_len).sum();
        let sent = send(state, &vectors, address.as_ref(), &control, flags);
        answer(ctx, handle, state, reference, sent, len, has_more)
    })
}

/// The binaries of a list, as far as one call needs them, and one more.
fn pieces_of(list: Term) -> Option<Vec<Piece>> {
    let mut items = list.list_iter();
    let mut pieces = Vec::new();
    for item in items.by_ref() {
        let piece = Piece::of(item)?;
        if pieces.len() <= PIECES {
            pieces.push(piece);
        }
    }
    items.tail().is_nil().then_some(pieces)
}

/// `nif_sendfile(Socket, Reference, Offset, Count, File)`: begins to send a file.
pub(super) fn sendfile_5(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let file = crate::file::copy_of(args[4])?;
    send_file(ctx, args, Some(file))
}

/// `nif_sendfile(Socket, Reference, Offset, Count)`: goes on with it.
pub(super) fn sendfile_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    send_file(ctx, args, None)
}

/// How a file's turn ends.
enum FileEnd {
    /// All that was asked for is sent.
    Sent,
    /// The socket takes no more.
    Full,
    /// More may go, after the others that want the socket.
    GivesWay,
}

fn send_file(ctx: &mut Ctx<'_>, args: &[Term], file: Option<Result<OwnedFd, Errno>>) -> BifResult {
    let Some(reference) = args[1].as_local_ref() else { return badarg() };
    let (offset, count) = match (size_of(ctx, args[2]), size_of(ctx, args[3])) {
        (Ok(offset), Ok(count)) => (offset, count),
        (Err(answer), _) | (_, Err(answer)) => return answer,
    };
    with_open(ctx, args[0], |ctx, handle, state| {
        if let Err(answer) = turn(ctx, handle, state, reference) {
            return answer;
        }
        match file {
            Some(Ok(file)) => state.file = Some(file),
            Some(Err(errno)) => return posix::error(ctx, errno),
            None if state.file.is_none() => return raise_invalid(ctx, atom_of("state")),
            None => {}
        }
        let (mut at, mut sent) = (offset as u64, 0usize);
        let end = loop {
            let left = if count == 0 { usize::MAX } else { count - sent };
            if sent >= FILE_TURN {
                break Ok(FileEnd::GivesWay);
            }
            state.add(Count::WriteTries, 1);
            let (Some(fd), Some(file)) = (state.fd(), &state.file) else { break Err(Errno::BADF) };
            match crate::file::retry(|| rustix::fs::sendfile(fd, file, Some(&mut at), left.min(FILE_TURN - sent))) {
                Ok(0) => break Ok(FileEnd::Sent),
                Ok(now) if now >= left => {
                    sent += now;
                    break Ok(FileEnd::Sent);
                }
                Ok(now) => sent += now,
                Err(Errno::AGAIN) => break Ok(FileEnd::Full),
                Err(errno) => break Err(errno),
            }
        };
        state.add(Count::WriteBytes, sent);
        match end {
            Ok(FileEnd::Sent) => {
                state.file = None;
                state.add(Count::WritePackages, 1);
                state.next(wait::system(ctx), Side::Write, ctx.pid());
                let sent = ctx.uint(sent as u64);
                ok(ctx, sent)
            }
            Ok(FileEnd::Full) => wait_for_rest(ctx, handle, state, reference, sent),
            Ok(FileEnd::GivesWay) => {
                state.wait_told(ctx, handle, Side::Write, reference);
                let sent = ctx.uint(sent as u64);
                Ok(ctx.tuple(&[am::select.term(), sent]))
            }
            Err(errno) => {
                state.file = None;
                state.add(Count::WriteFails, 1);
                state.fail(wait::system(ctx), Side::Write, posix::atom(errno));
                posix::error(ctx, errno)
            }
        }
    })
}

/// `nif_sendfile(Socket)`: the file that is sent is closed. It goes with the socket, or when it is sent; nothing is left.
pub(super) fn sendfile_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = Handle::of(args[0])?;
    let file = handle.socket.lock().file.take();
    let _ = ctx;
    drop(file);
    Ok(Term::OK)
}
