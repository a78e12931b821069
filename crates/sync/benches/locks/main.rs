//! `make bench-locks`: every lock of crate `sync` under 1 to 16 threads, with sections of 10 ns to 10 us.
//!
//! Three questions: how many sections a second get done, how evenly the threads share them, and what a lock costs that nobody else
//! wants. More threads than cores is the usual case of a VM beside other programs, so the counts of threads go beyond the cores.
//! A machine's load shows in all figures: the locks take turns within each count of threads, so that it meets all of them.
//!
//! Options: `--ms TIME` for each measurement, `--lock NAME` for one lock alone, `--out FOLDER` for `results.md`, `results.csv` and
//! `plot.svg`.

mod measure;
mod plot;
mod report;
mod subjects;

use measure::{Clocked, Point};
use std::{env, fs, path::PathBuf, process::ExitCode, time::Duration};
use subjects::{EXCLUSIVE, READING, Subject};

const THREADS: [usize; 5] = [1, 2, 4, 8, 16];

/// Lengths of sections, in nanoseconds.
const SECTIONS: [u32; 4] = [10, 100, 1_000, 10_000];

const USAGE: &str = "usage: cargo bench -p myriad-sync --bench locks -- [--ms TIME] [--lock NAME] [--out FOLDER]";

struct Options {
    time: Duration,
    lock: Option<String>,
    out: PathBuf,
}

fn main() -> ExitCode {
    let Some(options) = options(env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let clocked = Clocked::calibrate();
    let points = measured(&EXCLUSIVE, clocked, &options);
    let reads = measured(&READING, clocked, &options);
    let text = report::markdown(&points, &reads);
    print!("{text}");
    let files =
        [("results.md", text), ("results.csv", report::csv(&points, &reads)), ("plot.svg", plot::svg(&points, &reads))];
    for (name, text) in files {
        if let Err(error) = fs::create_dir_all(&options.out).and_then(|()| fs::write(options.out.join(name), text)) {
            eprintln!("{}: {error}", options.out.join(name).display());
            return ExitCode::FAILURE;
        }
    }
    println!("written to {}", options.out.display());
    ExitCode::SUCCESS
}

/// The options, unless there is a word that is none. `cargo bench` adds `--bench`.
fn options(mut words: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options { time: Duration::from_millis(200), lock: None, out: "target/bench-locks".into() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--ms" => options.time = Duration::from_millis(words.next()?.parse().ok().filter(|ms| *ms > 0)?),
            "--lock" => options.lock = Some(words.next()?),
            "--out" => options.out = words.next()?.into(),
            _ => return None,
        }
    }
    Some(options)
}

/// All points of the plot, lock by lock innermost.
fn measured(subjects: &[Subject], clocked: Clocked, options: &Options) -> Vec<Point> {
    let wanted = |subject: &&Subject| options.lock.as_deref().is_none_or(|name| name == subject.name);
    let mut points = Vec::new();
    for section in SECTIONS {
        for threads in THREADS {
            points.extend(
                subjects
                    .iter()
                    .filter(wanted)
                    .map(|subject| (subject.run)(subject.name, clocked, section, threads, options.time)),
            );
        }
    }
    points
}
