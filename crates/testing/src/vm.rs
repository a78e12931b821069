//! The test VM: a release without a root, no boot, and a process to call built-in functions in.

use myriad_code::{Entry, Executor, NativePtr};
use myriad_process::CodePtr;
use myriad_sched::Local;
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Export, Mfa, Term, am, print};
use myriad_trace::Tracing;
use myriad_vm::bif::Escape;
use myriad_vm::code::{Function, install_undefined};
use myriad_vm::emulator_flags::{EmulatorFlags, FileNames};
use myriad_vm::engine::{Engine, SliceEnd};
use myriad_vm::observer::NoObserver;
use myriad_vm::release::Release;
use myriad_vm::spawn::{SpawnOptions, spawn_orphan};
use myriad_vm::subsystem::Subsystem;
use myriad_vm::vm::{Config, Parts, Vm};
use myriad_vm::{BifResult, Ctx, OwnerState, Process, TraceFrame};
use std::ops::Range;

static STUBS: [u32; 3] = [0; 3];

/// An engine that runs nothing: each process waits for ever.
#[derive(Debug)]
pub struct NoEngine;

/// Nobody runs what is there.
fn entry(stub: usize) -> Entry {
    let stub = &raw const STUBS[stub];
    Entry { tier0: CodePtr(stub), native: NativePtr(stub.cast()) }
}

impl Executor<Vm> for NoEngine {
    fn undecoded(&self) -> Entry {
        entry(0)
    }

    fn undefined(&self) -> Entry {
        entry(2)
    }

    fn breakpoint(&self) -> Entry {
        entry(0)
    }

    fn entry_behind(&self, function: &Function) -> Entry {
        entry(usize::from(function.bif().is_some()))
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

/// A VM of OTP 25 with one scheduler, which the test steps, and file names in UTF-8.
pub fn vm(engine: impl Engine + 'static, subsystems: Vec<Box<dyn Subsystem>>) -> &'static Vm {
    let flags = EmulatorFlags { file_names: FileNames::Utf8, ..EmulatorFlags::default() };
    let config = Config { flags, ..Config::default() };
    let release = Release::without_root(25).expect("25 is known");
    let tracer = Box::new(Tracing::new(|_, _| None));
    let parts = Parts { engine: Box::new(engine), subsystems, tracer, observer: Box::new(NoObserver) };
    let vm = Vm::new(config, release, parts);
    install_undefined::<Vm>(vm.engine());
    vm
}

/// A running process, and the scheduler that runs it, in a VM where nothing else runs.
pub struct TestProcess {
    vm: &'static Vm,
    process: &'static Process,
    local: Local,
}

impl TestProcess {
    /// The first process of a VM.
    pub fn new(vm: &'static Vm) -> TestProcess {
        let first = Export::intern(Mfa { module: am::erts_internal, function: am::start, arity: 0 });
        let pid = spawn_orphan(vm, first, &[], &SpawnOptions::new(vm)).expect("the table is empty");
        let process = vm.processes.get(pid).expect("just made");
        process.start_running();
        TestProcess { vm, process, local: vm.scheduler_local(0, false).expect("the first thread") }
    }

    /// Does `work` as the process.
    pub fn run<R>(&mut self, work: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
        // SAFETY: process/P2: `new` has made it Running, and who has `&mut self` is the only one to run it.
        let state = unsafe { self.process.owner_state() };
        work(&mut Ctx { state, process: self.process, sched: &mut self.local, vm: self.vm })
    }
}

static CLASS: LockClass = LockClass::new("test_vm", 1);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(&CLASS, ());

/// Runs a test inside a process of a VM of its own with this subsystem, while no other such test of the program runs.
pub fn in_process<R>(subsystem: Box<dyn Subsystem>, test: impl FnOnce(&mut Ctx<'_>) -> R) -> R {
    let _one = ONE_AT_A_TIME.lock();
    TestProcess::new(vm(NoEngine, vec![subsystem])).run(test)
}

/// Calls a built-in function by its name, as Erlang code would.
pub fn call(ctx: &mut Ctx<'_>, module: &str, function: &str, args: &[Term]) -> BifResult {
    let atom = |text| Atom::new(text).expect("room for atoms");
    let mfa = Mfa { module: atom(module), function: atom(function), arity: args.len() as u8 };
    let def = ctx.vm.bifs.bif(mfa).unwrap_or_else(|| panic!("no {module}:{function}/{}", args.len()));
    (def.function_ptr)(ctx, args)
}

/// The text of a result, as `erlang:display/1` prints it; `error:Reason` for an error.
pub fn text(result: BifResult) -> String {
    let show = |term| String::from_utf8_lossy(&print::display(term)).into_owned();
    match result {
        Ok(term) => show(term),
        Err(Escape::Error(reason)) => format!("error:{}", show(reason)),
        Err(Escape::Trap(export)) => format!("trap:{}/{}", export.mfa.function.text(), export.mfa.arity),
        Err(_) => "another escape".to_owned(),
    }
}
