//! The system as a whole: what it says of itself, its flags and statistics, halting, other nodes, tracing.

mod allocators;
mod debug;
mod distribution;
mod flags;
mod halt;
mod info;
mod instrument;
mod locks;
mod monitoring;
mod state;
mod statistics;
mod topology;

pub use debug::{DEBUG, INTERNAL_DEBUG};
pub use distribution::{DISTRIBUTION, INTERNAL_DISTRIBUTION, NET_KERNEL};
pub use flags::{FLAGS, INTERNAL_FLAGS};
pub use halt::HALT;
pub use info::INFO;
pub use instrument::INSTRUMENT;
pub use locks::{LCNT, LOCKS};
pub use monitoring::MONITORING;
pub use state::SystemState;
pub use statistics::STATISTICS;

use myriad_term::{Term, am};
use myriad_vm::{BifResult, Ctx};

/// `badarg` with the cause `badopt`, as `error_info` says it.
pub(crate) fn bad_option(ctx: &mut Ctx<'_>) -> BifResult {
    ctx.error_with_cause(Term::atom(am::badarg), Term::atom(am::badopt))
}
