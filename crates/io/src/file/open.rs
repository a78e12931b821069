//! Opening and closing files, and reading a file as a whole.

use super::handle::{FileHandle, Owners, handle_of};
use super::{path, retry, room};
use crate::bytes::read_onto;
use crate::posix;
use myriad_sync::Arc;
use myriad_term::{BinaryBuffer, Build, Magic, Term, am};
use myriad_vm::bif::{DirtyKind, badarg};
use myriad_vm::{BifResult, Ctx, Escape};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Regular files up to this size are read where the caller runs.
const DIRECT_READ_LIMIT: u64 = 128 << 10;
/// Room for the next piece of a file whose size is not known.
const PIECE: usize = 64 << 10;

/// The open flags of a list of modes, and whether a directory is wanted, which cannot be written; nothing if it is no list. What is
/// unknown is ignored, as by OTP.
fn flags_of(modes: Term) -> Option<Result<(OFlags, bool), Errno>> {
    let (mut read, mut write, mut append, mut exclusive, mut sync, mut directory) =
        (false, false, false, false, false, false);
    let mut items = modes.list_iter();
    for mode in items.by_ref() {
        match mode.as_atom() {
            Some(am::read) => read = true,
            Some(am::write) => write = true,
            Some(am::append_) => (append, write) = (true, true),
            Some(am::exclusive) => (exclusive, write) = (true, true),
            Some(am::sync) => sync = true,
            Some(am::directory) => directory = true,
            _ => {}
        }
    }
    if !items.tail().is_nil() {
        return None;
    }
    let mut flags = match (read, write) {
        (true, true) => OFlags::RDWR | OFlags::CREATE,
        (_, false) => OFlags::RDONLY,
        (false, true) if append || exclusive => OFlags::WRONLY | OFlags::CREATE,
        (false, true) => OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC,
    };
    flags.set(OFlags::APPEND, append);
    flags.set(OFlags::EXCL, exclusive);
    flags.set(OFlags::SYNC, sync);
    if directory && write {
        return Some(Err(Errno::INVAL));
    }
    flags.set(OFlags::DIRECTORY, directory);
    Some(Ok((flags | OFlags::CLOEXEC, directory)))
}

/// File systems of this machine, on which a write most often only goes to memory (`f_type` of `statfs(2)`).
const LOCAL: [u32; 8] = [
    0xef53,      // ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x794c_7630, // overlayfs
];

/// The open file, and whether writes to it most often only go to memory.
fn open_checked(path: &std::ffi::CStr, flags: OFlags, directory: bool) -> Result<(OwnedFd, bool), Errno> {
    let fd = retry(|| rustix::fs::open(path, flags, Mode::from_raw_mode(0o666)))?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
    if kind == FileType::Directory && !directory {
        return Err(Errno::ISDIR);
    }
    let to_memory = flags.intersects(OFlags::WRONLY | OFlags::RDWR)
        && !flags.contains(OFlags::SYNC)
        && kind == FileType::RegularFile
        && rustix::fs::fstatfs(&fd).is_ok_and(|s| LOCAL.contains(&(s.f_type as u32)));
    Ok((fd, to_memory))
}

/// `open_nif(Name, Modes)`
pub(super) fn open_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let Some(wanted) = flags_of(args[1]) else { return badarg() };
    let (flags, directory) = match wanted {
        Ok(wanted) => wanted,
        Err(errno) => return posix::error(ctx, errno),
    };
    // Making and truncating a file may wait for the disk.
    if flags.intersects(OFlags::CREATE | OFlags::TRUNC) && !ctx.sched.dirty {
        return Err(Escape::Dirty(DirtyKind::Io));
    }
    match open_checked(name.c_str(), flags, directory) {
        Ok((fd, to_memory)) => Ok(ok_handle(ctx, fd, to_memory)),
        Err(errno) => posix::error(ctx, errno),
    }
}

fn ok_handle(ctx: &mut Ctx<'_>, fd: OwnedFd, writes_to_memory: bool) -> Term {
    let owners = ctx.vm.part::<Owners>();
    let handle = FileHandle::new(owners, fd, ctx.pid(), writes_to_memory);
    if ctx.process.must_take_back() {
        // It has ended while this opened the file for it, and closed those that it had.
        owners.owner_exits(ctx.pid());
    }
    let numbers = ctx.sched.next_ref();
    let reference = myriad_term::magic::magic_reference(ctx, Magic::new::<Arc<FileHandle>>(numbers, handle));
    ctx.tuple(&[Term::OK, reference])
}

/// `file_desc_to_ref_nif(Number)`: a file that the process was started with, or that something else has opened.
pub(super) fn file_desc_to_ref_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(number) = args[0].as_small().and_then(|n| i32::try_from(n).ok()) else { return badarg() };
    let fd = (number >= 0).then(|| {
        // SAFETY: only looked at, by calls that fail if the number is no open file.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        rustix::io::fcntl_getfd(borrowed)
    });
    match fd {
        Some(Ok(_)) => {
            use std::os::fd::FromRawFd;
            // SAFETY: it is open, and the caller gives it away: it is closed with the handle, as by OTP.
            let fd = unsafe { OwnedFd::from_raw_fd(number) };
            Ok(ok_handle(ctx, fd, false))
        }
        _ => posix::error(ctx, Errno::BADF),
    }
}

/// `close_nif(Handle)`; also what the janitor process of `prim_file` calls.
pub(super) fn close_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    let result = handle.close();
    posix::unit(ctx, result)
}

/// `get_handle_nif(Handle)`: the number of the file, in the machine's byte order.
pub(super) fn get_handle_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    match handle.with(|fd| Ok(fd.as_raw_fd())) {
        Ok(number) => Ok(ctx.binary(&number.to_ne_bytes())),
        Err(errno) => posix::error(ctx, errno),
    }
}

/// Reads to the end of the file. `expected` is its size, if it has one.
fn read_to_end(fd: BorrowedFd<'_>, expected: u64) -> Result<BinaryBuffer, Errno> {
    // One more byte than expected, so that the end is seen without growing.
    let size = usize::try_from(expected).ok().and_then(|n| n.checked_add(1)).ok_or(Errno::NOMEM)?;
    let mut bytes = room(size)?;
    loop {
        if bytes.len() == bytes.capacity() {
            bytes.try_reserve_exact(PIECE.max(bytes.len())).map_err(|_| Errno::NOMEM)?;
        }
        if retry(|| read_onto(fd, &mut bytes, usize::MAX))? == 0 {
            return Ok(bytes);
        }
    }
}

/// `read_file_nif(Name)`
pub(super) fn read_file_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    // A pipe without a writer must not keep the scheduler; regular files do not mind.
    let waiting = if ctx.sched.dirty { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | waiting;
    let opened = retry(|| rustix::fs::open(name.c_str(), flags, Mode::empty()));
    let result = opened.and_then(|fd| Ok((rustix::fs::fstat(&fd)?, fd))).and_then(|(stat, fd)| {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Err(Errno::ISDIR),
            _ if ctx.sched.dirty => read_to_end(fd.as_fd(), size).map(Some),
            FileType::RegularFile if size > 0 && size <= DIRECT_READ_LIMIT => read_to_end(fd.as_fd(), size).map(Some),
            _ => Ok(None),
        }
    });
    match result {
        Ok(Some(bytes)) => {
            ctx.bump(bytes.len() / 256 + 50);
            let data = bytes.shrunk().into_term(ctx);
            Ok(ctx.tuple(&[Term::OK, data]))
        }
        Ok(None) => Err(Escape::Dirty(DirtyKind::Io)),
        Err(errno) => posix::error(ctx, errno),
    }
}
