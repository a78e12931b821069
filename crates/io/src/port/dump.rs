//! Ports as a crash dump shows them, and what terms they hold.

use super::info::ID_SHIFT;
use super::{Driver, Phase, Port, State, System};
use myriad_term::print::{atom_text, pid_text};
use myriad_vm::Vm;
use myriad_vm::heap_walk::{Holder, Place, Visit};
use std::io::{self, Write};

/// A section for each port. Of a port that another thread is busy with, only the head is shown.
pub fn ports(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    let Some(system) = System::of(vm) else { return Ok(()) };
    for port in system.all() {
        writeln!(out, "=port:#Port<0.{}>", port.id.number())?;
        if let Some(state) = port.state.try_lock() {
            section(vm, &port, &state, out)?;
        }
    }
    Ok(())
}

/// The objects of the data of `erlang:port_set_data/2`.
pub fn each_object(system: &System, visit: Visit<'_>) {
    for port in system.all() {
        let state = port.state.lock();
        if let Some(data) = state.data.as_ref().and_then(|data| data.memory()) {
            data.each_object(|object| visit(Holder::Port(port.id), Place::Heap, object));
        }
    }
}

fn section(vm: &Vm, port: &Port, state: &State, out: &mut dyn Write) -> io::Result<()> {
    let phase = match state.phase {
        Phase::Open => "CONNECTED",
        Phase::Closing => "CLOSING",
        Phase::Gone => "FREE",
    };
    let options = [(port.binary, "|BINARY_IO"), (port.eof, "|SOFT_EOF"), (state.busy, "|PORT_BUSY")];
    let options: String = options.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    writeln!(out, "State: {phase}{options}\nSlot: {}", port.id.number() << ID_SHIFT)?;
    writeln!(out, "Connected: {}", pid_text(state.owner.term()))?;
    if !state.links.is_empty() {
        let links: String = state.links.iter().map(|pid| pid_text(pid.term())).collect();
        writeln!(out, "Links: {links}")?;
    }
    if let Some(name) = vm.names.name_of_port(port.id) {
        writeln!(out, "Registered as: {}", atom_text(name))?;
    }
    let name = String::from_utf8_lossy(&port.name);
    match &state.driver {
        Driver::Forker => writeln!(out, "Port controls forker process: {name}")?,
        Driver::Stream(_) if state.os_pid.is_some() => writeln!(out, "Port controls external process: {name}")?,
        Driver::Stream(_) => writeln!(out, "Port is UNIX fd not opened by emulator: {name}")?,
        _ => writeln!(out, "Port controls linked-in driver: {name}")?,
    }
    writeln!(out, "Input: {}\nOutput: {}\nQueue: {}", state.input, state.output, state.queued())
}
