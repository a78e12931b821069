//! Files and folders, with errors that name the path.

use crate::program;
use crate::stop::Stop;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The root of the repository.
pub fn top() -> PathBuf {
    // What cargo says when it starts this program comes first: a build directory may have been copied from another checkout.
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let top = Path::new(&crate_dir).join("../..");
    top.canonicalize().unwrap_or(top)
}

fn named<T>(path: &Path, result: io::Result<T>) -> Result<T, Stop> {
    result.map_err(|error| Stop::Failed(format!("{}: {error}", path.display())))
}

/// The text of a file; bytes that are not UTF-8 become U+FFFD.
pub fn read(path: &Path) -> Result<String, Stop> {
    named(path, fs::read(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a file, empty if it is not there.
pub fn read_if_there(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Writes a file anew.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), Stop> {
    named(path, fs::write(path, text))
}

/// An empty file to write to.
pub fn create(path: &Path) -> Result<fs::File, Stop> {
    named(path, fs::File::create(path))
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<(), Stop> {
    named(path, fs::create_dir_all(path))
}

/// Removes a folder with all that is in it, though what ran there may have taken the permission to write away.
pub fn remove_folder(path: &Path) {
    if path.exists() && fs::remove_dir_all(path).is_err() {
        let _ = program::quiet(program::command("chmod").args(["-R", "u+rwx"]).arg(path));
        let _ = fs::remove_dir_all(path);
    }
}

/// Has the file anything in it?
pub fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.len() > 0)
}

/// Was the first file written after the second? One that is not there was not.
pub fn is_newer(path: &Path, than: &Path) -> bool {
    let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    written(path) > written(than)
}

/// What is in a folder and has a name that ends so, by name.
pub fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| name(path).ends_with(end)).collect();
    paths.sort();
    paths
}

/// The last part of a path.
pub fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The last part of a path, without what follows its last dot.
pub fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

/// Bytes with each occurrence of some replaced by others.
pub fn replaced(text: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(&first) = rest.first() {
        if !old.is_empty() && rest.starts_with(old) {
            result.extend(new);
            rest = &rest[old.len()..];
        } else {
            result.push(first);
            rest = &rest[1..];
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_files_and_missing_ones() {
        let folder = std::env::temp_dir().join(format!("xtask-files-{}", std::process::id()));
        make_folder(&folder).unwrap();
        let (old, new) = (folder.join("old.a"), folder.join("new.a"));
        write(&old, "").unwrap();
        fs::File::options().write(true).open(&old).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        write(&new, "x").unwrap();
        assert!(is_newer(&new, &old) && !is_newer(&old, &new) && !is_newer(&folder.join("none"), &old));
        assert!(has_content(&new) && !has_content(&old) && !has_content(&folder.join("none")));
        assert_eq!(ending(&folder, ".a"), [new.clone(), old]);
        assert_eq!((name(&new), stem(&new)), ("new.a", "new"));
        remove_folder(&folder);
        assert!(!folder.exists());
    }

    #[test]
    fn paths_become_words() {
        assert_eq!(replaced(b"a/x\xffb a/x a/", b"a/x", b"TMP"), b"TMP\xffb TMP a/");
        assert_eq!(replaced(b"", b"a", b"b"), b"");
    }
}
