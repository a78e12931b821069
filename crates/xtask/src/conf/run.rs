//! Running cases: those of a suite in one VM, or each in a VM of its own.

use super::case::{self, Case};
use super::suite::Suite;
use super::world::World;
use crate::stop::Stop;
use crate::{files, parallel, program};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The seconds that one VM gets for the cases of a suite; what is left then has another one.
const SECONDS_FOR_A_SUITE: u64 = 600;

impl World {
    /// Runs cases, those of a suite in one VM.
    pub fn run_suites(&self, vm: &Path, place: &Path, cases: &[&Case]) -> Result<(), Stop> {
        let suites = cases.chunk_by(|a, b| a.suite == b.suite);
        for cases in suites.clone() {
            let folder = place.join(cases[0].suite.key());
            files::make_folder(&folder)?;
        }
        parallel::each(suites.collect(), self.jobs, |cases| {
            let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            self.in_one_vm(vm, &place.join(cases[0].suite.key()), cases[0].suite, &names)
                .unwrap_or_else(|stop| eprintln!("{}: {stop:?}", cases[0].suite.id()));
        });
        Ok(())
    }

    /// Runs cases, each in a VM of its own.
    pub fn run_cases(&self, vm: &Path, place: &Path, cases: &[&Case], jobs: usize) {
        parallel::each(cases.to_vec(), jobs, |case| {
            self.run_case(vm, place, case).unwrap_or_else(|stop| eprintln!("{}: {stop:?}", case.short()));
        });
    }

    /// Runs the cases one after the other; a VM that ends early is followed by another.
    fn in_one_vm(&self, vm: &Path, folder: &Path, suite: &Suite, names: &[&str]) -> Result<(), Stop> {
        loop {
            let has_none = |name: &&&str| !files::has_content(&folder.join(case::file_name(name)));
            let left: Vec<&str> = names.iter().filter(has_none).copied().collect();
            let Some(seconds) = self.seconds_left(SECONDS_FOR_A_SUITE) else { break };
            if left.is_empty() {
                break;
            }
            let status = self.run_left(vm, folder, suite, &left, seconds)?;
            if status == 0 || self.seconds_left(1).is_none() {
                break;
            }
            note_end(folder, left[0], status)?;
        }
        tidy_up(folder);
        Ok(())
    }

    /// One VM for what is left of a suite; its exit status.
    fn run_left(&self, vm: &Path, folder: &Path, suite: &Suite, left: &[&str], seconds: u64) -> Result<i32, Stop> {
        let (list, home) = (folder.join("left"), folder.join("home"));
        files::make_folder(&home)?;
        files::write(&list, left.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        let _ = std::fs::remove_file(folder.join("now"));
        let mut command = self.start(vm, suite, seconds);
        command.args(["-run", "conf_runner", "all", &suite.module()]).args([&list, &suite.data(), folder]);
        command.arg(self.timeout.to_string()).arg(if suite.shares() { "shared" } else { "apart" }).current_dir(folder);
        command.env("HOME", home).env("ERL_CRASH_DUMP", "/dev/null");
        program::run_to(&mut command, files::create(&folder.join("log"))?)
    }

    /// The seconds that something may take: so many, unless the deadline comes before; nothing if it is over.
    fn seconds_left(&self, most: u64) -> Option<u64> {
        let Some(deadline) = self.deadline else { return Some(most) };
        let left = deadline.checked_duration_since(Instant::now())?.as_secs();
        (left > 0).then_some(left)
    }

    /// Runs a case in a VM of its own. What it prints goes to a file beside that with the outcome.
    pub fn run_case(&self, vm: &Path, place: &Path, case: &Case) -> Result<(), Stop> {
        if self.seconds_left(1).is_none() {
            return Ok(());
        }
        let began = Instant::now();
        let out = case.file(place);
        let beside = |end: &str| out.with_file_name(format!("{}.{end}", files::name(&out)));
        let private = beside("priv");
        files::make_folder(&private)?;
        let mut command = self.start(vm, case.suite, self.timeout);
        if case.node {
            command.args(["-sname", &unique_name()]);
        }
        command.args(["-run", "conf_runner", "run", &case.suite.module(), &case.name]);
        command.args([&case.suite.data(), &private, &out]).current_dir(&private);
        command.env("HOME", &private).env("ERL_CRASH_DUMP", private.join("erl_crash.dump"));
        let log = beside("log");
        let status = program::run_to(&mut command, files::create(&log)?)?;
        if !files::has_content(&out) {
            files::write(&out, self.outcome_of(status, &files::read_if_there(&log)) + "\n")?;
        }
        files::write(&beside("seconds"), format!("{}\n", began.elapsed().as_secs()))?;
        files::remove_folder(&private);
        Ok(())
    }

    /// What came of a case that has left no outcome: a VM whose files do not work yet can still say it on standard output.
    fn outcome_of(&self, status: i32, log: &str) -> String {
        let is_over_time = status >= 124 && status != 134 && status != 139;
        match log.lines().find_map(|line| line.strip_prefix("CONF ")) {
            Some(outcome) => outcome.to_owned(),
            None if is_over_time => format!("failed over time ({} s)", self.timeout),
            None => no_result(status, log),
        }
    }
}

/// The case at which a VM has ended has failed, if it has not come to an outcome: the one that ran, or the first.
fn note_end(folder: &Path, first: &str, status: i32) -> Result<(), Stop> {
    let now = files::read_if_there(&folder.join("now"));
    let name = if now.is_empty() { first } else { now.trim() };
    let file = folder.join(case::file_name(name));
    if files::has_content(&file) {
        return Ok(());
    }
    files::write(&file, no_result(status, &files::read_if_there(&folder.join("log"))) + "\n")
}

fn no_result(status: i32, log: &str) -> String {
    let last: String = log.lines().rfind(|line| !line.is_empty()).unwrap_or_default().chars().take(200).collect();
    format!("failed no result, exit status {status}: {last}")
}

/// Takes away what cases and VMs have left, but for outcomes and logs.
fn tidy_up(folder: &Path) {
    for path in files::ending(folder, ".priv").into_iter().chain([folder.join("home")]) {
        files::remove_folder(&path);
    }
    for name in ["now", "left"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
}

/// The name of a node that no other case has at the same time.
fn unique_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: only that each number is given out once matters, and a read-modify-write sees to it.
    format!("conf{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_ends_the_vm_has_failed() {
        let folder = std::env::temp_dir().join(format!("xtask-conf-run-{}", std::process::id()));
        files::make_folder(&folder).unwrap();
        files::write(&folder.join("log"), "one\ntwo\n\n").unwrap();
        note_end(&folder, "g/first", 139).unwrap();
        assert_eq!(files::read(&folder.join("g.first")).unwrap(), "failed no result, exit status 139: two\n");
        files::write(&folder.join("now"), "g/second").unwrap();
        files::write(&folder.join("g.second"), "passed\n").unwrap();
        note_end(&folder, "g/first", 3).unwrap();
        assert_eq!(files::read(&folder.join("g.second")).unwrap(), "passed\n");
        tidy_up(&folder);
        assert!(!folder.join("now").exists() && folder.join("log").exists());
        files::remove_folder(&folder);
    }

    #[test]
    fn the_last_line_is_cut() {
        assert_eq!(no_result(1, &"x".repeat(300)).len(), "failed no result, exit status 1: ".len() + 200);
        assert_eq!(no_result(1, ""), "failed no result, exit status 1: ");
    }
}
