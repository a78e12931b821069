//! Calling with each term of an area.

use myriad_term::Term;
use myriad_term::boxed::Header;

/// Calls `visit` with the place of each word that is a term, of objects that lie one after another.
///
/// # Safety
/// The area is all objects (heap/H1, heap/H2).
pub(crate) unsafe fn each_term(start: *mut u64, end: *mut u64, mut visit: impl FnMut(*mut u64)) {
    let mut at = start;
    while at < end {
        // SAFETY: the caller's promise: initialised, and a raw object's header tells how much to step over.
        unsafe {
            let word = *at;
            if Header::is_raw(word) {
                at = at.add(1 + Header::from_raw(word).size());
                continue;
            }
            if !Term::from_raw(word).is_header() {
                visit(at);
            }
            at = at.add(1);
        }
    }
    debug_assert!(at == end || start >= end, "H2: the last object before {end:?} ends at {at:?}");
}
