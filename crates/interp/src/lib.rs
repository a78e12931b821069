//! Tier 0: decodes functions when they are first called, and interprets them.
//!
//! Above `vm` and `beam` in the crate order (docs/map.md); implements [`myriad_vm::engine::Engine`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`instr`] | the instruction set, stated once |
//! | [`decode`] | generic instructions to tier-0 code |
//! | [`code`] | decoded functions; from an address to its function and line |
//! | [`run`] | the instruction loop |
//! | [`machine`] | the state of one slice |
//! | [`calls`], [`bifs`], [`errors`], [`receive`], [`guards`], [`maps`], [`matching`], [`building`] | instructions out of line |
//! | [`bits`] | runs of bits |

pub mod bifs;
pub mod bits;
pub mod building;
pub mod calls;
pub mod code;
pub mod decode;
pub mod disasm;
mod engine;
pub mod errors;
pub mod guards;
pub mod instr;
pub mod machine;
pub mod maps;
pub mod matching;
pub mod receive;
mod report;
pub mod run;
pub mod stubs;

pub use engine::Interpreter;
