//! What the pages name is there: files and folders, modules and items, and commands (`commands.rs`).
//!
//! The pages are `README.md`, `CONTRIBUTING.md` and `docs/*.md`, but for those that a program has written. A path counts if it begins with a folder of the top or of `crates/`, or ends in
//! `.rs`; a symbol stands between backticks and has `::` in it.

use super::commands;
use super::items::{declares, mentions};
use super::lexer::is_word;
use super::source::Module;
use super::tree::{Finding, Tree};
use std::collections::BTreeMap;

/// Folders of the top whose files are named by their whole path.
const FOLDERS: [&str; 10] = ["crates", "tests", "tools", "docs", "bench", "bin", "erl", "examples", "fuzz", ".ci"];

/// Pages of the top.
const PAGES: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

/// Pages that say so are not read.
const WRITTEN: &str = "\nWritten by `make ";

/// All that the pages name and that is not there.
pub fn check(tree: &Tree, modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let pages = tree.ending(".md").filter(|(path, _)| PAGES.contains(path) || path.starts_with("docs/"));
    let pages = pages.filter(|(_, text)| !text.contains(WRITTEN));
    let mut findings = Vec::new();
    for (page, text) in pages {
        findings.extend(commands::check(tree, page, text));
        for (index, line) in text.lines().enumerate() {
            let mut missing = |what: String| findings.push(Finding::new(page, index + 1, what));
            paths(line)
                .filter(|path| !path_exists(tree, path))
                .for_each(|path| missing(format!("there is no `{path}`")));
            let symbols = quoted(line).flat_map(symbols_in);
            symbols
                .filter(|symbol| !symbol_exists(modules, symbol))
                .for_each(|symbol| missing(format!("there is no `{symbol}`")));
        }
    }
    findings
}

/// What stands between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The words of a line that are made as paths are; patterns and parts to be filled in are none.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./*<>{}$~…".contains(c);
    let words = line.split(move |c: char| !is_part(c)).map(|word| word.trim_end_matches('.'));
    words.filter(|word| {
        (word.contains('/') || word.ends_with(".rs"))
            && !word.contains(['*', '<', '{', '$', '~'])
            && !word.starts_with('/')
    })
}

/// A path that begins as none of ours does is another tree's, and counts as being there.
fn path_exists(tree: &Tree, path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    let inside = path.contains('/');
    if inside && FOLDERS.contains(&first) {
        tree.exists(path) || tree.exists(&format!("crates/{path}"))
    } else if inside && path.contains('.') && tree.exists(&format!("crates/{first}")) {
        tree.exists(&format!("crates/{path}")) || tree.exists(&format!("crates/{}", path.replacen('/', "/src/", 1)))
    } else {
        !path.ends_with(".rs") || tree.has_tail(path)
    }
}

/// The paths in code: `a::b` twice from `a::{b, c}`, none from `std::sync` or `a:b/1`.
fn symbols_in(code: &str) -> Vec<String> {
    let Some((first, _)) = code.split_once("::") else { return Vec::new() };
    if !first.bytes().all(is_word) || ["std", "core", "alloc"].contains(&first) {
        return Vec::new();
    }
    let path =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || "_:".contains(*c)).collect() };
    match code.split_once("::{") {
        Some((prefix, names)) => {
            let names = names.trim_end_matches('}').split(',').map(str::trim);
            names.map(|name| format!("{prefix}::{}", path(name))).collect()
        }
        None => vec![path(code)],
    }
}

/// Does each word of a symbol lead on to the next: a crate to its files, a module to its own, an item to those that declare it?
fn symbol_exists(modules: &BTreeMap<String, Module>, symbol: &str) -> bool {
    let words: Vec<&str> = symbol.split("::").collect();
    let mut files: Vec<&Module> = modules.values().collect();
    for (index, word) in words.iter().enumerate() {
        let is_last = index > 0 && index == words.len() - 1;
        let narrowed: Vec<&Module> =
            match files.iter().filter(|module| is_within(module, word, index == 0)).copied().collect::<Vec<_>>() {
                within if !within.is_empty() => within,
                _ => files
                    .iter()
                    .filter(|m| declares(&m.code, word) || is_last && mentions(&m.code, word))
                    .copied()
                    .collect(),
            };
        if narrowed.is_empty() {
            return false;
        }
        files = narrowed;
    }
    true
}

/// Is the file part of the crate, or of a module, of this name?
fn is_within(module: &Module, name: &str, or_crate: bool) -> bool {
    or_crate && module.package == name || module.names.iter().any(|part| part == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn findings(page: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/p.md", page),
            ("tests/a/run", ""),
            ("crates/a/src/lib.rs", "mod b;\npub fn f() {}"),
            ("crates/a/src/b.rs", "pub struct S { field: u8 }\nmacro_rules! m {}"),
        ]);
        check(&tree, &source::modules(&tree)).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_is_there_is_not_found() {
        let page = "`tests/a/run`, a/src/b.rs; `b.rs` a/b.rs, docs/p.md. `tests/*` lists/2 text/html `crates/a/`\n\
                    `a::f`, `a::b::S`, `S::field`, `a::b::{S, m!}`, `std::sync`, `a::f()`";
        assert_eq!(findings(page), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is() {
        let page = "tests/ran a/src/c.rs `c.rs` `a::g` `a::c::S` `S::other` `a::b::{S, T}` a/…/send.rs";
        assert_eq!(
            findings(page),
            [
                "there is no `tests/ran`",
                "there is no `a/src/c.rs`",
                "there is no `c.rs`",
                "there is no `a/…/send.rs`",
                "there is no `a::g`",
                "there is no `a::c::S`",
                "there is no `S::other`",
                "there is no `a::b::T`",
            ]
        );
    }
}
