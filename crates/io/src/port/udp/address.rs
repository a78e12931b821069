//! Socket addresses in `prim_inet`'s bytes and in messages.

use myriad_term::{Build, Term, TermRef};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

pub(super) const INET: u8 = 1;
pub(super) const INET6: u8 = 2;
/// Any address of the socket's family.
const ANY: u8 = 3;
/// The loopback address of the socket's family.
const LOOPBACK: u8 = 4;
const UNSPECIFIED: u8 = 0;
/// The type of datagram sockets.
pub(super) const TYPE_DATAGRAM: u8 = 2;

/// A decoded address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address {
    Unspecified,
    Socket(SocketAddr),
}

/// An address at the start of `data`, and how many bytes it takes.
pub(super) fn decode(data: &[u8], six: bool) -> Option<(Address, usize)> {
    let (family, rest) = data.split_first()?;
    if *family == UNSPECIFIED {
        return Some((Address::Unspecified, 1));
    }
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let port = u16::from_be_bytes(*port);
    let (address, used) = match *family {
        INET => (SocketAddr::new(Ipv4Addr::from(*rest.first_chunk::<4>()?).into(), port), 7),
        INET6 => {
            let (ip, rest) = rest.split_first_chunk::<16>()?;
            let (flow, rest) = rest.split_first_chunk::<4>()?;
            let scope = rest.first_chunk::<4>()?;
            let (flow, scope) = (u32::from_be_bytes(*flow), u32::from_be_bytes(*scope));
            (SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope).into(), 27)
        }
        ANY if six => (SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port), 3),
        ANY => (SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), 3),
        LOOPBACK if six => (SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port), 3),
        LOOPBACK => (SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), 3),
        _ => return None,
    };
    Some((Address::Socket(address), used))
}

/// Family, port and address in bytes.
pub(super) fn encode(address: SocketAddr) -> Vec<u8> {
    let mut out = vec![if address.is_ipv6() { INET6 } else { INET }];
    out.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => out.extend(ip.octets()),
        IpAddr::V6(ip) => out.extend(ip.octets()),
    }
    out
}

/// The bytes of an address as a list, then `tail`.
pub(super) fn bytes_onto<'h, B: Build<'h>>(f: &mut B, address: Option<SocketAddr>, tail: TermRef<'h>) -> TermRef<'h> {
    f.byte_list(&address.map_or_else(|| vec![UNSPECIFIED], encode), tail)
}

/// Address and port as terms.
pub(super) fn terms<'h, B: Build<'h>>(f: &mut B, address: Option<SocketAddr>) -> (TermRef<'h>, TermRef<'h>) {
    let Some(address) = address else { return (Term::UNDEFINED, Term::small(0)) };
    let parts: Vec<Term> = match address.ip() {
        IpAddr::V4(ip) => ip.octets().iter().map(|b| Term::small(i64::from(*b))).collect(),
        IpAddr::V6(ip) => ip.segments().iter().map(|s| Term::small(i64::from(*s))).collect(),
    };
    (f.tuple(&parts), Term::small(i64::from(address.port())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_there_and_back() {
        let four: SocketAddr = "127.0.0.1:258".parse().unwrap();
        assert_eq!(encode(four), [1, 1, 2, 127, 0, 0, 1]);
        assert_eq!(decode(&[1, 1, 2, 127, 0, 0, 1, 9], false), Some((Address::Socket(four), 7)));
        let six: SocketAddr = "[::1]:1".parse().unwrap();
        let mut bytes = encode(six);
        bytes.extend([0; 8]);
        assert_eq!(decode(&bytes, true), Some((Address::Socket(six), 27)));
        assert_eq!(decode(&[3, 0, 0], true).map(|d| d.1), Some(3));
        assert_eq!(decode(&[4, 0, 7], false), Some((Address::Socket("127.0.0.1:7".parse().unwrap()), 3)));
        assert_eq!((decode(&[], false), decode(&[1, 0], false), decode(&[9, 0, 0], false)), (None, None, None));
    }
}
