//! Tier 0: decodes functions when they are first called, and interprets them.
//!
//! Above `vm` and `beam` in the crate order (docs/architecture.md); implements [`myriad_vm::engine::Engine`].
//!
//! | module | holds |
//! | --- | --- |
//! | `instr` | the instruction set, stated once |
//! | [`decode`] | generic instructions to tier-0 code |
//! | [`code`] | decoded functions; from an address to its function and line |
//! | `run` | the instruction loop |
//! | `machine` | the state of one slice |
//! | `calls`, `bifs`, `errors`, `receive`, `guards`, `maps`, `matching`, `building`, `loop_intrinsics` | instructions out of line |
//! | `hidden` | what a process has beside X and Y registers between two instructions |
//! | `stack` | walks of a stack, and the places its return points stand for |
//! | `stubs` | code that belongs to no function |
//! | `trace` | breakpoints, and the frames of traced calls |
//! | `saving` | noting calls for `save_calls` |
//! | `sending` | sends of messages that are on top of the heap |
//! | `shapes` | key tuples of maps that code makes |
//! | [`leaves`] | what machine code calls and what lets registers live |
//! | `bits` | runs of bits |
//! | `verdict` | why a function has no machine code |
//! | `costs` | what kind of work an instruction is, for the simulator |

#![allow(
    clippy::missing_safety_doc,
    reason = "the instructions' functions have one contract, stated at `machine::SlowOp`"
)]

mod bifs;
mod bits;
mod building;
mod calls;
pub mod code;
mod costs;
pub mod decode;
pub mod disasm;
mod engine;
mod errors;
mod guards;
mod hidden;
mod instr;
pub mod leaves;
mod loop_intrinsics;
mod machine;
mod maps;
mod matching;
mod parallel;
mod receive;
mod run;
mod saving;
mod sending;
mod shapes;
mod stack;
mod stubs;
pub mod tiers;
mod trace;
pub mod verdict;

pub use bits::{SIGNED, is_little};
pub use engine::Interpreter;
