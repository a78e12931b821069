//! Registered names of processes and ports.
//!
//! Who looks for a name takes no lock ([`RcuTable`]); names are given and taken under one.
//!
//! NM1. A thread that looks for a name is inside the VM's thread progress (registered or pinned), as it must be to look at the process
//!      that it finds (process/TB1).

use crate::process::Process;
use crate::runtime::Runtime;
use crate::table::ProcessTable;
use myriad_sync::atomic::Ordering;
use myriad_sync::{LockClass, RcuTable, RcuWriter, Retirer};
use myriad_term::{Atom, Pid, Port, am};

static CLASS: LockClass = LockClass::new("reg_tab", 400);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// A process.
    Process(Pid),
    /// A port.
    Port(Port),
}

/// A name, and what it stands for.
#[derive(Clone, Copy)]
struct Registration {
    name: Atom,
    what: Named,
}

/// The registered names of a VM, and what each stands for.
pub struct Names(RcuTable<Registration>);

impl Default for Names {
    fn default() -> Self {
        Names(RcuTable::new(&CLASS))
    }
}

fn find(names: &RcuWriter<'_, Registration>, name: Atom) -> Option<Named> {
    names.find(name.index().into(), |known| known.name == name).map(|known| known.what)
}

/// Takes a name out; `false` if there is none.
fn remove(names: &mut RcuWriter<'_, Registration>, name: Atom, by: Retirer<'_>) -> bool {
    let removed = names.remove(name.index().into(), |known| known.name == name);
    removed.map(|registration| registration.retire(by)).is_some()
}

impl Names {
    /// What a name stands for.
    #[inline]
    pub fn whereis(&self, name: Atom) -> Option<Named> {
        // SAFETY: NM1; what is found is copied at once.
        unsafe { self.0.find(name.index().into(), |known| known.name == name) }.map(|known| known.what)
    }

    /// Gives a process or port a name. `false`: the name is taken, is `undefined`, the process has ended or has a name.
    pub fn register<R: Runtime>(&self, processes: &ProcessTable<R>, name: Atom, what: Named, by: Retirer<'_>) -> bool {
        if name == am::undefined {
            return false;
        }
        let mut names = self.0.write();
        if find(&names, name).is_some() {
            return false;
        }
        match what {
            Named::Process(pid) => {
                let Some(process) = processes.get(pid) else { return false };
                if process.name().is_some() {
                    return false;
                }
                // Relaxed: ordered by the lock, and for the ending process by the protocol of `set_exiting`.
                process.name.store(name.index() + 1, Ordering::Relaxed);
                if process.must_take_back() {
                    process.name.store(0, Ordering::Relaxed);
                    return false;
                }
            }
            Named::Port(_) => {
                if names.iter().any(|known| known.what == what) {
                    return false;
                }
            }
        }
        names.add(name.index().into(), Registration { name, what }, by);
        true
    }

    /// What `act` says of the process or port of this name, which keeps the name meanwhile. `None`: there is none.
    pub fn while_registered<T>(&self, name: Atom, act: impl FnOnce(Named) -> T) -> Option<T> {
        let names = self.0.write();
        find(&names, name).map(act)
    }

    /// Takes a name away.
    pub fn unregister<R: Runtime>(&self, processes: &ProcessTable<R>, name: Atom, by: Retirer<'_>) -> bool {
        let mut names = self.0.write();
        let Some(what) = find(&names, name) else { return false };
        remove(&mut names, name, by);
        if let Named::Process(pid) = what
            && let Some(process) = processes.get(pid)
        {
            debug_assert!(process.name().is_none_or(|own| own == name), "the registry knows another name of it");
            process.name.store(0, Ordering::Relaxed);
        }
        true
    }

    /// Takes its name from a process that ends ([`Process::set_exiting`] has been called).
    pub fn release<R: Runtime>(&self, process: &Process<R>, by: Retirer<'_>) {
        debug_assert!(process.is_exiting(), "it might be given a name again");
        let Some(name) = process.name() else { return };
        myriad_sync::sim_point();
        let mut names = self.0.write();
        // The name is stored under the lock, Relaxed as in `register`. It may have been taken away, and given to another, since.
        if find(&names, name) == Some(Named::Process(process.pid)) {
            remove(&mut names, name, by);
        }
        process.name.store(0, Ordering::Relaxed);
    }

    /// The registered name of a port: a search through all names.
    pub fn name_of_port(&self, port: Port) -> Option<Atom> {
        self.0.write().iter().find(|known| known.what == Named::Port(port)).map(|known| known.name)
    }

    /// All names of one moment, which the writers' lock is for.
    pub fn names(&self) -> Vec<Atom> {
        self.0.write().iter().map(|known| known.name).collect()
    }
}
