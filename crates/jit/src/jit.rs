//! Which functions are compiled, and when.
//!
//! Tier 0 tells of the function that it calls when it looks at reductions anyway, every few hundred of them and at the end of a slice. A
//! function that was met so often is compiled, once, by a worker or, without workers, by the scheduler itself; what is declined then runs in
//! tier 0 for as long as its module lives. A loop goes on in machine code at its next turn, since its calls of itself pass the entry.

use crate::compile::compile;
use crate::workers::{Job, Workers};
use myriad_interp::tiers::{Compiler, Heat};
use myriad_native::link::CodeSpace;
use myriad_native::memory::{Mode, NoMemory};
use myriad_sync::Arc;
use myriad_sync::REPEATS;
use myriad_vm::Vm;
use myriad_vm::code::Function;

/// Address space for code, bytes.
const SPACE: usize = 1 << 30;

/// The compiler of a VM.
pub struct Jit {
    space: Arc<CodeSpace>,
    /// Samples.
    threshold: u32,
    /// None where runs are to repeat exactly.
    workers: Option<Workers>,
}

impl Jit {
    /// One with memory for code, which compiles functions after so many samples (1: before they first run), on so many threads (0: where
    /// they run).
    ///
    /// # Errors
    /// The system gives no memory.
    pub fn new(mode: Mode, threshold: u32, threads: usize) -> Result<Jit, NoMemory> {
        let space = Arc::new(CodeSpace::new(SPACE, mode)?);
        let threads = if REPEATS || threshold == 1 { 0 } else { threads };
        let workers = Workers::start(threads, &space);
        Ok(Jit { space, threshold, workers })
    }

    /// Compiles a function that a process is about to run.
    fn compile_now(&self, vm: &'static Vm, function: &'static Function) {
        // SAFETY: the process that is about to run the function keeps its module (code/K3).
        let _ = unsafe { compile(vm, function, &self.space) };
    }
}

impl Compiler for Jit {
    fn decoded(&self, vm: &'static Vm, function: &'static Function) {
        if self.threshold == 1 {
            self.compile_now(vm, function);
        }
    }

    fn sampled(&self, vm: &'static Vm, function: &'static Function, heat: &Heat) {
        if self.threshold == 1 || !heat.reaches(self.threshold) {
            return;
        }
        match &self.workers {
            None => self.compile_now(vm, function),
            Some(workers) => {
                if let Some(job) = Job::new(vm, function)
                    && !workers.push(job)
                {
                    // There is too much to do: it may come again.
                    heat.cool();
                }
            }
        }
    }
}
