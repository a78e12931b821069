//! Rewritten patterns.

use crate::options::{Newline, Options};

fn new_with(pattern: &str, options: Options) -> String {
    let new = crate::translate(pattern.as_bytes(), options).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
    String::from_utf8_lossy(&new).into_owned()
}

fn new(pattern: &str) -> String {
    new_with(pattern, Options::default())
}

#[test]
fn cases_of_letters_are_kept() {
    let new = |pattern: &str, caseless| new_with(pattern, Options { caseless, ..Options::default() });
    assert_eq!(new(r"\p{Lu}+[\p{Lu}]\P{^Ll}\p{L}", true), r"(?-i:\p{Lu})+(?-i:[\p{Lu}])(?-i:\P{^Ll})\p{L}");
    assert_eq!(new(r"\p{Lu}+", false), r"\p{Lu}+");
    assert_eq!(new(r"[\p{Lu}^a]", true), r"(?>[\^a]|(?-i:[\p{Lu}]))");
    assert_eq!(new(r"[^\d\p{^Lu}-\P{Ll}]", true), r"(?>(?=[^\d\-])(?-i:[^\p{^Lu}\P{Ll}]))");
    assert_eq!(new(r"(?i)\p{Lt}", false), r"(?i)(?-i:\p{Lt})");
}

#[test]
fn assertions_let_verbs_after_them_through() {
    assert_eq!(new("a*?(?=(b)|c)(*THEN)"), "a*?(?(?=(b)|c)|(*FAIL))(*THEN)");
    assert_eq!(new("(?<=(?=a))(*THEN:x)"), "(?(?<=(?(?=a)|(*FAIL)))|(*FAIL))(*THEN:x)");
    for same in [
        "(?=a)?(*THEN)",
        "(?x)(?=a) {2}(*THEN)",
        "(?=a(*PRUNE))(*THEN)",
        r"(?=a\K)(*THEN)",
        "(?!a)(*THEN)",
        "(?=a)(*PRUNE)",
    ] {
        assert_eq!(new(same), same);
    }
    assert_eq!(new("(?(?=a)b|c)(*THEN)"), "(?(?=a)b|c)(*THEN)");
}

#[test]
fn a_control_character_takes_what_follows() {
    assert_eq!(new(r"\c\p{x}\c(\c[[\c]\c\q]"), r"\c\p{x}\c(\c[[\c]\c\q]");
}

#[test]
fn ends_of_lines_are_named() {
    let new = |pattern: &str| new_with(pattern, Options { newline: Newline::AnyCrLf, ..Options::default() });
    assert_eq!(
        new(r"[^\n][^\r]*[^\x0d][^\x{A}][^\o{12}][^\15]"),
        r"[^\n\n][^\r\r]*[^\x0d\x0d][^\x{A}\x{A}][^\o{12}\o{12}][^\15\15]"
    );
    assert_eq!(new(r"[^\cJ][^\cm]"), r"[^\cJ\cJ][^\cm\cm]");
    for same in [r"[^\na]", r"[\n]", r"[^\xa0]", r"[^n]", r"[^\d]", r"[^\x]a", r"[^\12a]", r"\n"] {
        assert_eq!(new(same), same.replace(r"\x]", r"\x00]"));
    }
    assert_eq!(super::tests::new(r"[^\n]"), r"[^\n]");
}

#[test]
fn named_classes_have_no_case_where_it_is_ignored() {
    assert_eq!(
        new("[[:upper:]](?i:[a[:^lower:]](?-i)[[:upper:]])[[:lower:]]"),
        "[[:upper:]](?i:[a[:^alpha:]](?-i)[[:upper:]])[[:lower:]]"
    );
    assert_eq!(
        new("(?i)[[:digit:][:upper:]]([[:lower:]]|(?-i)x|[[:lower:]])"),
        "(?i)[[:digit:][:alpha:]]([[:alpha:]]|(?-i)x|[[:lower:]])"
    );
}

#[test]
fn verbs_in_conditions_reach_further() {
    assert_eq!(new("(?(?=a(*COMMIT)b)c|d)+"), "(?:(?=a(*COMMIT)b|)(?(?=a(*COMMIT)b)c|d))+");
    assert_eq!(new("(?(?C1)(?=(?>a(*SKIP:x)|b))c)"), "(?:(?=(?>a(*SKIP:x)|b)|)(?(?C1)(?=(?>a(*SKIP:x)|b))c))");
    assert_eq!(new(r"(a)(?(?<=(*PRUNE)a|bc)\1)"), r"(a)(?:(?<=(*PRUNE)a|bc|)(?(?<=(*PRUNE)a|bc)\1))");
    let twice = new("(?(?=(?(?=a(*PRUNE)b)c|d))e|f)");
    assert_eq!(twice, "(?(?=(?:(?=a(*PRUNE)b|)(?(?=a(*PRUNE)b)c|d)))e|f)");
    for same in [
        "(?(?!a(*COMMIT)b)c|d)",
        "(?(?=a(*THEN)b)c|d)",
        "(?(?=(a(*COMMIT)b))c|d)",
        "(?=a(*COMMIT)b)c|d",
        "(?(?=ab)c(*COMMIT)|d)",
        "(?(?=a[(*PRUNE)]b)c|d)",
    ] {
        assert_eq!(new(same), same);
    }
}

#[test]
fn what_differs_is_rewritten() {
    assert_eq!(new(r"a\y[\q-\yB\B]\d\Q\y\E\\y"), r"ay[q-yBB]\d\Q\y\E\\y");
    assert_eq!(new(r"\8(a)\1\9{2}\81\x4\F"), r"\x38(a)\1\x39{2}\x381\x4\x46");
    assert_eq!(new("a{,3}b{1}c{ 1 }d{2,}"), r"a\{,3}b{1}c\{ 1 }d{2,}");
    assert_eq!(new("(a(?1)?b)(?R)\\g<1>(?<n>c(?&n)?)"), r"(a(?>(?1))?b)(?>(?R))(?>\g<1>)(?<n>c(?>(?&n))?)");
    assert_eq!(new(r"(a\1?){4}(b)\2"), r"((?>a\1?)){4}(b)\2");
    assert_eq!(new(r"[\d-z][[:alpha:]-z][a-z][]a-z][^]-a]"), r"[\d\-z][[:alpha:]\-z][a-z][]a-z][^]-a]");
    assert_eq!(new(r"[\E.a.]][\Q\E:a:]"), r"[\.a.]][\:a:]");
    assert_eq!(new("(*UTF8)(*CR)a\0b"), "(*UTF)(*CR)a");
    assert_eq!(new("(?x)a # [\n[{,1}]{,1}"), "(?x)a # [\n[{,1}]\\{,1}");
    assert_eq!(new("\\p{Lu}\\p{^Greek}[\\pL\\P{Han}-]"), "\\p{Lu}\\p{^sc:Greek}[\\pL\\P{sc:Han}-]");
    assert_eq!(new("(?--i)(?X)y"), "(?-i)(?)y");
}

#[test]
fn lookbehinds_of_odd_lengths_look_ahead() {
    assert_eq!(new(r"(?<=ab|\R{2})c"), r"(?<=ab|(?=\R{2})(?s:.){2})c");
    assert_eq!(new(r"(?<!a(?(DEFINE)xy)b)"), r"(?<!(?=a(?(DEFINE)xy)b)(?s:.){4})");
    assert_eq!(new(r"(?<=(?(1)ab))(c)"), r"(?<=(?=(?(1)ab))(?s:.){2})(c)");
    assert_eq!(new(r"(?<=(?1))(a(*ACCEPT))"), r"(?<=(?=(?>(?1)))(?s:.){1})(a(*ACCEPT))");
}

#[test]
fn repetitions_and_conditions() {
    assert_eq!(new("(?x)a+ #b\n ?b* (?#c)+(?(R3)a|b)(?(R00)c)"), "(?x)a+?b*+(?(?!)a|b)(?(R)c)");
    assert_eq!(new(r"(?|(a)|(b))(?<n>c\k<n>?)\3(d)"), r"(?|(a)|(b))(?<n>(?>c\k<n>?))\3(d)");
}
