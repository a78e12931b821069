//! The reductions of a process: what is left of its slice, what it has used before, and what the engine is told of them.
//!
//! RD1. While the engine runs, it counts down a number of its own, which is what is left of the slice less `negative_by`: so it
//!      comes by where a slice would end now and then, or at every call. [`Reductions::left`] is true only outside it.

/// After so many reductions at most a process that runs looks whether someone waits for its answer ([`crate::Process::is_asked`]). A simulator
/// has it look as often as its pieces of a slice want.
pub const LOOK: i32 = 500;
/// More reductions than any slice has.
const NEGATIVE_BY: i32 = 1 << 24;

/// The reductions of a process.
#[derive(Default)]
pub struct Reductions {
    /// Left of this slice; at or below zero the process gives way at the next call.
    left: i32,
    /// By so many fewer the engine believes to have (RD1).
    negative_by: i32,
    /// So many of this slice's are neither left nor used.
    forgone: i32,
    /// Used in earlier slices.
    earlier: u64,
}

impl Reductions {
    /// A slice of so many begins.
    #[inline]
    pub fn begin_slice(&mut self, given: i32) {
        (self.left, self.forgone) = (given, 0);
    }

    /// The slice, which had so many, is over: how many were used.
    pub fn end_slice(&mut self, given: i32) -> u32 {
        let used = self.used_of(given);
        self.earlier += u64::from(used);
        used
    }

    /// How many of the slice's are used.
    pub fn used_of(&self, given: i32) -> u32 {
        given.saturating_sub(self.left).saturating_sub(self.forgone).max(0) as u32
    }

    /// Used in earlier slices.
    pub fn earlier(&self) -> u64 {
        self.earlier
    }

    /// How many are left of the slice; none or fewer: the process is to give way.
    #[inline]
    pub fn left(&self) -> i32 {
        self.left
    }

    /// The same, for work that counts down.
    #[inline]
    pub fn to_spend(&self) -> usize {
        usize::try_from(self.left).unwrap_or(0)
    }

    /// Counts work.
    #[inline]
    pub fn spend(&mut self, reductions: usize) {
        self.left = self.left.saturating_sub(i32::try_from(reductions).unwrap_or(i32::MAX));
    }

    /// The slice has so many fewer, for no work; none, if it had no more.
    pub fn forgo(&mut self, reductions: i32) {
        let forgone = reductions.min(self.left.max(0));
        self.left -= forgone;
        self.forgone += forgone;
    }

    /// How many of this slice's were given up without work.
    pub fn forgone(&self) -> i32 {
        self.forgone
    }

    /// Are they used up?
    #[inline]
    pub fn exhausted(&self) -> bool {
        self.left <= 0
    }

    /// The process is to give way at the next chance.
    pub fn give_way(&mut self) {
        self.left = self.left.min(0);
    }

    /// The slice goes on for so many at least.
    pub fn allow(&mut self, least: i32) {
        self.left = self.left.max(least);
    }

    /// Reckons anew what the engine is not told of: all while calls are saved; otherwise what is beyond the next `look`.
    pub fn count_negatively(&mut self, saves_calls: bool, look: i32) {
        debug_assert!(look > 0, "it would look for ever");
        debug_assert!(!saves_calls || NEGATIVE_BY >= self.left, "calls would go by unseen");
        self.negative_by = if saves_calls { NEGATIVE_BY } else { (self.left - look).max(0) };
    }

    /// What the engine counts down (RD1).
    #[inline(always)]
    pub fn of_engine(&self) -> i32 {
        self.left - self.negative_by
    }

    /// The engine has counted down to this.
    #[inline(always)]
    pub fn engine_has(&mut self, count: i32) {
        self.left = count + self.negative_by;
    }

    /// The count at which the engine has used up the slice.
    #[inline(always)]
    pub fn engine_end(&self) -> i32 {
        -self.negative_by
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_comes_by_before_the_slice_is_over() {
        let mut reductions = Reductions::default();
        reductions.begin_slice(4000);
        reductions.count_negatively(false, LOOK);
        assert_eq!(reductions.of_engine(), LOOK);
        reductions.engine_has(0);
        assert_eq!((reductions.left(), reductions.used_of(4000)), (4000 - LOOK, LOOK as u32));
        reductions.engine_has(reductions.engine_end());
        assert!(reductions.exhausted());
        assert_eq!((reductions.end_slice(4000), reductions.earlier()), (4000, 4000));
    }

    #[test]
    fn the_engine_comes_by_at_each_call_while_calls_are_saved() {
        let mut reductions = Reductions::default();
        reductions.begin_slice(4000);
        reductions.count_negatively(true, LOOK);
        assert!(reductions.of_engine() <= 0 && !reductions.exhausted());
    }

    #[test]
    fn what_is_given_up_is_neither_left_nor_used() {
        let mut reductions = Reductions::default();
        reductions.begin_slice(4000);
        reductions.spend(100);
        reductions.forgo(64);
        assert_eq!((reductions.left(), reductions.used_of(4000), reductions.forgone()), (3836, 100, 64));
        reductions.forgo(i32::MAX);
        assert!(reductions.exhausted());
        reductions.forgo(64);
        assert_eq!((reductions.left(), reductions.forgone()), (0, 3900));
        assert_eq!((reductions.end_slice(4000), reductions.earlier()), (100, 100));
        reductions.begin_slice(4000);
        assert_eq!((reductions.left(), reductions.used_of(4000), reductions.forgone()), (4000, 0, 0));
    }

    #[test]
    fn work_beyond_all_measure_only_ends_the_slice() {
        let mut reductions = Reductions::default();
        reductions.spend(usize::MAX);
        reductions.spend(usize::MAX);
        assert_eq!((reductions.to_spend(), reductions.used_of(i32::MAX)), (0, i32::MAX as u32));
        reductions.allow(7);
        assert_eq!(reductions.left(), 7);
        reductions.give_way();
        assert!(reductions.exhausted());
    }
}
