//! Only the release profile compares numbers of OTP releases (docs/design.md, section 11). Others ask it by the name of the
//! difference; that a built-in is there `since` or `until` a release is said in its row, which the profile judges.

use super::lexer::line_of;
use super::source::Module;
use super::tree::Finding;
use std::collections::BTreeMap;

/// The profile.
const PROFILE: &str = "crates/vm/src/release.rs";

/// The field that has the number.
const NUMBER: &str = ".otp";

/// All comparisons of a release's number outside the profile.
pub fn check(modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for module in modules.values().filter(|module| !module.test && module.path != PROFILE) {
        for (at, _) in module.code.match_indices(NUMBER).filter(|(at, _)| is_compared(&module.code, *at)) {
            let what = format!("compares release numbers: ask the profile for a difference by name ({PROFILE})");
            findings.push(Finding::new(&module.path, line_of(&module.code, at), what));
        }
    }
    findings
}

/// Does the expression whose field stands at `at` meet an operator of comparison, a range or a `match`?
fn is_compared(code: &str, at: usize) -> bool {
    let behind = &code[at + NUMBER.len()..];
    if behind.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return false;
    }
    let before = code[..at].trim_end_matches(|c: char| c.is_alphanumeric() || "_.".contains(c));
    let before = before.trim_end_matches(['&', '*', '(']).trim_end();
    let behind = behind.trim_start();
    ["<", ">", "==", "!=", ".cmp(", ".eq("].iter().any(|operator| behind.starts_with(operator))
        || ["<", "<=", ">=", "==", "!=", "match", ".contains"].iter().any(|operator| before.ends_with(operator))
        || behind.starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;
    use crate::tidy::tree::Tree;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&source::modules(&Tree::of(&[("crates/vm/src/lib.rs", "mod release;"), (path, text)])))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn comparisons_are_found_and_uses_are_not() {
        let text = "if vm.release.otp >= 26 {}\nif 26 <= release.otp {}\nif (a..b).contains(&release.otp) {}\nmatch vm.release.otp { _ => () }\n\
                    print(vm.release.otp, x);\nrelease.otp_version < y;\nnumber(release.otp.into());\n";
        assert_eq!(lines("crates/bif/src/lib.rs", text), [1, 2, 3, 4]);
    }

    #[test]
    fn the_profile_may() {
        assert!(lines(PROFILE, "x.otp == 25;").is_empty());
    }
}
