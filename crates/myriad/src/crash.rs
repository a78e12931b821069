//! What a broken invariant does: says what broke and where, writes `erl_crash.dump`, and ends the VM.
//!
//! The dump goes where `ERL_CRASH_DUMP` says, in the head format that OTP's readers know.

use std::io::Write;

/// Exit status after a broken invariant.
const STATUS: i32 = 134;

/// Makes every Rust panic end the VM this way.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.to_string();
        let slogan = text.lines().collect::<Vec<_>>().join(" ");
        let _ = writeln!(std::io::stderr(), "myriad: broken invariant: {slogan}");
        if let Err(error) = write_dump(&slogan) {
            let _ = writeln!(std::io::stderr(), "myriad: no crash dump: {error}");
        }
        // SAFETY: ends the process at once; no destructor may run over a heap that is not to be trusted.
        unsafe { libc::_exit(STATUS) }
    }));
}

fn write_dump(slogan: &str) -> std::io::Result<()> {
    let path = std::env::var_os("ERL_CRASH_DUMP").unwrap_or_else(|| "erl_crash.dump".into());
    let mut file = std::fs::File::create(path)?;
    writeln!(file, "=erl_crash_dump:0.5\n{}", now())?;
    writeln!(file, "Slogan: {slogan}")?;
    writeln!(file, "System version: Myriad {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(file, "Atoms: {}", myriad_term::atom::count())?;
    writeln!(file, "=memory\n=end")
}

fn now() -> String {
    match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(time) => format!("{} s after 1970", time.as_secs()),
        Err(_) => String::new(),
    }
}
