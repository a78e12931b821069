//! The Rust files of a crate as its modules: which are reached from a root, and where tests begin.

use super::lexer::{self, Split, closing, words};
use super::tree::Tree;
use std::collections::BTreeMap;

/// A Rust file that a root of its crate reaches.
pub struct Module {
    /// The crate's folder in `crates/`.
    pub package: String,
    /// The file.
    pub path: String,
    /// Its place among the modules: empty for a root.
    pub names: Vec<String>,
    /// The root that reaches it: `src/lib.rs`, `tests/verify.rs`.
    pub root: String,
    /// It is built for tests only.
    pub test: bool,
    /// The whole text.
    pub split: Split,
    /// The code without the parts that are built for tests only.
    pub code: String,
}

impl Module {
    /// Does a comment on this line, or on the one above, put a check off with a reason?
    pub fn puts_off(&self, line: usize, check: &str) -> bool {
        let mark = format!("// tidy: {check}: ");
        let lines = self.split.comments.lines().skip(line.saturating_sub(2)).take(2);
        lines.filter_map(|text| text.split_once(&mark)).any(|(_, reason)| !reason.trim().is_empty())
    }
}

/// A module that a file declares without a body.
struct Declared {
    name: String,
    /// From `#[path = "..."]`.
    file: Option<String>,
    test: bool,
}

/// All modules of the crates, by file; a file that several roots reach stands here once.
pub fn modules(tree: &Tree) -> BTreeMap<String, Module> {
    let mut found = BTreeMap::new();
    for (path, _) in tree.ending(".rs") {
        if let Some((package, root)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/'))
            && is_root(root)
        {
            let test = root.starts_with("tests/") || root.starts_with("benches/");
            reach(tree, &mut found, Place { package, root, path: path.to_owned(), names: Vec::new(), test });
        }
    }
    found
}

/// Is this file, named from its crate's folder, one that cargo builds by itself?
fn is_root(path: &str) -> bool {
    let of_folder = |folder: &str| {
        let name = path.strip_prefix(folder).map(|name| name.strip_suffix("/main.rs").unwrap_or(name));
        name.is_some_and(|name| !name.contains('/'))
    };
    ["src/lib.rs", "src/main.rs", "build.rs"].contains(&path)
        || ["src/bin/", "examples/", "tests/", "benches/"].into_iter().any(of_folder)
}

struct Place<'t> {
    package: &'t str,
    root: &'t str,
    path: String,
    names: Vec<String>,
    test: bool,
}

fn reach(tree: &Tree, found: &mut BTreeMap<String, Module>, place: Place) {
    let Some(text) = tree.text(&place.path) else { return };
    // Seen from a root that is no test as well, a file is one of the program.
    if found.get(&place.path).is_some_and(|known| place.test || !known.test) {
        return;
    }
    let split = lexer::split(text);
    let code = without_tests(&split.code);
    let declared = declared(&split);
    let Place { package, root, path, names, test } = place;
    let module =
        Module { package: package.to_owned(), root: root.to_owned(), path: path.clone(), names, test, split, code };
    let names = module.names.clone();
    found.insert(path.clone(), module);
    for Declared { name, file, test: for_test } in declared {
        let Some(path) = file_of(tree, &path, names.is_empty(), &name, file.as_deref()) else { continue };
        let names = names.iter().cloned().chain([name]).collect();
        reach(tree, found, Place { package, root, path, names, test: test || for_test });
    }
}

/// The file of a module that `parent` declares.
fn file_of(tree: &Tree, parent: &str, parent_is_root: bool, name: &str, given: Option<&str>) -> Option<String> {
    let (folder, file) = parent.rsplit_once('/')?;
    if let Some(given) = given {
        return Some(format!("{folder}/{given}"));
    }
    let folder = match file.strip_suffix(".rs")? {
        _ if parent_is_root => folder.to_owned(),
        "mod" => folder.to_owned(),
        stem => format!("{folder}/{stem}"),
    };
    [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")].into_iter().find(|path| tree.exists(path))
}

/// The modules that a file declares without a body.
fn declared(split: &Split) -> Vec<Declared> {
    let all: Vec<(usize, &str)> = words(&split.code).collect();
    let declared = all.windows(2).filter(|pair| pair[0].1 == "mod").filter_map(|pair| {
        let [(at, _), (name_at, name)] = [pair[0], pair[1]];
        let rest = split.code[name_at + name.len()..].trim_start();
        if !rest.starts_with(';') {
            return None;
        }
        let attributes = split.code[..at].rfind([';', '}', '{']).map_or(0, |end| end + 1)..at;
        let file =
            split.with_strings[attributes.clone()].split_once("path = \"").and_then(|(_, file)| file.split_once('"'));
        Some(Declared {
            name: name.to_owned(),
            file: file.map(|(file, _)| file.to_owned()),
            test: is_for_tests(&split.code[attributes]),
        })
    });
    declared.collect()
}

/// Does an attribute in this text keep what follows for tests?
fn is_for_tests(attributes: &str) -> bool {
    attributes.match_indices("#[cfg(").any(|(at, _)| {
        let condition = &attributes[at..closing(attributes, at + 1)];
        words(condition).any(|(_, word)| word == "test") && !condition.contains("not(test)")
    })
}

/// Blanks the items of a file that are built for tests only.
fn without_tests(code: &str) -> String {
    let mut kept = code.as_bytes().to_vec();
    for (at, _) in code.match_indices("#[cfg(") {
        let end = closing(code, at + 1);
        if is_for_tests(&code[at..(end + 1).min(code.len())]) {
            let end = item_end(code, end + 1);
            kept[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
    }
    String::from_utf8(kept).unwrap_or_default()
}

/// Where the item ends whose attributes, or itself, begin at `from`: behind its body, a semicolon, or the comma of a field.
fn item_end(code: &str, from: usize) -> usize {
    let bytes = code.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => return (closing(code, at) + 1).min(bytes.len()),
            b';' | b',' => return at + 1,
            b'(' | b'[' => at = closing(code, at) + 1,
            b'}' | b')' | b']' => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_reached_from_roots() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod t;\n#[path = \"odd.rs\"]\nmod chosen;\n"),
            ("crates/a/src/b.rs", "pub mod c;"),
            ("crates/a/src/b/c.rs", ""),
            ("crates/a/src/t.rs", ""),
            ("crates/a/src/odd.rs", ""),
            ("crates/a/src/dead.rs", "mod b;"),
            ("crates/a/tests/it.rs", "mod common;"),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/benches/b/main.rs", "mod table;"),
            ("crates/a/benches/b/table.rs", ""),
        ]);
        let modules = modules(&tree);
        let seen: Vec<(&str, String, bool)> =
            modules.values().map(|m| (m.path.trim_start_matches("crates/a/"), m.names.join("::"), m.test)).collect();
        assert_eq!(
            seen,
            [
                ("benches/b/main.rs", String::new(), true),
                ("benches/b/table.rs", "table".to_owned(), true),
                ("src/b.rs", "b".to_owned(), false),
                ("src/b/c.rs", "b::c".to_owned(), false),
                ("src/lib.rs", String::new(), false),
                ("src/odd.rs", "chosen".to_owned(), false),
                ("src/t.rs", "t".to_owned(), true),
                ("tests/common/mod.rs", "common".to_owned(), true),
                ("tests/it.rs", String::new(), true),
            ]
        );
    }

    #[test]
    fn tests_are_blanked_and_no_more() {
        let code = "fn a() {}\n#[cfg(all(test, not(loom)))]\n#[rustfmt::skip]\nmod tests { use x; }\n#[cfg(not(test))]\nfn b() {}\n#[cfg(test)]\nmod c;\nfn d() {}";
        let words: Vec<&str> =
            words(&without_tests(code)).map(|(_, word)| word.to_owned()).map(|w| w.leak() as &str).collect();
        assert_eq!(words, ["fn", "a", "cfg", "not", "test", "fn", "b", "fn", "d"]);
    }

    #[test]
    fn a_check_is_put_off_by_name_and_with_a_reason() {
        let text = "// tidy: facade: because\na;\nb; // tidy: facade: so\nc; // tidy: facade: \n";
        let found = modules(&Tree::of(&[("crates/a/src/lib.rs", text)]));
        let module = &found["crates/a/src/lib.rs"];
        let seen: Vec<bool> = (1..=5).map(|line| module.puts_off(line, "facade")).collect();
        assert_eq!(seen, [true, true, true, true, false]);
        assert!(!module.puts_off(2, "tags"));
    }
}
