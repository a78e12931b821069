use super::*;

use crate::arena::Arena;
use crate::word::Term;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn try_decode(heap: &mut Arena, bytes: &[u8]) -> Result<Decoded, DecodeError> {
    decode(heap, bytes, DecodeOptions::default())
}

#[test]
fn nested_maps_take_what_they_need() {
    let mut heap = Arena::new();
    // #{a => #{a => #{a => {}}}} with the smallest possible rest.
    let bytes = hex("83740000000161617400000001616174000000016161 6800".replace(' ', "").as_str());
    let d = try_decode(&mut heap, &bytes).expect("a map");
    assert_eq!(d.used, bytes.len());
    let inner = |t: Term| t.as_map().and_then(|m| m.get(Term::small(97))).expect("a");
    assert_eq!(inner(inner(inner(d.term))).as_tuple().map(|t| t.len()), Some(0));
}

#[test]
fn sizes_that_lie_allocate_nothing() {
    for text in ["8369ffffffff", "836cffffffff", "8374ffffffff", "836dffffffff", "836fffffffff00", "8350ffffffff789c"] {
        let mut heap = Arena::new();
        assert!(try_decode(&mut heap, &hex(text)).is_err(), "{text}");
        assert!(heap.used_words() < 100);
    }
    // Each of many nested tuples claims all that is left.
    let mut bytes = vec![VERSION];
    for i in 0..20_000u32 {
        bytes.push(tag::LARGE_TUPLE);
        bytes.extend(100_000u32.saturating_sub(5 * i + 6).to_be_bytes());
    }
    let mut heap = Arena::new();
    assert!(try_decode(&mut heap, &bytes).is_err());
    assert!(heap.used_words() < 300_000);
}

#[test]
fn deep_nesting_needs_no_native_stack() {
    let mut heap = Arena::new();
    let mut bytes = vec![VERSION];
    for _ in 0..300_000 {
        bytes.extend([tag::SMALL_TUPLE, 1, tag::LIST, 0, 0, 0, 1]);
    }
    bytes.extend(std::iter::repeat_n(tag::NIL, 300_001));
    let d = try_decode(&mut heap, &bytes).expect("a deep term");
    assert_eq!(d.used, bytes.len());
    let mut empty_lists = vec![VERSION];
    for _ in 0..300_000 {
        empty_lists.extend([tag::LIST, 0, 0, 0, 0]);
    }
    empty_lists.extend([97, 5]);
    assert_eq!(try_decode(&mut heap, &empty_lists).expect("5").term.as_small(), Some(5));
}

#[test]
fn a_budget_stops_and_goes_on() {
    let mut bytes = vec![VERSION, tag::LARGE_TUPLE, 0, 0, 1, 0];
    for i in 0..=255 {
        bytes.extend([tag::SMALL_INTEGER, i]);
    }
    let mut heap = Arena::new();
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
fn compressed_terms() {
    let mut heap = Arena::new();
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
