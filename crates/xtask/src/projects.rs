//! `cargo xtask projects`: real projects, made and run with the tools that people use, on OTP and on Myriad: the output must be the same.
//!
//! A part is a script of `tests/projects`. It runs twice at the same time, in two empty folders, with nothing changed but which `erl`,
//! `erlc` and `escript` come first in `PATH`: that is how Elixir's and rebar3's own scripts are told which VM to use. Before the two
//! are compared, what differs from run to run is made equal by `tests/projects/equal.sed`.

use crate::files::{self, top};
use crate::heaps::{self, Heap};
use crate::json::{self, Json};
use crate::otp::Otp;
use crate::parallel;
use crate::program;
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The words that the command takes.
pub const TAKES: &str = "[--keep] [--heap HOW] [--timeout S] [--lines N] [--json FILE] [PART...]
  PART          mix, iex, rebar3 (these three without one), dialyzer (minutes: a PLT of erts, kernel and stdlib)
  --keep        leave the projects in target/projects
  --heap HOW    the processes of Myriad have their memory so: private, hybrid, shared
  --timeout S   the seconds that a part may take (900)
  --lines N     show so many lines of what differs (60)
  --json FILE   the result for other programs
";

/// What is made without being asked for.
const PARTS: [&str; 3] = ["mix", "iex", "rebar3"];

/// Makes the projects on both VMs, and compares what was printed.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(words, &["--keep"], &["--timeout", "--lines", "--json", heaps::OPTION])?;
    let (timeout, shown) = (words.number("--timeout")?.unwrap_or(900), words.number("--lines")?.unwrap_or(60));
    let given: Vec<&str> = words.rest.iter().map(String::as_str).collect();
    let parts = if given.is_empty() { PARTS.to_vec() } else { given };
    if let Some(part) = parts.iter().find(|part| !script(part).exists()) {
        return Err(Stop::Usage(format!("no part {part}")));
    }
    let (otp, heap) = (Otp::find()?, Heap::asked_for(&words)?);
    let mut made = Vec::new();
    for part in parts {
        made.push((part, run_part(part, &otp, heap, timeout, shown)?));
        if !words.has("--keep") {
            ["otp", "myriad"].iter().for_each(|vm| forget(&work(part).join(vm)));
        }
    }
    let bad: Vec<&str> = made.iter().filter(|(_, lines)| lines.is_none()).map(|(part, _)| *part).collect();
    json::result(&words, "projects", bad.is_empty(), || found(&made))?;
    if bad.is_empty() {
        println!("{} lines passed", made.iter().filter_map(|(_, lines)| *lines).sum::<usize>());
    } else {
        println!("failing parts: {} (texts in target/projects)", bad.join(" "));
        println!("one of them again: cargo xtask projects --keep{} {}", heaps::again(heap), bad[0]);
    }
    Ok(verdict(bad.is_empty()))
}

/// The result for other programs: the parts, each with its lines if all are the same.
fn found(made: &[(&str, Option<usize>)]) -> Vec<(&'static str, Json)> {
    let parts =
        made.iter().map(|(part, lines)| Json::Object(vec![("name", (*part).into()), ("same_lines", (*lines).into())]));
    vec![("parts", Json::List(parts.collect()))]
}

fn script(part: &str) -> PathBuf {
    top().join(format!("tests/projects/{part}.sh"))
}

fn work(part: &str) -> PathBuf {
    top().join("target/projects").join(part)
}

fn forget(folder: &Path) {
    ["home", "project"].iter().for_each(|inner| files::remove_folder(&folder.join(inner)));
}

/// Runs a part on both; how many lines are the same, if all are.
fn run_part(part: &str, otp: &Otp, heap: Option<Heap>, timeout: u64, shown: usize) -> Result<Option<usize>, Stop> {
    let began = Instant::now();
    let work = work(part);
    let folders = [work.join("otp"), work.join("myriad")];
    let vms = folders.iter().zip([(otp.root.join("bin"), None), (top().join("bin"), heap)]).collect();
    parallel::each(vms, 2, |(folder, (vm, heap))| {
        run_one(folder, part, &vm, heap, timeout).unwrap_or_else(|stop| eprintln!("{part}: {stop:?}"));
    });
    let texts = folders.map(|folder| folder.join("text"));
    let difference = work.join("diff");
    let status = program::run_to(program::command("diff").arg("-a").args(&texts), files::create(&difference)?)?;
    if status == 0 {
        let lines = files::read(&texts[0])?.lines().count();
        println!("{part}: {lines} lines as on OTP ({} s)", began.elapsed().as_secs());
        return Ok(Some(lines));
    }
    println!("-- {part}: differs (< OTP, > Myriad)");
    let text = files::read(&difference)?;
    text.lines().take(shown).for_each(|line| println!("{}", line.chars().take(300).collect::<String>()));
    Ok(None)
}

/// Runs a part on the VM of a folder; what it prints goes to `text`, made equal.
fn run_one(folder: &Path, part: &str, vm: &Path, heap: Option<Heap>, timeout: u64) -> Result<(), Stop> {
    files::remove_folder(folder);
    for inner in ["home", "project"] {
        files::make_folder(&folder.join(inner))?;
    }
    let raw = folder.join("raw");
    let status = program::run_to(&mut command(folder, part, vm, heap, timeout)?, files::create(&raw)?)?;
    let said = std::fs::read(&raw).unwrap_or_default();
    let mut text = files::replaced(&said, folder.as_os_str().as_encoded_bytes(), b"DIR");
    text.extend(format!("exit status: {status}\n").bytes());
    files::write(&raw, text)?;
    let mut equal = program::command("sed");
    equal.arg("-f").arg(top().join("tests/projects/equal.sed")).arg(&raw).env("LC_ALL", "C.UTF-8");
    program::run(equal.stdout(files::create(&folder.join("text"))?)).map(drop)
}

fn command(folder: &Path, part: &str, vm: &Path, heap: Option<Heap>, timeout: u64) -> Result<Command, Stop> {
    let mut command = program::limited(timeout, "bash");
    command.arg(script(part)).current_dir(folder.join("project"));
    for name in ["ERL_COMPILER_OPTIONS", "ELIXIR_ERL_OPTIONS", "MIX_ENV", "REBAR_CONFIG"] {
        command.env_remove(name);
    }
    program::without_flags(&mut command).env("PATH", program::first_in_path(vm)?);
    command.env("PROJECTS", top().join("tests/projects")).env("HOME", folder.join("home")).env("LC_ALL", "C.UTF-8");
    command.env("TZ", "UTC").env("ERL_CRASH_DUMP", "/dev/null").env("NO_COLOR", "1");
    heaps::give(&mut command, heap);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_made_equal() {
        let text = "a\u{1b}[31mb (3.25ms) 2026-11-23 14:15:11 <0.81.0> 1m 2.5 s\r\n";
        let file = std::env::temp_dir().join(format!("xtask-projects-{}", std::process::id()));
        files::write(&file, text).unwrap();
        let mut sed = program::command("sed");
        sed.arg("-f").arg(top().join("tests/projects/equal.sed")).arg(&file).env("LC_ALL", "C.UTF-8");
        assert_eq!(program::output(&mut sed).unwrap().unwrap(), "ab (TIME) DATE PID TIME TIME\n");
        std::fs::remove_file(file).unwrap();
    }

    #[test]
    fn the_json_has_a_row_for_each_part() {
        let expected = "{\n  \"parts\": [\n    {\"name\": \"mix\", \"same_lines\": 3},\n    {\"name\": \"iex\", \"same_lines\": null}\n  ]\n}\n";
        assert_eq!(Json::Object(found(&[("mix", Some(3)), ("iex", None)])).to_text(), expected);
    }

    #[test]
    fn unknown_parts_are_refused() {
        assert!(matches!(main(&["none".to_owned()]), Err(Stop::Usage(_))));
    }
}
