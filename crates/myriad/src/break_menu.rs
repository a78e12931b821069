//! What Ctrl-C (SIGINT) leads to: the break menu, or what `+B` says.
//!
//! The menu runs on the thread that forwards signals. The interactive terminal is the user's meanwhile: its port neither reads
//! nor writes. Schedulers stand still between two slices; what is shown of processes
//! is what can be seen from outside. Every choice but one that does
//! not exist leaves the menu, as in OTP.

use myriad_ets::table::{Kind, Protection, Table, WriteConcurrency};
use myriad_heap::Fragment;
use myriad_term::print::{atom_text, pid_text, text};
use myriad_term::{Pid, Term, am};
use myriad_vm::crash_dump;
use myriad_vm::signal::{Parcel, Signal};
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
    vm.while_paused(|| myriad_io::with_terminal(|| menu(vm)));
}

fn menu(vm: &'static Vm) {
    print(MENU);
    loop {
        match choice() {
            None | Some(b'a') => vm.stop(0),
            Some(b'A') => {
                crash_dump::report("Crash dump requested by user");
                vm.stop(1);
            }
            Some(b'c') => {}
            Some(b'p') => processes(vm),
            Some(b'i') => totals(vm),
            Some(b'l') => modules(vm),
            Some(b'v') => print(&format!("Erlang (Myriad) emulator version {}\n", vm.release.erts_version)),
            Some(b'k') => kill(vm),
            Some(b'D') => tables(),
            Some(b'd') => distribution(vm),
            Some(other) => {
                let other = char::from(other);
                print(&format!("Invalid option '{other}'. Please enter one of the following:{MENU}"));
                continue;
            }
        }
        return;
    }
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

/// What can be seen of a process from outside; nothing if it has ended.
fn process(vm: &'static Vm, pid: Pid) -> Option<String> {
    // The pin keeps the process from being freed meanwhile: this thread is no scheduler.
    let _pin = vm.progress.pin();
    let process = vm.processes.get(pid)?;
    let name = process.name().map_or(String::new(), |name| format!("Name: {}\n", atom_text(name)));
    Some(format!("=proc:{}\nState: {:?}\n{name}", pid_text(pid.term()), process.status()))
}

fn processes(vm: &'static Vm) {
    print(&vm.processes.pids().into_iter().filter_map(|pid| process(vm, pid)).collect::<String>());
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
                let reason = Parcel::immediate(Term::atom(am::kill));
                vm.signal_pid(pid, Signal::Exit { from: pid.term(), reason, linked: false });
            }
            Some(b'n') => {}
            _ => return,
        }
    }
}

fn tables() {
    let mut shown = String::new();
    for table in myriad_ets::registry::all() {
        shown.push_str(&table_text(&table));
    }
    print(&shown);
}

fn table_text(table: &myriad_sync::Arc<Table>) -> String {
    let options = &table.options;
    let mut memory = Fragment::with_capacity(8);
    let known_as = text(myriad_ets::access::known_as(&mut memory, table), 100);
    let kind = match options.kind {
        Kind::Set => "set",
        Kind::OrderedSet => "ordered_set",
        Kind::Bag => "bag",
        Kind::DuplicateBag => "duplicate_bag",
    };
    let protection = match table.protection() {
        Protection::Private => "private",
        Protection::Protected => "protected",
        Protection::Public => "public",
    };
    let writers = match options.write_concurrency {
        WriteConcurrency::No => "false",
        WriteConcurrency::Auto => "auto",
        WriteConcurrency::Yes | WriteConcurrency::Shards(_) => "true",
    };
    format!(
        "=ets:{}\nTable: {known_as}\nName: {}\nObjects: {}\nWords: {}\nType: {kind}\nProtection: {protection}\n\
         Compressed: {}\nWrite Concurrency: {writers}\nRead Concurrency: {}\n",
        pid_text(table.owner().term()),
        atom_text(table.name()),
        table.len(),
        table.words(),
        options.compressed,
        options.read_concurrency,
    )
}

fn distribution(vm: &'static Vm) {
    let name = vm.node_name();
    print(&format!("=node:{}\n", atom_text(name)));
    if name == am::nonode_nohost {
        print("=no_distribution\n");
    }
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
