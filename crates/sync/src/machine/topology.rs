//! The processors as Erlang programs see them: a hierarchy of nodes, processors (sockets), cores and threads, detected, or defined
//! by `+sct` or `erlang:system_flag(cpu_topology, _)` (the documentation of `erl` and of module `erlang` has the rules).
//!
//! A node (NUMA) has processors, or is a part of one. Levels that tell nothing apart are not shown: a core's only thread, a
//! processor's only core, a machine's only node.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers in a topology stay below this.
pub const MOST_IDS: u32 = super::files::MOST_NUMBERS;

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node {
    /// No node is told of.
    None,
    /// It has processors.
    Outside(u32),
    /// It is a part of its processor.
    Inside(u32),
}

/// A logical processor and what it is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The operating system's number.
    pub logical: u32,
    /// The hardware thread, within its core.
    pub thread: u32,
    /// The core, within its processor (or within the node that is a part of that).
    pub core: u32,
    /// The processor (socket).
    pub processor: u32,
    /// The node.
    pub node: Node,
}

impl Entry {
    fn is_inside(&self) -> bool {
        matches!(self.node, Node::Inside(_))
    }
}

/// What is wrong with a topology, in OTP's words (`Display`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// A letter that names no level.
    IdentifierType,
    /// A number that is none, or too large.
    Identifier,
    /// A list that has another length than the list of logical processors.
    IdentifierRange,
    /// A level in a place where it cannot be.
    Hierarchy,
    /// No logical processors.
    MissingLogical,
    /// A logical processor twice.
    LogicalTwice,
    /// Two logical processors in the same place.
    EntityTwice,
    /// A processor in several nodes, or processors with nodes beside some without.
    Nodes,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Wrong::IdentifierType => "invalid identifier type",
            Wrong::Identifier => "invalid identifier",
            Wrong::IdentifierRange => "invalid identifier range",
            Wrong::Hierarchy => "invalid hierarchy",
            Wrong::MissingLogical => "missing logical identifier",
            Wrong::LogicalTwice => "not unique logical identifiers",
            Wrong::EntityTwice => "not unique entities",
            Wrong::Nodes => "invalid nodes declaration",
        })
    }
}

/// A level of the hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// A NUMA node.
    Node,
    /// A socket.
    Processor,
    /// A core.
    Core,
    /// A hardware thread.
    Thread,
}

/// A part of the machine, as it is written in Erlang.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Of which level.
    pub level: Level,
    /// What is in it.
    pub inside: Inside,
}

/// What is in a part of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inside {
    /// One logical processor.
    Logical(u32),
    /// Smaller parts.
    Parts(Vec<Part>),
}

/// From the outermost level to the innermost: what stands alone (an outer node, or a processor with inner ones; its number is that of its
/// first processor), the processor, its node, the core, the thread.
type Levels<N> = [N; 5];

/// A hierarchy, in the order of its levels' numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    entries: Vec<Entry>,
    /// By entry.
    paths: Vec<Levels<u32>>,
}

impl Topology {
    /// Of these logical processors.
    pub fn new(mut entries: Vec<Entry>) -> Result<Topology, Wrong> {
        if entries.is_empty() {
            return Err(Wrong::MissingLogical);
        }
        let mut seen = BTreeSet::new();
        if !entries.iter().all(|entry| seen.insert(entry.logical)) {
            return Err(Wrong::LogicalTwice);
        }
        let mut nodes = BTreeMap::new();
        for entry in &entries {
            // A processor with inner nodes may have several.
            let node = if entry.is_inside() { None } else { Some(entry.node) };
            if *nodes.entry(entry.processor).or_insert(node) != node {
                return Err(Wrong::Nodes);
            }
        }
        let without = entries.iter().filter(|entry| entry.node == Node::None).count();
        if without != 0 && without != entries.len() {
            return Err(Wrong::Nodes);
        }
        let mut first_of: BTreeMap<Node, u32> = BTreeMap::new();
        for entry in &entries {
            let first = first_of.entry(entry.node).or_insert(entry.processor);
            *first = entry.processor.min(*first);
        }
        let path = |entry: &Entry| {
            let (alone, inside) = match entry.node {
                Node::None => (0, 0),
                Node::Outside(_) => (first_of.get(&entry.node).copied().unwrap_or(0), 0),
                Node::Inside(node) => (entry.processor, node),
            };
            [alone, entry.processor, inside, entry.core, entry.thread]
        };
        entries.sort_by_key(path);
        let paths: Vec<Levels<u32>> = entries.iter().map(path).collect();
        if paths.windows(2).any(|two| two[0] == two[1]) {
            return Err(Wrong::EntityTwice);
        }
        Ok(Topology { entries, paths })
    }

    /// The logical processors, those that are near each other together.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// As if there were no other logical processors than these.
    pub(super) fn only(&self, is_there: impl Fn(u32) -> bool) -> Topology {
        let both = self.entries.iter().zip(&self.paths).filter(|(entry, _)| is_there(entry.logical));
        let (entries, paths) = both.map(|(entry, path)| (*entry, *path)).unzip();
        Topology { entries, paths }
    }

    /// The logical processors with their places, each level counted from 0 within the one around it.
    pub(super) fn ranks(&self) -> Vec<(u32, Levels<usize>)> {
        let mut rank = [0; 5];
        let mut before = self.paths.first().copied().unwrap_or_default();
        let next = |(entry, path): (&Entry, &Levels<u32>)| {
            if let Some(changed) = (0..rank.len()).find(|level| path[*level] != before[*level]) {
                rank[changed] += 1;
                rank[changed + 1..].fill(0);
            }
            before = *path;
            (entry.logical, rank)
        };
        self.entries.iter().zip(&self.paths).map(next).collect()
    }

    /// As Erlang programs see it.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest: &[Entry] = &self.entries;
        for paths in self.paths.chunk_by(|a, b| a[0] == b[0]) {
            let (chunk, others) = rest.split_at(paths.len());
            rest = others;
            let inside = processors(chunk);
            match chunk[0].node {
                // The only node tells nothing.
                Node::Outside(_) if chunk.len() < self.entries.len() => {
                    parts.push(Part { level: Level::Node, inside: Inside::Parts(inside) });
                }
                _ => parts.extend(inside),
            }
        }
        parts
    }

    /// The reverse of [`Topology::parts`]. `None`: it makes no sense.
    pub fn of_parts(parts: &[Part]) -> Option<Topology> {
        let mut reader = Reader::default();
        reader.read(parts, Above { level: None, within: [None; 4], is_inside: false })?;
        Topology::new(reader.entries).ok()
    }
}

fn processors(entries: &[Entry]) -> Vec<Part> {
    let chunks = entries.chunk_by(|a, b| a.processor == b.processor);
    chunks
        .map(|chunk| {
            let inside = if chunk[0].is_inside() {
                let nodes = chunk.chunk_by(|a, b| a.node == b.node);
                Inside::Parts(nodes.map(|node| Part { level: Level::Node, inside: cores(node) }).collect())
            } else {
                cores(chunk)
            };
            Part { level: Level::Processor, inside }
        })
        .collect()
}

fn cores(entries: &[Entry]) -> Inside {
    let cores: Vec<Inside> = entries.chunk_by(|a, b| a.core == b.core).map(threads).collect();
    several(Level::Core, cores)
}

fn threads(entries: &[Entry]) -> Inside {
    several(Level::Thread, entries.iter().map(|entry| Inside::Logical(entry.logical)).collect())
}

/// The parts of a level, or what is in the only one.
fn several(level: Level, mut all: Vec<Inside>) -> Inside {
    match all.len() {
        1 => all.remove(0),
        _ => Inside::Parts(all.into_iter().map(|inside| Part { level, inside }).collect()),
    }
}

/// What is around the parts that are read.
#[derive(Clone, Copy)]
struct Above {
    /// The innermost level.
    level: Option<Level>,
    /// By level.
    within: [Option<u32>; 4],
    /// Its node is a part of its processor.
    is_inside: bool,
}

/// Reads parts, and numbers them as they come.
#[derive(Default)]
struct Reader {
    next: [u32; 4],
    entries: Vec<Entry>,
}

impl Reader {
    fn read(&mut self, parts: &[Part], above: Above) -> Option<()> {
        let first = parts.first()?.level;
        // Nodes and processors may stand side by side on the outside; else all are of one level.
        let at_top = above.level.is_none();
        let fits = |level: Level| level == first || at_top && level.max(first) == Level::Processor;
        for part in parts {
            let level = part.level;
            let in_processor = level == Level::Node && above.level == Some(Level::Processor) && !above.is_inside;
            let is_lower =
                above.level.is_none_or(|outer| outer < level && !(above.is_inside && level <= Level::Processor));
            if !fits(level) || !(is_lower || in_processor) {
                return None;
            }
            let mut here = Above { level: Some(level), is_inside: above.is_inside || in_processor, ..above };
            here.within[level as usize] = Some(self.number(level));
            let names_processors =
                matches!(&part.inside, Inside::Parts(inner) if inner.iter().any(|part| part.level == Level::Processor));
            if level == Level::Node && !here.is_inside && !names_processors {
                // It has one, which is not told of.
                here.within[Level::Processor as usize] = Some(self.number(Level::Processor));
            }
            match &part.inside {
                Inside::Parts(parts) => self.read(parts, here)?,
                Inside::Logical(logical) => self.add(*logical, here)?,
            }
        }
        Some(())
    }

    fn number(&mut self, level: Level) -> u32 {
        let next = &mut self.next[level as usize];
        *next += 1;
        *next - 1
    }

    fn add(&mut self, logical: u32, at: Above) -> Option<()> {
        if logical >= MOST_IDS {
            return None;
        }
        let node = at.within[Level::Node as usize];
        let id = |level: Level| at.within[level as usize].unwrap_or(0);
        self.entries.push(Entry {
            logical,
            thread: id(Level::Thread),
            core: id(Level::Core),
            processor: id(Level::Processor),
            node: match node {
                None => Node::None,
                Some(node) if at.is_inside => Node::Inside(node),
                Some(node) => Node::Outside(node),
            },
        });
        Some(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Inside, Level, Part, Topology};
    use crate::machine::sct;
    use std::fmt::Write;

    /// `N(P(C(T0 T1) C2))`
    pub(crate) fn drawn(parts: &[Part]) -> String {
        let mut text = String::new();
        for (i, part) in parts.iter().enumerate() {
            let letter = match part.level {
                Level::Node => 'N',
                Level::Processor => 'P',
                Level::Core => 'C',
                Level::Thread => 'T',
            };
            let blank = if i == 0 { "" } else { " " };
            let _ = match &part.inside {
                Inside::Logical(logical) => write!(text, "{blank}{letter}{logical}"),
                Inside::Parts(parts) => write!(text, "{blank}{letter}({})", drawn(parts)),
            };
        }
        text
    }

    fn read(text: &str) -> Vec<Part> {
        fn parts(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Vec<Part> {
            let mut all = Vec::new();
            while let Some(letter) = rest.next_if(|c| *c != ')') {
                let level = match letter {
                    'N' => Level::Node,
                    'P' => Level::Processor,
                    'C' => Level::Core,
                    'T' => Level::Thread,
                    _ => continue,
                };
                let inside = if rest.next_if_eq(&'(').is_some() {
                    let inside = Inside::Parts(parts(rest));
                    rest.next();
                    inside
                } else {
                    let mut digits = String::new();
                    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                        digits.push(digit);
                    }
                    Inside::Logical(digits.parse().unwrap())
                };
                all.push(Part { level, inside });
            }
            all
        }
        parts(&mut text.chars().peekable())
    }

    /// As OTP 25 shows them.
    #[test]
    fn what_is_shown() {
        for (flag, shown) in [
            ("L0-1c0-1", "P(C0 C1)"),
            ("L1-0c0-1", "P(C1 C0)"),
            ("L0-1t0-1c0p0n0", "P(T0 T1)"),
            ("L0p0", "P0"),
            ("L0-1p0-1", "P0 P1"),
            ("L0-1p0-1n0-1", "N(P0) N(P1)"),
            ("L0-1n0-1p0-1", "P(N0) P(N1)"),
            ("L0-1n0-1p0", "P(N0 N1)"),
            ("L0-1c0-1n0p0:L2c0p1n2", "P(N(C0 C1)) N(P2)"),
            ("L0-1c0-1p0:L2-3t0-1c2p1", "P(C0 C1) P(T2 T3)"),
            ("L0-1c0-1p0n0:L2-3t0-1c2p1n1", "N(P(C0 C1)) N(P(T2 T3))"),
            ("L0-1t0-1c0p0n0:L2-3t0-1c1p0n0:L4c0p1n0:L8-9t0-1c4p2n1", "N(P(C(T0 T1) C(T2 T3)) P4) N(P(T8 T9))"),
        ] {
            let topology = sct::parse(flag).unwrap();
            assert_eq!(drawn(&topology.parts()), shown, "{flag}");
            // It says the same again.
            assert_eq!(drawn(&Topology::of_parts(&topology.parts()).unwrap().parts()), shown, "{flag}");
        }
    }

    /// What `system_flag(cpu_topology, _)` takes, and what is seen of it then, on OTP 25.
    #[test]
    fn what_programs_define() {
        for (given, shown) in [
            ("C0 C1", "P(C0 C1)"),
            ("P(C1 C0)", "P(C1 C0)"),
            ("N(P1 P0)", "P1 P0"),
            ("N0 N1", "N(P0) N(P1)"),
            ("N(C0) N(T1)", "N(P0) N(P1)"),
            ("T1 T0", "P(T1 T0)"),
            ("P(N0 N1)", "P(N0 N1)"),
            ("C65535", "P65535"),
            ("P(N(C0)) N(P1)", "P(N0) N(P1)"),
            ("N0 P(N1)", "N(P0) P(N1)"),
            ("N(C0 C3) P(N1) N(T5 T4)", "N(P(C0 C3)) P(N1) N(P(T5 T4))"),
            ("N(P7) N6 P(N1)", "N(P7) N(P6) P(N1)"),
        ] {
            assert_eq!(drawn(&Topology::of_parts(&read(given)).unwrap().parts()), shown, "{given}");
        }
        for wrong in [
            "", "C()", "C0 C0", "C0 T1", "C65536", "C(C0)", "T(C0)", "P(C0) C1", "P1 C0", "N(N0)", "P(N(P0))",
            "P(N(N0))",
        ] {
            assert_eq!(Topology::of_parts(&read(wrong)), None, "{wrong}");
        }
    }
}
