//! What tables and compiled specifications hold, for [`myriad_vm::heap_walk`].

use crate::registry::Registry;
use crate::row::Row;
use crate::spec::Compiled;
use crate::store::{Rows, on_store};
use crate::table::{Heir, Table};
use myriad_sync::Arc;
use myriad_term::{Boxed, Magic};
use myriad_vm::heap_walk::{Holder, Place, Visit};

/// The objects of all tables.
pub fn tables(registry: &Registry, visit: Visit<'_>) {
    for table in registry.all() {
        let options = &table.options;
        let holder = if options.named { Holder::NamedTable(table.name()) } else { Holder::Table(table.numbers) };
        rows(&table, &mut |object| visit(holder, Place::Row, object));
        if let Heir::Process(_, data) = &*table.heir.lock()
            && let Some(data) = data.memory()
        {
            data.each_object(|object| visit(holder, Place::Row, object));
        }
    }
}

/// Hidden rows too: they are there until the table is no longer fixed.
fn rows(table: &Table, visit: &mut dyn FnMut(Boxed)) {
    let mut each = |row: Row<'_>| row.each_object(table.options.keypos, visit);
    on_store!(&table.store, rows => rows.each(table, None, &mut each));
}

/// The objects of a compiled specification.
pub fn specification(magic: &Magic, visit: Visit<'_>) {
    if let Some(Compiled(spec)) = magic.get() {
        let holder = Holder::Specification(Arc::as_ptr(spec) as usize);
        spec.each_object(|object| visit(holder, Place::Specification, object));
    }
}
