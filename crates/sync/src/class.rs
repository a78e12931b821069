//! Lock classes: a name and a place in the lock order for every lock of one purpose.
//!
//! O1. A thread blocks only on a lock whose class has a higher order than every lock it holds, or, in a class
//!     declared [`nested`](LockClass::nested), the same class again.
//!
//! Then no cycle of threads can wait for each other. Debug builds keep the classes that each thread holds and panic
//! on the first acquisition against O1, whether or not it would have deadlocked that time. A `try_` acquisition
//! cannot wait, so it is exempt, but what it took counts as held. The idea is that of OTP's lock checker and of
//! the witness facility of the BSD kernels. A model build skips the check: loom finds real deadlocks by itself.

use crate::cost::{self, Hold};

/// One kind of lock: `static RUN_QUEUE: LockClass = LockClass::new("run_queue", 40);`
#[derive(Debug)]
pub struct LockClass {
    name: &'static str,
    order: u16,
    nests: bool,
}

impl LockClass {
    /// A class of which a thread holds at most one lock at a time.
    pub const fn new(name: &'static str, order: u16) -> Self {
        Self { name, order, nests: false }
    }

    /// A class of which a thread may hold several, in an order that the user keeps (by address, by pid).
    pub const fn nested(name: &'static str, order: u16) -> Self {
        Self { name, order, nests: true }
    }

    /// The name, as the profile shows it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The place in the lock order.
    pub const fn order(&self) -> u16 {
        self.order
    }

    /// Whether a thread may hold several of this class.
    pub const fn is_nested(&self) -> bool {
        self.nests
    }

    /// Before an acquisition that may block: checks O1 and notes the class as held.
    #[inline(always)]
    pub(crate) fn hold(&'static self, hold: Hold) -> Held {
        #[cfg(all(debug_assertions, not(loom)))]
        held::check(self);
        self.hold_unordered(hold)
    }

    /// After an acquisition that could not block: notes the class as held.
    #[inline(always)]
    pub(crate) fn hold_unordered(&'static self, hold: Hold) -> Held {
        #[cfg(all(debug_assertions, not(loom)))]
        held::push(self);
        cost::acquire(self, hold);
        Held {
            #[cfg(all(debug_assertions, not(loom)))]
            class: self,
            #[cfg(feature = "sim")]
            _cost: CostlyHold(hold),
        }
    }
}

/// Proof that a class is noted as held; dropped with the lock's guard. Nothing at all in release builds for threads.
#[derive(Debug)]
pub(crate) struct Held {
    #[cfg(all(debug_assertions, not(loom)))]
    class: &'static LockClass,
    #[cfg(feature = "sim")]
    _cost: CostlyHold,
}

/// Reports the lock as given back when dropped.
#[cfg(feature = "sim")]
#[derive(Debug)]
struct CostlyHold(Hold);

#[cfg(feature = "sim")]
impl Drop for CostlyHold {
    fn drop(&mut self) {
        cost::release(self.0);
    }
}

#[cfg(all(debug_assertions, not(loom)))]
impl Drop for Held {
    fn drop(&mut self) {
        held::pop(self.class);
    }
}

/// The classes that this thread holds.
#[cfg(all(debug_assertions, not(loom)))]
mod held {
    use super::LockClass;
    use std::cell::RefCell;

    std::thread_local! {
        static HELD: RefCell<Vec<&'static LockClass>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn check(class: &'static LockClass) {
        // A thread that is being torn down has no list any more, and is not checked.
        let against = HELD.try_with(|held| {
            let held = held.borrow();
            held.iter().copied().find(|other| {
                let same = std::ptr::eq(*other, class);
                other.order > class.order || (other.order == class.order && !(same && class.nests))
            })
        });
        if let Ok(Some(other)) = against {
            panic!(
                "lock order: taking \"{}\" (order {}) while holding \"{}\" (order {})",
                class.name, class.order, other.name, other.order
            );
        }
    }

    pub(super) fn push(class: &'static LockClass) {
        let _ = HELD.try_with(|held| held.borrow_mut().push(class));
    }

    pub(super) fn pop(class: &'static LockClass) {
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            // Guards may be dropped in any order. One that another thread took is not in this list.
            if let Some(at) = held.iter().rposition(|other| std::ptr::eq(*other, class)) {
                held.remove(at);
            }
        });
    }
}

#[cfg(all(test, debug_assertions, not(loom)))]
mod tests {
    use super::LockClass;
    use crate::Mutex;

    static LOW: LockClass = LockClass::new("low", 1);
    static HIGH: LockClass = LockClass::new("high", 2);
    static PEERS: LockClass = LockClass::nested("peers", 3);

    #[test]
    fn upward_is_allowed_in_any_release_order() {
        let (low, high) = (Mutex::new(&LOW, ()), Mutex::new(&HIGH, ()));
        for _ in 0..2 {
            let first = low.lock();
            let second = high.lock();
            drop(first);
            drop(second);
        }
    }

    #[test]
    #[should_panic(expected = "taking \"low\" (order 1) while holding \"high\" (order 2)")]
    fn downward_panics_with_both_names() {
        let (low, high) = (Mutex::new(&LOW, ()), Mutex::new(&HIGH, ()));
        let _high = high.lock();
        let _low = low.lock();
    }

    #[test]
    #[should_panic(expected = "lock order")]
    fn two_of_one_class_panic() {
        let (one, two) = (Mutex::new(&LOW, ()), Mutex::new(&LOW, ()));
        let _one = one.lock();
        let _two = two.lock();
    }

    #[test]
    fn two_of_a_nested_class_are_allowed() {
        let (one, two) = (Mutex::new(&PEERS, ()), Mutex::new(&PEERS, ()));
        let _one = one.lock();
        let _two = two.lock();
    }

    #[test]
    #[should_panic(expected = "while holding \"high\"")]
    fn what_a_try_took_counts_as_held() {
        let (low, high) = (Mutex::new(&LOW, ()), Mutex::new(&HIGH, ()));
        let _high = high.try_lock().expect("free");
        let _low = low.lock();
    }

    #[test]
    fn a_try_may_go_downward() {
        let (low, high) = (Mutex::new(&LOW, ()), Mutex::new(&HIGH, ()));
        let _high = high.lock();
        assert!(low.try_lock().is_some());
    }
}
