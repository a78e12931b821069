//! Scheduling: which runnable process goes to which scheduler, and when; timers, clocks and the platform below them.
//!
//! Above `process` in the crate order (docs/architecture.md). Nothing here runs a process: crate `vm` takes one from a [`Dispatcher`], runs a slice
//! of it and says what became of it. So the policy can be driven by threads, by a test driver from a seed, and by a simulator.
//!
//! | module | holds |
//! | --- | --- |
//! | [`platform`] | time, randomness and parking: the only way to them, so that a seed can stand in |
//! | [`run_queue`] | the run queue of one scheduler, and what it has done |
//! | [`schedulers`] | all of them: where a process that becomes runnable goes, and who is woken for it |
//! | [`dispatcher`] | what one scheduler does between two slices: picking, stealing, balancing, searching, parking |
//! | [`local`] | the scheduler's own state, which running code sees |
//! | [`dirty`] | the pools of dirty schedulers |
//! | [`multi`] | how many schedulers are online and active |
//! | [`safepoint`] | stopping the world |
//! | [`timers`], `wheel` | what happens at a given time |
//! | [`clock`] | monotonic time, system time and the offset between them |
//! | [`microstate`] | what each thread spends its time on |
//!
//! Q1. A process is in a queue just when its status is `Runnable` (process/P1), so a queue's pointers are alive: only running ends a
//!     process.
//! Q2. A scheduler that is about to park enters the set of idle ones before it looks at the queues a last time; who enqueues
//!     looks at the set after. One that searches looks again when its search is over. So no process that any scheduler may run waits
//!     for long beside an idle one ([`myriad_sync::IdleSet`] has the protocol). Active ones are counted: when their number
//!     changes, all are woken.
//! Q3. A scheduler whose queue is not empty is awake, or has been woken. So a single process in another's queue is no reason to
//!     stay awake: it is nearly always in a dialogue with the one that runs there, and wants that core.

pub mod clock;
pub mod dirty;
pub mod dispatcher;
pub mod local;
pub mod microstate;
pub mod multi;
pub mod platform;
pub mod run_queue;
pub mod safepoint;
pub mod schedulers;
pub mod timers;
mod wheel;

pub use clock::{Clock, WarpMode};
pub use dirty::{DirtyJob, DirtyKind};
pub use dispatcher::Dispatcher;
pub use local::Local;
pub use multi::{Block, MultiScheduling};
pub use platform::{Platform, Readiness, Threads};
pub use run_queue::{Load, RunQueue};
pub use schedulers::{Schedulers, current};
pub use timers::{Action, Destination, Timers};

/// What the layer above decides: the types of its processes, and of the jobs of dirty schedulers.
pub trait Runtime: myriad_process::Runtime + Sized {
    /// What a dirty scheduler does in one go.
    type DirtyJob: DirtyJob<Self>;
}

/// Reductions of one slice.
pub const SLICE_REDUCTIONS: i32 = 4000;

/// X registers: 1,024 of them, as the instruction set has.
pub const X_REGISTERS: usize = 1024;
