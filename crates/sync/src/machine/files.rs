//! What the system tells in text files, below a root directory: `/`, or a recorded tree.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// So much of a file is read; what is longer is cut after its last whole line.
const MOST_BYTES: usize = 1 << 20;
/// Most files are shorter: two calls read them, of which the second one finds the end.
const USUAL_BYTES: usize = 4096;
/// Numbers of processors and nodes stay below this, as OTP's do.
pub(super) const MOST_NUMBERS: u32 = 1 << 16;
/// Models run on the same machine each time, of which no file tells.
const NOTHING_TOLD: bool = cfg!(any(loom, miri));

/// The files below a root directory.
#[derive(Clone, Debug)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// Those of the running system.
    pub fn of_the_system() -> Files {
        Files::below(Path::new("/"))
    }

    /// Those below `root`.
    pub fn below(root: &Path) -> Files {
        Files { root: root.to_path_buf() }
    }

    fn place(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file, if there is such a file and it has text.
    pub fn text(&self, path: &Path) -> Option<String> {
        if NOTHING_TOLD {
            return None;
        }
        let place = self.place(path);
        // Opening a pipe would wait for its writer.
        if !fs::metadata(&place).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        File::open(place).ok()?.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() > MOST_BYTES {
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            bytes.truncate(whole);
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The number that is a file's whole text.
    pub(super) fn number<N: std::str::FromStr>(&self, path: &Path) -> Option<N> {
        self.text(path)?.trim().parse().ok()
    }

    /// The processors that a file lists.
    pub(super) fn list(&self, path: &Path) -> Option<Vec<u32>> {
        list(&self.text(path)?)
    }

    /// The numbers of a directory's entries that are called `name` and a number, in rising order.
    pub(super) fn numbered(&self, directory: &Path, name: &str) -> Vec<u32> {
        if NOTHING_TOLD {
            return Vec::new();
        }
        let entries = fs::read_dir(self.place(directory)).into_iter().flatten().flatten();
        let number = |entry: fs::DirEntry| {
            let file = entry.file_name();
            let digits = file.to_str()?.strip_prefix(name)?;
            let plain = digits.bytes().all(|b| b.is_ascii_digit());
            if plain { digits.parse().ok().filter(|n| *n < MOST_NUMBERS) } else { None }
        };
        let mut numbers: Vec<u32> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// The numbers of a list as the kernel writes them, `0-3,8`, in rising order. `None`: it is no such list, or names a number that is too large.
pub(super) fn list(text: &str) -> Option<Vec<u32>> {
    let mut is_in = vec![false; 0];
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST_NUMBERS {
            return None;
        }
        let end = last as usize + 1;
        is_in.resize(is_in.len().max(end), false);
        is_in[first as usize..end].fill(true);
    }
    Some((0..).zip(is_in).filter(|(_, is_in)| *is_in).map(|(number, _)| number).collect())
}

#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::{Files, MOST_BYTES, list};
    use crate::machine::trees::Tree;
    use std::path::Path;

    #[test]
    fn lists() {
        assert_eq!(list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(list("8,0-1,1"), Some(vec![0, 1, 8]));
        assert_eq!(list("\n"), Some(vec![]));
        for wrong in ["x", "3-1", "0-", "-1", "0-4294967295", "65536", "99999999999999999999", "0 1"] {
            assert_eq!(list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_read_is_bounded() {
        let line = "0123456789\n";
        let tree = Tree::new(&[("/long", &line.repeat(MOST_BYTES / 8)), ("/one_line", &"x".repeat(MOST_BYTES + 1))]);
        let text = tree.files().text(Path::new("/long")).unwrap();
        assert!(text.len() <= MOST_BYTES && text.len() > MOST_BYTES - 2 * line.len());
        assert!(text.ends_with("0123456789"));
        assert_eq!(tree.files().text(Path::new("/one_line")).as_deref(), Some(""));
        assert_eq!(tree.files().text(Path::new("/")), None);
        assert_eq!(Files::below(Path::new("/nowhere/at/all")).text(Path::new("/x")), None);
    }

    #[test]
    fn entries_by_number() {
        let files = [
            ("/cpu/cpu10/x", ""),
            ("/cpu/cpu2/x", ""),
            ("/cpu/cpufreq/x", ""),
            ("/cpu/cpu99999/x", ""),
            ("/cpu/cpu/x", ""),
        ];
        assert_eq!(Tree::new(&files).files().numbered(Path::new("/cpu"), "cpu"), [2, 10]);
    }
}
