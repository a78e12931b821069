//! The lock laboratory: every lock of crate `sync` on 1 to 1,024 simulated cores, for `make bench-locks` (docs/locks.md).
//!
//! A lock that spins cannot be simulated by running it: a step of a simulated core is one for all others, so a core would spin for ever. So this
//! models the locks' protocols ([`protocols`]) on a memory of lines and distances ([`memory`]), those of a machine of the simulator. The same
//! arguments give the same figures.

mod memory;
mod protocols;
mod table;

use crate::machine::{MOST_CORES, Machine};
use memory::{Core, HOME_NS, Memory, Program};
use protocols::{Kind, Lock, READING, WRITING};
use std::cell::Cell;
use std::path::PathBuf;

const CORES: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, MOST_CORES];
/// Lengths of sections, in nanoseconds.
const SECTIONS: [u64; 4] = [10, 100, 1_000, 10_000];
/// One section in so many of a core writes, among readers.
const WRITES: usize = 64;
/// Sections that are run, of which the last three quarters are measured: so many, and so many for each core; of readers two rounds of all.
const MEASURED: usize = 1000;
const MEASURED_BY_CORE: usize = 2;
/// No measurement lasts longer, in virtual time.
const LONGEST_NS: u64 = 1_000_000_000;

const USAGE: &str = "usage: cargo bench -p myriad-sim --bench locks -- [--machine MACHINE] [--lock NAME] [--cores N] [--home NS] \
     [--out FOLDER]";

/// One lock under one load.
#[derive(Clone, PartialEq, Debug)]
struct Point {
    reading: bool,
    lock: &'static str,
    section_ns: u64,
    cores: usize,
    /// Sections a second of all cores.
    rate: f64,
}

struct Options {
    machine: String,
    lock: Option<String>,
    most_cores: usize,
    home_ns: u64,
    out: PathBuf,
}

/// Runs the laboratory by the words of a command; gives the exit status.
pub fn command(words: impl Iterator<Item = String>) -> i32 {
    let Some(options) = options(words) else {
        eprintln!("{USAGE}");
        return 2;
    };
    let machine = match Machine::named(&options.machine) {
        Ok(machine) => machine,
        Err(why) => {
            eprintln!("{why}");
            return 2;
        }
    };
    let points = measured(&machine, &options);
    let text = table::markdown(&machine.name, &points);
    print!("{text}");
    let files =
        [("simulated.md", text), ("simulated.csv", table::csv(&points)), ("simulated.svg", table::svg(&points))];
    for (name, text) in files {
        let path = options.out.join(name);
        if let Err(error) = std::fs::create_dir_all(&options.out).and_then(|()| std::fs::write(&path, text)) {
            eprintln!("{}: {error}", path.display());
            return 1;
        }
    }
    println!("written to {}", options.out.display());
    0
}

/// The options, unless there is a word that is none. `cargo bench` adds `--bench`.
fn options(mut words: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options {
        machine: "server-2x64".into(),
        lock: None,
        most_cores: MOST_CORES,
        home_ns: HOME_NS,
        out: "target/bench-locks".into(),
    };
    let number = |word: Option<String>, most| word?.parse().ok().filter(|n| (0..=most).contains(n));
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--machine" => options.machine = words.next()?,
            "--lock" => options.lock = Some(words.next()?),
            "--cores" => options.most_cores = number(words.next(), MOST_CORES).filter(|n| *n > 0)?,
            "--home" => options.home_ns = number(words.next(), 1000)? as u64,
            "--out" => options.out = words.next()?.into(),
            _ => return None,
        }
    }
    Some(options)
}

fn measured(machine: &Machine, options: &Options) -> Vec<Point> {
    let lists = [(false, &WRITING[..]), (true, &READING[..])];
    let mut points = Vec::new();
    for (reading, locks) in lists {
        let locks = locks.iter().filter(|(name, _)| options.lock.as_ref().is_none_or(|only| only == name));
        for &(lock, kind) in locks {
            for section_ns in SECTIONS {
                for cores in CORES.into_iter().filter(|cores| *cores <= options.most_cores) {
                    let load = Load { kind, reading, section_ns, cores };
                    let rate = load.rate(machine, options.home_ns);
                    points.push(Point { reading, lock, section_ns, cores, rate });
                }
            }
        }
    }
    points
}

/// Cores that run sections of one lock for ever, as long again between two.
#[derive(Clone, Copy)]
struct Load {
    kind: Kind,
    reading: bool,
    section_ns: u64,
    cores: usize,
}

impl Load {
    /// Sections a second, without the first ones: all come at once in the beginning.
    fn rate(self, machine: &Machine, home_ns: u64) -> f64 {
        let memory = Memory::new(&machine.topology, self.cores, machine.wake_ns, home_ns);
        let lock = Lock::new(&memory, self.kind, self.cores);
        let done = Cell::new(0);
        let programs = (0..self.cores).map(|core| Box::pin(self.core(memory.core(core), &lock, &done)) as Program<'_>);
        let by_core = if self.reading { 2 * WRITES } else { MEASURED_BY_CORE };
        let wanted = MEASURED + by_core * self.cores;
        let warm = Cell::new((0, 0));
        let ns = memory.run(programs.collect(), || {
            let now = memory.now();
            if warm.get().1 == 0 && done.get() >= wanted / 4 {
                warm.set((now, done.get()));
            }
            done.get() >= wanted || now > LONGEST_NS
        });
        let (since, before) = warm.get();
        (done.get() - before) as f64 * 1e9 / (ns - since).max(1) as f64
    }

    async fn core(self, core: Core<'_>, lock: &Lock, done: &Cell<usize>) {
        // Cores do not write all at the same time.
        let mut turn = core.number * 7;
        loop {
            turn += 1;
            if self.reading && !turn.is_multiple_of(WRITES) {
                lock.read(core, self.section_ns).await;
            } else {
                lock.write(core, self.section_ns).await;
            }
            core.pass(self.section_ns).await;
            done.set(done.get() + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HOME_NS, Kind, Load, Machine, READING, WRITING, options};

    fn rate(kind: Kind, reading: bool, section_ns: u64, cores: usize) -> f64 {
        let machine = Machine::named("server-2x64").expect("it comes along");
        Load { kind, reading, section_ns, cores }.rate(&machine, HOME_NS)
    }

    #[test]
    fn no_lock_lets_two_in_at_a_time_or_loses_a_waiter() {
        for (name, kind) in WRITING.into_iter().chain(READING) {
            for cores in [1, 2, 5, 64] {
                let rate = rate(kind, false, 1000, cores);
                // A core is as long between two sections; two and more can use the lock all the time, but for handing it over.
                let most = if cores == 1 { 0.5e6 } else { 1e6 };
                assert!((0.05 * most..=most).contains(&rate), "{name} on {cores}: {rate}");
            }
        }
    }

    #[test]
    fn the_same_load_gives_the_same_rate() {
        assert_eq!(rate(Kind::Reactive, false, 10, 16).to_bits(), rate(Kind::Reactive, false, 10, 16).to_bits());
    }

    #[test]
    fn a_ticket_lock_collapses_and_a_queue_does_not() {
        let fall = |kind| rate(kind, false, 100, 512) / rate(kind, false, 100, 16);
        assert!(fall(Kind::Ticket) < 0.3, "{}", fall(Kind::Ticket));
        assert!(fall(Kind::Mcs) > 0.5, "{}", fall(Kind::Mcs));
    }

    #[test]
    fn readers_in_groups_scale_and_readers_of_one_word_do_not() {
        let gain = |kind| rate(kind, true, 100, 64) / rate(kind, true, 100, 1);
        assert!(gain(Kind::Groups) > 4.0 * gain(Kind::Word), "{} {}", gain(Kind::Groups), gain(Kind::Word));
    }

    #[test]
    fn a_word_that_is_no_option_is_refused() {
        let parsed = |words: &[&str]| options(words.iter().map(ToString::to_string)).is_some();
        assert!(parsed(&["--bench", "--cores", "8", "--lock", "MCS", "--home", "0"]));
        for wrong in [&["--cores", "0"][..], &["--cores", "1025"], &["--home", "x"], &["--out"], &["more"]] {
            assert!(!parsed(wrong), "{wrong:?}");
        }
    }
}
