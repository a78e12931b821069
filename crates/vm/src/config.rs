//! What the command line decides of a VM.

use crate::emulator_flags::EmulatorFlags;
use myriad_heap::{Architecture, Settings};
use myriad_sched::Tuning;
use myriad_sched::schedulers::Numbers;
use myriad_sync::machine::{BindType, Topology};
use myriad_sync::thread::CAN_SPAWN;
use std::path::PathBuf;

/// Most private threads of a VM: as many as there may be schedulers (`+S`).
pub const MOST_PRIVATE_THREADS: usize = 1024;

/// What the command line decides.
#[derive(Clone, Debug)]
pub struct Config {
    /// Normal schedulers, and how many of them are online.
    pub schedulers: usize,
    /// Schedulers online at start.
    pub schedulers_online: usize,
    /// Dirty CPU schedulers.
    pub dirty_cpu: usize,
    /// Dirty CPU schedulers online at start.
    pub dirty_cpu_online: usize,
    /// Dirty I/O schedulers.
    pub dirty_io: usize,
    /// How schedulers wake, search and balance.
    pub tuning: Tuning,
    /// Most private threads; 0 = a process cannot have one.
    pub private_threads: usize,
    /// `+A`: threads for the work that C drivers give (`driver_async`).
    pub async_threads: usize,
    /// Most processes.
    pub process_limit: usize,
    /// Most ports.
    pub port_limit: usize,
    /// Most atoms.
    pub atom_limit: usize,
    /// Heap defaults.
    pub heap: Settings,
    /// How processes have their memory.
    pub architecture: Architecture,
    /// `+hmqd off_heap`
    pub off_heap_messages: bool,
    /// `-root`
    pub root: PathBuf,
    /// What follows the emulator flags, for `erl_init:start/2`.
    pub arguments: Vec<Vec<u8>>,
    /// `+sbt`: how schedulers are bound to processors.
    pub bind_type: BindType,
    /// `+sct`: the topology that is to count instead of the one that is detected.
    pub cpu_topology: Option<Topology>,
    /// What other emulator flags say.
    pub flags: EmulatorFlags,
    /// Depth of stack traces.
    pub backtrace_depth: usize,
    /// `+JMintrinsics`: do intrinsics run ([`crate::intrinsic`])?
    pub intrinsics: bool,
    /// `+Jnative`: are functions compiled?
    pub native: bool,
    /// `+Jthreshold`: after so many samples a function is compiled; 1: before it first runs.
    pub native_threshold: u32,
    /// `+Jthreads`: threads that compile; without, schedulers do.
    pub native_threads: usize,
    /// `+JMsingle`: does code stand in memory that is mapped once?
    pub native_single: bool,
    /// `+JMvisits`: does machine code leave to tier 0 whatever can be left to it, for tests?
    pub native_visits: bool,
    /// What is written of machine code.
    pub native_files: NativeFiles,
    /// `+Jcache`: is machine code kept for later runs, and where?
    pub native_cache: NativeCache,
    /// `+nifcheck`: is what NIF libraries hand to their interface checked?
    pub nif_check: bool,
    /// `+JMyields`: slices are of lengths drawn by this seed ([`myriad_sched::pace`]), for tests.
    pub yields: Option<u64>,
    /// `+JMmigrate`: processes move to private threads and back as this seed draws, for tests.
    pub migrates: Option<u64>,
    /// `+JMbuilt`: do messages that were built to be sent go from where they were built ([`Ctx::send_built`](crate::Ctx::send_built))?
    pub built_messages: bool,
    /// `+JMphases`: is the time of sends and collections measured ([`myriad_heap::phases`])?
    pub phases: bool,
}

/// Files that are written as functions are compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFiles {
    /// `+JPperf map`, `true`: one with the names of functions.
    pub perf_map: bool,
    /// `+JPperf dump`, `true`: one with their code and lines.
    pub perf_dump: bool,
    /// `+JPperfdirectory`: where these two are.
    pub perf_directory: PathBuf,
    /// `+JDdump`: one for each module, with listings.
    pub listings: bool,
}

impl Default for NativeFiles {
    /// None.
    fn default() -> NativeFiles {
        NativeFiles { perf_map: false, perf_dump: false, perf_directory: "/tmp".into(), listings: false }
    }
}

/// Where machine code is kept for later runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum NativeCache {
    /// In the user's directory for such things.
    #[default]
    Usual,
    /// Nowhere, and none is taken from anywhere.
    None,
    /// In this directory.
    At(PathBuf),
}

/// Samples, of which there is one in some 500 reductions, after which functions are compiled unless `+Jthreshold` says otherwise.
pub const NATIVE_THRESHOLD: u32 = 30;
/// Most threads that compile.
pub const MOST_NATIVE_THREADS: usize = 64;

impl Config {
    /// How many schedulers there are.
    pub(crate) fn numbers(&self) -> Numbers {
        Numbers {
            normal: self.schedulers,
            online: self.schedulers_online,
            dirty_cpu: self.dirty_cpu,
            dirty_cpu_online: self.dirty_cpu_online,
            dirty_io: self.dirty_io,
            private: if CAN_SPAWN { self.private_threads } else { 0 },
        }
    }
}

impl Default for Config {
    /// A small VM of one scheduler, without dirty ones: for examples and tests.
    fn default() -> Config {
        Config {
            schedulers: 1,
            schedulers_online: 1,
            dirty_cpu: 0,
            dirty_cpu_online: 0,
            dirty_io: 0,
            tuning: Tuning::default(),
            private_threads: 0,
            async_threads: 1,
            process_limit: 1024,
            port_limit: 1024,
            atom_limit: 1 << 20,
            heap: Settings::default(),
            architecture: Architecture::default(),
            off_heap_messages: false,
            root: PathBuf::new(),
            arguments: Vec::new(),
            bind_type: BindType::Unbound,
            cpu_topology: None,
            flags: EmulatorFlags::default(),
            backtrace_depth: 8,
            intrinsics: true,
            native: false,
            native_threshold: NATIVE_THRESHOLD,
            native_threads: 0,
            native_single: false,
            native_visits: false,
            native_files: NativeFiles::default(),
            native_cache: NativeCache::None,
            nif_check: false,
            yields: None,
            migrates: None,
            built_messages: true,
            phases: false,
        }
    }
}
