//! Moving runs of bits: bit strings are matched and built with these.
//!
//! Bits are numbered from the most significant of the first byte. All functions check their ranges by slicing; byte-aligned
//! runs take the fast paths.

/// Segment flag: least significant byte first.
pub const LITTLE: u32 = 2;
/// Segment flag: two's complement.
pub const SIGNED: u32 = 4;
/// Segment flag: the machine's byte order.
pub const NATIVE: u32 = 16;

/// Is the segment least significant byte first?
#[inline]
pub const fn is_little(flags: u32) -> bool {
    flags & LITTLE != 0 || (flags & NATIVE != 0 && cfg!(target_endian = "little"))
}

/// `n` (at most 64) bits from bit `at`, as a number with the first bit the most significant. Bits beyond the end are zero.
#[inline]
pub fn read(bytes: &[u8], at: usize, n: usize) -> u64 {
    debug_assert!(n <= 64);
    let (first, shift) = (at / 8, at % 8);
    if n == 0 {
        return 0;
    }
    let head = match bytes.get(first..first + 8) {
        Some(eight) => eight.try_into().map_or(0, u64::from_be_bytes),
        None => {
            let rest = bytes.get(first..).unwrap_or(&[]);
            let mut eight = [0; 8];
            eight[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(eight)
        }
    };
    let mut value = head << shift;
    if shift + n > 64 {
        let ninth = bytes.get(first + 8).copied().unwrap_or(0);
        value |= u64::from(ninth) >> (8 - shift);
    }
    value >> (64 - n)
}

/// Writes the low `n` (at most 64) bits of `value` at bit `at`, leaving the bits around them.
#[inline]
pub fn write(bytes: &mut [u8], at: usize, n: usize, value: u64) {
    debug_assert!(n <= 64);
    if n == 0 {
        return;
    }
    if at.is_multiple_of(8) && n.is_multiple_of(8) {
        let whole = (value << (64 - n)).to_be_bytes();
        bytes[at / 8..at / 8 + n / 8].copy_from_slice(&whole[..n / 8]);
        return;
    }
    let whole = (value << (64 - n)).to_be_bytes();
    copy(bytes, at, &whole, 0, n);
}

/// Copies `n` bits from bit `from` of `source` to bit `to` of `bytes`, leaving the bits around them.
pub fn copy(bytes: &mut [u8], to: usize, source: &[u8], from: usize, n: usize) {
    if n == 0 {
        return;
    }
    if to.is_multiple_of(8) && from.is_multiple_of(8) {
        let whole = n / 8;
        bytes[to / 8..to / 8 + whole].copy_from_slice(&source[from / 8..from / 8 + whole]);
        let rest = n % 8;
        if rest > 0 {
            let mask = !(0xff_u8 >> rest);
            let byte = &mut bytes[to / 8 + whole];
            *byte = (*byte & !mask) | (source[from / 8 + whole] & mask);
        }
        return;
    }
    let (mut to, mut from, mut left) = (to, from, n);
    // Up to the next byte border of the destination.
    let head = (8 - to % 8) % 8;
    if head > 0 {
        let k = head.min(left);
        put_in_byte(&mut bytes[to / 8], to % 8, k, read(source, from, k) as u8);
        to += k;
        from += k;
        left -= k;
    }
    while left >= 64 {
        let value = read(source, from, 64);
        bytes[to / 8..to / 8 + 8].copy_from_slice(&value.to_be_bytes());
        to += 64;
        from += 64;
        left -= 64;
    }
    while left > 0 {
        let k = left.min(8);
        put_in_byte(&mut bytes[to / 8], 0, k, read(source, from, k) as u8);
        to += k;
        from += k;
        left -= k;
    }
}

/// Puts the low `n` bits of `value` at bit `at` of a byte.
fn put_in_byte(byte: &mut u8, at: usize, n: usize, value: u8) {
    let mask = ((0xff_u16 << (8 - n)) as u8) >> at;
    let value = ((u16::from(value) << (8 - n)) as u8) >> at;
    *byte = (*byte & !mask) | (value & mask);
}

/// Are `n` bits equal?
pub fn equal(a: &[u8], a_at: usize, b: &[u8], b_at: usize, n: usize) -> bool {
    if a_at.is_multiple_of(8) && b_at.is_multiple_of(8) {
        let whole = n / 8;
        if a[a_at / 8..a_at / 8 + whole] != b[b_at / 8..b_at / 8 + whole] {
            return false;
        }
        let rest = n % 8;
        return read(a, a_at + 8 * whole, rest) == read(b, b_at + 8 * whole, rest);
    }
    let mut done = 0;
    while done < n {
        let k = (n - done).min(64);
        if read(a, a_at + done, k) != read(b, b_at + done, k) {
            return false;
        }
        done += k;
    }
    true
}

/// The value of a little-endian run of `n` (at most 64) bits that was read with its first bit most significant.
#[inline]
pub const fn from_little(value: u64, n: usize) -> u64 {
    if n == 0 {
        return 0;
    }
    // Whole bytes reversed; the last, partial byte holds the most significant bits.
    let rest = n % 8;
    if rest == 0 {
        return (value << (64 - n)).swap_bytes();
    }
    let partial = value & ((1 << rest) - 1);
    let whole = n - rest;
    let low = if whole == 0 { 0 } else { ((value >> rest) << (64 - whole)).swap_bytes() };
    low | partial << whole
}

/// The inverse of [`from_little`]: the bits of `value` in the order in which they are written.
#[inline]
pub const fn to_little(value: u64, n: usize) -> u64 {
    if n == 0 {
        return 0;
    }
    let value = if n == 64 { value } else { value & ((1 << n) - 1) };
    let rest = n % 8;
    if rest == 0 {
        return value.swap_bytes() >> (64 - n);
    }
    let whole = n - rest;
    let low = if whole == 0 { 0 } else { (value << (64 - whole) >> (64 - whole)).swap_bytes() >> (64 - whole) };
    low << rest | value >> whole
}

/// `value`, whose low `n` bits count, as a signed number.
#[inline]
pub const fn sign_extend(value: u64, n: usize) -> i64 {
    if n == 0 { 0 } else { (value << (64 - n)) as i64 >> (64 - n) }
}

/// A run of more than 64 bits as limbs, least significant first: sign and magnitude.
pub fn read_wide(bytes: &[u8], at: usize, n: usize, flags: u32) -> (bool, Vec<u64>) {
    let count = n.div_ceil(8);
    // Least significant byte first.
    let mut run = vec![0_u8; count];
    let rest = n % 8;
    if is_little(flags) {
        copy(&mut run, 0, bytes, at, n);
        if rest > 0 {
            run[count - 1] >>= 8 - rest;
        }
    } else {
        copy(&mut run, count * 8 - n, bytes, at, n);
        run.reverse();
    }
    let negative = flags & SIGNED != 0 && run[count - 1] >> ((n - 1) % 8) & 1 == 1;
    let mut limbs: Vec<u64> = run
        .chunks(8)
        .map(|chunk| {
            let mut eight = [0; 8];
            eight[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(eight)
        })
        .collect();
    if negative {
        // Sign bits above, then the magnitude.
        if !n.is_multiple_of(64)
            && let Some(last) = limbs.last_mut()
        {
            *last |= u64::MAX << (n % 64);
        }
        negate(&mut limbs);
    }
    (negative, limbs)
}

fn negate(limbs: &mut [u64]) {
    let mut carry = true;
    for limb in limbs {
        let (sum, overflow) = (!*limb).overflowing_add(u64::from(carry));
        *limb = sum;
        carry = overflow;
    }
}

/// Writes the low `n` bits of an integer given by sign and magnitude.
pub fn write_wide(bytes: &mut [u8], at: usize, n: usize, flags: u32, negative: bool, magnitude: &[u64]) {
    if n == 0 {
        return;
    }
    let count = n.div_ceil(8);
    let mut limbs = vec![0_u64; n.div_ceil(64)];
    let used = limbs.len().min(magnitude.len());
    limbs[..used].copy_from_slice(&magnitude[..used]);
    if negative {
        negate(&mut limbs);
    }
    let mut run: Vec<u8> = limbs.iter().flat_map(|l| l.to_le_bytes()).take(count).collect();
    let rest = n % 8;
    if is_little(flags) {
        if rest > 0 {
            run[count - 1] <<= 8 - rest;
        }
        copy(bytes, at, &run, 0, n);
    } else {
        run.reverse();
        copy(bytes, at, &run, count * 8 - n, n);
    }
}

/// A half-precision float.
pub fn from_half(bits: u16) -> f64 {
    let (negative, exponent, fraction) = (bits >> 15 == 1, bits >> 10 & 31, f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2_f64.powi(i32::from(e) - 15),
    };
    if negative { -magnitude } else { magnitude }
}

/// The nearest half-precision float (ties to even); infinity for what is too large.
pub fn to_half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    if magnitude < 2_f64.powi(-14) {
        // Subnormal: units of 2^-24. A result of 1024 is the least normal number, which has just these bits.
        return sign | (magnitude * 2_f64.powi(24)).round_ties_even() as u16;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32) - 1023;
    let units = (magnitude * 2_f64.powi(10 - exponent)).round_ties_even() as u16;
    // 2048 carries into the exponent by itself.
    sign | (((exponent + 15) as u16) << 10).wrapping_add(units - 1024)
}

/// What a UTF-8 sequence at a bit position is: code point and bytes.
pub fn read_utf8(bytes: &[u8], at: usize, available: usize) -> Option<(u32, usize)> {
    if available < 8 {
        return None;
    }
    let byte = |i: usize| {
        let at = at + 8 * i;
        if at.is_multiple_of(8) {
            u32::from(bytes.get(at / 8).copied().unwrap_or(0))
        } else {
            read(bytes, at, 8) as u32
        }
    };
    let first = byte(0);
    let (length, initial, least) = match first {
        0..=0x7f => return Some((first, 1)),
        0xc2..=0xdf => (2, first & 0x1f, 0x80),
        0xe0..=0xef => (3, first & 0xf, 0x800),
        0xf0..=0xf4 => (4, first & 7, 0x1_0000),
        _ => return None,
    };
    if available < length * 8 {
        return None;
    }
    let mut point = initial;
    for i in 1..length {
        let next = byte(i);
        if next & 0xc0 != 0x80 {
            return None;
        }
        point = point << 6 | next & 0x3f;
    }
    (point >= least && char::from_u32(point).is_some()).then_some((point, length))
}

/// What a UTF-16 sequence is: code point and bytes.
pub fn read_utf16(bytes: &[u8], at: usize, available: usize, flags: u32) -> Option<(u32, usize)> {
    let unit = |i: usize| {
        let value = read(bytes, at + 16 * i, 16);
        if is_little(flags) { from_little(value, 16) as u32 } else { value as u32 }
    };
    if available < 16 {
        return None;
    }
    let first = unit(0);
    match first {
        0xd800..=0xdbff if available >= 32 => {
            let second = unit(1);
            (0xdc00..=0xdfff).contains(&second).then(|| (0x1_0000 + ((first & 0x3ff) << 10 | second & 0x3ff), 4))
        }
        0xd800..=0xdfff => None,
        _ => Some((first, 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bit(bytes: &[u8], at: usize) -> u8 {
        bytes[at / 8] >> (7 - at % 8) & 1
    }

    #[test]
    fn copying_agrees_with_bit_by_bit() {
        let source: Vec<u8> = (0..40_u32).map(|i| (i.wrapping_mul(167) ^ i << 3) as u8).collect();
        for from in 0..17 {
            for to in 0..17 {
                for n in [0, 1, 5, 7, 8, 9, 31, 63, 64, 65, 130, 200] {
                    let mut fast = vec![0xa5_u8; 40];
                    let mut slow = fast.clone();
                    copy(&mut fast, to, &source, from, n);
                    for i in 0..n {
                        let mask = 0x80 >> ((to + i) % 8);
                        let byte = &mut slow[(to + i) / 8];
                        *byte = if bit(&source, from + i) == 1 { *byte | mask } else { *byte & !mask };
                    }
                    assert_eq!(fast, slow, "{from} {to} {n}");
                    assert!(equal(&fast, to, &source, from, n));
                    if n > 0 {
                        fast[(to + n - 1) / 8] ^= 0x80 >> ((to + n - 1) % 8);
                        assert!(!equal(&fast, to, &source, from, n));
                    }
                }
            }
        }
    }

    #[test]
    fn integers_of_either_end() {
        // <<16#abc:12/little>> = <<188,10:4>>; <<16#1234:16/little>> = <<16#34,16#12>>
        assert_eq!(to_little(0xabc, 12), 0xbca);
        assert_eq!(from_little(0xbca, 12), 0xabc);
        assert_eq!(to_little(0x1234, 16), 0x3412);
        for n in 0..=64 {
            let v = 0x0123_4567_89ab_cdef_u64 & if n == 64 { u64::MAX } else { (1 << n) - 1 };
            assert_eq!(from_little(to_little(v, n), n), v, "{n}");
        }
        assert_eq!(sign_extend(0b1101, 4), -3);
        let mut bytes = [0xff_u8; 4];
        write(&mut bytes, 5, 12, 0);
        assert_eq!(bytes, [0xf8, 0, 0x7f, 0xff]);
        assert_eq!(read(&bytes, 3, 14), 0b11_0000_0000_0000);
    }

    #[test]
    fn wide_integers_round_trip() {
        for flags in [0, LITTLE, SIGNED, LITTLE | SIGNED] {
            for n in [65, 72, 77, 128, 129, 200] {
                for at in [0, 3] {
                    let mut bytes = vec![0_u8; 40];
                    let negative = flags & SIGNED != 0;
                    write_wide(&mut bytes, at, n, flags, negative, &[0xdead_beef_0123_4567, 1]);
                    let (sign, mut limbs) = read_wide(&bytes, at, n, flags);
                    while limbs.last() == Some(&0) {
                        limbs.pop();
                    }
                    let expected = if n == 65 && negative { None } else { Some(vec![0xdead_beef_0123_4567, 1]) };
                    if let Some(expected) = expected {
                        assert_eq!((sign, limbs), (negative, expected), "{flags} {n} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn half_floats() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2_f64.powi(-24)), (0x7bff, 65504.0), (0x3555, 0.333251953125)]
        {
            assert_eq!(from_half(bits), value);
            assert_eq!(to_half(value), bits);
        }
        assert_eq!(to_half(1.0 / 3.0), 0x3555);
        assert_eq!(to_half(65519.0), 0x7bff);
        // <<100000.0:16/float>> = <<124,0>>
        assert_eq!(to_half(100_000.0), 0x7c00);
        assert_eq!(to_half(2_f64.powi(-14) * 0.9999), 0x0400);
        assert_eq!(to_half(-0.0), 0x8000);
    }

    #[test]
    fn characters() {
        assert_eq!(read_utf8("€".as_bytes(), 0, 24), Some((0x20ac, 3)));
        assert_eq!(read_utf8(&[0xed, 0xa0, 0x80], 0, 24), None);
        assert_eq!(read_utf8(&[0xc0, 0x80], 0, 16), None);
        assert_eq!(read_utf8("é".as_bytes(), 0, 8), None);
        assert_eq!(read_utf16(&[0xd8, 0x3d, 0xde, 0x00], 0, 32, 0), Some((0x1f600, 4)));
        assert_eq!(read_utf16(&[0x3d, 0xd8, 0x00, 0xde], 0, 32, LITTLE), Some((0x1f600, 4)));
        assert_eq!(read_utf16(&[0xdc, 0x00], 0, 16, 0), None);
    }
}
