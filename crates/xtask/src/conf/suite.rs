//! Suites: which there are, and where.

use super::world::World;
use crate::files::{self, top};
use crate::heaps::Heap;
use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};

/// Applications whose suites can be run. A suite that is named without its application is the first of these that has it.
const APPLICATIONS: [&str; 15] = [
    "emulator",
    "stdlib",
    "kernel",
    "compiler",
    "tools",
    "runtime_tools",
    "parsetools",
    "syntax_tools",
    "eunit",
    "crypto",
    "public_key",
    "asn1",
    "ssl",
    "ssh",
    "inets",
];

/// A suite of OTP's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The application that it tests.
    pub application: &'static str,
    /// Its name without `_SUITE`.
    pub name: String,
    /// The folder of its source.
    pub folder: PathBuf,
}

impl Suite {
    /// The suite of a name, `SUITE` or `APPLICATION/SUITE`, in the sources of OTP.
    pub fn find(source: &Path, name: &str) -> Option<Suite> {
        let (within, bare) = name.split_once('/').map_or((None, name), |(application, bare)| (Some(application), bare));
        let applications =
            APPLICATIONS.into_iter().filter(|application| within.is_none_or(|within| within == *application));
        let mut found = applications.map(|application| {
            let folder = match application {
                "emulator" => source.join("erts/emulator/test"),
                other => source.join(format!("lib/{other}/test")),
            };
            Suite { application, name: bare.to_owned(), folder }
        });
        found.find(|suite| suite.source().exists())
    }

    /// As the lists of `tests/conformance` name it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.application, self.name)
    }

    /// Its name as a file's.
    pub fn key(&self) -> String {
        format!("{}-{}", self.application, self.name)
    }

    /// Its module.
    pub fn module(&self) -> String {
        format!("{}_SUITE", self.name)
    }

    /// The file with its code.
    pub fn source(&self) -> PathBuf {
        self.folder.join(format!("{}.erl", self.module()))
    }

    /// Do cases of the same groups that follow each other share what is begun for them, as under Common Test? Where a group begins with
    /// certificates, to make them for each case takes longer than the cases do.
    pub fn shares(&self) -> bool {
        self.application == "ssl"
    }

    /// The folder of the files that its cases use.
    pub fn data(&self) -> PathBuf {
        self.folder.join(format!("{}_data", self.module()))
    }
}

/// The suites that were asked for.
pub struct Chosen {
    /// Their names.
    pub names: Vec<String>,
    /// The third of the list that they are, if they are one.
    pub third: Option<usize>,
}

impl Chosen {
    /// Those that were named, or those of the list; of a turn those that are its turn.
    pub fn new(named: &[String], turn: Option<Turn>) -> Result<Chosen, Stop> {
        if !named.is_empty() {
            let mut names: Vec<String> = vec![];
            for name in named.iter().map(|name| name.strip_suffix("_SUITE").unwrap_or(name).to_owned()) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            return Ok(Chosen { names, third: None });
        }
        let list = |name: &str| files::read(&top().join("tests/conformance").join(name));
        let third = turn.map(|turn| turn.third);
        let mut names = listed(&list("suites")?, third);
        if turn.and_then(|turn| turn.heap).is_some_and(|heap| heap != Heap::DEFAULT) {
            let of_heaps = listed(&list("heaps")?, None);
            names.retain(|name| of_heaps.contains(name));
        }
        Ok(Chosen { names, third })
    }
}

/// The suites of the list, or a third of those without a reason to be left out, which stands behind the name.
fn listed(list: &str, third: Option<usize>) -> Vec<String> {
    let rows =
        list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| !row.is_empty());
    match third {
        None => rows.map(|row| row[0].to_owned()).collect(),
        Some(third) => {
            let quick = rows.filter(|row| row.len() == 1).enumerate();
            quick.filter(|(index, _)| index % 3 == third).map(|(_, row)| row[0].to_owned()).collect()
        }
    }
}

/// A third of the list, and whose turn it is beside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    pub third: usize,
    /// Of machine code for every function.
    pub native: bool,
    /// Of this architecture of heaps.
    pub heap: Option<Heap>,
}

/// The architectures' turns: five, so that within thirty commits each third is run with and without machine code in all of them.
const HEAPS: [Heap; 5] = [Heap::HYBRID, Heap::PRIVATE, Heap::HYBRID, Heap::SHARED, Heap::HYBRID];

/// The turn of a commit, by its number.
fn turn_of(number: usize) -> Turn {
    Turn { third: number % 3, native: number / 3 % 2 == 1, heap: Some(HEAPS[number % HEAPS.len()]) }
}

/// The turn that a word names.
pub fn turn(word: &str) -> Result<Turn, Stop> {
    match word {
        "auto" => this_commit().map(turn_of),
        "0" | "1" | "2" => Ok(Turn { third: usize::from(word.as_bytes()[0] - b'0'), native: false, heap: None }),
        _ => Err(Stop::Usage(format!("--third {word}: 0, 1, 2 or auto"))),
    }
}

/// A number for this commit: how many there are. A clone without history goes by the commit's own name.
fn this_commit() -> Result<usize, Stop> {
    let git = |words: &[&str]| -> Result<String, Stop> {
        let mut command = program::command("git");
        let said = command.arg("-C").arg(top()).args(words).stderr(std::process::Stdio::null()).output();
        Ok(said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default())
    };
    if git(&["rev-parse", "--is-shallow-repository"])? == "false" {
        return Ok(git(&["rev-list", "--count", "HEAD"])?.parse().unwrap_or(0));
    }
    let name = git(&["rev-parse", "HEAD"])?;
    Ok(name.bytes().map(usize::from).sum())
}

/// The suites of these names. What there is none of is said.
pub fn find_all(world: &World, names: &[String]) -> Vec<Suite> {
    let find = |name: &String| {
        let suite = Suite::find(&world.source, name);
        if suite.is_none() {
            eprintln!("{name}: no such suite");
        }
        suite
    };
    names.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# words\na/one\na/two slow: a reason\n\na/three\na/four\na/five\n";

    #[test]
    fn a_third_of_the_list_is_without_what_is_slow() {
        assert_eq!(listed(LIST, None), ["a/one", "a/two", "a/three", "a/four", "a/five"]);
        assert_eq!(listed(LIST, Some(0)), ["a/one", "a/five"]);
        assert_eq!(listed(LIST, Some(1)), ["a/three"]);
        assert!(
            turn("auto").unwrap().third < 3
                && turn("2").unwrap() == Turn { third: 2, native: false, heap: None }
                && turn("3").is_err()
        );
    }

    #[test]
    fn each_third_has_its_turn_in_each_architecture_with_and_without_machine_code() {
        for heap in [Heap::PRIVATE, Heap::HYBRID, Heap::SHARED] {
            for (third, native) in [0, 1, 2].into_iter().flat_map(|third| [(third, false), (third, true)]) {
                assert!((700..730).map(turn_of).any(|turn| turn == Turn { third, native, heap: Some(heap) }));
            }
        }
    }

    #[test]
    fn other_heaps_have_fewer_suites() {
        let chosen =
            |third, heap| Chosen::new(&[], Some(Turn { third, native: false, heap: Some(heap) })).unwrap().names;
        let of_heaps = listed(&files::read(&top().join("tests/conformance/heaps")).unwrap(), None);
        let of_all: Vec<String> = (0..3).flat_map(|third| chosen(third, Heap::SHARED)).collect();
        assert!(of_heaps.iter().all(|name| of_all.contains(name)) && of_all.len() == of_heaps.len());
        assert!(chosen(0, Heap::DEFAULT).len() > 2 * chosen(0, Heap::PRIVATE).len());
    }

    #[test]
    fn suites_are_named_with_or_without_their_ending() {
        let named = ["map_SUITE", "map", "stdlib/lists"].map(str::to_owned);
        assert_eq!(Chosen::new(&named, None).unwrap().names, ["map", "stdlib/lists"]);
    }

    #[test]
    fn suites_are_found_by_application() {
        let source = std::env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        for folder in ["erts/emulator/test", "lib/stdlib/test"] {
            files::make_folder(&source.join(folder)).unwrap();
            files::write(&source.join(folder).join("a_SUITE.erl"), "").unwrap();
        }
        assert_eq!(Suite::find(&source, "a").unwrap().id(), "emulator/a");
        assert_eq!(Suite::find(&source, "stdlib/a").unwrap().key(), "stdlib-a");
        assert_eq!(Suite::find(&source, "kernel/a"), None);
        assert_eq!(Suite::find(&source, "none/a"), None);
        files::remove_folder(&source);
    }
}
