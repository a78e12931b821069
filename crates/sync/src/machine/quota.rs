//! How much time of processors the control groups leave this process.

use super::cgroup::{self, Group, Version};
use super::files::Files;
use std::path::PathBuf;

/// A thousandth of a processor.
const THOUSAND: u128 = 1000;

/// A limit on the time of processors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Thousandths of a processor, rounded up.
    pub millis: u64,
    /// The group that is limited: its directory.
    pub group: PathBuf,
    /// How that group writes it.
    pub version: Version,
}

/// The groups whose quotas count for this process.
#[derive(Debug)]
pub(super) struct Quotas(Vec<Group>);

impl Quotas {
    /// Those that this process is in.
    pub(super) fn find(files: &Files) -> Quotas {
        Quotas(cgroup::groups("cpu", &|path| files.text(path)))
    }

    /// The smallest quota of all of them.
    pub(super) fn least(&self, files: &Files) -> Option<Quota> {
        let quota = |group: &Group| {
            let millis = match group.version {
                Version::Unified => unified(group, files),
                Version::Legacy => legacy(group, files),
            }?;
            Some(Quota { millis, group: group.directory.clone(), version: group.version })
        };
        self.0.iter().filter_map(quota).min_by_key(|quota| quota.millis)
    }
}

/// `cpu.max` holds `max 100000` or `150000 100000`.
fn unified(group: &Group, files: &Files) -> Option<u64> {
    let limits = files.text(&group.directory.join("cpu.max"))?;
    let (quota, period) = limits.trim().split_once(' ')?;
    millis(quota.parse().ok()?, period.parse().ok()?)
}

/// A quota of -1 is none, which is no number here.
fn legacy(group: &Group, files: &Files) -> Option<u64> {
    let of = |name| files.number(&group.directory.join(name));
    millis(of("cpu.cfs_quota_us")?, of("cpu.cfs_period_us")?)
}

fn millis(quota: u64, period: u64) -> Option<u64> {
    let millis = (u128::from(quota) * THOUSAND).checked_add(u128::from(period.checked_sub(1)?))? / u128::from(period);
    Some(u64::try_from(millis).unwrap_or(u64::MAX))
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::Quotas;
    use crate::machine::trees::Tree;

    fn quota_of(files: &[(&str, &str)]) -> Option<u64> {
        let tree = Tree::new(files);
        Quotas::find(&tree.files()).least(&tree.files()).map(|quota| quota.millis)
    }

    const V2: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_2_takes_the_smallest_above() {
        let groups = ("/proc/self/cgroup", "0::/a/b\n");
        let mounts = ("/proc/self/mountinfo", V2);
        let inner = ("/sys/fs/cgroup/a/b/cpu.max", "350000 100000\n");
        assert_eq!(quota_of(&[groups, mounts, inner]), Some(3500));
        let outer = |limits| quota_of(&[groups, mounts, inner, ("/sys/fs/cgroup/a/cpu.max", limits)]);
        assert_eq!(outer("190000 100000\n"), Some(1900));
        assert_eq!(outer("max 100000\n"), Some(3500));
        assert_eq!(outer("1 100000\n"), Some(1));
        assert_eq!(outer("0 100000\n"), Some(0));
        assert_eq!(outer("18446744073709551615 1\n"), Some(3500));
        for none in ["5 0", "nonsense", "", "100000", "-1 100000", "1.5 100000", "99999999999999999999999 1"] {
            assert_eq!(quota_of(&[groups, mounts, ("/sys/fs/cgroup/a/b/cpu.max", none)]), None, "{none}");
        }
        assert_eq!(quota_of(&[groups]), None);
        assert_eq!(quota_of(&[mounts, inner]), None);
    }

    #[test]
    fn a_group_outside_of_what_is_mounted_has_the_limits_of_the_mount() {
        let mounts = ("/proc/self/mountinfo", V2);
        let limits = ("/sys/fs/cgroup/cpu.max", "50000 100000");
        let elsewhere = ("/sys/cpu.max", "10000 100000");
        assert_eq!(quota_of(&[("/proc/self/cgroup", "0::/../..\n"), mounts, limits, elsewhere]), Some(500));
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
        assert_eq!(quota_of(&files), Some(500));
        let mut without = files;
        without[2].1 = "-1\n";
        assert_eq!(quota_of(&without), None);
    }
}
