//! Timers: what happens at a given monotonic time. Each scheduler has a wheel ([`crate::wheel`]) and fires what is due on it.
//!
//! A timer that is to send a message to a process is taken back when that process ends; one to a name stays, and looks up the
//! process that has the name when it fires.

use crate::wheel::{Popped, Wheel};
use myriad_process::{Payload, TimerId};
use myriad_sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{CachePadded, LockClass, SpinLock};
use myriad_term::{Atom, Pid};

/// What firing a timer costs, in reductions.
const FIRING: u32 = 4;
/// What moving timers of the wheel down costs, those that are moved together ([`Popped::More`]).
const MOVING: u32 = 64;

static CLASS: LockClass = LockClass::new("timer_wheel", 650);

/// Where a timer's message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A process.
    Process(Pid),
    /// The process that has this name when the timer fires.
    Name(Atom),
}

/// What a timer does in a VM of type `V`.
pub enum Action<V: 'static> {
    /// The receive timer of a process, and its own identifier, so that the process tells a late one apart.
    Receive(Pid, TimerId),
    /// Sends a message.
    Message(Destination, Payload),
    /// Runs on the scheduler's thread; short.
    Call(Box<dyn FnOnce(&'static V) + Send>),
}

impl<V> Action<V> {
    /// The process that takes the timer back when it ends.
    pub fn owner(&self) -> Option<Pid> {
        match self {
            Action::Message(Destination::Process(pid), _) => Some(*pid),
            _ => None,
        }
    }
}

struct Shard<V: 'static> {
    wheel: SpinLock<Wheel<Action<V>>>,
    /// The wheel has nothing to do before this time (at most [`Wheel::next`]): what the wheel's scheduler looks at between two slices.
    next: AtomicU64,
    /// How many of its timers are to send a message. A figure, written under the lock.
    messages: AtomicUsize,
}

impl<V> Shard<V> {
    /// Sets a reserved timer, under the lock of the wheel `w`. `true`: the wheel has something to do sooner now.
    fn set(&self, w: &mut Wheel<Action<V>>, slot: u32, at_ns: u64, action: Action<V>) -> bool {
        if matches!(action, Action::Message(..)) {
            // Relaxed: a figure. No read-modify-write: the lock is held.
            self.messages.store(self.messages.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let owner = action.owner();
        w.set(slot, at_ns, action, owner);
        // Relaxed: written under the lock; its scheduler is woken by the caller if it sleeps.
        let before = self.next.load(Ordering::Relaxed);
        // The wheel may have to move the timer down earlier than it fires: `next_in` tells that time, so `fire` must look
        // then, or the scheduler would not sleep until the timer fires.
        let next = w.next().unwrap_or(u64::MAX);
        if next < before {
            self.next.store(next, Ordering::Relaxed);
        }
        at_ns < before
    }

    /// A timer has been taken out of the wheel, whose lock `_w` is held.
    fn ended(&self, _w: &Wheel<Action<V>>, action: &Action<V>) {
        if matches!(action, Action::Message(..)) {
            // Relaxed: as in `set`.
            let before = self.messages.load(Ordering::Relaxed);
            debug_assert!(before > 0);
            self.messages.store(before.saturating_sub(1), Ordering::Relaxed);
        }
    }
}

/// All timers, a wheel for each scheduler.
pub struct Timers<V: 'static> {
    shards: Box<[CachePadded<Shard<V>>]>,
}

impl<V> Timers<V> {
    /// For `schedulers` schedulers.
    pub fn new(schedulers: usize) -> Timers<V> {
        let shard = || Shard {
            wheel: SpinLock::new(&CLASS, Wheel::default()),
            next: AtomicU64::new(u64::MAX),
            messages: AtomicUsize::new(0),
        };
        Timers { shards: (0..schedulers).map(|_| CachePadded::new(shard())).collect() }
    }

    /// A timer on the wheel of `scheduler`, to be set at once.
    pub fn reserve(&self, scheduler: usize) -> TimerId {
        let wheel = scheduler % self.shards.len();
        let (slot, generation) = self.shards[wheel].wheel.lock().reserve();
        TimerId::new(wheel as u32, slot, generation)
    }

    /// Sets a reserved timer for the platform's time `at_ns`. `true`: its wheel has something to do sooner now, and the wheel's
    /// scheduler has to be woken if it sleeps.
    #[must_use]
    pub fn set(&self, id: TimerId, at_ns: u64, action: Action<V>) -> bool {
        let Some(shard) = self.shards.get(id.wheel()) else { return false };
        debug_assert!(!matches!(action, Action::Receive(_, other) if other != id), "a receive timer knows its name");
        let mut w = shard.wheel.lock();
        shard.set(&mut w, id.slot, at_ns, action)
    }

    /// As [`Timers::reserve`] and [`Timers::set`] of a receive timer, with the lock of its wheel taken once.
    #[must_use]
    pub fn set_receive(&self, scheduler: usize, at_ns: u64, pid: Pid) -> (TimerId, bool) {
        let wheel = scheduler % self.shards.len();
        let shard = &self.shards[wheel];
        let mut w = shard.wheel.lock();
        let (slot, generation) = w.reserve();
        let id = TimerId::new(wheel as u32, slot, generation);
        (id, shard.set(&mut w, slot, at_ns, Action::Receive(pid, id)))
    }

    /// Takes a timer back; its time, if it had not fired.
    pub fn cancel(&self, id: TimerId) -> Option<u64> {
        let shard = self.shards.get(id.wheel())?;
        let mut w = shard.wheel.lock();
        let (at, action) = w.cancel(id.slot, id.generation)?;
        shard.ended(&w, &action);
        // What it would have done is freed after the lock.
        drop(w);
        drop(action);
        Some(at)
    }

    /// The time at which a timer will fire, if it has not.
    pub fn read(&self, id: TimerId) -> Option<u64> {
        self.shards.get(id.wheel())?.wheel.lock().read(id.slot, id.generation)
    }

    /// Takes a timer of this wheel back that would send a message to this process, which ends. `None`: there is none.
    pub fn cancel_one_of(&self, wheel: usize, pid: Pid) -> Option<()> {
        let shard = self.shards.get(wheel)?;
        let mut w = shard.wheel.lock();
        let action = w.cancel_owned(pid)?;
        shard.ended(&w, &action);
        // What it would have done is freed after the lock.
        drop(w);
        drop(action);
        Some(())
    }

    /// How many wheels there are.
    pub fn wheels(&self) -> usize {
        self.shards.len()
    }

    /// Timers set, for the statistics.
    pub fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.wheel.lock().len()).sum()
    }

    /// The timers set that are to send a message.
    pub fn messages(&self) -> usize {
        // Relaxed: a figure.
        self.shards.iter().map(|shard| shard.messages.load(Ordering::Relaxed)).sum()
    }

    /// Bytes of those timers.
    pub fn message_bytes(&self) -> usize {
        self.messages() * Wheel::<Action<V>>::ENTRY_BYTES
    }

    /// Calls `tell` with where each timer set will send its message, when, and the message.
    pub fn each_message(&self, mut tell: impl FnMut(Destination, u64, &Payload)) {
        for shard in &self.shards {
            shard.wheel.lock().each(|at_ns, action| {
                if let Action::Message(to, payload) = action {
                    tell(*to, at_ns, payload);
                }
            });
        }
    }

    /// Nanoseconds from `now_ns` to when a scheduler has to look at its timers, for the scheduler itself: it may sleep so long.
    pub fn next_in(&self, scheduler: usize, now_ns: u64) -> Option<u64> {
        let shard = self.shards.get(scheduler)?;
        let w = shard.wheel.lock();
        let next = w.next();
        // Relaxed: written under the lock. What was taken back may have stood there: who sets a timer that is due before
        // the scheduler wakes must see that it is (`set`).
        shard.next.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
        next.map(|at| at.saturating_sub(now_ns))
    }

    /// Has a scheduler's wheel something to do at this time (a figure)?
    pub fn is_due(&self, scheduler: usize, now_ns: u64) -> bool {
        // Relaxed: as in `fire`.
        self.shards.get(scheduler).is_some_and(|shard| shard.next.load(Ordering::Relaxed) <= now_ns)
    }

    /// Hands what is due on a scheduler's wheel to `run`, until about `reductions` are spent. `false`: more may be due.
    pub fn fire(&self, scheduler: usize, now_ns: u64, reductions: u32, mut run: impl FnMut(Action<V>)) -> bool {
        let Some(shard) = self.shards.get(scheduler) else { return true };
        // Relaxed: a timer set by another thread right now is seen at the next look.
        if shard.next.load(Ordering::Relaxed) > now_ns {
            return true;
        }
        let mut spent = 0;
        while spent < reductions {
            let popped = {
                let mut w = shard.wheel.lock();
                let popped = w.pop(now_ns);
                if matches!(popped, Popped::Nothing) {
                    // Relaxed: written under the lock; read as a hint.
                    shard.next.store(w.next().unwrap_or(u64::MAX), Ordering::Relaxed);
                }
                if let Popped::Due(action) = &popped {
                    shard.ended(&w, action);
                }
                popped
            };
            match popped {
                Popped::Due(action) => {
                    run(action);
                    spent += FIRING;
                }
                Popped::More => spent += MOVING,
                Popped::Nothing => return true,
            }
        }
        false
    }
}

#[cfg(all(test, not(interleaved)))]
mod tests {
    use super::{Action, Timers};

    /// Who sets a timer wakes its scheduler if that sleeps past it, also where an earlier one was taken back before the scheduler slept.
    #[test]
    fn a_timer_that_was_taken_back_is_not_slept_for() {
        let timers = Timers::<()>::new(1);
        let set = |at_ns| {
            let id = timers.reserve(0);
            (id, timers.set(id, at_ns, Action::Call(Box::new(|_| {}))))
        };
        let (first, sooner) = set(10_000_000);
        assert!(sooner);
        assert_eq!(timers.cancel(first), Some(10_000_000));
        assert!(timers.fire(0, 1_000_000, 100, |_| unreachable!("none is due")));
        assert_eq!(timers.next_in(0, 1_000_000), None, "it sleeps without an end");
        let (_, sooner) = set(20_000_000);
        assert!(sooner, "it has to be woken");
        assert!(timers.next_in(0, 1_000_000).is_some());
        let (_, sooner) = set(30_000_000);
        assert!(!sooner, "it wakes before that");
    }
}
