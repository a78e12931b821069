//! The driver `udp_inet`: UDP sockets, in the private language that `prim_inet` speaks with it.
//!
//! A request is a `port_control/3` whose operation is a number above a magic base, and whose answer is a list of bytes:
//! 1 and a result, or 0 and the text of an error. Datagrams go out by `port_command/2`, each answered by a message
//! `{inet_reply, Socket, Result}`; they come in as `{udp, Socket, Ip, Port, Data}` (active), or as the answer
//! `{inet_async, Socket, Number, Result}` to a request to receive (passive).

mod address;
mod options;

use super::driver::{Context, Driver, DriverType, Opened};
use super::options::Target;
use super::poll::{Side, Watch};
use crate::bytes::Piece;
use crate::posix;
use address::Address;
use myriad_heap::{Draft, Payload};
use myriad_process::{Message, TimerId};
use myriad_term::{Atom, Build, Pid, Term, TermRef, am};
use myriad_vm::Signal;
use options::Active;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

pub(super) static DRIVER: DriverType = DriverType::new("udp_inet", |target, _| match target {
    Target::Spawn(line) | Target::Driver(line) => {
        Ok(Opened { driver: Box::new(Udp::new()), name: line.clone(), os_pid: None })
    }
    _ => Err(am::badarg),
});

/// Operations are numbered from here.
const MAGIC: u64 = 0x03f1_a300;
/// Datagrams that an active socket takes in one go.
const READS: usize = 5;

/// The requests.
mod request {
    pub(super) const OPEN: u64 = 1;
    pub(super) const CONNECT: u64 = 3;
    pub(super) const PEER: u64 = 4;
    pub(super) const NAME: u64 = 5;
    pub(super) const BIND: u64 = 6;
    pub(super) const SETOPTS: u64 = 7;
    pub(super) const GETOPTS: u64 = 8;
    pub(super) const GETSTAT: u64 = 11;
    pub(super) const GETHOSTNAME: u64 = 12;
    pub(super) const GETFD: u64 = 14;
    pub(super) const GETTYPE: u64 = 15;
    pub(super) const GETSTATUS: u64 = 16;
    pub(super) const GETSERVBYNAME: u64 = 17;
    pub(super) const GETSERVBYPORT: u64 = 18;
    pub(super) const SUBSCRIBE: u64 = 24;
    pub(super) const GETIFLIST: u64 = 21;
    pub(super) const GETIFADDRS: u64 = 25;
    pub(super) const IGNOREFD: u64 = 28;
    pub(super) const RECEIVE: u64 = 60;
}

/// A process that waits for a datagram.
struct Receive {
    caller: Pid,
    number: u16,
    timer: Option<TimerId>,
}

#[derive(Default)]
struct Statistics {
    received: u64,
    received_bytes: u64,
    received_most: u64,
    sent: u64,
    sent_bytes: u64,
    sent_most: u64,
}

/// A socket, open or still to be opened.
struct Udp {
    socket: Option<Watch>,
    family: AddressFamily,
    connected: bool,
    bound: bool,
    settings: options::Local,
    receive: Option<Receive>,
    /// Number of the next answer.
    next: u16,
    statistics: Statistics,
}

/// What a request gives: the bytes after the 1, or an error.
type Answer = Result<Vec<u8>, Errno>;

impl Udp {
    fn new() -> Udp {
        Udp {
            socket: None,
            family: AddressFamily::UNSPEC,
            connected: false,
            bound: false,
            settings: options::Local::default(),
            receive: None,
            next: 0,
            statistics: Statistics::default(),
        }
    }

    fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.socket.as_ref().map(Watch::fd).ok_or(Errno::INVAL)
    }

    /// Does anybody want datagrams?
    fn listens(&self) -> bool {
        self.settings.active != Active::No || self.receive.is_some()
    }

    fn arm(&mut self, port: &Context<'_>) -> Result<(), Errno> {
        match &mut self.socket {
            Some(socket) if self.settings.active != Active::No || self.receive.is_some() => port.arm(socket),
            _ => Ok(()),
        }
    }

    fn open(&mut self, data: &[u8]) -> Answer {
        let [family, kind, ..] = data else { return Err(Errno::INVAL) };
        if self.socket.is_some() || *kind != address::TYPE_DATAGRAM {
            return Err(Errno::INVAL);
        }
        self.family = match *family {
            address::INET => AddressFamily::INET,
            address::INET6 => AddressFamily::INET6,
            _ => return Err(Errno::AFNOSUPPORT),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd: OwnedFd = rustix::net::socket_with(self.family, SocketType::DGRAM, flags, None)?;
        self.socket = Some(Watch::new(fd, Side::Input));
        Ok(Vec::new())
    }

    fn address(&self, data: &[u8]) -> Result<(Address, usize), Errno> {
        address::decode(data, self.family == AddressFamily::INET6).ok_or(Errno::INVAL)
    }

    fn bind(&mut self, data: &[u8]) -> Answer {
        let (Address::Socket(to), _) = self.address(data)? else { return Err(Errno::INVAL) };
        rustix::net::bind(self.fd()?, &to)?;
        self.bound = true;
        Ok(self.name()?.port().to_be_bytes().to_vec())
    }

    fn name(&self) -> Result<SocketAddr, Errno> {
        SocketAddr::try_from(rustix::net::getsockname(self.fd()?)?)
    }

    fn peer(&self) -> Result<SocketAddr, Errno> {
        let peer = rustix::net::getpeername(self.fd()?)?.ok_or(Errno::NOTCONN)?;
        SocketAddr::try_from(peer)
    }

    fn connect(&mut self, address: &[u8]) -> Result<(), Errno> {
        let (Address::Socket(to), _) = self.address(address)? else { return Err(Errno::INVAL) };
        rustix::net::connect(self.fd()?, &to)?;
        self.connected = true;
        Ok(())
    }

    fn status(&self) -> Vec<u8> {
        // The bits that `prim_inet` names open, bound and connected; OTP shows only the latest of the two.
        let bits: u32 = match (self.socket.is_some(), self.connected, self.bound) {
            (false, ..) => 0,
            (_, true, _) => 5,
            (_, _, true) => 3,
            _ => 1,
        };
        bits.to_be_bytes().to_vec()
    }

    /// The type in `prim_inet`'s numbers.
    fn kind(&self) -> Vec<u8> {
        let family = if self.family == AddressFamily::INET6 { address::INET6 } else { address::INET };
        [u32::from(family).to_be_bytes(), u32::from(address::TYPE_DATAGRAM).to_be_bytes()].concat()
    }

    fn statistics(&self, wanted: &[u8]) -> Answer {
        let s = &self.statistics;
        let mean = |sum: u64, count: u64| sum.checked_div(count).unwrap_or(0);
        let mut out = Vec::new();
        for item in wanted {
            let value = match item {
                1 => s.received,
                2 => s.received_most,
                3 => mean(s.received_bytes, s.received),
                5 => s.sent,
                6 => s.sent_most,
                7 => mean(s.sent_bytes, s.sent),
                4 | 8 => 0,
                9 => s.received_bytes,
                10 => s.sent_bytes,
                _ => return Err(Errno::INVAL),
            };
            out.push(*item);
            // Byte counts have 64 bits, all others 32.
            if *item >= 9 { out.extend(value.to_be_bytes()) } else { out.extend((value as u32).to_be_bytes()) }
        }
        Ok(out)
    }

    fn next_number(&mut self) -> u16 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Sends one datagram: address, length of ancillary data, ancillary data, data.
    fn send(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let (to, used) = self.address(bytes)?;
        let rest = bytes.get(used..).ok_or(Errno::INVAL)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
        if u32::from_be_bytes(*length) != 0 {
            return Err(Errno::NOTSUP);
        }
        let fd = self.fd()?;
        let connected = self.connected;
        crate::file::retry(|| match &to {
            Address::Unspecified => rustix::net::send(fd, rest, SendFlags::NOSIGNAL),
            Address::Socket(to) if connected && to.port() == 0 => rustix::net::send(fd, rest, SendFlags::NOSIGNAL),
            Address::Socket(to) => rustix::net::sendto(fd, rest, SendFlags::NOSIGNAL, to),
        })?;
        let size = rest.len() as u64;
        self.statistics.sent += 1;
        self.statistics.sent_bytes += size;
        self.statistics.sent_most = self.statistics.sent_most.max(size);
        Ok(())
    }
}

/// The port of a service, or its name, from the system's list.
fn service(data: &[u8], by_name: bool) -> Answer {
    const SERVICES: &str = "/etc/services";
    let text = std::fs::read_to_string(SERVICES).map_err(|_| Errno::INVAL)?;
    let mut lines = text.lines().map(|l| l.split('#').next().unwrap_or(""));
    let word = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let counted = |data: &'_ [u8]| -> Option<(String, usize)> {
        let len = usize::from(*data.first()?);
        Some((word(data.get(1..=len)?), len + 1))
    };
    let fields = |line: &str| -> Option<(Vec<String>, u16, String)> {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (name, number) = (words.next()?, words.next()?);
        let (port, protocol) = number.split_once('/')?;
        let names = std::iter::once(name).chain(words).collect();
        Some((names, port.parse().ok()?, protocol.to_owned()))
    };
    if by_name {
        let (name, used) = counted(data).ok_or(Errno::INVAL)?;
        let (protocol, _) = counted(&data[used..]).ok_or(Errno::INVAL)?;
        let found = lines.find_map(|l| fields(l).filter(|(names, _, p)| *p == protocol && names.contains(&name)));
        return found.map(|(_, port, _)| port.to_be_bytes().to_vec()).ok_or(Errno::INVAL);
    }
    let (port, rest) = data.split_first_chunk::<2>().ok_or(Errno::INVAL)?;
    let (protocol, _) = counted(rest).ok_or(Errno::INVAL)?;
    let port = u16::from_be_bytes(*port);
    let found = lines.find_map(|l| fields(l).filter(|(_, n, p)| *n == port && *p == protocol));
    found.and_then(|(names, ..)| names.into_iter().next()).map(String::into_bytes).ok_or(Errno::INVAL)
}

/// Sends a process a message.
fn send_message(port: &Context<'_>, to: Pid, build: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>) {
    port.system.signal(to, Signal::Message(Message::new(Payload::build(48, build), Term::NONE)));
}

/// `{inet_async, Socket, Number, ok | {error, Reason}}`
fn answer(port: &Context<'_>, to: Pid, number: u16, result: Result<(), Fail>) {
    send_message(port, to, |f| {
        let result = result_term(f, result);
        f.tuple(&[am::inet_async.term(), port.port.id.term(), Term::small(i64::from(number)), result])
    });
}

/// The socket is passive now, without having been told so.
fn tell_passive(port: &Context<'_>) {
    send_message(port, port.owner(), |f| f.tuple(&[am::udp_passive.term(), port.port.id.term()]));
}

impl Driver for Udp {
    /// Sends a datagram, and answers `{inet_reply, Socket, Result}`.
    fn output(&mut self, port: &mut Context<'_>, sender: Pid, data: Piece) {
        let result = self.send(data.bytes()).map_err(Fail::Posix);
        send_message(port, sender, |f| {
            let result = result_term(f, result);
            f.tuple(&[am::inet_reply.term(), port.port.id.term(), result])
        });
    }

    fn control(&mut self, port: &mut Context<'_>, caller: Pid, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        let request = u64::from(operation).wrapping_sub(MAGIC);
        Some(match self.request(port, caller, request, data) {
            Ok(answer) => [&[1], answer.as_slice()].concat(),
            Err(None) => [&[0], b"exbadport".as_slice()].concat(),
            Err(Some(errno)) => [&[0], posix::text(errno).as_bytes()].concat(),
        })
    }

    fn ready_input(&mut self, port: &mut Context<'_>, _: bool, buffer: &mut [u8]) {
        for _ in 0..READS {
            if !port.is_open() || !self.listens() {
                return;
            }
            let Ok(fd) = self.fd() else { return };
            let room = buffer.len().min(self.settings.buffer);
            match rustix::net::recvfrom(fd, &mut buffer[..room], RecvFlags::empty()) {
                Ok((n, _, from)) => {
                    let size = n as u64;
                    self.statistics.received += 1;
                    self.statistics.received_bytes += size;
                    self.statistics.received_most = self.statistics.received_most.max(size);
                    let from = from.and_then(|a| SocketAddr::try_from(a).ok());
                    port.count_input(n);
                    self.deliver(port, from, &buffer[..n]);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => self.tell_error(port, errno),
            }
        }
        // If it can no longer be waited for, the next call finds out.
        let _ = self.arm(port);
    }

    /// A passive receive has waited long enough.
    fn timeout(&mut self, port: &mut Context<'_>, timer: u64) {
        if let Some(receive) = self.receive.take_if(|receive| u64::from(receive.number) == timer) {
            answer(port, receive.caller, receive.number, Err(Fail::Timeout));
        }
    }

    fn stop(&mut self, port: &mut Context<'_>) {
        self.end_receive(port);
        if let Some(socket) = self.socket.take() {
            socket.close(port.system);
        }
    }
}

impl Udp {
    fn request(
        &mut self,
        port: &mut Context<'_>,
        caller: Pid,
        request: u64,
        data: &[u8],
    ) -> Result<Vec<u8>, Option<Errno>> {
        Ok(match request {
            request::OPEN => {
                self.open(data)?;
                self.arm(port)?;
                Vec::new()
            }
            request::BIND => self.bind(data)?,
            request::NAME => address::encode(self.name()?),
            request::PEER => address::encode(self.peer()?),
            request::SETOPTS => {
                let fd = self.socket.as_ref().map(Watch::fd);
                self.settings.set(fd, self.family == AddressFamily::INET6, data)?;
                self.arm(port)?;
                if std::mem::take(&mut self.settings.ran_out) {
                    tell_passive(port);
                }
                Vec::new()
            }
            request::GETOPTS => self.settings.get(self.fd()?, self.family == AddressFamily::INET6, data)?,
            request::GETSTAT => self.statistics(data)?,
            request::GETHOSTNAME => rustix::system::uname().nodename().to_bytes().to_vec(),
            request::GETFD => self.fd()?.as_raw_fd().to_be_bytes().to_vec(),
            request::GETTYPE => self.kind(),
            request::GETSTATUS => self.status(),
            request::GETSERVBYNAME => service(data, true)?,
            request::GETSERVBYPORT => service(data, false)?,
            request::SUBSCRIBE => match data {
                // What waits for output to be written: nothing ever does.
                [1] => vec![1, 0, 0, 0, 0],
                _ => return Err(Some(Errno::INVAL)),
            },
            request::IGNOREFD => Vec::new(),
            request::GETIFADDRS | request::GETIFLIST => return Err(Some(Errno::NOTSUP)),
            request::CONNECT => {
                let (_, address) = data.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
                self.connect(address)?;
                let number = self.next_number();
                answer(port, caller, number, Ok(()));
                number.to_be_bytes().to_vec()
            }
            request::RECEIVE => self.receive(port, caller, data)?,
            _ => return Err(None),
        })
    }

    /// A passive receive: its answer comes by message.
    fn receive(&mut self, port: &Context<'_>, caller: Pid, data: &[u8]) -> Answer {
        let (time, _) = data.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
        if self.settings.active != Active::No || self.receive.is_some() {
            return Err(Errno::INVAL);
        }
        self.fd()?;
        let number = self.next_number();
        let time = u32::from_be_bytes(*time);
        let timer = (time != u32::MAX).then(|| port.set_timer(u64::from(time), u64::from(number)));
        self.receive = Some(Receive { caller, number, timer });
        self.arm(port)?;
        Ok(number.to_be_bytes().to_vec())
    }

    /// Nobody waits for a datagram from now on; gives who did.
    fn end_receive(&mut self, port: &Context<'_>) -> Option<Receive> {
        let receive = self.receive.take()?;
        if let Some(timer) = receive.timer {
            port.cancel_timer(timer);
        }
        Some(receive)
    }

    fn deliver(&mut self, port: &Context<'_>, from: Option<SocketAddr>, bytes: &[u8]) {
        let id = port.port.id.term();
        if let Some(receive) = self.end_receive(port) {
            send_message(port, receive.caller, |f| {
                let data = self.settings.data_term(f, bytes);
                let list = address::bytes_onto(f, from, data);
                let ok = f.tuple(&[Term::OK, list]);
                f.tuple(&[am::inet_async.term(), id, Term::small(i64::from(receive.number)), ok])
            });
            return;
        }
        send_message(port, port.owner(), |f| {
            let (ip, number) = address::terms(f, from);
            let data = self.settings.data_term(f, bytes);
            f.tuple(&[am::udp.term(), id, ip, number, data])
        });
        if self.settings.one_delivered() {
            tell_passive(port);
        }
    }

    fn tell_error(&mut self, port: &Context<'_>, errno: Errno) {
        if let Some(receive) = self.end_receive(port) {
            return answer(port, receive.caller, receive.number, Err(Fail::Posix(errno)));
        }
        let reason = posix::atom(errno).term();
        send_message(port, port.owner(), |f| f.tuple(&[am::udp_error.term(), port.port.id.term(), reason]));
    }
}

/// Why an answer is an error.
enum Fail {
    Posix(Errno),
    Timeout,
}

fn result_term<'b>(f: &mut Draft<'b>, result: Result<(), Fail>) -> TermRef<'b> {
    let reason: Atom = match result {
        Ok(()) => return Term::OK,
        Err(Fail::Posix(errno)) => posix::atom(errno),
        Err(Fail::Timeout) => am::timeout,
    };
    f.tuple(&[am::error.term(), reason.term()])
}
