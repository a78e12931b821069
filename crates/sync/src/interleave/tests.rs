//! The means itself: what it must find, and that a seed repeats.

use super::{at_standstill, explore, run};
use crate::atomic::{
    AtomicU32,
    Ordering::{self, Acquire, Relaxed, Release, SeqCst},
    fence,
};
use crate::thread::{Instant, sleep, spawn, yield_now};
use crate::{Condvar, LockClass, Mutex, Parker};
use std::sync::Arc;
use std::time::Duration;

static CLASS: LockClass = LockClass::new("interleave", 1);

const SEEDS: u64 = 1000;

/// How many of these seeds fail, and the last report.
fn failures(body: fn()) -> (usize, String) {
    let reports: Vec<String> = (0..SEEDS).filter_map(|seed| run(seed, body).err()).collect();
    (reports.len(), reports.last().cloned().unwrap_or_default())
}

fn both<A: Send + 'static, B>(one: impl FnOnce() -> A + Send + 'static, other: impl FnOnce() -> B) -> (A, B) {
    let one = spawn("one", one).expect("a thread");
    let other = other();
    (one.join().expect("it has ended"), other)
}

/// Two add one to a number by a load and a store.
fn lost_update() {
    let number = Arc::new(AtomicU32::new(0));
    let add = |number: Arc<AtomicU32>| move || number.store(number.load(SeqCst) + 1, SeqCst);
    both(add(number.clone()), add(number.clone()));
    assert_eq!(number.load(SeqCst), 2);
}

/// Store, then look (sync/SL1).
fn store_then_look<const FENCED: bool>() {
    let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let side = |words: Arc<[AtomicU32; 2]>, mine: usize| {
        move || {
            words[mine].store(1, Relaxed);
            if FENCED {
                fence(SeqCst);
            }
            words[1 - mine].load(Relaxed)
        }
    };
    assert_ne!(both(side(words.clone(), 0), side(words, 1)), (0, 0));
}

/// A message, then a flag: stored in this order.
fn message(order: Ordering) {
    let words = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
    let sender = words.clone();
    let sends = move || {
        sender[0].store(1, Relaxed);
        sender[1].store(1, order);
        // Its end would have both arrive.
        (0..4).for_each(|_| yield_now());
    };
    both(sends, || assert!(words[1].load(Acquire) <= words[0].load(Relaxed)));
}

/// A wake-up that comes before the sleep is lost.
fn lost_wake_up() {
    let shared = Arc::new((AtomicU32::new(0), crate::futex::Futex::new()));
    let waker = shared.clone();
    let wakes = move || waker.1.wake_one(&waker.0);
    both(wakes, || shared.1.wait(&shared.0, 0, None));
}

#[test]
fn interleave_finds_faults() {
    let (lost, _) = failures(lost_update);
    let (missed, _) = failures(store_then_look::<false>);
    let (overtaken, _) = failures(|| message(Relaxed));
    assert!(lost > 5 && missed > 5 && overtaken > 5, "{lost}, {missed}, {overtaken}");
    let (deadlocks, report) = failures(lost_wake_up);
    assert!(deadlocks > 5 && report.contains("deadlock") && report.contains("thread 0 (first) sleeps"), "{report}");
    let endless = run(1, || while Arc::new(AtomicU32::new(0)).load(SeqCst) == 0 {});
    assert!(endless.is_err_and(|report| report.contains("no end")));
}

#[test]
fn interleave_finds_no_fault_where_there_is_none() {
    explore(SEEDS, store_then_look::<true>);
    explore(SEEDS, || message(Release));
    explore(SEEDS, || {
        let shared = Arc::new((Mutex::new(&CLASS, 0), Condvar::new(), Parker::new()));
        let others = shared.clone();
        let adds = move || {
            *others.0.lock() += 1;
            others.1.notify_one();
            others.2.unpark();
        };
        let waits = || {
            let mut number = shared.0.lock();
            while *number == 0 {
                number = shared.1.wait(number);
            }
            drop(number);
            assert!(shared.2.park(None));
        };
        both(adds, waits);
    });
}

/// A sleep takes the run's time, and none of ours.
#[test]
fn interleave_time_is_virtual() {
    let hour = Duration::from_secs(3600);
    explore(20, move || {
        let began = Instant::now();
        both(move || sleep(hour), || assert!(!Parker::new().park(Some(hour / 2))));
        let took = began.elapsed();
        assert!(took >= hour && took < hour + Duration::from_secs(1), "{took:?}");
    });
    let report = run(1, move || {
        at_standstill(|_| Err("all sleep".to_owned()));
        sleep(hour);
    });
    assert!(report.is_err_and(|report| report.contains("all sleep")));
}

#[test]
fn interleave_a_seed_repeats() {
    let digests: Vec<_> =
        (0..50).map(|seed| [run(seed, store_then_look::<true>), run(seed, store_then_look::<true>)]).collect();
    assert!(digests.iter().all(|[one, other]| one.is_ok() && one == other));
    assert!(digests.windows(2).filter(|pair| pair[0] != pair[1]).count() > 25);
}
