//! Which scheduler a thread acts for.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// The address of the run queue whose private ends this thread may touch (sched.run_queue/R3).
    static QUEUE: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// This thread acts for scheduler `id` from now on, whose dispatcher is on this thread and whose run queue is `queue` (sched.run_queue/R3).
#[inline]
pub(crate) fn set_current<Q>(id: usize, queue: &Q) {
    CURRENT.set(id);
    QUEUE.set(std::ptr::from_ref(queue).cast());
}

/// What stands for a private thread.
const PRIVATE: usize = usize::MAX - 1;

/// This thread is a private thread from now on.
pub(crate) fn act_for_private_thread() {
    CURRENT.set(PRIVATE);
}

/// Does this thread stop at safepoints, as a normal scheduler or a private thread?
pub(crate) fn stops_at_safepoints() -> bool {
    CURRENT.get() != usize::MAX
}

/// This thread acts for no scheduler from now on, until a scheduler steps here.
pub fn leave_scheduler() {
    CURRENT.set(usize::MAX);
    QUEUE.set(std::ptr::null());
}

/// Does this thread act for the scheduler of this queue?
#[inline]
pub(crate) fn is_current<Q>(queue: &Q) -> bool {
    std::ptr::eq(QUEUE.get(), std::ptr::from_ref(queue).cast())
}

/// The scheduler whose thread this is; `None` on other threads (dirty and private ones included).
#[inline]
pub fn current() -> Option<usize> {
    let id = CURRENT.get();
    (id < PRIVATE).then_some(id)
}
