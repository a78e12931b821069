//! Decoding of the terms that contain no others: numbers, bit strings, pids, ports, references.

use super::decode::{DecodeError, DecodeOptions};
use super::reader::Reader;
use super::tag;
use crate::alloc::Build;
use crate::boxed::{Header, Kind};
use crate::id::{Pid, Port, RefNumbers};
use crate::node::word_of_other;
use crate::word::TermRef;

/// Most 64-bit words of a big integer (OTP 25).
const MAX_BIG_WORDS: usize = (1 << 19) - 1;
/// Local references, and those of the old forms, have so few bits in the first number.
const MAX_FIRST_REF_NUMBER: u32 = 1 << RefNumbers::FIRST_BITS;
/// Bits of OTP's small integers, beside the sign.
const OTP_SMALL_BITS: u32 = 59;
/// Creations of the old forms have two bits.
const MAX_OLD_CREATION: u32 = 4;

/// A float, if it is one that Erlang has.
pub(super) fn float<'h, A: Build<'h> + ?Sized>(heap: &mut A, value: f64) -> Result<TermRef<'h>, DecodeError> {
    if value.is_finite() { Ok(heap.float(value)) } else { Err(DecodeError::BadArg) }
}

/// Text of a float: sign, digits, point (or comma), digits, exponent; then zero bytes.
pub(super) fn old_float(text: &[u8]) -> Result<f64, DecodeError> {
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    let text = &text[..end];
    let digits = |s: &[u8]| s.iter().take_while(|b| b.is_ascii_digit()).count();
    let sign = |s: &[u8]| usize::from(matches!(s.first(), Some(b'+' | b'-')));
    let mut at = sign(text);
    let whole = digits(&text[at..]);
    at += whole;
    let point = at;
    at += usize::from(matches!(text.get(at), Some(b'.' | b',')));
    let fraction = digits(&text[at..]);
    at += fraction;
    let mut good = at - fraction > point && whole > 0 && fraction > 0;
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += sign(&text[at..]);
        let exponent = digits(&text[at..]);
        at += exponent;
        good &= exponent > 0;
    }
    if !good || at < text.len() {
        return Err(DecodeError::BadArg);
    }
    let text = std::str::from_utf8(text).map_err(|_| DecodeError::BadArg)?;
    text.replace(',', ".").parse().map_err(|_| DecodeError::BadArg)
}

/// A bit string: length, bits of the last byte, bytes.
pub(super) fn bit_binary<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    reader: &mut Reader<'_>,
) -> Result<TermRef<'h>, DecodeError> {
    let len = reader.u32()? as usize;
    let last = usize::from(reader.u8()?);
    let bytes = reader.take(len)?;
    match (len, last) {
        (0, 0) => Ok(heap.binary(&[])),
        (0, _) | (_, 0 | 9..) => Err(DecodeError::BadArg),
        (_, 8) => Ok(heap.binary(bytes)),
        _ => Ok(heap.bitstring(bytes, 8 * (len - 1) + last)),
    }
}

/// How many bytes there are up to the last that is not zero.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1)
}

/// At most eight bytes, the least significant first.
fn limb(chunk: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..chunk.len()].copy_from_slice(chunk);
    u64::from_le_bytes(eight)
}

/// An integer of `len` bytes: sign, then the magnitude, least significant byte first.
pub(super) fn big<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    reader: &mut Reader<'_>,
    len: usize,
) -> Result<TermRef<'h>, DecodeError> {
    let negative = reader.u8()? != 0;
    let bytes = reader.take(len)?;
    let used = used(bytes);
    if used <= 8 {
        return Ok(heap.big(negative, &[limb(&bytes[..used])]));
    }
    if used.div_ceil(8) > MAX_BIG_WORDS {
        return Err(DecodeError::BadArg);
    }
    let limbs: Vec<u64> = bytes[..used].chunks(8).map(limb).collect();
    Ok(heap.big(negative, &limbs))
}

/// A small integer where nothing else may stand, in whatever form: one that is small in OTP.
pub(super) fn integer(reader: &mut Reader<'_>) -> Result<i64, DecodeError> {
    let len = match reader.u8()? {
        tag::SMALL_INTEGER => return Ok(i64::from(reader.u8()?)),
        tag::INTEGER => return Ok(i64::from(reader.u32()? as i32)),
        tag::SMALL_BIG => usize::from(reader.u8()?),
        tag::LARGE_BIG => reader.u32()? as usize,
        _ => return Err(DecodeError::BadArg),
    };
    let negative = reader.u8()? != 0;
    let bytes = reader.take(len)?;
    let magnitude = match used(bytes) {
        few @ ..=8 => i128::from(limb(&bytes[..few])),
        _ => return Err(DecodeError::BadArg),
    };
    let value = if negative { -magnitude } else { magnitude };
    let small = -(1 << OTP_SMALL_BITS)..1 << OTP_SMALL_BITS;
    if small.contains(&value) { Ok(value as i64) } else { Err(DecodeError::BadArg) }
}

fn creation(reader: &mut Reader<'_>, old: bool) -> Result<u32, DecodeError> {
    if !old {
        return reader.u32();
    }
    let creation = u32::from(reader.u8()?);
    if creation < MAX_OLD_CREATION { Ok(creation) } else { Err(DecodeError::BadArg) }
}

/// A pid.
pub(super) fn pid<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    reader: &mut Reader<'_>,
    options: &DecodeOptions<'_>,
    form: u8,
) -> Result<TermRef<'h>, DecodeError> {
    let node = options.atom(reader)?;
    let (number, serial) = (reader.u32()?, reader.u32()?);
    let creation = creation(reader, form == tag::PID)?;
    if options.node.is(node, creation) {
        let pid = Pid::new(number, serial);
        if number >> Pid::NUMBER_BITS != 0 || !pid.is_plausible() {
            return Err(DecodeError::BadArg);
        }
        return Ok(pid.term());
    }
    let words = [word_of_other(node, creation), u64::from(serial) << 32 | u64::from(number)];
    Ok(heap.boxed_raw(Header::new(Kind::ExternalPid, 2), &words))
}

/// A port.
pub(super) fn port<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    reader: &mut Reader<'_>,
    options: &DecodeOptions<'_>,
    form: u8,
) -> Result<TermRef<'h>, DecodeError> {
    let node = options.atom(reader)?;
    let number = if form == tag::V4_PORT { reader.u64()? } else { u64::from(reader.u32()?) };
    let creation = creation(reader, form == tag::PORT)?;
    if options.node.is(node, creation) {
        let port = Port::from_number(number);
        return if port.number() == number && port.is_plausible() { Ok(port.term()) } else { Err(DecodeError::BadArg) };
    }
    Ok(heap.boxed_raw(Header::new(Kind::ExternalPort, 2), &[word_of_other(node, creation), number]))
}

/// A reference.
pub(super) fn reference<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    reader: &mut Reader<'_>,
    options: &DecodeOptions<'_>,
    form: u8,
) -> Result<TermRef<'h>, DecodeError> {
    let mut numbers = [0u32; 5];
    let (node, from, count);
    if form == tag::REFERENCE {
        node = options.atom(reader)?;
        numbers[0] = reader.u32()?;
        from = creation(reader, true)?;
        count = 1;
    } else {
        count = usize::from(reader.u16()?);
        node = options.atom(reader)?;
        from = creation(reader, form == tag::NEW_REFERENCE)?;
        for number in numbers.get_mut(..count).ok_or(DecodeError::BadArg)? {
            *number = reader.u32()?;
        }
    }
    let local = options.node.is(node, from);
    let too_large = numbers[0] >= MAX_FIRST_REF_NUMBER && (local || form != tag::NEWER_REFERENCE);
    if too_large || local && !(1..=3).contains(&count) {
        return Err(DecodeError::BadArg);
    }
    if local {
        return Ok(heap.reference(RefNumbers([numbers[0], numbers[1], numbers[2]])));
    }
    let mut words = [word_of_other(node, from), 0, 0, 0];
    for (i, number) in numbers.iter().enumerate().take(count) {
        words[1 + i / 2] |= u64::from(*number) << (32 * (i % 2));
    }
    let size = 1 + count.div_ceil(2);
    Ok(heap.boxed_raw(Header::new(Kind::ExternalRef, size).with_aux(count as u32), &words[..size]))
}
