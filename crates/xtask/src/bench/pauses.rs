//! How long others wait for a process with much state: its clients while it collects, and a tick beside it, beside the send of the state and beside
//! its death (docs/heaps.md).
//!
//! `erl` and each architecture of heaps take turns, one run at a time.

use super::heaps::vms::{self, Vm};
use super::measure::{Bench, Pair, Spread, progress, spread, values};
use super::table::{Better, Tables};
use crate::files::{self, top};
use crate::stop::Stop;
use std::path::PathBuf;

/// A figure: its name, its unit, and what Myriad's is to be.
type Figure = (&'static str, &'static str, &'static str);

const SERVE: [Figure; 21] = [
    ("delay, p50", "ms", ""),
    ("delay, p99", "ms", ""),
    ("delay, p99.9", "ms", ""),
    ("delay, longest", "ms", ""),
    ("delay without a collection, p50", "ms", ""),
    ("delay without a collection, p99", "ms", ""),
    ("delay without a collection, p99.9", "ms", ""),
    ("delay without a collection, longest", "ms", ""),
    ("delay by collection, p99.9", "ms", "1 ms"),
    ("delay by collection, longest", "ms", "5 ms"),
    ("minor collections", "", ""),
    ("minor collections, longest", "ms", ""),
    ("major collections", "", ""),
    ("major collections, longest", "ms", ""),
    ("tick beside it, p99", "ms late", ""),
    ("tick beside it, p99.9", "ms late", "1 ms"),
    ("tick beside it, latest", "ms late", ""),
    ("state", "MB", ""),
    ("memory at most over the state", "", "1.3"),
    ("memory at most until it was made", "", ""),
    ("memory in the end over the state then", "", "1.3"),
];
const SEND: [Figure; 7] = [
    ("tick beside it, p99", "ms late", ""),
    ("tick beside it, p99.9", "ms late", "1 ms"),
    ("tick beside it, latest", "ms late", ""),
    ("until it was sent", "ms", ""),
    ("until it was received", "ms", ""),
    ("state", "MB", ""),
    ("memory at most over the state", "", ""),
];
const DEATH: [Figure; 4] = [
    ("tick beside it, p99", "ms late", ""),
    ("tick beside it, p99.9", "ms late", "1 ms"),
    ("tick beside it, latest", "ms late", ""),
    ("state", "MB", ""),
];

/// A case: its name, and how it is measured.
type Case = (&'static str, fn(&Pauses<'_>, &str, &mut Tables) -> Result<(), Stop>);
const CASES: [Case; 6] = [
    ("map", |pauses, shape, tables| pauses.case("serve", shape, SERVE, "requests to a process with", tables)),
    ("shrinking", |pauses, shape, tables| pauses.case("serve", shape, SERVE, "requests to a process with", tables)),
    ("tree", |pauses, shape, tables| pauses.case("serve", shape, SERVE, "requests to a process with", tables)),
    ("queue", |pauses, shape, tables| pauses.case("serve", shape, SERVE, "requests to a process with", tables)),
    ("send", |pauses, _, tables| pauses.case("send", "tree", SEND, "the send of", tables)),
    ("death", |pauses, _, tables| pauses.case("death", "map", DEATH, "the end of a process with", tables)),
];

/// Megabytes of a state, unless said otherwise, and in small.
const SIZES: [usize; 2] = [1000, 16];
/// Seconds that a process serves, and those for each 100 MB of its state: so long that its old generation is collected at least once.
const SECONDS: [usize; 2] = [3, 6];
/// Seconds for all else in a run, and for each 100 MB.
const BESIDE: [usize; 2] = [60, 30];

/// What is compared, and how.
struct Pauses<'b> {
    bench: Bench,
    vms: &'b [Vm],
    megabytes: usize,
}

/// The programs of `bench/pauses/`.
pub fn sources() -> Vec<PathBuf> {
    files::ending(&top().join("bench/pauses"), ".erl")
}

/// Measures all cases, or those that were asked for.
pub fn pauses(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let wanted = |name: &str| bench.cases.as_ref().is_none_or(|cases| cases.iter().any(|case| case == name));
    let chosen: Vec<&Case> = CASES.iter().filter(|(name, _)| wanted(name)).collect();
    if chosen.is_empty() {
        let names = CASES.map(|(name, _)| name).join(", ");
        return Err(Stop::Usage(format!("the cases of pauses are {names}")));
    }
    let megabytes = bench.size.unwrap_or(SIZES[usize::from(bench.quick)]);
    let timeout = bench.timeout.max((seconds(SECONDS, megabytes) + seconds(BESIDE, megabytes)) as u64);
    let runs = if bench.quick { 1 } else { bench.runs };
    let vms = vms::all(bench);
    tables.say(&vms::said(&vms))?;
    let pauses = Pauses { bench: Bench { runs, timeout, ..bench.clone() }, vms: &vms, megabytes };
    chosen.into_iter().try_for_each(|(name, case)| case(&pauses, name, tables))
}

fn seconds([always, per_100]: [usize; 2], megabytes: usize) -> usize {
    always + per_100 * megabytes / 100
}

impl Pauses<'_> {
    /// Measures the figures that `bench/pauses/pauses.erl` tells of a state of this shape.
    fn case<const N: usize>(
        &self,
        what: &str,
        shape: &str,
        figures: [Figure; N],
        title: &str,
        tables: &mut Tables,
    ) -> Result<(), Stop> {
        let mut found: Vec<Vec<Option<[f64; N]>>> = self.vms.iter().map(|_| Vec::new()).collect();
        for run in 1..=self.bench.runs {
            for (vm, found) in self.vms.iter().zip(&mut found) {
                progress(&format!("{what} {shape}, {}, run {run} of {}", vm.name, self.bench.runs));
                found.push(self.measured(vm, what, shape));
            }
        }
        progress("");
        self.table(&format!("{title} a {shape} of {} MB", self.megabytes), figures, &found, tables)
    }

    fn measured<const N: usize>(&self, vm: &Vm, what: &str, shape: &str) -> Option<[f64; N]> {
        let flags = [&["+S", "2:2"], vm.flags.as_slice()].concat();
        let numbers = [self.megabytes, seconds(SECONDS, self.megabytes)].map(|number| number.to_string());
        let mut command = self.bench.start_vm(&vm.path, &flags);
        values(command.args(["-run", "pauses", "main", what, shape]).args(numbers))
    }

    /// A column for each VM: medians, in brackets the least and the most where there are several runs.
    fn table<const N: usize>(
        &self,
        title: &str,
        figures: [Figure; N],
        found: &[Vec<Option<[f64; N]>>],
        tables: &mut Tables,
    ) -> Result<(), Stop> {
        let names = self.vms.iter().map(|vm| format!(" {} |", vm.name)).collect::<String>();
        tables.say(&format!("\n| Pauses: {title} |{names} aim |"))?;
        tables.say(&format!("| --- |{} ---: |", " ---: |".repeat(self.vms.len())))?;
        for (at, (name, unit, aim)) in figures.into_iter().enumerate() {
            let spreads: Vec<Option<Spread>> = found
                .iter()
                .map(|runs| spread(runs.iter().map(|run| run.map(|values| values[at])).collect::<Option<_>>()?))
                .collect();
            let cells =
                spreads.iter().map(|of| format!(" {} |", shown(*of, unit, self.bench.runs))).collect::<String>();
            tables.say(&format!("| {name} |{cells} {aim} |"))?;
            let median = |of: &Option<Spread>| of.map(|spread| spread.median);
            for (vm, of) in self.vms.iter().zip(&spreads).skip(1) {
                let pair = Pair { erl: spreads.first().and_then(median), vm: median(of) };
                tables.keep(title, &format!("{name}, {}", vm.name), unit, Better::Less, pair);
            }
        }
        Ok(())
    }
}

fn shown(of: Option<Spread>, unit: &str, runs: usize) -> String {
    match of {
        None => "failed".to_owned(),
        // Of nothing, as where no request was without a collection.
        Some(spread) if spread.median < 0.0 => "-".to_owned(),
        Some(spread) if runs > 1 => spread.shown(unit),
        Some(spread) => spread.middle(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_state_is_served_for_longer() {
        assert_eq!((seconds(SECONDS, 0), seconds(SECONDS, 64), seconds(SECONDS, 1000)), (3, 6, 63));
    }

    #[test]
    fn figures_without_runs_failed() {
        let of = |median| Some(Spread { median, least: median, most: 2.0 });
        assert_eq!(shown(None, "ms", 1), "failed");
        assert_eq!((shown(of(-1.0), "ms", 1), shown(of(1.0), "ms", 1)), ("-".to_owned(), "1.00 ms".to_owned()));
        assert_eq!(shown(of(1.0), "ms", 2), "1.00 ms (1.00 to 2.00)");
    }
}
