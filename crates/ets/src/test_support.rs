//! For unit tests: a process on a VM whose engine runs nothing, to call built-in functions in.

use myriad_code::Executor;
use myriad_process::CodePtr;
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Export, Mfa, Term, am};
use myriad_trace::Tracing;
use myriad_vm::bif::Escape;
use myriad_vm::code::Function;
use myriad_vm::emulator_flags::{EmulatorFlags, FileNames};
use myriad_vm::engine::{Engine, SliceEnd};
use myriad_vm::observer::NoObserver;
use myriad_vm::release::Release;
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::vm::{Config, Parts, Vm};
use myriad_vm::{BifResult, Ctx, OwnerState, TraceFrame};
use std::ops::Range;

static STUBS: [u32; 3] = [0; 3];

struct NoEngine;

impl Executor<Vm> for NoEngine {
    fn undecoded_stub(&self) -> CodePtr {
        CodePtr(&raw const STUBS[0])
    }

    fn bif_stub(&self) -> CodePtr {
        CodePtr(&raw const STUBS[1])
    }

    fn undefined_stub(&self) -> CodePtr {
        CodePtr(&raw const STUBS[2])
    }

    fn code_ranges(&self, _: &Function, _: &mut Vec<Range<usize>>) {}

    fn release(&self, _: &Function) {}
}

impl Engine for NoEngine {
    fn run(&self, _: &mut Ctx<'_>) -> SliceEnd {
        SliceEnd::Waiting
    }

    fn run_dirty(&self, _: &mut Ctx<'_>) -> BifResult {
        Err(Escape::Dead)
    }

    fn backtrace(&self, _: &OwnerState, _: usize) -> Vec<TraceFrame> {
        Vec::new()
    }
}

fn new_vm() -> &'static Vm {
    let flags = EmulatorFlags { file_names: FileNames::Utf8, ..EmulatorFlags::default() };
    let config = Config { flags, ..Config::default() };
    let release = Release::without_root(25).expect("25 is known");
    let parts = Parts {
        engine: Box::new(NoEngine),
        subsystems: vec![Box::<crate::Tables>::default()],
        tracer: Box::new(Tracing::new(|_, _| None)),
        observer: Box::new(NoObserver),
    };
    let vm = Vm::new(config, release, parts);
    myriad_vm::code::install_undefined::<myriad_vm::Vm>(vm.engine());
    vm
}

static CLASS: LockClass = LockClass::new("test_vm", 1);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(&CLASS, ());

/// Runs a test inside a process of a VM of its own.
pub(crate) fn in_process<R>(test: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    let _one = ONE_AT_A_TIME.lock();
    let vm = new_vm();
    let first = Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 0 });
    let pid = spawn_orphan(vm, first, &[], &SpawnOptions::new(vm)).expect("the table is empty");
    let process = vm.processes.get(pid).expect("just made");
    let mut local = vm.scheduler_local(0, false).expect("the first thread");
    process.start_running();
    // SAFETY: process/P2: this thread has made it Running, and nothing else runs in this VM.
    let state = unsafe { process.owner_state() };
    test(&mut Ctx { state, process, sched: &mut local, vm })
}

/// Calls a built-in function by its name, as Erlang code would.
pub(crate) fn call(ctx: &mut Ctx<'_>, module: &str, function: &str, args: &[Term]) -> BifResult {
    let atom = |text| myriad_term::Atom::new(text).expect("room for atoms");
    let mfa = Mfa { module: atom(module), function: atom(function), arity: args.len() as u8 };
    let def = ctx.vm.bifs.bif(mfa).unwrap_or_else(|| panic!("no {module}:{function}/{}", args.len()));
    (def.function_ptr)(ctx, args)
}
