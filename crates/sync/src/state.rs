//! [`StateWord`]: a state that says which thread owns an object, and lets others look at the object while no thread does.
//!
//! The user of this type divides the states into those in which a thread owns the object and those in which none does.
//!
//! SW1. A thread that changes the state to one of ownership owns the object until it changes the state to another; by the Release
//!      of that change, with which the Acquire of the next owner pairs.
//!      A thread that changes the state from one without an owner to another such may look at the object until other threads learn
//!      of the change (a waker looks at what it has woken, before it puts it into a queue).
//! SW2. One thread at a time visits the object, in states without an owner: it looks, and changes nothing. Others may change the
//!      state during the visit, but to one of ownership only when the visitor has left.
//!
//! All changes are read-modify-writes of one word, and so have one order: no fence is needed to see what another thread has changed.
//! What was not done: a lock for visitors, which each owner would have to take as well, once in each slice; a count of visitors, which
//! lets several in at a time, at the price of a second word or a longer wait for owners.

use crate::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// The bit that says that a thread visits. The states are the numbers below it.
const VISITED: u32 = 1 << 31;

/// A state, and whether a thread visits the object that it guards.
#[derive(Debug)]
pub struct StateWord(AtomicU32);

/// A visit (SW2); it ends when this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Visit<'a> {
    word: &'a StateWord,
    /// The state when it began.
    pub state: u32,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // Release: the looks come before what the next owner does; pairs with the Acquire in `try_give`.
        self.word.0.fetch_and(!VISITED, Release);
    }
}

impl StateWord {
    const_unless_loom! {
        /// A word in this state, without a visitor.
        pub fn new(state: u32) -> StateWord {
            StateWord(AtomicU32::new(state))
        }
    }

    /// The state (a figure, already old).
    #[inline]
    pub fn get(&self) -> u32 {
        // Relaxed: decisions are made by read-modify-writes.
        self.0.load(Relaxed) & !VISITED
    }

    /// Changes the state to what `f` makes of it, where no thread comes to own the object by that; gives what else `f` gives.
    #[inline]
    pub fn change<R>(&self, f: impl Fn(u32) -> (u32, R)) -> R {
        let mut seen = self.0.load(Relaxed);
        loop {
            let (next, result) = f(seen & !VISITED);
            // AcqRel: Release orders what this thread did with the object before the state; Acquire pairs with that of its last owner,
            // for a thread that looks at it afterwards (SW1).
            match self.0.compare_exchange_weak(seen, next | seen & VISITED, AcqRel, Relaxed) {
                Ok(_) => return result,
                Err(now) => seen = now,
            }
        }
    }

    /// As [`StateWord::change`], where the new state may give the object to the calling thread. `None`: a thread visits it; to be
    /// tried again soon.
    #[inline]
    pub fn try_give<R>(&self, f: impl Fn(u32) -> (u32, R)) -> Option<R> {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & VISITED != 0 {
                return None;
            }
            let (next, result) = f(seen);
            // Acquire: pairs with the Release in `change`, of the last owner, and with that of the visitor that left.
            match self.0.compare_exchange_weak(seen, next, Acquire, Relaxed) {
                Ok(_) => return Some(result),
                Err(now) => seen = now,
            }
        }
    }

    /// Visits the object, if its state is one without an owner, as `free` says, and no other thread visits it.
    #[inline]
    pub fn visit(&self, free: impl Fn(u32) -> bool) -> Option<Visit<'_>> {
        let state = self.0.load(Relaxed);
        if state & VISITED != 0 || !free(state) {
            return None;
        }
        // Acquire: pairs with the Release in `change`, of the last owner.
        self.0.compare_exchange(state, state | VISITED, Acquire, Relaxed).ok()?;
        Some(Visit { word: self, state })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::StateWord;

    const FREE: u32 = 0;
    const CALLED: u32 = 1;
    const OWNED: u32 = 2;

    fn is_free(state: u32) -> bool {
        state != OWNED
    }

    #[test]
    fn one_visits_what_is_nobodys_and_no_owner_comes_meanwhile() {
        let word = StateWord::new(FREE);
        let visit = word.visit(is_free).expect("it is nobody's");
        assert!(word.visit(is_free).is_none(), "another one visits");
        assert_eq!(word.change(|state| (CALLED, state)), FREE);
        assert_eq!((word.get(), visit.state), (CALLED, FREE));
        assert_eq!(word.try_give(|_| (OWNED, ())), None);
        drop(visit);
        assert_eq!(word.try_give(|state| (OWNED, state)), Some(CALLED));
        assert!(word.visit(is_free).is_none(), "it has an owner");
        word.change(|_| (FREE, ()));
        assert!(word.visit(is_free).is_some());
    }
}

/// Caught when tried: Relaxed for the Release or the Acquire of `change`, the Acquire of `try_give` or of `visit`, the Release of a
/// visit's end; `change` in the place of `try_give`; a visit without a look at the state.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::StateWord;
    use crate::atomic::{
        AtomicBool,
        Ordering::{Acquire, Release},
    };
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    const WAITING: u32 = 0;
    const RUNNABLE: u32 = 1;
    const RUNNING: u32 = 2;

    /// An object that a waker puts in a queue, and that a scheduler takes out and runs.
    struct Object {
        word: StateWord,
        queued: AtomicBool,
        data: UnsafeCell<u32>,
    }

    // SAFETY: SW1 and SW2, which the model checks.
    unsafe impl Sync for Object {}

    impl Object {
        fn read(&self) -> u32 {
            // SAFETY: the caller may look at it (SW1, SW2).
            self.data.with(|data| unsafe { *data })
        }

        /// What a waker does, if it waits: looks at it, and only then puts it in the queue.
        fn wake(&self) {
            if self.word.change(|state| if state == WAITING { (RUNNABLE, true) } else { (state, false) }) {
                assert!(self.read() <= 1);
                // Release: pairs with the Acquire in `run`, as the lock of a run queue does.
                self.queued.store(true, Release);
            }
        }

        /// What a scheduler does, if it finds it in the queue.
        fn run(&self) {
            // Acquire: see `wake`.
            if !self.queued.swap(false, Acquire) {
                return;
            }
            while self.word.try_give(|_| (RUNNING, ())).is_none() {
                thread::yield_now();
            }
            // SAFETY: SW1.
            self.data.with_mut(|data| unsafe { *data += 1 });
            self.word.change(|_| (WAITING, ()));
        }

        fn look(&self) -> Option<u32> {
            let _visit = self.word.visit(|state| state != RUNNING)?;
            Some(self.read())
        }
    }

    #[test]
    fn loom_visitors_and_owners_of_a_state_never_meet() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let object = Arc::new(Object {
                word: StateWord::new(WAITING),
                queued: AtomicBool::new(false),
                data: UnsafeCell::new(0),
            });
            let visitor = {
                let object = object.clone();
                thread::spawn(move || object.look().is_none_or(|seen| seen <= 2))
            };
            let scheduler = {
                let object = object.clone();
                thread::spawn(move || object.run())
            };
            object.wake();
            object.wake();
            object.run();
            assert!(visitor.join().unwrap());
            scheduler.join().unwrap();
            assert!(object.look().is_some());
        });
    }
}
