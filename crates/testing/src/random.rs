//! Random numbers that follow from a seed: xorshift64* (Vigna, 2016).

/// A generator. Two of one seed give the same numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator; seeds may be small and next to each other.
    pub fn new(seed: u64) -> Random {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // Xorshift never leaves 0, to which the product maps the seed 0 alone.
        Random(if mixed == 0 { 1 } else { mixed })
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number less than `limit`; 0 if that is 0.
    pub fn below<N: TryFrom<u64> + TryInto<u64>>(&mut self, limit: N) -> N {
        let limit = limit.try_into().unwrap_or(0);
        let number = (u128::from(self.bits()) * u128::from(limit)) >> 64;
        N::try_from(number as u64).ok().expect("what is less than a number fits its type")
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_the_seed() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(draw(7), draw(7));
        let first: std::collections::BTreeSet<_> = (0..1000).map(draw).collect();
        assert_eq!(first.len(), 1000);
    }

    #[test]
    fn numbers_are_below_their_limit_and_reach_all_that_is() {
        let mut random = Random::new(0);
        let mut seen = [0; 7];
        (0..7000).for_each(|_| seen[random.below(7)] += 1);
        assert!(seen.iter().all(|&times| (800..1200).contains(&times)), "{seen:?}");
        assert_eq!((random.below(0_u64), random.below(1_u8)), (0, 0));
        assert_eq!((random.pick::<u8>(&[]), random.pick(&[3])), (None, Some(&3)));
    }
}
