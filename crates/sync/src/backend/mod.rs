//! The back ends: what an atomic, a cell, a blocking lock and a thread are in this build.
//!
//! Each gives the same five names: `atomic`, `cell`, `statics`, `locks`, `thread`. `locks` holds locks without
//! classes; the modules above add order and profile. The fourth planned back end, costed for the simulator,
//! will be one more line here.

#[cfg(loom)]
#[path = "model.rs"]
mod chosen;
#[cfg(all(not(loom), feature = "single"))]
#[path = "single.rs"]
mod chosen;
#[cfg(all(not(loom), not(feature = "single")))]
#[path = "threads.rs"]
mod chosen;

#[cfg(any(loom, not(feature = "single")))]
pub(crate) mod blocking;
#[cfg(any(loom, all(not(feature = "single"), not(target_os = "linux"))))]
pub(crate) mod blocking_mutex;
#[cfg(not(loom))]
pub mod plain_cell;
#[cfg(all(not(loom), feature = "single"))]
pub(crate) mod single_locks;

pub use chosen::{atomic, cell, statics, thread};
pub(crate) use chosen::{locks, spin_loop};
