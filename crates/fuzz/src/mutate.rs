//! Mutations that know nothing of what the bytes mean.

use myriad_testing::Random;

/// Makes a new input: from one of the seeds, perhaps with parts of others.
pub type Mutate = fn(&mut Random, &[Vec<u8>]) -> Vec<u8>;

/// Inputs grow no longer than this.
pub const LONGEST: usize = 1 << 20;

/// Sizes and counts that are often handled wrongly, as big-endian numbers of four bytes.
const SIZES: [u32; 12] = [0, 1, 2, 3, 0x7f, 0xff, 0x100, 0xffff, 0x0001_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// One of the seeds, with one to eight changes.
pub fn bytes(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = random.pick(seeds).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(8) {
        change(random, &mut input, seeds);
    }
    input
}

/// Makes one change.
pub fn change(random: &mut Random, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let len = input.len();
    let at = random.below(len + 1);
    let span = random.below((len - at).min(64) + 1);
    match random.below(9) {
        0 | 1 if at < len => input[at] ^= 1 << random.below(8),
        2 if at < len => input[at] = random.bits() as u8,
        3 if at < len => input[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
        4 if len - at >= 4 => {
            let size = SIZES[random.below(SIZES.len())];
            input[at..at + 4].copy_from_slice(&size.to_be_bytes());
        }
        5 => drop(input.drain(at..at + span)),
        6 => {
            let piece = input[at..at + span].to_vec();
            let to = random.below(len + 1);
            insert(input, to, &piece);
        }
        7 => {
            // From another seed.
            let Some(other) = random.pick(seeds) else { return };
            let from = random.below(other.len() + 1);
            let piece = &other[from..from + random.below((other.len() - from).min(256) + 1)];
            insert(input, at, piece);
        }
        8 if random.once_in(4) => input.truncate(at),
        _ => insert(input, at, &[random.bits() as u8]),
    }
}

/// Puts a piece in, unless the input is long enough already.
pub fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if input.len() + piece.len() <= LONGEST {
        drop(input.splice(at..at, piece.iter().copied()));
    }
}
