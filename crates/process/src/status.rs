//! The scheduling state of a process: five states, and their transitions as pure functions (tested as a table).
//!
//! The state answers three questions at once: is the process in a run queue, which thread may touch its owner state, and what must a
//! sender do after it has left a signal. [`Process`](crate::Process) keeps the state in one word ([`myriad_sync::StateWord`]) and
//! changes it by read-modify-writes alone; a plain load of it is a hint.
//!
//! ```text
//!               on_signal                  start_running
//!   Waiting ----------------> Runnable ------------------> Running
//!      ^                       ^    ^                       |  |  ^
//!      |                       |    |     stay_runnable     |  |  | signals_seen
//!      |                       |    +-----------------------+  |  |
//!      |                       |                     on_signal |  |
//!      |                       |  stay_runnable, try_wait      v  |
//!      |                       +------------------------- RunningSignalled
//!      |                          try_wait
//!      +------------------------------------------------- Running
//!
//!   Free <---- set_free ---- Running, RunningSignalled
//! ```
//!
//! | move | made by | when |
//! | --- | --- | --- |
//! | `on_signal` | any thread | it has left a signal in the outer queue; from `Waiting` it must also enqueue the process ([`Wake`]) |
//! | `start_running` | a scheduler | it has taken the process out of a run queue |
//! | `signals_seen` | the owner | it is about to take the outer queue |
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
//!     at nothing that grows without bounds ([`myriad_sync::StateWord`] has the protocol).
//! P4. No signal lies in the outer queue of a process that stays `Waiting`: no wake-up is lost.
//!
//! # Why no wake-up is lost
//!
//! A sender pushes first and makes `on_signal` afterwards. The owner makes `signals_seen` first and takes the queue afterwards, and
//! makes `try_wait` last. All three are read-modify-writes of one word, so they have one order, and `on_signal` falls into one of
//! three places:
//!
//! 1. Before `signals_seen`. The Acquire of `signals_seen` pairs with the Release of `on_signal`, perhaps over other changes in
//!    between, which are read-modify-writes too and continue the release sequence. So the push happens before the take, and the take
//!    finds the signal.
//! 2. Between `signals_seen` and `try_wait`. The state is then `RunningSignalled`, and `try_wait` makes it `Runnable`. The owner may
//!    have found the signal already: then the process looks at an empty queue once more, which costs a slice and loses nothing.
//! 3. After `try_wait`. The state is `Waiting`; the sender makes it `Runnable` and enqueues the process.
//!
//! A signal that comes while the process is `Runnable` is case 1 with `start_running` in the place of `signals_seen`. So an owner may
//! look by a Relaxed load whether the queue is empty, and leave out `signals_seen` if it seems to be: a signal that this load misses
//! is case 2 or 3.
//!
//! # What was not done
//!
//! - *A look at the state before `on_signal`*, which would save a sender to a busy process the read-modify-write. The sender would
//!   store (the push) and then look (at the state), the owner store (`signals_seen`) and then look (at the queue): without a SeqCst
//!   fence on both sides both may miss (sync/SL1), and the sender's fence costs what its read-modify-write does.
//! - *A flag "signalled" beside the state.* Two words are not changed together: an owner that has seen the flag clear may begin to
//!   wait after a sender has set it, and the sender has seen the owner run.
//! - *A lock around state and queue.* Senders would wait for each other, and for an owner that has lost its core.

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

    /// Does a thread own its owner state (P2)?
    pub const fn has_owner(self) -> bool {
        matches!(self, Status::Running | Status::RunningSignalled)
    }

    /// Does no thread own it, so that one may visit it (P3)?
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

    /// The owner has nothing to do: the process waits, or is runnable again if a signal has come.
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
