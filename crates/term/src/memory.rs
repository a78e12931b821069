//! What happens when the system has no memory left: OTP's slogan, then the end of the VM.

use myriad_sync::OnceLock;
use std::alloc::Layout;

static HANDLER: OnceLock<fn(&str)> = OnceLock::new();

/// Sets what is told the slogan before the VM ends. The first call counts.
pub fn on_exhausted(handler: fn(&str)) {
    let _ = HANDLER.set(handler);
}

/// Ends the VM: an allocator (`eheap`, `binary`, ...) got no memory of so many bytes for a kind of object.
#[cold]
pub fn exhausted(allocator: &str, kind: &str, bytes: usize) -> ! {
    let slogan = format!("{allocator}_alloc: Cannot allocate {bytes} bytes of memory (of type \"{kind}\").");
    match HANDLER.get() {
        Some(handler) => handler(&slogan),
        None => eprintln!("{slogan}"),
    }
    std::process::abort()
}

/// The layout of so many things; a size that no memory has ends the VM.
pub fn layout<T>(many: usize, allocator: &str, kind: &str) -> Layout {
    match Layout::array::<T>(many) {
        Ok(layout) => layout,
        Err(_) => exhausted(allocator, kind, many.saturating_mul(size_of::<T>())),
    }
}
