//! Module `binary`, but for searching: see [`search`].

mod search;

pub use search::SEARCH;

use crate::guards::binary_part;
use crate::iolists::{binary_of_vec, bytes_of};
use crate::work;
use myriad_term::{Build, Term, am};
use myriad_vm::bif::{BADARG, Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};
use std::borrow::Cow;

myriad_vm::bifs! { pub BINARIES = "binary" {
    "at" / 2 Plain => at_2;
    "first" / 1 Plain => |_, a| byte_of(bytes(a[0])?.first());
    "last" / 1 Plain => |_, a| byte_of(bytes(a[0])?.last());
    "copy" / 1 Plain => |ctx, a| copy(ctx, a[0], 1);
    "copy" / 2 Plain => copy_2;
    "part" / 2 Plain => part_2;
    "part" / 3 Plain => |ctx, a| binary_part(ctx, a[0], a[1], a[2]);
    "list_to_bin" / 1 Plain => list_to_bin_1;
    "longest_common_prefix" / 1 Plain => |_, a| longest_common(a[0], <[u8]>::get);
    "longest_common_suffix" / 1 Plain => |_, a| longest_common(a[0], |text, i| text.iter().nth_back(i));
    "encode_unsigned" / 1 Plain => |ctx, a| encode_unsigned(ctx, a[0], false);
    "encode_unsigned" / 2 Plain => |ctx, a| encode_unsigned(ctx, a[0], is_little(a[1])?);
    "decode_unsigned" / 1 Plain => |ctx, a| decode_unsigned(ctx, a[0], false);
    "decode_unsigned" / 2 Plain => |ctx, a| decode_unsigned(ctx, a[0], is_little(a[1])?);
    "referenced_byte_size" / 1 Plain => referenced_byte_size_1;
}}

/// Bytes from which on copying is work for a dirty scheduler.
const LONG: usize = 4 << 20;
/// Most bytes of a binary.
const LARGEST: usize = 1 << 40;

/// The bytes of a binary, or `badarg`.
fn bytes<'a>(term: Term) -> Result<Cow<'a, [u8]>, Escape> {
    term.as_binary().ok_or(BADARG)
}

fn byte_of(byte: Option<&u8>) -> BifResult {
    byte.map(|b| Term::small(i64::from(*b))).ok_or(BADARG)
}

fn at_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (Some(bits), Some(i)) = (args[0].as_bits(), args[1].as_usize()) else { return badarg() };
    if !bits.is_binary() || i >= bits.len() / 8 {
        return badarg();
    }
    Ok(Term::small(i64::from(bits.byte(i))))
}

fn copy_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[1].as_usize() {
        Some(times) => copy(ctx, args[0], times),
        None => badarg(),
    }
}

fn copy(ctx: &mut Ctx<'_>, binary: Term, times: usize) -> BifResult {
    if times == 0 && binary.is_bitstring() {
        return Ok(ctx.binary(&[]));
    }
    let source = bytes(binary)?;
    let size = source.len().checked_mul(times).filter(|size| *size <= LARGEST).ok_or(SYSTEM_LIMIT)?;
    if size > LONG {
        work::dirty(ctx)?;
    }
    ctx.bump(size / 1024);
    Ok(binary_of_vec(ctx, source.repeat(times)))
}

fn part_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[1].as_tuple_of::<2>() {
        Some([start, len]) => binary_part(ctx, args[0], start, len),
        None => badarg(),
    }
}

fn list_to_bin_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[0].is_list() {
        return badarg();
    }
    let bytes = bytes_of(ctx, args[0])?;
    Ok(binary_of_vec(ctx, bytes))
}

/// Counts the places, from 0 up, at which `byte` finds the same in all texts.
fn longest_common(list: Term, byte: impl Fn(&[u8], usize) -> Option<&u8>) -> BifResult {
    let mut items = list.list_iter();
    let texts = items.by_ref().map(bytes).collect::<Result<Vec<_>, _>>()?;
    let Some((first, others)) = texts.split_first().filter(|_| items.tail().is_nil()) else { return badarg() };
    let agree = |i: &usize| {
        let expected = byte(first, *i);
        expected.is_some() && others.iter().all(|t| byte(t, *i) == expected)
    };
    Ok(Term::small((0..).take_while(agree).count() as i64))
}

fn is_little(endianness: Term) -> Result<bool, Escape> {
    match endianness.as_atom() {
        Some(am::little) => Ok(true),
        Some(am::big) => Ok(false),
        _ => badarg(),
    }
}

fn encode_unsigned(ctx: &mut Ctx<'_>, value: Term, little: bool) -> BifResult {
    let small;
    let limbs = if let Some(v) = value.as_small().and_then(|v| u64::try_from(v).ok()) {
        small = [v];
        &small[..]
    } else {
        match value.as_big() {
            Some((false, limbs)) => limbs,
            _ => return badarg(),
        }
    };
    let mut bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    let used = bytes.iter().rposition(|b| *b != 0).unwrap_or(0) + 1;
    bytes.truncate(used);
    if !little {
        bytes.reverse();
    }
    Ok(binary_of_vec(ctx, bytes))
}

fn decode_unsigned(ctx: &mut Ctx<'_>, binary: Term, little: bool) -> BifResult {
    let mut bytes = bytes(binary)?.into_owned();
    if !little {
        bytes.reverse();
    }
    let used = bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1);
    let limbs: Vec<u64> = bytes[..used]
        .chunks(8)
        .map(|chunk| chunk.iter().rev().fold(0, |limb, byte| limb << 8 | u64::from(*byte)))
        .collect();
    if limbs.len() > myriad_term::arith::limit_words() {
        return Err(SYSTEM_LIMIT);
    }
    Ok(ctx.big(false, &limbs))
}

/// Bytes of the binary that this one is a part of.
fn referenced_byte_size_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let whole = args[0].binary_parts().and_then(|(whole, ..)| whole.as_bits());
    match whole {
        Some(bits) => Ok(ctx.uint(bits.len().div_ceil(8) as u64)),
        None => badarg(),
    }
}
