//! `cargo xtask new-op`: the row, the stub and the failing test of a new instruction of tier 0 (docs/add-an-opcode.md).

use super::text::{with_item, with_line};
use super::{Edit, failed, snake, write};
use crate::files::{self, top};
use crate::stop::{Done, Stop};
use crate::words::Words;

/// The words that the command takes.
pub const TAKES: &str = "NAME [--format OPERANDS] [--group GROUP] [--file FILE]
  --format OPERANDS   the letters of crates/interp/src/instr.rs (`-`, no operands)
  --group GROUP       hot: with code of its own; either: that in versions for X and Y registers; slow: out of line (hot without this)
  --file FILE         the file of crates/interp/src/run, or for slow of crates/interp/src, that gets the function (control; slow: calls)

Writes the row, a stub, and a test that fails until the decoder makes the instruction of the test's Erlang code.
";

const TABLE: &str = "crates/interp/src/instr.rs";

/// The groups of instructions, and the file that gets one if none is named.
const GROUPS: [(&str, &str); 3] = [("hot", "run/control"), ("either", "run/control"), ("slow", "calls")];

/// The letters of formats, but for `-` and `*`.
const LETTERS: &str = "rnpqRPQmbBsjfkuwc";

/// An instruction that is to be.
#[derive(Debug)]
struct Wanted {
    name: String,
    format: String,
    group: &'static str,
    /// Below `crates/interp/src`, without its ending.
    file: String,
}

/// Writes what a new instruction begins with.
pub fn main(words: &[String]) -> Done {
    let wanted = Wanted::parse(&Words::parse(words, &[], &["--format", "--group", "--file"])?)?;
    let top = top();
    let path = wanted.path();
    let Ok(code) = files::read(&top.join(&path)) else { return failed(format!("there is no {path}")) };
    let table = files::read(&top.join(TABLE))?;
    if table.contains(&format!(" {} \"", wanted.name)) {
        return failed(format!("{} is there already: {TABLE}", wanted.name));
    }
    let Some(table) = wanted.in_table(&table) else { return failed(format!("{TABLE} has no group {}", wanted.group)) };
    let Some(code) = wanted.in_code(&code) else { return failed(format!("{path} has no instructions")) };
    let test = format!("crates/interp/tests/op_{}.rs", snake(&wanted.name));
    let edits = [
        Edit { path: TABLE.to_owned(), text: table, what: format!("the row, in group {}", wanted.group) },
        Edit { path, text: code, what: "a stub".to_owned() },
        Edit { path: test, text: wanted.test(), what: "a test that fails until the decoder makes it".to_owned() },
    ];
    let next = format!(
        "next: cargo test -p myriad-interp --test op_{} fails; docs/add-an-opcode.md says how to go on",
        snake(&wanted.name)
    );
    write(&top, &edits, &next)
}

impl Wanted {
    fn parse(words: &Words) -> Result<Wanted, Stop> {
        let [name] = words.rest.as_slice() else { return Err(Stop::Usage("wants one name".to_owned())) };
        if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(Stop::Usage(format!("{name}: names are written as GetElement2 is")));
        }
        let group = words.value("--group").unwrap_or("hot");
        let group = GROUPS.into_iter().find(|(name, _)| *name == group);
        let (group, file) = group.ok_or_else(|| Stop::Usage("no such group".to_owned()))?;
        let format = words.value("--format").unwrap_or("-").to_owned();
        if format.is_empty() || !format.chars().all(|c| LETTERS.contains(c) || c == '-' || c == '*') {
            return Err(Stop::Usage(format!("{format}: the letters of operands stand in {TABLE}")));
        }
        let file = match (words.value("--file"), group) {
            (None, _) => file.to_owned(),
            (Some(name), "slow") => name.to_owned(),
            (Some(name), _) => format!("run/{name}"),
        };
        Ok(Wanted { name: name.clone(), format, group, file })
    }

    fn path(&self) -> String {
        format!("crates/interp/src/{}.rs", self.file)
    }

    /// The words that the instruction takes, as far as its format tells.
    fn words(&self) -> usize {
        let operands = self.format.chars().skip(1).filter(|c| *c != '*');
        1 + operands.map(|c| if c == 'w' || c == 'c' { 2 } else { 1 }).sum::<usize>()
    }

    fn in_table(&self, table: &str) -> Option<String> {
        let (Wanted { name, format, group, file }, indent) = (self, "            ");
        let function = format!(" {}::{}", file.replace('/', "::"), snake(name));
        let row = format!("{indent}{name} {format:?}{}", if *group == "slow" { &function } else { "" });
        with_line(table, |line| line.trim() == format!("{group} {{"), "        }", &row)
    }

    fn in_code(&self, code: &str) -> Option<String> {
        let words = self.words();
        if self.group == "slow" {
            let item = format!(
                "/// `{}`: still to be written.\npub unsafe fn {}(_: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {{\n    \
                 // SAFETY: the instruction has so many words.\n    unsafe {{ pc.add({words}) }}\n}}",
                self.name,
                snake(&self.name)
            );
            return Some(with_item(code, &item));
        }
        let stub =
            format!("\n    {}(s) {{\n        // Still to be written.\n        s.next({words})\n    }}", self.name);
        with_line(code, |line| line == "super::instructions! {", "}", &stub)
    }

    /// The test's file.
    fn test(&self) -> String {
        TEST.replace("NAME", &self.name).replace("SNAKE", &snake(&self.name))
    }
}

const TEST: &str = r#"//! The decoder makes `NAME` of the code below, which the compiler of the release on this machine compiles.

mod common;

use myriad_interp::{decode, disasm};
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "op_SNAKE";

/// Functions in whose code the instruction is wanted.
const FUNCTIONS: &str = "
-export([f/1]).
f(X) -> X.
";

/// The module's code, compiled in a folder of its own.
fn compiled(otp: &Path) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("{MODULE}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join(format!("{MODULE}.erl"));
    std::fs::write(&source, format!("-module({MODULE}).\n{FUNCTIONS}")).unwrap();
    let status = Command::new(otp.join("bin/erlc")).arg("-o").arg(&folder).arg(&source).status().unwrap();
    assert!(status.success());
    let bytes = std::fs::read(source.with_extension("beam")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    bytes
}

#[test]
fn the_decoder_makes_it() {
    let otp = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| PathBuf::from("/usr/lib/erlang"), PathBuf::from);
    let vm = common::vm();
    let module = common::prepared(vm, &compiled(&otp)).unwrap();
    for function in module.functions.iter().filter(|function| function.mfa.function.text() != "module_info") {
        let listing = disasm::listing(&decode::translate(vm, function).unwrap());
        let mut names = listing.lines().filter_map(|line| line.split_whitespace().nth(1));
        let is_it = |name: &str| name.split('.').next() == Some("NAME");
        assert!(names.any(is_it), "{}/{} has no NAME:\n{listing}", function.mfa.function.text(), function.mfa.arity);
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Result<Wanted, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Wanted::parse(&Words::parse(&words, &[], &["--format", "--group", "--file"])?)
    }

    #[test]
    fn words_are_counted_by_the_format() {
        for (format, words) in [("-", 1), ("r", 1), ("-fw", 4), ("nuupfw", 7), ("Rju*", 3), ("Rc", 3)] {
            assert_eq!(wanted(&format!("New --format {format}")).unwrap().words(), words, "{format}");
        }
    }

    #[test]
    fn what_is_no_instruction_is_refused() {
        for line in ["", "new", "New Old", "New --format x", "New --group warm"] {
            assert!(matches!(wanted(line), Err(Stop::Usage(_))), "{line}");
        }
    }

    #[test]
    fn rows_and_stubs_find_their_places_here() {
        let table = files::read(&top().join(TABLE)).unwrap();
        for (line, row) in [
            ("NewOne --format nk", "            NewOne \"nk\"\n        }\n        either {"),
            ("NewOne --group either --format Rk", "            NewOne \"Rk\"\n        }\n        slow {"),
            ("NewOne --group slow --file guards", "            NewOne \"-\" guards::new_one\n        }\n    } };"),
        ] {
            let wanted = wanted(line).unwrap();
            assert!(wanted.in_table(&table).unwrap().contains(row), "{line}");
            let code = files::read(&top().join(wanted.path())).unwrap();
            assert!(wanted.in_code(&code).unwrap().len() > code.len());
        }
    }

    #[test]
    fn the_letters_are_those_of_the_table() {
        let table = files::read(&top().join(TABLE)).unwrap();
        let rows: String = table.lines().filter(|line| line.starts_with("//! | `")).collect();
        assert!(LETTERS.chars().all(|letter| rows.contains(&format!("`{letter}`"))), "{rows}");
    }

    #[test]
    fn the_test_looks_for_the_name() {
        let test = wanted("NewOne").unwrap().test();
        assert!(test.contains("\"op_new_one\"") && test.contains("Some(\"NewOne\")") && !test.contains("NAME"));
    }
}
