//! What decides the code of a module besides the module: the build of the VM, the processor, the release, flags.

use super::What;
use super::format::Identity;
use md5::{Digest, Md5};
use myriad_vm::Vm;
use myriad_vm::code::Module;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

/// What is the same for all modules of this run.
pub(super) struct Key(Vec<u8>);

impl Key {
    /// That of this program; `None`: nothing tells it from other builds.
    pub(super) fn of_program() -> Option<Key> {
        let program = File::open("/proc/self/exe").ok()?;
        let mut key = build_id(&program).or_else(|| time_of(&program))?;
        key.extend_from_slice(&myriad_native::features().to_le_bytes());
        Some(Key(key))
    }

    /// What the code of a module depends on, hashed.
    pub(super) fn identity(&self, vm: &Vm, module: &Module) -> Identity {
        let mut hash = Md5::new();
        hash.update((self.0.len() as u64).to_le_bytes());
        hash.update(&self.0);
        hash.update(vm.release.otp.to_le_bytes());
        hash.update([vm.config.intrinsics, vm.config.native_visits].map(u8::from));
        hash.update(module.beam.fingerprint());
        hash.finalize().into()
    }
}

/// The name of a module's file, of which the beginning is for people.
pub(super) fn file_name(module: &str, identity: &Identity, what: What) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let readable: String = module.chars().filter(is_plain).take(40).collect();
    let hash: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{readable}-{hash}{}", suffix(what))
}

fn suffix(what: What) -> &'static str {
    match what {
        What::Hot => ".hot",
        What::All => ".all",
    }
}

/// Is this such a name?
pub(super) fn is_file_name(name: &str) -> bool {
    let stem = [What::Hot, What::All].into_iter().find_map(|what| name.strip_suffix(suffix(what)));
    let hash = stem.and_then(|stem| stem.rsplit_once('-')).map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Where ELF's tables say what a linker has noted (System V ABI, chapter 5; notes: `elf(5)`).
const PROGRAM_HEADERS: usize = 32;
const HEADER_SIZE: usize = 54;
const HEADERS: usize = 56;
const NOTES: u32 = 4;
const BUILD_ID: u32 = 3;
/// More than any program has.
const MOST_NOTES: usize = 4096;

/// The hash of the program that its linker has left in it.
fn build_id(program: &File) -> Option<Vec<u8>> {
    let read = |offset: u64, bytes: usize| {
        let mut read = vec![0; bytes];
        program.read_exact_at(&mut read, offset).ok().map(|()| read)
    };
    let header = read(0, 64).filter(|header| header.starts_with(b"\x7fELF\x02\x01"))?;
    let (size, count) = (half(&header, HEADER_SIZE)?, half(&header, HEADERS)?);
    let table = read(long(&header, PROGRAM_HEADERS)?, usize::from(size) * usize::from(count))?;
    let segments = table.chunks_exact(usize::from(size).max(56));
    let notes = segments.filter(|segment| word(segment, 0) == Some(NOTES));
    notes
        .filter_map(|segment| {
            let bytes = usize::try_from(long(segment, 32)?).ok().filter(|bytes| *bytes <= MOST_NOTES)?;
            find_note(&read(long(segment, 8)?, bytes)?)
        })
        .next()
}

fn find_note(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let (name, bytes) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let content = 12 + name.next_multiple_of(4);
        if word(notes, 8)? == BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return notes.get(content..content.checked_add(bytes)?).map(<[u8]>::to_vec);
        }
        notes = notes.get(content.checked_add(bytes.next_multiple_of(4))?..)?;
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_le_bytes(*half))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|long| u64::from_le_bytes(*long))
}

/// When and where a program without such a hash was written.
fn time_of(program: &File) -> Option<Vec<u8>> {
    let found = program.metadata().ok()?;
    let numbers = [found.len(), found.ino(), found.mtime() as u64, found.mtime_nsec() as u64];
    Some(numbers.into_iter().flat_map(u64::to_le_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_found_behind_others_and_nowhere_else() {
        let note = |name: &[u8], kind: u32, content: &[u8]| {
            let mut note = Vec::new();
            [name.len() as u32, content.len() as u32, kind].iter().for_each(|n| note.extend(n.to_le_bytes()));
            note.extend(name);
            note.resize(note.len().next_multiple_of(4), 0);
            note.extend(content);
            note.resize(note.len().next_multiple_of(4), 0);
            note
        };
        let notes = [note(b"GNU\0", 1, &[9; 16]), note(b"Other\0", 3, &[8; 5]), note(b"GNU\0", 3, &[7; 20])].concat();
        assert_eq!(find_note(&notes), Some(vec![7; 20]));
        for length in 0..notes.len() {
            assert_eq!(find_note(&notes[..length]), None, "{length}");
        }
        assert_eq!(find_note(&[0xff; 64]), None);
    }

    #[test]
    fn names_of_files_are_plain_and_known_again() {
        assert_eq!(file_name("../a b", &[0xab; 16], What::All), format!("ab-{}.all", "ab".repeat(16)));
        for what in [What::Hot, What::All] {
            assert!(is_file_name(&file_name("lists", &[7; 16], what)));
        }
        for other in ["", "thesis.all", "a-b.hot", &format!("a-{}", "a".repeat(32)), &format!("{}.hot", "a".repeat(32))]
        {
            assert!(!is_file_name(other), "{other}");
        }
    }
}
