//! Memory and binaries.

use crate::binary::Binary;
use myriad_nif::exports;
use myriad_nif::system::{enif_alloc, enif_free, enif_realloc};
use std::ffi::c_void;
use std::ptr::null_mut;

exports! {
    /// `malloc`
    fn driver_alloc(size: usize) -> *mut c_void { enif_alloc(size) }

    /// `realloc`
    fn driver_realloc(memory: *mut c_void, size: usize) -> *mut c_void { enif_realloc(memory, size) }

    /// `free`
    fn driver_free(memory: *mut c_void) { enif_free(memory); }

    /// A binary that the driver holds.
    fn driver_alloc_binary(size: usize) -> *mut Binary { Binary::alloc(size) }

    /// More or fewer bytes of it; null, and it stays as it is: there are not so many.
    fn driver_realloc_binary(binary: *mut Binary, size: usize) -> *mut Binary {
        if binary.is_null() {
            return Binary::alloc(size);
        }
        let new = Binary::alloc(size);
        if new.is_null() {
            return null_mut();
        }
        // SAFETY: ABI1: a binary that the driver holds, and will no more; the new one has so many bytes and is nobody else's.
        unsafe {
            let kept = size.min(Binary::size(binary));
            Binary::data(new).copy_from_nonoverlapping(Binary::data(binary), kept);
            Binary::release(binary);
        }
        new
    }

    /// The driver holds it no more, so often as it calls this.
    fn driver_free_binary(binary: *mut Binary) {
        if !binary.is_null() {
            // SAFETY: ABI1: a binary that the driver holds.
            unsafe { Binary::release(binary) };
        }
    }

    /// How many hold it.
    fn driver_binary_get_refc(binary: *mut Binary) -> isize {
        // SAFETY: ABI1: a binary that the driver holds.
        unsafe { Binary::holders(binary) as isize }
    }

    /// One holder more; how many there are.
    fn driver_binary_inc_refc(binary: *mut Binary) -> isize {
        // SAFETY: ABI1: a binary that the driver holds.
        unsafe {
            Binary::hold(binary);
            Binary::holders(binary) as isize
        }
    }

    /// One holder less; how many there are. The last one stays: it is for `driver_free_binary`.
    fn driver_binary_dec_refc(binary: *mut Binary) -> isize {
        // SAFETY: ABI1: a binary that the driver holds.
        unsafe {
            let left = Binary::holders(binary) - 1;
            if left > 0 {
                Binary::release(binary);
            }
            left as isize
        }
    }
}
