//! The network interfaces of the machine, as `inet:getifaddrs/0` and the older `inet:ifget/2` show them: each item a number and its value.

use super::address::{INET, INET6, ip_bytes};
use rustix::io::Errno;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod item {
    pub(super) const ADDRESS: u8 = 1;
    pub(super) const BROADCAST: u8 = 2;
    pub(super) const DESTINATION: u8 = 3;
    pub(super) const MTU: u8 = 4;
    pub(super) const NETMASK: u8 = 5;
    pub(super) const FLAGS: u8 = 6;
    pub(super) const HARDWARE: u8 = 7;
}

/// The system's flags, and those of `prim_inet`.
const FLAGS: [(i32, u32); 6] = [
    (libc::IFF_UP, 0x01),
    (libc::IFF_BROADCAST, 0x02),
    (libc::IFF_LOOPBACK, 0x04),
    (libc::IFF_POINTOPOINT, 0x08),
    (libc::IFF_RUNNING, 0x10),
    (libc::IFF_MULTICAST, 0x20),
];

/// One address of an interface.
struct Entry {
    name: Vec<u8>,
    flags: u32,
    address: Option<IpAddr>,
    netmask: Option<IpAddr>,
    /// Of the broadcast, or of the other end.
    far: Option<IpAddr>,
    hardware: Option<Vec<u8>>,
}

/// The address behind a pointer, if it is one of IP.
///
/// # Safety
/// Null, or an address that is as long as its family says.
unsafe fn ip_at(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller's promise; what is longer is read only where the family says so.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let at = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(at.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let at = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(at.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

/// The address of the hardware behind a pointer, if it is one.
///
/// # Safety
/// As `ip_at`.
unsafe fn hardware_at(address: *const libc::sockaddr) -> Option<Vec<u8>> {
    // SAFETY: the caller's promise.
    unsafe {
        if i32::from(address.as_ref()?.sa_family) != libc::AF_PACKET {
            return None;
        }
        let at = address.cast::<libc::sockaddr_ll>().read_unaligned();
        let len = usize::from(at.sll_halen).min(at.sll_addr.len());
        Some(at.sll_addr[..len].to_vec())
    }
}

/// All addresses of all interfaces.
fn entries() -> Result<Vec<Entry>, Errno> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: writes the start of a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    let mut entries = Vec::new();
    let mut next = first;
    // SAFETY: the list's items are valid until it is freed, and so is what they point at.
    unsafe {
        while let Some(at) = next.as_ref() {
            next = at.ifa_next;
            let bits = FLAGS.iter().filter(|(system, _)| at.ifa_flags & *system as u32 != 0).map(|(_, ours)| ours);
            entries.push(Entry {
                name: CStr::from_ptr(at.ifa_name).to_bytes().to_vec(),
                flags: bits.sum(),
                address: ip_at(at.ifa_addr),
                netmask: ip_at(at.ifa_netmask),
                far: ip_at(at.ifa_ifu),
                hardware: hardware_at(at.ifa_addr),
            });
        }
        libc::freeifaddrs(first);
    }
    Ok(entries)
}

fn put_ip(out: &mut Vec<u8>, item: u8, ip: IpAddr) {
    out.extend([item, if ip.is_ipv6() { INET6 } else { INET }]);
    out.extend(ip_bytes(ip));
}

fn put_hardware(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(item::HARDWARE);
    out.extend((bytes.len() as u16).to_be_bytes());
    out.extend(bytes);
}

/// For each address: the interface's name, a NUL, items, a NUL.
pub(super) fn addresses() -> Result<Vec<u8>, Errno> {
    let mut out = Vec::new();
    for entry in entries()? {
        out.extend(&entry.name);
        out.extend([0, item::FLAGS]);
        out.extend(entry.flags.to_be_bytes());
        if let Some(ip) = entry.address {
            put_ip(&mut out, item::ADDRESS, ip);
            if let Some(mask) = entry.netmask {
                put_ip(&mut out, item::NETMASK, mask);
            }
            match entry.far {
                Some(far) if entry.flags & 0x08 != 0 => put_ip(&mut out, item::DESTINATION, far),
                Some(far) if entry.flags & 0x02 != 0 => put_ip(&mut out, item::BROADCAST, far),
                _ => {}
            }
        }
        if let Some(hardware) = &entry.hardware {
            put_hardware(&mut out, hardware);
        }
        out.push(0);
    }
    Ok(out)
}

/// The names of the interfaces that have an address of IPv4, a NUL after each.
pub(super) fn names() -> Result<Vec<u8>, Errno> {
    let with_address = |entry: &Entry| entry.address.is_some_and(|ip| ip.is_ipv4());
    Ok(entries()?.into_iter().filter(with_address).flat_map(|entry| [entry.name, vec![0]].concat()).collect())
}

/// The items that are asked for by their numbers, those that there are: a length, the interface's name, then the numbers.
pub(super) fn show(data: &[u8]) -> Result<Vec<u8>, Errno> {
    let (len, rest) = data.split_first().ok_or(Errno::INVAL)?;
    let (name, wanted) = rest.split_at_checked(usize::from(*len)).ok_or(Errno::INVAL)?;
    let entries: Vec<Entry> = entries()?.into_iter().filter(|entry| entry.name == name).collect();
    let Some(first) = entries.first() else { return Ok(Vec::new()) };
    let four = entries.iter().find(|entry| entry.address.is_some_and(|ip| ip.is_ipv4()));
    let mut out = Vec::new();
    for number in wanted {
        let ip = match *number {
            item::ADDRESS => four.and_then(|e| e.address),
            item::NETMASK => four.and_then(|e| e.netmask),
            item::BROADCAST => four.filter(|e| e.flags & 0x02 != 0).and_then(|e| e.far),
            item::DESTINATION => four.filter(|e| e.flags & 0x08 != 0).and_then(|e| e.far),
            item::FLAGS => {
                out.push(item::FLAGS);
                out.extend(first.flags.to_be_bytes());
                continue;
            }
            item::HARDWARE => {
                if let Some(hardware) = entries.iter().find_map(|e| e.hardware.as_ref()) {
                    put_hardware(&mut out, hardware);
                }
                continue;
            }
            item::MTU => {
                // The name is one that the system has told.
                let path = format!("/sys/class/net/{}/mtu", String::from_utf8_lossy(name));
                let mtu = std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u32>().ok());
                if let Some(mtu) = mtu {
                    out.push(item::MTU);
                    out.extend(mtu.to_be_bytes());
                }
                continue;
            }
            _ => return Err(Errno::INVAL),
        };
        if let Some(ip) = ip {
            put_ip(&mut out, *number, ip);
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_a_loopback_interface() {
        let all = entries().unwrap();
        let loopback = all.iter().find(|entry| entry.address == Some(Ipv4Addr::LOCALHOST.into())).unwrap();
        assert!(loopback.flags & 0x04 != 0);
        let name = &loopback.name;
        let asked = [&[name.len() as u8], name.as_slice(), &[item::ADDRESS]].concat();
        assert_eq!(show(&asked).unwrap(), [1, 1, 127, 0, 0, 1]);
        assert!(addresses().unwrap().starts_with(&all[0].name));
        assert_eq!((show(&[]), show(&[1, b'?', 1])), (Err(Errno::INVAL), Ok(vec![])));
    }
}
