//! Where suites run: OTP's sources, the runner, and folders for what is compiled and what comes out.

use super::suite::Suite;
use crate::files::{self, top};
use crate::heaps::{self, Heap};
use crate::otp::{self, Otp};
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What all runs of suites have in common.
pub struct World {
    /// When the command began.
    pub began: Instant,
    /// No case begins later.
    pub deadline: Option<Instant>,
    /// The oracle, and the compiler of the suites.
    pub otp: Otp,
    /// The `erl` that is tested.
    pub vm: PathBuf,
    /// Flags of its own.
    pub flags: &'static [&'static str],
    /// How its processes have their memory.
    pub heap: Option<Heap>,
    /// The seconds that a case may take.
    pub timeout: u64,
    /// How many suites or cases run side by side.
    pub jobs: usize,
    /// The root of OTP's sources.
    pub source: PathBuf,
    /// The version of the source package.
    pub version: String,
    /// `tests/conformance`.
    pub parts: PathBuf,
    /// `target/conformance`.
    pub work: PathBuf,
}

impl World {
    /// Fetches the sources if they are not there, and compiles the runner; nothing where they cannot be fetched.
    pub fn new(vm: Option<PathBuf>, timeout: u64, jobs: usize) -> Result<Option<World>, Stop> {
        let began = Instant::now();
        let top = top();
        let Some(source) = program::output(&mut program::command(top.join("tools/otp-source")))? else {
            return Ok(None);
        };
        let source = PathBuf::from(source.trim_end());
        let version = files::read(&source.join("../version"))?.trim().to_owned();
        let (parts, work) = (top.join("tests/conformance"), top.join("target/conformance"));
        let (otp, vm) = (Otp::find()?, vm.unwrap_or_else(otp::here));
        let world = World {
            began,
            deadline: None,
            otp,
            vm,
            flags: &[],
            heap: None,
            timeout,
            jobs,
            source,
            version,
            parts,
            work,
        };
        world.compile_runner()?;
        Ok(Some(world))
    }

    /// The runner and the stand-ins for Common Test, whose headers come with the sources.
    fn compile_runner(&self) -> Result<(), Stop> {
        let (ebin, test) = (self.runner(), self.libs().join("common_test-0"));
        files::make_folder(&ebin)?;
        files::make_folder(&test.join("ebin"))?;
        link(&self.source.join("lib/common_test/include"), &test.join("include"));
        let sources = files::ending(&self.parts, ".erl");
        let texts: Vec<String> = sources.iter().map(|source| files::read(source)).collect::<Result<_, _>>()?;
        let built = texts.concat();
        if files::read_if_there(&ebin.join("built")) == built {
            return Ok(());
        }
        if program::run(self.otp.erlc(&ebin).args(sources))? != 0 {
            return Err(Stop::Failed("the conformance runner does not compile".to_owned()));
        }
        files::write(&ebin.join("built"), built)
    }

    /// The folder of the compiled runner.
    pub fn runner(&self) -> PathBuf {
        self.work.join("ebin")
    }

    /// What suites need of Common Test, as `ERL_LIBS` has it.
    pub fn libs(&self) -> PathBuf {
        self.work.join("libs")
    }

    /// The folder of what is compiled for a suite's application. It goes with the sources that it is made from, part of which (programs
    /// in C) lies among them. It is not called as the application is, for which the code server would take it.
    pub fn ebin(&self, suite: &Suite) -> PathBuf {
        let package = self.source.parent().map_or("", files::name);
        self.work.join(format!("ebin-{package}")).join(format!("{}_test", suite.application))
    }

    /// Has the suite been compiled?
    pub fn is_compiled(&self, suite: &Suite) -> bool {
        self.beam(suite).exists()
    }

    /// What is compiled of a suite itself.
    pub fn beam(&self, suite: &Suite) -> PathBuf {
        self.ebin(suite).join(format!("{}.beam", suite.module()))
    }

    /// The record of the cases of a suite that OTP passes.
    pub fn record(&self, suite: &Suite) -> PathBuf {
        self.parts.join(format!("otp-{}", self.otp.release)).join(suite.key())
    }

    /// A VM for a suite, with a limit of time; what it is to run is still to be said.
    pub fn start(&self, vm: &Path, suite: &Suite, seconds: u64) -> Command {
        let mut command = program::limited(seconds, vm);
        if vm == self.vm {
            command.args(self.flags);
            heaps::give(&mut command, self.heap);
        }
        command.args(["-noshell", "-boot", "start_sasl", "-pa"]).arg(self.ebin(suite)).arg(self.runner());
        if suite.application == "kernel" && suite.name.starts_with("gen_") {
            // By inet's driver and by `socket`, not by the default alone.
            command.args(["-kernel", "test_inet_backends", "true"]);
        }
        // A client of ssh takes the user's name from here, where some machines have none.
        command.env("ERL_LIBS", self.libs()).env("LC_ALL", "C.UTF-8").env("LOGNAME", "conformance");
        command
    }
}

/// Makes a link, in the place of one that is there.
pub fn link(from: &Path, to: &Path) {
    let _ = std::fs::remove_file(to);
    let _ = std::os::unix::fs::symlink(from, to);
}
