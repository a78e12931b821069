//! NIFs: functions of C libraries in place of Erlang functions, by the interface of `erl_nif.h`, API 2.16.
//!
//! Libraries are built against OTP's header and find the functions `enif_*` in the running program, which exports them
//! (`crates/myriad/build.rs`). A library that needs others is refused by the system's linker when it is loaded.
//!
//! | module | holds |
//! | --- | --- |
//! | [`abi`] | layouts and boundary types |
//! | `argument` | what arguments of the interface are for the check |
//! | `check` | `+nifcheck`: what libraries hand over is looked at first |
//! | `define` | the macros that define functions of the interface |
//! | [`mod@env`] | environments, and calls of libraries' functions |
//! | [`linker`] | how the system maps libraries |
//! | [`load`] | `erlang:load_nif/2` |
//! | `queue` | I/O vectors and I/O queues |
//! | `select` | descriptors that are waited for |
//! | [`resource`] | objects of a library that terms refer to |
//! | `monitor` | what these watch |
//! | [`taints`] | which libraries have been loaded |
//! | `thread_data` | what threads keep for libraries |
//! | `exports` | the functions of the interface |
//! | `variadic.c` | those that stable Rust cannot define, most with a variable number of arguments |

pub mod abi;
mod argument;
mod check;
mod define;
pub mod env;
mod exports;
pub mod linker;
pub mod load;
mod monitor;
mod queue;
pub mod resource;
mod select;
pub mod taints;
mod thread_data;

pub use exports::{names, system};
pub use select::count as selected;
