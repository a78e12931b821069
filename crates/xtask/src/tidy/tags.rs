//! Each invariant that a comment cites is stated in exactly one place.
//!
//! A file's header states its invariants, numbered: `//! R1. A row belongs to one table.` A comment cites one of its own file
//! by the bare number. Of any other file it names the home, so that a reader knows where to look, and a search finds it: `heap/H1`
//! if only one file of that crate states it, or the module, `ets.row/R1`. Pages of `docs/` always name the home.

use super::lexer::{is_word, words};
use super::source::Module;
use super::tree::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// What looks like a numbered invariant and is none: by its letters (registers, `X0`), or as a whole.
const OTHERS: [&str; 4] = ["X", "Y", "FR", "MD5"];

/// An invariant as it is stated.
struct Stated {
    tag: String,
    /// Of the module: its crate, and its names within it.
    home: Vec<String>,
    path: String,
    line: usize,
}

/// An invariant as it is cited.
struct Cited {
    tag: String,
    /// Where it is to be found, if that is said.
    home: Option<Vec<String>>,
    line: usize,
}

/// Citations that lead nowhere or to several places, invariants stated twice in a file, and lists that nobody cites.
pub fn check(tree: &Tree, modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    let all: Vec<Stated> = modules.values().flat_map(stated).collect();
    let mut findings = twice(&all);
    let mut used = BTreeSet::new();
    for module in modules.values() {
        for citation in cited_in(module) {
            let found = lead(&citation, &all, Some(module));
            judge(&mut findings, &mut used, &module.path, &citation, &found);
        }
    }
    for (path, text) in tree.ending(".md").filter(|(path, _)| path.starts_with("docs/")) {
        for citation in citations(text) {
            judge(&mut findings, &mut used, path, &citation, &lead(&citation, &all, None));
        }
    }
    findings.extend(idle(&all, &used));
    findings
}

/// The lists of which no number is cited. A list of which some are keeps them all, so that numbers do not shift.
fn idle(all: &[Stated], used: &BTreeSet<(&str, &str)>) -> Vec<Finding> {
    let mut lists: BTreeMap<(&str, &str), Vec<&Stated>> = BTreeMap::new();
    for stated in all {
        lists.entry((&stated.path, letters(&stated.tag))).or_default().push(stated);
    }
    let idle =
        lists.values().filter(|list| !list.iter().any(|one| used.contains(&(one.path.as_str(), one.tag.as_str()))));
    let what = |tag: &str| {
        format!("nobody cites {tag}, nor others of its list: cite it where it matters, or state it without a number")
    };
    idle.map(|list| Finding::new(&list[0].path, list[0].line, what(&list[0].tag))).collect()
}

fn letters(tag: &str) -> &str {
    tag.trim_end_matches(|c: char| c.is_ascii_digit())
}

fn twice(all: &[Stated]) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let again = all.iter().filter(|stated| !seen.insert((&stated.path, &stated.tag)));
    again
        .map(|stated| Finding::new(&stated.path, stated.line, format!("{} is stated twice here", stated.tag)))
        .collect()
}

fn judge<'a>(
    findings: &mut Vec<Finding>,
    used: &mut BTreeSet<(&'a str, &'a str)>,
    path: &str,
    citation: &Cited,
    found: &[&'a Stated],
) {
    if let [one] = found {
        used.insert((&one.path, &one.tag));
        return;
    }
    let cited = match &citation.home {
        Some(home) => format!("{}/{}", home.join("."), citation.tag),
        None => citation.tag.clone(),
    };
    let what = match found {
        [] if citation.home.is_none() => format!("{cited} is not stated in this file: name its home, as in `heap/H1`"),
        [] => format!("{cited} is stated nowhere"),
        several => {
            let homes: Vec<String> = several.iter().map(|s| format!("{}/{}", s.home.join("."), s.tag)).collect();
            format!("{cited} may be {}: say which", homes.join(" or "))
        }
    };
    findings.push(Finding::new(path, citation.line, what));
}

/// What a citation leads to.
fn lead<'a>(citation: &Cited, all: &'a [Stated], module: Option<&Module>) -> Vec<&'a Stated> {
    let of_tag = || all.iter().filter(|stated| stated.tag == citation.tag);
    match (&citation.home, module) {
        (Some(home), _) if home.len() == 1 => of_tag().filter(|stated| stated.home[0] == home[0]).collect(),
        (Some(home), _) => of_tag().filter(|stated| stated.home == *home).collect(),
        (None, Some(module)) => of_tag().filter(|stated| stated.path == module.path).collect(),
        (None, None) => Vec::new(),
    }
}

fn home(module: &Module) -> Vec<String> {
    [&module.package].into_iter().chain(&module.names).cloned().collect()
}

/// The invariants that a module's header states.
fn stated(module: &Module) -> Vec<Stated> {
    let lines = module.split.comments.lines().enumerate();
    let stated = lines.filter_map(|(index, text)| {
        let tag = stated_on(text)?.to_owned();
        Some(Stated { tag, home: home(module), path: module.path.clone(), line: index + 1 })
    });
    stated.collect()
}

/// The number that a line of a header begins with: `//! R1. ...`, `//! - H1. ...`.
fn stated_on(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("//! ")?;
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (tag, _) = rest.split_once(". ")?;
    is_tag(tag).then_some(tag)
}

/// One or two capitals and a number: `R1`, `TB12`.
fn is_tag(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = &word[letters..];
    (1..=2).contains(&letters)
        && (1..=2).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && !OTHERS.contains(&word)
        && !OTHERS.contains(&&word[..letters])
}

/// The citations in a module's comments, those in lines that state something among them.
fn cited_in(module: &Module) -> Vec<Cited> {
    let comments: Vec<String> = module
        .split
        .comments
        .lines()
        .map(|line| match stated_on(line) {
            Some(tag) => line.replacen(&format!("{tag}. "), &" ".repeat(tag.len() + 2), 1),
            None => line.to_owned(),
        })
        .collect();
    citations(&comments.join("\n"))
}

/// The citations in a text, ranges (`H1 to H4`) spelt out. What stands between backticks is code.
fn citations(text: &str) -> Vec<Cited> {
    let mut found: Vec<Cited> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = without_code(line);
        let mut before: Option<(usize, String)> = None;
        for (at, tag) in words(&line).filter(|(_, word)| is_tag(word)) {
            let home = home_before(&line[..at]);
            let end = at + tag.len();
            if let Some((from, first)) = before.take()
                && line[from..at].trim() == "to"
            {
                let home = found.last().and_then(|last| last.home.clone());
                found.extend(between(&first, tag).map(|tag| Cited { tag, home: home.clone(), line: index + 1 }));
            } else {
                found.push(Cited { tag: tag.to_owned(), home, line: index + 1 });
            }
            before = Some((end, tag.to_owned()));
        }
    }
    found
}

/// The numbers behind the first, up to the last, which is among them.
fn between(first: &str, last: &str) -> impl Iterator<Item = String> {
    let letters = letters(first).to_owned();
    let number = |tag: &str| tag.trim_start_matches(|c: char| c.is_ascii_uppercase()).parse().unwrap_or(0_u32);
    (number(first) + 1..=number(last)).map(move |number| format!("{letters}{number}"))
}

/// The home that stands right before a number: `ets.row/` of `ets.row/R1`.
fn home_before(before: &str) -> Option<Vec<String>> {
    let before = before.strip_suffix('/')?;
    let length = before.bytes().rev().take_while(|byte| is_word(*byte) || *byte == b'.').count();
    let home = before[before.len() - length..].trim_start_matches('.');
    (!home.is_empty()).then(|| home.split('.').map(str::to_owned).collect())
}

/// The line with what stands between backticks blanked.
fn without_code(line: &str) -> String {
    let blank = |(index, piece): (usize, &str)| if index % 2 == 0 { piece.to_owned() } else { " ".repeat(piece.len()) };
    line.split('`').enumerate().map(blank).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree::of(files);
        let found = check(&tree, &source::modules(&tree));
        found.iter().map(|finding| finding.to_string().replace("crates/", "").replace("/src", "")).collect()
    }

    const A: (&str, &str) = ("crates/a/src/lib.rs", "//! R1. One.\n//! - R2. Two, by R1.\nmod b;\nmod c; // R2\n");
    const C: (&str, &str) = ("crates/a/src/c.rs", "//! R1. Three (MD5 of X0).\n// R1 here, a/R2 there.\n");

    #[test]
    fn numbers_of_other_files_have_their_home() {
        let b = ("crates/a/src/b.rs", "// SAFETY: a/R2, and a.c/R1.\n// `R9` is code.\n");
        assert!(findings(&[A, C, b]).is_empty());
    }

    #[test]
    fn what_is_not_clear_is_found() {
        let b = ("crates/a/src/b.rs", "// R2, a/R1.\n// Q7, z/R1, a.c/R2.\n");
        let docs = ("docs/d.md", "R2 is cited, a/R2 is right");
        assert_eq!(
            findings(&[A, C, b, docs]),
            [
                "a/b.rs:1: R2 is not stated in this file: name its home, as in `heap/H1`",
                "a/b.rs:1: a/R1 may be a.c/R1 or a/R1: say which",
                "a/b.rs:2: Q7 is not stated in this file: name its home, as in `heap/H1`",
                "a/b.rs:2: z/R1 is stated nowhere",
                "a/b.rs:2: a.c/R2 is stated nowhere",
                "docs/d.md:1: R2 is not stated in this file: name its home, as in `heap/H1`",
            ]
        );
    }

    #[test]
    fn ranges_cite_all_between_and_what_nobody_cites_is_found() {
        let text = "//! K1. A.\n//! K2. B.\n//! K3. C.\n//! K4. D.\n//! L1. E.\n//! L2. F.\n// K1 to K3.\n";
        let all = stated(&source::modules(&Tree::of(&[("crates/a/src/lib.rs", text)]))["crates/a/src/lib.rs"]);
        assert_eq!(all.len(), 6);
        let found = findings(&[("crates/a/src/lib.rs", text)]);
        assert!(found.len() == 1 && found[0].starts_with("a/lib.rs:5: nobody cites L1"), "{found:?}");
        let tags: Vec<String> = citations(text).into_iter().skip(6).map(|citation| citation.tag).collect();
        assert_eq!(tags, ["K1", "K2", "K3"]);
    }

    #[test]
    fn a_number_is_given_once_in_a_file() {
        let found = findings(&[("crates/a/src/lib.rs", "//! K1. A.\n//! K1. B.\n// K1\n")]);
        assert!(found.contains(&"a/lib.rs:2: K1 is stated twice here".to_owned()));
    }
}
