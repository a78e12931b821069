//! The system: what the VM is, time, the environment, libraries, drivers that drivers add.

use crate::abi::{Entry, Handle};
use crate::library::Library;
use crate::port::with_port;
use crate::table;
use myriad_io::posix;
use myriad_nif::abi::{Out, SystemInfo, Text};
use myriad_nif::exports;
use myriad_nif::system::{enif_convert_time_unit, enif_monotonic_time, enif_system_info, enif_time_offset};
use myriad_sync::OnceLock;
use myriad_vm::os_text;
use std::ffi::{CString, c_char, c_int, c_ulong, c_void};
use std::ptr::null_mut;

/// `ErlDrvNowData`
#[repr(C)]
pub struct Now {
    mega: c_ulong,
    seconds: c_ulong,
    micro: c_ulong,
}

/// The names of the system's errors, by their numbers.
static ERRORS: OnceLock<Vec<CString>> = OnceLock::new();

/// The name of an error, as a C text that stays.
fn errno_id(error: c_int) -> *const c_char {
    /// Linux has no error of a higher number.
    const LAST: i32 = 133;
    let name = |number| CString::new(if number == 0 { "unknown" } else { posix::text(crate::words::errno(number)) });
    let names = ERRORS.get_or_init(|| (0..=LAST).map(|number| name(number).unwrap_or_default()).collect());
    let place = usize::try_from(error).ok().filter(|place| *place < names.len()).unwrap_or(0);
    names[place].as_ptr()
}

exports! {
    /// What the VM is.
    fn driver_system_info(to: &mut SystemInfo, size: usize) { enif_system_info(to, size); }

    /// The time of day: 0.
    fn driver_get_now(to: Out<Now>) -> c_int {
        let now = crate::call::vm().map_or(0, |vm| (vm.clock.monotonic_ns(&*vm.platform) + vm.clock.offset_ns()) / 1000);
        let now = u64::try_from(now).unwrap_or(0);
        to.set(Now { mega: now / 1_000_000_000_000, seconds: now / 1_000_000 % 1_000_000, micro: now % 1_000_000 });
        0
    }

    /// Erlang monotonic time.
    fn erl_drv_monotonic_time(unit: c_int) -> i64 { enif_monotonic_time(unit) }

    /// What added to monotonic time gives system time.
    fn erl_drv_time_offset(unit: c_int) -> i64 { enif_time_offset(unit) }

    /// A time in another unit.
    fn erl_drv_convert_time_unit(time: i64, from: c_int, to: c_int) -> i64 { enif_convert_time_unit(time, from, to) }

    /// So many hundredths of a slice are used; is the slice over?
    fn erl_drv_consume_timeslice(port: Handle, percent: c_int) -> c_int {
        with_port(port, |_, context| c_int::from(context.use_slice(percent.max(1).unsigned_abs()))).unwrap_or(1)
    }

    /// The name of an error of the system's.
    fn erl_errno_id(error: c_int) -> *const c_char { errno_id(error) }

    /// Sets a variable of the VM's environment: 0, or -1.
    fn erl_drv_putenv(name: Text, value: Text) -> c_int {
        let (name, value) = (name.bytes(), value.bytes());
        if name.is_empty() || name.contains(&b'=') {
            return -1;
        }
        os_text::set_variable(name.to_vec(), Some(value.to_vec()));
        0
    }

    /// A variable of the VM's environment: 0 and its text; above 0 and the room that it needs; -1 where there is none.
    fn erl_drv_getenv(name: Text, to: *mut u8, size: &mut usize) -> c_int {
        let Some(value) = os_text::variable(name.bytes()) else { return -1 };
        if *size <= value.len() {
            *size = value.len() + 1;
            return 1;
        }
        // SAFETY: ABI1: there is so much room.
        unsafe {
            to.copy_from_nonoverlapping(value.as_ptr(), value.len());
            to.add(value.len()).write(0);
        }
        *size = value.len();
        0
    }

    /// Maps another library.
    fn driver_dl_open(path: Text) -> *mut c_void {
        let path = CString::new(path.bytes()).unwrap_or_default();
        // SAFETY: ABI1: a library whose initialisers may run.
        unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) }
    }

    /// The address of a name in a library.
    fn driver_dl_sym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
        // SAFETY: ABI1: a handle, and a name.
        unsafe { libc::dlsym(handle, name) }
    }

    /// A library is used no more.
    fn driver_dl_close(handle: *mut c_void) -> c_int {
        // SAFETY: ABI1: a handle that is used no more.
        unsafe { libc::dlclose(handle) }
    }

    /// What went wrong with a library.
    fn driver_dl_error() -> *mut c_char {
        // SAFETY: gives a text of this thread's, or null.
        unsafe { libc::dlerror() }
    }

    /// A driver that is part of another one's library, and stays for ever.
    fn add_driver_entry(entry: &Entry) {
        if let Some(library) = Library::of_entry(*entry, null_mut()) {
            table::add_permanent(library);
        }
    }

    /// It goes, if it is not in use: 0, or -1.
    fn remove_driver_entry(entry: &Entry) -> c_int {
        if table::remove_added(entry.name.bytes()) { 0 } else { -1 }
    }

    /// Nothing: for the end of a table of functions.
    fn null_func() -> c_int { 0 }
}
