//! The system's dynamic linker.

use libc::{RTLD_GLOBAL, RTLD_NOW, c_void};
use std::ffi::CStr;

/// Shared libraries that OTP's emulator is linked with, and this one is not. Packaged C libraries take their symbols from there without
/// naming them (Debian's `ezlib` those of zlib, `erl_gl` those of C++).
const OF_THE_EMULATOR: [&CStr; 2] = [c"libz.so.1", c"libstdc++.so.6"];

/// What the linker says of the last failure.
pub fn error() -> Vec<u8> {
    // SAFETY: gives a text of this thread's, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return b"unknown error".to_vec();
    }
    // SAFETY: it ends with a zero byte, and stays until this thread's next call.
    unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()
}

/// Maps a library, whose own initialisers run. An error is the linker's text.
pub fn open(path: &CStr) -> Result<*mut c_void, Vec<u8>> {
    // SAFETY: initialisers of a library that is asked for run.
    let open = |path: &CStr, how| unsafe { libc::dlopen(path.as_ptr(), how) };
    let handle = open(path, RTLD_NOW);
    if !handle.is_null() {
        return Ok(handle);
    }
    let why = error();
    if !String::from_utf8_lossy(&why).contains("undefined symbol") {
        return Err(why);
    }
    for library in OF_THE_EMULATOR {
        // Kept for ever. That one is not there shows in the second trial.
        open(library, RTLD_NOW | RTLD_GLOBAL);
    }
    let handle = open(path, RTLD_NOW);
    if handle.is_null() { Err(error()) } else { Ok(handle) }
}
