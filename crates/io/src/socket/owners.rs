//! The sockets of a VM: by the processes that own them or wait for them, and by the numbers that the poller knows them by.

use super::state::{Kind, Socket};
use super::wait;
use crate::port::System;
use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{Arc, CachePadded, LockClass, Mutex, Weak};
use myriad_term::{Magic, Pid, am};
use myriad_vm::Vm;
use std::collections::HashMap;

static OWNERS_CLASS: LockClass = LockClass::new("socket_owners", 332);
static NUMBERS_CLASS: LockClass = LockClass::new("socket_numbers", 334);

const SHARDS: usize = 64;

/// A socket of a process.
enum Entry {
    /// It owns it: until then, the socket stays open even if nothing else leads to it.
    Owns(Magic),
    /// It waits for it, or has done so.
    Waits(Weak<Socket>),
}

impl Entry {
    fn socket(&self) -> Option<Arc<Socket>> {
        match self {
            Entry::Owns(magic) => magic.get::<Arc<Socket>>().cloned(),
            Entry::Waits(socket) => socket.upgrade(),
        }
    }

    fn is_dead(&self) -> bool {
        matches!(self, Entry::Waits(socket) if socket.strong_count() == 0)
    }
}

/// The sockets of a process by their addresses. That of a socket which is gone is not used again while its entry is left.
type Entries = HashMap<usize, Entry>;

struct Shard {
    /// How many processes stand in the map, so that the end of any other costs one load.
    processes: AtomicUsize,
    map: Mutex<HashMap<Pid, Entries>>,
}

fn address_of(socket: &Arc<Socket>) -> usize {
    Arc::as_ptr(socket).addr()
}

/// Sockets by processes.
pub(super) struct Owners(Box<[CachePadded<Shard>]>);

impl Default for Owners {
    fn default() -> Owners {
        let shard = || Shard { processes: AtomicUsize::new(0), map: Mutex::new(&OWNERS_CLASS, HashMap::new()) };
        Owners((0..SHARDS).map(|_| CachePadded::new(shard())).collect())
    }
}

impl Owners {
    fn shard(&self, pid: Pid) -> &Shard {
        &self.0[pid.number() as usize % SHARDS]
    }

    /// A process owns a socket.
    pub(super) fn owns(&self, pid: Pid, socket: &Arc<Socket>, reference: Magic) {
        self.note(pid, socket, Entry::Owns(reference));
    }

    /// A process waits for a socket of another's.
    pub(super) fn waits(&self, pid: Pid, socket: &Arc<Socket>) {
        self.note(pid, socket, Entry::Waits(Arc::downgrade(socket)));
    }

    fn note(&self, pid: Pid, socket: &Arc<Socket>, entry: Entry) {
        let shard = self.shard(pid);
        let mut map = shard.map.lock();
        let entries = map.entry(pid).or_default();
        if matches!(entry, Entry::Waits(_)) && entries.len().is_power_of_two() {
            entries.retain(|_, entry| !entry.is_dead());
        }
        let replaced = entries.insert(address_of(socket), entry);
        // Relaxed: the process itself reads it when it ends, after this, or the caller looks whether it has ended.
        shard.processes.store(map.len(), Ordering::Relaxed);
        drop(map);
        drop(replaced);
    }

    /// Forgets a socket of a process.
    pub(super) fn forget(&self, pid: Pid, socket: &Arc<Socket>) {
        let shard = self.shard(pid);
        let mut map = shard.map.lock();
        let Some(entries) = map.get_mut(&pid) else { return };
        let entry = entries.remove(&address_of(socket));
        if entries.is_empty() {
            map.remove(&pid);
        }
        // Relaxed: as in `note`.
        shard.processes.store(map.len(), Ordering::Relaxed);
        drop(map);
        drop(entry);
    }

    fn take(&self, pid: Pid) -> Entries {
        let shard = self.shard(pid);
        // Relaxed: what this process has opened it has noted itself.
        if shard.processes.load(Ordering::Relaxed) == 0 {
            return Entries::default();
        }
        let mut map = shard.map.lock();
        let entries = map.remove(&pid).unwrap_or_default();
        // Relaxed: as in `note`.
        shard.processes.store(map.len(), Ordering::Relaxed);
        entries
    }
}

/// How many sockets there are of a kind: the name in `socket:info/0`, and which kinds it counts.
type Total = (&'static str, fn(Kind) -> bool);

/// What is counted.
pub(super) const TOTALS: [Total; 11] = [
    ("num_dinet", |kind| kind.domain == libc::AF_INET),
    ("num_dinet6", |kind| kind.domain == libc::AF_INET6),
    ("num_dlocal", |kind| kind.domain == libc::AF_UNIX),
    ("num_pip", |kind| kind.protocol == libc::IPPROTO_IP),
    ("num_psctp", |kind| kind.protocol == libc::IPPROTO_SCTP),
    ("num_ptcp", |kind| kind.protocol == libc::IPPROTO_TCP),
    ("num_pudp", |kind| kind.protocol == libc::IPPROTO_UDP),
    ("num_sockets", |_| true),
    ("num_tdgrams", |kind| kind.kind == libc::SOCK_DGRAM),
    ("num_tseqpkgs", |kind| kind.kind == libc::SOCK_SEQPACKET),
    ("num_tstreams", |kind| kind.kind == libc::SOCK_STREAM),
];

/// What holds for sockets that are opened from now on.
pub(super) struct Defaults {
    pub(super) debug: AtomicBool,
    pub(super) socket_debug: AtomicBool,
    pub(super) use_registry: AtomicBool,
}

impl Default for Defaults {
    fn default() -> Defaults {
        // The Erlang code reads the same variable and hands it over with what this VM's `load_nif/2` leaves aside.
        let registry = std::env::var_os("ESOCK_USE_SOCKET_REGISTRY").is_none_or(|value| value != "false");
        Defaults {
            debug: AtomicBool::new(false),
            socket_debug: AtomicBool::new(false),
            use_registry: AtomicBool::new(registry),
        }
    }
}

// Relaxed in all of these: settings, which order nothing.
impl Defaults {
    pub(super) fn socket_debug(&self) -> bool {
        self.socket_debug.load(Ordering::Relaxed)
    }

    pub(super) fn use_registry(&self) -> bool {
        self.use_registry.load(Ordering::Relaxed)
    }
}

/// The sockets of a VM.
pub struct Sockets {
    pub(super) owners: Owners,
    next: AtomicU64,
    numbers: Mutex<HashMap<u64, Weak<Socket>>>,
    pub(super) totals: [AtomicUsize; TOTALS.len()],
    pub(super) defaults: Defaults,
}

impl Default for Sockets {
    fn default() -> Sockets {
        Sockets {
            owners: Owners::default(),
            next: AtomicU64::new(1),
            numbers: Mutex::new(&NUMBERS_CLASS, HashMap::new()),
            totals: Default::default(),
            defaults: Defaults::default(),
        }
    }
}

impl Sockets {
    /// The sockets of a VM.
    pub(super) fn of(vm: &Vm) -> &'static Sockets {
        vm.part::<Sockets>()
    }

    /// A number for a socket, by which it is found when the poller tells of it.
    pub(super) fn note(&self, socket: &Arc<Socket>) -> u64 {
        // Relaxed: any other number will do.
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.numbers.lock().insert(number, Arc::downgrade(socket));
        number
    }

    /// It is not found any more.
    pub(super) fn forget(&self, number: u64) {
        self.numbers.lock().remove(&number);
    }

    /// A socket comes, or goes.
    pub(super) fn count(&self, kind: Kind, comes: bool) {
        for (total, (_, counts)) in self.totals.iter().zip(TOTALS) {
            // Relaxed, both: statistics.
            if counts(kind) && comes {
                total.fetch_add(1, Ordering::Relaxed);
            } else if counts(kind) {
                total.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// A process ends: its sockets are closed, and it waits for none any more.
    pub(crate) fn process_ends(&self, vm: &'static Vm, pid: Pid) {
        let Some(system) = System::of(vm) else { return };
        for entry in self.owners.take(pid).into_values() {
            let Some(socket) = entry.socket() else { continue };
            let mut state = socket.lock();
            if state.owner != Some(pid) {
                state.waiter_ends(system, pid);
                continue;
            }
            super::open::close_unowned(system, &socket, &mut state);
            let is_registered = state.settings.registered;
            drop(state);
            if let Entry::Owns(magic) = &entry
                && is_registered
            {
                wait::tell_registry(system, am::del, magic);
            }
        }
    }
}

impl crate::port::Sockets for Sockets {
    fn ready(&self, system: &'static System, number: u64, input: bool, output: bool) {
        let socket = self.numbers.lock().get(&number).and_then(Weak::upgrade);
        if let Some(socket) = socket {
            socket.lock().ready(system, input, output);
        }
    }
}
