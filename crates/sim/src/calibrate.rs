//! `--calibrate`: the file of the machine at hand.
//!
//! Kernels (`kernels/kernels.erl`) run on the real VM with one scheduler, and once in the simulator, which counts their work ([`Work`]); from both
//! comes what a unit of each kind takes ([`crate::fit`]). Then two threads hand a cache line and a wake-up to each other. The judge are four other
//! programs, on one scheduler and on two, real and simulated with what was found: the file says by how much they differ.
//!
//! Everything real is the least of many short runs: a busy machine disturbs most of them, and seldom all.

use crate::calibration::{Calibration, MOST_ERROR, PROGRAMS};
use crate::fit::fit;
use crate::handover;
use crate::report::Figures;
use crate::words::Words;
use myriad_heap::meter::{Counts, Work};
use myriad_sync::{available_parallelism, thread};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a kernel or program runs on the real VM.
const TIMES: &str = "15";
/// The programs' arguments: each takes 3 to 20 milliseconds, so that some of its runs are not disturbed.
const ARGUMENTS: [&[&str]; PROGRAMS.len()] = [&["30", "8", "8"], &["100"], &["3", "30"], &["8", "10000"]];
/// The most that one run of the real VM may take, all its repetitions together.
const MOST_TIME: Duration = Duration::from_secs(60);
/// A cache line from core to core where that cannot be measured: the order of what it takes within a socket.
const TAKEN_LINE_NS: f64 = 100.0;
/// Reductions of a piece, where one core counts.
const WHOLE_SLICES: &str = "4000";

/// Calibrates, writes the file, prints what was found. Gives the exit status.
///
/// # Errors
/// One line: something cannot be run, or has not said what it should.
pub fn calibrate(words: &Words, file: &Path) -> Result<i32, String> {
    let vm = words.vm.as_deref().ok_or("--calibrate wants --vm, the command of the real VM")?;
    let files = words.kernels.as_deref().ok_or("--calibrate wants --kernels, a directory of compiled programs")?;
    let tools = Tools { vm, files, root: &words.root };
    let real = tools.real(1, &["measure", TIMES])?;
    let costs = tools.costs(&real)?;
    let machine = machine(&costs, handover::line_ns()?, handover::wake_ns()?);
    write(file, &machine)?;
    let mut errors = [[0.0; 2]; PROGRAMS.len()];
    println!("| program | cores | real | simulated | error |\n| --- | ---: | ---: | ---: | ---: |");
    for ((program, arguments), errors) in PROGRAMS.iter().zip(ARGUMENTS).zip(&mut errors) {
        for (cores, error) in (1..).zip(errors) {
            let mut call = vec!["program", TIMES, program];
            call.extend(arguments);
            let real = tools.real(cores, &call)?.first().map_or(0.0, |(_, ns)| *ns);
            let simulated = tools.figures(cores, file.as_os_str(), "4", program, arguments)?.ns as f64;
            *error = (simulated / real.max(1.0) - 1.0).min(MOST_ERROR);
            let ms = |ns: f64| ns / 1e6;
            println!(
                "| {program} | {cores} | {:.2} ms | {:.2} ms | {:+.1} % |",
                ms(real),
                ms(simulated),
                *error * 100.0
            );
        }
    }
    let calibration = Calibration { processor: processor(), date: today(), errors };
    write(file, &(machine + &calibration.to_toml()))?;
    println!("\n{} is written: myriad sim --machine {}", file.display(), file.display());
    Ok(0)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|why| format!("cannot write {}: {why}", file.display()))
}

/// What is run.
struct Tools<'a> {
    vm: &'a Path,
    files: &'a Path,
    root: &'a Path,
}

impl Tools<'_> {
    /// Has the real VM call a function of the kernels; what it says of each kernel or program: its least nanoseconds.
    fn real(&self, schedulers: usize, call: &[&str]) -> Result<Vec<(String, f64)>, String> {
        let vm = self.vm.display();
        let mut command = Command::new(self.vm);
        command.args(["+S", &schedulers.to_string(), "-noshell", "-boot", "no_dot_erlang", "-pa"]);
        command.arg(self.files).args(["-run", "kernels"]).args(call);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|why| format!("cannot run {vm}: {why}"))?;
        // What it says fits a pipe.
        let until = Instant::now() + MOST_TIME;
        while child.try_wait().map_err(|why| format!("cannot wait for {vm}: {why}"))?.is_none() {
            if Instant::now() > until {
                // It may just have ended.
                let _ = child.kill();
                return Err(format!("{vm} has not run its kernels in {} s", MOST_TIME.as_secs()));
            }
            thread::sleep(Duration::from_millis(10));
        }
        let output = child.wait_with_output().map_err(|why| format!("cannot read from {vm}: {why}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Vec<(String, f64)> = said.lines().filter_map(least).collect();
        if found.is_empty() {
            return Err(format!("{vm} has not run its kernels ({})", output.status));
        }
        Ok(found)
    }

    /// The figures of a simulated run.
    fn figures(
        &self,
        cores: usize,
        machine: &OsStr,
        piece: &str,
        program: &str,
        arguments: &[&str],
    ) -> Result<Figures, String> {
        let myself = std::env::current_exe().map_err(|why| format!("cannot find itself: {why}"))?;
        let file = std::env::temp_dir().join(format!("myriad-sim-{}-calibrate", std::process::id()));
        let mut command = Command::new(myself);
        command.arg("--figures").arg(&file).arg("--root").arg(self.root).arg("--machine").arg(machine);
        command.args(["--cores", &cores.to_string(), "--piece", piece]);
        command.arg(self.files.join(format!("{program}.beam"))).args(arguments);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.map_err(|why| format!("cannot start a run: {why}"))?;
        let text = std::fs::read_to_string(&file);
        // It may not be there.
        let _ = std::fs::remove_file(&file);
        let figures = text.ok().and_then(|text| Figures::from_text(&text)).filter(|_| status.success());
        figures.ok_or_else(|| format!("the simulated run of {program} {} failed", arguments.join(" ")))
    }

    /// What a unit of each kind of work takes: nanoseconds.
    fn costs(&self, real: &[(String, f64)]) -> Result<[f64; Work::ALL.len()], String> {
        let count = |kernel: &str| {
            self.figures(1, OsStr::new("ideal"), WHOLE_SLICES, "kernels", &[kernel]).map(|figures| figures.done)
        };
        let start = count("nothing")?;
        let mut rows = Vec::new();
        for (kernel, ns) in real.iter().filter(|(kernel, _)| kernel != "nothing") {
            rows.push((beyond(count(kernel)?, &start), *ns));
        }
        Ok(fit(&rows))
    }
}

/// A line `kernel NAME NS` or `program NAME NS`.
fn least(line: &str) -> Option<(String, f64)> {
    let mut words = line.split(' ');
    let (what, name, ns) = (words.next()?, words.next()?, words.next()?.parse::<u64>().ok()?);
    let is_one = matches!(what, "kernel" | "program") && words.next().is_none() && ns > 0;
    is_one.then(|| (name.to_owned(), ns as f64))
}

/// The work of a kernel, without that of a run that does nothing.
fn beyond(done: Counts, start: &Counts) -> [f64; Work::ALL.len()] {
    std::array::from_fn(|work| done[work].saturating_sub(start[work]) as f64)
}

/// The file, but for how true it is.
fn machine(costs: &[f64; Work::ALL.len()], measured: Option<f64>, wake: f64) -> String {
    let (line, how) =
        measured.map_or((TAKEN_LINE_NS, "taken, for no two cores were free"), |ns| (ns, "measured by two threads"));
    let cores = available_parallelism();
    let mut text =
        format!("# Written by `myriad sim --calibrate`.\nname = \"{}, {cores} cores\"\ncores = {cores}\n", processor());
    text += "# What work takes, by the kinds of `heap::meter`: nanoseconds.\n";
    for work in Work::ALL {
        let _ = writeln!(text, "# {}\n{} = {:.2}", work.meaning(), work.key(), costs[work as usize]);
    }
    let _ = write!(
        text,
        "# A look at the queues that finds nothing: taken, not measured.\nstep_ns = 30.0\n\
         # From a wake-up until the thread that slept works: measured by two threads. A cache line from core to core: {how}.\n\
         wake_ns = {wake:.0}\nsockets = 1\ncores_per_module = {cores}\nmesh_width = 0\nmodule_transfer_ns = {line:.1}\n\
         socket_transfer_ns = {line:.1}\nremote_transfer_ns = {line:.1}\nhop_ns = 0.0\n\
         # Work includes what an atomic access to a line at hand takes.\natomic_ns = 0.0\nleast_hold_ns = 10.0\n\
         # Work was measured with what its core's own cache holds. What comes from farther takes so much more for a line: taken, not measured.\n\
         threads_per_core = 1\ncores_per_unit = 1\nmate_slowdown = 1.0\nword_bytes = 8\n\
         own_cache_kib = {own}\nshared_cache_kib = {shared}\nshared_caches = 1\nshared_cache_ns = 5.0\nmemory_ns = 25.0\n\
         memory_controllers = 1\ncontroller_bytes_per_ns = 50.0\nread_words_per_reduction = 2.0\n",
        own = cache_kib(2).unwrap_or(1024),
        shared = cache_kib(3).unwrap_or(32768),
    );
    text
}

/// The size of the first processor's cache of this level, if the system tells.
fn cache_kib(level: u32) -> Option<u64> {
    let told = |index: u32, what: &str| {
        std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}")).ok()
    };
    let index = (0..8).find(|index| told(*index, "level").is_some_and(|found| found.trim() == level.to_string()))?;
    told(index, "size")?.trim().strip_suffix('K')?.parse().ok()
}

/// The processor, as the system names it.
fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let name = named.map_or("an unnamed processor", |(_, name)| name.trim());
    name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect()
}

/// The day (UTC).
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86400)
}

/// The day that is so many after the first of 1970.
fn date(mut days: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::{date, least, machine};
    use crate::machine::Machine;
    use myriad_heap::meter::Work;

    #[test]
    fn only_times_are_read() {
        assert_eq!(least("kernel loop 7000"), Some(("loop".to_owned(), 7000.0)));
        for other in ["kernel loop", "kernel loop 0", "kernel loop 7 8", "time 7 ms", "hackbench: groups 5", ""] {
            assert_eq!(least(other), None, "{other}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, text) in [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_782, "2026-11-25")] {
            assert_eq!(date(days), text);
        }
        assert_eq!(date(20_818), "2026-12-31");
    }

    #[test]
    fn what_is_written_is_a_machine() {
        let text = machine(&[1.5; Work::ALL.len()], Some(60.0), 5000.0);
        assert!(Machine::parse(&text).is_ok(), "{text}");
        let text = machine(&[1.5; Work::ALL.len()], None, 5000.0);
        assert!(Machine::parse(&text).is_ok() && text.contains("no two cores were free"), "{text}");
    }
}
