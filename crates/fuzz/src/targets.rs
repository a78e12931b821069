//! The targets.

mod calls;
mod dialect;
mod dumps;
mod isolation;
mod loader;
mod packets;
mod patterns;
mod process;
mod requests;
mod socket_calls;
mod specs;
mod streams;
mod terms;
mod world;

pub use calls::bif_call;
pub use dialect::pcre_dialect;
pub use dumps::crash_dump;
pub use loader::beam_load;
pub use packets::{framing, packet};
pub use patterns::regex;
pub use requests::inet;
pub use socket_calls::socket_call;
pub use specs::match_spec;
pub use streams::inflate;
pub use terms::term_decode;
