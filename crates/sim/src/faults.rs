//! What goes wrong on real machines, drawn by a seed: a core is away for a while (its virtual processor was taken, or its thread had to wait),
//! also while it holds a lock; a wake-up is late, or comes for nothing; a quota stops all cores.
//!
//! How often was chosen so that a program of some milliseconds meets each of them many times.

/// One of so many steps is followed by an absence.
const STEPS: u64 = 256;
/// One of so many locks is held by a core that is away.
const HOLDS: u64 = 512;
/// One of so many wake-ups is late.
const WAKES: u64 = 8;
/// One of so many steps wakes a core that sleeps, for nothing.
const WAKES_FOR_NOTHING: u64 = 256;
/// One of so many steps uses a quota up.
const QUOTAS: u64 = 4096;
/// The shortest absence; the longest is a thousand times that.
const LEAST_NS: u64 = 1000;

/// The faults of a seed. Under each second seed no core wakes for nothing, for that makes up for wake-ups that were lost.
pub struct Faults {
    state: u64,
    for_nothing: bool,
}

impl Faults {
    /// Those of this seed.
    pub fn new(seed: u64) -> Faults {
        Faults { state: seed, for_nothing: seed % 2 == 1 }
    }

    /// For how long the core is away after a step (nanoseconds).
    pub fn after_step(&mut self) -> u64 {
        self.away(STEPS)
    }

    /// For how long it is away with a lock.
    pub fn with_lock(&mut self) -> u64 {
        self.away(HOLDS)
    }

    /// By how much a wake-up is late.
    pub fn before_waking(&mut self) -> u64 {
        self.away(WAKES)
    }

    /// For how long all cores stop.
    pub fn by_quota(&mut self) -> u64 {
        self.away(QUOTAS)
    }

    /// Which one of so many cores wakes for nothing.
    pub fn wakes_for_nothing(&mut self, cores: usize) -> Option<usize> {
        let drawn = self.draw();
        let wakes = self.for_nothing && drawn.is_multiple_of(WAKES_FOR_NOTHING);
        wakes.then_some((drawn >> 32) as usize % cores)
    }

    /// In one of so many cases a time; each order of magnitude as often as another.
    fn away(&mut self, rarity: u64) -> u64 {
        let drawn = self.draw();
        if drawn.is_multiple_of(rarity) { LEAST_NS << ((drawn >> 32) % 11) } else { 0 }
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, LEAST_NS, STEPS};

    #[test]
    fn a_seed_gives_its_faults() {
        let draw =
            |seed| (0..100_000).map(move |_| 0).scan(Faults::new(seed), |faults, _: u64| Some(faults.after_step()));
        assert!(draw(7).eq(draw(7)) && !draw(7).eq(draw(8)));
        let drawn: Vec<u64> = draw(7).filter(|ns| *ns > 0).collect();
        assert!((drawn.len() as u64).abs_diff(100_000 / STEPS) < 100, "{}", drawn.len());
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&LEAST_NS), Some(&(LEAST_NS << 10))));
    }

    #[test]
    fn every_core_wakes_for_nothing_now_and_then() {
        let mut faults = Faults::new(1);
        let mut woken: Vec<usize> = (0..100_000).filter_map(|_| faults.wakes_for_nothing(5)).collect();
        woken.sort_unstable();
        woken.dedup();
        assert_eq!(woken, [0, 1, 2, 3, 4]);
        let mut even = Faults::new(2);
        assert!((0..100_000).all(|_| even.wakes_for_nothing(5).is_none()));
    }
}
