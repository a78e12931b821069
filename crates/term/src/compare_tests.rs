//! Tests of [`super`] and of [`crate::equal`]: laws on random terms, and orders that `erl` (OTP 25) gave.

use super::*;
use crate::alloc::Build;
use crate::arena::Arena;
use crate::test_terms::{Shape, build, shapes};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::test_terms::cases(400)))]

    #[test]
    fn orders_are_total(x in shapes(), y in shapes(), z in shapes()) {
        let h = &mut &Arena::new();
        let (a, b, c) = (build(h, &x), build(h, &y), build(h, &z));
        for order in [compare, compare_exact] {
            prop_assert_eq!(order(a, b), order(b, a).reverse());
            if order(a, b).is_le() && order(b, c).is_le() {
                prop_assert!(order(a, c).is_le());
            }
            if order(a, b).is_eq() {
                prop_assert_eq!(order(a, c), order(b, c));
            }
        }
        prop_assert_eq!(eq(a, b), compare(a, b).is_eq());
        prop_assert_eq!(eq_exact(a, b), compare_exact(a, b).is_eq());
    }

    #[test]
    fn copies_are_equal(x in shapes()) {
        let (h, g) = (&mut &Arena::new(), &mut &Arena::new());
        let (a, b) = (build(h, &x), build(g, &x));
        prop_assert!(eq(a, b) && eq_exact(a, b));
        prop_assert!(compare(a, b).is_eq() && compare_exact(a, b).is_eq());
        // Made by the copier rather than anew.
        let words = crate::copy::size(a, |_| false);
        let before = g.used_words();
        // SAFETY: the size of the same term; nothing stays.
        let c = unsafe { crate::copy::copy(a, words, g, |_| false) };
        prop_assert_eq!(g.used_words() - before, words);
        prop_assert!(eq_exact(a, c) && compare_exact(b, c).is_eq());
    }

    /// The external form gives an equal term back, and the hashes that programs see agree on equal terms.
    #[test]
    fn external_forms_and_hashes_agree(x in shapes(), y in shapes()) {
        use crate::etf::{DecodeOptions, EncodeOptions, decode, encode};
        let (h, g) = (&mut &Arena::new(), &mut &Arena::new());
        let (a, b) = (build(h, &x), build(g, &y));
        let bytes = encode(a, EncodeOptions { minor_version: 2, ..EncodeOptions::default() });
        let read = decode(g, &bytes, DecodeOptions::default());
        prop_assert!(read.is_ok_and(|r| r.used == bytes.len()));
        let again = decode(g, &bytes, DecodeOptions::default()).expect("read before").term;
        for equal in [again, b].into_iter().filter(|other| eq_exact(a, *other)) {
            prop_assert_eq!(crate::phash::phash2(a), crate::phash::phash2(equal));
            prop_assert_eq!(crate::phash::phash(a, 1 << 32), crate::phash::phash(equal, 1 << 32));
            prop_assert_eq!(crate::hash::map_hash(a), crate::hash::map_hash(equal));
        }
        prop_assert!(eq_exact(a, again));
    }
}

/// Terms in ascending order, as `lists:sort/1` of OTP 25 had them (equal ones apart from each other removed).
fn ascending<'h>(h: &mut &'h Arena) -> Vec<TermRef<'h>> {
    use Shape::*;
    let big = |bits: u32| Int((dashu_int::IBig::ONE << bits as usize).to_string());
    let int = |v: i64| Int(v.to_string());
    let shapes = vec![
        Int(format!("-{}", dashu_int::UBig::ONE << 70)),
        Float(-1.0e10),
        int(-1),
        Float(-0.5),
        int(0),
        Float(0.5),
        int(1),
        Float(1.5),
        int(2),
        Float(9007199254740992.0),
        int(9007199254740993),
        Float(1.0e18),
        Int("1000000000000000001".into()),
        Float(1.0e22),
        Int("10000000000000000000001".into()),
        Float(1.0e23), // below 10^23
        Int("100000000000000000000000".into()),
        Float(1.0e308),
        big(2000),
        Atom("".into()),
        Atom("a".into()),
        Atom("aa".into()),
        Atom("b".into()),
        Atom("å".into()),
        Tuple(vec![]),
        Tuple(vec![int(7)]),
        Tuple(vec![int(1), int(2)]),
        Tuple(vec![int(1), Atom("a".into())]),
        Map(vec![]),
        Map(vec![(int(2), int(0))]),
        Map(vec![(Float(1.0), int(0))]),
        Map(vec![(int(1), int(1)), (Atom("b".into()), int(0))]),
        Map(vec![(Float(1.0), int(1)), (Atom("a".into()), int(0))]),
        List(vec![]),
        List(vec![int(1)]),
        List(vec![int(1), int(2)]),
        List(vec![int(2)]),
        Bits(vec![], 0),
        Bits(vec![0], 1),
        Bits(vec![0x40], 2),
        Bits(vec![0x80], 1),
        Bits(vec![0x80], 2),
        Bits(vec![255, 0], 10),
        Bits(vec![255, 0x80], 9),
    ];
    shapes.iter().map(|s| build(h, s)).collect()
}

#[test]
fn order_is_that_of_otp() {
    let h = &mut &Arena::new();
    let terms = ascending(h);
    for (i, a) in terms.iter().enumerate() {
        for (j, b) in terms.iter().enumerate() {
            assert_eq!(compare(*a, *b), i.cmp(&j), "{i} {j}");
        }
    }
}

#[test]
fn numbers_equal_by_value_or_exactly() {
    let h = &mut &Arena::new();
    let (one, one_f) = (Term::small(1), h.float(1.0));
    assert!(eq(one, one_f) && !eq_exact(one, one_f));
    assert!(compare_exact(one, one_f).is_lt());
    let half = h.float(0.5);
    assert!(compare_exact(one, half).is_lt() && compare(one, half).is_gt());
    let (x, y) = (h.tuple(&[one]), h.tuple(&[one_f]));
    assert!(eq(x, y) && !eq_exact(x, y) && compare_exact(x, y).is_lt());
    let big = h.int128(10_000_000_000_000_000_000_000);
    let big_f = h.float(1.0e22);
    assert!(eq(big, big_f) && !eq_exact(big, big_f));
    let (zero, minus) = (h.float(0.0), h.float(-0.0));
    assert!(eq(zero, minus) && eq_exact(zero, minus) && compare_exact(zero, minus).is_eq());
}

#[test]
fn map_values_compare_by_value_and_keys_exactly() {
    use Shape::*;
    let arena = &Arena::new();
    let h = &mut { arena };
    let int = |v: i64| Int(v.to_string());
    let value = |size: i64, key: i64, v: Shape| {
        build(&mut { arena }, &Map((1..=size).map(|i| (int(i), if i == key { v.clone() } else { int(i) })).collect()))
    };
    for size in [5, 40, crate::test_terms::many(1000) as i64] {
        let (x, y) = (value(size, 3, int(3)), value(size, 3, Float(3.0)));
        assert!(eq(x, y) && !eq_exact(x, y) && compare(x, y).is_eq() && compare_exact(x, y).is_lt());
        let (x, y) = (value(size, 2, int(9)), value(size, 4, int(9)));
        assert!(compare(x, y).is_gt() && !eq(x, y));
        let floats = build(h, &Map((1..=size).map(|i| (Float(i as f64), int(i))).collect()));
        assert!(compare(x, floats).is_lt() && !eq(x, floats));
    }
    // The smallest key that differs decides: 0 and 100 against 1 and 2.
    let rest = (3..=40).map(|i| (int(i), int(i)));
    let x = build(h, &Map(rest.clone().chain([(int(0), int(0)), (int(100), int(0))]).collect()));
    let y = build(h, &Map(rest.chain([(int(1), int(0)), (int(2), int(0))]).collect()));
    assert!(compare(x, y).is_lt() && compare(y, x).is_gt());
}

fn fun_entry(index: i32, old_uniq: i32) -> &'static crate::FunEntry {
    let (module, old_index) = (crate::Atom::new("m").unwrap(), index);
    crate::FunEntry::intern(crate::FunId { module, index, old_index, old_uniq, uniq: [1; 16], arity: 1, free: 1 })
}

#[test]
fn identities_are_ordered_as_in_otp() {
    use crate::boxed::{Header, Kind};
    let arena = &Arena::new();
    let atom = |s: &str| crate::Atom::new(s).unwrap();
    let node = |n: &str, c: u64| c << 32 | u64::from(atom(n).index());
    let pid = |n: &str, c, number: u64, serial: u64| {
        (&mut { arena }).boxed_raw(Header::new(Kind::ExternalPid, 2), &[node(n, c), serial << 32 | number])
    };
    let pids = [
        crate::Pid::new(0, 0).term(),
        pid("a@b", 2, 1, 0),
        pid("b@b", 1, 1, 0),
        pid("b@b", 2, 1, 0),
        crate::Pid::new(1, 0).term(),
        pid("z@b", 2, 1, 0),
        pid("b@b", 1, 2, 0),
        pid("a@b", 1, 1, 1),
    ];
    let port =
        |n: &str, c, number: u64| (&mut { arena }).boxed_raw(Header::new(Kind::ExternalPort, 2), &[node(n, c), number]);
    let ports = [
        port("a@b", 1, 2),
        port("b@b", 1, 1),
        port("b@b", 1, 1 << 40),
        port("b@b", 2, 1),
        crate::Port::from_number(1).term(),
        crate::Port::from_number(2).term(),
        port("z@b", 0, 1),
    ];
    let reference = |n: &str, c, numbers: &[u32]| {
        let mut words = vec![node(n, c)];
        words.extend(numbers.chunks(2).map(|p| u64::from(p[0]) | p.get(1).map_or(0, |x| u64::from(*x) << 32)));
        (&mut { arena }).boxed_raw(Header::new(Kind::ExternalRef, words.len()).with_aux(numbers.len() as u32), &words)
    };
    let refs = [
        reference("a@b", 1, &[2, 0, 0]),
        reference("b@b", 1, &[1, 0, 0]),
        reference("b@b", 1, &[2, 0, 0]),
        reference("b@b", 1, &[1, 1, 0]),
        reference("b@b", 1, &[1, 2, 0]),
        reference("b@b", 1, &[1, 1, 1]),
        reference("b@b", 1, &[9, 2, 3]),
        reference("b@b", 1, &[1, 2, 3, 4]),
        reference("b@b", 2, &[1, 2, 3]),
        (&mut { arena }).reference(crate::RefNumbers([1, 2, 3])),
        reference("z@b", 0, &[1, 2, 3]),
    ];
    let short = reference("b@b", 1, &[1, 2]);
    assert!(eq_exact(short, refs[4]) && compare(short, refs[4]).is_eq());
    let export = |f: &str, arity| {
        let e = crate::Export::intern(crate::Mfa { module: atom("a"), function: atom(f), arity });
        (&mut { arena }).boxed(Header::new(Kind::ExportFun, 1), &[unsafe_word(e)])
    };
    let entry = fun_entry(0, 5);
    let later = fun_entry(1, 4);
    let fun = |e: &'static crate::FunEntry, free: &[Term]| {
        let mut slots = vec![unsafe_word(e), crate::Pid::new(1, 0).term()];
        slots.extend_from_slice(free);
        (&mut { arena }).boxed(Header::new(Kind::Fun, slots.len()), &slots)
    };
    let funs = [
        fun(entry, &[]),
        fun(entry, &[Term::small(1)]),
        fun(entry, &[Term::small(2)]),
        fun(later, &[]),
        export("b", 1),
        export("b", 2),
        export("c", 1),
    ];
    for group in [&pids[..], &ports, &refs, &funs] {
        for (i, a) in group.iter().enumerate() {
            for (j, b) in group.iter().enumerate() {
                assert_eq!(compare(*a, *b), i.cmp(&j), "{i} {j}");
                assert_eq!(eq_exact(*a, *b), i == j);
            }
        }
    }
    let all = [Term::TRUE, refs[0], funs[0], ports[0], pids[0]];
    assert!(all.windows(2).all(|w| compare(w[0], w[1]).is_lt()));
    let (one, one_f) = (fun(entry, &[Term::small(1)]), Term::immediate_float(1.0).unwrap());
    let other = fun(entry, &[one_f]);
    assert!(eq(one, other) && !eq_exact(one, other));
}

/// The address of something that never goes away, as a slot.
fn unsafe_word<T>(object: &'static T) -> Term {
    // SAFETY: an aligned address has the tag of a small integer.
    unsafe { Term::from_raw(std::ptr::from_ref(object) as u64) }
}

#[test]
fn depth_and_length_do_not_matter() {
    let n = crate::test_terms::many(1_000_000);
    let arena = &Arena::new();
    let deep = |bottom: Term| {
        let h = &mut { arena };
        (0..n).fold(bottom, |t, i| if i % 2 == 0 { h.tuple(&[t, Term::NIL]) } else { h.cons(t, Term::NIL) })
    };
    let (a, b, c) = (deep(Term::small(1)), deep(Term::small(1)), deep(Term::small(2)));
    assert!(eq_exact(a, b) && eq(a, b) && compare(a, b).is_eq());
    assert!(!eq_exact(a, c) && !eq(a, c) && compare(a, c).is_lt());
}

#[test]
fn maps_inside_keys_need_no_native_stack() {
    let depth = if cfg!(miri) { 3 } else { 150 };
    let arena = &Arena::new();
    let h = &mut { arena };
    let maps = |bottom| {
        let h = &mut { arena };
        (0..depth).fold(bottom, |t, _| {
            let pairs: Vec<(TermRef<'_>, TermRef<'_>)> =
                (0..33).map(|i| (Term::small(i), Term::NIL)).chain([(t, Term::NIL)]).collect();
            crate::test_terms::hash_map(h, &pairs)
        })
    };
    let (one, two) = (h.tuple(&[Term::small(1)]), h.tuple(&[Term::small(2)]));
    let words = [maps(one), maps(one), maps(two)].map(TermRef::raw);
    std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(move || {
            // SAFETY: the arena outlives the thread, which is joined below.
            let [a, b, c] = words.map(|w| unsafe { Term::from_raw(w) });
            assert!(eq_exact(a, b) && compare(a, b).is_eq());
            assert!(compare(a, c).is_lt() && compare(c, a).is_gt() && !eq(a, c));
        })
        .unwrap()
        .join()
        .unwrap();
}
