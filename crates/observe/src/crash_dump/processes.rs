//! Processes in a crash dump: what each is, and what it holds.

use super::terms::{Area, Terms};
use super::{Dump, Own};
use crate::info::{heap_figures, memory};
use crate::stack::{self, Entry};
use myriad_process::links::{Link, Target};
use myriad_process::{Band, Packet};
use myriad_term::print::{atom_text, pid_text, port_text, text};
use myriad_term::{Pid, RefNumbers, Term, am};
use myriad_vm::Ctx;
use myriad_vm::Vm;
use myriad_vm::engine::Engine;
use myriad_vm::{OwnerState, Process, Signal};
use std::io::{self, Write};

/// A process that the dump has taken up (observe/CD1), and messages and other signals that it has not fetched.
pub struct Seized {
    process: &'static Process,
    signals: Vec<Signal>,
}

/// Terms of one message or entry that are printed for a person to read.
const TERMS: usize = 100_000;

/// The status of a process in the words of a crash dump.
fn state(process: &Process) -> &'static str {
    match process.seen_status() {
        am::exiting => "Exiting",
        am::running => "Running",
        am::suspended => "Suspended",
        am::waiting => "Waiting",
        am::runnable => "Scheduled",
        _ => "Free",
    }
}

/// What can be seen of a process from outside (observe/CD2).
pub fn summary(process: &Process, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "=proc:{}\nState: {}", pid_text(process.pid.term()), state(process))?;
    match process.name() {
        Some(name) => writeln!(out, "Name: {}", atom_text(name)),
        None => Ok(()),
    }
}

/// All of a process for a person to read, with its messages, its dictionary and its stack, if it waits and no thread runs it;
/// what can be seen from outside otherwise.
pub fn shown(vm: &'static Vm, process: &'static Process, out: &mut dyn Write) -> io::Result<()> {
    summary(process, out)?;
    // What a dirty scheduler works for stays with that.
    if process.is_dirty() || !process.seize(false) {
        return Ok(());
    }
    // SAFETY: process/P2: `seize` has made it `Running` for this thread, which lets it go below.
    let state = unsafe { process.owner_state() };
    let done = Details { vm, process, state, signals: &[], to_read: true }.write(out);
    // A signal that has come since it was seized wakes it.
    if !process.try_wait() {
        vm.schedulers.enqueue_woken(process);
    }
    done
}

/// The process of `ctx`, and its stack.
pub fn own(ctx: &Ctx<'_>, out: &mut dyn Write) -> io::Result<()> {
    summary(ctx.process, out)?;
    Details { vm: ctx.vm, process: ctx.process, state: ctx.state, signals: &[], to_read: false }.write(out)?;
    write!(out, "{}", stack::backtrace(ctx.vm.engine(), ctx.state))
}

fn ref_text(RefNumbers([first, second, third]): RefNumbers) -> String {
    format!("#Ref<0.{third}.{second}.{first}>")
}

fn messages(signals: &[Signal]) -> impl Iterator<Item = &myriad_process::Message> {
    signals.iter().filter_map(|signal| match signal {
        Signal::Message(message) | Signal::AliasMessage(_, message) => Some(message),
        _ => None,
    })
}

impl Dump {
    /// The sections of all processes; those that could be taken up are given back.
    pub(super) fn processes(&mut self, vm: &'static Vm, own: Own<'_>, all_stopped: bool) -> io::Result<Vec<Seized>> {
        let mut seized = Vec::new();
        // The pin keeps what still runs from being freed, until the VM ends.
        std::mem::forget(vm.progress.pin());
        for pid in vm.processes.pids() {
            let Some(process) = vm.processes.get(pid) else { continue };
            let is_own = own.is_some_and(|(p, _)| p.pid == pid);
            summary(process, &mut self.out)?;
            if let Some((_, state)) = own.filter(|_| is_own) {
                Details { vm, process, state, signals: &[], to_read: false }.write(&mut self.out)?;
            } else if process.seize(all_stopped) {
                // SAFETY: process/P2: `seize` has made it `Running` for this thread; nothing ends that (observe/CD1).
                let state = unsafe { process.owner_state() };
                let taken = state.unhandled.take().into_iter().flat_map(|signals| *signals);
                let signals: Vec<Signal> = taken.chain(process.take_signals()).map(Packet::open).collect();
                Details { vm, process, state, signals: &signals, to_read: false }.write(&mut self.out)?;
                seized.push(Seized { process, signals });
            }
        }
        Ok(seized)
    }

    /// What the processes hold.
    pub(super) fn heaps(&mut self, vm: &'static Vm, seized: &[Seized], own: Own<'_>) -> io::Result<()> {
        for Seized { process, signals } in seized {
            // SAFETY: process/P2: `seize` has made it `Running` for this thread; nothing ends that (observe/CD1).
            let state = unsafe { process.owner_state() };
            holdings(vm, process.pid, state, signals, &mut self.terms, &mut self.out)?;
        }
        match own {
            Some((process, state)) => holdings(vm, process.pid, state, &[], &mut self.terms, &mut self.out),
            None => Ok(()),
        }
    }
}

/// What only the owner of a process sees of it.
struct Details<'a> {
    vm: &'a Vm,
    process: &'a Process,
    state: &'a OwnerState,
    /// Signals that it has not fetched.
    signals: &'a [Signal],
    /// With the terms that it holds: in a dump they have sections of their own.
    to_read: bool,
}

impl Details<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Details { vm, process, state, signals, to_read } = *self;
        let to_read = to_read && !state.flags.sensitive;
        let heap = heap_figures(process.pid, state);
        writeln!(out, "Spawned as: {}", stack::name(Some(state.initial_call)))?;
        let parent = if state.parent.is_pid() { pid_text(state.parent) } else { "[]".into() };
        writeln!(out, "Spawned by: {parent}")?;
        let waiting = state.messages.len() + messages(signals).count();
        writeln!(out, "Message queue length: {waiting}")?;
        if to_read && waiting > 0 {
            let texts: Vec<String> =
                state.messages.iter().chain(messages(signals)).map(|m| text(m.term(), TERMS)).collect();
            writeln!(out, "Message queue: [{}]", texts.join(","))?;
        }
        // The heap counts the words of its fragments only: some, or none.
        writeln!(out, "Number of heap fragments: {}", u8::from(heap.mbuf_size > 0))?;
        writeln!(out, "Heap fragment data: {}", heap.mbuf_size)?;
        relations(vm, state, out)?;
        if let Some(dictionary) = state.dictionary.as_ref().filter(|d| to_read && !d.entries().is_empty()) {
            let pair = |[key, value]: &[Term; 2]| format!("{{{},{}}}", text(*key, TERMS), text(*value, TERMS));
            let texts: Vec<String> = dictionary.entries().iter().map(pair).collect();
            writeln!(out, "Dictionary: [{}]", texts.join(","))?;
        }
        writeln!(out, "Reductions: {}", state.reductions.earlier())?;
        writeln!(out, "Stack+heap: {}", heap.heap_block_size)?;
        writeln!(out, "OldHeap: {}", heap.old_heap_block_size)?;
        writeln!(out, "Heap unused: {}", heap.heap_block_size.saturating_sub(heap.heap_size + heap.stack_size))?;
        writeln!(out, "OldHeap unused: {}", heap.old_heap_block_size.saturating_sub(heap.old_heap_size))?;
        writeln!(out, "BinVHeap: {}", heap.bin_vheap_size)?;
        writeln!(out, "OldBinVHeap: {}", heap.bin_old_vheap_size)?;
        writeln!(out, "BinVHeap unused: {}", heap.bin_vheap_block_size.saturating_sub(heap.bin_vheap_size))?;
        let unused = heap.bin_old_vheap_block_size.saturating_sub(heap.bin_old_vheap_size);
        writeln!(out, "OldBinVHeap unused: {unused}")?;
        writeln!(out, "Memory: {}", memory(process.pid, state))?;
        if to_read {
            let stack = stack::backtrace(vm.engine(), state);
            let (counter, rest) = stack.split_once('\n').unwrap_or((&stack, ""));
            // What waits has no live argument.
            write!(out, "Stack dump:\n{counter}\narity = 0\n{rest}")?;
        } else if let Some(at) = vm.engine().backtrace(state, 1).first() {
            writeln!(out, "Program counter: {:#018x} ({})", state.resume.pc.0 as usize, stack::name(Some(at.mfa)))?;
        }
        let priority = match process.priority().band() {
            Band::Max => "MAX",
            Band::High => "HIGH",
            Band::Normal => "NORMAL",
            Band::Low => "LOW",
        };
        write!(out, "Internal State: ACT_PRIO_{priority} | USR_PRIO_{priority}")?;
        let flags = [(state.flags.trap_exit, "TRAP_EXIT"), (state.suspensions.by_others(), "SUSPENDED")];
        flags.iter().filter(|(set, _)| *set).try_for_each(|(_, name)| write!(out, " | {name}"))?;
        writeln!(out)
    }
}

fn relations(vm: &Vm, state: &OwnerState, out: &mut dyn Write) -> io::Result<()> {
    let Some(tables) = state.relations.get() else { return Ok(()) };
    let mut items = Vec::new();
    for (other, _) in tables.links.values().filter(|(_, link)| *link == Link::Active) {
        items.push(if other.is_pid() { pid_text(*other) } else { port_text(*other) });
    }
    for (reference, monitor) in &tables.monitors {
        let whom = match (monitor.name.as_atom(), monitor.target) {
            (Some(name), _) => format!("{{{},{}}}", atom_text(name), atom_text(vm.node_name())),
            (None, Target::Process(pid)) => pid_text(pid.term()),
            (None, Target::Port(port)) => port_text(port.term()),
            (None, Target::TimeOffset | Target::Gone | Target::GonePort) => continue,
        };
        items.push(format!("{{to,{whom},{}}}", ref_text(*reference)));
    }
    for (reference, watcher) in &tables.watchers {
        items.push(format!("{{from,{},{}}}", pid_text(watcher.from.term()), ref_text(*reference)));
    }
    if items.is_empty() { Ok(()) } else { writeln!(out, "Link list: [{}]", items.join(", ")) }
}

fn holdings(
    vm: &Vm,
    pid: Pid,
    state: &OwnerState,
    signals: &[Signal],
    terms: &mut Terms,
    out: &mut dyn Write,
) -> io::Result<()> {
    if state.flags.sensitive {
        return Ok(());
    }
    let (mut area, pid) = (Area::default(), pid_text(pid.term()));
    let waiting: Vec<_> = state.messages.iter().chain(messages(signals)).collect();
    if !waiting.is_empty() {
        writeln!(out, "=proc_messages:{pid}")?;
        for message in waiting {
            terms.term(&mut area, out, message.term())?;
            writeln!(out, ":N")?;
        }
    }
    if let Some(dictionary) = state.dictionary.as_ref().filter(|d| !d.entries().is_empty()) {
        writeln!(out, "=proc_dictionary:{pid}")?;
        for [key, value] in dictionary.entries() {
            terms.pair(&mut area, out, *key, *value)?;
            writeln!(out)?;
        }
    }
    writeln!(out, "=proc_stack:{pid}")?;
    slots(vm.engine(), state, terms, &mut area, out)?;
    writeln!(out, "=proc_heap:{pid}")?;
    terms.objects(&mut area, out)
}

fn slots(
    engine: &dyn Engine,
    state: &OwnerState,
    terms: &mut Terms,
    area: &mut Area,
    out: &mut dyn Write,
) -> io::Result<()> {
    for entry in stack::entries(engine, state) {
        match entry {
            Entry::Y(i, term) => {
                write!(out, "y{i}:")?;
                terms.term(area, out, term)?;
                writeln!(out)?;
            }
            Entry::Catch(i, pc, to) => writeln!(out, "y{i}:SCatch {pc:#X} ({})", stack::name(to))?,
            Entry::Return(at, pc, to) => writeln!(out, "{at:#018x}:SReturn addr {pc:#X} ({})", stack::name(to))?,
        }
    }
    Ok(())
}
