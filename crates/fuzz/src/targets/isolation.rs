//! Keeps what inputs do with sockets away from the machine's network.

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::os::fd::AsRawFd;

/// The calling thread's sockets are from now on in a network of their own, which has nothing but a loopback interface. Who may not make
/// such a network may not change the machine's either; addresses in inputs are kept local by the targets anyway.
pub(super) fn leave_the_network() {
    // SAFETY: no descriptors or memory are unshared.
    if unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.is_err() {
        return;
    }
    let Ok(any) = socket(AddressFamily::INET, SocketType::DGRAM, None) else { return };
    // SAFETY: of numbers and bytes, for which nothing is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: an open socket, and the structure that the request takes.
    let _ = unsafe { libc::ioctl(any.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
}
