//! Each crate depends only on crates below it. The order is that of `[workspace.dependencies]` in the top `Cargo.toml`, lowest
//! first; a crate that does not stand there is above all of them, and no other depends on it.
//!
//! Dependencies of tests are free: a test may look at its crate from above. What tests share is a dependency of tests alone in each
//! crate that another one uses: it must not get into the VM.

use super::manifest::{packages, shared};
use super::tree::{Finding, Tree};

/// What our crates are called before their folder's name.
const PREFIX: &str = "myriad-";

/// What tests share.
const TESTING: &str = "testing";

/// All dependencies that lead up.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let order: Vec<String> = shared(tree).iter().filter_map(|entry| crate_of(entry.key)).collect();
    let rank = |name: &str| order.iter().position(|known| known == name).unwrap_or(order.len());
    let mut findings = Vec::new();
    for package in packages(tree) {
        for entry in package.entries.iter().filter(|entry| entry.is_dependency() && !entry.is_for_tests()) {
            let Some(lower) = crate_of(entry.key) else { continue };
            let (mine, is_listed) = (rank(package.name), rank(package.name) < order.len());
            let what = if rank(&lower) >= mine {
                format!("`{lower}` is not below `{}` in the order of the workspace's Cargo.toml", package.name)
            } else if lower == TESTING && is_listed {
                format!("`{lower}` is for the tests of `{}` alone", package.name)
            } else {
                continue;
            };
            findings.push(Finding::new(package.manifest, entry.line, what));
        }
    }
    findings
}

fn crate_of(key: &str) -> Option<String> {
    key.strip_prefix(PREFIX).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_leads_up_is_found() {
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nmyriad-low = { path = \"crates/low\" }\nmyriad-high = { path = \"crates/high\" }\n",
            ),
            (
                "crates/low/Cargo.toml",
                "[dependencies]\nlibc = \"1\"\nmyriad-high.workspace = true\n[dev-dependencies]\nmyriad-high = \"1\"\n",
            ),
            ("crates/high/Cargo.toml", "[dependencies]\nmyriad-low.workspace = true\nmyriad-top.workspace = true\n"),
            ("crates/top/Cargo.toml", "[dependencies]\nmyriad-high.workspace = true\n"),
        ]);
        let places: Vec<(String, usize)> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        assert_eq!(places, [("crates/high/Cargo.toml".to_owned(), 3), ("crates/low/Cargo.toml".to_owned(), 3)]);
    }

    #[test]
    fn what_tests_share_is_for_tests_and_for_what_nothing_depends_on() {
        let uses = "[dependencies]\nmyriad-testing.workspace = true\n";
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nmyriad-testing = \"1\"\nmyriad-low = \"1\"\nmyriad-high = \"1\"\n",
            ),
            ("crates/low/Cargo.toml", uses),
            ("crates/high/Cargo.toml", "[dev-dependencies]\nmyriad-testing.workspace = true\n"),
            ("crates/fuzz/Cargo.toml", uses),
        ]);
        let places: Vec<(String, usize)> = check(&tree).into_iter().map(|f| (f.path, f.line)).collect();
        assert_eq!(places, [("crates/low/Cargo.toml".to_owned(), 2)]);
    }
}
