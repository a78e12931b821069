//! Character tables for PCRE2: which of the first 256 characters are letters, digits and so on, by Latin-1, as OTP has them.
//!
//! The layout is PCRE2's own (`pcre2_maketables`): 256 lower-case forms, 256 forms of the other case, ten sets of 256 bits,
//! 256 bytes of kinds.

use myriad_pcre_dialect::latin1::{is_letter, is_lower, is_space, is_upper, is_word};
use myriad_sync::OnceLock;

const FLIPPED: usize = 256;
const SETS: usize = 512;
const KINDS: usize = SETS + 10 * 32;
const LENGTH: usize = KINDS + 256;

/// The sets, in PCRE2's order.
const SET_TESTS: [fn(u8) -> bool; 10] = [
    is_space,
    |c| c.is_ascii_hexdigit(),
    |c| c.is_ascii_digit(),
    is_upper,
    is_lower,
    is_word,
    |c| matches!(c, 33..=126 | 160..),
    |c| matches!(c, 32..=126 | 160..),
    |c| matches!(c, 33..=126 | 160..) && !is_letter(c) && !c.is_ascii_digit(),
    |c| matches!(c, 0..=31 | 127..=159),
];

/// The kinds: bit by bit.
const KIND_TESTS: [fn(u8) -> bool; 5] = [is_space, is_letter, is_lower, |c| c.is_ascii_digit(), is_word];

fn make() -> [u8; LENGTH] {
    let mut all = [0; LENGTH];
    for c in 0..=255u8 {
        let at = usize::from(c);
        let lower = if is_upper(c) { c + 32 } else { c };
        // Some small letters have no capital among these characters.
        let flipped = if is_lower(c) && c >= 32 && is_upper(c - 32) { c - 32 } else { lower };
        all[at] = lower;
        all[FLIPPED + at] = flipped;
        for (set, test) in SET_TESTS.iter().enumerate() {
            all[SETS + 32 * set + at / 8] |= u8::from(test(c)) << (at % 8);
        }
        for (bit, test) in KIND_TESTS.iter().enumerate() {
            all[KINDS + at] |= u8::from(test(c)) << bit;
        }
    }
    all
}

/// The tables.
pub fn tables() -> &'static [u8; LENGTH] {
    static TABLES: OnceLock<[u8; LENGTH]> = OnceLock::new();
    TABLES.get_or_init(make)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(number: usize) -> usize {
        (0..256).filter(|c| tables()[SETS + 32 * number + c / 8] >> (c % 8) & 1 == 1).count()
    }

    #[test]
    fn sets_have_as_many_characters_as_those_of_otp() {
        let counts: Vec<usize> = (0..10).map(set).collect();
        assert_eq!(counts, [6, 22, 10, 56, 61, 128, 190, 191, 63, 65]);
    }

    #[test]
    fn cases() {
        let t = tables();
        let both = |c: u8| (t[usize::from(c)], t[FLIPPED + usize::from(c)]);
        assert_eq!(both(b'A'), (b'a', b'a'));
        assert_eq!(both(b'a'), (b'a', b'A'));
        assert_eq!((both(0xc5), both(0xe5)), ((0xe5, 0xe5), (0xe5, 0xc5)));
        assert_eq!((both(0xdf), both(0xff), both(0xb5)), ((0xdf, 0xdf), (0xff, 0xff), (0xb5, 0xb5)));
        assert_eq!((both(0xd7), both(0xf7)), ((0xd7, 0xd7), (0xf7, 0xf7)));
    }
}
