//! [`TimePublishedLock`]: a queue lock that passes over waiters that have lost their core.
//!
//! In a queue lock the next in line may be asleep, and all behind it wait for its core (with more threads than cores: nearly always).
//! Here each waiter writes the time into its node while it spins, and the leaving holder hands the lock to the first waiter whose time
//! is fresh. It takes those before that one out of the queue; they enter it again when they run. After He, Scherer and Scott
//! (Preemption Adaptivity in Time-Published Queue-Based Spin Locks, 2005), without their limit on the time of a section: a holder
//! that loses its core holds everybody up.
//! The queue is that of [`McsLock`](crate::McsLock).
//!
//! TP1. A node lives on its owner's stack while it is in the queue. The leaving holder takes a node out by marking it, GRANTED or
//!      PASSED, and does not touch it afterwards.
//! TP2. The leaving holder marks a node PASSED only when it knows the node behind, or has made the queue end before it.
//!
//! A waiter may be passed over again and again: no order is kept, and no bound.

use crate::{
    atomic::{
        AtomicPtr, AtomicU32, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    backoff::Backoff,
    cell::UnsafeCell,
    class::LockClass,
    cost::Hold,
    profile::{self, How},
};
use std::ptr;

const WAITING: u32 = 0;
/// The node's owner has the lock.
const GRANTED: u32 = 1;
/// The node has left the queue without the lock.
const PASSED: u32 = 2;

/// Mutual exclusion in order of arrival among the waiters that run.
#[derive(Debug)]
pub struct TimePublishedLock<T> {
    class: &'static LockClass,
    tail: AtomicPtr<Node>,
    value: UnsafeCell<T>,
}

#[repr(align(128))]
struct Node {
    state: AtomicU32,
    /// When the owner last looked; of `clock`.
    looked: AtomicU64,
    next: AtomicPtr<Node>,
}

// SAFETY: the lock hands the value to one thread at a time, so sharing it only needs sending.
unsafe impl<T: Send> Sync for TimePublishedLock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for TimePublishedLock<T> {}

impl<T> TimePublishedLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, tail: AtomicPtr::new(ptr::null_mut()), value: UnsafeCell::new(value) }
        }
    }

    /// Runs `f` on the value while holding the lock.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.class.hold(Hold::exclusive(&self.tail));
        let node = Node::new();
        let wait = || while !self.enter(&node) {};
        let ((), counted) = profile::acquire(&self.class, How::Queue, || self.try_enter(&node), wait);
        // Also when `f` panics.
        let _exit = Exit { lock: self, node: &node };
        let _counted = counted;
        // SAFETY: this thread holds the lock until `_exit` is dropped; `f` cannot keep the borrow.
        self.value.with_mut(|value| f(unsafe { &mut *value }))
    }

    /// The value, through an exclusive borrow.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn try_enter(&self, node: &Node) -> Option<()> {
        // Acquire: pairs with the Release in `end_before`. Release: the thread that comes next gets this
        // node from `tail` and must see it made.
        self.tail.compare_exchange(ptr::null_mut(), node.address(), AcqRel, Relaxed).ok().map(|_| ())
    }

    /// Queues; says whether that gave the lock. Otherwise the node has been passed over.
    fn enter(&self, node: &Node) -> bool {
        node.renew();
        // As in `try_enter`.
        let before = self.tail.swap(node.address(), AcqRel);
        // SAFETY: TP2; the node before cannot leave without knowing the one behind it.
        let Some(before) = (unsafe { before.as_ref() }) else { return true };
        // Release: pairs with the Acquire in `behind`, whose thread then reads our node.
        before.next.store(node.address(), Release);
        node.wait()
    }

    /// Hands the lock to the first waiter that runs, and takes those before it out of the queue.
    fn exit(&self, node: &Node) {
        let mut next = self.behind(node);
        // SAFETY: TP1; a waiter's node stays until it is marked.
        while let Some(waiter) = unsafe { next.as_ref() } {
            if clock::is_fresh(waiter) {
                return waiter.mark(GRANTED);
            }
            next = self.behind(waiter);
            waiter.mark(PASSED);
        }
    }

    /// The node behind this one; null if there is none, and then the queue has ended before this one.
    fn behind(&self, node: &Node) -> *mut Node {
        let mut backoff = Backoff::new();
        loop {
            // Acquire: pairs with the Release in `enter`.
            let next = node.next.load(Acquire);
            if !next.is_null() || self.end_before(node) {
                return next;
            }
            // Another thread has swapped `tail` and is about to link its node behind this one.
            backoff.pause();
        }
    }

    /// Leaves the queue empty and the lock free, if this node is the last.
    fn end_before(&self, node: &Node) -> bool {
        // Release: pairs with the Acquire of the next to enter.
        self.tail.compare_exchange(node.address(), ptr::null_mut(), Release, Relaxed).is_ok()
    }
}

impl Node {
    fn new() -> Self {
        Self { state: AtomicU32::new(WAITING), looked: AtomicU64::new(0), next: AtomicPtr::new(ptr::null_mut()) }
    }

    fn address(&self) -> *mut Node {
        ptr::from_ref(self).cast_mut()
    }

    /// Makes the node as new, while it is in no queue (TP1).
    fn renew(&self) {
        // Relaxed, all: the exchange of `tail` publishes them.
        self.state.store(WAITING, Relaxed);
        self.next.store(ptr::null_mut(), Relaxed);
        self.looked.store(clock::on_arrival(), Relaxed);
    }

    /// Spins until the node is marked; says whether with the lock.
    fn wait(&self) -> bool {
        let mut backoff = Backoff::new();
        loop {
            // Acquire: pairs with the Release in `mark`.
            match self.state.load(Acquire) {
                WAITING => {}
                mark => return mark == GRANTED,
            }
            // Relaxed: a hint.
            self.looked.store(clock::now(), Relaxed);
            backoff.pause();
        }
    }

    /// Takes the node out of the queue. This is the last touch: the waiter may go at once.
    fn mark(&self, mark: u32) {
        // Release: pairs with the Acquire in `wait`; also for a node that is passed over, which its owner writes anew after it was
        // read here.
        self.state.store(mark, Release);
    }
}

struct Exit<'a, T> {
    lock: &'a TimePublishedLock<T>,
    node: &'a Node,
}

impl<T> Drop for Exit<'_, T> {
    fn drop(&mut self) {
        self.lock.exit(self.node);
    }
}

/// The time that waiters publish: nanoseconds since the first question.
#[cfg(not(loom))]
mod clock {
    use super::Node;
    use crate::{LazyLock, atomic::Ordering::Relaxed};
    use std::time::Instant;

    /// A waiter that has not looked for so long has lost its core: a spinning one looks every microsecond or two.
    const FRESH_NS: u64 = 20_000;

    pub(super) fn now() -> u64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn on_arrival() -> u64 {
        now()
    }

    /// Whether the waiter runs, by all that is known.
    pub(super) fn is_fresh(waiter: &Node) -> bool {
        // Relaxed: a hint.
        now().saturating_sub(waiter.looked.load(Relaxed)) < FRESH_NS
    }
}

/// The model's time: a waiter that has looked runs, one that has not yet does not. So interleavings choose who is passed over.
#[cfg(loom)]
mod clock {
    use super::Node;
    use crate::atomic::Ordering::Relaxed;

    pub(super) fn now() -> u64 {
        1
    }

    pub(super) fn on_arrival() -> u64 {
        0
    }

    pub(super) fn is_fresh(waiter: &Node) -> bool {
        waiter.looked.load(Relaxed) != 0
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::{Node, PASSED, TimePublishedLock, WAITING};
    use crate::{LockClass, atomic::Ordering::Relaxed};
    use std::{thread, time::Duration};

    static CLASS: LockClass = LockClass::new("time_published", 1);

    #[test]
    fn a_waiter_without_a_core_is_passed_over() {
        let lock = TimePublishedLock::new(&CLASS, 0);
        let (asleep, holder) = (Node::new(), Node::new());
        assert!(lock.try_enter(&holder).is_some());
        // As in `enter`, but nobody looks for it then.
        asleep.renew();
        lock.tail.store(asleep.address(), Relaxed);
        holder.next.store(asleep.address(), Relaxed);
        thread::sleep(Duration::from_millis(2));
        assert_eq!(asleep.state.load(Relaxed), WAITING);
        lock.exit(&holder);
        assert_eq!(asleep.state.load(Relaxed), PASSED);
        lock.with(|count| *count += 1);
        assert!(asleep.next.load(Relaxed).is_null());
    }
}

/// Caught when tried: each Acquire and each Release of `try_enter`, `enter`, `behind`, `end_before`, `wait` and `mark` made Relaxed,
/// one at a time; a node that is passed over before the one behind it is known (TP2); one that was passed over taken for a holder.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::TimePublishedLock;
    use crate::{LockClass, spin::loom_tests::excludes};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("time_published", 1);

    fn add(lock: &TimePublishedLock<u32>) -> u32 {
        lock.with(|count| {
            *count += 1;
            *count
        })
    }

    #[test]
    fn excludes_also_those_passed_over() {
        excludes(2, || TimePublishedLock::new(&CLASS, 0), add);
    }

    /// Two waiters, of which the holder may pass over one, or both. Each yields while it waits, so one preemption is enough.
    #[test]
    fn a_waiter_behind_one_passed_over_gets_the_lock() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(1);
        model.check(|| {
            let lock = Arc::new(TimePublishedLock::new(&CLASS, 0));
            let others = [(); 2].map(|()| {
                let lock = lock.clone();
                thread::spawn(move || add(&lock))
            });
            add(&lock);
            others.into_iter().for_each(|other| assert!(other.join().unwrap() <= 3));
            assert_eq!(add(&lock), 4);
        });
    }
}
