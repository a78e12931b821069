//! Operations on names: links, directories, renaming, deleting, the current directory.

use super::path;
use crate::posix;
use myriad_term::{Build, Term};
use myriad_vm::{BifResult, Ctx};
use rustix::fs::Mode;
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;

/// `{ok, Bytes}`
fn ok_name(ctx: &mut Ctx<'_>, name: &[u8]) -> BifResult {
    let name = ctx.binary(name);
    Ok(ctx.tuple(&[Term::OK, name]))
}

/// `read_link_nif(Name)`
pub(super) fn read_link_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    match rustix::fs::readlink(name.c_str(), Vec::new()) {
        Ok(target) => ok_name(ctx, target.as_bytes()),
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `list_dir_nif(Name)`: raw names, last found first, without `.` and `..`.
pub(super) fn list_dir_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let directory = std::fs::read_dir(std::ffi::OsStr::from_bytes(name.c_str().to_bytes()));
    let list = directory.and_then(|entries| {
        let mut list = Term::NIL;
        for entry in entries {
            let name = ctx.binary(entry?.file_name().as_bytes());
            list = ctx.cons(name, list);
        }
        Ok(list)
    });
    match list {
        Ok(list) => Ok(ctx.tuple(&[Term::OK, list])),
        Err(error) => posix::error(ctx, Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}

/// `make_hard_link_nif(Existing, New)`
pub(super) fn make_hard_link_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (existing, new) = (path(&args[0])?, path(&args[1])?);
    posix::unit(ctx, rustix::fs::link(existing.c_str(), new.c_str()))
}

/// `make_soft_link_nif(Existing, New)`
pub(super) fn make_soft_link_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (existing, new) = (path(&args[0])?, path(&args[1])?);
    posix::unit(ctx, rustix::fs::symlink(existing.c_str(), new.c_str()))
}

/// `rename_nif(From, To)`
pub(super) fn rename_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (from, to) = (path(&args[0])?, path(&args[1])?);
    let result = rustix::fs::rename(from.c_str(), to.c_str()).map_err(|errno| match errno {
        Errno::NOTEMPTY => Errno::EXIST,
        _ if from.c_str() == c"/" => Errno::INVAL,
        _ => errno,
    });
    posix::unit(ctx, result)
}

/// `make_dir_nif(Name)`
pub(super) fn make_dir_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    posix::unit(ctx, rustix::fs::mkdir(name.c_str(), Mode::from_raw_mode(0o777)))
}

/// `del_file_nif(Name)`
pub(super) fn del_file_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let result =
        rustix::fs::unlink(name.c_str()).map_err(|errno| if errno == Errno::ISDIR { Errno::PERM } else { errno });
    posix::unit(ctx, result)
}

/// `del_dir_nif(Name)`
pub(super) fn del_dir_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    let is_current = || {
        let [own, current] = [rustix::fs::stat(name.c_str()), rustix::fs::stat(c".")];
        matches!((own, current), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
    };
    let result = rustix::fs::rmdir(name.c_str()).map_err(|errno| match errno {
        Errno::NOTEMPTY | Errno::EXIST if is_current() => Errno::INVAL,
        Errno::NOTEMPTY => Errno::EXIST,
        _ => errno,
    });
    posix::unit(ctx, result)
}

/// `get_cwd_nif()`
pub(super) fn get_cwd_nif(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    match rustix::process::getcwd(Vec::new()) {
        Ok(name) => ok_name(ctx, name.as_bytes()),
        Err(errno) => posix::error(ctx, errno),
    }
}

/// `set_cwd_nif(Name)`
pub(super) fn set_cwd_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = path(&args[0])?;
    posix::unit(ctx, rustix::process::chdir(name.c_str()))
}

/// `get_device_cwd_nif(Drive)`: there are no drives.
pub(super) fn get_device_cwd_nif(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    posix::error(ctx, Errno::NOTSUP)
}

/// `altname_nif(Name)`: there are no alternative names.
pub(super) fn altname_nif(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    path(&args[0])?;
    posix::error(ctx, Errno::NOTSUP)
}
