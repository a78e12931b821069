//! Calls of drivers' functions for ports that are under way.

use crate::abi::Handle;
use myriad_io::port::driver::Context;
use myriad_sync::OnceLock;
use myriad_vm::Vm;
use std::cell::Cell;
use std::ptr::{NonNull, null};

/// The VM that drivers run in.
static VM: OnceLock<&'static Vm> = OnceLock::new();

/// Drivers run in this VM.
pub(crate) fn run_in(vm: &'static Vm) {
    VM.get_or_init(|| vm);
}

/// The VM, once it has started.
pub(crate) fn vm() -> Option<&'static Vm> {
    VM.get().copied()
}

/// A call that is under way on this thread.
pub(crate) struct Call {
    port: Handle,
    /// The port's instance.
    pub(crate) instance: NonNull<()>,
    pub(crate) context: NonNull<Context<'static>>,
    /// Do all ports of the driver share a lock?
    shares_lock: bool,
    outer: *const Call,
}

thread_local! {
    /// The innermost call.
    static INNERMOST: Cell<*const Call> = const { Cell::new(null()) };
}

/// Runs a driver's function for a port.
pub(crate) fn enter<R>(
    port: Handle,
    instance: NonNull<()>,
    shares_lock: bool,
    context: &mut Context<'_>,
    function: impl FnOnce() -> R,
) -> R {
    let outer = INNERMOST.get();
    let call = Call { port, instance, context: NonNull::from(context).cast(), shares_lock, outer };
    INNERMOST.set(&raw const call);
    // No panic comes out of a driver's function: it is C, and ours abort.
    let result = function();
    INNERMOST.set(outer);
    result
}

/// Does this thread count for the VM's thread progress: a scheduler, or one on which a driver's function runs?
fn is_vm_thread() -> bool {
    !INNERMOST.get().is_null() || myriad_sched::current().is_some()
}

/// Runs with the VM's shared structures held in place, on whatever thread this is.
pub(crate) fn with_vm<R>(look: impl FnOnce(&'static Vm) -> R) -> Option<R> {
    let vm = vm()?;
    let pinned = (!is_vm_thread()).then(|| vm.progress.pin());
    let result = look(vm);
    drop(pinned);
    Some(result)
}

/// The call for a port that is under way on this thread: alive as long as who asks is called by it.
pub(crate) fn under_way(port: Handle) -> Option<NonNull<Call>> {
    let mut at = INNERMOST.get();
    // SAFETY: calls in this list are alive: `enter` takes each out before its frame ends.
    while let Some(call) = unsafe { at.as_ref() } {
        if call.port == port {
            return Some(NonNull::from(call));
        }
        at = call.outer;
    }
    None
}

/// Is there one?
pub(crate) fn is_under_way(port: Handle) -> bool {
    under_way(port).is_some()
}

/// May this thread wait for another port? Not in a call of a driver that has a lock for each port: two could wait for each other.
pub(crate) fn may_wait() -> bool {
    let innermost = INNERMOST.get();
    // SAFETY: as in `under_way`.
    unsafe { innermost.as_ref() }.is_none_or(|call| call.shares_lock)
}
