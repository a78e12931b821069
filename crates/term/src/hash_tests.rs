//! Tests of [`super`]: recorded values of OTP 25, and the law that equal terms hash equal.

use super::*;
use crate::alloc::Build;
use crate::arena::Arena;
use crate::equal::eq_exact;
use crate::test_terms::{build, map, recorded, shapes};
use proptest::prelude::*;

#[test]
fn values_are_those_of_otp() {
    recorded(include_str!("../testdata/hash_internal.txt"), |values, term| {
        assert_eq!(internal_hash(term, 0).to_string(), values[0]);
    });
}

#[test]
fn large_maps_iterate_as_in_otp() {
    // Keys 1 to 40 in the order of OTP 25's iterators: depth first, each node's places from the lowest. `maps:keys/1`,
    // `values/1` and `to_list/1` give the reverse.
    let mut keys: Vec<i64> = (1..=40).collect();
    keys.sort_by_key(|k| (0..8).map(|l| map_hash(Term::small(*k)) >> (4 * l) & 15).collect::<Vec<_>>());
    assert_eq!(keys[..9], [16, 18, 5, 19, 27, 35, 10, 24, 36]);
    keys.reverse();
    assert_eq!(keys[..9], [33, 12, 23, 29, 30, 39, 26, 31, 11]);
}

#[test]
fn rehashing_is_that_of_a_cell() {
    let h = &mut &Arena::new();
    let key = h.tuple(&[Term::small(300)]);
    let cell = h.cons(Term::small(2), key);
    assert_eq!(map_rehash(key, 16), internal_hash(cell, 0));
    assert_ne!(map_rehash(key, 8), map_hash(key));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::test_terms::cases(400)))]

    #[test]
    fn equal_terms_hash_equal(x in shapes(), y in shapes(), salt in any::<u32>()) {
        let (h, g) = (&mut &Arena::new(), &mut &Arena::new());
        let (a, copy, b) = (build(h, &x), build(g, &x), build(g, &y));
        prop_assert_eq!(internal_hash(a, salt), internal_hash(copy, salt));
        if eq_exact(a, b) {
            prop_assert_eq!(internal_hash(a, salt), internal_hash(b, salt));
        }
    }
}

#[test]
fn both_zeros_hash_equal_while_they_are_equal() {
    let h = &mut &Arena::new();
    let (zero, minus) = (h.float(0.0), h.float(-0.0));
    assert_eq!(internal_hash(zero, 7), internal_hash(minus, 7));
    let (x, y) = (map(h, &[(zero, Term::NIL)]), map(h, &[(minus, Term::NIL)]));
    assert_eq!(internal_hash(x, 0), internal_hash(y, 0));
}
