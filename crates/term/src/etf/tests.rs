//! The external term format both ways: what OTP writes and reads, and what it refuses.

use super::*;

use crate::alloc::Build;
use crate::arena::Arena;
use crate::equal::eq_exact;
use crate::test_terms::{many, rows};
use crate::word::{Term, TermRef};
use myriad_testing::Random;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn try_decode<'h>(heap: &mut &'h Arena, bytes: &[u8]) -> Result<Decoded<'h>, DecodeError> {
    decode(heap, bytes, DecodeOptions::default())
}

#[test]
fn nested_maps_take_what_they_need() {
    let mut heap = &Arena::new();
    // #{a => #{a => #{a => {}}}} with the smallest possible rest.
    let bytes = hex("83740000000161617400000001616174000000016161 6800".replace(' ', "").as_str());
    let d = try_decode(&mut heap, &bytes).expect("a map");
    assert_eq!(d.used, bytes.len());
    fn inner(t: TermRef<'_>) -> TermRef<'_> {
        t.as_map().and_then(|m| m.get(Term::small(97))).expect("a")
    }
    assert_eq!(inner(inner(inner(d.term))).as_tuple().map(|t| t.len()), Some(0));
}

#[test]
fn nested_large_maps_take_what_they_need() {
    // Forty keys, the last value a map of that kind again, then a tuple of nothing but empty tuples: each claim is as much as the
    // rest can hold.
    let mut bytes = vec![VERSION];
    for _ in 0..3 {
        bytes.extend([tag::MAP, 0, 0, 0, 40]);
        for key in 0..40 {
            bytes.extend([tag::SMALL_INTEGER, key]);
            if key < 39 {
                bytes.push(tag::NIL);
            }
        }
    }
    bytes.extend([tag::SMALL_TUPLE, 3, tag::NIL, tag::NIL, tag::NIL]);
    let mut heap = &Arena::new();
    let d = try_decode(&mut heap, &bytes).expect("a map");
    assert_eq!(d.used, bytes.len());
    fn last(t: TermRef<'_>) -> TermRef<'_> {
        t.as_map().and_then(|m| m.get(Term::small(39))).expect("39")
    }
    assert_eq!(last(last(last(d.term))).as_tuple().map(|t| t.len()), Some(3));
    bytes.pop();
    assert!(try_decode(&mut heap, &bytes).is_err());
}

#[test]
fn keys_of_small_maps_come_in_any_order_but_once() {
    let mut heap = &Arena::new();
    // #{3 => 97, 1 => 98, 2 => 99}: as no VM writes it.
    let d = try_decode(&mut heap, &hex("837400000003610361616101616261026163")).expect("a map");
    let map = d.term.as_map().expect("a map");
    let value = |key| map.get(Term::small(key)).and_then(TermRef::as_small);
    assert_eq!([1, 2, 3].map(value), [Some(98), Some(99), Some(97)]);
    let keys: Vec<i64> = map.iter().filter_map(|(k, _)| k.as_small()).collect();
    assert_eq!(keys, [1, 2, 3]);
    // A key twice: next to each other, and apart.
    for text in ["8374000000026101616161016162", "837400000003610161616102616261016163"] {
        assert!(try_decode(&mut heap, &hex(text)).is_err(), "{text}");
    }
}

#[test]
fn sizes_that_lie_allocate_nothing() {
    for text in ["8369ffffffff", "836cffffffff", "8374ffffffff", "836dffffffff", "836fffffffff00"] {
        let mut heap = &Arena::new();
        assert!(try_decode(&mut heap, &hex(text)).is_err(), "{text}");
        assert!(heap.used_words() < 100);
    }
    // Each of many nested tuples claims all that is left.
    let mut bytes = vec![VERSION];
    for i in 0..many(20_000) as u32 {
        bytes.push(tag::LARGE_TUPLE);
        bytes.extend(100_000u32.saturating_sub(5 * i + 6).to_be_bytes());
    }
    let mut heap = &Arena::new();
    assert!(try_decode(&mut heap, &bytes).is_err());
    assert!(heap.used_words() < 300_000);
}

#[test]
fn deep_nesting_needs_no_native_stack() {
    let mut heap = &Arena::new();
    let depth = many(300_000);
    let mut bytes = vec![VERSION];
    for _ in 0..depth {
        bytes.extend([tag::SMALL_TUPLE, 1, tag::LIST, 0, 0, 0, 1]);
    }
    bytes.extend(std::iter::repeat_n(tag::NIL, depth + 1));
    let d = try_decode(&mut heap, &bytes).expect("a deep term");
    assert_eq!(d.used, bytes.len());
    let mut empty_lists = vec![VERSION];
    for _ in 0..depth {
        empty_lists.extend([tag::LIST, 0, 0, 0, 0]);
    }
    empty_lists.extend([97, 5]);
    assert_eq!(try_decode(&mut heap, &empty_lists).expect("5").term.as_small(), Some(5));
}

#[test]
fn a_fun_says_how_long_it_is_wherever_it_stands() {
    let mut heap = &Arena::new();
    // {[F, d], F, 7}; {F with F in it, 7}.
    for text in [
        "8368036c000000027000000050018d6e70c0195d3978bc5ecbd51ec47496000000010000000164000a646966665f7465726d73610162046b73865864000d6e6f6e6f6465406e6f686f73740000000900000000000000006102640001646a7000000050018d6e70c0195d3978bc5ecbd51ec47496000000010000000164000a646966665f7465726d73610162046b73865864000d6e6f6e6f6465406e6f686f737400000009000000000000000061026107",
        "836802700000009f018d6e70c0195d3978bc5ecbd51ec47496000000010000000164000a646966665f7465726d73610162046b73865864000d6e6f6e6f6465406e6f686f73740000000900000000000000007000000050018d6e70c0195d3978bc5ecbd51ec47496000000010000000164000a646966665f7465726d73610162046b73865864000d6e6f6e6f6465406e6f686f737400000009000000000000000061026107",
    ] {
        let bytes = hex(text);
        let d = try_decode(&mut heap, &bytes).expect("a term");
        assert_eq!(encode(d.term, options(1)), bytes);
    }
}

#[test]
fn a_budget_stops_and_goes_on() {
    let mut bytes = vec![VERSION, tag::LARGE_TUPLE, 0, 0, 1, 0];
    for i in 0..=255 {
        bytes.extend([tag::SMALL_INTEGER, i]);
    }
    let mut heap = &Arena::new();
    let mut decoder = Decoder::new(&bytes, DecodeOptions::default()).expect("a head");
    let mut stops = 0;
    let term = loop {
        match decoder.run(&mut heap, &bytes, &mut 10).expect("a term") {
            Some(done) => break done.term,
            None => stops += 1,
        }
    };
    assert!(stops > 20);
    let got: Vec<i64> = term.as_tuple().expect("a tuple").elements().iter().filter_map(|t| t.as_small()).collect();
    assert!(got.into_iter().eq(0..=255));
}

#[test]
#[cfg_attr(miri, ignore = "zlib is C")]
fn compressed_terms() {
    let mut heap = &Arena::new();
    // A size that lies.
    assert!(try_decode(&mut heap, &hex("8350ffffffff789c")).is_err());
    assert!(heap.used_words() < 100);
    // term_to_binary(lists:duplicate(50, a), [compressed])
    let list = hex("835000000103789c63");
    assert!(try_decode(&mut heap, &list).is_err());
    let one = hex("835000000002789c4b640400 00c5006355".replace(' ', "").as_str());
    let d = try_decode(&mut heap, &one).expect("1");
    assert_eq!((d.term.as_small(), d.used), (Some(1), one.len() - 1));
    for wrong_size in ["835000000001", "835000000003"] {
        assert!(try_decode(&mut heap, &hex(&format!("{wrong_size}789c4b64040000c50063"))).is_err());
    }
}

/// The lines of a file of values recorded from OTP 25.
fn recorded(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    rows(text).map(|l| l.split(' ').collect())
}

fn options(minor_version: u8) -> EncodeOptions {
    EncodeOptions { minor_version, ..EncodeOptions::default() }
}

#[test]
fn bytes_are_those_of_otp() {
    for row in recorded(include_str!("../../testdata/terms.txt")) {
        let [default, utf8, text_floats, deterministic, size, ..] = row[..] else { panic!("a row") };
        let mut heap = &Arena::new();
        let bytes = hex(default);
        let d = try_decode(&mut heap, &bytes).unwrap_or_else(|e| panic!("{e:?} {default}"));
        assert_eq!(d.used, bytes.len());
        let or_first = |column: &str| if column == "=" { bytes.clone() } else { hex(column) };
        // Funs are read with any size and written with theirs.
        assert_eq!(encode(d.term, options(1)), bytes, "{default}");
        assert_eq!(encode(d.term, options(2)), or_first(utf8), "{default}");
        assert_eq!(encode(d.term, options(0)), or_first(text_floats), "{default}");
        let sorted = EncodeOptions { deterministic: true, ..options(1) };
        assert_eq!(encode(d.term, sorted), or_first(deterministic), "{default}");
        assert_eq!(external_size(d.term, options(1)), size.parse::<usize>().expect("a size"));
        for other in [utf8, text_floats, deterministic] {
            let bytes = or_first(other);
            let again = try_decode(&mut heap, &bytes).expect("another form");
            assert!(eq_exact(again.term, d.term), "{default}");
        }
    }
}

#[test]
fn foreign_identifiers_keep_their_node() {
    for row in recorded(include_str!("../../testdata/foreign.txt")) {
        let mut heap = &Arena::new();
        let bytes = hex(row[0]);
        let term = try_decode(&mut heap, &bytes).expect("an identifier").term;
        assert!(term.external_node().is_some());
        assert_eq!(encode(term, options(1)), bytes);
        assert_eq!(encode(term, options(2)), hex(row[1]));
    }
}

#[test]
fn broken_input_is_an_error_not_a_panic() {
    let mut random = Random::new(1);
    for row in recorded(include_str!("../../testdata/terms.txt")) {
        let bytes = hex(row[0]);
        if bytes.len() > 600 {
            continue;
        }
        let mut heap = &Arena::new();
        for end in (0..bytes.len()).step_by(if cfg!(miri) { 50 } else { 1 }) {
            assert!(try_decode(&mut heap, &bytes[..end]).is_err());
        }
        for _ in 0..if cfg!(miri) { 1 } else { 30 } {
            let mut broken = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(broken.len());
                broken[at] = if random.below(3) == 0 { 97 + random.below(24) } else { random.bits() as u8 };
            }
            let safe = DecodeOptions { safe: true, ..DecodeOptions::default() };
            if let Ok(d) = decode(&mut heap, &broken, safe) {
                let again = encode(d.term, options(1));
                assert!(eq_exact(try_decode(&mut heap, &again).expect("what we wrote").term, d.term));
            }
        }
    }
}

#[test]
fn encoding_stops_and_goes_on() {
    let mut heap = &Arena::new();
    let big = heap.binary(&[9; 5000]);
    let list: Vec<TermRef<'_>> = (0..100).map(|i| heap.tuple(&[Term::small(i), big])).collect();
    let term = heap.list(&list);
    let whole = encode(term, options(1));
    let mut encoder = Encoder::new(term, options(1));
    let mut stops = 0;
    while !encoder.run(&mut 7) {
        stops += 1;
    }
    assert!(stops > 20);
    assert_eq!(encoder.into_bytes(), whole);
    let mut encoder = Encoder::new(term, options(1)).in_pieces();
    while !encoder.run(&mut 50) {}
    assert_eq!(encoder.size(), whole.len());
    let mut shared = 0;
    let mut all = Vec::new();
    for piece in encoder.into_pieces() {
        match piece {
            Piece::Bytes(bytes) => all.extend_from_slice(&bytes),
            Piece::Shared { binary, offset, len } => {
                shared += 1;
                all.extend(&binary.bytes()[offset..offset + len]);
            }
        }
    }
    assert_eq!(shared, 100);
    assert_eq!(whole, all);
}

#[test]
#[cfg_attr(miri, ignore = "zlib is C")]
fn compression_only_if_it_helps() {
    let mut heap = &Arena::new();
    let a = crate::atom::Atom::new("a").expect("an atom").term();
    // byte_size(term_to_binary(lists:duplicate(N, a), [{compressed, L}])) in OTP 25.
    for (n, level, size) in [(1, 0, 11), (1, 6, 11), (4, 9, 23), (5, 0, 27), (5, 6, 25), (10, 6, 26), (10, 0, 47)] {
        let list = heap.list(&vec![a; n]);
        let bytes = encode(list, EncodeOptions { compressed: level, ..options(1) });
        assert_eq!(bytes.len(), size, "{n} {level}");
        assert!(eq_exact(try_decode(&mut heap, &bytes).expect("a list").term, list));
    }
    let list = heap.list(&vec![a; many(100_000)]);
    let bytes = encode(list, EncodeOptions { compressed: 9, ..options(1) });
    assert!(bytes.len() < 4000);
    assert!(eq_exact(try_decode(&mut heap, &bytes).expect("a list").term, list));
}

mod properties {
    use super::*;
    use crate::atom::Atom;
    use proptest::prelude::*;

    /// A term to be built.
    #[derive(Clone, Debug)]
    enum Model {
        Int(i128),
        Float(f64),
        Atom(String),
        Bits(Vec<u8>, usize),
        Tuple(Vec<Model>),
        List(Vec<Model>, Box<Model>),
        Map(Vec<(Model, Model)>),
    }

    fn model() -> impl Strategy<Value = Model> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(|i| Model::Int(i.into())),
            any::<i128>().prop_map(Model::Int),
            (-300i128..300).prop_map(Model::Int),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Model::Float),
            "\\PC{0,6}".prop_map(Model::Atom),
            (prop::collection::vec(any::<u8>(), 0..90), 0usize..8).prop_map(|(b, cut)| Model::Bits(b, cut)),
        ];
        leaf.prop_recursive(5, 200, 40, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Model::Tuple),
                (prop::collection::vec(inner.clone(), 0..6), inner.clone())
                    .prop_map(|(l, t)| Model::List(l, Box::new(t))),
                prop::collection::vec(inner.clone(), 0..6).prop_map(|l| Model::List(l, Box::new(Model::Tuple(vec![])))),
                prop::collection::vec((inner.clone(), inner), 0..45).prop_map(Model::Map),
            ]
        })
    }

    /// Are there more than 32 pairs in one of its maps?
    fn has_large_map(model: &Model) -> bool {
        match model {
            Model::Tuple(elements) => elements.iter().any(has_large_map),
            Model::List(elements, tail) => elements.iter().any(has_large_map) || has_large_map(tail),
            Model::Map(pairs) => pairs.len() > 32 || pairs.iter().any(|(k, v)| has_large_map(k) || has_large_map(v)),
            _ => false,
        }
    }

    fn build<'h>(heap: &mut &'h Arena, model: &Model) -> TermRef<'h> {
        match model {
            Model::Int(i) => heap.int128(*i),
            Model::Float(f) => heap.float(*f),
            Model::Atom(text) => Atom::new(text).expect("a short text").term(),
            Model::Bits(bytes, cut) => {
                let bits = (bytes.len() * 8).saturating_sub(*cut);
                heap.bitstring(bytes, bits)
            }
            Model::Tuple(elements) => {
                let elements: Vec<TermRef<'_>> = elements.iter().map(|e| build(heap, e)).collect();
                heap.tuple(&elements)
            }
            Model::List(elements, tail) => {
                let elements: Vec<TermRef<'_>> = elements.iter().map(|e| build(heap, e)).collect();
                let tail =
                    if matches!(**tail, Model::Tuple(ref t) if t.is_empty()) { Term::NIL } else { build(heap, tail) };
                heap.list_onto(&elements, tail)
            }
            Model::Map(pairs) => {
                let pairs: Vec<(TermRef<'_>, TermRef<'_>)> =
                    pairs.iter().map(|(k, v)| (build(heap, k), build(heap, v))).collect();
                crate::map::from_pairs(heap, &pairs)
            }
        }
    }

    /// No compression under miri: zlib is C.
    fn compression() -> impl Strategy<Value = u8> {
        prop_oneof![Just(0), Just(if cfg!(miri) { 0 } else { 6 })]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::test_terms::cases(150)))]
        #[test]
        fn what_is_written_is_read(model in model(), minor_version in 1u8..3, compressed in compression(), cut in any::<prop::sample::Index>()) {
            let mut heap = &Arena::new();
            let term = build(&mut heap, &model);
            let how = EncodeOptions { compressed, ..options(minor_version) };
            let bytes = encode(term, how);
            let read = try_decode(&mut heap, &bytes).expect("what was written");
            prop_assert!(eq_exact(read.term, term));
            prop_assert_eq!(read.used, bytes.len());
            prop_assert_eq!(external_size(term, options(minor_version)), encode(term, options(minor_version)).len());
            prop_assert!(try_decode(&mut heap, &bytes[..cut.index(bytes.len())]).is_err());
        }

        #[test]
        fn a_few_steps_at_a_time_make_the_same(model in model(), steps in 1usize..9) {
            let mut heap = &Arena::new();
            let term = build(&mut heap, &model);
            let mut encoder = Encoder::new(term, options(1));
            while !encoder.run(&mut { steps }) {}
            let bytes = encoder.into_bytes();
            prop_assert_eq!(&bytes, &encode(term, options(1)));
            let mut sizer = Sizer::new(term, options(1));
            let size = loop {
                if let Some(size) = sizer.run(&mut { steps }) {
                    break size;
                }
            };
            prop_assert_eq!(size, bytes.len());
            let mut decoder = Decoder::new(&bytes, DecodeOptions::default()).expect("a head");
            let read = loop {
                if let Some(read) = decoder.run(&mut heap, &bytes, &mut { steps }).expect("what was written") {
                    break read;
                }
            };
            prop_assert!(eq_exact(read.term, term));
            prop_assert_eq!(read.used, bytes.len());
        }

        #[test]
        fn a_term_takes_what_was_measured(model in model()) {
            let mut heap = &Arena::new();
            let term = build(&mut heap, &model);
            let bytes = encode(term, options(1));
            let mut fresh = &Arena::new();
            try_decode(&mut fresh, &bytes).expect("what was written");
            let measured = measure::words(&bytes, 1, usize::MAX);
            if !has_large_map(&model) {
                prop_assert!(fresh.used_words() <= measured);
            }
            // Bytes that claim much do not count, nor do those beyond the limit.
            prop_assert!(measured <= 20 * bytes.len());
            prop_assert!(measure::words(&bytes, 1, 10) <= measured);
        }
    }
}
