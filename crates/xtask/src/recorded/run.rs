//! Running recorded programs: the same world for every run, whatever the machine's is like.

use crate::files;
use crate::otp::Otp;
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where programs run, and on what.
pub struct World {
    /// The `erl` that runs them.
    pub vm: PathBuf,
    /// The seconds that each may take.
    pub timeout: u64,
    /// The folder `tests`.
    pub tests: PathBuf,
    /// Where compiled programs and folders to work in go.
    pub build: PathBuf,
    /// Where output goes.
    pub out: PathBuf,
    /// Flags that each VM is started with, before those of a program.
    pub flags: String,
}

/// A name that two sources have.
fn shared_name(sources: &[PathBuf]) -> Option<&str> {
    let mut names: Vec<&str> = sources.iter().map(|source| files::stem(source)).collect();
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

impl World {
    /// Compiles what is not compiled yet, by the stock compiler on the stock VM: a wrong compiler run must not hide a wrong run.
    pub fn compile(&self, otp: &Otp) -> Result<(), Stop> {
        let ebin = self.ebin();
        files::make_folder(&ebin)?;
        let sources = self.sources();
        if let Some(name) = shared_name(&sources) {
            return Err(Stop::Failed(format!("two programs are named {name}: compiled, they are one file")));
        }
        let stale = self.stale(sources);
        if stale.is_empty() {
            return Ok(());
        }
        let log = self.build.join("compile.log");
        // From the folder `tests`, so that file names in stack traces are the same wherever the checkout is.
        let mut compiler = otp.erlc(&ebin);
        compiler.arg("-W0").args(stale).current_dir(&self.tests);
        if program::run_to(&mut compiler, files::create(&log)?)? == 0 {
            return Ok(());
        }
        let said: Vec<String> = files::read(&log)?.lines().take(20).map(str::to_owned).collect();
        Err(Stop::Failed(format!("tests do not compile\n{}", said.join("\n"))))
    }

    fn sources(&self) -> Vec<PathBuf> {
        let areas = files::ending(&self.tests.join("erl"), "");
        areas.iter().flat_map(|area| files::ending(area, ".erl")).collect()
    }

    /// Those of the sources that are newer than what was made of them, relative to `tests`.
    fn stale(&self, sources: Vec<PathBuf>) -> Vec<String> {
        let stale = sources
            .into_iter()
            .filter(|source| !files::is_newer(&self.ebin().join(format!("{}.beam", files::stem(source))), source));
        stale.filter_map(|source| Some(source.strip_prefix(&self.tests).ok()?.to_str()?.to_owned())).collect()
    }

    fn ebin(&self) -> PathBuf {
        self.build.join("ebin")
    }

    /// The file with a program's output.
    pub fn output_of(&self, name: &str) -> PathBuf {
        self.out.join(format!("{name}.txt"))
    }

    /// The file with what differs.
    pub fn difference_of(&self, name: &str) -> PathBuf {
        self.out.join(format!("{name}.diff"))
    }

    /// Runs a program. What it cannot be started for counts as its output.
    pub fn run(&self, name: &str) {
        let mine = self.build.join(format!("tmp.{}", unique()));
        let text = self.run_in(&mine, name).unwrap_or_else(|stop| format!("{stop:?}\n").into_bytes());
        files::remove_folder(&mine);
        if let Err(Stop::Usage(why) | Stop::Failed(why)) = files::write(&self.output_of(name), text) {
            eprintln!("recorded: {why}");
        }
    }

    /// A program's output and exit status, with names in the place of paths.
    fn run_in(&self, mine: &Path, name: &str) -> Result<Vec<u8>, Stop> {
        files::make_folder(mine)?;
        if let Some(folder) = self.output_of(name).parent() {
            files::make_folder(folder)?;
        }
        let raw = self.out.join(format!("{name}.raw"));
        let status = program::run_to(&mut self.command(mine, name), files::create(&raw)?)?;
        let said = std::fs::read(&raw).unwrap_or_default();
        let _ = std::fs::remove_file(&raw);
        let mut text = said;
        for (path, word) in [(mine, "TMP"), (&self.ebin(), "EBIN"), (&self.tests, "TESTS")] {
            text = files::replaced(&text, path.as_os_str().as_encoded_bytes(), word.as_bytes());
        }
        text.extend(format!("exit status: {status}\n").bytes());
        Ok(text)
    }

    fn command(&self, mine: &Path, name: &str) -> Command {
        let mut command = match name.strip_prefix("cli/") {
            Some(script) => {
                let mut command = program::limited(self.timeout, "bash");
                command.arg(self.tests.join(format!("cli/{script}.sh")));
                command
            }
            None => {
                let mut command = program::limited(self.timeout, &self.vm);
                let module = name.rsplit('/').next().unwrap_or(name);
                command
                    .args(["-noshell", "-boot", "no_dot_erlang", "-pa"])
                    .arg(self.ebin())
                    .args(["-s", "t", "main", module]);
                command
            }
        };
        program::without_flags(&mut command).env_remove("ERL_COMPILER_OPTIONS").current_dir(mine);
        if !self.flags.is_empty() {
            command.env("ERL_AFLAGS", &self.flags);
        }
        command.env("ERL", &self.vm).env("TEST_TMP", mine).env("TEST_EBIN", self.ebin()).env("TEST_TOP", &self.tests);
        command
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("HOME", mine)
            .env("ERL_CRASH_DUMP", mine.join("erl_crash.dump"));
        command
    }
}

/// A number that no other run has at the same time.
fn unique() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: only that each number is given out once matters, and a read-modify-write sees to it.
    format!("{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_out_once() {
        assert_ne!(unique(), unique());
    }
}
