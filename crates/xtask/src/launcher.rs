//! `cargo xtask launcher`: after a build, the directory of links that `bin/erl` starts the emulator from.
//!
//! `bin/erl` makes it when it is missing, so this is for a checkout that its users cannot write to. The making itself is in
//! `tools/otp.sh`, which serves both.

use crate::stop::{Done, verdict};
use crate::words::Words;
use crate::{otp, program};

/// Makes the directory, unless it is there.
pub fn main(words: &[String]) -> Done {
    Words::parse(words, &[], &[])?.nothing_else()?;
    Ok(verdict(program::run(&mut otp::after_otp_sh("launcher"))? == 0))
}
