//! The driver `udp_inet`: UDP sockets, in the private language that `prim_inet` speaks with it.
//!
//! A request is a `port_control/3` whose operation is a number above a magic base, and whose answer is a list of bytes:
//! 1 and a result, or 0 and the text of an error. Datagrams go out by `port_command/2`, each answered by a message
//! `{inet_reply, Socket, Result}`; they come in as `{udp, Socket, Ip, Port, Data}` (active), or as the answer
//! `{inet_async, Socket, Number, Result}` to a request to receive (passive).

mod address;
mod options;

use super::poll::{Side, Watch};
use super::{Driver, Phase, Port, State, System, count_input};
use crate::posix;
use address::Address;
use myriad_heap::{Draft, Payload};
use myriad_process::{Message, TimerId};
use myriad_sync::Arc;
use myriad_term::{Atom, Build, Pid, Term, TermRef, am};
use myriad_vm::Signal;
use myriad_vm::timer::Action;
use options::Active;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

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
pub(super) struct Udp {
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
    pub(super) fn new() -> Udp {
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

    fn arm(&mut self, system: &System) -> Result<(), Errno> {
        if !self.listens() {
            return Ok(());
        }
        let Some(socket) = &mut self.socket else { return Ok(()) };
        socket.arm(system).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
    }

    /// Ends it.
    pub(super) fn close(&mut self, system: &System) {
        if let Some(timer) = self.receive.take().and_then(|r| r.timer) {
            system.vm.timers.cancel(timer);
        }
        if let Some(socket) = self.socket.take() {
            socket.close(system);
        }
    }

    fn open(&mut self, port: myriad_term::Port, data: &[u8]) -> Answer {
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
        self.socket = Some(Watch::new(fd, port, Side::Input));
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

impl Port {
    /// `port_control/3`: the bytes of the answer.
    pub(super) fn udp_control(self: &Arc<Self>, system: &System, caller: Pid, operation: u64, data: &[u8]) -> Vec<u8> {
        let mut state = self.lock();
        match self.udp_request(system, &mut state, caller, operation.wrapping_sub(MAGIC), data) {
            Ok(answer) => [&[1], answer.as_slice()].concat(),
            Err(None) => [&[0], b"exbadport".as_slice()].concat(),
            Err(Some(errno)) => [&[0], posix::text(errno).as_bytes()].concat(),
        }
    }

    fn udp_request(
        self: &Arc<Self>,
        system: &System,
        state: &mut State,
        caller: Pid,
        request: u64,
        data: &[u8],
    ) -> Result<Vec<u8>, Option<Errno>> {
        let Driver::Udp(udp) = &mut state.driver else { return Err(None) };
        Ok(match request {
            request::OPEN => {
                udp.open(self.id, data)?;
                udp.arm(system)?;
                Vec::new()
            }
            request::BIND => udp.bind(data)?,
            request::NAME => address::encode(udp.name()?),
            request::PEER => address::encode(udp.peer()?),
            request::SETOPTS => {
                let fd = udp.socket.as_ref().map(Watch::fd);
                udp.settings.set(fd, udp.family == AddressFamily::INET6, data)?;
                udp.arm(system)?;
                if std::mem::take(&mut udp.settings.ran_out) {
                    self.udp_passive(system, state.owner);
                }
                Vec::new()
            }
            request::GETOPTS => udp.settings.get(udp.fd()?, udp.family == AddressFamily::INET6, data)?,
            request::GETSTAT => udp.statistics(data)?,
            request::GETHOSTNAME => rustix::system::uname().nodename().to_bytes().to_vec(),
            request::GETFD => udp.fd()?.as_raw_fd().to_be_bytes().to_vec(),
            request::GETTYPE => udp.kind(),
            request::GETSTATUS => udp.status(),
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
                udp.connect(address)?;
                let number = udp.next_number();
                self.udp_answer(system, caller, number, Ok(()));
                number.to_be_bytes().to_vec()
            }
            request::RECEIVE => return self.udp_receive(system, state, caller, data).map_err(Some),
            _ => return Err(None),
        })
    }

    /// A passive receive: its answer comes by message.
    fn udp_receive(self: &Arc<Self>, system: &System, state: &mut State, caller: Pid, data: &[u8]) -> Answer {
        let Driver::Udp(udp) = &mut state.driver else { return Err(Errno::INVAL) };
        let (time, _) = data.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
        if udp.settings.active != Active::No || udp.receive.is_some() {
            return Err(Errno::INVAL);
        }
        udp.fd()?;
        let number = udp.next_number();
        let time = u32::from_be_bytes(*time);
        let timer = (time != u32::MAX).then(|| {
            let vm = system.vm;
            let at = vm.platform.now_ns().saturating_add(u64::from(time) * 1_000_000);
            let port = self.clone();
            let expire = move |vm: &'static myriad_vm::Vm| port.udp_timeout(vm, number);
            let id = vm.timers.reserve(myriad_sched::current().unwrap_or(0));
            vm.set_timer(id, at, Action::Call(Box::new(expire)));
            id
        });
        udp.receive = Some(Receive { caller, number, timer });
        udp.arm(system)?;
        Ok(number.to_be_bytes().to_vec())
    }

    fn udp_timeout(&self, vm: &myriad_vm::Vm, number: u16) {
        let Some(system) = System::of(vm) else { return };
        let mut state = self.lock();
        let Driver::Udp(udp) = &mut state.driver else { return };
        if let Some(receive) = udp.receive.take_if(|r| r.number == number) {
            self.udp_answer(system, receive.caller, number, Err(Fail::Timeout));
        }
    }

    fn send_message(&self, system: &System, to: Pid, build: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>) {
        system.signal(to, Signal::Message(Message::new(Payload::build(48, build), Term::NONE)));
    }

    /// `{inet_async, Socket, Number, ok | {error, Reason}}`
    fn udp_answer(&self, system: &System, to: Pid, number: u16, result: Result<(), Fail>) {
        self.send_message(system, to, |f| {
            let result = result_term(f, result);
            f.tuple(&[am::inet_async.term(), self.id.term(), Term::small(i64::from(number)), result])
        });
    }

    fn udp_passive(&self, system: &System, owner: Pid) {
        self.send_message(system, owner, |f| f.tuple(&[am::udp_passive.term(), self.id.term()]));
    }

    /// `port_command/2`: sends a datagram, and answers `{inet_reply, Socket, Result}`.
    pub(super) fn udp_output(&self, system: &System, state: &mut State, sender: Pid, bytes: &[u8]) {
        let Driver::Udp(udp) = &mut state.driver else { return };
        let result = udp.send(bytes).map_err(Fail::Posix);
        self.send_message(system, sender, |f| {
            let result = result_term(f, result);
            f.tuple(&[am::inet_reply.term(), self.id.term(), result])
        });
    }

    /// There are datagrams.
    pub(super) fn udp_readable(&self, system: &System, state: &mut State, buffer: &mut [u8]) {
        for _ in 0..READS {
            let Driver::Udp(udp) = &mut state.driver else { return };
            if state.phase != Phase::Open || !udp.listens() {
                return;
            }
            let Ok(fd) = udp.fd() else { return };
            let room = buffer.len().min(udp.settings.buffer);
            match rustix::net::recvfrom(fd, &mut buffer[..room], RecvFlags::empty()) {
                Ok((n, _, from)) => {
                    let size = n as u64;
                    udp.statistics.received += 1;
                    udp.statistics.received_bytes += size;
                    udp.statistics.received_most = udp.statistics.received_most.max(size);
                    let from = from.and_then(|a| SocketAddr::try_from(a).ok());
                    count_input(system, &mut state.input, size);
                    self.udp_deliver(system, state, from, &buffer[..n]);
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => self.udp_error(system, state, errno),
            }
        }
        if let Driver::Udp(udp) = &mut state.driver {
            // If it can no longer be waited for, the next call finds out.
            let _ = udp.arm(system);
        }
    }

    fn udp_deliver(&self, system: &System, state: &mut State, from: Option<SocketAddr>, bytes: &[u8]) {
        let (id, owner) = (self.id.term(), state.owner);
        let Driver::Udp(udp) = &mut state.driver else { return };
        let settings = &udp.settings;
        if let Some(receive) = udp.receive.take() {
            if let Some(timer) = receive.timer {
                system.vm.timers.cancel(timer);
            }
            self.send_message(system, receive.caller, |f| {
                let data = settings.data_term(f, bytes);
                let list = address::bytes_onto(f, from, data);
                let ok = f.tuple(&[Term::OK, list]);
                f.tuple(&[am::inet_async.term(), id, Term::small(i64::from(receive.number)), ok])
            });
            return;
        }
        self.send_message(system, owner, |f| {
            let (ip, port) = address::terms(f, from);
            let data = settings.data_term(f, bytes);
            f.tuple(&[am::udp.term(), id, ip, port, data])
        });
        if udp.settings.one_delivered() {
            self.udp_passive(system, owner);
        }
    }

    fn udp_error(&self, system: &System, state: &mut State, errno: Errno) {
        let owner = state.owner;
        let Driver::Udp(udp) = &mut state.driver else { return };
        if let Some(receive) = udp.receive.take() {
            if let Some(timer) = receive.timer {
                system.vm.timers.cancel(timer);
            }
            self.udp_answer(system, receive.caller, receive.number, Err(Fail::Posix(errno)));
            return;
        }
        let reason = posix::atom(errno).term();
        self.send_message(system, owner, |f| f.tuple(&[am::udp_error.term(), self.id.term(), reason]));
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
