//! The operating system: environment, signals.

pub mod environment;
pub mod signals;
