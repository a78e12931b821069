//! A VM without OTP's boot, for tests.

#![allow(dead_code, reason = "each test uses its own part of this")]
use myriad_interp::Interpreter;
use myriad_vm::Vm;
use myriad_vm::code::{LoadError, Module, install_undefined, prepare};
use myriad_vm::release::Release;
use myriad_vm::vm::{Config, ExitHook, Parts};
use std::path::PathBuf;

/// A VM with one scheduler, which the test steps.
pub fn vm(exit_hooks: Vec<ExitHook>) -> &'static Vm {
    let config = Config {
        schedulers: 1,
        schedulers_online: 1,
        dirty_cpu: 1,
        dirty_cpu_online: 1,
        dirty_io: 1,
        process_limit: 4096,
        port_limit: 64,
        atom_limit: 1 << 20,
        heap: myriad_heap::Settings::default(),
        off_heap_messages: false,
        root: PathBuf::new(),
        arguments: Vec::new(),
        emulator_flags: Vec::new(),
        backtrace_depth: 8,
    };
    let release = Release::without_root(25).expect("25 is known");
    let parts = Parts { engine: Box::new(Interpreter::new()), bifs: myriad_bif::TABLES.to_vec(), exit_hooks };
    let vm = Vm::new(config, release, parts);
    install_undefined(vm.engine());
    vm
}

/// A module from its file's bytes, not loaded: never freed.
pub fn prepared(vm: &'static Vm, bytes: &[u8]) -> Result<&'static Module, LoadError> {
    let prepared: &'static _ = Box::leak(Box::new(prepare(bytes, &vm.bifs, vm.engine())?));
    Ok(prepared.module())
}
