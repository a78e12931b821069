//! Attributes of files: the record `file_info`, and setting what can be set.

use super::handle::{handle_of, signed};
use super::path;
use crate::posix;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use rustix::fs::{Access, AtFlags, CWD, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid};
use rustix::io::Errno;

/// What the caller may do with a file.
fn access_atom(read: bool, write: bool) -> Atom {
    match (read, write) {
        (true, true) => am::read_write,
        (true, false) => am::read,
        (false, true) => am::write,
        (false, false) => am::none,
    }
}

/// `{file_info, Size, Type, Access, ATime, MTime, CTime, Mode, Links, Major, Minor, Inode, Uid, Gid}`; times in seconds.
fn file_info(ctx: &mut Ctx<'_>, stat: &Stat, access: Atom) -> Term {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => am::regular,
        FileType::Directory => am::directory,
        FileType::Symlink => am::symlink,
        FileType::CharacterDevice | FileType::BlockDevice => am::device,
        _ => am::other,
    };
    let fields = [
        am::file_info.term(),
        ctx.int(stat.st_size),
        kind.term(),
        access.term(),
        ctx.int(stat.st_atime),
        ctx.int(stat.st_mtime),
        ctx.int(stat.st_ctime),
        Term::small(i64::from(stat.st_mode)),
        ctx.uint(stat.st_nlink),
        ctx.uint(stat.st_dev),
        ctx.uint(stat.st_rdev),
        ctx.uint(stat.st_ino),
        Term::small(i64::from(stat.st_uid)),
        Term::small(i64::from(stat.st_gid)),
    ];
    ctx.tuple(&fields)
}

/// `read_info_nif(Name, FollowLinks)`
pub(super) fn read_info_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let Some(follow) = args[1].as_small() else { return badarg() };
    let stat = if follow != 0 { rustix::fs::stat(name.c_str()) } else { rustix::fs::lstat(name.c_str()) };
    ctx.bump(50);
    match stat {
        Ok(stat) => {
            let may = |access| rustix::fs::access(name.c_str(), access).is_ok();
            let access = access_atom(may(Access::READ_OK), may(Access::WRITE_OK));
            Ok(file_info(ctx, &stat, access))
        }
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `read_handle_info_nif(Handle)`
pub(super) fn read_handle_info_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let handle = handle_of(args[0])?;
    match handle.with(|fd| rustix::fs::fstat(fd)) {
        Ok(stat) => {
            // No name to ask about: by the owner's bits, as OTP.
            let access = access_atom(stat.st_mode & 0o400 != 0, stat.st_mode & 0o200 != 0);
            Ok(file_info(ctx, &stat, access))
        }
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `set_permissions_nif(Name, Mode)`
pub(super) fn set_permissions_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let Some(mode) = args[1].as_small().and_then(|m| u32::try_from(m).ok()) else { return badarg() };
    // Read, write, execute for each, and the two set-id bits; the sticky bit is cleared, as by OTP.
    let result = rustix::fs::chmod(name.c_str(), Mode::from_raw_mode(mode & 0o6777));
    posix::unit(ctx, result)
}

/// A user or group number; -1 leaves it.
fn owner_number(term: Term) -> Option<Option<u32>> {
    let number = i32::try_from(term.as_small()?).ok()?;
    Some(if number == -1 { None } else { Some(number as u32) })
}

/// `set_owner_nif(Name, Uid, Gid)`
pub(super) fn set_owner_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let (Some(uid), Some(gid)) = (owner_number(args[1]), owner_number(args[2])) else { return badarg() };
    let result = rustix::fs::chown(name.c_str(), uid.map(Uid::from_raw), gid.map(Gid::from_raw));
    posix::unit(ctx, result)
}

/// `set_time_nif(Name, ATime, MTime, CTime)`; there is no way to set the last.
pub(super) fn set_time_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let (Some(access), Some(modified), Some(_)) = (signed(args[1]), signed(args[2]), signed(args[3])) else {
        return badarg();
    };
    let at = |seconds| Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: at(access), last_modification: at(modified) };
    let result: Result<(), Errno> = rustix::fs::utimensat(CWD, name.c_str(), &times, AtFlags::empty());
    posix::unit(ctx, result)
}
