//! Faults and their places, as OTP 25 reports them.

use crate::options::Options;

fn fault(pattern: &str) -> Option<(&'static str, usize)> {
    crate::translate(pattern.as_bytes(), Options::default()).err().map(|error| (error.fault.message(), error.offset))
}

#[test]
fn forms_go_before_meanings() {
    assert_eq!(fault("(?1)a**"), Some(("nothing to repeat", 6)));
    assert_eq!(fault("(?<=a+|(?1)"), Some(("missing )", 11)));
    assert_eq!(fault("(?<=a+|(?1))"), Some(("lookbehind assertion is not fixed length", 6)));
    assert_eq!(fault("(?<=(?1)a+)(b)xxx"), Some(("lookbehind assertion is not fixed length", 17)));
    assert_eq!(fault(r"(?<=(?1))(?(1)a)(b)xx(?2)"), Some(("reference to non-existent subpattern", 24)));
    assert_eq!(fault(r"\2(a))"), Some(("unmatched parentheses", 5)));
    assert_eq!(fault(r"(a)\2x"), Some(("reference to non-existent subpattern", 6)));
}

#[test]
fn calls_without_end() {
    let endless = |pattern| fault(pattern).filter(|(text, _)| text.starts_with("recursive")).map(|(_, at)| at);
    assert_eq!(endless("(?R)b"), Some(3));
    assert_eq!(endless("(a|(?1))"), Some(6));
    assert_eq!(endless("(a(?1)|b?(?:c*(?1)))"), Some(17));
    assert_eq!(endless("((?2)b(?1)c)(d)"), Some(9));
    assert_eq!(endless("(?=(?R))"), Some(6));
    for good in ["(?(R)a)+(?R)", "((?(R)(?1)a){2,}|x)(?R)"] {
        assert_eq!(endless(good), None, "{good}");
    }
    assert_eq!(endless("(?(R)a)++(?R)"), Some(12));
    assert_eq!(endless("((?(R)a?)+|x)(?R)"), Some(16));
    for good in ["a(?R)?", "(?(R)a|(?R)b)", "(a(?1)?)", "(?1)(a)", r"\B(?<=a|^(?R))"] {
        assert_eq!(endless(good), None, "{good}");
    }
}

#[test]
fn lengths() {
    for good in [
        r"(?<=\R{2})a",
        r"(?<=a(?=b*)c|d)",
        "(?<=(?(1)a))(b)",
        "(?<=(ab){2}|cdef)",
        "(?<=a(*ACCEPT)b*)",
        "(?<=a{0}b)",
        "(?<=(?:(*FAIL)a|(b)))",
    ] {
        assert_eq!(fault(good), None, "{good}");
    }
    for (bad, at) in
        [(r"(?<=(\b){1,3})", 13), (r"(?<=\R)", 6), ("(?<=(?>a|bc))", 12), ("(?<=(ab){0})", 11), ("(?<=(?=a)*)", 10)]
    {
        assert_eq!(fault(bad), Some(("lookbehind assertion is not fixed length", at)), "{bad}");
    }
}

#[test]
fn classes_and_escapes() {
    assert_eq!(fault(r"[--\R]"), Some(("invalid range in character class", 4)));
    assert_eq!(fault(r"[\d-z][\R-\^]"), None);
    assert_eq!(fault("[[:foo:]]"), Some(("unknown POSIX class name", 3)));
    assert_eq!(fault("(*ACCEPT){2}"), Some(("nothing to repeat", 11)));
    assert_eq!(fault(r"\99999999999999"), Some(("number is too big", 14)));
    assert_eq!(fault(r"\p{Foo}"), Some((r"unknown property name after \P or \p", 6)));
}

#[test]
fn hostile_patterns_are_settled_soon() {
    // Each would take for ever if calls were followed without a bound.
    let doubled: String = (1..200).map(|n| format!("((?{m})(?{m}))", m = n + 1)).collect();
    let doubled = format!("(?<=(?1)){doubled}(a?)");
    assert_eq!(fault(&doubled), Some(("lookbehind assertion is not fixed length", doubled.len())));
    let ones: String = (1..25).map(|n| format!("((?{m})(?{m}))", m = n + 1)).collect();
    assert_eq!(fault(&format!("(?<=(?1)){ones}(a)")), None);
    assert_eq!(fault(&"(".repeat(3_000_000)), Some(("regular expression is too complicated", 799)));
    assert_eq!(fault(&"a?b".repeat(1_000_000)), Some(("regular expression is too large", 3_000_000)));
    assert_eq!(fault(&"()".repeat(1_000_000)), Some(("regular expression is too large", 2_000_000)));
    let nested = format!("(a{}{}", "(?=".repeat(1200), "(?1)".repeat(8000));
    assert_eq!(fault(&nested), Some(("missing )", nested.len())));
    let nested = format!("{nested}{}", ")".repeat(1201));
    assert_eq!(fault(&nested), None);
}
