//! Which slices of the arena the allocator has, and what goes back to the system with one that it gives back.
//!
//! Where a huge page begins to be used it is filled, 2 MB of it, also what the allocator has not asked for. It does not know of that, and so
//! never gives it back: after a peak of a gigabyte there were 30 MB of such ends. So what is given back takes its neighbours along that the
//! allocator does not have, within the same stretch of the size of a huge page. A stretch that the allocator has nothing of is then free as a
//! whole, and a huge page need not be broken up.
//!
//! SC1. The allocator has a slice from the time that it is handed out until it is taken back, and uses no other.
//! SC2. What is dropped is nobody's, and its stretch locked (`myriad_sync::marks`): nobody gets it meanwhile.

use myriad_sync::Marks;
use std::ops::Range;

/// What the allocator takes and gives back is a multiple of so many bytes (`MI_ARENA_SLICE_SIZE`).
const SLICE: usize = 64 << 10;
/// Slices of a stretch: of a huge page, and of [`Marks`].
const SLICES: usize = u32::BITS as usize;
/// Bytes of a stretch.
pub const STRETCH: usize = SLICES * SLICE;

/// The slices of `N` stretches, by their distance from the beginning.
#[derive(Debug)]
pub struct Slices<const N: usize>([Marks; N]);

/// The first `count` slices of a stretch.
fn first(count: usize) -> u32 {
    if count < SLICES { (1 << count) - 1 } else { u32::MAX }
}

impl<const N: usize> Slices<N> {
    /// The allocator has none.
    pub const fn new() -> Self {
        Slices([const { Marks::new() }; N])
    }

    /// The stretches that bytes lie in, with their numbers and the slices of each that have some.
    fn parts(&self, bytes: &Range<usize>) -> impl Iterator<Item = (usize, &Marks, u32)> {
        let (begin, end) = (bytes.start / SLICE, bytes.end.div_ceil(SLICE));
        let stretches = begin / SLICES..end.div_ceil(SLICES).min(N);
        stretches.map(move |stretch| {
            let at = |slice: usize| first(slice.saturating_sub(stretch * SLICES));
            (stretch, &self.0[stretch], at(end) & !at(begin))
        })
    }

    /// These bytes are the allocator's from now on.
    pub fn hand_out(&self, bytes: Range<usize>) {
        self.parts(&bytes).for_each(|(_, marks, part)| marks.set(part));
    }

    /// The allocator gives back what it has of these bytes. They are dropped, together with what is nobody's beside them.
    pub fn take_back(&self, bytes: Range<usize>, drop: impl FnOnce(Range<usize>)) {
        let mut all = bytes.clone();
        let last = bytes.end.saturating_sub(1) / STRETCH;
        // Those at both ends stay locked: others may want to have slices of them. Stretches are locked in the order of their addresses.
        let mut ends = [None, None];
        for (stretch, marks, part) in self.parts(&bytes) {
            let mut locked = marks.lock();
            locked.clear(part);
            let slices = stretch * SLICES;
            if bytes.start > stretch * STRETCH {
                let before = locked.marks() & first(bytes.start / SLICE - slices);
                all.start = (slices + (u32::BITS - before.leading_zeros()) as usize) * SLICE;
            }
            if stretch == last {
                let behind = locked.marks() & !first(bytes.end.div_ceil(SLICE) - slices);
                all.end = (slices + behind.trailing_zeros() as usize) * SLICE;
            }
            if ends[0].is_none() {
                ends[0] = Some(locked);
            } else if stretch == last {
                ends[1] = Some(locked);
            }
        }
        drop(all);
    }
}

#[cfg(test)]
mod tests {
    use super::{SLICE, STRETCH, Slices};
    use std::ops::Range;

    const END: usize = 4 * STRETCH / SLICE;

    /// What is dropped with some slices.
    fn dropped(slices: &Slices<4>, given: Range<usize>) -> Range<usize> {
        let mut dropped = None;
        slices.take_back(given.start * SLICE..given.end * SLICE, |bytes| dropped = Some(bytes));
        let bytes = dropped.unwrap();
        bytes.start / SLICE..bytes.end / SLICE
    }

    #[test]
    fn what_is_given_back_takes_along_what_is_nobodys() {
        let slices = Slices::new();
        let hand_out = |range: Range<usize>| slices.hand_out(range.start * SLICE..range.end * SLICE);
        hand_out(0..4);
        hand_out(10..12);
        hand_out(20..21);
        assert_eq!(dropped(&slices, 10..12), 4..20);
        assert_eq!(dropped(&slices, 20..21), 4..32);
        assert_eq!(dropped(&slices, 0..2), 0..2);
        assert_eq!(dropped(&slices, 2..4), 0..32);
        // Across stretches; what lies in others is left alone.
        hand_out(30..70);
        assert_eq!(dropped(&slices, 33..40), 33..40);
        assert_eq!(dropped(&slices, 40..66), 33..66);
        assert_eq!(dropped(&slices, 30..33), 0..64);
        assert_eq!(dropped(&slices, 66..70), 64..96);
        hand_out(31..97);
        assert_eq!(dropped(&slices, 31..97), 0..END);
    }

    #[test]
    fn nothing_is_dropped_that_another_thread_has() {
        let (slices, owners) = (Slices::<1>::new(), [const { std::sync::Mutex::new(()) }; 32]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (slices, owners) = (&slices, &owners);
                scope.spawn(move || {
                    for turn in 0..200 {
                        let at = 4 * (turn % 8) + thread;
                        slices.hand_out(at * SLICE..(at + 1) * SLICE);
                        let has = owners[at].try_lock().unwrap();
                        std::thread::yield_now();
                        std::mem::drop(has);
                        slices.take_back(at * SLICE..(at + 1) * SLICE, |bytes| {
                            // Who has one of these would be found here, or would find us.
                            let range = bytes.start / SLICE..bytes.end / SLICE;
                            let _ours: Vec<_> = owners[range].iter().map(|owner| owner.try_lock().unwrap()).collect();
                        });
                    }
                });
            }
        });
    }
}
