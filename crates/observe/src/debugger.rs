//! What a debugger calls to see terms, processes, stacks and heaps (`tools/gdb/myriad.gdb`): functions that print to the standard
//! error, by names that stay as they are.
//!
//! DB1. The debugger has stopped every thread. So no thread changes what is read; what one was changing when it was stopped shows as it
//!      is then. Of a process that ran, the heap's top and the stack are those of its last pause.
//! DB2. A word may be anything: what it leads to is read through the system (`process_vm_readv`), which refuses where there is no memory,
//!      before it is taken for an object. So is a stack before it is walked. A heap's own bounds are believed.
//! DB3. Nothing here takes a lock or waits, for a stopped thread may hold it.

mod careful;

use crate::{crash_dump, stack};
use careful::term;
use myriad_term::print::pid_text;
use myriad_term::{Kind, Term};
use myriad_vm::code::{Continuation, Function};
use myriad_vm::{OwnerState, Process, Vm};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many messages are printed.
const MESSAGES: usize = 20;

/// Keeps the functions in the program, where nothing else calls them. They look at the VM of which a crash dump would tell.
pub fn keep() {
    let with_number: [extern "C" fn(u64); 4] =
        [myriad_print_term, myriad_print_process, myriad_print_stack, myriad_print_heap];
    std::hint::black_box((with_number, myriad_print_processes as extern "C" fn()));
}

/// Prints the term of a word.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_print_term(word: u64) {
    print(&term(word));
}

/// Prints all processes, a line each.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_print_processes() {
    print(&crash_dump::installed().map_or_else(no_vm, processes));
}

/// Prints what a process is and what waits for it. Its number is the second of its pid: 42 of `<0.42.0>`.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_print_process(number: u64) {
    print(&of_process(number, process));
}

/// Prints the stack of a process.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_print_stack(number: u64) {
    print(&of_process(number, |vm, _, state| stack_text(vm, state)));
}

/// Prints the bounds of a process's heap, and its objects by kind.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_print_heap(number: u64) {
    print(&of_process(number, |_, _, state| heap(state)));
}

/// Writes to the standard error, without the lock that Rust has on it (DB3).
fn print(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the bytes are there.
        let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
        let Ok(written @ 1..) = usize::try_from(written) else { return };
        rest = rest.get(written..).unwrap_or_default();
    }
}

fn no_vm() -> String {
    "no VM has been started\n".to_owned()
}

/// What is told of the process with this number.
fn of_process(number: u64, tell: impl FnOnce(&'static Vm, &'static Process, &OwnerState) -> String) -> String {
    let Some(vm) = crash_dump::installed() else { return no_vm() };
    let found = vm.processes.pids().into_iter().find(|pid| u64::from(pid.number()) == number);
    let Some(process) = found.and_then(|pid| vm.processes.get(pid)) else { return format!("no process {number}\n") };
    // SAFETY: process/P2: every thread is stopped but the one that the debugger has call this (DB1).
    tell(vm, process, unsafe { process.owner_state() })
}

fn processes(vm: &'static Vm) -> String {
    let mut out = String::new();
    for process in vm.processes.pids().into_iter().filter_map(|pid| vm.processes.get(pid)) {
        let summary = crash_dump::text(|out| crash_dump::summary(process, out));
        let words: Vec<&str> = summary.lines().map(|line| line.trim_start_matches("=proc:")).collect();
        out.extend([&words.join("  "), "\n"]);
    }
    out
}

fn process(_: &'static Vm, process: &'static Process, state: &OwnerState) -> String {
    let mut out = crash_dump::text(|out| crash_dump::summary(process, out));
    let messages = state.messages.iter().take(MESSAGES).map(|message| format!("  {}", term(message.term().raw())));
    // Writing to a String does not fail.
    let parent = if state.parent.is_pid() { pid_text(state.parent) } else { "the VM".to_owned() };
    let _ = writeln!(out, "Spawned as: {} by {parent}", stack::name(Some(state.initial_call)));
    let _ = writeln!(out, "Reductions: {}", state.reductions.earlier());
    let _ = writeln!(out, "Messages that it has taken out of its outer queue: {}", state.messages.len());
    messages.for_each(|message| out.push_str(&message));
    out
}

fn stack_text(vm: &'static Vm, state: &OwnerState) -> String {
    if !is_whole(vm, state) {
        let words = careful::words(state.heap.stop.addr(), state.heap.stack_words().min(careful::MOST_WORDS));
        let words = words.unwrap_or_default();
        let lines = words.iter().map(|word| format!("{word:#018x} {}", term(*word)));
        return format!("the frames cannot be told apart:\n{}", lines.collect::<String>());
    }
    let entries = stack::entries(vm.engine(), state).into_iter().map(|entry| match entry {
        stack::Entry::Y(number, word) => format!("  y{number} {}", term(word.raw())),
        stack::Entry::Catch(number, _, to) => format!("  y{number} catch in {}\n", stack::name(to)),
        stack::Entry::Return(at, _, to) => format!("{at:#x} return to {}\n", stack::name(to)),
    });
    entries.collect()
}

/// Do frames lead from one to the next, each with a return point that can be read (DB2)?
fn is_whole(vm: &Vm, state: &OwnerState) -> bool {
    const RECORD: usize = size_of::<Continuation>() / size_of::<u64>();
    const FUNCTION: usize = size_of::<Function>() / size_of::<u64>();
    let Some(words) = careful::words(state.heap.stop.addr(), state.heap.stack_words()) else { return false };
    // SAFETY: the word is only asked for its tag.
    let markers = words.iter().filter_map(|word| unsafe { Term::from_raw(*word) }.as_catch());
    if !markers.into_iter().all(|record| careful::words(record as usize, RECORD).is_some()) {
        return false;
    }
    let mut at = vm.engine().frame_words(state);
    while at < words.len() {
        let record = words[at] as usize;
        if !record.is_multiple_of(align_of::<Continuation>()) || careful::words(record, RECORD).is_none() {
            return false;
        }
        // SAFETY: so much can be read there, and each field may hold any bits.
        let record = unsafe { &*(record as *const Continuation) };
        if !record.function.is_null() && careful::words(record.function.addr(), FUNCTION).is_none() {
            return false;
        }
        at += 1 + record.frame as usize;
    }
    at == words.len()
}

fn heap(state: &OwnerState) -> String {
    let heap = &state.heap;
    let mut out = format!(
        "block {:p} to {:p}, objects up to {:p}, stack from {:p}\n{} words used, {} of stack, {} of room\n",
        heap.start,
        heap.hend,
        heap.htop,
        heap.stop,
        heap.used_words(),
        heap.stack_words(),
        heap.room()
    );
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    heap.each_object(|object| {
        let (count, words) = kinds.entry(object.kind().name().unwrap_or("of no kind")).or_default();
        *count += 1;
        *words += 1 + object.size();
    });
    for (kind, (count, words)) in kinds {
        let _ = writeln!(out, "{count:>10} {words:>12}  {kind}");
    }
    out.push_str("The rest is list cells.\n");
    out
}

/// Kinds whose objects the general printer may be given once all their words can be read: they lead nowhere else.
const LEAVES: [(Kind, usize); 7] = [
    (Kind::BigPositive, 1),
    (Kind::BigNegative, 1),
    (Kind::Float, 1),
    (Kind::Ref, 2),
    (Kind::AliasRef, 2),
    (Kind::ExternalPid, 2),
    (Kind::ExternalPort, 2),
];

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Build;
    use myriad_testing::{NoEngine, TestProcess};

    #[test]
    fn terms_are_printed_and_other_words_refused() {
        let vm = myriad_testing::vm(NoEngine, vec![]);
        crash_dump::install(vm);
        TestProcess::new(vm).run(|ctx| {
            let float = ctx.float(0.0);
            let big = ctx.big(false, &[0, 1]);
            let bytes = ctx.binary(b"bytes");
            let list = ctx.list(&[Term::small(1), Term::OK]);
            let pair = ctx.cons(Term::NIL, Term::small(2));
            let tuple = ctx.tuple(&[list, pair, float, big, bytes, Term::TRUE]);
            let text = "{[1,ok],[[]|2],0.000000e+00,18446744073709551616,<<\"bytes\">>,true}\n";
            assert_eq!(term(tuple.raw()), text);
            // Every other word of the same memory, and such as lead to none.
            let at = tuple.object_ptr() as u64;
            for word in (at - 200..at + 200).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX, 0x7fff_ffff_fff1]) {
                assert!(term(word).ends_with('\n'), "{word:#x}");
            }
            assert!(term(1 << 40 | tuple.raw() & 7).contains("no memory"));
            let number = u64::from(ctx.process.pid.number());
            let heap = of_process(number, |_, _, state| heap(state));
            assert!(heap.contains("         1            7  tuple\n"), "{heap}");
            let heap = &mut ctx.state.heap;
            // SAFETY: there is room for a word (the process has just begun), and it is a term.
            unsafe {
                heap.stop = heap.stop.sub(1);
                *heap.stop = pair.raw();
            }
            assert_eq!(of_process(number, |vm, _, state| stack_text(vm, state)), "  y0 [[]|2]\n");
            assert!(of_process(number, process).contains("Spawned as: erts_internal:start/0"));
            assert!(processes(vm).contains("State: Running"));
            assert_eq!(of_process(u64::MAX, process), format!("no process {}\n", u64::MAX));
        });
    }
}
