//! Ports: the table of them, what all kinds have in common, and how they end.
//!
//! A port is a lock and a state. Calls of processes take the lock in their own threads, readiness of file descriptors in the
//! I/O thread (`poll.rs`); no call waits for anything but that lock, because all input and output is non-blocking.
//!
//! PO1. What a port sends to one process is sent under its lock, so it arrives in the order of what happened.
//! PO2. A port that is told to close sends its exit signals at once, and stays in the table until its output is written.
//! PO3. Lock order: a port, the table, names, and what sending a signal takes.

mod bifs;
pub mod dump;
pub mod framing;
mod info;
mod options;
mod poll;
mod ram_file;
mod signals;
mod spawn;
mod stream;
mod trace;
mod trace_file;
mod tty;
mod udp;

use crate::bytes::Piece;
use myriad_heap::Draft;
use myriad_process::{Message, Payload};
use myriad_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{Arc, LockClass, Mutex, MutexGuard, OnceLock, Retirer, RwLock};
use myriad_term::{Build, Pid, Port as PortId, RefNumbers, SharedBinary, Term, TermRef, am};
use myriad_vm::tracer::flags;
use myriad_vm::{Signal, Vm};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use bifs::{ERLANG, INTERNAL};
pub use signals::Ports;

static WORKERS_CLASS: LockClass = LockClass::new("port_workers", 295);
static PORT_CLASS: LockClass = LockClass::new("port_lock", 300);
static TABLE_CLASS: LockClass = LockClass::new("port_table", 310);

/// All ports, and what serves them.
pub struct System {
    vm: &'static Vm,
    table: RwLock<BTreeMap<u64, Arc<Port>>>,
    next: AtomicU64,
    poll: poll::Poll,
    /// Bytes read by ports (a statistic).
    pub(crate) input_bytes: AtomicUsize,
    /// Bytes written by ports (a statistic).
    pub(crate) output_bytes: AtomicUsize,
}

/// What a port is, apart from what changes.
pub struct Port {
    id: PortId,
    /// As `erlang:port_info/2` shows it: bytes in the system's encoding.
    name: Vec<u8>,
    binary: bool,
    eof: bool,
    parallelism: bool,
    busy_limits: Option<(usize, usize)>,
    /// Whether it is traced, for what and by whom.
    trace: myriad_process::Tracee,
    /// Threads at work in it, as far as `system_profile` asks. Held while that is told, so that it is told in order.
    workers: Mutex<u32>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Open,
    /// Its exit signals are sent, its output is not all written (PO2).
    Closing,
    Gone,
}

/// What waits for a busy port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiter {
    /// In `port_command/3`, to try again.
    Retry(Pid),
    /// Suspended after sending a message.
    Suspended(Pid),
}

/// What a port is now.
struct State {
    phase: Phase,
    owner: Pid,
    links: BTreeSet<Pid>,
    watchers: HashMap<RefNumbers, Pid>,
    /// `erlang:port_set_data/2`
    data: Option<Payload>,
    input: u64,
    output: u64,
    os_pid: Option<u32>,
    busy: bool,
    waiters: Vec<Waiter>,
    driver: Driver,
}

/// What is behind a port.
enum Driver {
    /// Nothing to talk to: port 0, which stands for what starts programs.
    Forker,
    /// File descriptors.
    Stream(stream::Stream),
    /// A UDP socket.
    Udp(udp::Udp),
    /// A file in memory.
    Ram(ram_file::RamFile),
    /// A file of trace messages.
    TraceFile(trace_file::TraceFile),
}

/// What `System::create` needs to know.
struct New {
    name: Vec<u8>,
    owner: Pid,
    binary: bool,
    eof: bool,
    parallelism: bool,
    busy_limits: Option<(usize, usize)>,
    os_pid: Option<u32>,
    linked: bool,
    driver: Driver,
}

/// A message from a port, to be built in the message's own memory.
enum Tell<'a> {
    /// `{Port, {data, Data}}`
    Data(Cow<'a, [u8]>),
    /// `{Port, {data, {eol, Data}}}`
    Line(Vec<u8>),
    /// `{Port, {data, {noeol, Data}}}`
    PartOfLine(Vec<u8>),
    /// `{Port, {exit_status, Status}}`
    ExitStatus(i32),
    /// `{Port, Atom}`
    Atom(myriad_term::Atom),
    /// `{Port, {data, Answer}}`
    Answer(ram_file::Answer),
}

/// Starts the I/O thread and makes port 0 of the system that is to stand in `place`.
pub fn start(vm: &'static Vm, place: &'static OnceLock<System>) -> Result<(), String> {
    spawn::keep_descriptors_from_programs();
    let poll = poll::Poll::new().map_err(|e| format!("cannot poll for input and output: {e}"))?;
    let table = RwLock::new(&TABLE_CLASS, BTreeMap::new());
    let (input_bytes, output_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let fresh = System { vm, table, next: AtomicU64::new(0), poll, input_bytes, output_bytes };
    if place.set(fresh).is_err() {
        return Err("the port system was started before".to_owned());
    }
    let Some(system) = place.get() else { return Err("no port system".to_owned()) };
    let owner = Pid::new(0, 0);
    let (binary, eof, parallelism, os_pid) = (false, false, false, None);
    let name = b"forker".to_vec();
    let forker =
        New { name, owner, binary, eof, parallelism, busy_limits: None, os_pid, linked: false, driver: Driver::Forker };
    system.create(forker).ok_or("no room for a port")?;
    poll::start(system)?;
    vm.platform.wait_for(Box::new(poll::Waiting(system)));
    Ok(())
}

/// The lock of each port, by its identity in the lock profile, with the port.
pub fn locks(system: &System) -> Vec<(usize, Term)> {
    system.all().iter().map(|port| (port.state.identity(), port.id.term())).collect()
}

/// Waits until all ports have written their output, as long as some of it is written.
pub fn flush_all(system: &System) {
    use std::time::{Duration, Instant};
    /// How long a reader may take nothing before it is given up.
    const PATIENCE: Duration = Duration::from_secs(60);
    for port in system.all() {
        if let Driver::TraceFile(file) = &mut port.lock().driver {
            // No process is left that could get a message.
            let _ = file.flush();
        }
    }
    let mut last = (0, Instant::now());
    loop {
        let left: usize = system.all().iter().map(|p| p.lock().queued()).sum();
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

/// Ctrl-C comes to the shell as a character (`+Bc`).
pub fn interrupts_are_input() {
    // Relaxed: before there is a terminal.
    tty::INTERRUPTS_ARE_INPUT.store(true, Ordering::Relaxed);
}

/// Runs `f` with the interactive terminal, or else the standard input, lent to it: its port, if there is one, waits.
pub fn with_terminal(vm: &Vm, f: impl FnOnce()) {
    let is_input = |port: &Arc<Port>| match &port.lock().driver {
        Driver::Stream(stream) => stream.terminal.is_some() || stream.reads_standard_input(),
        _ => false,
    };
    let port = System::of(vm).and_then(|system| system.all().into_iter().find(is_input));
    let _held = port.as_ref().map(|port| port.lock());
    tty::lend(f);
}

impl System {
    /// The ports of a VM, once started.
    #[inline]
    pub fn of(vm: &Vm) -> Option<&'static System> {
        vm.part::<OnceLock<System>>().get()
    }

    /// How many ports there are.
    pub(crate) fn count(&self) -> usize {
        self.table.read().len()
    }

    /// Sends a signal of a port's to a process.
    fn signal(&self, to: Pid, signal: Signal) {
        poll::told();
        self.vm.signal_pid(to, signal);
    }

    /// The bits of the number that the next port gets which OTP's have; after `set` these.
    fn next(&self, set: Option<u64>) -> u64 {
        const BITS: u64 = (1 << PortId::OTP_NUMBER_BITS) - 1;
        let _table = self.table.write();
        // Relaxed: under the table's lock.
        let mut next = self.next.load(Ordering::Relaxed);
        if let Some(bits) = set {
            next = next & !BITS | bits & BITS;
            self.next.store(next, Ordering::Relaxed);
        }
        next & BITS
    }

    /// Makes a port; nothing if there are too many.
    fn create(&self, new: New) -> Option<Arc<Port>> {
        let mut table = self.table.write();
        if table.len() >= self.vm.config.port_limit {
            return None;
        }
        // Relaxed: under the table's lock. A number is only taken if it was set back.
        let id = loop {
            let id = PortId::from_number(self.next.fetch_add(1, Ordering::Relaxed));
            if !table.contains_key(&id.number()) {
                break id;
            }
        };
        id.note_made();
        let mut links = BTreeSet::new();
        if new.linked {
            links.insert(new.owner);
        }
        let state = State {
            phase: Phase::Open,
            owner: new.owner,
            links,
            watchers: HashMap::new(),
            data: None,
            input: 0,
            output: 0,
            os_pid: new.os_pid,
            busy: false,
            waiters: Vec::new(),
            driver: new.driver,
        };
        let port = Arc::new(Port {
            id,
            name: new.name,
            binary: new.binary,
            eof: new.eof,
            parallelism: new.parallelism,
            busy_limits: new.busy_limits,
            trace: myriad_process::Tracee::default(),
            workers: Mutex::new(&WORKERS_CLASS, 0),
            state: Mutex::new(&PORT_CLASS, state),
        });
        table.insert(id.number(), port.clone());
        drop(table);
        port.trace_open(self, new.owner);
        Some(port)
    }

    /// A port that is not gone.
    fn get(&self, id: PortId) -> Option<Arc<Port>> {
        self.table.read().get(&id.number()).cloned()
    }

    /// All ports.
    fn all(&self) -> Vec<Arc<Port>> {
        self.table.read().values().cloned().collect()
    }
}

impl State {
    fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Bytes of output that are not written yet.
    fn queued(&self) -> usize {
        match &self.driver {
            Driver::Stream(stream) => stream.queued(),
            Driver::Forker | Driver::Udp(_) | Driver::Ram(_) | Driver::TraceFile(_) => 0,
        }
    }
}

impl Port {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Sends a message to the port's owner (PO1: under the lock).
    fn tell_owner(&self, system: &System, state: &State, what: Tell<'_>) {
        self.tell(system, state.owner, what);
    }

    fn tell(&self, system: &System, to: Pid, what: Tell<'_>) {
        // Exact where it matters: a list takes two words for each byte.
        let words = match &what {
            Tell::Data(bytes) if !self.binary => 2 * bytes.len(),
            Tell::Line(bytes) | Tell::PartOfLine(bytes) if !self.binary => 2 * bytes.len(),
            _ => 12,
        };
        // What OTP tells of the answer to `close`.
        let told_alone = matches!(what, Tell::Atom(am::closed));
        let message = Payload::build(words + 12, |draft| {
            let body = self.body(draft, what);
            draft.tuple(&[self.id.term(), body])
        });
        let told = if told_alone { am::closed.term() } else { message.term() };
        self.trace(system, flags::SEND, am::send, &[told, to.term()]);
        system.signal(to, Signal::Message(Message::new(message, Term::NONE)));
    }

    fn body<'b>(&self, f: &mut Draft<'b>, what: Tell<'_>) -> TermRef<'b> {
        match what {
            Tell::Data(bytes) => {
                let data = self.bytes(f, bytes);
                f.tuple(&[am::data.term(), data])
            }
            Tell::Line(bytes) => self.line(f, am::eol, bytes),
            Tell::PartOfLine(bytes) => self.line(f, am::noeol, bytes),
            Tell::ExitStatus(status) => f.tuple(&[am::exit_status.term(), Term::small(i64::from(status))]),
            Tell::Atom(atom) => atom.term(),
            Tell::Answer(answer) => {
                let data = answer.data.map_or(Term::NIL, |data| self.bytes(f, Cow::Owned(data)));
                let list = f.byte_list(&answer.head, data);
                f.tuple(&[am::data.term(), list])
            }
        }
    }

    fn bytes<'b>(&self, f: &mut Draft<'b>, bytes: Cow<'_, [u8]>) -> TermRef<'b> {
        if !self.binary {
            f.byte_list(&bytes, Term::NIL)
        } else if bytes.len() <= myriad_term::binary::HEAP_BINARY_LIMIT {
            f.binary(&bytes)
        } else {
            f.shared_binary(match bytes {
                Cow::Borrowed(bytes) => SharedBinary::from_bytes(bytes),
                Cow::Owned(bytes) => SharedBinary::from_vec(bytes),
            })
        }
    }

    fn line<'b>(&self, f: &mut Draft<'b>, end: myriad_term::Atom, bytes: Vec<u8>) -> TermRef<'b> {
        let data = self.bytes(f, Cow::Owned(bytes));
        let line = f.tuple(&[end.term(), data]);
        f.tuple(&[am::data.term(), line])
    }

    /// Ends the port: links and monitors are told at once; with `flush`, what is queued is still written (PO2).
    fn exit(&self, system: &System, state: &mut State, reason: TermRef<'_>, flush: bool) {
        if !state.is_open() {
            return;
        }
        state.phase = Phase::Closing;
        let vm = system.vm;
        if let Some(name) = vm.names.name_of_port(self.id) {
            vm.names.unregister(&vm.processes, name, Retirer::Other(&vm.progress));
        }
        self.trace(system, flags::PORTS, am::closed, &[reason]);
        for pid in std::mem::take(&mut state.links) {
            let exit = Signal::Exit { from: self.id.term(), reason: Payload::copy(reason), linked: true };
            system.signal(pid, exit);
        }
        for (reference, pid) in std::mem::take(&mut state.watchers) {
            system.signal(pid, Signal::Down { reference, reason: Payload::copy(reason) });
        }
        state.data = None;
        wake_waiters(system, state);
        let Driver::Stream(stream) = &mut state.driver else { return self.gone(system, state) };
        stream.stop_input(system);
        if !flush || stream.queued() == 0 {
            self.gone(system, state);
        }
    }

    /// The end of the port: closes what it has, and takes it out of the table.
    fn gone(&self, system: &System, state: &mut State) {
        if state.phase == Phase::Gone {
            return;
        }
        state.phase = Phase::Gone;
        match &mut state.driver {
            Driver::Stream(stream) => {
                stream.stop_input(system);
                stream.stop_output(system);
            }
            Driver::Udp(udp) => udp.close(system),
            Driver::TraceFile(file) => {
                // No process is left that could get a message.
                let _ = file.flush();
            }
            Driver::Forker | Driver::Ram(_) => {}
        }
        system.table.write().remove(&self.id.number());
    }

    /// Ends the port because its input or output has failed.
    fn fail(&self, system: &System, state: &mut State, errno: Errno) {
        if state.phase == Phase::Closing {
            self.gone(system, state);
        } else {
            self.exit(system, state, crate::posix::atom(errno).term(), false);
        }
    }

    /// Sends bytes out through the port: those of one `command` of `sender`.
    fn output(&self, system: &System, state: &mut State, sender: Pid, data: Piece) {
        let len = data.bytes().len();
        self.trace_command(system, sender, |memory| {
            let bytes = memory.binary(data.bytes());
            memory.tuple(&[am::command.term(), bytes])
        });
        state.output += len as u64;
        // Relaxed: a statistic.
        system.output_bytes.fetch_add(len, Ordering::Relaxed);
        if matches!(state.driver, Driver::Udp(_)) {
            return self.udp_output(system, state, sender, data.bytes());
        }
        if let Driver::Ram(file) = &mut state.driver {
            if let Some(answer) = file.command(data.bytes()) {
                self.tell_owner(system, state, Tell::Answer(answer));
            }
            return;
        }
        if let Driver::TraceFile(file) = &mut state.driver {
            if let Err(errno) = file.record(data.bytes()) {
                self.fail(system, state, errno);
            }
            return;
        }
        let Driver::Stream(stream) = &mut state.driver else { return };
        let (data, answer) = match &mut stream.terminal {
            Some(terminal) => terminal.command(data.bytes()),
            None => (data, false),
        };
        let sent = stream.send(system, data);
        let queued = stream.queued();
        if answer {
            self.tell(system, sender, Tell::Atom(am::ok));
        }
        match sent {
            Ok(()) => {
                state.busy |= self.busy_limits.is_some_and(|(high, _)| queued > high);
            }
            Err(errno) => self.fail(system, state, errno),
        }
    }

    /// Output has been written in the meantime.
    fn output_went_on(&self, system: &System, state: &mut State) {
        let queued = state.queued();
        if state.phase == Phase::Closing && queued == 0 {
            return self.gone(system, state);
        }
        if state.busy && self.busy_limits.is_none_or(|(_, low)| queued <= low) {
            state.busy = false;
            wake_waiters(system, state);
        }
    }
}

/// Counts bytes read.
fn count_input(system: &System, input: &mut u64, bytes: u64) {
    *input += bytes;
    // Relaxed: a statistic.
    system.input_bytes.fetch_add(bytes as usize, Ordering::Relaxed);
}

/// Resumes the processes that wait for the port.
fn wake_waiters(system: &System, state: &mut State) {
    for waiter in std::mem::take(&mut state.waiters) {
        match waiter {
            Waiter::Retry(pid) => system.signal(pid, Signal::Call(Box::new(|_| {}))),
            Waiter::Suspended(pid) => system.signal(pid, Signal::Resume(pid)),
        };
    }
}
