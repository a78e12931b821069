//! Locks and threads: those of the NIF interface, under the names of this one.

use myriad_nif::abi::{Out, Text};
use myriad_nif::exports;
use myriad_nif::system::*;
use std::ffi::{c_char, c_int, c_void};

exports! {
    /// A lock; its name is of no use.
    fn erl_drv_mutex_create(name: Text) -> *mut Lock { enif_mutex_create(name) }
    /// The lock is used no more.
    fn erl_drv_mutex_destroy(lock: *mut Lock) { enif_mutex_destroy(lock); }
    /// Takes it.
    fn erl_drv_mutex_lock(lock: *mut Lock) { enif_mutex_lock(lock); }
    /// Takes it if it is free.
    fn erl_drv_mutex_trylock(lock: *mut Lock) -> c_int { enif_mutex_trylock(lock) }
    /// Gives it back.
    fn erl_drv_mutex_unlock(lock: *mut Lock) { enif_mutex_unlock(lock); }
    /// Its name.
    fn erl_drv_mutex_name(lock: *mut Lock) -> *const c_char { enif_mutex_name(lock) }

    /// A condition.
    fn erl_drv_cond_create(name: Text) -> *mut Condition { enif_cond_create(name) }
    /// The condition is used no more.
    fn erl_drv_cond_destroy(condition: *mut Condition) { enif_cond_destroy(condition); }
    /// Wakes one that waits.
    fn erl_drv_cond_signal(condition: *mut Condition) { enif_cond_signal(condition); }
    /// Wakes all that wait.
    fn erl_drv_cond_broadcast(condition: *mut Condition) { enif_cond_broadcast(condition); }
    /// Waits, without the lock.
    fn erl_drv_cond_wait(condition: *mut Condition, lock: *mut Lock) { enif_cond_wait(condition, lock); }
    /// Its name.
    fn erl_drv_cond_name(condition: *mut Condition) -> *const c_char { enif_cond_name(condition) }

    /// A lock for one writer or many readers.
    fn erl_drv_rwlock_create(name: Text) -> *mut ReadWriteLock { enif_rwlock_create(name) }
    /// The lock is used no more.
    fn erl_drv_rwlock_destroy(lock: *mut ReadWriteLock) { enif_rwlock_destroy(lock); }
    /// Takes it to read.
    fn erl_drv_rwlock_rlock(lock: *mut ReadWriteLock) { enif_rwlock_rlock(lock); }
    /// Takes it to write.
    fn erl_drv_rwlock_rwlock(lock: *mut ReadWriteLock) { enif_rwlock_rwlock(lock); }
    /// Takes it to read, if it is free.
    fn erl_drv_rwlock_tryrlock(lock: *mut ReadWriteLock) -> c_int { enif_rwlock_tryrlock(lock) }
    /// Takes it to write, if it is free.
    fn erl_drv_rwlock_tryrwlock(lock: *mut ReadWriteLock) -> c_int { enif_rwlock_tryrwlock(lock) }
    /// Gives it back after reading.
    fn erl_drv_rwlock_runlock(lock: *mut ReadWriteLock) { enif_rwlock_runlock(lock); }
    /// Gives it back after writing.
    fn erl_drv_rwlock_rwunlock(lock: *mut ReadWriteLock) { enif_rwlock_rwunlock(lock); }
    /// Its name.
    fn erl_drv_rwlock_name(lock: *mut ReadWriteLock) -> *const c_char { enif_rwlock_name(lock) }

    /// What each thread keeps under a key.
    fn erl_drv_tsd_key_create(name: Text, to: Out<c_int>) -> c_int { enif_tsd_key_create(name, to) }
    /// The key is used no more.
    fn erl_drv_tsd_key_destroy(key: c_int) { enif_tsd_key_destroy(key); }
    /// This thread keeps something.
    fn erl_drv_tsd_set(key: c_int, data: *mut c_void) { enif_tsd_set(key, data); }
    /// What this thread keeps.
    fn erl_drv_tsd_get(key: c_int) -> *mut c_void { enif_tsd_get(key) }

    /// Options of a thread.
    fn erl_drv_thread_opts_create(name: Text) -> *mut ThreadOptions { enif_thread_opts_create(name) }
    /// The options are used no more.
    fn erl_drv_thread_opts_destroy(options: *mut ThreadOptions) { enif_thread_opts_destroy(options); }
    /// Starts a thread.
    fn erl_drv_thread_create(
        name: Text,
        to: Out<libc::pthread_t>,
        body: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
        options: *const ThreadOptions,
    ) -> c_int {
        enif_thread_create(name, to, body, argument, options)
    }
    /// Waits for a thread's end.
    fn erl_drv_thread_join(thread: libc::pthread_t, to: *mut *mut c_void) -> c_int { enif_thread_join(thread, to) }
    /// This thread.
    fn erl_drv_thread_self() -> libc::pthread_t { enif_thread_self() }
    /// The same thread?
    fn erl_drv_equal_tids(a: libc::pthread_t, b: libc::pthread_t) -> c_int { enif_equal_tids(a, b) }
    /// Its name.
    fn erl_drv_thread_name(thread: libc::pthread_t) -> *const c_char { enif_thread_name(thread) }
}

unsafe extern "C-unwind" {
    fn pthread_exit(result: *mut c_void) -> !;
}

/// Ends this thread, which `erl_drv_thread_create` has started. The system unwinds its stack for that, through this frame, in which nothing is to be
/// dropped.
// SAFETY: the name is the interface's, which nothing else in the program has.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn erl_drv_thread_exit(result: *mut c_void) {
    // SAFETY: ABI1: a thread of the driver's own; of the frames above this one none is ours.
    unsafe { pthread_exit(result) }
}
