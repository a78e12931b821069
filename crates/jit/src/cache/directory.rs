//! A directory of files that are read, checked and run: so only what its owner alone can have written counts.
//!
//! Files are written beside their place and renamed, so that who opens one has a whole one, before or after. The times of changing say
//! when a file was last used: a reader renews one that is old.

use super::format::MOST_BYTES;
use myriad_native::memory::largest_file;
use myriad_sync::atomic::{AtomicU32, Ordering};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How the names of unfinished files begin.
const UNFINISHED: &str = ".myriad-new-";
/// How old a file that nobody finishes is.
const ABANDONED: Duration = Duration::from_secs(3600);
/// How old the time of the last use gets before it is renewed.
const STALE: Duration = Duration::from_secs(3600);

/// Who may have written what is read, besides the user as whom this program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trust {
    /// Nobody.
    User,
    /// The system's administrator, who has made the image.
    Root,
}

/// A directory that was checked.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    trust: Trust,
    /// Rights of new files.
    mode: u32,
}

/// The user whose rights this program has.
fn user() -> u32 {
    // SAFETY: it has no conditions.
    unsafe { libc::geteuid() }
}

/// Can nobody else have written this?
fn is_trusted(it: &Metadata, trust: Trust) -> bool {
    let owner_is_known = it.uid() == user() || (trust == Trust::Root && it.uid() == 0);
    owner_is_known && it.mode() & 0o022 == 0
}

impl Directory {
    /// The user's own, which is made if it is absent; what is in it others may read or not. `None`: it is someone else's, or there can be none.
    pub(super) fn own(path: &Path, is_private: bool) -> Option<Directory> {
        let (mode, directory_mode) = if is_private { (0o600, 0o700) } else { (0o644, 0o755) };
        if path.is_relative() {
            return None;
        }
        DirBuilder::new().recursive(true).mode(directory_mode).create(path).ok()?;
        Self::checked(path, Trust::User, mode)
    }

    /// One that an image has, and that is not written.
    pub(super) fn of_image(path: &Path) -> Option<Directory> {
        Self::checked(path, Trust::Root, 0)
    }

    fn checked(path: &Path, trust: Trust, mode: u32) -> Option<Directory> {
        let found = fs::symlink_metadata(path).ok()?;
        let counts = path.is_absolute() && found.is_dir() && is_trusted(&found, trust);
        counts.then(|| Directory { path: path.to_owned(), trust, mode })
    }

    /// A file, read whole into memory of this program; `None`: there is none that counts.
    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        // Of what is no file, opening must not wait either.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path.join(name)).ok()?;
        let found = file.metadata().ok()?;
        if !found.is_file() || !is_trusted(&found, self.trust) || found.len() > MOST_BYTES {
            return None;
        }
        if self.mode != 0 && found.modified().is_ok_and(is_older_than(STALE)) {
            // What cannot be renewed goes earlier.
            let _ = file.set_modified(SystemTime::now());
        }
        let mut bytes = Vec::with_capacity(found.len() as usize);
        // It may have grown meanwhile.
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Writes a file whole, in place of the one that is there.
    ///
    /// # Errors
    /// The system's; then all is as before.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() as u64 > largest_file() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Relaxed: it only has to differ.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.path.join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let flags = libc::O_NOFOLLOW;
        let open =
            OpenOptions::new().write(true).create_new(true).mode(self.mode).custom_flags(flags).open(&unfinished);
        let write =
            open.and_then(|file| fill(file, bytes)).and_then(|()| fs::rename(&unfinished, self.path.join(name)));
        write.inspect_err(|_| {
            let _ = fs::remove_file(&unfinished);
        })
    }

    /// Removes what nobody finishes and, if all files of the cache together take more than `most` bytes, those that have not been used for longest, down
    /// to three quarters of that. What else is in the directory is not looked at.
    pub(super) fn evict(&self, most: u64, is_ours: fn(&str) -> bool) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            let Ok(used) = found.modified() else { continue };
            if !found.is_file() {
                continue;
            }
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            if is_ours(name) {
                files.push((used, found.len(), entry.path()));
            } else if name.starts_with(UNFINISHED) && is_older_than(ABANDONED)(used) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let mut all: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if all <= most {
            return;
        }
        files.sort();
        for (_, bytes, path) in files {
            if all <= most / 4 * 3 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                all -= bytes;
            }
        }
    }
}

fn fill(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

fn is_older_than(age: Duration) -> impl Fn(SystemTime) -> bool {
    let now = SystemTime::now();
    move |time| now.duration_since(time).is_ok_and(|passed| passed > age)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use myriad_sync::thread;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    /// A directory of a test, which goes with it.
    pub(in super::super) struct Scratch(pub(in super::super) PathBuf);

    impl Scratch {
        pub(in super::super) fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("myriad-cache-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            DirBuilder::new().mode(0o700).create(&path).expect("a directory");
            Scratch(path)
        }

        fn directory(&self) -> Directory {
            Directory::own(&self.0, true).expect("a directory")
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("listed");
            let mut names: Vec<String> =
                entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn a_file_that_others_may_write_is_not_read() {
        let scratch = Scratch::new("mode");
        let directory = scratch.directory();
        directory.write("a", b"code").expect("written");
        assert_eq!(directory.read("a").as_deref(), Some(&b"code"[..]));
        for mode in [0o620, 0o602, 0o666] {
            set_mode(&scratch.0.join("a"), mode);
            assert_eq!(directory.read("a"), None, "{mode:o}");
        }
        set_mode(&scratch.0.join("a"), 0o644);
        assert!(directory.read("a").is_some());
    }

    #[test]
    fn a_file_of_another_owner_is_not_read() {
        let scratch = Scratch::new("owner");
        let (directory, path) = (scratch.directory(), scratch.0.join("a"));
        directory.write("a", b"code").expect("written");
        let found = if user() == 0 {
            chown(&path, Some(1), None).expect("given away");
            assert_eq!(directory.read("a"), None);
            assert!(!is_trusted(&fs::metadata(&path).expect("there"), Trust::Root));
            fs::metadata(&path)
        } else {
            let roots = fs::metadata("/etc/passwd").expect("there");
            assert_eq!((roots.uid(), is_trusted(&roots, Trust::Root)), (0, true));
            Ok(roots)
        };
        assert!(!is_trusted(&found.expect("there"), Trust::User));
    }

    #[test]
    fn what_is_no_file_of_a_size_is_not_read() {
        let scratch = Scratch::new("kind");
        let (directory, at) = (scratch.directory(), |name: &str| scratch.0.join(name));
        directory.write("a", b"code").expect("written");
        symlink(at("a"), at("link")).expect("linked");
        assert_eq!(directory.read("link"), None);
        fs::create_dir(at("directory")).expect("made");
        assert_eq!(directory.read("directory"), None);
        let path = std::ffi::CString::new(at("pipe").into_os_string().into_encoded_bytes()).expect("a path");
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        assert_eq!(directory.read("pipe"), None);
        let large = File::create(at("large")).expect("made");
        set_mode(&at("large"), 0o600);
        large.set_len(MOST_BYTES + 1).expect("of no blocks");
        assert_eq!(directory.read("large"), None);
    }

    #[test]
    fn a_directory_that_others_may_write_is_none() {
        let scratch = Scratch::new("directory");
        for mode in [0o720, 0o777] {
            set_mode(&scratch.0, mode);
            assert!(Directory::own(&scratch.0, true).is_none());
            assert!(Directory::of_image(&scratch.0).is_none());
        }
        set_mode(&scratch.0, 0o755);
        assert!(Directory::of_image(&scratch.0).is_some());
        let link = scratch.0.join("link");
        symlink(&scratch.0, &link).expect("linked");
        assert!(Directory::own(&link, true).is_none());
        assert!(Directory::own(Path::new("relative"), true).is_none());
        assert!(!Path::new("relative").exists());
    }

    #[test]
    fn what_cannot_be_written_leaves_all_as_it_was() {
        let scratch = Scratch::new("full");
        let full = OpenOptions::new().write(true).open("/dev/full").expect("the full device");
        assert_eq!(fill(full, b"code").map_err(|error| error.kind()), Err(io::ErrorKind::StorageFull));
        fs::create_dir(scratch.0.join("taken")).expect("made");
        assert!(scratch.directory().write("taken", b"code").is_err());
        assert_eq!(scratch.names(), ["taken"]);
    }

    #[test]
    fn of_several_writers_each_reader_sees_one() {
        let scratch = Scratch::new("writers");
        let directory = scratch.directory();
        directory.write("a", &[0; 5000]).expect("written");
        thread::scope(|scope| {
            for byte in 1..=3 {
                let directory = &directory;
                scope.spawn(move || (0..100).for_each(|_| directory.write("a", &[byte; 5000]).expect("written")));
            }
            for _ in 0..300 {
                let read = directory.read("a").expect("there is always one");
                assert_eq!(read, vec![read[0]; 5000]);
            }
        });
        assert_eq!(scratch.names(), ["a"]);
    }

    #[test]
    fn what_was_used_last_stays_and_what_is_abandoned_goes() {
        let scratch = Scratch::new("evict");
        let directory = scratch.directory();
        let ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
        let (abandoned, young) = (".myriad-new-1-1", ".myriad-new-1-2");
        for (name, age) in
            [("a", 9000), ("b", 8000), ("c", 7000), ("d", 20), (abandoned, 9000), (young, 20), ("other", 9999)]
        {
            directory.write(name, &[0; 100]).expect("written");
            let file = File::options().write(true).open(scratch.0.join(name)).expect("opened");
            file.set_modified(ago(age)).expect("a time");
        }
        // A use makes it the newest.
        assert!(directory.read("a").is_some());
        let is_ours = |name: &str| name.len() == 1;
        directory.evict(400, is_ours);
        assert_eq!(scratch.names(), [young, "a", "b", "c", "d", "other"]);
        directory.evict(399, is_ours);
        assert_eq!(scratch.names(), [young, "a", "d", "other"]);
    }
}
