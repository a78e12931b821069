//! [`McsLock`]: a queue lock, for short sections that many cores fight over.
//!
//! After Mellor-Crummey and Scott (1991): each waiter spins on its own cache line and is served in order of
//! arrival, so a release costs one line transfer however many wait. Like every fair spinning lock it is bad when
//! there are more threads than cores: the next in line may be asleep.
//!
//! Q1. `tail` is null or the newest node of a queue whose oldest has the turn.
//! Q2. A node lives on its owner's stack until its owner has left the queue; that is why access is by closure.

use crate::{
    atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    backoff::Backoff,
    cell::UnsafeCell,
    class::LockClass,
    cost::Hold,
    profile::{self, How},
};
use std::ptr;

/// Mutual exclusion in order of arrival, spinning on the waiter's own line.
#[derive(Debug)]
pub struct McsLock<T> {
    class: &'static LockClass,
    queue: Queue,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time, so sharing it only needs sending.
unsafe impl<T: Send> Sync for McsLock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for McsLock<T> {}

impl<T> McsLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, queue: Queue::new(), value: UnsafeCell::new(value) }
        }
    }

    /// Runs `f` on the value while holding the lock.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.class.hold(Hold::exclusive(&self.queue));
        let enter = |node: &Node| {
            profile::acquire(&self.class, How::Queue, || self.queue.try_enter(node), || self.queue.enter(node)).1
        };
        // SAFETY: this thread is the oldest of the queue while `f` runs; `f` cannot keep the borrow.
        self.queue.entered(enter, || self.value.with_mut(|value| f(unsafe { &mut *value })))
    }

    /// The value, through an exclusive borrow.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

/// The queue alone, for locks that hold something else than their place in it.
#[derive(Debug)]
pub(crate) struct Queue {
    tail: AtomicPtr<Node>,
}

#[repr(align(128))]
struct Node {
    waiting: AtomicBool,
    next: AtomicPtr<Node>,
}

impl Queue {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { tail: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Waits until this thread is the oldest of the queue, and leaves it after `f`.
    pub(crate) fn in_turn<R>(&self, f: impl FnOnce() -> R) -> R {
        self.entered(|node| self.enter(node), f)
    }

    /// Is nobody in the queue? A guess: somebody may come at once.
    pub(crate) fn is_empty(&self) -> bool {
        // Relaxed: nothing is read on the strength of it.
        self.tail.load(Relaxed).is_null()
    }

    /// Runs `f` between `enter` (which enters the node; what it gives is dropped before leaving) and leaving, also when `f` panics.
    fn entered<R, E>(&self, enter: impl FnOnce(&Node) -> E, f: impl FnOnce() -> R) -> R {
        let node = Node { waiting: AtomicBool::new(true), next: AtomicPtr::new(ptr::null_mut()) };
        let entered = enter(&node);
        let _exit = Exit { queue: self, node: &node };
        let _entered = entered;
        f()
    }

    fn try_enter(&self, node: &Node) -> Option<()> {
        // Acquire: pairs with the Release in `exit` that left the queue empty. Release: the thread that comes next and
        // gets this node from `tail` must see it made.
        self.tail.compare_exchange(ptr::null_mut(), ptr::from_ref(node).cast_mut(), AcqRel, Relaxed).ok().map(|_| ())
    }

    fn enter(&self, node: &Node) {
        // As in `try_enter`.
        let before = self.tail.swap(ptr::from_ref(node).cast_mut(), AcqRel);
        // SAFETY: Q2; the node before cannot be released without telling us through `next`.
        let Some(before) = (unsafe { before.as_ref() }) else { return };
        // Release: pairs with the Acquire in `exit`, whose thread then reads our node.
        before.next.store(ptr::from_ref(node).cast_mut(), Release);
        let mut backoff = Backoff::new();
        // Acquire: pairs with the Release in `exit`.
        while node.waiting.load(Acquire) {
            backoff.pause();
        }
    }

    fn exit(&self, node: &Node) {
        let this = ptr::from_ref(node).cast_mut();
        // Acquire: pairs with the Release in `enter`.
        let mut next = node.next.load(Acquire);
        if next.is_null() {
            // Release: pairs with the Acquire of the next to enter.
            if self.tail.compare_exchange(this, ptr::null_mut(), Release, Relaxed).is_ok() {
                return;
            }
            // Another thread has swapped `tail` and is about to link its node behind this one.
            let mut backoff = Backoff::new();
            loop {
                next = node.next.load(Acquire);
                if !next.is_null() {
                    break;
                }
                backoff.pause();
            }
        }
        // SAFETY: Q2; the next waits for this very store and lives until after it.
        let next = unsafe { &*next };
        // Release: pairs with the Acquire at the end of `enter`. The last touch: the waiter may go at once.
        next.waiting.store(false, Release);
    }
}

struct Exit<'a> {
    queue: &'a Queue,
    node: &'a Node,
}

impl Drop for Exit<'_> {
    fn drop(&mut self) {
        self.queue.exit(self.node);
    }
}
