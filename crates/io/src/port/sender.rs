//! A process that sends or receives through a port and is answered by its call.

use myriad_process::Payload;
use myriad_term::{Atom, Pid};

/// Who is answered by its call at this moment, and what.
pub(super) enum Direct {
    /// Who sends, and what it is answered.
    Send(Pid, Option<Result<(), Atom>>),
    /// What has been received.
    Receive(Payload),
}

impl Direct {
    /// One that sends and is not answered yet.
    pub(super) fn sender(pid: Pid) -> Direct {
        Direct::Send(pid, None)
    }

    /// What a sender has been answered.
    pub(super) fn outcome(self) -> Option<Result<(), Atom>> {
        match self {
            Direct::Send(_, outcome) => outcome,
            Direct::Receive(_) => None,
        }
    }

    /// Takes the answer to a sender; `false` if it is another's, or a second one.
    pub(super) fn take(&mut self, to: Pid, outcome: Result<(), Atom>) -> bool {
        match self {
            Direct::Send(sender, open @ None) if *sender == to => {
                *open = Some(outcome);
                true
            }
            _ => false,
        }
    }
}
