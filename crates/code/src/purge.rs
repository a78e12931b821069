//! Purging: how the old version of a module goes.
//!
//! The purger is a process of OTP's (`erts_code_purger`). It prepares the purge, asks each process by a signal whether it still runs
//! in the old code (crate `vm`, `code/check.rs`), and then completes the purge or gives up.
//!
//! ```text
//!   purger                          the version                         processes
//!   ------                          -----------                         ---------
//!   Prepare ----------------------> its funs lose their code (U1)       a call of such a fun waits
//!   check_process_code to each -----------------------------------> "do I run in it?": resume point and stack
//!   all answers are in <-------------------------------------------
//!     none runs in it: Complete --> out of the table, retired           those that waited are resumed: the fun has no code
//!     some do: Abort -------------> its funs get their code back        those that waited are resumed, and call it
//!     or these are killed first
//!                                   thread progress: freed (U2)
//!                                   literals: later still (U3)
//! ```
//!
//! U1. From the first step on no export, and no fun entry, leads into the version. So a process that has answered that it does not
//!     run in it can never come back: there is no way in, by a call of any kind, and no return point on its stack. A process that
//!     calls one of the funs before the purge ends is suspended ([`CodeServer::is_purge_pending`],
//!     [`CodeServer::wait_for_purge`]), because the purge may yet be given up and the fun get its code back.
//! U2. The memory goes after thread progress: a slice that began before the last step may still read the version.
//! U3. Literals of a purged version outlive it: processes may hold them, and a slice as in U2 may read them. They go when all have
//!     made progress and each process has copied what it holds (vm/LC1).
//!
//! U4. A compiler reads a version for longer than a slice, without being waited for: in a slice, when U2 keeps the version, it pins it
//!     ([`Module::pins`]). A version that is pinned when it is retired keeps its literals and its memory until it is not; nobody can pin it
//!     from then on (sync/PN1). What the compiler has made for its functions by then goes with them.
//!
//! The signal orders an answer: each process looks at its own stack, in its own slice, after the funs were disabled and before
//! the purger gets the answer. A fun does not count as running in the version, since a fun that is never called again must not
//! keep a version for ever; nor does a raw stack trace, which forgets its module instead.
//!
//! What was not done: counting the frames, or funs, that refer to a version (each call or copy would count); looking through all
//! stacks while the world is stopped (a pause that grows with the number of processes).

use crate::server::{Version, publish_funs, retract};
use crate::{CodeServer, Executor, Module, Runtime, count_bytes};
use myriad_heap::LiteralArea;
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, FunEntry, Pid};
use std::ptr;

/// A purge under way.
pub(crate) struct Purge<R: Runtime> {
    /// The module.
    pub(crate) name: Atom,
    /// The version: an address to compare, alive until the purge ends.
    pub(crate) version: *const Module<R>,
    /// It is the version whose on_load function failed, not the old one.
    of_on_load: bool,
    /// Funs that have lost their code for now.
    pending: Vec<&'static FunEntry>,
    /// The processes that have called one of them, and are suspended.
    waiting: Vec<Pid>,
}

// SAFETY: `version` is only compared, or read under the lock while the table owns it.
unsafe impl<R: Runtime> Send for Purge<R> {}
// SAFETY: `version` is only compared, or read under the lock while the table owns it.
unsafe impl<R: Runtime> Sync for Purge<R> {}

/// What the purger asks for, in the order of a purge: one of the first two, then one of the last.
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

/// A version that has left the table: nothing leads to it any more, but a slice that began before may still read it (U2).
#[must_use]
pub struct Retired<R: Runtime>(*mut Module<R>);

// SAFETY: the module is `Send`, and this is its only owner.
unsafe impl<R: Runtime> Send for Retired<R> {}

impl<R: Runtime> Retired<R> {
    /// No compiler can pin it from now on. To be called once; `true`: one has, and nothing of it may go yet (U4).
    pub fn close(&self) -> bool {
        // SAFETY: it owns the module until `free`.
        unsafe { &*self.0 }.pins.close()
    }

    /// Is it pinned still, after [`Retired::close`]?
    pub fn is_pinned(&self) -> bool {
        // SAFETY: it owns the module until `free`.
        unsafe { &*self.0 }.pins.is_pinned()
    }

    /// Tells where its NIFs are from that it has been purged. To be called once.
    pub fn leave_nifs(&self) {
        // SAFETY: it owns the module until `free`.
        if let Some(nifs) = unsafe { &*self.0 }.nifs.get() {
            nifs.leave();
        }
    }

    /// Its literals, which outlive it (U3).
    pub fn take_literals(&self) -> LiteralArea {
        // SAFETY: it owns the module until `free`.
        unsafe { &*self.0 }.constants.lock().take_area()
    }

    /// Frees it; gives the literals that were made since [`Retired::take_literals`].
    ///
    /// # Safety
    /// All threads have made progress since the version was retired (U1, U2), and it was closed and is not pinned (U4).
    pub unsafe fn free(self, executor: &dyn Executor<R>) -> LiteralArea {
        // SAFETY: the pointer came from a Box in the loader, and no thread reads the module any more: the caller promises that all have
        // made progress since it was retired, and that no compiler reads it.
        let module = unsafe { Box::from_raw(self.0) };
        debug_assert!(!leads_into(&module), "U2: it was published again");
        debug_assert!(module.pins.is_closed() && !module.pins.is_pinned(), "U4: a compiler reads it");
        for function in &module.functions {
            debug_assert!(function.module().is_some_and(|own| ptr::eq(own, &*module)));
            executor.release(function);
        }
        count_bytes(-module.bytes());
        module.constants.lock().take_area()
    }
}

/// What a step of a purge leaves to the caller.
#[must_use]
pub struct Purged<R: Runtime> {
    /// The step was done; otherwise there was nothing to do it with.
    pub done: bool,
    /// Processes that waited for a purge that is over now: they have to be resumed.
    pub waiting: Vec<Pid>,
    /// The version that has gone: its literals are to be released, and its memory after thread progress.
    pub retired: Option<Retired<R>>,
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

impl<R: Runtime> Purged<R> {
    fn nothing() -> Self {
        Purged { done: false, waiting: Vec::new(), retired: None }
    }
}

impl<R: Runtime> CodeServer<R> {
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

    /// Takes one step of a purge.
    pub fn purge(&self, name: Atom, step: PurgeStep) -> Purged<R> {
        match step {
            PurgeStep::Prepare => self.begin(name, false),
            PurgeStep::PrepareOnLoad => self.begin(name, true),
            PurgeStep::Abort => self.abort(name),
            PurgeStep::Complete => self.complete(name),
        }
    }

    fn begin(&self, name: Atom, of_on_load: bool) -> Purged<R> {
        let mut table = self.table.write();
        let entry = table.get(name);
        let version = entry.and_then(|entry| if of_on_load { entry.on_load.as_ref() } else { entry.old.as_ref() });
        let Some(version) = version else { return Purged::nothing() };
        let pending = disable_funs(version.get());
        debug_assert!(!leads_into(version.get()), "U1: a fun still leads into the version");
        let purge = Purge { name, version: version.as_ptr(), of_on_load, pending, waiting: Vec::new() };
        // One that was never brought to its end is over.
        let left = table.purge.replace(purge);
        Purged { done: true, waiting: left.map_or(Vec::new(), |purge| purge.waiting), retired: None }
    }

    fn abort(&self, name: Atom) -> Purged<R> {
        let mut table = self.table.write();
        let Some(purge) = table.purge.take_if(|purge| purge.name == name) else { return Purged::nothing() };
        let entry = table.get(name);
        if let Some(entry) = entry {
            // A version loaded since the purge began may have taken the funs over, if it is the same code: then it keeps them.
            if let Some(old) = entry.old.as_ref().filter(|old| ptr::eq(old.as_ptr(), purge.version)) {
                publish_funs(old.get());
            }
            if let Some(current) = &entry.current {
                publish_funs(current.get());
            }
        }
        Purged { done: entry.is_some(), waiting: purge.waiting, retired: None }
    }

    fn complete(&self, name: Atom) -> Purged<R> {
        let mut table = self.table.write();
        let Some(purge) = table.purge.take_if(|purge| purge.name == name) else { return Purged::nothing() };
        let version = table.get_mut(name).and_then(|entry| {
            let slot = if purge.of_on_load { &mut entry.on_load } else { &mut entry.old };
            slot.take_if(|version| ptr::eq(version.as_ptr(), purge.version))
        });
        let retired = version.map(|version| {
            retract(version.get());
            disable_funs(version.get());
            debug_assert!(!leads_into(version.get()), "U1: the version can still be entered");
            Retired(version.into_raw())
        });
        Purged { done: retired.is_some(), waiting: purge.waiting, retired }
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
    pub fn version_to_check(&self, name: Atom) -> Option<*const Module<R>> {
        let table = self.table.read();
        match &table.purge {
            Some(purge) if purge.name == name => Some(purge.version),
            _ => table.get(name)?.old.as_ref().map(Version::as_ptr),
        }
    }
}

/// Does a fun lead into this version? For assertions.
fn leads_into<R: Runtime>(module: &Module<R>) -> bool {
    // Acquire: as in `Function::of_fun`.
    module.funs.iter().any(|entry| module.owns(entry.code.load(Ordering::Acquire).cast()))
}

/// Takes their code from those funs that still lead to this version.
fn disable_funs<R: Runtime>(module: &'static Module<R>) -> Vec<&'static FunEntry> {
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
