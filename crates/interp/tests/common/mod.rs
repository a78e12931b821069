//! A VM without OTP's boot, for tests.

#![allow(dead_code, reason = "each test uses its own part of this")]
use myriad_interp::Interpreter;
use myriad_trace::Tracing;
use myriad_vm::Vm;
use myriad_vm::code::{LoadError, Module, install_undefined, prepare};
use myriad_vm::observer::NoObserver;
use myriad_vm::release::Release;
use myriad_vm::vm::{Config, Parts};

/// A VM with one scheduler, which the test steps.
pub fn vm() -> &'static Vm {
    let config = Config { dirty_cpu: 1, dirty_cpu_online: 1, dirty_io: 1, process_limit: 4096, ..Config::default() };
    let release = Release::without_root(25).expect("25 is known");
    let parts = Parts {
        engine: Box::new(Interpreter::new()),
        subsystems: vec![Box::<myriad_bif::Builtins>::default()],
        tracer: Box::new(Tracing::new(|_, _| None)),
        observer: Box::new(NoObserver),
    };
    let vm = Vm::new(config, release, parts);
    install_undefined::<myriad_vm::Vm>(vm.engine());
    vm
}

/// A module from its file's bytes, not loaded: never freed.
pub fn prepared(vm: &'static Vm, bytes: &[u8]) -> Result<&'static Module, LoadError> {
    let prepared: &'static _ = Box::leak(Box::new(prepare(bytes, &vm.bifs, vm.engine())?));
    Ok(prepared.module())
}
