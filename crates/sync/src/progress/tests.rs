//! Tests of thread progress.

use super::{
    Progress, ThreadSlot,
    thread_slot::{MOST_AGE, PATIENCE},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

fn counter() -> (Arc<AtomicUsize>, impl Fn() -> Box<dyn FnOnce() + Send>) {
    let count = Arc::new(AtomicUsize::new(0));
    let shared = count.clone();
    let work = move || -> Box<dyn FnOnce() + Send> {
        let shared = shared.clone();
        Box::new(move || {
            shared.fetch_add(1, Relaxed);
        })
    };
    (count, work)
}

#[test]
fn alone_the_next_quiescent_point_runs_it() {
    let (ran, work) = counter();
    let slot = Progress::new(1).register().expect("room");
    slot.retire(work());
    assert_eq!(ran.load(Relaxed), 0);
    slot.quiescent();
    assert_eq!((ran.load(Relaxed), slot.has_work()), (1, false));
}

#[test]
fn waits_for_every_thread_inside() {
    let (ran, work) = counter();
    let progress = Progress::new(3);
    let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
    let parked = progress.register().expect("room");
    parked.park();
    let pin = progress.pin();
    one.retire(work());
    one.quiescent();
    two.quiescent();
    one.quiescent();
    assert_eq!(ran.load(Relaxed), 0, "pinned");
    drop(pin);
    one.quiescent();
    assert_eq!(ran.load(Relaxed), 1);
    parked.unpark();
    one.retire(work());
    one.quiescent();
    two.quiescent();
    one.quiescent();
    assert_eq!(ran.load(Relaxed), 1, "no longer parked");
    parked.quiescent();
    two.quiescent();
    one.quiescent();
    assert_eq!(ran.load(Relaxed), 2);
}

#[test]
fn a_later_pin_does_not_hold_it_up() {
    let (ran, work) = counter();
    let progress = Progress::new(1);
    let slot = progress.register().expect("room");
    let early = progress.pin();
    slot.retire(work());
    slot.quiescent();
    drop(early);
    let _late = progress.pin();
    slot.quiescent();
    assert_eq!(ran.load(Relaxed), 1);
}

#[test]
fn who_leaves_bequeaths() {
    let (ran, work) = counter();
    let progress = Progress::new(2);
    let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
    assert!(progress.register().is_none(), "full");
    one.retire(work());
    drop(one);
    assert_eq!(ran.load(Relaxed), 0);
    assert!(progress.register().is_some(), "the place is free again");
    progress.retire_unregistered(work());
    two.quiescent();
    assert_eq!(ran.load(Relaxed), 2);
    two.retire(work());
    two.park();
    assert_eq!(ran.load(Relaxed), 3, "nobody else is inside");
}

#[test]
fn work_may_retire_work() {
    let (ran, work) = counter();
    let progress = Progress::new(1);
    let slot = progress.register().expect("room");
    let (again, more) = (progress.clone(), work());
    slot.retire(move || again.retire_unregistered(more));
    slot.quiescent();
    slot.quiescent();
    assert_eq!(ran.load(Relaxed), 1);
}

#[test]
fn who_parks_leaves_no_work_of_work() {
    let (ran, work) = counter();
    let progress = Progress::new(1);
    let slot = progress.register().expect("room");
    let retire_twice = || {
        let (again, more) = (progress.clone(), work());
        slot.retire(move || again.retire_unregistered(more));
    };
    retire_twice();
    assert!(!slot.try_park(), "more to do");
    assert!(slot.try_park());
    assert_eq!(ran.load(Relaxed), 1);
    slot.unpark();
    retire_twice();
    slot.park();
    assert_eq!(ran.load(Relaxed), 2);
}

#[test]
fn the_last_guest_to_leave_sees_to_what_was_left() {
    let (ran, work) = counter();
    let progress = Progress::new(1);
    let slot = progress.register().expect("room");
    let pin = progress.pin();
    slot.retire(work());
    slot.park();
    assert_eq!(ran.load(Relaxed), 0, "pinned");
    drop(pin);
    assert_eq!(ran.load(Relaxed), 1);
}

/// What is freed by taking back one count.
fn object(shared: &Arc<()>) -> (*mut (), unsafe fn(*mut ())) {
    unsafe fn free(object: *mut ()) {
        // SAFETY: it came from `into_raw`.
        drop(unsafe { Arc::from_raw(object.cast_const()) });
    }
    (Arc::into_raw(shared.clone()).cast_mut().cast(), free)
}

fn retire_object(slot: &ThreadSlot, shared: &Arc<()>) {
    let (object, free) = object(shared);
    // SAFETY: the count is nobody else's.
    unsafe { slot.retire_object(object, free) };
}

#[test]
fn objects_wait_until_they_are_worth_it() {
    let shared = Arc::new(());
    let progress = Progress::new(2);
    let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
    let both = || [&one, &two].into_iter().for_each(ThreadSlot::quiescent);
    retire_object(&one, &shared);
    (0..5).for_each(|_| both());
    assert_eq!(Arc::strong_count(&shared), 2, "one object of two threads");
    retire_object(&one, &shared);
    one.quiescent();
    one.quiescent();
    assert_eq!(Arc::strong_count(&shared), 3, "the other has not moved");
    (0..2).for_each(|_| both());
    assert_eq!(Arc::strong_count(&shared), 1);
    retire_object(&one, &shared);
    (0..MOST_AGE + 3).for_each(|_| both());
    assert_eq!(Arc::strong_count(&shared), 1, "alone it waits for some time only");
}

#[test]
fn a_closure_takes_objects_along() {
    let (ran, work) = counter();
    let shared = Arc::new(());
    let slot = Progress::new(1).register().expect("room");
    let pinned = slot.progress().pin();
    retire_object(&slot, &shared);
    slot.retire(work());
    drop(pinned);
    slot.quiescent();
    assert_eq!((ran.load(Relaxed), Arc::strong_count(&shared), slot.has_work()), (1, 1, false));
}

/// The leader has shown the epoch, and then comes by no more quiescent point.
#[test]
fn a_leader_without_a_core_is_replaced() {
    let (ran, work) = counter();
    let progress = Progress::new(3);
    let [leader, other, last] = [(); 3].map(|()| progress.register().expect("room"));
    leader.retire(work());
    leader.quiescent();
    assert_eq!(progress.clock.leader.load(Relaxed), leader.index());
    other.retire(work());
    last.quiescent();
    let epoch = progress.epoch();
    for _ in 0..PATIENCE {
        other.quiescent();
        assert_eq!(progress.epoch(), epoch, "it waits for the leader");
    }
    other.quiescent();
    assert_eq!(progress.clock.leader.load(Relaxed), other.index());
    assert_eq!(progress.epoch(), epoch + 1, "what the leader held up without need");
    last.quiescent();
    other.quiescent();
    assert_eq!((progress.epoch(), ran.load(Relaxed)), (epoch + 1, 0), "what it is inside for");
    (0..3).for_each(|_| [&leader, &last, &other].into_iter().for_each(ThreadSlot::quiescent));
    assert_eq!(ran.load(Relaxed), 2);
    assert_eq!(progress.clock.leader.load(Relaxed), 0, "who has no work does not lead");
}

#[test]
fn who_parks_does_not_lead() {
    let (_, work) = counter();
    let progress = Progress::new(2);
    let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
    one.retire(work());
    one.quiescent();
    assert_eq!(progress.clock.leader.load(Relaxed), one.index());
    one.park();
    assert_eq!(progress.clock.leader.load(Relaxed), 0);
    two.quiescent();
    two.quiescent();
}

#[test]
fn the_last_one_frees_what_is_left() {
    let (ran, work) = counter();
    let progress = Progress::new(1);
    progress.retire_unregistered(work());
    drop(progress);
    assert_eq!(ran.load(Relaxed), 1);
}

/// Threads replace a shared object while others read it; a freed one is poisoned first.
#[cfg(not(feature = "single"))]
#[test]
fn nobody_reads_what_was_freed() {
    use crate::atomic::{
        AtomicPtr,
        Ordering::{AcqRel, Acquire},
    };
    use std::cell::Cell;
    const LIVE: u64 = 0x11FE;
    let rounds = if cfg!(miri) { 40 } else { 20_000 };
    let progress = Progress::new(3);
    let shared = AtomicPtr::new(Box::into_raw(Box::new(Cell::new(LIVE))));
    let read = || {
        // SAFETY: protected by the slot or pin of the caller.
        assert_eq!(unsafe { (*shared.load(Acquire)).get() }, LIVE);
    };
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (progress, shared, read) = (progress.clone(), &shared, &read);
            scope.spawn(move || {
                let slot = progress.register().expect("room");
                for round in 0..rounds {
                    read();
                    if round % 4 == thread {
                        let old = shared.swap(Box::into_raw(Box::new(Cell::new(LIVE))), AcqRel);
                        let old = old.expose_provenance();
                        slot.retire(move || {
                            // SAFETY: unlinked, and by now nobody reads it.
                            let old = unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Cell<u64>>(old)) };
                            old.set(0);
                        });
                    }
                    slot.quiescent();
                    if round % 64 == 0 {
                        slot.park();
                        slot.unpark();
                    }
                }
            });
        }
        let (progress, read) = (progress.clone(), &read);
        scope.spawn(move || {
            for _ in 0..rounds {
                let _pin = progress.pin();
                read();
            }
        });
    });
    // SAFETY: the last one, and all have ended.
    drop(unsafe { Box::from_raw(shared.load(Acquire)) });
}

#[cfg(not(feature = "single"))]
#[test]
fn waiting_for_all_ends_when_all_have_moved() {
    let progress = Progress::new(1);
    let moved = AtomicUsize::new(0);
    let slot = progress.register().expect("room");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            moved.store(1, Relaxed);
            slot.quiescent();
            slot.park();
            drop(slot);
        });
        progress.wait_for_all();
        assert_eq!(moved.load(Relaxed), 1);
    });
}
