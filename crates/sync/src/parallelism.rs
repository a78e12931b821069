//! How many cores this process may use: the smaller of the affinity mask and the container's CPU quota.
//!
//! The quota is that of the cgroup, version 1 or 2, and of every group above it, rounded up: half a core of time is
//! still used by one thread. `std` rounds down and would leave 1.9 cores with one scheduler. Everything is read from
//! `/proc` and `/sys`, where a mask may be of any length; elsewhere the answer is `std`'s.

use std::path::{Path, PathBuf};

/// How many threads can run at once, at least 1.
pub fn available_parallelism() -> usize {
    if cfg!(any(loom, miri)) {
        return 2;
    }
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let cores = read(Path::new("/proc/thread-self/status"))
        .and_then(|status| cores_in_mask(&status))
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    cores.min(quota(&read).unwrap_or(usize::MAX)).max(1)
}

/// The bits of the line `Cpus_allowed:\tff,ffffffff`.
fn cores_in_mask(status: &str) -> Option<usize> {
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?.trim();
    let mut cores = 0;
    for digit in mask.chars().filter(|digit| *digit != ',') {
        cores += digit.to_digit(16)?.count_ones() as usize;
    }
    (cores > 0).then_some(cores)
}

/// The smallest quota of this process's groups, in cores.
fn quota(read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    groups.lines().filter_map(|line| group_quota(line, &mounts, read)).min()
}

/// The quota of one line `number:controllers:path`; version 2 has no controllers there.
fn group_quota(line: &str, mounts: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    let unified = controllers.is_empty();
    if !unified && !controllers.split(',').any(|controller| controller == "cpu") {
        return None;
    }
    let (root, mount) = mounts.lines().find_map(|line| cgroup_mount(line, unified))?;
    // Inside a container the mount shows a part of the tree, and `root` says which. A group outside it, as a
    // container without a cgroup name space sees it, has its limits at the mount itself.
    let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    let mut least = None;
    for level in below.ancestors() {
        let directory = mount.join(level);
        let here = if unified { unified_quota(&directory, read) } else { legacy_quota(&directory, read) };
        least = match (least, here) {
            (Some(least), Some(here)) => Some(usize::min(least, here)),
            (least, here) => least.or(here),
        };
    }
    least
}

/// Root and mount point of the line of `mountinfo` that mounts the hierarchy we want.
fn cgroup_mount(line: &str, unified: bool) -> Option<(&str, PathBuf)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let wanted = match name {
        "cgroup2" => unified,
        "cgroup" => !unified && options.split(',').any(|option| option == "cpu"),
        _ => false,
    };
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    wanted.then(|| (root, PathBuf::from(point)))
}

/// `cpu.max` holds `max 100000` or `150000 100000`.
fn unified_quota(directory: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let limits = read(&directory.join("cpu.max"))?;
    let (quota, period) = limits.trim().split_once(' ')?;
    cores(quota, period)
}

/// A quota of -1 is none.
fn legacy_quota(directory: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Option<usize> {
    let quota = read(&directory.join("cpu.cfs_quota_us"))?;
    let period = read(&directory.join("cpu.cfs_period_us"))?;
    cores(quota.trim(), period.trim())
}

fn cores(quota: &str, period: &str) -> Option<usize> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    if period == 0 {
        return None;
    }
    usize::try_from(quota.div_ceil(period)).ok()
}
