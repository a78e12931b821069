//! The experiment of Johansson, Sagonas and Wilhelmsson 2002 on heaps: private, shared and hybrid, and `erl` beside them (docs/heaps.md).
//!
//! All VMs take turns, run by run. Figures are medians of runs; a figure that a VM does not tell is left out as `-`.

mod arithmetic;
mod choice;
mod grid;
mod misses;
mod programs;
mod report;
mod run;
mod simulated;
pub mod vms;

use super::measure::{Bench, progress};
use super::table::Tables;
use crate::files::{self, top};
use crate::stop::Stop;
use programs::Program;
use report::Found;
use run::{Timed, Traced};
use std::path::PathBuf;
use vms::Vm;

/// One scheduler or two, which do not spin: processor time is the program's.
const ONE: [&str; 8] = ["+S", "1:1", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"];
const TWO: [&str; 2] = ["+S", "2:2"];

/// The sections by their names, in their order; all but the first only with `--all` or when named.
type Section = fn(&Experiment<'_>, &mut Tables) -> Result<(), Stop>;
const SECTIONS: [(&str, Section); 6] = [
    ("programs", programs),
    ("choice", choice::choice),
    ("initial", initial),
    ("messages", grid::messages),
    ("misses", misses::misses),
    ("simulated", simulated::simulated),
];
/// Sections that are measured without `--all`.
const USUAL: [&str; 1] = ["programs"];

/// What is compared, and how.
struct Experiment<'b> {
    bench: &'b Bench,
    vms: Vec<Vm>,
}

/// Measures the sections that were asked for.
pub fn heaps(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let wanted = |name: &str| match &bench.cases {
        Some(cases) => cases.iter().any(|case| case == name),
        None => bench.all || USUAL.contains(&name),
    };
    let chosen: Vec<Section> = SECTIONS.iter().filter(|(name, _)| wanted(name)).map(|(_, section)| *section).collect();
    if chosen.is_empty() {
        let names = SECTIONS.map(|(name, _)| name).join(", ");
        return Err(Stop::Usage(format!("the sections of heaps are {names}")));
    }
    let bench = &Bench { runs: if bench.quick { 1 } else { bench.runs }, ..bench.clone() };
    let vms = vms::all(bench);
    tables.say(&vms::said(&vms))?;
    let experiment = Experiment { bench, vms };
    chosen.into_iter().try_for_each(|section| section(&experiment, tables))
}

/// The programs of `bench/heaps/`.
pub fn sources() -> Vec<PathBuf> {
    files::ending(&top().join("bench/heaps"), ".erl")
}

impl Experiment<'_> {
    /// What each VM comes to in turns, as often as there are runs.
    fn turns<T>(&self, title: &str, measure: impl Fn(&Vm) -> Option<T>) -> Vec<Vec<Option<T>>> {
        let mut all: Vec<Vec<Option<T>>> = self.vms.iter().map(|_| Vec::new()).collect();
        for run in 1..=self.bench.runs {
            for (vm, found) in self.vms.iter().zip(&mut all) {
                progress(&format!("{title}, {}, run {run} of {}", vm.name, self.bench.runs));
                found.push(measure(vm));
            }
        }
        progress("");
        all
    }

    fn timed(&self, program: &Program, vm: &Vm, flags: &[&str]) -> Option<Timed> {
        run::timed(self.bench, vm, flags, "time", &program.words(self.bench.quick), self.times(program))
    }

    /// With its parts told apart, which adds to the time: a run of its own.
    fn by_parts(&self, program: &Program, vm: &Vm) -> Option<Timed> {
        let flags = [&ONE, vm.parts_flags()].concat();
        run::timed(self.bench, vm, &flags, "parts", &program.words(self.bench.quick), self.times(program))
    }

    fn traced(&self, program: &Program, vm: &Vm, flags: &[&str]) -> Option<Traced> {
        run::traced(self.bench, vm, flags, &program.words(self.bench.quick))
    }

    /// How often a program runs for one figure of it.
    fn times(&self, program: &Program) -> u32 {
        if self.bench.quick { 1 } else { program.times }
    }

    /// All that is measured of a program.
    fn found(&self, program: &'static Program) -> Found {
        let turns = |what: &str, measure: &dyn Fn(&Vm) -> Option<Timed>| {
            self.turns(&format!("{}, {what}", program.name), measure)
        };
        let one = turns("+S 1", &|vm| self.timed(program, vm, &ONE));
        let parts = turns("parts", &|vm| self.by_parts(program, vm));
        let two = turns("+S 2", &|vm| self.timed(program, vm, &TWO));
        let traced = self.turns(&format!("{}, traced", program.name), |vm| self.traced(program, vm, &ONE));
        Found::new(program, &self.vms, one, &parts, two, traced)
    }
}

/// Tables 1 and 2 and figures 7 to 12.
fn programs(experiment: &Experiment<'_>, tables: &mut Tables) -> Result<(), Stop> {
    let bench = experiment.bench;
    let mut all = Vec::new();
    for figure in programs::FIGURES {
        let chosen = programs::all(bench.all).filter(|program| program.figure == figure);
        let found: Vec<Found> = chosen.map(|program| experiment.found(program)).collect();
        report::bars(figure, &found, tables)?;
        all.extend(found);
    }
    report::table_1(&all, tables)?;
    report::stops(&all, tables)?;
    report::words(&all, tables)
}

/// Initial sizes: the paper's two, and a larger one.
fn initial(experiment: &Experiment<'_>, tables: &mut Tables) -> Result<(), Stop> {
    report::begin_initial(tables)?;
    for program in programs::initial() {
        for words in ["233", "10946", "121393"] {
            let flags = [ONE.as_slice(), &["+hms", words]].concat();
            let title = format!("{}, +hms {words}", program.name);
            let timed = experiment.turns(&title, |vm| experiment.timed(program, vm, &flags));
            let traced = experiment.turns(&title, |vm| experiment.traced(program, vm, &flags));
            report::initial(program, words, &experiment.vms, &timed, &traced, tables)?;
        }
    }
    Ok(())
}
