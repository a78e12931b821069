//! [`McsLock`]: a queue lock, for short sections that many cores fight over.
//!
//! After Mellor-Crummey and Scott (1991): each waiter spins on its own cache line and is served in order of
//! arrival, so a release costs one line transfer however many wait. Like every fair spinning lock it is bad when
//! there are more threads than cores: the next in line may be asleep.
//!
//! Q1. `tail` is null or the newest node of a queue whose oldest holds the lock.
//! Q2. A node lives on its owner's stack until its owner has released the lock; that is why access is by closure.

use crate::{
    atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    backoff::Backoff,
    cell::UnsafeCell,
    class::LockClass,
    cost::Hold,
};
use std::ptr;

/// Mutual exclusion in order of arrival, spinning on the waiter's own line.
#[derive(Debug)]
pub struct McsLock<T> {
    class: &'static LockClass,
    tail: AtomicPtr<Node>,
    value: UnsafeCell<T>,
}

#[repr(align(128))]
struct Node {
    waiting: AtomicBool,
    next: AtomicPtr<Node>,
}

// SAFETY: the lock hands the value to one thread at a time, so sharing it only needs sending.
unsafe impl<T: Send> Sync for McsLock<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for McsLock<T> {}

impl<T> McsLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, tail: AtomicPtr::new(ptr::null_mut()), value: UnsafeCell::new(value) }
        }
    }

    /// Runs `f` on the value while holding the lock.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _held = self.class.hold(Hold::exclusive(&self.tail));
        let node = Node { waiting: AtomicBool::new(true), next: AtomicPtr::new(ptr::null_mut()) };
        self.class.acquire(|| self.try_enter(&node), || self.enter(&node));
        // Also when `f` panics.
        let _exit = Exit { lock: self, node: &node };
        // SAFETY: this thread holds the lock until `_exit` is dropped; `f` cannot keep the borrow.
        self.value.with_mut(|value| f(unsafe { &mut *value }))
    }

    /// The value, through an exclusive borrow.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
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

struct Exit<'a, T> {
    lock: &'a McsLock<T>,
    node: &'a Node,
}

impl<T> Drop for Exit<'_, T> {
    fn drop(&mut self) {
        self.lock.exit(self.node);
    }
}
