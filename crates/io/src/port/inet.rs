//! Sockets: the drivers `tcp_inet` and `udp_inet`, in the private language that `prim_inet` speaks with them.
//!
//! A request is a `port_control/3` whose operation is a number above a magic base, and whose answer is a list of bytes: 1 and a result, or
//! 0 and the text of an error. What takes time is answered by the number of a message that comes later: `{inet_async, Socket, Number, Result}`.
//! Output by `port_command/2` is answered by the message `{inet_reply, Socket, Result}`. The numbers of requests, options and families are
//! those of OTP's `inet_int.hrl`.
//!
//! | module | holds |
//! | --- | --- |
//! | `address` | addresses in bytes, in messages and for the system |
//! | `ancillary` | what the system tells beside data |
//! | `interfaces` | the network interfaces of the machine |
//! | `messages` | what sockets send to processes |
//! | `options` | socket options |
//! | `services` | `/etc/services` |
//! | `statistics` | what `inet:getstat/1` shows |
//! | `tcp` | streams: TCP and local ones |
//! | `udp` | datagrams: UDP and local ones |
//!
//! This module has what both kinds share: [`Socket`], and the requests that they answer alike.
//!
//! IN1. A descriptor is registered with the poller once, for edges, when it first has nothing to give or takes nothing more. Whether it may
//!      have something to read is kept in [`Socket::readable`]: who wants input reads at once where that is so, and else waits for an event.

mod address;
mod ancillary;
pub(crate) mod direct;
mod interfaces;
mod messages;
mod options;
mod services;
mod statistics;
pub(super) mod tcp;
pub(super) mod udp;

use super::driver::Context;
use super::poll::{Pollers, Watch};
use super::seldom::Seldom;
use super::sender::Direct;
use crate::posix;
use crate::system::set_option;
use address::{Address, Family};
use myriad_heap::Draft;
use myriad_process::{Payload, TimerId};
use myriad_term::{Atom, Pid, TermRef};
use options::Options;
use rustix::io::Errno;
use rustix::net::{SocketFlags, SocketType};
use statistics::Statistics;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Operations are numbered from here.
const MAGIC: u64 = 0x03f1_a300;
/// A time that is none.
const FOREVER: u32 = u32::MAX;

/// The requests.
mod request {
    pub(super) const OPEN: u64 = 1;
    pub(super) const CLOSE: u64 = 2;
    pub(super) const CONNECT: u64 = 3;
    pub(super) const PEER: u64 = 4;
    pub(super) const NAME: u64 = 5;
    pub(super) const BIND: u64 = 6;
    pub(super) const SETOPTS: u64 = 7;
    pub(super) const GETOPTS: u64 = 8;
    pub(super) const GETSTAT: u64 = 11;
    pub(super) const GETHOSTNAME: u64 = 12;
    pub(super) const FDOPEN: u64 = 13;
    pub(super) const GETFD: u64 = 14;
    pub(super) const GETTYPE: u64 = 15;
    pub(super) const GETSTATUS: u64 = 16;
    pub(super) const GETSERVBYNAME: u64 = 17;
    pub(super) const GETSERVBYPORT: u64 = 18;
    pub(super) const SETNAME: u64 = 19;
    pub(super) const SETPEER: u64 = 20;
    pub(super) const GETIFLIST: u64 = 21;
    pub(super) const IFGET: u64 = 22;
    pub(super) const SUBSCRIBE: u64 = 24;
    pub(super) const GETIFADDRS: u64 = 25;
    pub(super) const ACCEPT: u64 = 26;
    pub(super) const LISTEN: u64 = 27;
    pub(super) const IGNOREFD: u64 = 28;
    pub(super) const NAMES: u64 = 29;
    pub(super) const PEERS: u64 = 30;
    pub(super) const TCP_RECEIVE: u64 = 42;
    pub(super) const UNRECEIVE: u64 = 43;
    pub(super) const SHUTDOWN: u64 = 44;
    pub(super) const SENDFILE: u64 = 45;
    pub(super) const RECEIVE: u64 = 60;
}

/// The bits of a status, as `prim_inet` names them.
mod status {
    pub(super) const OPEN: u32 = 0x01;
    pub(super) const CONNECTED: u32 = 0x04;
    pub(super) const LISTENING: u32 = 0x08;
    pub(super) const CONNECTING: u32 = 0x10;
    pub(super) const ACCEPTING: u32 = 0x20;
    pub(super) const BUSY: u32 = 0x80;
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Refusal {
    /// By the system, or as if.
    Errno(Errno),
    /// There is no socket, or no such request.
    BadPort,
    /// `port_control/3` itself fails.
    BadArgument,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Refusal {
        Refusal::Errno(errno)
    }
}

/// What a request gives: the bytes after the 1.
type Answer = Result<Vec<u8>, Refusal>;

const INVALID: Refusal = Refusal::Errno(Errno::INVAL);

/// The bytes of an answer; nothing if there is none.
fn encode(answer: Answer) -> Option<Vec<u8>> {
    let (first, rest): (u8, &[u8]) = match &answer {
        Ok(bytes) => (1, bytes),
        Err(Refusal::Errno(errno)) => (0, posix::text(*errno).as_bytes()),
        Err(Refusal::BadPort) => (0, b"exbadport"),
        Err(Refusal::BadArgument) => return None,
    };
    let mut all = Vec::with_capacity(1 + rest.len());
    all.push(first);
    all.extend_from_slice(rest);
    Some(all)
}

/// The request behind an operation's number.
fn request_of(operation: u32) -> u64 {
    u64::from(operation).wrapping_sub(MAGIC)
}

/// Takes a number off the front of the bytes.
fn take_u32(data: &mut &[u8]) -> Result<u32, Errno> {
    let (number, rest) = data.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
    *data = rest;
    Ok(u32::from_be_bytes(*number))
}

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Connect = 1,
    Accept,
    Receive,
    Send,
}

impl Purpose {
    /// The number of a timer.
    fn timer(self, number: u32) -> u64 {
        (self as u64) << 32 | u64::from(number)
    }

    fn of(timer: u64) -> Option<Purpose> {
        [Purpose::Connect, Purpose::Accept, Purpose::Receive, Purpose::Send]
            .into_iter()
            .find(|purpose| *purpose as u64 == timer >> 32)
    }
}

/// A process that waits for an answer: `{inet_async, Socket, Number, Result}`, or the result by its call.
struct Asked {
    caller: Pid,
    /// None where the call answers.
    number: Option<u16>,
    timer: Option<TimerId>,
}

impl Asked {
    /// With a time in milliseconds.
    fn new(port: &Context<'_>, caller: Pid, number: u16, time: u32, purpose: Purpose) -> Asked {
        let mut asked = Asked::without_timer(caller, number);
        if time != FOREVER {
            asked.set_timer(port, time, purpose);
        }
        asked
    }

    fn without_timer(caller: Pid, number: u16) -> Asked {
        Asked { caller, number: Some(number), timer: None }
    }

    /// One that is answered by its call, if it is answered before that returns.
    fn by_call(caller: Pid) -> Asked {
        Asked { caller, number: None, timer: None }
    }

    fn set_timer(&mut self, port: &Context<'_>, time: u32, purpose: Purpose) {
        debug_assert!(self.number.is_some(), "nobody waits for a time who is answered by the call");
        self.timer = Some(port.set_timer(u64::from(time), purpose.timer(u32::from(self.number.unwrap_or(0)))));
    }

    /// Is it the timer of this request?
    fn has_timer(&self, timer: u64) -> bool {
        self.number.is_some_and(|number| timer as u32 == u32::from(number))
    }

    /// Nobody waits any more.
    fn cancel(self, port: &Context<'_>) {
        if let Some(timer) = self.timer {
            port.cancel_timer(timer);
        }
    }

    fn answer(self, port: &mut Context<'_>, outcome: Result<(), Atom>) {
        self.answer_with(port, 0, |f| messages::result(f, outcome));
    }

    /// With a result that is built in place, of about so many words.
    fn answer_with(
        self,
        port: &mut Context<'_>,
        words: usize,
        build: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>,
    ) {
        match self.number {
            Some(number) => messages::answer_with(port, self.caller, number, words, build),
            None => port.common.direct = Some(Direct::Receive(Payload::build(words + 16, build))),
        }
        self.cancel(port);
    }
}

/// Names that a program has given a socket in place of its own (`inet:set_sockname/2`).
#[derive(Default)]
struct Told {
    name: Option<Vec<u8>>,
    peer: Option<Vec<u8>>,
}

/// A socket, open or still to be opened, of either kind.
struct Socket {
    watch: Option<Watch>,
    family: Family,
    kind: SocketType,
    options: Options,
    statistics: Statistics,
    /// There may be something to read, or its end (IN1).
    readable: bool,
    /// The end of the input has been told: a read that gives little need not be the last.
    hung_up: bool,
    /// What it was told to give as its own name and as its peer's.
    told: Seldom<Told>,
    /// Number of the latest answer to come.
    number: u16,
}

impl Socket {
    /// Still to be opened.
    fn new(kind: SocketType) -> Socket {
        Socket {
            watch: None,
            family: Family::Inet,
            kind,
            options: Options::new(kind),
            statistics: Statistics::default(),
            readable: false,
            hung_up: false,
            told: Seldom::default(),
            number: 0,
        }
    }

    fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.watch.as_ref().map(Watch::fd).ok_or(Errno::BADF)
    }

    /// Has the port told when there is something to read or to be written (IN1).
    fn wait(&mut self, port: &Context<'_>) -> Result<(), Errno> {
        match &mut self.watch {
            Some(watch) if !watch.tells_by_itself() => port.arm(watch),
            _ => Ok(()),
        }
    }

    /// Its port has moved.
    fn moved(&mut self, port: &mut Context<'_>) {
        if let Some(watch) = &mut self.watch {
            port.follow(watch);
        }
    }

    /// Takes a descriptor.
    fn take(&mut self, fd: OwnedFd) {
        self.watch = Some(Watch::of_socket(fd, self.kind == SocketType::STREAM));
        self.readable = true;
        self.hung_up = false;
    }

    /// Closes the descriptor. If the owner is gone, nobody waits for what is not sent yet: it does not linger, and the system sends that all the same.
    fn close(&mut self, port: &Context<'_>) {
        if let Some(watch) = self.watch.take() {
            if self.options.lingers && port.owner_is_gone() {
                // It fails only for what is no socket.
                let _ = set_option(watch.fd(), (libc::SOL_SOCKET, libc::SO_LINGER), &[0; 8]);
            }
            watch.close(&port.system.poll.pollers);
        }
        self.readable = false;
    }

    /// An event says what is there.
    fn note_input(&mut self, hung_up: bool) {
        self.readable = true;
        self.hung_up |= hung_up;
    }

    fn next_number(&mut self) -> u16 {
        let number = self.number;
        self.number = number.wrapping_add(1);
        number
    }

    /// Opens it anew: family and type, of which only its own is taken. With `given`, on the descriptor whose number follows,
    /// of which these pollers tell no other port from now on.
    fn open(&mut self, data: &[u8], given: Option<&Pollers>) -> Answer {
        let [family, kind, rest @ ..] = data else { return Err(INVALID) };
        if self.watch.is_some() || u32::from(*kind) != address::type_number(self.kind) {
            return Err(INVALID);
        }
        self.family = Family::of_number(*family).ok_or(INVALID)?;
        if let Some(pollers) = given {
            let fd = given_descriptor(take_u32(&mut &*rest)? as i32, self.family, self.kind)?;
            pollers.forget(fd.as_fd());
            self.take(fd);
            return Ok(Vec::new());
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (family, kind) = (self.family.system(), self.kind);
        let fd = self.options.in_namespace(|| rustix::net::socket_with(family, kind, flags, None))?;
        self.take(fd);
        Ok(Vec::new())
    }

    fn address(&self, data: &[u8]) -> Result<(Address, usize), Refusal> {
        Ok(address::decode(data, self.family)?)
    }

    fn bind(&mut self, data: &[u8]) -> Answer {
        let (to, _) = self.address(data)?;
        to.with(|to| rustix::net::bind(self.fd()?, to))?;
        let name = Address::of(rustix::net::getsockname(self.fd()?)?);
        Ok(name.port().to_be_bytes().to_vec())
    }

    fn name(&self) -> Answer {
        match self.told.get().and_then(|told| told.name.as_ref()) {
            Some(name) => Ok(name.clone()),
            None => Ok(Address::of(rustix::net::getsockname(self.fd()?)?).encode()),
        }
    }

    fn peer(&self, connected: bool) -> Answer {
        match self.told.get().and_then(|told| told.peer.as_ref()) {
            Some(peer) => Ok(peer.clone()),
            None if !connected => Err(Errno::NOTCONN.into()),
            None => Ok(rustix::net::getpeername(self.fd()?)?.map_or(Address::Unspecified, Address::of).encode()),
        }
    }

    /// A name that it is told to give from now on; none to give its own again.
    fn told(&self, data: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        if data.is_empty() {
            return Ok(None);
        }
        if data.len() < 2 {
            return Err(INVALID);
        }
        Ok(Some(self.address(data)?.0.encode()))
    }

    /// Family and type.
    fn kind(&self) -> Vec<u8> {
        [u32::from(self.family.number()).to_be_bytes(), address::type_number(self.kind).to_be_bytes()].concat()
    }

    /// What both kinds answer alike; nothing if it is something else. `status` are the bits of its status, `queued` the bytes that wait.
    fn answer(&mut self, request: u64, data: &[u8], status: u32, queued: usize) -> Option<Answer> {
        let is_open = self.watch.is_some();
        Some(match request {
            request::BIND if data.len() < 2 => Err(INVALID),
            request::BIND if status != status::OPEN => Err(Refusal::BadPort),
            request::BIND => self.bind(data),
            request::NAME => self.name(),
            request::PEER => self.peer(status & status::CONNECTED != 0),
            // All names, which for these kinds is the one.
            request::NAMES => self.name(),
            request::PEERS => self.peer(status & status::CONNECTED != 0),
            request::SETNAME => self.told(data).map(|name| self.told.get_mut().name = name).map(|()| Vec::new()),
            request::SETPEER => self.told(data).map(|peer| self.told.get_mut().peer = peer).map(|()| Vec::new()),
            request::GETOPTS => self.options.get(self.fd().ok(), self.family, data).map_err(Refusal::from),
            request::GETSTAT => self.statistics.show(data, queued).ok_or(Refusal::BadArgument),
            request::GETHOSTNAME => Ok(rustix::system::uname().nodename().to_bytes().to_vec()),
            request::GETFD => self.fd().map(|fd| fd.as_raw_fd().to_be_bytes().to_vec()).map_err(|_| INVALID),
            request::GETTYPE => Ok(self.kind()),
            request::GETSTATUS => Ok(status.to_be_bytes().to_vec()),
            request::GETSERVBYNAME => services::port(data).ok_or(INVALID),
            request::GETSERVBYPORT => services::name(data).ok_or(INVALID),
            request::IGNOREFD if self.kind == SocketType::STREAM && status & status::CONNECTED == 0 => {
                Err(Errno::NOTCONN.into())
            }
            request::IGNOREFD => Ok(Vec::new()),
            request::GETIFADDRS | request::GETIFLIST | request::IFGET if !is_open => Err(Refusal::BadPort),
            request::GETIFADDRS => interfaces::addresses().map_err(Refusal::from),
            request::GETIFLIST => interfaces::names().map_err(Refusal::from),
            request::IFGET => interfaces::show(data).map_err(Refusal::from),
            _ => return None,
        })
    }
}

/// A descriptor that a program has from elsewhere, if it is a socket of the kind. It is the port's from now on.
fn given_descriptor(number: i32, family: Family, kind: SocketType) -> Result<OwnedFd, Errno> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY: only looked at; a number without a descriptor gives an error.
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    if rustix::net::sockopt::socket_type(given)? != kind
        || rustix::net::sockopt::socket_domain(given)? != family.system()
    {
        return Err(Errno::INVAL);
    }
    let flags = rustix::fs::fcntl_getfl(given)?;
    rustix::fs::fcntl_setfl(given, flags | rustix::fs::OFlags::NONBLOCK)?;
    // SAFETY: it is an open socket, and `fd` options hand it over (`gen_tcp`, option `fd`): nobody else closes it.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    debug_assert_eq!(fd.as_fd().as_raw_fd(), number);
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_before_the_socket_is_open() {
        let mut socket = Socket::new(SocketType::STREAM);
        let mut ask = |request, data: &[u8]| socket.answer(request, data, 0, 0).and_then(encode);
        assert_eq!(ask(request::BIND, &[3, 0, 0]).as_deref(), Some(&b"\0exbadport"[..]));
        assert_eq!(ask(request::NAME, &[]).as_deref(), Some(&b"\0ebadf"[..]));
        assert_eq!(ask(request::PEER, &[]).as_deref(), Some(&b"\0enotconn"[..]));
        assert_eq!(ask(request::GETFD, &[]).as_deref(), Some(&b"\0einval"[..]));
        assert_eq!(ask(request::GETSTAT, &[99]), None);
        assert_eq!(ask(request::ACCEPT, &[]), None);
        assert_eq!(socket.open(&[1, 2], None), Err(INVALID), "datagrams are for the other driver");
        assert_eq!(socket.open(&[], None), Err(INVALID));
        assert_eq!(given_descriptor(-1, Family::Inet, SocketType::STREAM).err(), Some(Errno::BADF));
    }
}
