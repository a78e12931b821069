//! What a broken invariant does: says what broke and where, writes `erl_crash.dump`, and ends the VM.
//!
//! Three ways lead here: a Rust panic, a fault or abort (a signal), and memory that ran out. `observe::crash_dump` says where the
//! dump goes.
//!
//! A panic while a function is compiled breaks nothing: it is caught (`native::caught`), and that function has no machine code.
//!
//! C1. Only the first thread that breaks reports; others wait for the end. A break while reporting ends the VM at once.
//! C2. The signal handler calls what is safe in one (POSIX, 2.4.3) and nothing else: no allocation, no lock, no `std::env`.
//!     So its dump goes where `ERL_CRASH_DUMP` said when the VM started, and holds the slogan alone.
//! C3. It runs on the alternate stack that Rust gives its threads, for a stack overflow is a fault as well.

use myriad_observe::crash_dump::{self, Asked, Haste};
use myriad_sync::OnceLock;
use std::ffi::{CString, c_int, c_void};
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;

/// Exit status after a broken invariant: that of a shell's child that has aborted.
const STATUS: i32 = 134;
/// Exit status when memory ran out, as OTP's.
const NO_MEMORY: i32 = 1;

/// Signals that say that the program is broken, and what they say.
const FAULTS: [(c_int, &[u8]); 5] = [
    (libc::SIGSEGV, b"segmentation fault"),
    (libc::SIGBUS, b"bus error"),
    (libc::SIGILL, b"illegal instruction"),
    (libc::SIGFPE, b"arithmetic fault"),
    (libc::SIGABRT, b"abort"),
];

/// Where the signal handler's dump goes; nothing: none is wanted.
static DUMP: OnceLock<Option<CString>> = OnceLock::new();

/// Makes every panic, fault and lack of memory end the VM this way.
pub fn install() {
    let path = crash_dump::path().and_then(|p| CString::new(p.into_os_string().into_vec()).ok());
    let _ = DUMP.set(path);
    std::panic::set_hook(Box::new(|info| {
        let text = || info.to_string().lines().collect::<Vec<_>>().join(" ");
        #[cfg(feature = "native")]
        if myriad_native::caught::noted(text) {
            return;
        }
        broken(&text())
    }));
    myriad_term::memory::on_exhausted(|slogan| {
        // What is freed for it may not be enough for a dump: then what is written of it by then has to do.
        if crash_dump::report(slogan, None, Haste::Broken) == Asked::Other {
            forever();
        }
        end(NO_MEMORY)
    });
    for (signal, _) in FAULTS {
        handle(signal, fault as *const () as libc::sighandler_t, libc::SA_SIGINFO | libc::SA_ONSTACK);
    }
}

fn broken(slogan: &str) -> ! {
    match crash_dump::ask() {
        Asked::First => {
            let _ = writeln!(std::io::stderr(), "myriad: broken invariant: {slogan}");
            write_dump(slogan);
        }
        Asked::Other => forever(),
        Asked::Again => {}
    }
    end(STATUS)
}

fn write_dump(slogan: &str) {
    if let Some(path) = crash_dump::path()
        && let Err(error) = crash_dump::write(&path, slogan, None, Haste::Broken)
    {
        let _ = writeln!(std::io::stderr(), "myriad: no crash dump: {error}");
    }
}

fn end(status: i32) -> ! {
    // SAFETY: ends the process at once; no destructor may run over a heap that is not to be trusted.
    unsafe { libc::_exit(status) }
}

/// Waits for the thread that ends the VM.
fn forever() -> ! {
    for _ in 0..600 {
        let tenth = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        // SAFETY: a whole timespec; no remainder is wanted.
        unsafe { libc::nanosleep(&raw const tenth, std::ptr::null_mut()) };
    }
    end(STATUS)
}

fn handle(signal: c_int, handler: libc::sighandler_t, flags: c_int) {
    // SAFETY: all-zero bytes are a valid `sigaction`; the handler has the signature that the flags ask for.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Text in a buffer of its own.
struct Line {
    bytes: [u8; 160],
    len: usize,
}

impl Line {
    fn push(&mut self, text: &[u8]) {
        for byte in text {
            if let Some(to) = self.bytes.get_mut(self.len) {
                *to = *byte;
                self.len += 1;
            }
        }
    }

    fn push_hex(&mut self, value: usize) {
        self.push(b"0x");
        for shift in (0..16).rev() {
            self.push(&[b"0123456789abcdef"[value >> (4 * shift) & 15]]);
        }
    }

    fn write_to(&self, fd: c_int, more: &[&[u8]]) {
        let texts = std::iter::once(&self.bytes[..self.len]).chain(more.iter().copied());
        for text in texts {
            // SAFETY: the bytes are there; a failing write changes nothing.
            unsafe { libc::write(fd, text.as_ptr().cast(), text.len()) };
        }
    }
}

/// The signal handler (C2).
extern "C" fn fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // After the handler the signal comes again (a fault) or is sent again below, and ends the process as it always did:
    // with the status, and the core file, that its parent expects.
    handle(signal, libc::SIG_DFL, 0);
    match crash_dump::ask() {
        Asked::First => {}
        Asked::Other => forever(),
        // While the dump is written: what it has is better than what would be written here.
        Asked::Again => end(STATUS),
    }
    let mut line = Line { bytes: [0; 160], len: 0 };
    let name = FAULTS.iter().find(|f| f.0 == signal).map_or(&b"signal"[..], |f| f.1);
    line.push(name);
    if signal != libc::SIGABRT && !info.is_null() {
        // SAFETY: the kernel gives a whole `siginfo_t` to a handler with SA_SIGINFO.
        let (address, sent) = unsafe { ((*info).si_addr() as usize, (*info).si_code <= 0) };
        if sent {
            line.push(b", sent by a process");
        } else {
            line.push(b" at address ");
            line.push_hex(address);
            if let Some((at, stack)) = registers(context) {
                line.push(b", by the instruction at ");
                line.push_hex(at);
                if signal == libc::SIGSEGV && stack.abs_diff(address) < 1 << 16 {
                    line.push(b" (the native stack is full)");
                }
            }
        }
    }
    line.push(b"\n");
    let mut said = Line { bytes: [0; 160], len: 0 };
    said.push(b"myriad: broken invariant: ");
    said.write_to(2, &[&line.bytes[..line.len]]);
    if let Some(Some(path)) = DUMP.get() {
        // SAFETY: a path that ends with a zero byte, and a new descriptor of our own.
        unsafe {
            let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o640);
            if fd >= 0 {
                let mut head = Line { bytes: [0; 160], len: 0 };
                head.push(b"=erl_crash_dump:0.5\n\nSlogan: ");
                let version = concat!("System version: Myriad ", env!("CARGO_PKG_VERSION"), "\n=end\n");
                head.write_to(fd, &[&line.bytes[..line.len], version.as_bytes()]);
                libc::close(fd);
            }
        }
    }
    // SAFETY: `raise` has no conditions. It is pending until the handler returns.
    unsafe { libc::raise(signal) };
}

/// The instruction and the stack pointer that a fault interrupted, where we know how to ask.
fn registers(context: *mut c_void) -> Option<(usize, usize)> {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    if !context.is_null() {
        // SAFETY: the kernel gives a whole `ucontext_t` to a handler with SA_SIGINFO.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        return Some((registers[libc::REG_RIP as usize] as usize, registers[libc::REG_RSP as usize] as usize));
    }
    #[cfg(all(target_arch = "aarch64", target_os = "linux"))]
    if !context.is_null() {
        // SAFETY: the kernel gives a whole `ucontext_t` to a handler with SA_SIGINFO.
        let machine = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        return Some((machine.pc as usize, machine.sp as usize));
    }
    let _ = context;
    None
}
