//! Processes, signals, timers, code, schedulers and the built-in function interface.
//!
//! Above `beam` and below the interpreter and the built-ins in the crate order (docs/map.md). Where an arrow would point up
//! this crate states a trait ([`engine::Engine`], [`machine::Machine`]) or keeps a table that the upper crates fill
//! ([`bif::Registry`]).

pub mod bif;
pub mod census;
pub mod code;
pub mod crash_dump;
pub mod ctx;
pub mod defaults;
pub mod deliver;
pub mod dirty;
pub mod dirty_call;
pub mod engine;
pub mod error;
pub mod exit;
pub mod gc;
pub mod info;
pub mod links;
pub mod listing;
pub mod literals;
pub mod loops;
pub mod machine;
pub mod memory;
pub mod message;
pub mod microstate;
pub mod multi;
pub mod native;
pub mod process;
pub mod rare;
pub mod registry;
pub mod release;
pub mod report;
pub mod run_queue;
mod safepoint;
pub mod saved_calls;
pub mod scheduler;
pub mod send;
pub mod signal;
#[cfg(test)]
mod sim_test;
pub mod spawn;
pub mod stack;
pub mod status;
pub mod table;
pub mod task;
pub mod time;
pub mod timer;
pub mod trace;
pub mod vm;

pub use bif::{Bif, BifDef, BifResult, Escape};
pub use ctx::Ctx;
pub use process::{Private, Process};
pub use signal::Parcel;
pub use vm::Vm;

pub use myriad_heap as heap;
pub use myriad_term as term;
