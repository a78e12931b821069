//! How commands come to their end.

use std::process::ExitCode;

/// The exit status of a command that came to its end, or why it did not.
pub type Done = Result<ExitCode, Stop>;

/// Why a command does not come to its end.
#[derive(Debug)]
pub enum Stop {
    /// The words after the name are not what the command takes: which, and what is wrong with them.
    Usage(String),
    /// The command could not do its work: why.
    Failed(String),
}

/// The exit status of a command that judges something.
pub fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
