//! The virtual machine: what all its schedulers share.

pub use crate::config::Config;
pub use crate::upcalls::{Handed, PortOps};

use crate::bif::Registry as Bifs;
use crate::clean_up::CleanUp;
use crate::defaults::Defaults;
use crate::holders::Holders;
use crate::literals::Literals;
use crate::parts::PartTable;
use crate::release::Release;
use crate::runtime::{CodeServer, ProcessTable, Signal};
use crate::sleepers::Sleepers;
use crate::stops::Stops;
use crate::test_hooks::TestHooks;
use crate::tracer::switches::{MIGRATION, Switches};
use crate::upcalls::{Engine, Observer, Part, Subsystem, Tracer};
use myriad_heap::Settings;
use myriad_process::Names;
use myriad_process::nodes::Nodes;
use myriad_sched::local::{LEAST_UNIQUE, SharedCounts, unique_integer};
use myriad_sched::microstate::{self, Microstates, State};
use myriad_sched::{Binding, Clock, Local, Places, Platform, Schedulers, Threads, Timers, WarpMode};
use myriad_sync::atomic::{AtomicI64, AtomicU64, Ordering};
use myriad_sync::{Arc, CachePadded, Progress};
use myriad_term::{Atom, CodeNames, Pid, Port, RefNumbers, Term};

/// Buckets in which tables are looked up by name, by the atom's number (crate `ets`): each has a lock for those who give names.
pub const TABLE_NAME_BUCKETS: usize = 64;

/// The virtual machine.
pub struct Vm {
    /// The command line's decisions.
    pub config: Config,
    /// What the OTP release is like.
    pub release: Release,
    /// All processes, by their pids.
    pub processes: ProcessTable,
    /// Registered names.
    pub names: Names,
    /// Who is told of nodes, and by whom this one is kept alive.
    pub(crate) nodes: Nodes,
    /// Loaded code.
    pub code: CodeServer,
    /// Exports and fun entries.
    code_names: CodeNames,
    /// Built-in functions.
    pub bifs: Bifs,
    /// The schedulers, dirty ones too.
    pub schedulers: Schedulers<Vm>,
    /// Which processors the schedulers are bound to.
    pub binding: Binding,
    /// Which schedulers are to give memory back.
    pub(crate) clean_up: CleanUp,
    /// How long all processes stood for collections of the one heap.
    pub stops: Stops,
    /// Literals that are to go.
    pub literals: Literals,
    /// Processes that sleep and hold bundles.
    pub(crate) holders: Holders,
    /// Those that sleep and have a large old generation.
    pub(crate) sleepers: Sleepers,
    /// The timers of all schedulers.
    pub timers: Timers<Vm>,
    /// Monotonic time, system time and the offset between them.
    pub clock: Clock,
    /// Time, randomness, parking.
    pub platform: Arc<dyn Platform>,
    /// What programs may change.
    pub defaults: Defaults,
    /// What of the whole VM is watched. Read at each call of a built-in, so on a line of its own: its neighbours are written.
    pub switches: CachePadded<Switches>,
    /// What OTP's suites may change.
    pub test_hooks: TestHooks,
    /// Thread progress.
    pub progress: Arc<Progress>,
    /// Thread progress of the normal schedulers alone, whose slices are short: what only they read without locks is freed
    /// while a dirty scheduler blocks, too.
    pub slices: Arc<Progress>,
    /// What the threads spend their time on.
    pub microstates: Microstates,
    /// Number of threads that make references with a number of their own.
    pub(crate) locals: usize,
    engine: Box<dyn Engine>,
    tracer: Box<dyn Tracer>,
    observer: Box<dyn Observer>,
    pub(crate) subsystems: Subsystems,
    exit_status: AtomicI64,
    pub(crate) shared_counts: SharedCounts,
    monotonic_uniques: AtomicU64,
}

/// The subsystems of a VM, in the order in which they let go of a process that ends.
pub(crate) struct Subsystems {
    all: Vec<&'static dyn Subsystem>,
    pub(crate) parts: PartTable,
    ports: Option<&'static dyn PortOps>,
}

impl Subsystems {
    pub(crate) fn new(all: Vec<Box<dyn Subsystem>>) -> Subsystems {
        let all: Vec<&'static dyn Subsystem> = all.into_iter().map(|one| &*Box::leak(one)).collect();
        let parts: Vec<Part> = all.iter().flat_map(|one| one.parts()).collect();
        let ports = all.iter().find_map(|one| one.ports());
        Subsystems { all, parts: PartTable::new(&parts), ports }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static dyn Subsystem> {
        self.all.iter().copied()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'static dyn Subsystem> {
        self.all.get(index).copied()
    }

    pub(crate) fn ports(&self) -> Option<&'static dyn PortOps> {
        self.ports
    }
}

/// What the upper crates give the VM at start.
pub struct Parts {
    /// The executor.
    pub engine: Box<dyn Engine>,
    /// The upper crates, in the order in which they let go of a process that ends.
    pub subsystems: Vec<Box<dyn Subsystem>>,
    /// What traces: crate `trace`.
    pub tracer: Box<dyn Tracer>,
    /// What shows the VM to people: crate `observe`.
    pub observer: Box<dyn Observer>,
}

impl Vm {
    /// A VM. It lives for ever: `Ctx` and threads refer to it as `'static`.
    pub fn new(config: Config, release: Release, parts: Parts) -> &'static Vm {
        let platform = Threads::new(config.schedulers);
        Self::on_platform(config, release, parts, Arc::new(platform))
    }

    /// A VM on a given machine (the test driver's, the simulator's).
    pub fn on_platform(config: Config, release: Release, parts: Parts, platform: Arc<dyn Platform>) -> &'static Vm {
        myriad_term::atom::set_limit(config.atom_limit);
        let private = config.numbers().private;
        let locals = config.schedulers + config.dirty_cpu + config.dirty_io + 1;
        let tables: Vec<_> = parts.subsystems.iter().flat_map(|one| one.tables()).copied().collect();
        let intrinsics = parts.subsystems.iter().filter(|_| config.intrinsics).map(|one| one.intrinsics());
        let bifs = intrinsics.fold(Bifs::new(&release, &tables), Bifs::with_intrinsics);
        let mode = WarpMode::named(config.flags.time_warp_mode.unwrap_or(release.time_warp_mode));
        let clock = Clock::new(platform.as_ref(), mode.unwrap_or(WarpMode::No));
        let binding = Binding::new(config.schedulers, config.bind_type, config.cpu_topology.clone());
        let told = platform.places().map(|all| all.into_iter().map(Some).collect());
        let places = Places::of(&told.unwrap_or_else(|| binding.intended_places()));
        let vm: &'static Vm = Box::leak(Box::new(Vm {
            processes: ProcessTable::new(config.process_limit, config.schedulers),
            names: Names::default(),
            nodes: Nodes::default(),
            code: CodeServer::default(),
            code_names: CodeNames::default(),
            bifs,
            schedulers: Schedulers::new(config.numbers(), config.tuning, platform.clone(), places),
            binding,
            stops: Stops::default(),
            clean_up: CleanUp::new(config.schedulers, config.tuning.cleanup_bytes),
            literals: Literals::default(),
            holders: Holders::default(),
            sleepers: Sleepers::default(),
            timers: Timers::new(config.schedulers),
            clock,
            platform,
            progress: Progress::running_by(locals + private + 64, microstate::as_aux),
            slices: Progress::running_by(config.schedulers + private + 8, microstate::as_aux),
            microstates: Microstates::new(locals),
            locals,
            engine: parts.engine,
            defaults: Defaults::new(config.heap, config.backtrace_depth),
            switches: CachePadded::new(Switches::default()),
            test_hooks: TestHooks::default(),
            tracer: parts.tracer,
            observer: parts.observer,
            subsystems: Subsystems::new(parts.subsystems),
            exit_status: AtomicI64::new(0),
            shared_counts: SharedCounts::default(),
            monotonic_uniques: AtomicU64::new(0),
            config,
            release,
        }));
        vm.switches.set(MIGRATION, if vm.config.migrates.is_some() { MIGRATION } else { 0 });
        vm.adopt_thread();
        vm.follow_system_clock();
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

    /// What traces. Trace points must ask [`Vm::switches`] or the process's flags first (vm/TR1).
    pub fn tracer(&self) -> &dyn Tracer {
        &*self.tracer
    }

    /// What shows the VM to people: crate `observe`.
    pub fn observer(&self) -> &dyn Observer {
        &*self.observer
    }

    /// The own state of scheduler `id`, on its thread, which works for this VM from now on. `None`: thread progress has no room.
    pub fn scheduler_local(&'static self, id: usize, dirty: bool) -> Option<Local> {
        self.adopt_thread();
        let slices = if dirty { None } else { Some(self.slices.register()?) };
        Some(Local::new(self.locals, id, self.progress.register()?, slices, self.platform.as_ref()))
    }

    /// The calling thread is that of scheduler `number` from now on, for microstate accounting.
    pub fn account_thread(&'static self, number: usize, state: State) {
        microstate::join(&self.microstates, self.platform.as_ref(), number, state);
    }

    /// Numbers of a new reference, on a thread that is no scheduler.
    pub fn foreign_ref(&self) -> RefNumbers {
        // Relaxed: only uniqueness counts.
        let count = self.shared_counts.refs.fetch_add(1, Ordering::Relaxed) + 1;
        RefNumbers::nth(count * self.locals as u64 + self.locals as u64 - 1)
    }

    /// The `count`-th unique integer of a scheduler by its number from 1 (0 stands for all other threads): the number is in the
    /// lowest bits.
    pub fn unique(&self, scheduler: u64, count: u64) -> i128 {
        unique_integer(self.locals, scheduler, count)
    }

    /// A new unique integer, on a thread that is no scheduler.
    pub fn foreign_unique(&self) -> i128 {
        // Relaxed: only uniqueness counts.
        self.unique(0, self.shared_counts.uniques.fetch_add(1, Ordering::Relaxed))
    }

    /// A new strictly rising unique integer, from the same first one as the others.
    pub fn next_monotonic_unique(&self) -> i128 {
        // Relaxed: the counter's own order is what counts.
        LEAST_UNIQUE + i128::from(self.monotonic_uniques.fetch_add(1, Ordering::Relaxed))
    }

    /// Default heap sizes.
    pub fn heap_settings(&self) -> Settings {
        self.defaults.heap()
    }

    /// The name of this node: `nonode@nohost`, unless it is alive.
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

    /// Stops all schedulers; `run` returns with this status.
    pub fn stop(&self, status: i32) {
        // Relaxed: ordered by the schedulers' own flag.
        self.exit_status.store(i64::from(status), Ordering::Relaxed);
        self.schedulers.stop();
    }

    /// The status that [`Vm::stop`] was given.
    pub fn exit_status(&self) -> i32 {
        // Relaxed: see `stop`.
        self.exit_status.load(Ordering::Relaxed) as i32
    }
}
