//! What a crash dump tells of the VM as a whole: schedulers, memory, timers, code, atoms.

use crate::allocators::{UTIL_ALLOCATORS, holdings};
use myriad_process::Status;
use myriad_sched::Destination;
use myriad_sync::atomic::Ordering;
use myriad_term::print::{atom_text, pid_text, text};
use myriad_term::{Atom, Pid, am};
use myriad_vm::Vm;
use myriad_vm::code::Module;
use std::io::{self, Write};

/// Terms that the text of a timer's message may have.
const MESSAGE_TERMS: usize = 100;

/// The schedulers and what they do.
pub fn schedulers(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    // On a scheduler: OTP's tools know no other threads.
    let running =
        |process: &&myriad_vm::Process| process.status() == Status::Running && process.private_thread().is_none();
    let busy: Vec<(usize, Pid)> = vm
        .processes
        .pids()
        .into_iter()
        // Relaxed: all are stopped, or it is a figure.
        .filter_map(|pid| vm.processes.get(pid).filter(running).map(|p| (p.home.load(Ordering::Relaxed) as usize, pid)))
        .collect();
    for (i, scheduler) in vm.schedulers.iter().enumerate() {
        let current = if scheduler.load.is_running() { busy.iter().find(|(home, _)| *home == i) } else { None };
        let current = current.map_or(String::new(), |(_, pid)| pid_text(pid.term()));
        writeln!(out, "=scheduler:{}", i + 1)?;
        let [max, high, normal, low] = scheduler.lengths();
        writeln!(out, "Current Port: \nRun Queue Max Length: {max}\nRun Queue High Length: {high}")?;
        writeln!(out, "Run Queue Normal Length: {normal}\nRun Queue Low Length: {low}")?;
        // Ports do not queue: a thread that signals a port runs its driver.
        writeln!(out, "Run Queue Port Length: 0")?;
        writeln!(out, "Current Process: {current}")?;
    }
    Ok(())
}

/// Memory, timers, the node, loaded code.
pub fn rest(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    memory(vm, out)?;
    allocators(vm, out)?;
    timers(vm, out)?;
    node(vm, out)?;
    modules(vm, out)?;
    funs(vm, out)
}

/// This node and those it is connected to.
pub fn node(vm: &Vm, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "=node:{}", atom_text(vm.node_name()))?;
    if vm.node_name() == am::nonode_nohost {
        writeln!(out, "=no_distribution")?;
    }
    Ok(())
}

/// What takes how much memory, and how full the large tables are.
pub fn memory(vm: &Vm, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "=memory")?;
    for (name, bytes) in crate::memory::figures(vm) {
        writeln!(out, "{}: {bytes}", name.text())?;
    }
    let (limit, entries) = (myriad_term::atom::limit(), myriad_term::atom::count());
    writeln!(out, "=index_table:atom_tab\nsize: {entries}\nlimit: {limit}\nentries: {entries}")
}

/// What each allocator that OTP has a name for holds, by scheduler and class, in OTP's form.
fn allocators(vm: &Vm, out: &mut dyn Write) -> io::Result<()> {
    for allocator in UTIL_ALLOCATORS {
        let name = allocator.name.text();
        let instances = allocator.instances(vm);
        for instance in 0..instances {
            let of = if instances > 1 { format!("[{instance}]") } else { String::new() };
            let held = holdings(vm, allocator.name, instance);
            let (blocks, bytes, highest) = (held.blocks(), held.bytes(), held.highest());
            writeln!(out, "=allocator:{name}{of}\noption e: true")?;
            writeln!(out, "mbcs blocks[{name}] count: {blocks} {blocks} {blocks}")?;
            writeln!(out, "mbcs blocks[{name}] size: {bytes} {} {}", highest.recent, highest.ever)?;
            for part in held.parts.iter().filter(|part| part.class != allocator.name) {
                let (class, blocks, highest) = (part.class.text(), part.blocks, part.highest);
                writeln!(out, "mbcs blocks[{class}] count: {blocks} {blocks} {blocks}")?;
                writeln!(out, "mbcs blocks[{class}] size: {} {} {}", part.bytes, highest.recent, highest.ever)?;
            }
            let spare = held.spare as u64;
            let carriers = u64::from(bytes > 0 || spare > 0);
            writeln!(out, "mbcs carriers: {carriers} {carriers} {carriers}")?;
            let (now, recent, ever) = (bytes as u64 + spare, highest.recent + spare, highest.ever + spare);
            writeln!(out, "mbcs carriers size: {now} {recent} {ever}")?;
            if let Some([taken, given]) = held.calls() {
                writeln!(out, "{name} calls: {taken}\n{} calls: {given}", allocator.free.text())?;
            }
        }
    }
    Ok(())
}

fn timers(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    let mut told = Ok(());
    let now = vm.platform.now_ns();
    vm.timers.each_message(|destination, at_ns, message| {
        if told.is_ok() {
            let to = match destination {
                Destination::Process(pid) => pid_text(pid.term()),
                Destination::Name(name) => atom_text(name),
            };
            let left = at_ns.saturating_sub(now) / 1_000_000;
            let message = text(message.term(), MESSAGE_TERMS);
            told = writeln!(out, "=timer:{to}\nMessage: {message}\nTime left: {left}");
        }
    });
    told
}

/// Loaded modules and their sizes in bytes.
pub fn modules(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    let versions: Vec<_> = vm.code.loaded().into_iter().map(|name| (name, vm.code.state(name))).collect();
    let bytes = |module: Option<&Module>| module.map_or(0, Module::bytes);
    let current: i64 = versions.iter().map(|(_, v)| bytes(v.current)).sum();
    let old: i64 = versions.iter().map(|(_, v)| bytes(v.old)).sum();
    writeln!(out, "=loaded_modules\nCurrent code: {current}\nOld code: {old}")?;
    for (name, version) in &versions {
        writeln!(out, "=mod:{}\nCurrent size: {}", atom_text(*name), bytes(version.current))?;
        if version.old.is_some() {
            writeln!(out, "Old size: {}", bytes(version.old))?;
        }
    }
    Ok(())
}

fn funs(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    for module in vm.code.loaded().into_iter().filter_map(|name| vm.code.current(name)) {
        for entry in &module.funs {
            // The module holds each of its funs; the terms that name it are not counted.
            writeln!(out, "=fun\nModule: {}", atom_text(entry.id.module))?;
            writeln!(out, "Uniq: {}\nIndex: {}\nAddress: {:p}\nRefc: 1", entry.id.old_uniq, entry.id.index, *entry)?;
        }
    }
    Ok(())
}

/// All atoms, the last made first.
pub fn atoms(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "=atoms")?;
    (0..myriad_term::atom::count()).rev().try_for_each(|i| writeln!(out, "{}", atom_text(Atom::from_index(i as u32))))
}
