//! Threads for work that takes long (`driver_async`), as many as the flag `+A` says.
//!
//! Work with one key is done in the order in which it was given: each thread has a queue, and the key chooses the thread. What the driver has given
//! for the work is the driver's again by `ready_async`, in the port's turn, or given to its function that frees it.

use crate::abi::Handle;
use crate::call;
use crate::data_lock::OfPort;
use crate::library::InUse;
use myriad_io::port::linked_in;
use myriad_sync::thread::CAN_SPAWN;
use myriad_sync::{Arc, Condvar, LockClass, Mutex, OnceLock, thread};
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::c_void;

static CLASS: LockClass = LockClass::new("driver_work", 340);

/// A function of a driver's for its work.
pub(crate) type Function = unsafe extern "C" fn(*mut c_void);

/// Work that a driver has given.
pub(crate) struct Work {
    pub(crate) port: Handle,
    pub(crate) function: Function,
    pub(crate) data: Data,
    /// The port's data lock stays, though the port may go: the work may take it.
    pub(crate) lock: Option<OfPort>,
    /// The library stays until the work is done and its result is where it belongs.
    pub(crate) library: InUse,
}

/// What the driver has given for the work.
pub(crate) struct Data {
    pub(crate) of: *mut c_void,
    pub(crate) free: Option<Function>,
}

// SAFETY: the driver has given it to be used on another thread (ABI1).
unsafe impl Send for Data {}

impl Data {
    /// The driver has it again.
    fn give(mut self) {
        self.free = None;
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if let Some(free) = self.free.take() {
            // SAFETY: ABI1: the driver's function, for what it has given.
            unsafe { free(self.of) };
        }
    }
}

struct Worker {
    queue: Mutex<VecDeque<Work>>,
    there_is_work: Condvar,
}

static WORKERS: OnceLock<Vec<Arc<Worker>>> = OnceLock::new();

/// How many threads there are, once one is asked for.
fn count() -> usize {
    if CAN_SPAWN { call::vm().map_or(1, |vm| vm.config.async_threads) } else { 0 }
}

fn start(number: usize) -> Option<Arc<Worker>> {
    let worker = Arc::new(Worker { queue: Mutex::new(&CLASS, VecDeque::new()), there_is_work: Condvar::new() });
    let of_thread = worker.clone();
    let body = move || {
        loop {
            let mut queue = of_thread.queue.lock();
            let work = loop {
                match queue.pop_front() {
                    Some(work) => break work,
                    None => queue = of_thread.there_is_work.wait(queue),
                }
            };
            drop(queue);
            run(work);
        }
    };
    thread::spawn(&format!("async_{number}"), body).ok().map(|_| worker)
}

/// Gives work to the thread that the key chooses; without threads it is done at once.
pub(crate) fn give(work: Work, key: Option<u32>) {
    let workers = WORKERS.get_or_init(|| (1..=count()).filter_map(start).collect());
    if workers.is_empty() {
        return run(work);
    }
    let key = key.map_or(work.port.id().number() as usize, |key| key as usize);
    let worker = &workers[key % workers.len()];
    worker.queue.lock().push_back(work);
    worker.there_is_work.notify_one();
}

fn run(work: Work) {
    let Work { port, function, data, lock, library } = work;
    // SAFETY: ABI1: the driver's function, for what it has given.
    unsafe { function(data.of) };
    let done = Done { data, lock, library };
    call::with_vm(|vm| {
        linked_in::in_turn_soon(vm, port.id(), move |driver, context| {
            let Done { data, lock, library } = done;
            if let Some(instance) = (driver as &mut dyn Any).downcast_mut::<crate::instance::Instance>()
                && instance.ready_async(context, data.of)
            {
                data.give();
            } else {
                drop(data);
            }
            drop((lock, library));
        });
    });
}

/// A result on its way. Fields are dropped in this order: the data are freed while the library is there.
struct Done {
    data: Data,
    lock: Option<OfPort>,
    library: InUse,
}
