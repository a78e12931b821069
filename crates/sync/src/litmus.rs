//! Litmus tests: which outcomes of a few loads and stores the machine shows, and which the model (loom) knows, without an order, with Release and
//! Acquire, and with SeqCst fences. They pin down what the crate builds on (the header of the crate: store, then look) on the processor at hand.
//!
//! The four are those of the locking slides (NICTA 2010, on weak memory) and of every text about it: store buffering, whose X = 0, Y = 0 the slides
//! forbid; message passing; load buffering; independent reads of independent writes. `make litmus` prints what appeared. That a forbidden
//! outcome does not appear is tested; that an allowed one does is not, for a machine may be stronger than it has to be.

use crate::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use crate::pad::CachePadded;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Two words that threads share, on lines of their own.
#[derive(Default)]
struct Words {
    x: CachePadded<AtomicU32>,
    y: CachePadded<AtomicU32>,
}

/// What orders two operations of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Order {
    /// Nothing.
    Nothing,
    /// Stores release, loads acquire.
    ReleaseAcquire,
    /// A SeqCst fence stands between the two.
    Fence,
}

const ORDERS: [Order; 3] = [Order::Nothing, Order::ReleaseAcquire, Order::Fence];

impl Order {
    fn store(self, word: &AtomicU32) {
        // Relaxed, or Release that pairs with the Acquire in `load`: that is what is tried.
        word.store(1, if self == Order::ReleaseAcquire { Release } else { Relaxed });
    }

    fn load(self, word: &AtomicU32) -> u32 {
        // Relaxed, or Acquire that pairs with the Release in `store`: that is what is tried.
        word.load(if self == Order::ReleaseAcquire { Acquire } else { Relaxed })
    }

    fn between(self) {
        if self == Order::Fence {
            // SeqCst: pairs with the other threads' fences here: that is what is tried.
            fence(SeqCst);
        }
    }
}

/// A thread of a test; gives what it has read.
type Body = fn(&Words, Order) -> [u32; 2];

/// A test: threads, and an outcome that some orders forbid.
struct Litmus {
    name: &'static str,
    threads: &'static [Body],
    outcome: &'static [[u32; 2]],
    /// The weakest order that forbids it; all that are stronger do, too.
    forbidden_from: Order,
    /// Loom shows the outcome where it is allowed. It has no loads of what is stored later, so load buffering it never shows.
    #[cfg_attr(not(loom), allow(dead_code, reason = "asked of the model alone"))]
    model_shows: bool,
}

const TESTS: [Litmus; 4] = [
    Litmus {
        name: "store buffering",
        threads: &[
            |words, order| store_then_look(order, &words.x, &words.y),
            |words, order| store_then_look(order, &words.y, &words.x),
        ],
        outcome: &[[0, 0], [0, 0]],
        forbidden_from: Order::Fence,
        model_shows: true,
    },
    Litmus {
        name: "message passing",
        threads: &[
            |words, order| store_both(order, &words.x, &words.y),
            |words, order| look_at_both(order, &words.y, &words.x),
        ],
        outcome: &[[0, 0], [1, 0]],
        forbidden_from: Order::ReleaseAcquire,
        model_shows: true,
    },
    Litmus {
        name: "load buffering",
        threads: &[
            |words, order| look_then_store(order, &words.x, &words.y),
            |words, order| look_then_store(order, &words.y, &words.x),
        ],
        outcome: &[[1, 0], [1, 0]],
        forbidden_from: Order::ReleaseAcquire,
        model_shows: false,
    },
    Litmus {
        name: "independent reads of independent writes",
        threads: &[
            |words, order| store_one(order, &words.x),
            |words, order| store_one(order, &words.y),
            |words, order| look_at_both(order, &words.x, &words.y),
            |words, order| look_at_both(order, &words.y, &words.x),
        ],
        outcome: &[[0, 0], [0, 0], [1, 0], [1, 0]],
        forbidden_from: Order::Fence,
        model_shows: true,
    },
];

fn store_one(order: Order, word: &AtomicU32) -> [u32; 2] {
    order.store(word);
    [0, 0]
}

fn store_both(order: Order, first: &AtomicU32, second: &AtomicU32) -> [u32; 2] {
    order.store(first);
    order.between();
    order.store(second);
    [0, 0]
}

fn store_then_look(order: Order, own: &AtomicU32, other: &AtomicU32) -> [u32; 2] {
    order.store(own);
    order.between();
    [order.load(other), 0]
}

fn look_then_store(order: Order, other: &AtomicU32, own: &AtomicU32) -> [u32; 2] {
    let seen = order.load(other);
    order.between();
    order.store(own);
    [seen, 0]
}

fn look_at_both(order: Order, first: &AtomicU32, second: &AtomicU32) -> [u32; 2] {
    let seen = order.load(first);
    order.between();
    [seen, order.load(second)]
}

/// How often each outcome appeared: what each thread read.
type Outcomes = BTreeMap<Vec<[u32; 2]>, u64>;

impl Litmus {
    /// Tells what appeared, and fails if that is forbidden.
    fn judge(&self, order: Order, outcomes: &Outcomes) {
        let mut text = format!("{}, {order:?}:", self.name);
        for (outcome, times) in outcomes {
            let _ = write!(text, " {outcome:?} {times}");
        }
        println!("{text}");
        assert!(!outcomes.is_empty());
        let appeared = outcomes.contains_key(self.outcome);
        assert!(!(appeared && order >= self.forbidden_from), "forbidden: {:?}", self.outcome);
    }
}

#[cfg(not(any(loom, feature = "single")))]
mod on_the_machine {
    use super::{Body, Litmus, ORDERS, Order, Outcomes, TESTS, Words};
    use crate::thread::{scope, yield_now};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Pairs of words that all threads go through side by side, and how often.
    const PAIRS: usize = if cfg!(miri) { 10 } else { 500 };
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 100 };

    /// Lets threads begin a round together, as far as there are cores: within the time of a few pairs, which a sleep is too long for.
    struct Start {
        come: AtomicUsize,
        threads: usize,
    }

    impl Start {
        fn wait(&self, round: usize) {
            self.come.fetch_add(1, SeqCst);
            let mut turns = 0;
            while self.come.load(SeqCst) < self.threads * (round + 1) {
                turns += 1;
                if turns % 1000 == 0 {
                    yield_now();
                }
                std::hint::spin_loop();
            }
        }
    }

    /// What a thread reads of each pair.
    fn go_through(body: Body, order: Order, start: &Start, rounds: &[Vec<Words>]) -> Vec<[u32; 2]> {
        let mut read = Vec::with_capacity(ROUNDS * PAIRS);
        for (round, words) in rounds.iter().enumerate() {
            start.wait(round);
            read.extend(words.iter().map(|pair| body(pair, order)));
        }
        read
    }

    fn outcomes(test: &Litmus, order: Order) -> Outcomes {
        let round = || (0..PAIRS).map(|_| Words::default()).collect();
        let rounds: Vec<Vec<Words>> = (0..ROUNDS).map(|_| round()).collect();
        let start = Start { come: AtomicUsize::new(0), threads: test.threads.len() };
        let read: Vec<Vec<[u32; 2]>> = scope(|scope| {
            let begin = |body: &Body| {
                let (body, start, rounds) = (*body, &start, &rounds);
                scope.spawn(move || go_through(body, order, start, rounds))
            };
            let threads: Vec<_> = test.threads.iter().map(begin).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut outcomes = Outcomes::new();
        for pair in 0..ROUNDS * PAIRS {
            *outcomes.entry(read.iter().map(|thread| thread[pair]).collect()).or_default() += 1;
        }
        outcomes
    }

    #[test]
    fn what_is_forbidden_does_not_appear() {
        for test in TESTS {
            for order in ORDERS {
                test.judge(order, &outcomes(&test, order));
            }
        }
    }
}

#[cfg(loom)]
mod loom_tests {
    use super::{Litmus, ORDERS, Order, Outcomes, TESTS, Words};
    use crate::thread::spawn;
    use std::sync::{Arc, Mutex};

    /// All that the model knows.
    fn outcomes(test: &'static Litmus, order: Order) -> Outcomes {
        let outcomes = Arc::new(Mutex::new(Outcomes::new()));
        let of_runs = Arc::clone(&outcomes);
        loom::model(move || {
            let words = Arc::new(Words::default());
            let start = |body: &'static super::Body| {
                let words = Arc::clone(&words);
                spawn("litmus", move || body(&words, order)).unwrap()
            };
            // The model's first thread is one of the test's.
            let threads: Vec<_> = test.threads[1..].iter().map(start).collect();
            let first = test.threads[0](&words, order);
            let read = std::iter::once(first).chain(threads.into_iter().map(|thread| thread.join().unwrap()));
            *of_runs.lock().unwrap().entry(read.collect()).or_default() += 1;
        });
        Arc::try_unwrap(outcomes).unwrap().into_inner().unwrap()
    }

    #[test]
    fn loom_knows_what_is_forbidden() {
        static ALL: [Litmus; 4] = TESTS;
        for test in &ALL {
            for order in ORDERS {
                let outcomes = outcomes(test, order);
                test.judge(order, &outcomes);
                let shown = outcomes.contains_key(test.outcome);
                assert_eq!(shown, test.model_shows && order < test.forbidden_from, "{}, {order:?}", test.name);
            }
        }
    }
}
