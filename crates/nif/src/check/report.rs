//! What is said of misuse, and the end of the VM.

use super::registry::{Running, Who};
use myriad_sync::OnceLock;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_vm::Vm;
use std::cell::RefCell;
use std::ffi::c_int;

/// The exit status of a VM whose library breaks the interface: that of a broken invariant.
const STATUS: c_int = 134;

static VM: OnceLock<&'static Vm> = OnceLock::new();

thread_local! {
    /// The libraries' functions that run on this thread, the innermost last.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
}

/// Misuse ends this VM.
pub(super) fn ends(vm: &'static Vm) {
    VM.get_or_init(|| vm);
}

/// Runs a function of a library's, which is named if it misuses the interface.
pub(crate) fn named<R>(running: Running, run: impl FnOnce() -> R) -> R {
    RUNNING.with_borrow_mut(|all| all.push(running));
    let result = run();
    let _ = RUNNING.with_borrow_mut(Vec::pop);
    result
}

/// Ends the VM: a function of the interface has been called with an argument that is something else than it should be.
pub(crate) fn misuse(function: &str, argument: &str, what: &str) -> ! {
    let running = RUNNING.try_with(|running| running.try_borrow().ok()?.last().copied()).ok().flatten();
    let file = running.and_then(|running| running.file).map(String::from_utf8_lossy);
    let file = file.unwrap_or("a NIF library".into());
    let who = running.map_or("a thread of its own".to_owned(), |Running { who, .. }: Running| Who::to_string(&who));
    // What `variadic.c` calls for it.
    let function = if function == "myriad_nif_print" { "enif_snprintf" } else { function };
    let slogan = format!("NIF misuse in {file}, {who}: {function}, {}: {what}", argument.trim_start_matches('_'));
    static FIRST: AtomicBool = AtomicBool::new(true);
    // Relaxed: only which thread is first matters.
    if FIRST.swap(false, Ordering::Relaxed) {
        match VM.get() {
            Some(vm) => vm.observer().fatal(&slogan),
            None => eprintln!("{slogan}"),
        }
        // SAFETY: ends the process at once: what the library has done to it is not known.
        unsafe { libc::_exit(STATUS) };
    }
    loop {
        // SAFETY: waits for the end of the process, which the first thread brings.
        unsafe { libc::pause() };
    }
}
