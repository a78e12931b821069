//! Nothing lies about: each Rust file is part of a crate, each declared dependency is used.

use super::items::mentions;
use super::lexer::words;
use super::manifest::{Package, packages, shared};
use super::source::Module;
use super::tree::{Finding, Tree};
use std::collections::BTreeMap;

/// Files that no module leads to, and dependencies that no code names.
pub fn check(tree: &Tree, modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let packages = packages(tree);
    let mut findings = dead_files(tree, modules);
    findings.extend(packages.iter().flat_map(|package| unused_by(package, modules)));
    findings.extend(unused_by_all(tree, &packages));
    findings
}

fn dead_files(tree: &Tree, modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let files = tree.ending(".rs").map(|(path, _)| path).filter(|path| path.starts_with("crates/"));
    let dead = files.filter(|path| !modules.contains_key(*path));
    dead.map(|path| Finding::new(path, 1, "no `mod` leads to this file")).collect()
}

/// Dependencies of a crate that its code does not name.
fn unused_by(package: &Package, modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let of_package: Vec<&Module> = modules.values().filter(|module| module.package == package.name).collect();
    let dependencies = package.entries.iter().filter(|entry| entry.is_dependency() || entry.is_for_tests());
    let unused = dependencies.filter(|entry| !of_package.iter().any(|module| names(&module.split.code, entry.key)));
    unused
        .map(|entry| Finding::new(package.manifest, entry.line, format!("`{}` is declared and not used", entry.key)))
        .collect()
}

/// Does the code name this crate? Underscores do not count: a package `md-5` may call its library `md5`.
fn names(code: &str, key: &str) -> bool {
    let name = key.replace('-', "_");
    let plain = name.replace('_', "");
    mentions(code, &name) || words(code).any(|(_, word)| word.len() >= plain.len() && word.replace('_', "") == plain)
}

/// Dependencies that the workspace offers and no crate takes.
fn unused_by_all(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let taken = |key: &str| {
        packages
            .iter()
            .flat_map(|package| &package.entries)
            .any(|entry| entry.key == key && (entry.is_dependency() || entry.is_for_tests()))
    };
    let unused = shared(tree).into_iter().filter(|entry| !taken(entry.key));
    unused.map(|entry| Finding::new("Cargo.toml", entry.line, format!("no crate uses `{}`", entry.key))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn what_nobody_reaches_or_uses_is_found() {
        let tree = Tree::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nused-one = \"1\"\nmd-5 = \"1\"\nodd = \"1\"\nfor-tests = \"1\"\n",
            ),
            (
                "crates/a/Cargo.toml",
                "[dependencies]\nused-one.workspace = true\nmd-5.workspace = true\nidle = \"1\"\n[dev-dependencies]\nfor-tests.workspace = true",
            ),
            ("crates/a/src/lib.rs", "use used_one::X; // idle odd\n#[cfg(test)]\nmod t { md5::f(); for_tests::g(); }"),
            ("crates/a/src/dead.rs", ""),
        ]);
        let mut seen: Vec<String> = check(&tree, &source::modules(&tree)).iter().map(Finding::to_string).collect();
        seen.sort();
        assert_eq!(
            seen,
            [
                "Cargo.toml:4: no crate uses `odd`",
                "crates/a/Cargo.toml:4: `idle` is declared and not used",
                "crates/a/src/dead.rs:1: no `mod` leads to this file",
            ]
        );
    }
}
