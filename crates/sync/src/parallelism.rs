//! How many cores this process may use: the smaller of the affinity mask and the container's CPU quota.
//!
//! The quota is that of the cgroup, version 1 or 2, and of every group above it, rounded up: half a core of time is
//! still used by one thread. `std` rounds down and would leave 1.9 cores with one scheduler. Everything is read from
//! `/proc` and `/sys`, where a mask may be of any length; elsewhere the answer is `std`'s.

use crate::cgroup::{self, Read, Version};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// How many threads can run at once, at least 1.
pub fn available_parallelism() -> usize {
    let now = look();
    // Relaxed: as above.
    let _ = AT_START.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    now
}

fn look() -> usize {
    if cfg!(any(loom, miri)) {
        return 2;
    }
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let cores = read(Path::new("/proc/self/status"))
        .and_then(|status| cores_in_mask(&status))
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    cores.min(quota(&read).unwrap_or(usize::MAX)).max(1)
}

/// How many processors the machine has, whether or not this process may use them; at least 1.
pub fn configured_processors() -> usize {
    if cfg!(any(loom, miri)) {
        return 2;
    }
    let entries = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let is_processor =
        |name: &str| name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let count = entries.filter(|e| e.file_name().to_str().is_some_and(is_processor)).count();
    if count > 0 { count } else { available_parallelism() }
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
fn quota(read: Read<'_>) -> Option<usize> {
    cgroup::least("cpu", read, &|directory, version| match version {
        Version::Unified => unified_quota(directory, read),
        Version::Legacy => legacy_quota(directory, read),
    })
}

/// `cpu.max` holds `max 100000` or `150000 100000`.
fn unified_quota(directory: &Path, read: Read<'_>) -> Option<usize> {
    let limits = read(&directory.join("cpu.max"))?;
    let (quota, period) = limits.trim().split_once(' ')?;
    cores(quota, period)
}

/// A quota of -1 is none.
fn legacy_quota(directory: &Path, read: Read<'_>) -> Option<usize> {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{available_parallelism, configured_processors, cores_in_mask, quota};
    use std::{collections::HashMap, path::Path};

    fn quota_of(files: &[(&str, &str)]) -> Option<usize> {
        let files: HashMap<&str, &str> = files.iter().copied().collect();
        quota(&|path: &Path| files.get(path.to_str()?).map(|text| (*text).to_owned()))
    }

    #[test]
    fn at_least_one() {
        assert!(available_parallelism() >= 1);
        assert!(configured_processors() >= 1);
    }

    #[test]
    fn masks_of_any_length() {
        assert_eq!(cores_in_mask("Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n"), Some(2));
        assert_eq!(cores_in_mask(&format!("Cpus_allowed:\t{}ff\n", "ffffffff,".repeat(40))), Some(40 * 32 + 8));
        assert_eq!(cores_in_mask("Cpus_allowed:\tzz\n"), None);
        assert_eq!(cores_in_mask("Cpus_allowed:\t0\n"), None);
        assert_eq!(cores_in_mask(""), None);
    }

    const V2: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_2_takes_the_smallest_above_rounded_up() {
        let groups = ("/proc/self/cgroup", "0::/a/b\n");
        let mounts = ("/proc/self/mountinfo", V2);
        let inner = ("/sys/fs/cgroup/a/b/cpu.max", "350000 100000\n");
        assert_eq!(quota_of(&[groups, mounts, inner]), Some(4));
        assert_eq!(quota_of(&[groups, mounts, inner, ("/sys/fs/cgroup/a/cpu.max", "190000 100000\n")]), Some(2));
        assert_eq!(quota_of(&[groups, mounts, ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")]), None);
        assert_eq!(quota_of(&[groups, mounts, ("/sys/fs/cgroup/a/b/cpu.max", "5 0\n")]), None);
        assert_eq!(quota_of(&[groups, mounts, ("/sys/fs/cgroup/a/b/cpu.max", "nonsense")]), None);
        assert_eq!(quota_of(&[groups]), None);
    }

    #[test]
    fn version_1_in_a_container() {
        let files = [
            ("/proc/self/cgroup", "5:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n0::/\n"),
            (
                "/proc/self/mountinfo",
                "30 23 0:27 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
                 31 23 0:28 /docker/x /sys/fs/cgroup/cpu,cpuacct ro shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(quota_of(&files), Some(1));
        let mut without = files;
        without[2].1 = "-1\n";
        assert_eq!(quota_of(&without), None);
    }
}
