//! `myriad heap`: what is in a crash dump.

use crate::said::{Refused, say};
use myriad_observe::dump_file::DumpFile;
use std::ffi::OsString;

/// The words that the command takes.
pub const TAKES: &str = "heap DUMP [PID]";

/// Shows a dump's processes by the size of their heaps, or one process.
pub fn main(words: &[OsString]) -> Result<(), Refused> {
    let (file, pid) = match words {
        [file] => (file, None),
        [file, pid] => (file, Some(pid.to_string_lossy())),
        _ => return Err(Refused::Usage),
    };
    let named = |error: &dyn std::fmt::Display| Refused::Because(format!("{}: {error}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| named(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    let dump = DumpFile::parse(&text).map_err(|error| named(&error))?;
    let Some(pid) = pid else { return say(&dump.summary()) };
    let pid = if pid.starts_with('<') { pid.into_owned() } else { format!("<{pid}>") };
    say(&dump.process(&pid).ok_or_else(|| named(&format!("no process {pid}")))?)
}
