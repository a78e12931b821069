//! `cargo xtask generated`: random modules, compiled by OTP, whose functions are called on OTP and on Myriad in each of its ways to run.
//!
//! All must agree in what a call gives or raises, to the frames of its trace, and in the messages that it leaves. The modules and the
//! arguments follow from a seed; `tests/generated` makes them.

mod batch;
mod outcomes;

use crate::differential::compare::{cut, lines_that_differ};
use crate::files::{self, top};
use crate::heaps::{self, Heap};
use crate::json;
use crate::otp::{self, Otp};
use crate::parallel;
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use batch::{Batch, Found, Setting};
use outcomes::Place;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The words that the command takes.
pub const TAKES: &str = "[--seed N] [--count N] [--seconds N] [--calls N] [--heap HOW] [-j N] [--shown N] [--width N] [--json FILE]
  [--show MODULE[:FUNCTION:CALL]] [--instructions]
  --seed N         what is drawn; a new one without it
  --count N        how many modules (300; as many as there is time for with --seconds)
  --seconds N      begin none after so many seconds
  --calls N        how many calls of each function (40)
  --heap HOW       the processes of Myriad have their memory so: private, hybrid, shared
  -j N             how many modules at a time (one for each core)
  --shown N        show so many of the functions that differ (12); --width N: so much of a line (1500)
  --show MODULE    the module of this number of the seed; MODULE:FUNCTION:CALL: a call of it, with its outcome on both VMs. The module stays
                   in target/generated/show
  --instructions   count the instructions of --count modules instead
  --json FILE      the result for other programs
";

/// A way to run code on Myriad that must agree with OTP.
pub struct Way {
    /// Its name in reports.
    pub name: &'static str,
    /// The flags of the VM.
    pub flags: &'static [&'static str],
}

/// All ways to run. In each, calls are also begun with few reductions left and with little room on the heap (`gen_run:call/4`);
/// `MYRIAD_EMULATOR` names an emulator that collects without need.
const WAYS: &[Way] = &[
    Way { name: "tier 0", flags: &["+Jnative", "false"] },
    Way { name: "drawn slices", flags: &["+Jnative", "false", "+JMyields", "1"] },
    Way { name: "both tiers", flags: &["+Jthreshold", "2", "+Jcache", "false"] },
    Way { name: "machine code", flags: otp::NATIVE },
    Way { name: "companion", flags: otp::COMPANION },
];

/// How many modules are compiled in one VM and run in another.
const IN_A_BATCH: u64 = 16;

/// Makes modules, calls their functions, and says what differs.
pub fn main(words: &[String]) -> Done {
    let valued =
        ["--seed", "--count", "--seconds", "--calls", "-j", "--shown", "--width", "--json", "--show", heaps::OPTION];
    let words = Words::parse(words, &["--instructions"], &valued)?.nothing_else()?;
    let seconds: Option<u64> = words.number("--seconds")?;
    let count = words.number("--count")?.unwrap_or(if seconds.is_some() { 1_000_000 } else { 300 });
    let shown =
        Shown { functions: words.number("--shown")?.unwrap_or(12), width: words.number("--width")?.unwrap_or(1500) };
    let jobs = words.number("-j")?.unwrap_or_else(parallel::cores);
    let otp = Otp::find()?;
    let setting = Setting {
        seed: words.seed()?,
        calls: words.number("--calls")?.unwrap_or(40),
        oracle: otp.erl(),
        here: otp::here(),
        heap: Heap::asked_for(&words)?,
        work: top().join("target/generated"),
    };
    let tests = top().join("tests");
    let mut sources = files::ending(&tests.join("generated"), ".erl");
    sources.push(tests.join("differential/diff_terms.erl"));
    otp::compile(&otp, &setting.ebin(), &[], &sources)?;
    if words.has("--instructions") {
        return setting.instructions(count);
    }
    match words.value("--show") {
        Some(what) => show(&setting, what, shown.width),
        None => {
            let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
            let found = run(&setting, count, end, jobs)?;
            json::result(&words, "generated", found.is_good(), || found.to_json(setting.seed))?;
            report(&setting, &found, &shown)?;
            Ok(verdict(found.is_good()))
        }
    }
}

/// How much is shown of what differs.
struct Shown {
    functions: usize,
    width: usize,
}

/// Runs the batches, none of which begins after the end.
fn run(setting: &Setting, count: u64, end: Option<Instant>, jobs: usize) -> Result<Found, Stop> {
    println!("generated: seed {}", setting.seed);
    let firsts: Vec<u64> = (1..=count).step_by(IN_A_BATCH as usize).collect();
    let all = Mutex::new(Ok(Found::default()));
    parallel::each(firsts, jobs, |first| {
        let is_over = end.is_some_and(|end| Instant::now() > end) || all.lock().is_ok_and(|all| all.is_err());
        if is_over {
            return;
        }
        let found = Batch { setting, first, last: count.min(first + IN_A_BATCH - 1) }.run(WAYS);
        if let Ok(mut all) = all.lock() {
            match (all.as_mut(), found) {
                (Ok(all), Ok(found)) => all.add(found),
                (Ok(_), Err(stop)) => *all = Err(stop),
                (Err(_), _) => {}
            }
        }
    });
    all.into_inner().unwrap_or_else(|_| Err(Stop::Failed("a thread has ended".to_owned())))
}

fn report(setting: &Setting, found: &Found, shown: &Shown) -> Result<(), Stop> {
    let (seed, counts) = (setting.seed, &found.counts);
    found.faults.iter().for_each(|fault| println!("generated: FAILED {fault} (seed {seed})"));
    for difference in found.one_of_each_function().into_iter().take(shown.functions) {
        println!("-- {} ({}) of seed {seed}: the call, OTP (<), Myriad (>)", difference.place, difference.way);
        print!("{}", told(setting, &difference.place, shown.width)?);
        println!(
            "   again with: cargo xtask generated --seed {seed}{} --show {}",
            heaps::again(setting.heap),
            difference.place
        );
    }
    let late = if counts.late == 0 { String::new() } else { format!("; {} took too long on OTP", counts.late) };
    println!(
        "generated: {} modules, {} functions, {} calls on OTP and in {} ways on Myriad, {} differ (seed {seed}){late}",
        counts.modules,
        counts.functions,
        counts.calls,
        WAYS.len(),
        found.differences.len(),
    );
    Ok(())
}

/// A call and how its outcomes differ, in the first of the ways in which they do.
fn told(setting: &Setting, place: &Place, width: usize) -> Result<String, Stop> {
    let otp = setting.show(&setting.oracle, &[], place)?;
    for way in WAYS {
        let here = setting.show(&setting.here, way.flags, place)?;
        if here != otp {
            let call = otp.lines().next().unwrap_or_default();
            return Ok(cut(&format!("{call}\n{}", lines_that_differ(&otp, &here)), width));
        }
    }
    Ok(cut(&format!("{otp}(alone, Myriad gives the same)\n"), width))
}

fn show(setting: &Setting, what: &str, width: usize) -> Done {
    let (number, call) = match what.split_once(':') {
        None => (what, None),
        Some((number, _)) => (number, Some(Place::parse(what).ok_or_else(|| no_call(what))?)),
    };
    let number: u64 = number.parse().map_err(|_| no_call(what))?;
    let text = setting.make_to_show(number)?;
    match call {
        None => print!("{text}"),
        Some(place) => print!("{}", told(setting, &place, width)?),
    }
    Ok(ExitCode::SUCCESS)
}

fn no_call(what: &str) -> Stop {
    Stop::Usage(format!("--show {what}: no such call"))
}
