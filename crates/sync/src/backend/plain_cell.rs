//! [`UnsafeCell`] with loom's closure interface, for the back ends that do not check accesses.
//!
//! Code states where an access begins and ends, so that the model build can report two that overlap. Here it
//! all compiles to a pointer; the simulator is told of each access.

use crate::cost::{self, Access};
use std::cell;

/// A cell that several threads may reach. The caller orders the accesses: a `with_mut` or [`MutPtr`] may overlap
/// no other access, a `with` or [`ConstPtr`] no exclusive one.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct UnsafeCell<T>(cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(cell::UnsafeCell::new(value))
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// Reads through a shared pointer for the length of `f`.
    #[inline(always)]
    #[cfg_attr(feature = "sim", track_caller)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        self.report(Access::Read);
        f(self.0.get())
    }

    /// Writes through an exclusive pointer for the length of `f`.
    #[inline(always)]
    #[cfg_attr(feature = "sim", track_caller)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.report(Access::Write);
        f(self.0.get())
    }

    /// A shared access that lasts as long as the returned pointer.
    #[inline(always)]
    #[cfg_attr(feature = "sim", track_caller)]
    pub fn read_ptr(&self) -> ConstPtr<T> {
        self.report(Access::Read);
        ConstPtr(self.0.get())
    }

    /// An exclusive access that lasts as long as the returned pointer.
    #[inline(always)]
    #[cfg_attr(feature = "sim", track_caller)]
    pub fn write_ptr(&self) -> MutPtr<T> {
        self.report(Access::Write);
        MutPtr(self.0.get())
    }

    /// Tells the simulated machine, in the builds that have one.
    #[inline(always)]
    #[cfg_attr(feature = "sim", track_caller)]
    fn report(&self, access: Access) {
        cost::access(self.0.get().addr(), access);
    }

    /// The value, through an exclusive borrow.
    #[inline(always)]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// A shared access to an [`UnsafeCell`]; it does not keep the cell alive.
#[derive(Debug)]
pub struct ConstPtr<T>(*const T);

impl<T> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// The cell lives, and nobody has an exclusive access while the result lives.
    #[inline(always)]
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: the caller promises that the cell lives and that there is no exclusive access.
        unsafe { &*self.0 }
    }
}

/// An exclusive access to an [`UnsafeCell`]; it does not keep the cell alive.
#[derive(Debug)]
pub struct MutPtr<T>(*mut T);

impl<T> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// The cell lives, and nobody else has an access, or another result of this function, while the result lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the caller promises that it is the only one")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: the caller promises that the cell lives and that there is no other access.
        unsafe { &mut *self.0 }
    }
}
