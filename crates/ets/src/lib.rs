//! Tables and match specifications.
//!
//! | module | holds |
//! | --- | --- |
//! | [`row`] | one object, in a block of its own, packed in compressed tables; copying in and out |
//! | [`hash`], [`tree`] | rows by key: linear hashing, B-tree |
//! | [`ordered`] | the B-tree behind its lock |
//! | [`disposal`] | what becomes of what leaves a hash table |
//! | [`cursor`] | steps through an ordered set without a search |
//! | [`table`], [`registry`] | a table with its locks; all tables |
//! | [`access`] | from an argument to a table; errors |
//! | [`spec`] | match specifications |
//! | [`select`], [`alter`], [`specs`] | built-ins with specifications |
//! | [`dump`], [`census`] | tables as a crash dump shows them; all objects in them |
//! | [`ops`], [`walk`], [`counter`], [`admin`], [`info`] | built-ins by key, by order, on counters, on tables as a whole |

pub mod access;
mod admin;
mod alter;
mod census;
mod counter;
mod cursor;
mod disposal;
pub mod dump;
pub mod hash;
mod info;
mod ops;
pub mod ordered;
pub mod registry;
pub mod row;
mod select;
pub mod spec;
mod specs;
#[cfg(test)]
mod stress;
pub mod table;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
pub mod tree;
mod walk;

use myriad_vm::{BifDef, Vm};

pub use admin::process_exits;
pub use spec::trace::compile as compile_for_tracing;

/// All tables of built-ins of this crate.
pub static TABLES: &[&[BifDef]] = &[
    ops::ROWS,
    walk::WALK,
    walk::RAW,
    counter::COUNTERS,
    admin::ADMIN,
    admin::INTERNAL,
    info::INFO,
    info::BINARIES,
    select::SELECT,
    alter::ALTER,
    specs::SPECS,
    specs::TEST,
];

/// Gives the VM its figures of tables.
pub fn start(vm: &Vm) {
    // Asked for while there is one thread (TB5).
    myriad_sync::bias::asymmetric::works();
    vm.holds(census::HOLDINGS);
    vm.gauges.ets_tables.reckon_by(registry::count);
    vm.gauges.ets_bytes.reckon_by(|| registry::all().iter().map(|t| t.words() * 8).sum());
    vm.gauges.ets_blocks.reckon_by(|| registry::all().iter().map(|t| 1 + t.len()).sum());
}
