//! Hashes and checksums.

use crate::iodata::{each_run, is_longer};
use crate::work::{dirty, dirty_if_large, in_slices};
use crc32fast::Hasher;
use md5::block_api::compress;
use myriad_term::phash;
use myriad_term::{Build, Term};
use myriad_vm::bif::{Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DIGESTS = "erlang" {
    "phash" / 2 Plain => phash_2;
    "phash2" / 1 Plain => |ctx, a| phash2(ctx, a[0], PHASH2_RANGE);
    "phash2" / 2 Plain => phash2_2;
    "md5" / 1 Plain => md5_1;
    "md5_init" / 0 Plain => |ctx, _| Ok(ctx.binary(&Md5::new().to_bytes()));
    "md5_update" / 2 Plain => md5_update_2;
    "md5_final" / 1 Plain => md5_final_1;
    "crc32" / 1 Plain => |ctx, a| checksum(ctx, Hasher::new(), a[0]);
    "crc32" / 2 Plain => |ctx, a| { let from = word(a[0])?; checksum(ctx, Hasher::new_with_initial(from), a[1]) };
    "crc32_combine" / 3 Plain => crc32_combine_3;
    "adler32" / 1 Plain => |ctx, a| checksum(ctx, Adler32(1), a[0]);
    "adler32" / 2 Plain => |ctx, a| { let from = word(a[0])?; checksum(ctx, Adler32(from), a[1]) };
    "adler32_combine" / 3 Plain => adler32_combine_3;
}}

/// More bytes than this are digested on a dirty scheduler.
const LONG: usize = 256 * 1024;

/// A hash's range: 1 to 2^32.
fn range(term: Term) -> Result<u64, Escape> {
    match term.as_usize() {
        Some(n) if (1..=1 << 32).contains(&n) => Ok(n as u64),
        _ => badarg(),
    }
}

fn phash_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let range = range(args[1])?;
    dirty_if_large(ctx, args[0])?;
    Ok(Term::small(phash::phash(args[0], range) as i64))
}

fn phash2_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let range = range(args[1])?;
    phash2(ctx, args[0], range)
}

/// Terms that are hashed for one reduction.
const TERMS_PER_REDUCTION: usize = 16;
/// Terms that are hashed at once, however little of the slice is left.
const SMALL_TERM: usize = 128;
/// The range of `phash2/1`.
const PHASH2_RANGE: u64 = 1 << 27;

fn phash2(ctx: &mut Ctx<'_>, term: Term, range: u64) -> BifResult {
    let value = move |hash: u32| {
        let hash = u64::from(hash);
        // Most ranges are powers of two, and a division costs as much as the hash of a small term.
        Term::small(if range.is_power_of_two() { hash & (range - 1) } else { hash % range } as i64)
    };
    if let Some(hash) = phash::phash2_immediate(term).or_else(|| phash::phash2_flat(term)) {
        return Ok(value(hash));
    }
    let mut hasher = phash::Phash2::new(term);
    // Most terms are small: they are done before anything is set up for going on later.
    let mut few = SMALL_TERM;
    if let Some(hash) = hasher.run(&mut few) {
        ctx.bump((SMALL_TERM - few) / TERMS_PER_REDUCTION);
        return Ok(value(hash));
    }
    ctx.bump(SMALL_TERM / TERMS_PER_REDUCTION);
    in_slices(ctx, TERMS_PER_REDUCTION, move |_, budget| Ok(hasher.run(budget).map(value)))
}

/// MD5 in progress: as a binary, state, number of bytes, bytes that do not fill a block yet.
struct Md5 {
    state: [u32; 4],
    bytes: u64,
    block: [u8; 64],
}

/// Bytes of the binary form.
const CONTEXT: usize = 16 + 8 + 64;

impl Md5 {
    fn new() -> Md5 {
        Md5 { state: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476], bytes: 0, block: [0; 64] }
    }

    fn to_bytes(&self) -> [u8; CONTEXT] {
        let mut bytes = [0; CONTEXT];
        for (place, word) in bytes.chunks_exact_mut(4).zip(self.state) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[24..].copy_from_slice(&self.block);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Md5> {
        let bytes: &[u8; CONTEXT] = bytes.try_into().ok()?;
        let mut md5 = Md5::new();
        for (word, place) in md5.state.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(place.try_into().ok()?);
        }
        md5.bytes = u64::from_le_bytes(bytes[16..24].try_into().ok()?);
        md5.block.copy_from_slice(&bytes[24..]);
        Some(md5)
    }

    fn update(&mut self, mut data: &[u8]) {
        let filled = (self.bytes % 64) as usize;
        self.bytes = self.bytes.wrapping_add(data.len() as u64);
        if filled > 0 {
            let (now, rest) = data.split_at(data.len().min(64 - filled));
            self.block[filled..filled + now.len()].copy_from_slice(now);
            if filled + now.len() < 64 {
                return;
            }
            compress(&mut self.state, &[self.block]);
            data = rest;
        }
        let (blocks, rest) = data.as_chunks::<64>();
        compress(&mut self.state, blocks);
        self.block[..rest.len()].copy_from_slice(rest);
    }

    fn finish(mut self) -> [u8; 16] {
        let bits = self.bytes.wrapping_mul(8);
        let filled = (self.bytes % 64) as usize;
        let zeros = if filled < 56 { 56 - filled } else { 120 - filled };
        let mut padding = [0; 64 + 8];
        padding[0] = 0x80;
        padding[zeros..zeros + 8].copy_from_slice(&bits.to_le_bytes());
        self.update(&padding[..zeros + 8]);
        let mut digest = [0; 16];
        for (place, word) in digest.chunks_exact_mut(4).zip(self.state) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        digest
    }
}

/// Gives iodata to a digest; `cost` bytes are one reduction.
fn feed(ctx: &mut Ctx<'_>, data: Term, cost: usize, mut f: impl FnMut(&[u8])) -> Result<(), Escape> {
    if is_longer(data, LONG) {
        dirty(ctx)?;
    }
    let mut bytes = 0;
    each_run(data, |run| {
        bytes += run.len();
        f(run);
    })?;
    ctx.bump(bytes / cost);
    Ok(())
}

/// Bytes of MD5 for one reduction.
const MD5_COST: usize = 64;

fn md5_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut md5 = Md5::new();
    feed(ctx, args[0], MD5_COST, |run| md5.update(run))?;
    Ok(ctx.binary(&md5.finish()))
}

fn context(term: Term) -> Result<Md5, Escape> {
    match term.as_binary().and_then(|bytes| Md5::from_bytes(&bytes)) {
        Some(md5) => Ok(md5),
        None => badarg(),
    }
}

fn md5_update_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut md5 = context(args[0])?;
    feed(ctx, args[1], MD5_COST, |run| md5.update(run))?;
    Ok(ctx.binary(&md5.to_bytes()))
}

fn md5_final_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let md5 = context(args[0])?;
    Ok(ctx.binary(&md5.finish()))
}

/// A checksum of 32 bits.
trait Checksum {
    fn add(&mut self, bytes: &[u8]);
    fn value(self) -> u32;
}

impl Checksum for Hasher {
    fn add(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn value(self) -> u32 {
        self.finalize()
    }
}

/// zlib's sum: for one that is out of range to begin with, it is as wrong as zlib has it.
struct Adler32(u32);

impl Checksum for Adler32 {
    fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let (part, after) = rest.split_at(rest.len().min(1 << 30));
            // SAFETY: zlib reads as many bytes as the part has, and keeps nothing.
            self.0 = unsafe { libz_sys::adler32(self.0.into(), part.as_ptr(), part.len() as u32) } as u32;
            // No bytes count, too: they bring a sum that is out of range back into it.
            if after.is_empty() {
                return;
            }
            rest = after;
        }
    }

    fn value(self) -> u32 {
        self.0
    }
}

/// Bytes of a checksum for one reduction.
const CHECKSUM_COST: usize = 256;

fn checksum(ctx: &mut Ctx<'_>, mut sum: impl Checksum, data: Term) -> BifResult {
    feed(ctx, data, CHECKSUM_COST, |run| sum.add(run))?;
    Ok(Term::small(i64::from(sum.value())))
}

fn word(term: Term) -> Result<u32, Escape> {
    match term.as_usize().and_then(|n| u32::try_from(n).ok()) {
        Some(word) => Ok(word),
        None => badarg(),
    }
}

fn crc32_combine_3(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (first, second, len) = (word(args[0])?, word(args[1])?, word(args[2])?);
    if len == 0 {
        return Ok(Term::small(i64::from(first ^ second)));
    }
    let mut sum = Hasher::new_with_initial(first);
    sum.combine(&Hasher::new_with_initial_len(second, u64::from(len)));
    Ok(Term::small(i64::from(sum.finalize())))
}

fn adler32_combine_3(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (first, second, len) = (word(args[0])?, word(args[1])?, word(args[2])?);
    if len == 0 {
        return Ok(Term::small(i64::from(first)));
    }
    // SAFETY: a function of three numbers.
    let sum = unsafe { libz_sys::adler32_combine(first.into(), second.into(), len.into()) };
    Ok(Term::small(sum as i64))
}
