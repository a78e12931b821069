//! Scheduling: which runnable process goes to which scheduler, and when; timers, clocks and the platform below them.
//!
//! Above `process` in the crate order (docs/architecture.md). Nothing here runs a process: crate `vm` takes one from a [`Dispatcher`],
//! runs a slice of it and says what became of it. So the policy can be driven by threads, by a test driver from a seed, and by a simulator.
//!
//! | module | holds |
//! | --- | --- |
//! | [`pace`] | whether slices run to their ends or, in a simulator, in pieces |
//! | [`platform`] | time, randomness and parking: the only way to them, so that a seed can stand in |
//! | [`run_queue`], `queues`, `private` | the run queue of one scheduler |
//! | [`jobs`] | what schedulers run beside processes |
//! | [`load`] | what a scheduler has done |
//! | [`places`] | which schedulers are near each other |
//! | [`schedulers`] | all of them: where a process that becomes runnable goes, and which scheduler is woken for it |
//! | [`dispatcher`] | what one scheduler does between two slices: picking, stealing, balancing, searching, parking |
//! | [`current`](mod@current) | which scheduler a thread acts for |
//! | [`local`] | the scheduler's own state, which running code sees |
//! | `asking` | schedulers without work that ask a process for a part of its own |
//! | `books`, `balance`, `balancing` | what each has done in a period, and what follows from it for the next one |
//! | [`r13b04`], `past` | OTP R13B04's way of sharing work, for the simulator |
//! | [`dirty`] | the pools of dirty schedulers |
//! | `wake_places` | on which processors threads wake |
//! | `lookout` | what is done for a scheduler that does not get on |
//! | [`tuning`] | what the command line says of all that |
//! | `private_threads`, `seats`, `nice` | threads of the operating system that serve one process each |
//! | [`multi`] | how many schedulers are online and active |
//! | [`safepoint`] | stopping the world |
//! | [`timers`], `wheel` | what happens at a given time |
//! | [`clock`] | monotonic time, system time and the offset between them |
//! | [`microstate`] | what each thread spends its time on |
//!
//! # One scheduler
//!
//! ```text
//!            +-------------------------- runs a slice, again and again -----------------------------+
//!            v                                                                                      |
//!   Working: pick: own queue, else steal half of a queue that offers some ---- a process -----------+
//!            | nothing                                          ^
//!            v                                                  | found work
//!   Searching: one scheduler at a time, for 20 us --------------+
//!            | time over, or another one searches already       |
//!            v                                                  |
//!   Announced: in the idle set; looks at the queues; -----------+
//!            | goes offline in thread progress; looks again     |
//!            v nothing                                          |
//!   Parked: until it is woken, a timer is due, or an event comes+
//! ```
//!
//! Each step begins with a quiescent state for thread progress (`Local::quiescent`), and between two steps a scheduler stops at
//! a safepoint if one is requested ([`safepoint`]). Timers are fired, and lengths of queues compared, when the reductions of about a
//! slice have been run since the last time, not at each step. A scheduler that is not active (it is not online, or
//! multi-scheduling is blocked) runs nothing: it fires timers and passes on what comes to its queue.
//!
//! # Where a process goes
//!
//! | it became runnable | its queue | a scheduler is woken |
//! | --- | --- | --- |
//! | its slice is over | that of the scheduler it ran on | an idle one, if others have waited there for about a slice |
//! | a signal came, its home is awake | its home's: its heap is in that core's cache | an idle one, if that queue offers any |
//! | a signal came, its home is idle | the waker's | as above, so none for this process alone |
//! | it was spawned | its parent's, which is its home | as above |
//! | a thread that is no scheduler woke it | its home's | its home if that is idle, else as above |
//! | it is bound to an active scheduler | that scheduler's | that one if it is idle, else as above |
//! | it has a private thread | that thread's, unless multi-scheduling is blocked | none; that thread is |
//!
//! What the process that runs has woken, if that is one, stands in a place of its own, the worker cache, and has the core next if that process
//! waits then (sched.run_queue/R6).
//!
//! A queue offers what its scheduler does not run next: two processes or more, one of which at least is bound to no scheduler. What a
//! scheduler puts in its own queue, and takes from there, mostly needs no lock: others reach a part of the queue only ([`run_queue`]).
//!
//! From there it migrates: a scheduler without work steals half of a queue, and where all work, processes go from long queues to short ones on
//! paths that are reckoned once a period ([`Dispatcher::balance`], `books`), so that they get like shares when no scheduler is ever idle. When
//! little is done fewer schedulers are active, and all processes are on those, and all ports: what several schedulers wake and sleep for all the time, one
//! does for much less. One more is active again when more waits than is soon done, or one has worked on for about 32 slices while others wait.
//!
//! # What always holds
//!
//! Q1. What waits in a queue has the status `Runnable` (process/P1), so a queue's pointers are alive: only running ends a process.
//! Q2. No process that any scheduler may run waits for long beside an idle scheduler (one that is not active is none). A scheduler that is about to park enters the
//!     idle set before it looks at the queues a last time; a thread that enqueues a process looks at the set afterwards. A scheduler
//!     that has searched looks again when its search is over, and wakes another if there is more than it takes; so does one that was
//!     woken and takes other work, or is active no more.
//!     ([`myriad_sync::IdleSet`] has the protocol with its orderings.) When the number of active schedulers changes, all are woken.
//! Q3. A scheduler whose queue is not empty is awake, or has been woken. So a single process in another's queue is no reason to
//!     stay awake: it is nearly always in a dialogue with the process that runs there, and wants that core.
//!
//! Q4. A queue of which something is shared that any scheduler may take is advertised ([`myriad_sync::Adverts`]), from the fence on that
//!     follows its sharing: thieves look at advertised queues alone.
//!
//! The idle set orders all looks at queues that matter, and the lock of a queue's shared part orders what is in that; lengths and figures
//! that are read without the lock are Relaxed (sched.run_queue/R1).
//!
//! A scheduler goes offline in thread progress after its last look, and that may run work which makes processes runnable in its own
//! queue, unseen by any other thread. So it looks a second time, and stays awake if it finds one.
//!
//! # What was not done
//!
//! - *One queue for all*: its lock and its line would be everybody's, in each slice.
//! - *A Chase-Lev deque for each scheduler*, or Go's ring. The first gives its owner the newest and a thief the oldest; here the owner
//!   must take the oldest, by four priorities, and processes move up within a queue ([`Schedulers::promote`]). In both, each take of the
//!   owner's has a fence or a locked instruction, since a thief may want the same process.
//! - *Nothing shared until somebody asks* (Acar et al., Scheduling parallel programs by work stealing with private deques, 2013). Who asks
//!   would wait for the end of a slice, and a core that the system has stopped would keep all that waits for it.
//! - *An idle scheduler woken for each process that becomes runnable.* A dialogue of two processes would move between two cores with
//!   each message, and pay for a wake-up each time (Q3).
//! - *What events bring beside an idle scheduler runs here for 50 us first.* On two processors that the clients share, at 32 and 64
//!   connections, neither the processor time nor the 99th percentile of the answers' times was better than with a wake-up at once, beyond the spread.
//! - *Balancing by a thread of its own*, which would have to be woken while all is idle.

mod asking;
mod balance;
mod balancing;
pub mod binding;
pub(crate) mod books;
pub mod clock;
pub mod current;
pub mod dirty;
pub mod dispatcher;
#[cfg(all(test, interleaved))]
mod interleave_tests;
pub mod jobs;
pub mod load;
pub mod local;
mod lookout;
pub mod microstate;
pub mod multi;
mod nice;
pub mod pace;
mod past;
pub mod places;
pub mod platform;
mod private;
mod private_threads;
pub(crate) mod queues;
pub mod r13b04;
mod registers;
pub mod run_queue;
pub mod safepoint;
pub mod schedulers;
mod seats;
pub mod timers;
pub mod tuning;
mod wake_places;
mod wheel;

pub use binding::Binding;
pub use clock::{Clock, WarpMode};
pub use current::{current, leave_scheduler};
pub use dirty::{DirtyJob, DirtyKind};
pub use dispatcher::{Dispatcher, Look, Search};
pub use jobs::Job;
pub use load::Load;
pub use local::Local;
pub use multi::{Block, MultiScheduling};
pub use nice::give_way;
pub use pace::Pace;
pub use places::Places;
pub use platform::{IoTurns, Platform, Readiness, Threads};
pub use registers::RegisterBlock;
pub use run_queue::RunQueue;
pub use schedulers::Schedulers;
pub use timers::{Action, Destination, Timers};
pub use tuning::Tuning;

/// What the layer above decides: the types of its processes, and of the jobs of dirty schedulers.
pub trait Runtime: myriad_process::Runtime + Sized {
    /// What a dirty scheduler does in one go.
    type DirtyJob: DirtyJob<Self>;
}

/// Reductions of one slice.
pub const SLICE_REDUCTIONS: i32 = 4000;

/// What a slice costs apart from its reductions, in reductions.
pub const SLICE_OVERHEAD: u32 = 100;

/// X registers: 1,024 of them, as the instruction set has.
pub const X_REGISTERS: usize = 1024;
