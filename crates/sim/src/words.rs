//! The command line.

use crate::machine::MOST_CORES;
use crate::past::Policy;
use std::ffi::OsString;
use std::path::PathBuf;

/// What it takes.
pub const USAGE: &str = "usage: myriad sim [--cores N|A..B] [--machine NAME|FILE.toml] [--seed N] [--policy P] [--boxed-words N] [--placement P] [--piece N] [--limit S] [--stolen N] [--faults N|A..B] [--clients N] [--think NS] [--log FILE] [--csv FILE] [--json FILE] [--svg FILE] FILE.erl [ARG...]
       myriad sim --calibrate FILE.toml
  --cores N|A..B   so many virtual cores, or A, 2A, 4A... and B (1..8)
  --machine M      ideal, modules-32, server-2x64, tilepro64, zen3-2, or a file (server-2x64)
  --seed N         what schedulers draw by chance follows from it (1)
  --policy P       how schedulers share work: `myriad`, or `r13b04` for OTP R13B04's way, and its locks (myriad)
  --boxed-words N  with `r13b04`: words of floats that a reduction boxed there, each 233 of which were a collection (0)
  --placement P    the processors of virtual cores: `in-order`, `none` for a hypervisor that moves them, or how many of each socket, as `8-8` (in-order)
  --piece N        cores take turns after so many reductions (4)
  --limit S        the virtual seconds that the program may take (600)
  --stolen N       a hypervisor takes one core of N away at a time, for 10 ms
  --faults N|A..B  cores are away for a while, wake-ups late, quotas used up: by each of these seeds a run on the most cores, and which failed
  --clients N      so many clients are connected to the program (`bench/echoes.erl`), each of which sends 64 bytes after each answer
  --think NS       how long after it, on average (20000)
  --log FILE       a line for each step: time in ns, core, reductions or `idle`; the same seed gives the same bytes. One number of cores
  --csv FILE, --json FILE, --svg FILE    the figures for other programs; a picture of them
  --calibrate FILE.toml    measures this machine and writes its file, and how true it is; a minute or two";

/// What a run was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// From and to so many cores.
    pub cores: (usize, usize),
    /// A machine's name, or its file.
    pub machine: String,
    /// What is drawn by chance follows from it.
    pub seed: u64,
    /// How schedulers share work.
    pub policy: Policy,
    /// Words of floats that a reduction boxes in OTP R13B04.
    pub boxed_words: u64,
    /// Which processors the cores are on: a name of [`crate::placement`].
    pub placement: String,
    /// Reductions of a piece.
    pub piece: u16,
    /// Most virtual time.
    pub limit_ns: u64,
    /// One core of so many is away at a time.
    pub stolen: Option<u64>,
    /// From and to this seed of faults.
    pub faults: Option<(u64, u64)>,
    /// So many clients are connected to the program.
    pub clients: usize,
    /// Between an answer and the next request of a client, on average.
    pub think_ns: u64,
    /// Where the log goes.
    pub log: Option<PathBuf>,
    /// Where the figures go, for other programs.
    pub csv: Option<PathBuf>,
    /// As JSON.
    pub json: Option<PathBuf>,
    /// As a picture.
    pub svg: Option<PathBuf>,
    /// Simulate one number of cores, and leave its figures here: what a sweep asks of its processes.
    pub figures: Option<PathBuf>,
    /// Simulate the sequential VM, in which atomics, locks and lines cost nothing; a sweep asks for it.
    pub sequential: bool,
    /// Calibrate, and write the machine's file here.
    pub calibrate: Option<PathBuf>,
    /// The command of the real VM, for that.
    pub vm: Option<PathBuf>,
    /// The directory of the compiled kernels and programs, for that.
    pub kernels: Option<PathBuf>,
    /// The OTP installation.
    pub root: PathBuf,
    /// Compiled modules of the program, the one with `main` first.
    pub files: Vec<PathBuf>,
    /// The program's arguments.
    pub args: Vec<String>,
}

impl Words {
    /// The words of a command line. `--root DIR`, `--figures FILE`, `--sequential yes`, `--vm COMMAND`, `--kernels DIR` and a compiled file in place of the source are the launcher's.
    ///
    /// # Errors
    /// One line that says which word is wrong.
    pub fn parse(words: &[OsString]) -> Result<Words, String> {
        let mut parsed = Words {
            cores: (1, 8),
            machine: "server-2x64".to_owned(),
            seed: 1,
            policy: Policy::Myriad,
            boxed_words: 0,
            placement: "in-order".to_owned(),
            piece: 4,
            limit_ns: 600_000_000_000,
            stolen: None,
            faults: None,
            clients: 0,
            think_ns: 20_000,
            log: None,
            csv: None,
            json: None,
            svg: None,
            figures: None,
            sequential: false,
            calibrate: None,
            vm: None,
            kernels: None,
            root: PathBuf::from("/usr/lib/erlang"),
            files: Vec::new(),
            args: Vec::new(),
        };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let option = word.to_string_lossy();
            if !option.starts_with("--") {
                parsed.files.push(PathBuf::from(word));
                parsed.args.extend(rest.map(|word| word.to_string_lossy().into_owned()));
                break;
            }
            let value = rest.next().ok_or_else(|| format!("{option} wants a value, or is unknown"))?;
            parsed.set(&option, value)?;
        }
        if parsed.files.is_empty() != parsed.calibrate.is_some() {
            if parsed.calibrate.is_some() {
                return Err("--calibrate takes no program: it has its own".to_owned());
            }
            return Err("no program".to_owned());
        }
        if parsed.log.is_some() && parsed.cores.0 != parsed.cores.1 {
            return Err("--log is for one number of cores".to_owned());
        }
        Ok(parsed)
    }

    /// The options that a process gets for one run.
    pub fn of_run(&self, cores: usize, piece: u16) -> Vec<(&'static str, String)> {
        let mut options = vec![
            ("--cores", cores.to_string()),
            ("--machine", self.machine.clone()),
            ("--seed", self.seed.to_string()),
            ("--policy", self.policy.name().to_owned()),
            ("--boxed-words", self.boxed_words.to_string()),
            ("--placement", self.placement.clone()),
            ("--piece", piece.to_string()),
            ("--limit", (self.limit_ns / 1_000_000_000).to_string()),
        ];
        options.extend(self.stolen.map(|one_of| ("--stolen", one_of.to_string())));
        if self.clients > 0 {
            options.push(("--clients", self.clients.to_string()));
            options.push(("--think", self.think_ns.to_string()));
        }
        options.extend(self.faults.map(|(seed, _)| ("--faults", seed.to_string())));
        options
    }

    fn set(&mut self, option: &str, value: &OsString) -> Result<(), String> {
        let text = value.to_string_lossy();
        let number = |least: u64, most: u64| {
            let found = text.parse().ok().filter(|n| (least..=most).contains(n));
            found.ok_or_else(|| format!("{option} {text}: a number from {least} to {most} is wanted"))
        };
        match option {
            "--cores" => self.cores = cores(&text)?,
            "--machine" => self.machine = text.into_owned(),
            "--policy" => self.policy = Policy::named(&text)?,
            "--boxed-words" => self.boxed_words = number(0, 1000)?,
            "--placement" => self.placement = text.into_owned(),
            "--seed" => self.seed = number(0, u64::MAX)?,
            "--piece" => self.piece = number(if self.figures.is_some() { 1 } else { 2 }, 4000)? as u16,
            "--limit" => self.limit_ns = number(1, 1_000_000)? * 1_000_000_000,
            "--stolen" => self.stolen = Some(number(2, 1024)?),
            "--faults" => self.faults = Some(seeds(&text)?),
            "--clients" => self.clients = number(1, MOST_CLIENTS)? as usize,
            "--think" => self.think_ns = number(1, 1_000_000_000)?,
            "--log" => self.log = Some(value.into()),
            "--csv" => self.csv = Some(value.into()),
            "--json" => self.json = Some(value.into()),
            "--svg" => self.svg = Some(value.into()),
            "--figures" => self.figures = Some(value.into()),
            "--sequential" => self.sequential = text == "yes",
            "--calibrate" => self.calibrate = Some(value.into()),
            "--vm" => self.vm = Some(value.into()),
            "--kernels" => self.kernels = Some(value.into()),
            "--root" => self.root = value.into(),
            _ => return Err(format!("{option} is unknown")),
        }
        Ok(())
    }
}

/// Most clients.
const MOST_CLIENTS: u64 = 10_000;
/// Most seeds of faults in one go.
const MOST_SEEDS: u64 = 1_000_000;

/// `N` or `A..B`, of seeds.
fn seeds(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if from <= to && to - from < MOST_SEEDS => Ok((from, to)),
        _ => Err(format!("--faults {text}: N or A..B is wanted, at most {MOST_SEEDS} seeds")),
    }
}

/// `N` or `A..B`.
fn cores(text: &str) -> Result<(usize, usize), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse().ok().filter(|n| (1..=MOST_CORES).contains(n));
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from <= to => Ok((from, to)),
        _ => Err(format!("--cores {text}: N or A..B is wanted, of numbers from 1 to {MOST_CORES}")),
    }
}

#[cfg(test)]
mod tests {
    use super::Words;
    use std::ffi::OsString;

    fn parse(text: &str) -> Result<Words, String> {
        Words::parse(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_come_before_the_program_and_its_arguments_after() {
        let words = parse("--cores 4..64 --seed 7 x.beam --cores 3").unwrap();
        assert_eq!((words.cores, words.seed, words.args.join(" ")), ((4, 64), 7, "--cores 3".to_owned()));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_word() {
        for (words, why) in [
            ("", "no program"),
            ("--cores 4", "no program"),
            ("--cores 1025 x", "--cores 1025: N or A..B is wanted, of numbers from 1 to 1024"),
            ("--cores 4..2 x", "--cores 4..2: N or A..B is wanted, of numbers from 1 to 1024"),
            ("--cores 0 x", "--cores 0: N or A..B is wanted, of numbers from 1 to 1024"),
            ("--piece 1 x", "--piece 1: a number from 2 to 4000 is wanted"),
            ("--boxed-words 1001 x", "--boxed-words 1001: a number from 0 to 1000 is wanted"),
            ("--seed -1 x", "--seed -1: a number from 0 to 18446744073709551615 is wanted"),
            ("--faults 3..2 x", "--faults 3..2: N or A..B is wanted, at most 1000000 seeds"),
            ("--faults 0..1000000 x", "--faults 0..1000000: N or A..B is wanted, at most 1000000 seeds"),
            ("--clients 0 x", "--clients 0: a number from 1 to 10000 is wanted"),
            ("--stolen 1 x", "--stolen 1: a number from 2 to 1024 is wanted"),
            ("--policy r99 x", "--policy r99: myriad or r13b04 is wanted"),
            ("--calibrate f x", "--calibrate takes no program: it has its own"),
            ("--seed", "--seed wants a value, or is unknown"),
            ("--cores 1..4 --log f x", "--log is for one number of cores"),
        ] {
            assert_eq!(parse(words).unwrap_err(), why);
        }
    }
}
