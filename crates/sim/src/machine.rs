//! What a simulated machine is: its cores, and what work takes on each, as a TOML file says it.

use crate::calibration::Calibration;
use crate::costs::Costs;
use crate::memory::Sizes;
use crate::topology::Topology;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;
use toml::de::{DeTable, DeValue};

/// Most cores of a machine.
pub const MOST_CORES: usize = 1024;
/// Most bytes of a file that describes a machine.
const MOST_BYTES: u64 = 1 << 16;
/// Most that anything may take, in nanoseconds: a second.
const MOST_NS: f64 = 1e9;

/// The largest cache, in KiB.
const MOST_KIB: f64 = 1e9;

/// The machines that come with the simulator: name, and the text of the file.
const KNOWN: [(&str, &str); 5] = [
    ("ideal", include_str!("../machines/ideal.toml")),
    ("modules-32", include_str!("../machines/modules-32.toml")),
    ("server-2x64", include_str!("../machines/server-2x64.toml")),
    ("tilepro64", include_str!("../machines/tilepro64.toml")),
    ("zen3-2", include_str!("../machines/zen3-2.toml")),
];

/// Lines that a core fetches at a time where a file does not say: as many as Intel's cores from Nehalem to Skylake have line fill
/// buffers; later ones of all makers have more.
const FETCHES: usize = 10;
const MOST_FETCHES: f64 = 64.0;

/// A machine. Times are nanoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct Machine {
    /// For people.
    pub name: String,
    /// What work takes.
    pub costs: Costs,
    /// A look at the queues that finds nothing.
    pub step_ns: f64,
    /// From a wake-up until the core that slept works.
    pub wake_ns: u64,
    /// Caches and memory.
    pub memory: Sizes,
    /// How true that is.
    pub calibration: Option<Calibration>,
    /// Where the cores are, and what a cache line takes from one to another.
    pub topology: Topology,
}

impl Machine {
    /// One that comes with the simulator, or that a file describes.
    ///
    /// # Errors
    /// One line: the file cannot be read, or what it says is no machine.
    pub fn named(name: &str) -> Result<Machine, String> {
        if let Some((_, text)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return Machine::parse(text).map_err(|why| format!("{name}: {why}"));
        }
        if !name.contains(['/', '.']) {
            let known: Vec<&str> = KNOWN.iter().map(|(known, _)| *known).collect();
            return Err(format!("no machine {name}: {}, or a file", known.join(", ")));
        }
        let text = read(name).map_err(|why| format!("cannot read {name}: {why}"))?;
        Machine::parse(&text).map_err(|why| format!("{name}: {why}"))
    }

    /// The same without what several cores need: atomics and locks cost nothing. What is left on one core is what the sequential VM does, which
    /// has none of them (`sync`'s back end `single`).
    pub fn sequential(&self) -> Machine {
        let topology = Topology { atomic_ns: 0.0, least_hold_ns: 0.0, ..self.topology.clone() };
        Machine { topology, ..self.clone() }
    }

    /// From the text of a file.
    ///
    /// # Errors
    /// One line: it is no machine.
    pub fn parse(text: &str) -> Result<Machine, String> {
        let Entries { name, mut numbers, calibration } = entries(text)?;
        // What a file does not say of work takes nothing.
        let costs = Costs::new(|key| match numbers.remove(key) {
            None => Ok(0.0),
            Some(found) => in_range(key, found, 0.0, MOST_NS),
        })?;
        let fetches = match numbers.remove("fetches") {
            None => FETCHES,
            Some(found) => in_range("fetches", found, 1.0, MOST_FETCHES)? as usize,
        };
        let mut number = |key: &str, least: f64, most: f64| {
            let found = numbers.remove(key).ok_or_else(|| format!("`{key}` is missing"))?;
            in_range(key, found, least, most)
        };
        let cores = number("cores", 1.0, MOST_CORES as f64)? as usize;
        let core_threads = number("threads_per_core", 1.0, (MOST_CORES / cores).min(2) as f64)? as usize;
        let mate_stride = match (core_threads, number("cores_per_unit", 1.0, 2.0)? as usize) {
            (1, 1) => 0,
            (1, _) if cores.is_multiple_of(2) => 1,
            (_, 1) => cores,
            _ => return Err("`cores_per_unit` is 2 for one thread to a core and an even number of cores".to_owned()),
        };
        let machine = Machine {
            name,
            costs,
            step_ns: number("step_ns", 1.0, MOST_NS)?,
            wake_ns: number("wake_ns", 0.0, MOST_NS)? as u64,
            memory: Sizes {
                word: number("word_bytes", 4.0, 8.0)? as u64,
                own_cache: kib(number("own_cache_kib", 0.0, MOST_KIB)?),
                shared_cache: kib(number("shared_cache_kib", 0.0, MOST_KIB)?),
                shared_cache_cores: parts(&mut number, "shared_caches", cores)?,
                shared_cache_ns: number("shared_cache_ns", 0.0, MOST_NS)?,
                memory_ns: number("memory_ns", 0.0, MOST_NS)?,
                controller_cores: parts(&mut number, "memory_controllers", cores)?,
                bytes_per_ns: number("controller_bytes_per_ns", 0.001, 1e6)?,
                read_words: number("read_words_per_reduction", 0.0, 1e6)?,
            },
            calibration,
            topology: Topology {
                cores,
                core_threads,
                mate_stride,
                mate_slowdown: number("mate_slowdown", 1.0, 1000.0)?,
                socket_cores: parts(&mut number, "sockets", cores)?,
                module_cores: number("cores_per_module", 1.0, cores as f64)? as usize,
                mesh_width: number("mesh_width", 0.0, cores as f64)? as usize,
                module_transfer_ns: number("module_transfer_ns", 0.0, MOST_NS)?,
                socket_transfer_ns: number("socket_transfer_ns", 0.0, MOST_NS)?,
                remote_transfer_ns: number("remote_transfer_ns", 0.0, MOST_NS)?,
                hop_ns: number("hop_ns", 0.0, MOST_NS)?,
                atomic_ns: number("atomic_ns", 0.0, MOST_NS)?,
                fetches,
                least_hold_ns: number("least_hold_ns", 0.0, MOST_NS)?,
            },
        };
        match numbers.keys().next() {
            Some(key) => Err(format!("`{key}` is unknown")),
            None => Ok(machine),
        }
    }
}

/// The text of a file, and no more than a machine can have.
fn read(file: &str) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 {
        0..=MOST_BYTES => Ok(text),
        _ => Err(std::io::Error::other(format!("more than {MOST_BYTES} bytes"))),
    }
}

fn kib(number: f64) -> u64 {
    (number * 1024.0) as u64
}

fn in_range(key: &str, found: Option<f64>, least: f64, most: f64) -> Result<f64, String> {
    let found = found.filter(|n| (least..=most).contains(n));
    found.ok_or_else(|| format!("`{key}` is to be a number from {least} to {most}"))
}

/// Cores of each of so many equal parts of a machine.
fn parts(
    number: &mut impl FnMut(&str, f64, f64) -> Result<f64, String>,
    key: &str,
    cores: usize,
) -> Result<usize, String> {
    let parts = number(key, 1.0, cores as f64)? as usize;
    if cores.is_multiple_of(parts) {
        Ok(cores / parts)
    } else {
        Err(format!("{cores} cores are not {parts} equal `{key}`"))
    }
}

/// What a file says.
struct Entries {
    name: String,
    /// By key; `None`: it is no number.
    numbers: BTreeMap<String, Option<f64>>,
    calibration: Option<Calibration>,
}

fn entries(text: &str) -> Result<Entries, String> {
    let (mut name, mut calibration) = (None, None);
    let mut numbers = BTreeMap::new();
    for (key, value) in DeTable::parse(text).map_err(|why| one_line(&why))?.into_inner() {
        let number = match value.into_inner() {
            DeValue::String(text) if key.get_ref() == "name" => {
                name = Some(text.into_owned());
                continue;
            }
            DeValue::Table(table) if key.get_ref() == "calibration" => {
                calibration = Some(table_of_calibration(table)?);
                continue;
            }
            value => number_of(&value),
        };
        numbers.insert(key.into_inner().into_owned(), number);
    }
    Ok(Entries { name: name.ok_or("`name` is to be a text")?, numbers, calibration })
}

fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(whole) if whole.radix() == 10 => whole.as_str().parse().ok(),
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn table_of_calibration(table: DeTable<'_>) -> Result<Calibration, String> {
    let (mut texts, mut errors) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in table {
        let key = key.into_inner().into_owned();
        match value.into_inner() {
            DeValue::String(text) => drop(texts.insert(key, text.into_owned())),
            DeValue::Array(values) => {
                let numbers = values.into_iter().map(|value| number_of(value.get_ref()).unwrap_or(f64::NAN));
                errors.insert(key, numbers.collect());
            }
            _ => return Err(format!("`calibration.{key}` is to be a text or a list of numbers")),
        }
    }
    Calibration::new(texts, errors)
}

/// The message without the lines of the file that it quotes.
fn one_line(why: &impl Display) -> String {
    let text = why.to_string();
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no TOML");
    let first = text.lines().next().unwrap_or_default();
    format!("{first}: {last}")
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, Machine};

    #[test]
    fn the_machines_that_come_along_are_machines() {
        for (name, _) in KNOWN {
            assert!(Machine::named(name).unwrap().topology.processors() >= 2, "{name}");
        }
    }

    #[test]
    fn a_core_fetches_as_many_lines_as_the_file_says() {
        let fetches = |name| Machine::named(name).unwrap().topology.fetches;
        assert_eq!(["ideal", "server-2x64", "tilepro64"].map(fetches), [super::FETCHES, 10, 1]);
    }

    #[test]
    fn what_is_no_machine_is_refused_in_one_line() {
        let good = super::KNOWN[0].1;
        let bad = [
            ("cores = 1024", "cores = 1025", "`cores` is to be a number from 1 to 1024"),
            ("cores = 1024", "cores = 0", "`cores` is to be a number from 1 to 1024"),
            ("step_ns = 10.0", "step_ns = 0", "`step_ns` is to be a number from 1 to 1000000000"),
            ("step_ns = 10.0", "", "`step_ns` is missing"),
            ("cores_per_unit = 1", "cores_per_unit = 3", "`cores_per_unit` is to be a number from 1 to 2"),
            ("threads_per_core = 1", "threads_per_core = 2", "`threads_per_core` is to be a number from 1 to 1"),
            ("mate_slowdown = 1.0", "mate_slowdown = 0.5", "`mate_slowdown` is to be a number from 1 to 1000"),
            ("own_cache_kib = 0", "own_cache_kib = -1", "`own_cache_kib` is to be a number from 0 to 1000000000"),
            ("memory_controllers = 1", "memory_controllers = 5", "1024 cores are not 5 equal `memory_controllers`"),
            ("memory_ns = 0.0", "", "`memory_ns` is missing"),
            ("sockets = 1", "sockets = 3", "1024 cores are not 3 equal `sockets`"),
            ("mesh_width = 0", "mesh_width = -1", "`mesh_width` is to be a number from 0 to 1024"),
            ("cores = 1024", "cores = 1024\nfetches = 0", "`fetches` is to be a number from 1 to 64"),
            ("cores = 1024", "cores = 1024\nfetches = \"10\"", "`fetches` is to be a number from 1 to 64"),
            ("step_ns = 10.0", "step_ns = \"10\"", "`step_ns` is to be a number from 1 to 1000000000"),
            ("step_ns = 10.0", "step_ns = nan", "`step_ns` is to be a number from 1 to 1000000000"),
            ("step_ns = 10.0", "step_ns = 10.0\nspeed = 3", "`speed` is unknown"),
        ];
        for (from, to, why) in bad {
            assert!(good.contains(from));
            assert_eq!(Machine::parse(&good.replace(from, to)).unwrap_err(), why);
        }
        let good = super::KNOWN[4].1;
        let wrong = "`calibration.random` is to be two errors from -1 to 9";
        let bad = [
            ("\nrandom = [", "\nrandom = [0.1, ", wrong),
            ("\nrandom = ", "\nrandom = [99.0, 0.0] #", wrong),
            ("\nrandom = ", "\nno = [1, 2]\n#", wrong),
            ("\nrandom = [", "\nno = [1, 2]\nrandom = [", "`calibration.no` is unknown"),
            ("\nrandom = [", "\nno = 1\nrandom = [", "`calibration.no` is to be a text or a list of numbers"),
            ("\nprocessor = \"", "\nprocessor = \"\" #", "`calibration.processor` is to be a line of text"),
            ("call_ns = ", "call_ns = -", "`call_ns` is to be a number from 0 to 1000000000"),
        ];
        for (from, to, why) in bad {
            assert!(good.contains(from), "{from}");
            assert_eq!(Machine::parse(&good.replace(from, to)).unwrap_err(), why);
        }
        assert_eq!(Machine::parse("cores = [").unwrap_err().lines().count(), 1);
        assert!(Machine::named("nothing").unwrap_err().starts_with("no machine nothing: ideal, modules-32, "));
        assert!(Machine::named("no/file").unwrap_err().starts_with("cannot read no/file: "));
        assert_eq!(Machine::named("/dev/zero").unwrap_err(), "cannot read /dev/zero: more than 65536 bytes");
    }
}
