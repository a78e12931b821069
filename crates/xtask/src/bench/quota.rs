//! The time of one processor, and no more: a control group with a quota, or, where none can be made, a mask of one processor.

use super::measure::Bench;
use crate::files;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Microseconds, the default of both versions of control groups.
const PERIOD: u32 = 100_000;

/// Lets what is started under it have one processor's time.
pub enum Quota {
    /// A control group, which is removed in the end.
    Group(PathBuf),
    /// The first processor alone.
    Pinned,
}

impl Quota {
    /// A control group below this process's own, of version 2 or 1; without the right to make one, a mask.
    pub fn one_processor() -> Quota {
        let mounts = files::read_if_there("/proc/mounts".as_ref());
        let own = files::read_if_there("/proc/self/cgroup".as_ref());
        let folders =
            parents(&mounts, &own).into_iter().map(|parent| parent.join(format!("bench-{}", std::process::id())));
        folders.into_iter().find_map(group).map_or(Quota::Pinned, Quota::Group)
    }

    /// What it is, for the title of a table.
    pub fn name(&self) -> &'static str {
        match self {
            Quota::Group(_) => "a control group's quota of one processor",
            Quota::Pinned => "one processor by mask, for no control group can be made here",
        }
    }

    /// A VM with flags and the compiled programs that has no more than the quota.
    pub fn start_vm(&self, bench: &Bench, vm: &Path, flags: &[&str]) -> Command {
        let mut command = match self {
            Quota::Group(folder) => {
                let mut command = bench.start("sh".as_ref());
                command.args(["-c", r#"echo $$ >"$0" && exec "$@""#]).arg(folder.join("cgroup.procs"));
                command
            }
            Quota::Pinned => {
                let mut command = bench.start("taskset".as_ref());
                command.args(["-c", "0"]);
                command
            }
        };
        command.arg(vm);
        bench.with_programs(&mut command, flags);
        command
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        if let Quota::Group(folder) = self {
            // Its processes have ended; a group that cannot be removed harms nobody.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folders of this process's own groups where a quota may be set, version 2 first. `mounts` and `own` are `/proc/mounts` and
/// `/proc/self/cgroup`.
fn parents(mounts: &str, own: &str) -> Vec<PathBuf> {
    let mounted = |wanted: &dyn Fn(&str, &str) -> bool| {
        mounts.lines().find_map(|line| {
            let mut words = line.split(' ').skip(1);
            let (place, kind, options) = (words.next()?, words.next()?, words.next()?);
            wanted(kind, options).then(|| PathBuf::from(place))
        })
    };
    let is_cpu = |names: &str| names.split(',').any(|name| name == "cpu");
    let path = |wanted: &dyn Fn(&str) -> bool| {
        let mut lines = own.lines().map(|line| line.splitn(3, ':'));
        let path = lines.find_map(|mut parts| {
            let (_, names, path) = (parts.next()?, parts.next()?, parts.next()?);
            wanted(names).then(|| path.trim_start_matches('/').to_owned())
        });
        path.unwrap_or_default()
    };
    let second = mounted(&|kind, _| kind == "cgroup2").map(|place| place.join(path(&str::is_empty)));
    let first = mounted(&|kind, options| kind == "cgroup" && is_cpu(options)).map(|place| place.join(path(&is_cpu)));
    second.into_iter().chain(first).collect()
}

/// Makes a group with the quota, if that is possible there.
fn group(folder: PathBuf) -> Option<PathBuf> {
    fs::create_dir(&folder).ok()?;
    // Version 2 has both numbers in one file. What the group has no file for it cannot be told.
    let told = |name: &str, text: String| folder.join(name).exists() && fs::write(folder.join(name), text).is_ok();
    let set = told("cpu.max", format!("{PERIOD} {PERIOD}"))
        || (told("cpu.cfs_period_us", PERIOD.to_string()) && told("cpu.cfs_quota_us", PERIOD.to_string()));
    if !set {
        let _ = fs::remove_dir(&folder);
    }
    set.then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_made_below_the_own_one() {
        let both = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n\
                    cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
                    cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let own = "3:cpuset:/set\n1:cpu,cpuacct:/a/b\n0::/c\n";
        let found = parents(both, own);
        assert_eq!(found, ["/sys/fs/cgroup/unified/c", "/sys/fs/cgroup/cpu,cpuacct/a/b"].map(PathBuf::from));
        assert_eq!(parents("proc /proc proc rw 0 0\n", own), Vec::<PathBuf>::new());
        assert_eq!(parents("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "0::/\n"), [PathBuf::from("/sys/fs/cgroup/")]);
    }

    #[test]
    fn what_knows_no_quota_is_no_group() {
        let folder = std::env::temp_dir().join(format!("xtask-quota-{}", std::process::id()));
        assert_eq!(group(folder.clone()), None);
        assert!(!folder.exists());
    }
}
