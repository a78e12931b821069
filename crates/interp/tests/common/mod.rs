//! A VM without OTP's boot, for tests.

use myriad_interp::Interpreter;
use myriad_vm::Vm;
use myriad_vm::code::{LoadError, Module, prepare};

/// A VM with one scheduler, on the interpreter.
pub fn vm() -> &'static Vm {
    myriad_testing::vm(Interpreter::new(), vec![Box::<myriad_bif::Builtins>::default()])
}

/// A module from its file's bytes, not loaded: never freed.
pub fn prepared(vm: &'static Vm, bytes: &[u8]) -> Result<&'static Module, LoadError> {
    let prepared: &'static _ = Box::leak(Box::new(prepare(bytes, &vm.bifs, vm.engine())?));
    Ok(prepared.module())
}
