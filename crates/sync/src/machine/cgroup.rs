//! The control groups (version 1 or 2) that this process is in, and what limits them.

use std::path::{Component, Path, PathBuf};

/// Gives the text of a file, if there is such a file.
pub(crate) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// The kernel takes no longer paths, which have fewer parts than this.
const MOST_LEVELS: usize = 4096 / 2;

/// How a hierarchy writes its limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// A hierarchy for each controller.
    Legacy,
    /// One hierarchy for all.
    Unified,
}

/// The directory of a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    pub(crate) directory: PathBuf,
    pub(crate) version: Version,
}

/// The least of what `limit` finds in the directories of this process's groups and of every group above them, for one controller.
pub(crate) fn least(
    controller: &str,
    read: Read<'_>,
    limit: &dyn Fn(&Path, Version) -> Option<usize>,
) -> Option<usize> {
    groups(controller, read).iter().filter_map(|group| limit(&group.directory, group.version)).min()
}

/// This process's groups that have this controller, each followed by those above it, as far as they are mounted.
pub(crate) fn groups(controller: &str, read: Read<'_>) -> Vec<Group> {
    let text = |path| read(Path::new(path)).unwrap_or_default();
    let (groups, mounts) = (text("/proc/self/cgroup"), text("/proc/self/mountinfo"));
    // One of each version: there are no more.
    let both = [Version::Unified, Version::Legacy];
    let line = |version| groups.lines().find_map(|line| group_of_line(line, controller, version));
    both.iter().flat_map(|version| levels(line(*version), controller, &mounts, *version)).collect()
}

/// The path in a line `number:controllers:path`; version 2 has no controllers there.
fn group_of_line<'a>(line: &'a str, controller: &str, version: Version) -> Option<&'a str> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, group) = rest.split_once(':')?;
    let is_wanted = match version {
        Version::Unified => controllers.is_empty(),
        Version::Legacy => controllers.split(',').any(|name| name == controller),
    };
    is_wanted.then_some(group)
}

fn levels(group: Option<&str>, controller: &str, mounts: &str, version: Version) -> Vec<Group> {
    let mount = mounts.lines().find_map(|line| mount_point(line, controller, version));
    let (Some(group), Some((root, mount))) = (group, mount) else { return Vec::new() };
    // Inside a container the mount shows a part of the tree, and `root` says which. A group outside it, as a
    // container without a cgroup name space sees it, has its limits at the mount itself.
    let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
    let leads_out = below.components().any(|part| part == Component::ParentDir);
    let below = if leads_out { Path::new("") } else { below };
    below.ancestors().take(MOST_LEVELS).map(|level| Group { directory: mount.join(level), version }).collect()
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
