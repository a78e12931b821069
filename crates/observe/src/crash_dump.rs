//! `erl_crash.dump`, as OTP's `crashdump_viewer` reads it (format 0.5).
//!
//! Written to where `ERL_CRASH_DUMP` says; not at all if `ERL_CRASH_DUMP_SECONDS` is 0; of at most `ERL_CRASH_DUMP_BYTES` bytes.
//!
//! CD1. The thread that writes it ends the VM afterwards: the world is stopped for good (`safepoint`), and the writer takes up
//!      processes that no thread runs ([`Process::seize`]) without giving them back.
//! CD2. Of a process that another thread runs only that is told which can be seen from outside.
//! CD3. What a broken VM can tell comes first, and each section is in the file before the next is begun: a second fault,
//!      or a lock that the broken thread holds, costs the rest only. [`Haste::Broken`] ends the VM after a while in any case.

mod processes;
mod tables;
mod terms;

use myriad_sync::atomic::{AtomicU32, Ordering};
use myriad_sync::{OnceLock, thread};
use myriad_term::Term;
use myriad_vm::Vm;
use myriad_vm::subsystem::Subsystem;
use myriad_vm::{OwnerState, Process};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use processes::{own, shown, summary};
pub use tables::{memory, modules, node};
use terms::{Area, Terms};

/// The thread that writes the dump; 0: there is none.
static WRITER: AtomicU32 = AtomicU32::new(0);

/// Writes a section of a dump.
pub type Section = fn(&'static Vm, &mut dyn Write) -> io::Result<()>;

/// The VM of which a dump tells: a signal handler has nothing else to find it by.
static VM: OnceLock<&'static Vm> = OnceLock::new();

/// Says of which VM a dump tells. The first one stands.
pub fn install(vm: &'static Vm) {
    let _ = VM.set(vm);
}

/// The VM of which a dump tells, once there is one.
pub fn installed() -> Option<&'static Vm> {
    VM.get().copied()
}

/// What is written of something, as text.
pub fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut text = Vec::new();
    // Memory takes all of it.
    let _ = write(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Which thread asks to end the VM with a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// The first one.
    First,
    /// Another thread writes it already, and will end the VM.
    Other,
    /// The thread that writes it: something broke on the way.
    Again,
}

/// Asks for the VM to be ended with a dump: is this thread the first to do so?
///
/// Safe in a signal handler.
pub fn ask() -> Asked {
    // SAFETY: `gettid` has no conditions.
    let this = unsafe { libc::gettid() } as u32;
    // Relaxed: only which of them is first matters.
    match WRITER.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Asked::First,
        Err(writer) if writer == this => Asked::Again,
        Err(_) => Asked::Other,
    }
}

/// How much time there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Haste {
    /// As much as is needed, unless `ERL_CRASH_DUMP_SECONDS` says otherwise.
    Orderly,
    /// The VM is broken: half a minute, unless `ERL_CRASH_DUMP_SECONDS` says less.
    Broken,
}

/// Seconds that a broken VM may take.
const BROKEN_SECONDS: u32 = 30;

fn number(name: &str) -> Option<i64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Where the dump goes; `None`: none is wanted.
pub fn path() -> Option<PathBuf> {
    // Under `heart`, which is to start the next VM soon, there is none unless asked for.
    let unset = if std::env::args_os().any(|word| word == "-heart") { 0 } else { -1 };
    if number("ERL_CRASH_DUMP_SECONDS").unwrap_or(unset) == 0 {
        return None;
    }
    Some(std::env::var_os("ERL_CRASH_DUMP").map_or_else(|| "erl_crash.dump".into(), PathBuf::from))
}

/// The process whose thread writes the dump, and which stands in a built-in function.
pub type Own<'a> = Option<(&'a Process, &'a OwnerState)>;

/// Says why the VM ends, and writes the dump, in OTP's words (its lines end as on a raw terminal), unless another thread does.
pub fn report(slogan: &str, own: Own<'_>, haste: Haste) -> Asked {
    let asked = ask();
    if asked != Asked::First {
        return asked;
    }
    let mut err = io::stderr().lock();
    let _ = write!(err, "{slogan}\r\n");
    if let Some(path) = path() {
        let _ = write!(err, "\r\nCrash dump is being written to: {}...", path.display());
        let done = if self::write(&path, slogan, own, haste).is_ok() { "done" } else { "failed" };
        let _ = write!(err, "{done}\r\n");
    }
    asked
}

/// Writes the dump.
pub fn write(path: &Path, slogan: &str, own: Own<'_>, haste: Haste) -> io::Result<()> {
    let seconds = number("ERL_CRASH_DUMP_SECONDS").and_then(|s| u32::try_from(s).ok());
    let seconds =
        if haste == Haste::Broken { Some(seconds.map_or(BROKEN_SECONDS, |s| s.min(BROKEN_SECONDS))) } else { seconds };
    if let Some(seconds) = seconds {
        // SAFETY: neither has conditions; the signal ends the VM, whatever the program has asked to be done with it.
        unsafe {
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
            libc::alarm(seconds);
        }
    }
    if let Some(nice) = number("ERL_CRASH_DUMP_NICE").and_then(|n| i32::try_from(n).ok()) {
        // SAFETY: `nice` has no conditions; a dump at another priority is one, too.
        unsafe { libc::nice(nice) };
    }
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(path)?;
    let left = number("ERL_CRASH_DUMP_BYTES").and_then(|n| u64::try_from(n).ok());
    let mut dump = Dump { out: BufWriter::new(Limited { file, left }), terms: Terms::default() };
    match dump.write(slogan, own).and_then(|()| dump.out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull && dump.out.get_ref().left == Some(0) => {
            writeln!(&dump.out.get_ref().file, "\n=abort:CRASH DUMP SIZE LIMIT REACHED")
        }
        other => other,
    }
}

/// A file that takes a limited number of bytes more.
struct Limited {
    file: std::fs::File,
    left: Option<u64>,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = &mut self.left else { return self.file.write(bytes) };
        if *left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let most = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
        let written = self.file.write(&bytes[..most])?;
        *left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A dump that is being written.
struct Dump {
    out: BufWriter<Limited>,
    terms: Terms,
}

impl Dump {
    fn write(&mut self, slogan: &str, own: Own<'_>) -> io::Result<()> {
        self.head(slogan)?;
        self.out.flush()?;
        let Some(vm) = VM.get().copied() else { return writeln!(self.out, "=end") };
        // The schedulers stop between two slices; a slice is over within milliseconds.
        let all_stopped = vm.schedulers.stop_world_for_good(Duration::from_millis(500));
        tables::schedulers(vm, &mut self.out)?;
        let seized = self.processes(vm, own, all_stopped)?;
        self.out.flush()?;
        for subsystem in vm.subsystems() {
            subsystem.dump(vm, &mut self.out)?;
            self.out.flush()?;
        }
        tables::rest(vm, &mut self.out)?;
        self.out.flush()?;
        self.heaps(vm, &seized, own)?;
        let kept: Vec<_> = vm.subsystems().flat_map(Subsystem::persistent_terms).collect();
        self.persistent_terms(&kept)?;
        self.terms.literals(&mut self.out)?;
        self.terms.binaries(&mut self.out)?;
        tables::atoms(&mut self.out)?;
        writeln!(self.out, "=end")
    }

    fn head(&mut self, slogan: &str) -> io::Result<()> {
        let out = &mut self.out;
        writeln!(out, "=erl_crash_dump:0.5\n{}", now())?;
        writeln!(out, "Slogan: {slogan}")?;
        writeln!(out, "System version: Myriad {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(out, "Taints: ")?;
        writeln!(out, "Atoms: {}", myriad_term::atom::count())?;
        let thread = thread::current();
        let thread = match thread.name().and_then(|name| name.split_once('_')) {
            Some((number, kind)) if number.parse::<u32>().is_ok() => format!("{kind}:{number}"),
            _ => thread.name().unwrap_or("?").to_string(),
        };
        writeln!(out, "Calling Thread: {thread}")
    }

    fn persistent_terms(&mut self, all: &[(Term, Term)]) -> io::Result<()> {
        let mut area = Area::default();
        writeln!(self.out, "=persistent_terms")?;
        for (key, value) in all {
            self.terms.term(&mut area, &mut self.out, *key)?;
            write!(self.out, "|")?;
            self.terms.term(&mut area, &mut self.out, *value)?;
            writeln!(self.out)?;
        }
        self.terms.leave_to_literals(area);
        Ok(())
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
