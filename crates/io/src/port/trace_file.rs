//! The driver `trace_file_drv`: trace messages to a file, or to a few files in turn (`dbg:trace_port(file, ...)`).
//!
//! The command is `trace_file_drv n NAME`, or `trace_file_drv w SIZE COUNT TIME LEN n NAME` for files in turn: the first LEN
//! bytes of the name stand before each file's number, the rest behind it. A new file begins when one holds SIZE bytes, or after
//! TIME milliseconds (looked at when something is written); of the COUNT + 1 numbers one is always free, so that a reader finds
//! where the turn begins.
//!
//! Each record is a byte 0, the length as four bytes, and the message in the external format.

use super::driver::{Context, Driver, DriverType, Opened};
use super::options::Target;
use crate::bytes::Piece;
use crate::posix;
use myriad_term::{Pid, am};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

pub(super) static DRIVER: DriverType = DriverType::new("trace_file_drv", |target, _| match target {
    Target::Spawn(line) | Target::Driver(line) => match TraceFile::open(line) {
        Some(Ok(file)) => Ok(Opened { driver: Box::new(file), name: line.clone(), os_pid: None }),
        Some(Err(errno)) => Err(posix::atom(errno)),
        None => Err(am::badarg),
    },
    _ => Err(am::badarg),
});

/// Bytes that wait before they are written.
const BUFFER: usize = 32 * 1024;
/// The operation of `port_control/3` that writes what waits.
const FLUSH: u32 = b'f' as u32;

/// Files in turn.
struct Wrap {
    before: Vec<u8>,
    behind: Vec<u8>,
    /// Bytes of one file; 0 = any number.
    size: u64,
    /// Files that are kept.
    count: u64,
    interval: Option<Duration>,
    /// Number of the present file.
    number: u64,
    since: Instant,
}

impl Wrap {
    /// There is one number more than files.
    fn after(&self, number: u64) -> u64 {
        if number >= self.count { 0 } else { number + 1 }
    }

    fn name(&self, number: u64) -> OsString {
        OsString::from_vec([&self.before, number.to_string().as_bytes(), &self.behind].concat())
    }
}

/// The present file, and what waits to be written.
struct TraceFile {
    file: File,
    buffer: Vec<u8>,
    /// Bytes of the present file, waiting ones too.
    size: u64,
    wrap: Option<Wrap>,
}

/// The next word, and what follows the blanks behind it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_ascii_start())
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, rest) = word(text);
    Some((u64::from(std::str::from_utf8(digits).ok()?.parse::<u32>().ok()?), rest))
}

/// The command's arguments: the files in turn, if so, and the file's name. Nothing if they are wrong.
fn parse(arguments: &[u8]) -> Option<(Option<Wrap>, Vec<u8>)> {
    // One blank ends the word, and the name begins: with more blanks, if there are any.
    let name = |rest: &[u8]| rest.strip_prefix(b"n ").filter(|name| !name.is_empty()).map(<[u8]>::to_vec);
    match word(arguments) {
        (b"n", _) => Some((None, name(arguments)?)),
        (b"w", rest) => {
            let (size, rest) = number(rest)?;
            let (count, rest) = number(rest)?;
            let (time, rest) = number(rest)?;
            let (len, rest) = number(rest)?;
            let mut before = name(rest)?;
            let len = usize::try_from(len).ok().filter(|len| (1..=before.len()).contains(len))?;
            let behind = before.split_off(len);
            if count == 0 {
                return None;
            }
            let interval = (time > 0).then(|| Duration::from_millis(time));
            Some((Some(Wrap { before, behind, size, count, interval, number: 0, since: Instant::now() }), Vec::new()))
        }
        _ => None,
    }
}

impl Driver for TraceFile {
    fn output(&mut self, port: &mut Context<'_>, _: Pid, data: Piece) {
        if let Err(errno) = self.record(data.bytes()) {
            port.fail(errno);
        }
    }

    fn control(&mut self, port: &mut Context<'_>, _: Pid, operation: u32, _: &[u8]) -> Option<Vec<u8>> {
        if operation != FLUSH {
            return None;
        }
        if let Err(errno) = self.wrap_in_time().and_then(|()| self.write_out()) {
            port.fail(errno);
        }
        Some(vec![0])
    }

    fn flush(&mut self, _: &mut Context<'_>) {
        // No process is left that could get a message.
        let _ = self.write_out();
    }

    fn stop(&mut self, port: &mut Context<'_>) {
        self.flush(port);
    }
}

fn create(name: OsString) -> Result<File, Errno> {
    File::create(name).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

impl TraceFile {
    /// Opens what the command asks for. `None`: the command is wrong.
    fn open(command: &[u8]) -> Option<Result<TraceFile, Errno>> {
        let (_, arguments) = word(command);
        let (wrap, name) = parse(arguments)?;
        let name = wrap.as_ref().map_or_else(|| OsString::from_vec(name), |wrap| wrap.name(0));
        Some(create(name).map(|file| TraceFile { file, buffer: Vec::new(), size: 0, wrap }))
    }

    /// Writes one message; one that is empty is none.
    fn record(&mut self, message: &[u8]) -> Result<(), Errno> {
        if message.is_empty() {
            return Ok(());
        }
        self.wrap_in_time()?;
        // A message of 4 GB or more cannot be told in four bytes.
        let length = u32::try_from(message.len()).map_err(|_| Errno::FBIG)?;
        self.buffer.push(0);
        self.buffer.extend_from_slice(&length.to_be_bytes());
        self.buffer.extend_from_slice(message);
        self.size += 5 + u64::from(length);
        if self.buffer.len() >= BUFFER {
            self.write_out()?;
        }
        if self.wrap.as_ref().is_some_and(|wrap| wrap.size > 0 && self.size >= wrap.size) {
            self.next_file()?;
        }
        Ok(())
    }

    /// Writes what waits.
    fn write_out(&mut self) -> Result<(), Errno> {
        let done = self.file.write_all(&self.buffer);
        self.buffer.clear();
        done.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Begins as many files as intervals have gone by.
    fn wrap_in_time(&mut self) -> Result<(), Errno> {
        while let Some(wrap) = &mut self.wrap
            && let Some(interval) = wrap.interval
            && wrap.since.elapsed() >= interval
        {
            wrap.since += interval;
            self.next_file()?;
        }
        Ok(())
    }

    fn next_file(&mut self) -> Result<(), Errno> {
        self.write_out()?;
        let Some(wrap) = &mut self.wrap else { return Ok(()) };
        wrap.number = wrap.after(wrap.number);
        self.file = create(wrap.name(wrap.number))?;
        self.size = 0;
        // It need not be there yet.
        let _ = std::fs::remove_file(wrap.name(wrap.after(wrap.number)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_as_otps() {
        let name = |command: &str| parse(command.as_bytes()).map(|(_, name)| name);
        assert_eq!(name("n /a b"), Some(b"/a b".to_vec()));
        assert_eq!(name("n  /a"), Some(b" /a".to_vec()));
        for wrong in
            ["", "n", "n ", "x /a", "w 1 2 3 n /a", "w 1 2 3 4 n /a", "w 1 0 3 1 n /a", "w 1 2 3 9999999999 n /a"]
        {
            assert!(parse(wrong.as_bytes()).is_none(), "{wrong}");
        }
        let (wrap, _) = parse(b"w 100 3 0 2 n /ab.c").unwrap();
        assert_eq!(wrap.unwrap().name(7), "/a7b.c");
    }
}
