//! Floats as `~e`, `~f` and `~g` give them.
//!
//! G1. All three round the 21 decimal digits that `float_to_list/1` gives, half up; digits beyond those are zeros. So they
//!     are not what printing the float itself to as many places would give.

use myriad_term::number_text;

/// The digits of a float without its sign: 0.DIGITS times ten to the power of `place`.
struct Digits {
    digits: Vec<u8>,
    place: i32,
}

impl Digits {
    fn of(value: f64) -> Option<Digits> {
        let text = number_text::scientific(value.abs(), 20)?;
        let (mantissa, exponent) = text.split_once('e')?;
        let digits = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        Some(Digits { digits, place: exponent.parse::<i32>().ok()? + 1 })
    }

    /// `whole` digits, a point and `decimals` more, rounded (G1). True if a one is to be put before them.
    fn rounded(&self, whole: usize, decimals: usize) -> (Vec<u8>, bool) {
        let len = whole + decimals;
        let mut text: Vec<u8> = self.digits.iter().copied().take(len).collect();
        text.resize(len, b'0');
        let mut carry = self.digits.get(len).is_some_and(|d| *d >= b'5');
        for digit in text.iter_mut().rev() {
            if !carry {
                break;
            }
            carry = *digit == b'9';
            *digit = if carry { b'0' } else { *digit + 1 };
        }
        text.insert(whole, b'.');
        (text, carry)
    }
}

fn signed(value: f64) -> Vec<u8> {
    if value.is_sign_negative() { vec![b'-'] } else { Vec::new() }
}

/// `~e` with a number of digits, of which one stands before the point; at least two.
pub fn exponential(value: f64, precision: usize) -> Option<Vec<u8>> {
    let digits = Digits::of(value)?;
    let decimals = precision.checked_sub(1).filter(|d| *d >= 1)?;
    let mut text = signed(value);
    let (mut mantissa, carry) = digits.rounded(1, decimals);
    if carry && let Some(first) = mantissa.first_mut() {
        *first = b'1';
    }
    text.append(&mut mantissa);
    let exponent = if carry { digits.place } else { digits.place - 1 };
    text.extend_from_slice(format!("e{exponent:+}").as_bytes());
    Some(text)
}

/// `~f` with a number of decimals, at least one.
pub fn fixed(value: f64, decimals: usize) -> Option<Vec<u8>> {
    let mut digits = Digits::of(value)?;
    if decimals == 0 {
        return None;
    }
    if digits.place <= 0 {
        let zeros = usize::try_from(1 - digits.place).ok()?;
        digits.digits.splice(0..0, std::iter::repeat_n(b'0', zeros));
        digits.place = 1;
    }
    let (mut number, carry) = digits.rounded(usize::try_from(digits.place).ok()?, decimals);
    let mut text = signed(value);
    if carry {
        text.push(b'1');
    }
    text.append(&mut number);
    Some(text)
}

/// `~g` with a number of significant digits: as `~f` from 0.1 to 10,000 if they show its whole part, or else as `~e`.
pub fn general(value: f64, precision: usize) -> Option<Vec<u8>> {
    let magnitude = value.abs();
    // The power of ten that it begins with, where `~f` may be used.
    let power = [0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0].iter().position(|limit| magnitude < *limit);
    match (power, precision) {
        (_, 0) => None,
        (Some(power @ 1..), _) if precision + 1 > power => fixed(value, precision + 1 - power),
        (_, 1) => exponential(value, 2),
        _ => exponential(value, precision),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `io_lib:format/2` of OTP 25 gives.
    #[test]
    fn floats_as_otp_prints_them() {
        let text = |t: Option<Vec<u8>>| String::from_utf8(t.expect("a text")).expect("ASCII");
        assert_eq!(text(fixed(2.345, 2)), "2.35");
        assert_eq!(text(fixed(0.1, 25)), "0.1000000000000000055510000");
        assert_eq!(text(fixed(99.995, 2)), "100.00");
        assert_eq!(text(fixed(-0.0, 1)), "-0.0");
        assert_eq!(text(fixed(1.0e22, 1)), "10000000000000000000000.0");
        assert_eq!(text(exponential(9.99, 2)), "1.0e+1");
        assert_eq!(text(exponential(0.0001, 6)), "1.00000e-4");
        assert_eq!(text(general(0.1, 1)), "0.1");
        assert_eq!(text(general(12345.678, 6)), "1.23457e+4");
        assert_eq!(text(general(123.456, 3)), "1.23e+2");
        assert!(fixed(1.0, 0).is_none() && exponential(1.0, 1).is_none() && general(1.0, 0).is_none());
    }
}
