//! The repository as the checks see it: the names of its files, and the texts of those that are read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::{fs, io};

/// Folders of no interest: what is built, and what git keeps.
const LEFT_OUT: [&str; 3] = ["target", ".git", "corpus"];

/// What is read; of other files only the name counts.
const READ: [&str; 4] = [".rs", ".toml", ".md", "Makefile"];

/// Texts by path, relative to the top and with `/`.
pub struct Tree {
    files: BTreeMap<String, String>,
}

/// Something that a check objects to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, as in [`Tree`].
    pub path: String,
    /// Counted from one.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl Finding {
    /// A finding in a file.
    pub fn new(path: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, what: what.into() }
    }
}

impl Tree {
    /// The tree below a folder of the disk.
    pub fn read(top: &Path) -> io::Result<Tree> {
        let mut tree = Tree { files: BTreeMap::new() };
        tree.enter(top, "")?;
        Ok(tree)
    }

    /// A tree of texts in memory.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        Tree { files: files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect() }
    }

    fn enter(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{prefix}{name}");
            if !entry.file_type()?.is_dir() {
                let read = READ.iter().any(|end| name.ends_with(end));
                self.files.insert(path, if read { fs::read_to_string(entry.path())? } else { String::new() });
            } else if !LEFT_OUT.contains(&name.as_str()) {
                self.enter(&entry.path(), &format!("{path}/"))?;
            }
        }
        Ok(())
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// All files with a name that ends so, in order.
    pub fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(end))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Is there a file or a folder of this path?
    pub fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(p, _)| p.starts_with(&folder))
    }

    /// Is there a file whose path ends in these whole names?
    pub fn has_tail(&self, tail: &str) -> bool {
        let tail = format!("/{tail}");
        self.files.keys().any(|path| path.ends_with(&tail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_exist() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/bc.rs", "")]);
        for path in ["a", "a/b", "a/b/", "a/b/c.rs"] {
            assert!(tree.exists(path), "{path}");
        }
        assert!(!tree.exists("a/c.rs") && !tree.exists("b"));
        assert!(tree.has_tail("b/c.rs") && tree.has_tail("c.rs") && !tree.has_tail(".rs"));
    }

    #[test]
    fn this_repository_can_be_read() {
        let tree = Tree::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))).unwrap();
        assert!(tree.text("crates/xtask/src/tidy/tree.rs").unwrap().contains("this_repository_can_be_read"));
        assert!(!tree.exists("target"));
    }
}
