//! `erl_crash.dump`: the head that OTP's readers know, with the slogan.
//!
//! Written to where `ERL_CRASH_DUMP` says; not at all if `ERL_CRASH_DUMP_SECONDS` is 0.

use std::io::Write;
use std::path::PathBuf;

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
    writeln!(file, "Atoms: {}", myriad_term::atom::count())?;
    writeln!(file, "=memory\n=end")
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

fn now() -> String {
    match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(time) => format!("{} s after 1970", time.as_secs()),
        Err(_) => String::new(),
    }
}
