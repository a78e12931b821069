//! Module `binary`: parts, copies, integers; searching is in `search`, patterns in `pattern`.

mod pattern;
mod search;
#[cfg(test)]
mod tests;

use crate::argument::Bytes;
use crate::guards::binary_part;
use crate::iolists::list_to_binary_1;
use crate::work::{dirty, in_slices};
use myriad_term::boxed::Header;
use myriad_term::{BinaryBuffer, Build, Kind, Term, am};
use myriad_vm::bif::{BADARG, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx, Vm};

myriad_vm::bifs! { pub BINARY = "binary" {
    "at" / 2 Plain => at_2;
    "compile_pattern" / 1 Plain => pattern::compile_pattern_1;
    "copy" / 1 Plain => |ctx, a| copy(ctx, a[0], 1);
    "copy" / 2 Plain => copy_2;
    "decode_unsigned" / 1 Plain => |ctx, a| decode_unsigned(ctx, a[0], am::big.term());
    "decode_unsigned" / 2 Plain => |ctx, a| decode_unsigned(ctx, a[0], a[1]);
    "encode_unsigned" / 1 Plain => |ctx, a| encode_unsigned(ctx, a[0], am::big.term());
    "encode_unsigned" / 2 Plain => |ctx, a| encode_unsigned(ctx, a[0], a[1]);
    "first" / 1 Plain => |_, a| byte(a[0], |_| Some(0));
    "last" / 1 Plain => |_, a| byte(a[0], |size| size.checked_sub(1));
    "list_to_bin" / 1 Plain => list_to_binary_1;
    "longest_common_prefix" / 1 Plain => |ctx, a| longest_common(ctx, a[0], false);
    "longest_common_suffix" / 1 Plain => |ctx, a| longest_common(ctx, a[0], true);
    "match" / 2 Plain => |ctx, a| search::first(ctx, a[0], a[1], Term::NIL);
    "match" / 3 Plain => |ctx, a| search::first(ctx, a[0], a[1], a[2]);
    "matches" / 2 Plain => |ctx, a| search::all(ctx, a[0], a[1], Term::NIL);
    "matches" / 3 Plain => |ctx, a| search::all(ctx, a[0], a[1], a[2]);
    "part" / 2 Plain => |ctx, a| match a[1].as_tuple_of::<2>() {
        Some([start, len]) => binary_part(ctx, a[0], start, len),
        None => badarg(),
    };
    "part" / 3 Plain => |ctx, a| binary_part(ctx, a[0], a[1], a[2]);
    "referenced_byte_size" / 1 Plain => referenced_byte_size_1;
    "split" / 2 Plain => |ctx, a| search::split(ctx, a[0], a[1], Term::NIL);
    "split" / 3 Plain => |ctx, a| search::split(ctx, a[0], a[1], a[2]);
}}

/// More bytes than this are copied, compared or converted on a dirty scheduler.
const LONG: usize = 1 << 20;
/// Most bytes of a binary.
const LARGEST: usize = 1 << 40;
/// Bytes that are copied, compared or converted for one reduction.
const BYTES_PER_REDUCTION: usize = 256;

/// Bytes that are copied, compared or searched in one slice at most.
fn slice_limit(vm: &Vm) -> usize {
    vm.test_hooks.binary_bytes.get().max(1)
}

/// Counts work on `bytes` bytes; `Err` if it is so much that a dirty scheduler must do it.
fn charge(ctx: &mut Ctx<'_>, bytes: usize) -> Result<(), Escape> {
    if bytes > LONG {
        dirty(ctx)?;
    }
    ctx.bump(bytes / BYTES_PER_REDUCTION);
    Ok(())
}

/// The byte at the index that `index` says for the size.
fn byte(binary: Term, index: impl FnOnce(usize) -> Option<usize>) -> BifResult {
    let byte = match binary.as_aligned_bytes() {
        Some(bytes) => index(bytes.len()).and_then(|i| bytes.get(i).copied()),
        None => unaligned_byte(binary, index),
    };
    byte.map(|byte| Term::small(i64::from(byte))).ok_or(BADARG)
}

#[cold]
fn unaligned_byte(binary: Term, index: impl FnOnce(usize) -> Option<usize>) -> Option<u8> {
    let bits = binary.as_bits().filter(|bits| bits.is_binary())?;
    let size = bits.len() / 8;
    index(size).filter(|i| *i < size).map(|i| bits.byte(i))
}

fn at_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    byte(args[0], |_| args[1].as_usize())
}

fn copy_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let times = match args[1].as_big() {
        Some((false, [times])) => usize::try_from(*times).ok(),
        _ => args[1].as_usize(),
    };
    copy(ctx, args[0], times.ok_or(BADARG)?)
}

/// Bytes that are copied at once, however little of the slice is left.
const AT_ONCE: usize = 16 * 1024;

fn copy(ctx: &mut Ctx<'_>, binary: Term, times: usize) -> BifResult {
    // As in OTP, no copies can be made of any bit string.
    let bits = binary.as_bits().filter(|b| times == 0 || b.is_binary()).ok_or(BADARG)?;
    let size = (bits.len() / 8).checked_mul(times).filter(|size| *size <= LARGEST).ok_or(SYSTEM_LIMIT)?;
    if size == 0 {
        return Ok(ctx.binary(&[]));
    }
    let mut copies = BinaryBuffer::with_capacity(size);
    if bits.len() / 8 > LONG && bits.as_bytes().is_none() {
        dirty(ctx)?;
    }
    let bytes = Bytes::of(binary).ok_or(BADARG)?;
    if size <= AT_ONCE.min(slice_limit(ctx.vm)) {
        match *bytes {
            [one] => copies.extend(std::iter::repeat_n(one, size)),
            _ => (0..times).for_each(|_| copies.extend_from_slice(&bytes)),
        }
        ctx.bump(size / BYTES_PER_REDUCTION);
        return Ok(copies.into_term(ctx));
    }
    in_slices(ctx, BYTES_PER_REDUCTION, move |ctx, budget| {
        let mut most = (*budget).min(slice_limit(ctx.vm));
        *budget -= most;
        while most > 0 && copies.len() < size {
            let (done, at) = (copies.len(), copies.len() % bytes.len());
            let now = if at == 0 && done > 0 {
                // What is there repeats itself.
                let now = most.min(done).min(size - done);
                copies.repeat(now);
                now
            } else {
                let now = most.min(bytes.len() - at);
                copies.extend_from_slice(&bytes[at..at + now]);
                now
            };
            most -= now;
        }
        Ok((copies.len() == size).then(|| std::mem::take(&mut copies).into_term(ctx)))
    })
}

/// Least significant byte first?
fn is_little(endianness: Term) -> Result<bool, Escape> {
    match endianness.as_atom() {
        Some(am::little) => Ok(true),
        Some(am::big) => Ok(false),
        _ => badarg(),
    }
}

fn encode_unsigned(ctx: &mut Ctx<'_>, integer: Term, endianness: Term) -> BifResult {
    let small;
    let limbs = match (integer.as_small(), integer.as_big()) {
        (Some(value), _) => {
            small = [u64::try_from(value).map_err(|_| BADARG)?];
            &small
        }
        (_, Some((false, limbs))) => limbs,
        _ => return badarg(),
    };
    let little = is_little(endianness)?;
    charge(ctx, limbs.len() * 8)?;
    let mut bytes = BinaryBuffer::with_capacity(8 * limbs.len());
    limbs.iter().for_each(|limb| bytes.extend_from_slice(&limb.to_le_bytes()));
    let used = bytes.iter().rposition(|b| *b != 0).map_or(1, |i| i + 1);
    bytes.truncate(used);
    if !little {
        bytes.reverse();
    }
    Ok(bytes.into_term(ctx))
}

fn decode_unsigned(ctx: &mut Ctx<'_>, binary: Term, endianness: Term) -> BifResult {
    let Some(bytes) = binary.as_binary() else { return badarg() };
    let little = is_little(endianness)?;
    if bytes.len() / 8 >= Header::MAX_SIZE {
        return Err(SYSTEM_LIMIT);
    }
    charge(ctx, bytes.len())?;
    let limbs: Vec<u64> = if little {
        bytes.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |limb, b| limb << 8 | u64::from(*b))).collect()
    } else {
        bytes.rchunks(8).map(|chunk| chunk.iter().fold(0, |limb, b| limb << 8 | u64::from(*b))).collect()
    };
    Ok(ctx.big(false, &limbs))
}

fn longest_common(ctx: &mut Ctx<'_>, list: Term, at_end: bool) -> BifResult {
    let mut items = list.list_iter();
    let mut binaries: Vec<Bytes> = Vec::new();
    let mut moved = 0;
    for item in items.by_ref() {
        let bytes = Bytes::of(item).ok_or(BADARG)?;
        moved += if bytes.is_moved() { bytes.len() } else { 1 };
        if moved > LONG {
            dirty(ctx)?;
        }
        binaries.push(bytes);
    }
    if !items.tail().is_nil() || binaries.is_empty() {
        return badarg();
    }
    let mut common = binaries.iter().map(|b| b.len()).min().unwrap_or(0);
    // The binary that is compared with the first, and how far.
    let (mut other, mut done) = (1, 0);
    in_slices(ctx, BYTES_PER_REDUCTION, move |ctx, budget| {
        let mut most = (*budget).min(slice_limit(ctx.vm));
        *budget -= most;
        while other < binaries.len() && common > 0 {
            if most == 0 {
                return Ok(None);
            }
            let now = most.min(common - done);
            let (a, b) = (&binaries[0][..], &binaries[other][..]);
            let same = if at_end {
                common_suffix(&a[..a.len() - done], &b[..b.len() - done], now)
            } else {
                common_prefix(&a[done..], &b[done..], now)
            };
            most -= now;
            done += same;
            if same < now {
                common = done;
            }
            if done == common {
                (other, done) = (other + 1, 0);
            }
        }
        Ok(Some(Term::small(common as i64)))
    })
}

/// How many bytes both begin with, of `most` that both have.
fn common_prefix(a: &[u8], b: &[u8], most: usize) -> usize {
    let (a, b) = (&a[..most], &b[..most]);
    if a == b { most } else { a.iter().zip(b).take_while(|(x, y)| x == y).count() }
}

/// How many bytes both end with, of `most` that both have.
fn common_suffix(a: &[u8], b: &[u8], most: usize) -> usize {
    let (a, b) = (&a[a.len() - most..], &b[b.len() - most..]);
    if a == b { most } else { a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count() }
}

fn referenced_byte_size_1(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((whole, _, bits)) = args[0].binary_parts() else { return badarg() };
    match whole.as_boxed() {
        Some(object) if object.kind() == Kind::SharedBinary => Ok(Term::small(object.shared().len() as i64)),
        // Other terms cannot be seen to share a binary on a heap.
        _ => Ok(Term::small(bits.div_ceil(8) as i64)),
    }
}
