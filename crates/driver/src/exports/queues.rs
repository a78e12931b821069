//! A driver's queue.

use crate::abi::{Handle, IoSlice, IoVector, row};
use crate::binary::Binary;
use crate::call;
use crate::port::with_port;
use crate::queue::{Queue, Shared, of_locked};
use myriad_nif::abi::{Out, Row};
use myriad_nif::exports;
use myriad_sync::Arc;
use std::ffi::c_int;
use std::ptr::null_mut;

/// The queue of a port: of the one that is called on this thread, or that has a data lock, or else of one that nobody holds.
fn queue_of(port: Handle) -> Option<Arc<Shared>> {
    if !call::is_under_way(port)
        && let Some(queue) = of_locked(port)
    {
        return Some(queue);
    }
    with_port(port, |instance, _| instance.queue.clone())
}

fn add(port: Handle, parts: &[(IoSlice, *mut Binary)], at_front: bool) -> c_int {
    match queue_of(port) {
        Some(queue) => {
            queue.with(|queue| queue.add(parts, at_front));
            0
        }
        None => {
            // SAFETY: held for the queue, which is not there.
            parts.iter().for_each(|(_, binary)| unsafe { Binary::release(*binary) });
            -1
        }
    }
}

/// A copy of bytes, held for the queue.
fn copy(bytes: &[u8]) -> Option<(IoSlice, *mut Binary)> {
    let binary = Binary::of(bytes);
    // SAFETY: just made.
    (!binary.is_null()).then(|| (IoSlice { base: unsafe { Binary::data(binary) }, len: bytes.len() }, binary))
}

fn add_bytes(port: Handle, bytes: &[u8], at_front: bool) -> c_int {
    copy(bytes).map_or(-1, |part| add(port, &[part], at_front))
}

fn add_binary(port: Handle, binary: *mut Binary, start: usize, len: usize, at_front: bool) -> c_int {
    // SAFETY: ABI1: a binary that the driver holds, of which the queue holds a part from now on.
    let part = unsafe {
        if binary.is_null() || start.checked_add(len).is_none_or(|end| end > Binary::size(binary)) {
            return -1;
        }
        Binary::hold(binary);
        (IoSlice { base: Binary::data(binary).add(start), len }, binary)
    };
    add(port, &[part], at_front)
}

fn add_vector(port: Handle, vector: &IoVector, skip: usize, at_front: bool) -> c_int {
    let count = usize::try_from(vector.count).unwrap_or(0);
    let slices = row(vector.slices, count);
    let mut left = skip;
    let mut parts = Vec::new();
    for (place, slice) in slices.iter().enumerate() {
        let skipped = left.min(slice.len);
        left -= skipped;
        if skipped == slice.len {
            continue;
        }
        // SAFETY: ABI1: so many bytes and binaries are there; a slice without a binary is copied.
        let (rest, binary) = unsafe {
            let rest = IoSlice { base: slice.base.add(skipped), len: slice.len - skipped };
            let of = vector.binaries;
            (rest, if of.is_null() { null_mut() } else { of.add(place).read() })
        };
        if binary.is_null() {
            let Some(part) = copy(row(rest.base, rest.len)) else { return -1 };
            parts.push(part);
        } else {
            // SAFETY: ABI1: a binary of the vector's, of which the queue holds a part from now on.
            unsafe { Binary::hold(binary) };
            parts.push((rest, binary));
        }
    }
    add(port, &parts, at_front)
}

/// Shows what is in the queue.
fn show(port: Handle, show: impl FnOnce(&mut Queue)) -> bool {
    queue_of(port).map(|queue| queue.with(show)).is_some()
}

exports! {
    /// Puts bytes at the end.
    fn driver_enq(port: Handle, bytes: Row<u8>, len: usize) -> c_int { add_bytes(port, bytes.slice(len), false) }

    /// Puts bytes at the front.
    fn driver_pushq(port: Handle, bytes: Row<u8>, len: usize) -> c_int { add_bytes(port, bytes.slice(len), true) }

    /// Puts a part of a binary at the end.
    fn driver_enq_bin(port: Handle, binary: *mut Binary, start: usize, len: usize) -> c_int {
        add_binary(port, binary, start, len, false)
    }

    /// Puts a part of a binary at the front.
    fn driver_pushq_bin(port: Handle, binary: *mut Binary, start: usize, len: usize) -> c_int {
        add_binary(port, binary, start, len, true)
    }

    /// Puts all of a vector but its first bytes at the end.
    fn driver_enqv(port: Handle, vector: &IoVector, skip: usize) -> c_int { add_vector(port, vector, skip, false) }

    /// Puts all of a vector but its first bytes at the front.
    fn driver_pushqv(port: Handle, vector: &IoVector, skip: usize) -> c_int { add_vector(port, vector, skip, true) }

    /// Takes bytes off the front; how many are left, or -1 where there are not so many.
    fn driver_deq(port: Handle, size: usize) -> usize {
        let Some(queue) = queue_of(port) else { return usize::MAX };
        let left = queue.with(|queue| {
            (size <= queue.len()).then(|| {
                queue.skip(size);
                queue.len()
            })
        });
        if left == Some(0) && !call::is_under_way(port) {
            // A port that only waits for this ends.
            call::with_vm(|vm| myriad_io::port::linked_in::in_turn_soon(vm, port.id(), |_, _| {}));
        }
        left.unwrap_or(usize::MAX)
    }

    /// The bytes in it.
    fn driver_sizeq(port: Handle) -> usize { queue_of(port).map_or(usize::MAX, |queue| queue.len()) }

    /// Its slices, until it is changed.
    fn driver_peekq(port: Handle, count: Out<c_int>) -> *mut IoSlice {
        let mut found = (null_mut(), -1);
        show(port, |queue| {
            let (slices, _) = queue.peek();
            found = (if slices.is_empty() { null_mut() } else { slices.as_mut_ptr() }, slices.len() as c_int);
        });
        count.set(found.1);
        found.0
    }

    /// The same, as a vector; the bytes in it.
    fn driver_peekqv(port: Handle, vector: &mut IoVector) -> usize {
        let mut size = usize::MAX;
        show(port, |queue| {
            size = queue.len();
            let (slices, binaries) = queue.peek();
            *vector = IoVector {
                count: slices.len() as c_int,
                size,
                slices: slices.as_mut_ptr(),
                binaries: binaries.as_mut_ptr(),
            };
        });
        size
    }
}
