//! Where the cores of a machine are, and what a cache line takes from one to another.

/// Where cores are and what distance costs. Cores are numbered module by module, socket by socket. A processor is what runs one thread: a core,
/// or one of its hardware threads, of which first each core has one.
#[derive(Clone, PartialEq, Debug)]
pub struct Topology {
    /// Cores of the machine.
    pub cores: usize,
    /// Hardware threads of a core, which have all caches in common: 1 or 2.
    pub core_threads: usize,
    /// The distance between the numbers of two processors that are mates, for they share a core or a part of it; 0: there are none.
    pub mate_stride: usize,
    /// Work takes so many times as long while the mate works.
    pub mate_slowdown: f64,
    /// Cores of a socket.
    pub socket_cores: usize,
    /// Cores that share their last cache: a module.
    pub module_cores: usize,
    /// Cores of a row, where they are the nodes of a mesh; 0: they are not.
    pub mesh_width: usize,
    /// A line, between two cores of a module (nanoseconds, as all below).
    pub module_transfer_ns: f64,
    /// Between two modules of a socket.
    pub socket_transfer_ns: f64,
    /// Between two sockets.
    pub remote_transfer_ns: f64,
    /// For each hop of a mesh in addition.
    pub hop_ns: f64,
    /// A read-modify-write in addition, wherever the line is.
    pub atomic_ns: f64,
    /// Lines that a core fetches at a time, of those that it has asked for ahead: at least 1.
    pub fetches: usize,
    /// A lock is held for at least so long.
    pub least_hold_ns: f64,
}

impl Topology {
    /// How many threads the machine runs at once.
    pub fn processors(&self) -> usize {
        self.cores * self.core_threads
    }

    /// The core of a processor.
    pub fn place(&self, processor: usize) -> usize {
        processor % self.cores
    }

    /// What a line takes from a core to another one.
    pub fn transfer_ns(&self, from: usize, to: usize) -> u64 {
        let shared = if from / self.module_cores == to / self.module_cores {
            self.module_transfer_ns
        } else if from / self.socket_cores == to / self.socket_cores {
            self.socket_transfer_ns
        } else {
            self.remote_transfer_ns
        };
        (shared + self.hops(from, to) as f64 * self.hop_ns) as u64
    }

    fn hops(&self, from: usize, to: usize) -> usize {
        if self.mesh_width == 0 {
            return 0;
        }
        let place = |core: usize| (core % self.mesh_width, core / self.mesh_width);
        let ((a, b), (c, d)) = (place(from), place(to));
        a.abs_diff(c) + b.abs_diff(d)
    }
}

#[cfg(test)]
mod tests {
    use super::Topology;

    #[test]
    fn distance_is_by_module_socket_and_hop() {
        let mut topology = Topology {
            cores: 16,
            core_threads: 1,
            mate_stride: 0,
            mate_slowdown: 1.0,
            socket_cores: 8,
            module_cores: 2,
            mesh_width: 0,
            module_transfer_ns: 1.0,
            socket_transfer_ns: 10.0,
            remote_transfer_ns: 100.0,
            hop_ns: 1000.0,
            atomic_ns: 0.0,
            fetches: 1,
            least_hold_ns: 0.0,
        };
        assert_eq!([1, 2, 7, 8].map(|to| topology.transfer_ns(0, to)), [1, 10, 10, 100]);
        topology.mesh_width = 4;
        assert_eq!([1, 3, 4, 7].map(|to| topology.transfer_ns(0, to)), [1001, 3010, 1010, 4010]);
    }
}
