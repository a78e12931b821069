//! `myriad-fuzz`: runs the targets without coverage, on stable Rust.
//!
//!     myriad-fuzz [--seconds N] [--seed N] [--corpus DIR] [TARGET...]   each target in a process of its own, side by side
//!     myriad-fuzz --replay TARGET FILE                                  one input
//!     myriad-fuzz --seeds TARGET DIR                                    the seeds as a file each, for libFuzzer
//!
//! A finding stops its target: the input is kept in `target/fuzz`, the command that replays it is printed, and the exit
//! status is 1.

use myriad_fuzz::{BYTES_AN_INPUT, SECONDS_AN_INPUT, TARGETS, Target, seeds};
use myriad_sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use myriad_sync::thread;
use myriad_testing::Random;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};

/// The system's allocator, which gives out no more than [`BYTES_AN_INPUT`].
struct Limited;

/// Bytes given out. Relaxed: a count that nothing else is read after.
static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work; refusing is allowed.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if HELD.fetch_add(layout.size(), Relaxed).saturating_add(layout.size()) > BYTES_AN_INPUT {
            HELD.fetch_sub(layout.size(), Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// When the input that runs now was started, in milliseconds; 0: none. Relaxed: only looked at by the watch.
static STARTED: AtomicU64 = AtomicU64::new(0);

struct Options {
    seconds: u64,
    seed: u64,
    corpus: PathBuf,
    targets: Vec<&'static Target>,
    /// Run this target here, rather than all in processes of their own.
    here: bool,
    replay: Option<PathBuf>,
    /// Only write the seeds into this directory.
    write: Option<PathBuf>,
}

fn usage() -> ! {
    eprintln!("usage: myriad-fuzz [--seconds N] [--seed N] [--corpus DIR] [TARGET...]");
    eprintln!("       myriad-fuzz --replay TARGET FILE");
    eprintln!("       myriad-fuzz --seeds TARGET DIR");
    eprintln!("targets: {}", TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(" "));
    std::process::exit(2)
}

fn options() -> Options {
    let corpus = PathBuf::from("fuzz/corpus");
    let mut options =
        Options { seconds: 60, seed: 0, corpus, targets: Vec::new(), here: false, replay: None, write: None };
    let mut words = std::env::args().skip(1);
    let mut seed = None;
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|w| w.parse().ok()).unwrap_or_else(|| usage());
        match word.as_str() {
            "--seconds" => options.seconds = number(),
            "--seed" => seed = Some(number()),
            "--corpus" => options.corpus = words.next().unwrap_or_else(|| usage()).into(),
            "--here" => options.here = true,
            "--replay" => {
                options.targets.push(target(&words.next().unwrap_or_else(|| usage())));
                options.replay = Some(words.next().unwrap_or_else(|| usage()).into());
            }
            "--seeds" => {
                options.targets.push(target(&words.next().unwrap_or_else(|| usage())));
                options.write = Some(words.next().unwrap_or_else(|| usage()).into());
            }
            name => options.targets.push(target(name)),
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    // Another seed each day: CI looks at new inputs, and two runs of a day at the same.
    let today = || std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_secs() / 86_400);
    options.seed = seed.unwrap_or_else(today);
    options
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|t| t.name == name).unwrap_or_else(|| usage())
}

fn main() -> ExitCode {
    let options = options();
    if let Some(file) = &options.replay {
        let input = std::fs::read(file).unwrap_or_else(|error| {
            eprintln!("cannot read {}: {error}", file.display());
            std::process::exit(2)
        });
        watch();
        one(options.targets[0], &input);
        return ExitCode::SUCCESS;
    }
    if let Some(directory) = &options.write {
        let seeds = seeds::of(options.targets[0].name, &options.corpus);
        for (number, seed) in seeds.iter().enumerate() {
            let _ = keep(&directory.join(format!("seed{number}"))).write_all_at(seed, 0);
        }
        return ExitCode::SUCCESS;
    }
    if options.here {
        watch();
        fuzz(options.targets[0], &options);
        return ExitCode::SUCCESS;
    }
    let children: Vec<(&Target, Child)> =
        options.targets.iter().map(|target| (*target, start(target, &options))).collect();
    let mut status = ExitCode::SUCCESS;
    for (target, mut child) in children {
        let ended = child.wait().unwrap_or_else(|error| panic!("{}: {error}", target.name));
        if !ended.success() {
            let file = current(target);
            let kept = file.with_extension(format!("seed{}", options.seed));
            let _ = std::fs::rename(&file, &kept);
            println!("{}: FOUND ({ended}): myriad-fuzz --replay {} {}", target.name, target.name, kept.display());
            status = ExitCode::FAILURE;
        }
    }
    status
}

fn start(target: &Target, options: &Options) -> Child {
    let program = std::env::current_exe().expect("its own name");
    let mut command = Command::new(program);
    command.args([
        "--here",
        "--seconds",
        &options.seconds.to_string(),
        "--seed",
        &options.seed.to_string(),
        "--corpus",
    ]);
    command.arg(&options.corpus).arg(target.name);
    command.spawn().unwrap_or_else(|error| panic!("{}: {error}", target.name))
}

/// The file that holds the input under test, so that it is there whatever happens.
fn current(target: &Target) -> PathBuf {
    let directory = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    directory.join("fuzz").join(target.name)
}

fn keep(path: &Path) -> File {
    let made = path.parent().map(std::fs::create_dir_all);
    match (made, File::create(path)) {
        (Some(Ok(())), Ok(file)) => file,
        _ => {
            eprintln!("cannot write {}", path.display());
            std::process::exit(2)
        }
    }
}

fn fuzz(target: &Target, options: &Options) {
    let seeds = seeds::of(target.name, &options.corpus);
    if seeds.is_empty() {
        eprintln!("{}: no seeds in {}", target.name, options.corpus.display());
        std::process::exit(2);
    }
    let file = keep(&current(target));
    let run = |input: &[u8]| {
        let _ = file.set_len(input.len() as u64).and_then(|()| file.write_all_at(input, 0));
        one(target, input);
    };
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut random = Random::new(options.seed);
    seeds.iter().for_each(|seed| run(seed));
    let mut inputs = seeds.len();
    let mut bytes = 0;
    while Instant::now() < end {
        let input = (target.mutate)(&mut random, &seeds);
        bytes += input.len();
        inputs += 1;
        run(&input);
    }
    let (name, seeds, seed) = (target.name, seeds.len(), options.seed);
    println!("{name}: {inputs} inputs ({seeds} seeds, {} on average), seed {seed}: nothing found", bytes / inputs);
}

/// Milliseconds of the calendar's clock.
fn now_ms() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_millis() as u64)
}

fn one(target: &Target, input: &[u8]) {
    STARTED.store(now_ms(), Relaxed);
    (target.run)(input);
    STARTED.store(0, Relaxed);
}

/// Ends the process when an input takes too long.
fn watch() {
    let watching = thread::spawn("watch", || {
        loop {
            thread::sleep(Duration::from_millis(500));
            let started = STARTED.load(Relaxed);
            if started != 0 && now_ms() > started + SECONDS_AN_INPUT * 1000 {
                eprintln!("an input takes more than {SECONDS_AN_INPUT} s");
                std::process::exit(1);
            }
        }
    });
    watching.expect("a thread to watch with");
}
