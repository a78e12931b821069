//! [`CachePadded`]: a value alone on its cache lines.

use std::ops::{Deref, DerefMut};

/// Keeps neighbours off the value's cache lines, so that writes to one do not slow reads of another.
///
/// 128 bytes, two lines: the adjacent-line prefetcher of x86-64 fetches pairs, and Apple's arm64 has 128-byte lines.
#[derive(Debug, Default, Clone, Copy)]
#[repr(align(128))]
pub struct CachePadded<T>(T);

impl<T> CachePadded<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for CachePadded<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

const _: () = assert!(size_of::<CachePadded<u8>>() == 128);
