//! The scheduling state of a process: four states, and their transitions as pure functions (tested as a table).
//!
//! The state answers three questions at once: is the process in a run queue, which thread may touch its owner state, and what must a
//! sender do that leaves a signal. [`Process`](crate::Process) keeps the state in one word with its outer queue of signals
//! ([`myriad_sync::Mailbox`]) and changes it by read-modify-writes alone; a plain load of it is a hint.
//!
//! ```text
//!                on_signal                    start_running
//!   Waiting ------------------> Runnable --------------------> Running ----> Free
//!      ^                          ^  ^                          |  |  set_free
//!      |                          |  |      stay_runnable       |  |
//!      |                          |  +--------------------------+  |
//!      |                          |                                |
//!      |                          +--------------------------------+
//!      |                            try_wait, signals are left     |
//!      +-----------------------------------------------------------+
//!                                   try_wait, none
//! ```
//!
//! | move | made by | when |
//! | --- | --- | --- |
//! | `on_signal` | any thread | it leaves a signal in the outer queue; from `Waiting` it must also enqueue the process ([`Wake`]) |
//! | `start_running` | a scheduler | it has taken the process out of a run queue |
//! | `stay_runnable` | the owner | the slice is over and there is more to do; the owner then enqueues the process |
//! | `try_wait` | the owner | there is nothing to do; if a signal has come the process is runnable, and the owner enqueues it |
//! | `set_free` | the owner | the process has ended; no transition leads out of `Free` |
//! | `seize` | the thread that ends the VM | it makes a process `Running` that no scheduler runs, and never lets it go |
//!
//! P1. A process is in at most one run queue, and in none unless it is `Runnable`; one that is `Runnable` is in a queue, or the
//!     thread that made it so, or took it out, is about to put it into one.
//! P2. Only the thread that made it `Running` touches its owner state, until that thread changes the state to another.
//! P3. While it is `Waiting` or `Runnable`, one thread at a time may visit it: read its owner state, and change nothing. A scheduler
//!     that is about to make it `Running` waits until the visitor has left, so a visitor must take no lock, wait for nothing, and look
//!     at nothing that grows without bounds ([`myriad_sync::Mailbox`] has the protocol).
//! P4. No signal lies in the outer queue of a process that is `Waiting`: no wake-up is lost. The signal that would be the first
//!     makes the process `Runnable` in the exchange that leaves it, and `try_wait` makes it `Waiting` in one that sees the queue empty
//!     (sync/SW3).
//!
//! A sender that the system stops does not hold others up: before its exchange it has left nothing, and after it only the process that it
//! made runnable itself waits to be enqueued.
//!
//! # What was not done
//!
//! - *State and queue as two words*: a sender had to push, and then to change the state if the queue had been empty; the owner to settle the
//!   state before it took the queue. That is five locked instructions for a message to a process that waits instead of three, and when the
//!   system stopped the first sender between its two, all later messages waited for it.
//! - *A lock around state and queue.* Senders would wait for each other, and for an owner that has lost its core.

/// Scheduling state.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Waits for a signal.
    Waiting = 0,
    /// In a run queue.
    Runnable = 1,
    /// A scheduler runs it.
    Running = 2,
    /// Ended; its slot is being freed.
    Free = 3,
}

/// What a sender must do that has left a signal.
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
    pub const fn from_bits(bits: u8) -> Status {
        match bits {
            0 => Status::Waiting,
            1 => Status::Runnable,
            2 => Status::Running,
            _ => Status::Free,
        }
    }

    /// Does a thread own its owner state (P2)?
    pub const fn has_owner(self) -> bool {
        matches!(self, Status::Running)
    }

    /// Does no thread own it, so that one may visit it (P3)?
    pub const fn admits_visitors(self) -> bool {
        matches!(self, Status::Waiting | Status::Runnable)
    }

    /// A signal is left in the outer queue: what that makes of the state, if anything. An owner sees the signal when it would wait.
    pub const fn on_signal(self) -> Option<Status> {
        match self {
            Status::Waiting => Some(Status::Runnable),
            Status::Runnable | Status::Running | Status::Free => None,
        }
    }

    /// The owner has nothing to do: the process waits, or is runnable if a signal has come.
    pub const fn on_wait(self, signalled: bool) -> Status {
        debug_assert!(self.has_owner());
        if signalled { Status::Runnable } else { Status::Waiting }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_makes_runnable_what_waits_or_is_about_to() {
        assert_eq!(Status::Waiting.on_signal(), Some(Status::Runnable));
        assert!([Status::Runnable, Status::Running, Status::Free].iter().all(|status| status.on_signal().is_none()));
        assert_eq!(Status::Running.on_wait(true), Status::Runnable);
        assert_eq!(Status::Running.on_wait(false), Status::Waiting);
    }
}
