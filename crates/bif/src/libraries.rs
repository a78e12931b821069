//! Shared libraries of C code: why a file is none, in the words of the system's linker.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{Error, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;

/// The first bytes of a library.
const MAGIC: &[u8] = b"\x7fELF";
/// Bytes that a library has at least, its first header.
const HEADER: u64 = 64;

/// Why there is no library in file `path`; nothing if there may be one. A library whose name has no slash is looked for where none is.
pub fn refusal(path: &[u8]) -> Option<String> {
    let found = if path.contains(&b'/') { head(path) } else { Err(absent()) };
    match found {
        Err(why) => Some(why),
        Ok(head) if (head.len() as u64) < HEADER => Some("file too short".to_owned()),
        Ok(head) if !head.starts_with(MAGIC) => Some("invalid ELF header".to_owned()),
        Ok(_) => None,
    }
}

/// Why a library is not loaded whose file is not there.
fn absent() -> String {
    cannot_open(&Error::from_raw_os_error(libc::ENOENT))
}

/// The first bytes of a file, or why there are none.
fn head(path: &[u8]) -> Result<Vec<u8>, String> {
    // What is no file (a named pipe) must not keep the caller waiting.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(OsStr::from_bytes(path));
    let file = file.map_err(|error| cannot_open(&error))?;
    let mut head = Vec::new();
    match file.take(HEADER).read_to_end(&mut head) {
        Ok(_) => Ok(head),
        Err(error) => Err(format!("cannot read file data: {}", words(&error))),
    }
}

fn cannot_open(error: &Error) -> String {
    format!("cannot open shared object file: {}", words(error))
}

/// The system's words for an error, without the number that Rust adds.
fn words(error: &Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words).to_owned()
}
