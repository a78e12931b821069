//! [`StateWord`]: a state that says which thread owns an object, and lets others look at the object while no thread does.
//!
//! SW1. An object is with whoever changed its state to one that says so, until that thread changes it to another: by a Release that
//!      the next one's Acquire pairs with.
//!      Whoever changed it from one state in which it is nobody's to another may look at it until others learn of that.
//! SW2. One thread at a time visits the object, in states in which it is nobody's: it looks, and changes nothing. The state may
//!      change meanwhile, but to one that gives the object to somebody only when the visitor has left.
//! SW3. What others leave for the owner stands in a queue that the owner takes whole ([`crate::Mpsc`]). Who leaves something and
//!      finds the queue empty changes the state to one that says so; who finds something there need not, for whoever left that
//!      does it or has done it. The owner looks at the queue once the object is its own, settles the state
//!      ([`StateWord::settle`]) before it takes the queue, and gives the object up by a change that sees whether the state is
//!      still settled. So the object is not given up with something in the queue that nobody tells of: what the take missed
//!      came when the queue was empty, or after something that did, and whoever left that changes the state afterwards.

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

    /// The owner has noted all that others have told by way of the state, which is `settled` again (SW3). Nothing is written if it
    /// is so already: a change that comes at this very moment is noted the next time.
    #[inline]
    pub fn settle(&self, settled: u32) {
        // Relaxed: what was told before the object became the owner's was seen with that (Acquire); what came later shows in the
        // state, here or when the owner gives the object up.
        if self.get() != settled {
            self.change(|_| (settled, ()));
        }
    }

    /// As [`StateWord::change`], where the new state may give the object to the calling thread. `None`: somebody visits it; to be
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
        Ordering::{Acquire, Relaxed, Release},
    };
    use crate::cell::UnsafeCell;
    use crate::mpsc::testing::{Numbered, numbered, numbers};
    use crate::{Mpsc, WasEmpty};
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

    const SIGNALLED: u32 = 3;

    /// What is left in a queue for who runs the object.
    struct Receiver {
        word: StateWord,
        left: Mpsc<Box<Numbered>>,
        queued: AtomicBool,
    }

    impl Receiver {
        fn send(&self, number: u32) {
            let Ok(WasEmpty(true)) = self.left.push(numbered(number)) else { return };
            let told = |state| match state {
                WAITING => (RUNNABLE, true),
                RUNNING => (SIGNALLED, false),
                other => (other, false),
            };
            if self.word.change(told) {
                // Release: as in `Object::wake`.
                self.queued.store(true, Release);
            }
        }

        /// What a scheduler does, if it finds it in the queue: takes what was left, and lets it wait.
        fn run(&self) -> Vec<u32> {
            let mut got = Vec::new();
            // Acquire: see `send`.
            if self.queued.compare_exchange(true, false, Acquire, Relaxed).is_err() {
                return got;
            }
            self.word.try_give(|_| (RUNNING, ())).expect("nobody visits");
            if !self.left.is_empty() {
                self.word.settle(RUNNING);
                got.extend(numbers(self.left.take_all()));
            }
            if self.word.change(|state| if state == RUNNING { (WAITING, false) } else { (RUNNABLE, true) }) {
                // Release: as above.
                self.queued.store(true, Release);
            }
            got
        }
    }

    /// SW3. Caught when tried: a take before the state is settled, giving the object up without a look at the state, no look at the
    /// queue by an owner whose state is settled already.
    #[test]
    fn loom_nothing_is_left_for_an_object_that_waits() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let receiver =
                Arc::new(Receiver { word: StateWord::new(WAITING), left: Mpsc::new(), queued: AtomicBool::new(false) });
            let senders = [vec![1, 2], vec![9]].map(|all| {
                let receiver = receiver.clone();
                thread::spawn(move || all.into_iter().for_each(|number| receiver.send(number)))
            });
            let mut got = receiver.run();
            got.extend(receiver.run());
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            while receiver.queued.load(Acquire) {
                got.extend(receiver.run());
            }
            got.sort_unstable();
            assert_eq!((got, receiver.word.get()), (vec![1, 2, 9], WAITING));
        });
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
