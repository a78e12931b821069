//! Purging: how the old version of a module goes.
//!
//! The purger (OTP's `erts_code_purger`) prepares, asks each process whether it still runs in the old code ([`super::check`]),
//! and then completes or gives up. Funs do not count as running in it: those whose code is in the old version lose it.
//!
//! U1. From the first step on no export, and no fun entry, leads into the version: funs lose their code at once, so nobody
//!     can enter it after having been asked. Who calls such a fun meanwhile waits ([`CodeServer::is_purge_pending`]), because
//!     the purge may yet be given up and the fun get its code back: it is suspended until the purge ends
//!     ([`CodeServer::wait_for_purge`]).
//! U2. The memory goes after thread progress: a slice that began before the last step may still read the version.
//! U3. Literals of a purged version outlive it: processes may hold them, and a slice as in U2 may read them. They go when all have
//!     made progress and each process has copied what it holds (`literals.rs`).

use super::server::{Version, publish_funs, retract};
use super::{CodeServer, Module};
use crate::Signal;
use crate::vm::Vm;
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, FunEntry, Pid};
use std::ptr;

/// A purge under way.
pub(super) struct Purge {
    /// The module.
    pub(super) name: Atom,
    /// The version: an address to compare, alive until the purge ends.
    pub(super) version: *const Module,
    /// It is the version whose on_load function failed, not the old one.
    of_on_load: bool,
    /// Funs that have lost their code for now.
    pending: Vec<&'static FunEntry>,
    /// Who called one of them, and is suspended.
    waiting: Vec<Pid>,
}

// SAFETY: `version` is only compared, or read under the lock while the table owns it.
unsafe impl Send for Purge {}
// SAFETY: as above.
unsafe impl Sync for Purge {}

/// The steps of a purge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PurgeStep {
    /// Begin with the old version.
    Prepare,
    /// Begin with the version whose on_load function failed.
    PrepareOnLoad,
    /// Give up.
    Abort,
    /// No process runs in it: let it go.
    Complete,
}

/// A version on its way out.
struct Doomed(*mut Module);

// SAFETY: the module is `Send`, and this is its only owner.
unsafe impl Send for Doomed {}

impl Doomed {
    /// Frees it.
    ///
    /// # Safety
    /// Nobody can reach the version any more (U1, U2).
    unsafe fn free(self, vm: &'static Vm) {
        // SAFETY: the caller's promise; the pointer came from a Box in the loader.
        let module = unsafe { Box::from_raw(self.0) };
        for function in &module.functions {
            vm.engine().release(function);
        }
        super::count_bytes(-module.bytes());
        // What was made since the version was taken out.
        let constants = module.constants.lock().take_area();
        vm.literals.release(vm, constants);
    }
}

/// What to do with a call of a local fun whose code is not there ([`Function::of_fun`] gives nothing).
///
/// [`Function::of_fun`]: super::Function::of_fun
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingFun {
    /// Call `erts_code_purger:pending_purge_lambda(Module, Fun, Arguments)`, which calls the fun again: a purge has not ended
    /// yet (U1).
    Wait,
    /// Call `error_handler:undefined_lambda(Module, Fun, Arguments)`, which may load the module.
    Load,
    /// `error:{badfun, Fun}`: its module is loaded, and does not define it.
    Bad,
}

impl CodeServer {
    /// What a call of a fun without code comes to.
    pub fn missing_fun(&self, entry: &FunEntry) -> MissingFun {
        // Acquire: as in `Function::of_fun`. It may have got its code since the caller looked: the purger's detour tries again.
        if self.is_purge_pending(entry) || !entry.code.load(Ordering::Acquire).is_null() {
            MissingFun::Wait
        } else if self.current(entry.id.module).is_some() {
            MissingFun::Bad
        } else {
            MissingFun::Load
        }
    }

    /// Does one step; `false`: there is nothing to purge, or no purge of this module under way.
    pub fn purge(&self, vm: &'static Vm, name: Atom, step: PurgeStep) -> bool {
        match step {
            PurgeStep::Prepare => self.begin(vm, name, false),
            PurgeStep::PrepareOnLoad => self.begin(vm, name, true),
            PurgeStep::Abort => self.abort(vm, name),
            PurgeStep::Complete => self.complete(vm, name),
        }
    }

    fn begin(&self, vm: &'static Vm, name: Atom, of_on_load: bool) -> bool {
        let mut table = self.table.write();
        let Some(entry) = table.get(name) else { return false };
        let version = if of_on_load { entry.on_load.as_ref() } else { entry.old.as_ref() };
        let Some(version) = version else { return false };
        let pending = disable_funs(version.get());
        let purge = Purge { name, version: version.as_ptr(), of_on_load, pending, waiting: Vec::new() };
        // One that was never brought to its end is over.
        let left = table.purge.replace(purge);
        drop(table);
        resume(vm, left.map_or(Vec::new(), |purge| purge.waiting));
        true
    }

    fn abort(&self, vm: &'static Vm, name: Atom) -> bool {
        let mut table = self.table.write();
        let Some(purge) = table.purge.take_if(|purge| purge.name == name) else { return false };
        let entry = table.get(name);
        if let Some(entry) = entry {
            // A version loaded meanwhile may have taken the funs over, if it is the same code: then it keeps them.
            if let Some(old) = entry.old.as_ref().filter(|old| ptr::eq(old.as_ptr(), purge.version)) {
                publish_funs(old.get());
            }
            if let Some(current) = &entry.current {
                publish_funs(current.get());
            }
        }
        let known = entry.is_some();
        drop(table);
        resume(vm, purge.waiting);
        known
    }

    fn complete(&self, vm: &'static Vm, name: Atom) -> bool {
        let mut table = self.table.write();
        let Some(purge) = table.purge.take_if(|purge| purge.name == name) else { return false };
        let version = table.get_mut(name).and_then(|entry| {
            let slot = if purge.of_on_load { &mut entry.on_load } else { &mut entry.old };
            slot.take_if(|version| ptr::eq(version.as_ptr(), purge.version))
        });
        if let Some(version) = &version {
            retract(version.get());
            disable_funs(version.get());
        }
        drop(table);
        resume(vm, purge.waiting);
        let Some(version) = version else { return false };
        // At once, so that who looks at the collector next finds it at work: it waits for thread progress itself.
        let constants = version.get().constants.lock().take_area();
        vm.literals.release(vm, constants);
        let doomed = Doomed(Version::into_raw(version));
        // SAFETY: U1 and U2: out of the table, and this runs after thread progress.
        vm.progress.retire_unregistered(move || unsafe { doomed.free(vm) });
        true
    }

    /// Has this fun lost its code only until a purge ends one way or the other? Its caller then waits and tries again.
    pub fn is_purge_pending(&self, entry: &FunEntry) -> bool {
        let table = self.table.read();
        table.purge.as_ref().is_some_and(|purge| purge.pending.iter().any(|pending| ptr::eq(*pending, entry)))
    }

    /// Notes a process that has called a fun without code: once the purge has ended it gets a `Resume`. `false`: it has ended.
    pub fn wait_for_purge(&self, entry: &FunEntry, who: Pid) -> bool {
        let mut table = self.table.write();
        match &mut table.purge {
            Some(purge) if purge.pending.iter().any(|pending| ptr::eq(*pending, entry)) => {
                purge.waiting.push(who);
                true
            }
            _ => false,
        }
    }

    /// The version that processes are asked about: the one being purged, or else the old one. An address to compare.
    pub(super) fn version_to_check(&self, name: Atom) -> Option<*const Module> {
        let table = self.table.read();
        match &table.purge {
            Some(purge) if purge.name == name => Some(purge.version),
            _ => table.get(name)?.old.as_ref().map(Version::as_ptr),
        }
    }
}

/// A purge has ended: those who waited for that go on.
fn resume(vm: &'static Vm, waiting: Vec<Pid>) {
    for pid in waiting {
        vm.signal_pid(pid, Signal::Resume(pid));
    }
}

/// Takes their code from those funs that still lead to this version.
fn disable_funs(module: &'static Module) -> Vec<&'static FunEntry> {
    let mut disabled = Vec::new();
    for entry in &module.funs {
        // Acquire: as in `Function::of_fun`; only holders of the lock write.
        if module.owns(entry.code.load(Ordering::Acquire).cast()) {
            // Release: nothing to publish; keeps the order of the entry's stores plain.
            entry.code.store(ptr::null_mut(), Ordering::Release);
            disabled.push(*entry);
        }
    }
    disabled
}
