//! The `myriad` command.
fn main() {}
