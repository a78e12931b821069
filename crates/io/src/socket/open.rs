//! Opening and closing.

use super::address::family_number;
use super::owners::Sockets;
use super::state::{BUFFER, CONTROL, Count, Handle, Kind, Origin, Settings, Socket, State, flag, with_open};
use super::terms::{Fields, atom_of, error, invalid, ok, raise_invalid};
use super::wait::{self, Side};
use crate::port::{System, Watch, close_socket};
use crate::posix;
use crate::system::{get_option, in_namespace, last_error, set_option};
use myriad_sync::Arc;
use myriad_term::{Magic, Pid, Term, am};
use myriad_vm::bif::{DirtyKind, Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Types of sockets by name.
pub(super) const TYPES: [(&str, i32); 5] = [
    ("stream", libc::SOCK_STREAM),
    ("dgram", libc::SOCK_DGRAM),
    ("raw", libc::SOCK_RAW),
    ("rdm", libc::SOCK_RDM),
    ("seqpacket", libc::SOCK_SEQPACKET),
];

/// The number of a type: by its name, or itself.
fn type_number(term: Term) -> Option<i32> {
    match term.as_atom() {
        Some(name) => TYPES.iter().find(|(text, _)| name.text() == *text).map(|(_, number)| *number),
        None => term.as_small().and_then(|number| i32::try_from(number).ok()),
    }
}

/// A type: its name, if it has one, else its number.
pub(super) fn type_term(number: i32) -> Term {
    let named = TYPES.iter().find(|(_, of)| *of == number);
    named.map_or(Term::small(i64::from(number)), |(text, _)| atom_of(text))
}

/// What the options `debug` and `use_registry` say.
fn settings(sockets: &Sockets, options: Fields) -> Option<Settings> {
    let truth = |key, default| match options.get_by(key) {
        None => Some(default),
        Some(value) => value.as_bool(),
    };
    Some(Settings {
        debug: truth("debug", sockets.defaults.socket_debug())?,
        iow: false,
        registered: truth("use_registry", sockets.defaults.use_registry())?,
        buffer: BUFFER,
        fills: 0,
        control_in: CONTROL,
        control_out: CONTROL,
    })
}

/// A reference to a socket of the caller's, which the registry is told of.
fn reference(ctx: &mut Ctx<'_>, from: (OwnedFd, Origin), kind: Kind, settings: Settings) -> Term {
    let sockets = Sockets::of(ctx.vm);
    let socket = Arc::new(Socket::new(sockets, from, kind, ctx.pid(), settings));
    let numbers = ctx.sched.next_ref();
    let magic = Magic::new::<Arc<Socket>>(numbers, socket.clone());
    sockets.owners.owns(ctx.pid(), &socket, magic.clone());
    if settings.registered {
        wait::tell_registry(wait::system(ctx), am::add, &magic);
    }
    if ctx.process.must_take_back() {
        // It has ended while this opened the socket for it, and closed those that it had.
        sockets.process_ends(ctx.vm, ctx.pid());
    }
    myriad_term::magic::magic_reference(ctx, magic)
}

/// `nif_open(Domain, Type, Protocol, Options)`
pub(super) fn open_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(protocol), Some(options)) = (args[2].as_small(), Fields::of(args[3])) else { return badarg() };
    let Ok(protocol) = i32::try_from(protocol) else { return badarg() };
    let Some(domain) = family_number(args[0]) else { return invalid(ctx, am::domain) };
    let Some(kind) = type_number(args[1]) else { return invalid(ctx, am::type_) };
    let Some(settings) = settings(Sockets::of(ctx.vm), options) else { return badarg() };
    let netns = match options.get_by("netns") {
        None => None,
        Some(path) => match path.as_binary() {
            Some(path) => Some(path.into_owned()),
            None => return badarg(),
        },
    };
    let opened = in_namespace(netns.as_deref(), || {
        // SAFETY: numbers only.
        let fd = unsafe { libc::socket(domain, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, protocol) };
        // SAFETY: a descriptor that is new and nobody else's.
        if fd < 0 { Err(last_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
    });
    match opened {
        Ok(fd) => {
            let raw = fd.as_raw_fd();
            let protocol = if protocol == 0 { own_number(raw, libc::SO_PROTOCOL).unwrap_or(0) } else { protocol };
            let socket = reference(ctx, (fd, Origin::Opened), Kind { domain, kind, protocol }, settings);
            ok(ctx, socket)
        }
        Err(errno) => posix::error(ctx, errno),
    }
}

/// An option of a descriptor that may be none.
fn raw_option(fd: i32, option: i32, most: usize) -> Option<Vec<u8>> {
    // SAFETY: only for a call that fails if the number is no open descriptor.
    let fd = (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })?;
    get_option(fd, (libc::SOL_SOCKET, option), most).ok()
}

/// What the system says a socket is.
fn own_number(fd: i32, option: i32) -> Option<i32> {
    raw_option(fd, option, 4)?.first_chunk::<4>().map(|four| i32::from_ne_bytes(*four))
}

/// `nif_open(Descriptor, Options)`: of a descriptor that is open, or a copy of it.
pub(super) fn open_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(number), Some(options)) = (args[0].as_small(), Fields::of(args[1])) else { return badarg() };
    let Ok(number) = i32::try_from(number) else { return badarg() };
    let Some(settings) = settings(Sockets::of(ctx.vm), options) else { return badarg() };
    let given = |key| options.get_by(key);
    // The options say only what the system does not.
    let domain = own_number(number, libc::SO_DOMAIN).or_else(|| given("domain").and_then(family_number));
    let kind = own_number(number, libc::SO_TYPE).or_else(|| given("type").and_then(type_number));
    let given_protocol = || given("protocol").and_then(Term::as_small).and_then(|number| i32::try_from(number).ok());
    let protocol = own_number(number, libc::SO_PROTOCOL).or_else(given_protocol).unwrap_or(0);
    let Some(domain) = domain else { return invalid(ctx, am::domain) };
    let Some(kind) = kind else { return invalid(ctx, am::type_) };
    let dup = match given("dup") {
        None => true,
        Some(dup) => match dup.as_bool() {
            Some(dup) => dup,
            None => return badarg(),
        },
    };
    match taken(number, dup) {
        Ok(fd) => {
            let origin = if dup { Origin::CopyOf(number) } else { Origin::Lent };
            let socket = reference(ctx, (fd, origin), Kind { domain, kind, protocol }, settings);
            ok(ctx, socket)
        }
        Err(errno) => posix::error(ctx, errno),
    }
}

/// The descriptor of this number, or a copy, which does not block from now on.
fn taken(number: i32, dup: bool) -> Result<OwnedFd, Errno> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: only for calls that fail if the number is no open descriptor.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = rustix::fs::fcntl_getfl(borrowed)?;
    // A copy shares them.
    rustix::fs::fcntl_setfl(borrowed, flags | rustix::fs::OFlags::NONBLOCK)?;
    if dup {
        Ok(rustix::io::fcntl_dupfd_cloexec(borrowed, 0)?)
    } else {
        // SAFETY: it is open, and never closed by this, as the socket is `Origin::Lent` (as by OTP). Whoever owns it may close it before, and
        // the number may be another's then: every use of it is a system call, which meets that one or fails.
        Ok(unsafe { OwnedFd::from_raw_fd(number) })
    }
}

/// Closes a socket that is open, but for its descriptor, which the caller [closes](close_socket) when it has left the lock: those that wait are told so.
#[must_use]
fn close_but_descriptor(system: &System, socket: &Arc<Socket>, state: &mut State) -> Option<Watch> {
    state.reading |= flag::CLOSING | flag::CLOSED;
    state.writing |= flag::CLOSING | flag::CLOSED;
    state.abort_all(system, am::closed);
    state.owner = None;
    state.file = None;
    state.take_watch(socket)
}

/// Closes a socket that is open because its owner is gone. Nobody waits for what is not sent yet, so it does not linger: the system sends that
/// all the same.
pub(super) fn close_unowned(system: &System, socket: &Arc<Socket>, state: &mut State) {
    let Some(watch) = close_but_descriptor(system, socket, state) else { return };
    if lingers(watch.fd().as_raw_fd()) {
        // It fails only for what is no socket.
        let _ = set_option(watch.fd(), (libc::SOL_SOCKET, libc::SO_LINGER), &[0; 8]);
    }
    close_socket(system, watch);
}

/// `nif_close(Socket)`: from now on nothing can be done with it, but [`finalize_close_1`].
pub(super) fn close_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_open(ctx, args[0], |ctx, _, state| {
        state.reading |= flag::CLOSING;
        state.writing |= flag::CLOSING;
        state.abort_all(wait::system(ctx), am::closed);
        Ok(Term::OK)
    })
}

/// `nif_finalize_close(Socket)`: the descriptor goes.
pub(super) fn finalize_close_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = Handle::of(args[0])?;
    let mut state = handle.socket.lock();
    let system = wait::system(ctx);
    if state.fd().is_none() {
        return error(ctx, am::closed);
    }
    if state.reading & flag::CLOSING == 0 {
        return raise_invalid(ctx, atom_of("state"));
    }
    // To close one that lingers may wait.
    if lingers(state.raw_fd()) && !ctx.sched.dirty {
        return Err(Escape::Dirty(DirtyKind::Io));
    }
    let owner = state.owner;
    let watch = close_but_descriptor(system, &handle.socket, &mut state);
    let registered = state.settings.registered;
    drop(state);
    if let Some(watch) = watch {
        close_socket(system, watch);
    }
    forget(owner, &handle);
    if registered {
        wait::tell_registry(system, am::del, &handle.magic);
    }
    ctx.bump(50);
    Ok(Term::OK)
}

fn forget(owner: Option<Pid>, handle: &Handle) {
    if let Some(owner) = owner {
        handle.socket.sockets.owners.forget(owner, &handle.socket);
    }
}

fn lingers(fd: i32) -> bool {
    let value = raw_option(fd, libc::SO_LINGER, 8);
    value
        .is_some_and(|bytes| bytes.iter().take(4).any(|byte| *byte != 0) && bytes.iter().skip(4).any(|byte| *byte != 0))
}

/// `nif_accept(Socket, Reference)`
pub(super) fn accept_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(reference_of) = args[1].as_local_ref() else { return badarg() };
    let mut accepted = None;
    let answer = with_open(ctx, args[0], |ctx, handle, state| {
        match state.turn(ctx, handle, Side::Accept, wait::Patience::Message(reference_of)) {
            wait::Turn::Tries => {}
            wait::Turn::Queued => return Ok(am::select.term()),
            wait::Turn::Again => return raise_invalid(ctx, atom_of("state")),
        }
        match accept(state) {
            Ok(fd) => {
                state.add(Count::AcceptSuccess, 1);
                state.writing |= flag::CONNECTED;
                state.next(wait::system(ctx), Side::Accept, ctx.pid());
                accepted = Some((fd, handle.socket.kind, state.settings));
                Ok(Term::OK)
            }
            Err(Errno::AGAIN) => {
                if state.acceptors.len() > 0 {
                    state.add(Count::AcceptWaits, 1);
                }
                state.wait_answer(ctx, handle, Side::Accept, reference_of)
            }
            Err(errno) => {
                state.add(Count::AcceptFails, 1);
                state.fail(wait::system(ctx), Side::Accept, posix::atom(errno));
                posix::error(ctx, errno)
            }
        }
    });
    // No lock is held now, as the end of the caller may be met.
    match accepted {
        None => answer,
        Some((fd, kind, settings)) => {
            let socket = reference(ctx, (fd, Origin::Opened), kind, settings);
            ok(ctx, socket)
        }
    }
}

/// Takes a connection.
fn accept(state: &mut State) -> Result<OwnedFd, Errno> {
    state.add(Count::AcceptTries, 1);
    let flags = rustix::net::SocketFlags::NONBLOCK | rustix::net::SocketFlags::CLOEXEC;
    rustix::net::accept_with(state.fd().ok_or(Errno::BADF)?, flags)
}
