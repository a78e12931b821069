//! How much memory this process may still take: what the machine has left, and what its control groups leave it.
//!
//! - The figure is one of this moment: memory that was asked for and never written to is still counted as available, here as
//!   in the system's own figures.
//! - Where nothing tells a limit there is none. Whatever could be had by pushing something out (cached files, pages that
//!   swap takes) counts as available: the figure is too high rather than too low.

use crate::machine::Files;
use crate::machine::cgroup::{self, Read, Version};
use std::path::Path;

/// Bytes that could still be had; `usize::MAX` if nothing tells.
pub fn available() -> usize {
    if cfg!(any(loom, miri)) {
        return usize::MAX;
    }
    let files = Files::of_the_system();
    look(&|path| files.text(path))
}

/// How many bytes of address space a process may have (`ulimit -v`); `usize::MAX` if nothing limits it.
///
/// What is reserved ahead must leave room for heaps and for the stacks of threads: under a limit, each such reservation is a share of it.
pub fn address_space() -> usize {
    if cfg!(any(loom, miri)) {
        return usize::MAX;
    }
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is what the call writes.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    // No limit is the largest number.
    if known { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { usize::MAX }
}

fn look(read: Read<'_>) -> usize {
    let machine = read(Path::new("/proc/meminfo")).unwrap_or_default();
    let swap = kilobytes(&machine, "SwapFree:").unwrap_or(0);
    let machine = kilobytes(&machine, "MemAvailable:").map_or(usize::MAX, |free| free.saturating_add(swap));
    let group = cgroup::least("memory", read, &|directory, version| match version {
        Version::Unified => unified(directory, swap, read),
        Version::Legacy => legacy(directory, swap, read),
    });
    machine.min(group.unwrap_or(usize::MAX))
}

/// The bytes that a line `Name:   123 kB` tells.
fn kilobytes(text: &str, name: &str) -> Option<usize> {
    let figure = text.lines().find_map(|line| line.strip_prefix(name))?.trim().strip_suffix("kB")?;
    Some(figure.trim_end().parse::<usize>().ok()?.saturating_mul(1024))
}

/// What a group of version 2 has left. `max` is no limit.
fn unified(directory: &Path, swap: usize, read: Read<'_>) -> Option<usize> {
    let limit = figure(directory, "memory.max", read)?;
    let used = figure(directory, "memory.current", read)?;
    let swap_left = || {
        let limit = figure(directory, "memory.swap.max", read)?;
        Some(limit.saturating_sub(figure(directory, "memory.swap.current", read)?))
    };
    let cached = cached(directory, ["inactive_file", "active_file"], read);
    Some(left(limit, used, cached).saturating_add(swap_left().unwrap_or(swap).min(swap)))
}

/// The same of version 1, where no limit is a number larger than any memory.
fn legacy(directory: &Path, swap: usize, read: Read<'_>) -> Option<usize> {
    let limit = figure(directory, "memory.limit_in_bytes", read)?;
    let used = figure(directory, "memory.usage_in_bytes", read)?;
    let cached = cached(directory, ["total_inactive_file", "total_active_file"], read);
    Some(left(limit, used, cached).saturating_add(swap))
}

fn left(limit: usize, used: usize, cached: usize) -> usize {
    limit.saturating_sub(used.saturating_sub(cached))
}

fn figure(directory: &Path, name: &str, read: Read<'_>) -> Option<usize> {
    read(&directory.join(name))?.trim().parse().ok()
}

/// The sum of two figures of `memory.stat`: cached files, which go when memory is wanted.
fn cached(directory: &Path, names: [&str; 2], read: Read<'_>) -> usize {
    let text = read(&directory.join("memory.stat")).unwrap_or_default();
    let value = |line: &str| {
        let (name, figure) = line.split_once(' ')?;
        if names.contains(&name) { figure.trim().parse::<usize>().ok() } else { None }
    };
    text.lines().filter_map(value).fold(0, usize::saturating_add)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{available, look};
    use std::{collections::HashMap, path::Path};

    const GB: usize = 1 << 30;
    const MACHINE: (&str, &str) =
        ("/proc/meminfo", "MemTotal:  9437184 kB\nMemAvailable:    8388608 kB\nSwapFree:   1048576 kB\n");

    fn available_by(files: &[(&str, &str)]) -> usize {
        let files: HashMap<&str, &str> = files.iter().copied().collect();
        look(&|path: &Path| files.get(path.to_str()?).map(|text| (*text).to_owned()))
    }

    #[test]
    fn something_is_available() {
        assert!(available() > 0);
    }

    #[test]
    fn the_machine_has_memory_and_swap() {
        assert_eq!(available_by(&[MACHINE]), 9 * GB);
        assert_eq!(available_by(&[("/proc/meminfo", "MemAvailable: 4 kB")]), 4096);
        assert_eq!(available_by(&[("/proc/meminfo", "MemAvailable: 4kB\nSwapFree: x kB\n")]), 4096);
        assert_eq!(available_by(&[("/proc/meminfo", "MemAvailable: 0 kB\nSwapFree: 0 kB\n")]), 0);
    }

    #[test]
    fn text_that_tells_nothing_is_no_limit() {
        for text in [
            "",
            "\n\n",
            "MemAvailable:",
            "MemAvailable: kB",
            "MemAvailable: 12",
            "MemAvailable: -1 kB",
            "MemAvailable: 99999999999999999999999 kB",
            "XMemAvailable: 12 kB",
            "SwapFree: 12 kB",
            "MemAvailable 12 kB",
        ] {
            assert_eq!(available_by(&[("/proc/meminfo", text)]), usize::MAX, "{text}");
        }
        assert_eq!(available_by(&[]), usize::MAX);
        assert_eq!(available_by(&[("/proc/meminfo", "MemAvailable: 18446744073709551615 kB")]), usize::MAX);
    }

    const GROUPS: (&str, &str) = ("/proc/self/cgroup", "0::/a/b\n");
    const MOUNTS: (&str, &str) =
        ("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");

    #[test]
    fn version_2_takes_the_least_of_all_levels() {
        let inner =
            [("/sys/fs/cgroup/a/b/memory.max", "4294967296\n"), ("/sys/fs/cgroup/a/b/memory.current", "1073741824\n")];
        let mut files = vec![MACHINE, GROUPS, MOUNTS, inner[0], inner[1], ("/sys/fs/cgroup/a/b/memory.swap.max", "0")];
        files.push(("/sys/fs/cgroup/a/b/memory.swap.current", "0"));
        assert_eq!(available_by(&files), 3 * GB);
        let cached = "anon 1\ninactive_file 268435456\nactive_file 268435456\nfile 999\nactive_file\nx y z\n";
        files.push(("/sys/fs/cgroup/a/b/memory.stat", cached));
        assert_eq!(available_by(&files), 3 * GB + GB / 2);
        files.push(("/sys/fs/cgroup/a/memory.max", "max\n"));
        files.push(("/sys/fs/cgroup/a/memory.current", "5000000000\n"));
        assert_eq!(available_by(&files), 3 * GB + GB / 2);
        files.push(("/sys/fs/cgroup/memory.max", "1073741824\n"));
        files.push(("/sys/fs/cgroup/memory.current", "2147483648\n"));
        // More is used than may be: nothing is left but the machine's swap.
        assert_eq!(available_by(&files), GB);
        assert_eq!(available_by(&files[1..]), 0);
    }

    #[test]
    fn version_2_has_swap_of_its_own() {
        let group = |name: &str| format!("/sys/fs/cgroup/a/b/memory.{name}");
        let names = ["max", "current", "swap.max", "swap.current"].map(group);
        let with = |values: [&str; 4]| {
            let mut files = vec![MACHINE, GROUPS, MOUNTS];
            files.extend(names.iter().map(String::as_str).zip(values));
            available_by(&files)
        };
        assert_eq!(with(["1048576", "0", "4096", "0"]), 1048576 + 4096);
        assert_eq!(with(["1048576", "0", "max", "0"]), 1048576 + GB);
        assert_eq!(with(["1048576", "0", "4096", "9999"]), 1048576);
        for wrong in ["", "x", "-5", "1.5", "1 2"] {
            assert_eq!(with([wrong, "0", "0", "0"]), 9 * GB, "{wrong}");
            assert_eq!(with(["0", wrong, "0", "0"]), 9 * GB, "{wrong}");
        }
    }

    #[test]
    fn version_1_in_a_container() {
        let files = [
            ("/proc/self/cgroup", "4:memory:/docker/x\n1:cpu:/\n0::/\nrubbish\n:\n"),
            (
                "/proc/self/mountinfo",
                "30 23 0:27 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\nrubbish\n - \n",
            ),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n"),
            ("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 4096\n"),
        ];
        assert_eq!(available_by(&files), GB + 4096);
        let mut without = files;
        without[2].1 = "9223372036854771712\n";
        assert_eq!(available_by(&[&without[..], &[MACHINE]].concat()), 9 * GB);
    }
}
