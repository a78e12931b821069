//! The code server: which versions of which modules are loaded, and the switch from one to the next.
//!
//! A module has at most two versions, current and old, and perhaps a third one whose on_load function has not finished. All
//! changes happen under one lock, the code write permission. Exports and fun entries are switched one by one with Release
//! stores, after all that they lead to has been written, so a running process sees each either as it was or as it will be.
//!
//! V1. An export leads to the current version of its module, or to its undefined function; a fun entry to a version that is
//!     current, old or in on_load, or nowhere.
//! V2. A version is freed by `purge.rs` alone, after thread progress. So what is read here without the lock stays readable
//!     until the reader's next quiescent point, that is, for the rest of a slice.

use super::purge::Purge;
use super::{Function, Module, PreparedCode};
use myriad_sync::atomic::Ordering;
use myriad_sync::{LockClass, RwLock};
use myriad_term::{Atom, Export};
use std::collections::{HashMap, HashSet};
use std::ptr::{self, NonNull};

static CODE_CLASS: LockClass = LockClass::new("code_write_permission", 300);

/// One version of a module, owned by the code server (V2).
pub(super) struct Version(NonNull<Module>);

// SAFETY: it owns the module, which is `Send` and `Sync`.
unsafe impl Send for Version {}
// SAFETY: as above.
unsafe impl Sync for Version {}

impl Version {
    /// The module; readable until the caller's next quiescent point (V2).
    pub(super) fn get(&self) -> &'static Module {
        // SAFETY: V2; purging hands the pointer on for freeing after thread progress.
        unsafe { &*self.0.as_ptr() }
    }

    /// The address.
    pub(super) fn as_ptr(&self) -> *const Module {
        self.0.as_ptr()
    }

    /// Hands the module over, to be freed.
    pub(super) fn into_raw(self) -> *mut Module {
        self.0.as_ptr()
    }
}

/// The versions of one module.
pub(super) struct Entry {
    pub(super) name: Atom,
    pub(super) current: Option<Version>,
    pub(super) old: Option<Version>,
    /// Loaded, but its on_load function has not finished.
    pub(super) on_load: Option<Version>,
}

/// All modules.
#[derive(Default)]
pub(super) struct Table {
    index: HashMap<Atom, usize>,
    pub(super) entries: Vec<Entry>,
    /// The purge that is under way.
    pub(super) purge: Option<Purge>,
    /// Old versions that a later one overtook while it was in on_load: kept for ever.
    stranded: Vec<Version>,
    preloaded: Vec<Atom>,
}

impl Table {
    pub(super) fn get(&self, name: Atom) -> Option<&Entry> {
        self.entries.get(*self.index.get(&name)?)
    }

    pub(super) fn get_mut(&mut self, name: Atom) -> Option<&mut Entry> {
        self.entries.get_mut(*self.index.get(&name)?)
    }

    fn intern(&mut self, name: Atom) -> &mut Entry {
        let Table { index, entries, .. } = self;
        let at = *index.entry(name).or_insert_with(|| {
            entries.push(Entry { name, current: None, old: None, on_load: None });
            entries.len() - 1
        });
        &mut entries[at]
    }
}

/// What is loaded of one module; the references are good until the caller's next quiescent point (V2).
#[derive(Clone, Copy, Default)]
pub struct ModuleState {
    /// The version that exports lead to.
    pub current: Option<&'static Module>,
    /// The version before.
    pub old: Option<&'static Module>,
    /// A version whose on_load function has not finished.
    pub on_load: Option<&'static Module>,
}

/// Why modules were not loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FinishError {
    /// One of them has been loaded already.
    Used,
    /// Several at once, and one of them has an on_load function.
    SeveralWithOnLoad,
    /// These are in the list more than once.
    Duplicated(Vec<Atom>),
    /// These have an old version still.
    NotPurged(Vec<Atom>),
    /// It is loaded, but its on_load function must run and [`CodeServer::finish_after_on_load`] be called.
    OnLoad(Vec<Atom>),
}

/// What came of deleting a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deleted {
    /// The current version is old now.
    Done,
    /// There is no current version.
    NotLoaded,
    /// There is an old version already.
    NotPurged,
}

/// The code server.
pub struct CodeServer {
    pub(super) table: RwLock<Table>,
}

impl Default for CodeServer {
    fn default() -> Self {
        CodeServer { table: RwLock::new(&CODE_CLASS, Table::default()) }
    }
}

impl CodeServer {
    /// Loads prepared modules, all or none; old versions of them must have been purged.
    pub fn finish_loading(&self, list: &[&PreparedCode]) -> Result<(), FinishError> {
        let mut table = self.table.write();
        if !list.iter().all(|code| code.is_fresh()) {
            return Err(FinishError::Used);
        }
        if list.len() > 1 && list.iter().any(|code| code.has_on_load) {
            return Err(FinishError::SeveralWithOnLoad);
        }
        let mut seen = HashSet::new();
        refuse_some(list.iter().map(|code| code.name).filter(|name| !seen.insert(*name)), FinishError::Duplicated)?;
        let has_both = |name: &Atom| table.get(*name).is_some_and(|e| e.current.is_some() && e.old.is_some());
        refuse_some(list.iter().map(|code| code.name).filter(has_both), FinishError::NotPurged)?;
        let mut waiting = Vec::new();
        for prepared in list.iter().filter_map(|code| code.take()) {
            let (name, has_on_load) = (prepared.name(), prepared.has_on_load());
            let version = Version(prepared.into_module());
            publish_funs(version.get());
            super::count_bytes(version.get().bytes());
            let entry = table.intern(name);
            if has_on_load {
                waiting.push(name);
                if let Some(abandoned) = entry.on_load.replace(version) {
                    table.stranded.push(abandoned);
                }
            } else {
                let stranded = entry.make_current(version);
                table.stranded.extend(stranded);
            }
        }
        refuse_some(waiting.into_iter(), FinishError::OnLoad)
    }

    /// How to call the on_load function of a module that waits for it; good until the caller's next quiescent point.
    pub fn on_load_function(&self, name: Atom) -> Option<&'static Export> {
        self.state(name).on_load?.on_load.as_deref()
    }

    /// The on_load function is done: the module becomes the current version, or (`keep` false) is left to a purge.
    /// `false`: there is no such module.
    pub fn finish_after_on_load(&self, name: Atom, keep: bool) -> bool {
        let mut table = self.table.write();
        let Some(entry) = table.get_mut(name) else { return false };
        if !keep {
            return entry.on_load.is_some();
        }
        let Some(version) = entry.on_load.take() else { return false };
        let stranded = entry.make_current(version);
        table.stranded.extend(stranded);
        true
    }

    /// Makes the current version old, and its exports undefined.
    pub fn delete(&self, name: Atom) -> Deleted {
        let mut table = self.table.write();
        let Some(entry) = table.get_mut(name) else { return Deleted::NotLoaded };
        if entry.old.is_some() {
            return Deleted::NotPurged;
        }
        entry.old = entry.current.take();
        if let Some(old) = &entry.old {
            retract(old.get());
        }
        Deleted::Done
    }

    /// What is loaded of a module.
    pub fn state(&self, name: Atom) -> ModuleState {
        let table = self.table.read();
        let Some(entry) = table.get(name) else { return ModuleState::default() };
        ModuleState {
            current: entry.current.as_ref().map(Version::get),
            old: entry.old.as_ref().map(Version::get),
            on_load: entry.on_load.as_ref().map(Version::get),
        }
    }

    /// The current version of a module; good until the caller's next quiescent point.
    pub fn current(&self, name: Atom) -> Option<&'static Module> {
        self.table.read().get(name)?.current.as_ref().map(Version::get)
    }

    /// All modules with a current or an old version, last loaded first.
    pub fn loaded(&self) -> Vec<Atom> {
        let table = self.table.read();
        let is_loaded = |e: &&Entry| e.current.is_some() || e.old.is_some();
        table.entries.iter().rev().filter(is_loaded).map(|e| e.name).collect()
    }

    /// The modules that were there before the first process.
    pub fn preloaded(&self) -> Vec<Atom> {
        self.table.read().preloaded.clone()
    }

    pub(super) fn set_preloaded(&self, names: Vec<Atom>) {
        self.table.write().preloaded = names;
    }
}

impl Entry {
    /// Makes a version current and the current one old. Gives back an old version that was there still, which happens only
    /// if the module was deleted while the new version was in on_load.
    #[must_use]
    fn make_current(&mut self, version: Version) -> Option<Version> {
        publish(version.get());
        let current = self.current.replace(version)?;
        retract(current.get());
        self.old.replace(current)
    }
}

fn refuse_some(names: impl Iterator<Item = Atom>, why: fn(Vec<Atom>) -> FinishError) -> Result<(), FinishError> {
    let names: Vec<Atom> = names.collect();
    if names.is_empty() { Ok(()) } else { Err(why(names)) }
}

fn code_of(function: &Function) -> *mut () {
    ptr::from_ref(function).cast_mut().cast()
}

/// Lets the exports lead to this version (V1).
fn publish(module: &'static Module) {
    for (export, index) in &module.exports {
        if let Some(function) = module.functions.get(*index as usize) {
            // Release: pairs with the Acquire in `Function::of_export`: who sees the pointer sees the function.
            export.code.store(code_of(function), Ordering::Release);
        }
    }
}

/// Makes those exports undefined that still lead to this version.
pub(super) fn retract(module: &Module) {
    for (export, _) in &module.exports {
        // Acquire: as in `Function::of_export`; only holders of the lock write.
        if module.owns(export.code.load(Ordering::Acquire).cast()) {
            export.undefine();
        }
    }
}

/// Lets the funs lead to this version (V1).
pub(super) fn publish_funs(module: &Module) {
    for (entry, lambda) in module.funs.iter().zip(&module.beam.lambdas) {
        let index = module.beam.function_at(lambda.label);
        if let Some(function) = index.and_then(|i| module.functions.get(i as usize)) {
            // Release: pairs with the Acquire in `Function::of_fun`.
            entry.code.store(code_of(function), Ordering::Release);
        }
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
