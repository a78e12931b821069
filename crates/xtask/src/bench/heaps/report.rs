//! The tables of the experiment.

use super::super::measure::Pair;
use super::super::table::{Better, Tables};
use super::arithmetic::{self, Shares, count, longest, median, per_mille};
use super::programs::{Figure, Program};
use super::run::{Timed, Told, Traced};
use super::vms::Vm;
use crate::stop::Stop;

/// What came of a program on all VMs.
pub struct Found {
    program: &'static Program,
    vms: Vec<Bar>,
}

/// What came of it on one VM: medians, and nothing where a run failed.
struct Bar {
    name: &'static str,
    letter: &'static str,
    told: Option<Told>,
    /// Nanoseconds of processor time on one scheduler.
    one: Option<f64>,
    /// Nanoseconds that passed on one scheduler and on two.
    passed: [Option<f64>; 2],
    shares: Option<Shares>,
    /// Bytes.
    peak: Option<f64>,
    collections: Option<f64>,
    /// Nanoseconds: the longest stop, and what 999 in 1,000 do not exceed.
    stops: [Option<f64>; 2],
    /// Words that all heaps had and used at most.
    words: [Option<f64>; 2],
}

/// The median of a figure, if all runs came to one.
fn middle<T>(runs: &[Option<T>], figure: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    median(runs.iter().map(|run| figure(run.as_ref()?)).collect::<Option<_>>()?)
}

impl Found {
    /// Of the runs of each VM: on one scheduler, with its parts told apart, on two, and traced.
    pub fn new(
        program: &'static Program,
        vms: &[Vm],
        one: Vec<Vec<Option<Timed>>>,
        parts: &[Vec<Option<Timed>>],
        two: Vec<Vec<Option<Timed>>>,
        traced: Vec<Vec<Option<Traced>>>,
    ) -> Found {
        let runs = vms.iter().zip(one).zip(parts).zip(two.into_iter().zip(traced));
        let bars = runs.map(|(((vm, one), parts), (two, traced))| {
            let kinds = |at: usize| middle(&traced, |run| Some(run.kinds[at]));
            let told: Vec<Told> = one.iter().chain(&two).flatten().map(|run| run.told).collect();
            Bar {
                name: vm.name,
                letter: vm.letter,
                told: told.first().copied().filter(|first| told.iter().all(|told| told == first)),
                one: middle(&one, |run| Some(run.processor)),
                passed: [&one, &two].map(|runs| middle(runs, |run| Some(run.passed))),
                shares: shares(parts, [kinds(0).unwrap_or(0.0), kinds(1).unwrap_or(0.0)]),
                peak: middle(&one, |run| Some(run.peak)),
                collections: middle(&traced, |run| Some(count(&run.stops))),
                stops: [
                    middle(&traced, |run| Some(longest(&run.stops).unwrap_or(0.0))),
                    middle(&traced, |run| Some(per_mille(&run.stops, 999).unwrap_or(0.0))),
                ],
                words: [0, 1].map(|at: usize| middle(&traced, |run| Some(run.words?[at]))),
            }
        });
        Found { program, vms: bars.collect() }
    }

    /// The processor time that is 1: that of private heaps.
    fn unit(&self) -> Option<f64> {
        self.vms.iter().find(|bar| bar.name == "private")?.one.filter(|time| *time > 0.0)
    }
}

/// The shares of a run's parts: of medians, as parts and whole come from the same runs.
fn shares(runs: &[Option<Timed>], kinds: [f64; 2]) -> Option<Shares> {
    let parts = runs.first()?.as_ref()?.parts.len();
    let parts = (0..parts).map(|at| middle(runs, |run| run.parts.get(at).copied())).collect::<Option<Vec<f64>>>()?;
    Shares::of(middle(runs, |run| Some(run.passed))?, &parts, kinds)
}

/// A figure with so many decimals, or `-`.
fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
}

fn scaled(value: Option<f64>, unit: f64) -> Option<f64> {
    value.map(|value| value / unit)
}

const MS: f64 = 1e6;
const US: f64 = 1e3;
const MEGABYTES: f64 = 1_048_576.0;

/// Keeps a figure of each VM for the file of JSON: `erl`'s beside each architecture's.
fn keep(tables: &mut Tables, table: &str, unit: &'static str, found: &Found, figure: impl Fn(&Bar) -> Option<f64>) {
    let erl = found.vms.iter().find(|bar| bar.name == "erl").and_then(&figure);
    for bar in found.vms.iter().filter(|bar| bar.name != "erl") {
        let name = format!("{}, {}", found.program.name, bar.name);
        tables.keep(table, &name, unit, Better::Less, Pair { erl, vm: figure(bar) });
    }
}

/// Table 1: processes and messages, as the programs tell them, and the same on all VMs.
pub fn table_1(found: &[Found], tables: &mut Tables) -> Result<(), Stop> {
    tables.say("\n| Table 1: program | processes | messages | in the paper: processes | messages |")?;
    tables.say("| --- | ---: | ---: | ---: | ---: |")?;
    for Found { program, vms } in found {
        let told = vms.iter().find_map(|bar| bar.told);
        let [processes, messages] =
            [0, 1].map(|at: usize| told.map_or_else(|| "failed".to_owned(), |told| told[at].to_string()));
        let paper = program
            .paper
            .map_or_else(|| "| |".to_owned(), |(processes, messages)| format!("| {processes} | {messages} |"));
        tables.say(&format!("| {} | {processes} | {messages} {paper}", program.name))?;
        for bar in vms.iter().filter(|bar| bar.told != told) {
            tables.wrong(&format!("{} on {} tells {:?}, not {told:?}", program.name, bar.name, bar.told))?;
        }
    }
    Ok(())
}

/// A figure with bars: processor time on one scheduler, private heaps being 1, and its parts.
pub fn bars((number, what): Figure, found: &[Found], tables: &mut Tables) -> Result<(), Stop> {
    let title = format!("Figure {number}: {what}");
    tables.say(&format!(
        "\n| {title} | | ms, +S 1 | over P | mutator | send | size | copy | minor | major | ms passed, +S 1 | +S 2 |"
    ))?;
    tables.say("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for found in found {
        for bar in &found.vms {
            let over = bar.one.zip(found.unit()).map(|(one, unit)| one / unit);
            let parts = bar.shares.zip(over).map_or([None; 6], |(shares, over)| shares.heights(over));
            let parts = parts.map(|part| shown(part, 2)).join(" | ");
            let [one, first, second] = [bar.one, bar.passed[0], bar.passed[1]].map(|time| shown(scaled(time, MS), 2));
            let name = found.program.name;
            tables.say(&format!(
                "| {name} | {} | {one} | {} | {parts} | {first} | {second} |",
                bar.letter,
                shown(over, 2)
            ))?;
        }
        keep(tables, &title, "ms", found, |bar| scaled(bar.one, MS));
        keep(tables, &format!("{title}, passed on 2 schedulers"), "ms", found, |bar| scaled(bar.passed[1], MS));
        for (at, part) in ["mutator", "send", "size", "copy", "minor", "major"].into_iter().enumerate() {
            keep(tables, &format!("{title}, share of {part}"), "", found, |bar| bar.shares?.heights(1.0)[at]);
        }
    }
    Ok(())
}

/// Figure 9: how long collections stop a process.
pub fn stops(found: &[Found], tables: &mut Tables) -> Result<(), Stop> {
    tables.say("\n| Figure 9: stops | | collections | p99.9, us | longest, us |")?;
    tables.say("| --- | --- | ---: | ---: | ---: |")?;
    for found in found {
        for bar in &found.vms {
            let [longest, most] = bar.stops.map(|stop| shown(scaled(stop, US), 0));
            let (name, collections) = (found.program.name, shown(bar.collections, 0));
            tables.say(&format!("| {name} | {} | {collections} | {most} | {longest} |", bar.letter))?;
        }
        keep(tables, "Figure 9, longest stop", "us", found, |bar| scaled(bar.stops[0], US));
        keep(tables, "Figure 9, p99.9", "us", found, |bar| scaled(bar.stops[1], US));
    }
    Ok(())
}

/// Table 2: words of all heaps at most, and memory of the whole VM beyond that before.
pub fn words(found: &[Found], tables: &mut Tables) -> Result<(), Stop> {
    tables.say("\n| Table 2: thousand words | | allocated | used | memory at most, MB |")?;
    tables.say("| --- | --- | ---: | ---: | ---: |")?;
    for found in found {
        for bar in &found.vms {
            let [has, uses] = bar.words.map(|words| shown(scaled(words, 1000.0), 1));
            let memory = shown(scaled(bar.peak, MEGABYTES), 1);
            tables.say(&format!("| {} | {} | {has} | {uses} | {memory} |", found.program.name, bar.letter))?;
        }
        keep(tables, "Table 2, allocated", "words", found, |bar| bar.words[0]);
        keep(tables, "Table 2, used", "words", found, |bar| bar.words[1]);
        keep(tables, "Table 2, memory at most", "bytes", found, |bar| bar.peak);
    }
    Ok(())
}

/// Begins the table of initial sizes.
pub fn begin_initial(tables: &mut Tables) -> Result<(), Stop> {
    tables.say("\n| Initial sizes: program | words | | ms, +S 1 | collections | longest stop, us |")?;
    tables.say("| --- | ---: | --- | ---: | ---: | ---: |")
}

/// The rows of a program that began with so many words.
pub fn initial(
    program: &Program,
    words: &str,
    vms: &[Vm],
    timed: &[Vec<Option<Timed>>],
    traced: &[Vec<Option<Traced>>],
    tables: &mut Tables,
) -> Result<(), Stop> {
    for ((vm, timed), traced) in vms.iter().zip(timed).zip(traced) {
        let time = shown(scaled(middle(timed, |run| Some(run.processor)), MS), 2);
        let collections = shown(middle(traced, |run| Some(count(&run.stops))), 0);
        let stop = shown(scaled(middle(traced, |run| arithmetic::longest(&run.stops)), US), 0);
        tables.say(&format!("| {} | {words} | {} | {time} | {collections} | {stop} |", program.name, vm.letter))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::programs;
    use super::*;
    use crate::files;
    use std::path::PathBuf;

    fn vm(name: &'static str, letter: &'static str) -> Vm {
        Vm::plain(name, letter, PathBuf::new())
    }

    fn run(processor: f64, parts: &[f64]) -> Vec<Option<Timed>> {
        let timed =
            Timed { told: [1, 2, 3], passed: 2.0 * processor, processor, parts: parts.to_vec(), peak: 1_048_576.0 };
        vec![Some(timed)]
    }

    fn found() -> Found {
        let program = programs::all(true).find(|program| program.name == "ring").unwrap();
        let vms = [vm("erl", "erl"), vm("private", "P"), vm("hybrid", "H")];
        let one = vec![run(4e6, &[]), run(2e6, &[]), run(1e6, &[])];
        let parts = vec![run(4e6, &[4e6]), run(2e6, &[4e5, 4e5, 4e5, 8e5, 0.0]), vec![None]];
        let two = vec![run(3e6, &[]), run(2e6, &[]), vec![None]];
        let traced = || {
            vec![Some(Traced { stops: vec![(1000, 9), (5000, 1)], kinds: [3.0, 1.0], words: Some([2000.0, 1500.0]) })]
        };
        Found::new(program, &vms, one, &parts, two, vec![traced(), traced(), traced()])
    }

    #[test]
    fn bars_are_measured_by_private_heaps() {
        let folder = std::env::temp_dir().join(format!("xtask-heaps-{}", std::process::id()));
        files::make_folder(&folder).unwrap();
        let mut tables = Tables::new(&folder.join("page"));
        let found = [found()];
        table_1(&found, &mut tables).unwrap();
        bars(found[0].program.figure, &found, &mut tables).unwrap();
        stops(&found, &mut tables).unwrap();
        words(&found, &mut tables).unwrap();
        let page = files::read(&folder.join("page")).unwrap();
        for row in [
            "| ring | 1 | 2 | 100 | 100000 |",
            "| ring | erl | 4.00 | 2.00 | 1.00 | - | - | - | 0.75 | 0.25 | 8.00 | 6.00 |",
            "| ring | P | 2.00 | 1.00 | 0.50 | 0.10 | 0.10 | 0.10 | 0.20 | 0.00 | 4.00 | 4.00 |",
            "| ring | H | 1.00 | 0.50 | - | - | - | - | - | - | 2.00 | - |",
            "| ring | P | 10 | 5 | 5 |",
            "| ring | H | 2.0 | 1.5 | 1.0 |",
        ] {
            assert!(page.contains(&format!("{row}\n")), "{row}\n{page}");
        }
        assert!(tables.good());
        files::remove_folder(&folder);
    }
}
