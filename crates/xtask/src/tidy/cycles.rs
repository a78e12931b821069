//! Modules of a crate do not import each other in large circles, nor across folders.
//!
//! A module imports another when it names it or something in it; `pub use` offers a name under another path and is no import:
//! who uses that name imports the module that has it. Modules that tests alone need do not count.

use super::paths::{Kind, Named, paths};
use super::source::Module;
use super::tree::Finding;
use std::collections::{BTreeMap, HashMap};

/// So many modules of one folder may import each other in a circle.
const FREE: usize = 5;

/// So many offers are followed from one to the next.
const MOST_TURNS: usize = 8;

/// The largest circle of each crate that has larger ones, or some across folders. A number that is no longer reached is lowered.
const KNOWN: &[(&str, usize)] = &[];

/// All circles that are too large for their crate.
pub fn check(modules: &BTreeMap<String, Module>) -> Vec<Finding> {
    check_against(modules, KNOWN)
}

fn check_against(modules: &BTreeMap<String, Module>, known: &[(&str, usize)]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&Module>> = BTreeMap::new();
    for module in modules.values().filter(|module| !module.test && module.root.starts_with("src/")) {
        crates.entry(&module.package).or_default().push(module);
    }
    crates.iter().flat_map(|(package, modules)| check_crate(package, modules, known)).collect()
}

fn check_crate(package: &str, modules: &[&Module], known: &[(&str, usize)]) -> Vec<Finding> {
    let allowed = known.iter().find(|(name, _)| *name == package).map(|(_, most)| *most);
    let mut cycles = Graph::new(modules).cycles();
    cycles.retain(|cycle| cycle.len() > FREE || !of_one_folder(cycle));
    let largest = cycles.iter().map(Vec::len).max().unwrap_or(0);
    let mut findings = Vec::new();
    for cycle in cycles.iter().filter(|cycle| allowed.is_none_or(|most| cycle.len() > most)) {
        let names: Vec<String> = cycle.iter().map(|module| name(module)).collect();
        let what = format!("{} modules import each other in a circle: {}", cycle.len(), names.join(", "));
        findings.push(Finding::new(&cycle[0].path, 1, what));
    }
    if let Some(most) = allowed.filter(|most| largest < *most) {
        let what = format!(
            "the largest circle of `{package}` has {largest} modules now: lower the {most} in KNOWN (tidy/cycles.rs)"
        );
        findings.push(Finding::new(&format!("crates/{package}/src/lib.rs"), 1, what));
    }
    findings
}

fn name(module: &Module) -> String {
    if module.names.is_empty() { "crate".to_owned() } else { module.names.join("::") }
}

/// Do these modules lie in one folder? A module that has a folder counts as part of it as well.
fn of_one_folder(cycle: &[&Module]) -> bool {
    let shortest = cycle.iter().min_by_key(|module| module.names.len()).expect("a circle is not empty");
    let parent = &shortest.names[..shortest.names.len().saturating_sub(1)];
    let within = |folder: &[String]| {
        cycle
            .iter()
            .all(|module| module.names == folder || module.names.split_last().is_some_and(|(_, above)| above == folder))
    };
    within(parent) || within(&shortest.names)
}

/// The modules of a crate, and what each imports.
struct Graph<'m> {
    modules: &'m [&'m Module],
    by_name: HashMap<&'m [String], usize>,
    paths: Vec<Vec<Named>>,
}

impl<'m> Graph<'m> {
    fn new(modules: &'m [&'m Module]) -> Self {
        let by_name = modules.iter().enumerate().map(|(index, module)| (module.names.as_slice(), index)).collect();
        Graph { modules, by_name, paths: modules.iter().map(|module| paths(&module.code)).collect() }
    }

    /// The modules that a module imports.
    fn imports(&self, from: usize) -> Vec<usize> {
        let inner = inner_modules(&self.modules[from].code);
        let named = self.paths[from].iter().filter(|path| path.kind != Kind::Offer);
        let mut targets: Vec<usize> =
            named.filter_map(|path| self.target(from, &inner_at(&inner, path.at), &path.words, 0)).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.retain(|target| *target != from);
        targets
    }

    /// The module that has what a path leads to, named within modules `inner` of a file.
    fn target(&self, from: usize, inner: &[String], words: &[String], turns: usize) -> Option<usize> {
        let module = self.modules[from];
        let here = || module.names.iter().chain(inner).cloned();
        let mut place: Vec<String> = match words.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => here().collect(),
            "super" => here().take((module.names.len() + inner.len()).saturating_sub(1)).collect(),
            child if self.by_name.contains_key(here().chain([child.to_owned()]).collect::<Vec<_>>().as_slice()) => {
                here().chain([child.to_owned()]).collect()
            }
            _ => return None,
        };
        for word in &words[1..] {
            if word == "super" {
                place.pop();
            } else {
                place.push(word.clone());
            }
        }
        self.resolve(&place, turns)
    }

    /// The module of a path from the crate's root, by way of what modules offer.
    fn resolve(&self, place: &[String], turns: usize) -> Option<usize> {
        let known = (0..=place.len()).rev().find_map(|length| Some((length, *self.by_name.get(&place[..length])?)));
        let (length, module) = known?;
        let offered =
            place.get(length).filter(|_| turns < MOST_TURNS).and_then(|item| self.offered(module, item, turns));
        offered.or(Some(module))
    }

    /// The module that has an item which this one offers and does not declare.
    fn offered(&self, module: usize, item: &str, turns: usize) -> Option<usize> {
        let offers = || self.paths[module].iter().filter(|path| path.kind == Kind::Offer);
        if let Some(path) = offers().find(|path| path.name == item) {
            return self.target(module, &[], &path.words, turns + 1);
        }
        if self.declares(module, item) {
            return None;
        }
        let all_of = |path: &Named| {
            let from = self.target(module, &[], &path.words[..path.words.len() - 1], turns + 1)?;
            let place: Vec<String> = self.modules[from].names.iter().cloned().chain([item.to_owned()]).collect();
            self.resolve(&place, turns + 1).filter(|found| self.declares(*found, item))
        };
        offers().filter(|path| path.name == "*").find_map(all_of)
    }

    fn declares(&self, module: usize, item: &str) -> bool {
        super::items::declares(&self.modules[module].code, item)
    }

    /// The strongly connected components of more than one module (Tarjan, 1972).
    fn cycles(&self) -> Vec<Vec<&'m Module>> {
        let imports: Vec<Vec<usize>> = (0..self.modules.len()).map(|from| self.imports(from)).collect();
        let mut search = Search {
            imports: &imports,
            number: vec![None; imports.len()],
            low: vec![0; imports.len()],
            stack: Vec::new(),
            count: 0,
            found: Vec::new(),
        };
        for module in 0..imports.len() {
            if search.number[module].is_none() {
                search.visit(module);
            }
        }
        search.found.iter().map(|cycle| cycle.iter().map(|index| self.modules[*index]).collect()).collect()
    }
}

/// Tarjan's search.
struct Search<'i> {
    imports: &'i [Vec<usize>],
    number: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, module: usize) {
        let number = self.count;
        self.count += 1;
        self.number[module] = Some(number);
        self.low[module] = number;
        self.stack.push(module);
        for &target in &self.imports[module] {
            match self.number[target] {
                None => {
                    self.visit(target);
                    self.low[module] = self.low[module].min(self.low[target]);
                }
                Some(seen) if self.stack.contains(&target) => self.low[module] = self.low[module].min(seen),
                Some(_) => {}
            }
        }
        if self.low[module] == number {
            let begin = self.stack.iter().position(|member| *member == module).expect("it was pushed above");
            let mut cycle = self.stack.split_off(begin);
            cycle.sort_unstable();
            if cycle.len() > 1 {
                self.found.push(cycle);
            }
        }
    }
}

/// The modules with a body in a file: where each begins and ends, and its name.
fn inner_modules(code: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let all: Vec<(usize, &str)> = super::lexer::words(code).collect();
    let inner = all.windows(2).filter(|pair| pair[0].1 == "mod").filter_map(|pair| {
        let (at, name) = pair[1];
        let behind = at + name.len();
        let open = behind + code[behind..].len() - code[behind..].trim_start().len();
        code[open..].starts_with('{').then(|| (open..super::lexer::closing(code, open), name.to_owned()))
    });
    inner.collect()
}

fn inner_at(inner: &[(std::ops::Range<usize>, String)], at: usize) -> Vec<String> {
    inner.iter().filter(|(body, _)| body.contains(&at)).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;
    use crate::tidy::tree::Tree;

    fn findings(files: &[(&str, &str)], known: &[(&str, usize)]) -> Vec<String> {
        let modules = source::modules(&Tree::of(files));
        check_against(&modules, known).into_iter().map(|finding| finding.what).collect()
    }

    const ACROSS: [(&str, &str); 4] = [
        ("crates/a/src/lib.rs", "mod b; mod c;\npub use c::d::D;"),
        ("crates/a/src/b.rs", "use crate::D;\npub struct B;"),
        ("crates/a/src/c.rs", "pub mod d;"),
        ("crates/a/src/c/d.rs", "pub struct D;\nfn f() { crate::b::B; }"),
    ];

    #[test]
    fn a_circle_across_folders_is_found_through_an_offer() {
        assert_eq!(findings(&ACROSS, &[]), ["2 modules import each other in a circle: b, c::d"]);
    }

    #[test]
    fn a_known_circle_may_not_grow_and_must_not_have_shrunk() {
        assert!(findings(&ACROSS, &[("a", 2)]).is_empty());
        assert_eq!(findings(&ACROSS, &[("a", 1)]).len(), 1);
        assert!(findings(&ACROSS, &[("a", 3)])[0].contains("has 2 modules now"));
        assert!(findings(&[("crates/a/src/lib.rs", "")], &[("a", 2)])[0].contains("has 0 modules now"));
    }

    #[test]
    fn a_small_circle_in_a_folder_is_free_and_a_large_one_is_not() {
        let ring = |count: usize| -> Vec<(String, String)> {
            let modules =
                (0..count).map(|n| (format!("crates/a/src/m{n}.rs"), format!("use super::m{}::X;", (n + 1) % count)));
            let root = (0..count).map(|n| format!("mod m{n};")).collect();
            modules.chain([("crates/a/src/lib.rs".to_owned(), root)]).collect()
        };
        for (count, found) in [(FREE, 0), (FREE + 1, 1)] {
            let files = ring(count);
            let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            assert_eq!(findings(&files, &[]).len(), found);
        }
    }

    #[test]
    fn tests_and_inner_modules_do_not_count() {
        let files = [
            ("crates/a/src/lib.rs", "mod b; mod c { }"),
            ("crates/a/src/b.rs", "mod in_it { use super::X; }\n#[cfg(test)]\nmod tests { use crate::Y; }"),
        ];
        assert!(findings(&files, &[]).is_empty());
    }

    #[test]
    fn offers_of_all_that_is_there_are_followed_and_come_to_an_end() {
        let files = [
            ("crates/a/src/lib.rs", "mod b; mod c;\npub use c::*;"),
            ("crates/a/src/b.rs", "use crate::D;\npub struct B;"),
            ("crates/a/src/c.rs", "pub mod d; pub mod e;\npub use d::*; pub use e::*;"),
            ("crates/a/src/c/d.rs", "pub use super::e::*;\npub struct D;\nfn f() { crate::b::B; crate::c::None; }"),
            ("crates/a/src/c/e.rs", "pub use super::d::*;"),
        ];
        assert_eq!(findings(&files, &[]), ["2 modules import each other in a circle: b, c::d"]);
    }
}
