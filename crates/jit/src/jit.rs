//! Which functions are compiled, and when.
//!
//! Tier 0 tells of the function that it calls when it looks at reductions anyway, every few hundred of them and at the end of a slice. A
//! function that was met so often is compiled, once, by a worker or, without workers, by the scheduler itself; what is declined then runs in
//! tier 0 for as long as its module lives. A loop goes on in machine code at its next turn, since its calls of itself pass the entry.
//!
//! What an earlier run has compiled is linked at the first call, what `myriad compile` has, at the first sample (`cache.rs`).

use crate::cache::{Cache, What};
use crate::compile::{Why, link};
use crate::counters::Counted;
use crate::views::Views;
use crate::workers::{Job, Workers};
use myriad_interp::tiers::{Compiler, Heat};
use myriad_native::code::Refused;
use myriad_native::link::CodeSpace;
use myriad_native::memory::{Mode, NoMemory, Usage};
use myriad_sync::{Arc, REPEATS, memory};
use myriad_vm::Vm;
use myriad_vm::code::Function;
use myriad_vm::config::Config;

/// Address space for code, bytes, and below which it is not worth trying: where address space is scarce, there is less.
const MOST: usize = 1 << 30;
const LEAST: usize = 16 << 20;
/// What share of a limited address space it takes at most, in each of its mappings, of which there are one or two.
const SHARE: usize = 32;

/// The compiler of a VM.
pub struct Jit {
    space: Arc<CodeSpace>,
    views: Arc<Views>,
    /// Samples.
    threshold: u32,
    /// None where runs are to repeat exactly.
    workers: Option<Workers>,
}

/// What is to be seen of a compiler.
pub struct Seen {
    space: Arc<CodeSpace>,
    views: Arc<Views>,
}

impl Seen {
    /// Its memory for code.
    pub fn memory(&self) -> Usage {
        self.space.memory().usage()
    }

    /// What it has compiled.
    pub fn counted(&self) -> Counted {
        self.views.counters().counted()
    }
}

impl Jit {
    /// As the command line asks for it: functions are compiled after `native_threshold` samples (1: before they first run), on `native_threads` threads (0: where
    /// they run).
    ///
    /// # Errors
    /// There is no back end, or the system gives no memory.
    pub fn new(config: &Config) -> Result<Jit, Why> {
        if !myriad_native::HAS_BACK_END {
            return Err(Why::Refused(Refused::Processor));
        }
        // `perf` takes names from a map only for memory that is no file's.
        let is_single = config.native_single || config.native_files.perf_map;
        let mode = if is_single { Mode::Single } else { Mode::Double };
        let bytes = (memory::address_space() / SHARE).min(MOST);
        if bytes < LEAST {
            return Err(Why::Memory(NoMemory::Full));
        }
        // Where such a file is not allowed one mapping does.
        let space = CodeSpace::new(bytes, mode).or_else(|_| CodeSpace::new(bytes, Mode::Single));
        let space = Arc::new(space.map_err(Why::Memory)?);
        let views = Arc::new(Views::new(config));
        let threshold = config.native_threshold;
        let threads = if REPEATS || threshold == 1 { 0 } else { config.native_threads };
        let workers = Workers::start(threads, &space, &views);
        Ok(Jit { space, views, threshold, workers })
    }

    /// What is to be seen of it.
    pub fn seen(&self) -> Seen {
        Seen { space: self.space.clone(), views: self.views.clone() }
    }

    /// Links code of an earlier run for a function that a process is about to run, if there is some in such a file.
    fn link_kept(&self, vm: &'static Vm, function: &'static Function, what: What) -> bool {
        let (Some(cache), Some(module)) = (Cache::of_program(), function.module()) else { return false };
        let found = cache.find(vm, module, function.index, what);
        // SAFETY: as in `compile_now`.
        let linked = found.is_some_and(|made| unsafe { link(vm, function, &self.space, &made) }.is_ok());
        self.views.counters().looked_up(linked);
        linked
    }

    /// Compiles a function that a process is about to run.
    fn compile_now(&self, vm: &'static Vm, function: &'static Function) {
        // SAFETY: the process that is about to run the function keeps its module (code/K3).
        unsafe { self.views.compile(vm, function, &self.space) };
    }
}

impl Compiler for Jit {
    fn decoded(&self, vm: &'static Vm, function: &'static Function) {
        if !self.link_kept(vm, function, What::Hot) && self.threshold == 1 {
            self.compile_now(vm, function);
        }
    }

    fn sampled(&self, vm: &'static Vm, function: &'static Function, heat: &Heat) {
        if heat.reaches(1) && self.link_kept(vm, function, What::All) {
            return;
        }
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
