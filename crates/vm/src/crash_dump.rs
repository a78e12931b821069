//! `erl_crash.dump`: the head that OTP's readers know, with the slogan, and totals.
//!
//! Written to where `ERL_CRASH_DUMP` says; not at all if `ERL_CRASH_DUMP_SECONDS` is 0. What processes hold is not in it:
//! their owners may be in the middle of anything.

use myriad_sync::atomic::{AtomicBool, Ordering};
use std::io::Write;
use std::path::PathBuf;

static BEGUN: AtomicBool = AtomicBool::new(false);

/// Is this the first who wants to end the VM with a dump? The others must wait for its end.
pub fn first() -> bool {
    // Relaxed: only which of them is first matters.
    !BEGUN.swap(true, Ordering::Relaxed)
}

/// Where the dump goes; `None`: none is wanted.
pub fn path() -> Option<PathBuf> {
    if std::env::var_os("ERL_CRASH_DUMP_SECONDS").is_some_and(|s| s == "0") {
        return None;
    }
    Some(std::env::var_os("ERL_CRASH_DUMP").map_or_else(|| "erl_crash.dump".into(), PathBuf::from))
}

/// Writes the dump.
pub fn write(path: &std::path::Path, slogan: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    writeln!(file, "=erl_crash_dump:0.5\n{}", now())?;
    writeln!(file, "Slogan: {slogan}")?;
    writeln!(file, "System version: Myriad {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(file, "Taints: ")?;
    writeln!(file, "Atoms: {}", myriad_term::atom::count())?;
    let thread = std::thread::current();
    writeln!(file, "Calling Thread: {}", thread.name().unwrap_or("?"))?;
    let (heaps, fragments) = (myriad_heap::account::process_words() * 8, myriad_heap::account::fragment_words() * 8);
    let literals = myriad_heap::account::literal_words() * 8;
    writeln!(file, "=memory\nprocesses: {heaps}\nfragments: {fragments}\nliterals: {literals}")?;
    writeln!(file, "=end")
}

/// Says why the VM ends, and writes the dump, in OTP's words (its lines end as on a raw terminal).
pub fn report(slogan: &str) {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "{slogan}\r\n");
    if let Some(path) = path() {
        let _ = write!(err, "\r\nCrash dump is being written to: {}...", path.display());
        let done = if self::write(&path, slogan).is_ok() { "done" } else { "failed" };
        let _ = write!(err, "{done}\r\n");
    }
}

/// The time of day where we are, as C's `ctime` writes it: `Sat Nov 21 07:04:39 2026`.
fn now() -> String {
    let mut text = [0u8; 64];
    // SAFETY: `ctime_r` wants room for 26 bytes, and ends what it writes with a zero byte.
    unsafe {
        let time = libc::time(std::ptr::null_mut());
        if libc::ctime_r(&raw const time, text.as_mut_ptr().cast()).is_null() {
            return String::new();
        }
    }
    let len = text.iter().position(|b| *b == 0 || *b == b'\n').unwrap_or(0);
    String::from_utf8_lossy(&text[..len]).into_owned()
}
