//! Tests of [`super`]: against `i128` and dashu, and against values that `erl` (OTP 25) printed.

use super::*;
use crate::arena::Arena;
use dashu_int::IBig;
use proptest::prelude::*;

/// The value of an integer term.
fn value(t: TermRef<'_>) -> IBig {
    match Number::of(&t).unwrap() {
        Number::Small(v) => v.into(),
        Number::Big(negative, limbs) => {
            let m = IBig::from(dashu_int::UBig::from_words(limbs));
            assert!(limbs.last() != Some(&0) && Term::try_small(0).is_some());
            assert!(limbs.len() > 1 || limbs[0] >= 1 << 60, "should be small");
            if negative { -m } else { m }
        }
        Number::Float(_) => panic!("float"),
    }
}

fn term<'h>(heap: &mut &'h Arena, v: &IBig) -> TermRef<'h> {
    let (sign, words) = v.as_sign_words();
    heap.big(sign == dashu_int::Sign::Negative, words)
}

/// Integers of all sizes, thick around the borders.
fn any_integer() -> impl Strategy<Value = IBig> {
    let near = (0usize..200, -2i64..3, any::<bool>())
        .prop_map(|(bits, d, neg)| if neg { -(IBig::ONE << bits) + d } else { (IBig::ONE << bits) + d });
    let wide = (any::<bool>(), proptest::collection::vec(any::<u64>(), 0..6)).prop_map(|(neg, words)| {
        let m = IBig::from(dashu_int::UBig::from_words(&words));
        if neg { -m } else { m }
    });
    prop_oneof![any::<i64>().prop_map(IBig::from), (-300i64..300).prop_map(IBig::from), near, wide]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::test_terms::cases(2000)))]

    #[test]
    fn integers_agree_with_dashu(a in any_integer(), b in any_integer(), by in 0usize..300) {
        let h = &mut &Arena::new();
        let (x, y) = (term(h, &a), term(h, &b));
        prop_assert_eq!(value(add(h, x, y).unwrap()), &a + &b);
        prop_assert_eq!(value(sub(h, x, y).unwrap()), &a - &b);
        prop_assert_eq!(value(mul(h, x, y).unwrap()), &a * &b);
        prop_assert_eq!(value(mul(h, x, x).unwrap()), &a * &a);
        prop_assert_eq!(value(neg(h, x).unwrap()), -&a);
        prop_assert_eq!(value(band(h, x, y).unwrap()), &a & &b);
        prop_assert_eq!(value(bor(h, x, y).unwrap()), &a | &b);
        prop_assert_eq!(value(bxor(h, x, y).unwrap()), &a ^ &b);
        prop_assert_eq!(value(bnot(h, x).unwrap()), !&a);
        if b.is_zero() {
            prop_assert_eq!(div(h, x, y).err(), Some(BadArith));
            prop_assert_eq!(rem(h, x, y).err(), Some(BadArith));
        } else {
            prop_assert_eq!(value(div(h, x, y).unwrap()), &a / &b);
            prop_assert_eq!(value(rem(h, x, y).unwrap()), &a % &b);
        }
        let by_term = Term::small(by as i64);
        let back = Term::small(-(by as i64));
        prop_assert_eq!(value(bsl(h, x, by_term).unwrap()), &a << by);
        prop_assert_eq!(value(bsr(h, x, back).unwrap()), &a << by);
        prop_assert_eq!(value(bsr(h, x, by_term).unwrap()), &a >> by);
        prop_assert_eq!(value(bsl(h, x, back).unwrap()), &a >> by);
        let m = abs(h, x).unwrap();
        prop_assert!(value(m) >= IBig::ZERO && (value(m) == a || value(m) == -&a));
    }

    #[test]
    fn whole_doubles_become_their_integer(bits in any::<u64>()) {
        let v = f64::from_bits(bits);
        if v.is_finite() {
            let h = &mut &Arena::new();
            let t = h.float(v);
            let whole = trunc(h, t).unwrap();
            prop_assert_eq!(Number::of(&whole).unwrap().to_f64().unwrap(), v.trunc() + 0.0);
        }
    }
}

fn f<'h>(h: &mut &'h Arena, v: f64) -> TermRef<'h> {
    h.float(v)
}

/// Numbers of four megabytes: miri would take hours, and what it looks for does not depend on their size.
#[test]
#[cfg_attr(miri, ignore)]
fn limit_is_that_of_otp() {
    let h = &mut &Arena::new();
    let one = Term::small(1);
    let most = bsl(h, one, Term::small(33_554_367)).unwrap();
    assert_eq!(bsl(h, one, Term::small(33_554_368)).err(), Some(SystemLimit));
    assert_eq!(bsl(h, Term::small(-1), Term::small(33_554_368)).err(), Some(SystemLimit));
    assert!(bsl(h, Term::small(-1), Term::small(33_554_367)).is_ok());
    assert_eq!(mul(h, most, Term::small(2)).err(), Some(SystemLimit));
    assert_eq!(add(h, most, most).err(), Some(SystemLimit));
    let less = sub(h, most, one).unwrap();
    let top = add(h, most, less).unwrap();
    assert_eq!(add(h, top, one).err(), Some(SystemLimit));
    assert_eq!(bnot(h, top).err(), Some(SystemLimit));
    assert!(neg(h, top).is_ok());
    let far = bsl(h, one, Term::small(70)).unwrap();
    assert_eq!(bsl(h, one, far).err(), Some(SystemLimit));
    assert!(bsl(h, Term::small(0), far).unwrap().is(Term::small(0)));
    assert!(bsr(h, Term::small(-1), far).unwrap().is(Term::small(-1)));
    assert!(bsr(h, Term::small(5), far).unwrap().is(Term::small(0)));
    assert!(bsr(h, far, far).unwrap().is(Term::small(0)));
    let near = neg(h, far).unwrap();
    assert!(bsl(h, near, near).unwrap().is(Term::small(-1)));
    assert_eq!(bsr(h, one, near).err(), Some(SystemLimit));
}

#[test]
fn mixed_operands_become_floats() {
    let h = &mut &Arena::new();
    let (half, one) = (f(h, 0.5), Term::small(1));
    assert_eq!(add(h, one, half).unwrap().as_float(), Some(1.5));
    assert_eq!(sub(h, one, half).unwrap().as_float(), Some(0.5));
    assert_eq!(mul(h, half, one).unwrap().as_float(), Some(0.5));
    assert_eq!(divide(h, one, Term::small(4)).unwrap().as_float(), Some(0.25));
    let zero = f(h, 0.0);
    let product = mul(h, zero, Term::small(-1)).unwrap().as_float().unwrap();
    assert!(product == 0.0 && product.is_sign_negative());
    let big = bsl(h, one, Term::small(2000)).unwrap();
    assert_eq!(add(h, big, half).err(), Some(BadArith));
    assert_eq!(divide(h, big, big).err(), Some(BadArith));
    assert_eq!(divide(h, one, zero).err(), Some(BadArith));
    assert_eq!(div(h, one, half).err(), Some(BadArith));
    assert_eq!(band(h, one, half).err(), Some(BadArith));
    assert_eq!(bsl(h, one, half).err(), Some(BadArith));
    assert_eq!(add(h, one, Term::NIL).err(), Some(BadArith));
    assert_eq!(add(h, Term::TRUE, big).err(), Some(BadArith));
    let huge = f(h, 1.0e308);
    assert_eq!(mul(h, huge, Term::small(10)).err(), Some(BadArith));
}

#[test]
fn smallest_small_divided_by_minus_one_is_big() {
    let h = &mut &Arena::new();
    let q = div(h, Term::small(Term::SMALL_MIN), Term::small(-1)).unwrap();
    assert_eq!(value(q), IBig::ONE << 60);
    assert!(neg(h, q).unwrap().is(Term::small(Term::SMALL_MIN)));
}

#[test]
fn roundings_as_otp() {
    let h = &mut &Arena::new();
    for (v, t, r, fl, c) in [
        (2.5, 2, 3, 2, 3),
        (-2.5, -2, -3, -3, -2),
        (0.49999999999999994, 0, 0, 0, 1),
        (-1.5, -1, -2, -2, -1),
        (2251799813685249.5, 2251799813685249, 2251799813685250, 2251799813685249, 2251799813685250),
    ] {
        let x = f(h, v);
        let got = [trunc(h, x), round(h, x), floor(h, x), ceil(h, x)].map(|t| t.unwrap().as_small().unwrap());
        assert_eq!(got, [t, r, fl, c], "{v}");
    }
    let x = f(h, -1.0e22);
    assert_eq!(value(trunc(h, x).unwrap()), IBig::from(-10_000_000_000_000_000_000_000i128));
    assert!(trunc(h, Term::NIL).is_none() && float(h, Term::NIL).is_none());
    let big = bsl(h, Term::small(1), Term::small(1024)).unwrap();
    assert!(float(h, big).is_none());
    let zero = f(h, -0.0);
    assert!(abs(h, zero).unwrap().is(zero));
}
