//! The production back end: the processor's atomics, std's threads, locks on futexes. The simulator's has all of it but the atomics.

/// Atomics of the processor.
#[cfg(not(feature = "sim"))]
pub mod atomic {
    #[cfg(thread_sanitizer)]
    pub use super::super::seen_fence::fence;
    #[cfg(not(thread_sanitizer))]
    pub use std::sync::atomic::fence;
    pub use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
        Ordering, compiler_fence,
    };
}

/// Atomics that may stand in a static in every back end. Only for switches and statistics.
pub mod statics {
    pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
}

#[cfg(not(feature = "sim"))]
pub use super::plain_cell as cell;

/// The mutex is Myriad's own where there are futexes.
pub(crate) mod locks {
    pub(crate) use super::super::blocking::{ReadGuard, RwLock, WriteGuard};
    #[cfg(not(target_os = "linux"))]
    pub(crate) use super::super::blocking_mutex::{Condvar, Mutex, MutexGuard};
    #[cfg(target_os = "linux")]
    pub(crate) use crate::futex_mutex::{Condvar, Mutex, MutexGuard};
}
#[cfg(not(feature = "sim"))]
pub(crate) use super::processor::prefetch;
#[cfg(not(feature = "sim"))]
pub(crate) use std::hint::spin_loop;

/// Threads of the operating system.
pub mod thread {
    use crate::machine::affinity::while_unbound;
    use std::io;
    pub use std::thread::{
        JoinHandle, Thread, ThreadId, current, panicking, park, park_timeout, scope, sleep, yield_now,
    };
    pub use std::time::Instant;

    /// Starts a thread that the operating system's tools show under `name`. It is not bound to a processor, even if the caller is.
    pub fn spawn<F, T>(name: &str, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        while_unbound(|| std::thread::Builder::new().name(name.to_owned()).spawn(body))
    }

    /// As [`spawn`], with at least `stack_bytes` of native stack.
    pub fn spawn_with_stack<F, T>(name: &str, stack_bytes: usize, body: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes);
        while_unbound(|| thread.spawn(body))
    }

    /// Whether this back end can start threads at all.
    pub const CAN_SPAWN: bool = true;
}
