//! Small translations between C and the VM.

use myriad_term::{Atom, am};
use rustix::io::Errno;

/// An atom by its name. A full atom table leaves `error`.
pub(crate) fn word(name: &str) -> Atom {
    Atom::new(name).unwrap_or(am::error)
}

/// The system's error of this number; `EINVAL` for one that it cannot have.
pub(crate) fn errno(number: i32) -> Errno {
    if (1..4096).contains(&number) { Errno::from_raw_os_error(number) } else { Errno::INVAL }
}

/// The characters of bytes in Latin-1.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}
