//! What takes how much memory, as `erlang:memory/0` adds it up and a crash dump tells.

use myriad_heap::account;
use myriad_term::{Atom, am, atom};
use myriad_vm::subsystem::Statistic;
use myriad_vm::{Process, Vm, code};

/// Bytes of an atom's entry: the text's address and length, and the index.
const ATOM_ENTRY: usize = 32;

/// Bytes of the table of atoms beside their texts.
pub fn atom_table() -> usize {
    atom::count() * ATOM_ENTRY
}

/// Bytes of the process table.
pub fn process_table(vm: &Vm) -> usize {
    vm.processes.limit() * 8
}

/// Bytes of processes beside their heaps.
pub fn processes(vm: &Vm) -> usize {
    vm.processes.count() * size_of::<Process>()
}

/// Bytes that no allocator counts which OTP has a name for: texts and table of atoms, the process table, code.
pub fn elsewhere(vm: &Vm) -> usize {
    atom::text_bytes() + atom_table() + process_table(vm) + code::bytes()
}

/// The figures, in bytes, by OTP's names and in its order.
pub fn figures(vm: &Vm) -> [(Atom, usize); 9] {
    let processes = account::heaps().size * 8 + processes(vm) + process_table(vm) + vm.timers.message_bytes();
    let atoms = atom::text_bytes() + atom_table();
    let (binary, ets) = (myriad_term::binary::shared().size, vm.statistic(Statistic::TableBytes));
    let system = account::literals().size * 8 + binary + ets + elsewhere(vm) - process_table(vm);
    [
        (am::total, processes + system),
        (am::processes, processes),
        (am::processes_used, processes),
        (am::system, system),
        (am::atom, atoms),
        (am::atom_used, atoms),
        (am::binary, binary),
        (am::code, code::bytes()),
        (am::ets, ets),
    ]
}
