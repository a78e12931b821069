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
//! | `live.rs` | which registers are live where |

mod builder;
mod compile;
mod jit;
mod live;
mod name;
mod translate;
mod workers;

pub use compile::Why;
pub use jit::Jit;
