//! `myriad sim`: a program on a machine that one does not have. The shipping scheduler, processes, signals and collector run on virtual cores, in
//! one thread, in virtual time (docs/design.md, section 11).
//!
//! A process of this program simulates one number of cores; a range of them is a sweep over such processes, each number twice, with pieces
//! of a slice of half the size the second time, so that the table says how much the results owe to the pieces.

mod busy;
mod cache;
mod calibrate;
mod calibration;
mod clients;
mod clock;
mod contention;
mod core_heaps;
mod cores;
mod costs;
mod faults;
mod fetches;
mod fit;
mod handover;
mod invariants;
mod json;
pub mod lab;
mod lines;
mod locks;
mod machine;
mod memory;
mod past;
mod placement;
mod plot;
mod program;
mod report;
mod stolen;
mod sweep;
mod topology;
mod trials;
mod words;

pub use core_heaps::CoreHeaps;

use clock::VirtualClock;
use cores::Cores;
use machine::Machine;
use myriad_sync::Arc;
use past::Policy;
use placement::Placement;
use report::Figures;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufWriter;
use stolen::Stolen;
use words::Words;

/// The command: does what its arguments say, and gives the exit status.
pub fn command() -> i32 {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    match Words::parse(&words) {
        Err(why) => {
            eprintln!("myriad sim: {why}\n{}", words::USAGE);
            2
        }
        Ok(words) => run(&words).unwrap_or_else(|why| {
            eprintln!("myriad sim: {why}");
            1
        }),
    }
}

fn run(words: &Words) -> Result<i32, String> {
    if let Some(file) = &words.calibrate {
        return calibrate::calibrate(words, file);
    }
    let machine = Machine::named(&words.machine)?;
    let processors = machine.topology.processors();
    if words.cores.1 > processors {
        return Err(format!("{} has {processors} cores, not {}", machine.name, words.cores.1));
    }
    // Whether it is one is known before anything runs.
    let _ = Placement::named(&words.placement, &machine.topology, words.cores.1, words.seed)?;
    match (&words.figures, words.faults) {
        (Some(file), _) if words.sequential => simulate(words, &machine.sequential(), file),
        (Some(file), _) => simulate(words, &machine, file),
        (None, Some((first, last))) if first < last => trials::trials(words, first, last),
        (None, _) => sweep::sweep(words, &machine),
    }
}

/// Simulates one number of cores, and leaves the figures in a file.
fn simulate(words: &Words, machine: &Machine, figures: &std::path::Path) -> Result<i32, String> {
    if let Some((seed, _)) = words.faults {
        invariants::watch(seed);
    }
    let told =
        Placement::named(&words.placement, &machine.topology, words.cores.0, words.seed)?.told(&machine.topology);
    let clock = Arc::new(VirtualClock::new(words.seed, told));
    if words.clients > 0 {
        clients::prepare(words.clients, words.think_ns, words.seed)?;
    }
    let vm = program::vm(&words.root, words.cores.0, words.clients > 0, clock.clone())?;
    let module = program::load(vm, &words.files)?;
    core_heaps::prepare(words.cores.0 + 1);
    let placement = Placement::named(&words.placement, &machine.topology, words.cores.0, words.seed)?;
    let mut cores = Cores::new(vm, &clock, machine, placement, words.piece).ok_or("no room for so many cores")?;
    if let Some(one_of) = words.stolen {
        cores.steal(Stolen { one_of });
    }
    if let Some((seed, _)) = words.faults {
        cores.suffer(seed);
    }
    if let Some(log) = &words.log {
        let file = File::create(log).map_err(|why| format!("cannot write {}: {why}", log.display()))?;
        cores.log_to(Box::new(BufWriter::new(file)));
    }
    if words.faults.is_some() && cfg!(debug_assertions) {
        cores.check(words.policy == Policy::Myriad);
    }
    if words.policy == Policy::R13b04 {
        if !vm.schedulers.follow_r13b04() {
            return Err("this build has one policy only".to_owned());
        }
        myriad_heap::collect::grow_by_survivors();
        if !words.sequential {
            cores.contend_as_r13b04(words.boxed_words);
        }
    }
    program::start(vm, module, &words.args)?;
    let outcome = cores.run(words.limit_ns);
    if outcome.stuck {
        return Err(format!("the program has not ended after {} s of virtual time", outcome.ns / 1_000_000_000));
    }
    let text = Figures::of(&outcome).to_text();
    std::fs::write(figures, text).map_err(|why| format!("cannot write {}: {why}", figures.display()))?;
    Ok(vm.exit_status())
}
