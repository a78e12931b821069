//! A port's data lock (`ErlDrvPDL`): who has it may use the port's queue on any thread.

use crate::abi::Handle;
use crate::data_lock::{DataLock, OfPort};
use crate::port::with_port;
use myriad_nif::exports;
use std::ptr::null_mut;

exports! {
    /// The port's lock; null where it has been made before.
    fn driver_pdl_create(port: Handle) -> *mut DataLock {
        let made = with_port(port, |instance, context| {
            if instance.data_lock.is_some() {
                return null_mut();
            }
            let (of_port, lock) = OfPort::new();
            instance.data_lock = Some(of_port);
            instance.queue.open_to_threads(context.id());
            lock
        });
        made.unwrap_or(null_mut())
    }

    /// Takes it.
    fn driver_pdl_lock(lock: *mut DataLock) { DataLock::held(lock).take(); }

    /// Gives it back.
    fn driver_pdl_unlock(lock: *mut DataLock) { DataLock::held(lock).give_back(); }

    /// How many hold on to it.
    fn driver_pdl_get_refc(lock: *mut DataLock) -> isize { DataLock::held(lock).holders() }

    /// One more; how many there are.
    fn driver_pdl_inc_refc(lock: *mut DataLock) -> isize { DataLock::held(lock).join() }

    /// One less; how many are left. With the last it goes.
    fn driver_pdl_dec_refc(lock: *mut DataLock) -> isize { DataLock::leave(lock) }
}
