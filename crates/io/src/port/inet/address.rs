//! Socket addresses: in `prim_inet`'s bytes, in messages, and for the system.

use myriad_term::{Build, Term, TermRef, am};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, SocketType};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

const UNSPECIFIED: u8 = 0;
pub(super) const INET: u8 = 1;
pub(super) const INET6: u8 = 2;
/// Any address of the socket's family.
const ANY: u8 = 3;
/// The loopback address of the socket's family.
const LOOPBACK: u8 = 4;
const LOCAL: u8 = 5;

/// `prim_inet`'s number of a type of sockets.
pub(super) fn type_number(kind: SocketType) -> u32 {
    if kind == SocketType::STREAM { 1 } else { 2 }
}

/// A family of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Inet,
    Inet6,
    /// Names in the file system, and abstract ones.
    Local,
}

impl Family {
    pub(super) fn of_number(number: u8) -> Option<Family> {
        Some(match number {
            INET => Family::Inet,
            INET6 => Family::Inet6,
            LOCAL => Family::Local,
            _ => return None,
        })
    }

    pub(super) fn number(self) -> u8 {
        match self {
            Family::Inet => INET,
            Family::Inet6 => INET6,
            Family::Local => LOCAL,
        }
    }

    pub(super) fn system(self) -> AddressFamily {
        match self {
            Family::Inet => AddressFamily::INET,
            Family::Inet6 => AddressFamily::INET6,
            Family::Local => AddressFamily::UNIX,
        }
    }
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// None, or of a family that has no form here.
    Unspecified,
    Socket(SocketAddr),
    /// A path, or an abstract name with the NUL before it.
    Local(Vec<u8>),
}

/// An address at the start of `data`, and how many bytes it takes.
pub(super) fn decode(data: &[u8], of: Family) -> Result<(Address, usize), Errno> {
    match data.first() {
        None => Err(Errno::INVAL),
        Some(family) if *family > LOCAL => Err(Errno::AFNOSUPPORT),
        Some(_) => decoded(data, of).ok_or(Errno::INVAL),
    }
}

fn decoded(data: &[u8], of: Family) -> Option<(Address, usize)> {
    let (family, rest) = data.split_first()?;
    match *family {
        UNSPECIFIED => return Some((Address::Unspecified, 1)),
        LOCAL if of == Family::Local => {
            let (len, rest) = rest.split_first()?;
            let len = usize::from(*len);
            return Some((Address::Local(rest.get(..len)?.to_vec()), len + 2));
        }
        _ => {}
    }
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let port = u16::from_be_bytes(*port);
    let ip = |ip: IpAddr| (Address::Socket(SocketAddr::new(ip, port)), 3);
    Some(match (*family, of) {
        (INET, Family::Inet) => {
            (Address::Socket(SocketAddr::new(Ipv4Addr::from(*rest.first_chunk::<4>()?).into(), port)), 7)
        }
        (INET6, Family::Inet6) => {
            let (ip, rest) = rest.split_first_chunk::<16>()?;
            let (flow, rest) = rest.split_first_chunk::<4>()?;
            let scope = rest.first_chunk::<4>()?;
            let (flow, scope) = (u32::from_be_bytes(*flow), u32::from_be_bytes(*scope));
            (Address::Socket(SocketAddrV6::new(Ipv6Addr::from(*ip), port, flow, scope).into()), 27)
        }
        (ANY, Family::Inet6) => ip(Ipv6Addr::UNSPECIFIED.into()),
        (ANY, Family::Inet) => ip(Ipv4Addr::UNSPECIFIED.into()),
        (LOOPBACK, Family::Inet6) => ip(Ipv6Addr::LOCALHOST.into()),
        (LOOPBACK, Family::Inet) => ip(Ipv4Addr::LOCALHOST.into()),
        _ => return None,
    })
}

impl Address {
    /// What the system has told.
    pub(super) fn of(address: SocketAddrAny) -> Address {
        match SocketAddrUnix::try_from(address.clone()) {
            Ok(local) => {
                let path = local.path_bytes().map(<[u8]>::to_vec);
                let name = local.abstract_name().map(|name| [b"\0", name].concat());
                // A socket without a name is told as one whose name is empty.
                Address::Local(path.or(name).filter(|name| name != b"\0").unwrap_or_default())
            }
            Err(_) => SocketAddr::try_from(address).map_or(Address::Unspecified, Address::Socket),
        }
    }

    /// Calls with the address as the system takes it.
    pub(super) fn with<T>(&self, call: impl FnOnce(&SocketAddrAny) -> Result<T, Errno>) -> Result<T, Errno> {
        match self {
            Address::Unspecified => Err(Errno::INVAL),
            Address::Socket(address) => call(&SocketAddrAny::from(*address)),
            Address::Local(path) => {
                let address = match path.as_slice() {
                    [] => SocketAddrUnix::new_unnamed(),
                    [0, name @ ..] => SocketAddrUnix::new_abstract_name(name).map_err(|_| Errno::INVAL)?,
                    path => {
                        let end = path.iter().position(|b| *b == 0).unwrap_or(path.len());
                        SocketAddrUnix::new(&path[..end]).map_err(|_| Errno::INVAL)?
                    }
                };
                call(&SocketAddrAny::from(address))
            }
        }
    }

    /// The port; a local address has none.
    pub(super) fn port(&self) -> u16 {
        if let Address::Socket(address) = self { address.port() } else { 0 }
    }

    /// Family, then port and address or the name with its length.
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Address::Unspecified => vec![UNSPECIFIED],
            Address::Local(name) => {
                let len = name.len().min(255);
                [&[LOCAL, len as u8], &name[..len]].concat()
            }
            Address::Socket(address) => {
                let mut out = vec![if address.is_ipv6() { INET6 } else { INET }];
                out.extend(address.port().to_be_bytes());
                out.extend(ip_bytes(address.ip()));
                out
            }
        }
    }

    /// Address and port as terms.
    pub(super) fn terms<'h, B: Build<'h>>(&self, f: &mut B) -> (TermRef<'h>, TermRef<'h>) {
        match self {
            Address::Unspecified => {
                let nothing = f.binary(&[]);
                (f.tuple(&[am::unspec.term(), nothing]), Term::small(0))
            }
            Address::Local(name) => {
                let name = f.binary(name);
                (f.tuple(&[am::local.term(), name]), Term::small(0))
            }
            Address::Socket(address) => {
                let parts: Vec<Term> = match address.ip() {
                    IpAddr::V4(ip) => ip.octets().iter().map(|b| Term::small(i64::from(*b))).collect(),
                    IpAddr::V6(ip) => ip.segments().iter().map(|s| Term::small(i64::from(*s))).collect(),
                };
                (f.tuple(&parts), Term::small(i64::from(address.port())))
            }
        }
    }
}

/// The bytes of an address without its port.
pub(super) fn ip_bytes(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_there_and_back() {
        let four = Address::Socket("127.0.0.1:258".parse().unwrap());
        assert_eq!(four.encode(), [1, 1, 2, 127, 0, 0, 1]);
        assert_eq!(decoded(&[1, 1, 2, 127, 0, 0, 1, 9], Family::Inet), Some((four, 7)));
        let six = Address::Socket("[::1]:1".parse().unwrap());
        let mut bytes = six.encode();
        bytes.extend([0; 8]);
        assert_eq!(decoded(&bytes, Family::Inet6), Some((six, 27)));
        assert_eq!(decoded(&[3, 0, 0], Family::Inet6).map(|d| d.1), Some(3));
        let seven = Address::Socket("127.0.0.1:7".parse().unwrap());
        assert_eq!(decoded(&[4, 0, 7], Family::Inet), Some((seven, 3)));
        for bad in [&[][..], &[1, 0], &[9, 0, 0], &[5, 3, b'a'], &[2, 0, 0], &[4, 0, 7]] {
            assert_eq!(decoded(bad, Family::Local), None, "{bad:?}");
        }
    }

    #[test]
    fn local_names_there_and_back() {
        for name in [&b""[..], b"/tmp/a", b"\0abstract"] {
            let address = Address::Local(name.to_vec());
            let bytes = address.encode();
            assert_eq!(decoded(&bytes, Family::Local), Some((address.clone(), bytes.len())));
            assert_eq!(address.with(|any| Ok(Address::of(any.clone()))), Ok(address));
        }
        let long = Address::Local(vec![b'x'; 200]);
        assert_eq!(long.with(|_| Ok(())), Err(Errno::INVAL));
    }
}
