//! The targets.

mod calls;
mod dialect;
mod dumps;
mod loader;
mod packets;
mod patterns;
mod process;
mod specs;
mod streams;
mod terms;

pub use calls::bif_call;
pub use dialect::pcre_dialect;
pub use dumps::crash_dump;
pub use loader::beam_load;
pub use packets::{framing, packet};
pub use patterns::regex;
pub use specs::match_spec;
pub use streams::inflate;
pub use terms::term_decode;
