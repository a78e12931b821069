//! The sequential back end: one thread, so an atomic is a cell and a fence nothing.
//!
//! It exists to be measured against: Zhang (4.2.3) found the parallel VM on one scheduler 2.2 times slower than
//! the sequential one, and the difference has to be known before it can be kept small.
//!
//! S1. The process has one thread. [`thread::spawn`] refuses, and no other crate may name `std::thread`; S1 is
//!     what every `unsafe impl Sync` here rests on. Test harnesses start threads, hence `--test-threads=1`.
//!     A signal's handler, which interrupts the thread, only reads cells.
//!
//! Reference counts (`Arc`) stay std's and cost a locked add: a cell-based one could not hold `dyn Trait`.

/// Cells with the interface of atomics.
pub mod atomic {
    use std::cell::Cell;
    pub use std::sync::atomic::{Ordering, compiler_fence};

    /// Orders nothing: there is nobody to order against.
    #[inline(always)]
    pub fn fence(_order: Ordering) {}

    macro_rules! cell_atomic {
        ($name:ident $([$param:ident])?, $value:ty) => {
            #[doc = concat!("A `", stringify!($value), "` that is an atomic in the parallel build.")]
            #[repr(transparent)]
            pub struct $name $(<$param>)? (Cell<$value>);

            // SAFETY: S1, there is no second thread to share it with.
            unsafe impl $(<$param>)? Sync for $name $(<$param>)? {}
            // SAFETY: S1, there is no second thread to send it to.
            unsafe impl $(<$param>)? Send for $name $(<$param>)? {}

            impl $(<$param>)? std::fmt::Debug for $name $(<$param>)? {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    self.0.get().fmt(f)
                }
            }

            #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
            impl $(<$param>)? $name $(<$param>)? {
                pub const fn new(value: $value) -> Self {
                    Self(Cell::new(value))
                }
                #[inline(always)]
                pub fn load(&self, _order: Ordering) -> $value {
                    self.0.get()
                }
                #[inline(always)]
                pub fn store(&self, value: $value, _order: Ordering) {
                    self.0.set(value);
                }
                #[inline(always)]
                pub fn swap(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(value)
                }
                #[inline(always)]
                pub fn compare_exchange(
                    &self, expected: $value, new: $value, _success: Ordering, _failure: Ordering,
                ) -> Result<$value, $value> {
                    let seen = self.0.get();
                    if seen == expected { self.0.set(new); Ok(seen) } else { Err(seen) }
                }
                #[inline(always)]
                pub fn compare_exchange_weak(
                    &self, expected: $value, new: $value, success: Ordering, failure: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(expected, new, success, failure)
                }
                #[inline(always)]
                pub fn fetch_update(
                    &self, _set: Ordering, _fetch: Ordering, mut f: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let seen = self.0.get();
                    match f(seen) {
                        Some(new) => { self.0.set(new); Ok(seen) }
                        None => Err(seen),
                    }
                }
                pub fn get_mut(&mut self) -> &mut $value {
                    self.0.get_mut()
                }
                pub fn into_inner(self) -> $value {
                    self.0.into_inner()
                }
                pub const fn as_ptr(&self) -> *mut $value {
                    self.0.as_ptr()
                }
            }
        };
    }

    macro_rules! cell_integer {
        ($($name:ident $value:ty),*) => { $(
            cell_atomic!($name, $value);

            #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
            impl $name {
                #[inline(always)]
                pub fn fetch_add(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get().wrapping_add(value))
                }
                #[inline(always)]
                pub fn fetch_sub(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get().wrapping_sub(value))
                }
                #[inline(always)]
                pub fn fetch_and(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get() & value)
                }
                #[inline(always)]
                pub fn fetch_or(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get() | value)
                }
                #[inline(always)]
                pub fn fetch_xor(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get() ^ value)
                }
                #[inline(always)]
                pub fn fetch_max(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get().max(value))
                }
                #[inline(always)]
                pub fn fetch_min(&self, value: $value, _order: Ordering) -> $value {
                    self.0.replace(self.0.get().min(value))
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    Self::new(0)
                }
            }
        )* };
    }

    cell_integer!(AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize, AtomicI64 i64,
        AtomicIsize isize);
    cell_atomic!(AtomicBool, bool);
    cell_atomic!(AtomicPtr[T], *mut T);

    #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
    impl AtomicBool {
        #[inline(always)]
        pub fn fetch_and(&self, value: bool, _order: Ordering) -> bool {
            self.0.replace(self.0.get() & value)
        }
        #[inline(always)]
        pub fn fetch_or(&self, value: bool, _order: Ordering) -> bool {
            self.0.replace(self.0.get() | value)
        }
    }

    impl Default for AtomicBool {
        fn default() -> Self {
            Self::new(false)
        }
    }

    impl<T> Default for AtomicPtr<T> {
        fn default() -> Self {
            Self::new(std::ptr::null_mut())
        }
    }
}

pub use super::plain_cell as cell;
pub use atomic as statics;

pub(crate) use super::single_locks as locks;

pub(crate) use super::processor::prefetch;

/// Spinning can never end when nobody else runs, so a spin is a deadlock found.
#[inline(never)]
pub(crate) fn spin_loop() {
    panic!("deadlock: a lock is taken twice, and there is no other thread to release it");
}

/// The one thread.
pub mod thread {
    use std::io;
    pub use std::thread::{JoinHandle, Thread, ThreadId, current, panicking, sleep, yield_now};
    pub use std::time::Instant;

    /// Refuses: this build has one thread.
    pub fn spawn<F, T>(_name: &str, _body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Err(io::Error::new(io::ErrorKind::Unsupported, "built without threads (feature `single`)"))
    }

    /// Refuses: this build has one thread.
    pub fn spawn_with_stack<F, T>(name: &str, _stack_bytes: usize, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn(name, body)
    }

    pub use std::thread::{park, park_timeout};

    /// Whether this back end can start threads at all.
    pub const CAN_SPAWN: bool = false;
}
