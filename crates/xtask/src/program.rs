//! Starting other programs, in the environment that this one was started from by `cargo`.
//!
//! Limits of time are those of `timeout`, which ends whatever the program has started as well.

use crate::stop::Stop;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// A program without input, and without the variables that `cargo run` adds.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_cargo(name)) {
        command.env_remove(name);
    }
    match library_path() {
        Some(path) => command.env("LD_LIBRARY_PATH", path),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
    command
}

/// A program that gets a signal to end after so many seconds, and is killed five seconds later.
pub fn limited(seconds: u64, program: impl AsRef<OsStr>) -> Command {
    let mut command = command("timeout");
    command.args(["-k", "5"]).arg(seconds.to_string()).arg(program);
    command
}

/// Takes the variables away that give an Erlang VM flags and libraries.
pub fn without_flags(command: &mut Command) -> &mut Command {
    for name in ["ERL_FLAGS", "ERL_AFLAGS", "ERL_ZFLAGS", "ERL_LIBS"] {
        command.env_remove(name);
    }
    command
}

fn is_of_cargo(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO") || name.starts_with("RUSTUP_TOOLCHAIN") || name == "RUST_RECURSION_COUNT"
}

/// Where programs look for libraries, without the folders of the compiler and of this build.
fn library_path() -> Option<OsString> {
    let ours = env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let is_ours = |path: &Path| {
        ours.as_ref().is_some_and(|ours| path.starts_with(ours))
            || path.components().any(|part| part.as_os_str() == "toolchains")
    };
    let told = env::var_os("LD_LIBRARY_PATH")?;
    let kept: Vec<PathBuf> = env::split_paths(&told).filter(|path| !is_ours(path)).collect();
    if kept.is_empty() { None } else { env::join_paths(kept).ok() }
}

/// An exit status as a shell tells it: 128 and the signal for a program that a signal has ended.
pub fn number(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Runs a program to its end; its exit status.
pub fn run(command: &mut Command) -> Result<i32, Stop> {
    let status = command.status().map_err(|error| failed(command, &error))?;
    Ok(number(status))
}

/// Runs a program whose output nobody wants.
pub fn quiet(command: &mut Command) -> Result<i32, Stop> {
    run(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Runs a program with all that it says going to a file.
pub fn run_to(command: &mut Command, file: File) -> Result<i32, Stop> {
    let errors = file.try_clone().map_err(|error| failed(command, &error))?;
    run(command.stdout(file).stderr(errors))
}

/// The standard output of a program, if it ends well; its errors go where ours go.
pub fn output(command: &mut Command) -> Result<Option<String>, Stop> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| failed(command, &error))?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Runs a program to its end, and hands on what it prints, line by line; its exit status, and what it printed.
pub fn run_and_keep(command: &mut Command) -> Result<(i32, String), Stop> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| failed(command, &error))?;
    let mut kept = String::new();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')) {
        let line = line.map_err(|error| failed(command, &error))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        kept.extend([&line, "\n"]);
    }
    let status = child.wait().map_err(|error| failed(command, &error))?;
    Ok((number(status), kept))
}

fn failed(command: &Command, error: &dyn std::fmt::Display) -> Stop {
    Stop::Failed(format!("{}: {error}", command.get_program().display()))
}

/// The absolute path of a program that is named by a path or looked for in `PATH`; links are not followed.
pub fn find(name: &str) -> Result<PathBuf, Stop> {
    let found = if name.contains('/') {
        let path = Path::new(name);
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        folder.zip(path.file_name()).map(|(folder, file)| folder.join(file))
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
    };
    found.filter(|path| path.exists()).ok_or_else(|| Stop::Failed(format!("no VM at {name}")))
}

/// The variable `PATH` with a folder before all others.
pub fn first_in_path(folder: &Path) -> Result<OsString, Stop> {
    let others = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&others));
    env::join_paths(folders).map_err(|error| Stop::Failed(format!("{}: {error}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_those_of_a_shell() {
        let status = |script: &str| run(command("sh").args(["-c", script])).unwrap();
        assert_eq!([status("exit 3"), status("kill -9 $$")], [3, 137]);
        assert_eq!(run(limited(1, "sleep").arg("9")).unwrap(), 124);
        assert!(run(&mut command("/no/such/program")).is_err());
        let kept = run_and_keep(command("sh").args(["-c", "echo a; printf 'b\\377'; exit 4"])).unwrap();
        assert_eq!(kept, (4, "a\nb\u{fffd}\n".to_owned()));
    }

    #[test]
    fn programs_see_nothing_of_cargo() {
        let seen = output(command("env").env("KEPT", "yes")).unwrap().unwrap();
        assert!(seen.contains("KEPT=yes") && !seen.contains("CARGO_MANIFEST_DIR=") && !seen.contains("toolchains/"));
        assert_eq!(output(&mut command("false")).unwrap(), None);
    }

    #[test]
    fn programs_are_found_by_name_and_by_path() {
        let shell = find("sh").unwrap();
        assert_eq!(find(&shell.to_string_lossy()).unwrap().file_name(), shell.file_name());
        assert!(find("no-such-program").is_err() && find("/none/sh").is_err());
    }
}
