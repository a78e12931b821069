//! `cargo xtask new-bif`: the row, the stub and the failing test of a new built-in function (docs/add-a-bif.md).

use super::text::{with_item, with_line, with_test};
use super::{Edit, failed, snake, sources, write};
use crate::files::{self, top};
use crate::stop::{Done, Stop};
use crate::words::Words;

/// The words that the command takes.
pub const TAKES: &str = "MODULE NAME ARITY [--kind KIND] [--file FILE] [--area AREA]
  --kind KIND   how the function may be used (BifKind): Plain (without this option), Guard, DirtyCpu, DirtyIo; or Intrinsic, which
                is tried before the Erlang code that a library of OTP has for it
  --file FILE   the file of crates/bif that gets the function; needed where several have tables of the module and none its name;
                where none has, there will be a new one
  --area AREA   the folder of tests/erl for the recorded test (otp)

Writes the row, a stub, a unit test that fails, and a program for a recorded test.
";

/// The kinds that can be asked for, each with what the stub gives back.
const KINDS: [(&str, &str); 4] = [
    ("Plain", "myriad_vm::bif::badarg()"),
    ("Guard", "myriad_vm::bif::badarg()"),
    ("DirtyCpu", "myriad_vm::bif::badarg()"),
    ("DirtyIo", "myriad_vm::bif::badarg()"),
];

/// The kind that is no built-in: it has a table of its own, and what its stub gives back.
const INTRINSIC: (&str, &str) = ("Intrinsic", "Err(myriad_vm::bif::Escape::Decline)");

/// The file with the table of all intrinsics, and the folder of their code.
const INTRINSICS: &str = "crates/bif/src/intrinsics";

/// The crate that gets the function.
const CRATE: &str = "crates/bif/src";

/// A function that is to be.
#[derive(Debug)]
struct Wanted {
    module: String,
    name: String,
    arity: u8,
    kind: &'static str,
    /// What the stub gives back.
    gives: &'static str,
}

/// Writes what a new built-in begins with.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(words, &[], &["--kind", "--file", "--area"])?;
    let wanted = Wanted::parse(&words)?;
    let top = top();
    let sources = sources(&top, CRATE);
    let file = words.value("--file");
    let mut edits =
        if wanted.is_intrinsic() { wanted.as_intrinsic(&sources)? } else { wanted.in_rust(&sources, file)? };
    let area = words.value("--area").unwrap_or("otp");
    let path = format!("tests/erl/{area}/{}.erl", wanted.program());
    if top.join(&path).exists() {
        return failed(format!("{path} is there already"));
    }
    edits.push(Edit { path, text: wanted.erlang(), what: "a program for a recorded test".to_owned() });
    let Wanted { module, name, .. } = &wanted;
    let function = wanted.function();
    let next = format!(
        "next: cargo test -p myriad-bif {function} fails; docs/add-a-bif.md says how to go on with {module}:{name}"
    );
    write(&top, &edits, &next)
}

impl Wanted {
    fn parse(words: &Words) -> Result<Wanted, Stop> {
        let [module, name, arity] = words.rest.as_slice() else {
            return Err(Stop::Usage("wants a module, a name and an arity".to_owned()));
        };
        let arity = arity.parse().map_err(|_| Stop::Usage(format!("{arity}: no such arity")))?;
        let kind = words.value("--kind").unwrap_or("Plain");
        let kind = KINDS.into_iter().chain([INTRINSIC]).find(|(name, _)| *name == kind);
        let (kind, gives) = kind.ok_or_else(|| Stop::Usage("no such kind".to_owned()))?;
        Ok(Wanted { module: module.clone(), name: name.clone(), arity, kind, gives })
    }

    fn is_intrinsic(&self) -> bool {
        self.kind == INTRINSIC.0
    }

    /// The name of the function in Rust.
    fn function(&self) -> String {
        format!("{}_{}", snake(&self.name), self.arity)
    }

    /// The name of the recorded program.
    fn program(&self) -> String {
        format!("{}_{}", snake(&self.module), snake(&self.name))
    }

    fn row(&self) -> String {
        format!("    {:?} / {} {} => {};", self.name, self.arity, self.kind, self.function())
    }

    /// The changes of the crate: of one file, or of a new one and the list of all tables.
    fn in_rust(&self, sources: &[(String, String)], file: Option<&str>) -> Result<Vec<Edit>, Stop> {
        if let Some((path, _)) = sources.iter().find(|(_, text)| self.is_stated_in(text)) {
            return failed(format!("{}:{}/{} is there already: {path}", self.module, self.name, self.arity));
        }
        let is_wanted = |path: &str| file.is_none_or(|file| path == file || files::stem(path.as_ref()) == file);
        let has_table = |text: &str| text.lines().any(|line| self.begins_a_table(line));
        let mut with_table: Vec<_> = sources.iter().filter(|(path, text)| is_wanted(path) && has_table(text)).collect();
        if let Some(own) = with_table.iter().position(|(path, _)| files::stem(path.as_ref()) == self.module) {
            with_table = vec![with_table[own]];
        }
        if with_table.len() > 1 {
            let names: Vec<&str> = with_table.iter().map(|(path, _)| path.as_str()).collect();
            return failed(format!("--file must say which of these gets it: {}", names.join(" ")));
        }
        if let Some((path, text)) = with_table.first() {
            let what = format!("the row, a stub `{}` and a unit test that fails", self.function());
            return Ok(vec![Edit { path: path.clone(), text: self.added_to(text), what }]);
        }
        if file.is_some() {
            return failed(format!("no such file with a table of {}", self.module));
        }
        self.in_a_new_file(sources)
    }

    /// Is there a row of the function in a table of its module?
    fn is_stated_in(&self, text: &str) -> bool {
        let mut within = false;
        text.lines().any(|line| {
            within = if line.contains("bifs! {") { self.begins_a_table(line) } else { within };
            within && line.trim_start().starts_with(&format!("{:?} / {} ", self.name, self.arity))
        })
    }

    fn begins_a_table(&self, line: &str) -> bool {
        line.contains("bifs! {") && line.contains(&format!("= {:?} {{", self.module))
    }

    /// A file's text with row, stub and test. A table with rows of the same kind comes before others.
    fn added_to(&self, text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let of_kind = |at: usize| {
            let rows = lines[at + 1..].iter().take_while(|line| !line.starts_with("}}"));
            rows.clone().any(|row| row.contains(&format!(" {} => ", self.kind)))
        };
        let tables: Vec<usize> = (0..lines.len()).filter(|at| self.begins_a_table(lines[*at])).collect();
        let table = tables.iter().find(|at| of_kind(**at)).or(tables.first()).map_or("", |at| lines[*at]);
        let text = with_line(text, |line| line == table, "}}", &self.row()).unwrap_or_else(|| text.to_owned());
        with_test(&with_item(&text, &self.stub()), &self.test())
    }

    fn stub(&self) -> String {
        let Wanted { module, name, arity, gives, .. } = self;
        format!(
            "/// `{module}:{name}/{arity}`: still to be written.\nfn {}(_: &mut Ctx<'_>, _: &[Term]) -> BifResult {{\n    {gives}\n}}",
            self.function()
        )
    }

    fn test(&self) -> String {
        let (function, arity) = (self.function(), self.arity);
        format!(
            "#[test]\nfn {function}_answers() {{\n    crate::test_support::in_process(|ctx| {{\n        \
             // Arguments, and what OTP answers, as `erlang:display/1` prints it.\n        \
             let args = [myriad_term::Term::NIL; {arity}];\n        \
             assert_eq!(crate::test_support::text(super::{function}(ctx, &args)), \"what OTP answers\");\n    }});\n}}"
        )
    }

    /// A file for an intrinsic, and its row in the table of all of them.
    fn as_intrinsic(&self, sources: &[(String, String)]) -> Result<Vec<Edit>, Stop> {
        let Wanted { module, name, arity, .. } = self;
        let list = format!("{INTRINSICS}.rs");
        let text = sources.iter().find(|(path, _)| *path == list).map_or("", |(_, text)| text);
        let (stem, function) = (self.program(), self.function());
        let path = format!("{INTRINSICS}/{stem}.rs");
        if sources.iter().any(|(other, _)| *other == path) || self.is_intrinsic_in(text) {
            return failed(format!("{module}:{name}/{arity} is there already"));
        }
        let section = format!("    {module:?} {{");
        let row = format!("        {name:?} / {arity} => Native({stem}::{function});");
        let with_row = with_line(text, |line| line == section, "    }", &row).or_else(|| {
            with_line(text, |line| line.contains("intrinsics! {"), "}}", &format!("{section}\n{row}\n    }}"))
        });
        let with_mod = with_row.and_then(|text| {
            with_line(&text, |line| line.starts_with("//! "), "pub mod ", &format!("pub mod {stem};"))
        });
        let Some(listed) = with_mod else { return failed(format!("{list} lists no intrinsics")) };
        let header = format!(
            "//! `{module}:{name}/{arity}` as an intrinsic.\n\nuse myriad_term::Term;\nuse myriad_vm::{{BifResult, Ctx}};\n"
        );
        let stub = self.stub().replace("\nfn ", "\npub fn ");
        let text = with_test(&with_item(&header, &stub), &self.test());
        let what = format!("a new file with a stub `{function}` and a unit test that fails");
        let of_list = "the row of the intrinsic (`cargo fmt` puts the module in its place)".to_owned();
        Ok(vec![Edit { path, text, what }, Edit { path: list, text: listed, what: of_list }])
    }

    /// Has the table of intrinsics a row of the function?
    fn is_intrinsic_in(&self, text: &str) -> bool {
        let section = format!("    {:?} {{", self.module);
        let rows = text.lines().skip_while(|line| *line != section).take_while(|line| *line != "    }");
        let row = format!("{:?} / {} ", self.name, self.arity);
        rows.into_iter().any(|line| line.trim_start().starts_with(&row))
    }

    /// A file of its own for a module that has none.
    fn in_a_new_file(&self, sources: &[(String, String)]) -> Result<Vec<Edit>, Stop> {
        let stem = snake(&self.module);
        let path = format!("{CRATE}/{stem}.rs");
        let lib = format!("{CRATE}/lib.rs");
        let list = sources.iter().find(|(path, _)| *path == lib).map_or("", |(_, text)| text);
        if sources.iter().any(|(other, _)| *other == path) {
            return failed(format!("{path} is there already, without a table of {}", self.module));
        }
        let table = stem.to_uppercase();
        let header = format!(
            "//! Built-in functions of `{}`.\n\nuse myriad_term::Term;\nuse myriad_vm::{{BifResult, Ctx}};\n\n\
             myriad_vm::bifs! {{ pub {table} = {:?} {{\n{}\n}}}}\n",
            self.module,
            self.module,
            self.row()
        );
        let text = with_test(&with_item(&header, &self.stub()), &self.test());
        let first_module = |line: &str| line.starts_with("//! ");
        let with_mod = with_line(list, first_module, "pub mod ", &format!("pub mod {stem};"));
        let row = format!("    {stem}::{table},");
        let listed = with_mod.and_then(|list| with_line(&list, |line| line.contains("static TABLES"), "];", &row));
        let Some(listed) = listed else { return failed(format!("{lib} lists no tables")) };
        let what = format!("a new file with the row, a stub `{}` and a unit test that fails", self.function());
        let of_list = "the new file and its table (`cargo fmt` puts it in its place)".to_owned();
        Ok(vec![Edit { path, text, what }, Edit { path: lib, text: listed, what: of_list }])
    }

    /// A program whose output OTP determines.
    fn erlang(&self) -> String {
        let Wanted { module, name, arity, .. } = self;
        let args = |each: &str| vec![each; usize::from(*arity)].join(", ");
        format!(
            "%% {module}:{name}/{arity}: right arguments, wrong ones, and those at the edges.\n-module({}).\n-export([main/0]).\n\n\
             main() ->\n    t:c(nil, fun() -> {module}:{name}({}) end),\n    t:c(atom, fun() -> {module}:{name}({}) end).\n",
            self.program(),
            args("t:id([])"),
            args("t:id(a)"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: &str = "use x;\n\nmyriad_vm::bifs! { pub LISTS = \"lists\" {\n    \"member\" / 2 Plain => member_2;\n}}\n\n\
                         myriad_vm::bifs! { pub GUARDS = \"lists\" {\n    \"is_empty\" / 1 Guard => is_empty_1;\n}}\n\nfn member_2() {}\n";
    const LIB: &str = "//! All.\n\npub mod lists;\n\npub static TABLES: &[&[BifDef]] = &[\n    lists::LISTS,\n];\n";

    fn edits(line: &str) -> Result<Vec<Edit>, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let words = Words::parse(&words, &[], &["--kind", "--file"])?;
        let [atoms, numbers] = ["atoms", "numbers"].map(|name| format!("crates/bif/src/{name}.rs"));
        let erlang = "bifs! { pub TABLE = \"erlang\" {\n}}\n";
        let sources =
            [("crates/bif/src/lists.rs", LISTS), ("crates/bif/src/lib.rs", LIB), (&atoms, erlang), (&numbers, erlang)];
        let sources: Vec<(String, String)> = sources.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec();
        Wanted::parse(&words)?.in_rust(&sources, words.value("--file"))
    }

    #[test]
    fn the_row_goes_to_a_table_of_its_kind() {
        for (kind, before) in [("Guard", "=> is_empty_1;"), ("Plain", "=> member_2;"), ("DirtyCpu", "=> member_2;")] {
            let edits = edits(&format!("lists sum 1 --kind {kind}")).unwrap();
            let row = format!("{before}\n    \"sum\" / 1 {kind} => sum_1;\n}}}}");
            assert!(edits.len() == 1 && edits[0].text.contains(&row), "{}", edits[0].text);
            assert!(edits[0].text.contains("\nfn sum_1(") && edits[0].text.contains("fn sum_1_answers()"));
        }
    }

    #[test]
    fn an_intrinsic_gets_a_file_and_a_row() {
        let table = "//! All.\n\npub mod flatten;\n\nmyriad_vm::intrinsics! { pub INTRINSICS {\n    \"lists\" {\n        \
                     \"flatten\" / 1 => Native(flatten::flatten);\n    }\n}}\n";
        let sources = [(format!("{INTRINSICS}.rs"), table.to_owned())];
        let wanted = |module: &str, name: &str| {
            let words = [module, name, "1", "--kind", "Intrinsic"].map(str::to_owned);
            Wanted::parse(&Words::parse(&words, &[], &["--kind"]).unwrap()).unwrap()
        };
        let edits = wanted("lists", "sum").as_intrinsic(&sources).unwrap();
        assert_eq!(edits[0].path, "crates/bif/src/intrinsics/lists_sum.rs");
        assert!(edits[0].text.contains("pub fn sum_1(") && edits[0].text.contains("Escape::Decline"));
        assert!(edits[1].text.contains("flatten);\n        \"sum\" / 1 => Native(lists_sum::sum_1);\n    }"));
        assert!(edits[1].text.contains("pub mod lists_sum;\n"));
        let other = wanted("maps", "new").as_intrinsic(&sources).unwrap();
        assert!(other[1].text.contains("    \"maps\" {\n        \"new\" / 1 => Native(maps_new::new_1);\n    }\n}}"));
        assert!(matches!(wanted("lists", "flatten").as_intrinsic(&sources), Err(Stop::Failed(_))));
    }

    #[test]
    fn a_module_without_tables_gets_a_file() {
        let edits = edits("queue is_queue 1").unwrap();
        assert_eq!(edits[0].path, "crates/bif/src/queue.rs");
        assert!(edits[1].text.contains("pub mod queue;\n") && edits[1].text.contains("    queue::QUEUE,\n];"));
    }

    #[test]
    fn what_is_there_or_unknown_is_refused() {
        assert!(matches!(edits("lists member 2"), Err(Stop::Failed(_))));
        for line in ["lists sum", "lists sum x", "lists sum 1 --kind Fast"] {
            assert!(matches!(edits(line), Err(Stop::Usage(_))), "{line}");
        }
        assert!(matches!(edits("lists sum 1 --file none"), Err(Stop::Failed(_))));
        assert!(matches!(edits("erlang new 1"), Err(Stop::Failed(_))));
        assert_eq!(edits("erlang new 1 --file atoms").unwrap()[0].path, "crates/bif/src/atoms.rs");
    }

    #[test]
    fn the_kinds_are_those_of_the_vm() {
        let vm: String = sources(&top(), "crates")
            .into_iter()
            .map(|(_, text)| text)
            .filter(|t| t.contains("pub enum BifKind"))
            .collect();
        for (kind, gives) in KINDS {
            assert!(vm.contains(&format!("\n    {kind},\n")), "{kind}");
            let name = gives.split("::").last().unwrap_or_default().trim_end_matches([')', '(']);
            assert!(vm.contains(name), "{gives}");
        }
        assert!(sources(&top(), CRATE).iter().any(|(_, text)| text.contains("bifs! { pub LISTS = \"lists\" {")));
    }

    #[test]
    fn the_program_calls_the_function() {
        let wanted = Wanted { module: "lists".into(), name: "sum".into(), arity: 2, kind: "Plain", gives: "" };
        assert!(
            wanted.erlang().contains("lists:sum(t:id(a), t:id(a))") && wanted.erlang().contains("-module(lists_sum).")
        );
    }
}
