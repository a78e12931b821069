//! A driver's queue: bytes that it will write later, in binaries.
//!
//! QU1. What `peek` shows stays until the queue is changed. Who changes it is the port's holder or has its data lock (`driver_pdl_lock`), as who peeks:
//!      the lock here is for what only looks at the length.

use crate::abi::{Handle, IoSlice};
use crate::binary::Binary;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{Arc, LockClass, Mutex};
use myriad_term::Port as PortId;
use std::collections::HashMap;

static CLASS: LockClass = LockClass::new("driver_queue", 330);
static LOCKED_CLASS: LockClass = LockClass::new("driver_queues", 328);

/// The queues of ports with a data lock, which threads without the port may use.
static LOCKED: Mutex<Option<HashMap<u64, Arc<Shared>>>> = Mutex::new(&LOCKED_CLASS, None);

/// A queue, as it is shared by a port and those who have its data lock.
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    /// The bytes in it.
    len: AtomicUsize,
}

/// What is in a queue.
#[derive(Default)]
pub(crate) struct Queue {
    slices: Vec<IoSlice>,
    /// The binary that each slice is of, held by the queue.
    binaries: Vec<*mut Binary>,
    /// The first place that is not used up.
    head: usize,
    len: usize,
}

// SAFETY: the binaries are the queue's, and counted by atomics.
unsafe impl Send for Queue {}

impl Shared {
    pub(crate) fn new() -> Arc<Shared> {
        Arc::new(Shared { queue: Mutex::new(&CLASS, Queue::default()), len: AtomicUsize::new(0) })
    }

    /// The bytes in it.
    pub(crate) fn len(&self) -> usize {
        // Relaxed: who has to know exactly has the port or its data lock.
        self.len.load(Ordering::Relaxed)
    }

    /// Uses it.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Queue) -> R) -> R {
        let mut queue = self.queue.lock();
        let result = work(&mut queue);
        // Relaxed: as in `len`.
        self.len.store(queue.len, Ordering::Relaxed);
        result
    }

    /// Threads without the port may use it from now on.
    pub(crate) fn open_to_threads(self: &Arc<Shared>, port: PortId) {
        LOCKED.lock().get_or_insert_default().insert(port.number(), self.clone());
    }

    /// The port has gone.
    pub(crate) fn close(&self, port: PortId) {
        if let Some(locked) = LOCKED.lock().as_mut() {
            locked.remove(&port.number());
        }
        self.with(Queue::clear);
    }
}

/// The queue of a port with a data lock.
pub(crate) fn of_locked(port: Handle) -> Option<Arc<Shared>> {
    LOCKED.lock().as_ref()?.get(&port.id().number()).cloned()
}

impl Queue {
    /// The slices, first one first (QU1).
    pub(crate) fn peek(&mut self) -> (&mut [IoSlice], &mut [*mut Binary]) {
        (&mut self.slices[self.head..], &mut self.binaries[self.head..])
    }

    /// The bytes in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Puts parts of binaries, which the caller has held for it, at the end or the front.
    pub(crate) fn add(&mut self, parts: &[(IoSlice, *mut Binary)], at_front: bool) {
        let parts = parts.iter().copied().filter(|(slice, binary)| {
            if slice.len == 0 {
                // SAFETY: held for the queue, which does not take it.
                unsafe { Binary::release(*binary) };
            }
            slice.len > 0
        });
        let (slices, binaries): (Vec<IoSlice>, Vec<*mut Binary>) = parts.unzip();
        self.len += slices.iter().map(|slice| slice.len).sum::<usize>();
        if at_front {
            self.slices.splice(..self.head, slices);
            self.binaries.splice(..self.head, binaries);
            self.head = 0;
        } else {
            self.slices.extend(slices);
            self.binaries.extend(binaries);
        }
    }

    /// Drops the first `count` bytes, or all.
    pub(crate) fn skip(&mut self, count: usize) {
        let mut left = count.min(self.len);
        self.len -= left;
        while left > 0 {
            let slice = &mut self.slices[self.head];
            let part = left.min(slice.len);
            // SAFETY: within the slice.
            slice.base = unsafe { slice.base.add(part) };
            slice.len -= part;
            left -= part;
            if slice.len == 0 {
                // SAFETY: held by the queue, which gives it back.
                unsafe { Binary::release(self.binaries[self.head]) };
                self.head += 1;
            }
        }
        if self.head > self.slices.len() / 2 {
            self.slices.drain(..self.head);
            self.binaries.drain(..self.head);
            self.head = 0;
        }
    }

    fn clear(&mut self) {
        self.skip(self.len);
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: &[u8]) -> (IoSlice, *mut Binary) {
        let binary = Binary::of(bytes);
        // SAFETY: just made.
        (IoSlice { base: unsafe { Binary::data(binary) }, len: bytes.len() }, binary)
    }

    fn all(queue: &mut Queue) -> Vec<u8> {
        // SAFETY: slices of binaries that the queue holds.
        let bytes = |slice: &IoSlice| unsafe { std::slice::from_raw_parts(slice.base, slice.len) }.to_vec();
        queue.peek().0.iter().flat_map(bytes).collect()
    }

    #[test]
    fn both_ends_grow_and_the_front_is_used_up() {
        let shared = Shared::new();
        shared.with(|queue| {
            queue.add(&[part(b"cd"), part(b""), part(b"efg")], false);
            queue.add(&[part(b"ab")], true);
            assert_eq!(all(queue), b"abcdefg");
            queue.skip(3);
            assert_eq!((all(queue), queue.len()), (b"defg".to_vec(), 4));
            queue.add(&[part(b"x"), part(b"y")], true);
            assert_eq!(all(queue), b"xydefg");
            queue.skip(100);
            assert!(all(queue).is_empty());
        });
        assert_eq!(shared.len(), 0);
    }

    #[test]
    fn a_binary_goes_with_its_last_holder() {
        let (slice, binary) = part(b"abc");
        // SAFETY: made above, and held until it is released here.
        unsafe {
            Binary::hold(binary);
            assert_eq!(Binary::holders(binary), 2);
            Shared::new().with(|queue| queue.add(&[(slice, binary)], false));
            assert_eq!((Binary::holders(binary), Binary::size(binary)), (1, 3));
            Binary::release(binary);
        }
    }
}
