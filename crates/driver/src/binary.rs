//! Binaries of drivers (`ErlDrvBinary`): counted bytes behind a word with their number.
//!
//! BI1. Such a binary is a shared binary of the VM whose bytes begin with two words of our own: what counts its holders, and the number of the
//!      driver's bytes, which follow. So its bytes become a term without being copied. Each count that the driver has is one reference to it.

use myriad_term::binary::{HEAP_BINARY_LIMIT, SharedBinary};
use myriad_term::{Build, TermRef};
use std::mem::ManuallyDrop;

/// Bytes of our own before the driver's.
const BEFORE: usize = 16;

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
            return std::ptr::null_mut();
        }
        let shared = SharedBinary::with_capacity(size + BEFORE, size + BEFORE, |_| {});
        let data = shared.data();
        let raw = shared.into_raw();
        // SAFETY: so many fresh bytes, of which nobody else knows.
        unsafe {
            data.cast::<*const ()>().write_unaligned(raw);
            let binary = data.add(8).cast::<Binary>();
            binary.cast::<isize>().write_unaligned(size as isize);
            binary
        }
    }

    /// One of these bytes.
    pub fn of(bytes: &[u8]) -> *mut Binary {
        let binary = Binary::alloc(bytes.len());
        if !binary.is_null() {
            // SAFETY: it has so many bytes, and nobody else knows of it.
            unsafe { Binary::data(binary).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        binary
    }

    /// The driver's binary whose memory a shared binary is, and a holder more of it, if it is one and these bytes of it are the driver's. It shows by what
    /// stands before the bytes: where that binary is, and their number, which is right whoever has written it.
    pub fn of_shared(shared: &SharedBinary, part: &[u8]) -> Option<*mut Binary> {
        let (before, bytes) = shared.bytes().split_at_checked(BEFORE)?;
        let raw = SharedBinary::clone(shared).into_raw();
        // SAFETY: the count is the one that was just made.
        let held = unsafe { SharedBinary::from_raw(raw) };
        let mark = [(raw as u64).to_ne_bytes(), (bytes.len() as u64).to_ne_bytes()].concat();
        let is_within = part.as_ptr() as usize >= bytes.as_ptr() as usize;
        (before == mark && is_within).then(|| {
            std::mem::forget(held);
            // SAFETY: `BEFORE` bytes and more are there.
            unsafe { shared.data().add(BEFORE / 2).cast::<Binary>() }
        })
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
        unsafe { binary.cast::<isize>().read_unaligned() }.max(0) as usize
    }

    /// What counts its holders, of whom the caller of this is none.
    ///
    /// # Safety
    /// As for `data`.
    unsafe fn shared(binary: *const Binary) -> ManuallyDrop<SharedBinary> {
        // SAFETY: BI1: what `into_raw` gave stands before it.
        ManuallyDrop::new(unsafe { SharedBinary::from_raw(binary.cast::<*const ()>().sub(1).read_unaligned()) })
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
        let start = start + BEFORE;
        if len <= HEAP_BINARY_LIMIT {
            return shared.bytes().get(start..start + len).map(|bytes| memory.binary(bytes));
        }
        let whole = memory.shared_binary(SharedBinary::clone(&shared));
        Some(memory.sub_binary(whole, start * 8, len * 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_gets_its_own_binary_back() {
        let bytes = [7; 100];
        let binary = Binary::of(&bytes);
        // SAFETY: just made, and held to the end.
        unsafe {
            let shared = SharedBinary::clone(&Binary::shared(binary));
            assert_eq!((shared.len(), Binary::holders(binary)), (116, 2));
            assert_eq!(Binary::of_shared(&shared, &shared.bytes()[20..30]), Some(binary));
            assert_eq!(Binary::holders(binary), 3);
            Binary::release(binary);
            assert_eq!(Binary::of_shared(&shared, shared.bytes()), None, "what stands before is not the driver's");
            let other = SharedBinary::from_bytes(shared.bytes());
            assert_eq!(Binary::of_shared(&other, &other.bytes()[20..30]), None);
            assert_eq!(Binary::holders(binary), 2);
            Binary::release(binary);
        }
    }
}
