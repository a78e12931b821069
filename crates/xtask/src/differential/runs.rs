//! Making the calls on both VMs.

use crate::files;
use crate::heaps::{self, Heap};
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// What is called, and on what.
pub struct Runs {
    /// What is drawn.
    pub seed: u64,
    /// How many calls.
    pub calls: u64,
    /// The only module of which functions are called; empty for all.
    pub module: String,
    /// Flags of both VMs.
    pub flags: Vec<String>,
    /// How the processes of Myriad have their memory.
    pub heap: Option<Heap>,
    /// The seconds that a VM may take.
    pub timeout: u64,
    /// OTP's `erl`.
    pub oracle: PathBuf,
    /// Myriad's.
    pub here: PathBuf,
    /// The folder for what is compiled and what comes out.
    pub work: PathBuf,
}

/// What came of all calls on one VM.
pub struct Made {
    /// The exit status of the last VM.
    pub status: i32,
    /// A line for each call, in their order.
    pub outcomes: String,
    /// What the last VM printed.
    pub log: String,
    /// The first call of each VM that was needed.
    pub starts: Vec<u64>,
}

/// The files of a run on one VM, removed in the end.
struct Files {
    outcomes: PathBuf,
    log: PathBuf,
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.outcomes);
        let _ = std::fs::remove_file(&self.log);
    }
}

impl Runs {
    /// The folder of the compiled test.
    pub fn ebin(&self) -> PathBuf {
        self.work.join("ebin")
    }

    /// The options that are needed to draw the same calls again, but for the seed.
    pub fn options(&self) -> String {
        let module = if self.module.is_empty() { String::new() } else { format!("--module {} ", self.module) };
        let flags = if self.flags.is_empty() { String::new() } else { format!("--flags '{}' ", self.flags.join(" ")) };
        let heap = self.heap.map_or_else(String::new, |heap| format!("{} {} ", heaps::OPTION, heap.name()));
        format!("{module}{flags}{heap}")
    }

    /// All calls on both VMs, at the same time. Where OTP needed several VMs, those of Myriad start where they did, for what a call gives
    /// may depend on what there was before (atoms, say).
    pub fn both(&self) -> Result<(Made, Made), Stop> {
        let (otp, here) = thread::scope(|scope| {
            let otp = scope.spawn(|| self.all(&self.oracle, "otp"));
            let here = self.all(&self.here, "here");
            (otp.join().unwrap_or_else(|_| Err(Stop::Failed("a thread has ended".to_owned()))), here)
        });
        let (otp, here) = (otp?, here?);
        let starts = &otp.starts;
        let is_in_parts = starts.len() > 1 && here.status == 0;
        let here = if is_in_parts { self.in_parts(&self.here, starts)? } else { here };
        Ok((otp, here))
    }

    /// All calls, many in a process. Where a fault ends the VM, those of the batch one by one: the call that does it is noted. On OTP the
    /// rest goes on then, in a new VM.
    fn all(&self, erl: &Path, name: &str) -> Result<Made, Stop> {
        let files = self.files(name)?;
        let mut starts = vec![1];
        loop {
            let first = starts[starts.len() - 1];
            let status = self.make(erl, &files, first, self.calls, 50)?;
            if status <= 128 {
                return self.made(i32::from(status != 0), &files, starts);
            }
            starts.push(files.reached() + 1);
            let status = self.make(erl, &files, files.reached() + 1, self.calls, 1)?;
            if status == 0 {
                return self.made(0, &files, starts);
            }
            let next = files.reached() + 1;
            files.append(&format!("{next} {{died,internal_error}} ended the VM\n"))?;
            if erl != self.oracle {
                return self.made(status, &files, starts);
            }
            if next + 1 > self.calls {
                return self.made(0, &files, starts);
            }
            starts.push(next + 1);
        }
    }

    /// All calls, in VMs that start at these.
    fn in_parts(&self, erl: &Path, starts: &[u64]) -> Result<Made, Stop> {
        let files = self.files("here")?;
        let mut status = 0;
        for (first, last) in parts(starts, self.calls) {
            status = self.make(erl, &files, first, last, 50)?;
            if status != 0 {
                break;
            }
        }
        self.made(status, &files, starts.to_vec())
    }

    fn files(&self, name: &str) -> Result<Files, Stop> {
        let file = |end: &str| self.work.join(format!("{}.{}.{name}{end}", self.seed, std::process::id()));
        let files = Files { outcomes: file(""), log: file(".log") };
        files::write(&files.outcomes, "")?;
        Ok(files)
    }

    fn make(&self, erl: &Path, files: &Files, first: u64, last: u64, batch: u64) -> Result<i32, Stop> {
        let mut command = self.command(erl, "main");
        command.args([first, last].map(|number| number.to_string())).arg(&files.outcomes).arg(batch.to_string());
        program::run_to(&mut command, files::create(&files.log)?)
    }

    fn made(&self, status: i32, files: &Files, starts: Vec<u64>) -> Result<Made, Stop> {
        Ok(Made { status, outcomes: files::read(&files.outcomes)?, log: files::read_if_there(&files.log), starts })
    }

    /// A call and its outcome in full, on OTP and on Myriad.
    pub fn show(&self, number: u64) -> Result<(String, String), Stop> {
        let show = |erl: &Path, name: &str| {
            let files = self.files(name)?;
            let mut command = self.command(erl, "show");
            program::run_to(command.arg(number.to_string()), files::create(&files.log)?)?;
            files::read(&files.log)
        };
        Ok((show(&self.oracle, "show-otp")?, show(&self.here, "show-here")?))
    }

    /// A VM that does something with calls of the seed; which, is still to be said.
    fn command(&self, erl: &Path, what: &str) -> Command {
        let mut command = program::limited(self.timeout, erl);
        command.args(&self.flags).args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(self.ebin());
        command.args(["-run", "diff_run", what, &self.seed.to_string()]).current_dir(&self.work);
        program::without_flags(&mut command).env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
        command.env("ERL_CRASH_DUMP", self.work.join("erl_crash.dump")).env("DIFF_ONLY", &self.module);
        if erl != self.oracle {
            heaps::give(&mut command, self.heap);
        }
        command
    }
}

impl Files {
    /// The last call whose outcome is there.
    fn reached(&self) -> u64 {
        super::compare::last_number(&files::read_if_there(&self.outcomes))
    }

    fn append(&self, line: &str) -> Result<(), Stop> {
        files::write(&self.outcomes, files::read(&self.outcomes)? + line)
    }
}

/// The first and last call of VMs that start at these; none that would have nothing to call.
fn parts(starts: &[u64], calls: u64) -> Vec<(u64, u64)> {
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([calls]);
    starts.iter().copied().zip(ends).filter(|(first, last)| first <= last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_calls() {
        assert_eq!(parts(&[1], 10), [(1, 10)]);
        assert_eq!(parts(&[1, 4, 4, 9], 10), [(1, 3), (4, 8), (9, 10)]);
        assert_eq!(parts(&[1, 11], 10), [(1, 10)]);
    }
}
