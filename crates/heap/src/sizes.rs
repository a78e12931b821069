//! The table of block sizes, in words: 12, 38, then each the sum of the two before and one, then a fifth more each.
//!
//! Programs see these numbers in `process_info/2`; they are OTP's (facts/otp25.md, 7.4).

/// Number of sizes below which growth is Fibonacci's.
const FIBONACCI: usize = 23;
/// Number of sizes of the table. OTP's ends there: the last is beyond any address space.
const COUNT: usize = FIBONACCI + 115;

const fn table() -> [usize; COUNT] {
    let mut sizes = [0; COUNT];
    sizes[0] = 12;
    sizes[1] = 38;
    let mut i = 2;
    while i < COUNT {
        sizes[i] = if i < FIBONACCI { sizes[i - 1] + sizes[i - 2] + 1 } else { sizes[i - 1] + sizes[i - 1] / 5 };
        i += 1;
    }
    sizes
}

const fn ascend(sizes: &[usize; COUNT]) -> bool {
    let mut i = 1;
    while i < COUNT && sizes[i - 1] < sizes[i] {
        i += 1;
    }
    i == COUNT
}

/// Searches by halving rely on the order, [`place`] on the number.
const _: () = assert!(ascend(&table()) && COUNT <= 1 << u8::BITS);

/// All sizes, ascending.
pub static SIZES: [usize; COUNT] = table();

/// The least size of the table that holds `words`.
pub fn at_least(words: usize) -> usize {
    // Most heaps are small: a short walk beats a binary search.
    let small = &SIZES[..8];
    if let Some(size) = small.iter().find(|size| **size >= words) {
        return *size;
    }
    let at = SIZES.partition_point(|size| *size < words);
    SIZES.get(at).copied().unwrap_or(words)
}

/// The least size of the table that holds `words`, if there is one: sizes beyond the table cannot be asked for.
pub fn checked(words: usize) -> Option<usize> {
    SIZES.get(SIZES.partition_point(|size| *size < words)).copied()
}

/// The place in the table of the least size that holds `words`: what [`at_place`] makes of it is what [`at_least`] gives, but for
/// sizes beyond any address space.
pub fn place(words: usize) -> u8 {
    // At most `COUNT - 1`, which is below 256.
    SIZES.partition_point(|size| *size < words).min(COUNT - 1) as u8
}

/// The size at a place of the table.
#[inline]
pub fn at_place(place: u8) -> usize {
    debug_assert!(usize::from(place) < COUNT, "the table of sizes has no place {place}");
    SIZES[usize::from(place).min(COUNT - 1)]
}

/// The least size of the table above `words`.
pub fn above(words: usize) -> usize {
    at_least(words.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `process_info(P, heap_size)` says after `spawn_opt(F, [{min_heap_size, N}])`, OTP 25.
    #[test]
    fn sizes_are_those_of_otp() {
        let seen = [
            (1, 12),
            (234, 376),
            (400, 610),
            (1_000, 1_598),
            (100_000, 121_536),
            (300_000, 318_187),
            (1_000_000, 1_199_557),
            (2_000_000, 2_072_833),
            (3_000_000, 3_581_853),
            (5_000_000, 5_157_867),
            (20_000_000, 22_177_879),
        ];
        for (asked, given) in seen {
            assert_eq!(at_least(asked), given);
        }
        assert_eq!(at_least(46_422), 46_422);
        assert_eq!(above(233), 376);
        assert!(at_least(1 << 50) >= 1 << 50);
        assert_eq!(at_least(usize::MAX), usize::MAX);
        assert_eq!(checked(1_062_920_605_531_495), Some(SIZES[COUNT - 1]));
        assert_eq!(checked(1_062_920_605_531_497), None);
    }

    #[test]
    fn a_place_tells_its_size() {
        for words in [0, 1, 12, 13, 38, 233, 234, 46_422, 1_000_000, 1 << 49] {
            assert_eq!(at_place(place(words)), at_least(words));
        }
        assert_eq!(at_place(place(usize::MAX)), SIZES[COUNT - 1]);
    }

    #[test]
    fn sizes_ascend() {
        assert!(SIZES.windows(2).all(|w| w[0] < w[1]));
    }
}
