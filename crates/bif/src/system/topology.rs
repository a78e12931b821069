//! Processors, cores and hardware threads, as the operating system tells.

use myriad_sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::path::Path;

/// Logical processors by core by package.
pub type Topology = BTreeMap<u32, BTreeMap<u32, Vec<u32>>>;

fn number(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The topology; `None` if it is not told.
pub fn detect() -> Option<Topology> {
    let mut topology = Topology::new();
    for entry in std::fs::read_dir("/sys/devices/system/cpu").ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let Some(logical) = name.to_str().and_then(|n| n.strip_prefix("cpu")).and_then(|n| n.parse().ok()) else {
            continue;
        };
        let at = entry.path().join("topology");
        let (Some(package), Some(core)) = (number(&at.join("physical_package_id")), number(&at.join("core_id"))) else {
            continue;
        };
        topology.entry(package).or_default().entry(core).or_default().push(logical);
    }
    for threads in topology.values_mut().flat_map(|cores| cores.values_mut()) {
        threads.sort_unstable();
    }
    (!topology.is_empty()).then_some(topology)
}

/// How many logical processors this process may use, as last looked at; 0: not since the VM started.
static AVAILABLE: AtomicUsize = AtomicUsize::new(0);

/// How many logical processors this process may use, as last looked at.
pub fn available() -> usize {
    // Relaxed: a figure.
    match AVAILABLE.load(Ordering::Relaxed) {
        0 => myriad_sync::parallelism_at_start(),
        seen => seen,
    }
}

/// Looks at it anew. Has there been a change?
pub fn look() -> bool {
    let (before, now) = (available(), myriad_sync::available_parallelism());
    // Relaxed: as above.
    AVAILABLE.store(now, Ordering::Relaxed);
    before != now
}

/// How many logical processors there are.
pub fn logical_processors() -> usize {
    match detect() {
        Some(topology) => topology.values().flat_map(|cores| cores.values()).map(Vec::len).sum(),
        None => myriad_sync::available_parallelism(),
    }
}
