//! From a configuration to a running first process: the wiring of all crates.

use myriad_heap::Architecture;
use myriad_observe::Dumps;
use myriad_process::Priority;
use myriad_term::{Arena, Atom, Build, Export, Mfa, Term, TermRef, am};
use myriad_trace::Tracing;
use myriad_vm::release::Release;
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::subsystem::Subsystem;
use myriad_vm::vm::{Config, Parts, Vm};

/// All tables of built-ins, of all crates.
pub fn tables() -> Vec<&'static [myriad_vm::BifDef]> {
    let mut tables = Vec::new();
    tables.extend_from_slice(myriad_bif::TABLES);
    tables.extend_from_slice(myriad_ets::TABLES);
    tables.extend_from_slice(myriad_io::TABLES);
    tables.extend_from_slice(myriad_driver::TABLES);
    tables.push(crate::task::TASKS);
    tables.push(crate::native::NATIVE);
    tables.push(crate::own_modules::MODULES_TO_LOAD);
    tables
}

/// Makes the VM, loads the preloaded modules and makes the first process. [`Vm::run`] then runs it to its end.
///
/// # Errors
/// Why there can be no VM, in words: no release at the root, no room for what a VM needs from the start.
pub fn start(config: Config) -> Result<&'static Vm, String> {
    let release = Release::find(&config.root)?;
    let vm = bare(config, release);
    vm.start_subsystems()?;
    // In the sequential VM they come as events of a file descriptor, which crate `io` waits for.
    myriad_bif::os::signals::start(vm);
    myriad_vm::code::load_preloaded(vm)?;
    crate::own_modules::load(vm)?;
    first_process(vm)?;
    system_processes(vm)?;
    Ok(vm)
}

/// Makes the VM of all crates; no code is loaded, and nothing runs.
pub fn bare(mut config: Config, release: Release) -> &'static Vm {
    if config.architecture == Architecture::Hybrid {
        myriad_heap::bundle::use_bundles();
    }
    if config.architecture == Architecture::Shared && !myriad_heap::shared::use_one_heap(config.schedulers) {
        config.architecture = Architecture::Private;
    }
    let subsystems: Vec<Box<dyn Subsystem>> = vec![
        Box::<myriad_ets::Tables>::default(),
        Box::<myriad_bif::Builtins>::default(),
        Box::<myriad_io::Io>::default(),
        Box::<myriad_driver::Drivers>::default(),
        Box::<crate::task::Tasks>::default(),
        Box::new(crate::own_modules::OwnModules),
        Box::new(crate::native::MachineCode::start(&mut config)),
    ];
    if config.phases {
        myriad_heap::phases::switch_on();
    }
    let engine = Box::new(myriad_interp::Interpreter);
    let tracer = Box::new(Tracing::new(myriad_ets::compile_for_tracing));
    let parts = Parts { engine, subsystems, tracer, observer: Box::new(Dumps) };
    Vm::new(config, release, parts)
}

/// `erl_init:start(init, Arguments)`, as `<0.0.0>`.
fn first_process(vm: &'static Vm) -> Result<(), String> {
    let mut arena = &Arena::new();
    let arguments: Vec<TermRef<'_>> = vm.config.arguments.iter().map(|a| arena.binary(a)).collect();
    let arguments = arena.list(&arguments);
    let export = Export::intern(Mfa { module: am::erl_init, function: am::start, arity: 2 });
    spawn_orphan(vm, export, &[Term::atom(am::init), arguments], &SpawnOptions::new(vm))
        .map_err(|_| "no room for the first process".to_owned())?;
    Ok(())
}

/// The processes that the emulator itself starts, in this order, so that their pids are as OTP's: module, priority. Each
/// runs `Module:start()`.
const SYSTEM_PROCESSES: [(Atom, Priority); 5] = [
    (am::erts_code_purger, Priority::HIGH),
    (am::erts_literal_area_collector, Priority::HIGH),
    (am::erts_dirty_process_signal_handler, Priority::NORMAL),
    (am::erts_dirty_process_signal_handler, Priority::HIGH),
    (am::erts_dirty_process_signal_handler, Priority::MAX),
];

fn system_processes(vm: &'static Vm) -> Result<(), String> {
    for (module, priority) in SYSTEM_PROCESSES {
        let export = Export::intern(Mfa { module, function: am::start, arity: 0 });
        let options = SpawnOptions { priority, system: true, ..SpawnOptions::new(vm) };
        let pid = spawn_orphan(vm, export, &[], &options).map_err(|_| "no room for the system processes".to_owned())?;
        if module == am::erts_literal_area_collector {
            vm.literals.set_collector(pid);
        }
    }
    Ok(())
}
