//! The virtual machine: what all its schedulers share.

use crate::bif::Registry as Bifs;
use crate::code::CodeServer;
use crate::defaults::Defaults;
use crate::dirty::DirtyPools;
use crate::emulator_flags::EmulatorFlags;
use crate::engine::Engine;
use crate::literals::Literals;
use crate::machine::{Machine, Threads};
use crate::microstate::{self, Microstates};
use crate::multi::Multi;
use crate::release::Release;
use crate::safepoint::World;
use crate::scheduler::{PaddedShared, Shared};
use crate::subsystem::{Subsystem, Subsystems};
use crate::test_hooks::TestHooks;
use crate::time::{Clock, WarpMode};
use crate::timer::Timers;
use crate::{ProcessTable, Signal};
use myriad_heap::Settings;
use myriad_process::{Names, Parcel};
use myriad_sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{Arc, CachePadded, IdleSet, Progress};
use myriad_term::{Atom, CodeNames, Pid, Port, RefNumbers, Term};
use std::path::PathBuf;

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
    /// Most processes.
    pub process_limit: usize,
    /// Most ports.
    pub port_limit: usize,
    /// Most atoms.
    pub atom_limit: usize,
    /// Heap defaults.
    pub heap: Settings,
    /// `+hmqd off_heap`
    pub off_heap_messages: bool,
    /// `-root`
    pub root: PathBuf,
    /// What follows the emulator flags, for `erl_init:start/2`.
    pub arguments: Vec<Vec<u8>>,
    /// What other emulator flags say.
    pub flags: EmulatorFlags,
    /// Depth of stack traces.
    pub backtrace_depth: usize,
    /// `+JMintrinsics`: do intrinsics run ([`crate::intrinsic`])?
    pub intrinsics: bool,
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
            process_limit: 1024,
            port_limit: 16,
            atom_limit: 1 << 20,
            heap: Settings::default(),
            off_heap_messages: false,
            root: PathBuf::new(),
            arguments: Vec::new(),
            flags: EmulatorFlags::default(),
            backtrace_depth: 8,
            intrinsics: true,
        }
    }
}

/// The operations of crate `io` on ports that processes need (the lower crate states them, the upper implements).
pub trait PortOps: Send + Sync {
    /// Sends a message to a port (`Port ! {Owner, Command}`); gives how many bytes it has taken.
    fn message(&self, vm: &'static Vm, port: Port, from: Term, message: Term) -> usize;
    /// A signal for a port: link, unlink, exit, monitor.
    fn signal(&self, vm: &'static Vm, port: Port, signal: Signal);
    /// Takes a monitor on a port back.
    fn demonitor(&self, vm: &'static Vm, port: Port, reference: RefNumbers);
    /// Is there such a port, and open?
    fn is_open(&self, vm: &'static Vm, port: Port) -> bool;
    /// A trace message for a port that is a tracer: it gets it in the external format.
    fn trace_output(&self, vm: &'static Vm, port: Port, message: Parcel);
    /// The same, soon, from one who may hold another port.
    fn trace_output_soon(&self, vm: &'static Vm, port: Port, message: Parcel);
    /// Lets `f` see whether and by whom a port is traced, if there is such a port.
    fn with_tracee(&self, vm: &'static Vm, port: Port, f: &mut dyn FnMut(&myriad_process::Tracee));
    /// All ports.
    fn all(&self, vm: &'static Vm) -> Vec<Port>;
    /// The number that the next port gets; `set` makes it have these bits, as far as they go.
    fn next(&self, vm: &'static Vm, set: Option<u64>) -> u64;
    /// Would who sends it a message be suspended?
    fn is_busy(&self, vm: &'static Vm, port: Port) -> bool;
}

/// Buckets in which tables are looked up by name, by the atom's number (crate `ets`).
pub const TABLE_NAME_BUCKETS: usize = 256;

/// The virtual machine.
pub struct Vm {
    /// The command line's decisions.
    pub config: Config,
    /// What the OTP release is like.
    pub release: Release,
    /// Processes.
    pub processes: ProcessTable,
    /// Registered names.
    pub names: Names,
    /// Loaded code.
    pub code: CodeServer,
    /// Exports and fun entries.
    code_names: CodeNames,
    /// Built-in functions.
    pub bifs: Bifs,
    /// What all see of the schedulers.
    pub schedulers: Box<[PaddedShared]>,
    /// Dirty schedulers.
    pub dirty: DirtyPools,
    /// Literals that are to go.
    pub literals: Literals,
    /// Timers.
    pub timers: Timers,
    /// Clocks.
    pub clock: Clock,
    /// Time, randomness, parking.
    pub machine: Box<dyn Machine>,
    /// What programs may change.
    pub defaults: Defaults,
    /// Tracing.
    pub trace: crate::trace::Tracing,
    /// What OTP's suites may change.
    pub test_hooks: TestHooks,
    /// How often a scheduler has compared the lengths of the run queues (a statistic).
    pub balances: AtomicUsize,
    /// Thread progress.
    pub progress: Arc<Progress>,
    /// Thread progress of the normal schedulers alone, whose slices are short: what only they read without locks is freed
    /// while a dirty scheduler blocks, too.
    pub slices: Arc<Progress>,
    /// What the threads spend their time on.
    pub microstates: Microstates,
    /// Number of threads that make references with a number of their own.
    locals: usize,
    engine: Box<dyn Engine>,
    pub(crate) subsystems: Subsystems,
    /// How many schedulers run.
    pub(crate) multi: Multi,
    /// Schedulers without work (Q2). Written whenever one parks, so on a line of its own: its neighbours are read in each slice.
    pub(crate) idle: CachePadded<IdleSet>,
    stopping: AtomicBool,
    pub(crate) world: World,
    exit_status: AtomicI64,
    foreign_refs: AtomicU64,
    monotonic_uniques: AtomicU64,
}

/// What the upper crates give the VM at start.
pub struct Parts {
    /// The executor.
    pub engine: Box<dyn Engine>,
    /// The upper crates, in the order in which they let go of a process that ends.
    pub subsystems: Vec<Box<dyn Subsystem>>,
    /// Who compiles match specifications for tracing.
    pub compile_specification: crate::trace::Compiler,
}

impl Parts {
    /// An executor and subsystems; no specification can be compiled.
    pub fn new(engine: Box<dyn Engine>, subsystems: Vec<Box<dyn Subsystem>>) -> Parts {
        Parts { engine, subsystems, compile_specification: |_, _| None }
    }
}

impl Vm {
    /// A VM. It lives for ever: `Ctx` and threads refer to it as `'static`.
    pub fn new(config: Config, release: Release, parts: Parts) -> &'static Vm {
        let machine = Threads::new(config.schedulers);
        Self::on_machine(config, release, parts, Box::new(machine))
    }

    /// A VM on a given machine (the test driver's, the simulator's).
    pub fn on_machine(config: Config, release: Release, parts: Parts, machine: Box<dyn Machine>) -> &'static Vm {
        myriad_term::atom::set_limit(config.atom_limit);
        let locals = config.schedulers + config.dirty_cpu + config.dirty_io + 1;
        let schedulers = (0..config.schedulers).map(|_| PaddedShared::new(Shared::default())).collect();
        let tables: Vec<_> = parts.subsystems.iter().flat_map(|one| one.tables()).copied().collect();
        let intrinsics = parts.subsystems.iter().filter(|_| config.intrinsics).map(|one| one.intrinsics());
        let bifs = intrinsics.fold(Bifs::new(&release, &tables), Bifs::with_intrinsics);
        let mode = WarpMode::named(config.flags.time_warp_mode.unwrap_or(release.time_warp_mode));
        let clock = Clock::new(machine.as_ref(), mode.unwrap_or(WarpMode::No));
        let vm: &'static Vm = Box::leak(Box::new(Vm {
            processes: ProcessTable::new(config.process_limit),
            names: Names::default(),
            code: CodeServer::default(),
            code_names: CodeNames::default(),
            bifs,
            schedulers,
            dirty: DirtyPools::new(&config),
            literals: Literals::default(),
            timers: Timers::new(config.schedulers),
            clock,
            machine,
            progress: Progress::running_by(locals + 64, microstate::as_aux),
            slices: Progress::running_by(config.schedulers + 8, microstate::as_aux),
            microstates: Microstates::new(&config),
            locals,
            engine: parts.engine,
            defaults: Defaults::new(config.heap, config.backtrace_depth),
            test_hooks: TestHooks::default(),
            trace: crate::trace::Tracing::new(parts.compile_specification),
            balances: AtomicUsize::new(0),
            subsystems: Subsystems::new(parts.subsystems),
            multi: Multi::new(config.schedulers_online.clamp(1, config.schedulers), config.dirty_cpu_online.max(1)),
            idle: CachePadded::new(IdleSet::new()),
            stopping: AtomicBool::new(false),
            world: World::default(),
            exit_status: AtomicI64::new(0),
            foreign_refs: AtomicU64::new(0),
            monotonic_uniques: AtomicU64::new(0),
            config,
            release,
        }));
        vm.adopt_thread();
        crate::time::start(vm);
        vm
    }

    /// The calling thread works for this VM from now on: exports and funs that it names are the VM's.
    pub fn adopt_thread(&'static self) {
        self.code_names.enter();
    }

    /// The executor.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    pub(crate) fn local_count(&self) -> usize {
        self.locals
    }

    /// Numbers of a new reference, on a thread that is no scheduler.
    pub fn foreign_ref(&self) -> RefNumbers {
        // Relaxed: only uniqueness counts.
        let count = self.foreign_refs.fetch_add(1, Ordering::Relaxed) + 1;
        RefNumbers::nth(count * self.locals as u64 + self.locals as u64 - 1)
    }

    /// The `count`-th unique integer of a scheduler by its number from 1 (0 stands for all other threads): the number is in the
    /// lowest bits.
    pub fn unique(&self, scheduler: u64, count: u64) -> i128 {
        let bits = (self.locals as u64 - 1).checked_ilog2().map_or(0, |log| log + 1);
        crate::scheduler::LEAST_UNIQUE + (i128::from(count) << bits | i128::from(scheduler))
    }

    /// A new strictly rising unique integer, from the same first one as the others.
    pub fn next_monotonic_unique(&self) -> i128 {
        // Relaxed: the counter's own order is what counts.
        crate::scheduler::LEAST_UNIQUE + i128::from(self.monotonic_uniques.fetch_add(1, Ordering::Relaxed))
    }

    /// Default heap sizes.
    pub fn heap_settings(&self) -> Settings {
        self.defaults.heap()
    }

    /// This node's name.
    pub fn node_name(&self) -> Atom {
        myriad_term::node::local().0
    }

    /// This node's creation.
    pub fn creation(&self) -> u32 {
        myriad_term::node::local().1
    }

    /// The port system.
    pub fn ports(&self) -> Option<&'static dyn PortOps> {
        self.subsystems.ports()
    }

    /// Sends a signal to a process; `false` if there is none.
    pub fn signal_pid(&'static self, to: Pid, signal: Signal) -> bool {
        self.processes.get(to).is_some_and(|p| self.send(p, signal))
    }

    /// Sends a signal to a local process or port.
    pub fn signal_term(&'static self, to: Term, signal: Signal) {
        if let Some(pid) = to.as_local_pid() {
            self.signal_pid(pid, signal);
        } else if let (Some(port), Some(ports)) = (to.as_local_port(), self.ports()) {
            ports.signal(self, port, signal);
        }
    }

    pub(crate) fn port_demonitor(&'static self, port: Port, reference: RefNumbers) {
        if let Some(ports) = self.ports() {
            ports.demonitor(self, port, reference);
        }
    }

    /// Is the VM stopping?
    #[inline]
    pub fn is_stopping(&self) -> bool {
        // Acquire: pairs with the Release in `stop`.
        self.stopping.load(Ordering::Acquire)
    }

    /// Stops all schedulers; `run` returns with this status.
    pub fn stop(&self, status: i32) {
        self.exit_status.store(i64::from(status), Ordering::Relaxed);
        // Release: the status is seen with the flag.
        self.stopping.store(true, Ordering::Release);
        for id in 0..self.schedulers.len() {
            self.machine.unpark(id);
        }
        self.dirty.wake_all();
    }

    /// Starts all scheduler threads, and waits until the VM stops. Returns the exit status.
    pub fn run(&'static self) -> i32 {
        use myriad_sync::thread;
        let mut threads = Vec::new();
        for id in 0..self.config.schedulers {
            let body = move || {
                if let Some(mut scheduler) = crate::scheduler::Scheduler::new(self, id) {
                    scheduler.run_thread();
                }
            };
            match thread::spawn(&format!("{}_scheduler", id + 1), body) {
                Ok(thread) => threads.push(thread),
                Err(error) => panic!("cannot start scheduler {}: {error}", id + 1),
            }
        }
        let kinds = std::iter::repeat_n(crate::bif::DirtyKind::Cpu, self.config.dirty_cpu)
            .chain(std::iter::repeat_n(crate::bif::DirtyKind::Io, self.config.dirty_io));
        for (i, kind) in kinds.enumerate() {
            let id = self.config.schedulers + i;
            let body = move || {
                if let Some(local) = crate::scheduler::Local::new(self, id, true) {
                    self.dirty.run_thread(self, kind, i, local);
                }
            };
            if let Err(error) = thread::spawn(&format!("dirty_{}", i + 1), body) {
                panic!("cannot start a dirty scheduler: {error}");
            }
        }
        for t in threads {
            let _ = t.join();
        }
        // Relaxed: ordered by `stopping`.
        self.exit_status.load(Ordering::Relaxed) as i32
    }
}
