//! Machine code that outlives the VM: in a file for each version of a module, what has been compiled of it.
//!
//! C1. What is run has been read into memory of this program and checked there. Nothing of a file is believed for that it is there:
//!     `directory` says who may have written it, `format` that it is what was written, and for what.
//! C2. A file is missing, damaged or for something else: then there is none, and the next one that is written takes its place.
//! C3. No scheduler writes. One reads a file when the first function of its module is decoded, once in the program's life.
//!
//! Functions are compiled one by one, and written some time after, all of a module in one new file, with those that the file has. Of two
//! VMs that write the same one, the last has the word; what the other has added comes again when that is missed.

mod directory;
mod format;
mod key;

use crate::outline::Made;
use directory::Directory;
use format::{File, Identity, MOST_BYTES};
use key::Key;
use myriad_sync::{Arc, Condvar, LockClass, Mutex, OnceLock, thread};
use myriad_vm::Vm;
use myriad_vm::code::Module;
use myriad_vm::config::NativeCache;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of all files of a directory, more or less.
const MOST_ALL_BYTES: u64 = 256 << 20;
/// Bytes that wait to be written, at most.
const MOST_PENDING: usize = 64 << 20;
/// How long nothing may have been compiled before what has been is written...
const QUIET: Duration = Duration::from_millis(200);
/// ...and after how long it is written anyway.
const LATEST: Duration = Duration::from_secs(5);
/// Files after which the directory's size is looked at again.
const LOOKS_EACH: u32 = 100;
/// Of how many programs that write at their end one looks at the directory's size.
const LAST_LOOKS_EACH: u32 = 16;

/// Of which functions of a module a file has the code, and so when they are linked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum What {
    /// Of those that ran often in earlier runs: when they are first called.
    Hot,
    /// Of all, as `myriad compile` makes it: when they are first met by a sample. Linking takes as long as some calls, and most functions are
    /// called less often.
    All,
}

/// What is known of a file.
type Known = Option<Arc<File>>;

/// What waits to be written of a module.
#[derive(Default)]
struct Unwritten {
    name: String,
    records: BTreeMap<u32, Vec<u8>>,
}

#[derive(Default)]
struct Pending {
    modules: HashMap<Identity, Unwritten>,
    bytes: usize,
    /// When the first of them came, and the last.
    since: Option<(Instant, Instant)>,
    /// Has the thread been started?
    is_served: bool,
    /// A file could not be written: there will be no others.
    has_failed: bool,
}

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Files.
    pub files: u32,
    /// Bytes of these.
    pub bytes: u64,
}

/// The files of a program.
pub struct Cache {
    key: Key,
    /// Where files are written and read.
    own: Option<Directory>,
    /// Where they are read, besides.
    image: Option<Directory>,
    known: Mutex<HashMap<(Identity, What), [Known; 2]>>,
    pending: Mutex<Pending>,
    there_is_more: Condvar,
}

static KNOWN: LockClass = LockClass::new("code_cache", 736);
static PENDING: LockClass = LockClass::new("code_cache_pending", 737);
static CACHE: OnceLock<Option<Cache>> = OnceLock::new();

impl Cache {
    /// That of the program, once it has one.
    pub fn of_program() -> Option<&'static Cache> {
        CACHE.get().and_then(Option::as_ref)
    }

    /// Opens it; the first choice counts.
    pub fn open(choice: &NativeCache) {
        CACHE.get_or_init(|| Cache::new(choice));
    }

    fn new(choice: &NativeCache) -> Option<Cache> {
        // A program with rights that its user has not takes nothing from files that the environment names.
        // SAFETY: it reads a word that the system has given the program.
        let is_raised = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
        if *choice == NativeCache::None || is_raised {
            return None;
        }
        let own = match choice {
            NativeCache::At(path) => Directory::own(path, false),
            _ => usual_place(|name| env::var_os(name)).and_then(|path| Directory::own(&path, true)),
        };
        let image = env::var_os("MYRIAD_CODE_CACHE").and_then(|path| Directory::of_image(path.as_ref()));
        (own.is_some() || image.is_some()).then_some(())?;
        Some(Cache::of_directories(Key::of_program()?, own, image))
    }

    fn of_directories(key: Key, own: Option<Directory>, image: Option<Directory>) -> Cache {
        let known = Mutex::new(&KNOWN, HashMap::new());
        let pending = Mutex::new(&PENDING, Pending::default());
        Cache { key, own, image, known, pending, there_is_more: Condvar::new() }
    }

    /// Code of a function in such a file.
    pub(crate) fn find(&self, vm: &Vm, module: &Module, index: u32, what: What) -> Option<Made> {
        let identity = self.key.identity(vm, module);
        let files = self.files(&identity, module.beam.name(), what);
        files.iter().flatten().find_map(|file| file.function(index))
    }

    /// The files of a module, of which there may be one in each directory.
    fn files(&self, identity: &Identity, module: &str, what: What) -> [Known; 2] {
        let key = (*identity, what);
        let known = self.known.lock().get(&key).cloned();
        known.unwrap_or_else(|| {
            let name = key::file_name(module, identity, what);
            let read = |directory: &Option<Directory>| {
                directory.as_ref()?.read(&name).and_then(|bytes| File::of(bytes, identity)).map(Arc::new)
            };
            // C2. The bytes stay in memory as they were checked (C1).
            let files = [read(&self.own), read(&self.image)];
            self.known.lock().entry(key).or_insert(files).clone()
        })
    }

    /// Keeps the code of a function for later runs: it is written some time after.
    pub(crate) fn keep(&'static self, vm: &Vm, module: &Module, index: u32, made: &Made) {
        let identity = self.key.identity(vm, module);
        let starts = self.add(identity, module.beam.name(), index, format::record(made));
        // C3. What no thread writes is written at the end.
        if starts {
            let _ = thread::spawn("code_cache", || self.serve());
        }
    }

    /// Writes functions of a module, of which nobody knows whether they will run.
    pub(crate) fn write_module(&self, vm: &Vm, module: &Module, functions: &[(u32, Made)]) -> std::io::Result<u64> {
        let identity = self.key.identity(vm, module);
        let records = functions.iter().map(|(index, made)| (*index, format::record(made)));
        let name = key::file_name(module.beam.name(), &identity, What::All);
        self.write(&identity, Unwritten { name, records: records.collect() })
    }

    /// Adds a record to those that wait; is there to be a thread that writes them?
    fn add(&self, identity: Identity, name: &str, index: u32, record: Vec<u8>) -> bool {
        let mut pending = self.pending.lock();
        if self.own.is_none() || pending.has_failed || pending.bytes + record.len() > MOST_PENDING {
            return false;
        }
        pending.bytes += record.len();
        let now = Instant::now();
        pending.since = Some((pending.since.map_or(now, |(first, _)| first), now));
        let module = match pending.modules.entry(identity) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                entry.insert(Unwritten { name: key::file_name(name, &identity, What::Hot), ..Default::default() })
            }
        };
        module.records.insert(index, record);
        self.there_is_more.notify_one();
        !std::mem::replace(&mut pending.is_served, true)
    }

    /// Writes what waits, whenever there is something and it is quiet.
    fn serve(&self) {
        myriad_sched::give_way();
        let mut files = 0;
        loop {
            let mut pending = self.pending.lock();
            loop {
                pending = match pending.since {
                    None => self.there_is_more.wait(pending),
                    Some((first, last)) if last.elapsed() >= QUIET || first.elapsed() >= LATEST => break,
                    Some(_) => self.there_is_more.wait_timeout(pending, QUIET).0,
                };
            }
            drop(pending);
            while self.write_next().is_some() {
                if files % LOOKS_EACH == 0 {
                    self.evict();
                }
                files += 1;
            }
        }
    }

    fn evict(&self) {
        if let Some(own) = &self.own {
            own.evict(MOST_ALL_BYTES, key::is_file_name);
        }
    }

    /// Writes the file of one module that waits: its bytes; `None`: none does.
    fn write_next(&self) -> Option<u64> {
        let (identity, module) = {
            let mut pending = self.pending.lock();
            let identity = pending.modules.keys().next().copied();
            let module = identity.and_then(|identity| Some((identity, pending.modules.remove(&identity)?)));
            if pending.modules.is_empty() {
                pending.since = None;
            }
            let (identity, module) = module?;
            pending.bytes -= module.records.values().map(Vec::len).sum::<usize>().min(pending.bytes);
            (identity, module)
        };
        let written = self.write(&identity, module);
        if written.is_err() {
            let mut pending = self.pending.lock();
            *pending = Pending { has_failed: true, is_served: pending.is_served, ..Default::default() };
        }
        written.ok()
    }

    fn write(&self, identity: &Identity, Unwritten { name, mut records }: Unwritten) -> std::io::Result<u64> {
        let Some(own) = &self.own else { return Ok(0) };
        let there = own.read(&name).and_then(|bytes| File::of(bytes, identity));
        let takes = |record: &[u8]| record.len() + 8;
        let used: usize = records.values().map(|record| takes(record)).sum();
        let mut room = (MOST_BYTES as usize).saturating_sub(used + 64);
        for (index, record) in there.iter().flat_map(File::records) {
            if takes(record) <= room && !records.contains_key(&index) {
                room -= takes(record);
                records.insert(index, record.to_vec());
            }
        }
        let bytes = format::file(identity, &records);
        own.write(&name, &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The program ends: what waits is written, as far as that takes no longer than this.
    pub fn finish(&self, most: Duration) -> Written {
        let (begin, mut written) = (Instant::now(), Written::default());
        while begin.elapsed() < most
            && let Some(bytes) = self.write_next()
        {
            written.files += 1;
            written.bytes += bytes;
        }
        // Now and then: a look at all files takes longer than writing some.
        if written.files > 0 && std::process::id().is_multiple_of(LAST_LOOKS_EACH) {
            self.evict();
        }
        written
    }
}

/// The user's directory for caches (XDG Base Directory Specification): a relative path does not count.
fn usual_place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("myriad"))
}

#[cfg(test)]
mod tests {
    use super::directory::tests::Scratch;
    use super::format::tests::example;
    use super::*;
    use std::fs;

    const ONE: Identity = [1; 16];

    fn cache(own: Option<&Scratch>, image: Option<&Scratch>) -> Cache {
        let own = own.map(|scratch| Directory::own(&scratch.0, true).expect("a directory"));
        let image = image.map(|scratch| Directory::of_image(&scratch.0).expect("a directory"));
        Cache::of_directories(Key::of_program().expect("a build"), own, image)
    }

    /// Adds a function, and writes what waits.
    fn write(cache: &Cache, index: u32) -> Written {
        cache.add(ONE, "m", index, format::record(&example()));
        cache.finish(Duration::from_secs(60))
    }

    /// Which of the first functions a new program finds.
    fn found(own: Option<&Scratch>, image: Option<&Scratch>) -> Vec<u32> {
        let files = cache(own, image).files(&ONE, "m", What::Hot);
        (0..8).filter(|index| files.iter().flatten().any(|file| file.function(*index).is_some())).collect()
    }

    fn only_file(scratch: &Scratch) -> PathBuf {
        let files: Vec<PathBuf> =
            fs::read_dir(&scratch.0).expect("listed").map(|entry| entry.expect("one").path()).collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        file.clone()
    }

    #[test]
    fn what_one_program_writes_others_find_and_add_to() {
        let scratch = Scratch::new("add");
        assert_eq!(found(Some(&scratch), None), []);
        assert_eq!(write(&cache(Some(&scratch), None), 3).files, 1);
        assert_eq!(found(Some(&scratch), None), [3]);
        write(&cache(Some(&scratch), None), 5);
        assert_eq!(found(Some(&scratch), None), [3, 5]);
        assert_eq!(cache(Some(&scratch), None).finish(Duration::from_secs(60)), Written::default());
    }

    #[test]
    fn what_is_compiled_ahead_has_a_file_of_its_own() {
        let scratch = Scratch::new("ahead");
        write(&cache(Some(&scratch), None), 3);
        let ahead = cache(Some(&scratch), None);
        let records = BTreeMap::from([(6, format::record(&example()))]);
        ahead.write(&ONE, Unwritten { name: key::file_name("m", &ONE, What::All), records }).expect("written");
        let [all, _] = ahead.files(&ONE, "m", What::All);
        let all = all.expect("a file");
        assert!(all.function(6).is_some() && all.function(3).is_none());
        assert_eq!(found(Some(&scratch), None), [3]);
    }

    #[test]
    fn a_damaged_file_is_ignored_and_replaced() {
        let scratch = Scratch::new("damage");
        write(&cache(Some(&scratch), None), 3);
        let file = only_file(&scratch);
        let whole = fs::read(&file).expect("read");
        let mut altered = whole.clone();
        altered[whole.len() / 2] ^= 4;
        for damaged in [&whole[..whole.len() - 1], &altered, &[]] {
            fs::write(&file, damaged).expect("damaged");
            assert_eq!(found(Some(&scratch), None), []);
            write(&cache(Some(&scratch), None), 4);
            assert_eq!(found(Some(&scratch), None), [4]);
        }
    }

    #[test]
    fn an_image_is_read_and_not_written() {
        let (own, image) = (Scratch::new("own"), Scratch::new("image"));
        write(&cache(Some(&image), None), 1);
        assert_eq!(found(None, Some(&image)), [1]);
        assert_eq!(write(&cache(None, Some(&image)), 2), Written::default());
        write(&cache(Some(&own), Some(&image)), 3);
        assert_eq!(found(None, Some(&image)), [1]);
        assert_eq!(found(Some(&own), Some(&image)), [1, 3]);
    }

    #[test]
    fn nothing_is_written_after_a_failure_or_beyond_the_time() {
        let scratch = Scratch::new("failure");
        let first = cache(Some(&scratch), None);
        first.add(ONE, "m", 1, vec![0; 10]);
        assert_eq!(first.finish(Duration::ZERO), Written::default());
        fs::remove_dir(&scratch.0).expect("removed");
        assert_eq!(write(&first, 2), Written::default());
        fs::create_dir(&scratch.0).expect("made");
        assert_eq!(write(&first, 2), Written::default());
        assert_eq!(found(Some(&scratch), None), []);
    }

    #[test]
    fn the_usual_place_needs_an_absolute_path() {
        let of = |caches: &str, home: &str| {
            let value = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
            usual_place(|name| value(if name == "HOME" { home } else { caches }))
        };
        assert_eq!(of("/c", "/h"), Some("/c/myriad".into()));
        assert_eq!(of("", "/h"), Some("/h/.cache/myriad".into()));
        assert_eq!(of("c", "/h"), Some("/h/.cache/myriad".into()));
        assert_eq!(of("", ""), None);
        assert_eq!(of("", "h"), None);
    }
}
