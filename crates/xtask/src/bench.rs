//! `cargo xtask bench`: Myriad against `erl` on this machine, as a Markdown table and as JSON.
//!
//! The two VMs take turns within each measurement, so that a change of the machine's load meets both. A ratio above 1 means that Myriad
//! is better.

mod alloc;
mod compiling;
mod heaps;
mod loops;
mod measure;
mod native;
mod parts;
mod pauses;
mod projects;
mod quota;
mod scheduling;
mod servers;
mod smp_cost;
mod table;
mod throws;

use crate::files::{self, top};
use crate::otp::{self, Otp};
use crate::stop::{self, Done, Stop};
use crate::words::Words;
use crate::{json, parallel, program};
use measure::{Bench, examples};
use table::Tables;

/// The words that the command takes.
pub const TAKES: &str = "[-n RUNS] [--erl ERL] [--second ERL] [--vm ERL] [--cases NAMES] [--idle N] [--size MB] [--plt] [--all] [--quick] [--processor-time] [--snmalloc] [--timeout S] [--json FILE] [PART...]
  PART            examples, scaling, rates, shared, builtins, io, boot, idle, compile (all of these without one), and projects, which wants
                  Elixir and rebar3 (tools/setup projects); native: programs that compute, by OTP's JIT, the interpreter and machine
                  code (make bench-native); smp-cost: the parallel VM with one scheduler against the sequential one
                  (make bench-smp-cost); net: servers and OTP's clients (make bench-net); servers: ejabberd with 2,000 sessions (make bench-servers); scheduling: two VMs side by side, ticks, quotas, bursts, idling (make bench-scheduling);
                   heaps: private, shared and hybrid ones (make bench-heaps); pauses: what waits for a process with much state (make bench-pauses);
                   loops: the module `parallel` (make bench-parallel); throws: its exceptions (make bench-throws);
                   alloc: allocators compared, and what stays after a peak (make bench-alloc)
  -n RUNS         medians of so many runs (5)
  --erl ERL       the VM to compare with (OTP's)
  --second ERL    another one that `native` compares with
  --vm ERL        the VM that is measured (bin/erl)
  --cases NAMES   of shared, builtins, io, net, native, scheduling, heaps and pauses only these, with commas between; of throws only these of myriad, otp,
                  rayon and simulated
  --idle N        how many processes `idle` keeps (200000)
  --size MB       how large a state `pauses` has (1000)
  --plt           `projects` has Dialyzer's PLT of kernel and stdlib, too (minutes)
  --all           `heaps` with all that the paper measures (an hour)
  --quick         `scheduling`, `servers`, `heaps`, `pauses`, `throws` and the peaks of `alloc` in small, to see that they can be measured
  --processor-time  `native` compares processor time, for busy machines
  --snmalloc      `alloc` compares snmalloc, too, which is built from C++ with cmake
  --timeout S     the seconds that a run may take (120; 3600 with --plt)
  --json FILE     the figures for other programs

The tables go to target/bench/results.md as well.
";

/// Measures the parts, one after the other.
pub fn main(words: &[String]) -> Done {
    let valued = ["-n", "--erl", "--second", "--vm", "--cases", "--idle", "--size", "--timeout", "--json"];
    let words = Words::parse(words, &["--plt", "--all", "--quick", "--processor-time", "--snmalloc"], &valued)?;
    let parts = parts::chosen(&words.rest)?;
    let bench = bench(&words)?;
    let sources = examples();
    let own = ["micro", "shared", "builtins", "io_ops", "net_ops", "hedqvist", "scheduling", "calls", "peak"]
        .map(|name| top().join(format!("bench/{name}.erl")));
    files::remove_folder(&bench.work);
    otp::compile(
        &bench.otp,
        &bench.ebin(),
        &["-W0"],
        &sources
            .into_iter()
            .chain(own)
            .chain(native::sources())
            .chain(heaps::sources())
            .chain(pauses::sources())
            .chain(loops::sources())
            .chain(throws::sources())
            .collect::<Vec<_>>(),
    )?;
    let mut tables = Tables::new(&bench.work.join("results.md"));
    tables.say(&machine(&bench))?;
    for part in parts {
        (part.run)(&bench, &mut tables)?;
    }
    let good = tables.good();
    json::result(&words, "bench", good, || tables.found())?;
    println!("\nwritten to {}", bench.work.join("results.md").display());
    Ok(stop::verdict(good))
}

fn bench(words: &Words) -> Result<Bench, Stop> {
    let otp = Otp::find()?;
    let plt = words.has("--plt");
    Ok(Bench {
        runs: words.number("-n")?.unwrap_or(5),
        erl: words.value("--erl").map_or_else(|| Ok(otp.erl()), program::find)?,
        vm: words.value("--vm").map_or_else(|| Ok(otp::here()), program::find)?,
        cases: words.value("--cases").map(|names| names.split(',').map(str::to_owned).collect()),
        idle: words.number("--idle")?.unwrap_or(200_000),
        size: words.number("--size")?,
        plt,
        second: words.value("--second").map(program::find).transpose()?,
        processor_time: words.has("--processor-time"),
        quick: words.has("--quick"),
        all: words.has("--all"),
        snmalloc: words.has("--snmalloc"),
        timeout: words.number("--timeout")?.unwrap_or(if plt { 3600 } else { 120 }),
        work: top().join("target/bench"),
        otp,
    })
}

/// What was measured on.
fn machine(bench: &Bench) -> String {
    let processor = files::read_if_there("/proc/cpuinfo".as_ref());
    let model =
        processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, model)| model);
    let memory = files::read_if_there("/proc/meminfo".as_ref());
    let kilobytes =
        memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().split(' ').next()?.parse().ok());
    let gigabytes: f64 = kilobytes.unwrap_or(0.0) / 1_048_576.0;
    let system = program::output(program::command("uname").arg("-sr")).ok().flatten().unwrap_or_default();
    format!(
        "Machine: {}, {} cores, {gigabytes:.0} GB, {}. OTP {} (ERTS {}). Medians of {} runs, taken in turns. Ratio above 1: \
         Myriad is better.",
        model.unwrap_or("unknown processor"),
        parallel::cores(),
        system.trim(),
        bench.otp.release,
        bench.otp.erts,
        bench.runs
    )
}
