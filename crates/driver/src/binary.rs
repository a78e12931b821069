//! Binaries of drivers (`ErlDrvBinary`): counted bytes behind a word with their number.
//!
//! BI1. Such a binary is the last word of a shared binary's block, with the bytes that follow it (term.binary/S2). So its bytes become a term, and those of
//!      a term become the driver's, without being copied. Each count that the driver has is one reference to the shared binary.

use myriad_term::binary::{HEAP_BINARY_LIMIT, SharedBinary};
use myriad_term::{Build, TermRef};
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null_mut};

/// `ErlDrvBinary`
#[repr(C)]
pub struct Binary {
    size: isize,
    bytes: [u8; 0],
}

impl Binary {
    /// A new one, held by the caller: [`Binary::release`] gives it back. Null: there are not so many bytes.
    pub fn alloc(size: usize) -> *mut Binary {
        if size > isize::MAX as usize / 2 {
            return null_mut();
        }
        Binary::held(SharedBinary::with_capacity(size, size, |_| {})).unwrap_or(null_mut())
    }

    /// A copy of bytes, held by the caller. Null: there are not so many bytes.
    pub fn of(bytes: &[u8]) -> *mut Binary {
        Binary::held(SharedBinary::from_bytes(bytes)).unwrap_or(null_mut())
    }

    /// A shared binary, one holder more of it; nothing if its bytes are elsewhere.
    pub fn of_shared(shared: &SharedBinary) -> Option<*mut Binary> {
        Binary::held(SharedBinary::clone(shared))
    }

    /// Its holder is who has this.
    fn held(shared: SharedBinary) -> Option<*mut Binary> {
        let bytes = shared.counted_bytes()?;
        std::mem::forget(shared);
        Some(bytes.as_ptr().cast())
    }

    /// Its first byte.
    ///
    /// # Safety
    /// A binary that somebody holds.
    pub unsafe fn data(binary: *mut Binary) -> *mut u8 {
        // SAFETY: the bytes follow the number (BI1).
        unsafe { binary.cast::<u8>().add(8) }
    }

    /// The number of its bytes.
    ///
    /// # Safety
    /// As for `data`.
    pub unsafe fn size(binary: *const Binary) -> usize {
        // SAFETY: the caller's promise; BI1.
        unsafe { (*binary).size }.max(0) as usize
    }

    /// What counts its holders, of whom the caller of this is none.
    ///
    /// # Safety
    /// As for `data`.
    unsafe fn shared(binary: *const Binary) -> ManuallyDrop<SharedBinary> {
        // SAFETY: BI1; the caller's promise, so it is not null.
        ManuallyDrop::new(unsafe { SharedBinary::of_counted_bytes(NonNull::new_unchecked(binary.cast_mut().cast())) })
    }

    /// One holder more.
    ///
    /// # Safety
    /// As for `data`.
    pub unsafe fn hold(binary: *const Binary) {
        // SAFETY: the caller's promise. The count is the new holder's.
        let _ = ManuallyDrop::new(SharedBinary::clone(&*unsafe { Binary::shared(binary) }));
    }

    /// One holder less; with the last it goes.
    ///
    /// # Safety
    /// The caller holds it, and will no more.
    pub unsafe fn release(binary: *mut Binary) {
        // SAFETY: the caller's promise.
        drop(ManuallyDrop::into_inner(unsafe { Binary::shared(binary) }));
    }

    /// How many hold it.
    ///
    /// # Safety
    /// As for `data`.
    pub unsafe fn holders(binary: *const Binary) -> usize {
        // SAFETY: the caller's promise.
        unsafe { Binary::shared(binary) }.references()
    }

    /// A part of it as a term: small ones are copied. Nothing if it has not so many bytes.
    ///
    /// # Safety
    /// As for `data`.
    pub unsafe fn term<'h, B: Build<'h>>(
        binary: *mut Binary,
        start: usize,
        len: usize,
        memory: &mut B,
    ) -> Option<TermRef<'h>> {
        // SAFETY: the caller's promise.
        let (shared, size) = unsafe { (Binary::shared(binary), Binary::size(binary)) };
        if start.checked_add(len).is_none_or(|end| end > size) {
            return None;
        }
        if len <= HEAP_BINARY_LIMIT {
            return shared.bytes().get(start..start + len).map(|bytes| memory.binary(bytes));
        }
        let whole = memory.shared_binary(SharedBinary::clone(&shared));
        Some(if len == size { whole } else { memory.sub_binary(whole, start * 8, len * 8) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_binary_is_a_drivers_one() {
        let shared = SharedBinary::from_bytes(&[7; 100]);
        let binary = Binary::of_shared(&shared).unwrap();
        // SAFETY: held to the end.
        unsafe {
            assert_eq!((Binary::size(binary), Binary::holders(binary)), (100, 2));
            assert_eq!(Binary::data(binary), shared.data());
            assert_eq!(Binary::of_shared(&Binary::shared(binary)), Some(binary));
            assert_eq!(Binary::holders(binary), 3);
            Binary::release(binary);
            drop(shared);
            assert_eq!((Binary::holders(binary), *Binary::data(binary).add(99)), (1, 7));
            Binary::release(binary);
        }
    }
}
