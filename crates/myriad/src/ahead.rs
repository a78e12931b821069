//! `myriad compile`: the machine code of modules, before any VM runs them.

use crate::said::{Refused, say};
use myriad::boot;
use myriad_jit::{Ahead, Cache, compile_ahead};
use myriad_sync::machine;
use myriad_sync::{LockClass, Mutex, thread};
use myriad_vm::Vm;
use myriad_vm::code::prepare;
use myriad_vm::config::NativeCache;
use myriad_vm::release::Release;
use myriad_vm::vm::Config;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The words that the command takes.
pub const TAKES: &str = "compile [--to DIR] DIR|FILE.beam...";

static TO_DO: LockClass = LockClass::new("files_to_compile", 10);

/// Compiles the modules below directories to where `--to` or `MYRIAD_CODE_CACHE` say, or to the user's cache. Nothing of them runs.
pub fn main(words: &[OsString]) -> Result<(), Refused> {
    let begin = Instant::now();
    let (to, below) = match words {
        [option, to, below @ ..] if option == "--to" => (Some(to.clone()), below),
        below => (std::env::var_os("MYRIAD_CODE_CACHE"), below),
    };
    if below.is_empty() || below.iter().any(|word| word.as_encoded_bytes().starts_with(b"-")) {
        return Err(Refused::Usage);
    }
    let because = |what: &dyn std::fmt::Display| Refused::Because(what.to_string());
    let mut files = Vec::new();
    for path in below {
        find(Path::new(path), &mut files).map_err(|error| because(&format!("{}: {error}", path.display())))?;
    }
    let choice = match &to {
        Some(to) => NativeCache::At(std::path::absolute(to).map_err(|error| because(&error))?),
        None => NativeCache::Usual,
    };
    let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| "/usr/lib/erlang".into(), PathBuf::from);
    let release = Release::find(&root).map_err(|error| because(&error))?;
    // As the emulator has it without flags, as far as code depends on it.
    let vm = boot::bare(Config { intrinsics: true, ..Config::default() }, release);
    Cache::open(&choice);
    let cache =
        Cache::of_program().ok_or_else(|| because(&"there is no directory for code that is this user's alone"))?;
    let all = compile_all(vm, cache, files);
    let seconds = begin.elapsed().as_secs_f64();
    let Sum { modules, ahead: Ahead { compiled, declined, bytes }, wrong } = all;
    say(&format!(
        "{modules} modules: {compiled} functions compiled, {declined} not; {bytes} bytes in {seconds:.1} s\n"
    ))?;
    if wrong.is_empty() { Ok(()) } else { Err(Refused::Because(wrong.join("\nmyriad: "))) }
}

/// The compiled modules at or below a path, each once.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        std::fs::metadata(path)?;
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        // A link to a directory may lead up again.
        if entry.file_type()?.is_dir() {
            find(&entry.path(), files)?;
        } else if entry.path().extension().is_some_and(|extension| extension == "beam") {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[derive(Default)]
struct Sum {
    modules: usize,
    ahead: Ahead,
    wrong: Vec<String>,
}

/// On as many threads as there are processors.
fn compile_all(vm: &'static Vm, cache: &Cache, files: Vec<PathBuf>) -> Sum {
    let to_do = Mutex::new(&TO_DO, files);
    let next = || to_do.lock().pop();
    let work = || {
        let mut sum = Sum::default();
        while let Some(file) = next() {
            match compile_one(vm, cache, &file) {
                Ok(Ahead { compiled, declined, bytes }) => {
                    sum.modules += 1;
                    sum.ahead.compiled += compiled;
                    sum.ahead.declined += declined;
                    sum.ahead.bytes += bytes;
                }
                Err(why) => sum.wrong.push(format!("{}: {why}", file.display())),
            }
        }
        sum
    };
    let mut all = Sum::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..machine::available_parallelism()).map(|_| scope.spawn(work)).collect();
        for sum in threads.into_iter().filter_map(|thread| thread.join().ok()) {
            all.modules += sum.modules;
            all.ahead.compiled += sum.ahead.compiled;
            all.ahead.declined += sum.ahead.declined;
            all.ahead.bytes += sum.ahead.bytes;
            all.wrong.extend(sum.wrong);
        }
    });
    all.wrong.sort();
    all
}

fn compile_one(vm: &'static Vm, cache: &Cache, file: &Path) -> Result<Ahead, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let prepared = prepare(&bytes, &vm.bifs, vm.engine()).map_err(|error| error.to_string())?;
    compile_ahead(vm, &prepared, cache).map_err(|error| error.to_string())
}
