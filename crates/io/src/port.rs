//! Ports: the table of them, what all kinds have in common, and how they end.
//!
//! A port is a lock and a state. Whose turn it is decides `operations.rs`: a process, or the thread that has met an event, calls the port itself if that is
//! free, and else a scheduler does. No call waits for anything but the lock, which only who shows the state or lends the terminal holds out of turn; all input and
//! output is non-blocking.
//!
//! PO1. What a port sends to one process is sent under its lock, so it arrives in the order of what happened.
//! PO2. A port that is told to close sends its exit signals at once, and stays in the table until its output is written.
//! PO3. Lock order: a port, its queue of operations, listings of ports, names, and what sending a signal takes.
//!
//! What is behind a port, its driver, it knows by one interface (`driver.rs`); so it does not matter here what kinds there are.

mod backlog;
mod bifs;
mod commands;
pub mod driver;
mod drivers;
pub mod dump;
pub mod framing;
pub(crate) mod inet;
mod info;
pub mod linked_in;
mod operations;
mod options;
mod poll;
mod ram_file;
mod seldom;
mod sender;
mod shared_lock;
mod signals;
mod spawn;
mod stream;
mod table;
mod tell;
mod trace;
mod traffic;
mod tty;

use crate::bytes::Output;
use backlog::{Backlog, Waiter};
use driver::{Driver, DriverType, Opened};
use myriad_process::{Named, Payload};
use myriad_sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use myriad_sync::{Arc, LockClass, Mutex, MutexGuard, OnceLock, Retirer, Turn};
use myriad_term::{Atom, Pid, Port as PortId, RefNumbers, Term, TermRef, am};
use myriad_vm::tracer::flags;
use myriad_vm::{Signal, Vm};
use options::Settings;
use rustix::io::Errno;
use seldom::{Links, Seldom};
use shared_lock::{Entered, SharedLock};
use std::collections::{BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use table::PortTable;
use tell::Tell;
use traffic::Traffic;

pub use bifs::{ERLANG, INTERNAL};
pub(crate) use drivers::start;
pub(crate) use poll::{Sockets, Watch, arm_socket, close_socket, with_buffer};
pub use signals::Ports;
pub use tty::{interrupts_are_input, with_terminal};

static WORKERS_CLASS: LockClass = LockClass::new("port_workers", 295);
// Several at a time: io.port.shared_lock/SL1.
static PORT_CLASS: LockClass = LockClass::nested("port_lock", 300);
static QUEUE_CLASS: LockClass = LockClass::new("port_queue", 305);

/// All ports, and what serves them.
pub struct System {
    vm: &'static Vm,
    table: PortTable,
    poll: poll::Poll,
    sockets: &'static dyn Sockets,
    /// Finds the drivers that are not built in.
    finder: OnceLock<driver::Finder>,
    /// What ports read and write.
    traffic: Traffic,
}

// An idle connection is a port and its socket, and there may be many: what few of them need is `Seldom`. Each is a block of the allocator's, whose sizes are these.
const _: () = assert!(size_of::<Port>() <= 384);

/// What a port is, apart from what changes.
pub struct Port {
    id: PortId,
    /// The era of its birth (sync/ID3).
    born: u64,
    /// As `erlang:port_info/2` shows it: bytes in the system's encoding.
    name: Box<[u8]>,
    binary: bool,
    eof: bool,
    parallelism: bool,
    busy_limits: Option<Box<(usize, usize)>>,
    driver: &'static DriverType,
    /// Whether it is traced, for what and by whom.
    trace: myriad_process::Tracee,
    /// Threads at work in it, as far as `system_profile` asks. Held while that is told, so that it is told in order.
    workers: Mutex<u32>,
    /// Whose turn it is, and operations that wait for theirs.
    turn: Turn<Operation>,
    /// How full its queue is.
    backlog: Backlog,
    /// Hundredths of a slice that the driver has used beyond what operations cost. Written under the port's lock.
    slice: AtomicU32,
    /// Operations that are parked: written and read by who has the turn.
    parked: AtomicUsize,
    /// What it does, if that is traced (`trace.rs`): written and read by who has the turn.
    task: AtomicU64,
    /// The owner, for those who do not have the port's lock; who has it changes this, too.
    owner: AtomicU64,
    /// The lock that it shares with the other ports of its driver, if that wants it so.
    shared: Option<Arc<SharedLock>>,
    state: Mutex<State>,
}

/// A port whose state is the holder's alone.
struct Locked<'a> {
    state: MutexGuard<'a, State>,
    // Given back last (io.port.shared_lock/SL1).
    _shared: Option<Entered<'a>>,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// Its exit signals are sent, its output is not all written (PO2).
    Closing,
    Gone,
}

/// What a port is now.
struct State {
    common: Common,
    driver: Box<dyn Driver>,
}

/// What all ports have.
struct Common {
    phase: Phase,
    owner: Pid,
    /// The poller with which it is at home.
    home: usize,
    /// Events that the I/O thread has taken from there.
    taken: u8,
    links: Links,
    /// `erlang:port_set_data/2`
    data: Option<Payload>,
    input: u64,
    output: u64,
    busy: bool,
    rare: Seldom<Rare>,
    /// Who is answered by its call at this moment.
    direct: Option<sender::Direct>,
}

/// What few ports have.
#[derive(Default)]
struct Rare {
    /// The program that its driver has started.
    os_pid: Option<u64>,
    watchers: HashMap<RefNumbers, Pid>,
    /// Who waits for the driver to say that it has begun ([`Driver::acknowledges_start`]).
    opener: Option<(Pid, RefNumbers)>,
    /// Who has sent `close`, and is answered when the port is gone.
    told_closed: Option<Pid>,
    /// Who waits until it is less busy.
    waiters: Vec<Waiter>,
    /// Operations that were left, and wait until it is less busy (`commands.rs`).
    parked: Vec<Operation>,
    /// The processes that have asked for them.
    parked_by: BTreeSet<Pid>,
}

/// What a port does, as `running_ports` tells it.
#[derive(Clone, Copy)]
enum Task {
    /// What a process has asked for, by its name.
    Named(Atom),
    /// What was left, and what no process has asked for.
    Other,
    /// It is not told.
    Untold,
}

/// What is done to a port in its turn (`operations.rs`).
struct Operation {
    /// The process that has asked for it.
    by: Option<Pid>,
    work: Work,
}

/// Takes the port's lock itself.
type AnyWork = dyn FnOnce(&'static System, &Port) + Send;

enum Work {
    Any(Box<AnyWork>),
    Command(Box<Command>),
}

/// How a command was sent.
enum Via {
    /// By a message that names the owner.
    Message {
        /// Who is said to be the owner.
        owner: Pid,
    },
    /// By `port_command/3`, which is answered.
    Call {
        /// Output is forced on the port if it is busy.
        force: bool,
        /// The caller does not want to wait.
        nosuspend: bool,
        /// The answer's, where the caller waits for a message.
        reference: Option<RefNumbers>,
    },
}

/// Bytes that a process sends out through the port (`commands.rs`).
struct Command {
    sender: Pid,
    /// Nothing: the caller's term was no iodata.
    data: Option<Output>,
    via: Via,
}

/// The lock of each port, by its identity in the lock profile, with the port.
pub fn locks(system: &System) -> Vec<(usize, Term)> {
    system.all().iter().map(|port| (port.state.identity(), port.id.term())).collect()
}

impl System {
    fn new(vm: &'static Vm, poll: poll::Poll, sockets: &'static dyn Sockets) -> System {
        let table = PortTable::new(vm.config.port_limit);
        let traffic = Traffic::new(vm.schedulers.len());
        System { vm, table, poll, sockets, finder: OnceLock::new(), traffic }
    }

    /// The ports of a VM, once started.
    #[inline]
    pub fn of(vm: &Vm) -> Option<&'static System> {
        vm.part::<OnceLock<System>>().get()
    }

    /// Waits until all ports have written their output, as long as some of it is written.
    pub(crate) fn flush_all(&self) {
        let Some(system) = System::of(self.vm) else { return };
        use std::time::{Duration, Instant};
        /// How long a reader may take nothing before it is given up.
        const PATIENCE: Duration = Duration::from_secs(60);
        for port in system.all() {
            port.perform(system, None, Task::Other, |system, port| {
                port.with_driver(system, |driver, context| driver.flush(context))
            });
        }
        let mut last = (0, Instant::now());
        loop {
            let left: usize = system.all().iter().map(|port| port.turn.len() + port.lock().driver.queued()).sum();
            if left == 0 {
                return;
            }
            if left != last.0 {
                last = (left, Instant::now());
            } else if last.1.elapsed() > PATIENCE {
                return;
            }
            poll::let_write(system, Duration::from_millis(2));
        }
    }

    /// The descriptors that pollers wait for, and how many of them are sockets that belong to no port: figures.
    pub(crate) fn polled(&self) -> (usize, usize) {
        self.poll.pollers.polled()
    }

    /// Bytes that ports have read, and written: figures.
    pub(crate) fn traffic(&self) -> (usize, usize) {
        self.traffic.sums()
    }

    /// How many ports there are.
    pub(crate) fn count(&self) -> usize {
        self.table.count()
    }

    /// The process of this name.
    pub(crate) fn whereis(&self, name: Atom) -> Option<Pid> {
        match self.vm.names.whereis(name)? {
            Named::Process(pid) => Some(pid),
            Named::Port(_) => None,
        }
    }

    /// Sends a signal of a port's or a socket's to a process; `false` if there is none.
    pub(crate) fn signal(&self, to: Pid, signal: Signal) -> bool {
        self.vm.signal_pid(to, signal)
    }

    /// Is there such a process, which has not begun to end?
    fn lives(&self, pid: Pid) -> bool {
        self.vm.processes.get(pid).is_some_and(|process| !process.is_exiting())
    }

    /// Makes a port of `owner`'s on what was opened; nothing if there are too many.
    fn create(
        &'static self,
        driver: &'static DriverType,
        opened: Opened,
        settings: &Settings,
        owner: Pid,
        linked: bool,
    ) -> Option<&'static Port> {
        let home = self.poll.pollers.first_home(self.vm, owner);
        let make = |id, born| Port::new(id, born, driver, opened, settings, (owner, home), linked);
        let port = self.table.insert(make)?;
        port.inherit_tracing(self);
        Some(port)
    }

    /// A port that is not gone (io/PT1).
    fn get(&self, id: PortId) -> Option<&Port> {
        self.table.get(id)
    }

    /// All ports (io/PT1).
    fn all(&self) -> Vec<&Port> {
        self.table.all()
    }
}

impl Common {
    fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }
}

impl Port {
    fn new(
        id: PortId,
        born: u64,
        driver: &'static DriverType,
        opened: Opened,
        settings: &Settings,
        (owner, home): (Pid, usize),
        linked: bool,
    ) -> Port {
        let mut links = Links::default();
        if linked {
            links.insert(owner);
        }
        let mut rare: Seldom<Rare> = Seldom::default();
        if let Some(pid) = opened.os_pid {
            rare.get_mut().os_pid = Some(u64::from(pid));
        }
        let common = Common {
            phase: Phase::Open,
            owner,
            home,
            taken: 0,
            links,
            data: None,
            input: 0,
            output: 0,
            busy: false,
            rare,
            direct: None,
        };
        Port {
            id,
            born,
            name: opened.name.into_boxed_slice(),
            binary: settings.binary,
            eof: settings.eof,
            parallelism: settings.parallelism,
            busy_limits: settings.busy_limits.filter(|_| !driver.sets_busy).map(Box::new),
            driver,
            trace: myriad_process::Tracee::default(),
            workers: Mutex::new(&WORKERS_CLASS, 0),
            turn: Turn::new(&QUEUE_CLASS),
            backlog: Backlog::new(settings.queue_limits.unwrap_or(driver.queue_limits)),
            slice: AtomicU32::new(0),
            parked: AtomicUsize::new(0),
            task: AtomicU64::new(0),
            owner: AtomicU64::new(owner.data()),
            shared: opened.driver.shared_lock(),
            state: Mutex::new(&PORT_CLASS, State { common, driver: opened.driver }),
        }
    }

    fn lock(&self) -> Locked<'_> {
        let shared = self.shared.as_deref().map(SharedLock::enter);
        Locked { state: self.state.lock(), _shared: shared }
    }

    /// The same, unless another thread has it.
    fn try_lock(&self) -> Option<Locked<'_>> {
        let shared = self.shared.as_deref().map(SharedLock::enter);
        Some(Locked { state: self.state.try_lock()?, _shared: shared })
    }

    /// Ends the port: links and monitors are told at once; with `flush`, what is queued is still written (PO2).
    fn exit(&self, system: &'static System, state: &mut State, reason: TermRef<'_>, flush: bool) {
        let common = &mut state.common;
        if !common.is_open() {
            return;
        }
        common.phase = Phase::Closing;
        self.answer_opener(system, common, self.id.term());
        self.trace(system, flags::PORTS, am::closed, &[reason]);
        let vm = system.vm;
        if let Some(name) = vm.names.name_of_port(self.id) {
            vm.names.unregister(&vm.processes, name, Retirer::Other(&vm.progress));
            self.trace(system, flags::PORTS, am::unregister, &[name.term()]);
        }
        let reason = if reason.is_am(am::kill) { Term::atom(am::killed) } else { reason };
        for pid in common.links.take() {
            let exit = Signal::Exit { from: self.id.term(), reason: Payload::copy(reason), linked: true };
            system.signal(pid, exit);
        }
        let watchers = common.rare.present().map(|rare| std::mem::take(&mut rare.watchers));
        for (reference, pid) in watchers.into_iter().flatten() {
            system.signal(pid, Signal::Down { reference, reason: Payload::copy(reason) });
        }
        common.data = None;
        self.wake_waiters(system, common);
        if flush && state.driver.queued() > 0 {
            self.call_driver(system, state, |driver, context| driver.flush(context));
        }
        if !flush || state.driver.queued() == 0 {
            self.gone(system, state);
        }
    }

    /// The end of the port: stops its driver, and takes the port out of the table.
    fn gone(&self, system: &'static System, state: &mut State) {
        if state.common.is_gone() {
            return;
        }
        state.common.phase = Phase::Gone;
        self.call_driver(system, state, |driver, context| driver.stop(context));
        system.table.remove(self, &system.vm.progress);
        if let Some(owner) = state.common.rare.present().and_then(|rare| rare.told_closed.take()) {
            self.tell(system, owner, Tell::Atom(am::closed));
        }
    }

    /// Ends the port because its input or output has failed.
    fn fail(&self, system: &'static System, state: &mut State, errno: Errno) {
        if state.common.phase == Phase::Closing {
            self.gone(system, state);
        } else {
            self.exit(system, state, crate::posix::atom(errno).term(), false);
        }
    }

    /// Sends bytes out through the port: those of one `command` of `sender`.
    fn output(&self, system: &'static System, state: &mut State, sender: Pid, data: Output) {
        let len = data.len();
        self.trace_output(system, sender, &data);
        state.common.output += len as u64;
        system.traffic.wrote(len);
        self.call_driver(system, state, |driver, context| driver.output_pieces(context, sender, data));
        let queued = state.driver.queued();
        state.common.busy |= self.busy_limits.as_ref().is_some_and(|limits| queued > limits.0);
    }

    /// A descriptor takes output again.
    fn writable(&self, system: &'static System) {
        let mut state = self.lock();
        if state.common.is_gone() {
            return;
        }
        self.call_driver(system, &mut state, |driver, context| driver.ready_output(context));
        let queued = state.driver.queued();
        if state.common.phase == Phase::Closing && queued == 0 {
            self.gone(system, &mut state);
        } else if state.common.busy
            && !self.driver.sets_busy
            && self.busy_limits.as_ref().is_none_or(|limits| queued <= limits.1)
        {
            state.common.busy = false;
            self.wake_waiters(system, &mut state.common);
        }
    }
}
