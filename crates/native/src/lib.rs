//! Machine code: an intermediate form, a back end that makes code of it, and the memory that code stands in.
//!
//! It knows words, frames and the processor; what terms, functions and instructions of Erlang are, the crate above knows.
//!
//! | module | holds |
//! | --- | --- |
//! | [`form`] | the intermediate form, its listing and its rules |
//! | [`code`], [`compile`](fn@compile) | what a back end is asked for and gives |
//! | [`caught`] | what becomes of a panic meanwhile |
//! | `x64` | the back end for x86-64: the one module that names a processor, and the registers at all borders |
//! | [`memory`], [`link`] | memory for code; code in memory, and from any address in it to function and instruction |
//! | [`listing`], [`perf`] | machine code for people to read, and for profilers |

pub mod caught;
pub mod code;
mod compile;
pub mod form;
#[cfg(target_os = "linux")]
pub mod link;
pub mod listing;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod perf;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod x64;

/// Is there a back end for this processor and system?
pub const HAS_BACK_END: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

pub use compile::{MOST_BLOCKS, MOST_OPERATIONS, MOST_OPTIMISED_BLOCKS, MOST_VARIABLES, compile, features};
