//! Some modules: made on OTP, run on OTP and on Myriad.

use super::Way;
use super::outcomes::{Outcomes, Place};
use crate::files;
use crate::heaps::{self, Heap};
use crate::json::Json;
use crate::program;
use crate::stop::{Done, Stop, verdict};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Milliseconds that a call may take on OTP, and on Myriad, which may be a build with assertions.
const PATIENCE: u64 = 400;
const PATIENCE_HERE: u64 = 30_000;

/// The seconds that a VM may take for a batch.
const TIMEOUT: u64 = 600;

/// What all batches have in common.
pub struct Setting {
    /// What is drawn.
    pub seed: u64,
    /// How many calls of each function.
    pub calls: u64,
    /// OTP's `erl`.
    pub oracle: PathBuf,
    /// Myriad's.
    pub here: PathBuf,
    /// How its processes have their memory.
    pub heap: Option<Heap>,
    /// The folder for what is compiled and what comes out.
    pub work: PathBuf,
}

/// The modules from one number to another.
pub struct Batch<'a> {
    /// What it has in common with others.
    pub setting: &'a Setting,
    /// The first module.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

/// What has been found.
#[derive(Default)]
pub struct Found {
    /// How much there was.
    pub counts: Counts,
    /// The calls that differ.
    pub differences: Vec<Difference>,
    /// What else went wrong: VMs that ended.
    pub faults: Vec<String>,
}

/// How much there was.
#[derive(Default)]
pub struct Counts {
    /// Modules.
    pub modules: u64,
    /// Their functions.
    pub functions: usize,
    /// Calls of these.
    pub calls: usize,
    /// Calls that took too long on OTP.
    pub late: usize,
    /// Modules that ended OTP's VM by a signal.
    pub ended: usize,
}

/// A call that differs, in a way to run.
pub struct Difference {
    /// The call.
    pub place: Place,
    /// The name of the way.
    pub way: &'static str,
}

impl Found {
    /// Does all agree?
    pub fn is_good(&self) -> bool {
        self.differences.is_empty() && self.faults.is_empty()
    }

    /// Adds what another batch has found.
    pub fn add(&mut self, other: Found) {
        self.counts.modules += other.counts.modules;
        self.counts.functions += other.counts.functions;
        self.counts.calls += other.counts.calls;
        self.counts.late += other.counts.late;
        self.counts.ended += other.counts.ended;
        self.differences.extend(other.differences);
        self.faults.extend(other.faults);
    }

    /// The first call that differs of each function.
    pub fn one_of_each_function(&self) -> Vec<&Difference> {
        let mut seen = BTreeSet::new();
        self.differences.iter().filter(|one| seen.insert((one.place.module, one.place.function.as_str()))).collect()
    }

    /// The result for other programs.
    pub fn to_json(&self, seed: u64) -> Vec<(&'static str, Json)> {
        let differ = self
            .differences
            .iter()
            .map(|one| Json::Object(vec![("call", one.place.to_string().as_str().into()), ("way", one.way.into())]));
        vec![
            ("seed", seed.into()),
            ("modules", self.counts.modules.into()),
            ("functions", self.counts.functions.into()),
            ("calls", self.counts.calls.into()),
            ("late_on_otp", self.counts.late.into()),
            ("ended_otp", self.counts.ended.into()),
            ("faults", Json::List(self.faults.iter().map(|fault| fault.as_str().into()).collect())),
            ("differ", Json::List(differ.collect())),
        ]
    }
}

impl Batch<'_> {
    /// Makes the modules, runs them, and compares. What is written goes again if all agree.
    pub fn run(&self, ways: &[Way]) -> Result<Found, Stop> {
        let setting = self.setting;
        let dir = setting.work.join(format!("{}.{}.{}", setting.seed, std::process::id(), self.first));
        files::make_folder(&dir)?;
        setting.make(self.first, self.last, &dir)?;
        let of_otp = dir.join("otp");
        files::write(&of_otp, "")?;
        let (otp, ended) = self.outcomes_of_otp(&dir, &of_otp)?;
        files::write(&of_otp, &otp)?;
        let otp = Outcomes::parse(&otp);
        let (calls, functions, late) = otp.count();
        let counts = Counts { modules: self.last - self.first + 1, functions, calls, late, ended };
        let unsteady =
            otp.unsteady().into_iter().map(|place| Difference { place, way: "OTP, and how a call is begun" });
        let mut found = Found { counts, differences: unsteady.collect(), faults: vec![] };
        for way in ways {
            let (status, here) = self.outcomes(&setting.here, way.flags, PATIENCE_HERE, &dir, &of_otp)?;
            if status == 0 {
                let differing = otp.differing(&Outcomes::parse(&here));
                found.differences.extend(differing.into_iter().map(|place| Difference { place, way: way.name }));
            } else {
                let log = files::read_if_there(&dir.join("log"));
                let said: Vec<&str> = log.lines().collect();
                let last = here.lines().next_back().and_then(|line| line.split(' ').next()).unwrap_or("none");
                found.faults.push(format!(
                    "{}: the VM ended with status {status} after module {last}, in {}: {}",
                    way.name,
                    dir.display(),
                    said[said.len().saturating_sub(3)..].join(" | ")
                ));
            }
        }
        if found.is_good() {
            files::remove_folder(&dir);
        }
        Ok(found)
    }

    /// OTP's outcomes, and how many modules were taken out of the folder because they end its VM by a signal.
    fn outcomes_of_otp(&self, dir: &Path, others: &Path) -> Result<(String, usize), Stop> {
        let mut ended = 0;
        loop {
            let (status, outcomes) = self.outcomes(&self.setting.oracle, &[], PATIENCE, dir, others)?;
            let module = (status > 128).then(|| next_module(dir, Outcomes::parse(&outcomes).last_module())).flatten();
            match (status, module) {
                (0, _) => return Ok((outcomes, ended)),
                (_, Some(module)) => {
                    println!(
                        "generated: module {module} of seed {} ends OTP itself, by signal {}",
                        self.setting.seed,
                        status - 128
                    );
                    std::fs::remove_file(dir.join(format!("g_{module}.beam")))
                        .map_err(|error| Stop::Failed(error.to_string()))?;
                    ended += 1;
                }
                (_, None) => {
                    let (seed, log) = (self.setting.seed, files::read_if_there(&dir.join("log")));
                    return Err(Stop::Failed(format!(
                        "OTP itself failed (seed {seed}, modules {} to {})\n{log}",
                        self.first, self.last
                    )));
                }
            }
        }
    }

    /// The exit status of a VM that makes the calls, and their outcomes; without those that took too long by the file of another VM's.
    fn outcomes(
        &self,
        erl: &Path,
        flags: &[&str],
        patience: u64,
        dir: &Path,
        others: &Path,
    ) -> Result<(i32, String), Stop> {
        let outcomes = dir.join("outcomes");
        files::write(&outcomes, "")?;
        let mut command = self.setting.command(erl, flags, "run");
        command
            .arg(dir)
            .args([self.setting.calls, patience].map(|number| number.to_string()))
            .arg(&outcomes)
            .arg(others);
        let status = program::run_to(&mut command, files::create(&dir.join("log"))?)?;
        Ok((status, files::read(&outcomes)?))
    }
}

impl Setting {
    /// The folder of the compiled generator.
    pub fn ebin(&self) -> PathBuf {
        self.work.join("ebin")
    }

    fn make(&self, first: u64, last: u64, dir: &Path) -> Result<(), Stop> {
        let mut command = self.command(&self.oracle, &[], "make");
        match program::run(command.args([first, last].map(|number| number.to_string())).arg(dir))? {
            0 => Ok(()),
            _ => Err(Stop::Failed(format!(
                "the modules {first} to {last} of seed {} are none, in {}",
                self.seed,
                dir.display()
            ))),
        }
    }

    fn to_show(&self) -> PathBuf {
        self.work.join("show")
    }

    /// Makes one module in the folder of what is shown; its text.
    pub fn make_to_show(&self, number: u64) -> Result<String, Stop> {
        files::make_folder(&self.to_show())?;
        self.make(number, number, &self.to_show())?;
        let text = program::output(self.command(&self.oracle, &[], "text").arg(number.to_string()))?;
        let text = text.ok_or_else(|| Stop::Failed("there is no text".to_owned()))?;
        files::write(&self.to_show().join(format!("g_{number}.erl")), &text)?;
        Ok(text)
    }

    /// A call and its outcome in full.
    pub fn show(&self, erl: &Path, flags: &[&str], place: &Place) -> Result<String, Stop> {
        files::make_folder(&self.to_show())?;
        self.make(place.module, place.module, &self.to_show())?;
        let mut command = self.command(erl, flags, "show");
        command.args([place.module.to_string(), place.function.clone(), place.call.to_string()]);
        command.arg(self.to_show()).arg(PATIENCE_HERE.to_string());
        let log = self.to_show().join("log");
        program::run_to(&mut command, files::create(&log)?)?;
        files::read(&log)
    }

    /// Says how often each instruction stands in the modules up to this one.
    pub fn instructions(&self, count: u64) -> Done {
        let status = program::run(self.command(&self.oracle, &[], "instructions").arg(count.to_string()))?;
        Ok(verdict(status == 0))
    }

    /// A VM that does something with modules of the seed; which, is still to be said.
    fn command(&self, erl: &Path, flags: &[&str], what: &str) -> Command {
        let mut command = program::limited(TIMEOUT, erl);
        // Many VMs work at once, each in one thread.
        command.args(["+S", "1"]).args(flags).args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(self.ebin());
        command.args(["-run", "generated", what, &self.seed.to_string()]).current_dir(&self.work);
        program::without_flags(&mut command).env("LC_ALL", "C.UTF-8");
        command.env("ERL_CRASH_DUMP", self.work.join("erl_crash.dump"));
        if erl != self.oracle {
            heaps::give(&mut command, self.heap);
        }
        command
    }
}

/// The first module in a folder behind the one of this number.
fn next_module(dir: &Path, last: u64) -> Option<u64> {
    let names = files::ending(dir, ".beam");
    let numbers = names.iter().filter_map(|file| files::stem(file).strip_prefix("g_")?.parse().ok());
    numbers.filter(|number| *number > last).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_follow_by_number() {
        let dir = std::env::temp_dir().join(format!("xtask-generated-{}", std::process::id()));
        files::make_folder(&dir).unwrap();
        ["g_9.beam", "g_10.beam", "g_11.erl"].iter().for_each(|name| files::write(&dir.join(name), "").unwrap());
        assert_eq!([0, 9, 10].map(|last| next_module(&dir, last)), [Some(9), Some(10), None]);
        files::remove_folder(&dir);
    }

    fn found(calls: &[&str], faults: &[&str]) -> Found {
        let differ = calls.iter().map(|call| Difference { place: Place::parse(call).unwrap(), way: "tier 0" });
        let counts = Counts { modules: 2, functions: 3, calls: 60, late: 1, ended: 0 };
        Found {
            counts,
            differences: differ.collect(),
            faults: faults.iter().map(|fault| (*fault).to_owned()).collect(),
        }
    }

    #[test]
    fn what_batches_find_adds_up() {
        let mut all = Found::default();
        assert!(all.is_good());
        all.add(found(&["1:f1:1", "1:f1:2"], &[]));
        all.add(found(&["2:f1:1"], &["x"]));
        let of_each: Vec<String> = all.one_of_each_function().iter().map(|one| one.place.to_string()).collect();
        assert_eq!(
            (of_each, all.counts.calls, all.is_good()),
            (vec!["1:f1:1".to_owned(), "2:f1:1".to_owned()], 120, false)
        );
        assert!(!found(&[], &["x"]).is_good());
    }

    #[test]
    fn the_json_names_the_calls_that_differ() {
        let expected = "{\n  \"seed\": 7,\n  \"modules\": 2,\n  \"functions\": 3,\n  \"calls\": 60,\n  \"late_on_otp\": 1,\n  \"ended_otp\": 0,\n  \
                        \"faults\": [\n    \"x\"\n  ],\n  \"differ\": [\n    {\"call\": \"1:f1:2\", \"way\": \"tier 0\"}\n  ]\n}\n";
        assert_eq!(Json::Object(found(&["1:f1:2"], &["x"]).to_json(7)).to_text(), expected);
    }
}
