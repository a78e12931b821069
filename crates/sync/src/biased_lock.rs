//! [`BiasedLock`]: a lock's first user goes in and out by plain loads and stores, until another user comes.
//!
//! Biased locking (Kawachiya et al., 2002; Dice, Huang, Yang, 2010). The holder stores that it is inside, then looks whether it
//! is still the holder; a revoker stores that there is no holder, then looks whether the holder is inside (sync/SL1). The holder
//! does so millions of times and a revoker once, so their fences differ: the holder's binds its compiler only, and the revoker
//! has the operating system make a fence in all threads at once (`membarrier`). Where the system has no such call, no user becomes
//! a holder.
//!
//! ```text
//!             grant, with the lock            a revoker: share              the revoker: wait, holder outside
//!   SHARED -------------------------> holder -----------------> LEAVING ------------------------------------> SHARED
//! ```
//!
//! A lock may have one holder after another. A thread that has taken the lock itself must look whether there is a holder beside it
//! before it touches anything ([`BiasedLock::with_lock`]).
//!
//! B1. `holder` goes from `SHARED` to a holder, by a thread that has the lock for writing; from there to `LEAVING`, by a revoker; and
//!     from there to `SHARED`, by the same revoker.
//! B2. It becomes `SHARED` after the revoker has seen the holder outside, at a time when the holder could no longer get in.
//! B3. `inside` has a place for each time that a user is made the holder, which is therefore limited. Only the thread that runs that
//!     holder writes it, perhaps still after the next holder has come; it counts how many times the holder is inside.
//! B4. A thread that has the lock and then finds `SHARED` has no holder beside it: to make one takes the lock.

use crate::{
    atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    backoff::Backoff,
};
use std::marker::PhantomData;

const SHARED: u64 = u64::MAX;
const LEAVING: u64 = u64::MAX - 1;
/// How often a user can be made the holder: at most 128.
const TIMES: usize = 8;
/// Above the holder's number stands which time it is.
const TIME_SHIFT: u32 = 56;
const ID: u64 = (1 << TIME_SHIFT) - 1;

/// Which user may go without the lock, and whether it is inside at the moment.
#[derive(Debug)]
pub struct BiasedLock {
    holder: AtomicU64,
    inside: [AtomicU32; TIMES],
    /// Times so far; written with the lock.
    times: AtomicU32,
}

/// The holder is inside while this lives: no thread returns from [`BiasedLock::with_lock`] as long as it does.
#[derive(Debug)]
#[must_use = "the holder is outside at once if this is not kept"]
pub struct BiasGuard<'a> {
    count: &'a AtomicU32,
    /// Stays on its thread.
    _thread: PhantomData<*const ()>,
}

/// An array of counts, one for each zero given; a model cannot make them in a `const`.
macro_rules! zeros {
    ($($zero:literal)*) => { [$(AtomicU32::new($zero)),*] };
}

impl BiasedLock {
    const_unless_loom! {
        /// A lock without a holder.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self {
                holder: AtomicU64::new(SHARED),
                inside: zeros!(0 0 0 0 0 0 0 0),
                times: AtomicU32::new(0),
            }
        }
    }

    /// Takes the lock and sees to it that there is no holder beside it. `lock` may be called several times. Not to be called by one
    /// that is inside.
    #[inline(always)]
    pub fn with_lock<G>(&self, lock: impl Fn() -> G) -> G {
        loop {
            let guard = lock();
            if self.is_shared() {
                return guard;
            }
            drop(guard);
            self.share();
        }
    }

    /// Is there no holder, nor one that is leaving? Stays so while the lock is held (B4).
    #[inline(always)]
    fn is_shared(&self) -> bool {
        // Acquire: pairs with the Release in `wait`: what the last holder did was seen there.
        self.holder.load(Acquire) == SHARED
    }

    /// Makes user `id` (below 2^56) the holder, if there is none and this has not happened too often; says whether it did.
    ///
    /// # Safety
    /// The lock is held for writing.
    pub unsafe fn grant(&self, id: u64) -> bool {
        // Relaxed: the lock orders it.
        let time = self.times.load(Relaxed);
        if time as usize >= TIMES || id > ID || !asymmetric::works() {
            return false;
        }
        let word = u64::from(time) << TIME_SHIFT | id;
        // Acquire: pairs with the Release in `wait`. Relaxed: other threads learn of it by the lock's release (B4).
        let done = self.holder.compare_exchange(SHARED, word, Acquire, Relaxed).is_ok();
        if done {
            self.times.store(time + 1, Relaxed);
        }
        done
    }

    /// Where the holder of this word counts.
    #[inline(always)]
    fn count(&self, word: u64) -> Option<&AtomicU32> {
        self.inside.get((word >> TIME_SHIFT) as usize)
    }

    /// Goes inside as the holder; nothing if this one is not the holder.
    ///
    /// # Safety
    /// One thread at a time uses this `id`, and what it did with it before happens before what another does with it.
    #[inline(always)]
    pub unsafe fn enter(&self, id: u64) -> Option<BiasGuard<'_>> {
        // Relaxed: what the holder finds is its own.
        let word = self.holder.load(Relaxed);
        if word & ID != id {
            return None;
        }
        let count = self.count(word)?;
        // Relaxed: B3.
        count.store(count.load(Relaxed) + 1, Relaxed);
        let inside = BiasGuard { count, _thread: PhantomData };
        // Pairs with the fence in `wait`: the revoker sees the holder inside, or the holder sees that it is leaving.
        asymmetric::light_fence();
        // Relaxed: the fence orders it.
        (self.holder.load(Relaxed) == word).then_some(inside)
    }

    /// Waits until there is no holder, seeing to it that there is none. Not to be called by one that is inside, nor with a lock that
    /// the holder may want.
    #[cold]
    fn share(&self) {
        let mut backoff = Backoff::new();
        loop {
            // Acquire: as in `is_shared`.
            match self.holder.load(Acquire) {
                SHARED => return,
                // Another revoker waits for the holder already.
                LEAVING => backoff.pause(),
                // Relaxed: the fence orders it.
                word => {
                    if self.holder.compare_exchange(word, LEAVING, Relaxed, Relaxed).is_ok() {
                        return self.wait(word);
                    }
                }
            }
        }
    }

    /// Waits until the one that is leaving is outside.
    fn wait(&self, word: u64) {
        // Pairs with the fence in `enter`.
        asymmetric::heavy_fence();
        let mut backoff = Backoff::new();
        // Acquire: pairs with the Release in `BiasGuard::drop`.
        while self.count(word).is_some_and(|count| count.load(Acquire) != 0) {
            backoff.pause();
        }
        // Release: pairs with the Acquire in `is_shared`, `share` and `grant`.
        self.holder.store(SHARED, Release);
    }
}

impl Clone for BiasGuard<'_> {
    /// Inside once more.
    fn clone(&self) -> Self {
        // Relaxed: B3.
        self.count.store(self.count.load(Relaxed) + 1, Relaxed);
        BiasGuard { count: self.count, _thread: PhantomData }
    }
}

impl Drop for BiasGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `wait`. The load is Relaxed: B3.
        self.count.store(self.count.load(Relaxed) - 1, Release);
    }
}

/// A pair of fences, of which one costs next to nothing and the other a call of the operating system.
pub mod asymmetric {
    #[cfg(all(target_os = "linux", not(any(loom, miri, thread_sanitizer, feature = "single"))))]
    use imp as chosen;
    #[cfg(any(loom, miri, thread_sanitizer, feature = "single", not(target_os = "linux")))]
    use symmetric as chosen;

    pub(super) use chosen::{heavy_fence, light_fence};

    /// Whether there is such a pair here. The first call is best made while the process has one thread: later it takes some
    /// milliseconds.
    pub fn works() -> bool {
        chosen::works()
    }

    #[cfg(all(target_os = "linux", not(any(loom, miri, thread_sanitizer, feature = "single"))))]
    mod imp {
        use crate::LazyLock;
        use crate::atomic::{Ordering, compiler_fence};

        fn membarrier(command: libc::c_int) -> bool {
            // SAFETY: a system call that touches no memory of ours.
            unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
        }

        /// The process has asked the system for the right to such fences, and has used it once.
        static WORKS: LazyLock<bool> = LazyLock::new(|| {
            membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
                && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        });

        pub fn works() -> bool {
            *WORKS
        }

        #[inline(always)]
        pub(in super::super) fn light_fence() {
            // SeqCst: the processor's own part is made by `heavy_fence`.
            compiler_fence(Ordering::SeqCst);
        }

        pub(in super::super) fn heavy_fence() {
            // Every thread of the process goes through a full fence between the call and its return.
            let done = membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
            // It worked before, and the manual knows no way in which it could fail later.
            assert!(done, "membarrier");
        }
    }

    #[cfg(any(loom, miri, thread_sanitizer, feature = "single", not(target_os = "linux")))]
    mod symmetric {
        use crate::atomic::{Ordering, fence};

        /// In a model; elsewhere a full fence would cost what it saves.
        pub fn works() -> bool {
            cfg!(any(loom, miri, thread_sanitizer, feature = "single"))
        }

        #[inline(always)]
        pub(in super::super) fn light_fence() {
            // SeqCst: the pair of `heavy_fence`.
            fence(Ordering::SeqCst);
        }

        pub(in super::super) fn heavy_fence() {
            // SeqCst: the pair of `light_fence`.
            fence(Ordering::SeqCst);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{BiasedLock, asymmetric};
    use crate::{LockClass, Mutex, cell::UnsafeCell};

    static CLASS: LockClass = LockClass::new("bias", 1);

    /// A count, inside or with the lock.
    struct Shared(BiasedLock, Mutex<()>, UnsafeCell<u64>);
    // SAFETY: the cell is used inside, or with the lock when there is no holder.
    unsafe impl Sync for Shared {}

    impl Shared {
        fn new() -> Shared {
            Shared(BiasedLock::new(), Mutex::new(&CLASS, ()), UnsafeCell::new(0))
        }

        fn grant(&self, id: u64) -> bool {
            let _lock = self.0.with_lock(|| self.1.lock());
            // SAFETY: the lock.
            unsafe { self.0.grant(id) }
        }

        /// One more; whether without the lock.
        fn add(&self, id: u64) -> bool {
            // SAFETY: each thread has its own id.
            let inside = unsafe { self.0.enter(id) };
            let lock = inside.is_none().then(|| self.0.with_lock(|| self.1.lock()));
            // SAFETY: inside as the holder, or with the lock, taken so that there is no holder.
            self.2.with_mut(|n| unsafe { *n += 1 });
            lock.is_none()
        }
    }

    #[test]
    fn the_holder_goes_in_until_another_comes() {
        let shared = Shared::new();
        assert!(!shared.add(1), "nobody is the holder yet");
        assert_eq!(shared.grant(1), asymmetric::works());
        if asymmetric::works() {
            assert!(shared.add(1));
            // SAFETY: one thread; the second is refused.
            unsafe {
                assert!(!shared.0.grant(2));
                let inside = shared.0.enter(1).expect("the holder");
                assert!(shared.0.enter(2).is_none());
                drop((inside.clone(), shared.0.enter(1).expect("inside already")));
                drop(inside);
            }
        }
        assert!(!shared.add(2));
        assert!(!shared.add(1));
        assert_eq!(shared.grant(2), asymmetric::works());
        assert_eq!((shared.add(2), shared.add(1), shared.add(2)), (asymmetric::works(), false, false));
    }

    /// Holders count without a lock, others with it: no count is lost.
    #[test]
    #[cfg(not(feature = "single"))]
    fn nobody_gets_in_beside_the_holder() {
        let (tables, rounds) = if cfg!(miri) { (3, 20) } else { (200, 1000) };
        for _ in 0..tables {
            let shared = Shared::new();
            shared.grant(1);
            std::thread::scope(|s| {
                for id in 1..4u64 {
                    let shared = &shared;
                    s.spawn(move || {
                        for round in 1..=rounds {
                            shared.add(id);
                            // The others come when one is at work, and become holders themselves now and then.
                            if round % (id * 50) == 0 {
                                (0..id * 20).for_each(|_| crate::spin_hint());
                                shared.grant(id);
                            }
                        }
                    });
                }
            });
            // SAFETY: the threads have ended.
            assert_eq!(shared.2.with(|n| unsafe { *n }), 3 * rounds);
        }
    }
}

/// Caught when tried: either fence removed; Relaxed for the Release in `BiasGuard::drop` or the Acquire in `wait`, for the Release of
/// `SHARED` or the Acquire in `is_shared`; no second look in `enter`, no look in `with_lock`; one count for all holders.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::BiasedLock;
    use crate::cell::UnsafeCell;
    use crate::{LockClass, Mutex};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("bias", 1);

    /// A count, inside or with the lock.
    struct Shared(BiasedLock, Mutex<()>, UnsafeCell<u32>);
    // SAFETY: the cell is used inside, with the lock where there is no holder, or when the other threads have ended. (Should
    // two uses meet nevertheless, loom's cell ends the model before either.)
    unsafe impl Sync for Shared {}

    impl Shared {
        fn new() -> Arc<Shared> {
            Arc::new(Shared(BiasedLock::new(), Mutex::new(&CLASS, ()), UnsafeCell::new(0)))
        }

        fn grant(&self, id: u64) {
            let _lock = self.0.with_lock(|| self.1.lock());
            // SAFETY: the lock is held, and has no other way than for writing.
            unsafe { self.0.grant(id) };
        }

        fn add(&self, id: u64) {
            // SAFETY: each thread of a model has ids of its own.
            let inside = unsafe { self.0.enter(id) };
            let _lock = inside.is_none().then(|| self.0.with_lock(|| self.1.lock()));
            // SAFETY: inside as the holder, or with the lock, taken so that there is no holder.
            self.2.with_mut(|n| unsafe { *n += 1 });
        }
    }

    fn check(model: fn()) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn loom_one_comes_beside_the_holder() {
        check(|| {
            let shared = Shared::new();
            shared.grant(1);
            let other = shared.clone();
            let other = thread::spawn(move || other.add(2));
            shared.add(1);
            shared.add(1);
            other.join().unwrap();
            // SAFETY: the other thread has ended.
            assert_eq!(shared.2.with(|n| unsafe { *n }), 3);
        });
    }

    /// One waits for the holder, the other only finds that there is none any more.
    #[test]
    fn loom_two_come_beside_the_holder() {
        check(|| {
            let shared = Shared::new();
            shared.grant(1);
            let (other, third) = (shared.clone(), shared.clone());
            let other = thread::spawn(move || other.add(2));
            let third = thread::spawn(move || {
                // It does not wait: the model lets two that do so wait for each other.
                let _lock = third.1.lock();
                if third.0.is_shared() {
                    // SAFETY: with the lock, and there is no holder.
                    third.2.with_mut(|n| unsafe { *n += 1 });
                }
            });
            shared.add(1);
            other.join().unwrap();
            third.join().unwrap();
        });
    }

    /// A holder that has just been revoked may still count in its own place.
    #[test]
    fn loom_one_holder_comes_after_another() {
        check(|| {
            let shared = Shared::new();
            shared.grant(1);
            let other = shared.clone();
            let other = thread::spawn(move || {
                other.grant(2);
                other.add(2);
            });
            shared.add(1);
            other.join().unwrap();
            shared.add(3);
            // SAFETY: the other thread has ended.
            assert_eq!(shared.2.with(|n| unsafe { *n }), 3);
        });
    }

    #[test]
    fn loom_a_holder_comes_beside_one_with_the_lock() {
        check(|| {
            let shared = Shared::new();
            let other = shared.clone();
            let other = thread::spawn(move || other.add(2));
            shared.grant(1);
            shared.add(1);
            other.join().unwrap();
            // SAFETY: the other thread has ended.
            assert_eq!(shared.2.with(|n| unsafe { *n }), 2);
        });
    }
}
