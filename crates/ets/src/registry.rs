//! All tables: by identifier, by name, by owner, by who fixes them.
//!
//! An identifier is a magic reference that holds its table, so most operations need no look-up here. Names, and references
//! that came back from the external term format, are looked up in sharded maps.
//!
//! RG1. A live table is in `by_reference`, in its owner's list, and in `names` if it is a named one.
//! RG2. Lock order: process lists, then names or references, then a table's own locks.

use crate::table::Table;
use myriad_sync::{Arc, CachePadded, LazyLock, LockClass, Mutex, RwLock};
use myriad_term::{Atom, Pid, RefNumbers};
use std::collections::HashMap;

static PROCESS_CLASS: LockClass = LockClass::new("db_process", 705);
static NAME_CLASS: LockClass = LockClass::new("meta_name_tab", 711);
static REFERENCE_CLASS: LockClass = LockClass::new("db_tables", 712);

const SHARDS: usize = 64;

/// What the registry keeps for one process.
#[derive(Default)]
struct OfProcess {
    owned: Vec<Arc<Table>>,
    fixed: Vec<Arc<Table>>,
    super_user: bool,
}

type Names = RwLock<Vec<(Atom, Arc<Table>)>>;

type References = RwLock<HashMap<RefNumbers, Arc<Table>>>;
type Processes = Mutex<HashMap<Pid, OfProcess>>;

struct Registry {
    names: [CachePadded<Names>; 4 * SHARDS],
    references: [CachePadded<References>; SHARDS],
    processes: [CachePadded<Processes>; SHARDS],
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry {
    names: std::array::from_fn(|_| CachePadded::new(RwLock::new(&NAME_CLASS, Vec::new()))),
    references: std::array::from_fn(|_| CachePadded::new(RwLock::new(&REFERENCE_CLASS, HashMap::new()))),
    processes: std::array::from_fn(|_| CachePadded::new(Mutex::new(&PROCESS_CLASS, HashMap::new()))),
});

fn names(name: Atom) -> &'static Names {
    &REGISTRY.names[name.index() as usize % (4 * SHARDS)]
}

fn references(numbers: RefNumbers) -> &'static References {
    &REGISTRY.references[numbers.0[0] as usize % SHARDS]
}

fn processes(pid: Pid) -> &'static Processes {
    &REGISTRY.processes[pid.number() as usize % SHARDS]
}

/// The table of a name.
#[inline]
pub fn named(name: Atom) -> Option<Arc<Table>> {
    names(name).read().iter().find(|(n, _)| *n == name).map(|(_, t)| t.clone())
}

/// The table of an identifier without the table in it.
pub fn by_reference(numbers: RefNumbers) -> Option<Arc<Table>> {
    references(numbers).read().get(&numbers).cloned()
}

/// Gives a table a name; `false` if another has it.
pub fn register(name: Atom, table: &Arc<Table>) -> bool {
    let mut names = names(name).write();
    if names.iter().any(|(n, _)| *n == name) {
        return false;
    }
    names.push((name, table.clone()));
    true
}

/// Frees a name.
pub fn unregister(name: Atom, table: &Table) {
    names(name).write().retain(|(n, t)| *n != name || !std::ptr::eq(&**t, table));
}

/// Enters a new table.
pub fn enter(table: &Arc<Table>) {
    references(table.numbers).write().insert(table.numbers, table.clone());
    own(table.owner(), table);
}

/// Takes a deleted table out; its owner's list is left to [`disown`].
pub fn leave(table: &Table) {
    references(table.numbers).write().remove(&table.numbers);
    if table.options.named {
        unregister(table.name(), table);
    }
}

/// All tables.
pub fn all() -> Vec<Arc<Table>> {
    REGISTRY.references.iter().flat_map(|r| r.read().values().cloned().collect::<Vec<_>>()).collect()
}

/// How many tables there are.
pub fn count() -> usize {
    REGISTRY.references.iter().map(|r| r.read().len()).sum()
}

/// Notes that a process owns a table.
pub fn own(pid: Pid, table: &Arc<Table>) {
    processes(pid).lock().entry(pid).or_default().owned.push(table.clone());
}

/// Notes that a process no longer owns a table; `false` if it did not.
pub fn disown(pid: Pid, table: &Table) -> bool {
    change(pid, |of| take(&mut of.owned, table))
}

/// Notes that a process fixes a table.
pub fn fixes(pid: Pid, table: &Arc<Table>) {
    processes(pid).lock().entry(pid).or_default().fixed.push(table.clone());
}

/// Notes that a process no longer fixes a table.
pub fn unfixes(pid: Pid, table: &Table) {
    change(pid, |of| take(&mut of.fixed, table));
}

fn take(list: &mut Vec<Arc<Table>>, table: &Table) -> bool {
    match list.iter().position(|t| std::ptr::eq(&**t, table)) {
        Some(at) => {
            list.swap_remove(at);
            true
        }
        None => false,
    }
}

fn change(pid: Pid, f: impl FnOnce(&mut OfProcess) -> bool) -> bool {
    let mut processes = processes(pid).lock();
    let Some(of) = processes.get_mut(&pid) else { return false };
    let result = f(of);
    if of.owned.is_empty() && of.fixed.is_empty() && !of.super_user {
        processes.remove(&pid);
    }
    result
}

/// Takes out what a process fixes and owns.
pub fn ended(pid: Pid) -> Option<Ended> {
    processes(pid).lock().remove(&pid).map(|of| Ended { fixed: of.fixed, owned: of.owned })
}

/// What an ended process leaves.
pub struct Ended {
    /// Tables that it fixes.
    pub fixed: Vec<Arc<Table>>,
    /// Tables that it owns.
    pub owned: Vec<Arc<Table>>,
}

/// Lets a process use all tables, or no longer.
pub fn set_super_user(pid: Pid, on: bool) {
    if on {
        processes(pid).lock().entry(pid).or_default().super_user = true;
    } else {
        change(pid, |of| std::mem::replace(&mut of.super_user, false));
    }
}

/// May a process use all tables?
pub fn is_super_user(pid: Pid) -> bool {
    processes(pid).lock().get(&pid).is_some_and(|of| of.super_user)
}
