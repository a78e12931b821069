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
            version.leave_nifs();
            let is_pinned = version.close();
            self.retire_version(version, is_pinned);
        }
        purged.done
    }

    fn retire_version(&'static self, version: Retired<Vm>, is_pinned: bool) {
        if is_pinned {
            // A compiler reads it (code/U4): another look after thread progress.
            self.progress.retire_unregistered(move || {
                let is_pinned = version.is_pinned();
                self.retire_version(version, is_pinned);
            });
            return;
        }
        // At once, so that the collector is found at work by whoever looks next: it waits for thread progress itself.
        self.release_literals(version.take_literals());
        self.progress.retire_unregistered(move || {
            // SAFETY: this runs after thread progress; it was closed, and is not pinned.
            let literals = unsafe { version.free(self.engine()) };
            self.release_literals(literals);
        });
    }
}
