//! The lock of a port's queue (`ErlDrvPDL`).

use myriad_nif::abi::Text;
use myriad_nif::system::{Lock, enif_mutex_create, enif_mutex_destroy, enif_mutex_lock, enif_mutex_unlock};
use myriad_sync::atomic::{AtomicIsize, Ordering};

/// The lock, with the number of those that hold on to it, of whom the port is one.
pub struct DataLock {
    lock: *mut Lock,
    holders: AtomicIsize,
}

/// The hold of a port on its lock, or of work that it has given to another thread.
pub(crate) struct OfPort(*mut DataLock);

// SAFETY: the lock is there for all threads, and its holders are counted by an atomic.
unsafe impl Send for OfPort {}

impl Drop for OfPort {
    fn drop(&mut self) {
        DataLock::leave(self.0);
    }
}

impl OfPort {
    /// A new lock, with what is to be told of it.
    pub(crate) fn new() -> (OfPort, *mut DataLock) {
        let lock = enif_mutex_create(Text::default());
        let lock = Box::into_raw(Box::new(DataLock { lock, holders: AtomicIsize::new(1) }));
        (OfPort(lock), lock)
    }

    /// One more hold.
    pub(crate) fn another(&self) -> OfPort {
        DataLock::held(self.0).join();
        OfPort(self.0)
    }
}

impl DataLock {
    /// A lock that somebody holds on to.
    pub(crate) fn held<'a>(lock: *mut DataLock) -> &'a DataLock {
        // SAFETY: driver.abi/ABI1: of `driver_pdl_create`, and the driver or the port holds on to it.
        unsafe { &*lock }
    }

    /// Takes it.
    pub(crate) fn take(&self) {
        enif_mutex_lock(self.lock);
    }

    /// Gives it back.
    pub(crate) fn give_back(&self) {
        enif_mutex_unlock(self.lock);
    }

    /// How many hold on to it.
    pub(crate) fn holders(&self) -> isize {
        // Relaxed: a figure.
        self.holders.load(Ordering::Relaxed)
    }

    /// One more; how many there are.
    pub(crate) fn join(&self) -> isize {
        // Relaxed: who holds on to it can give it to another only by other means.
        self.holders.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// One less; how many are left. With the last it goes.
    pub(crate) fn leave(lock: *mut DataLock) -> isize {
        // Release and Acquire: all that others did with it comes before its end.
        let left = DataLock::held(lock).holders.fetch_sub(1, Ordering::AcqRel) - 1;
        if left == 0 {
            enif_mutex_destroy(DataLock::held(lock).lock);
            // SAFETY: from `OfPort::new`, and nobody holds on to it.
            drop(unsafe { Box::from_raw(lock) });
        }
        left
    }
}
