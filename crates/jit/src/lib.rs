//! Machine code for Erlang functions (tier 1).
//!
//! | file | holds |
//! | --- | --- |
//! | `jit.rs` | which functions are compiled, and when |
//! | `workers.rs` | threads that compile, and what waits for them |
//! | `compile.rs` | a function from its instructions to published machine code |
//! | `translate.rs` | from generic instructions to a form ([`myriad_native::form`]), with `translate/` by kinds of instructions |
//! | `builder.rs` | a form while it is made |
//! | `name.rs` | names of the words that differ from run to run, and their values |
//! | `outline.rs` | a compiled function, as it is the same in each run |
//! | `ahead.rs` | compiling a module before it runs |
//! | `cache.rs` | compiled functions on disk, with `cache/` by file format, directory and key |
//! | `live.rs` | which registers are live where |
//! | `views.rs` | what is to be seen of it: counts (`counters.rs`, `reason.rs`), files for profilers, listings (`listing.rs`) |

mod ahead;
mod builder;
mod cache;
mod compile;
mod counters;
mod jit;
pub mod listing;
mod live;
mod name;
mod outline;
mod reason;
mod translate;
mod views;
mod workers;

pub use ahead::{Ahead, compile_ahead};
pub use cache::{Cache, Written};
pub use compile::Why;
pub use counters::Counted;
pub use jit::{Jit, Seen};
pub use reason::{Kind, REASONS};
