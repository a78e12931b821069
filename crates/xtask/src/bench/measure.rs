//! Single measurements: a program is started, and a number comes back; nothing when it failed.

use crate::files::{self, top};
use crate::otp::Otp;
use crate::parallel;
use crate::program;
use crate::stop::Stop;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The rates of `bench/micro.erl`, and how often each is done.
pub const RATES: [[&str; 2]; 5] =
    [["spawn", "300000"], ["ping_pong", "300000"], ["fan_in", "100000"], ["ets", "1000000"], ["timers", "500000"]];

/// The programs of `examples/`.
pub fn examples() -> Vec<PathBuf> {
    files::ending(&top().join("examples"), ".erl")
}

/// What is measured, and how.
#[derive(Clone)]
pub struct Bench {
    /// The OTP installation.
    pub otp: Otp,
    /// How many runs each figure is the median of.
    pub runs: usize,
    /// The `erl` to compare with.
    pub erl: PathBuf,
    /// The `erl` that is measured.
    pub vm: PathBuf,
    /// The cases that are measured of parts that have cases, if not all.
    pub cases: Option<Vec<String>>,
    /// The processes that are kept to see what one takes.
    pub idle: usize,
    /// Megabytes of the state that `pauses` has, if not what it usually has.
    pub size: Option<usize>,
    /// Is Dialyzer's PLT of kernel and stdlib among the projects?
    pub plt: bool,
    /// A second `erl` that `native` compares with.
    pub second: Option<PathBuf>,
    /// Does `native` compare processor time?
    pub processor_time: bool,
    /// Are small sizes enough, to see that it can be measured?
    pub quick: bool,
    /// Is all measured that takes long?
    pub all: bool,
    /// Is snmalloc among the allocators?
    pub snmalloc: bool,
    /// The seconds that a run may take.
    pub timeout: u64,
    /// The folder for what is compiled and what comes out.
    pub work: PathBuf,
}

/// Medians on both VMs; nothing where a run failed, for the median of fewer must not look like a result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// On `erl`.
    pub erl: Option<f64>,
    /// On Myriad.
    pub vm: Option<f64>,
}

/// What several runs came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Half of the runs came to no more.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

/// What came of each run on both VMs.
type Runs<const N: usize> = [Vec<Option<[f64; N]>>; 2];

impl Bench {
    /// The folder of the compiled programs.
    pub fn ebin(&self) -> PathBuf {
        self.work.join("ebin")
    }

    /// Takes turns; the medians of what both VMs come to.
    pub fn turns(&self, title: &str, measure: impl Fn(&Path) -> Option<f64>) -> Pair {
        let measure = |vm: &Path| measure(vm).map(|value| [value; 1]);
        self.turns_of(title, measure)[0]
    }

    /// Takes turns at a measurement that comes to several numbers.
    pub fn turns_of<const N: usize>(&self, title: &str, measure: impl Fn(&Path) -> Option<[f64; N]>) -> [Pair; N] {
        let [erl, vm] = self.runs_of(title, measure);
        std::array::from_fn(|index| Pair { erl: median_of(&erl, index), vm: median_of(&vm, index) })
    }

    /// The same with the spreads: of each number that on `erl` and that on Myriad; nothing where a run failed.
    pub fn spreads_of<const N: usize>(
        &self,
        title: &str,
        measure: impl Fn(&Path) -> Option<[f64; N]>,
    ) -> [[Option<Spread>; 2]; N] {
        let runs = self.runs_of(title, measure);
        std::array::from_fn(|index| [0, 1].map(|vm: usize| spread_of(&runs[vm], index)))
    }

    fn runs_of<const N: usize>(&self, title: &str, measure: impl Fn(&Path) -> Option<[f64; N]>) -> Runs<N> {
        let (mut erl, mut vm) = (Vec::new(), Vec::new());
        for run in 1..=self.runs {
            progress(&format!("{title}, run {run} of {}", self.runs));
            erl.push(measure(&self.erl));
            vm.push(measure(&self.vm));
        }
        progress("");
        [erl, vm]
    }

    /// A program with a limit of time whose errors nobody wants.
    pub fn start(&self, program: &Path) -> Command {
        let mut command = program::limited(self.timeout, program);
        command.env("ERL_CRASH_DUMP", "/dev/null").stderr(Stdio::null());
        command
    }

    /// A VM with flags and the compiled programs.
    pub fn start_vm(&self, vm: &Path, flags: &[&str]) -> Command {
        let mut command = self.start(vm);
        self.with_programs(&mut command, flags);
        command
    }

    /// What follows a VM's name: flags and the compiled programs.
    pub fn with_programs(&self, command: &mut Command, flags: &[&str]) {
        command.args(flags).args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(self.ebin());
    }

    /// The milliseconds that a program of `examples/` says it took.
    pub fn example(&self, vm: &Path, flags: &[&str], module: &str, arguments: &[&str]) -> Option<f64> {
        let mut command = self.start_vm(vm, flags);
        let call = format!("{module}:main(init:get_plain_arguments()), halt().");
        command.args(["-eval", &call, "-extra"]).args(arguments);
        said(&mut command)?.lines().find_map(|line| line.strip_prefix("time ")?.strip_suffix(" ms")?.parse().ok())
    }

    /// The instructions of a program of `examples/` with the start of its VM, as valgrind counts them; nothing without valgrind.
    pub fn instructions(&self, vm: &Path, flags: &[&str], module: &str, arguments: &[&str]) -> Option<f64> {
        let mut command = self.start("valgrind".as_ref());
        command.args(["--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"]);
        command.arg("--cachegrind-out-file=/dev/null").arg(vm).args(flags);
        let call = format!("{module}:main(init:get_plain_arguments()), halt().");
        command.args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(self.ebin());
        command.args(["-eval", &call, "-extra"]).args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().ok()?;
        // Each process that the start goes through says its own.
        let counts = String::from_utf8_lossy(&output.stderr).lines().filter_map(counted).collect::<Vec<f64>>();
        counts.into_iter().reduce(f64::max).filter(|_| output.status.success())
    }

    /// How much faster two schedulers are than one, both measured one after the other.
    pub fn speedup(&self, vm: &Path, module: &str, arguments: &[&str]) -> Option<f64> {
        let one = self.example(vm, &["+S", "1:1"], module, arguments)?;
        let two = self.example(vm, &["+S", "2:2"], module, arguments)?;
        ratio(one, two)
    }

    /// What the machine itself gives: two VMs of one scheduler side by side, each with the work of one alone.
    pub fn side_by_side(&self, vm: &Path, module: &str, arguments: &[&str]) -> Option<f64> {
        let alone = || self.example(vm, &["+S", "1:1"], module, arguments);
        let one = alone()?;
        let times: Option<Vec<f64>> = parallel::at_once(2, alone).into_iter().collect();
        ratio(2.0 * one, times?.into_iter().fold(0.0, f64::max))
    }

    /// The figure of a case of a program of `bench/`.
    pub fn figure(&self, vm: &Path, flags: &[&str], module: &str, words: &[&str]) -> Option<f64> {
        let mut command = self.start_vm(vm, flags);
        values(command.args(["-run", module, "main"]).args(words)).map(|[value]: [f64; 1]| value)
    }

    /// A figure of `bench/micro.erl`.
    pub fn micro(&self, vm: &Path, words: &[&str]) -> Option<f64> {
        self.figure(vm, &["+P", "2000000"], "micro", words)
    }

    /// The operations a second of a case of `bench/shared.erl`, by so many processes on as many schedulers.
    pub fn shared(&self, vm: &Path, case: &str, processes: &str) -> Option<f64> {
        self.figure(vm, &["+S", &format!("{processes}:{processes}")], "shared", &[case, processes])
    }

    /// The milliseconds of processor time of a case of `bench/builtins.erl`, without schedulers that spin.
    pub fn builtin(&self, vm: &Path, case: &str) -> Option<f64> {
        let mut command = self.start_vm(vm, &[&["+S", "1:1"], NO_SPINNING.as_slice()].concat());
        values(command.args(["-run", "builtins", "main", case])).map(|[micros]: [f64; 1]| micros / 1000.0)
    }

    /// The milliseconds of processor time and of time that passed of a case of `bench/io_ops.erl`.
    pub fn io_case(&self, vm: &Path, case: &str) -> Option<[f64; 2]> {
        let mut command = self.start_vm(vm, &NO_SPINNING);
        command.env("TMPDIR", &self.work).args(["-run", "io_ops", "main", case]);
        values(&mut command).map(|micros: [f64; 2]| micros.map(|micros| micros / 1000.0))
    }

    /// The milliseconds of the server's processor time, of time that passed, and of the 99th percentile of answers, of a case of
    /// `bench/net_ops.erl`.
    pub fn net_case(&self, vm: &Path, case: &str) -> Option<[f64; 3]> {
        let mut command = self.start_vm(vm, &NO_SPINNING);
        values(command.args(["-run", "net_ops", "main", case]))
            .map(|micros: [f64; 3]| micros.map(|micros| micros / 1000.0))
    }

    /// The names of a program's cases, or of those of them that were asked for.
    pub fn cases(&self, program: &str) -> Result<Vec<String>, Stop> {
        let mut command = self.start_vm(&self.erl, &[]);
        let names = said(command.args(["-run", program, "main", "names"]));
        let names = names.ok_or_else(|| Stop::Failed(format!("bench/{program}.erl does not name its cases")))?;
        let wanted = |name: &&str| self.cases.as_ref().is_none_or(|cases| cases.iter().any(|case| case == name));
        let names: Vec<String> = names.split_whitespace().filter(wanted).map(str::to_owned).collect();
        match &self.cases {
            Some(cases) if names.is_empty() => {
                Err(Stop::Usage(format!("bench/{program}.erl has no case {}", cases.join(" or "))))
            }
            _ => Ok(names),
        }
    }

    /// The milliseconds that a command takes, to a tenth; what it prints nobody wants.
    pub fn wall(&self, command: &mut Command) -> Option<f64> {
        let began = Instant::now();
        let status = program::run(command.stdout(Stdio::null())).ok()?;
        let tenths = (began.elapsed().as_secs_f64() * 10_000.0).round();
        (status == 0).then_some(tenths / 10.0)
    }
}

const NO_SPINNING: [&str; 6] = ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"];

/// What a program prints; its errors nobody wants.
pub fn said(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number of a line `==PID== I refs: 1,234`, with or without a space before `refs`.
fn counted(line: &str) -> Option<f64> {
    let (said, count) = line.rsplit_once(':')?;
    said.trim_end().ends_with("refs").then(|| count.trim().replace(',', "").parse().ok())?
}

/// The numbers of the line `value N...` that a program prints.
pub fn values<const N: usize>(command: &mut Command) -> Option<[f64; N]> {
    values_in(&said(command)?)
}

/// The same, of what it has printed.
pub fn values_in<const N: usize>(text: &str) -> Option<[f64; N]> {
    let line = text.lines().find_map(|line| line.strip_prefix("value "))?;
    let numbers: Vec<f64> = line.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    numbers.try_into().ok()
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (a > 0.0 && b > 0.0).then(|| (a / b * 100.0).round() / 100.0)
}

fn median_of<const N: usize>(runs: &[Option<[f64; N]>], index: usize) -> Option<f64> {
    spread_of(runs, index).map(|spread| spread.median)
}

fn spread_of<const N: usize>(runs: &[Option<[f64; N]>], index: usize) -> Option<Spread> {
    spread(runs.iter().map(|run| run.map(|values| values[index])).collect::<Option<_>>()?)
}

/// The spread of some values; nothing of none.
pub fn spread(values: Vec<f64>) -> Option<Spread> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    Some(Spread { median: median(values)?, least, most })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// Says on a terminal what is being done.
pub fn progress(what: &str) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        let _ = write!(terminal, "\r\x1b[K  {what}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_want_all_runs() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
        assert_eq!(median_of(&[Some([1.0]), None], 0), None);
        assert_eq!(median_of(&[Some([1.0, 5.0]), Some([2.0, 7.0])], 1), Some(6.0));
        let spread = spread_of(&[Some([3.0]), Some([1.0]), Some([1.5])], 0);
        assert_eq!(spread, Some(Spread { median: 1.5, least: 1.0, most: 3.0 }));
    }

    #[test]
    fn values_stand_on_a_line_of_their_own() {
        assert_eq!(values_in("words\nvalue 3 40\n"), Some([3.0, 40.0]));
        assert_eq!(values_in::<1>("value -3\n"), Some([-3.0]));
        assert_eq!(values_in::<1>("value x\n"), None);
        assert_eq!(values_in::<1>("no value 3\n"), None);
    }

    #[test]
    fn instructions_stand_behind_refs() {
        assert_eq!(counted("==42== I   refs:      1,234,567"), Some(1_234_567.0));
        assert_eq!((counted("==42== Command: erl"), counted("refs: many")), (None, None));
    }

    #[test]
    fn ratios_want_two_numbers() {
        assert_eq!((ratio(3.0, 2.0), ratio(1.0, 3.0), ratio(0.0, 2.0)), (Some(1.5), Some(0.33), None));
    }
}
