//! Printing as `erlang:display/1` does.

use super::*;
use crate::alloc::Build;
use crate::arena::Arena;
use crate::atom::Atom;
use crate::etf::{DecodeOptions, decode};
use crate::test_terms::{many, rows};
use crate::word::Term;

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

#[test]
fn display_prints_what_otp_prints() {
    let mut wrong = 0;
    for row in rows(include_str!("../../testdata/terms.txt")) {
        let columns: Vec<&str> = row.split(' ').collect();
        let mut heap = &Arena::new();
        let term = decode(&mut heap, &hex(columns[0]), DecodeOptions::default()).expect("a term").term;
        let (got, wanted) = (display(term), hex(columns[6]));
        if got != wanted {
            wrong += 1;
            eprintln!("{}\n{}\n", String::from_utf8_lossy(&got), String::from_utf8_lossy(&wanted));
        }
    }
    assert_eq!(wrong, 0);
}

#[test]
fn limits_cut_the_text() {
    let mut heap = &Arena::new();
    let numbers: Vec<_> = (0..many(10_000) as i64).map(Term::small).collect();
    let list = heap.list(&numbers);
    assert_eq!(text(list, 4), "[0,1,2,...");
    let name = heap.string(&"x".repeat(many(100_000)));
    assert_eq!(text(name, 4), "\"xxx...");
    let bytes = heap.binary(&[7; 1000]);
    assert_eq!(text(bytes, 3), "<<7,7...>>");
    let tuple = heap.tuple(&[Term::OK, list]);
    assert_eq!(text(tuple, 3), "{ok,[...");
    let mut deep = Term::NIL;
    let depth = many(1_000_000);
    for _ in 0..depth {
        deep = heap.cons(deep, Term::NIL);
    }
    assert!(format!("{deep:?}").len() < 2000);
    assert_eq!(text(deep, usize::MAX).len(), 2 * depth + 2);
}

#[test]
fn identifiers_and_back() {
    let mut heap = &Arena::new();
    let none = |_: u32| None;
    // list_to_pid/1, list_to_port/1 and list_to_ref/1 of OTP 25.
    for good in ["<0.1.2>", "<0.32767.8191>"] {
        let pid = parse_pid(&mut heap, good, &none).expect("a pid");
        assert_eq!(pid_text(pid), good);
    }
    for bad in [
        "<0.1.2",
        "<0.1.2>x",
        "<1.1.2>",
        "< 0.1.2>",
        "<0.1>",
        "<0..1>",
        "<-0.1.2>",
        "<0.268435456.0>",
        "<0.99999999999.1>",
        "#Port<0.1>",
        "",
        "<0.+1.2>",
    ] {
        assert!(parse_pid(&mut heap, bad, &none).is_none(), "{bad}");
    }
    assert_eq!(parse_pid(&mut heap, "<0.01.2>", &none).map(pid_text).as_deref(), Some("<0.1.2>"));
    assert_eq!(parse_port(&mut heap, "#Port<00.01>", &none).map(port_text).as_deref(), Some("#Port<0.1>"));
    for bad in ["#Port<1.1>", "#Port<0.1", "#Port<0.1>x", "#port<0.1>"] {
        assert!(parse_port(&mut heap, bad, &none).is_none(), "{bad}");
    }
    assert_eq!(parse_ref(&mut heap, "#Ref<0.1.2.262143>", &none).map(ref_text).as_deref(), Some("#Ref<0.1.2.262143>"));
    for bad in [
        "#Ref<0.1.2.262144>",
        "#Ref<0.1.2>",
        "#Ref<0.1>",
        "#Ref<0.1.2.3.4>",
        "#Ref<0.4294967296.1.3>",
        "#Ref<1.1.2.3>",
        "#Ref<0.1.2.3>x",
        "#Ref<0.1.2.3",
    ] {
        assert!(parse_ref(&mut heap, bad, &none).is_none(), "{bad}");
    }
}

#[test]
fn identifiers_of_other_nodes() {
    let mut heap = &Arena::new();
    let node = Atom::new("other@host").expect("an atom");
    let known = |index: u32| (index == node.index()).then_some((node, 7));
    let number = node.index();
    let pid = format!("<{number}.5.4294967295>");
    let port = format!("#Port<{number}.18446744073709551615>");
    let reference = format!("#Ref<{number}.5.4.3.2.1>");
    assert_eq!(parse_pid(&mut heap, &pid, &known).map(pid_text), Some(pid));
    assert_eq!(parse_port(&mut heap, &port, &known).map(port_text), Some(port));
    let parsed = parse_ref(&mut heap, &reference, &known).expect("a reference");
    assert_eq!(parsed.external_node(), Some((node, 7)));
    assert_eq!(ref_text(parsed), reference);
}

#[test]
fn atoms_that_need_quotes() {
    for plain in ["a", "aB_1", "å", "if"] {
        assert!(!needs_quotes(plain), "{plain}");
    }
    for quoted in ["", "A", "_a", "1", "a b", "a@b", "λ", "a-b", "÷", "aλ"] {
        assert!(needs_quotes(quoted), "{quoted}");
    }
}
