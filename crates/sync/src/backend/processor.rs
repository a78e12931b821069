//! What the processor at hand is told.

use crate::cost::Access;

/// Asks for a line that is about to be accessed, in the nearest cache.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8, access: Access) {
    // SAFETY: the instructions have no effect that a program sees, and never fault, whatever the address. Processors without `prefetchw`
    // pass it over.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        use std::arch::asm;
        match access {
            Access::Read => asm!("prefetcht0 [{}]", in(reg) address, options(readonly, nostack, preserves_flags)),
            _ => asm!("prefetchw [{}]", in(reg) address, options(readonly, nostack, preserves_flags)),
        }
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        use std::arch::asm;
        match access {
            Access::Read => asm!("prfm pldl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags)),
            _ => asm!("prfm pstl1keep, [{}]", in(reg) address, options(readonly, nostack, preserves_flags)),
        }
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = (address, access);
}
