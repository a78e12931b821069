//! The register block of a scheduler: memory that lasts as long as it does, which the engine lays out.

use crate::X_REGISTERS;
use std::ptr::NonNull;

/// What an engine may keep beside the X registers, bytes.
const BESIDE: usize = 1024;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Memory for an engine's registers, zero at first. What stands where only the engine knows.
pub struct RegisterBlock(Box<[Line]>);

impl RegisterBlock {
    /// Bytes of a block.
    pub const BYTES: usize = 8 * X_REGISTERS + BESIDE;

    /// A block of zeros.
    pub(crate) fn new() -> RegisterBlock {
        RegisterBlock(vec![Line([0; 8]); Self::BYTES.div_ceil(size_of::<Line>())].into())
    }

    /// Where it begins, at the start of a cache line. It is the engine's that runs on the scheduler's thread.
    #[inline]
    pub fn start(&mut self) -> NonNull<u8> {
        NonNull::from(&mut self.0[0]).cast()
    }
}
