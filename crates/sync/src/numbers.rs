//! [`Numbers`]: rising numbers that many threads draw.
//!
//! Drawn one by one they rise in the order of drawing, whoever draws, and each draw fetches the one line that all draw from: 150 ns from the other socket,
//! and the more threads the longer a thread waits. So a thread that finds that many others draw as often as it does draws several at once and
//! gives them out one after the other.
//!
//! NU1. Each number is given out once, until [`Numbers::restart`].
//! NU2. The numbers that a thread is given rise. With fewer than [`THREADS_A_NUMBER`] threads twice over, all rise in the order of drawing;
//!      with more, a thread may be given a number that is lower than one which another thread has been given meanwhile, by less than
//!      [`Numbers::most`] draws of each thread.
//! NU3. What is left of a batch is dropped when the era changes in which it was drawn: numbers of the new era are higher, or those of a restart.
//!
//! # What was not done
//!
//! - *Batches of a fixed size*: on few cores numbers would rise no more in the order of drawing, for nothing.
//! - *Batches by failed compare-and-swaps, or by the time that a draw takes*: the first needs a read of the line before it is written (a second
//!   fetch), the second a clock. What others have drawn since tells the same.

use crate::{
    atomic::{
        AtomicU64,
        Ordering::{Relaxed, Release},
    },
    pad::CachePadded,
    slot,
};

/// A batch holds one number for so many threads that draw, at most: each then fetches the line as rarely as if it were one of so few.
const THREADS_A_NUMBER: u64 = 4;

/// A thread's batch and what it has seen of the others. Written by that thread alone; a word each, Relaxed, as no other reads them.
#[derive(Debug, Default)]
struct Batch {
    next: AtomicU64,
    /// Behind its last number.
    end: AtomicU64,
    /// The era in which it was drawn (NU3).
    era: AtomicU64,
    /// How many the next one has.
    size: AtomicU64,
}

impl Batch {
    /// The next number of the batch, if there is one.
    #[inline]
    fn take(&self, era: u64) -> Option<u64> {
        let next = self.next.load(Relaxed);
        let is_there = next < self.end.load(Relaxed) && self.era.load(Relaxed) == era;
        is_there.then(|| {
            self.next.store(next + 1, Relaxed);
            next
        })
    }

    /// These numbers have been drawn; the first is given out at once.
    fn put(&self, first: u64, size: u64, era: u64) {
        self.next.store(first + 1, Relaxed);
        self.end.store(first + size, Relaxed);
        self.era.store(era, Relaxed);
    }
}

/// The numbers, and the threads' batches of them.
#[derive(Debug)]
pub struct Numbers {
    next: CachePadded<AtomicU64>,
    /// For the threads that have a place of their own; empty if batches are of one.
    batches: Box<[CachePadded<Batch>]>,
    /// Numbers of a batch, at most.
    most: u64,
}

impl Numbers {
    /// From 0, for so many threads that draw often.
    pub fn new(threads: usize) -> Self {
        let most = threads as u64 / THREADS_A_NUMBER;
        let places = if most > 1 { 2 * threads } else { 0 };
        let batches = (0..places).map(|_| CachePadded::new(Batch::default())).collect();
        Numbers { next: CachePadded::new(AtomicU64::new(0)), batches, most }
    }

    /// The number that is drawn next.
    pub fn next(&self) -> u64 {
        // Relaxed: old as soon as it is read.
        self.next.load(Relaxed)
    }

    /// Draws go on from this number. The caller has begun an era before (NU3): it is released to those who draw from now on.
    pub fn restart(&self, next: u64) {
        // Release: who draws this number and then has an Acquire fence finds the new era.
        self.next.store(next, Release);
    }

    /// Draws a number, in this era.
    #[inline]
    pub fn draw(&self, era: u64) -> u64 {
        match slot::own(self.batches.len()) {
            Some(place) => self.draw_from(&self.batches[place], era),
            // Relaxed: the number's own order is NU1 and NU2.
            None => self.next.fetch_add(1, Relaxed),
        }
    }

    #[inline]
    fn draw_from(&self, batch: &Batch, era: u64) -> u64 {
        batch.take(era).unwrap_or_else(|| {
            let size = batch.size.load(Relaxed).max(1);
            // Relaxed: as in `draw`.
            let first = self.next.fetch_add(size, Relaxed);
            // A restart may have led back.
            let by_others = first.saturating_sub(batch.end.load(Relaxed));
            batch.size.store(self.size_after(by_others), Relaxed);
            batch.put(first, size, era);
            first
        })
    }

    /// How many a thread draws at once that has found that others drew so many since it drew last. If they are more than all threads draw in
    /// that time, it is this thread that draws rarely: it is given one, and a fresh one.
    fn size_after(&self, by_others: u64) -> u64 {
        let all_draw = self.batches.len() as u64 * self.most;
        if by_others > all_draw { 1 } else { (by_others / THREADS_A_NUMBER).clamp(1, self.most) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Numbers;

    #[test]
    fn few_threads_draw_one_by_one() {
        let numbers = Numbers::new(7);
        assert_eq!((0..5).map(|_| numbers.draw(0)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert!(numbers.batches.is_empty());
    }

    /// What others draw is drawn here past the thread's own place.
    #[cfg(not(feature = "single"))]
    #[test]
    fn a_thread_among_many_draws_several_and_drops_them_in_a_new_era() {
        let numbers = Numbers::new(32);
        let batch = &numbers.batches[0];
        let others = |n: u64| _ = numbers.next.fetch_add(n, super::Relaxed);
        assert_eq!((numbers.draw_from(batch, 0), numbers.draw_from(batch, 0)), (0, 1));
        others(31);
        assert_eq!((numbers.draw_from(batch, 0), numbers.next()), (33, 34), "one, before it knew of the others");
        others(62);
        let drawn: Vec<u64> = (0..4).map(|_| numbers.draw_from(batch, 0)).collect();
        assert_eq!((drawn, numbers.next()), (vec![96, 97, 98, 99], 103), "seven at once");
        assert_eq!((numbers.draw_from(batch, 1), numbers.next()), (103, 111), "what was left has been dropped");
        others(10_000);
        (0..8).for_each(|i| assert_eq!(numbers.draw_from(batch, 1), [104, 105, 106, 107, 108, 109, 110, 10_111][i]));
        others(10_000);
        assert_eq!(numbers.draw_from(batch, 1) + 1, numbers.next(), "it draws rarely");
        numbers.restart(50);
        assert_eq!((numbers.draw_from(batch, 3), numbers.next()), (50, 51));
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn each_number_is_given_once() {
        const EACH: usize = if cfg!(miri) { 200 } else { 20_000 };
        let numbers = Numbers::new(64);
        let drawn = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..EACH).map(|i| numbers.draw(i as u64 / 1000)).collect::<Vec<u64>>()))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it draws")).collect::<Vec<_>>()
        });
        assert!(drawn.iter().all(|numbers| numbers.is_sorted()), "NU2");
        let mut all = drawn.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4 * EACH, "NU1");
    }
}
