//! What a broken invariant does: says what broke and where, writes `erl_crash.dump`, and ends the VM.
//!
//! The dump goes where `ERL_CRASH_DUMP` says, in the head format that OTP's readers know.

use myriad_vm::crash_dump;
use std::io::Write;

/// Exit status after a broken invariant.
const STATUS: i32 = 134;

/// Makes every Rust panic end the VM this way.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        let slogan = text.lines().collect::<Vec<_>>().join(" ");
        let _ = writeln!(std::io::stderr(), "myriad: broken invariant: {slogan}");
        if let Some(path) = crash_dump::path()
            && let Err(error) = crash_dump::write(&path, &slogan)
        {
            let _ = writeln!(std::io::stderr(), "myriad: no crash dump: {error}");
        }
        // SAFETY: ends the process at once; no destructor may run over a heap that is not to be trusted.
        unsafe { libc::_exit(STATUS) }
    }));
}
