//! As much of `Cargo.toml` as the checks need: sections and the keys in them, one a line.

use super::tree::Tree;

/// A key of a manifest.
pub struct Entry<'t> {
    /// The section's name, without brackets.
    pub section: &'t str,
    /// The key up to its first dot: `libc` of `libc.workspace = true`.
    pub key: &'t str,
    /// Counted from one.
    pub line: usize,
}

/// All keys of a manifest.
pub fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut section = "";
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim_matches(['[', ']']);
        } else if let Some((key, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let key = key.trim();
            let key = key.split_once('.').map_or(key, |(name, _)| name);
            entries.push(Entry { section, key, line: index + 1 });
        }
    }
    entries
}

impl Entry<'_> {
    /// Is it a dependency of the built crate?
    pub fn is_dependency(&self) -> bool {
        self.section == "dependencies" || self.section.ends_with(".dependencies") && !self.is_shared()
    }

    /// Is it a dependency of the crate's tests alone?
    pub fn is_for_tests(&self) -> bool {
        self.section.ends_with("dev-dependencies")
    }

    /// Is it one of the dependencies that the workspace offers its crates?
    pub fn is_shared(&self) -> bool {
        self.section == "workspace.dependencies"
    }
}

/// A crate of the workspace.
pub struct Package<'t> {
    /// The folder's name in `crates/`: `vm` of `myriad-vm`.
    pub name: &'t str,
    /// The path of its manifest.
    pub manifest: &'t str,
    /// The keys of its manifest.
    pub entries: Vec<Entry<'t>>,
}

/// The crates of the workspace.
pub fn packages(tree: &Tree) -> Vec<Package<'_>> {
    let packages = tree.ending("/Cargo.toml").filter_map(|(manifest, text)| {
        let name = manifest.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        Some(Package { name, manifest, entries: entries(text) })
    });
    packages.collect()
}

/// The dependencies that the workspace offers, with the line of each.
pub fn shared(tree: &Tree) -> Vec<Entry<'_>> {
    let entries = entries(tree.text("Cargo.toml").unwrap_or_default());
    entries.into_iter().filter(Entry::is_shared).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_told_apart() {
        let text: &'static str = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\n# c = 1\n[target.'cfg(x)'.dependencies]\nd = \"1\"\n\
                    [dev-dependencies]\ne = \"1\"\n[workspace.dependencies]\nf = \"1\"\n";
        let of = |wanted: fn(&Entry<'static>) -> bool| -> Vec<(&str, usize)> {
            entries(text).iter().filter(|entry| wanted(entry)).map(|entry| (entry.key, entry.line)).collect()
        };
        assert_eq!(of(Entry::is_dependency), [("b", 4), ("d", 7)]);
        assert_eq!(of(Entry::is_for_tests), [("e", 9)]);
        assert_eq!(of(Entry::is_shared), [("f", 11)]);
    }
}
