//! What composes the layers below into a VM: the scheduler's step, the context of running code, the interface of built-in functions,
//! spawning, ending, sending and collecting.
//!
//! Above `beam`, `code` and `sched`, and below the interpreter and the built-ins in the crate order (docs/architecture.md). Where an arrow would
//! point up this crate states a trait ([`upcalls`]) or keeps a table that the upper crates fill ([`bif::Registry`]).
//!
//! Five modules define types that refer to each other, and nothing else: [`mod@vm`], [`ctx`], [`bif`], [`runtime`], [`upcalls`]. What they
//! are made of lies below them ([`config`], [`release`], [`literals`], `parts`, the words of [`tracer`]); all behaviour lies above, as `impl` blocks
//! of the module that it belongs to:
//!
//! | module | what it does |
//! | --- | --- |
//! | [`scheduler`], [`private_thread`], [`dirty`], [`dirty_call`] | the threads of the VM: slices, jobs and calls on dirty schedulers |
//! | [`send`], [`deliver`], [`task`] | leaving signals, handling them, what they ask of a process |
//! | [`mod@spawn`], [`exit`], [`gc`], `shared_heap` | the beginning, end and collections of processes |
//! | [`code`], [`literals`] | loading, purging, and how literals go |
//! | [`timer`], `time_offset`, [`report`] | timers and clocks; reports of crashes |
//! | [`tracer`] | trace points |

pub mod bif;
mod clean_up;
pub mod code;
pub mod config;
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
mod holders;
pub mod intrinsic;
pub mod listing;
pub mod literals;
mod node;
pub mod observer;
pub mod os_text;
pub mod parallel;
mod parts;
pub mod private_thread;
pub mod release;
pub mod report;
mod rest;
pub mod runtime;
pub mod scheduler;
pub mod send;
mod shared_heap;
#[cfg(test)]
mod sim_test;
mod sleepers;
pub mod spawn;
pub mod stops;
pub mod subsystem;
pub mod task;
pub mod test_hooks;
mod time_offset;
pub mod timer;
pub mod tracer;
pub mod upcalls;
pub mod vm;

pub use bif::{Bif, BifDef, BifResult, Escape};
pub use ctx::Ctx;
pub use runtime::{Ending, Exception, Listing, OwnerState, Process, ProcessTable, Resume, Signal, Signals, TraceFrame};
pub use vm::Vm;

pub use myriad_heap as heap;
pub use myriad_term as term;
