//! Addresses of sockets as the maps of the module `socket`, and as the system takes them.

use super::terms::{Fields, atom_of, map_of};
use myriad_term::{Build, Term, TermRef, am};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest address (`sockaddr_storage`).
const ROOM: usize = 128;

/// An address in the system's bytes: the family in two of them, then what it says.
#[derive(Clone, Copy)]
pub(super) struct Address {
    bytes: [u8; ROOM],
    len: usize,
}

/// The families that have a name: it, and the system's number.
const FAMILIES: [(&str, i32); 4] =
    [("inet", libc::AF_INET), ("inet6", libc::AF_INET6), ("local", libc::AF_UNIX), ("unspec", libc::AF_UNSPEC)];

/// The number of a family: by its name, or itself.
pub(super) fn family_number(term: Term) -> Option<i32> {
    match term.as_atom() {
        Some(name) => FAMILIES.iter().find(|(text, _)| name.text() == *text).map(|(_, number)| *number),
        None => term.as_small().and_then(|number| i32::try_from(number).ok()),
    }
}

/// A family: its name, if it has one, else its number.
pub(super) fn family_term<'h>(number: i32) -> TermRef<'h> {
    let named = FAMILIES.iter().find(|(_, of)| *of == number);
    named.map_or(Term::small(i64::from(number)), |(text, _)| atom_of(text))
}

impl Address {
    /// Room for one that the system writes.
    pub(super) const fn room() -> Address {
        Address { bytes: [0; ROOM], len: ROOM }
    }

    fn of_bytes(parts: &[&[u8]]) -> Option<Address> {
        let mut address = Address { bytes: [0; ROOM], len: 0 };
        for part in parts {
            address.bytes.get_mut(address.len..address.len + part.len())?.copy_from_slice(part);
            address.len += part.len();
        }
        Some(address)
    }

    /// The address behind a pointer; nothing if there is none, or none that has a form here.
    ///
    /// # Safety
    /// Null, or an address that is as long as its family says.
    pub(super) unsafe fn at(address: *const libc::sockaddr) -> Option<Address> {
        // SAFETY: the caller's promise.
        let family = i32::from(unsafe { address.as_ref() }?.sa_family);
        let len = match family {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            libc::AF_PACKET => size_of::<libc::sockaddr_ll>(),
            _ => return None,
        };
        // SAFETY: the caller's promise.
        Address::of_bytes(&[unsafe { std::slice::from_raw_parts(address.cast::<u8>(), len) }])
    }

    /// Of bytes that begin with an address, which is as long as its family says, if that has a name.
    pub(super) fn of_system(bytes: &[u8]) -> Option<Address> {
        let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk::<2>()?));
        let len = match family {
            libc::AF_INET => size_of::<libc::sockaddr_in>(),
            libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
            _ => 2,
        };
        Address::of_bytes(&[bytes.get(..len)?])
    }

    /// Of bytes that begin with an address of IPv4.
    pub(super) fn of_ipv4_bytes(bytes: &[u8]) -> Option<Address> {
        let address = Address::of_bytes(&[bytes.get(..size_of::<libc::sockaddr_in>())?])?;
        (address.family() == Some(libc::AF_INET)).then_some(address)
    }

    /// The bytes, and how many there are.
    pub(super) fn parts(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        (self.bytes.as_ptr().cast(), self.len as libc::socklen_t)
    }

    /// Where the system writes, and the room there.
    pub(super) fn parts_mut(&mut self) -> (*mut libc::sockaddr, libc::socklen_t) {
        (self.bytes.as_mut_ptr().cast(), ROOM as libc::socklen_t)
    }

    /// The system has written so many bytes.
    pub(super) fn set_len(&mut self, len: libc::socklen_t) {
        self.len = (len as usize).min(ROOM);
    }

    /// The system's number of the family; nothing for an address without any.
    pub(super) fn family(&self) -> Option<i32> {
        let [low, high] = *self.known().first_chunk::<2>()?;
        Some(i32::from(u16::from_ne_bytes([low, high])))
    }

    /// Its bytes.
    pub(super) fn known(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// From a map, as `prim_socket:enc_sockaddr/1` completes it; nothing if it says no address.
    pub(super) fn of_term(term: Term) -> Option<Address> {
        let map = Fields::of(term)?;
        let family = map.get(am::family)?;
        let number = family_number(family)?;
        let head = u16::try_from(number).ok()?.to_ne_bytes();
        match (family.is_atom(), number) {
            (true, libc::AF_INET) => {
                let ip = ipv4(map.get(am::addr)?)?.octets();
                Address::of_bytes(&[&head, &port(map)?, &ip, &[0; 8]])
            }
            (true, libc::AF_INET6) => {
                let (flow, scope) = (word(map.get(am::flowinfo)?)?, word(map.get(am::scope_id)?)?);
                let ip = ipv6(map.get(am::addr)?)?.octets();
                Address::of_bytes(&[&head, &port(map)?, &flow.to_ne_bytes(), &ip, &scope.to_ne_bytes()])
            }
            (true, libc::AF_UNIX) => {
                let path = map.get(am::path)?;
                let path = path.as_binary()?;
                if path.len() >= size_of::<libc::sockaddr_un>() - 2 {
                    return None;
                }
                // A path ends with a NUL, an abstract name begins with one. With neither, Linux chooses an abstract name (unix(7), autobind).
                let end: &[u8] = if path.first().is_none_or(|first| *first == 0) { &[] } else { &[0] };
                Address::of_bytes(&[&head, &path, end])
            }
            _ => {
                let bytes = map.get(am::addr)?;
                Address::of_bytes(&[&head, &*bytes.as_binary()?])
            }
        }
    }

    /// As a map. What has no name in it is given in bytes, and an address that is none as one of the family `unspec`.
    pub(super) fn term<'h, B: Build<'h>>(&self, f: &mut B) -> TermRef<'h> {
        let bytes = self.known();
        let (family, rest) = bytes.split_at_checked(2).unwrap_or((&[], &[]));
        let family = family.first_chunk::<2>().map_or(libc::AF_UNSPEC, |two| i32::from(u16::from_ne_bytes(*two)));
        self.named(f, family, rest).unwrap_or_else(|| {
            let addr = f.binary(rest);
            map_of(f, &[(am::family.term(), family_term(family)), (am::addr.term(), addr)])
        })
    }

    fn named<'h, B: Build<'h>>(&self, f: &mut B, family: i32, rest: &[u8]) -> Option<TermRef<'h>> {
        let name = (am::family.term(), family_term(family));
        let of_port =
            |at: &[u8]| Some((am::port.term(), Term::small(i64::from(u16::from_be_bytes(*at.first_chunk()?)))));
        let number = |at: Option<&[u8]>| Some(Term::small(i64::from(u32::from_ne_bytes(*at?.first_chunk()?))));
        match family {
            libc::AF_INET => {
                let ip = ipv4_term(f, Ipv4Addr::from(*rest.get(2..)?.first_chunk::<4>()?));
                Some(map_of(f, &[name, of_port(rest)?, (am::addr.term(), ip)]))
            }
            libc::AF_INET6 => {
                let ip = ipv6_term(f, Ipv6Addr::from(*rest.get(6..)?.first_chunk::<16>()?));
                let flow = (am::flowinfo.term(), number(rest.get(2..))?);
                let scope = (am::scope_id.term(), number(rest.get(22..))?);
                Some(map_of(f, &[name, of_port(rest)?, (am::addr.term(), ip), flow, scope]))
            }
            libc::AF_UNIX => {
                // A path is told up to its NUL; an abstract name begins with one.
                let end = if rest.first() == Some(&0) { None } else { rest.iter().position(|byte| *byte == 0) };
                let path = f.binary(&rest[..end.unwrap_or(rest.len())]);
                Some(map_of(f, &[name, (am::path.term(), path)]))
            }
            libc::AF_PACKET => packet_term(f, rest),
            _ => None,
        }
    }
}

/// An address of the link layer (`sockaddr_ll`).
fn packet_term<'h, B: Build<'h>>(f: &mut B, rest: &[u8]) -> Option<TermRef<'h>> {
    let (protocol, rest) = rest.split_first_chunk::<2>()?;
    let (index, rest) = rest.split_first_chunk::<4>()?;
    let (hardware, rest) = rest.split_first_chunk::<2>()?;
    let ([packet, len], rest) = rest.split_first_chunk::<2>()?;
    let hardware = u16::from_ne_bytes(*hardware);
    let hardware_name = match hardware {
        libc::ARPHRD_ETHER => atom_of("ether"),
        libc::ARPHRD_LOOPBACK => am::loopback.term(),
        libc::ARPHRD_TUNNEL => atom_of("tunnel"),
        libc::ARPHRD_NETROM => atom_of("netrom"),
        libc::ARPHRD_EETHER => atom_of("eether"),
        libc::ARPHRD_DLCI => atom_of("dlci"),
        _ => Term::small(i64::from(hardware)),
    };
    let packet_name = match *packet {
        libc::PACKET_HOST => am::host.term(),
        libc::PACKET_BROADCAST => am::broadcast.term(),
        libc::PACKET_MULTICAST => atom_of("multicast"),
        libc::PACKET_OTHERHOST => atom_of("otherhost"),
        libc::PACKET_OUTGOING => atom_of("outgoing"),
        libc::PACKET_LOOPBACK => am::loopback.term(),
        other => Term::small(i64::from(other)),
    };
    let addr = f.binary(rest.get(..usize::from(*len))?);
    let pairs = [
        (am::family.term(), atom_of("packet")),
        (am::protocol.term(), Term::small(i64::from(u16::from_be_bytes(*protocol)))),
        (atom_of("ifindex"), Term::small(i64::from(i32::from_ne_bytes(*index)))),
        (atom_of("hatype"), hardware_name),
        (atom_of("pkttype"), packet_name),
        (am::addr.term(), addr),
    ];
    Some(map_of(f, &pairs))
}

fn port(map: Fields) -> Option<[u8; 2]> {
    // As by OTP: of a larger number the lowest bits count.
    let port = i32::try_from(map.get(am::port)?.as_small()?).ok()?;
    Some((port as u16).to_be_bytes())
}

fn word(term: Term) -> Option<u32> {
    u32::try_from(term.as_small()?).ok()
}

/// An address of IPv4: a tuple, or the name of a special one.
pub(super) fn ipv4(term: Term) -> Option<Ipv4Addr> {
    match term.as_atom() {
        Some(am::any) => return Some(Ipv4Addr::UNSPECIFIED),
        Some(am::loopback) => return Some(Ipv4Addr::LOCALHOST),
        Some(am::broadcast) => return Some(Ipv4Addr::BROADCAST),
        _ => {}
    }
    let parts: [Term; 4] = term.as_tuple_of()?;
    let mut bytes = [0u8; 4];
    for (byte, part) in bytes.iter_mut().zip(parts) {
        *byte = u8::try_from(part.as_small()?).ok()?;
    }
    Some(bytes.into())
}

/// An address of IPv6: a tuple, or the name of a special one.
pub(super) fn ipv6(term: Term) -> Option<Ipv6Addr> {
    match term.as_atom() {
        Some(am::any) => return Some(Ipv6Addr::UNSPECIFIED),
        Some(am::loopback) => return Some(Ipv6Addr::LOCALHOST),
        _ => {}
    }
    let parts: [Term; 8] = term.as_tuple_of()?;
    let mut words = [0u16; 8];
    for (word, part) in words.iter_mut().zip(parts) {
        *word = u16::try_from(part.as_small()?).ok()?;
    }
    Some(words.into())
}

/// A tuple of four.
pub(super) fn ipv4_term<'h, B: Build<'h>>(f: &mut B, ip: Ipv4Addr) -> TermRef<'h> {
    f.tuple(&ip.octets().map(|byte| Term::small(i64::from(byte))))
}

/// A tuple of eight.
pub(super) fn ipv6_term<'h, B: Build<'h>>(f: &mut B, ip: Ipv6Addr) -> TermRef<'h> {
    f.tuple(&ip.segments().map(|word| Term::small(i64::from(word))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Arena;

    /// A place for terms that are never given back.
    fn arena() -> &'static Arena {
        Box::leak(Box::new(Arena::new()))
    }

    /// The family of a map of these pairs, the number of bytes that it becomes, and whether these become the same map again.
    fn there_and_back(pairs: &[(Term, Term)]) -> Option<(i32, usize, bool)> {
        let mut arena = arena();
        let map = map_of(&mut arena, pairs);
        let address = Address::of_term(map)?;
        let again = address.term(&mut arena);
        Some((address.family()?, address.known().len(), Address::of_term(again)?.known() == address.known()))
    }

    #[test]
    fn addresses_there_and_back() {
        let mut arena = arena();
        let family = |text| (am::family.term(), atom_of(text));
        let port = (am::port.term(), Term::small(258));
        let loopback = (am::addr.term(), am::loopback.term());
        let zeroes = [(am::flowinfo.term(), Term::small(0)), (am::scope_id.term(), Term::small(1))];
        assert_eq!(there_and_back(&[family("inet"), port, loopback]), Some((libc::AF_INET, 16, true)));
        assert_eq!(
            there_and_back(&[family("inet6"), port, loopback, zeroes[0], zeroes[1]]),
            Some((libc::AF_INET6, 28, true))
        );
        for (name, len) in [(&b"/tmp/a"[..], 9), (b"\0abstract", 11), (b"", 2)] {
            let path = (am::path.term(), arena.binary(name));
            assert_eq!(there_and_back(&[family("local"), path]), Some((libc::AF_UNIX, len, true)));
        }
        let bytes = (am::addr.term(), arena.binary(&[7, 8]));
        let native = (am::family.term(), Term::small(300));
        assert_eq!(there_and_back(&[native, bytes]), Some((300, 4, true)));
        let long = arena.binary(&[b'x'; 200]);
        for bad in [
            vec![],
            vec![family("inet"), port],
            vec![family("foo"), port, loopback],
            vec![family("local"), (am::path.term(), long)],
            vec![native, (am::addr.term(), long)],
        ] {
            assert_eq!(there_and_back(&bad), None);
        }
    }

    #[test]
    fn bytes_that_are_cut_off_are_no_named_address() {
        let mut arena = arena();
        for len in 0..16 {
            let mut address = Address::room();
            address.set_len(len);
            assert!(address.term(&mut arena).as_map().is_some());
        }
    }
}
