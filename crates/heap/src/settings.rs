//! What the user may set for the heap of a process (`spawn_opt/4`, `process_flag/2`, `erl +h…`).

/// How processes have their memory (Johansson et al. 2002; `erl +heap=…`), for all of them alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Architecture {
    /// A heap for each process; messages are copied.
    #[default]
    Private,
    /// A heap for each process; large messages are [bundles](crate::bundle), which processes share.
    Hybrid,
    /// One heap of all processes; messages are pointers ([`crate::shared`]).
    Shared,
}

/// The limit of a heap's size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxHeapSize {
    /// Words; 0 = no limit.
    pub size: usize,
    /// Kill the process that exceeds it?
    pub kill: bool,
    /// Report the process that exceeds it?
    pub error_logger: bool,
    /// Count shared binaries too?
    pub include_shared: bool,
}

impl Default for MaxHeapSize {
    fn default() -> Self {
        MaxHeapSize { size: 0, kill: true, error_logger: true, include_shared: false }
    }
}

/// The settings of one heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Words that the young block never falls below.
    pub min_heap_size: usize,
    /// Words that the limits of the virtual binary heaps never fall below.
    pub min_bin_vheap_size: usize,
    /// Minor collections before the next is a fullsweep.
    pub fullsweep_after: u16,
    /// The limit.
    pub max_heap_size: MaxHeapSize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            min_heap_size: 233,
            min_bin_vheap_size: 46_422,
            fullsweep_after: 65_535,
            max_heap_size: MaxHeapSize::default(),
        }
    }
}
