//! Tables as a crash dump and the break menu show them.

use crate::access::known_as;
use crate::registry::Registry;
use crate::table::{Kind, Protection, Table, WriteConcurrency};
use myriad_term::Arena;
use myriad_term::print::{atom_text, pid_text, text};
use myriad_vm::Vm;
use std::io::{self, Write};

/// Terms that a table's name may have.
const NAME_TERMS: usize = 100;

/// A section for each table.
pub fn tables(vm: &'static Vm, out: &mut dyn Write) -> io::Result<()> {
    Registry::of(vm).all().iter().enumerate().try_for_each(|(slot, table)| section(slot, table, out))
}

fn section(slot: usize, table: &myriad_sync::Arc<Table>, out: &mut dyn Write) -> io::Result<()> {
    let options = &table.options;
    let known_as = text(known_as(&mut &Arena::new(), table), NAME_TERMS);
    writeln!(out, "=ets:{}\nSlot: {slot}\nTable: {known_as}", pid_text(table.owner().term()))?;
    writeln!(out, "Name: {}", atom_text(table.name()))?;
    let kind = match options.kind {
        Kind::Set => "set",
        Kind::OrderedSet => "ordered_set",
        Kind::Bag => "bag",
        Kind::DuplicateBag => "duplicate_bag",
    };
    let protection = match table.protection() {
        Protection::OwnerState => "private",
        Protection::Protected => "protected",
        Protection::Public => "public",
    };
    let writers = match options.write_concurrency {
        WriteConcurrency::No => "false",
        WriteConcurrency::Auto => "auto",
        WriteConcurrency::Yes | WriteConcurrency::Shards(_) => "true",
    };
    writeln!(out, "Objects: {}\nWords: {}", table.len(), table.words())?;
    writeln!(out, "Type: {kind}\nProtection: {protection}\nCompressed: {}", options.compressed)?;
    writeln!(out, "Write Concurrency: {writers}\nRead Concurrency: {}", options.read_concurrency)
}
