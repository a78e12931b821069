//! The driver `udp_inet`: datagrams, over UDP or local.
//!
//! They come in as `{udp, Socket, Ip, Port, Data}` (active), or as the answer to a request to receive (passive).

use super::super::driver::{Context, Driver, DriverType, Opened};
use super::super::options::Target;
use super::super::poll;
use super::address::Address;
use super::options::{Active, Options};
use super::{
    Answer, Asked, FOREVER, INVALID, Purpose, Refusal, Socket, ancillary, encode, messages, request, request_of,
    status, take_u32,
};
use crate::bytes::Piece;
use crate::posix;
use myriad_heap::Draft;
use myriad_term::{Build, Pid, Term, TermRef, am};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrStorage;
use rustix::net::{RecvFlags, SendFlags, SocketAddrAny, SocketType};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

pub(in crate::port) static DRIVER: DriverType = DriverType::new("udp_inet", |target, _| match target {
    Target::Spawn(line) | Target::Driver(line) => {
        Ok(Opened { driver: Box::new(Udp::new()), name: line.clone(), os_pid: None })
    }
    _ => Err(am::badarg),
});

/// A datagrams' socket, open or still to be opened.
struct Udp {
    socket: Socket,
    connected: bool,
    receive: Option<Asked>,
}

impl Udp {
    fn new() -> Udp {
        Udp { socket: Socket::new(SocketType::DGRAM), connected: false, receive: None }
    }

    fn status(&self) -> u32 {
        match (self.socket.watch.is_some(), self.connected) {
            (false, _) => 0,
            (true, true) => status::OPEN | status::CONNECTED,
            (true, false) => status::OPEN,
        }
    }

    fn request(&mut self, port: &mut Context<'_>, caller: Pid, request: u64, data: &[u8]) -> Answer {
        match request {
            request::OPEN => return self.socket.open(data, None),
            request::FDOPEN => return self.socket.open(data, Some(&port.system.poll.pollers)),
            request::CONNECT => return self.connect(port, caller, data),
            request::SETOPTS => self.set_options(port, data)?,
            // What waits for output to be written: nothing ever does.
            request::SUBSCRIBE if data == [1] => return Ok(vec![1, 0, 0, 0, 0]),
            request::SUBSCRIBE => return Err(Refusal::BadArgument),
            request::RECEIVE => return self.receive(port, caller, data),
            _ => {
                let status = self.status();
                return self.socket.answer(request, data, status, 0).unwrap_or(Err(Refusal::BadPort));
            }
        }
        Ok(Vec::new())
    }

    fn connect(&mut self, port: &Context<'_>, caller: Pid, data: &[u8]) -> Answer {
        let (_, address) = data.split_first_chunk::<4>().ok_or(INVALID)?;
        let (to, _) = self.socket.address(address)?;
        if std::mem::take(&mut self.connected) {
            // The address that the system has chosen for the old peer need not do for the new one.
            rustix::net::connect_unspec(self.socket.fd()?)?;
        }
        to.with(|to| rustix::net::connect(self.socket.fd()?, to))?;
        self.connected = true;
        let number = self.socket.next_number();
        messages::answer(port, caller, number, Ok(()));
        Ok(number.to_be_bytes().to_vec())
    }

    fn set_options(&mut self, port: &mut Context<'_>, data: &[u8]) -> Result<(), Refusal> {
        let (family, kind) = (self.socket.family, self.socket.kind);
        let fd = self.socket.watch.as_ref().map(poll::Watch::fd);
        let limits = self.socket.options.queue_limits;
        let set = self.socket.options.set(fd, family, kind, data);
        if self.socket.options.queue_limits != limits {
            port.set_queue_limits(self.socket.options.queue_limits);
        }
        if std::mem::take(&mut self.socket.options.ran_out) {
            messages::tell(port, am::udp_passive);
        }
        set?;
        self.take_waiting(port);
        Ok(())
    }

    /// A request to receive; its answer comes by message.
    fn receive(&mut self, port: &mut Context<'_>, caller: Pid, data: &[u8]) -> Answer {
        let time = take_u32(&mut &*data)?;
        if self.socket.options.active != Active::No || self.socket.watch.is_none() {
            return Err(INVALID);
        }
        if self.receive.is_some() {
            return Err(Errno::ALREADY.into());
        }
        let number = self.socket.next_number();
        self.receive = Some(Asked::without_timer(caller, number));
        self.take_waiting(port);
        if let Some(receive) = &mut self.receive
            && time != FOREVER
        {
            receive.set_timer(port, time, Purpose::Receive);
        }
        Ok(number.to_be_bytes().to_vec())
    }

    /// Does anybody want datagrams?
    fn listens(&self, port: &Context<'_>) -> bool {
        let wanted = self.socket.options.active != Active::No || self.receive.is_some();
        wanted && port.is_open() && self.socket.watch.is_some()
    }

    fn take_waiting(&mut self, port: &mut Context<'_>) {
        if !self.listens(port) {
            return;
        }
        if self.socket.readable {
            poll::with_buffer(|buffer| self.take_datagrams(port, buffer));
        } else {
            self.wait(port);
        }
    }

    fn wait(&mut self, port: &mut Context<'_>) {
        if let Err(errno) = self.socket.wait(port) {
            self.tell_error(port, errno);
        }
    }

    fn take_datagrams(&mut self, port: &mut Context<'_>, buffer: &mut [u8]) {
        let room = buffer.len().min(self.socket.options.buffer);
        let mut left = self.socket.options.reads();
        while self.listens(port) {
            let Ok(fd) = self.socket.fd() else { return };
            if left == 0 {
                return port.again();
            }
            left -= 1;
            let room = &mut buffer[..room];
            let received =
                if self.socket.options.tells_ancillary() { receive_message(fd, room) } else { receive(fd, room) };
            match received {
                Ok(Datagram { count, from, beside }) => {
                    self.socket.statistics.received.count(count);
                    self.deliver(port, &from, &beside, &buffer[..count]);
                }
                Err(Errno::AGAIN) => {
                    self.socket.readable = false;
                    return self.wait(port);
                }
                Err(Errno::INTR) => {}
                Err(errno) => self.tell_error(port, errno),
            }
        }
    }

    fn deliver(&mut self, port: &mut Context<'_>, from: &Address, beside: &[(u8, i32)], bytes: &[u8]) {
        let id = port.port.id.term();
        let options = &self.socket.options;
        let words = 4 * beside.len() + if options.binary { 2 * options.header } else { 2 * bytes.len() } + 64;
        if let Some(receive) = self.receive.take() {
            receive.answer_with(port, words, |f| {
                let data = data_term(f, options, bytes);
                let data = f.byte_list(&from.encode(), data);
                let data = if options.tells_ancillary() {
                    let beside = ancillary_term(f, beside);
                    f.tuple(&[data, beside])
                } else {
                    data
                };
                f.tuple(&[Term::OK, data])
            });
            return;
        }
        messages::send(port, port.owner(), words, |f| {
            let (ip, number) = from.terms(f);
            let data = data_term(f, options, bytes);
            if options.tells_ancillary() {
                let beside = ancillary_term(f, beside);
                return f.tuple(&[am::udp.term(), id, ip, number, beside, data]);
            }
            f.tuple(&[am::udp.term(), id, ip, number, data])
        });
        if self.socket.options.one_delivered() {
            messages::tell(port, am::udp_passive);
        }
    }

    fn tell_error(&mut self, port: &mut Context<'_>, errno: Errno) {
        match self.receive.take() {
            Some(receive) => receive.answer(port, Err(posix::atom(errno))),
            None => messages::tell_reason(port, am::udp_error, posix::atom(errno)),
        }
    }

    /// Sends one datagram: address, length of ancillary data, ancillary data, data.
    fn send(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let (to, used) = self.socket.address(bytes)?;
        let mut rest = bytes.get(used..).ok_or(INVALID)?;
        let length = take_u32(&mut rest)? as usize;
        let (beside, data) = rest.split_at_checked(length).ok_or(INVALID)?;
        self.socket.fd()?;
        let to = match &to {
            Address::Unspecified => None,
            _ if self.connected => None,
            to => Some(to),
        };
        let control = ancillary::build(beside).ok_or(INVALID)?;
        self.socket.statistics.sent.count(data.len());
        let fd = self.socket.fd()?;
        crate::file::retry(|| match to {
            Some(to) => to.with(|to| send_to(fd, Some(to), &control, data)),
            None => send_to(fd, None, &control, data),
        })?;
        Ok(())
    }
}

/// The data of a datagram.
fn data_term<'b>(f: &mut Draft<'b>, options: &Options, bytes: &[u8]) -> TermRef<'b> {
    let (listed, binary) = options.split(bytes.len());
    let (header, rest) = bytes.split_at(listed);
    let tail = if binary { f.binary(rest) } else { Term::NIL };
    f.byte_list(header, tail)
}

/// `[{tos | tclass | ttl, Value}]`
fn ancillary_term<'b>(f: &mut Draft<'b>, beside: &[(u8, i32)]) -> TermRef<'b> {
    let items: Vec<TermRef<'b>> = beside
        .iter()
        .filter_map(|(code, value)| {
            let name = ancillary::name(*code)?;
            Some(f.tuple(&[name.term(), Term::small(i64::from(*value))]))
        })
        .collect();
    f.list(&items)
}

/// A datagram that was received.
struct Datagram {
    count: usize,
    from: Address,
    /// What the system tells beside it: codes and values.
    beside: Vec<(u8, i32)>,
}

/// Receives one datagram without what the system tells beside it.
fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Datagram, Errno> {
    let (count, _, from) = rustix::net::recvfrom(fd, buffer, RecvFlags::empty())?;
    Ok(Datagram { count, from: from.map_or(Address::Unspecified, Address::of), beside: Vec::new() })
}

/// Receives one datagram, and what the system tells beside it.
fn receive_message(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Datagram, Errno> {
    let mut storage = MaybeUninit::<SocketAddrStorage>::zeroed();
    let mut control = [0u64; 32];
    let mut slice = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a header of zeros is one that names nothing.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = storage.as_mut_ptr().cast();
    header.msg_namelen = size_of::<SocketAddrStorage>() as libc::socklen_t;
    (header.msg_iov, header.msg_iovlen) = (&raw mut slice, 1);
    (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control));
    // SAFETY: all that the header names is live and as long as it says.
    let count = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, 0) };
    let count = usize::try_from(count).map_err(|_| last_error())?;
    let from = if header.msg_namelen == 0 {
        Address::Unspecified
    } else {
        // SAFETY: the system has written an address of that length.
        Address::of(unsafe { SocketAddrAny::read(storage.as_ptr(), header.msg_namelen) })
    };
    let len = header.msg_controllen.min(size_of_val(&control));
    let told: Vec<u8> = control.iter().flat_map(|word| word.to_ne_bytes()).take(len).collect();
    Ok(Datagram { count, from, beside: ancillary::parse(&told) })
}

/// Sends one datagram, with control messages if there are any.
fn send_to(fd: BorrowedFd<'_>, to: Option<&SocketAddrAny>, control: &[u8], data: &[u8]) -> Result<(), Errno> {
    match to {
        _ if !control.is_empty() => send_message(fd, to, control, data),
        Some(to) => rustix::net::sendto(fd, data, SendFlags::NOSIGNAL, to).map(|_| ()),
        None => rustix::net::send(fd, data, SendFlags::NOSIGNAL).map(|_| ()),
    }
}

/// Sends one datagram, with control messages.
fn send_message(fd: BorrowedFd<'_>, to: Option<&SocketAddrAny>, control: &[u8], data: &[u8]) -> Result<(), Errno> {
    let mut slice = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    // SAFETY: a header of zeros is one that names nothing.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    if let Some(to) = to {
        (header.msg_name, header.msg_namelen) = (to.as_ptr().cast_mut().cast(), to.addr_len());
    }
    (header.msg_iov, header.msg_iovlen) = (&raw mut slice, 1);
    (header.msg_control, header.msg_controllen) = (control.as_ptr().cast_mut().cast(), control.len());
    // SAFETY: all that the header names is live and as long as it says, and is only read.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

impl Driver for Udp {
    /// Sends a datagram, and answers `{inet_reply, Socket, Result}`.
    fn output(&mut self, port: &mut Context<'_>, sender: Pid, data: Piece) {
        let outcome = self.send(data.bytes()).map_err(|refusal| match refusal {
            Refusal::Errno(errno) => posix::atom(errno),
            Refusal::BadPort | Refusal::BadArgument => am::einval,
        });
        messages::reply(port, sender, outcome);
    }

    fn answers_at_once(&self, _: usize) -> bool {
        true
    }

    fn control(&mut self, port: &mut Context<'_>, caller: Pid, operation: u32, data: &[u8]) -> Option<Vec<u8>> {
        encode(self.request(port, caller, request_of(operation), data))
    }

    fn ready_input(&mut self, port: &mut Context<'_>, hung_up: bool, buffer: &mut [u8]) {
        self.socket.note_input(hung_up);
        self.take_datagrams(port, buffer);
    }

    /// A passive receive has waited long enough.
    fn moved(&mut self, port: &mut Context<'_>) {
        self.socket.moved(port);
    }

    fn timeout(&mut self, port: &mut Context<'_>, timer: u64) {
        if let Some(receive) = self.receive.take_if(|receive| receive.has_timer(timer)) {
            port.timed_out();
            receive.answer(port, Err(am::timeout));
        }
    }

    fn stop(&mut self, port: &mut Context<'_>) {
        if let Some(receive) = self.receive.take() {
            receive.answer(port, Err(am::closed));
        }
        self.socket.close(port);
    }
}
