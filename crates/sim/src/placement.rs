//! Which processor each virtual core runs on, and how much slower it is there while its mates work.
//!
//! Two processors that share a part of a core (the front end of an AMD module, or all of a core with two hardware threads) are mates: work on
//! one takes longer while the other one works. Under a hypervisor virtual cores are bound to processors, or move: one that wakes, and
//! one that has run for [`SLICE_NS`], comes to a processor that is free, where fewest mates work. What it had in its cache stays
//! where it was. The placements are those of Kourai and Nakata ("Analysis of the Impact of CPU Virtualization on Parallel
//! Applications in Xen"), where the names count the processors taken of each socket.

use crate::topology::Topology;
use myriad_sync::machine::Place;

/// How long a virtual core runs before the hypervisor looks for another processor: the time slice of Xen's credit scheduler.
pub const SLICE_NS: u64 = 30_000_000;

/// Where the virtual cores are.
pub struct Placement {
    /// The processor of each core.
    processors: Vec<usize>,
    /// Which processors work.
    busy: Vec<bool>,
    slowdown: f64,
    stride: usize,
    /// Core *n* is on processor *n*, as on a machine without a hypervisor.
    in_order: bool,
    hypervisor: Option<Hypervisor>,
}

/// What moves virtual cores.
struct Hypervisor {
    /// When each core came to its processor.
    since: Vec<u64>,
    draws: u64,
}

impl Placement {
    /// So many cores of a machine by this name: `in-order`, `none` (they move), or as many numbers as there are sockets, with `-`
    /// between them: so many processors of each.
    ///
    /// # Errors
    /// One line: there is no such placement, or too few processors in it.
    pub fn named(name: &str, topology: &Topology, cores: usize, seed: u64) -> Result<Placement, String> {
        let all = topology.processors();
        let (order, moves) = match name {
            "in-order" => ((0..all).collect(), false),
            "none" => (spread(topology), true),
            _ => (by_socket(name, topology)?, false),
        };
        if order.len() < cores {
            return Err(format!("--placement {name}: {} processors, not {cores}", order.len()));
        }
        let hypervisor = moves.then(|| Hypervisor { since: vec![0; cores], draws: seed });
        Ok(Placement {
            processors: order[..cores].to_vec(),
            busy: vec![false; all],
            slowdown: topology.mate_slowdown,
            stride: topology.mate_stride,
            in_order: name == "in-order",
            hypervisor,
        })
    }

    /// Where the cores are, as far as the VM is told: a hypervisor does not say on which processors its guest's are.
    pub fn told(&self, topology: &Topology) -> Option<Vec<Place>> {
        let place = |processor: usize| {
            let module = mate(processor, self.stride).map_or(processor, |mate| mate.min(processor)) as u16;
            let core = topology.place(processor);
            let socket = (core / topology.socket_cores) as u16;
            let cache = (core / topology.module_cores) as u16;
            let thread = (processor / topology.cores) as u16;
            Place { thread, core: core as u16, module, cache, node: socket, socket }
        };
        self.in_order.then(|| self.processors.iter().map(|processor| place(*processor)).collect())
    }

    /// The processor of a core.
    pub fn processor(&self, core: usize) -> usize {
        self.processors[core]
    }

    /// One more than the highest processor that a core can come to.
    pub fn processors(&self) -> usize {
        match self.hypervisor {
            Some(_) => self.busy.len(),
            None => self.processors.iter().max().map_or(0, |most| most + 1),
        }
    }

    /// A core works at this time; `wakes`: it did not before.
    pub fn works(&mut self, core: usize, at: u64, wakes: bool) {
        let here = self.processors[core];
        if let Some(hypervisor) = &mut self.hypervisor
            && (wakes || at - hypervisor.since[core] >= SLICE_NS)
        {
            self.busy[here] = false;
            hypervisor.since[core] = at;
            let best = self.best();
            if !(wakes && best.contains(&here)) {
                self.processors[core] = best[self.draw() as usize % best.len()];
            }
        }
        self.busy[self.processors[core]] = true;
    }

    /// A core has parked.
    pub fn rests(&mut self, core: usize) {
        self.busy[self.processors[core]] = false;
    }

    /// How many times as long work of a core takes now.
    pub fn slowdown(&self, core: usize) -> f64 {
        match mate(self.processors[core], self.stride) {
            Some(mate) if self.busy[mate] => self.slowdown,
            _ => 1.0,
        }
    }

    /// The processors that are free and whose mates rest, or are free at least. (There are no more cores than processors.)
    fn best(&self) -> Vec<usize> {
        let free = || (0..self.busy.len()).filter(|processor| !self.busy[*processor]);
        let alone = |processor: &usize| mate(*processor, self.stride).is_none_or(|mate| !self.busy[mate]);
        let best: Vec<usize> = free().filter(alone).collect();
        if best.is_empty() { free().collect() } else { best }
    }

    /// Marsaglia's xorshift, 64 bits.
    fn draw(&mut self) -> u64 {
        let Some(hypervisor) = &mut self.hypervisor else { return 0 };
        let mut x = hypervisor.draws ^ 0x9e37_79b9_7f4a_7c15;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        hypervisor.draws = x ^ 0x9e37_79b9_7f4a_7c15;
        x >> 33
    }
}

/// The processor with which this one shares a core. Mates are `stride` apart, in groups of twice that; 0: there are none.
fn mate(processor: usize, stride: usize) -> Option<usize> {
    (stride > 0).then(|| if (processor / stride).is_multiple_of(2) { processor + stride } else { processor - stride })
}

/// First one processor of each pair of mates, then the others.
fn firsts_then_seconds(processors: impl Iterator<Item = usize> + Clone, stride: usize) -> Vec<usize> {
    let is_first = move |processor: &usize| stride == 0 || (processor / stride).is_multiple_of(2);
    processors.clone().filter(is_first).chain(processors.filter(move |processor| !is_first(processor))).collect()
}

fn spread(topology: &Topology) -> Vec<usize> {
    firsts_then_seconds(0..topology.processors(), topology.mate_stride)
}

/// So many processors of each socket, node by node: of each node one of two mates, then the others. Cores go to the sockets in turns.
fn by_socket(name: &str, topology: &Topology) -> Result<Vec<usize>, String> {
    let unknown =
        || format!("--placement {name}: in-order, none, or numbers of processors by socket are wanted, as 8-8");
    let counts: Option<Vec<usize>> = name.split('-').map(|count| count.parse().ok()).collect();
    let counts = counts.ok_or_else(unknown)?;
    let sockets = topology.cores / topology.socket_cores;
    if counts.len() != sockets {
        return Err(format!("--placement {name}: the machine has {sockets} sockets, not {}", counts.len()));
    }
    let mut left: Vec<_> = Vec::new();
    for (socket, &count) in counts.iter().enumerate() {
        let mut processors = Vec::new();
        let cores = socket * topology.socket_cores..(socket + 1) * topology.socket_cores;
        for node in cores.step_by(topology.module_cores) {
            let of_node =
                |processor: &usize| topology.place(*processor) / topology.module_cores == node / topology.module_cores;
            processors.extend(firsts_then_seconds((0..topology.processors()).filter(of_node), topology.mate_stride));
        }
        if processors.len() < count {
            return Err(format!("--placement {name}: a socket has {} processors, not {count}", processors.len()));
        }
        processors.truncate(count);
        left.push(processors.into_iter());
    }
    let longest = counts.iter().max().copied().unwrap_or(0);
    Ok((0..longest).flat_map(|_| left.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>()).collect())
}

#[cfg(test)]
mod tests {
    use super::{Placement, SLICE_NS};
    use crate::machine::Machine;

    fn placed(name: &str, cores: usize) -> Placement {
        let machine = Machine::named("modules-32").unwrap();
        Placement::named(name, &machine.topology, cores, 1).unwrap()
    }

    /// The slides' tables: which processors are used with so many threads.
    #[test]
    fn processors_are_taken_in_the_order_of_the_slides() {
        let order = |name| placed(name, 16).processors;
        assert_eq!(order("8-8"), [0, 16, 2, 18, 4, 20, 6, 22, 1, 17, 3, 19, 5, 21, 7, 23]);
        assert_eq!(order("0-16"), [16, 18, 20, 22, 17, 19, 21, 23, 24, 26, 28, 30, 25, 27, 29, 31]);
        assert_eq!(order("in-order"), (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn who_works_beside_a_mate_is_slower() {
        let mut placement = placed("in-order", 3);
        placement.works(0, 0, true);
        assert_eq!(placement.slowdown(0), 1.0);
        placement.works(2, 0, true);
        assert_eq!(placement.slowdown(0), 1.0);
        placement.works(1, 0, true);
        assert!(placement.slowdown(0) > 1.0 && placement.slowdown(1) > 1.0);
        placement.rests(1);
        assert_eq!(placement.slowdown(0), 1.0);
    }

    #[test]
    fn a_core_that_moves_goes_where_no_mate_works() {
        let mut placement = placed("none", 16);
        for core in 0..16 {
            placement.works(core, 0, true);
        }
        let before = placement.processors.clone();
        for core in 0..16 {
            placement.works(core, SLICE_NS - 1, false);
        }
        assert_eq!(placement.processors, before);
        for core in 0..16 {
            placement.works(core, SLICE_NS, false);
        }
        assert_ne!(placement.processors, before);
        assert!((0..16).all(|core| placement.slowdown(core) == 1.0));
    }

    #[test]
    fn hardware_threads_are_one_core() {
        let server = Machine::named("server-2x64").unwrap().topology;
        let placement = Placement::named("2-1", &server, 3, 1).unwrap();
        assert_eq!(placement.processors, [0, 64, 1]);
        let all = Placement::named("128-0", &server, 128, 1).unwrap();
        assert_eq!(all.processors[7..10], [7, 128, 129]);
    }

    #[test]
    fn what_is_no_placement_is_refused_in_one_line() {
        let machine = Machine::named("modules-32").unwrap();
        for (name, why) in [
            ("8", "--placement 8: the machine has 2 sockets, not 1"),
            ("17-0", "--placement 17-0: a socket has 16 processors, not 17"),
            ("8-7", "--placement 8-7: 15 processors, not 16"),
            ("all", "--placement all: in-order, none, or numbers of processors by socket are wanted, as 8-8"),
        ] {
            assert_eq!(Placement::named(name, &machine.topology, 16, 1).err().as_deref(), Some(why));
        }
    }
}
