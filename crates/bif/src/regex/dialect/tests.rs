//! Rewritten patterns, and those that are refused.

use super::*;

fn new(pattern: &str) -> String {
    translate(pattern.as_bytes(), Modes::default())
        .map_or_else(|(error, at)| format!("{error} at {at}"), |t| String::from_utf8_lossy(&t.text).into_owned())
}

#[test]
fn cases_of_letters_are_kept() {
    let new = |pattern: &str, caseless| {
        let modes = Modes { caseless, ..Modes::default() };
        translate(pattern.as_bytes(), modes).map(|t| String::from_utf8_lossy(&t.text).into_owned()).unwrap_or_default()
    };
    assert_eq!(new(r"\p{Lu}+[\p{Lu}]\P{^Ll}\p{L}", true), r"(?-i:\p{Lu})+[\p{Lu}](?-i:\P{^Ll})\p{L}");
    assert_eq!(new(r"\p{Lu}+", false), r"\p{Lu}+");
    assert_eq!(new(r"(?i)\p{Lt}", false), r"(?i)(?-i:\p{Lt})");
}

#[test]
fn what_differs_is_rewritten() {
    assert_eq!(new(r"a\y[\q-\yB\B]\d\Q\y\E\\y"), r"ay[q-yBB]\d\Q\y\E\\y");
    assert_eq!(new(r"\8(a)\1\9{2}\81\x4\F"), r"\x38(a)\1\x39{2}\x381\x4\x46");
    assert_eq!(new("a{,3}b{1}c{ 1 }d{2,}"), r"a\{,3}b{1}c\{ 1 }d{2,}");
    assert_eq!(new("(a(?1)?b)(?R)\\g<1>(?&n)"), r"(a(?>(?1))?b)(?>(?R))(?>\g<1>)(?>(?&n))");
    assert_eq!(new(r"(a\1?){4}(b)\2"), r"((?>a\1?)){4}(b)\2");
    assert_eq!(new(r"[\d-z][[:alpha:]-z][a-z][]a-z][^]-a]"), r"[\d\-z][[:alpha:]\-z][a-z][]a-z][^]-a]");
    assert_eq!(new("(*UTF8)(*CR)a\0b"), "(*UTF)(*CR)a");
    assert_eq!(new("(?x)a # [\n[{,1}]{,1}"), "(?x)a # [\n[{,1}]\\{,1}");
    assert_eq!(new("\\p{Lu}\\p{^Greek}[\\pL\\P{Han}-]"), "\\p{Lu}\\p{^sc:Greek}[\\pL\\P{sc:Han}-]");
    assert_eq!(new("(?--i)(?X)\\y"), "(?-i)(?)\\y");
}

#[test]
fn what_only_pcre2_knows_is_refused() {
    assert_eq!(new("(?^a)"), "111 at 2");
    assert_eq!(new("a(*pla:b)"), "160 at 8");
    assert_eq!(new("(*LIMIT_HEAP=3)"), "160 at 7");
    assert_eq!(new("\\N{U+41}"), "137 at 1");
    assert_eq!(new("(?<>x)"), "1001 at 3");
}

#[test]
fn places_lead_back() {
    let t = translate(b"\\ya(?1)\\yb", Modes::default()).unwrap_or_else(|_| unreachable!());
    let text = String::from_utf8_lossy(&t.text);
    assert_eq!(text, "ya(?>(?1))yb");
    assert_eq!((t.original(0), t.original(1), t.original(11)), (1, 2, 9));
    assert_eq!(group_end(b"a(b[)]\\)(c))d", 1), Some(11));
}

#[test]
fn alternatives_end_where_they_do() {
    let ends = |pattern: &str| alternative_end(pattern.as_bytes(), 0, repeats);
    // Where OTP has the error of a lookbehind assertion that is not of fixed length.
    assert_eq!(ends(r"(?<!\x61?c|^)"), Some(10));
    assert_eq!(ends(r"(?<!(?:[a-c])*|(?<n>\s)\d)"), Some(14));
    assert_eq!(ends(r"(?<=a|[b*]|c{2}|d{2,})"), Some(21));
    assert_eq!(ends(r"(?<=a|(b|c+)|d)"), Some(12));
    assert_eq!(ends(r"(?<=a|[(]|\*)"), None);
    assert_eq!(alternative_end(br"(?<=([^a])\1.|[a-c])", 0, refers_back), Some(13));
}
