//! Ancillary data: the control messages beside data, as maps of the module `socket`; and the flags of a message.

use super::address::{Address, ipv4_term, ipv6_term};
use super::options;
use super::terms::{Fields, atom_of, map_of};
use crate::system::{Control, controls, put_control};
use myriad_term::{Build, Term, TermRef, am};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What the value of a kind of control messages is.
#[derive(Clone, Copy)]
enum Shape {
    None,
    Int,
    Tos,
    Timestamp,
    PacketInfo,
    PacketInfo6,
    Address,
    /// What has become of a message that was sent (`sock_extended_err`).
    Error,
}

/// The kinds that have a name: level, number, name, value.
const KINDS: [(i32, i32, &str, Shape); 14] = [
    (libc::SOL_SOCKET, libc::SCM_TIMESTAMP, "timestamp", Shape::Timestamp),
    (libc::SOL_SOCKET, libc::SCM_RIGHTS, "rights", Shape::None),
    (libc::SOL_SOCKET, libc::SCM_CREDENTIALS, "credentials", Shape::None),
    (libc::IPPROTO_IP, libc::IP_TOS, "tos", Shape::Tos),
    (libc::IPPROTO_IP, libc::IP_RECVTOS, "recvtos", Shape::Tos),
    (libc::IPPROTO_IP, libc::IP_TTL, "ttl", Shape::Int),
    (libc::IPPROTO_IP, libc::IP_RECVTTL, "recvttl", Shape::Int),
    (libc::IPPROTO_IP, libc::IP_PKTINFO, "pktinfo", Shape::PacketInfo),
    (libc::IPPROTO_IP, libc::IP_ORIGDSTADDR, "origdstaddr", Shape::Address),
    (libc::IPPROTO_IP, libc::IP_RECVERR, "recverr", Shape::Error),
    (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, "pktinfo", Shape::PacketInfo6),
    (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, "hoplimit", Shape::Int),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, "tclass", Shape::Int),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, "recverr", Shape::Error),
];

/// The flags of a message by name.
pub(super) const FLAGS: [(&str, i32); 11] = [
    ("cmsg_cloexec", libc::MSG_CMSG_CLOEXEC),
    ("confirm", libc::MSG_CONFIRM),
    ("ctrunc", libc::MSG_CTRUNC),
    ("dontroute", libc::MSG_DONTROUTE),
    ("eor", libc::MSG_EOR),
    ("errqueue", libc::MSG_ERRQUEUE),
    ("more", libc::MSG_MORE),
    ("nosignal", libc::MSG_NOSIGNAL),
    ("oob", libc::MSG_OOB),
    ("peek", libc::MSG_PEEK),
    ("trunc", libc::MSG_TRUNC),
];

/// The names of the flags that are set.
pub(super) fn flag_names<'h, B: Build<'h>>(f: &mut B, flags: i32) -> TermRef<'h> {
    let names: Vec<TermRef<'h>> =
        FLAGS.iter().filter(|(_, flag)| flags & flag != 0).map(|(text, _)| atom_of(text)).collect();
    f.list(&names)
}

fn number(bytes: &[u8]) -> i64 {
    match bytes.first_chunk::<4>() {
        Some(four) => i64::from(i32::from_ne_bytes(*four)),
        None => bytes.first().copied().map_or(0, i64::from),
    }
}

/// The value of a control message; nothing if its data are too short, or have no form.
fn value<'h, B: Build<'h>>(f: &mut B, shape: Shape, data: &[u8]) -> Option<TermRef<'h>> {
    match shape {
        Shape::None => None,
        Shape::Int => data.first_chunk::<4>().map(|_| Term::small(number(data))),
        Shape::Tos => (!data.is_empty()).then(|| options::tos_term(number(data) as i32)),
        Shape::Timestamp => {
            let (seconds, rest) = data.split_first_chunk::<8>()?;
            let (seconds, micros) = (i64::from_ne_bytes(*seconds), i64::from_ne_bytes(*rest.first_chunk()?));
            let pairs = [(atom_of("sec"), f.int(seconds)), (atom_of("usec"), f.int(micros))];
            Some(map_of(f, &pairs))
        }
        Shape::PacketInfo => {
            let (index, rest) = data.split_first_chunk::<4>()?;
            let (local, rest) = rest.split_first_chunk::<4>()?;
            let (local, address) = (Ipv4Addr::from(*local), Ipv4Addr::from(*rest.first_chunk::<4>()?));
            let (local, address) = (ipv4_term(f, local), ipv4_term(f, address));
            let index = Term::small(i64::from(u32::from_ne_bytes(*index)));
            let pairs = [(atom_of("ifindex"), index), (atom_of("spec_dst"), local), (am::addr.term(), address)];
            Some(map_of(f, &pairs))
        }
        Shape::PacketInfo6 => {
            let (address, rest) = data.split_first_chunk::<16>()?;
            let address = ipv6_term(f, Ipv6Addr::from(*address));
            let index = Term::small(i64::from(u32::from_ne_bytes(*rest.first_chunk::<4>()?)));
            Some(map_of(f, &[(am::addr.term(), address), (atom_of("ifindex"), index)]))
        }
        Shape::Address => Address::of_ipv4_bytes(data).map(|address| address.term(f)),
        Shape::Error => error(f, data),
    }
}

/// Where an error came from.
const ORIGINS: [(u8, &str); 4] = [(0, "none"), (1, "local"), (2, "icmp"), (3, "icmp6")];
/// Types of an error by its origin.
const TYPES: [(u8, u8, &str); 5] = [
    (2, 3, "dest_unreach"),
    (2, 11, "time_exceeded"),
    (3, 1, "dest_unreach"),
    (3, 2, "pkt_toobig"),
    (3, 3, "time_exceeded"),
];
/// Codes of a destination that was not reached, by the origin of the error.
const CODES: [(u8, u8, &str); 13] = [
    (2, 0, "net_unreach"),
    (2, 1, "host_unreach"),
    (2, 3, "port_unreach"),
    (2, 4, "frag_needed"),
    (2, 6, "net_unknown"),
    (2, 7, "host_unknown"),
    (3, 0, "noroute"),
    (3, 1, "adm_prohibited"),
    (3, 2, "not_neighbour"),
    (3, 3, "addr_unreach"),
    (3, 4, "port_unreach"),
    (3, 5, "policy_fail"),
    (3, 6, "reject_route"),
];

fn named<'h>(rows: &[(u8, u8, &str)], origin: u8, number: u8) -> TermRef<'h> {
    let row = rows.iter().find(|row| (row.0, row.1) == (origin, number));
    row.map_or(Term::small(i64::from(number)), |row| atom_of(row.2))
}

/// What has become of a message, and who has told so.
fn error<'h, B: Build<'h>>(f: &mut B, data: &[u8]) -> Option<TermRef<'h>> {
    let (errno, rest) = data.split_first_chunk::<4>()?;
    let ([origin, kind, code, _], rest) = rest.split_first_chunk::<4>()?;
    let (info, rest) = rest.split_first_chunk::<4>()?;
    let (more, offender) = rest.split_first_chunk::<4>()?;
    let errno = rustix::io::Errno::from_raw_os_error(i32::from_ne_bytes(*errno));
    let is_unreached = named(&TYPES, *origin, *kind) == atom_of("dest_unreach");
    let code_rows: &[(u8, u8, &str)] = if is_unreached { &CODES } else { &[] };
    let origin_name = ORIGINS.iter().find(|row| row.0 == *origin);
    let offender = Address::of_system(offender)?.term(f);
    let pairs = [
        (atom_of("error"), crate::posix::atom(errno).term()),
        (atom_of("origin"), origin_name.map_or(Term::small(i64::from(*origin)), |row| atom_of(row.1))),
        (am::type_.term(), named(&TYPES, *origin, *kind)),
        (atom_of("code"), named(code_rows, *origin, *code)),
        (atom_of("info"), Term::small(i64::from(u32::from_ne_bytes(*info)))),
        (am::data.term(), Term::small(i64::from(u32::from_ne_bytes(*more)))),
        (atom_of("offender"), offender),
    ];
    Some(map_of(f, &pairs))
}

/// One control message as a map.
fn term<'h, B: Build<'h>>(f: &mut B, level: i32, kind: i32, data: &[u8]) -> TermRef<'h> {
    let known = KINDS.iter().find(|row| (row.0, row.1) == (level, kind));
    let value = known.and_then(|row| value(f, row.3, data));
    let level = if level == libc::SOL_SOCKET { am::socket.term() } else { Term::small(i64::from(level)) };
    let kind = known.map_or(Term::small(i64::from(kind)), |row| atom_of(row.2));
    let data = f.binary(data);
    let mut pairs = vec![(am::level.term(), level), (am::type_.term(), kind), (am::data.term(), data)];
    pairs.extend(value.map(|value| (am::value.term(), value)));
    map_of(f, &pairs)
}

/// The system's control messages as a list.
pub(super) fn terms<'h, B: Build<'h>>(f: &mut B, messages: &[u8]) -> TermRef<'h> {
    let all: Vec<TermRef<'h>> = controls(messages).map(|one| term(f, one.level, one.kind, one.data)).collect();
    f.list(&all)
}

/// The system's bytes of a list of maps; nothing if it is none.
pub(super) fn bytes(list: Term) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut items = list.list_iter();
    for item in items.by_ref() {
        let map = Fields::of(item)?;
        let level = map.get(am::level)?;
        let level = match level.as_atom() {
            Some(am::socket) => libc::SOL_SOCKET,
            Some(_) => return None,
            None => i32::try_from(level.as_small()?).ok()?,
        };
        let kind = map.get(am::type_)?;
        let known = KINDS.iter().find(|row| {
            row.0 == level
                && kind.as_atom().map_or(kind.as_small() == Some(i64::from(row.1)), |name| name.text() == row.2)
        });
        let number = match kind.as_small() {
            Some(number) => i32::try_from(number).ok()?,
            None => known?.1,
        };
        let data = match (map.get(am::data), map.get(am::value)) {
            (Some(data), _) => options::native(data)?,
            (None, Some(value)) => value_bytes(known.map_or(Shape::None, |row| row.3), value)?,
            (None, None) => return None,
        };
        put_control(&mut out, Control { level, kind: number, data: &data });
    }
    items.tail().is_nil().then_some(out)
}

/// The data of a value.
fn value_bytes(shape: Shape, value: Term) -> Option<Vec<u8>> {
    match shape {
        Shape::Tos => options::tos_bytes(value).map(|four| four.to_vec()),
        Shape::Int => i32::try_from(value.as_small()?).ok().map(|number| number.to_ne_bytes().to_vec()),
        Shape::Timestamp => {
            let map = Fields::of(value)?;
            let (seconds, micros) = (map.get_by("sec")?.as_small()?, map.get_by("usec")?.as_small()?);
            Some([seconds.to_ne_bytes(), micros.to_ne_bytes()].concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Arena;

    /// A place for terms that are never given back.
    fn arena() -> &'static Arena {
        Box::leak(Box::new(Arena::new()))
    }

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_control(&mut bytes, Control { level, kind, data });
        bytes
    }

    #[test]
    fn control_messages_there_and_back() {
        let mut arena = arena();
        let all = [
            message(libc::IPPROTO_IP, libc::IP_TOS, &[8]),
            message(libc::IPPROTO_IP, libc::IP_TTL, &64i32.to_ne_bytes()),
            message(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &1i32.to_ne_bytes()),
            message(300, 301, b"abc"),
        ]
        .concat();
        let list = terms(&mut arena, &all);
        assert_eq!(list.list_length(), Some(4));
        assert_eq!(bytes(list), Some(all));
    }

    #[test]
    fn what_is_cut_off_or_no_message() {
        let mut arena = arena();
        let one = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMP, &[1; 16]);
        for end in 0..one.len() {
            let found = terms(&mut arena, &one[..end]).list_length();
            assert_eq!(found, Some(usize::from(end >= 16)), "{end}");
        }
        assert!(terms(&mut arena, &[0xff; 40]).list_length().is_some());
        assert!(terms(&mut arena, &[0; 40]).is_nil());
        assert_eq!((bytes(Term::small(1)), bytes(Term::NIL)), (None, Some(Vec::new())));
    }
}
