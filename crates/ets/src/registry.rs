//! All tables: by identifier, by name, by owner, by the processes that fix them.
//!
//! An identifier is a magic reference that holds its table, so most operations need no look-up here. References that came
//! back from the external term format are looked up in sharded maps. Names are looked up without a lock: a look-up
//! writes nothing that is shared.
//!
//! RG1. A live table is in `by_reference`, in its owner's list, and in `names` if it is a named one.
//! RG2. Lock order: process lists, then names or references, then a table's own locks.
//! RG3. An entry of a name is freed once every thread has made progress (`sync::rcu_table`), and who looks for a name is inside it. So
//!      what [`Registry::named`] gives stays until the thread's next quiescent point: for one call of a built-in.

use crate::table::Table;
use myriad_sync::{Arc, CachePadded, LockClass, Mutex, Progress, RcuTable, Retirer, RwLock};
use myriad_term::{Atom, Pid, RefNumbers};
use myriad_vm::Vm;
use myriad_vm::vm::TABLE_NAME_BUCKETS as NAME_BUCKETS;
use std::collections::HashMap;
use std::ptr;

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

/// A named table.
struct Named {
    /// The name it is known by here; the table's own changes before it leaves this one.
    name: Atom,
    table: Arc<Table>,
}

/// The names of one bucket.
type Names = RcuTable<Named>;

type References = RwLock<HashMap<RefNumbers, Arc<Table>>>;
type Processes = Mutex<HashMap<Pid, OfProcess>>;

/// The tables of a VM: by name, by identifier, and those that each process owns and fixes.
pub struct Registry {
    names: [Names; NAME_BUCKETS],
    references: [CachePadded<References>; SHARDS],
    processes: [CachePadded<Processes>; SHARDS],
}

impl Default for Registry {
    fn default() -> Registry {
        Registry {
            names: std::array::from_fn(|_| RcuTable::new(&NAME_CLASS)),
            references: std::array::from_fn(|_| CachePadded::new(RwLock::new(&REFERENCE_CLASS, HashMap::new()))),
            processes: std::array::from_fn(|_| CachePadded::new(Mutex::new(&PROCESS_CLASS, HashMap::new()))),
        }
    }
}

impl Registry {
    /// The registry of a VM.
    #[inline]
    pub fn of(vm: &Vm) -> &'static Registry {
        vm.part::<Registry>()
    }

    fn names_of(&self, name: Atom) -> &Names {
        &self.names[name.index() as usize % NAME_BUCKETS]
    }

    fn references_of(&self, numbers: RefNumbers) -> &References {
        &self.references[numbers.0[0] as usize % SHARDS]
    }

    fn processes_of(&self, pid: Pid) -> &Processes {
        &self.processes[pid.number() as usize % SHARDS]
    }

    /// The table of a name: good until this thread's next quiescent point (RG3).
    #[inline]
    pub fn named(&self, name: Atom) -> Option<*const Arc<Table>> {
        // SAFETY: RG3: who looks is inside thread progress.
        unsafe { self.names_of(name).find(hash(name), |named| named.name == name) }.map(|named| &raw const named.table)
    }

    /// The table of an identifier without the table in it.
    pub fn by_reference(&self, numbers: RefNumbers) -> Option<Arc<Table>> {
        self.references_of(numbers).read().get(&numbers).cloned()
    }

    /// Gives a table a name; `false` if another has it.
    pub fn register(&self, name: Atom, table: &Arc<Table>, progress: &Progress) -> bool {
        debug_assert!(table.options.named, "RG1: only a named table is known by its name");
        let mut names = self.names_of(name).write();
        if names.find(hash(name), |named| named.name == name).is_some() {
            return false;
        }
        names.add(hash(name), Named { name, table: table.clone() }, Retirer::Other(progress));
        true
    }

    /// Frees a name.
    pub fn unregister(&self, name: Atom, table: &Table, progress: &Progress) {
        let is_it = |named: &Named| named.name == name && ptr::eq(&*named.table, table);
        let unlinked = self.names_of(name).write().remove(hash(name), is_it);
        if let Some(named) = unlinked {
            named.retire(Retirer::Other(progress));
        }
    }

    /// Enters a new table.
    pub fn enter(&self, table: &Arc<Table>) {
        let other = self.references_of(table.numbers).write().insert(table.numbers, table.clone());
        debug_assert!(other.is_none(), "RG1: two tables have one identifier");
        self.own(table.owner(), table);
    }

    /// Takes a deleted table out; its owner's list is left to [`Self::disown`].
    pub fn leave(&self, table: &Table, progress: &Progress) {
        debug_assert!(table.is_deleted(), "RG1: a live table stays");
        let left = self.references_of(table.numbers).write().remove(&table.numbers);
        debug_assert!(left.is_some_and(|left| ptr::eq(&*left, table)), "RG1: a table leaves once");
        if table.options.named {
            self.unregister(table.name(), table, progress);
        }
    }

    /// All tables.
    pub fn all(&self) -> Vec<Arc<Table>> {
        self.references.iter().flat_map(|r| r.read().values().cloned().collect::<Vec<_>>()).collect()
    }

    /// How many tables there are.
    pub fn count(&self) -> usize {
        self.references.iter().map(|r| r.read().len()).sum()
    }

    /// Notes that a process owns a table.
    pub fn own(&self, pid: Pid, table: &Arc<Table>) {
        self.processes_of(pid).lock().entry(pid).or_default().owned.push(table.clone());
    }

    /// Notes that a process no longer owns a table; `false` if it did not.
    pub fn disown(&self, pid: Pid, table: &Table) -> bool {
        self.change(pid, |of| take(&mut of.owned, table))
    }

    /// Notes that a process fixes a table.
    pub fn fixes(&self, pid: Pid, table: &Arc<Table>) {
        self.processes_of(pid).lock().entry(pid).or_default().fixed.push(table.clone());
    }

    /// Notes that a process no longer fixes a table.
    pub fn unfixes(&self, pid: Pid, table: &Table) {
        self.change(pid, |of| take(&mut of.fixed, table));
    }

    fn change(&self, pid: Pid, f: impl FnOnce(&mut OfProcess) -> bool) -> bool {
        let mut processes = self.processes_of(pid).lock();
        let Some(of) = processes.get_mut(&pid) else { return false };
        debug_assert!(!of.owned.is_empty() || !of.fixed.is_empty() || of.super_user, "nothing is kept for it");
        let result = f(of);
        if of.owned.is_empty() && of.fixed.is_empty() && !of.super_user {
            processes.remove(&pid);
        }
        result
    }

    /// Takes out what a process fixes and owns.
    pub fn ended(&self, pid: Pid) -> Option<Ended> {
        self.processes_of(pid).lock().remove(&pid).map(|of| Ended { fixed: of.fixed, owned: of.owned })
    }

    /// Lets a process use all tables, or no longer.
    pub fn set_super_user(&self, pid: Pid, on: bool) {
        if on {
            self.processes_of(pid).lock().entry(pid).or_default().super_user = true;
        } else {
            self.change(pid, |of| std::mem::replace(&mut of.super_user, false));
        }
    }

    /// May a process use all tables?
    pub fn is_super_user(&self, pid: Pid) -> bool {
        self.processes_of(pid).lock().get(&pid).is_some_and(|of| of.super_user)
    }
}

fn hash(name: Atom) -> u64 {
    name.index().into()
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

/// What an ended process leaves.
pub struct Ended {
    /// Tables that it fixes.
    pub fixed: Vec<Arc<Table>>,
    /// Tables that it owns.
    pub owned: Vec<Arc<Table>>,
}
