//! The control groups (version 1 or 2) that this process is in, and what limits them.

use std::path::{Path, PathBuf};

/// Gives the text of a file, if there is such a file.
pub(crate) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// How a hierarchy writes its limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// A hierarchy for each controller.
    Legacy,
    /// One hierarchy for all.
    Unified,
}

/// The least of what `limit` finds in the directories of this process's groups and of every group above them, for one controller.
pub(crate) fn least(
    controller: &str,
    read: Read<'_>,
    limit: &dyn Fn(&Path, Version) -> Option<usize>,
) -> Option<usize> {
    let groups = read(Path::new("/proc/self/cgroup"))?;
    let mounts = read(Path::new("/proc/self/mountinfo"))?;
    groups.lines().filter_map(|line| least_of_line(line, controller, &mounts, limit)).min()
}

/// The least limit of one line `number:controllers:path`; version 2 has no controllers there.
fn least_of_line(
    line: &str,
    controller: &str,
    mounts: &str,
    limit: &dyn Fn(&Path, Version) -> Option<usize>,
) -> Option<usize> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    let version = if controllers.is_empty() { Version::Unified } else { Version::Legacy };
    if version == Version::Legacy && !controllers.split(',').any(|name| name == controller) {
        return None;
    }
    let (root, mount) = mounts.lines().find_map(|line| mount_point(line, controller, version))?;
    // Inside a container the mount shows a part of the tree, and `root` says which. A group outside it, as a
    // container without a cgroup name space sees it, has its limits at the mount itself.
    let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    below.ancestors().filter_map(|level| limit(&mount.join(level), version)).min()
}

/// Root and mount point of the line of `mountinfo` that mounts the hierarchy we want.
fn mount_point<'a>(line: &'a str, controller: &str, version: Version) -> Option<(&'a str, PathBuf)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let wanted = match name {
        "cgroup2" => version == Version::Unified,
        "cgroup" => version == Version::Legacy && options.split(',').any(|option| option == controller),
        _ => false,
    };
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    wanted.then(|| (root, PathBuf::from(point)))
}
