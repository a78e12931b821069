//! Trials: a program under the faults of one seed after another, each in a process of its own, several at a time. What is told is which of
//! them did not end as they should.

use crate::words::Words;
use myriad_sync::available_parallelism;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// So many lines of what a run that failed has said are shown.
const SAID_LINES: usize = 3;

/// Runs the program under the faults of each seed from `first` to `last`, on the most cores that were asked for. Gives the exit status: 1 if one
/// failed.
///
/// # Errors
/// One line: a run cannot be started or waited for.
pub fn trials(words: &Words, first: u64, last: u64) -> Result<i32, String> {
    let mut running: VecDeque<(u64, Child)> = VecDeque::new();
    let mut failed = Vec::new();
    for seed in first..=last {
        if running.len() >= available_parallelism() {
            failed.extend(next_failure(&mut running)?);
        }
        running.push_back((seed, start(words, seed)?));
    }
    while !running.is_empty() {
        failed.extend(next_failure(&mut running)?);
    }
    for (seed, why) in &failed {
        println!("failed: myriad sim --cores {} --faults {seed}\n{why}", words.cores.1);
    }
    println!("faults: {} runs of {}, {} failed", last - first + 1, words.cores.1, failed.len());
    Ok(i32::from(!failed.is_empty()))
}

/// The seed of the run that was started first, when it has ended, if it failed: its status, and the first lines of what it said.
fn next_failure(running: &mut VecDeque<(u64, Child)>) -> Result<Option<(u64, String)>, String> {
    let Some((seed, child)) = running.pop_front() else { return Ok(None) };
    let ended = child.wait_with_output().map_err(|why| format!("cannot wait for a run: {why}"))?;
    // It may not be there.
    let _ = std::fs::remove_file(figures(seed));
    let said = String::from_utf8_lossy(&ended.stderr);
    let mut told = vec![format!("    {}", ended.status)];
    told.extend(said.lines().take(SAID_LINES).map(|line| format!("    {line}")));
    Ok((!ended.status.success()).then(|| (seed, told.join("\n"))))
}

fn start(words: &Words, seed: u64) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|why| format!("cannot find itself: {why}"))?;
    let mut command = Command::new(program);
    command.arg("--figures").arg(figures(seed)).arg("--root").arg(&words.root);
    let of_seed = Words { faults: Some((seed, seed)), ..words.clone() };
    for (option, value) in of_seed.of_run(words.cores.1, words.piece) {
        command.args([option, &value]);
    }
    command.args(&words.files).args(&words.args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().map_err(|why| format!("cannot start a run: {why}"))
}

fn figures(seed: u64) -> PathBuf {
    std::env::temp_dir().join(format!("myriad-sim-{}-faults-{seed}", std::process::id()))
}
