//! A sweep: a process for each number of cores and each size of a piece, and the table of their figures.

use crate::calibration;
use crate::json;
use crate::machine::Machine;
use crate::plot;
use crate::report::{self, Figures, Row, Sweep};
use crate::words::Words;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Simulates each number of cores that is asked for, and prints the table. The program's own output is that of the first run. Gives the
/// exit status: 1 if the program failed.
///
/// # Errors
/// One line: a run failed, or what it left cannot be read.
pub fn sweep(words: &Words, machine: &Machine) -> Result<i32, String> {
    let mut rows = Vec::new();
    for cores in numbers(words.cores) {
        let figures = match one(words, Run { cores, piece: words.piece, sequential: false }, rows.is_empty())? {
            Ok(figures) => figures,
            Err(status) => return Ok(status),
        };
        let halved = match one(words, Run { cores, piece: words.piece / 2, sequential: false }, false)? {
            Ok(figures) => figures,
            Err(status) => return Ok(status),
        };
        rows.push(Row { figures, halved_ns: halved.ns });
    }
    let mut sequential_ns = None;
    if words.cores.0 == 1 {
        match one(words, Run { cores: 1, piece: words.piece, sequential: true }, false)? {
            Ok(figures) => sequential_ns = Some(figures.ns),
            Err(status) => return Ok(status),
        }
    }
    let truth = calibration::line(machine.calibration.as_ref());
    let sweep = Sweep { machine: machine.name.clone(), truth, rows, sequential_ns };
    // A reader that has gone does not end the sweep.
    let mut text = report::table(&sweep);
    if words.placement != "in-order" {
        text.extend(sweep.rows.iter().map(|row| report::processors(&row.figures)));
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
    let files = [(&words.csv, report::csv(&sweep)), (&words.json, json::json(&sweep)), (&words.svg, plot::svg(&sweep))];
    for (file, text) in files {
        if let Some(file) = file {
            std::fs::write(file, text).map_err(|why| format!("cannot write {}: {why}", file.display()))?;
        }
    }
    Ok(0)
}

/// The first number, twice that, and so on, and the last.
fn numbers((from, to): (usize, usize)) -> Vec<usize> {
    let mut numbers: Vec<usize> =
        std::iter::successors(Some(from), |n| n.checked_mul(2)).take_while(|n| *n < to).collect();
    numbers.push(to);
    numbers
}

/// What a process is asked for.
struct Run {
    cores: usize,
    piece: u16,
    sequential: bool,
}

/// A run in a process of its own, for a VM lives as long as its process. The inner error: the status of one that failed, which has said why.
fn one(words: &Words, run: Run, prints: bool) -> Result<Result<Figures, i32>, String> {
    let Run { cores, piece, sequential } = run;
    let program = std::env::current_exe().map_err(|why| format!("cannot find itself: {why}"))?;
    let file = scratch(&run);
    let mut command = Command::new(program);
    // First, for a run of a sweep may have the half of the smallest piece.
    command.arg("--figures").arg(&file);
    for (option, value) in words.of_run(cores, piece) {
        command.args([option, &value]);
    }
    if sequential {
        command.args(["--sequential", "yes"]);
    }
    command.arg("--root").arg(&words.root);
    if let Some(log) = words.log.as_ref().filter(|_| prints) {
        command.arg("--log").arg(log);
    }
    command.args(&words.files).args(&words.args).stdin(Stdio::null());
    if !prints {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let status = command.status().map_err(|why| format!("cannot start a run: {why}"))?;
    let text = std::fs::read_to_string(&file);
    // It may not be there.
    let _ = std::fs::remove_file(&file);
    if !status.success() {
        if !prints {
            eprintln!("myriad sim: the run of {cores} cores in pieces of {piece} failed ({status})");
        }
        return Ok(Err(1));
    }
    let text = text.map_err(|why| format!("a run has left no figures: {why}"))?;
    Figures::from_text(&text).map(Ok).ok_or_else(|| "a run has left no figures".to_owned())
}

fn scratch(Run { cores, piece, sequential }: &Run) -> PathBuf {
    let kind = if *sequential { "sequential" } else { "parallel" };
    std::env::temp_dir().join(format!("myriad-sim-{}-{kind}-{cores}-{piece}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn a_sweep_doubles_until_the_last() {
        assert_eq!(numbers((1, 1)), [1]);
        assert_eq!(numbers((1, 8)), [1, 2, 4, 8]);
        assert_eq!(numbers((3, 20)), [3, 6, 12, 20]);
    }
}
