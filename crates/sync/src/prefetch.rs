//! Lines that are about to be read or written, asked for ahead.
//!
//! A core fetches several lines at a time if it knows their addresses. Where the next address is in a line that is on its way itself, or
//! what is done with one line takes long, it does not know them early enough without being told.

use crate::{backend, cost::Access};

/// A hint that the line of this address is about to be read: the core may begin to fetch it, and goes on meanwhile. It reads
/// nothing, so the address need not be valid.
#[inline(always)]
#[cfg_attr(feature = "sim", track_caller)]
pub fn prefetch<T>(address: *const T) {
    backend::prefetch(address.cast(), Access::Read);
}

/// As [`prefetch`], of a line that is about to be written: who looks at what it will change and then changes it fetches the line once
/// instead of twice, to read it and to have it alone.
#[inline(always)]
#[cfg_attr(feature = "sim", track_caller)]
pub fn prefetch_to_write<T>(address: *const T) {
    backend::prefetch(address.cast(), Access::Write);
}

#[cfg(all(test, not(any(loom, interleaved))))]
mod tests {
    use super::{prefetch, prefetch_to_write};

    #[test]
    fn any_address_may_be_asked_for() {
        let word = 7u64;
        prefetch(&raw const word);
        prefetch(std::ptr::null::<u64>());
        prefetch(std::ptr::without_provenance::<u64>(usize::MAX));
        prefetch_to_write(&raw const word);
        prefetch_to_write(std::ptr::null::<u64>());
        prefetch_to_write(std::ptr::without_provenance::<u64>(usize::MAX));
        assert_eq!(word, 7);
    }
}
