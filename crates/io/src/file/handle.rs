//! Open files: the handle, and what is done with it.
//!
//! F1. A handle is used by one call at a time; a call that meets another, or a closed file, gives `einval`.
//! F2. A file is closed by `close_nif`, at the latest when its owner (the process that opened it) ends, or when the last
//!     reference to the handle is collected.
//! F3. A process that ends while a call of its still uses the file, on a dirty scheduler, does not wait: the call closes the file
//!     ([`Revocable`]).

use super::{go_dirty, retry, room};
use crate::posix;
use myriad_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use myriad_sync::{Arc, CachePadded, LockClass, Mutex, Revocable, Unavailable, Weak};
use myriad_term::{BinaryBuffer, Build, Pid, Term, am};
use myriad_vm::bif::{DirtyKind, badarg};
use myriad_vm::{BifResult, Ctx, Escape};
use rustix::fs::{Advice, FallocateFlags, SeekFrom};
use rustix::io::{Errno, ReadWriteFlags};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

static OWNERS_CLASS: LockClass = LockClass::new("efile_owners", 330);

/// Reads up to this many bytes are tried on the scheduler.
const DIRECT_READ_LIMIT: usize = 256 << 10;
/// The offset that means "at the file's position".
const AT_POSITION: u64 = u64::MAX;
/// Most buffers of one system call.
const IOV_MAX: usize = 1024;

/// Writes up to this many bytes are done on the scheduler where [`FileHandle::away`] allows it.
const DIRECT_WRITE_LIMIT: usize = 64 << 10;
/// A write on the scheduler that took longer was not one to memory: the disk cannot follow...
const SLOW_WRITE: Duration = Duration::from_micros(500);
/// ...and this number of writes that follow are done on dirty schedulers.
const WRITES_AWAY: u32 = 256;
/// [`FileHandle::away`] of a file whose writes all may block.
const ALWAYS_AWAY: u32 = u32::MAX;

/// An open file.
pub(super) struct FileHandle {
    fd: Revocable<OwnedFd>,
    owner: Pid,
    /// Where it is noted with its owner.
    owners: &'static Owners,
    /// How many writes are still to be done on a dirty scheduler before the next one is tried on the caller's.
    away: AtomicU32,
}

struct Shard {
    /// How many owners stand in the map, so that the end of any other process costs one load.
    owners: AtomicUsize,
    map: Mutex<HashMap<Pid, Vec<Weak<FileHandle>>>>,
}

const SHARDS: usize = 64;

/// The open files of a VM by the processes that own them.
pub struct Owners(Box<[CachePadded<Shard>]>);

impl Default for Owners {
    fn default() -> Owners {
        let shard = || Shard { owners: AtomicUsize::new(0), map: Mutex::new(&OWNERS_CLASS, HashMap::new()) };
        Owners((0..SHARDS).map(|_| CachePadded::new(shard())).collect())
    }
}

impl Owners {
    fn shard(&self, pid: Pid) -> &Shard {
        &self.0[pid.number() as usize % SHARDS]
    }

    /// Closes the files of a process that ends.
    pub fn owner_exits(&self, pid: Pid) {
        let shard = self.shard(pid);
        // Relaxed: what this process has opened it has counted itself; a call that opens a file for it afterwards takes it back
        // (`ExitFlag`).
        if shard.owners.load(Ordering::Relaxed) == 0 {
            return;
        }
        let files = {
            let mut map = shard.map.lock();
            let files = map.remove(&pid);
            shard.owners.store(map.len(), Ordering::Relaxed);
            files
        };
        for file in files.into_iter().flatten().filter_map(|f| f.upgrade()) {
            file.fd.revoke();
        }
    }
}

impl FileHandle {
    /// A handle of an open file, noted with its owner.
    pub(super) fn new(owners: &'static Owners, fd: OwnedFd, owner: Pid, writes_to_memory: bool) -> Arc<FileHandle> {
        let away = AtomicU32::new(if writes_to_memory { 0 } else { ALWAYS_AWAY });
        let handle = Arc::new(FileHandle { fd: Revocable::new(fd), owner, owners, away });
        let shard = owners.shard(owner);
        let mut map = shard.map.lock();
        let files = map.entry(owner).or_default();
        if files.len().is_power_of_two() {
            files.retain(|f| f.strong_count() > 0);
        }
        files.push(Arc::downgrade(&handle));
        // Relaxed: the owner itself reads it when it ends, after this.
        shard.owners.store(map.len(), Ordering::Relaxed);
        drop(map);
        handle
    }

    /// Does something with the file (F1).
    pub(super) fn with<T>(&self, f: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno>) -> Result<T, Errno> {
        self.fd.with(|fd| f(fd.as_fd())).unwrap_or_else(|Unavailable| Err(Errno::INVAL))
    }

    /// Writes where the caller runs, or asks for a dirty scheduler.
    fn write(&self, ctx: &mut Ctx<'_>, at: Option<u64>, vector: &[Cow<'_, [u8]>]) -> BifResult {
        let size: usize = vector.iter().map(|bytes| bytes.len()).sum();
        // Relaxed, here and below: a hint.
        let away = self.away.load(Ordering::Relaxed);
        if ctx.sched.dirty {
            if away != ALWAYS_AWAY {
                self.away.store(away.saturating_sub(1), Ordering::Relaxed);
            }
            let result = self.with(|fd| write_all(fd, at, vector));
            return posix::unit(ctx, result);
        }
        if away > 0 || size > DIRECT_WRITE_LIMIT {
            return Err(Escape::Dirty(DirtyKind::Io));
        }
        let start = Instant::now();
        let result = self.with(|fd| write_all(fd, at, vector));
        if start.elapsed() > SLOW_WRITE {
            self.away.store(WRITES_AWAY, Ordering::Relaxed);
        }
        ctx.bump(size / 256 + 20);
        posix::unit(ctx, result)
    }

    /// Closes it.
    pub(super) fn close(self: &Arc<Self>) -> Result<(), Errno> {
        drop(self.fd.take().map_err(|Unavailable| Errno::INVAL)?);
        let shard = self.owners.shard(self.owner);
        let mut map = shard.map.lock();
        if let Some(files) = map.get_mut(&self.owner) {
            files.retain(|f| !std::ptr::eq(f.as_ptr(), Arc::as_ptr(self)));
            if files.is_empty() {
                map.remove(&self.owner);
            }
        }
        // Relaxed: as in `owner_exits`.
        shard.owners.store(map.len(), Ordering::Relaxed);
        Ok(())
    }
}

/// The handle behind an argument.
pub(super) fn handle_of(term: Term) -> Result<Arc<FileHandle>, Escape> {
    let handle = term.as_magic().and_then(|m| m.get::<Arc<FileHandle>>().cloned());
    handle.ok_or(myriad_vm::bif::BADARG)
}

/// A copy of the descriptor behind an argument.
pub(crate) fn copy_of(term: Term) -> Result<Result<OwnedFd, Errno>, Escape> {
    let handle = handle_of(term)?;
    Ok(handle.with(|fd| rustix::io::fcntl_dupfd_cloexec(fd, 0)))
}

/// A count or offset: a number that is negative, too large or a float is `einval`, another term `badarg`.
fn offset(term: Term) -> Result<Result<u64, Errno>, Escape> {
    match term.as_small() {
        Some(n) => Ok(u64::try_from(n).map_err(|_| Errno::INVAL)),
        None if term.is_integer() || term.is_float() => {
            Ok(signed(term).and_then(|n| u64::try_from(n).ok()).ok_or(Errno::INVAL))
        }
        None => badarg(),
    }
}

/// An integer of 64 bits.
pub(super) fn signed(term: Term) -> Option<i64> {
    if let Some(n) = term.as_small() {
        return Some(n);
    }
    match term.as_big()? {
        (false, [one]) => i64::try_from(*one).ok(),
        (true, [one]) if *one <= 1 << 63 => Some((*one as i64).wrapping_neg()),
        _ => None,
    }
}

fn ok_or_eof(ctx: &mut Ctx<'_>, result: Result<BinaryBuffer, Errno>) -> BifResult {
    match result {
        Ok(bytes) if bytes.is_empty() => Ok(Term::atom(am::eof)),
        Ok(bytes) => {
            ctx.bump(bytes.len() / 256 + 20);
            let data = bytes.shrunk().into_term(ctx);
            Ok(ctx.tuple(&[Term::OK, data]))
        }
        Err(errno) => posix::error(ctx, errno),
    }
}

/// Reads `size` bytes, fewer only at the end of the file; waits for them. `at` = nothing: at the file's position.
fn read_waiting(fd: BorrowedFd<'_>, at: Option<u64>, size: u64) -> Result<BinaryBuffer, Errno> {
    let mut bytes = room(usize::try_from(size).map_err(|_| Errno::NOMEM)?)?;
    while (bytes.len() as u64) < size {
        let have = bytes.len();
        let result = retry(|| {
            // The allocation may be larger than asked for.
            let room = bytes.spare();
            let (read, _) = match at {
                None => rustix::io::read(fd, room)?,
                Some(at) => rustix::io::pread(fd, room, at.saturating_add(have as u64))?,
            };
            let count = read.len();
            // SAFETY: that many bytes have been read to there.
            unsafe { bytes.advance(count) };
            Ok(count)
        });
        match result {
            Ok(0) => break,
            Ok(_) => {}
            Err(errno) if have == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(bytes)
}

/// As [`read_waiting`], but nothing if the bytes are not all in memory (or the file cannot tell).
fn read_at_once(fd: BorrowedFd<'_>, at: Option<u64>, size: u64) -> Option<BinaryBuffer> {
    let size = usize::try_from(size).ok().filter(|s| *s <= DIRECT_READ_LIMIT)?;
    let mut bytes = BinaryBuffer::with_capacity(size);
    bytes.extend(std::iter::repeat_n(0, size));
    let mut have = 0;
    while have < size {
        let from = at.map_or(AT_POSITION, |at| at.saturating_add(have as u64));
        let room = &mut [IoSliceMut::new(&mut bytes[have..])];
        match retry(|| rustix::io::preadv2(fd, room, from, ReadWriteFlags::NOWAIT)) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(_) => {
                if at.is_none() && have > 0 {
                    rustix::fs::seek(fd, SeekFrom::Current(-(have as i64))).ok()?;
                }
                return None;
            }
        }
    }
    bytes.truncate(have);
    Some(bytes)
}

fn read(ctx: &mut Ctx<'_>, handle: Term, at: Option<u64>, size: u64) -> BifResult {
    let handle = handle_of(handle)?;
    if ctx.sched.dirty {
        let result = handle.with(|fd| read_waiting(fd, at, size));
        return ok_or_eof(ctx, result);
    }
    match handle.with(|fd| Ok(read_at_once(fd, at, size))) {
        Ok(Some(bytes)) => ok_or_eof(ctx, Ok(bytes)),
        Ok(None) => match go_dirty(ctx) {
            Err(escape) => escape,
            Ok(()) => posix::error(ctx, Errno::INVAL),
        },
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `read_nif(Handle, Size)`
pub(super) fn read_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match offset(args[1])? {
        Ok(size) => read(ctx, args[0], None, size),
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `pread_nif(Handle, Offset, Size)`
pub(super) fn pread_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match (offset(args[1])?, offset(args[2])?) {
        (Ok(at), Ok(size)) => read(ctx, args[0], Some(at), size),
        (Err(errno), _) | (_, Err(errno)) => posix::error(ctx, errno),
    }
}

/// The items of an I/O vector.
fn items(list: Term) -> Result<Vec<Term>, Escape> {
    let mut rest = list.list_iter();
    let items = rest.by_ref().collect();
    if rest.tail().is_nil() { Ok(items) } else { badarg() }
}

/// The bytes of its items, which are binaries.
fn io_vector(items: &[Term]) -> Result<Vec<Cow<'_, [u8]>>, Escape> {
    items.iter().map(|item| item.as_binary().map_or_else(badarg, Ok)).collect()
}

/// Writes all of it.
fn write_all(fd: BorrowedFd<'_>, mut at: Option<u64>, vector: &[Cow<'_, [u8]>]) -> Result<(), Errno> {
    let mut slices: Vec<IoSlice<'_>> = vector.iter().filter(|b| !b.is_empty()).map(|b| IoSlice::new(b)).collect();
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        let batch = &rest[..rest.len().min(IOV_MAX)];
        let written = retry(|| match at {
            None => rustix::io::writev(fd, batch),
            Some(at) => rustix::io::pwritev(fd, batch, at),
        })?;
        at = at.map(|at| at.saturating_add(written as u64));
        IoSlice::advance_slices(&mut rest, written);
    }
    Ok(())
}

/// `write_nif(Handle, IoVector)`
pub(super) fn write_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let items = items(args[1])?;
    let vector = io_vector(&items)?;
    handle.write(ctx, None, &vector)
}

/// `pwrite_nif(Handle, Offset, IoVector)`
pub(super) fn pwrite_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let at = offset(args[1])?;
    let items = items(args[2])?;
    let vector = io_vector(&items)?;
    match at {
        Ok(at) => handle.write(ctx, Some(at), &vector),
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `seek_nif(Handle, Mark, Offset)`
pub(super) fn seek_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let Some(by) = signed(args[2]) else { return badarg() };
    let to = match args[1].as_atom() {
        Some(am::bof) => u64::try_from(by).map(SeekFrom::Start).map_err(|_| Errno::INVAL),
        Some(am::cur) => Ok(SeekFrom::Current(by)),
        Some(am::eof) => Ok(SeekFrom::End(by)),
        _ => return badarg(),
    };
    match to.and_then(|to| handle.with(|fd| rustix::fs::seek(fd, to))) {
        Ok(position) => {
            let position = ctx.uint(position);
            Ok(ctx.tuple(&[Term::OK, position]))
        }
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `sync_nif(Handle, DataOnly)`
pub(super) fn sync_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let Some(data_only) = args[1].as_small() else { return badarg() };
    let result =
        handle.with(|fd| retry(|| if data_only != 0 { rustix::fs::fdatasync(fd) } else { rustix::fs::fsync(fd) }));
    posix::unit(ctx, result)
}

/// `truncate_nif(Handle)`: at the file's position.
pub(super) fn truncate_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let result = handle.with(|fd| {
        let at = rustix::fs::tell(fd)?;
        retry(|| rustix::fs::ftruncate(fd, at))
    });
    posix::unit(ctx, result)
}

/// `allocate_nif(Handle, Offset, Length)`: takes disk space; the file grows to hold it.
pub(super) fn allocate_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let result = match (offset(args[1])?, offset(args[2])?) {
        (Ok(at), Ok(len)) => handle.with(|fd| retry(|| rustix::fs::fallocate(fd, FallocateFlags::empty(), at, len))),
        (Err(errno), _) | (_, Err(errno)) => Err(errno),
    };
    posix::unit(ctx, result)
}

/// `advise_nif(Handle, Offset, Length, Advice)`
pub(super) fn advise_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let advice = match args[3].as_atom() {
        Some(am::normal) => Advice::Normal,
        Some(am::random) => Advice::Random,
        Some(am::sequential) => Advice::Sequential,
        Some(am::will_need) => Advice::WillNeed,
        Some(am::dont_need) => Advice::DontNeed,
        Some(am::no_reuse) => Advice::NoReuse,
        _ => return posix::error(ctx, Errno::INVAL),
    };
    let (at, len) = (offset(args[1])?, offset(args[2])?);
    let result = at
        .and_then(|at| len.map(|len| (at, len)))
        .and_then(|(at, len)| handle.with(|fd| rustix::fs::fadvise(fd, at, std::num::NonZeroU64::new(len), advice)));
    posix::unit(ctx, result)
}

/// `ipread_s32bu_p32bu_nif(Handle, Offset, MaxSize)`: at the offset stand a size and a place, 32 bits each; reads there.
pub(super) fn ipread_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    if args[1].is_float() || args[2].is_float() {
        return badarg();
    }
    let (at, max) = match (offset(args[1])?, offset(args[2])?) {
        (Ok(at), Ok(max)) => (at, max),
        (Ok(_), Err(_)) => return Ok(Term::atom(am::eof)),
        (Err(errno), _) => return posix::error(ctx, errno),
    };
    let result = handle.with(|fd| {
        let head = read_waiting(fd, Some(at), 8)?;
        let Some((size, place)) =
            head.split_first_chunk::<4>().and_then(|(a, rest)| Some((*a, *rest.first_chunk::<4>()?)))
        else {
            return Ok(None);
        };
        let (size, place) = (u32::from_be_bytes(size), u32::from_be_bytes(place));
        if u64::from(size) > max {
            return Ok(None);
        }
        Ok(Some((size, place, read_waiting(fd, Some(u64::from(place)), u64::from(size))?)))
    });
    match result {
        Ok(None) => Ok(Term::atom(am::eof)),
        Ok(Some((size, place, bytes))) => {
            let data = if bytes.is_empty() { Term::atom(am::eof) } else { bytes.shrunk().into_term(ctx) };
            let found = ctx.tuple(&[Term::small(i64::from(size)), Term::small(i64::from(place)), data]);
            Ok(ctx.tuple(&[Term::OK, found]))
        }
        Err(errno) => posix::error(ctx, errno),
    }
}
