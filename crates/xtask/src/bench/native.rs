//! The compute set (`bench/native/`): OTP's JIT, Myriad's interpreter (tier 0) and Myriad's machine code in turns, and on another OTP's JIT
//! too if one is given.
//!
//! A program runs in small before it is timed, so that code which is compiled in the background is there, and from its second start on has what was
//! compiled before: medians are of such starts. What the programs compute has to
//! be the same on all VMs.

use super::measure::{Bench, Pair, Spread, examples, progress, said, spread, values_in};
use super::table::{Better, Tables};
use crate::files::{self, top};
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};

/// What no program's ratio is to be below.
const LEAST: f64 = 0.85;
/// What some programs' ratios are to be above.
const AIMS: [(&str, f64); 4] = [("fib", 1.1), ("tak", 1.1), ("ackermann", 1.8), ("mandelbrot", 2.5)];
/// What the geometric mean is to be above.
const MEAN: f64 = 1.3;
/// How many times as long as in tier 0 a program may take.
const SLOWER: f64 = 1.02;

/// One scheduler, which does not spin: its thread's processor time is the program's.
const FLAGS: [&str; 8] = ["+S", "1:1", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"];

/// A VM as it is started.
struct Column {
    /// With the folder of the programs as compiled for it.
    bench: Bench,
    vm: PathBuf,
    tier: &'static [&'static str],
}

/// What came of one run.
struct Run {
    checksums: Vec<String>,
    /// Milliseconds.
    time: f64,
}

/// What came of all runs of a column: nothing where one failed.
#[derive(Default)]
struct Outcome {
    checksums: Option<Vec<String>>,
    time: Option<Spread>,
}

/// What came of one program.
struct Found {
    name: String,
    native: Option<f64>,
    over_tier_0: Option<f64>,
    /// The results, where they are not the same.
    wrong: Option<String>,
}

/// Measures all programs, or those that were asked for.
pub fn native(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let names = bench.cases("native")?;
    files::remove_folder(&bench.work.join("cache"));
    let columns = columns(bench)?;
    let second = columns.len() > 3;
    let what = if bench.processor_time { "processor time" } else { "time" };
    tables.say("")?;
    tables.say(&format!(
        "| Compute set, {what} in ms | erl | tier 0 | native | spread | erl / tier 0 | erl / native | aim | tier 0 / native |{}",
        if second { " second erl | second erl / native |" } else { "" }
    ))?;
    tables.say(&format!("| --- {}|", "| ---: ".repeat(if second { 10 } else { 8 })))?;
    let mut found = Vec::new();
    for name in &names {
        found.push(program(bench, tables, name, &columns)?);
    }
    let [tier_0, native, over] = [TIER_0, NATIVE_CODE, OVER].map(|table| tables.mean_of(table));
    let last = if second { format!(" | {} |", tables.mean_of(SECOND)) } else { String::new() };
    tables.say(&format!("| geometric mean | | | | | {tier_0} | {native} | {MEAN:.2} | {over} |{last}"))?;
    tables.say("")?;
    let below = found.iter().filter_map(|of| Some((of, of.native.filter(|ratio| *ratio < aim(&of.name))?)));
    let slower = found.iter().filter_map(|of| Some((of, of.over_tier_0.filter(|ratio| ratio * SLOWER < 1.0)?)));
    let list = |of: Vec<(&Found, f64)>| match of.as_slice() {
        [] => "none".to_owned(),
        of => of.iter().map(|(of, ratio)| format!("{} {ratio:.2}", of.name)).collect::<Vec<_>>().join(", "),
    };
    tables.say(&format!("Below their aim: {}.", list(below.collect())))?;
    tables.say(&format!("Slower in machine code than in tier 0 by more than 2 %: {}.", list(slower.collect())))?;
    found.iter().filter_map(|of| of.wrong.as_ref()).try_for_each(|what| tables.wrong(what))
}

/// The titles of the pairs in the file of JSON.
const TIER_0: &str = "Compute set, tier 0";
const NATIVE_CODE: &str = "Compute set, native";
const OVER: &str = "Compute set, native over tier 0 (in erl's place)";
const SECOND: &str = "Compute set, native over the second erl";

fn columns(bench: &Bench) -> Result<Vec<Column>, Stop> {
    let column = |vm: &PathBuf, tier| Column { bench: bench.clone(), vm: vm.clone(), tier };
    let mut columns = vec![
        column(&bench.erl, &[]),
        column(&bench.vm, &["+Jnative", "false"]),
        column(&bench.vm, &["+Jnative", "true"]),
    ];
    if let Some(second) = &bench.second {
        let bench = Bench { work: bench.work.join("second"), ..bench.clone() };
        compile_by(&bench, second)?;
        columns.push(Column { bench, vm: second.clone(), tier: &[] });
    }
    Ok(columns)
}

/// Compiles the programs with the compiler that belongs to a VM, for newer ones tell a JIT more about types.
fn compile_by(bench: &Bench, vm: &Path) -> Result<(), Stop> {
    let call = "[To | Files] = init:get_plain_arguments(), \
                [{ok, _} = compile:file(File, [{outdir, To}]) || File <- Files], halt().";
    files::make_folder(&bench.ebin())?;
    let mut command = bench.start(vm);
    command.args(["-noshell", "-boot", "no_dot_erlang", "-eval", call, "-extra"]).arg(bench.ebin());
    match program::quiet(command.args(sources()).args(examples()))? {
        0 => Ok(()),
        _ => Err(Stop::Failed(format!("{} does not compile bench/native", vm.display()))),
    }
}

/// The modules of the set.
pub fn sources() -> Vec<PathBuf> {
    files::ending(&top().join("bench/native"), ".erl")
}

fn program(bench: &Bench, tables: &mut Tables, name: &str, columns: &[Column]) -> Result<Found, Stop> {
    let mut runs: Vec<Vec<Option<Run>>> = columns.iter().map(|_| vec![]).collect();
    for run in 1..=bench.runs {
        progress(&format!("{name}, run {run} of {}", bench.runs));
        for (runs, column) in runs.iter_mut().zip(columns) {
            runs.push(column.run(name));
        }
    }
    progress("");
    let outcomes: Vec<Outcome> = runs.into_iter().map(outcome).collect();
    // The time of a run that comes to something else is no result.
    let is_good = |of: &&Outcome| of.checksums.is_some() && of.checksums == outcomes[0].checksums;
    let time = |index: usize| outcomes.get(index).filter(is_good)?.time.map(|time| time.median);
    let same = outcomes.iter().all(|of| is_good(&of));
    let mut wrong = None;
    if !same {
        let all: Vec<String> = outcomes.iter().map(Outcome::shown).collect();
        wrong = Some(format!("{name}: {}", all.join(" | ")));
    }
    let mut keep = |table, erl, vm| tables.keep(table, name, "ms", Better::Less, Pair { erl, vm });
    let tier_0 = keep(TIER_0, time(0), time(1));
    let native = keep(NATIVE_CODE, time(0), time(2));
    let over_tier_0 = keep(OVER, time(1), time(2));
    let mut cells: Vec<String> = (0..3).map(|index| shown(time(index), 0)).collect();
    let widest = outcomes.iter().filter_map(|of| of.time).map(|time| 100.0 * (time.most - time.least) / time.median);
    cells.push(shown(widest.reduce(f64::max), 0) + " %");
    cells.extend([tier_0, native, Some(aim(name)), over_tier_0].map(|ratio| shown(ratio, 2)));
    if columns.len() > 3 {
        cells.extend([shown(time(3), 0), shown(keep(SECOND, time(3), time(2)), 2)]);
    }
    let note = if same { "" } else { " (RESULTS DIFFER)" };
    tables.say(&format!("| {name}{note} | {} |", cells.join(" | ")))?;
    Ok(Found { name: name.to_owned(), native, over_tier_0, wrong })
}

fn aim(name: &str) -> f64 {
    AIMS.iter().find(|(of, _)| *of == name).map_or(LEAST, |(_, aim)| *aim)
}

fn shown(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "failed".to_owned(), |number| format!("{number:.decimals$}"))
}

/// The times of all runs, if all came to the same result.
fn outcome(runs: Vec<Option<Run>>) -> Outcome {
    let Some(runs) = runs.into_iter().collect::<Option<Vec<Run>>>() else { return Outcome::default() };
    let checksums = runs.first().map(|run| run.checksums.clone());
    let same = runs.iter().all(|run| Some(&run.checksums) == checksums.as_ref());
    let time = spread(runs.iter().map(|run| run.time).collect());
    if same { Outcome { checksums, time } } else { Outcome { checksums: None, time } }
}

impl Outcome {
    fn shown(&self) -> String {
        self.checksums.as_ref().map_or_else(|| "failed, or not the same each time".to_owned(), |lines| lines.join("; "))
    }
}

impl Column {
    fn run(&self, name: &str) -> Option<Run> {
        let mut command = self.bench.start_vm(&self.vm, &[FLAGS.as_slice(), self.tier].concat());
        command.env("XDG_CACHE_HOME", self.bench.work.join("cache"));
        parse(&said(command.args(["-run", "native", "main", name]))?, self.bench.processor_time)
    }
}

/// The lines with checksums, and one of the two numbers of the line `value N N`: microseconds that passed and of processor time.
fn parse(text: &str, processor_time: bool) -> Option<Run> {
    let [passed, processor] = values_in(text)?;
    let checksums: Vec<String> = text.lines().filter(|line| line.contains("checksum")).map(str::to_owned).collect();
    Some(Run { checksums, time: if processor_time { processor } else { passed } / 1000.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Option<Run> {
        parse(text, false)
    }

    #[test]
    fn runs_have_checksums_and_a_time() {
        let text = "part: checksum 7\ntime 5 ms\nchecksum ok\nvalue 5000 4000\n";
        let found = run(text).unwrap();
        assert_eq!(found.checksums, ["part: checksum 7", "checksum ok"]);
        assert_eq!((found.time, parse(text, true).unwrap().time), (5.0, 4.0));
        assert!(run("checksum 7\n").is_none());
    }

    #[test]
    fn outcomes_want_all_runs_and_one_result() {
        let runs = |second: &str| outcome(vec![run("checksum 1\nvalue 1000 0\n"), run(second)]);
        let same = runs("checksum 1\nvalue 3000 0\n");
        assert_eq!((same.time.unwrap().median, same.shown()), (2.0, "checksum 1".to_owned()));
        let other = runs("checksum 2\nvalue 3000 0\n");
        assert!(other.checksums.is_none() && other.time.is_some());
        let failed = runs("");
        assert!(failed.checksums.is_none() && failed.time.is_none());
    }

    #[test]
    fn aims_are_of_programs_that_are_there() {
        let driver = files::read(&top().join("bench/native/native.erl")).unwrap();
        assert!(AIMS.iter().all(|(name, _)| driver.contains(&format!("{{{name}, "))));
    }
}
