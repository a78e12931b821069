//! One run of a program by `bench/heaps/heaps.erl`, and what it prints.

use super::super::measure::{Bench, said};
use super::arithmetic::{self, Stops};
use super::vms::Vm;

/// How often a program is measured after it has warmed up, in each VM that is started.
const RUNS: &str = "2";

/// The module of a program and its arguments.
pub type Words<'w> = [&'w str];

/// Processes, messages, and a hash of the result.
pub type Told = [u64; 3];

/// What a VM told of its runs of a program: medians of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// What the program tells.
    pub told: Told,
    /// Nanoseconds that passed.
    pub passed: f64,
    /// Nanoseconds of processor time.
    pub processor: f64,
    /// Nanoseconds of send, size, copy, minor and major collections; of all collections; or nothing.
    pub parts: Vec<f64>,
    /// Bytes that the VM had at most, beyond those before.
    pub peak: f64,
}

/// What a trace of a program showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// How long collections took.
    pub stops: Stops,
    /// Nanoseconds of all minor ones, and of all of both generations.
    pub kinds: [f64; 2],
    /// Words that all heaps had and used at most, where processes have heaps of their own.
    pub words: Option<[f64; 2]>,
}

/// Times a program, which runs so many times for one figure; `way` is `time`, or `parts` for those too.
pub fn timed(bench: &Bench, vm: &Vm, flags: &[&str], way: &str, program: &Words<'_>, times: u32) -> Option<Timed> {
    let mut command = bench.start_vm(&vm.path, &[vm.flags.as_slice(), flags].concat());
    command.args(["-run", "heaps", "main", way, RUNS, &times.to_string()]).args(program);
    timed_in(&said(&mut command)?)
}

/// Traces the collections of a program.
pub fn traced(bench: &Bench, vm: &Vm, flags: &[&str], program: &Words<'_>) -> Option<Traced> {
    let mut command = bench.start_vm(&vm.path, &[vm.flags.as_slice(), flags].concat());
    command.args(["-run", "heaps", "main", "trace"]).args(program);
    traced_in(&said(&mut command)?)
}

/// The numbers of each line that begins with a word.
fn lines(text: &str, word: &str) -> Option<Vec<Vec<u64>>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    lines.map(|line| line.split(' ').map(|number| number.parse().ok()).collect()).collect()
}

/// The numbers of the one line that begins with a word.
fn line<const N: usize>(text: &str, word: &str) -> Option<[u64; N]> {
    lines(text, word)?.pop()?.try_into().ok()
}

fn timed_in(text: &str) -> Option<Timed> {
    let runs = lines(text, "run")?;
    let column =
        |at: usize| arithmetic::median(runs.iter().map(|run| Some(*run.get(at)? as f64)).collect::<Option<_>>()?);
    let parts = (2..runs.first()?.len()).map(column).collect::<Option<_>>()?;
    let [peak] = line(text, "peak")?;
    Some(Timed { told: line(text, "told")?, passed: column(0)?, processor: column(1)?, parts, peak: peak as f64 })
}

fn traced_in(text: &str) -> Option<Traced> {
    let stops = lines(text, "stop")?;
    let stops = stops.into_iter().map(|stop| stop.try_into().map(|[ns, count]: [u64; 2]| (ns, count)).ok());
    let floats = |numbers: [u64; 2]| numbers.map(|number| number as f64);
    Some(Traced {
        stops: stops.collect::<Option<_>>()?,
        kinds: floats(line(text, "kinds")?),
        words: line(text, "words").map(floats),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_prints() {
        let text = "told 2 5 77\nrun 100 80 1 2 3 4 5\nrun 120 90 1 2 3 4 7\nstop 30 2\npeak 4096\n";
        let timed = timed_in(text).unwrap();
        assert_eq!((timed.told, timed.passed, timed.processor, timed.peak), ([2, 5, 77], 110.0, 85.0, 4096.0));
        assert_eq!(timed.parts, [1.0, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(timed_in("told 2 5 77\npeak 1\n"), None);
        assert_eq!(timed_in("told 2 5 77\nrun x\npeak 1\n"), None);
        assert!(timed_in("told 1 1 1\nrun 3 2\npeak 1\n").unwrap().parts.is_empty());
    }

    #[test]
    fn what_a_trace_prints() {
        let traced = traced_in("told 1 1 1\nstop 10 1\nstop 30 2\nkinds 40 30\nwords 500 200\n").unwrap();
        assert_eq!(
            (traced.stops, traced.kinds, traced.words),
            (vec![(10, 1), (30, 2)], [40.0, 30.0], Some([500.0, 200.0]))
        );
        assert_eq!(traced_in("stop 10\nkinds 40 30\nwords 500 200\n"), None);
        assert_eq!(traced_in("kinds 0 0\nwords 5 2\n").unwrap().stops, []);
        assert_eq!(traced_in("stop 10 1\nkinds 10 0\n").unwrap().words, None);
    }
}
