//! An object is unlinked and retired while others look it up. Every atomic of the test is Relaxed, so all order comes
//! from the domain. The "freed" object is a checked cell: a read that does not happen before its freeing is a race,
//! one that comes after it reads `false`.
//!
//! Caught when tried: either SeqCst fence of sync.progress/G3 made AcqRel, in `enter` and in `pin`; Relaxed for the Acquires of the epoch and of
//! the slots, for the Release with which the epoch is moved on, and for those in `show`, `leave` and `Pinned::drop`; either fence of
//! sync.progress/G5 removed; no second look at the epoch when entering (sync.progress/G4); work that runs an epoch early. Not caught: either half
//! of the exchange in `pin`, which matters only when one guest joins another (three threads, three preemptions).

use super::{Progress, ThreadSlot};
use crate::{
    atomic::{AtomicBool, Ordering::Relaxed},
    cell::UnsafeCell,
};
use loom::thread;
use std::sync::Arc;

struct Shared {
    linked: AtomicBool,
    live: UnsafeCell<bool>,
}

// SAFETY: the domain orders the accesses to `live`, and loom checks that it does.
unsafe impl Sync for Shared {}
// SAFETY: the domain orders the accesses to `live`, and loom checks that it does.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { linked: AtomicBool::new(true), live: UnsafeCell::new(true) })
    }

    fn read(&self) {
        if self.linked.load(Relaxed) {
            // SAFETY: still linked for a thread that began to look after a quiescent point.
            self.live.with(|live| assert!(unsafe { *live }, "used after retire"));
        }
    }

    fn free(&self) {
        // SAFETY: run by the domain, when nobody can have a reference.
        self.live.with_mut(|live| unsafe { *live = false });
    }

    fn unlink_and_retire(self: &Arc<Self>, slot: &ThreadSlot) {
        self.linked.store(false, Relaxed);
        let shared = self.clone();
        slot.retire(move || shared.free());
    }

    /// At the end, with nobody inside: freed, once (twice would be caught by the caller's assertion on it).
    fn assert_freed(&self) {
        // SAFETY: all threads have been joined and the domain is gone.
        self.live.with(|live| assert!(!unsafe { *live }, "never freed"));
    }
}

/// The body races a thread that unlinks, retires and passes two quiescent points.
fn against_retirer(registered: bool, body: fn(&Arc<Progress>, Option<&ThreadSlot>, &Shared)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let progress = Progress::new(2);
        let shared = Shared::new();
        let mine = progress.register().unwrap();
        let theirs = registered.then(|| progress.register().unwrap());
        if let Some(slot) = &theirs {
            slot.quiescent();
        }
        let reader = {
            let (progress, shared) = (progress.clone(), shared.clone());
            // The slot comes back, so that leaving the domain orders nothing here.
            thread::spawn(move || {
                body(&progress, theirs.as_ref(), &shared);
                theirs
            })
        };
        shared.unlink_and_retire(&mine);
        (0..3).for_each(|_| mine.quiescent());
        drop(reader.join().unwrap());
        drop(mine);
        drop(progress);
        shared.assert_freed();
    });
}

#[test]
fn a_thread_inside_is_waited_for() {
    against_retirer(true, |_, slot, shared| {
        let slot = slot.unwrap();
        shared.read();
        slot.quiescent();
        shared.read();
        slot.quiescent();
        shared.read();
    });
}

#[test]
fn a_thread_may_park_and_return() {
    against_retirer(true, |_, slot, shared| {
        let slot = slot.unwrap();
        shared.read();
        slot.park();
        slot.unpark();
        shared.read();
        slot.quiescent();
    });
}

#[test]
fn a_thread_may_join_late() {
    against_retirer(false, |progress, _, shared| {
        let slot = progress.register().unwrap();
        shared.read();
        slot.park();
    });
}

#[test]
fn a_pin_is_waited_for() {
    against_retirer(false, |progress, _, shared| {
        for _ in 0..2 {
            let _pin = progress.pin();
            shared.read();
        }
    });
}

/// Two guests share one slot: the second may inherit the epoch of the first.
#[test]
fn two_pins_are_waited_for() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let progress = Progress::new(1);
        let shared = Shared::new();
        let mine = progress.register().unwrap();
        let readers = [(); 2].map(|()| {
            let (progress, shared) = (progress.clone(), shared.clone());
            thread::spawn(move || {
                let _pin = progress.pin();
                shared.read();
            })
        });
        shared.unlink_and_retire(&mine);
        mine.quiescent();
        mine.quiescent();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        drop(mine);
        drop(progress);
        shared.assert_freed();
    });
}

/// A thread that retires too shows its own tag, which is later than the other's: it must have seen the other's
/// unlinking by then.
#[test]
fn a_retirer_sees_what_others_unlinked() {
    against_retirer(true, |_, slot, shared| {
        let slot = slot.unwrap();
        slot.retire(|| ());
        slot.quiescent();
        shared.read();
    });
}

/// The object is unlinked while the leader's look at the slots has stopped at the reader's.
#[test]
fn a_look_that_goes_on_tells_what_came_meanwhile() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let progress = Progress::new(2);
        let shared = Shared::new();
        let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
        mine.retire(|| ());
        mine.quiescent();
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    theirs.quiescent();
                    shared.read();
                }
                theirs
            })
        };
        shared.unlink_and_retire(&mine);
        (0..3).for_each(|_| mine.quiescent());
        drop(reader.join().unwrap());
        drop(mine);
        drop(progress);
        shared.assert_freed();
    });
}

/// Two threads park at once, one of them with work: one of the two runs it.
#[test]
fn two_who_park_leave_nothing() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let progress = Progress::new(2);
        let ran = Arc::new(AtomicBool::new(false));
        let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
        // The slot comes back: dropping it would be another look.
        let other = thread::spawn(move || {
            theirs.park();
            theirs
        });
        let told = ran.clone();
        mine.retire(move || told.store(true, Relaxed));
        mine.park();
        let theirs = other.join().unwrap();
        assert!(ran.load(Relaxed), "left to nobody");
        drop((mine, theirs));
    });
}

/// As above, where a guest leaves while the only thread parks.
#[test]
fn a_guest_who_leaves_last_leaves_nothing() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let progress = Progress::new(1);
        let ran = Arc::new(AtomicBool::new(false));
        let slot = progress.register().unwrap();
        let guest = {
            let progress = progress.clone();
            thread::spawn(move || drop(progress.pin()))
        };
        let told = ran.clone();
        slot.retire(move || told.store(true, Relaxed));
        slot.park();
        guest.join().unwrap();
        assert!(ran.load(Relaxed), "left to nobody");
        drop(slot);
    });
}

/// A thread that retires and parks leaves the work to the other one, which frees it.
#[test]
fn what_is_bequeathed_is_freed() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let progress = Progress::new(2);
        let shared = Shared::new();
        let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
        let heir = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.read();
                theirs.quiescent();
                shared.read();
                theirs.quiescent();
            })
        };
        shared.unlink_and_retire(&mine);
        mine.park();
        heir.join().unwrap();
        drop(mine);
        drop(progress);
        shared.assert_freed();
    });
}
