//! Magnitudes: big integers as slices of 64-bit limbs, least significant first.
//!
//! What is linear is done here, straight on the limbs of the terms; multiplication and division of long operands go to
//! dashu-int. Conversions and comparisons between integers and doubles live here too.
//!
//! Functions that take a magnitude accept high zero limbs unless they say "normal" (last limb not zero).

use dashu_int::UBig;
use dashu_int::ops::DivRem;
use smallvec::{SmallVec, smallvec};
use std::cmp::Ordering;

/// A magnitude that an operation makes: on the native stack up to 1,024 bits, which is most of what programs calculate with.
pub type Limbs = SmallVec<[u64; 16]>;

/// 2^64 as a double.
const LIMB_BASE: f64 = 18_446_744_073_709_551_616.0;
/// Long division and long multiplication take over from the single-limb loops.
const LIMB_BITS: u64 = 64;
/// Most limbs of the shorter factor for which all limbs are multiplied with each other here.
const SCHOOLBOOK_LIMBS: usize = 16;

/// The magnitude without high zero limbs.
pub fn normal(limbs: &[u64]) -> &[u64] {
    let used = limbs.iter().rposition(|l| *l != 0).map_or(0, |i| i + 1);
    &limbs[..used]
}

/// Number of bits of a normal magnitude; 0 for zero.
pub fn bit_length(limbs: &[u64]) -> u64 {
    match limbs.last() {
        Some(top) => limbs.len() as u64 * LIMB_BITS - u64::from(top.leading_zeros()),
        None => 0,
    }
}

/// Compares two normal magnitudes.
pub fn compare(a: &[u64], b: &[u64]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

/// The sum.
pub fn add(a: &[u64], b: &[u64]) -> Limbs {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut sum = Limbs::with_capacity(long.len() + 1);
    let mut carry = false;
    for (i, &x) in long.iter().enumerate() {
        let y = short.get(i).copied().unwrap_or(0);
        let (s, c1) = x.overflowing_add(y);
        let (s, c2) = s.overflowing_add(u64::from(carry));
        carry = c1 | c2;
        sum.push(s);
    }
    if carry {
        sum.push(1);
    }
    sum
}

/// The difference of normal magnitudes, `a` being at least `b`.
pub fn subtract(a: &[u64], b: &[u64]) -> Limbs {
    debug_assert!(compare(a, b) != Ordering::Less);
    let mut difference = Limbs::with_capacity(a.len());
    let mut borrow = false;
    for (i, &x) in a.iter().enumerate() {
        let y = b.get(i).copied().unwrap_or(0);
        let (d, b1) = x.overflowing_sub(y);
        let (d, b2) = d.overflowing_sub(u64::from(borrow));
        borrow = b1 | b2;
        difference.push(d);
    }
    difference
}

/// The product.
pub fn multiply(a: &[u64], b: &[u64]) -> Limbs {
    match (a, b) {
        (_, [one]) => multiply_limb(a, *one),
        ([one], _) => multiply_limb(b, *one),
        _ if a.len().min(b.len()) <= SCHOOLBOOK_LIMBS => multiply_limbs(a, b),
        _ if std::ptr::eq(a, b) => {
            let a = UBig::from_words(a);
            Limbs::from_slice(a.sqr().as_words())
        }
        _ => Limbs::from_slice((UBig::from_words(a) * UBig::from_words(b)).as_words()),
    }
}

fn multiply_limbs(a: &[u64], b: &[u64]) -> Limbs {
    let mut product = smallvec![0; a.len() + b.len()];
    multiply_into(a, b, &mut product);
    product
}

/// Limb by limb, straight into the result (zeros, as many as both have): what that saves is more than cleverer methods gain, for
/// few.
fn multiply_into(a: &[u64], b: &[u64], product: &mut [u64]) {
    for (i, &x) in b.iter().enumerate() {
        let mut carry = 0u64;
        let places = &mut product[i..=i + a.len()];
        for (place, &y) in places.iter_mut().zip(a) {
            // At most (2^64 - 1)^2 + 2 (2^64 - 1), which is 2^128 - 1.
            let wide = u128::from(x) * u128::from(y) + u128::from(*place) + u128::from(carry);
            *place = wide as u64;
            carry = (wide >> 64) as u64;
        }
        places[a.len()] = carry;
    }
}

fn multiply_limb(a: &[u64], b: u64) -> Limbs {
    let mut product = Limbs::with_capacity(a.len() + 1);
    let mut carry = 0u64;
    for &x in a {
        let wide = u128::from(x) * u128::from(b) + u128::from(carry);
        product.push(wide as u64);
        carry = (wide >> 64) as u64;
    }
    product.push(carry);
    product
}

/// Quotient and remainder of normal magnitudes; `b` is not zero.
pub fn divide(a: &[u64], b: &[u64]) -> (Limbs, Limbs) {
    if compare(a, b) == Ordering::Less {
        return (Limbs::new(), Limbs::from_slice(a));
    }
    if let [divisor] = *b {
        let divisor = u128::from(divisor);
        let mut quotient = smallvec![0; a.len()];
        let mut rest = 0u128;
        for (q, &x) in quotient.iter_mut().zip(a).rev() {
            let wide = rest << 64 | u128::from(x);
            *q = (wide / divisor) as u64;
            rest = wide % divisor;
        }
        return (quotient, smallvec![rest as u64]);
    }
    let (quotient, rest) = UBig::from_words(a).div_rem(UBig::from_words(b));
    (Limbs::from_slice(quotient.as_words()), Limbs::from_slice(rest.as_words()))
}

/// The magnitude times 2^`bits`. The caller has bounded the result.
pub fn shift_left(a: &[u64], bits: u64) -> Limbs {
    let (whole, part) = ((bits / LIMB_BITS) as usize, (bits % LIMB_BITS) as u32);
    let mut shifted = smallvec![0; whole];
    shifted.reserve(a.len() + 1);
    if part == 0 {
        shifted.extend_from_slice(a);
        return shifted;
    }
    let mut low = 0;
    for &x in a {
        shifted.push(x << part | low);
        low = x >> (64 - part);
    }
    shifted.push(low);
    shifted
}

/// The magnitude divided by 2^`bits`, downwards, and whether a one was lost.
pub fn shift_right(a: &[u64], bits: u64) -> (Limbs, bool) {
    let (whole, part) = (bits / LIMB_BITS, (bits % LIMB_BITS) as u32);
    if whole >= a.len() as u64 {
        return (Limbs::new(), a.iter().any(|l| *l != 0));
    }
    let (gone, kept) = a.split_at(whole as usize);
    let lost = gone.iter().any(|l| *l != 0);
    if part == 0 {
        return (Limbs::from_slice(kept), lost);
    }
    let shifted = kept
        .iter()
        .enumerate()
        .map(|(i, &x)| x >> part | kept.get(i + 1).map_or(0, |high| high << (64 - part)))
        .collect();
    (shifted, lost || kept[0] << (64 - part) != 0)
}

/// Adds one in place.
pub fn increment(limbs: &mut Limbs) {
    for limb in limbs.iter_mut() {
        let (sum, carry) = limb.overflowing_add(1);
        *limb = sum;
        if !carry {
            return;
        }
    }
    limbs.push(1);
}

/// Limb `i` of the two's complement of a signed magnitude, given the negation's carry into it.
fn complement_limb(negative: bool, limbs: &[u64], i: usize, carry: &mut bool) -> u64 {
    let limb = limbs.get(i).copied().unwrap_or(0);
    if !negative {
        return limb;
    }
    let (sum, over) = (!limb).overflowing_add(u64::from(*carry));
    *carry = over;
    sum
}

/// A bitwise operation on signed magnitudes as if in endless two's complement.
pub fn bitwise(a: (bool, &[u64]), b: (bool, &[u64]), op: impl Fn(u64, u64) -> u64) -> (bool, Limbs) {
    let negative = op(u64::from(a.0), u64::from(b.0)) & 1 == 1;
    let len = a.1.len().max(b.1.len());
    let (mut carry_a, mut carry_b) = (true, true);
    let mut result: Limbs = (0..len)
        .map(|i| op(complement_limb(a.0, a.1, i, &mut carry_a), complement_limb(b.0, b.1, i, &mut carry_b)))
        .collect();
    if negative {
        for limb in &mut result {
            *limb = !*limb;
        }
        increment(&mut result);
    }
    (negative, result)
}

/// The double that OTP converts a big integer to, or none if it is too large.
///
/// Limbs are added from the least significant up, each sum rounded to nearest even: the last place can differ from the
/// correctly rounded value, and programs print it.
pub fn to_f64(negative: bool, limbs: &[u64]) -> Option<f64> {
    if limbs.len() > 16 {
        return None;
    }
    let (mut sum, mut base) = (0.0f64, 1.0f64);
    for &limb in limbs {
        sum += limb as f64 * base;
        base *= LIMB_BASE;
    }
    sum.is_finite().then_some(if negative { -sum } else { sum })
}

/// Mantissa and exponent of a finite double: its magnitude is `mantissa * 2^exponent`.
fn decompose(value: f64) -> (u64, i64) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match bits >> 52 & 0x7ff {
        0 => (fraction, -1074),
        e => (fraction | 1 << 52, e as i64 - 1075),
    }
}

/// The magnitude of a finite double of integral value.
pub fn from_integral_f64(value: f64) -> Limbs {
    let (mantissa, exponent) = decompose(value);
    if exponent >= 0 {
        shift_left(&[mantissa], exponent as u64)
    } else {
        smallvec![mantissa.checked_shr(exponent.unsigned_abs() as u32).unwrap_or(0)]
    }
}

/// Compares a small integer with a double, exactly. No NaN.
#[inline]
pub fn compare_i64_f64(a: i64, b: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if b >= LIMIT {
        return Ordering::Less;
    }
    if b < -LIMIT {
        return Ordering::Greater;
    }
    let whole = b as i64;
    a.cmp(&whole).then_with(|| (whole as f64).partial_cmp(&b).unwrap_or(Ordering::Equal))
}

/// Compares a big integer (normal, magnitude at least 2^60) with a double, exactly. No NaN.
pub fn compare_big_f64(negative: bool, limbs: &[u64], b: f64) -> Ordering {
    let sign_if_larger = if negative { Ordering::Less } else { Ordering::Greater };
    if (b < 0.0) != negative || b.abs() < (1u64 << 60) as f64 {
        return sign_if_larger;
    }
    let (mantissa, exponent) = decompose(b);
    let magnitude = bit_length(limbs).cmp(&(exponent as u64 + 53)).then_with(|| {
        let b = shift_left(&[mantissa], exponent as u64);
        compare(limbs, normal(&b))
    });
    if negative { magnitude.reverse() } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ubig(limbs: &[u64]) -> UBig {
        UBig::from_words(normal(limbs))
    }

    fn magnitude() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>()], 0..8)
            .prop_map(|v| normal(&v).to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::test_terms::cases(512)))]

        #[test]
        fn sums_and_products_agree_with_dashu(a in magnitude(), b in magnitude()) {
            prop_assert_eq!(ubig(&add(&a, &b)), ubig(&a) + ubig(&b));
            prop_assert_eq!(ubig(&multiply(&a, &b)), ubig(&a) * ubig(&b));
            prop_assert_eq!(compare(&a, &b), ubig(&a).cmp(&ubig(&b)));
            let (high, low) = if compare(&a, &b) == Ordering::Less { (&b, &a) } else { (&a, &b) };
            prop_assert_eq!(ubig(&subtract(high, low)), ubig(high) - ubig(low));
            if !b.is_empty() {
                let (q, r) = divide(&a, &b);
                prop_assert_eq!(ubig(&q) * ubig(&b) + ubig(&r), ubig(&a));
                prop_assert!(ubig(&r) < ubig(&b));
            }
        }

        #[test]
        fn shifts_agree_with_dashu(a in magnitude(), bits in 0u64..700) {
            prop_assert_eq!(ubig(&shift_left(&a, bits)), ubig(&a) << bits as usize);
            let (shifted, lost) = shift_right(&a, bits);
            prop_assert_eq!(ubig(&shifted), ubig(&a) >> bits as usize);
            prop_assert_eq!(lost, ubig(&shifted) << bits as usize != ubig(&a));
        }

        #[test]
        fn order_with_doubles_is_exact(a in any::<i64>(), bits in any::<u64>(), near in -3i64..4) {
            let b = f64::from_bits(bits);
            if b.is_finite() {
                // The double's exact value as a big integer and what is left of it.
                let whole = from_integral_f64(b.trunc());
                let negative = b < 0.0;
                let order = compare_i64_f64(a, b);
                let wide = if whole.len() <= 1 || normal(&whole).len() <= 1 {
                    let m = i128::from(normal(&whole).first().copied().unwrap_or(0));
                    i128::from(a).cmp(&if negative { -m } else { m })
                        .then_with(|| b.trunc().partial_cmp(&b).unwrap())
                } else if negative { Ordering::Greater } else { Ordering::Less };
                prop_assert_eq!(order, wide);
                if b.abs() >= (1u64 << 62) as f64 {
                    let moved = if near < 0 { subtract(normal(&whole), &[near.unsigned_abs()]) } else { add(&whole, &[near as u64]) };
                    let expected = if negative { 0.cmp(&near) } else { near.cmp(&0) };
                    prop_assert_eq!(compare_big_f64(negative, normal(&moved), b), expected);
                }
            }
        }
    }

    #[test]
    fn doubles_come_out_as_otp_has_them() {
        // (1 bsl 200) + (1 bsl 147) + 1 is above the tie, but OTP 25 prints 1.6069380442589903e60.
        let mut limbs = vec![1, 0, 1 << 19, 1 << 8];
        assert_eq!(to_f64(false, &limbs), Some(1.6069380442589903e60));
        limbs[2] = 3 << 19;
        assert_eq!(to_f64(true, &limbs), Some(-1.606938044258991e60));
        assert_eq!(to_f64(false, &[u64::MAX; 16]), None);
        // (1 bsl 1024) - (1 bsl 970) - 1
        let mut limbs = [u64::MAX; 16];
        limbs[15] -= 1 << 10;
        assert_eq!(to_f64(false, &limbs), Some(f64::MAX));
    }
}
