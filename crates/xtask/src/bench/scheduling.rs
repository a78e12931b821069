//! What the schedulers owe on a real machine: against two VMs side by side, to a ticker, under a quota, while nothing is to be done, to a
//! burst of work and to work that begins together after a lull, and what the worker cache and the lock profile come to.
//!
//! Each figure is a VM's own, a ratio of two configurations of it that take turns within a run; `erl` stands beside it. The aim is
//! Myriad's.

use super::measure::{Bench, values};
use super::quota::Quota;
use super::table::Tables;
use crate::parallel;
use crate::stop::Stop;

use std::path::Path;
use std::process::Command;

const ONE: [&str; 2] = ["+S", "1:1"];
const TWO: [&str; 2] = ["+S", "2:2"];
const EIGHT: [&str; 2] = ["+S", "8:8"];
const MANY: [&str; 2] = ["+S", "64:64"];

/// The figures by their names.
type Measure = fn(&Bench, &mut Tables) -> Result<(), Stop>;
const FIGURES: [(&str, Measure); 8] = [
    ("side", side),
    ("ticker", ticker),
    ("quota", quota),
    ("idle", idle),
    ("burst", burst),
    ("together", together),
    ("cache", cache),
    ("profile", profile),
];

/// A program of `examples/` with arguments for a second or two of work, for a part of that, and for a quick run.
struct Program {
    name: &'static str,
    long: &'static [&'static str],
    short: &'static [&'static str],
    quick: &'static [&'static str],
}

const MANDELBROT: Program =
    Program { name: "mandelbrot", long: &["240", "10", "1"], short: &["150", "4", "1"], quick: &["40", "2", "1"] };
const BIGBANG: Program = Program { name: "bigbang", long: &["900"], short: &["400"], quick: &["60"] };
const HACKBENCH: Program =
    Program { name: "hackbench", long: &["40", "150"], short: &["20", "50"], quick: &["2", "10"] };
const RANDOM: Program =
    Program { name: "random", long: &["20", "100000"], short: &["10", "50000"], quick: &["4", "2000"] };
const PROGRAMS: [Program; 4] = [MANDELBROT, BIGBANG, HACKBENCH, RANDOM];

impl Program {
    /// The words for `bench/scheduling.erl`: so many runs at once.
    fn jobs(&self, bench: &Bench, count: &'static str) -> Vec<&'static str> {
        let arguments = if bench.quick { self.quick } else { self.long };
        [&["jobs", count, self.name], arguments].concat()
    }
}

/// Measures all figures, or those of the cases that were asked for.
pub fn scheduling(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let wanted = |name: &str| bench.cases.as_ref().is_none_or(|cases| cases.iter().any(|case| case == name));
    let chosen: Vec<Measure> = FIGURES.iter().filter(|(name, _)| wanted(name)).map(|(_, measure)| *measure).collect();
    if chosen.is_empty() {
        let names = FIGURES.map(|(name, _)| name).join(", ");
        return Err(Stop::Usage(format!("the figures of scheduling are {names}")));
    }
    let runs = if bench.quick { 1 } else { bench.runs };
    let bench = &Bench { runs, ..bench.clone() };
    tables.say("\nMedians, in brackets the least and the most of the runs.")?;
    chosen.into_iter().try_for_each(|measure| measure(bench, tables))
}

/// A program twice at once on one VM of two schedulers, and once on each of two VMs of one scheduler.
fn side(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures("Two schedulers, rate against that of two VMs side by side")?;
    let found = PROGRAMS.map(|program| {
        let jobs = |vm: &Path, flags: &[&str], count| {
            first(&mut wants(bench.start_vm(vm, flags), &program.jobs(bench, count)))
        };
        let figures = bench.spreads_of(program.name, |vm| {
            let two = 2.0 / jobs(vm, &TWO, "2")?;
            let times = parallel::at_once(2, || jobs(vm, &ONE, "1"));
            let apart: f64 = times.into_iter().map(|time| Some(1.0 / time?)).sum::<Option<f64>>()?;
            let one = 2.0 / jobs(vm, &ONE, "2")?;
            Some([two / apart, two / one, apart / one])
        });
        (program.name, figures)
    });
    for (name, [against, _, _]) in found {
        tables.figure(name, "", against, "0.95")?;
    }
    for (name, [_, two, apart]) in found {
        tables.figure(&format!("{name}: two schedulers over one"), "", two, "")?;
        tables.figure(&format!("{name}: two VMs over one scheduler"), "", apart, "")?;
    }
    Ok(())
}

/// Beside eight processes that compute, with as many schedulers as there are processors and with many more.
fn ticker(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures("Lateness of a tick each millisecond, beside 8 busy processes")?;
    let figures = bench.spreads_of("ticker", |vm| {
        let [half, most] = ticks(bench, bench.start_vm(vm, &TWO))?;
        let [many_half, many_most] = ticks(bench, bench.start_vm(vm, &MANY))?;
        Some([half, most, many_half, many_most, many_most / most])
    });
    let rows = [
        ("+S 2, p50", "ms", ""),
        ("+S 2, p99", "ms", ""),
        ("+S 64:64, p50", "ms", ""),
        ("+S 64:64, p99", "ms", ""),
        ("p99 of +S 64:64 over that of +S 2", "", "1.00"),
    ];
    rows.into_iter().zip(figures).try_for_each(|((name, unit, aim), figure)| tables.figure(name, unit, figure, aim))
}

/// With the time of one processor: eight schedulers against one.
fn quota(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let quota = Quota::one_processor();
    tables.begin_figures(&format!("8 schedulers against 1, with {}", quota.name()))?;
    let figures = bench.spreads_of("quota", |vm| {
        let rate = |flags: &[&str]| {
            let time = first(&mut wants(quota.start_vm(bench, vm, flags), &HACKBENCH.jobs(bench, "1")))?;
            Some(1.0 / time)
        };
        let [one, eight] = [rate(&ONE)?, rate(&EIGHT)?];
        let [_, late_one] = ticks(bench, quota.start_vm(bench, vm, &ONE))?;
        let [_, late_eight] = ticks(bench, quota.start_vm(bench, vm, &EIGHT))?;
        Some([eight / one, late_one, late_eight, late_eight / late_one])
    });
    let rows = [
        ("rate of hackbench", "", "1.00"),
        ("p99 of a tick beside 8 busy processes, +S 1", "ms", ""),
        ("p99 of a tick beside 8 busy processes, +S 8", "ms", ""),
        ("p99 of +S 8 over that of +S 1", "", "1.00"),
    ];
    rows.into_iter().zip(figures).try_for_each(|((name, unit, aim), figure)| tables.figure(name, unit, figure, aim))
}

/// A node that waits, with its default schedulers.
fn idle(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures("Processor time of an idle node, of a core")?;
    let seconds = if bench.quick { "1" } else { "12" };
    let [share] = bench.spreads_of("idle", |vm| values(&mut wants(bench.start_vm(vm, &[]), &["idle", seconds])));
    tables.figure("idle", "%", share, "0.2 %")
}

/// Ten thousand processes that become runnable together, with schedulers that are not bound and with those that are.
fn burst(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let words = if bench.quick { ["burst", "3", "1000"] } else { ["burst", "60", "10000"] };
    tables.begin_figures(&format!("{} processes made runnable: until a second scheduler runs one", words[2]))?;
    for bound in ["u", "db"] {
        let title = format!("+sbt {bound}");
        let flags = [TWO.as_slice(), &["+sbt", bound]].concat();
        let [half, most, all, share] =
            bench.spreads_of(&title, |vm| values(&mut wants(bench.start_vm(vm, &flags), &words)));
        tables.figure(&format!("{title}, p50"), "us", half, "100 us")?;
        tables.figure(&format!("{title}, p90"), "us", most, "")?;
        tables.figure(&format!("{title}, p99"), "us", all, "")?;
        tables.figure(&format!("{title}, bursts within 100 us"), "%", share, "")?;
    }
    Ok(())
}

/// A few processes that compute, and begin together when little has been to do.
fn together(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures(
        "Processes that begin together after a lull, two schedulers: time over that one after the other",
    )?;
    let rounds = if bench.quick { "3" } else { "30" };
    for (tasks, us) in [("2", "1000"), ("2", "10000"), ("8", "1000"), ("8", "10000")] {
        let title = format!("{tasks} of {us} us each");
        let words = ["together", rounds, tasks, us];
        let [ratio] = bench.spreads_of(&title, |vm| values(&mut wants(bench.start_vm(vm, &TWO), &words)));
        tables.figure(&title, "", ratio, "0.55")?;
    }
    Ok(())
}

/// Calls of servers with and without the worker cache (`+JMcache`), by many clients with some state, and by one with none.
fn cache(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures("Calls of a gen_server (bench/calls.erl): time without the worker cache over that with it")?;
    let sizes = if bench.quick {
        [["10", "50", "20"], ["1", "1", "1000"]]
    } else {
        [["1000", "500", "200"], ["1", "1", "1000000"]]
    };
    for (size, clients) in sizes.into_iter().zip(["many clients", "one client"]) {
        for (schedulers, flags) in [("+S 1", ONE), ("+S 2", TWO)] {
            let title = format!("{clients}, {schedulers}");
            let [gain] = bench.spreads_of(&title, |vm| {
                let call =
                    |cache: &str| bench.figure(vm, &[flags.as_slice(), &["+JMcache", cache]].concat(), "calls", &size);
                // Only Myriad knows the flag.
                (vm == bench.vm).then_some(())?;
                let (with, without) = (call("true")?, call("false")?);
                Some([without / with])
            });
            tables.figure(&title, "", gain, "1.05")?;
        }
    }
    Ok(())
}

/// The lock profile, on against off on the same node.
fn profile(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    tables.begin_figures("Processor time that the lock profile adds when it is on")?;
    for program in PROGRAMS {
        let (rounds, arguments) = if bench.quick { ("1", program.quick) } else { ("7", program.short) };
        for (switch, title) in [("on", program.name.to_owned()), ("off", format!("{}, never on: noise", program.name))]
        {
            let words = [&["profile", switch, rounds, program.name], arguments].concat();
            let [added] = bench.spreads_of(&title, |vm| {
                (vm == bench.vm).then_some(())?;
                values(&mut wants(bench.start_vm(vm, &TWO), &words))
            });
            tables.figure(&title, "%", added, if switch == "on" { "1 %" } else { "" })?;
        }
    }
    Ok(())
}

/// The lateness in milliseconds of half of the ticks, and of 99 in 100, at most.
fn ticks(bench: &Bench, vm: Command) -> Option<[f64; 2]> {
    let ticks = if bench.quick { "200" } else { "3000" };
    values(&mut wants(vm, &["ticker", "8", ticks])).map(|micros: [f64; 2]| micros.map(|micros| micros / 1000.0))
}

/// The VM is to measure this by `bench/scheduling.erl`.
fn wants(mut vm: Command, words: &[&str]) -> Command {
    vm.args(["-run", "scheduling", "main"]).args(words);
    vm
}

fn first(command: &mut Command) -> Option<f64> {
    values(command).map(|[value]: [f64; 1]| value)
}
