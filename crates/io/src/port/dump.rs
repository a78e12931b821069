//! Ports as a crash dump shows them, and what terms they hold.

use super::info::ID_SHIFT;
use super::{Phase, Port, State, System};
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
            section(vm, port, &state, out)?;
        }
    }
    Ok(())
}

/// The objects of the data of `erlang:port_set_data/2`.
pub fn each_object(system: &System, visit: Visit<'_>) {
    for port in system.all() {
        let state = port.state.lock();
        if let Some(data) = state.common.data.as_ref().and_then(|data| data.memory()) {
            data.each_object(|object| visit(Holder::Port(port.id), Place::Heap, object));
        }
    }
}

fn section(vm: &Vm, port: &Port, state: &State, out: &mut dyn Write) -> io::Result<()> {
    let common = &state.common;
    let phase = match common.phase {
        Phase::Open => "CONNECTED",
        Phase::Closing => "CLOSING",
        Phase::Gone => "FREE",
    };
    let options = [(port.binary, "|BINARY_IO"), (port.eof, "|SOFT_EOF"), (common.busy, "|PORT_BUSY")];
    let options: String = options.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    writeln!(out, "State: {phase}{options}\nSlot: {}", port.id.number() << ID_SHIFT)?;
    writeln!(out, "Connected: {}", pid_text(common.owner.term()))?;
    if !common.links.is_empty() {
        let links: String = common.links.iter().map(|pid| pid_text(pid.term())).collect();
        writeln!(out, "Links: {links}")?;
    }
    if let Some(name) = vm.names.name_of_port(port.id) {
        writeln!(out, "Registered as: {}", atom_text(name))?;
    }
    writeln!(out, "{}: {}", port.driver.description, String::from_utf8_lossy(&port.name))?;
    writeln!(out, "Input: {}\nOutput: {}\nQueue: {}", common.input, common.output, state.driver.queued())
}
