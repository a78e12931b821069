//! Socket options in `prim_inet`'s bytes: a code each, then a value that most often has 32 bits. Those that are the system's stand in
//! one table ([`SYSTEM`]); the others are kept in [`Options`].

use super::address::{Family, INET, INET6};
use super::take_u32;
use crate::port::backlog::{self, Limits as QueueLimits};
use crate::system::{self, get_option as get_bytes, set_option as set_bytes};
use myriad_term::TermRef;
use myriad_term::packet::{Format, Limits, Line};
use rustix::io::Errno;
use rustix::net::SocketType;
use std::os::fd::BorrowedFd;

/// Whether the owner gets data when it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Active {
    /// It does not: it asks for it.
    No,
    /// It does.
    Yes,
    /// It gets the next packet only.
    Once,
    /// It gets this number of packets more.
    Times(i16),
}

impl Active {
    /// The bytes that set the option to a value that has a name.
    pub(super) fn named(value: TermRef<'_>) -> Option<[u8; 5]> {
        let number = match value.as_atom()?.text() {
            "false" => 0,
            "true" => 1,
            "once" => 2,
            _ => return None,
        };
        Some([code::ACTIVE, 0, 0, 0, number])
    }
}

/// How the owner gets what is `active`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deliver {
    /// As messages of a socket.
    Term,
    /// As messages of any port.
    Port,
}

/// The options that the driver keeps itself.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) active: Active,
    /// A count has been taken down to nothing by setting it.
    pub(super) ran_out: bool,
    pub(super) binary: bool,
    /// Bytes at the front that are given as a list even in binary mode.
    pub(super) header: usize,
    /// Most bytes of a datagram or a line; the rest is cut off.
    pub(super) buffer: usize,
    /// The program has chosen that size.
    pub(super) is_buffer_set: bool,
    pub(super) deliver: Deliver,
    pub(super) exit_on_close: bool,
    pub(super) packet: u32,
    packet_size: u32,
    read_packets: u32,
    pub(super) high: usize,
    pub(super) low: usize,
    /// Limits of the port's queue.
    pub(super) queue_limits: QueueLimits,
    /// In milliseconds; nothing: for ever.
    pub(super) send_timeout: Option<u32>,
    pub(super) send_timeout_close: bool,
    pub(super) delay_send: bool,
    pub(super) show_reset: bool,
    /// To close the socket may wait, for as long as `linger` says.
    pub(super) lingers: bool,
    line_delimiter: u8,
    /// The file of the network name space to open the socket in.
    namespace: Option<Box<[u8]>>,
    /// The options that ask for ancillary data with datagrams and are set, a bit each.
    ancillary: u8,
    of_stream: bool,
}

/// OTP's sizes of the buffer.
const STREAM_BUFFER: usize = 1460;
const DATAGRAM_BUFFER: usize = 8192;
/// The largest datagram.
const LARGEST_DATAGRAM: usize = 1 << 16;
/// No `recbuf` makes the buffer larger: it is a limit of lines, not memory.
const LARGEST_BUFFER: usize = 1 << 30;

mod code {
    pub(super) const LINGER: u8 = 3;
    pub(super) const RCVBUF: u8 = 7;
    pub(super) const TOS: u8 = 9;
    pub(super) const NODELAY: u8 = 10;
    pub(super) const MULTICAST_IF: u8 = 11;
    pub(super) const ADD_MEMBERSHIP: u8 = 14;
    pub(super) const DROP_MEMBERSHIP: u8 = 15;
    pub(super) const BUFFER: u8 = 20;
    pub(super) const HEADER: u8 = 21;
    pub(super) const ACTIVE: u8 = 22;
    pub(super) const PACKET: u8 = 23;
    pub(super) const MODE: u8 = 24;
    pub(super) const DELIVER: u8 = 25;
    pub(super) const EXIT_ON_CLOSE: u8 = 26;
    pub(super) const HIGH: u8 = 27;
    pub(super) const LOW: u8 = 28;
    pub(super) const SEND_TIMEOUT: u8 = 30;
    pub(super) const DELAY_SEND: u8 = 31;
    pub(super) const PACKET_SIZE: u8 = 32;
    pub(super) const READ_PACKETS: u8 = 33;
    pub(super) const RAW: u8 = 34;
    pub(super) const SEND_TIMEOUT_CLOSE: u8 = 35;
    pub(super) const HIGH_MESSAGE_QUEUE: u8 = 36;
    pub(super) const LOW_MESSAGE_QUEUE: u8 = 37;
    pub(super) const NETNS: u8 = 38;
    pub(super) const SHOW_ECONNRESET: u8 = 39;
    pub(super) const LINE_DELIMITER: u8 = 40;
    pub(super) const BIND_TO_DEVICE: u8 = 42;
    pub(super) const RECVTOS: u8 = 43;
    pub(super) const RECVTCLASS: u8 = 44;
    pub(super) const PKTOPTIONS: u8 = 45;
    pub(super) const RECVTTL: u8 = 47;
    pub(super) const NOPUSH: u8 = 48;
    pub(super) const DEBUG: u8 = 99;
}

/// Which sockets have an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    All,
    Streams,
    Inet,
    Inet6,
}

/// The system's options whose value is an integer or a truth value: code, sockets, level, name, and whether it is an error that one cannot be
/// set (OTP takes most in silence).
const SYSTEM: [(u8, Of, i32, i32, bool); 23] = [
    (0, Of::All, libc::SOL_SOCKET, libc::SO_REUSEADDR, false),
    (1, Of::All, libc::SOL_SOCKET, libc::SO_KEEPALIVE, false),
    (2, Of::All, libc::SOL_SOCKET, libc::SO_DONTROUTE, false),
    (4, Of::All, libc::SOL_SOCKET, libc::SO_BROADCAST, false),
    (6, Of::All, libc::SOL_SOCKET, libc::SO_SNDBUF, false),
    (code::RCVBUF, Of::All, libc::SOL_SOCKET, libc::SO_RCVBUF, false),
    (8, Of::All, libc::SOL_SOCKET, libc::SO_PRIORITY, true),
    (code::TOS, Of::All, libc::IPPROTO_IP, libc::IP_TOS, true),
    (code::NODELAY, Of::Streams, libc::IPPROTO_TCP, libc::TCP_NODELAY, false),
    (12, Of::Inet6, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS, false),
    (12, Of::All, libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, false),
    (13, Of::Inet6, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP, false),
    (13, Of::All, libc::IPPROTO_IP, libc::IP_MULTICAST_LOOP, false),
    (16, Of::Inet6, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, true),
    (16, Of::Inet, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, true),
    (41, Of::Inet6, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, true),
    (41, Of::Inet, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, true),
    (code::RECVTOS, Of::All, libc::IPPROTO_IP, libc::IP_RECVTOS, true),
    (code::RECVTCLASS, Of::Inet6, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, true),
    (46, Of::All, libc::IPPROTO_IP, libc::IP_TTL, true),
    (code::RECVTTL, Of::All, libc::IPPROTO_IP, libc::IP_RECVTTL, true),
    (code::NOPUSH, Of::Streams, libc::IPPROTO_TCP, libc::TCP_CORK, false),
    (5, Of::All, libc::SOL_SOCKET, libc::SO_OOBINLINE, false),
];

/// A system's option, and whether it is an error that it cannot be set.
fn system_option(code: u8, family: Family, kind: SocketType) -> Option<((i32, i32), bool)> {
    let of = |of: Of| match of {
        Of::All => true,
        Of::Streams => kind == SocketType::STREAM,
        Of::Inet => family == Family::Inet,
        Of::Inet6 => family == Family::Inet6,
    };
    let found = SYSTEM.iter().find(|option| option.0 == code && of(option.1))?;
    Some(((found.2, found.3), found.4))
}

const PRIORITY: (i32, i32) = (libc::SOL_SOCKET, libc::SO_PRIORITY);

fn get_int(fd: BorrowedFd<'_>, option: (i32, i32)) -> Result<i32, Errno> {
    let bytes = get_bytes(fd, option, 4)?;
    // Some options have one byte only.
    Ok(match bytes.first_chunk::<4>() {
        Some(all) => i32::from_ne_bytes(*all),
        None => i32::from(bytes.first().copied().unwrap_or(0)),
    })
}

fn take<'a>(data: &mut &'a [u8], len: usize) -> Result<&'a [u8], Errno> {
    let (front, rest) = data.split_at_checked(len).ok_or(Errno::INVAL)?;
    *data = rest;
    Ok(front)
}

/// A limit of the port's queue.
fn positive(value: u32) -> Result<usize, Errno> {
    usize::try_from(value as i32).ok().filter(|limit| *limit > 0).ok_or(Errno::INVAL)
}

/// The system's option by which a group is joined or left, and its value.
fn membership(join: bool, family: u32, data: &mut &[u8]) -> Result<((i32, i32), Vec<u8>), Errno> {
    let index = take_u32(data)?.to_ne_bytes();
    if family == u32::from(INET6) {
        let option = if join { libc::IPV6_ADD_MEMBERSHIP } else { libc::IPV6_DROP_MEMBERSHIP };
        return Ok(((libc::IPPROTO_IPV6, option), [take(data, 16)?, &index].concat()));
    }
    let option = if join { libc::IP_ADD_MEMBERSHIP } else { libc::IP_DROP_MEMBERSHIP };
    Ok(((libc::IPPROTO_IP, option), [take(data, 8)?, &index].concat()))
}

/// The interface that multicasts leave by: its number for IPv6, else an address.
fn multicast_interface(family: Family) -> (i32, i32) {
    match family {
        Family::Inet6 => (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF),
        _ => (libc::IPPROTO_IP, libc::IP_MULTICAST_IF),
    }
}

impl Options {
    /// OTP's.
    pub(super) fn new(kind: SocketType) -> Options {
        Options {
            active: Active::No,
            ran_out: false,
            binary: false,
            header: 0,
            buffer: if kind == SocketType::STREAM { STREAM_BUFFER } else { DATAGRAM_BUFFER },
            is_buffer_set: false,
            deliver: Deliver::Term,
            exit_on_close: true,
            packet: 0,
            packet_size: 0,
            read_packets: 5,
            high: 8192,
            low: 4096,
            queue_limits: backlog::DEFAULT,
            send_timeout: None,
            send_timeout_close: false,
            delay_send: false,
            show_reset: false,
            lingers: false,
            line_delimiter: b'\n',
            namespace: None,
            ancillary: 0,
            of_stream: kind == SocketType::STREAM,
        }
    }

    /// Sets options. Those before one that is wrong are set.
    pub(super) fn set(
        &mut self,
        fd: Option<BorrowedFd<'_>>,
        family: Family,
        kind: SocketType,
        mut data: &[u8],
    ) -> Result<(), Errno> {
        while let Some((code, rest)) = data.split_first() {
            data = rest;
            // What is too short for an option is left, as by OTP.
            let Ok(value) = take_u32(&mut data) else { return Ok(()) };
            let number = (value as i32).max(0);
            let open = || fd.ok_or(Errno::INVAL);
            match *code {
                code::ACTIVE => self.set_active(value, &mut data)?,
                code::BUFFER => {
                    self.buffer = (number as usize).clamp(1, LARGEST_BUFFER);
                    self.is_buffer_set = true;
                }
                code::HEADER => self.header = value as usize,
                code::PACKET => self.packet = value,
                code::MODE => self.binary = value == 1,
                code::DELIVER => self.deliver = if value == 1 { Deliver::Term } else { Deliver::Port },
                code::EXIT_ON_CLOSE => self.exit_on_close = value != 0,
                code::PACKET_SIZE => self.packet_size = value,
                code::READ_PACKETS => self.read_packets = (number as u32).max(1),
                code::HIGH => self.high = number as usize,
                code::LOW => self.low = number as usize,
                code::SEND_TIMEOUT => self.send_timeout = Some(value).filter(|time| *time != super::FOREVER),
                code::SEND_TIMEOUT_CLOSE => self.send_timeout_close = value != 0,
                code::DELAY_SEND => self.delay_send = value != 0,
                code::SHOW_ECONNRESET => self.show_reset = value != 0,
                code::LINE_DELIMITER => self.line_delimiter = value as u8,
                code::HIGH_MESSAGE_QUEUE => {
                    let high = positive(value)?;
                    self.queue_limits = QueueLimits { low: self.queue_limits.low.min(high), high };
                }
                code::LOW_MESSAGE_QUEUE => {
                    let low = positive(value)?;
                    self.queue_limits = QueueLimits { low, high: self.queue_limits.high.max(low) };
                }
                code::LINGER => {
                    let time = take_u32(&mut data)?;
                    let linger = [i32::from(value != 0).to_ne_bytes(), time.to_ne_bytes()].concat();
                    set_bytes(open()?, (libc::SOL_SOCKET, libc::SO_LINGER), &linger)?;
                    self.lingers = value != 0 && time != 0;
                }
                code::MULTICAST_IF => {
                    let value = if family == Family::Inet6 { value.to_ne_bytes() } else { value.to_be_bytes() };
                    let _ = set_bytes(open()?, multicast_interface(family), &value);
                }
                code::ADD_MEMBERSHIP | code::DROP_MEMBERSHIP => {
                    let (option, value) = membership(*code == code::ADD_MEMBERSHIP, value, &mut data)?;
                    let _ = set_bytes(open()?, option, &value);
                }
                code::RAW => {
                    let (option, len) = (take_u32(&mut data)?, take_u32(&mut data)?);
                    let bytes = take(&mut data, len as usize)?;
                    // OTP says nothing of one that the system does not have.
                    let _ = set_bytes(open()?, (value as i32, option as i32), bytes);
                }
                code::BIND_TO_DEVICE => {
                    let name = take(&mut data, value as usize)?;
                    set_bytes(open()?, (libc::SOL_SOCKET, libc::SO_BINDTODEVICE), name).map_err(|_| Errno::INVAL)?;
                }
                code::NETNS => {
                    let name = take(&mut data, value as usize)?;
                    self.namespace = Some(name.into());
                }
                code::DEBUG => {}
                code::NODELAY | code::NOPUSH if kind != SocketType::STREAM => {}
                other => {
                    let (option, strict) = system_option(other, family, kind).ok_or(Errno::INVAL)?;
                    let fd = open()?;
                    // Linux derives the priority from the type of service, which nobody has asked for.
                    let priority = if other == code::TOS { get_int(fd, PRIORITY).ok() } else { None };
                    let set = set_bytes(fd, option, &value.to_ne_bytes());
                    if let Some(priority) = priority {
                        let _ = set_bytes(fd, PRIORITY, &priority.to_ne_bytes());
                    }
                    if strict && set.is_err() {
                        return Err(Errno::INVAL);
                    }
                    if matches!(other, code::RECVTOS | code::RECVTCLASS | code::RECVTTL) {
                        let bit = 1 << (other - code::RECVTOS);
                        self.ancillary = if value != 0 { self.ancillary | bit } else { self.ancillary & !bit };
                    }
                    if other == code::RCVBUF && !self.is_buffer_set {
                        // A larger system buffer means that larger datagrams or lines are wanted.
                        let most = if kind == SocketType::STREAM { LARGEST_BUFFER } else { LARGEST_DATAGRAM };
                        self.buffer = self.buffer.max((number as usize).min(most));
                    }
                }
            }
        }
        Ok(())
    }

    fn set_active(&mut self, value: u32, data: &mut &[u8]) -> Result<(), Errno> {
        self.active = match value {
            0 => Active::No,
            1 => Active::Yes,
            2 => Active::Once,
            _ => {
                let (count, rest) = data.split_first_chunk::<2>().ok_or(Errno::INVAL)?;
                *data = rest;
                let before = if let Active::Times(n) = self.active { n } else { 0 };
                let sum = before.checked_add(i16::from_be_bytes(*count)).ok_or(Errno::INVAL)?;
                if sum <= 0 {
                    self.ran_out = true;
                    Active::No
                } else {
                    Active::Times(sum)
                }
            }
        };
        Ok(())
    }

    /// One packet went to the owner; `true` if that was the last of a count.
    pub(super) fn one_delivered(&mut self) -> bool {
        match self.active {
            Active::Once => self.active = Active::No,
            Active::Times(n) if n <= 1 => {
                self.active = Active::No;
                return true;
            }
            Active::Times(n) => self.active = Active::Times(n - 1),
            Active::No | Active::Yes => {}
        }
        false
    }

    /// Is ancillary data that comes with datagrams handed on?
    pub(super) fn tells_ancillary(&self) -> bool {
        self.ancillary != 0
    }

    /// Datagrams that are taken in one go.
    pub(super) fn reads(&self) -> u32 {
        self.read_packets
    }

    /// How packets show where they end.
    pub(super) fn format(&self, in_header: bool) -> Format {
        match self.packet {
            1 => Format::Length(1),
            2 => Format::Length(2),
            3 => Format::Length(4),
            4 => Format::Asn1,
            5 => Format::SunRm,
            6 => Format::Cdr,
            7 => Format::Fcgi,
            8 => Format::Line,
            9 => Format::Tpkt,
            10 | 13 if !in_header => Format::Http(Line::First),
            10 | 11 | 13 | 14 => Format::Http(Line::Header),
            12 => Format::Tls,
            _ => Format::Raw,
        }
    }

    /// Are the parts of HTTP's lines binaries?
    pub(super) fn http_binaries(&self) -> bool {
        matches!(self.packet, 13 | 14)
    }

    /// Is a header's line expected after a request's?
    pub(super) fn http_alternates(&self) -> bool {
        matches!(self.packet, 10 | 13)
    }

    /// What limits packets.
    pub(super) fn limits(&self) -> Limits {
        Limits { packet: self.packet_size as usize, line: self.buffer, delimiter: self.line_delimiter }
    }

    /// Does closing throw away what is not sent?
    pub(super) fn closes_at_once(fd: BorrowedFd<'_>) -> bool {
        let linger = get_bytes(fd, (libc::SOL_SOCKET, libc::SO_LINGER), 8).unwrap_or_default();
        linger.len() == 8 && linger[..4] != [0; 4] && linger[4..] == [0; 4]
    }

    /// Calls in the name space that was asked for; the thread is back in its own afterwards.
    pub(super) fn in_namespace<T>(&self, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        system::in_namespace(self.namespace.as_deref(), call)
    }

    /// The options that are asked for, those that there are.
    pub(super) fn get(&self, fd: Option<BorrowedFd<'_>>, family: Family, mut wanted: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut out = Vec::new();
        while let Some((code, rest)) = wanted.split_first() {
            wanted = rest;
            let mut put = |value: u32| {
                out.push(*code);
                out.extend(value.to_be_bytes());
            };
            match (*code, fd) {
                (code::ACTIVE, _) => match self.active {
                    Active::No => put(0),
                    Active::Yes => put(1),
                    Active::Once => put(2),
                    Active::Times(n) => {
                        put(3);
                        out.extend(n.to_be_bytes());
                    }
                },
                (code::RAW, _) => {
                    let (level, option) = (take_u32(&mut wanted)?, take_u32(&mut wanted)?);
                    let (is_binary, rest) = wanted.split_first().ok_or(Errno::INVAL)?;
                    wanted = rest;
                    let len = take_u32(&mut wanted)? as usize;
                    if *is_binary == 1 {
                        take(&mut wanted, len)?;
                    }
                    if len > LARGEST_RAW {
                        return Err(Errno::INVAL);
                    }
                    if let Some(fd) = fd
                        && let Ok(value) = get_bytes(fd, (level as i32, option as i32), len)
                    {
                        put(level);
                        out.extend(option.to_be_bytes());
                        put_counted(&mut out, &value);
                    }
                }
                (code::NETNS, _) => {
                    if let Some(name) = &self.namespace {
                        out.push(*code);
                        put_counted(&mut out, name);
                    }
                }
                (code::PKTOPTIONS | code::MULTICAST_IF, _) if family == Family::Local => return Err(Errno::INVAL),
                (code::LINGER, Some(fd)) => {
                    let linger = get_bytes(fd, (libc::SOL_SOCKET, libc::SO_LINGER), 8)?;
                    if let Some((on, time)) =
                        linger.split_first_chunk::<4>().and_then(|(a, r)| Some((a, r.first_chunk::<4>()?)))
                    {
                        put(u32::from_ne_bytes(*on));
                        out.extend(u32::from_ne_bytes(*time).to_be_bytes());
                    }
                }
                (code::MULTICAST_IF, Some(fd)) => {
                    let Ok(value) = get_bytes(fd, multicast_interface(family), 4) else { continue };
                    let value = value.first_chunk::<4>().map_or(0, |value| match family {
                        Family::Inet6 => u32::from_ne_bytes(*value),
                        _ => u32::from_be_bytes(*value),
                    });
                    put(value);
                    out.extend(u32::from(if family == Family::Inet6 { INET6 } else { INET }).to_be_bytes());
                }
                (code::BIND_TO_DEVICE, Some(fd)) => {
                    let Ok(name) = get_bytes(fd, (libc::SOL_SOCKET, libc::SO_BINDTODEVICE), libc::IFNAMSIZ) else {
                        continue;
                    };
                    out.push(*code);
                    put_counted(&mut out, name.split(|byte| *byte == 0).next().unwrap_or(&[]));
                }
                (code::PKTOPTIONS, Some(fd)) => {
                    let option = match family {
                        Family::Inet6 => (libc::IPPROTO_IPV6, libc::IPV6_2292PKTOPTIONS),
                        _ => (libc::IPPROTO_IP, libc::IP_PKTOPTIONS),
                    };
                    let Ok(messages) = get_bytes(fd, option, 1024) else { continue };
                    let options: Vec<u8> = super::ancillary::parse(&messages)
                        .into_iter()
                        .flat_map(|(code, value)| [&[code], &value.to_be_bytes()[..]].concat())
                        .collect();
                    out.push(*code);
                    put_counted(&mut out, &options);
                }
                (code::ADD_MEMBERSHIP | code::DROP_MEMBERSHIP | code::LINE_DELIMITER, _) => return Err(Errno::INVAL),
                (other, fd) => {
                    if let Some(value) = self.own(other) {
                        put(value);
                    } else if let Some((option, _)) = system_option(other, family, SocketType::STREAM)
                        && let Some(fd) = fd
                        && let Ok(value) = get_int(fd, option)
                    {
                        put(value as u32);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The value of an option that is a number and not the system's; nothing if sockets of the kind have no such.
    fn own(&self, code: u8) -> Option<u32> {
        Some(match code {
            code::BUFFER => self.buffer as u32,
            code::HEADER => self.header as u32,
            code::PACKET => self.packet,
            code::MODE => u32::from(self.binary),
            code::DELIVER => u32::from(self.deliver == Deliver::Term),
            code::EXIT_ON_CLOSE => u32::from(self.exit_on_close),
            code::PACKET_SIZE => self.packet_size,
            code::HIGH_MESSAGE_QUEUE => self.queue_limits.high as u32,
            code::LOW_MESSAGE_QUEUE => self.queue_limits.low as u32,
            code::DEBUG => 0,
            code::READ_PACKETS if !self.of_stream => self.read_packets,
            _ if !self.of_stream => return None,
            code::HIGH => self.high as u32,
            code::LOW => self.low as u32,
            code::SEND_TIMEOUT => self.send_timeout.unwrap_or(super::FOREVER),
            code::SEND_TIMEOUT_CLOSE => u32::from(self.send_timeout_close),
            code::DELAY_SEND => u32::from(self.delay_send),
            code::SHOW_ECONNRESET => u32::from(self.show_reset),
            _ => return None,
        })
    }

    /// How many bytes of data that is so long are given as a list, and whether what is left is a binary (else: nothing is left).
    pub(super) fn split(&self, len: usize) -> (usize, bool) {
        if !self.binary {
            return (len, false);
        }
        (self.header.min(len), len >= self.header)
    }
}

/// Most bytes of a raw option's value.
const LARGEST_RAW: usize = 1 << 14;

fn put_counted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend((bytes.len() as u32).to_be_bytes());
    out.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_active_datagrams_adds_up_and_runs_out() {
        let mut options = Options::new(SocketType::DGRAM);
        assert_eq!(options.set(None, Family::Inet, SocketType::DGRAM, &[22, 0, 0, 0, 3, 0, 2]), Ok(()));
        assert_eq!(options.active, Active::Times(2));
        assert!(!options.one_delivered() && options.one_delivered());
        assert_eq!(options.active, Active::No);
        assert_eq!(options.set(None, Family::Inet, SocketType::DGRAM, &[22, 0, 0, 0, 3, 0xff, 0xfe]), Ok(()));
        assert!(options.ran_out);
        assert_eq!(options.set(None, Family::Inet, SocketType::DGRAM, &[22, 0, 0, 0, 3, 0]), Err(Errno::INVAL));
        assert_eq!(options.set(None, Family::Inet, SocketType::DGRAM, &[22, 0, 0]), Ok(()));
        assert_eq!(options.set(None, Family::Inet, SocketType::DGRAM, &[0, 0, 0, 0, 1]), Err(Errno::INVAL));
    }
}
