//! What happens when there is no room left, in memory or in the atom table: OTP's slogan, then the end of the VM.

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

/// The table of atoms is full: the VM ends, as OTP does. Returns only where nobody has asked to be told (tests, tools).
#[cold]
pub fn no_more_atoms(limit: usize) {
    if let Some(handler) = HANDLER.get() {
        handler(&format!("no more index entries in atom_tab (max={limit})"));
    }
}

/// The layout of so many things; a size that no memory has ends the VM.
pub fn layout<T>(many: usize, allocator: &str, kind: &str) -> Layout {
    match Layout::array::<T>(many) {
        Ok(layout) => layout,
        Err(_) => exhausted(allocator, kind, many.saturating_mul(size_of::<T>())),
    }
}
