//! The NIFs of `prim_file`: open files, and operations on names.
//!
//! What may block runs on dirty I/O schedulers. Reading attributes, links and small regular files does not: a boot makes
//! hundreds of such calls, and going to another thread and back costs more than each of them. Reads of open files are
//! first tried without waiting (`RWF_NOWAIT`) on the scheduler, and go dirty only if the data are not in memory. Small writes to files
//! on local disks go to memory, and are done on the scheduler until one of them takes long: then the disk cannot follow, and
//! the next ones go dirty.

mod handle;
mod info;
mod names;
mod open;

use myriad_term::{BinaryBuffer, Term};
use myriad_vm::bif::{DirtyKind, badarg};
use myriad_vm::{Ctx, Escape};
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::CStr;

pub use handle::Owners;
pub(crate) use handle::copy_of;

myriad_vm::bifs! { pub PRIM_FILE = "prim_file" {
    "open_nif" / 2 Nif => open::open_nif;
    "file_desc_to_ref_nif" / 1 Nif => open::file_desc_to_ref_nif;
    "close_nif" / 1 Nif => open::close_nif;
    "delayed_close_nif" / 1 NifDirtyIo => open::close_nif;
    "get_handle_nif" / 1 Nif => open::get_handle_nif;
    "read_nif" / 2 Nif => handle::read_nif;
    "pread_nif" / 3 Nif => handle::pread_nif;
    "write_nif" / 2 Nif => handle::write_nif;
    "pwrite_nif" / 3 Nif => handle::pwrite_nif;
    "seek_nif" / 3 Nif => handle::seek_nif;
    "sync_nif" / 2 NifDirtyIo => handle::sync_nif;
    "truncate_nif" / 1 NifDirtyIo => handle::truncate_nif;
    "allocate_nif" / 3 NifDirtyIo => handle::allocate_nif;
    "advise_nif" / 4 NifDirtyIo => handle::advise_nif;
    "ipread_s32bu_p32bu_nif" / 3 NifDirtyIo => handle::ipread_nif;
    "read_handle_info_nif" / 1 Nif => info::read_handle_info_nif;
    "read_info_nif" / 2 Nif => info::read_info_nif;
    "set_permissions_nif" / 2 NifDirtyIo => info::set_permissions_nif;
    "set_owner_nif" / 3 NifDirtyIo => info::set_owner_nif;
    "set_time_nif" / 4 NifDirtyIo => info::set_time_nif;
    "read_file_nif" / 1 Nif => open::read_file_nif;
    "read_link_nif" / 1 Nif => names::read_link_nif;
    "list_dir_nif" / 1 NifDirtyIo => names::list_dir_nif;
    "make_hard_link_nif" / 2 NifDirtyIo => names::make_hard_link_nif;
    "make_soft_link_nif" / 2 NifDirtyIo => names::make_soft_link_nif;
    "rename_nif" / 2 NifDirtyIo => names::rename_nif;
    "make_dir_nif" / 1 NifDirtyIo => names::make_dir_nif;
    "del_file_nif" / 1 NifDirtyIo => names::del_file_nif;
    "del_dir_nif" / 1 NifDirtyIo => names::del_dir_nif;
    "get_cwd_nif" / 0 Nif => names::get_cwd_nif;
    "set_cwd_nif" / 1 NifDirtyIo => names::set_cwd_nif;
    "get_device_cwd_nif" / 1 Nif => names::get_device_cwd_nif;
    "altname_nif" / 1 Nif => names::altname_nif;
}}

/// A name as `internal_name2native/1` makes it: bytes with one NUL, at the end.
struct Path<'a>(Cow<'a, [u8]>);

impl Path<'_> {
    fn c_str(&self) -> &CStr {
        // `path` has checked it; an empty name exists nowhere.
        CStr::from_bytes_with_nul(&self.0).unwrap_or(c"")
    }
}

/// The argument as a name.
fn path(term: &Term) -> Result<Path<'_>, Escape> {
    let Some(bytes) = term.as_binary() else { return badarg() };
    if CStr::from_bytes_with_nul(&bytes).is_err() {
        return badarg();
    }
    Ok(Path(bytes))
}

/// Must the rest of this call run on a dirty I/O scheduler?
fn go_dirty<T>(ctx: &Ctx<'_>) -> Result<(), Result<T, Escape>> {
    if ctx.sched.dirty { Ok(()) } else { Err(Err(Escape::Dirty(DirtyKind::Io))) }
}

/// Does again what a signal has interrupted.
pub(crate) fn retry<T>(mut f: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match f() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// Reads of this many bytes and more ask for memory in large pages: touching it for the first time is much of what they cost.
const LARGE_READ: usize = 16 << 20;

/// Room for `size` bytes.
fn room(size: usize) -> Result<BinaryBuffer, Errno> {
    let mut bytes = BinaryBuffer::new();
    bytes.try_reserve_exact(size).map_err(|_| Errno::NOMEM)?;
    if size >= LARGE_READ {
        /// A whole number of the pages of every machine, and what large pages are made of.
        const STEP: usize = 2 << 20;
        let start = bytes.as_mut_ptr();
        let skipped = start.align_offset(STEP).min(size);
        let len = (size - skipped) / STEP * STEP;
        // SAFETY: within the buffer's own memory; advice changes nothing of what it holds. A refusal costs only time.
        unsafe { libc::madvise(start.add(skipped).cast(), len, libc::MADV_HUGEPAGE) };
    }
    Ok(bytes)
}
