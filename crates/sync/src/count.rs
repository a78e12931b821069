//! How many hold an object, where a table may name the object without holding it.
//!
//! N1. The holder for which [`Count::release`] is true (or [`Count::release_some`] gives what it released) has the object to itself: whatever the others did with it is done.
//! N2. A thread that finds the object in a table must hold it by [`Count::try_hold`] under the table's lock, and the last holder
//!     must take it out under that lock before it frees it: so what stands in the table under the lock is not freed yet, held or not.
//!
//! As `Arc` and `Weak` have it, without a second count: what is named in no table pays for none.

use crate::atomic::{AtomicUsize, Ordering};

/// How many hold the object; 0 once the last holder has released it.
#[derive(Debug)]
pub struct Count(AtomicUsize);

impl Count {
    const_unless_loom! {
        /// One holds the object.
        pub fn new() -> Count {
            Count(AtomicUsize::new(1))
        }
    }

    /// One holder more, which got the object from a holder.
    #[inline]
    pub fn hold(&self) {
        self.hold_more(1);
    }

    /// So many holders more, which got the object from a holder; how many there were.
    #[inline]
    pub fn hold_more(&self, more: usize) -> usize {
        // Relaxed: the new holders got the object from an old one, by means that order all that the old one did.
        self.0.fetch_add(more, Ordering::Relaxed)
    }

    /// One holder more, which found the object in a table; false if there is none any more (N2).
    #[must_use]
    pub fn try_hold(&self) -> bool {
        // Relaxed: the table's lock orders what was done before the object was put there; zero stays zero.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n > 0).then_some(n + 1)).is_ok()
    }

    /// One holder less; true if it was the last (N1).
    #[inline]
    #[must_use]
    pub fn release(&self) -> bool {
        self.release_some(1) == 1
    }

    /// So many holders less, all of them the caller's; how many there were. If there were no others, these were the last (N1).
    #[inline]
    #[must_use]
    pub fn release_some(&self, some: usize) -> usize {
        // Release: what these holders did with the object is done; pairs with the fence of the last, and with `is_one`.
        let before = self.0.fetch_sub(some, Ordering::Release);
        debug_assert!(before >= some, "more holders than were counted");
        if before == some {
            // Acquire: pairs with the Release of all the others.
            acquire_fence!(self.0);
        }
        before
    }

    /// Is the caller the only holder? Then it has the object to itself, until it gives it to another.
    pub fn is_one(&self) -> bool {
        // Acquire: pairs with the Release in `release_some`: what the other holders did with the object is done.
        self.0.load(Ordering::Acquire) == 1
    }

    /// How many there are (a figure, already old).
    pub fn get(&self) -> usize {
        // Relaxed: a statistic.
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Count {
    fn default() -> Count {
        Count::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Count;

    #[test]
    fn the_last_is_told_and_none_comes_after() {
        let count = Count::new();
        count.hold();
        assert!(count.try_hold());
        assert_eq!(count.get(), 3);
        assert!(!count.release() && !count.release() && count.release());
        assert!(!count.try_hold());
    }
}

/// Caught when tried: Relaxed for the Release or without the fence in `release_some`; `hold` instead of `try_hold`; freeing before
/// the object is taken out of the table; of a bundle also: a message that is sent before it is counted.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Count;
    use crate::atomic::{AtomicBool, Ordering};
    use crate::cell::UnsafeCell;
    use crate::{LockClass, Mutex};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("table", 1);

    struct Shared {
        count: Count,
        /// Is it there? Taking it away stands for freeing it.
        object: UnsafeCell<bool>,
        table: Mutex<bool>,
    }
    // SAFETY: the cell is read by holders and written by the last (N1). (Were it otherwise, loom's cell would say so.)
    unsafe impl Sync for Shared {}

    impl Shared {
        fn look(&self) {
            // SAFETY: held.
            assert!(self.object.with(|there| unsafe { *there }));
        }

        fn release(&self) {
            if self.count.release() {
                *self.table.lock() = false;
                // SAFETY: N1.
                self.object.with_mut(|there| unsafe { *there = false });
            }
        }

        fn find(&self) -> bool {
            let table = self.table.lock();
            if !*table {
                return false;
            }
            self.look_in_table();
            self.count.try_hold()
        }

        /// What stands in the table under its lock is not freed.
        fn look_in_table(&self) {
            // SAFETY: N2.
            assert!(self.object.with(|there| unsafe { *there }));
        }
    }

    #[test]
    fn loom_what_is_found_in_a_table_is_not_freed() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                count: Count::new(),
                object: UnsafeCell::new(true),
                table: Mutex::new(&CLASS, true),
            });
            let finders: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        if shared.find() {
                            shared.look();
                            shared.release();
                        }
                    })
                })
                .collect();
            shared.look();
            shared.release();
            finders.into_iter().for_each(|f| f.join().unwrap());
            // SAFETY: the other threads have ended.
            assert!(!*shared.table.lock() && !shared.object.with(|there| unsafe { *there }));
        });
    }

    /// A bundle (crate `heap`): it holds another one, and holders release it while a message to it is in flight.
    struct Bundle {
        count: Count,
        there: UnsafeCell<bool>,
        holds: Option<Arc<Bundle>>,
    }

    // SAFETY: the cell is read by holders and written by the last (N1), which loom checks.
    unsafe impl Sync for Bundle {}
    // SAFETY: as above.
    unsafe impl Send for Bundle {}

    impl Bundle {
        fn new(holds: Option<Arc<Bundle>>) -> Arc<Bundle> {
            Arc::new(Bundle { count: Count::new(), there: UnsafeCell::new(true), holds })
        }

        /// A term of it leads into the bundles that it holds.
        fn look(&self) {
            // SAFETY: held.
            assert!(self.there.with(|there| unsafe { *there }));
            self.holds.iter().for_each(|held| held.look());
        }

        fn release(&self) {
            if self.count.release() {
                // SAFETY: N1.
                self.there.with_mut(|there| unsafe { *there = false });
                self.holds.iter().for_each(|held| held.release());
            }
        }
    }

    #[test]
    fn loom_the_last_holder_frees_a_bundle_whether_its_message_arrives_or_not() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let inner = Bundle::new(None);
            inner.count.hold();
            let outer = Bundle::new(Some(inner.clone()));
            outer.count.hold();
            let in_flight = Arc::new(AtomicBool::new(false));
            let receiver = {
                let (outer, in_flight) = (outer.clone(), in_flight.clone());
                // Acquire: pairs with the Release below, as a mailbox does. (No `swap`: of one that finds nothing loom would not see which came first, it or the
                // message.)
                thread::spawn(move || {
                    if in_flight.compare_exchange(true, false, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                        outer.look();
                        outer.release();
                    }
                })
            };
            // Another heap that has both.
            let other = {
                let (outer, inner) = (outer.clone(), inner.clone());
                thread::spawn(move || {
                    outer.look();
                    outer.release();
                    inner.look();
                    inner.release();
                })
            };
            outer.count.hold();
            // Release: pairs with the Acquire above.
            in_flight.store(true, Ordering::Release);
            outer.look();
            outer.release();
            [receiver, other].into_iter().for_each(|thread| thread.join().unwrap());
            // The receiver ended before: the message goes with its mailbox.
            if in_flight.load(Ordering::Relaxed) {
                outer.look();
                outer.release();
            }
            for bundle in [outer, inner] {
                // SAFETY: the other threads have ended.
                assert!(bundle.count.get() == 0 && !bundle.there.with(|there| unsafe { *there }));
            }
        });
    }
}
