//! The model back end: loom's types, so that a test runs every interleaving and every allowed stale read.

/// Atomics that loom watches. They exist only inside `loom::model`.
///
/// Loom remembers one last access of an atomic. A thread that loads and then exchanges (every retry loop) hides
/// behind its own load that another thread had loaded before, and loom never tries the other order: a queue whose
/// taker looks before it exchanges passed with every ordering weakened. So each load is preceded by a relaxed
/// exchange on a companion: it synchronises nothing, and makes loom see two loads as worth reordering.
///
/// Loom takes a SeqCst load or store for an Acquire or Release one, so a protocol that needs more than that uses SeqCst fences, which
/// loom does know. It lets them do somewhat more than they do: what comes before the earlier of two is seen after the later one, data
/// too. A failed compare-exchange reads the newest value, where a real one may read an old one.
pub mod atomic {
    pub use loom::sync::atomic::fence;
    use std::ops::Deref;
    pub use std::sync::atomic::{Ordering, compiler_fence};

    macro_rules! watched {
        ($($name:ident $([$param:ident])?: $value:ty),* $(,)?) => { $(
            #[doc = concat!("Loom's `", stringify!($name), "`, with loads that it reorders.")]
            pub struct $name $(<$param>)? {
                inner: loom::sync::atomic::$name $(<$param>)?,
                turn: loom::sync::atomic::AtomicBool,
            }

            impl $(<$param>)? $name $(<$param>)? {
                /// As std's.
                pub fn new(value: $value) -> Self {
                    Self {
                        inner: loom::sync::atomic::$name::new(value),
                        turn: loom::sync::atomic::AtomicBool::new(false),
                    }
                }

                /// As std's.
                pub fn load(&self, order: Ordering) -> $value {
                    self.turn.swap(false, Ordering::Relaxed);
                    self.inner.load(order)
                }
            }

            impl $(<$param>)? std::fmt::Debug for $name $(<$param>)? {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str(stringify!($name))
                }
            }

            impl $(<$param>)? Deref for $name $(<$param>)? {
                type Target = loom::sync::atomic::$name $(<$param>)?;
                fn deref(&self) -> &Self::Target {
                    &self.inner
                }
            }
        )* };
    }

    watched! {
        AtomicBool: bool, AtomicU8: u8, AtomicU16: u16, AtomicU32: u32, AtomicU64: u64, AtomicUsize: usize,
        AtomicI64: i64, AtomicIsize: isize, AtomicPtr[T]: *mut T,
    }

    macro_rules! zero {
        ($($name:ident $zero:expr),*) => { $(
            impl Default for $name {
                fn default() -> Self {
                    Self::new($zero)
                }
            }
        )* };
    }

    zero!(AtomicBool false, AtomicU8 0, AtomicU16 0, AtomicU32 0, AtomicU64 0, AtomicUsize 0, AtomicI64 0,
        AtomicIsize 0);
}

/// Atomics that may stand in a static in every back end: here std's, invisible to the model.
pub mod statics {
    pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
}

/// Loom's own: a model of what stands above locks need not try the interleavings inside them.
pub(crate) mod locks {
    pub(crate) use super::super::blocking::{ReadGuard, RwLock, WriteGuard};
    pub(crate) use super::super::blocking_mutex::{Condvar, Mutex, MutexGuard};
}
pub(crate) use loom::hint::spin_loop;

/// Nothing: a model has no caches.
pub(crate) fn prefetch(_address: *const u8, _access: crate::cost::Access) {}

/// Cells whose every access loom checks against every other.
pub mod cell {
    pub use loom::cell::{ConstPtr, MutPtr};

    /// A cell that several threads may reach; see the threads back end for the contract.
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Wraps a value.
        pub fn new(value: T) -> Self {
            Self(loom::cell::UnsafeCell::new(value))
        }

        /// Takes the value out.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }

        /// Reads through a shared pointer for the length of `f`.
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            self.0.with(f)
        }

        /// Writes through an exclusive pointer for the length of `f`.
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            self.0.with_mut(f)
        }

        /// A shared access that lasts as long as the returned pointer.
        pub fn read_ptr(&self) -> ConstPtr<T> {
            self.0.get()
        }

        /// An exclusive access that lasts as long as the returned pointer.
        pub fn write_ptr(&self) -> MutPtr<T> {
            self.0.get_mut()
        }

        /// The value, through an exclusive borrow.
        pub fn get_mut(&mut self) -> &mut T {
            // SAFETY: `&mut self` excludes every other access while the result lives; the cell itself is in
            // `self`, so the pointer outlives the closure.
            self.0.with_mut(|value| unsafe { &mut *value })
        }
    }
}

/// Threads of the model.
pub mod thread {
    pub use loom::thread::{JoinHandle, Thread, ThreadId, current, park, yield_now};
    pub use std::thread::panicking;
    pub use std::time::Instant;
    use std::{io, time::Duration};

    /// Starts a model thread.
    pub fn spawn<F, T>(name: &str, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        loom::thread::Builder::new().name(name.to_owned()).spawn(body)
    }

    /// As [`spawn`]; a model's stack has a fixed size.
    pub fn spawn_with_stack<F, T>(name: &str, _stack_bytes: usize, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn(name, body)
    }

    /// A model has no time: this only lets others run.
    pub fn sleep(_time: Duration) {
        yield_now();
    }

    /// A model has no time: the wait ends at once, which is one of the things a real one may do.
    pub fn park_timeout(_time: Duration) {
        yield_now();
    }

    /// Whether this back end can start threads at all.
    pub const CAN_SPAWN: bool = true;
}
