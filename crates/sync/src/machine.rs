//! The machine as the operating system tells of it: logical processors, where each is and whether this process may use it, the quota of
//! its control groups, stolen time. One reader, of the files below a root directory ([`Files`]), so that recorded trees can be read too.
//!
//! Whatever a file says, reading it ends, and gives a machine with at least one processor that may be used: what is absent or makes no
//! sense is as if nothing were told, and processors of which nothing is told are cores of their own.

pub mod affinity;
pub mod bind;
pub mod capacity;
pub(crate) mod cgroup;
pub mod files;
mod quota;
pub mod sct;
pub mod steal;
#[cfg(all(test, not(any(loom, miri))))]
mod tests;
pub mod topology;
#[cfg(all(test, not(any(loom, miri))))]
mod trees;

pub use bind::BindType;
pub use capacity::{Capacity, Watch};
pub use cgroup::Version;
pub use files::Files;
pub use quota::Quota;
pub use topology::{Topology, Wrong};

use quota::Quotas;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use topology::{Entry, Node};

const PROCESSORS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// Where a logical processor is. Numbers count from 0 over the whole machine: two processors have a thing in common where the numbers
/// are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Place {
    /// Which hardware thread of its core it is; this one counts within the core.
    pub thread: u16,
    /// The core, whose threads share everything.
    pub core: u16,
    /// What shares a front end: one core, or two where the kernel says that they share an instruction cache (AMD's compute units, of
    /// which some kernels tell as of one core with two threads) or are a cluster of two.
    pub module: u16,
    /// Those that share the last level of cache.
    pub cache: u16,
    /// The NUMA node.
    pub node: u16,
    /// The socket.
    pub socket: u16,
}

/// A logical processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Processor {
    /// The operating system's number.
    pub number: u32,
    /// It runs.
    pub is_online: bool,
    /// The affinity mask has it.
    pub is_allowed: bool,
    /// Where it is. An offline one is nobody's neighbour: the kernel does not tell.
    pub place: Place,
}

impl Processor {
    /// Can this process run there?
    pub fn is_usable(&self) -> bool {
        self.is_online && self.is_allowed
    }
}

/// What the operating system told at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// By number; at least one of them is usable.
    pub processors: Vec<Processor>,
    /// The smallest quota of this process's groups.
    pub quota: Option<Quota>,
}

impl Machine {
    /// The machine that this runs on.
    pub fn read() -> Machine {
        // A model runs on the same one each time.
        if cfg!(any(loom, miri)) {
            return Machine { processors: (0..2).map(lone).collect(), quota: None };
        }
        Machine::read_from(&Files::of_the_system())
    }

    /// The machine that these files tell of.
    pub fn read_from(files: &Files) -> Machine {
        Machine { processors: read_processors(files), quota: Quotas::find(files).least(files) }
    }

    /// As [`Machine::usable`], where nothing else is asked.
    fn usable_of(files: &Files) -> Vec<u32> {
        read_use(files).into_iter().filter(Processor::is_usable).map(|p| p.number).collect()
    }

    /// The numbers of the processors that can be used, rising; at least one.
    pub fn usable(&self) -> Vec<u32> {
        self.processors.iter().filter(|p| p.is_usable()).map(|p| p.number).collect()
    }

    /// What the machine leaves this process when nothing is stolen.
    pub fn capacity(&self) -> Capacity {
        Capacity { usable: self.usable().len(), quota_millis: self.quota.as_ref().map(|q| q.millis), stolen_millis: 0 }
    }

    /// The processors that are online, as Erlang programs see them.
    pub fn topology(&self) -> Option<Topology> {
        let online: Vec<&Processor> = self.processors.iter().filter(|p| p.is_online).collect();
        let nodes = numbers(online.iter().map(|p| p.place.node));
        // In a processor with several nodes they are parts of it.
        let mut of_socket: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
        online.iter().for_each(|p| of_socket.entry(p.place.socket).or_default().push(p.place.node));
        let are_inside = of_socket.into_values().any(|nodes| numbers(nodes.into_iter()).len() > 1);
        let entry = |p: &&Processor| Entry {
            logical: p.number,
            thread: p.place.thread.into(),
            core: p.place.core.into(),
            processor: p.place.socket.into(),
            node: match u32::from(p.place.node) {
                _ if nodes.len() < 2 => Node::None,
                node if are_inside => Node::Inside(node),
                node => Node::Outside(node),
            },
        };
        Topology::new(online.iter().map(entry).collect()).ok()
    }

    /// The processors that schedulers are bound to, in their order: those of a topology (`defined`, else the machine's own) that can be
    /// used, as if there were no others. So where schedulers are spread, and a mask has both threads of one core and one of another,
    /// the second scheduler comes to the other core.
    ///
    /// A topology that is defined is taken at its word; in the machine's own the cores of a module are told apart from others.
    pub fn order(&self, bind: BindType, defined: Option<&Topology>) -> Vec<u32> {
        let usable = self.usable();
        let is_usable = |logical: u32| usable.binary_search(&logical).is_ok();
        match (defined, self.topology()) {
            (Some(defined), _) => bind.order(&defined.only(is_usable)),
            (None, Some(own)) => {
                let twins = self.twins();
                let twin = |logical| twins.get(&logical).copied().unwrap_or_default();
                bind.order_with_twins(&own.only(is_usable), twin)
            }
            (None, None) => Vec::new(),
        }
    }

    /// For each processor that can be used, by its number: how many such cores of its module come before its own.
    fn twins(&self) -> BTreeMap<u32, usize> {
        let usable = || self.processors.iter().filter(|p| p.is_usable());
        let mut modules: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
        usable().for_each(|p| modules.entry(p.place.module).or_default().push(p.place.core));
        modules.values_mut().for_each(|cores| *cores = numbers(cores.drain(..)));
        let twin = |p: &Processor| modules[&p.place.module].partition_point(|core| *core < p.place.core);
        usable().map(|p| (p.number, twin(p))).collect()
    }

    /// The places of schedulers that are bound to these processors.
    pub fn places(&self, bound: &[u32]) -> Vec<Place> {
        let place = |number: &u32| self.processors.iter().find(|p| p.number == *number).map(|p| p.place);
        bound.iter().map(|number| place(number).unwrap_or_default()).collect()
    }
}

fn lone(number: u32) -> Processor {
    Processor { number, is_online: true, is_allowed: true, place: Place::default() }
}

/// Rising, each once.
fn numbers<N: Ord>(numbers: impl Iterator<Item = N>) -> Vec<N> {
    let mut all: Vec<N> = numbers.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn read_processors(files: &Files) -> Vec<Processor> {
    let mut processors = read_use(files);
    place(files, &mut processors);
    processors
}

/// The processors without their places.
fn read_use(files: &Files) -> Vec<Processor> {
    let mut all = files.numbered(Path::new(PROCESSORS), "cpu");
    let allowed = allowed(files);
    if all.is_empty() {
        // No sysfs: those of the mask.
        all = allowed.clone().unwrap_or_else(|| vec![0]);
    }
    let online = files.list(&Path::new(PROCESSORS).join("online"));
    let is_in = |list: &Option<Vec<u32>>, number| list.as_ref().is_none_or(|list| list.binary_search(&number).is_ok());
    let mut processors: Vec<Processor> = all
        .iter()
        .map(|&number| {
            let (is_online, is_allowed) = (is_in(&online, number), is_in(&allowed, number));
            Processor { number, is_online, is_allowed, place: Place::default() }
        })
        .collect();
    if !processors.iter().any(Processor::is_usable) {
        // This runs on one of them, whatever the files say.
        let fallback = processors.iter().position(|p| p.is_online).unwrap_or(0);
        processors[fallback].is_online = true;
        processors[fallback].is_allowed = true;
    }
    processors
}

/// The processors of the affinity mask.
fn allowed(files: &Files) -> Option<Vec<u32>> {
    let status = files.text(Path::new("/proc/self/status"))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    files::list(list).filter(|list| !list.is_empty())
}

/// What the kernel tells of one processor. Numbers are the kernel's.
struct Told {
    node: u32,
    socket: u32,
    /// The first of those that share the last cache.
    cache: u32,
    /// The first of those that share an instruction cache.
    instructions: u32,
    cluster: Option<u32>,
    /// A core's number counts within its die.
    core: (u32, u32),
}

/// Fills in the places.
fn place(files: &Files, processors: &mut [Processor]) {
    let nodes: Vec<(u32, Vec<u32>)> = files
        .numbered(Path::new(NODES), "node")
        .into_iter()
        .filter_map(|node| Some((node, files.list(&Path::new(NODES).join(format!("node{node}/cpulist")))?)))
        .collect();
    let told: Vec<Told> = processors.iter().map(|p| tell(files, p, &nodes)).collect();
    let node = ranks(told.iter().map(|t| t.node));
    let socket = ranks(told.iter().map(|t| t.socket));
    let cache = ranks(told.iter().map(|t| (t.socket, t.cache)));
    let core = ranks(told.iter().map(|t| (t.socket, t.core)));
    // Cores that share their instructions, else clusters of two: larger ones share a cache at most.
    let fed = cores_by(&core, told.iter().map(|t| (t.socket, t.instructions)));
    let clustered = cores_by(&core, told.iter().map(|t| (t.socket, t.cluster.ok_or(t.core))));
    let firsts =
        fed.iter().zip(&clustered).zip(&core).map(|((fed, clustered), own)| match (&fed[..], &clustered[..]) {
            ([first, _, ..], _) => *first,
            (_, [first, _]) => *first,
            _ => *own,
        });
    let module = ranks(firsts);
    let mut threads: BTreeMap<u16, u16> = BTreeMap::new();
    for (i, processor) in processors.iter_mut().enumerate() {
        let next = threads.entry(core[i]).or_default();
        processor.place = Place {
            thread: *next,
            core: core[i],
            module: module[i],
            cache: cache[i],
            node: node[i],
            socket: socket[i],
        };
        *next += 1;
    }
}

/// Numbers from 0 in the order of the keys, equal for equal ones.
fn ranks<K: Ord + Clone>(keys: impl Iterator<Item = K> + Clone) -> Vec<u16> {
    let order = numbers(keys.clone());
    keys.map(|key| order.binary_search(&key).map_or(0, |rank| rank as u16)).collect()
}

/// For each processor: the cores that have its key, rising.
fn cores_by<K: Ord + Clone>(core: &[u16], keys: impl Iterator<Item = K> + Clone) -> Vec<Vec<u16>> {
    let mut cores: BTreeMap<K, Vec<u16>> = BTreeMap::new();
    keys.clone().zip(core).for_each(|(key, core)| cores.entry(key).or_default().push(*core));
    keys.map(|key| numbers(cores.get(&key).into_iter().flatten().copied())).collect()
}

fn tell(files: &Files, processor: &Processor, nodes: &[(u32, Vec<u32>)]) -> Told {
    let number = processor.number;
    let at = Path::new(PROCESSORS).join(format!("cpu{number}"));
    let topology = |name: &str| files.number::<u32>(&at.join("topology").join(name)).filter(|n| *n != UNKNOWN);
    let caches = caches(files, &at);
    let last = caches.iter().filter(|cache| cache.kind != "Instruction").max_by_key(|cache| cache.level);
    let front_end = caches.iter().find(|cache| cache.level == 1 && cache.kind == "Instruction");
    let core = topology("core_id");
    Told {
        node: nodes.iter().find(|(_, list)| list.binary_search(&number).is_ok()).map_or(0, |(node, _)| *node),
        socket: topology("physical_package_id").unwrap_or(0),
        cache: last.map_or(u32::MAX, |cache| cache.first),
        instructions: front_end.map_or(number, |cache| cache.first),
        cluster: topology("cluster_id"),
        // One of which nothing is told is a core of its own.
        core: core.map_or((u32::MAX, number), |core| (topology("die_id").unwrap_or(0), core)),
    }
}

/// What the kernel writes for a number that it does not know, in 16 bits.
const UNKNOWN: u32 = 0xffff;

struct Cache {
    level: u32,
    kind: String,
    /// The first processor that uses it.
    first: u32,
}

fn caches(files: &Files, processor: &Path) -> Vec<Cache> {
    let read = |index: u32| {
        let at: PathBuf = processor.join(format!("cache/index{index}"));
        let shared = files.list(&at.join("shared_cpu_list"))?;
        Some(Cache {
            level: files.number(&at.join("level"))?,
            kind: files.text(&at.join("type"))?.trim().to_owned(),
            first: *shared.first()?,
        })
    };
    let indices = files.numbered(&processor.join("cache"), "index");
    indices.into_iter().take(MOST_CACHES).filter_map(read).collect()
}

/// No processor has more.
const MOST_CACHES: usize = 16;

/// What [`available_parallelism`] gave when it was first asked; 0: not yet.
static AT_START: AtomicUsize = AtomicUsize::new(0);

/// How many threads could run at once when that was first asked: when the VM started.
pub fn parallelism_at_start() -> usize {
    // Relaxed: a figure.
    match AT_START.load(Ordering::Relaxed) {
        0 => available_parallelism(),
        first => first,
    }
}

/// How many threads can run at once, at least 1: the smaller of the affinity mask and the quota, rounded up, since half a core of time
/// is still used by one thread. (`std` rounds down, and would leave 1.9 cores with one scheduler.)
pub fn available_parallelism() -> usize {
    let now = Capacity::of_the_system().rounded_up();
    // Relaxed: as above.
    let _ = AT_START.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    now
}

/// How many processors the machine has, whether or not this process may use them; at least 1.
pub fn configured_processors() -> usize {
    if cfg!(any(loom, miri)) { 2 } else { read_use(&Files::of_the_system()).len() }
}
