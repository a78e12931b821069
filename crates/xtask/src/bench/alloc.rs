//! Memory: allocators on what a VM does with small blocks (`crates/myriad/benches/alloc.rs`), and what stays resident after a peak.

use super::measure::{Bench, values};
use super::table::Tables;
use crate::files::top;
use crate::program;
use crate::stop::Stop;
use std::path::Path;

/// Processes that take memory and end, and how much of it the last of them keep, in percent.
const PEAKS: [(&str, [&str; 2]); 4] = [
    ("1 GB in 1,000 processes, which end", ["0", "built"]),
    ("the same, of which one in ten stays", ["10", "built"]),
    ("1 GB in messages to 1,000 processes, which end", ["0", "sent"]),
    ("1 GB in small messages to 1,000 processes in turn, of which one in ten stays", ["10", "turns"]),
];

/// Measures both.
pub fn alloc(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    allocators(bench, tables)?;
    peaks(bench, tables)
}

/// The table that the comparison prints.
fn allocators(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let mut command = program::command(env!("CARGO"));
    command.current_dir(top()).args(["bench", "--quiet", "--profile", "quick", "-p", "myriad", "--bench", "alloc"]);
    if bench.snmalloc {
        command.args(["--features", "snmalloc"]);
    }
    let said = program::output(command.arg("--").arg(bench.runs.to_string()))?;
    let Some(said) = said else { return Err(Stop::Failed("the comparison of allocators failed".to_owned())) };
    tables.say("")?;
    said.lines().try_for_each(|line| tables.say(line))
}

/// What is resident 2 s after a peak, as a multiple of what was before and stays in use.
fn peaks(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures("Resident memory around a peak (bench/peak.erl)")?;
    for (title, how) in PEAKS {
        let figures = bench.spreads_of(title, |vm| peak(bench, vm, how));
        let rows = [
            ("before", "MB", ""),
            ("at most", "MB", ""),
            ("2 s after", "MB", ""),
            ("after / (before + kept)", "", "1.2"),
        ];
        for ((name, unit, aim), figure) in rows.into_iter().zip(figures) {
            tables.figure(&format!("{title}: {name}"), unit, figure, aim)?;
        }
    }
    Ok(())
}

fn peak(bench: &Bench, vm: &Path, [kept, how]: [&str; 2]) -> Option<[f64; 4]> {
    let megabytes = if bench.quick { "100" } else { "1000" };
    values(bench.start_vm(vm, &[]).args(["-run", "peak", "main", megabytes, kept, how]))
}
