//! How often a slice looks up, and whether it pauses then.
//!
//! On threads a slice runs to its end. A simulated machine advances its cores in the order of virtual time, and a slice is far longer than what
//! two cores do to each other, so there it runs in *pieces*: the engine stops as if the slice were over, and the scheduler's next step
//! goes on with it. Who runs it sees no difference, for a process stops where it could have given way.

use myriad_process::LOOK;

/// How often a slice looks up, in reductions, and whether it pauses then.
pub struct Pace {
    look: i32,
    in_pieces: bool,
    paused: bool,
}

impl Default for Pace {
    /// That of a thread: slices run to their ends.
    fn default() -> Pace {
        Pace { look: LOOK, in_pieces: false, paused: false }
    }
}

impl Pace {
    /// Slices run in pieces of so many reductions, one at least.
    pub fn in_pieces(reductions: u16) -> Pace {
        Pace { look: i32::from(reductions.max(1)), in_pieces: true, paused: false }
    }

    /// The engine looks up after so many reductions.
    #[inline]
    pub fn look(&self) -> i32 {
        self.look
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
    use super::Pace;

    #[test]
    fn a_slice_on_a_thread_runs_to_its_end() {
        let mut pace = Pace::default();
        assert!(!pace.pauses() && !pace.take_pause());
    }

    #[test]
    fn a_piece_pauses_once() {
        let mut pace = Pace::in_pieces(0);
        assert_eq!(pace.look(), 1);
        assert!(!pace.take_pause());
        assert!(pace.pauses() && pace.take_pause() && !pace.take_pause());
    }
}
