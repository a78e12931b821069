//! A few of the programs on simulated cores (docs/simulator.md), with private heaps.

use super::Experiment;
use crate::bench::measure::{Bench, progress};
use crate::bench::table::Tables;
use crate::files::{self, top};
use crate::program;
use crate::stop::Stop;

const CORES: [&str; 5] = ["1", "2", "4", "8", "16"];
/// Programs of `examples/` with their arguments, and small ones.
const PROGRAMS: [(&str, &[&str], &[&str]); 5] = [
    ("ring", &["100", "20000"], &["10", "100"]),
    ("procs", &["250", "100"], &["10", "10"]),
    ("keeplive", &["100", "100", "10"], &["5", "10", "3"]),
    ("garbage", &["100", "100", "10"], &["5", "10", "3"]),
    ("sendsame", &["100", "100", "20"], &["5", "10", "3"]),
];
const MACHINE: &str = "server-2x64";

/// The table, if the simulator is there.
pub fn simulated(experiment: &Experiment<'_>, tables: &mut Tables) -> Result<(), Stop> {
    let columns = CORES.map(|cores| format!(" {cores} |")).concat();
    tables.say(&format!("\n| Simulated ({MACHINE}, private), ms of virtual time by cores |{columns}"))?;
    tables.say(&format!("| --- |{}", " ---: |".repeat(CORES.len())))?;
    let mut seen = false;
    for (name, full, quick) in PROGRAMS {
        let numbers = if experiment.bench.quick { quick } else { full };
        let times = CORES.map(|cores| {
            progress(&format!("{name} on {cores} simulated cores"));
            virtual_ms(experiment.bench, name, numbers, cores)
        });
        seen |= times.iter().any(Option::is_some);
        let cells = times.map(|ms| ms.map_or_else(|| " - |".to_owned(), |ms| format!(" {ms:.3} |"))).concat();
        tables.say(&format!("| {name} {} |{cells}", numbers.join(" ")))?;
    }
    progress("");
    if seen { Ok(()) } else { tables.say("\nLEFT OUT: there is no simulator here; make bench-heaps builds it.") }
}

/// The virtual time of a run.
fn virtual_ms(bench: &Bench, name: &str, numbers: &[&str], cores: &str) -> Option<f64> {
    let figures = bench.work.join("simulated");
    let mut command = bench.start(&top().join("bin/myriad"));
    command.args(["sim", "--machine", MACHINE, "--cores", cores, "--figures"]).arg(&figures);
    command.arg(top().join(format!("examples/{name}.erl"))).args(numbers);
    (program::quiet(&mut command).ok()? == 0).then(|| nanoseconds(&files::read_if_there(&figures)))?.map(|ns| ns / 1e6)
}

/// The second number of the first line of a file of figures.
fn nanoseconds(text: &str) -> Option<f64> {
    text.lines().next()?.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_stands_in_the_first_line() {
        assert_eq!(nanoseconds("1 1500000 7\nmore"), Some(1_500_000.0));
        assert_eq!((nanoseconds(""), nanoseconds("1")), (None, None));
    }
}
