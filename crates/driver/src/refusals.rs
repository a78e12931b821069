//! Why drivers were refused, as `erl_ddll` tells it.

use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Build, Term, TermRef, am};

static CLASS: LockClass = LockClass::new("driver_refusals", 730);
/// The words of the system's linker, each text once: `{open_error, N}` names the one at `FIRST_TEXT - N`.
static TEXTS: Mutex<Vec<Vec<u8>>> = Mutex::new(&CLASS, Vec::new());

/// Why a library is not loaded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// By the system's linker, in its words.
    Open(Vec<u8>),
    /// By its word in `erl_ddll`.
    Known(&'static str),
}

/// The number of the first text.
const FIRST_TEXT: i64 = -10;

/// What `{open_error, -N}` of smaller numbers means, from 0 on, with the word that is used instead of the number.
const KNOWN: [(&str, &str); 9] = [
    ("no_error", "No error"),
    ("no_driver_init", "No driver init in dynamic library"),
    ("driver_init_failed", "Driver init failed"),
    ("bad_driver_name", "Bad driver name"),
    ("driver_name_to_long", "Driver name to long"),
    ("driver_incorrect_version", "Driver compiled with incorrect version of erl_driver.h"),
    ("no_ddll_available", "DDLL functionality not available on this platform"),
    ("unspecified_error", "Unspecified dynamic library error"),
    ("symbol_not_found", "Symbol not found in dynamic library"),
];

/// What the other errors of `try_load/3` and `try_unload/2` mean.
const ERRORS: [(&str, &str); 9] = [
    ("inconsistent", "Driver name and/or driver options are inconsistent with currently loaded driver"),
    ("linked_in_driver", "Driver is statically linked and cannot be loaded/unloaded"),
    ("permanent", "DDLL driver is permanent an cannot be unloaded/loaded"),
    ("not_loaded", "DDLL driver is not loaded"),
    ("not_loaded_by_this_process", "DDLL driver was not loaded by this process"),
    ("not_pending", "DDLL load not pending for this driver name"),
    ("already_loaded", "DDLL driver is already loaded successfully"),
    ("pending_reload", "Driver reloading is already pending"),
    ("pending_process", "Driver is loaded by others when attempting option {reload, pending_driver}"),
];

/// The number of a text.
pub(crate) fn number(text: Vec<u8>) -> i64 {
    let mut texts = TEXTS.lock();
    let place = texts.iter().position(|known| *known == text).unwrap_or(texts.len());
    if place == texts.len() {
        texts.push(text);
    }
    FIRST_TEXT - place as i64
}

/// The term that tells why a library was refused.
pub(crate) fn term<'h, B: Build<'h>>(memory: &mut B, refusal: &Refusal) -> TermRef<'h> {
    match refusal {
        Refusal::Known(name) => Atom::new(name).map_or(Term::NIL, Term::atom),
        Refusal::Open(text) => memory.tuple(&[am::open_error.term(), Term::small(number(text.clone()))]),
    }
}

/// What a term tells, in words; nothing if it is none of these.
pub(crate) fn text(error: TermRef<'_>) -> Option<Vec<u8>> {
    if let Some(error) = error.as_atom() {
        let (_, text) = KNOWN.iter().chain(&ERRORS).find(|(name, _)| *name == error.text())?;
        return Some(text.as_bytes().to_vec());
    }
    let [key, code] = error.as_tuple_of::<2>()?;
    let code = code.as_small().filter(|_| key.is_am(am::open_error))?;
    if code > FIRST_TEXT {
        let known = usize::try_from(-code).ok().and_then(|number| KNOWN.get(number));
        return Some(known.map_or("Unspecified error", |(_, text)| text).as_bytes().to_vec());
    }
    let place = usize::try_from(FIRST_TEXT.saturating_sub(code)).unwrap_or(usize::MAX);
    let text = TEXTS.lock().get(place).cloned();
    Some(text.unwrap_or_else(|| b"Unknown dlload error".to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::Arena;

    #[test]
    fn a_text_has_one_number() {
        let mut arena = &Arena::new();
        let refusals = [b"one".to_vec(), b"two".to_vec(), b"one".to_vec()].map(Refusal::Open);
        let [first, second, again] = refusals.each_ref().map(|refusal| term(&mut arena, refusal));
        assert_eq!((text(first).as_deref(), text(second).as_deref()), (Some(&b"one"[..]), Some(&b"two"[..])));
        assert_eq!(
            first.as_tuple_of::<2>().map(|[_, n]| n.as_small()),
            again.as_tuple_of::<2>().map(|[_, n]| n.as_small())
        );
        assert_eq!(text(Term::OK), None);
    }
}
