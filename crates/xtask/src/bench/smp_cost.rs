//! What being parallel costs where nothing runs in parallel: the parallel VM with one scheduler against the sequential one.
//!
//! It repeats tables 4.4 and 4.5 of Zhang 2011 (Hackbench by time and by instructions; the paper's parallel VM took 2.17 to 2.36 times as
//! long) and figures 3 and 4 of Hedqvist 1998 (messages, time limits, equal processes that compute).
//!
//! The columns are those of the other tables: the parallel VM stands where `erl` stands there, and a ratio is its time, or its
//! instructions, over the sequential VM's.

use super::measure::Bench;
use super::table::{Better, Tables};
use crate::files::{self, top};
use crate::stop::Stop;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const ONE: [&str; 2] = ["+S", "1:1"];
/// Programs of `examples/` with the arguments of a run that is timed: Hackbench with the paper's two.
const TIMED: [(&str, &[&str]); 4] =
    [("hackbench", &["100", "1000"]), ("hackbench", &["700", "500"]), ("ring", &[]), ("mandelbrot", &[])];
/// Cases of `bench/hedqvist.erl` whose figures are rates, with as many operations as take part of a second.
const RATES: [(&str, &str); 5] =
    [("small", "1000000"), ("medium", "500000"), ("large", "300000"), ("gs_timeout", "300000"), ("timeout", "500000")];
/// Most processes that compute.
const COMPUTING: usize = 6;
/// Likewise with those of two runs whose instructions are counted: the difference is the program's, without the start of the VM. Hackbench
/// with the paper's groups and fewer loops, which valgrind takes seconds for: the loops are what differs.
const COUNTED: [(&str, &[&str], &[&str]); 4] = [
    ("hackbench", &["100", "1"], &["100", "6"]),
    ("hackbench", &["700", "1"], &["700", "2"]),
    ("ring", &["100", "10"], &["100", "2000"]),
    ("mandelbrot", &["20", "1"], &["40", "4"]),
];

/// Measures times, and instructions where valgrind is there.
pub fn smp_cost(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let sequential = sequential(bench)?;
    let bench = &Bench { erl: bench.vm.clone(), vm: sequential, ..bench.clone() };
    tables.begin_for("Cost of being parallel: time", ["parallel, +S 1", "sequential"])?;
    for (module, arguments) in TIMED {
        let name = [&[module], arguments].concat().join(" ");
        let pair = bench.turns(&name, |vm| bench.example(vm, &ONE, module, arguments));
        tables.row(&name, "ms", Better::Less, pair)?;
    }
    for (case, count) in RATES {
        let pair = bench.turns(case, |vm| bench.figure(vm, &ONE, "hedqvist", &[case, count]));
        tables.row(case, "/s", Better::More, pair)?;
    }
    for processes in (1..=COMPUTING).map(|processes| processes.to_string()) {
        let name = format!("compute {processes}");
        let pair = bench.turns(&name, |vm| bench.figure(vm, &ONE, "hedqvist", &["compute", &processes]));
        tables.row(&name, "ms", Better::Less, pair)?;
    }
    tables.mean()?;
    tables.begin_for("Cost of being parallel: instructions", ["parallel, +S 1", "sequential"])?;
    // They do not depend on what else the machine does.
    let bench = &Bench { runs: 1, ..bench.clone() };
    for (module, small, large) in COUNTED {
        let name = [&[module], large].concat().join(" ");
        let pair = bench.turns(&name, |vm| {
            Some(bench.instructions(vm, &ONE, module, large)? - bench.instructions(vm, &ONE, module, small)?)
        });
        tables.row(&name, "", Better::Less, pair)?;
    }
    tables.mean()
}

/// An `erl` that starts the sequential VM.
fn sequential(bench: &Bench) -> Result<PathBuf, Stop> {
    let emulator = top().join("target/single/release/myriad");
    if !emulator.exists() {
        return Err(Stop::Failed(format!("{} is not there: make bench-smp-cost builds it", emulator.display())));
    }
    let script = bench.work.join("sequential-erl");
    let erl = crate::otp::here();
    let text = format!("#!/bin/sh\nMYRIAD_EMULATOR='{}' exec '{}' \"$@\"\n", emulator.display(), erl.display());
    files::write(&script, text)?;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&script, mode).map_err(|error| Stop::Failed(format!("{}: {error}", script.display())))?;
    Ok(script)
}
