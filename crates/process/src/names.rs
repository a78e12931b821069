//! Registered names of processes and ports.

use crate::process::Process;
use crate::runtime::Runtime;
use crate::table::ProcessTable;
use myriad_sync::atomic::Ordering;
use myriad_sync::{LockClass, RwLock};
use myriad_term::{Atom, Pid, Port, am};
use std::collections::HashMap;

static CLASS: LockClass = LockClass::new("reg_tab", 400);

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    /// A process.
    Process(Pid),
    /// A port.
    Port(Port),
}

/// The registered names of a VM, and what each stands for.
pub struct Names(RwLock<HashMap<Atom, Named>>);

impl Default for Names {
    fn default() -> Self {
        Names(RwLock::new(&CLASS, HashMap::new()))
    }
}

impl Names {
    /// What a name stands for.
    pub fn whereis(&self, name: Atom) -> Option<Named> {
        self.0.read().get(&name).copied()
    }

    /// Gives a process or port a name. `false`: the name is taken, is `undefined`, the process has ended or has a name.
    pub fn register<R: Runtime>(&self, processes: &ProcessTable<R>, name: Atom, what: Named) -> bool {
        if name == am::undefined {
            return false;
        }
        let mut names = self.0.write();
        if names.contains_key(&name) {
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
                if names.values().any(|n| *n == what) {
                    return false;
                }
            }
        }
        let before = names.insert(name, what);
        debug_assert!(before.is_none());
        true
    }

    /// Takes a name away.
    pub fn unregister<R: Runtime>(&self, processes: &ProcessTable<R>, name: Atom) -> bool {
        let mut names = self.0.write();
        let Some(what) = names.remove(&name) else { return false };
        if let Named::Process(pid) = what
            && let Some(process) = processes.get(pid)
        {
            debug_assert!(process.name().is_none_or(|own| own == name), "the registry knows another name of it");
            process.name.store(0, Ordering::Relaxed);
        }
        true
    }

    /// Takes its name from a process that ends ([`Process::set_exiting`] has been called).
    pub fn release<R: Runtime>(&self, process: &Process<R>) {
        debug_assert!(process.is_exiting(), "it might be given a name again");
        let Some(name) = process.name() else { return };
        myriad_sync::sim_point();
        let mut names = self.0.write();
        // The name is stored under the lock, Relaxed as in `register`. It may have been taken away, and given to another, since.
        if names.get(&name) == Some(&Named::Process(process.pid)) {
            names.remove(&name);
        }
        process.name.store(0, Ordering::Relaxed);
    }

    /// The registered name of a port: a search through all names.
    pub fn name_of_port(&self, port: Port) -> Option<Atom> {
        self.0.read().iter().find(|(_, n)| **n == Named::Port(port)).map(|(name, _)| *name)
    }

    /// All names.
    pub fn names(&self) -> Vec<Atom> {
        self.0.read().keys().copied().collect()
    }
}
