//! The code server: which versions of which modules are loaded, and the switch from one to the next.
//!
//! A module has at most two versions, current and old, and perhaps a third one whose on_load function has not finished. The table of
//! versions changes under one lock, the code write permission; calls take no lock.
//!
//! ```text
//!                finish_loading                    finish_loading of the next version, delete
//!    prepared ---------------------> current -------------------------------------------------> old
//!       |                               ^                                                        |
//!       | has an on_load function       | finish_after_on_load: keep                             | purge (purge.rs)
//!       +---------> on_load ------------+                                                        v
//!                      |      not kept: PrepareOnLoad, Complete                               retired
//!                      +-----------------------------------------------------------------------> |
//!                                                                                                | thread progress
//!                                                                                                v
//!                                                                                              freed
//! ```
//!
//! | version | exports lead to it | fun entries lead to it | processes run in it |
//! | --- | --- | --- | --- |
//! | prepared | no | no | no |
//! | on_load | no | yes | the one that runs its on_load function, and what that spawns |
//! | current | yes | yes, until a later version of the same fun is loaded | yes |
//! | old | no | those that the current version lacks; none once a purge has begun | those that came before |
//! | retired | no | no | none but for the rest of a slice |
//!
//! A version is loaded only if that leaves at most one old version ([`FinishError::NotPurged`]). Two cases need a place besides
//! (`stranded`, where versions are kept for ever): a module that is deleted while its next version is in on_load has an old version
//! in the way when the next becomes current; and a module that is loaded again while it is in on_load leaves that version behind.
//!
//! V1. An export leads to the current version of its module, or to its undefined function; a fun entry to a version that is
//!     current, old or in on_load, or nowhere.
//! V2. A version is freed by `purge.rs` alone, after thread progress. So what is read here without the lock stays readable
//!     until the reader's next quiescent point, that is, for the rest of a slice.
//!
//! # Orderings
//!
//! An export and a fun entry are one atomic pointer each. The loader has written all of a version before it stores the first of
//! these pointers (Release); a call loads the pointer (Acquire, [`Function::of_export`], [`Function::of_fun`]), and so sees the
//! function that it leads to, and the module behind it. A function's own entry changes in the same way, from the stub that decodes
//! it to its code. Exports and fun entries are stored under the lock only, so a holder of the lock knows that they stay as they are.
//!
//! The pointers are stored one by one. A process that calls while a version is being switched meets each function as it was or as it
//! will be, and two functions perhaps one of each kind. A version that has become old is not freed (V2), so each call is sound.
//!
//! # What was not done
//!
//! - *Several sets of entries, of which one index says which is active* (as in OTP): all exports of all modules then change with one
//!   store. Each call would load the index, each export would have a word for each set, and each load would wait for thread progress.
//! - *A lock that calls take for reading*: all calls to all modules would write one line.
//! - *Stopping the world for a switch*: a node that loads a thousand modules at its start would stop as often.

use crate::purge::Purge;
use crate::{Function, Module, PreparedCode, Runtime, count_bytes};
use myriad_sync::atomic::Ordering;
use myriad_sync::{GroupRwLock, LockClass, Spread};
use myriad_term::{Atom, Export};
use std::collections::{HashMap, HashSet};
use std::ptr::{self, NonNull};

static CODE_CLASS: LockClass = LockClass::new("code_write_permission", 300);

/// One version of a module, owned by the code server (V2).
pub(crate) struct Version<R: Runtime>(NonNull<Module<R>>);

// SAFETY: it owns the module, which is `Send` and `Sync`.
unsafe impl<R: Runtime> Send for Version<R> {}
// SAFETY: it owns the module, which is `Send` and `Sync`.
unsafe impl<R: Runtime> Sync for Version<R> {}

impl<R: Runtime> Version<R> {
    /// The module; readable until the caller's next quiescent point (V2).
    pub(crate) fn get(&self) -> &'static Module<R> {
        // SAFETY: V2; purging hands the pointer on for freeing after thread progress.
        unsafe { &*self.0.as_ptr() }
    }

    /// The address.
    pub(crate) fn as_ptr(&self) -> *const Module<R> {
        self.0.as_ptr()
    }

    /// Hands the module over, to be freed.
    pub(crate) fn into_raw(self) -> *mut Module<R> {
        self.0.as_ptr()
    }
}

/// The versions of one module.
pub(crate) struct Entry<R: Runtime> {
    pub(crate) name: Atom,
    pub(crate) current: Option<Version<R>>,
    pub(crate) old: Option<Version<R>>,
    /// Loaded, but its on_load function has not finished.
    pub(crate) on_load: Option<Version<R>>,
}

/// All modules.
pub(crate) struct Table<R: Runtime> {
    index: HashMap<Atom, usize>,
    pub(crate) entries: Vec<Entry<R>>,
    /// The purge that is under way.
    pub(crate) purge: Option<Purge<R>>,
    /// Old versions that a later one overtook while it was in on_load: kept for ever.
    stranded: Vec<Version<R>>,
    preloaded: Vec<Atom>,
}

impl<R: Runtime> Default for Table<R> {
    fn default() -> Self {
        Table { index: HashMap::new(), entries: Vec::new(), purge: None, stranded: Vec::new(), preloaded: Vec::new() }
    }
}

impl<R: Runtime> Table<R> {
    pub(crate) fn get(&self, name: Atom) -> Option<&Entry<R>> {
        self.entries.get(*self.index.get(&name)?)
    }

    pub(crate) fn get_mut(&mut self, name: Atom) -> Option<&mut Entry<R>> {
        self.entries.get_mut(*self.index.get(&name)?)
    }

    fn intern(&mut self, name: Atom) -> &mut Entry<R> {
        let Table { index, entries, .. } = self;
        let at = *index.entry(name).or_insert_with(|| {
            entries.push(Entry { name, current: None, old: None, on_load: None });
            entries.len() - 1
        });
        &mut entries[at]
    }
}

/// What is loaded of one module; the references are good until the caller's next quiescent point (V2).
pub struct ModuleState<R: Runtime> {
    /// The version that exports lead to.
    pub current: Option<&'static Module<R>>,
    /// The version before.
    pub old: Option<&'static Module<R>>,
    /// A version whose on_load function has not finished.
    pub on_load: Option<&'static Module<R>>,
}

impl<R: Runtime> Default for ModuleState<R> {
    fn default() -> Self {
        ModuleState { current: None, old: None, on_load: None }
    }
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

/// Threads that ask at once what is loaded, and write no common line: as `code:ensure_loaded/1` does each time.
const READERS: usize = 128;

/// All modules of a VM, in their versions, and the purge that is under way.
pub struct CodeServer<R: Runtime> {
    pub(crate) table: GroupRwLock<Table<R>>,
}

impl<R: Runtime> Default for CodeServer<R> {
    fn default() -> Self {
        CodeServer { table: GroupRwLock::new(&CODE_CLASS, Spread::AtSecondReader(READERS), Table::default()) }
    }
}

impl<R: Runtime> CodeServer<R> {
    /// Loads prepared modules, all or none; old versions of them must have been purged.
    pub fn finish_loading(&self, list: &[&PreparedCode<R>]) -> Result<(), FinishError> {
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
            count_bytes(version.get().bytes());
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
        debug_assert!(version.get().on_load.is_some());
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
        debug_assert!(entry.old.is_none(), "an old version would be lost");
        entry.old = entry.current.take();
        if let Some(old) = &entry.old {
            retract(old.get());
        }
        Deleted::Done
    }

    /// What is loaded of a module.
    pub fn state(&self, name: Atom) -> ModuleState<R> {
        let table = self.table.read();
        let Some(entry) = table.get(name) else { return ModuleState::default() };
        ModuleState {
            current: entry.current.as_ref().map(Version::get),
            old: entry.old.as_ref().map(Version::get),
            on_load: entry.on_load.as_ref().map(Version::get),
        }
    }

    /// The current version of a module; good until the caller's next quiescent point.
    pub fn current(&self, name: Atom) -> Option<&'static Module<R>> {
        self.table.read().get(name)?.current.as_ref().map(Version::get)
    }

    /// All modules with a current or an old version, last loaded first.
    pub fn loaded(&self) -> Vec<Atom> {
        let table = self.table.read();
        let is_loaded = |e: &&Entry<R>| e.current.is_some() || e.old.is_some();
        table.entries.iter().rev().filter(is_loaded).map(|e| e.name).collect()
    }

    /// The modules that were there before the first process.
    pub fn preloaded(&self) -> Vec<Atom> {
        self.table.read().preloaded.clone()
    }

    /// States which modules were there before the first process.
    pub fn set_preloaded(&self, names: Vec<Atom>) {
        self.table.write().preloaded = names;
    }
}

impl<R: Runtime> Entry<R> {
    /// Makes a version current and the current one old. Gives back an old version that was there still, which happens only
    /// if the module was deleted while the new version was in on_load.
    #[must_use]
    fn make_current(&mut self, version: Version<R>) -> Option<Version<R>> {
        debug_assert!(version.get().name == self.name, "V1: a version of another module");
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

fn code_of<R: Runtime>(function: &Function<R>) -> *mut () {
    ptr::from_ref(function).cast_mut().cast()
}

/// Lets the exports lead to this version (V1).
fn publish<R: Runtime>(module: &'static Module<R>) {
    for (export, index) in &module.exports {
        if let Some(function) = module.functions.get(*index as usize) {
            debug_assert!(function.mfa == export.mfa, "K1: an export leads to its own function");
            debug_assert!(!function.entry().0.is_null(), "it could not be entered");
            // Release: pairs with the Acquire in `Function::of_export`: a caller that sees the pointer sees the function.
            export.code.store(code_of(function), Ordering::Release);
        }
    }
}

/// Makes those exports undefined that still lead to this version.
pub(crate) fn retract<R: Runtime>(module: &Module<R>) {
    for (export, _) in &module.exports {
        // Acquire: as in `Function::of_export`; only holders of the lock write.
        if module.owns(export.code.load(Ordering::Acquire).cast()) {
            export.undefine();
        }
    }
}

/// Lets the funs lead to this version (V1).
pub(crate) fn publish_funs<R: Runtime>(module: &Module<R>) {
    for (entry, lambda) in module.funs.iter().zip(&module.beam.lambdas) {
        let index = module.beam.function_at(lambda.label);
        if let Some(function) = index.and_then(|i| module.functions.get(i as usize)) {
            debug_assert!(function.module().is_some_and(|m| std::ptr::eq(m, module)), "V1");
            debug_assert!(!function.entry().0.is_null(), "it could not be entered");
            // Release: pairs with the Acquire in `Function::of_fun`.
            entry.code.store(code_of(function), Ordering::Release);
        }
    }
}
