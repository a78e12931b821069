//! What Ctrl-C (SIGINT) leads to: the break menu, or what `+B` says.
//!
//! The menu runs on the thread that forwards signals. The interactive terminal is the user's meanwhile: its port neither reads
//! nor writes. Processes go on.

use myriad_term::print::pid_text;
use myriad_vm::crash_dump;
use myriad_vm::vm::Vm;
use std::io::{Read, Write};

const MENU: &str = "\nBREAK: (a)bort (A)bort with dump (c)ontinue (p)roc info (i)nfo\n       \
                    (l)oaded (v)ersion (k)ill (D)b-tables (d)istribution\n";

/// What SIGINT does, by the flag `+B`.
pub fn start(vm: &'static Vm) {
    use myriad_bif::os::signals::{Interrupt, on_interrupt};
    match myriad_bif::emulator_flags::flag_value(vm, "B") {
        None => on_interrupt(vm, Interrupt::Call(run)),
        Some("i") => on_interrupt(vm, Interrupt::Ignore),
        Some("c") => myriad_io::interrupts_are_input(),
        Some(_) => {}
    }
}

/// Shows the menu until the user has had enough of it.
fn run(vm: &'static Vm) {
    myriad_io::with_terminal(|| {
        loop {
            print(MENU);
            match choice() {
                None => return vm.stop(0),
                Some(b'a') => return vm.stop(0),
                Some(b'A') => {
                    crash_dump::report("Crash dump requested by user");
                    return vm.stop(1);
                }
                Some(b'c') => return,
                Some(b'p') => processes(vm),
                Some(b'i') => totals(vm),
                Some(b'l') => modules(vm),
                Some(b'v') => print(&format!("Erlang (Myriad) emulator version {}\n", vm.release.erts_version)),
                Some(b'k' | b'D' | b'd') => print("Not in Myriad: use the shell.\n"),
                Some(_) => {}
            }
        }
    });
}

fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is there to be told.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
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

fn processes(vm: &'static Vm) {
    let mut text = String::new();
    // The pin keeps the processes from being freed meanwhile: this thread is no scheduler.
    let _pin = vm.progress.pin();
    for pid in vm.processes.pids() {
        let Some(process) = vm.processes.get(pid) else { continue };
        let name = process.name().map_or("[]".to_owned(), |name| name.text().to_string());
        text.push_str(&format!("{}  {name}  {:?}\n", pid_text(pid.term()), process.status()));
    }
    print(&text);
}

fn totals(vm: &'static Vm) {
    let kilobytes = |words: usize| words * 8 / 1024;
    print(&format!(
        "processes: {}\natoms: {}\nheaps: {} kB\nmessages: {} kB\nliterals: {} kB\n",
        vm.processes.count(),
        myriad_term::atom::count(),
        kilobytes(myriad_heap::account::process_words()),
        kilobytes(myriad_heap::account::fragment_words()),
        kilobytes(myriad_heap::account::literal_words()),
    ));
}

fn modules(vm: &'static Vm) {
    let mut names: Vec<String> = vm.code.loaded().iter().map(|name| name.text().to_string()).collect();
    names.sort_unstable();
    print(&(names.join("\n") + "\n"));
}
