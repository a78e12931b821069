//! Tests of [`super`]: recorded texts of OTP 25, and round trips.

use super::*;
use crate::arena::Arena;
use crate::equal::eq_exact;
use crate::test_terms::{Shape, build};
use crate::word::Term;
use proptest::prelude::*;

#[test]
fn floats_print_as_in_otp() {
    let table = include_str!("../testdata/floats.txt");
    for line in crate::test_terms::rows(table) {
        let f: Vec<&str> = line.split(' ').collect();
        let value = f64::from_bits(u64::from_str_radix(f[0], 16).unwrap());
        let or_badarg = |text: Option<String>| text.unwrap_or_else(|| "badarg".into());
        assert_eq!(short(value), f[1]);
        assert_eq!(or_badarg(scientific(value, f[2].parse().unwrap())), f[3], "{value:e} {}", f[2]);
        assert_eq!(or_badarg(decimals(value, f[4].parse().unwrap(), false)), f[5], "{value:e} {}", f[4]);
        assert_eq!(or_badarg(decimals(value, f[6].parse().unwrap(), true)), f[7], "{value:e} {}", f[6]);
        assert_eq!(read_float(f[1].as_bytes()).map(f64::to_bits), Some(value.to_bits()));
    }
}

#[test]
fn quick_digits_at_their_borders() {
    assert_eq!(quick_scientific(9.5, 20).unwrap(), "9.50000000000000000000e+00");
    assert_eq!(quick_scientific(-1.0 / 2048.0, 20).unwrap(), "-4.88281250000000000000e-04");
    assert_eq!(quick_scientific(0.1, 20).unwrap(), "1.00000000000000005551e-01");
    assert_eq!(quick_scientific(18_446_744_073_709_549_568.0, 19).unwrap(), "1.8446744073709549568e+19");
    assert!(quick_scientific(18_446_744_073_709_551_616.0, 20).is_none());
    assert!(quick_scientific(0.0, 20).is_none());
    assert!(quick_scientific(f64::NAN, 20).is_none());
}

#[test]
fn borders_of_float_texts() {
    assert_eq!(scientific(1.5, 250), None);
    assert_eq!(scientific(1.5, -1).unwrap(), "1.500000e+00");
    assert_eq!(scientific(5.0e-324, 249), None);
    assert_eq!(decimals(1.0, 254, false), None);
    assert_eq!(decimals(1.0, -1, false), None);
    assert_eq!(decimals(1.0, 253, false).unwrap().len(), 255);
    assert_eq!(decimals(10.0, 253, false), None);
    assert_eq!(decimals(1.0e22, 0, true).unwrap(), "1");
    assert_eq!(decimals(100.0, 0, true).unwrap(), "100");
    assert_eq!(decimals(0.35, 18, false).unwrap(), "0.350000000000000000");
}

#[test]
fn floats_read_as_in_otp() {
    for good in [
        "1.0",
        "-1.5",
        "+1.5",
        "1.0e5",
        "1.0E5",
        "1.0e+5",
        "1.0e-5",
        "-0.0",
        "00001.5",
        "1.0e00005",
        "0.1e1",
        "2.5e-324",
    ] {
        assert_eq!(read_float(good.as_bytes()), Some(good.parse().unwrap()), "{good}");
    }
    assert_eq!(read_float(b"1,5"), Some(1.5));
    assert_eq!(read_float(b"1.0e-400"), Some(0.0));
    for bad in [
        "",
        "1",
        "1.",
        ".5",
        "1e5",
        "1.0e",
        "1.0e+",
        " 1.0",
        "1.0 ",
        "1_0.0",
        "1.0e400",
        "0x1.0",
        "nan",
        "inf",
        "1.0e5.0",
        "1.0e99999999999999999999",
        "--1.0",
        "1.5f",
        "1.8e308",
        "1.0e -5",
    ] {
        assert_eq!(read_float(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn integers_read_as_in_otp() {
    let h = &mut &Arena::new();
    let mut read = |text: &str, base| read_integer(h, text.as_bytes(), base).map(|t| integer_text(t, 10).unwrap());
    for (text, base, value) in [
        ("1", 10, "1"),
        ("+1", 10, "1"),
        ("-1", 10, "-1"),
        ("ff", 16, "255"),
        ("FF", 16, "255"),
        ("zZ", 36, "1295"),
        ("-0", 10, "0"),
        ("00012", 10, "12"),
    ] {
        assert_eq!(read(text, base).as_deref(), Ok(value));
    }
    for (text, base) in [
        ("- 1", 10),
        ("", 10),
        ("+", 10),
        ("1_0", 10),
        ("12", 2),
        ("1", 1),
        ("1", 37),
        (" 1", 10),
        ("1 ", 10),
        ("0x1", 16),
    ] {
        assert_eq!(read(text, base), Err(TextError::BadArg), "{text}");
    }
    if cfg!(miri) {
        return; // Numbers of megabytes take hours there.
    }
    let ones = "1".repeat(33_554_369);
    assert_eq!(read(&ones, 2), Err(TextError::SystemLimit));
    assert_eq!(read(&"1".repeat(12_000_000), 10), Err(TextError::SystemLimit));
    assert_eq!(read(&format!("{}12", "0".repeat(20_000_000)), 10).as_deref(), Ok("12"));
}

#[test]
fn integers_print_as_in_otp() {
    let h = &mut &Arena::new();
    for (value, base, text) in [
        ("255", 16, "FF"),
        ("-255", 2, "-11111111"),
        ("35", 36, "Z"),
        ("0", 10, "0"),
        ("1267650600228229401496703205376", 36, "3EWFDNCA0N6LD1GGVFGG"),
    ] {
        let term = build(h, &Shape::Int(value.into()));
        assert_eq!(integer_text(term, base).as_deref(), Some(text));
    }
    assert_eq!(integer_text(Term::small(1), 1), None);
    assert_eq!(integer_text(Term::small(1), 37), None);
    assert_eq!(integer_text(Term::NIL, 10), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::test_terms::cases(1000)))]

    #[test]
    fn integers_read_back(negative in any::<bool>(), limbs in proptest::collection::vec(any::<u64>(), 0..40), base in 2u32..37) {
        let h = &mut &Arena::new();
        let term = h.big(negative, &limbs);
        let text = integer_text(term, base).unwrap();
        let back = read_integer(h, text.as_bytes(), base).unwrap();
        prop_assert!(eq_exact(term, back));
    }

    #[test]
    fn floats_read_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        if value.is_finite() {
            prop_assert_eq!(read_float(short(value).as_bytes()).map(f64::to_bits), Some(bits));
            prop_assert_eq!(read_float(scientific(value, 17).unwrap().as_bytes()).map(f64::to_bits), Some(bits));
        }
    }

    #[test]
    fn quick_digits_are_the_exact_ones(mantissa in 0u64..1 << 53, exponent in -70i32..70, digits in 19usize..36) {
        // As a number, and with few digits, so that there are ties.
        for mantissa in [mantissa, mantissa >> 30, mantissa >> 45] {
            for value in [mantissa as f64, -(mantissa as f64)] {
                let value = value * 2.0f64.powi(exponent);
                if let Some(quick) = quick_scientific(value, digits) {
                    let exact = format!("{value:.digits$e}");
                    let (mantissa, exponent) = exact.split_once('e').unwrap();
                    prop_assert_eq!(quick, with_exponent(mantissa, exponent.parse().unwrap()));
                }
            }
        }
    }

    #[test]
    fn reading_never_panics(text in "[-+0-9.,eE a]{0,12}", base in 0u32..40) {
        let h = &mut &Arena::new();
        let _ = read_float(text.as_bytes());
        let _ = read_integer(h, text.as_bytes(), base);
    }
}
