//! A process that sends through a port and is answered by its call.

use myriad_term::{Atom, Pid};

/// Who sends, and what it is answered.
pub(super) struct Direct {
    sender: Pid,
    outcome: Option<Result<(), Atom>>,
}

impl Direct {
    /// One that is not answered yet.
    pub(super) fn of(sender: Pid) -> Direct {
        Direct { sender, outcome: None }
    }

    /// What it has been answered.
    pub(super) fn outcome(&self) -> Option<Result<(), Atom>> {
        self.outcome
    }

    /// Takes the answer to a sender; `false` if it is another's, or a second one.
    pub(super) fn take(&mut self, to: Pid, outcome: Result<(), Atom>) -> bool {
        let is_asked = self.sender == to && self.outcome.is_none();
        if is_asked {
            self.outcome = Some(outcome);
        }
        is_asked
    }
}
