//! Bytes for the port's owner.

use crate::abi::{Handle, IoSlice, IoVector, row};
use crate::binary::Binary;
use crate::instance::Instance;
use crate::port::with_port;
use myriad_io::port::driver::Context;
use myriad_nif::abi::Row;
use myriad_nif::exports;
use myriad_term::{Build, Term, TermRef};
use std::ffi::c_int;
use std::ptr::null_mut;

/// The slices of a vector.
fn slices(vector: &IoVector) -> &[IoSlice] {
    row(vector.slices, usize::try_from(vector.count).unwrap_or(0))
}

/// The slices of a vector, but for its first `skip` bytes, each with its binary, if it is of one.
fn rest_of(vector: &IoVector, skip: usize) -> Vec<(&[u8], *mut Binary)> {
    let mut left = skip;
    let mut rest = Vec::new();
    for (place, slice) in slices(vector).iter().enumerate() {
        let skipped = left.min(slice.len);
        left -= skipped;
        if let Some(bytes) = row(slice.base, slice.len).get(skipped..).filter(|bytes| !bytes.is_empty()) {
            let binaries = row(vector.binaries, if vector.binaries.is_null() { 0 } else { place + 1 });
            rest.push((bytes, binaries.get(place).copied().unwrap_or(null_mut())));
        }
    }
    rest
}

/// A slice as a binary term, which is not copied where that is of a binary.
fn term_of<'h, B: Build<'h>>(memory: &mut B, (bytes, binary): (&[u8], *mut Binary)) -> TermRef<'h> {
    if !binary.is_null() {
        // SAFETY: ABI1: a binary of the vector's, within whose bytes the slice is.
        let term = unsafe {
            let start = (bytes.as_ptr() as usize).checked_sub(Binary::data(binary) as usize);
            start.and_then(|start| Binary::term(binary, start, bytes.len(), memory))
        };
        if let Some(term) = term {
            return term;
        }
    }
    memory.binary(bytes)
}

/// Sends them, with a head that is a list in any case.
fn deliver(instance: &mut Instance, context: &mut Context<'_>, head: &[u8], bytes: &[u8]) {
    context.count_input(head.len() + bytes.len());
    match &mut instance.lines {
        Some(lines) => {
            let all = [head, bytes].concat();
            lines.feed(&all, |frame| context.deliver_frame(frame));
        }
        None if head.is_empty() => context.deliver(bytes),
        None if bytes.is_empty() => context.deliver_headed(head, None),
        None => context.deliver_headed(head, Some(bytes)),
    }
}

fn send(port: Handle, head: &[u8], bytes: &[u8]) -> c_int {
    // A port that is closing sends as well.
    with_port(port, |instance, context| deliver(instance, context, head, bytes)).map_or(-1, |()| 0)
}

exports! {
    /// Sends the owner bytes.
    fn driver_output(port: Handle, bytes: Row<u8>, len: usize) -> c_int { send(port, &[], bytes.slice(len)) }

    /// Sends the owner a list of bytes that ends with others.
    fn driver_output2(port: Handle, head: Row<u8>, head_len: usize, bytes: Row<u8>, len: usize) -> c_int {
        send(port, head.slice(head_len), bytes.slice(len))
    }

    /// The same with a part of a binary, which is not copied.
    fn driver_output_binary(
        port: Handle,
        head: Row<u8>,
        head_len: usize,
        binary: *mut Binary,
        start: usize,
        len: usize,
    ) -> c_int {
        let head = head.slice(head_len);
        // SAFETY: ABI1: a binary that the driver holds.
        let size = if binary.is_null() { 0 } else { unsafe { Binary::size(binary) } };
        if start.checked_add(len).is_none_or(|end| end > size) {
            return -1;
        }
        let sent = with_port(port, |instance, context| {
            if !context.is_open() {
                return false;
            }
            if instance.lines.is_some() || !instance.is_binary || !head.is_empty() || len == 0 {
                // SAFETY: ABI1: so many bytes are there.
                let bytes = if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(Binary::data(binary).add(start), len) } };
                deliver(instance, context, head, bytes);
                return true;
            }
            context.count_input(len);
            // SAFETY: ABI1: a binary that the driver holds.
            context.deliver_with(|draft| unsafe { Binary::term(binary, start, len, draft) });
            true
        });
        if sent == Some(true) { 0 } else { -1 }
    }

    /// The same with all of a vector but its first bytes: where the port gives binaries, one for each slice, the last one as the list's end.
    fn driver_outputv(port: Handle, head: Row<u8>, head_len: usize, vector: &IoVector, skip: usize) -> c_int {
        let (head, rest) = (head.slice(head_len), rest_of(vector, skip));
        let sent = with_port(port, |instance, context| {
            let is_open = context.is_open();
            if is_open && instance.is_binary && instance.lines.is_none() {
                context.count_input(head.len() + rest.iter().map(|(bytes, _)| bytes.len()).sum::<usize>());
                context.deliver_with(|draft| {
                    let mut slices: Vec<TermRef<'_>> = rest.iter().map(|slice| term_of(draft, *slice)).collect();
                    let end = slices.pop().unwrap_or(Term::NIL);
                    let rest = draft.list_onto(&slices, end);
                    Some(draft.byte_list(head, rest))
                });
            } else if is_open {
                let bytes: Vec<u8> = rest.iter().flat_map(|(bytes, _)| *bytes).copied().collect();
                deliver(instance, context, head, &bytes);
            }
            is_open
        });
        if sent == Some(true) { 0 } else { -1 }
    }

    /// Copies bytes of a vector, as far as there is room; how many.
    fn driver_vec_to_buf(vector: &IoVector, to: *mut u8, room: usize) -> usize {
        let mut used = 0;
        for slice in slices(vector) {
            let part = slice.len.min(room - used);
            if part > 0 {
                // SAFETY: ABI1: there is so much room, and so many bytes.
                unsafe { to.add(used).copy_from(slice.base, part) };
            }
            used += part;
        }
        used
    }
}
