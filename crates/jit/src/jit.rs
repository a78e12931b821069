//! When functions are compiled: before they first run.

use crate::compile::compile;
use myriad_interp::tiers::Compiler;
use myriad_native::link::CodeSpace;
use myriad_native::memory::{Mode, NoMemory};
use myriad_sync::Arc;
use myriad_vm::Vm;
use myriad_vm::code::Function;

/// Address space for code, bytes.
const SPACE: usize = 1 << 30;

/// The compiler of a VM.
pub struct Jit {
    space: Arc<CodeSpace>,
}

impl Jit {
    /// One with memory for code.
    ///
    /// # Errors
    /// The system gives none.
    pub fn new(mode: Mode) -> Result<Jit, NoMemory> {
        Ok(Jit { space: Arc::new(CodeSpace::new(SPACE, mode)?) })
    }
}

impl Compiler for Jit {
    fn decoded(&self, vm: &'static Vm, function: &'static Function) {
        // What is declined runs in tier 0.
        // SAFETY: the process that is about to run the function keeps its module (code/K3).
        let _ = unsafe { compile(vm, function, &self.space) };
    }
}
