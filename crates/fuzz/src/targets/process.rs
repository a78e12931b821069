//! A process to call built-ins in, on a VM that runs nothing else.

use myriad_interp::Interpreter;
use myriad_sched::Local;
use myriad_term::{Atom, Export, Mfa, Term, am};
use myriad_trace::Tracing;
use myriad_vm::code::install_undefined;
use myriad_vm::emulator_flags::{EmulatorFlags, FileNames};
use myriad_vm::observer::NoObserver;
use myriad_vm::release::Release;
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::vm::{Config, Parts};
use myriad_vm::{BifDef, BifResult, Ctx, Escape, Process, Vm};
use std::cell::RefCell;

fn new_vm() -> &'static Vm {
    let flags = EmulatorFlags { file_names: FileNames::Utf8, ..EmulatorFlags::default() };
    let config = Config { flags, ..Config::default() };
    let release = Release::without_root(25).expect("25 is known");
    let parts = Parts {
        engine: Box::new(Interpreter::new()),
        tracer: Box::new(Tracing::new(|_, _| None)),
        observer: Box::new(NoObserver),
        subsystems: vec![
            Box::<myriad_bif::Builtins>::default(),
            Box::<myriad_ets::Tables>::default(),
            Box::<myriad_io::Io>::default(),
        ],
    };
    let vm = Vm::new(config, release, parts);
    install_undefined::<myriad_vm::Vm>(vm.engine());
    vm
}

struct World {
    vm: &'static Vm,
    process: &'static Process,
    local: Local,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

fn new_world() -> World {
    let vm = new_vm();
    let first = Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 0 });
    let pid = spawn_orphan(vm, first, &[], &SpawnOptions::new(vm)).expect("the table is empty");
    let process = vm.processes.get(pid).expect("just made");
    process.start_running();
    World { vm, process: Box::leak(Box::new(process)), local: vm.scheduler_local(0, false).expect("the first thread") }
}

/// Runs `work` in the thread's process (the first thread's: a VM has one), whose heap is empty before and after.
pub(super) fn in_process<R>(work: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    WORLD.with_borrow_mut(|world| {
        let World { vm, process, local } = world.get_or_insert_with(new_world);
        // SAFETY: process/P2: this thread has made it Running, and nothing else runs in this VM.
        let state = unsafe { process.owner_state() };
        state.reductions.begin_slice(4000);
        let mut ctx = Ctx { state, process, sched: local, vm };
        let result = work(&mut ctx);
        ctx.state.resumption = None;
        ctx.state.dictionary = None;
        ctx.state.trap_args.clear();
        // SAFETY: `work` is over, and what it gives holds no terms of this heap.
        let within_its_limit = unsafe { ctx.collect(0, &mut []) };
        assert!(within_its_limit, "no limit is set");
        result
    })
}

/// The definition of a built-in, of any kind.
pub(super) fn built_in(ctx: &Ctx<'_>, module: Atom, function: Atom, arity: usize) -> Option<&'static BifDef> {
    let mfa = Mfa { module, function, arity: u8::try_from(arity).ok()? };
    ctx.vm.bifs.bif(mfa).or_else(|| ctx.vm.bifs.nif(mfa))
}

/// Calls it, in as many slices as it takes.
pub(super) fn call(ctx: &mut Ctx<'_>, def: &BifDef, args: &[Term]) -> BifResult {
    ctx.state.reductions.begin_slice(200);
    let mut result = (def.function_ptr)(ctx, args);
    while let (Err(Escape::Yield), Some(mut rest)) = (&result, ctx.state.resumption.take()) {
        ctx.state.reductions.begin_slice(4000);
        result = (rest.rest)(ctx);
        ctx.state.resumption.get_or_insert(rest);
    }
    ctx.state.resumption = None;
    result
}
