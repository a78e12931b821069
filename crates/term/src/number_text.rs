//! Numbers as text and back, letter by letter as OTP 25 has them.
//!
//! Integers of any size in bases 2 to 36 (large ones by dashu's subquadratic conversion). Floats in four forms: shortest
//! that reads back (`short`, also what printing a term gives), scientific, with a number of decimals, and compact.
//!
//! NT1. A float's text never exceeds [`FLOAT_TEXT`] - 1 bytes: longer is `badarg`, as OTP's buffer has it.
//! NT2. `decimals` up to [`FAST_DECIMALS`] of a float below 2^53 rounds `fraction * 10^decimals`, which is not what
//!     `printf` gives (0.045 with two decimals is 0.05); beyond that all digits are exact.

use crate::alloc::{Alloc, Build};
use crate::arith::{Number, limit_words};
use crate::word::TermRef;
use dashu_int::UBig;
use std::fmt::Write;

/// OTP's buffer for a float's text, its final zero included.
const FLOAT_TEXT: usize = 256;
/// Most decimals of the quick conversion (NT2).
const FAST_DECIMALS: u32 = 18;
/// Most decimals that may be asked for.
const MOST_DECIMALS: i64 = 253;
/// Most digits after the point in scientific form.
const MOST_SCIENTIFIC: i64 = 249;
/// 2^53: from here on the shortest form has an exponent, and (NT2) decimals are exact.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Why a text is no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextError {
    /// Not of the syntax, or a float out of range.
    BadArg,
    /// The integer would be too large.
    SystemLimit,
}

// ---- integers

/// Appends an integer in a base of 2 to 36, digits above 9 as capitals; false if the term is no integer or the base none.
pub fn push_integer<'h>(out: &mut String, term: TermRef<'h>, base: u32) -> bool {
    if !(2..=36).contains(&base) {
        return false;
    }
    match Number::of(&term) {
        Some(Number::Small(v)) => push_i64(out, v, base),
        Some(Number::Big(negative, limbs)) => {
            if negative {
                out.push('-');
            }
            let value = UBig::from_words(limbs);
            let from = out.len();
            // Writing to a string does not fail; the base is in dashu's range.
            let _ = if base == 10 { write!(out, "{value}") } else { write!(out, "{}", value.in_radix(base as u8)) };
            if let Some(digits) = out.get_mut(from..) {
                digits.make_ascii_uppercase();
            }
        }
        _ => return false,
    }
    true
}

fn push_i64(out: &mut String, value: i64, base: u32) {
    if base == 10 {
        let _ = write!(out, "{value}");
        return;
    }
    let mut digits = [0u8; 65];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        let digit = (rest % u64::from(base)) as u8;
        digits[at] = if digit < 10 { b'0' + digit } else { b'A' + digit - 10 };
        rest /= u64::from(base);
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push('-');
    }
    out.extend(digits[at..].iter().map(|d| char::from(*d)));
}

/// The text of an integer; none if the term is no integer or the base not 2 to 36.
pub fn integer_text<'h>(term: TermRef<'h>, base: u32) -> Option<String> {
    let mut out = String::new();
    push_integer(&mut out, term, base).then_some(out)
}

/// Reads an integer: an optional sign, then at least one digit of a base of 2 to 36, and nothing else.
pub fn read_integer<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, text: &[u8], base: u32) -> Result<TermRef<'h>, TextError> {
    if !(2..=36).contains(&base) {
        return Err(TextError::BadArg);
    }
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    // 10^18 is below 2^60.
    if base == 10 && (1..=18).contains(&digits.len()) {
        let mut value = 0;
        for digit in digits {
            let digit = digit.wrapping_sub(b'0');
            if digit > 9 {
                return Err(TextError::BadArg);
            }
            value = value * 10 + i64::from(digit);
        }
        return Ok(heap.int(if negative { -value } else { value }));
    }
    if digits.is_empty() || !digits.iter().all(|d| char::from(*d).is_digit(base)) {
        return Err(TextError::BadArg);
    }
    let digits = &digits[digits.iter().position(|d| *d != b'0').unwrap_or(digits.len() - 1)..];
    // 36^12 is below 2^63.
    if digits.len() <= 12 {
        let digit = |d: &u8| i64::from(char::from(*d).to_digit(base).unwrap_or(0));
        let value = digits.iter().fold(0, |value, d| value * i64::from(base) + digit(d));
        return Ok(heap.int(if negative { -value } else { value }));
    }
    // Each digit has at least floor(log2 base) bits.
    if (digits.len() as u64 - 1) * u64::from(base.ilog2()) >= limit_words() as u64 * 64 {
        return Err(TextError::SystemLimit);
    }
    let value = std::str::from_utf8(digits).ok().and_then(|digits| UBig::from_str_radix(digits, base).ok());
    let value = value.ok_or(TextError::BadArg)?;
    if value.as_words().len() > limit_words() {
        return Err(TextError::SystemLimit);
    }
    Ok(heap.big(negative, value.as_words()))
}

// ---- floats

/// Appends the shortest text that reads back as the same float: `float_to_list(F, [short])` and `~w`.
pub fn push_short(out: &mut String, value: f64) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    if is_placed(text.as_bytes()) && value.abs() < WHOLE {
        out.push_str(text);
        return;
    }
    let text = text.as_bytes();
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if negative {
        out.push('-');
    }
    let (mantissa, exponent) = match text.iter().position(|c| *c == b'e') {
        Some(e) => (&text[..e], std::str::from_utf8(&text[e + 1..]).ok().and_then(|e| e.parse().ok()).unwrap_or(0)),
        None => (text, 0i32),
    };
    // The digits without point and outer zeros; the value is 0.DIGITS * 10^place.
    let mut digits = [0u8; 32];
    let (mut count, mut place, mut point) = (0, exponent, false);
    for c in mantissa {
        match c {
            b'.' => point = true,
            b'0' if count == 0 => place -= i32::from(point),
            digit => {
                if let Some(slot) = digits.get_mut(count) {
                    *slot = *digit;
                    count += 1;
                }
                place += i32::from(!point);
            }
        }
    }
    while count > 0 && digits[count - 1] == b'0' {
        count -= 1;
    }
    if count == 0 {
        out.push_str("0.0");
        return;
    }
    push_placed(out, &digits[..count], place, value.abs() >= WHOLE);
}

/// Digits, a point where [`push_placed`] would have it, digits that do not end in a zero: most floats that people write.
fn is_placed(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let Some(point) = unsigned.iter().position(|c| !c.is_ascii_digit()) else { return false };
    match unsigned.split_at(point) {
        (b"", _) => false,
        (whole, [b'.', first, rest @ ..]) => {
            first.is_ascii_digit()
                && rest.iter().all(u8::is_ascii_digit)
                && rest.last().unwrap_or(first) != &b'0'
                && if whole[0] == b'0' { whole.len() == 1 && *first != b'0' } else { true }
        }
        _ => false,
    }
}

/// The shortest text that reads back, for `give`: without memory of its own for most.
pub fn with_short<R>(value: f64, give: impl FnOnce(&str) -> R) -> R {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    // In this range it is all digits, with a point where `push_placed` has it, but for numbers of many zeros.
    let placed = (0.1..WHOLE).contains(&value.abs()) && !text.ends_with('0');
    debug_assert!(!placed || is_placed(text.as_bytes()));
    if placed || value.abs() < WHOLE && is_placed(text.as_bytes()) { give(text) } else { give(&short(value)) }
}

/// Appends 0.`digits` * 10^`place`, with an exponent where that is shorter or `exponent` asks for it.
fn push_placed(out: &mut String, digits: &[u8], place: i32, exponent: bool) {
    let len = digits.len() as i32;
    let digit = |d: &u8| char::from(*d);
    let zeros = |out: &mut String, n: i32| (0..n).for_each(|_| out.push('0'));
    let (whole, fraction) = digits.split_at(place.clamp(0, len) as usize);
    // What the exponent would cost, against what zeros cost.
    let cost = {
        let e = place - 1;
        let figures = e.unsigned_abs().max(1).ilog10() as i32 + 1 + i32::from(e < 0);
        figures + 1 + if len == 1 { 2 } else { 1 }
    };
    if !exponent && place < 0 && 2 - place <= cost || place == 0 {
        out.push_str("0.");
        zeros(out, -place);
        out.extend(digits.iter().map(digit));
    } else if !exponent && place >= len && place - len + 2 <= cost {
        out.extend(digits.iter().map(digit));
        zeros(out, place - len);
        out.push_str(".0");
    } else if place > 0 && place < len && !exponent {
        out.extend(whole.iter().map(digit));
        out.push('.');
        out.extend(fraction.iter().map(digit));
    } else {
        let (first, rest) = digits.split_at(1);
        out.extend(first.iter().map(digit));
        out.push('.');
        out.extend(if rest.is_empty() { b"0" } else { rest }.iter().map(digit));
        let _ = write!(out, "e{}", place - 1);
    }
}

/// The shortest text that reads back.
pub fn short(value: f64) -> String {
    let mut out = String::with_capacity(32);
    push_short(&mut out, value);
    out
}

/// `{scientific, digits}`: that many digits after the point, an exponent of at least two; a negative number asks for six.
/// None is `badarg`. `float_to_list/1` asks for 20.
pub fn scientific(value: f64, digits: i64) -> Option<String> {
    if digits > MOST_SCIENTIFIC {
        return None;
    }
    let digits = usize::try_from(digits).unwrap_or(6);
    let text = quick_scientific(value, digits).unwrap_or_else(|| {
        let text = format!("{value:.digits$e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) => with_exponent(mantissa, exponent.parse().unwrap_or(0)),
            None => text,
        }
    });
    (text.len() < FLOAT_TEXT).then_some(text)
}

/// A mantissa and an exponent, whose digits are at least two.
fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let mut text = String::with_capacity(mantissa.len() + 5);
    text.push_str(mantissa);
    text.push_str(if exponent < 0 { "e-" } else { "e+" });
    if exponent.unsigned_abs() < 10 {
        text.push('0');
    }
    push_i64(&mut text, exponent.unsigned_abs().into(), 10);
    text
}

/// Digits of a fraction that one multiplication gives.
const CHUNK: usize = 19;
/// 10^19
const CHUNK_UNIT: u64 = 10_000_000_000_000_000_000;
/// Leading zeros of the least fraction that is quick, 2^-11.
const QUICK_ZEROS: usize = 3;

/// As [`scientific`] where all digits come from 64 bits before and 64 behind the point, which hold the number exactly.
fn quick_scientific(value: f64, digits: usize) -> Option<String> {
    let wanted = digits + 1;
    if !(CHUNK + 1..=2 * CHUNK - QUICK_ZEROS).contains(&wanted) {
        return None;
    }
    let magnitude = value.abs();
    // 2^-11 and 2^64: then the 53 bits of the mantissa end no later than 2^-64.
    if !(1.0 / 2048.0..18_446_744_073_709_551_616.0).contains(&magnitude) {
        return None;
    }
    let whole = magnitude as u64;
    // 2^64 times what is behind the point: exact, as both the difference and the product are.
    let fraction = ((magnitude - whole as f64) * 18_446_744_073_709_551_616.0) as u64;
    let mut text = String::with_capacity(2 * CHUNK + 8);
    if whole > 0 {
        let _ = write!(text, "{whole}");
    }
    let whole_digits = text.len();
    // A fraction alone may begin with zeros, which are no digits of the mantissa.
    let mut zeros = 0;
    let mut behind = wanted.checked_sub(whole_digits)?;
    let first = behind.min(CHUNK);
    let unit = if whole == 0 { CHUNK_UNIT } else { 10u64.pow(first as u32) };
    let (mut chunk, mut rest) = multiply(fraction, unit);
    if first > 0 {
        let from = text.len();
        let _ = write!(text, "{chunk:0first$}");
        if whole == 0 {
            zeros = text.bytes().skip(from).take_while(|b| *b == b'0').count();
            text.drain(..zeros);
            behind += zeros;
        }
    }
    let second = behind - first;
    if second > 0 {
        (chunk, rest) = multiply(rest, 10u64.pow(second as u32));
        let _ = write!(text, "{chunk:0second$}");
    }
    let mut exponent = if whole > 0 { whole_digits as i32 - 1 } else { -(zeros as i32) - 1 };
    let mut bytes = text.into_bytes();
    let odd = bytes.last().is_some_and(|b| b % 2 == 1);
    if rest > 1 << 63 || rest == 1 << 63 && odd {
        let nines = bytes.iter().rev().take_while(|b| **b == b'9').count();
        let place = bytes.len() - nines;
        bytes[place..].fill(b'0');
        match place.checked_sub(1).and_then(|i| bytes.get_mut(i)) {
            Some(digit) => *digit += 1,
            None => {
                bytes[0] = b'1';
                exponent += 1;
            }
        }
    }
    let mut mantissa = String::with_capacity(bytes.len() + 2);
    if value < 0.0 {
        mantissa.push('-');
    }
    for (i, digit) in bytes.into_iter().enumerate() {
        if i == 1 {
            mantissa.push('.');
        }
        mantissa.push(char::from(digit));
    }
    Some(with_exponent(&mantissa, exponent))
}

/// The product's high and low halves.
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

/// `{decimals, decimals}`, with `compact` without trailing zeros. None is `badarg`.
pub fn decimals(value: f64, decimals: i64, compact: bool) -> Option<String> {
    if !(0..=MOST_DECIMALS).contains(&decimals) {
        return None;
    }
    let magnitude = value.abs();
    if magnitude >= WHOLE || decimals > i64::from(FAST_DECIMALS) {
        let mut text = format!("{value:.*}", decimals as usize);
        if text.len() >= FLOAT_TEXT {
            return None;
        }
        if compact {
            trim_zeros(&mut text);
        }
        return Some(text);
    }
    let decimals = decimals as u32;
    let unit = 10u64.pow(decimals);
    // Below 2^53 and 10^18: both conversions are of whole numbers in range.
    let mut whole = magnitude.floor() as u64;
    let mut fraction = ((magnitude - magnitude.floor()) * unit as f64).round() as u64;
    if fraction >= unit {
        fraction -= unit;
        whole += 1;
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if decimals == 0 {
        return Some(format!("{sign}{whole}"));
    }
    let mut text = format!("{sign}{whole}.{fraction:0>width$}", width = decimals as usize);
    if compact {
        trim_zeros(&mut text);
    }
    Some(text)
}

/// Drops trailing zeros, but for one after the point. Without a point OTP drops the integer's own.
fn trim_zeros(text: &mut String) {
    let len = text.trim_end_matches('0').len();
    text.truncate(len);
    if text.ends_with('.') {
        text.push('0');
    }
}

/// Reads a float: an optional sign, digits, a point (or comma), digits, and perhaps an exponent. None is `badarg`: other
/// syntax, or too large. What is too small is zero.
pub fn read_float(text: &[u8]) -> Option<f64> {
    let digits = |text: &[u8]| text.iter().take_while(|c| c.is_ascii_digit()).count();
    let unsigned = match text {
        [b'-' | b'+', rest @ ..] => rest,
        _ => text,
    };
    let (whole, rest) = unsigned.split_at(digits(unsigned));
    let [b'.' | b',', rest @ ..] = rest else { return None };
    let (fraction, rest) = rest.split_at(digits(rest));
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    if let [mark, exponent @ ..] = rest {
        let exponent = match exponent {
            [b'-' | b'+', rest @ ..] => rest,
            _ => exponent,
        };
        if !matches!(mark, b'e' | b'E') || exponent.is_empty() || digits(exponent) < exponent.len() {
            return None;
        }
    }
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = if text.contains(',') { text.replace(',', ".").parse() } else { text.parse() }.ok()?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
#[path = "number_text_tests.rs"]
mod tests;
