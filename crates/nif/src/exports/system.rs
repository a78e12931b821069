//! Memory, locks, threads, libraries, time.

use crate::abi::{Out, Room, SystemInfo, Text, VERSION};
use crate::define::exports;
use crate::load;
use crate::thread_data;
use myriad_sync::OnceLock;
use myriad_vm::os_text::variable;
use std::ffi::{CString, c_char, c_int, c_void};

/// `ErlDrvMutex`
pub struct Lock(libc::pthread_mutex_t);
/// `ErlDrvCond`
pub struct Condition(libc::pthread_cond_t);
/// `ErlDrvRWLock`
pub struct ReadWriteLock(libc::pthread_rwlock_t);

/// `ErlNifThreadOpts`. The system's stacks are large enough for all that is asked for here.
#[repr(C)]
pub struct ThreadOptions {
    stack_words: c_int,
}

/// The versions of the driver interface that `SystemInfo` tells of.
const DRIVER_VERSION: [c_int; 2] = [3, 3];

/// The nanoseconds of a unit of `ErlNifTimeUnit`: seconds, milliseconds, microseconds, nanoseconds.
fn nanoseconds(unit: c_int) -> Option<i64> {
    [1_000_000_000, 1_000_000, 1000, 1].get(usize::try_from(unit).ok()?).copied()
}

/// What functions of time return where there is none.
const NO_TIME: i64 = i64::MIN;

fn time_in(unit: c_int, time_ns: Option<i64>) -> i64 {
    match (nanoseconds(unit), time_ns) {
        (Some(unit), Some(time)) => time.div_euclid(unit),
        _ => NO_TIME,
    }
}

/// The versions of the run-time system and of the release, as C texts.
static VERSIONS: OnceLock<(CString, CString)> = OnceLock::new();

fn versions() -> (CString, CString) {
    let text = |text: String| CString::new(text).unwrap_or_default();
    let release = load::vm().map(|vm| &vm.release);
    let erts = release.map(|release| release.erts_version.clone());
    (text(erts.unwrap_or_default()), text(release.map(|release| release.otp.to_string()).unwrap_or_default()))
}

exports! {
    /// `malloc`
    fn enif_alloc(size: usize) -> *mut c_void {
        // SAFETY: any size may be asked for.
        unsafe { libc::malloc(size) }
    }

    /// `realloc`
    fn enif_realloc(memory: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: ABI1: memory of `enif_alloc`, or null.
        unsafe { libc::realloc(memory, size) }
    }

    /// `free`
    fn enif_free(memory: *mut c_void) {
        // SAFETY: ABI1: memory of `enif_alloc` that is used no more, or null.
        unsafe { libc::free(memory) }
    }

    /// A lock; its name is of no use.
    fn enif_mutex_create(_name: Text) -> *mut Lock { Box::into_raw(Box::new(Lock(libc::PTHREAD_MUTEX_INITIALIZER))) }

    /// The lock is used no more.
    fn enif_mutex_destroy(lock: *mut Lock) {
        // SAFETY: ABI1: of `enif_mutex_create`, held by nobody.
        unsafe {
            libc::pthread_mutex_destroy(&raw mut (*lock).0);
            drop(Box::from_raw(lock));
        }
    }

    /// Takes it.
    fn enif_mutex_lock(lock: *mut Lock) {
        // SAFETY: ABI1: a lock.
        unsafe { libc::pthread_mutex_lock(&raw mut (*lock).0) };
    }

    /// Takes it if it is free: 0, or the system's number of an error.
    fn enif_mutex_trylock(lock: *mut Lock) -> c_int {
        // SAFETY: ABI1: a lock.
        unsafe { libc::pthread_mutex_trylock(&raw mut (*lock).0) }
    }

    /// Gives it back.
    fn enif_mutex_unlock(lock: *mut Lock) {
        // SAFETY: ABI1: a lock that this thread has.
        unsafe { libc::pthread_mutex_unlock(&raw mut (*lock).0) };
    }

    /// A condition.
    fn enif_cond_create(_name: Text) -> *mut Condition { Box::into_raw(Box::new(Condition(libc::PTHREAD_COND_INITIALIZER))) }

    /// The condition is used no more.
    fn enif_cond_destroy(condition: *mut Condition) {
        // SAFETY: ABI1: of `enif_cond_create`, waited for by nobody.
        unsafe {
            libc::pthread_cond_destroy(&raw mut (*condition).0);
            drop(Box::from_raw(condition));
        }
    }

    /// Wakes one that waits.
    fn enif_cond_signal(condition: *mut Condition) {
        // SAFETY: ABI1: a condition.
        unsafe { libc::pthread_cond_signal(&raw mut (*condition).0) };
    }

    /// Wakes all that wait.
    fn enif_cond_broadcast(condition: *mut Condition) {
        // SAFETY: ABI1: a condition.
        unsafe { libc::pthread_cond_broadcast(&raw mut (*condition).0) };
    }

    /// Waits, without the lock.
    fn enif_cond_wait(condition: *mut Condition, lock: *mut Lock) {
        // SAFETY: ABI1: a condition, and a lock that this thread has.
        unsafe { libc::pthread_cond_wait(&raw mut (*condition).0, &raw mut (*lock).0) };
    }

    /// A lock for one writer or many readers.
    fn enif_rwlock_create(_name: Text) -> *mut ReadWriteLock {
        Box::into_raw(Box::new(ReadWriteLock(libc::PTHREAD_RWLOCK_INITIALIZER)))
    }

    /// The lock is used no more.
    fn enif_rwlock_destroy(lock: *mut ReadWriteLock) {
        // SAFETY: ABI1: of `enif_rwlock_create`, held by nobody.
        unsafe {
            libc::pthread_rwlock_destroy(&raw mut (*lock).0);
            drop(Box::from_raw(lock));
        }
    }

    /// Takes it to read.
    fn enif_rwlock_rlock(lock: *mut ReadWriteLock) {
        // SAFETY: ABI1: a lock.
        unsafe { libc::pthread_rwlock_rdlock(&raw mut (*lock).0) };
    }

    /// Takes it to write.
    fn enif_rwlock_rwlock(lock: *mut ReadWriteLock) {
        // SAFETY: ABI1: a lock.
        unsafe { libc::pthread_rwlock_wrlock(&raw mut (*lock).0) };
    }

    /// Takes it to read, if it is free.
    fn enif_rwlock_tryrlock(lock: *mut ReadWriteLock) -> c_int {
        // SAFETY: ABI1: a lock.
        unsafe { libc::pthread_rwlock_tryrdlock(&raw mut (*lock).0) }
    }

    /// Takes it to write, if it is free.
    fn enif_rwlock_tryrwlock(lock: *mut ReadWriteLock) -> c_int {
        // SAFETY: ABI1: a lock.
        unsafe { libc::pthread_rwlock_trywrlock(&raw mut (*lock).0) }
    }

    /// Gives it back after reading.
    fn enif_rwlock_runlock(lock: *mut ReadWriteLock) {
        // SAFETY: ABI1: a lock that this thread has.
        unsafe { libc::pthread_rwlock_unlock(&raw mut (*lock).0) };
    }

    /// Gives it back after writing.
    fn enif_rwlock_rwunlock(lock: *mut ReadWriteLock) {
        // SAFETY: ABI1: a lock that this thread has.
        unsafe { libc::pthread_rwlock_unlock(&raw mut (*lock).0) };
    }

    /// Its name, of which there is none.
    fn enif_mutex_name(_lock: *mut Lock) -> *const c_char { std::ptr::null() }

    /// Its name, of which there is none.
    fn enif_cond_name(_condition: *mut Condition) -> *const c_char { std::ptr::null() }

    /// Its name, of which there is none.
    fn enif_rwlock_name(_lock: *mut ReadWriteLock) -> *const c_char { std::ptr::null() }

    /// A key under which each thread can keep something: 0.
    fn enif_tsd_key_create(_name: Text, to: Out<c_int>) -> c_int {
        to.set(thread_data::new_key());
        0
    }

    /// The key is used no more.
    fn enif_tsd_key_destroy(_key: c_int) {}

    /// This thread keeps something.
    fn enif_tsd_set(key: c_int, data: *mut c_void) { thread_data::set(key, data); }

    /// What this thread keeps.
    fn enif_tsd_get(key: c_int) -> *mut c_void { thread_data::get(key) }

    /// Starts a thread: 0, or the system's number of an error.
    fn enif_thread_create(
        _name: Text,
        to: Out<libc::pthread_t>,
        body: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
        _options: *const ThreadOptions,
    ) -> c_int {
        let mut thread = 0;
        // SAFETY: ABI1: a function that may run with this argument on a thread of its own.
        let error = unsafe { libc::pthread_create(&raw mut thread, std::ptr::null(), body, argument) };
        if error == 0 {
            to.set(thread);
        }
        error
    }

    /// Waits for a thread's end: 0, or the system's number of an error.
    fn enif_thread_join(thread: libc::pthread_t, to: *mut *mut c_void) -> c_int {
        // SAFETY: ABI1: a thread that nobody else waits for, and room for what it gives, or null.
        unsafe { libc::pthread_join(thread, to) }
    }

    /// Options of a thread.
    fn enif_thread_opts_create(_name: Text) -> *mut ThreadOptions { Box::into_raw(Box::new(ThreadOptions { stack_words: -1 })) }

    /// The options are used no more.
    fn enif_thread_opts_destroy(options: *mut ThreadOptions) {
        if !options.is_null() {
            // SAFETY: ABI1: of `enif_thread_opts_create`.
            drop(unsafe { Box::from_raw(options) });
        }
    }

    /// Its name, of which there is none.
    fn enif_thread_name(_thread: libc::pthread_t) -> *const c_char { std::ptr::null() }

    /// This thread.
    fn enif_thread_self() -> libc::pthread_t {
        // SAFETY: it always can be asked for.
        unsafe { libc::pthread_self() }
    }

    /// The same thread?
    fn enif_equal_tids(a: libc::pthread_t, b: libc::pthread_t) -> c_int { c_int::from(a == b) }

    /// Maps another library, whose path is given without `.so`; what goes wrong is told to `failed`.
    fn enif_dlopen(path: Text, failed: Option<extern "C" fn(*mut c_void, *const c_char)>, argument: *mut c_void) -> *mut c_void {
        let path = CString::new([path.bytes(), b".so"].concat()).unwrap_or_default();
        // SAFETY: ABI1: a library whose initialisers may run.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null()
            && let Some(failed) = failed
        {
            // SAFETY: a text of this thread's, or null.
            failed(argument, unsafe { libc::dlerror() });
        }
        handle
    }

    /// The address of a name in a library.
    fn enif_dlsym(
        handle: *mut c_void,
        name: *const c_char,
        failed: Option<extern "C" fn(*mut c_void, *const c_char)>,
        argument: *mut c_void,
    ) -> *mut c_void {
        // SAFETY: ABI1: a handle of `enif_dlopen`, and a name.
        let address = unsafe { libc::dlsym(handle, name) };
        if address.is_null()
            && let Some(failed) = failed
        {
            // SAFETY: a text of this thread's, or null.
            failed(argument, unsafe { libc::dlerror() });
        }
        address
    }

    /// Erlang monotonic time.
    fn enif_monotonic_time(unit: c_int) -> i64 {
        time_in(unit, load::vm().map(|vm| vm.clock.monotonic_ns(&*vm.platform)))
    }

    /// What added to monotonic time gives system time.
    fn enif_time_offset(unit: c_int) -> i64 { time_in(unit, load::vm().map(|vm| vm.clock.offset_ns())) }

    /// A time in another unit.
    fn enif_convert_time_unit(time: i64, from: c_int, to: c_int) -> i64 {
        let (Some(from), Some(to)) = (nanoseconds(from), nanoseconds(to)) else { return NO_TIME };
        (i128::from(time) * i128::from(from)).div_euclid(i128::from(to)) as i64
    }

    /// The value of an environment variable with a zero byte, and its length: 0; less than 0 if there is none; more if it needs more room,
    /// and then how much.
    fn enif_getenv(name: Text, to: Room, size: &mut usize) -> c_int {
        let Some(value) = variable(name.bytes()) else { return -1 };
        let room = std::mem::replace(size, value.len());
        if value.len() >= room {
            *size += 1;
            return 1;
        }
        to.slice(value.len() + 1)[..value.len()].copy_from_slice(&value);
        0
    }

    /// The kind of this thread: 1 a scheduler, 2 and 3 a dirty one for processors and for input and output, 0 any other.
    fn enif_thread_type() -> c_int { load::thread_kind() }

    /// What the VM is.
    fn enif_system_info(to: &mut SystemInfo, size: usize) {
        let versions = VERSIONS.get_or_init(versions);
        let info = SystemInfo {
            driver: DRIVER_VERSION,
            erts_version: versions.0.as_ptr(),
            otp_release: versions.1.as_ptr(),
            threads: 1,
            smp: 1,
            async_threads: load::vm().map_or(1, |vm| vm.config.async_threads as c_int),
            schedulers: load::vm().map_or(1, |vm| vm.schedulers.len() as c_int),
            nif: [VERSION.0, VERSION.1],
            dirty_schedulers: 1,
        };
        let size = size.min(size_of::<SystemInfo>());
        // SAFETY: ABI1: room for so many bytes, as many as the library's own type has.
        unsafe { std::ptr::from_mut(to).cast::<u8>().copy_from_nonoverlapping(std::ptr::from_ref(&info).cast(), size) };
    }
}
