//! The scheduling state of a process, and its transitions as pure functions (tested as a table).
//!
//! ```text
//!             signal / spawn              picked by a scheduler
//!   Waiting ----------------> Runnable ---------------------------> Running
//!      ^                          ^                                   |  |
//!      |   nothing left           |  slice over, or signalled         |  | signal
//!      +--------------------------+-----------------------------------+  v
//!                                                              RunningSignalled
//!   Running, RunningSignalled -- ended --> Free (no transition leads out of it)
//! ```
//!
//! P1. A process is in at most one run queue, and in one just when it is `Runnable`.
//! P2. Only the thread that made it `Running` touches its owner state, until the state says something else.
//! P3. While it is `Waiting` or `Runnable`, one thread at a time may visit it: read its owner state, and change nothing. Who is about
//!     to make it `Running` waits until the visitor has left, so a visitor takes no lock, waits for nothing, and looks at nothing that
//!     grows without bounds ([`myriad_sync::StateWord`] has the protocol).

/// Scheduling state.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Waits for a signal.
    Waiting = 0,
    /// In a run queue.
    Runnable = 1,
    /// A scheduler runs it.
    Running = 2,
    /// A scheduler runs it, and a signal has come since it last looked.
    RunningSignalled = 3,
    /// Ended; its slot is being freed.
    Free = 4,
}

/// What a sender must do after leaving a signal.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Put the process in a run queue.
    Enqueue,
    /// Nothing: it will look at its queue.
    AlreadyAwake,
    /// Nothing: it has ended.
    Gone,
}

impl Status {
    /// From the stored number.
    pub const fn from_bits(bits: u32) -> Status {
        match bits {
            0 => Status::Waiting,
            1 => Status::Runnable,
            2 => Status::Running,
            3 => Status::RunningSignalled,
            _ => Status::Free,
        }
    }

    /// Is its owner state some thread's (P2)?
    pub const fn has_owner(self) -> bool {
        matches!(self, Status::Running | Status::RunningSignalled)
    }

    /// Is nobody at work with it, so that it may be visited (P3)?
    pub const fn admits_visitors(self) -> bool {
        matches!(self, Status::Waiting | Status::Runnable)
    }

    /// A signal has been left in the outer queue.
    pub const fn on_signal(self) -> (Status, Wake) {
        match self {
            Status::Waiting => (Status::Runnable, Wake::Enqueue),
            // The owner looks at its queue again before it may wait, so no wake-up is lost.
            Status::Running | Status::RunningSignalled => (Status::RunningSignalled, Wake::AlreadyAwake),
            Status::Runnable => (Status::Runnable, Wake::AlreadyAwake),
            Status::Free => (Status::Free, Wake::Gone),
        }
    }

    /// The owner has nothing to do: may it wait? If not, it is runnable again.
    pub const fn on_wait(self) -> Status {
        debug_assert!(self.has_owner());
        match self {
            Status::Running => Status::Waiting,
            _ => Status::Runnable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_is_lost_before_waiting() {
        let (after, wake) = Status::Running.on_signal();
        assert_eq!((after, wake), (Status::RunningSignalled, Wake::AlreadyAwake));
        assert_eq!(after.on_wait(), Status::Runnable);
        assert_eq!(Status::Running.on_wait(), Status::Waiting);
        assert_eq!(Status::Waiting.on_signal(), (Status::Runnable, Wake::Enqueue));
        assert_eq!(Status::Runnable.on_signal(), (Status::Runnable, Wake::AlreadyAwake));
        assert_eq!(Status::Free.on_signal(), (Status::Free, Wake::Gone));
    }
}
