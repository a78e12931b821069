//! Text as the operating system has it: the encoding of file names and environment variables, and the environment.
//!
//! The environment is the VM's own copy, taken at start: `os:putenv/2` changes it while other threads read it, which the C
//! library's does not allow. Programs that ports start get it; the C library still sees the one of the start.

use myriad_sync::{GroupRwLock, LazyLock, LockClass, Spread};
use myriad_term::{Build, Term, TermRef};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;

/// How names of files and variables are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// One byte a character.
    Latin1,
    /// UTF-8.
    Utf8,
}

/// A (deep) list of characters, or a binary as it is, as the system's bytes; nothing if it is neither, has a character that the
/// encoding lacks, or a zero byte.
pub fn name_bytes(name: TermRef<'_>, encoding: Encoding, binaries: bool) -> Option<Vec<u8>> {
    if let Some(bytes) = name.as_binary() {
        return (binaries && !bytes.contains(&0)).then(|| bytes.into_owned());
    }
    let (mut bytes, mut left, mut at) = (Vec::new(), Vec::new(), name);
    loop {
        while let Some((head, tail)) = at.as_cons() {
            if head.is_list() {
                left.push(tail);
                at = head;
                continue;
            }
            let c = u32::try_from(head.as_small()?).ok().filter(|c| *c != 0)?;
            match encoding {
                Encoding::Latin1 => bytes.push(u8::try_from(c).ok()?),
                Encoding::Utf8 => bytes.extend(char::from_u32(c)?.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            at = tail;
        }
        if !at.is_nil() {
            return None;
        }
        match left.pop() {
            Some(tail) => at = tail,
            None => return Some(bytes),
        }
    }
}

/// The system's bytes as a list of characters; as Latin-1 if they are no UTF-8.
pub fn name_list<'h, A: Build<'h> + ?Sized>(heap: &mut A, bytes: &[u8], encoding: Encoding) -> TermRef<'h> {
    match std::str::from_utf8(bytes) {
        Ok(text) if encoding == Encoding::Utf8 => heap.string(text),
        _ => heap.byte_list(bytes, Term::NIL),
    }
}

static CLASS: LockClass = LockClass::new("environ", 905);
/// Threads that ask at once and write no common line.
const READERS: usize = 128;
static ENVIRONMENT: LazyLock<GroupRwLock<BTreeMap<Vec<u8>, Vec<u8>>>> = LazyLock::new(|| {
    let variables = std::env::vars_os().map(|(k, v)| (k.into_vec(), v.into_vec())).collect();
    GroupRwLock::new(&CLASS, Spread::AtSecondReader(READERS), variables)
});

/// The value of an environment variable.
pub fn variable(name: &[u8]) -> Option<Vec<u8>> {
    ENVIRONMENT.read().get(name).cloned()
}

/// All environment variables.
pub fn variables() -> Vec<(Vec<u8>, Vec<u8>)> {
    ENVIRONMENT.read().iter().map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Sets a variable, or takes it away.
pub fn set_variable(name: Vec<u8>, value: Option<Vec<u8>>) {
    let mut environment = ENVIRONMENT.write();
    match value {
        Some(value) => environment.insert(name, value),
        None => environment.remove(&name),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Arena;

    #[test]
    fn names_go_both_ways() {
        let mut heap = &Arena::new();
        let name = heap.string("aé→");
        let bytes = name_bytes(name, Encoding::Utf8, false).unwrap();
        assert_eq!(bytes, "aé→".as_bytes());
        assert!(name_bytes(name, Encoding::Latin1, false).is_none());
        let back = name_list(&mut heap, &bytes, Encoding::Utf8);
        assert!(myriad_term::equal::eq_exact(name, back));
        let broken = name_list(&mut heap, b"a\xffb", Encoding::Utf8);
        assert_eq!(broken.list_iter().map(|c| c.small_value()).collect::<Vec<_>>(), [97, 255, 98]);
    }

    #[test]
    fn the_environment_is_a_copy() {
        set_variable(b"MYRIAD_NATIVE_TEST".to_vec(), Some(b"1".to_vec()));
        assert_eq!(variable(b"MYRIAD_NATIVE_TEST"), Some(b"1".to_vec()));
        assert!(std::env::var_os("MYRIAD_NATIVE_TEST").is_none());
        set_variable(b"MYRIAD_NATIVE_TEST".to_vec(), None);
        assert_eq!(variable(b"MYRIAD_NATIVE_TEST"), None);
    }
}
