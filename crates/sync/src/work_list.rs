//! [`WorkList`]: pieces of work that several threads share until none is left, where a piece that is done may make others.
//!
//! A thread keeps most of what it makes for itself, and gives pieces away when others look for some ([`WorkList::is_wanted`]). One that has nothing left takes a
//! piece, or waits until there is one, or until all have nothing left.
//!
//! WL1. It is over when no piece is left and no thread works: only who works makes pieces, so none comes any more. What all of them did happens before any of them
//!      finds that out: each ceases to work under the lock.
//!
//! What was not done: a deque for each thread, from which the others steal. Pieces are some kilobytes to be copied, so the lock is taken rarely.

use crate::atomic::{AtomicU32, Ordering::Relaxed};
use crate::{Backoff, LockClass, Mutex};

/// The pieces, and who works.
#[derive(Debug)]
pub struct WorkList<T> {
    state: Mutex<State<T>>,
    /// Threads that look for a piece.
    looking: AtomicU32,
    /// Changes when there is something to be found: a piece, or that it is over.
    news: AtomicU32,
}

#[derive(Debug)]
struct State<T> {
    pieces: Vec<T>,
    working: u32,
    is_over: bool,
}

impl<T> WorkList<T> {
    /// With these pieces; nobody works yet.
    pub fn new(class: &'static LockClass, pieces: Vec<T>) -> WorkList<T> {
        WorkList {
            state: Mutex::new(class, State { pieces, working: 0, is_over: false }),
            looking: AtomicU32::new(0),
            news: AtomicU32::new(0),
        }
    }

    /// The calling thread works from now on. `None`: it is over.
    pub fn join(&self) -> Option<Worker<'_, T>> {
        let mut state = self.state.lock();
        if state.is_over {
            return None;
        }
        state.working += 1;
        Some(Worker { list: self, works: true })
    }

    /// Does anybody look for a piece? A hint.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        // Relaxed: a hint.
        self.looking.load(Relaxed) > 0
    }

    /// Somebody who looks may find something.
    fn tell(&self) {
        // Relaxed: who sees it takes the lock.
        self.news.fetch_add(1, Relaxed);
    }
}

/// A thread that works.
#[derive(Debug)]
pub struct Worker<'a, T> {
    list: &'a WorkList<T>,
    works: bool,
}

impl<T> Worker<'_, T> {
    /// Does anybody look for a piece? A hint.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.list.is_wanted()
    }

    /// Others may have these pieces.
    pub fn give(&mut self, pieces: impl IntoIterator<Item = T>) {
        debug_assert!(self.works, "WL1: who does not work makes no pieces");
        self.list.state.lock().pieces.extend(pieces);
        self.list.tell();
    }

    /// Another piece, as the caller has none left: waits for one. `None`: it is over.
    pub fn take(&mut self) -> Option<T> {
        let list = self.list;
        {
            let mut state = list.state.lock();
            if let Some(piece) = state.pieces.pop() {
                return Some(piece);
            }
            self.leave(&mut state);
        }
        // Relaxed: hints.
        list.looking.fetch_add(1, Relaxed);
        let mut backoff = Backoff::new();
        let found = loop {
            // Relaxed: before the lock is taken, so the change of who leaves something after this look under the lock comes after what was seen.
            let seen = list.news.load(Relaxed);
            let mut state = list.state.lock();
            if let Some(piece) = state.pieces.pop() {
                (self.works, state.working) = (true, state.working + 1);
                break Some(piece);
            }
            if state.is_over {
                break None;
            }
            drop(state);
            while list.news.load(Relaxed) == seen {
                backoff.pause();
            }
        };
        // Relaxed: as above.
        list.looking.fetch_sub(1, Relaxed);
        found
    }

    /// Works no more. Who is the last finds all done (WL1).
    fn leave(&mut self, state: &mut State<T>) {
        self.works = false;
        state.working -= 1;
        if state.working == 0 && state.pieces.is_empty() {
            state.is_over = true;
            self.list.tell();
        }
    }
}

impl<T> Drop for Worker<'_, T> {
    fn drop(&mut self) {
        if self.works {
            let list = self.list;
            self.leave(&mut list.state.lock());
        }
    }
}

#[cfg(all(test, not(any(loom, interleaved))))]
mod tests {
    use super::WorkList;
    use crate::LockClass;
    use crate::atomic::{AtomicU32, Ordering::Relaxed};

    static CLASS: LockClass = LockClass::new("work_list_test", 1);

    #[test]
    fn one_does_all_and_it_is_over() {
        let list = WorkList::new(&CLASS, vec![3]);
        let mut worker = list.join().expect("it has just begun");
        let mut done = 0;
        while let Some(depth) = worker.take() {
            done += 1;
            worker.give((0..depth).map(|_| depth - 1));
        }
        assert_eq!((done, list.is_wanted()), (16, false), "1 + 3 + 6 + 6");
        assert!(list.join().is_none());
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn some_do_all_of_it() {
        for _ in 0..if cfg!(miri) { 2 } else { 50 } {
            let (list, done) = (WorkList::new(&CLASS, vec![6]), AtomicU32::new(0));
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        let Some(mut worker) = list.join() else { return };
                        while let Some(depth) = worker.take() {
                            done.fetch_add(1, Relaxed);
                            worker.give((0..depth).map(|_| depth - 1));
                        }
                        assert!(list.join().is_none(), "who found it over left others at work");
                    });
                }
            });
            assert_eq!(done.into_inner(), 1957, "the sum of 6!/n!");
        }
    }
}

/// Caught when tried: it is over as soon as no piece is left, though one works; who takes a piece after it has waited does not count as working; nobody is told
/// that it is over.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::WorkList;
    use crate::LockClass;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("work_list_model", 1);

    struct Shared {
        list: WorkList<usize>,
        /// Written by who has the piece of this number, read by all when it is over.
        done: [UnsafeCell<u32>; 3],
    }

    // SAFETY: WL1: each cell is one piece's until all are done, which loom checks.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    impl Shared {
        fn work(&self) {
            let Some(mut worker) = self.list.join() else { return self.check() };
            while let Some(piece) = worker.take() {
                // SAFETY: whoever has the piece.
                self.done[piece].with_mut(|done| unsafe { *done += 1 });
                // The first makes two others.
                worker.give(if piece == 0 { 1..3 } else { 0..0 });
            }
            self.check();
        }

        fn check(&self) {
            for done in &self.done {
                // SAFETY: WL1: it is over.
                assert_eq!(done.with(|done| unsafe { *done }), 1);
            }
        }
    }

    #[test]
    fn loom_it_is_over_when_all_is_done() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let done = [(); 3].map(|()| UnsafeCell::new(0));
            let shared = Arc::new(Shared { list: WorkList::new(&CLASS, vec![0]), done });
            let other = {
                let shared = shared.clone();
                thread::spawn(move || shared.work())
            };
            shared.work();
            other.join().unwrap();
        });
    }
}
