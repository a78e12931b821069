//! The OTP installation: the oracle, the compiler of all test programs, and what `bin/erl` stands on.
//!
//! `tools/otp.sh` finds it, for the scripts of `bin/` as for this program.

use crate::files::{self, top};
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of ours: every function is compiled before it first runs, and nothing comes from earlier runs.
pub const NATIVE: &[&str] = &["+Jnative", "true", "+Jthreshold", "1", "+Jcache", "false"];

/// The same, and machine code leaves to tier 0 whatever it can, so that the instructions of companions run one by one.
pub const COMPANION: &[&str] = &["+Jnative", "true", "+Jthreshold", "1", "+Jcache", "false", "+JMvisits", "true"];

/// [`NATIVE`] if so, else no flags.
pub fn tier(native: bool) -> &'static [&'static str] {
    if native { NATIVE } else { &[] }
}

/// An installation of a supported release.
#[derive(Clone, Debug)]
pub struct Otp {
    /// Its root.
    pub root: PathBuf,
    /// Its release, such as `25`.
    pub release: String,
    /// Its version of ERTS, such as `13.1.5`.
    pub erts: String,
}

impl Otp {
    /// The installation that `MYRIAD_OTP_ROOT` names, or the machine's.
    pub fn find() -> Result<Otp, Stop> {
        let said = program::output(&mut after_otp_sh("printf '%s\\n' \"$otp_release\" \"$otp_erts\" \"$otp_root\""))?;
        // What is wrong has been said already.
        let said = said.ok_or_else(|| Stop::Failed("no OTP to work with".to_owned()))?;
        let mut lines = said.trim_end_matches('\n').splitn(3, '\n').map(str::to_owned);
        match (lines.next(), lines.next(), lines.next()) {
            (Some(release), Some(erts), Some(root)) => Ok(Otp { root: root.into(), release, erts }),
            _ => Err(Stop::Failed(format!("tools/otp.sh says {said:?}"))),
        }
    }

    /// Its `erl`.
    pub fn erl(&self) -> PathBuf {
        self.root.join("bin/erl")
    }

    /// Its compiler, with the folder that the results go to.
    pub fn erlc(&self, ebin: &Path) -> Command {
        let mut command = program::command(self.root.join("bin/erlc"));
        command.arg("-o").arg(ebin);
        command
    }
}

/// Compiles test programs into `ebin`, a folder that is made if it is not there.
pub fn compile(otp: &Otp, ebin: &Path, flags: &[&str], sources: &[PathBuf]) -> Result<(), Stop> {
    files::make_folder(ebin)?;
    match program::run(otp.erlc(ebin).args(flags).args(sources))? {
        0 => Ok(()),
        _ => Err(Stop::Failed("the programs do not compile".to_owned())),
    }
}

/// A shell that has found OTP by `tools/otp.sh` and then does as told.
pub fn after_otp_sh(script: &str) -> Command {
    let mut command = program::command("sh");
    command.args(["-c", &format!(". \"$top/tools/otp.sh\"; find_otp; {script}")]).env("top", top());
    command
}

/// Myriad's `erl`.
pub fn here() -> PathBuf {
    top().join("bin/erl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installation_is_whole() {
        let otp = Otp::find().unwrap();
        assert!(otp.erl().exists() && !otp.release.is_empty() && otp.root.join(format!("erts-{}", otp.erts)).exists());
    }
}
