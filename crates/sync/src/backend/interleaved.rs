//! The back end of drawn interleavings: the processor's atomics, and at each access the seed decides which thread goes on
//! ([`interleave`](crate::interleave)). Threads are the system's, so that `thread_local!` is std's; they sleep and wake by the seed.

/// Atomics at which another thread may go on.
pub mod atomic {
    use crate::interleave;
    pub use std::sync::atomic::{Ordering, compiler_fence};

    pub use crate::interleave::fence;

    macro_rules! drawn {
        ($name:ident $([$param:ident])?, $value:ty, $to_bits:expr, $from_bits:expr) => {
            #[doc = concat!("A `", stringify!($value), "` that threads of a run share.")]
            #[repr(transparent)]
            pub struct $name $(<$param>)? (std::sync::atomic::$name $(<$param>)?);

            impl $(<$param>)? std::fmt::Debug for $name $(<$param>)? {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.fmt(f)
                }
            }

            impl $(<$param>)? Default for $name $(<$param>)? {
                fn default() -> Self {
                    Self(Default::default())
                }
            }

            impl $(<$param>)? Drop for $name $(<$param>)? {
                fn drop(&mut self) {
                    interleave::forget(self.word());
                }
            }

            #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
            impl $(<$param>)? $name $(<$param>)? {
                pub const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }
                fn word(&self) -> usize {
                    self.0.as_ptr().addr()
                }
                /// What memory holds (sync.interleave.stores/SB1), and perhaps not all threads see yet.
                pub(crate) fn in_memory(&self) -> $value {
                    // Relaxed: one thread at a time has the turn, and handing that over orders all.
                    self.0.load(Ordering::Relaxed)
                }
                #[track_caller]
                pub fn load(&self, _order: Ordering) -> $value {
                    interleave::load(self.word()).map_or_else(|| self.in_memory(), $from_bits)
                }
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    interleave::store(self.word(), || $to_bits(self.in_memory()), order);
                    self.0.store(value, order);
                }
                #[track_caller]
                pub fn compare_exchange(
                    &self, expected: $value, new: $value, success: Ordering, failure: Ordering,
                ) -> Result<$value, $value> {
                    interleave::update(self.word(), success);
                    self.0.compare_exchange(expected, new, success, failure)
                }
                /// Fails now and then.
                #[track_caller]
                pub fn compare_exchange_weak(
                    &self, expected: $value, new: $value, success: Ordering, failure: Ordering,
                ) -> Result<$value, $value> {
                    interleave::update(self.word(), success);
                    if interleave::draw(16) == 1 {
                        return Err(self.in_memory());
                    }
                    self.0.compare_exchange(expected, new, success, failure)
                }
                #[track_caller]
                pub fn fetch_update(
                    &self, set: Ordering, fetch: Ordering, mut f: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut seen = self.load(fetch);
                    loop {
                        let new = f(seen).ok_or(seen)?;
                        match self.compare_exchange(seen, new, set, fetch) {
                            Ok(before) => return Ok(before),
                            Err(other) => seen = other,
                        }
                    }
                }
                pub fn get_mut(&mut self) -> &mut $value {
                    interleave::forget(self.word());
                    self.0.get_mut()
                }
                pub fn into_inner(self) -> $value {
                    self.in_memory()
                }
                pub const fn as_ptr(&self) -> *mut $value {
                    self.0.as_ptr()
                }
            }

            drawn!(@updates $name $([$param])?, $value: swap);
        };
        (@updates $name:ident $([$param:ident])?, $value:ty: $($method:ident)*) => {
            #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
            impl $(<$param>)? $name $(<$param>)? { $(
                #[track_caller]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    interleave::update(self.word(), order);
                    self.0.$method(value, order)
                }
            )* }
        };
    }

    macro_rules! drawn_integers {
        ($($name:ident $value:ty),*) => { $(
            drawn!($name, $value, |value| value as usize, |bits| bits as $value);
            drawn!(@updates $name, $value: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
        )* };
    }

    drawn_integers!(AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize, AtomicI64 i64,
        AtomicIsize isize);
    drawn!(AtomicBool, bool, usize::from, |bits| bits != 0);
    drawn!(@updates AtomicBool, bool: fetch_and fetch_or);
    drawn!(AtomicPtr[T], *mut T, |value: *mut T| value.expose_provenance(), |bits| {
        std::ptr::with_exposed_provenance_mut(bits)
    });
}

/// Atomics that may stand in a static in every back end: here std's, at which no other thread goes on.
pub mod statics {
    pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
}

pub use super::plain_cell as cell;

/// The mutex is Myriad's own; who finds the readers-writer lock taken tries again.
pub(crate) mod locks {
    use super::super::blocking;
    pub(crate) use super::super::blocking::{ReadGuard, WriteGuard};
    pub(crate) use crate::futex_mutex::{Condvar, Mutex, MutexGuard};
    use crate::interleave;
    use std::sync::atomic::Ordering;

    #[derive(Debug)]
    pub(crate) struct RwLock<T>(blocking::RwLock<T>);

    impl<T> RwLock<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(blocking::RwLock::new(value))
        }

        #[track_caller]
        pub(crate) fn read(&self) -> ReadGuard<'_, T> {
            until(|| self.try_read())
        }

        #[track_caller]
        pub(crate) fn try_read(&self) -> Option<ReadGuard<'_, T>> {
            interleave::fence(Ordering::SeqCst);
            self.0.try_read()
        }

        #[track_caller]
        pub(crate) fn write(&self) -> WriteGuard<'_, T> {
            until(|| self.try_write())
        }

        #[track_caller]
        pub(crate) fn try_write(&self) -> Option<WriteGuard<'_, T>> {
            interleave::fence(Ordering::SeqCst);
            self.0.try_write()
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }
    }

    #[track_caller]
    fn until<G>(mut take: impl FnMut() -> Option<G>) -> G {
        loop {
            if let Some(guard) = take() {
                return guard;
            }
            interleave::pause();
        }
    }
}

/// Nothing: what memory holds does not depend on it.
pub(crate) fn prefetch(_address: *const u8, _access: crate::cost::Access) {}

/// A turn of a spin loop: another thread goes on.
#[track_caller]
pub(crate) fn spin_loop() {
    crate::interleave::pause();
}

/// Threads of a run.
pub mod thread {
    use crate::interleave;
    pub use crate::interleave::JoinHandle;
    use std::io;
    pub use std::thread::{Thread, ThreadId, current, panicking};
    use std::time::Duration;

    /// Starts a thread of the caller's run.
    #[track_caller]
    pub fn spawn<F, T>(name: &str, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        interleave::spawn(name, body)
    }

    /// As [`spawn`]; the stack has the size that the system gives.
    #[track_caller]
    pub fn spawn_with_stack<F, T>(name: &str, _stack_bytes: usize, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn(name, body)
    }

    /// Sleeps in the time of the run.
    #[track_caller]
    pub fn sleep(time: Duration) {
        interleave::sleep(time);
    }

    /// Another thread goes on.
    #[track_caller]
    pub fn yield_now() {
        interleave::pause();
    }

    /// A moment of the run's time.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub struct Instant(Duration);

    impl Instant {
        /// This one.
        pub fn now() -> Self {
            Self(interleave::now())
        }

        /// The time since then.
        pub fn elapsed(&self) -> Duration {
            Self::now().saturating_duration_since(*self)
        }

        /// As std's.
        pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
            self.0.saturating_sub(earlier.0)
        }

        /// As std's.
        pub fn checked_add(&self, time: Duration) -> Option<Self> {
            self.0.checked_add(time).map(Self)
        }
    }

    /// Whether this back end can start threads at all.
    pub const CAN_SPAWN: bool = true;
}
