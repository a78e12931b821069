//! Socket options in `prim_inet`'s bytes: a code each, then a value that most often has 32 bits.

use myriad_term::{Build, Term, TermRef};
use rustix::io::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Whether the owner gets datagrams when they come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Active {
    /// It does not: it asks for them.
    No,
    /// It does.
    Yes,
    /// It gets the next one only.
    Once,
    /// It gets this number of datagrams more.
    Times(i16),
}

/// The options that the driver keeps itself.
pub(super) struct Local {
    pub(super) active: Active,
    /// A count has been taken down to nothing by setting it.
    pub(super) ran_out: bool,
    binary: bool,
    /// Bytes at the front that are given as a list even in binary mode.
    header: usize,
    /// Most bytes of a datagram; the rest is cut off.
    pub(super) buffer: usize,
    deliver_term: bool,
    exit_on_close: bool,
    packet: u32,
    packet_size: u32,
    read_packets: u32,
    high_message_queue: u32,
    low_message_queue: u32,
}

impl Default for Local {
    fn default() -> Self {
        Local {
            active: Active::No,
            ran_out: false,
            binary: false,
            header: 0,
            buffer: 8192,
            deliver_term: true,
            exit_on_close: true,
            packet: 0,
            packet_size: 0,
            read_packets: 5,
            high_message_queue: 8192,
            low_message_queue: 4096,
        }
    }
}

mod code {
    pub(super) const LINGER: u8 = 3;
    pub(super) const RCVBUF: u8 = 7;
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
    pub(super) const PACKET_SIZE: u8 = 32;
    pub(super) const READ_PACKETS: u8 = 33;
    pub(super) const RAW: u8 = 34;
    pub(super) const HIGH_MESSAGE_QUEUE: u8 = 36;
    pub(super) const LOW_MESSAGE_QUEUE: u8 = 37;
    pub(super) const NETNS: u8 = 38;
    pub(super) const BIND_TO_DEVICE: u8 = 42;
}

/// The system's option behind a code whose value is an integer or truth value.
fn system_option(code: u8, six: bool) -> Option<(i32, i32)> {
    use libc::{IPPROTO_IP, IPPROTO_IPV6, SOL_SOCKET};
    Some(match code {
        0 => (SOL_SOCKET, libc::SO_REUSEADDR),
        1 => (SOL_SOCKET, libc::SO_KEEPALIVE),
        2 => (SOL_SOCKET, libc::SO_DONTROUTE),
        4 => (SOL_SOCKET, libc::SO_BROADCAST),
        6 => (SOL_SOCKET, libc::SO_SNDBUF),
        code::RCVBUF => (SOL_SOCKET, libc::SO_RCVBUF),
        8 => (SOL_SOCKET, libc::SO_PRIORITY),
        9 => (IPPROTO_IP, libc::IP_TOS),
        12 if six => (IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS),
        12 => (IPPROTO_IP, libc::IP_MULTICAST_TTL),
        13 if six => (IPPROTO_IPV6, libc::IPV6_MULTICAST_LOOP),
        13 => (IPPROTO_IP, libc::IP_MULTICAST_LOOP),
        16 => (IPPROTO_IPV6, libc::IPV6_V6ONLY),
        41 => (IPPROTO_IPV6, libc::IPV6_TCLASS),
        46 => (IPPROTO_IP, libc::IP_TTL),
        _ => return None,
    })
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

fn set_bytes(fd: BorrowedFd<'_>, option: (i32, i32), value: &[u8]) -> Result<(), Errno> {
    // SAFETY: the value is live and as long as said.
    let code = unsafe {
        libc::setsockopt(fd.as_raw_fd(), option.0, option.1, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if code == 0 { Ok(()) } else { Err(last_error()) }
}

fn get_bytes(fd: BorrowedFd<'_>, option: (i32, i32), most: usize) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; most];
    let mut len = most as libc::socklen_t;
    // SAFETY: the room is as long as said; at most so much is written.
    let code = unsafe { libc::getsockopt(fd.as_raw_fd(), option.0, option.1, value.as_mut_ptr().cast(), &raw mut len) };
    if code != 0 {
        return Err(last_error());
    }
    value.truncate(len as usize);
    Ok(value)
}

fn get_int(fd: BorrowedFd<'_>, option: (i32, i32)) -> Result<i32, Errno> {
    let bytes = get_bytes(fd, option, 4)?;
    // Some options have one byte only.
    Ok(match bytes.first_chunk::<4>() {
        Some(all) => i32::from_ne_bytes(*all),
        None => i32::from(bytes.first().copied().unwrap_or(0)),
    })
}

/// Takes a number off the front of the bytes.
fn take_u32(data: &mut &[u8]) -> Result<u32, Errno> {
    let (number, rest) = data.split_first_chunk::<4>().ok_or(Errno::INVAL)?;
    *data = rest;
    Ok(u32::from_be_bytes(*number))
}

fn take<'a>(data: &mut &'a [u8], len: usize) -> Result<&'a [u8], Errno> {
    let (front, rest) = data.split_at_checked(len).ok_or(Errno::INVAL)?;
    *data = rest;
    Ok(front)
}

fn membership(fd: BorrowedFd<'_>, add: bool, family: u32, data: &mut &[u8]) -> Result<(), Errno> {
    let index = take_u32(data)?;
    if family == u32::from(super::address::INET6) {
        let group = take(data, 16)?;
        let option = if add { libc::IPV6_ADD_MEMBERSHIP } else { libc::IPV6_DROP_MEMBERSHIP };
        return set_bytes(fd, (libc::IPPROTO_IPV6, option), &[group, &index.to_ne_bytes()].concat());
    }
    let (group, interface) = (take(data, 4)?, take(data, 4)?);
    let option = if add { libc::IP_ADD_MEMBERSHIP } else { libc::IP_DROP_MEMBERSHIP };
    set_bytes(fd, (libc::IPPROTO_IP, option), &[group, interface, &index.to_ne_bytes()].concat())
}

impl Local {
    /// Sets options.
    pub(super) fn set(&mut self, fd: Option<BorrowedFd<'_>>, six: bool, mut data: &[u8]) -> Result<(), Errno> {
        while let Some((code, rest)) = data.split_first() {
            data = rest;
            let value = take_u32(&mut data)?;
            match *code {
                code::ACTIVE => self.set_active(value, &mut data)?,
                code::BUFFER => self.buffer = (value as usize).clamp(1, 1 << 16),
                code::HEADER => self.header = value as usize,
                code::PACKET => self.packet = value,
                code::MODE => self.binary = value == 1,
                code::DELIVER => self.deliver_term = value == 1,
                code::EXIT_ON_CLOSE => self.exit_on_close = value != 0,
                code::PACKET_SIZE => self.packet_size = value,
                code::READ_PACKETS => self.read_packets = value.max(1),
                code::HIGH_MESSAGE_QUEUE => self.high_message_queue = value,
                code::LOW_MESSAGE_QUEUE => self.low_message_queue = value,
                code::LINGER => {
                    let time = take_u32(&mut data)?;
                    let linger = [i32::from(value != 0).to_ne_bytes(), time.to_ne_bytes()].concat();
                    set_bytes(fd.ok_or(Errno::INVAL)?, (libc::SOL_SOCKET, libc::SO_LINGER), &linger)?;
                }
                code::MULTICAST_IF if six => {
                    set_bytes(
                        fd.ok_or(Errno::INVAL)?,
                        (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF),
                        &value.to_ne_bytes(),
                    )?;
                }
                code::MULTICAST_IF => {
                    set_bytes(
                        fd.ok_or(Errno::INVAL)?,
                        (libc::IPPROTO_IP, libc::IP_MULTICAST_IF),
                        &value.to_be_bytes(),
                    )?;
                }
                code::ADD_MEMBERSHIP | code::DROP_MEMBERSHIP => {
                    membership(fd.ok_or(Errno::INVAL)?, *code == code::ADD_MEMBERSHIP, value, &mut data)?;
                }
                code::RAW => {
                    let (option, len) = (take_u32(&mut data)?, take_u32(&mut data)?);
                    let bytes = take(&mut data, len as usize)?;
                    set_bytes(fd.ok_or(Errno::INVAL)?, (value as i32, option as i32), bytes)?;
                }
                code::BIND_TO_DEVICE => {
                    let name = take(&mut data, value as usize)?;
                    set_bytes(fd.ok_or(Errno::INVAL)?, (libc::SOL_SOCKET, libc::SO_BINDTODEVICE), name)?;
                }
                code::NETNS => return Err(Errno::INVAL),
                // What only streams have is taken and forgotten, as by OTP; what is unknown is an error.
                10 | 27 | 28 | 30 | 31 | 35 | 39 | 40 | 48 => {}
                other => {
                    let option = system_option(other, six).ok_or(Errno::INVAL)?;
                    set_bytes(fd.ok_or(Errno::INVAL)?, option, &value.to_ne_bytes())?;
                    if other == code::RCVBUF {
                        // A larger system buffer means that larger datagrams are wanted.
                        self.buffer = self.buffer.max((value as usize).min(1 << 16));
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

    /// One datagram went to the owner; `true` if that was the last of a count.
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

    /// The options that are asked for, those that there are.
    pub(super) fn get(&self, fd: BorrowedFd<'_>, six: bool, mut wanted: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut out = Vec::new();
        while let Some((code, rest)) = wanted.split_first() {
            wanted = rest;
            let mut put = |value: u32| {
                out.push(*code);
                out.extend(value.to_be_bytes());
            };
            match *code {
                code::ACTIVE => match self.active {
                    Active::No => put(0),
                    Active::Yes => put(1),
                    Active::Once => put(2),
                    Active::Times(n) => {
                        put(3);
                        out.extend(n.to_be_bytes());
                    }
                },
                code::BUFFER => put(self.buffer as u32),
                code::HEADER => put(self.header as u32),
                code::PACKET => put(self.packet),
                code::MODE => put(u32::from(self.binary)),
                code::DELIVER => put(u32::from(self.deliver_term)),
                code::EXIT_ON_CLOSE => put(u32::from(self.exit_on_close)),
                code::PACKET_SIZE => put(self.packet_size),
                code::READ_PACKETS => put(self.read_packets),
                code::HIGH_MESSAGE_QUEUE => put(self.high_message_queue),
                code::LOW_MESSAGE_QUEUE => put(self.low_message_queue),
                code::LINGER => {
                    let linger = get_bytes(fd, (libc::SOL_SOCKET, libc::SO_LINGER), 8)?;
                    if let Some((on, time)) =
                        linger.split_first_chunk::<4>().and_then(|(a, r)| Some((a, r.first_chunk::<4>()?)))
                    {
                        put(u32::from_ne_bytes(*on));
                        out.extend(u32::from_ne_bytes(*time).to_be_bytes());
                    }
                }
                code::RAW => {
                    let (level, option) = (take_u32(&mut wanted)?, take_u32(&mut wanted)?);
                    let (is_binary, rest) = wanted.split_first().ok_or(Errno::INVAL)?;
                    wanted = rest;
                    let len = take_u32(&mut wanted)? as usize;
                    if *is_binary == 1 {
                        take(&mut wanted, len)?;
                    }
                    let value = get_bytes(fd, (level as i32, option as i32), len.min(1 << 16))?;
                    put(level);
                    out.extend(option.to_be_bytes());
                    out.extend((value.len() as u32).to_be_bytes());
                    out.extend(value);
                }
                code::MULTICAST_IF if !six => {
                    let value = get_bytes(fd, (libc::IPPROTO_IP, libc::IP_MULTICAST_IF), 4)?;
                    put(value.first_chunk::<4>().map_or(0, |v| u32::from_be_bytes(*v)));
                }
                other => {
                    if let Some(option) = system_option(other, six)
                        && let Ok(value) = get_int(fd, option)
                    {
                        put(value as u32);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The data of a datagram as a term.
    pub(super) fn data_term<'h, B: Build<'h>>(&self, f: &mut B, bytes: &[u8]) -> TermRef<'h> {
        if !self.binary {
            return f.byte_list(bytes, Term::NIL);
        }
        let (header, rest) = bytes.split_at(self.header.min(bytes.len()));
        let rest = if rest.is_empty() && !header.is_empty() { Term::NIL } else { f.binary(rest) };
        f.byte_list(header, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_active_datagrams_adds_up_and_runs_out() {
        let mut local = Local::default();
        assert_eq!(local.set(None, false, &[22, 0, 0, 0, 3, 0, 2]), Ok(()));
        assert_eq!(local.active, Active::Times(2));
        assert!(!local.one_delivered() && local.one_delivered());
        assert_eq!(local.active, Active::No);
        assert_eq!(local.set(None, false, &[22, 0, 0, 0, 3, 0xff, 0xfe]), Ok(()));
        assert!(local.ran_out);
        assert_eq!(local.set(None, false, &[22, 0, 0, 0, 3, 0]), Err(Errno::INVAL));
        assert_eq!(local.set(None, false, &[22, 0, 0]), Err(Errno::INVAL));
        assert_eq!(local.set(None, false, &[0, 0, 0, 0, 1]), Err(Errno::INVAL));
    }
}
