use super::*;
use crate::alloc::Build;
use crate::arena::Arena;
use crate::boxed::Kind;
use crate::equal::eq_exact;
use crate::test_terms::many;
use crate::word::{Term, TermRef};
use myriad_testing::Random;
use std::collections::BTreeMap;

fn key<'h>(heap: &mut &'h Arena, i: u64) -> TermRef<'h> {
    match i % 4 {
        0 => Term::small(i as i64),
        1 => heap.float(i as f64 + 0.5),
        2 => heap.binary(&i.to_be_bytes()),
        _ => heap.tuple(&[Term::small(i as i64), Term::NIL]),
    }
}

fn map<'a, 'h>(term: &'a TermRef<'h>) -> Map<'a, 'h> {
    term.as_map().expect("a map")
}

/// Same form, same bitmaps, same leaves in the same places.
fn same_shape(a: TermRef<'_>, b: TermRef<'_>) -> bool {
    if let (Some((k, v)), Some((l, w))) = (a.as_cons(), b.as_cons()) {
        return eq_exact(k, l) && v.is(w);
    }
    let (Some(x), Some(y)) = (a.as_boxed(), b.as_boxed()) else { return a.is(b) };
    if x.header() != y.header() {
        return false;
    }
    match x.kind() {
        Kind::MapRoot | Kind::MapNode => x.slots().iter().zip(y.slots()).all(|(p, q)| same_shape(*p, *q)),
        _ => x.slots().iter().zip(y.slots()).all(|(p, q)| eq_exact(*p, *q)),
    }
}

fn check<'h>(heap: &mut &'h Arena, got: TermRef<'h>, model: &BTreeMap<u64, i64>) {
    let pairs: Vec<Pair> = model.iter().map(|(i, v)| (key(heap, *i), Term::small(*v))).collect();
    let bulk = from_pairs(heap, &pairs);
    assert!(same_shape(got, bulk));
    let m = map(&got);
    assert_eq!(m.size(), model.len());
    assert_eq!(m.is_flat(), model.len() <= FLAT_LIMIT);
    assert_eq!(m.iter().count(), model.len());
    for (k, v) in &pairs {
        assert!(m.get(*k).is_some_and(|w| w.is(*v)));
    }
}

#[test]
fn changes_one_by_one_give_what_bulk_gives() {
    for (seed, range) in [(1, 40), (2, 70), (3, 1000), (4, 5000)] {
        let mut heap = &Arena::new();
        let mut random = Random::new(seed);
        let mut model = BTreeMap::new();
        let mut term = empty(&mut heap);
        for step in 0..many(2500) {
            let i = random.below(range);
            let k = key(&mut heap, i);
            if random.below(5) < 3 {
                let v = random.below(100) as i64;
                term = map(&term).put(&mut heap, k, Term::small(v));
                model.insert(i, v);
            } else {
                let taken = map(&term).take(&mut heap, k);
                assert_eq!(taken.and_then(|(v, _)| v.as_small()), model.remove(&i));
                term = taken.map_or(term, |(_, rest)| rest);
                assert!(!map(&term).has_key(k));
            }
            if step % 50 == 0 {
                check(&mut heap, term, &model);
            }
        }
        check(&mut heap, term, &model);
    }
}

#[test]
fn merging_gives_what_bulk_gives() {
    let mut random = Random::new(7);
    for sizes in [(0, 5), (5, 7), (20, 20), (30, 300), (300, 30), (300, 300), (1000, 3000), (2, 400)] {
        let sizes = (many(sizes.0) as u64, many(sizes.1) as u64);
        let arena = &Arena::new();
        let mut heap = arena;
        let mut side = |n: u64, value: i64| {
            let heap = &mut { arena };
            let model: BTreeMap<u64, i64> = (0..n).map(|_| (random.below(2 * n + 10), value)).collect();
            let pairs: Vec<Pair> = model.iter().map(|(i, v)| (key(heap, *i), Term::small(*v))).collect();
            (from_pairs(heap, &pairs), model)
        };
        let (a, mut model) = side(sizes.0, 1);
        let (b, other) = side(sizes.1, 2);
        model.extend(other);
        let merged = map(&a).merge(&mut heap, map(&b));
        check(&mut heap, merged, &model);
        let again = map(&merged).merge(&mut heap, map(&merged));
        assert!(again.is(merged));
        let changed = map(&merged).put(&mut heap, Term::TRUE, Term::small(9));
        let mixed = map(&merged).merge(&mut heap, map(&changed));
        assert!(same_shape(mixed, changed));
    }
}

#[test]
fn the_last_of_equal_keys_wins() {
    for n in [3i64, 20, 200] {
        let mut heap = &Arena::new();
        let pairs: Vec<Pair> = (0..3 * n).map(|i| (Term::small(i % n), Term::small(i))).collect();
        let m = from_pairs(&mut heap, &pairs);
        let m = map(&m);
        assert_eq!(m.size(), n as usize);
        assert!((0..n).all(|i| m.get(Term::small(i)).is_some_and(|v| v.as_small() == Some(2 * n + i))));
        assert!(from_unique_pairs(&mut heap, &pairs).is_none());
        assert!(from_unique_pairs(&mut heap, &pairs[..n as usize]).is_some());
    }
}

#[test]
fn many_at_once() {
    let mut heap = &Arena::new();
    let pairs =
        |range: std::ops::Range<i64>, v: i64| range.map(|i| (Term::small(i), Term::small(v))).collect::<Vec<_>>();
    for n in [1, 10, 31, 32, 33, 100] {
        let base = from_pairs(&mut heap, &pairs(0..n, 0));
        for more in [0, 1, 5, 32, 60] {
            let got = map(&base).put_all(&mut heap, &pairs(n / 2..n / 2 + more, 1));
            let mut model: BTreeMap<i64, i64> = (0..n).map(|i| (i, 0)).collect();
            model.extend((n / 2..n / 2 + more).map(|i| (i, 1)));
            let wanted: Vec<Pair> = model.iter().map(|(k, v)| (Term::small(*k), Term::small(*v))).collect();
            let wanted = from_pairs(&mut heap, &wanted);
            assert!(same_shape(got, wanted));
        }
        let exact = map(&base).update_all(&mut heap, &pairs(0..n, 5)).expect("all keys there");
        assert!(map(&exact).iter().all(|(_, v)| v.as_small() == Some(5)));
        assert_eq!(map(&base).update_all(&mut heap, &pairs(n - 1..n + 1, 5)), Err(Term::small(n)));
        assert!(map(&base).update(&mut heap, Term::TRUE, Term::NIL).is_none());
    }
}

#[test]
fn flat_maps_share_their_keys() {
    let mut heap = &Arena::new();
    let base = from_pairs(&mut heap, &[(Term::small(1), Term::NIL), (Term::TRUE, Term::NIL)]);
    let changed = map(&base).put(&mut heap, Term::TRUE, Term::OK);
    assert!(map(&changed).key_tuple().is(map(&base).key_tuple()));
    assert!(!map(&changed).term().is(base));
    let same = map(&base).put(&mut heap, Term::TRUE, Term::NIL);
    assert!(same.is(base));
    let merged = map(&base).merge(&mut heap, map(&changed));
    assert!(merged.is(changed));
}

#[test]
fn equal_hashes_collide_in_order() {
    let mut heap = &Arena::new();
    let leaves: Vec<TermRef<'_>> = [1, 3, 5].map(|i| heap.cons(Term::small(i), Term::NIL)).to_vec();
    let inner = hash::split(&mut heap, leaves[2], leaves[0], MAX_LEVEL);
    let (bitmap, children) = hash::parts(inner.as_boxed().unwrap());
    assert_eq!(bitmap, COLLISION);
    assert!(children[0].is(leaves[0]) && children[1].is(leaves[2]));
    let three = hash::put_below(&mut heap, inner, MAX_LEVEL, Term::small(3), Term::TRUE);
    let (_, children) = hash::parts(three.as_boxed().unwrap());
    assert_eq!(children.len(), 3);
    assert_eq!(children[1].as_cons(), Some((Term::small(3), Term::TRUE)));
    assert!(hash::get_below(three.as_boxed().unwrap(), MAX_LEVEL, 0, Term::small(5)).is_some());
}

#[test]
fn batches_resume_where_they_stopped() {
    let size = many(2000);
    let mut heap = &Arena::new();
    let pairs: Vec<Pair> = (0..size as u64).map(|i| (key(&mut heap, i), Term::small(i as i64))).collect();
    let m = from_pairs(&mut heap, &pairs);
    let m = map(&m);
    let all: Vec<u64> = m.iter().map(|(_, v)| v.raw()).collect();
    for limit in [1, 2, 7, 32, size - 1, size] {
        let mut got = Vec::new();
        let mut path = Some(0);
        while let Some(at) = path {
            let before = got.len();
            path = next_batch(m, at, limit, |_, v| got.push(v.raw())).expect("a path of this map");
            assert!(got.len() - before <= limit);
        }
        assert_eq!(got, all);
    }
    let mut down: Vec<u64> = m.pairs().map(|(_, v)| v.raw()).collect();
    down.reverse();
    assert_eq!(down, all);
    for path in [0xffff_ffff_ffff_ffff, u64::MAX / 3, 1 << 63] {
        let _ = next_batch(m, path, 5, |_, _| ());
    }
    let flat = from_pairs(&mut heap, &pairs[..4]);
    let flat = map(&flat);
    assert_eq!(next_batch(flat, 1, 5, |_, _| ()), Err(BadPath));
}

/// `maps:keys/1` of OTP 25, by the keys' numbers.
#[test]
fn hash_maps_iterate_as_otp_does() {
    type Make = for<'h> fn(&mut &'h Arena, i64) -> TermRef<'h>;
    let cases: [(Make, &[i64]); 6] = [
        (
            |_, i| Term::small(i),
            &[
                33, 12, 23, 29, 30, 39, 26, 31, 11, 37, 9, 32, 34, 25, 28, 6, 38, 13, 40, 20, 15, 14, 2, 7, 1, 8, 3,
                17, 22, 21, 4, 36, 24, 10, 35, 27, 19, 5, 18, 16,
            ],
        ),
        (
            |h, i| h.tuple(&[Term::small(i), Term::small(i * i)]),
            &[
                27, 10, 49, 39, 44, 17, 47, 2, 11, 1, 34, 13, 28, 14, 33, 18, 32, 21, 5, 35, 50, 24, 41, 48, 4, 29, 43,
                46, 15, 20, 42, 25, 6, 7, 45, 16, 30, 12, 40, 31, 22, 19, 23, 38, 8, 37, 26, 3, 36, 9,
            ],
        ),
        (
            |h, i| h.binary(&(i as u32).to_be_bytes()),
            &[
                37, 33, 6, 4, 16, 28, 21, 30, 3, 23, 38, 36, 10, 29, 24, 26, 5, 45, 1, 31, 15, 20, 17, 42, 35, 7, 39,
                19, 27, 13, 32, 40, 34, 22, 41, 12, 14, 2, 44, 8, 9, 11, 25, 43, 18,
            ],
        ),
        (
            |h, i| h.float(i as f64 * 1.5),
            &[
                11, 19, 14, 17, 7, 5, 28, 18, 29, 31, 16, 23, 20, 24, 15, 21, 8, 26, 34, 27, 9, 1, 32, 13, 4, 22, 10,
                6, 2, 3, 30, 33, 12, 25,
            ],
        ),
        (
            |h, i| h.string(&i.to_string()),
            &[
                27, 42, 4, 59, 56, 13, 40, 60, 7, 17, 19, 37, 39, 9, 57, 36, 18, 51, 25, 34, 50, 1, 52, 15, 46, 47, 54,
                29, 14, 58, 3, 33, 53, 45, 31, 16, 28, 35, 24, 38, 6, 22, 30, 12, 20, 26, 10, 23, 44, 11, 41, 2, 8, 5,
                49, 21, 32, 55, 48, 43,
            ],
        ),
        (
            |h, i| h.big(false, &[0, (i as u64) << 6]),
            &[
                16, 3, 11, 10, 30, 4, 15, 25, 2, 29, 6, 9, 33, 22, 8, 5, 20, 12, 26, 1, 32, 28, 24, 23, 14, 18, 17, 13,
                31, 7, 19, 27, 21,
            ],
        ),
    ];
    for (make, wanted) in cases {
        let mut heap = &Arena::new();
        let pairs: Vec<Pair> = (1..=wanted.len() as i64).map(|i| (make(&mut heap, i), Term::small(i))).collect();
        let m = from_pairs(&mut heap, &pairs);
        let m = map(&m);
        let got: Vec<i64> = m.pairs().filter_map(|(_, v)| v.as_small()).collect();
        assert_eq!(got, wanted);
        let values = m.values(&mut heap);
        assert!(values.list_iter().filter_map(TermRef::as_small).eq(wanted.iter().copied()));
    }
}

/// `erts_internal:map_next/3` of OTP 25 over #{1 => 1, …, 500 => 500}.
#[test]
fn paths_are_those_of_otp() {
    let mut heap = &Arena::new();
    let numbers: Vec<TermRef<'_>> = (1..=500).map(Term::small).collect();
    let list: Vec<TermRef<'_>> = numbers.iter().map(|n| heap.tuple(&[*n, *n])).collect();
    let list = heap.list(&list);
    let m = from_list(&mut heap, list).expect("a map");
    let m = map(&m);
    let mut first = Vec::new();
    let path = next_batch(m, 0, 32, |k, _| first.push(k.small_value()));
    assert_eq!(path, Ok(Some(192)));
    let wanted = [
        16, 226, 164, 447, 294, 267, 107, 315, 258, 115, 445, 227, 172, 136, 79, 205, 210, 304, 415, 18, 403, 407, 54,
        316, 481, 307, 333, 398, 496, 5, 487, 314,
    ];
    assert_eq!(first, wanted);
    let mut rest = 0;
    assert_eq!(next_batch(m, 192, 1000, |_, _| rest += 1), Ok(None));
    assert_eq!(rest, 468);
    assert_eq!(next_batch(m, 99_999_999, 1000, |_, _| ()), Err(BadPath));
    // {K, V, {K, V, [192|M]}} and [192, M, Pair, Pair|Tail]
    let chain = next_iterator(&mut heap, 0, m, 32).expect("a batch");
    let mut at = chain;
    while let Some([_, _, next]) = at.as_tuple_of() {
        at = next;
    }
    assert_eq!(at.as_cons().map(|(p, t)| (p.small_value(), t.is(m.term()))), Some((192, true)));
    let batch = next_list(&mut heap, 0, m, 32, Term::NIL).expect("a batch");
    let items: Vec<TermRef<'_>> = batch.list_iter().collect();
    assert_eq!((items.len(), items[0].as_small(), items[1].is(m.term())), (34, Some(192), true));
    assert_eq!(items[2].as_tuple_of().map(|[k, _]| k), Some(Term::small(314)));
    let flat = from_keys(&mut heap, Term::NIL, Term::NIL).expect("a map");
    let flat = map(&flat);
    assert!(next_iterator(&mut heap, 0, flat, 32).expect("none").is_am(crate::am::none));
}

#[test]
fn a_map_made_in_steps_is_the_map_made_at_once() {
    for count in [1, 30, 33, 3000, many(100_000)] {
        let heap = &mut &Arena::new();
        let mut random = Random::new(count as u64);
        let pairs: Vec<Pair> =
            (0..count).map(|i| (key(heap, random.below(count as u64)), Term::small(i as i64))).collect();
        let at_once = from_pairs(heap, &pairs);
        let mut builder = Builder::new(pairs.len());
        for (key, value) in &pairs {
            builder.push(*key, *value);
        }
        let mut steps = 0;
        let in_steps = loop {
            steps += 1;
            let mut budget = 100;
            if let Some(map) = builder.build(heap, &mut budget) {
                break map;
            }
        };
        assert!(same_shape(at_once, in_steps) && eq_exact(at_once, in_steps));
        assert!(steps > count / 1000);
    }
}

#[test]
fn pairs_in_order_are_put_as_any() {
    let heap = &mut &Arena::new();
    let mut random = Random::new(7);
    let names: Vec<TermRef<'_>> = (0..20)
        .map(|i| crate::Atom::new(&format!("{}key{i}", ["", "a_long_", "z"][i % 3])).unwrap().term())
        .chain((0..20).map(Term::small))
        .collect();
    for _ in 0..500 {
        let mut pick = |value: i64, limit: u64| {
            let n = random.below(limit);
            (0..n).map(|i| (names[random.below(40) as usize], Term::small(value + i as i64))).collect::<Vec<Pair<'_>>>()
        };
        let (old, new) = (pick(0, 40), pick(100, 12));
        let old = from_pairs(heap, &old);
        let ordered = from_pairs(heap, &new);
        let ordered: Vec<Pair> = map(&ordered).iter().collect();
        let one_by_one = ordered.iter().fold(old, |m, (k, v)| map(&m).put(heap, *k, *v));
        let together = map(&old).put_in_order(heap, &ordered);
        assert!(same_shape(together, one_by_one));
        assert!(same_shape(map(&old).put_all(heap, &new), one_by_one));
        let there = ordered.iter().all(|(k, _)| map(&old).has_key(*k));
        match map(&old).update_all(heap, &new) {
            Ok(updated) => assert!(there && same_shape(updated, one_by_one)),
            Err(missing) => assert!(!map(&old).has_key(missing)),
        }
    }
}
