//! Calls of the system that all kinds of sockets need, those of ports too.

use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Why the last call of the system has failed.
pub(crate) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}

/// Sets an option, by its level and number.
pub(crate) fn set_option(fd: BorrowedFd<'_>, option: (i32, i32), value: &[u8]) -> Result<(), Errno> {
    // SAFETY: the value is live and as long as said.
    let code = unsafe {
        libc::setsockopt(fd.as_raw_fd(), option.0, option.1, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if code == 0 { Ok(()) } else { Err(last_error()) }
}

/// The value of an option, by its level and number: so many bytes at most.
pub(crate) fn get_option(fd: BorrowedFd<'_>, option: (i32, i32), most: usize) -> Result<Vec<u8>, Errno> {
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

/// The head of a control message: its length with the head, its level, its kind.
const HEAD: usize = size_of::<libc::cmsghdr>();
/// What its parts are aligned to.
const WORD: usize = size_of::<usize>();

/// A control message of the system's: ancillary data.
pub(crate) struct Control<'a> {
    pub(crate) level: i32,
    pub(crate) kind: i32,
    pub(crate) data: &'a [u8],
}

/// The control messages in these bytes; the data of the last one may be cut off.
pub(crate) fn controls(mut bytes: &[u8]) -> impl Iterator<Item = Control<'_>> {
    std::iter::from_fn(move || {
        let (len, rest) = bytes.split_first_chunk::<WORD>()?;
        let (level, rest) = rest.split_first_chunk::<4>()?;
        let kind = rest.first_chunk::<4>()?;
        let len = usize::from_ne_bytes(*len).min(bytes.len());
        let data = bytes.get(HEAD..len)?;
        bytes = bytes.get(len.next_multiple_of(WORD)..).unwrap_or(&[]);
        Some(Control { level: i32::from_ne_bytes(*level), kind: i32::from_ne_bytes(*kind), data })
    })
}

/// Puts a control message behind others.
pub(crate) fn put_control(out: &mut Vec<u8>, Control { level, kind, data }: Control<'_>) {
    out.extend((HEAD + data.len()).to_ne_bytes());
    out.extend(level.to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(data);
    out.resize(out.len().next_multiple_of(WORD), 0);
}

/// Calls in the network name space of this file, if it is one; the thread is back in its own afterwards.
pub(crate) fn in_namespace<T>(name: Option<&[u8]>, call: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    use rustix::fs::{Mode, OFlags};
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    let Some(name) = name.filter(|name| !name.is_empty()) else { return call() };
    let open = |name: &[u8]| rustix::fs::open(name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let (own, other) = (open(b"/proc/thread-self/ns/net")?, open(name)?);
    move_into_link_name_space(other.as_fd(), Some(LinkNameSpaceType::Network))?;
    let result = call();
    // A thread that could not come back would open all later sockets elsewhere.
    move_into_link_name_space(own.as_fd(), Some(LinkNameSpaceType::Network))?;
    result
}
