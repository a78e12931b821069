//! [`Turn`]: whose turn it is to work at an object, and the operations that wait for theirs.
//!
//! Who wants something of the object does it itself if the object is free and nothing waits. Else it leaves an operation, which is done in its
//! turn by who is given the object for that, such as a scheduler that has it in its run queue.
//!
//! ```text
//!              begin (by who does it)          leave
//!      free ------------------------> running --------> crowded
//!       | ^           end (nothing left) |                 ^ | end, give_way: to be scheduled
//!       | +------------------------------+                 | |
//!       | ^      next: nothing left                        | v
//!       | +-------------- crowded            take (by a scheduler)
//!       +---------------------------------------------> waiting
//!                 leave: to be scheduled
//! ```
//!
//! TU1. One thread at a time has the turn: the one that has changed the word from free or waiting.
//! TU2. A free object has no operation that waits, but for one that is being left: who leaves it holds the queue, and then changes the word. So operations
//!      that one thread does or leaves, one after the other, are done in that order.
//! TU3. To be scheduled is told to one thread for each time that the object comes to be waiting: it stands in one run queue at most.
//!
//! Who ends a turn sees that something was left by the word alone, without the lock of the queue. What was done in a turn is passed on to the next one by the
//! word where it comes to be free, else by the means by which a thread is told of an object that waits: itself, or the lock of a run queue.

use crate::{
    Mutex,
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    class::LockClass,
};
use std::{collections::VecDeque, fmt};

const FREE: u32 = 0;
const RUNNING: u32 = 1;
/// Running, and something was left.
const CROWDED: u32 = 2;
const WAITING: u32 = 3;

/// The object is to be scheduled: whoever is told so has a thread [`take`](Turn::take) it.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToSchedule(pub bool);

/// The turn, and operations of type `T` that wait.
pub struct Turn<T> {
    word: AtomicU32,
    left: Mutex<VecDeque<T>>,
}

impl<T> Turn<T> {
    /// Free; `class` is that of the lock on what waits.
    pub fn new(class: &'static LockClass) -> Self {
        Turn { word: AtomicU32::new(FREE), left: Mutex::new(class, VecDeque::new()) }
    }

    /// Is it the caller's turn? Then [`end`](Turn::end) must follow.
    #[inline]
    #[must_use]
    pub fn begin(&self) -> bool {
        // Acquire: pairs with the Release of who had the turn before, in `end` or `next`.
        self.word.compare_exchange(FREE, RUNNING, Acquire, Relaxed).is_ok()
    }

    /// The turn of [`begin`](Turn::begin) is over.
    #[inline]
    pub fn end(&self) -> ToSchedule {
        // Release: pairs with the Acquire in `begin` and `leave`.
        if self.word.compare_exchange(RUNNING, FREE, Release, Relaxed).is_ok() {
            return ToSchedule(false);
        }
        self.give_way();
        ToSchedule(true)
    }

    /// Leaves an operation.
    pub fn leave(&self, operation: T) -> ToSchedule {
        self.put(|left| left.push_back(operation))
    }

    /// Leaves operations, to be done in this order before what waits by now: those that were left before and put off by who had the turn.
    pub fn leave_first(&self, operations: impl DoubleEndedIterator<Item = T>) -> ToSchedule {
        self.put(|left| operations.rev().for_each(|operation| left.push_front(operation)))
    }

    fn put(&self, put: impl FnOnce(&mut VecDeque<T>)) -> ToSchedule {
        let mut left = self.left.lock();
        put(&mut left);
        loop {
            let seen = self.word.load(Relaxed);
            let next = match seen {
                FREE => WAITING,
                RUNNING => CROWDED,
                _ => return ToSchedule(false),
            };
            // Acquire: pairs with the Release of who had the turn before, in `end` or `next`.
            if self.word.compare_exchange(seen, next, Acquire, Relaxed).is_ok() {
                return ToSchedule(next == WAITING);
            }
        }
    }

    /// How many operations wait.
    pub fn len(&self) -> usize {
        self.left.lock().len()
    }

    /// Does none wait?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A scheduler has come to it, which was waiting, and knows of all that came before who was told so (TU3). [`next`](Turn::next) follows until there is
    /// none, or [`give_way`](Turn::give_way).
    pub fn take(&self) {
        // Relaxed: the caller's promise.
        let before = self.word.swap(CROWDED, Relaxed);
        debug_assert_eq!(before, WAITING, "TU3");
    }

    /// The next operation, for who has taken it; `None`: nothing is left, and the turn is over.
    pub fn next(&self) -> Option<T> {
        let mut left = self.left.lock();
        let next = left.pop_front();
        if next.is_none() {
            // Release: pairs with the Acquire in `begin` and `leave`. Under the lock: TU2.
            self.word.store(FREE, Release);
        }
        next
    }

    /// The turn is over, though something may be left: the caller is the one to schedule it again.
    pub fn give_way(&self) {
        // Relaxed: who takes it is told by the caller, and knows what that has done.
        self.word.store(WAITING, Relaxed);
    }
}

impl<T> fmt::Debug for Turn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{ToSchedule, Turn};
    use crate::LockClass;

    static CLASS: LockClass = LockClass::new("test_turn", 10);

    #[test]
    fn what_is_left_is_done_in_its_turn() {
        let turn = Turn::new(&CLASS);
        assert!(turn.begin() && !turn.begin());
        assert_eq!([turn.leave('a'), turn.leave('b')], [ToSchedule(false); 2], "who has the turn learns of it");
        assert_eq!(turn.end(), ToSchedule(true));
        assert!(!turn.begin(), "others wait");
        turn.take();
        assert_eq!(turn.next(), Some('a'));
        turn.give_way();
        assert_eq!(turn.leave('c'), ToSchedule(false), "it is scheduled already");
        turn.take();
        assert_eq!([turn.next(), turn.next(), turn.next()], [Some('b'), Some('c'), None]);
        assert!(turn.begin());
        assert_eq!(turn.end(), ToSchedule(false));
        assert_eq!(turn.leave('d'), ToSchedule(true), "nobody else would do it");
    }

    #[test]
    fn what_was_put_off_comes_first() {
        let turn = Turn::new(&CLASS);
        assert!(turn.begin());
        assert_eq!(turn.leave('c'), ToSchedule(false));
        assert_eq!(turn.leave_first(['a', 'b'].into_iter()), ToSchedule(false));
        assert_eq!(turn.end(), ToSchedule(true));
        turn.take();
        assert_eq!([turn.next(), turn.next(), turn.next(), turn.next()], [Some('a'), Some('b'), Some('c'), None]);
    }
}

/// Two threads each do two operations, of which some are left; who is told to schedule the object does what is left.
///
/// Caught when tried: Relaxed for the Acquire in `begin` and in `leave`, and for the Release in `end` and in `next`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{ToSchedule, Turn};
    use crate::LockClass;
    use loom::{cell::UnsafeCell, thread};
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("model_turn", 10);

    struct World {
        turn: Turn<(usize, usize)>,
        /// How many operations of each thread have been done.
        done: UnsafeCell<[usize; 2]>,
    }

    // SAFETY: TU1, which the model checks.
    unsafe impl Sync for World {}
    // SAFETY: as above.
    unsafe impl Send for World {}

    impl World {
        fn operate(&self, thread: usize, number: usize) {
            self.done.with_mut(|done| {
                // SAFETY: it is this thread's turn (TU1).
                let done = unsafe { &mut *done };
                assert_eq!(done[thread], number, "TU2");
                done[thread] += 1;
            });
        }

        fn act(&self, thread: usize, number: usize) {
            let schedule = if self.turn.begin() {
                self.operate(thread, number);
                self.turn.end()
            } else {
                self.turn.leave((thread, number))
            };
            if schedule == ToSchedule(true) {
                self.turn.take();
                let mut gives_way = thread == 0;
                while let Some((thread, number)) = self.turn.next() {
                    self.operate(thread, number);
                    if std::mem::take(&mut gives_way) {
                        self.turn.give_way();
                        self.turn.take();
                    }
                }
            }
        }
    }

    #[test]
    fn loom_operations_are_done_one_at_a_time_and_in_order() {
        loom::model(|| {
            let turn = Turn::new(&CLASS);
            let world = Arc::new(World { turn, done: UnsafeCell::new([0; 2]) });
            let other = world.clone();
            let other = thread::spawn(move || (0..2).for_each(|number| other.act(1, number)));
            (0..2).for_each(|number| world.act(0, number));
            other.join().unwrap();
            assert!(world.turn.begin(), "nothing is left");
            // SAFETY: it is this thread's turn.
            world.done.with(|done| assert_eq!(unsafe { *done }, [2, 2]));
        });
    }
}
