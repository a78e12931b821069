//! What Ctrl-C (SIGINT) leads to: the break menu, or what `+B` says.
//!
//! The menu runs on the thread that forwards signals. While it is shown the interactive terminal is the user's: its port neither reads
//! nor writes. Schedulers wait at a safepoint, between two slices; processes that
//! wait are shown with all they hold, others as they are seen from outside. Every choice but one that does
//! not exist leaves the menu, as in OTP; a second Ctrl-C ends the VM.

use myriad_observe::crash_dump;
use myriad_process::Payload;
use myriad_term::{Pid, Term, am};
use myriad_vm::Signal;
use myriad_vm::emulator_flags::Break;
use myriad_vm::vm::Vm;
use std::io::{Read, Write};

const MENU: &str = "\nBREAK: (a)bort (A)bort with dump (c)ontinue (p)roc info (i)nfo\n       \
                    (l)oaded (v)ersion (k)ill (D)b-tables (d)istribution\n";

/// What SIGINT does, by the flag `+B`.
pub fn start(vm: &'static Vm) {
    use myriad_bif::os::signals::{Interrupt, on_interrupt};
    match vm.config.flags.interrupt {
        Break::Menu => on_interrupt(vm, Interrupt::Call(run)),
        Break::Ignored => on_interrupt(vm, Interrupt::Ignore),
        Break::Key => myriad_io::interrupts_are_input(),
        Break::End => {}
    }
}

/// Shows the menu until the user has had enough of it.
fn run(vm: &'static Vm) {
    // The terminal has its own modes while the menu is shown, so that ending there and then leaves it in order.
    vm.schedulers.while_stopping(|| {
        myriad_io::with_terminal(vm, || myriad_bif::os::signals::with_interrupt_ending(|| menu(vm)))
    });
}

fn menu(vm: &'static Vm) {
    print(MENU);
    loop {
        match choice() {
            None | Some(b'a') => vm.stop(0),
            Some(b'A') => {
                crash_dump::report("Crash dump requested by user", None, crash_dump::Haste::Orderly);
                vm.stop(1);
            }
            Some(b'c') => {}
            Some(b'p') => processes(vm),
            Some(b'i') => print(&crash_dump::text(|out| crash_dump::memory(vm, out))),
            Some(b'l') => print(&crash_dump::text(|out| crash_dump::modules(vm, out))),
            Some(b'v') => print(&format!("Erlang (Myriad) emulator version {}\n", vm.release.erts_version)),
            Some(b'k') => kill(vm),
            Some(b'D') => print(&crash_dump::text(|out| myriad_ets::dump::tables(vm, out))),
            Some(b'd') => print(&crash_dump::text(|out| crash_dump::node(vm, out))),
            Some(other) => {
                let other = char::from(other);
                print(&format!("Invalid option '{other}'. Please enter one of the following:{MENU}"));
                continue;
            }
        }
        return;
    }
}

/// Lines end as on a raw terminal, as in OTP.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is there to be told.
    let _ = out.write_all(text.replace('\n', "\r\n").as_bytes()).and_then(|()| out.flush());
}

/// The first character of the next line that is not blank; nothing at the end of the input.
fn choice() -> Option<u8> {
    let mut input = std::io::stdin().lock();
    let (mut first, mut byte) = (None, [0]);
    loop {
        match input.read(&mut byte) {
            Ok(0) => return first,
            Ok(_) if byte[0] == b'\n' && first.is_some() => return first,
            Ok(_) if byte[0].is_ascii_whitespace() => {}
            Ok(_) => first = first.or(Some(byte[0])),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// What a process is and holds; nothing if it has ended.
fn process(vm: &'static Vm, pid: Pid) -> Option<String> {
    // The pin keeps the process from being freed while it is shown: this thread is no scheduler.
    let _pin = vm.progress.pin();
    let process = vm.processes.get(pid)?;
    Some(crash_dump::text(|out| crash_dump::shown(vm, process, out)))
}

fn processes(vm: &'static Vm) {
    print(&vm.processes.pids().into_iter().filter_map(|pid| process(vm, pid)).collect::<String>());
    print(&crash_dump::text(|out| myriad_io::port::dump::ports(vm, out)));
}

/// Shows one process after the other, the youngest first, and kills those that the user wants to end.
fn kill(vm: &'static Vm) {
    print("\n\nProcess Information\n\n--------------------------------------------------\n");
    let mut pids = vm.processes.pids();
    pids.sort_unstable();
    for pid in pids.into_iter().rev() {
        let Some(shown) = process(vm, pid) else { continue };
        print(&shown);
        print("(k)ill (n)ext (r)eturn:\n");
        match choice() {
            Some(b'k') => {
                let reason = Payload::immediate(Term::atom(am::kill));
                vm.signal_pid(pid, Signal::Exit { from: pid.term(), reason, linked: false });
            }
            Some(b'n') => {}
            _ => return,
        }
    }
}
