//! Binaries, and the external term format.

use crate::abi::{Binary, Out, Row, Word};
use crate::check::{self, registry};
use crate::define::checked_exports;
use crate::env::{Env, Held};
use myriad_term::binary::{HEAP_BINARY_LIMIT, SharedBinary};
use myriad_term::etf::{DecodeOptions, EncodeOptions, decode, encode};
use myriad_term::{Build, Term};
use std::ffi::c_int;

/// Fresh bytes that a library may write; `None`: there are not so many.
fn fresh(size: usize) -> Option<Binary> {
    if size > isize::MAX as usize / 2 {
        return None;
    }
    let shared = SharedBinary::with_capacity(size, size, |_| {});
    let data = shared.data();
    Some(Binary::new(size, data, shared.into_raw()))
}

/// What a binary owns, which it does no more.
pub(super) fn disown(binary: &mut Binary) -> Option<SharedBinary> {
    let owned = std::mem::replace(&mut binary.owned, std::ptr::null());
    if check::is_on() && !owned.is_null() {
        registry::own(owned, false);
    }
    // SAFETY: what `fresh` put there, and nobody has taken since.
    (!owned.is_null()).then(|| unsafe { SharedBinary::from_raw(owned) })
}

/// A binary's bytes are not to be looked at any more.
pub(super) fn release(binary: &mut Binary) {
    let owned = disown(binary);
    if check::is_on() {
        binary.data = std::ptr::null_mut();
        if let Some(owned) = owned {
            let size = owned.len();
            registry::keep(Box::new(owned), size, None);
        }
    }
}

/// No new atoms (`ErlNifBinaryToTerm`).
const SAFE: u32 = 0x2000_0000;

fn inspect(env: &mut Env, term: Term, to: Out<Binary>) -> c_int {
    let Some(bits) = term.as_bits().filter(|bits| bits.is_binary()) else { return 0 };
    let size = bits.len() / 8;
    let data = match bits.as_bytes() {
        Some(bytes) => bytes.as_ptr().cast_mut(),
        None => env.hold_bytes(bits.to_bytes().into_owned()),
    };
    to.set(Binary::new(size, data, std::ptr::null()))
}

/// The bytes of an iolist; `None` if it is none.
fn flatten(term: Term) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = vec![term];
    while let Some(term) = rest.pop() {
        if let Some((head, tail)) = term.as_cons() {
            rest.push(tail);
            match head.as_small() {
                Some(byte) => bytes.push(u8::try_from(byte).ok()?),
                None => rest.push(head),
            }
        } else if let Some(binary) = term.as_binary() {
            bytes.extend_from_slice(&binary);
        } else if !term.is_nil() {
            return None;
        }
    }
    Some(bytes)
}

checked_exports! {
    /// Bytes of its own, which `enif_make_binary` or `enif_release_binary` takes.
    fn enif_alloc_binary(size: usize, to: Out<Binary>) -> c_int { to.set_if(fresh(size)) }

    /// More or fewer of them; of a binary that is only looked at, a copy.
    fn enif_realloc_binary(binary: &mut Binary, size: usize) -> c_int {
        let Some(new) = fresh(size) else { return 0 };
        let kept = size.min(binary.size);
        if kept > 0 {
            // SAFETY: both have so many bytes, and the new ones are nobody else's.
            unsafe { new.data.copy_from_nonoverlapping(binary.data, kept) };
        }
        drop(disown(binary));
        *binary = new;
        1
    }

    /// Gives back the bytes that it owns.
    fn enif_release_binary(binary: &mut Binary) { release(binary); }

    /// The term of a binary, a copy on the heap if it is small. What it owned is the term's; the bytes may be looked at until the environment goes.
    fn enif_make_binary(env: &mut Env, binary: &mut Binary) -> Word {
        match disown(binary) {
            Some(shared) if binary.size <= HEAP_BINARY_LIMIT => {
                env.hold(Held::Shared(shared));
                env.binary(Row::of_data(binary.data).slice(binary.size)).into()
            }
            Some(shared) => {
                env.hold(Held::Shared(shared.clone()));
                env.shared_binary(shared).into()
            }
            None => env.binary(Row::of_data(binary.data).slice(binary.size)).into(),
        }
    }

    /// A binary of so many bytes, on the heap if it is small, to be written before anything else is made of it.
    fn enif_make_new_binary(env: &mut Env, size: usize, to: Out<Word>) -> *mut u8 {
        if size <= HEAP_BINARY_LIMIT {
            let (term, data) = env.blank_binary(size);
            to.set(term.into());
            return data;
        }
        let Some(mut binary) = fresh(size) else {
            to.set(env.badarg());
            return std::ptr::null_mut();
        };
        let data = binary.data;
        if let Some(shared) = disown(&mut binary) {
            to.set(env.shared_binary(shared).into());
        }
        data
    }

    /// The bytes of a binary.
    fn enif_inspect_binary(env: &mut Env, term: Word, to: Out<Binary>) -> c_int { inspect(env, term.term(), to) }

    /// The bytes of an iolist, in a row.
    fn enif_inspect_iolist_as_binary(env: &mut Env, term: Word, to: Out<Binary>) -> c_int {
        let term = term.term();
        if !term.is_list() {
            return inspect(env, term, to);
        }
        let Some(bytes) = flatten(term) else { return 0 };
        let size = bytes.len();
        let data = env.hold_bytes(bytes);
        to.set(Binary::new(size, data, std::ptr::null()))
    }

    /// A part of a binary, which shares its bytes.
    fn enif_make_sub_binary(env: &mut Env, term: Word, start: usize, size: usize) -> Word {
        let Some((whole, offset, bits)) = term.term().binary_parts() else { return env.badarg() };
        if start.checked_add(size).is_none_or(|end| end > bits / 8) {
            return env.badarg();
        }
        env.sub_binary(whole, offset + 8 * start, 8 * size).into()
    }

    /// A term in the external format.
    fn enif_term_to_binary(_env: Option<&mut Env>, term: Word, to: Out<Binary>) -> c_int {
        let bytes = encode(term.term(), EncodeOptions::default());
        let size = bytes.len();
        let shared = bytes.into_shared();
        let data = shared.data();
        to.set(Binary::new(size, data, shared.into_raw()))
    }

    /// The term of these bytes; how many were read, or 0. There is no option but `SAFE`.
    fn enif_binary_to_term(env: &mut Env, data: Row<u8>, size: usize, to: Out<Word>, options: u32) -> usize {
        let input = data.slice(size);
        if options & !SAFE != 0 {
            return 0;
        }
        let options = DecodeOptions { safe: options & SAFE != 0, ..DecodeOptions::default() };
        match decode(env, input, options) {
            Ok(decoded) => {
                to.set(decoded.term.into());
                decoded.used
            }
            Err(_) => 0,
        }
    }
}
