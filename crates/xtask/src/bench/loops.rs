//! The module `parallel`: what a loop costs of which no part is wanted, what two schedulers make of it, and a process for each task instead (docs/parallel.md).
//!
//! Programs of Yasugi et al. (2015), `examples/loops`, and figures of `bench/parallel_ops.erl`. The columns are those of the other tables: two ways to do the same take turns.

use super::measure::{Bench, said};
use super::table::{Better, Tables};
use crate::files::{self, top};
use crate::stop::Stop;
use std::path::{Path, PathBuf};

const ONE: [&str; 2] = ["+S", "1:1"];
const TWO: [&str; 2] = ["+S", "2:2"];
const PROGRAMS: [&str; 7] = ["fib", "nqueens", "pentomino", "lu", "comp", "grav", "binsearch"];
/// Those that have a process for each task on `erl`, with an argument that ends there within seconds.
const TASKS: [(&str, &str); 2] = [("fib", "25"), ("nqueens", "9")];

/// The programs of `examples/loops/`, and what they need on `erl`.
pub fn sources() -> Vec<PathBuf> {
    let own = ["bench/parallel_ops.erl"].map(|name| top().join(name));
    files::ending(&top().join("examples/loops"), ".erl").into_iter().chain(own).collect()
}

/// One way to do something, on a VM with flags: its figure.
type Way<'w> = &'w dyn Fn() -> Option<f64>;

/// Measures all.
pub fn loops(bench: &Bench, tables: &mut Tables) -> Result<(), Stop> {
    let program = |vm: &Path, flags: &[&str], words: &[&str]| {
        let mut command = bench.start_vm(vm, flags);
        let call = "loops:main(init:get_plain_arguments()), halt().";
        command.args(["-eval", call, "-extra"]).args(words);
        said(&mut command)?.split_once(": ")?.1.split_once(" ms")?.0.parse().ok()
    };
    let figure = |vm: &Path, flags: &[&str], words: &[&str]| bench.figure(vm, flags, "parallel_ops", words);
    // Which VM is asked for says which way is to be measured.
    let turns = |name: &str, first: Way<'_>, second: Way<'_>| {
        bench.turns(name, |vm| if vm == bench.erl { first() } else { second() })
    };
    let (erl, vm) = (&bench.erl, &bench.vm);

    tables.begin_for("Loops without another scheduler", ["sequential", "`parallel`"])?;
    for case in ["map", "micro", "busy", "both"] {
        let pair = turns(case, &|| figure(vm, &ONE, &[case, "lists"]), &|| figure(vm, &ONE, &[case, "parallel"]));
        tables.row(case, "ms", Better::Less, pair)?;
    }
    for name in PROGRAMS {
        let pair =
            turns(name, &|| program(vm, &ONE, &[name, "sequential"]), &|| program(vm, &ONE, &[name, "parallel"]));
        tables.row(name, "ms", Better::Less, pair)?;
    }
    tables.begin_for(
        "A tick each millisecond beside a loop, two busy schedulers, how late it is",
        ["`lists`", "`parallel`"],
    )?;
    let late = [
        ("busy_p50", "with other processes, half of the ticks at most"),
        ("busy_p99", "the same, 99 of 100"),
        ("loop_p50", "with loops alone, half of the ticks at most"),
        ("loop_p99", "the same, 99 of 100"),
    ];
    for (case, name) in late {
        let pair = turns(case, &|| figure(vm, &TWO, &[case, "lists"]), &|| figure(vm, &TWO, &[case, "parallel"]));
        tables.row(name, "us", Better::Less, pair)?;
    }
    tables.begin_for("Loops on two schedulers", ["one", "two"])?;
    for name in PROGRAMS {
        let pair = turns(name, &|| program(vm, &ONE, &[name, "parallel"]), &|| program(vm, &TWO, &[name, "parallel"]));
        tables.row(name, "ms", Better::Less, pair)?;
    }
    let pair =
        turns("micro", &|| figure(vm, &ONE, &["micro", "parallel"]), &|| figure(vm, &TWO, &["micro", "parallel"]));
    tables.row("micro", "ms", Better::Less, pair)?;
    let alone = || program(vm, &ONE, &["comp", "sequential"]);
    let side_by_side =
        || crate::parallel::at_once(2, alone).into_iter().reduce(|a, b| Some(a?.max(b?)))?.map(|ms| ms / 2.0);
    tables.row("two VMs side by side (comp)", "ms", Better::Less, turns("side by side", &alone, &side_by_side))?;

    tables.begin_for(
        "A process for each task, against parts on request; two schedulers",
        ["erl, tasks", "Myriad, `parallel`"],
    )?;
    for (name, n) in TASKS {
        let pair =
            turns(name, &|| program(erl, &TWO, &[name, "tasks", n]), &|| program(vm, &TWO, &[name, "parallel", n]));
        tables.row(&format!("{name} {n}"), "ms", Better::Less, pair)?;
    }
    for way in ["tasks", "async_stream"] {
        let pair = turns(way, &|| figure(erl, &TWO, &["micro", way]), &|| figure(vm, &TWO, &["micro", "parallel"]));
        tables.row(&format!("micro, {way}"), "ms", Better::Less, pair)?;
    }
    tables.begin_for("Waiting", ["few", "many"])?;
    let pair = turns("request", &|| figure(vm, &TWO, &["request", "10"]), &|| figure(vm, &TWO, &["request", "100000"]));
    tables.row("from a loop to its first part, within 10 and 100,000 calls", "us", Better::Less, pair)?;
    let pair = turns("throw", &|| figure(vm, &TWO, &["throw", "2"]), &|| figure(vm, &TWO, &["throw", "16"]));
    tables.row("from an exception to its handler, with 2 and 16 parts", "us", Better::Less, pair)
}
