//! Code, the scheduler's step, tracing and the built-in function interface.
//!
//! Above `beam`, `process` and `sched`, and below the interpreter and the built-ins in the crate order (docs/map.md). Where an arrow would point up
//! this crate states a trait ([`engine::Engine`]) or keeps a table that the upper crates fill
//! Timers, code, schedulers and the built-in function interface.
//!
//! Above `beam` and `process`, and below the interpreter and the built-ins in the crate order (docs/map.md). Where an arrow would point up
//! this crate states a trait ([`engine::Engine`], [`machine::Machine`], [`tracer::Tracer`]) or keeps a table that the upper crates fill
//! ([`bif::Registry`]).

pub mod bif;
pub mod code;
pub mod crash_dump;
pub mod ctx;
pub mod defaults;
pub mod deliver;
pub mod dirty;
pub mod dirty_call;
pub mod emulator_flags;
pub mod engine;
pub mod exit;
pub mod gc;
pub mod heap_walk;
pub mod info;
pub mod intrinsic;
pub mod literals;
pub mod memory;
pub mod os_text;
pub mod release;
pub mod report;
pub mod runtime;
pub mod saved_calls;
pub mod scheduler;
pub mod send;
#[cfg(test)]
mod sim_test;
pub mod spawn;
pub mod stack;
pub mod subsystem;
pub mod task;
pub mod test_hooks;
mod time_offset;
pub mod timer;
pub mod tracer;
pub mod vm;

pub use bif::{Bif, BifDef, BifResult, Escape};
pub use ctx::Ctx;
pub use myriad_sched as sched;
pub use runtime::{Exception, Listing, OwnerState, Process, ProcessTable, Resume, Signal, Signals, TraceFrame};
pub use vm::Vm;

pub use myriad_heap as heap;
pub use myriad_term as term;
