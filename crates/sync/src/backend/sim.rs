//! The simulator's back end: that of threads, with atomics that tell the simulated machine of each access ([`cost`](crate::cost)).
//!
//! Locks report at the level of their classes ([`class`](crate::class)). A simulation has one thread, which is all cores in turn; between two steps of
//! a core no lock is held, so the locks beneath never make it wait.

/// Atomics of the processor that report each access with the place in the source that it comes from.
pub mod atomic {
    use crate::cost::{self, Access};
    pub use std::sync::atomic::{Ordering, compiler_fence, fence};

    macro_rules! costed {
        ($name:ident $([$param:ident])?, $value:ty) => {
            #[doc = concat!("A `", stringify!($name), "` whose accesses cost time on a simulated machine.")]
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

            #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
            impl $(<$param>)? $name $(<$param>)? {
                pub const fn new(value: $value) -> Self {
                    Self(std::sync::atomic::$name::new(value))
                }
                #[inline]
                #[track_caller]
                fn report(&self, access: Access) {
                    cost::access(std::ptr::from_ref(self).addr(), access);
                }
                #[inline]
                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.report(Access::Read);
                    self.0.load(order)
                }
                #[inline]
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.report(Access::Write);
                    self.0.store(value, order);
                }
                #[inline]
                #[track_caller]
                pub fn compare_exchange(
                    &self, expected: $value, new: $value, success: Ordering, failure: Ordering,
                ) -> Result<$value, $value> {
                    self.report(Access::Update);
                    self.0.compare_exchange(expected, new, success, failure)
                }
                #[inline]
                #[track_caller]
                pub fn compare_exchange_weak(
                    &self, expected: $value, new: $value, success: Ordering, failure: Ordering,
                ) -> Result<$value, $value> {
                    self.report(Access::Update);
                    self.0.compare_exchange_weak(expected, new, success, failure)
                }
                #[inline]
                #[track_caller]
                pub fn fetch_update(
                    &self, set: Ordering, fetch: Ordering, f: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    self.report(Access::Update);
                    self.0.fetch_update(set, fetch, f)
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

            costed!(@updates $name $([$param])?, $value: swap);
        };
        (@updates $name:ident $([$param:ident])?, $value:ty: $($method:ident)*) => {
            #[allow(missing_docs, reason = "the interface is that of std's atomic of the same name")]
            impl $(<$param>)? $name $(<$param>)? { $(
                #[inline]
                #[track_caller]
                pub fn $method(&self, value: $value, order: Ordering) -> $value {
                    self.report(Access::Update);
                    self.0.$method(value, order)
                }
            )* }
        };
    }

    macro_rules! costed_integers {
        ($($name:ident $value:ty),*) => { $(
            costed!($name, $value);
            costed!(@updates $name, $value: fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);
        )* };
    }

    costed_integers!(AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize, AtomicI64 i64,
        AtomicIsize isize);
    costed!(AtomicBool, bool);
    costed!(@updates AtomicBool, bool: fetch_and fetch_or);
    costed!(AtomicPtr[T], *mut T);
}

/// A turn of a spin loop, which takes time on the simulated machine as well.
#[inline]
pub(crate) fn spin_loop() {
    crate::cost::pause();
    std::hint::spin_loop();
}

/// The simulated core begins to fetch a line; the processor at hand does not.
#[inline]
#[track_caller]
pub(crate) fn prefetch(address: *const u8, access: crate::cost::Access) {
    crate::cost::prefetch(address.addr(), access);
}

pub use super::plain_cell as cell;
pub(crate) use super::threads::locks;
pub use super::threads::{statics, thread};
