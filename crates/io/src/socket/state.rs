//! What a socket is.
//!
//! SO1. What changes of a socket is under its lock, and so is each call of the system for it: none of them waits. What is asked of the system
//!      and found not ready is waited for (`wait.rs`) before the lock is left.
//! SO2. A socket is closed once: by its closer, or when its owner ends. The descriptor goes with it: a closer, who may linger, gives it back
//!      after the lock.
//! SO3. Who waits keeps the socket by a reference. The socket keeps those who wait, until they are answered, cancelled or ended.

use super::owners::Sockets;
use super::wait::{Queue, Waiter};
use crate::port::{System, Watch, arm_socket};
use myriad_process::Payload;
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::{Magic, Pid, Term, am};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

static STATE_CLASS: LockClass = LockClass::new("socket", 320);

/// Sizes of buffers in bytes, where a program does not set them.
pub(super) const BUFFER: usize = 8192;
pub(super) const CONTROL: usize = 1024;

/// What a side of a socket is in, as `socket:info/1` names it: a bit each.
pub(super) mod flag {
    pub(crate) const BOUND: u16 = 1;
    pub(crate) const LISTENING: u16 = 2;
    pub(crate) const ACCEPTING: u16 = 4;
    pub(crate) const CONNECTING: u16 = 8;
    pub(crate) const CONNECTED: u16 = 16;
    pub(crate) const SELECTED: u16 = 32;
    pub(crate) const CLOSING: u16 = 64;
    pub(crate) const CLOSED: u16 = 128;
    pub(crate) const NAMES: [&str; 8] =
        ["bound", "listening", "accepting", "connecting", "connected", "selected", "closing", "closed"];
}

/// What is counted of a socket: the names of `socket:info/1`, by [`State::counters`].
#[derive(Clone, Copy)]
pub(super) enum Count {
    AcceptFails,
    AcceptSuccess,
    AcceptTries,
    AcceptWaits,
    ReadBytes,
    ReadFails,
    ReadPackages,
    ReadLargest,
    ReadTries,
    /// OTP has a counter of waits of readers between these, and never counts one.
    WriteBytes = 10,
    WriteFails,
    WritePackages,
    WriteLargest,
    WriteTries,
    WriteWaits,
}

/// Their names, in order.
pub(super) const COUNTERS: [&str; 16] = [
    "acc_fails",
    "acc_success",
    "acc_tries",
    "acc_waits",
    "read_byte",
    "read_fails",
    "read_pkg",
    "read_pkg_max",
    "read_tries",
    "read_waits",
    "write_byte",
    "write_fails",
    "write_pkg",
    "write_pkg_max",
    "write_tries",
    "write_waits",
];

/// Domain, type and protocol, as the system numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    pub(super) domain: i32,
    pub(super) kind: i32,
    pub(super) protocol: i32,
}

/// What a program sets for a socket and the system does not know of.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    pub(super) debug: bool,
    /// Is a counter's wrapping told of? With 64 bits none wraps.
    pub(super) iow: bool,
    /// The registry is told of it.
    pub(super) registered: bool,
    /// Room for what is received without a length, and how often it is filled at most (0: as often as there is something).
    pub(super) buffer: usize,
    pub(super) fills: usize,
    pub(super) control_in: usize,
    pub(super) control_out: usize,
}

/// Where a socket's descriptor comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// It was opened or accepted.
    Opened,
    /// It is another's, which closes it.
    Lent,
    /// A copy of the one of this number.
    CopyOf(i32),
}

/// A socket.
pub(super) struct Socket {
    pub(super) sockets: &'static Sockets,
    pub(super) kind: Kind,
    pub(super) origin: Origin,
    state: Mutex<State>,
}

/// What changes of it.
pub(super) struct State {
    watch: Option<Watch>,
    /// Its number at the poller, once it has waited.
    number: Option<u64>,
    pub(super) owner: Option<Pid>,
    pub(super) reading: u16,
    pub(super) writing: u16,
    pub(super) readers: Queue,
    pub(super) acceptors: Queue,
    pub(super) writers: Queue,
    pub(super) connector: Option<Waiter>,
    pub(super) counters: [u64; COUNTERS.len()],
    pub(super) settings: Settings,
    /// The option `meta`.
    pub(super) meta: Payload,
    /// How often the buffer was filled in a row.
    pub(super) filled: usize,
    /// What `sendfile` sends.
    pub(super) file: Option<OwnedFd>,
}

impl Socket {
    /// Of an open descriptor that does not block.
    pub(super) fn new(
        sockets: &'static Sockets,
        (fd, origin): (OwnedFd, Origin),
        kind: Kind,
        owner: Pid,
        settings: Settings,
    ) -> Socket {
        // What others opened they may have connected.
        let is_connected = origin != Origin::Opened && rustix::net::getpeername(&fd).is_ok();
        let watch = Watch::of_socket(fd, true);
        let state = State {
            watch: Some(if origin == Origin::Lent { watch.lent() } else { watch }),
            number: None,
            owner: Some(owner),
            reading: 0,
            writing: if is_connected { flag::CONNECTED } else { 0 },
            readers: Queue::default(),
            acceptors: Queue::default(),
            writers: Queue::default(),
            connector: None,
            counters: [0; COUNTERS.len()],
            settings,
            meta: Payload::immediate(Term::UNDEFINED),
            filled: 0,
            file: None,
        };
        sockets.count(kind, true);
        Socket { sockets, kind, origin, state: Mutex::new(&STATE_CLASS, state) }
    }

    /// Is it one of bytes in a row, whose end can come?
    pub(super) fn is_stream(&self) -> bool {
        self.kind.kind == libc::SOCK_STREAM
    }

    /// Its state, for as long as it is held.
    pub(super) fn lock(&self) -> myriad_sync::MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if let Some(number) = state.number {
            self.sockets.forget(number);
        }
        if let Some(watch) = state.watch.take() {
            self.sockets.count(self.kind, false);
            watch.end();
        }
    }
}

impl State {
    /// The descriptor; nothing once it is closed.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(Watch::fd)
    }

    /// Its number.
    pub(super) fn raw_fd(&self) -> i32 {
        self.fd().map_or(-1, |fd| fd.as_raw_fd())
    }

    /// Is it open?
    pub(super) fn is_open(&self) -> bool {
        self.watch.is_some() && self.reading & (flag::CLOSING | flag::CLOSED) == 0
    }

    /// Adds to a counter.
    pub(super) fn add(&mut self, count: Count, by: usize) {
        let counter = &mut self.counters[count as usize];
        *counter = counter.wrapping_add(by as u64);
    }

    /// Raises a counter to this, if it is lower.
    pub(super) fn raise(&mut self, count: Count, to: usize) {
        let counter = &mut self.counters[count as usize];
        *counter = (*counter).max(to as u64);
    }

    /// Has the poller tell of the descriptor, from now on (io/IN1).
    pub(super) fn arm(&mut self, system: &System, socket: &Arc<Socket>) -> std::io::Result<()> {
        let number = *self.number.get_or_insert_with(|| socket.sockets.note(socket));
        match &mut self.watch {
            Some(watch) if !watch.tells_by_itself() => Ok(arm_socket(system, watch, number)?),
            _ => Ok(()),
        }
    }

    /// Gives the descriptor back (SO2).
    pub(super) fn take_watch(&mut self, socket: &Socket) -> Option<Watch> {
        if let Some(number) = self.number.take() {
            socket.sockets.forget(number);
        }
        let watch = self.watch.take()?;
        socket.sockets.count(socket.kind, false);
        Some(watch)
    }
}

/// A socket that a term refers to.
pub(super) struct Handle {
    pub(super) magic: Magic,
    pub(super) socket: Arc<Socket>,
}

impl Handle {
    /// Of a reference; `badarg` if it is to no socket.
    pub(super) fn of(term: Term) -> Result<Handle, Escape> {
        let Some(magic) = term.as_magic() else { return badarg() };
        match magic.get::<Arc<Socket>>() {
            Some(socket) => Ok(Handle { socket: socket.clone(), magic: Magic::clone(&magic) }),
            None => badarg(),
        }
    }
}

/// Calls with a socket that is open and its state; `{error, closed}` if it is not.
pub(super) fn with_open(
    ctx: &mut Ctx<'_>,
    term: Term,
    call: impl FnOnce(&mut Ctx<'_>, &Handle, &mut State) -> BifResult,
) -> BifResult {
    let handle = Handle::of(term)?;
    let mut state = handle.socket.lock();
    if !state.is_open() {
        return super::terms::error(ctx, am::closed);
    }
    ctx.bump(10);
    call(ctx, &handle, &mut state)
}
