//! The limits of a port's queue of operations: senders are suspended while too many bytes wait there for the port's turn.
//!
//! Who waits was put in under the lock, and only while the queue is full. Who finds it full no longer, under the lock, takes all of them out and wakes
//! them: so nobody is forgotten. A sender whose command has filled the queue is suspended under the lock, so that it is resumed after that.

use super::seldom::Seldom;
use myriad_sync::{LockClass, Mutex};
use myriad_term::Pid;

static CLASS: LockClass = LockClass::new("port_backlog", 306);

/// What waits for a busy port, or a full queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiter {
    /// Sends, to try again.
    Retry(Pid),
    /// Suspended after sending.
    Suspended(Pid),
}

/// Bytes above which a queue is full, and down to which it must come then: those of OTP.
pub(super) const DEFAULT: Limits = Limits { high: 8192, low: 4096 };

/// The limits of a queue, in bytes of commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// With more than so many it is full.
    pub high: usize,
    /// With so many or less it is full no longer.
    pub low: usize,
}

impl Limits {
    /// It is never full.
    pub const NONE: Limits = Limits { high: usize::MAX, low: usize::MAX };
}

/// See the module.
pub(super) struct Backlog(Mutex<Inner>);

struct Inner {
    bytes: usize,
    limits: Limits,
    is_full: bool,
    waiters: Seldom<Vec<Waiter>>,
}

impl Inner {
    /// Looks whether it is full now; those who wait no longer.
    fn settle(&mut self) -> Vec<Waiter> {
        self.is_full = self.bytes > if self.is_full { self.limits.low } else { self.limits.high };
        if self.is_full { Vec::new() } else { self.waiters.take() }
    }
}

impl Backlog {
    /// Of a port for whose queue nothing is left.
    pub(super) fn new(limits: Limits) -> Backlog {
        Backlog(Mutex::new(&CLASS, Inner { bytes: 0, limits, is_full: false, waiters: Seldom::default() }))
    }

    /// Commands of so many bytes are left.
    pub(super) fn add(&self, bytes: usize) {
        let mut inner = self.0.lock();
        inner.bytes += bytes;
        // Full already, or full now: nobody is woken by more.
        inner.is_full |= inner.bytes > inner.limits.high;
    }

    /// They are done: those who are to go on.
    #[must_use]
    pub(super) fn done(&self, bytes: usize) -> Vec<Waiter> {
        if bytes == 0 {
            return Vec::new();
        }
        let mut inner = self.0.lock();
        inner.bytes -= bytes;
        inner.settle()
    }

    /// Is it full?
    pub(super) fn is_full(&self) -> bool {
        self.0.lock().is_full
    }

    /// If it is full: has somebody wait, and does `then` unless that waits already.
    pub(super) fn wait(&self, waiter: Waiter, then: impl FnOnce()) -> bool {
        let mut inner = self.0.lock();
        if inner.is_full && inner.waiters.get().is_none_or(|waiters| !waiters.contains(&waiter)) {
            inner.waiters.get_mut().push(waiter);
            then();
        }
        inner.is_full
    }

    /// The limits.
    pub(super) fn limits(&self) -> Limits {
        self.0.lock().limits
    }

    /// Other limits: those who are to go on.
    #[must_use]
    pub(super) fn set_limits(&self, limits: Limits) -> Vec<Waiter> {
        let mut inner = self.0.lock();
        inner.limits = limits;
        inner.settle()
    }
}

#[cfg(test)]
mod tests {
    use super::{Backlog, Limits, Waiter};
    use myriad_term::Pid;

    #[test]
    fn who_waits_goes_on_at_the_low_limit() {
        let backlog = Backlog::new(Limits { high: 100, low: 10 });
        let waiter = Waiter::Retry(Pid::new(1, 0));
        backlog.add(100);
        assert!(!backlog.wait(waiter, || unreachable!()), "not above the limit");
        backlog.add(50);
        let mut times = 0;
        assert!(backlog.wait(waiter, || times += 1) && backlog.wait(waiter, || times += 1));
        assert_eq!(times, 1);
        assert!(backlog.done(139).is_empty() && backlog.is_full());
        assert!(backlog.done(1) == [waiter] && !backlog.is_full());
        backlog.add(100);
        assert!(backlog.is_full());
        assert!(backlog.set_limits(Limits::NONE).is_empty() && !backlog.is_full());
    }
}
