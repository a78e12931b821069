//! Monitors of resources: an object of a library that is told of the ends of processes, by its type's function `down`.
//!
//! A monitor has two sides. The object's are in [`Monitors`]; the process has a [`Guard`] among its watches, which it is sent as a signal
//! and whose `Drop` is the end of the process (`myriad_process::links::Watch`).
//!
//! RM1. A monitor is over once it has left the object's side, under the lock; whoever has taken it out does what follows: calls `down`, or
//!      takes the guard back. So `down` is called once at most, and not after `enif_demonitor_process` or the object's end.
//! RM2. The object's memory is there as long as its side says, under the lock, that it has not gone: its end ([`Monitors::end`]) takes the
//!      lock before the memory is freed.

use crate::abi::{Identifier, Monitor};
use crate::env;
use crate::resource::Resource;
use myriad_process::links::{Shown, Watch};
use myriad_sync::{Arc, LockClass, SpinLock};
use myriad_term::magic::Magic;
use myriad_term::{Pid, RefNumbers, Term};
use myriad_vm::{Signal, Vm};
use std::collections::BTreeMap;

static CLASS: LockClass = LockClass::new("nif_monitors", 912);

/// What an object watches.
pub(crate) struct Monitors(Arc<Side>);

/// The object's side.
struct Side {
    /// The word of its holders (RM2).
    object: *const (),
    /// The monitors that are not over; `None`: the object has gone.
    watched: SpinLock<Option<BTreeMap<[u32; 3], Pid>>>,
}

// SAFETY: the object is held and released from any thread.
unsafe impl Send for Side {}
// SAFETY: as above.
unsafe impl Sync for Side {}

impl Side {
    /// The monitor is over, whose process this is; nothing if it was before (RM1).
    fn take(&self, reference: RefNumbers) -> Option<Pid> {
        self.watched.lock().as_mut()?.remove(&reference.0)
    }

    /// The object, while the monitor is not over; that is taken out, if it is to be over now.
    fn object(&self, reference: RefNumbers, ends: bool) -> Option<(Magic, Pid)> {
        let mut watched = self.watched.lock();
        let watched = watched.as_mut()?;
        let pid = *watched.get(&reference.0)?;
        if ends {
            watched.remove(&reference.0);
        }
        // SAFETY: RM2.
        unsafe { Magic::try_hold(self.object) }.map(|object| (object, pid))
    }
}

/// The process's side.
struct Guard {
    side: Arc<Side>,
    reference: RefNumbers,
}

impl Watch for Guard {
    fn shown(&self) -> Option<Shown> {
        self.side.object(self.reference, false).map(|(object, _)| Shown::Object(object))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some((object, pid)) = self.side.object(self.reference, true) else { return };
        let Some(resource) = object.get::<Resource>() else { return };
        resource.of().call(|callbacks| {
            let Some(down) = callbacks.down else { return };
            let mut pid = Identifier(Term::pid(pid).into());
            let monitor = Monitor::new(self.reference);
            env::for_callback(callbacks.library, "down", |env| {
                // SAFETY: ABI1: the type's function, of an object that is held meanwhile.
                unsafe { down(env, resource.object(), &mut pid, &monitor) };
            });
        });
    }
}

impl Monitors {
    /// None yet, of the object with this word of its holders.
    pub(crate) fn of(object: *const ()) -> Monitors {
        Monitors(Arc::new(Side { object, watched: SpinLock::new(&CLASS, Some(BTreeMap::new())) }))
    }

    /// Watches a process, which must be held in place; false if that has ended.
    pub(crate) fn watch(&self, vm: &'static Vm, pid: Pid, reference: RefNumbers) -> bool {
        let Some(process) = vm.processes.get(pid).filter(|process| !process.is_exiting()) else { return false };
        match &mut *self.0.watched.lock() {
            Some(watched) => watched.insert(reference.0, pid),
            None => return false,
        };
        let guard: Box<dyn Watch> = Box::new(Guard { side: self.0.clone(), reference });
        let signal = Signal::Call(Box::new(move |ctx| {
            ctx.state.relations.tables().watches.insert(reference, guard);
        }));
        let Err(unsent) = vm.try_send(process, signal) else { return true };
        // Nothing follows from the guard's end now, unless the object has ended meanwhile.
        self.0.take(reference);
        drop(unsent);
        false
    }

    /// Watches no more; false if the monitor is over.
    pub(crate) fn unwatch(&self, vm: &'static Vm, reference: RefNumbers) -> bool {
        self.0.take(reference).map(|pid| forget(vm, pid, reference)).is_some()
    }

    /// The object goes, and all its monitors are over.
    pub(crate) fn end(&self) {
        let watched = self.0.watched.lock().take();
        let watched = watched.into_iter().flatten();
        crate::load::with_processes(|vm| watched.for_each(|([a, b, c], pid)| forget(vm, pid, RefNumbers([a, b, c]))));
    }
}

/// Has a process drop a guard whose monitor is over.
fn forget(vm: &'static Vm, pid: Pid, reference: RefNumbers) {
    let forget = move |ctx: &mut myriad_vm::Ctx<'_>| drop(ctx.state.relations.tables().watches.remove(&reference));
    vm.signal_pid(pid, Signal::Call(Box::new(forget)));
}
