//! Libraries with drivers: how they are mapped and unmapped.
//!
//! LI1. A library stays mapped while somebody uses its driver: a port, a process that has loaded it, work on another thread ([`InUse`]). The last one
//!      that leaves has `table::settle` look whether it is to go.

use crate::abi::{EXTENDED, Entry, OLDEST_MAJOR, VERSION};
use crate::refusals::{self, Refusal};
use crate::table;
use crate::words::{latin1, word};
use myriad_bif::libraries;
use myriad_io::port::linked_in::SharedLock;
use myriad_nif::{linker, taints};
use myriad_sync::Arc;
use std::ffi::{CStr, CString, c_void};

/// A library that is mapped.
pub(crate) struct Library {
    /// The driver's name.
    pub(crate) name: Vec<u8>,
    entry: Entry,
    /// Null for a driver that a library has added besides its own.
    handle: *mut c_void,
    lock: Arc<SharedLock>,
}

// SAFETY: a handle of the system's linker may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// OTP leaves out the file, which the linker names first.
fn without_file(text: &[u8]) -> Vec<u8> {
    match text.windows(2).position(|two| two == b": ") {
        Some(at) => text[at + 2..].to_vec(),
        None => text.to_vec(),
    }
}

/// Is this an entry of a version that is known here?
fn is_known(entry: &Entry) -> bool {
    match entry.extended {
        // From before there were versions: what came later must be zero.
        0 => entry.major == 0 && entry.minor == 0 && entry.flags == 0 && entry.process_exit.is_none(),
        EXTENDED if entry.major == VERSION.0 => entry.minor <= VERSION.1,
        EXTENDED => entry.major >= OLDEST_MAJOR && entry.major < VERSION.0,
        _ => false,
    }
}

impl Library {
    /// Maps the library in this file (without `.so`), and has the driver of this name begin.
    pub(crate) fn load(path: &[u8], name: &[u8]) -> Result<Arc<Library>, Refusal> {
        let file = [path, b".so"].concat();
        if let Some(why) = libraries::refusal(&file) {
            return Err(Refusal::Open(why.into_bytes()));
        }
        let file = CString::new(file).map_err(|_| Refusal::Known("bad_driver_name"))?;
        let handle = linker::open(&file).map_err(|why| Refusal::Open(without_file(&why)))?;
        let loaded = Library::ask(handle, name);
        if let Ok(library) = &loaded {
            taints::add(word(&latin1(&library.name)));
        } else {
            // SAFETY: an open handle, of whose library nothing is in use.
            unsafe { libc::dlclose(handle) };
        }
        loaded
    }

    /// Asks a mapped library for its driver.
    fn ask(handle: *mut c_void, name: &[u8]) -> Result<Arc<Library>, Refusal> {
        let find = |name: &CStr| {
            // SAFETY: an open handle and a name.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            if found.is_null() {
                // It gets a number, as in OTP, where nobody is told.
                refusals::number(without_file(&linker::error()));
            }
            Some(found).filter(|found| !found.is_null())
        };
        let init = find(c"driver_init").or_else(|| find(c"_driver_init"));
        let init = init.ok_or(Refusal::Known("no_driver_init"))?;
        // SAFETY: ABI1: the function of this name gives the library's table, which stays as long as that is mapped.
        let entry = unsafe {
            let init: unsafe extern "C" fn() -> *const Entry = std::mem::transmute(init);
            init().as_ref().copied()
        };
        let entry = entry.ok_or(Refusal::Known("driver_init_failed"))?;
        if !is_known(&entry) {
            return Err(Refusal::Known("driver_incorrect_version"));
        }
        if entry.name.bytes() != name {
            return Err(Refusal::Known("bad_driver_name"));
        }
        Library::of_entry(entry, handle).ok_or(Refusal::Known("driver_init_failed"))
    }

    /// Has a driver begin; nothing if it does not want to.
    pub(crate) fn of_entry(entry: Entry, handle: *mut c_void) -> Option<Arc<Library>> {
        // SAFETY: ABI1: the driver's function.
        let begun = entry.init.is_none_or(|init| unsafe { init() } == 0);
        let name = entry.name.bytes().to_vec();
        begun.then(|| Arc::new(Library { name, entry, handle, lock: SharedLock::new() }))
    }

    /// The driver.
    pub(crate) fn entry(&self) -> Entry {
        self.entry
    }

    /// Does it come from a file of its own, which can be unmapped?
    pub(crate) fn is_loaded(&self) -> bool {
        !self.handle.is_null()
    }

    /// Has the driver end, and unmaps the library. The caller has seen that nobody uses it (LI1).
    pub(crate) fn unload(&self) {
        if let Some(finish) = self.entry.finish {
            // SAFETY: ABI1: the driver's function.
            unsafe { finish() };
        }
        if self.is_loaded() {
            // SAFETY: an open handle, of whose library nothing is in use.
            unsafe { libc::dlclose(self.handle) };
        }
    }
}

/// A use of a driver: its library stays mapped.
pub(crate) struct InUse {
    library: Arc<Library>,
    is_over: bool,
}

impl InUse {
    /// One that the table has counted.
    pub(crate) fn counted(library: Arc<Library>) -> InUse {
        InUse { library, is_over: false }
    }

    /// Another use of the same driver.
    pub(crate) fn another(&self) -> InUse {
        table::count(&self.library);
        InUse::counted(self.library.clone())
    }

    pub(crate) fn library(&self) -> &Arc<Library> {
        &self.library
    }

    pub(crate) fn entry(&self) -> Entry {
        self.library.entry
    }

    pub(crate) fn lock(&self) -> Arc<SharedLock> {
        self.library.lock.clone()
    }

    /// The use is over.
    pub(crate) fn leave(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            table::uncount(&self.library);
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.leave();
    }
}
