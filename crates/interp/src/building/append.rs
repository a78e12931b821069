//! Appending a little to a writable binary that has room for it, in one pass: what loops that build a binary do.
//!
//! As in [`super::small`] nothing is changed before all is known to be right; whatever is unusual is left to [`super::create_bin`].

use super::small::{Bytes, fill};
use super::{Segment, claim, is_multiple, writable_part, writable_whole};
use crate::machine::Machine;
use myriad_term::{Term, am};

/// The bit string of the segments from the second on behind the first.
///
/// # Safety
/// They are segments of the instruction at hand.
pub(super) unsafe fn create(m: &mut Machine<'_, '_>, n: usize, segment: impl Fn(usize) -> Segment) -> Option<Term> {
    let first = segment(0);
    // SAFETY: the caller's promise.
    let (source, size) = unsafe { (first.value(m), first.size(m)) };
    let (whole, offset, old_bits) = source.binary_parts()?;
    let object = writable_whole(source, &whole)?;
    if !size.is_am(am::all) || !is_multiple(old_bits, first.unit) {
        return None;
    }
    let (shared, start) = (object.shared(), offset + old_bits);
    let within = start % 8;
    let mut to = Bytes::new();
    if within > 0 {
        // SAFETY: the byte holds bits of the source.
        to.begin_in(unsafe { *shared.data().add(start / 8) }, within);
    }
    // SAFETY: the caller's promise.
    unsafe { fill(m, &mut to, 1..n, segment)? };
    let (extra, bytes) = (to.bits() - within, start / 8 + to.len());
    if extra == 0 || bytes > shared.capacity() {
        return None;
    }
    if !claim(source) {
        return None;
    }
    // SAFETY: the only writable reference (its mark has been taken away) ends at the end of what is used, and there is room behind it.
    unsafe {
        let used = shared.len();
        shared.extend_to(bytes.max(used));
        *object.ptr().add(1) = bytes.max(used) as u64;
        m.heap().count_binary_words(bytes.saturating_sub(used) / 8);
        // Behind what is used nobody reads.
        let room = if bytes < used { to.len() } else { shared.capacity() - start / 8 };
        to.copy_to(shared.data().add(start / 8), room);
    }
    Some(writable_part(m, whole, offset, old_bits + extra))
}
