//! Tables and match specifications.
//!
//! | module | holds |
//! | --- | --- |
//! | [`row`] | one object, in a block of its own, packed in compressed tables; copying in and out |
//! | [`hash`] over [`buckets`], [`tree`] | rows by key: linear hashing, B-tree |
//! | [`ordered`] | a B-tree behind its lock |
//! | [`trees`], [`one_tree`], [`adapting`] with [`routes`] | what an ordered set asks of its trees; how one does it, and several do |
//! | [`store`], [`shards`], [`ordered_rows`] | what operations ask of a store of rows; how the two kinds do it |
//! | [`shard_map`], [`strain`] | the shards of a hash table, and when there become more of them |
//! | [`deferred_free`] | what becomes of what leaves a hash table |
//! | [`cursor`] | steps through an ordered set without a search |
//! | [`table`], [`registry`] | a table with its locks; all tables |
//! | [`access`] | from an argument to a table; errors |
//! | [`spec`] | match specifications |
//! | [`select`], [`alter`], [`specs`] | built-ins with specifications |
//! | [`dump`], [`heap_walk`] | tables as a crash dump shows them; all objects in them |
//! | [`ops`], [`walk`], [`counter`], [`admin`], [`info`] | built-ins by key, by order, on counters, on tables as a whole |

pub mod access;
mod adapting;
mod admin;
mod alter;
pub mod buckets;
mod counter;
mod cursor;
mod deferred_free;
pub mod dump;
pub mod hash;
mod heap_walk;
mod info;
#[cfg(test)]
mod linear;
mod one_tree;
mod ops;
pub mod ordered;
mod ordered_rows;
pub mod registry;
pub mod routes;
pub mod row;
mod select;
pub mod shard_map;
mod shards;
pub mod spec;
mod specs;
pub mod store;
pub mod strain;
#[cfg(test)]
mod stress;
pub mod table;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod trees;
mod walk;

use myriad_term::{Magic, Term};
use myriad_vm::bif::Resumption;
use myriad_vm::heap_walk::Visit;
use myriad_vm::subsystem::{Part, Statistic, Subsystem};
use myriad_vm::{BifDef, Ctx, Vm};
use registry::Registry;
use std::io::{self, Write};

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

/// The tables of a VM.
#[derive(Default)]
pub struct Tables {
    registry: Registry,
}

impl Subsystem for Tables {
    fn parts(&'static self) -> Vec<Part> {
        vec![&self.registry]
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        TABLES
    }

    fn start(&'static self, _: &'static Vm) -> Result<(), String> {
        // Asked for while there is one thread (ets/TB5).
        myriad_sync::biased_lock::asymmetric::works();
        Ok(())
    }

    fn process_exits(&self, ctx: &mut Ctx<'_>) -> Option<Resumption> {
        admin::process_exits(ctx)
    }

    fn each_object(&self, visit: Visit<'_>) {
        heap_walk::tables(&self.registry, visit);
    }

    fn each_object_of(&self, magic: &Magic, visit: Visit<'_>) {
        heap_walk::specification(magic, visit);
    }

    fn dump(&self, vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
        dump::tables(vm, out)
    }

    fn locks(&self) -> Vec<(usize, Term)> {
        let of = |table: &table::Table| {
            table.locks().into_iter().map(|lock| (lock, Term::atom(table.name()))).collect::<Vec<_>>()
        };
        self.registry.all().iter().flat_map(|table| of(table)).collect()
    }

    fn statistic(&self, which: Statistic) -> usize {
        match which {
            Statistic::Tables => self.registry.count(),
            Statistic::TableBytes => self.registry.all().iter().map(|table| table.words() * 8).sum(),
            Statistic::TableBlocks => self.registry.all().iter().map(|table| 1 + table.len()).sum(),
            _ => 0,
        }
    }
}
