//! `cargo xtask tidy`: rules of this repository that no compiler knows (docs/checks.md).
//!
//! Each check is a function of the tree's texts and a file of its own, with tests that plant what it must find. A line for
//! which a check has to be put off says so itself: `// tidy: NAME: reason`, on the line or right above it.

mod commands;
mod cycles;
mod docs;
mod facade;
pub mod generated;
mod items;
mod layers;
mod lexer;
mod manifest;
mod paths;
mod releases;
mod source;
mod tags;
mod tree;
mod unused;

use crate::files;
use crate::stop::Done;
use crate::words::Words;
use std::path::PathBuf;
use std::process::ExitCode;
use tree::{Finding, Tree};

/// The words that the command takes.
pub const TAKES: &str = "[FOLDER]
  FOLDER   another checkout than this one
";

/// Checks the tree that stands around this crate, or the one named.
pub fn main(words: &[String]) -> Done {
    let mut words = Words::parse(words, &[], &[])?;
    let top = words.rest.pop().map_or_else(files::top, PathBuf::from);
    words.nothing_else()?;
    let findings = match Tree::read(&top) {
        Ok(tree) => check(&tree),
        Err(error) => {
            eprintln!("tidy: {}: {error}", top.display());
            return Ok(ExitCode::FAILURE);
        }
    };
    findings.iter().for_each(|finding| println!("{finding}"));
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All that the checks find, in the order of files and lines.
fn check(tree: &Tree) -> Vec<Finding> {
    let modules = source::modules(tree);
    let mut findings = [
        layers::check(tree),
        cycles::check(&modules),
        facade::check(&modules),
        tags::check(tree, &modules),
        docs::check(tree, &modules),
        generated::check(tree),
        releases::check(&modules),
        unused::check(tree, &modules),
    ]
    .concat();
    findings.sort();
    findings.dedup();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_the_place() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "\nuse std::sync::Mutex;"),
            ("Cargo.toml", ""),
        ]);
        assert!(check(&tree)[0].to_string().starts_with("crates/a/src/lib.rs:2: "));
    }
}
