//! What the pages tell people to type can be typed: targets and variables of `make`, commands of `cargo xtask` and their options,
//! packages of `cargo test`.
//!
//! A command stands between backticks, or on a line of its own that is indented as a shell's are. Scripts are paths, which
//! `docs.rs` looks for.

use super::tree::{Finding, Tree};

/// All commands on a page that cannot be typed.
pub fn check(tree: &Tree, page: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for command in commands(line) {
            let words: Vec<&str> = command.split_whitespace().take_while(|word| !word.starts_with('#')).collect();
            let wrong = match words.as_slice() {
                ["make", words @ ..] => make(tree, words),
                ["cargo", "xtask", words @ ..] => xtask(tree, words).into_iter().collect(),
                ["cargo", words @ ..] => packages(tree, words),
                _ => vec![],
            };
            findings.extend(wrong.into_iter().map(|what| Finding::new(page, index + 1, what)));
        }
    }
    findings
}

/// The commands of a line, without the variables that are set for one of them.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    let shell = line.strip_prefix("    ");
    let commands = quoted.chain(shell).flat_map(|text| text.split(['&', ';', '|', '(', ')']));
    commands.map(|command| {
        let mut rest = command.trim();
        while let Some((word, after)) = rest.split_once(' ')
            && is_assignment(word)
        {
            rest = after.trim_start();
        }
        rest
    })
}

/// Is this `NAME=value`?
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Targets and variables that the Makefile has not. Words that are no names (`make TARGET`) are to be filled in.
fn make(tree: &Tree, words: &[&str]) -> Vec<String> {
    let makefile = tree.text("Makefile").unwrap_or_default();
    let is_name = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let has_target = |target: &str| {
        let mut rules = makefile.lines().filter_map(|line| line.split_once(':'));
        rules.any(|(names, _)| names.split(' ').any(|name| name == target))
    };
    let wrong = words.iter().filter_map(|word| match word.split_once('=') {
        Some((name, _)) if is_assignment(word) && !makefile.contains(&format!("$({name})")) => {
            Some(format!("make has no variable `{name}`"))
        }
        None if is_name(word) && !has_target(word) => Some(format!("make has no target `{word}`")),
        _ => None,
    });
    wrong.collect()
}

/// What is wrong with a command of `cargo xtask`: there is none of its name, or it does not take one of the options.
fn xtask(tree: &Tree, words: &[&str]) -> Option<String> {
    let (name, words) = words.split_first()?;
    if name.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let commands = tree.text("crates/xtask/src/main.rs").unwrap_or_default();
    if !commands.contains(&format!("name: \"{name}\",")) {
        return Some(format!("cargo xtask has no command `{name}`"));
    }
    let takes = takes(tree, commands, name);
    let is_taken =
        |option: &&str| takes.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == *option);
    let options = words.iter().copied().filter(|word| word.starts_with('-'));
    options
        .map(|option| option.split('=').next().unwrap_or(option))
        .find(|option| !is_taken(option))
        .map(|option| format!("cargo xtask {name} does not take `{option}`"))
}

/// The text in which a command says what words it takes: it is that of a module, which the command's row names.
fn takes<'a>(tree: &'a Tree, commands: &str, name: &str) -> &'a str {
    let row = commands.split(&format!("name: \"{name}\",")).nth(1).unwrap_or_default();
    let module = row.split("takes: ").nth(1).and_then(|rest| rest.split("::TAKES").next()).unwrap_or_default();
    let text = tree.text(&format!("crates/xtask/src/{}.rs", module.replace("::", "/"))).unwrap_or_default();
    let begin = text.find("pub const TAKES").unwrap_or(text.len());
    let end = text[begin..].find("\";").map_or(text.len(), |length| begin + length);
    &text[begin..end]
}

/// Packages after `-p` that are none of this workspace.
fn packages(tree: &Tree, words: &[&str]) -> Vec<String> {
    let named = words.windows(2).filter(|pair| pair[0] == "-p").map(|pair| pair[1]);
    let unknown = named.filter(|name| {
        let folder = format!("crates/{}", name.strip_prefix("myriad-").unwrap_or(name));
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !tree.exists(&folder)
    });
    unknown.map(|name| format!("there is no package `{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("Makefile", "all: b\n\techo c: $(A)\ntest-a test-b:\n"),
            ("crates/a/src/lib.rs", ""),
            ("crates/xtask/src/main.rs", "Command { name: \"do-it\", what, takes: a::b::TAKES }"),
            ("crates/xtask/src/a/b.rs", "pub const TAKES: &str = \"[--vm ERL] [-j N] WHAT\n\";\nlet x = \"--other\";"),
        ]);
        check(&tree, "docs/p.md", page).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn what_can_be_typed_is_not_found() {
        let page = "we make none; `make test-a`\n    make all A=b # c\n    cd x && B=c cargo xtask do-it --vm erl -j 2 what | tail\n\
                    `cargo xtask COMMAND`, `cargo xtask do-it`, `cargo test -p myriad-a x`, `cargo test -p CRATE`, `cargo xtask`";
        assert_eq!(findings(page), Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_typed_is() {
        let page = "`make none` `make all C=d`\n    true && cargo xtask do\n`cargo xtask do-it --other` `cargo test -p myriad-b`";
        assert_eq!(
            findings(page),
            [
                "make has no target `none`",
                "make has no variable `C`",
                "cargo xtask has no command `do`",
                "cargo xtask do-it does not take `--other`",
                "there is no package `myriad-b`",
            ]
        );
    }
}
