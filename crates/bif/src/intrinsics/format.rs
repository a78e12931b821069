//! Intrinsics that print terms as `io_lib` does: what `~w` and `~p` give.
//!
//! The functions here give exactly what OTP's Erlang code gives, the nesting of the deep list included, or
//! decline ([`Escape::Decline`](myriad_vm::Escape::Decline)). What is rare (limits on characters, records, text whose width depends on
//! Unicode's rules for clusters) is left to it.
//!
//! F1. Work is counted by a [`Budget`](crate::work::Budget): what is long is begun again on a dirty scheduler, where it may last; what would last
//!     too long there is declined, as the Erlang code gives way and can be stopped. (A small term may be endless to print,
//!     being made of the same part many times over.)
//! F2. Rust functions call themselves for nested terms down to [`DEEPEST`]; what is deeper is declined.

mod controls;
mod fields;
mod float;
pub mod formats;
mod job;
pub mod layout;
pub mod leaves;
pub mod pretty;
pub mod sizing;
mod spec;
pub mod text;
pub mod tree;
mod write;

/// How deep terms are nested that are printed here (F2).
pub const DEEPEST: usize = 250;
