//! Signals of the operating system: `os:set_signal/2`, and telling `erl_signal_server` of those that are handled.
//!
//! The handler only writes the signal's number into a pipe, which is all that a handler may do; a thread of its own reads the
//! pipe and sends `{notify, Signal}`. In the sequential VM the scheduler does so, when it serves events of file descriptors.

use myriad_process::{Message, Named, Payload};
use myriad_sync::atomic::{AtomicBool, AtomicI64, Ordering};
use myriad_sync::{LockClass, Mutex, OnceLock, thread};
use myriad_term::{Arena, Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Signal, Vm};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

myriad_vm::bifs! { pub SIGNALS = "os" {
    "set_signal" / 2 Plain => set_signal_2;
}}

const KNOWN: &[(Atom, i32)] = &[
    (am::sighup, libc::SIGHUP),
    (am::sigquit, libc::SIGQUIT),
    (am::sigabrt, libc::SIGABRT),
    (am::sigalrm, libc::SIGALRM),
    (am::sigterm, libc::SIGTERM),
    (am::sigusr1, libc::SIGUSR1),
    (am::sigusr2, libc::SIGUSR2),
    (am::sigchld, libc::SIGCHLD),
    (am::sigstop, libc::SIGSTOP),
    (am::sigtstp, libc::SIGTSTP),
];

/// Where the handler writes; -1 before the thread runs.
static PIPE: AtomicI64 = AtomicI64::new(-1);

static CLASS: LockClass = LockClass::new("os_signals", 720);
/// Held while the thread is being started.
static STARTING: Mutex<()> = Mutex::new(&CLASS, ());

/// SIGINT ends the VM: the user is being asked what an earlier one shall do.
static INTERRUPT_ENDS: AtomicBool = AtomicBool::new(false);

/// Runs `f`; a SIGINT that comes before it has returned ends the VM at once.
pub fn with_interrupt_ending(f: impl FnOnce()) {
    // Relaxed, here and in the handler: a flag alone.
    INTERRUPT_ENDS.store(true, Ordering::Relaxed);
    f();
    INTERRUPT_ENDS.store(false, Ordering::Relaxed);
}

extern "C" fn note(signal: i32) {
    if signal == libc::SIGINT && INTERRUPT_ENDS.load(Ordering::Relaxed) {
        // SAFETY: may be called in a handler; nothing runs afterwards.
        unsafe { libc::_exit(0) };
    }
    // Relaxed: the pipe is made before any handler is installed.
    let pipe = PIPE.load(Ordering::Relaxed) as RawFd;
    let number = signal as u8;
    // SAFETY: one byte to a pipe that is never closed; `write` may be called in a handler, and `errno` is put back.
    unsafe {
        let errno = *libc::__errno_location();
        libc::write(pipe, (&raw const number).cast(), 1);
        *libc::__errno_location() = errno;
    }
}

/// Handles the signals that are handled from the start on: those that stop the VM in an orderly way.
pub fn start(vm: &'static Vm) {
    for signal in [libc::SIGTERM, libc::SIGQUIT, libc::SIGUSR1] {
        handle(vm, signal);
    }
}

/// What Ctrl-C does.
#[derive(Clone, Copy)]
pub enum Interrupt {
    /// Nothing.
    Ignore,
    /// This is called, on the thread that forwards signals (the sequential VM: the scheduler's, between two slices).
    Call(fn(&'static Vm)),
}

static INTERRUPT: OnceLock<fn(&'static Vm)> = OnceLock::new();

/// Says what SIGINT does, once; else it ends the VM.
pub fn on_interrupt(vm: &'static Vm, what: Interrupt) {
    match what {
        Interrupt::Ignore => dispose(libc::SIGINT, libc::SIG_IGN),
        Interrupt::Call(function) => {
            if INTERRUPT.set(function).is_ok() {
                handle(vm, libc::SIGINT);
            }
        }
    }
}

fn set_signal_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let known = KNOWN.iter().find(|(name, _)| args[0].is_am(*name));
    let Some((_, signal)) = known else { return badarg() };
    match args[1].as_atom() {
        Some(am::default) => dispose(*signal, libc::SIG_DFL),
        Some(am::ignore) => dispose(*signal, libc::SIG_IGN),
        Some(am::handle) => handle(ctx.vm, *signal),
        _ => return ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt)),
    }
    Ok(Term::OK)
}

fn handle(vm: &'static Vm, signal: i32) {
    if start_thread(vm) {
        dispose(signal, note as extern "C" fn(i32) as libc::sighandler_t);
    }
}

/// Sets what a signal does. A signal that cannot be handled (`sigstop`) stays as it is, and that is no error.
fn dispose(signal: i32, action: libc::sighandler_t) {
    // SAFETY: a zeroed structure is an empty mask without flags; the handler does only what handlers may.
    unsafe {
        let mut request: libc::sigaction = std::mem::zeroed();
        request.sa_sigaction = action;
        request.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &request, std::ptr::null_mut());
    }
}

/// Makes the pipe and the thread, or what stands for it, once; `false` if there is no making them.
fn start_thread(vm: &'static Vm) -> bool {
    let _one = STARTING.lock();
    if PIPE.load(Ordering::Relaxed) >= 0 {
        return true;
    }
    let mut ends: [RawFd; 2] = [-1; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return false;
    }
    // A full pipe loses signals rather than stop the thread that the handler interrupted.
    // SAFETY: the descriptor was made above.
    unsafe { libc::fcntl(ends[1], libc::F_SETFL, libc::O_NONBLOCK) };
    let from = ends[0];
    let started = if thread::CAN_SPAWN {
        thread::spawn("signals", move || forward(vm, from)).map(drop)
    } else {
        forward_when_readable(vm, from)
    };
    if started.is_err() {
        return false;
    }
    PIPE.store(i64::from(ends[1]), Ordering::Relaxed);
    true
}

/// Has whoever serves events read the pipe, as far as it is filled.
fn forward_when_readable(vm: &'static Vm, from: RawFd) -> std::io::Result<()> {
    // SAFETY: the descriptor was made by the caller, and nobody else owns it.
    let owned = unsafe {
        libc::fcntl(from, libc::F_SETFL, libc::O_NONBLOCK);
        OwnedFd::from_raw_fd(from)
    };
    vm.platform.call_when_readable(owned, Box::new(move || forward(vm, from)))
}

/// Forwards what comes through the pipe, until it is empty (if it does not block).
fn forward(vm: &'static Vm, from: RawFd) {
    vm.adopt_thread();
    let mut number = 0u8;
    loop {
        // SAFETY: room for one byte; the descriptor is never closed.
        match unsafe { libc::read(from, (&raw mut number).cast(), 1) } {
            1 => {}
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => continue,
            _ => return,
        }
        if i32::from(number) == libc::SIGINT
            && let Some(call) = INTERRUPT.get()
        {
            call(vm);
        }
        if let Some((name, _)) = KNOWN.iter().find(|(_, signal)| *signal == i32::from(number)) {
            notify(vm, *name);
        }
    }
}

/// `erl_signal_server ! {notify, Signal}`. Without a server the signal is lost, as on OTP.
fn notify(vm: &'static Vm, signal: Atom) {
    // The pin keeps the name and the process from being freed meanwhile: this thread is no scheduler.
    let _pin = vm.progress.pin();
    let Some(Named::Process(pid)) = vm.names.whereis(am::erl_signal_server) else { return };
    let arena = Arena::new();
    let message = (&mut &arena).tuple(&[Term::atom(am::notify), signal.term()]);
    vm.signal_pid(pid, Signal::Message(Message::new(Payload::copy(message), Term::NONE)));
}

#[cfg(test)]
mod tests {
    use crate::test_support::{call, in_process, text};
    use myriad_process::Named;
    use myriad_sync::Retirer;
    use myriad_term::{Build, Term, am};

    #[test]
    fn a_handled_signal_reaches_the_server() {
        in_process(|ctx| {
            let pid = ctx.pid();
            assert!(ctx.vm.names.register(
                &ctx.vm.processes,
                am::erl_signal_server,
                Named::Process(pid),
                Retirer::Thread(&ctx.sched.slot)
            ));
            let args = [Term::atom(am::sigusr2), Term::atom(am::handle)];
            assert_eq!(text(call(ctx, "os", "set_signal", &args)), "ok");
            // SAFETY: the signal is handled.
            unsafe { libc::raise(libc::SIGUSR2) };
            for _ in 0..500 {
                assert_eq!(ctx.fetch_signals(1), myriad_vm::deliver::Handled::All);
                if !ctx.state.messages.is_empty() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            assert_eq!(ctx.state.messages.len(), 1);
            let args = [Term::atom(am::sigusr2), Term::atom(am::default)];
            assert_eq!(text(call(ctx, "os", "set_signal", &args)), "ok");
        });
    }

    #[test]
    fn other_signals_and_options_are_refused() {
        in_process(|ctx| {
            let int = ctx.string("sigint");
            for args in [
                [Term::atom(am::ok), Term::atom(am::handle)],
                [int, Term::atom(am::handle)],
                [Term::atom(am::sighup), Term::OK],
            ] {
                assert_eq!(text(call(ctx, "os", "set_signal", &args)), "error:badarg");
            }
        });
    }
}
