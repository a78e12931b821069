//! Recorded trees for tests: directories of small text files, as `/proc` and `/sys` have them on several machines.

use super::Files;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A path below the root, and what the file says.
pub(super) type File = (&'static str, &'static str);

/// Such a directory, for as long as this lives.
pub(super) struct Tree(PathBuf);

impl Tree {
    pub(super) fn new(files: &[(&str, &str)]) -> Tree {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: a number that no other tree of this process has.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let tree = Tree(std::env::temp_dir().join(format!("myriad-tree-{}-{number}", std::process::id())));
        files.iter().for_each(|(path, text)| tree.write(path, text));
        tree
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let place = self.0.join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    pub(super) fn files(&self) -> Files {
        Files::below(&self.0)
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    /// What the kernel tells of one processor: socket, core, its last cache (of level 3) and who shares it.
    pub(super) fn processor(&self, number: u32, [socket, core]: [u32; 2], last_cache: &str) {
        let at = |name: &str| format!("/sys/devices/system/cpu/cpu{number}/{name}");
        self.write(&at("topology/physical_package_id"), &format!("{socket}\n"));
        self.write(&at("topology/core_id"), &format!("{core}\n"));
        self.write(&at("topology/die_id"), "0\n");
        self.write(&at("topology/cluster_id"), "65535\n");
        self.write(&at("cache/index3/level"), "3\n");
        self.write(&at("cache/index3/type"), "Unified\n");
        self.write(&at("cache/index3/shared_cpu_list"), &format!("{last_cache}\n"));
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A laptop: two cores with two threads each, whose numbers follow each other, and a cluster of two small ones and one of four.
pub(super) fn laptop() -> Tree {
    let tree =
        Tree::new(&[("/sys/devices/system/cpu/online", "0-9\n"), ("/proc/self/status", "Cpus_allowed_list:\t0-9\n")]);
    for number in 0..10 {
        let core = if number < 4 { number / 2 } else { number - 2 };
        tree.processor(number, [0, core], "0-9");
        let cluster = [0, 0, 8, 8, 16, 16, 24, 24, 24, 24][number as usize];
        tree.write(&format!("/sys/devices/system/cpu/cpu{number}/topology/cluster_id"), &format!("{cluster}\n"));
    }
    tree
}

/// Two sockets of two nodes of four modules of two cores, which share a front end: Kourai's machine, of which the mask has this list.
pub(super) fn modules(mask: &str) -> Tree {
    let tree = Tree::new(&[
        ("/sys/devices/system/cpu/online", "0-31\n"),
        ("/proc/self/status", &format!("Cpus_allowed_list:\t{mask}\n")),
    ]);
    for node in 0..4 {
        let list = format!("{}-{}", node * 8, node * 8 + 7);
        tree.write(&format!("/sys/devices/system/node/node{node}/cpulist"), &list);
        for number in node * 8..node * 8 + 8 {
            tree.processor(number, [node / 2, number % 16], &list);
            let at = |name: &str| format!("/sys/devices/system/cpu/cpu{number}/cache/index1/{name}");
            let first = number / 2 * 2;
            tree.write(&at("level"), "1");
            tree.write(&at("type"), "Instruction");
            tree.write(&at("shared_cpu_list"), &format!("{first}-{}", first + 1));
        }
    }
    tree
}

/// A server of two sockets with 64 cores of two threads each, of which the second ones come after all first ones; a node and 8 last
/// caches in each socket.
pub(super) fn server() -> Tree {
    let tree = Tree::new(&[
        ("/sys/devices/system/cpu/online", "0-255\n"),
        ("/sys/devices/system/node/node0/cpulist", "0-63,128-191\n"),
        ("/sys/devices/system/node/node1/cpulist", "64-127,192-255\n"),
        ("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-255\n"),
    ]);
    for number in 0..256 {
        let core = number % 128;
        let first = core / 8 * 8;
        tree.processor(
            number,
            [core / 64, core % 64],
            &format!("{first}-{},{}-{}", first + 7, first + 128, first + 135),
        );
    }
    tree
}

/// A container of version 2 on a machine of four processors: 2.5 of them, in a group with 3.
pub(super) const CONTAINER: &[File] = &[
    ("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("/sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
    ("/sys/devices/system/cpu/cpu2/topology/core_id", "2\n"),
    ("/sys/devices/system/cpu/cpu3/topology/core_id", "3\n"),
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/proc/self/status", "Cpus_allowed:\tf\nCpus_allowed_list:\t0-3\n"),
    ("/proc/self/cgroup", "0::/pods/one\n"),
    ("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("/sys/fs/cgroup/pods/cpu.max", "300000 100000\n"),
    ("/sys/fs/cgroup/pods/one/cpu.max", "250000 100000\n"),
];

/// The same machine with version 1: half a processor, by the outer group.
pub(super) const OLD_CONTAINER: &[File] = &[
    ("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("/sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
    ("/sys/devices/system/cpu/online", "0-1\n"),
    ("/proc/self/cgroup", "4:cpu,cpuacct:/a/b\n"),
    ("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"),
    ("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"),
    ("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"),
    ("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n"),
    ("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n"),
];

/// A virtual machine of four processors, from which a quarter of the time has been stolen since it started; its hypervisor tells of
/// no caches.
pub(super) const VIRTUAL: &[File] = &[
    ("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("/sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
    ("/sys/devices/system/cpu/cpu2/topology/core_id", "2\n"),
    ("/sys/devices/system/cpu/cpu3/topology/core_id", "3\n"),
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/proc/self/status", "Cpus_allowed_list:\t0-3\n"),
    ("/proc/self/cgroup", "0::/vm.slice\n"),
    ("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    (
        "/proc/stat",
        "cpu  600000 0 0 0 0 0 0 200000 0 0\ncpu0 150000 0 0 0 0 0 0 50000 0 0\ncpu1 150000 0 0 0 0 0 0 50000 0 0\n\
         cpu2 150000 0 0 0 0 0 0 50000 0 0\ncpu3 150000 0 0 0 0 0 0 50000 0 0\nintr 5\n",
    ),
];

/// Of four processors two are offline, and the mask has one of these and one other.
pub(super) const OFFLINE: &[File] = &[
    ("/sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("/sys/devices/system/cpu/cpu1/online", "0\n"),
    ("/sys/devices/system/cpu/cpu2/topology/core_id", "2\n"),
    ("/sys/devices/system/cpu/cpu3/online", "0\n"),
    ("/sys/devices/system/cpu/online", "0,2\n"),
    ("/proc/self/status", "Cpus_allowed_list:\t2-3\n"),
];
