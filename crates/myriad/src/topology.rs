//! `myriad topology`: the machine's processors as text, what limits this process to some of them, and how many schedulers Myriad would
//! start.

use crate::said::{Refused, say};
use myriad_sync::machine::steal::Times;
use myriad_sync::machine::{Capacity, Files, Machine, Place, Processor, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

/// The words that the command takes.
pub const TAKES: &str = "topology [--root DIR]";

/// As many schedulers as there may be.
const MOST_SCHEDULERS: usize = 1024;

/// Describes this machine, or the one of which the files below a directory tell.
pub fn main(words: &[OsString]) -> Result<(), Refused> {
    let files = match words {
        [] => Files::of_the_system(),
        [option, root] if option == "--root" => {
            if !Path::new(root).is_dir() {
                return Err(Refused::Because(format!("{} is not a directory", Path::new(root).display())));
            }
            Files::below(Path::new(root))
        }
        _ => return Err(Refused::Usage),
    };
    say(&described(&Machine::read_from(&files), &Times::read(&files)))
}

fn described(machine: &Machine, times: &Times) -> String {
    let stolen_millis = times.of(&machine.usable()).stolen_millis();
    let mut text = drawing(&machine.processors);
    limits(&mut text, machine, stolen_millis);
    let (all, online) = (machine.processors.len().min(MOST_SCHEDULERS), machine.capacity().rounded_up());
    let _ = writeln!(text, "schedulers: {all}, {} online", online.min(all));
    conflicts(&mut text, &machine.processors);
    text
}

/// A line for each cache, with its cores; processors that cannot be used are marked.
fn drawing(processors: &[Processor]) -> String {
    let online: Vec<&Processor> = processors.iter().filter(|p| p.is_online).collect();
    let mut text = String::new();
    let mut outer = (None, None);
    for (place, cores) in by(&online, |p| (p.socket, p.node, p.cache)) {
        let (socket, node, cache) = place;
        if outer.0 != Some(socket) {
            let _ = writeln!(text, "socket {socket}");
            outer.1 = None;
        }
        if outer.1 != Some(node) {
            let _ = writeln!(text, "  node {node}");
        }
        outer = (Some(socket), Some(node));
        let modules: Vec<String> = by(&cores, |p| p.module).into_values().map(|all| module(&all)).collect();
        let _ = writeln!(text, "    cache {cache}: {}", modules.join(" "));
    }
    text.push_str("(threads of one core), {cores of one module}");
    if online.iter().any(|p| !p.is_allowed) {
        text.push_str(", - not in the affinity mask");
    }
    text.push('\n');
    text
}

fn by<'a, K: Ord>(processors: &[&'a Processor], key: impl Fn(&Place) -> K) -> BTreeMap<K, Vec<&'a Processor>> {
    let mut all: BTreeMap<K, Vec<&Processor>> = BTreeMap::new();
    processors.iter().for_each(|p| all.entry(key(&p.place)).or_default().push(p));
    all
}

fn module(processors: &[&Processor]) -> String {
    let core = |threads: &Vec<&Processor>| {
        let mark = |p: &&Processor| format!("{}{}", if p.is_allowed { "" } else { "-" }, p.number);
        format!("({})", threads.iter().map(mark).collect::<Vec<_>>().join(" "))
    };
    let cores: Vec<String> = by(processors, |p| p.core).values().map(core).collect();
    if cores.len() > 1 { format!("{{{}}}", cores.join(" ")) } else { cores.concat() }
}

/// What keeps this process from using all of the machine, and what is left.
fn limits(text: &mut String, machine: &Machine, stolen_millis: u64) {
    let numbers = |is: fn(&Processor) -> bool| -> Vec<u32> {
        machine.processors.iter().filter(|p| is(p)).map(|p| p.number).collect()
    };
    let (all, usable) = (machine.processors.len(), machine.usable().len());
    let _ = writeln!(text, "processors: {all}, {usable} usable");
    let offline = numbers(|p| !p.is_online);
    if !offline.is_empty() {
        let _ = writeln!(text, "  offline: {}", ranges(&offline));
    }
    if machine.processors.iter().any(|p| p.is_online && !p.is_allowed) {
        let _ = writeln!(text, "  affinity mask: {}", ranges(&numbers(Processor::is_usable)));
    }
    if let Some(quota) = &machine.quota {
        let version = match quota.version {
            Version::Unified => 2,
            Version::Legacy => 1,
        };
        let (time, group) = (decimal(quota.millis), quota.group.display());
        let _ = writeln!(text, "  quota: time of {time} processors, by the control group {group} (version {version})");
    }
    if stolen_millis > 0 {
        let percent = format!("{}.{}", stolen_millis / 10, stolen_millis % 10);
        let _ = writeln!(text, "  stolen: {percent} % of their time since the machine started, by its host");
    }
    let capacity = Capacity { stolen_millis: stolen_millis * usable as u64, ..machine.capacity() };
    let _ = writeln!(text, "capacity: time of {} processors", decimal(capacity.millis()));
}

/// Thousandths, without zeros at the end.
fn decimal(millis: u64) -> String {
    let text = format!("{}.{:03}", millis / 1000, millis % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// As the kernel writes lists: `0-3,8`.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(u32::to_string).collect(),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

/// Usable processors that share a core, or cores that share a module, while others that are as good stand idle because they are not
/// usable: a placement of virtual processors can do that, and costs up to 72 % then (Kourai).
fn conflicts(text: &mut String, processors: &[Processor]) {
    conflict(text, processors, "processors", "core", |p| (p.number, p.place.core));
    conflict(text, processors, "cores", "module", |p| (p.place.core.into(), p.place.module));
}

/// `shares` gives a processor's own part, and what such parts share.
fn conflict(text: &mut String, all: &[Processor], what: &str, shared: &str, shares: fn(&Processor) -> (u32, u16)) {
    let usable = || all.iter().filter(|p| p.is_usable()).map(shares);
    let (own, used): (BTreeSet<u32>, BTreeSet<u16>) =
        (usable().map(|s| s.0).collect(), usable().map(|s| s.1).collect());
    let online: BTreeSet<u16> = all.iter().filter(|p| p.is_online).map(|p| shares(p).1).collect();
    let idle = online.difference(&used).count();
    if used.len() < own.len() && idle > 0 {
        let several = if used.len() == 1 { "" } else { "s" };
        let _ = writeln!(
            text,
            "conflict: {} usable {what} share {} {shared}{several}, while {idle} of the machine's have none: \
             a mask with one in each {shared} gives more",
            own.len(),
            used.len(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{decimal, described, ranges};
    use myriad_sync::machine::steal::{Ticks, Times};
    use myriad_sync::machine::{Machine, Place, Processor, Quota, Version};

    /// Two sockets of two cores of two threads, those of a core four apart.
    fn machine(usable: &[u32], offline: &[u32]) -> Machine {
        let processor = |number: u32| {
            let core = (number % 4) as u16;
            let place = Place {
                thread: (number / 4) as u16,
                core,
                module: core,
                cache: core / 2,
                node: core / 2,
                socket: core / 2,
            };
            let (is_online, is_allowed) = (!offline.contains(&number), usable.contains(&number));
            Processor { number, is_online, is_allowed, place }
        };
        Machine { processors: (0..8).map(processor).collect(), quota: None }
    }

    #[test]
    fn a_machine_that_is_all_ours() {
        let text = described(&machine(&[0, 1, 2, 3, 4, 5, 6, 7], &[]), &Times::default());
        assert_eq!(
            text,
            "socket 0\n  node 0\n    cache 0: (0 4) (1 5)\nsocket 1\n  node 1\n    cache 1: (2 6) (3 7)\n\
             (threads of one core), {cores of one module}\nprocessors: 8, 8 usable\ncapacity: time of 8 processors\n\
             schedulers: 8, 8 online\n"
        );
    }

    #[test]
    fn limits_and_conflicts() {
        let mut machine = machine(&[0, 4, 7], &[7]);
        machine.quota = Some(Quota { millis: 1250, group: "/sys/fs/cgroup/a".into(), version: Version::Unified });
        let ticks = Ticks { all: 1000, stolen: 250 };
        let text = described(&machine, &Times { total: ticks, of_each: vec![(0, ticks), (4, ticks)] });
        assert_eq!(
            text,
            "socket 0\n  node 0\n    cache 0: (0 4) (-1 -5)\nsocket 1\n  node 1\n    cache 1: (-2 -6) (-3)\n\
             (threads of one core), {cores of one module}, - not in the affinity mask\nprocessors: 8, 2 usable\n  offline: 7\n  \
             affinity mask: 0,4\n  quota: time of 1.25 processors, by the control group /sys/fs/cgroup/a (version 2)\n  \
             stolen: 25.0 % of their time since the machine started, by its host\ncapacity: time of 1.25 processors\n\
             schedulers: 8, 2 online\n\
             conflict: 2 usable processors share 1 core, while 3 of the machine's have none: a mask with one in each core gives more\n"
        );
    }

    #[test]
    fn cores_of_one_module_conflict() {
        let mut machine = machine(&[0, 1], &[]);
        machine.processors.iter_mut().for_each(|p| p.place.module = p.place.core / 2);
        let text = described(&machine, &Times::default());
        assert!(text.contains("cache 0: {(0 -4) (1 -5)}"), "{text}");
        assert!(text.ends_with("conflict: 2 usable cores share 1 module, while 1 of the machine's have none: a mask with one in each module gives more\n"), "{text}");
        machine.processors[2].is_allowed = true;
        machine.processors[0].is_allowed = false;
        assert!(!described(&machine, &Times::default()).contains("conflict"));
    }

    #[test]
    fn numbers_as_text() {
        assert_eq!(
            (decimal(2500), decimal(2000), decimal(1), decimal(0)),
            ("2.5".into(), "2".into(), "0.001".into(), "0".into())
        );
        assert_eq!((ranges(&[0, 1, 2, 5, 7, 8]).as_str(), ranges(&[]).as_str()), ("0-2,5,7-8", ""));
    }
}
