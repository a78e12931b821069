//! Arithmetic on terms: what the operators `+ - * / div rem band bor bxor bnot bsl bsr` and `abs trunc round floor ceil
//! float` do.
//!
//! Each function has an inline path for two small integers; the rest is out of line. Middle-sized integers go through
//! `i128`, larger ones through [`crate::big`].
//!
//! M1. No result has more than [`limit_words`] limbs: what would is `system_limit`.
//! M2. No NaN and no infinity becomes a term: what would is `badarith`.

use crate::alloc::{Alloc, Build};
use crate::big;
use crate::word::{Term, TermRef};
use myriad_sync::atomic::{AtomicUsize, Ordering};

/// Why an operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArithError {
    /// An operand is of the wrong type, a divisor is zero, or a float overflows.
    BadArith,
    /// The integer would be too large (M1).
    SystemLimit,
}

/// The outcome of an operation.
pub type ArithResult<'h> = Result<TermRef<'h>, ArithError>;

use ArithError::{BadArith, SystemLimit};

/// OTP's limit, 2^19 - 1 limbs.
static LIMIT_WORDS: AtomicUsize = AtomicUsize::new((1 << 19) - 1);

/// Most 64-bit limbs that an integer may have.
pub fn limit_words() -> usize {
    // Relaxed: set once at start.
    LIMIT_WORDS.load(Ordering::Relaxed)
}

/// Sets how many limbs an integer may have (a release's limit).
pub fn set_limit_words(limbs: usize) {
    // Relaxed: set once at start.
    LIMIT_WORDS.store(limbs, Ordering::Relaxed);
}

fn limit_bits() -> u64 {
    limit_words() as u64 * 64
}

/// A number taken out of its term.
#[derive(Clone, Copy, Debug)]
pub enum Number<'a> {
    /// Small integer.
    Small(i64),
    /// Big integer: negative, magnitude.
    Big(bool, &'a [u64]),
    /// Float.
    Float(f64),
}

impl<'a> Number<'a> {
    /// The number of a term.
    #[inline]
    pub fn of(term: &'a TermRef<'_>) -> Option<Number<'a>> {
        if let Some(v) = term.as_small() {
            return Some(Number::Small(v));
        }
        if let Some(v) = term.as_float() {
            return Some(Number::Float(v));
        }
        term.held_big().map(|(negative, limbs)| Number::Big(negative, limbs))
    }

    /// The double that OTP converts it to; none if it is too large.
    #[inline]
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Number::Small(v) => Some(v as f64),
            Number::Big(negative, limbs) => big::to_f64(negative, limbs),
            Number::Float(v) => Some(v),
        }
    }

    /// The value of an integer of at most 127 bits.
    fn to_i128(self) -> Option<i128> {
        match self {
            Number::Small(v) => Some(v.into()),
            Number::Big(negative, [low, rest @ ..]) if rest.len() <= 1 => {
                let high = rest.first().copied().unwrap_or(0);
                let magnitude = i128::try_from(u128::from(high) << 64 | u128::from(*low)).ok()?;
                Some(if negative { -magnitude } else { magnitude })
            }
            _ => None,
        }
    }
}

/// An integer operand as sign and magnitude; `small` is room for a small one.
#[inline(always)]
fn integer<'a>(number: Number<'a>, small: &'a mut [u64; 1]) -> Option<(bool, &'a [u64])> {
    match number {
        Number::Small(v) => {
            small[0] = v.unsigned_abs();
            Some((v < 0, &small[..usize::from(v != 0)]))
        }
        Number::Big(negative, limbs) => Some((negative, limbs)),
        Number::Float(_) => None,
    }
}

/// The term of a magnitude, within the limit (M1).
fn bounded<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, negative: bool, limbs: &[u64]) -> ArithResult<'h> {
    let limbs = big::normal(limbs);
    if limbs.len() > limit_words() { Err(SystemLimit) } else { Ok(heap.big(negative, limbs)) }
}

/// The term of a double (M2).
#[inline]
fn finite<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, value: f64) -> ArithResult<'h> {
    if value.is_finite() { Ok(heap.float(value)) } else { Err(BadArith) }
}

/// Both as doubles, if one is a float.
#[inline]
fn floats(a: Number<'_>, b: Number<'_>) -> Result<Option<(f64, f64)>, ArithError> {
    match (a, b) {
        (Number::Float(x), Number::Float(y)) => Ok(Some((x, y))),
        (Number::Float(x), y) => Ok(Some((x, y.to_f64().ok_or(BadArith)?))),
        (x, Number::Float(y)) => Ok(Some((x.to_f64().ok_or(BadArith)?, y))),
        _ => Ok(None),
    }
}

fn numbers<'a>(a: &'a TermRef<'_>, b: &'a TermRef<'_>) -> Result<(Number<'a>, Number<'a>), ArithError> {
    Ok((Number::of(a).ok_or(BadArith)?, Number::of(b).ok_or(BadArith)?))
}

/// `A + B`
#[inline]
pub fn add<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    match (a.as_small(), b.as_small()) {
        (Some(x), Some(y)) => Ok(heap.int(x + y)),
        _ => add_slow(heap, a, b),
    }
}

#[inline(never)]
fn add_slow<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    let (a, b) = numbers(&a, &b)?;
    if let Some((x, y)) = floats(a, b)? {
        return finite(heap, x + y);
    }
    if let (Some(x), Some(y)) = (a.to_i128(), b.to_i128())
        && let Some(sum) = x.checked_add(y)
    {
        return Ok(heap.int128(sum));
    }
    sum(heap, a, b, false)
}

/// `A - B`
#[inline]
pub fn sub<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    match (a.as_small(), b.as_small()) {
        (Some(x), Some(y)) => Ok(heap.int(x - y)),
        _ => sub_slow(heap, a, b),
    }
}

#[inline(never)]
fn sub_slow<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    let (a, b) = numbers(&a, &b)?;
    if let Some((x, y)) = floats(a, b)? {
        return finite(heap, x - y);
    }
    if let (Some(x), Some(y)) = (a.to_i128(), b.to_i128())
        && let Some(difference) = x.checked_sub(y)
    {
        return Ok(heap.int128(difference));
    }
    sum(heap, a, b, true)
}

/// Sum or difference of integers of any size.
fn sum<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: Number<'_>, b: Number<'_>, negate_b: bool) -> ArithResult<'h> {
    let (mut small_a, mut small_b) = ([0], [0]);
    let (negative_a, a) = integer(a, &mut small_a).ok_or(BadArith)?;
    let (negative_b, b) = integer(b, &mut small_b).ok_or(BadArith)?;
    let negative_b = negative_b != negate_b;
    if negative_a == negative_b {
        bounded(heap, negative_a, &big::add(a, b))
    } else if big::compare(a, b).is_ge() {
        bounded(heap, negative_a, &big::subtract(a, b))
    } else {
        bounded(heap, negative_b, &big::subtract(b, a))
    }
}

/// `A * B`
#[inline]
pub fn mul<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    if let (Some(x), Some(y)) = (a.as_small(), b.as_small())
        && let Some(product) = x.checked_mul(y)
    {
        return Ok(heap.int(product));
    }
    mul_slow(heap, a, b)
}

#[inline(never)]
fn mul_slow<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    let (a, b) = numbers(&a, &b)?;
    if let Some((x, y)) = floats(a, b)? {
        return finite(heap, x * y);
    }
    if let (Some(x), Some(y)) = (a.to_i128(), b.to_i128())
        && let Some(product) = x.checked_mul(y)
    {
        return Ok(heap.int128(product));
    }
    let (mut small_a, mut small_b) = ([0], [0]);
    let (negative_a, a) = integer(a, &mut small_a).ok_or(BadArith)?;
    let (negative_b, b) = integer(b, &mut small_b).ok_or(BadArith)?;
    // The product has this many bits, or one more.
    if big::bit_length(a) + big::bit_length(b) > limit_bits() + 1 {
        return Err(SystemLimit);
    }
    bounded(heap, negative_a != negative_b, &big::multiply(a, b))
}

/// `A / B`
#[inline(never)]
pub fn divide<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    let (a, b) = numbers(&a, &b)?;
    let (x, y) = (a.to_f64().ok_or(BadArith)?, b.to_f64().ok_or(BadArith)?);
    if y == 0.0 { Err(BadArith) } else { finite(heap, x / y) }
}

/// `A div B`: towards zero.
#[inline]
pub fn div<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    match (a.as_small(), b.as_small()) {
        (Some(x), Some(y)) if y != 0 => Ok(heap.int(x / y)),
        _ => div_rem_slow(heap, a, b, true),
    }
}

/// `A rem B`: the sign of `A`.
#[inline]
pub fn rem<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    match (a.as_small(), b.as_small()) {
        (Some(x), Some(y)) if y != 0 => Ok(Term::small(x % y)),
        _ => div_rem_slow(heap, a, b, false),
    }
}

#[inline(never)]
fn div_rem_slow<'h, A: Alloc<'h> + ?Sized>(
    heap: &mut A,
    a: TermRef<'_>,
    b: TermRef<'_>,
    quotient: bool,
) -> ArithResult<'h> {
    let (a, b) = numbers(&a, &b)?;
    if let (Some(x), Some(y)) = (a.to_i128(), b.to_i128()) {
        // No overflow: magnitudes are below 2^127.
        let value = if quotient { x.checked_div(y) } else { x.checked_rem(y) };
        return value.map(|v| heap.int128(v)).ok_or(BadArith);
    }
    let (mut small_a, mut small_b) = ([0], [0]);
    let (negative_a, a) = integer(a, &mut small_a).ok_or(BadArith)?;
    let (negative_b, b) = integer(b, &mut small_b).ok_or(BadArith)?;
    if b.is_empty() {
        return Err(BadArith);
    }
    let (q, r) = big::divide(a, b);
    if quotient { bounded(heap, negative_a != negative_b, &q) } else { bounded(heap, negative_a, &r) }
}

/// `-A`
#[inline]
pub fn neg<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>) -> ArithResult<'h> {
    match Number::of(&a).ok_or(BadArith)? {
        Number::Small(v) => Ok(heap.int(-v)),
        Number::Big(negative, limbs) => bounded(heap, !negative, limbs),
        Number::Float(v) => Ok(heap.float(-v)),
    }
}

/// `+A`: the number itself.
pub fn plus<'h>(a: TermRef<'h>) -> ArithResult<'h> {
    if a.is_number() { Ok(a) } else { Err(BadArith) }
}

/// `abs(A)`; none if it is no number (`badarg`). `-0.0` stays, as in OTP.
pub fn abs<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'h>) -> Option<TermRef<'h>> {
    Some(match Number::of(&a)? {
        Number::Small(v) => heap.int(v.abs()),
        Number::Big(false, _) => a,
        Number::Big(true, limbs) => heap.big(false, limbs),
        Number::Float(v) if v < 0.0 => heap.float(-v),
        Number::Float(_) => a,
    })
}

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident, $op:tt;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
            match (a.as_small(), b.as_small()) {
                (Some(x), Some(y)) => Ok(Term::small(x $op y)),
                _ => bitwise_slow(heap, a, b, |x, y| x $op y),
            }
        }
    )*};
}

bitwise! {
    /// `A band B`
    band, &;
    /// `A bor B`
    bor, |;
    /// `A bxor B`
    bxor, ^;
}

#[inline(never)]
fn bitwise_slow<'h, A: Alloc<'h> + ?Sized>(
    heap: &mut A,
    a: TermRef<'_>,
    b: TermRef<'_>,
    op: impl Fn(u64, u64) -> u64,
) -> ArithResult<'h> {
    let (mut small_a, mut small_b) = ([0], [0]);
    let (a, b) = (Number::of(&a).ok_or(BadArith)?, Number::of(&b).ok_or(BadArith)?);
    let a = integer(a, &mut small_a).ok_or(BadArith)?;
    let b = integer(b, &mut small_b).ok_or(BadArith)?;
    if let ((false, x), (false, y)) = (a, b) {
        let limb = |i: usize| op(x.get(i).copied().unwrap_or(0), y.get(i).copied().unwrap_or(0));
        let len = (0..x.len().max(y.len())).rev().find(|i| limb(*i) != 0).map_or(0, |last| last + 1);
        return Ok(heap.positive(len, limb));
    }
    let (negative, limbs) = big::bitwise(a, b, op);
    bounded(heap, negative, &limbs)
}

/// `bnot A`
#[inline]
pub fn bnot<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>) -> ArithResult<'h> {
    match Number::of(&a).ok_or(BadArith)? {
        Number::Small(v) => Ok(Term::small(!v)),
        Number::Big(negative, limbs) => {
            let limbs = if negative {
                big::subtract(limbs, &[1])
            } else {
                let mut limbs = big::Limbs::from_slice(limbs);
                big::increment(&mut limbs);
                limbs
            };
            bounded(heap, !negative, &limbs)
        }
        Number::Float(_) => Err(BadArith),
    }
}

/// `A bsl B`
#[inline]
pub fn bsl<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    if let (Some(x), Some(y)) = (a.as_small(), b.as_small())
        && (0..60).contains(&y)
        && let shifted = x << y
        && shifted >> y == x
    {
        return Ok(heap.int(shifted));
    }
    shift(heap, a, b, true)
}

/// `A bsr B`: rounds downwards.
#[inline]
pub fn bsr<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>) -> ArithResult<'h> {
    match (a.as_small(), b.as_small()) {
        (Some(x), Some(y)) if y >= 0 => Ok(Term::small(x >> y.min(63))),
        _ => shift(heap, a, b, false),
    }
}

#[inline(never)]
fn shift<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'_>, b: TermRef<'_>, left: bool) -> ArithResult<'h> {
    let (a, b) = numbers(&a, &b)?;
    let mut small = [0];
    let (negative, limbs) = integer(a, &mut small).ok_or(BadArith)?;
    let (left, bits) = match b {
        Number::Small(v) => (left == (v >= 0), v.unsigned_abs()),
        // Further than any integer reaches.
        Number::Big(down, _) => (left != down, u64::MAX),
        Number::Float(_) => return Err(BadArith),
    };
    if limbs.is_empty() {
        return Ok(Term::small(0));
    }
    if left {
        let length = big::bit_length(limbs).saturating_add(bits);
        return if length > limit_bits() {
            Err(SystemLimit)
        } else {
            bounded(heap, negative, &big::shift_left(limbs, bits))
        };
    }
    let (mut shifted, lost) = big::shift_right(limbs, bits);
    if negative && lost {
        big::increment(&mut shifted);
    }
    bounded(heap, negative, &shifted)
}

/// `float(A)`; none if it is no number or too large (`badarg`).
pub fn float<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'h>) -> Option<TermRef<'h>> {
    match Number::of(&a)? {
        Number::Float(_) => Some(a),
        number => number.to_f64().map(|v| heap.float(v)),
    }
}

/// The integer of an integral, finite double.
pub fn integer_of_f64<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, value: f64) -> TermRef<'h> {
    const EXACT: f64 = 9_223_372_036_854_775_808.0;
    if value.abs() < EXACT { heap.int(value as i64) } else { heap.big(value < 0.0, &big::from_integral_f64(value)) }
}

macro_rules! roundings {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, a: TermRef<'h>) -> Option<TermRef<'h>> {
            match Number::of(&a)? {
                Number::Float(v) => Some(integer_of_f64(heap, v.$name())),
                _ => Some(a),
            }
        }
    )*};
}

roundings! {
    /// `trunc(A)`; none if it is no number (`badarg`).
    trunc;
    /// `round(A)`, halves away from zero; none if it is no number (`badarg`).
    round;
    /// `floor(A)`; none if it is no number (`badarg`).
    floor;
    /// `ceil(A)`; none if it is no number (`badarg`).
    ceil;
}

#[cfg(test)]
#[path = "arith_tests.rs"]
mod tests;
