//! [`Announcements`]: one thread after the other announces that things go, and who looks at them meanwhile sees the same ones all the while.
//!
//! AN1. Whether a thing is announced *as of* one moment ([`Announcements::now`]) is answered in the same way each time: a thing is marked with the number of its
//!      announcement before that number is published, its mark stays, and a mark with a number that comes later does not count.
//! AN2. A thread looks whether a thing is announced, counts it if it is not ([`Count`](crate::Count)), and passes a quiescent point then ([`Progress`](crate::Progress)).
//!      So when all threads have made progress since the announcement nobody comes to count the thing any more: once the only count is its own it stays so.

use crate::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// Announcements so far.
#[derive(Debug)]
pub struct Announcements(AtomicU64);

/// Of a thing: by which announcement it is to go; 0: by none.
#[derive(Debug)]
pub struct Mark(AtomicU64);

/// Announcements that count as of one moment.
#[derive(Clone, Copy, Debug)]
pub struct AsOf(u64);

impl Announcements {
    const_unless_loom! {
        /// None yet.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Announcements {
            Announcements(AtomicU64::new(0))
        }
    }

    /// Announces the things that have these marks, some of them once more. One call at a time, each of which happens before the next.
    pub fn announce<'m>(&self, marks: impl IntoIterator<Item = &'m Mark>) {
        // Relaxed: only announcing changes it.
        let number = self.0.load(Relaxed) + 1;
        marks.into_iter().for_each(|mark| mark.set(number));
        // Release: pairs with the Acquire in `now`: who knows of this announcement sees its marks (AN1).
        self.0.store(number, Release);
    }

    /// Those that there are now.
    #[inline]
    pub fn now(&self) -> AsOf {
        // Acquire: pairs with the Release in `announce`.
        AsOf(self.0.load(Acquire))
    }
}

impl Mark {
    const_unless_loom! {
        /// Of a thing that is not announced.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Mark {
            Mark(AtomicU64::new(0))
        }
    }

    fn set(&self, number: u64) {
        // Relaxed: only announcing changes it, and the number that is published then orders it (AN1).
        if self.0.load(Relaxed) == 0 {
            self.0.store(number, Relaxed);
        }
    }

    /// Was the thing announced by then?
    #[inline]
    pub fn is_announced(&self, as_of: AsOf) -> bool {
        // Relaxed: a mark that counts was written before `as_of` was published, which was seen by an Acquire; one that is written meanwhile does not count, seen or not (AN1).
        (1..=as_of.0).contains(&self.0.load(Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Announcements, Mark};

    #[test]
    fn what_is_announced_later_does_not_count() {
        let (announcements, [first, second]) = (Announcements::new(), [Mark::new(), Mark::new()]);
        let before = announcements.now();
        announcements.announce([&first]);
        let between = announcements.now();
        announcements.announce([&first, &second]);
        let after = announcements.now();
        let seen = |as_of| [first.is_announced(as_of), second.is_announced(as_of)];
        assert_eq!([seen(before), seen(between), seen(after)], [[false, false], [true, false], [true, true]]);
    }
}

/// Caught when tried: Relaxed for the Release of `announce` or the Acquire of `now`; marks that are set after the number is published, or anew by each announcement; a
/// mark that counts whatever its number; of what is counted also: Relaxed for the Release of `Count::release_some` or the Acquire of `Count::is_one`; no wait for progress.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Announcements, AsOf, Mark};
    use crate::atomic::{AtomicBool, Ordering::Relaxed};
    use crate::cell::UnsafeCell;
    use crate::{Count, Progress};
    use loom::thread;
    use std::sync::Arc;

    /// AN1, of things that are announced one after the other.
    #[test]
    fn loom_who_looks_twice_sees_the_same_announced() {
        loom::model(|| {
            let shared = Arc::new((Announcements::new(), [Mark::new(), Mark::new()]));
            let announcer = {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (announcements, [first, second]) = &*shared;
                    announcements.announce([first]);
                    announcements.announce([first, second]);
                })
            };
            let (announcements, marks) = &*shared;
            let as_of = announcements.now();
            let look = || marks.each_ref().map(|mark| mark.is_announced(as_of));
            let AsOf(number) = as_of;
            // As the pass that counts words, and the one that copies them.
            assert_eq!([look(), look()], [[number >= 1, number >= 2]; 2]);
            announcer.join().unwrap();
        });
    }

    /// An area of literals.
    struct Area {
        announcements: Announcements,
        going: Mark,
        count: Count,
        is_there: UnsafeCell<bool>,
        was_seen: AtomicBool,
    }

    // SAFETY: the cell is written by who finds that the area's own count is the only one (AN2, sync.count/N1), which loom checks.
    unsafe impl Sync for Area {}
    // SAFETY: as above.
    unsafe impl Send for Area {}

    impl Area {
        /// A term that refers to it becomes a bundle, unless it is to take the area's terms along; a slice ends, and later the bundle goes.
        fn hold_for_a_while(&self, slice_ends: impl FnOnce()) {
            let holds = !self.going.is_announced(self.announcements.now());
            if holds {
                self.count.hold();
            }
            slice_ends();
            if holds {
                // SAFETY: counted.
                assert!(self.is_there.with(|is_there| unsafe { *is_there }), "an area went that was counted");
                // Relaxed: the thread's end orders it.
                self.was_seen.store(true, Relaxed);
                assert!(!self.count.release(), "the area's own count is gone");
            }
        }

        /// It goes, if nobody counts it.
        fn go(&self) -> bool {
            let goes = self.count.is_one();
            if goes {
                // SAFETY: AN2: nobody counts it any more.
                self.is_there.with_mut(|is_there| unsafe { *is_there = false });
            }
            goes
        }
    }

    /// AN2: what is asked for once there is progress goes with nobody's bundle, or waits for the last of them.
    #[test]
    fn loom_an_area_goes_when_no_bundle_counts_it_after_progress() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let area = Arc::new(Area {
                announcements: Announcements::new(),
                going: Mark::new(),
                count: Count::new(),
                is_there: UnsafeCell::new(true),
                was_seen: AtomicBool::new(false),
            });
            let progress = Progress::new(1);
            let slot = progress.register().unwrap();
            slot.quiescent();
            let holder = {
                let area = area.clone();
                // The slot comes back, so that leaving the domain orders nothing here.
                thread::spawn(move || {
                    area.hold_for_a_while(|| {
                        slot.quiescent();
                        slot.park();
                    });
                    slot
                })
            };
            area.announcements.announce([&area.going]);
            progress.wait_for_all();
            let went = area.go();
            drop(holder.join().unwrap());
            assert!(went || area.go() && area.was_seen.load(Relaxed));
        });
    }
}
