//! The driver `ram_file_drv`: a file in memory, in the private language that module `ram_file` speaks with it.
//!
//! A command is a byte and its arguments, big-endian; each is answered at once by a message `{Port, {data, Answer}}`, whose
//! first byte says what follows: nothing, the text of an error, a number, or a size and data.

use super::driver::{Context, Driver, DriverType, Opened};
use super::options::Target;
use super::tell::Tell;
use crate::bytes::Piece;
use myriad_term::{Pid, am, memory};
use rustix::io::Errno;

pub(super) static DRIVER: DriverType = DriverType::new("ram_file_drv", |target, _| match target {
    Target::Spawn(line) | Target::Driver(line) => {
        Ok(Opened { driver: Box::new(RamFile::default()), name: line.clone(), os_pid: None })
    }
    _ => Err(am::badarg),
});

/// The commands.
mod command {
    pub(super) const OPEN: u8 = 1;
    pub(super) const READ: u8 = 2;
    pub(super) const SEEK: u8 = 3;
    pub(super) const WRITE: u8 = 4;
    pub(super) const SYNC: u8 = 9;
    pub(super) const TRUNCATE: u8 = 14;
    pub(super) const READ_AT: u8 = 17;
    pub(super) const WRITE_AT: u8 = 18;
    pub(super) const SYNC_DATA: u8 = 19;
    pub(super) const GET: u8 = 30;
    pub(super) const SIZE: u8 = 37;
    pub(super) const ADVISE: u8 = 38;
    pub(super) const ALLOCATE: u8 = 39;
}

/// Bits of the mode.
const READ: u32 = 1;
const WRITE: u32 = 2;
/// No file is larger: places are 32-bit integers.
const LIMIT: usize = i32::MAX as usize;

/// A file in memory, or one that is still to be opened.
#[derive(Default)]
struct RamFile {
    open: bool,
    mode: u32,
    at: usize,
    bytes: Vec<u8>,
}

/// An answer: its first bytes, which are always a list, and data.
#[derive(PartialEq, Eq, Debug)]
struct Answer {
    head: Vec<u8>,
    data: Option<Vec<u8>>,
}

/// What goes well: nothing to say, a number, or data.
enum Done {
    Ok,
    Number(usize),
    Data(Vec<u8>),
}

/// A signed number of 32 bits.
fn number(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((i32::from_be_bytes(*first), rest))
}

fn place(bytes: &[u8]) -> Result<(usize, &[u8]), Errno> {
    let (at, rest) = number(bytes).ok_or(Errno::INVAL)?;
    Ok((usize::try_from(at).map_err(|_| Errno::INVAL)?, rest))
}

impl Driver for RamFile {
    fn output(&mut self, port: &mut Context<'_>, _: Pid, data: Piece) {
        if let Some(Answer { head, data }) = self.command(data.bytes()) {
            port.tell_owner(Tell::Headed(head, data));
        }
    }

    fn has_control(&self) -> bool {
        false
    }

    fn memory(&self) -> usize {
        self.bytes.len()
    }
}

impl RamFile {
    /// Does a command; nothing if there is no such one.
    fn command(&mut self, bytes: &[u8]) -> Option<Answer> {
        let (command, arguments) = bytes.split_first()?;
        let done = match *command {
            command::OPEN => self.open(arguments),
            command::READ => place(arguments).and_then(|(size, _)| {
                let data = self.read(self.at, size)?;
                self.at += data.len();
                Ok(Done::Data(data))
            }),
            command::READ_AT => place(arguments)
                .and_then(|(at, rest)| Ok((at, place(rest)?.0)))
                .and_then(|(at, size)| self.read(at, size).map(Done::Data)),
            command::WRITE => self.write(self.at, arguments).map(|n| {
                self.at += n;
                Done::Number(n)
            }),
            command::WRITE_AT => place(arguments).and_then(|(at, data)| self.write(at, data).map(Done::Number)),
            command::SEEK => self.seek(arguments).map(Done::Number),
            command::TRUNCATE => self.truncate(),
            command::GET => Ok(Done::Data(self.bytes.clone())),
            command::SIZE => Ok(Done::Number(self.bytes.len())),
            command::SYNC | command::SYNC_DATA | command::ADVISE | command::ALLOCATE if self.open => Ok(Done::Ok),
            command::SYNC | command::SYNC_DATA | command::ADVISE | command::ALLOCATE => Err(Errno::BADF),
            _ => return None,
        };
        let headed = |kind: u8, number: usize| [&[kind], &(number as u32).to_be_bytes()[..]].concat();
        Some(match done {
            Ok(Done::Ok) => Answer { head: vec![0], data: None },
            Ok(Done::Number(n)) => Answer { head: headed(3, n), data: None },
            Ok(Done::Data(data)) => Answer { head: headed(2, data.len()), data: Some(data) },
            Err(errno) => Answer { head: [&[1], crate::posix::text(errno).as_bytes()].concat(), data: None },
        })
    }

    fn open(&mut self, arguments: &[u8]) -> Result<Done, Errno> {
        let (mode, data) = number(arguments).ok_or(Errno::INVAL)?;
        *self = RamFile { open: true, mode: mode as u32, at: 0, bytes: data.to_vec() };
        Ok(Done::Number(0))
    }

    fn may(&self, what: u32) -> Result<(), Errno> {
        if self.open && self.mode & what != 0 { Ok(()) } else { Err(Errno::BADF) }
    }

    fn read(&self, at: usize, size: usize) -> Result<Vec<u8>, Errno> {
        self.may(READ)?;
        let rest = self.bytes.get(at..).unwrap_or(&[]);
        Ok(rest[..size.min(rest.len())].to_vec())
    }

    /// Makes it so long, with zeros.
    fn grow(&mut self, len: usize) -> Result<(), Errno> {
        if len > self.bytes.len() {
            if len > LIMIT {
                return Err(Errno::NOMEM);
            }
            memory::fallibly(|| self.bytes.try_reserve(len - self.bytes.len())).map_err(|_| Errno::NOMEM)?;
            self.bytes.resize(len, 0);
        }
        Ok(())
    }

    fn write(&mut self, at: usize, data: &[u8]) -> Result<usize, Errno> {
        self.may(WRITE)?;
        let end = at.checked_add(data.len()).ok_or(Errno::NOMEM)?;
        self.grow(end)?;
        self.bytes[at..end].copy_from_slice(data);
        Ok(data.len())
    }

    fn seek(&mut self, arguments: &[u8]) -> Result<usize, Errno> {
        if !self.open {
            return Err(Errno::BADF);
        }
        let (by, rest) = number(arguments).ok_or(Errno::INVAL)?;
        let (from, _) = number(rest).ok_or(Errno::INVAL)?;
        let base = match from {
            0 => 0,
            1 => self.at,
            2 => self.bytes.len(),
            _ => return Err(Errno::INVAL),
        };
        let to = i32::try_from(base as i64 + i64::from(by)).ok().and_then(|to| usize::try_from(to).ok());
        self.at = to.ok_or(Errno::INVAL)?;
        Ok(self.at)
    }

    fn truncate(&mut self) -> Result<Done, Errno> {
        self.may(WRITE).map_err(|_| Errno::ACCESS)?;
        self.grow(self.at)?;
        self.bytes.truncate(self.at);
        Ok(Done::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(answer: Option<Answer>) -> Vec<u8> {
        answer.map_or_else(Vec::new, |a| a.head)
    }

    #[test]
    fn a_session() {
        let mut file = RamFile::default();
        assert_eq!(head(file.command(&[2, 0, 0, 0, 1])), b"\x01ebadf");
        assert_eq!(head(file.command(b"\x01\0\0\0\x03abc")), [3, 0, 0, 0, 0]);
        let read = file.command(&[2, 0, 0, 0, 2]).and_then(|a| a.data);
        assert_eq!(read.as_deref(), Some(&b"ab"[..]));
        assert_eq!(head(file.command(&[18, 0, 0, 0, 5, 9])), [3, 0, 0, 0, 1]);
        assert_eq!(file.bytes, b"abc\0\0\x09");
        assert_eq!(head(file.command(&[3, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 1])), b"\x01einval");
        assert_eq!(head(file.command(&[14])), [0]);
        assert_eq!((file.memory(), file.command(&[]), file.command(&[77])), (2, None, None));
    }

    #[test]
    fn short_commands_are_refused() {
        let mut file = RamFile::default();
        file.command(b"\x01\0\0\0\x03abc");
        for command in [&[2u8, 0][..], &[3, 0, 0, 0, 0], &[17, 0, 0, 0, 0], &[18], &[1, 0]] {
            assert_eq!(head(file.command(command)), b"\x01einval", "{command:?}");
        }
    }
}
