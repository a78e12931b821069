//! Addresses in code.

/// An address in tier-0 code; only the engine looks behind it.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodePtr(pub *const u32);

// SAFETY: an address; the code that follows it answers for what is there (code/K3).
unsafe impl Send for CodePtr {}
// SAFETY: an address; the code that follows it answers for what is there (code/K3).
unsafe impl Sync for CodePtr {}

impl CodePtr {
    /// Nowhere.
    pub const NULL: CodePtr = CodePtr(std::ptr::null());
}
