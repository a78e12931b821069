//! What `perf` and other profilers read to know functions of machine code: maps of symbols, and dumps of code.
//!
//! A *map* has a line for each function: where it is, how long, and its name. A *dump* has the code as well, with the time since when it is there and the lines
//! that it is of, so that `perf inject --jit` can make files of it that `perf annotate` shows (`tools/perf/Documentation/jitdump-specification.txt` of Linux, version 1).
//! A function that is freed stays in a map; its addresses may be another's later, of which the line comes later, too.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// "JiTD", read as a number in the byte order of who writes.
const MAGIC: u32 = 0x4a69_5444;
const VERSION: u32 = 1;
const HEADER_BYTES: u32 = 40;
/// Kinds of records.
const CODE_LOAD: u32 = 0;
const DEBUG_INFO: u32 = 2;
/// The processor, as ELF numbers them (`e_machine`).
const MACHINE: u32 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };

/// A function whose machine code is there.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where its code begins.
    pub address: usize,
    /// Its code.
    pub code: &'a [u8],
    /// From which offset on it is of which file and line, ascending.
    pub lines: &'a [(u32, &'a str, u32)],
}

/// Makes a file that only its owner may read and write, in place of one that is there.
fn create(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Made anew, so that no link that somebody has put there is followed.
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// `perf-PID.map`
pub struct Map<W = File>(W);

impl Map {
    /// Makes the file in a directory: `perf` looks into `/tmp`.
    pub fn create(directory: &Path) -> io::Result<Map> {
        Ok(Map(create(&directory.join(format!("perf-{}.map", std::process::id())))?))
    }
}

impl<W: Write> Map<W> {
    /// Adds a function.
    pub fn add(&mut self, function: &Function<'_>) -> io::Result<()> {
        // One call: whoever reads meanwhile sees whole lines.
        let line = format!("{:#x} {:x} {}\n", function.address, function.code.len(), function.name);
        self.0.write_all(line.as_bytes())
    }
}

/// `jit-PID.dump`
pub struct Dump<W = File> {
    out: W,
    /// How many functions it has.
    number: u64,
}

impl Dump {
    /// Makes the file in a directory, and has `perf record` note that it is there.
    pub fn create(directory: &Path) -> io::Result<Dump> {
        let file = create(&path(directory))?;
        let mut dump = Dump::new(file)?;
        dump.out.flush()?;
        // `perf record` finds the file by an event of its mapping, which has to be one for executing.
        // SAFETY: a new mapping of a file that is open, which nobody accesses.
        let mapped = unsafe {
            let (rights, fd) = (libc::PROT_READ | libc::PROT_EXEC, dump.out.as_raw_fd());
            libc::mmap(std::ptr::null_mut(), HEADER_BYTES as usize, rights, libc::MAP_PRIVATE, fd, 0)
        };
        if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(dump) }
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join(format!("jit-{}.dump", std::process::id()))
}

impl<W: Write> Dump<W> {
    /// A dump without functions.
    pub fn new(mut out: W) -> io::Result<Dump<W>> {
        let mut header = Record::default();
        header.words([MAGIC, VERSION, HEADER_BYTES, MACHINE, 0, std::process::id()]).long(now()).long(0);
        out.write_all(&header.0)?;
        Ok(Dump { out, number: 0 })
    }

    /// Adds a function that is there since a time ([`now`]).
    pub fn add(&mut self, function: &Function<'_>, since: u64) -> io::Result<()> {
        let mut bytes = Vec::new();
        let address = function.address as u64;
        if !function.lines.is_empty() {
            let mut lines = Record::default();
            lines.long(address).long(function.lines.len() as u64);
            for (offset, file, line) in function.lines {
                lines.long(address + u64::from(*offset)).words([*line, 0]).text(file);
            }
            lines.append(&mut bytes, DEBUG_INFO, since);
        }
        self.number += 1;
        let mut load = Record::default();
        // SAFETY: it only gives a number.
        let thread = unsafe { libc::gettid() };
        load.words([std::process::id(), thread as u32]).long(address).long(address);
        load.long(function.code.len() as u64).long(self.number).text(function.name);
        load.0.extend_from_slice(function.code);
        load.append(&mut bytes, CODE_LOAD, since);
        self.out.write_all(&bytes)
    }
}

/// Nanoseconds of the clock by which dumps go (`perf record -k mono`).
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to where the time is wanted.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A record, or the head of a file, while it is put together.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn words<const N: usize>(&mut self, words: [u32; N]) -> &mut Record {
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_ne_bytes()));
        self
    }

    fn long(&mut self, long: u64) -> &mut Record {
        self.0.extend_from_slice(&long.to_ne_bytes());
        self
    }

    /// A text, and a zero byte behind it.
    fn text(&mut self, text: &str) -> &mut Record {
        self.0.extend(text.bytes().filter(|byte| *byte != 0));
        self.0.push(0);
        self
    }

    /// Appends what every record begins with, and this.
    fn append(&self, to: &mut Vec<u8>, kind: u32, since: u64) {
        let mut head = Record::default();
        head.words([kind, 16 + self.0.len() as u32]).long(since);
        to.extend_from_slice(&head.0);
        to.extend_from_slice(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &[u8] = &[0x90, 0x90, 0xc3];
    const LINES: &[(u32, &str, u32)] = &[(0, "m.erl", 7), (2, "h.hrl", 9)];
    const FUNCTION: Function<'_> = Function { name: "$m:f/1", address: 0x1_2340, code: CODE, lines: LINES };

    #[test]
    fn a_map_has_a_line_for_each_function() {
        let mut map = Map(Vec::new());
        map.add(&FUNCTION).expect("written");
        map.add(&Function { name: "$m:'a b'/0", address: 0x10, ..FUNCTION }).expect("written");
        assert_eq!(String::from_utf8_lossy(&map.0), "0x12340 3 $m:f/1\n0x10 3 $m:'a b'/0\n");
    }

    /// A reader of dumps.
    struct Reader<'a>(&'a [u8]);

    impl<'a> Reader<'a> {
        fn take(&mut self, bytes: usize) -> &'a [u8] {
            let (taken, rest) = self.0.split_at(bytes);
            self.0 = rest;
            taken
        }

        fn word(&mut self) -> u32 {
            u32::from_ne_bytes(self.take(4).try_into().expect("four bytes"))
        }

        fn long(&mut self) -> u64 {
            u64::from_ne_bytes(self.take(8).try_into().expect("eight bytes"))
        }

        fn text(&mut self) -> &'a str {
            let end = self.0.iter().position(|byte| *byte == 0).expect("an end");
            let text = self.take(end + 1);
            std::str::from_utf8(&text[..end]).expect("text")
        }

        /// A record of this kind: what is in it, and since when that is.
        fn record(&mut self, kind: u32) -> (Reader<'a>, u64) {
            assert_eq!(self.word(), kind);
            let bytes = self.word() as usize;
            let since = self.long();
            (Reader(self.take(bytes - 16)), since)
        }
    }

    #[test]
    fn a_dump_has_lines_and_code_of_each_function() {
        let mut dump = Dump::new(Vec::new()).expect("written");
        dump.add(&FUNCTION, 5).expect("written");
        dump.add(&Function { lines: &[], ..FUNCTION }, 6).expect("written");
        let mut all = Reader(&dump.out);
        assert_eq!([all.word(), all.word(), all.word(), all.word(), all.word()], [MAGIC, 1, 40, MACHINE, 0]);
        assert_eq!(all.word(), std::process::id());
        assert!(all.long() <= now());
        assert_eq!(all.long(), 0);
        let (mut lines, since) = all.record(DEBUG_INFO);
        assert_eq!((lines.long(), lines.long(), since), (0x1_2340, 2, 5));
        assert_eq!((lines.long(), lines.word(), lines.word(), lines.text()), (0x1_2340, 7, 0, "m.erl"));
        assert_eq!((lines.long(), lines.word(), lines.word(), lines.text()), (0x1_2342, 9, 0, "h.hrl"));
        assert!(lines.0.is_empty());
        for (number, since) in [(1, 5), (2, 6)] {
            let (mut load, time) = all.record(CODE_LOAD);
            assert_eq!((load.word(), time), (std::process::id(), since));
            let _thread = load.word();
            assert_eq!([load.long(), load.long(), load.long(), load.long()], [0x1_2340, 0x1_2340, 3, number]);
            assert_eq!((load.text(), load.0), ("$m:f/1", CODE));
        }
        assert!(all.0.is_empty());
    }

    #[test]
    fn a_file_is_the_owners_and_no_link_is_followed() {
        use std::os::unix::fs::PermissionsExt;
        let directory = std::env::temp_dir().join(format!("myriad-perf-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let (file, other) = (path(&directory), directory.join("other"));
        std::fs::write(&other, "kept").expect("written");
        std::os::unix::fs::symlink(&other, &file).expect("a link");
        let mut dump = Dump::create(&directory).expect("made");
        dump.add(&FUNCTION, 5).expect("written");
        let kind = std::fs::symlink_metadata(&file).expect("it is there");
        assert!(kind.is_file() && kind.permissions().mode() & 0o777 == 0o600);
        assert_eq!(std::fs::read(&other).expect("it is there"), b"kept");
        assert!(Map::create(&directory.join("none")).is_err());
        std::fs::remove_dir_all(&directory).expect("removed");
    }
}
