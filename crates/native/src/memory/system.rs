//! What the system is asked for: mappings, their rights, and that all threads forget fetched instructions.

use std::ops::Range;

use super::{Mode, NoMemory};

/// Bytes of a page, or a multiple of them where pages are smaller.
pub const PAGE: usize = 1 << 14;

/// The region: one mapping, or two of the same memory.
#[derive(Debug)]
pub struct Mapping {
    /// How many bytes each has.
    pub bytes: usize,
    /// Where code is executed.
    pub execute: usize,
    /// Where it is written.
    pub write: usize,
    /// How these are kept apart.
    pub mode: Mode,
}

fn last_error() -> NoMemory {
    NoMemory::System(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

/// A new mapping of a file from its start, or, without one, of reserved address space.
fn map(bytes: usize, rights: libc::c_int, file: Option<libc::c_int>) -> Result<usize, NoMemory> {
    let kind = if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
    // SAFETY: a new mapping, where the system likes it.
    let at =
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, kind | libc::MAP_NORESERVE, file.unwrap_or(-1), 0) };
    if at == libc::MAP_FAILED { Err(last_error()) } else { Ok(at as usize) }
}

fn unmap(at: usize, bytes: usize) {
    // SAFETY: a mapping of this module, which nothing uses any more. A failure leaves it where it is.
    unsafe { libc::munmap(at as *mut libc::c_void, bytes) };
}

/// The most bytes that a file may have (`ulimit -f`). A longer one is refused by a signal that ends the program.
pub fn largest_file() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: it is written to; if it is not, no file may be written.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}

/// A file without a name, closed when dropped.
struct File(libc::c_int);

impl File {
    fn new(bytes: usize) -> Result<Self, NoMemory> {
        if bytes as u64 > largest_file() {
            return Err(NoMemory::System(libc::EFBIG));
        }
        let name = c"code".as_ptr();
        let close = libc::MFD_CLOEXEC;
        // SAFETY: a name that ends with a zero. Systems before 6.3 do not know that a file may be asked to be executable.
        let number = unsafe {
            match libc::memfd_create(name, close | libc::MFD_EXEC) {
                -1 => libc::memfd_create(name, close),
                number => number,
            }
        };
        if number < 0 {
            return Err(last_error());
        }
        let file = Self(number);
        let length = libc::off_t::try_from(bytes).map_err(|_| NoMemory::Full)?;
        // SAFETY: a file of ours. It takes no memory before it is written.
        if unsafe { libc::ftruncate(file.0, length) } != 0 { Err(last_error()) } else { Ok(file) }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: a file of ours; its mappings stay.
        unsafe { libc::close(self.0) };
    }
}

impl Mapping {
    /// Reserves a region; in double mode the file is mapped twice.
    pub fn new(bytes: usize, mode: Mode) -> Result<Self, NoMemory> {
        let (read, write, execute) = (libc::PROT_READ, libc::PROT_WRITE, libc::PROT_EXEC);
        match mode {
            Mode::Single => {
                let at = map(bytes, libc::PROT_NONE, None)?;
                Ok(Self { bytes, execute: at, write: at, mode })
            }
            Mode::Double => {
                let file = File::new(bytes)?;
                let execute = map(bytes, read | execute, Some(file.0))?;
                let write = map(bytes, read | write, Some(file.0)).inspect_err(|_| unmap(execute, bytes))?;
                Ok(Self { bytes, execute, write, mode })
            }
        }
    }

    /// Makes a range writable that nobody has used.
    pub fn prepare(&self, range: &Range<usize>) -> Result<(), NoMemory> {
        match self.mode {
            Mode::Double => Ok(()),
            Mode::Single => self.protect(range, libc::PROT_READ | libc::PROT_WRITE),
        }
    }

    /// Makes a range executable that has been written.
    pub fn finish(&self, range: &Range<usize>) -> Result<(), NoMemory> {
        match self.mode {
            Mode::Double => Ok(()),
            Mode::Single => self.protect(range, libc::PROT_READ | libc::PROT_EXEC),
        }
    }

    /// Gives the memory of a range back that is not used any more, where it would not be used again.
    pub fn discard(&self, range: &Range<usize>) {
        if self.mode == Mode::Single && self.protect(range, libc::PROT_NONE).is_ok() {
            // SAFETY: whole pages of the region that nobody uses. If the system refuses, the pages only stay in memory.
            unsafe {
                libc::madvise((self.execute + range.start) as *mut libc::c_void, range.len(), libc::MADV_DONTNEED)
            };
        }
    }

    fn protect(&self, range: &Range<usize>, rights: libc::c_int) -> Result<(), NoMemory> {
        // SAFETY: whole pages of the region, which the caller alone uses.
        let done = unsafe { libc::mprotect((self.write + range.start) as *mut libc::c_void, range.len(), rights) };
        if done == 0 { Ok(()) } else { Err(last_error()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        unmap(self.execute, self.bytes);
        if self.mode == Mode::Double {
            unmap(self.write, self.bytes);
        }
    }
}

/// Commands of `membarrier(2)`: each thread of this process executes a serialising instruction before it goes on in its own code.
const SYNC_CORE: libc::c_int = 1 << 5;
const REGISTER_SYNC_CORE: libc::c_int = 1 << 6;

fn membarrier(command: libc::c_int) -> Result<(), NoMemory> {
    // SAFETY: it changes nothing that the language knows of.
    let done = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if done == 0 { Ok(()) } else { Err(last_error()) }
}

/// Announces that `serialise_all_threads` will be called. `false`: the system cannot do it.
pub fn register_for_serialising() -> bool {
    membarrier(REGISTER_SYNC_CORE).is_ok()
}

/// Makes all threads forget instructions that they have fetched.
pub fn serialise_all_threads() -> Result<(), NoMemory> {
    membarrier(SYNC_CORE)
}
