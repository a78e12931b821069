//! The back ends: what an atomic, a cell, a blocking lock and a thread are in this build.
//!
//! Each gives the same names: `atomic`, `cell`, `statics`, `locks`, `thread`, `prefetch`, `spin_loop`. `locks` holds locks without
//! classes; the modules above add order and profile.

#[cfg(loom)]
#[path = "model.rs"]
mod chosen;
#[cfg(all(not(loom), interleaved))]
#[path = "interleaved.rs"]
mod chosen;
#[cfg(all(not(any(loom, interleaved)), feature = "single"))]
#[path = "single.rs"]
mod chosen;
#[cfg(all(not(any(loom, interleaved)), feature = "sim"))]
#[path = "sim.rs"]
mod chosen;
#[cfg(all(not(any(loom, interleaved)), not(feature = "single"), not(feature = "sim")))]
#[path = "threads.rs"]
mod chosen;
#[cfg(all(not(any(loom, interleaved)), feature = "sim"))]
mod threads;
#[cfg(all(feature = "single", feature = "sim"))]
compile_error!("the sequential VM and the simulated machine are two back ends: `single` or `sim`");
#[cfg(any(all(loom, interleaved), all(interleaved, any(feature = "single", feature = "sim"))))]
compile_error!("one back end: `--cfg interleaved` goes with no other");

#[cfg(thread_sanitizer)]
mod seen_fence;

#[cfg(any(loom, not(feature = "single")))]
pub(crate) mod blocking;
#[cfg(any(loom, all(not(feature = "single"), not(target_os = "linux"))))]
pub(crate) mod blocking_mutex;
#[cfg(not(loom))]
pub mod plain_cell;
#[cfg(not(any(loom, interleaved, feature = "sim")))]
pub(crate) mod processor;
#[cfg(all(not(loom), feature = "single"))]
pub(crate) mod single_locks;

pub use chosen::{atomic, cell, statics, thread};
pub(crate) use chosen::{locks, prefetch, spin_loop};
