//! How long a slice is, how often it looks up, and whether it pauses then.
//!
//! On threads a slice runs to its end. A simulated machine advances its cores in the order of virtual time, and a slice is far longer than what
//! two cores do to each other, so there it runs in *pieces*: the engine stops as if the slice were over, and the scheduler's next step
//! goes on with it. Who runs it sees no difference, for a process stops where it could have given way.
//!
//! For tests slices may be of *drawn* lengths (`+JMyields SEED`): processes then give way at other places, built-ins too, and interleave as
//! they seldom do otherwise. What a seed decides is the lengths of each scheduler's slices; which process gets them is left to the threads.

use crate::SLICE_REDUCTIONS;
use myriad_process::LOOK;

/// The shortest drawn slice has one reduction; each of so many orders of magnitude, up to a whole slice, is as likely as another.
const MAGNITUDES: u64 = 13;

/// By fewer reductions than this times between two looks differ.
const LOOKS_DIFFER: u64 = 64;

/// How long a slice is, how often it looks up, in reductions, and whether it pauses then.
pub struct Pace {
    slice: i32,
    /// What the lengths of slices are drawn from; 0 = they are all whole.
    drawn: u64,
    look: i32,
    /// What the slices before have left of the reductions to the next look; 0 = there was a look since.
    rest: i32,
    /// What the times between two looks are drawn from.
    looks: u64,
    in_pieces: bool,
    paused: bool,
    /// What is drawn from that is no length; 0 = nothing is.
    chances: u64,
}

/// A state to draw from, not 0.
fn mixed(seed: u64, scheduler: usize) -> u64 {
    (seed ^ (scheduler as u64 + 1) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// The next state of a generator: xorshift (Marsaglia, 2003).
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}

impl Default for Pace {
    /// That of a thread: slices run to their ends.
    fn default() -> Pace {
        Pace {
            slice: SLICE_REDUCTIONS,
            drawn: 0,
            look: LOOK,
            rest: 0,
            looks: 1,
            in_pieces: false,
            paused: false,
            chances: 0,
        }
    }
}

impl Pace {
    /// Slices run in pieces of so many reductions, one at least.
    pub fn in_pieces(reductions: u16) -> Pace {
        Pace { look: i32::from(reductions.max(1)), in_pieces: true, ..Pace::default() }
    }

    /// Slices are of lengths that follow from a seed and the number of the scheduler.
    pub fn drawn(seed: u64, scheduler: usize) -> Pace {
        Pace { drawn: mixed(seed, scheduler), ..Pace::default() }
    }

    /// What [`Pace::draws_one_of`] says follows from now on from this seed and the number of the scheduler.
    pub fn draw_chances(&mut self, seed: u64, scheduler: usize) {
        self.chances = mixed(seed, scheduler);
    }

    /// Draws: `true` once in so many times, and never if nothing is drawn.
    pub fn draws_one_of(&mut self, times: u64) -> bool {
        self.chances = next(self.chances);
        self.chances != 0 && (self.chances >> 32).is_multiple_of(times)
    }

    /// A slice begins: its length, in reductions.
    #[inline]
    pub fn begin_slice(&mut self) -> i32 {
        if self.drawn != 0 {
            self.draw();
        }
        self.slice
    }

    #[cold]
    fn draw(&mut self) {
        self.drawn = next(self.drawn);
        let longest = 1 << ((self.drawn >> 32) % MAGNITUDES);
        self.slice = (1 + (self.drawn >> 48) as i32 % longest).min(SLICE_REDUCTIONS);
    }

    /// The length of the slice that runs.
    #[inline]
    pub fn slice(&self) -> i32 {
        self.slice
    }

    /// The engine looks up after so many reductions: on a thread not always the same number, so that what it meets then is a sample of what runs
    /// even where a program does the same again and again.
    #[inline]
    pub fn look(&mut self) -> i32 {
        if self.in_pieces {
            return self.look;
        }
        self.looks = next(self.looks);
        self.look - (self.looks % LOOKS_DIFFER) as i32
    }

    /// The engine begins to run, and looks up after so many reductions: those that the slices before have left. Processes that answer in fewer than
    /// lie between two looks would never be met otherwise.
    #[inline]
    pub fn first_look(&mut self) -> i32 {
        match std::mem::take(&mut self.rest) {
            0 => self.look(),
            rest => rest,
        }
    }

    /// The engine has stopped so many reductions before its next look, or some after, where none was made.
    #[inline]
    pub fn stopped_before_look(&mut self, reductions: i32) {
        if !self.in_pieces {
            self.rest = reductions.max(1);
        }
    }

    /// The engine has looked up: does it stop here, to go on in the next step?
    #[inline]
    pub fn pauses(&mut self) -> bool {
        self.paused = self.in_pieces;
        self.paused
    }

    /// Has the slice that just stopped paused? Asked once.
    #[inline]
    pub fn take_pause(&mut self) -> bool {
        std::mem::take(&mut self.paused)
    }
}

#[cfg(test)]
mod tests {
    use super::{LOOK, LOOKS_DIFFER, Pace, SLICE_REDUCTIONS};

    #[test]
    fn a_slice_on_a_thread_runs_to_its_end() {
        let mut pace = Pace::default();
        assert!(!pace.pauses() && !pace.take_pause());
    }

    #[test]
    fn drawn_slices_follow_from_the_seed_and_the_scheduler() {
        let draw = |seed, scheduler| {
            let mut pace = Pace::drawn(seed, scheduler);
            (0..10_000).map(|_| pace.begin_slice()).collect::<Vec<_>>()
        };
        let drawn = draw(1, 0);
        assert_eq!(drawn, draw(1, 0));
        assert!(drawn != draw(2, 0) && drawn != draw(1, 1));
        assert_eq!((drawn.iter().min(), drawn.iter().all(|length| *length <= SLICE_REDUCTIONS)), (Some(&1), true));
        assert!(drawn.iter().filter(|length| **length > SLICE_REDUCTIONS / 2).count() > 100);
        assert!(drawn.iter().filter(|length| **length < 16).count() > 1000);
    }

    #[test]
    fn chances_follow_from_the_seed_and_the_scheduler() {
        let draw = |seed, scheduler| {
            let mut pace = Pace::default();
            pace.draw_chances(seed, scheduler);
            (0..10_000).map(|_| pace.draws_one_of(8)).collect::<Vec<_>>()
        };
        let drawn = draw(1, 0);
        assert_eq!(drawn, draw(1, 0));
        assert!(drawn != draw(2, 0) && drawn != draw(1, 1));
        assert!((1000..1500).contains(&drawn.iter().filter(|chance| **chance).count()));
        assert!(!Pace::default().draws_one_of(1));
    }

    #[test]
    fn looks_are_a_sample() {
        let mut pace = Pace::default();
        let looks: Vec<i32> = (0..1000).map(|_| pace.look()).collect();
        assert!(looks.iter().all(|look| (LOOK - LOOKS_DIFFER as i32 + 1..=LOOK).contains(look)));
        // Whatever a loop's length, each place of it is met.
        for length in 1..50 {
            let mut met = vec![false; length];
            looks
                .iter()
                .scan(0, |at, look| Some(std::mem::replace(at, *at + look)))
                .for_each(|at| met[at as usize % length] = true);
            assert!(met.iter().all(|met| *met), "{length}");
        }
    }

    #[test]
    fn short_slices_are_met_as_often_as_long_ones() {
        let mut pace = Pace::default();
        // Slices of 30 reductions, of which a look ends none.
        let mut looks = 0;
        for _ in 0..10_000 {
            let mut left = 30;
            let mut look = pace.first_look();
            while look <= left {
                (left, look, looks) = (left - look, pace.look(), looks + 1);
            }
            pace.stopped_before_look(look - left);
        }
        assert!((500..800).contains(&looks), "{looks}");
        // What has gone on past the look without one is met at once.
        pace.stopped_before_look(-1000);
        assert_eq!(pace.first_look(), 1);
        assert!(pace.first_look() > LOOK - LOOKS_DIFFER as i32, "once");
    }

    #[test]
    fn a_piece_is_whole() {
        let mut pace = Pace::in_pieces(7);
        pace.stopped_before_look(3);
        assert_eq!(pace.first_look(), 7);
    }

    #[test]
    fn a_piece_pauses_once() {
        let mut pace = Pace::in_pieces(0);
        assert_eq!(pace.look(), 1);
        assert!(!pace.take_pause());
        assert!(pace.pauses() && pace.take_pause() && !pace.take_pause());
    }
}
