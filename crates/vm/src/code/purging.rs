//! Purging: what of it concerns processes, literals and thread progress. Crate `code` has the steps.

use crate::Signal;
use crate::vm::Vm;
use myriad_code::{PurgeStep, Retired};
use myriad_term::Atom;

impl Vm {
    /// Takes one step of a purge; `false` if there is nothing to do it with.
    pub fn purge(&'static self, name: Atom, step: PurgeStep) -> bool {
        let purged = self.code.purge(name, step);
        for pid in purged.waiting {
            self.signal_pid(pid, Signal::Resume(pid));
        }
        if let Some(version) = purged.retired {
            self.retire_version(version);
        }
        purged.done
    }

    fn retire_version(&'static self, version: Retired<Vm>) {
        // At once, so that the next to look finds the collector at work: it waits for thread progress itself.
        self.literals.release(self, version.take_literals());
        self.progress.retire_unregistered(move || {
            // SAFETY: this runs after thread progress.
            let literals = unsafe { version.free(self.engine()) };
            self.literals.release(self, literals);
        });
    }
}
