//! Tracers, as they are kept: a pid, a port, or the number, a small integer, of a tracer module with its state. So one immediate word is
//! enough wherever a tracer is named, and any thread may read it at any time.
//!
//! TN1. Equal modules and states have one number as long as it is in the table; no number is used again.
//! TN2. What nobody names any more is swept from the table when that has grown to twice what it was after the sweep before. Named is what a
//!      process, a port or the sequential tracing has ([`crate::naming`]), and what somebody holds ([`Interned`]). A number that is not
//!      there is a tracer that has ended, so a frame on a stack may keep one.

use crate::module::{Behind, ModuleTracer};
use myriad_process::Payload;
use myriad_sync::{Arc, LockClass, RwLock};
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;
use myriad_term::{Atom, Term, TermRef};
use std::collections::{HashMap, HashSet};

static CLASS: LockClass = LockClass::new("tracer_modules", 731);

/// The tracer modules that are named, with their states.
pub struct Tracers {
    table: RwLock<Table>,
    behind: Behind,
}

#[derive(Default)]
struct Table {
    tracers: HashMap<i64, Arc<ModuleTracer>>,
    /// The numbers of those whose module and state have this hash.
    numbers: HashMap<u32, Vec<i64>>,
    last: i64,
    /// How many there may be before the next sweep.
    limit: usize,
}

/// So many may always be there (TN2).
const FEW: usize = 64;

impl Table {
    fn is_full(&self) -> bool {
        self.tracers.len() >= self.limit.max(FEW)
    }

    fn add(&mut self, hash: u32, tracer: Arc<ModuleTracer>) -> (i64, Arc<ModuleTracer>) {
        self.last += 1;
        self.tracers.insert(self.last, tracer.clone());
        self.numbers.entry(hash).or_default().push(self.last);
        (self.last, tracer)
    }

    fn find(&self, hash: u32, module: Atom, state: TermRef<'_>) -> Option<(i64, Arc<ModuleTracer>)> {
        let mut numbers = self.numbers.get(&hash)?.iter();
        numbers.find_map(|number| {
            let tracer = self.tracers.get(number)?;
            let same = tracer.module() == module && eq_exact(tracer.state(), state);
            same.then(|| (*number, tracer.clone()))
        })
    }

    /// Takes out all that is not in `named` and that nobody holds (TN2).
    #[must_use = "a state may hold objects of libraries, whose destructors run outside locks"]
    fn sweep(&mut self, named: &HashSet<i64>) -> Vec<Arc<ModuleTracer>> {
        let is_needed = |number: &i64, tracer: &Arc<_>| named.contains(number) || Arc::strong_count(tracer) > 1;
        let swept = self.tracers.extract_if(|number, tracer| !is_needed(number, tracer)).map(|(_, tracer)| tracer);
        let swept = swept.collect();
        self.numbers.retain(|_, numbers| {
            numbers.retain(|number| self.tracers.contains_key(number));
            !numbers.is_empty()
        });
        self.limit = FEW.max(2 * self.tracers.len());
        swept
    }
}

/// A tracer that somebody is about to name, or names: as long as this is there, its number is.
#[derive(Clone)]
pub struct Interned {
    word: Term,
    _held: Option<Arc<ModuleTracer>>,
}

impl Interned {
    /// A process of this node or a port, living or not.
    pub fn one(term: TermRef<'_>) -> Option<Interned> {
        let fits = term.as_local_pid().is_some() || term.as_local_port().is_some();
        term.as_immediate().filter(|_| fits).map(|word| Interned { word, _held: None })
    }

    /// Its word.
    pub fn word(&self) -> Term {
        self.word
    }
}

impl Tracers {
    /// None.
    pub fn new(behind: Behind) -> Tracers {
        Tracers { table: RwLock::new(&CLASS, Table::default()), behind }
    }

    /// The module and state of a tracer's word; none if it is a process or port, or has ended.
    pub fn get(&self, tracer: Term) -> Option<Arc<ModuleTracer>> {
        let number = tracer.as_small()?;
        self.table.read().tracers.get(&number).cloned()
    }

    /// A module with its state; nothing if it is no tracer module now.
    pub(crate) fn intern(&self, module: Atom, state: TermRef<'_>) -> Option<Interned> {
        let hash = internal_hash(state, module.term().raw() as u32);
        let found = self.table.read().find(hash, module, state);
        let (number, tracer) = match found {
            Some(found) => found,
            None => {
                let new = Arc::new(ModuleTracer::new(module, Payload::whole(state), self.behind));
                if !new.is_complete() {
                    return None;
                }
                let mut table = self.table.write();
                table.find(hash, module, state).unwrap_or_else(|| table.add(hash, new))
            }
        };
        tracer.is_complete().then(|| Interned { word: Term::small(number), _held: Some(tracer) })
    }

    /// Is it time to sweep (TN2)?
    pub(crate) fn is_full(&self) -> bool {
        self.table.read().is_full()
    }

    /// Takes out what is neither in `named` nor held, to be dropped where no lock is held.
    pub(crate) fn sweep(&self, named: &HashSet<i64>) -> Vec<Arc<ModuleTracer>> {
        let mut table = self.table.write();
        if table.is_full() { table.sweep(named) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::am;

    fn add(table: &mut Table, state: i64) -> (i64, Arc<ModuleTracer>) {
        let state = Payload::immediate(Term::small(state));
        table.add(7, Arc::new(ModuleTracer::new(am::erl_tracer, state, |function| function)))
    }

    #[test]
    fn a_sweep_leaves_what_is_named_or_held() {
        let mut table = Table::default();
        let named = add(&mut table, 1).0;
        let (held, _held) = add(&mut table, 2);
        let lost = add(&mut table, 3).0;
        assert_eq!(table.sweep(&HashSet::from([named])).len(), 1);
        let left: Vec<bool> = [named, held, lost].iter().map(|number| table.tracers.contains_key(number)).collect();
        assert_eq!(left, [true, true, false]);
        assert_eq!(table.find(7, am::erl_tracer, Term::small(2)).map(|(number, _)| number), Some(held));
        assert!(table.find(7, am::erl_tracer, Term::small(3)).is_none());
        drop(table.sweep(&HashSet::new()));
        assert_eq!((table.tracers.len(), table.numbers.len(), table.limit), (1, 1, FEW));
    }
}
