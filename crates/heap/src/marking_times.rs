//! When the one heap's old generation is marked though it has not grown ([`crate::shared`]): processes end, or drop what they had, and no growth tells that.
//!
//! A marking costs what lives, and gives what does not. So one begins if something has run since the last one began and time has passed since that was over: a moment where nobody has
//! anything to do, else one in which it could have been done many times; and twice as long each time that little came of it.

use crate::one_heap::{self, NEVER};

/// From the end of a marking to the next one (nanoseconds).
const PAUSE_NS: u64 = 500_000_000;
/// While there is work, beside that so many times as long as the last one took: so many nanoseconds for each word that lived.
const SHARE: u64 = 32;
const WORD_NS: u64 = 3;
/// How often the time doubles.
const MOST_VAIN: u32 = 9;
/// From one step of an evacuation to the next, while there is work.
const STEP_NS: u64 = 5_000_000;
/// A marking is no use to an old generation of fewer words than that: 1 MB.
const LEAST: usize = if cfg!(any(test, heap_check)) { 100 } else { 128 << 10 };

/// How an evacuation goes on ([`crate::shared_evacuation`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    /// There is none, or it is over.
    None,
    /// There is more to do, which can be done at once.
    Goes,
    /// It waits until no process is pinned.
    Waits,
}

/// A marking that is not over.
struct Begun {
    /// Words of the old generation then.
    words: usize,
    /// They had grown.
    grown: bool,
}

/// The last markings, as far as it tells when the next one is due.
#[derive(Default)]
pub(crate) struct MarkingTimes {
    /// Something has run since the last one began.
    has_run: bool,
    begun: Option<Begun>,
    /// When the young generation was last collected.
    collected_ns: u64,
    ended_ns: u64,
    /// Words that it left.
    left: usize,
    /// How often little has come of one though it had not grown, one time after another.
    vain: u32,
}

impl MarkingTimes {
    /// The young generation is collected; has something run since it last was?
    pub(crate) fn collected(&mut self, now_ns: u64, has_run: bool) {
        self.collected_ns = now_ns;
        self.has_run |= has_run;
    }

    /// A marking begins of so many words; they have `grown`, or it is for what has run alone.
    pub(crate) fn begin(&mut self, words: usize, grown: bool) {
        debug_assert!(self.begun.is_none(), "a marking begins before the last is over");
        self.begun = Some(Begun { words, grown });
        self.has_run = false;
    }

    /// It is over, and so many words are left.
    pub(crate) fn end(&mut self, now_ns: u64, words: usize) {
        let Some(Begun { words: before, grown }) = self.begun.take() else { return };
        (self.ended_ns, self.left) = (now_ns, words);
        self.vain = if !grown && words > before / 4 * 3 { (self.vain + 1).min(MOST_VAIN) } else { 0 };
    }

    /// All was collected at once, and so many words are left.
    pub(crate) fn are_over(&mut self, now_ns: u64, words: usize) {
        (self.begun, self.has_run, self.vain) = (None, false, 0);
        (self.ended_ns, self.left) = (now_ns, words);
    }

    /// Is a marking of so many words to begin, though they have not grown?
    pub(crate) fn is_due(&self, now_ns: u64, words: usize) -> bool {
        self.begun.is_none() && self.due_ns(words, one_heap::is_at_rest()) <= now_ns
    }

    /// Tells those who rest when to look at so many words again, some of which may be emptied just now.
    pub(crate) fn tell(&self, words: usize, evacuation: Progress) {
        let (work_ns, rest_ns) = match evacuation {
            Progress::None => (self.look_ns(words), self.due_ns(words, true)),
            Progress::Goes => (self.collected_ns.saturating_add(STEP_NS), 0),
            Progress::Waits => (self.collected_ns.saturating_add(PAUSE_NS), self.collected_ns.saturating_add(PAUSE_NS)),
        };
        one_heap::set_marking(work_ns, rest_ns);
    }

    /// When a marking of so many words is to go on, or to begin, while nobody has anything to do (`is_idle`) or somebody has.
    fn due_ns(&self, words: usize, is_idle: bool) -> u64 {
        match &self.begun {
            Some(_) if is_idle => 0,
            Some(_) => self.collected_ns.saturating_add(PAUSE_NS),
            None if self.has_run && words >= LEAST => self.ended_ns.saturating_add(self.pause_ns(is_idle)),
            None => NEVER,
        }
    }

    /// When the young generation is to be collected while somebody has something to do, be little of it taken: a marking may be due then, for nothing else tells whether something has run.
    fn look_ns(&self, words: usize) -> u64 {
        match self.due_ns(words, false) {
            NEVER if words >= LEAST => self.collected_ns.saturating_add(self.pause_ns(false)),
            due_ns => due_ns,
        }
    }

    /// From the end of one marking to the next.
    fn pause_ns(&self, is_idle: bool) -> u64 {
        let of_work = if is_idle { 0 } else { (self.left as u64).saturating_mul(WORD_NS * SHARE) };
        PAUSE_NS.saturating_add(of_work).saturating_mul(1 << self.vain)
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, MOST_VAIN, MarkingTimes, NEVER, PAUSE_NS, SHARE, WORD_NS};

    const WORDS: usize = 8 * LEAST;

    /// A marking that is over at some time, and leaves so many words.
    fn mark(times: &mut MarkingTimes, end_ns: u64, left: usize) {
        times.begin(WORDS, false);
        times.end(end_ns, left);
    }

    #[test]
    fn who_rests_is_marked_once() {
        let mut times = MarkingTimes::default();
        assert_eq!(times.due_ns(WORDS, true), NEVER);
        times.collected(7, true);
        times.collected(8, false);
        assert_eq!([times.due_ns(WORDS, true), times.due_ns(LEAST - 1, true)], [PAUSE_NS, NEVER]);
        times.begin(WORDS, false);
        times.collected(PAUSE_NS + 1, false);
        assert_eq!([true, false].map(|is_idle| times.due_ns(WORDS, is_idle)), [0, 2 * PAUSE_NS + 1]);
        times.end(2 * PAUSE_NS, WORDS / 4);
        assert_eq!([true, false].map(|is_idle| times.due_ns(WORDS, is_idle)), [NEVER; 2]);
    }

    #[test]
    fn work_waits_longer() {
        let mut times = MarkingTimes::default();
        mark(&mut times, 1300, WORDS / 2);
        let pause_ns = PAUSE_NS + (WORDS / 2) as u64 * WORD_NS * SHARE;
        times.collected(1900, false);
        assert_eq!([times.look_ns(WORDS), times.look_ns(LEAST - 1)], [1900 + pause_ns, NEVER]);
        times.collected(2000, true);
        assert_eq!(times.due_ns(WORDS, true), 1300 + PAUSE_NS);
        assert_eq!([times.due_ns(WORDS, false), times.look_ns(WORDS)], [1300 + pause_ns; 2]);
    }

    #[test]
    fn what_is_no_use_becomes_rare() {
        let mut times = MarkingTimes::default();
        for _ in 0..MOST_VAIN + 3 {
            mark(&mut times, 0, WORDS);
        }
        times.collected(0, true);
        assert_eq!(times.due_ns(WORDS, true), PAUSE_NS << MOST_VAIN);
        // What has grown is another thing.
        times.begin(WORDS, true);
        times.end(0, WORDS);
        times.collected(0, true);
        assert_eq!(times.due_ns(WORDS, true), PAUSE_NS);
        mark(&mut times, 0, WORDS);
        mark(&mut times, 0, WORDS / 2);
        times.collected(0, true);
        assert_eq!(times.due_ns(WORDS, true), PAUSE_NS);
    }
}
