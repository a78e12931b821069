//! `+nifcheck`: what a library hands to the functions of the interface is looked at first, and the VM ends with a crash dump that names what is
//! wrong: the library, the function of its that runs, the function of the interface, the argument. Without the flag a library that breaks
//! abi/ABI1 breaks the VM, and mostly much later.
//!
//! NC1. Meanwhile a library has no term that needs memory, but handles of terms: words with the tag that no term has (abi/ABI2), of which none
//!      comes twice. A handle belongs to an environment. It leads to no term once that has been cleared or freed, or its call is over.
//! NC2. Nothing that a library hands over is followed before it has been found among what is alive ([`registry`]): an address, a handle.
//! NC3. What a library has known by its address (environments, objects, the bytes of binaries, queues) leaves its memory to nobody else for a while
//!      after its end ([`registry::keep`]), so that the address is not taken for that of another thing.
//!
//! Not checked: memory, locks, threads and keys (a sanitizer knows these better), places for results, texts, and what a library reads or writes
//! itself through the pointers that it has been given.

mod call;
pub(crate) mod registry;
mod report;

pub(crate) use call::{Call, each, row, wrong};
pub(crate) use registry::{Running, Who};
pub(crate) use report::named;

use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_vm::Vm;

static ON: AtomicBool = AtomicBool::new(false);

/// Checks from now on, and ends this VM if a library misuses the interface: before any library is loaded.
pub(crate) fn turn_on(vm: &'static Vm) {
    report::ends(vm);
    // Relaxed, as below: it is set before there is a library, whose loading other threads see later.
    ON.store(true, Ordering::Relaxed);
}

/// Is what libraries hand over checked?
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}
