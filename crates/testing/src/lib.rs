//! What tests of several crates share: random numbers that follow from a seed and, with feature `vm`, a VM to call built-ins on.
//!
//! Crates of the VM have it as a dependency of their tests alone (`tidy` sees to it); the fuzz targets use it, too.
//!
//! Who can use the test VM: the crates above `trace`, and integration tests of any crate. The unit tests of a crate that the test VM is
//! made of cannot: Cargo builds such a crate once for its unit tests and once for this one, and the two have different types. So three
//! things remain where they are: the engine that runs nothing of `vm::code`'s tests (`vm/src/code/test_support.rs`), the world of
//! `vm`'s simulated schedulers (`vm/src/sim_test/world.rs`), and the shapes of terms that the property tests of `term` draw and build
//! (`term/src/test_terms.rs`).

mod random;
#[cfg(feature = "vm")]
mod vm;

pub use random::Random;
#[cfg(feature = "vm")]
pub use vm::{NoEngine, TestProcess, call, in_process, text, vm};
