//! Spinning locks: [`SpinLock`] for a few instructions, [`TicketLock`] where arrival order matters,
//! [`ReactiveLock`] where the load is not known.
//!
//! For critical sections far shorter than a sleep in the kernel. Both give the processor away after a while,
//! because the holder may have lost its own. Test-and-test-and-set with exponential back-off is Anderson's (1990),
//! the ticket lock Mellor-Crummey and Scott's (1991); under heavy contention use [`McsLock`](crate::McsLock) or a
//! [`Mutex`](crate::Mutex), since here every waiter watches one line.

use crate::{
    atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    backoff::Backoff,
    cell::{MutPtr, UnsafeCell},
    class::{Held, LockClass},
    cost::{self, Hold},
    profile::{self, Counted, How},
    reactive::{Reactive, ReactiveLock},
};
use std::ops::{Deref, DerefMut};

/// How a spinning lock waits.
///
/// # Safety
/// Between an acquisition (`lock`, or `try_lock` that says true) and the next `unlock`, no other acquisition
/// succeeds; and the unlock happens before the acquisition that follows it.
pub unsafe trait RawSpin {
    /// Waits until the lock is free, and takes it.
    fn lock(&self);
    /// Takes the lock if it is free.
    fn try_lock(&self) -> bool;
    /// Gives the lock back.
    ///
    /// # Safety
    /// The caller has taken it and not yet given it back.
    unsafe fn unlock(&self);
}

/// One flag, taken by the thread that comes first after a release.
#[derive(Debug)]
pub struct Flag(AtomicBool);

// SAFETY: only a change from false to true acquires; the Acquire there pairs with the Release in `unlock`.
unsafe impl RawSpin for Flag {
    #[inline]
    fn lock(&self) {
        let mut backoff = Backoff::new();
        while !self.try_lock() {
            // Relaxed: waits for a change without owning the line; `try_lock` checks it again.
            while self.0.load(Relaxed) {
                backoff.pause();
            }
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release in `unlock`.
        self.0.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    #[inline]
    unsafe fn unlock(&self) {
        // Release: pairs with the Acquire in `try_lock`.
        self.0.store(false, Release);
    }
}

/// A counter of tickets given and the ticket being served.
#[derive(Debug)]
pub struct Tickets {
    next: AtomicU32,
    serving: AtomicU32,
}

// SAFETY: each ticket is given once (read-modify-write), and only its owner, once served, moves `serving` on. The
// Acquire loads of `serving` pair with the Release in `unlock`. Numbers repeat only after 2^32 waiters at once.
unsafe impl RawSpin for Tickets {
    fn lock(&self) {
        // Relaxed: the ticket itself orders nothing; the load of `serving` does.
        let mine = self.next.fetch_add(1, Relaxed);
        let mut backoff = Backoff::new();
        // Acquire: pairs with the Release in `unlock`.
        while self.serving.load(Acquire) != mine {
            backoff.pause();
        }
    }

    fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release in `unlock`; if the exchange succeeds, no other thread was served since.
        let serving = self.serving.load(Acquire);
        self.next.compare_exchange(serving, serving.wrapping_add(1), Relaxed, Relaxed).is_ok()
    }

    unsafe fn unlock(&self) {
        // Relaxed load: only the holder, this thread, changes it. Release: pairs with the Acquire loads above.
        self.serving.store(self.serving.load(Relaxed).wrapping_add(1), Release);
    }
}

/// A value behind a spinning lock; see [`SpinLock`] and [`TicketLock`].
#[derive(Debug)]
pub struct Spinning<R, T> {
    class: &'static LockClass,
    pub(crate) raw: R,
    value: UnsafeCell<T>,
}

/// Mutual exclusion by a flag, with back-off: cheapest uncontended, unfair.
pub type SpinLock<T> = Spinning<Flag, T>;

/// Mutual exclusion in order of arrival.
pub type TicketLock<T> = Spinning<Tickets, T>;

// SAFETY: the lock hands the value to one thread at a time, so sharing it only needs sending.
unsafe impl<R: Sync, T: Send> Sync for Spinning<R, T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<R: Send, T: Send> Send for Spinning<R, T> {}

impl<T> SpinLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, raw: Flag(AtomicBool::new(false)), value: UnsafeCell::new(value) }
        }
    }
}

impl<T> ReactiveLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, raw: Reactive::new(), value: UnsafeCell::new(value) }
        }
    }
}

impl<T> TicketLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            let raw = Tickets { next: AtomicU32::new(0), serving: AtomicU32::new(0) };
            Self { class, raw, value: UnsafeCell::new(value) }
        }
    }
}

impl<R: RawSpin, T> Spinning<R, T> {
    /// Waits until the lock is free, and takes it.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> SpinGuard<'_, R, T> {
        let held = self.class.hold(Hold::exclusive(&self.raw));
        let attempt = || self.raw.try_lock().then_some(());
        let ((), counted) = profile::acquire(&self.class, How::Spin, attempt, || self.raw.lock());
        self.guard(counted, held)
    }

    /// Takes the lock if it is free.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<SpinGuard<'_, R, T>> {
        if !cost::is_free(Hold::exclusive(&self.raw)) || !self.raw.try_lock() {
            profile::refused(&self.class, How::Spin);
            return None;
        }
        let counted = Counted::new(&self.class, How::Spin);
        Some(self.guard(counted, self.class.hold_unordered(Hold::exclusive(&self.raw))))
    }

    #[inline]
    fn guard<'a>(&'a self, counted: Counted<'a>, held: Held) -> SpinGuard<'a, R, T> {
        SpinGuard { _counted: counted, value: self.value.write_ptr(), _release: ReleaseOnDrop(&self.raw), _held: held }
    }

    /// The value, through an exclusive borrow.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// The lock's class.
    pub const fn class(&self) -> &'static LockClass {
        self.class
    }

    /// What the lock profile knows the lock by, as long as it stays where it is.
    pub fn identity(&self) -> usize {
        profile::identity(&self.class)
    }
}

/// The right to the value; gives the lock back when dropped.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct SpinGuard<'a, R: RawSpin, T> {
    // Dropped in this order: the hold is counted, the access ends, then the lock is free, then the class is no longer held.
    _counted: Counted<'a>,
    value: MutPtr<T>,
    _release: ReleaseOnDrop<'a, R>,
    _held: Held,
}

struct ReleaseOnDrop<'a, R: RawSpin>(&'a R);

impl<R: RawSpin> Drop for ReleaseOnDrop<'_, R> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: made only by `Spinning::guard`, after an acquisition, once.
        unsafe { self.0.unlock() }
    }
}

// SAFETY: a shared guard gives `&T`.
unsafe impl<R: RawSpin + Sync, T: Sync> Sync for SpinGuard<'_, R, T> {}

impl<R: RawSpin, T> Deref for SpinGuard<'_, R, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held (RawSpin), and `&self` excludes `deref_mut`.
        unsafe { self.value.deref() }
    }
}

impl<R: RawSpin, T> DerefMut for SpinGuard<'_, R, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held (RawSpin), and `&mut self` excludes other borrows.
        unsafe { self.value.deref() }
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::{SpinLock, TicketLock};
    use crate::{LockClass, McsLock, ReactiveLock, TimePublishedLock};

    static CLASS: LockClass = LockClass::new("spin", 1);

    fn fight(add: &(dyn Fn() + Sync)) -> u32 {
        let each = if cfg!(miri) { 20 } else { 2_000 };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..each).for_each(|_| add()));
            }
        });
        4 * each
    }

    #[test]
    fn every_lock_excludes() {
        let mut spin = SpinLock::new(&CLASS, 0);
        assert_eq!(fight(&|| *spin.lock() += 1), *spin.get_mut());
        let mut ticket = TicketLock::new(&CLASS, 0);
        assert_eq!(fight(&|| *ticket.lock() += 1), *ticket.get_mut());
        let mut mcs = McsLock::new(&CLASS, 0);
        assert_eq!(fight(&|| mcs.with(|count| *count += 1)), *mcs.get_mut());
        let mut reactive = ReactiveLock::new(&CLASS, 0);
        assert_eq!(fight(&|| *reactive.lock() += 1), *reactive.get_mut());
        let mut published = TimePublishedLock::new(&CLASS, 0);
        assert_eq!(fight(&|| published.with(|count| *count += 1)), *published.get_mut());
        let mutex = crate::Mutex::new(&CLASS, 0);
        assert_eq!(fight(&|| *mutex.lock() += 1), mutex.into_inner());
    }

    #[test]
    fn a_try_fails_while_the_lock_is_held() {
        let (spin, ticket) = (SpinLock::new(&CLASS, ()), TicketLock::new(&CLASS, ()));
        let held = spin.try_lock();
        assert!(held.is_some() && spin.try_lock().is_none());
        drop(held);
        assert!(spin.try_lock().is_some());
        let held = ticket.try_lock();
        assert!(held.is_some() && ticket.try_lock().is_none());
        drop(held);
        assert!(ticket.try_lock().is_some());
    }

    #[test]
    fn a_panic_releases() {
        let mcs = McsLock::new(&CLASS, 0);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| mcs.with(|_| panic!("inside"))));
        assert!(result.is_err());
        mcs.with(|count| *count += 1);
    }
}

/// The value is a cell that loom checks, so a lock that orders too little shows as a race. Caught when tried: each
/// Acquire and each Release of the three locks made Relaxed, one at a time.
#[cfg(all(test, loom))]
pub(crate) mod loom_tests {
    use super::{SpinLock, TicketLock};
    use crate::{LockClass, McsLock, Mutex};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("spin", 1);

    /// Two threads add one and `mine` times; loom checks that they are never inside together. Not three threads:
    /// loom lets two that spin yield to each other without end.
    pub(crate) fn excludes<L: Send + Sync + 'static>(mine: u32, new: fn() -> L, add: fn(&L) -> u32) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let lock = Arc::new(new());
            let other = {
                let lock = lock.clone();
                thread::spawn(move || add(&lock))
            };
            let mut seen: Vec<u32> = (0..mine).map(|_| add(&lock)).collect();
            seen.push(other.join().unwrap());
            seen.sort_unstable();
            assert!(seen.into_iter().eq(1..=mine + 1));
        });
    }

    pub(crate) fn tried<R: super::RawSpin>(lock: &super::Spinning<R, u32>) -> u32 {
        loop {
            if let Some(mut count) = lock.try_lock() {
                *count += 1;
                return *count;
            }
            thread::yield_now();
        }
    }

    pub(crate) fn locked<R: super::RawSpin>(lock: &super::Spinning<R, u32>) -> u32 {
        let mut count = lock.lock();
        *count += 1;
        *count
    }

    #[test]
    fn spin_lock_excludes() {
        excludes(2, || SpinLock::new(&CLASS, 0), locked);
        excludes(2, || SpinLock::new(&CLASS, 0), tried);
    }

    #[test]
    fn ticket_lock_excludes() {
        excludes(2, || TicketLock::new(&CLASS, 0), locked);
        excludes(2, || TicketLock::new(&CLASS, 0), tried);
    }

    fn queued(lock: &McsLock<u32>) -> u32 {
        lock.with(|count| {
            *count += 1;
            *count
        })
    }

    #[test]
    fn mcs_lock_excludes() {
        excludes(1, || McsLock::new(&CLASS, 0), queued);
    }

    /// A waiter learns from the one before it where to wait, and the one before it from that one. Each yields while it waits, so one
    /// preemption is enough.
    #[test]
    fn three_queue_for_an_mcs_lock() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(1);
        model.check(|| {
            let lock = Arc::new(McsLock::new(&CLASS, 0));
            let others = [(); 2].map(|()| {
                let lock = lock.clone();
                thread::spawn(move || queued(&lock))
            });
            queued(&lock);
            others.into_iter().for_each(|other| assert!(other.join().unwrap() <= 3));
            assert_eq!(queued(&lock), 4);
        });
    }

    #[test]
    fn mutex_excludes() {
        excludes(
            2,
            || Mutex::new(&CLASS, 0),
            |lock| {
                let mut count = lock.lock();
                *count += 1;
                *count
            },
        );
    }
}
