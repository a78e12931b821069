//! Terms: what they are, what is in them, and making them.

use crate::abi::{AnyTerm, LATIN1, MaybeTerm, Out, Room, Row, Text, Word};
use crate::check;
use crate::define::checked_exports;
use crate::env::Env;
use myriad_term::compare::compare;
use myriad_term::equal::eq_exact;
use myriad_term::{Atom, Build, Term, TermRef, hash, phash};
use std::cmp::Ordering;
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong};

/// An integer of 64 bits with a sign.
fn signed(term: Term) -> Option<i64> {
    term.as_small().or_else(|| {
        let (negative, limbs) = term.as_big()?;
        let [limb] = *myriad_term::big::normal(limbs) else { return None };
        let value = if negative { -i128::from(limb) } else { i128::from(limb) };
        i64::try_from(value).ok()
    })
}

/// An integer of 64 bits without a sign.
fn unsigned(term: Term) -> Option<u64> {
    match term.as_small() {
        Some(value) => u64::try_from(value).ok(),
        None => match term.as_big()? {
            (false, limbs) => {
                let [limb] = *myriad_term::big::normal(limbs) else { return None };
                Some(limb)
            }
            _ => None,
        },
    }
}

/// Text in one of the two encodings.
pub(super) fn decode(bytes: &[u8], encoding: c_uint) -> Option<String> {
    if encoding == LATIN1 {
        return Some(bytes.iter().map(|byte| char::from(*byte)).collect());
    }
    String::from_utf8(bytes.to_vec()).ok()
}

/// The characters of a text in Latin-1, if they are all there.
fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

fn atom_text(term: Term, encoding: c_uint) -> Option<Vec<u8>> {
    let text = term.as_atom()?.text();
    if encoding == LATIN1 { latin1(text) } else { Some(text.as_bytes().to_vec()) }
}

fn make_atom(env: &mut Env, name: &[u8], encoding: c_uint) -> Word {
    match decode(name, encoding).and_then(|name| Atom::new(&name).ok()) {
        Some(atom) => Term::atom(atom).into(),
        None => env.badarg(),
    }
}

fn existing_atom(name: &[u8], encoding: c_uint) -> Option<Word> {
    decode(name, encoding).and_then(|name| Atom::existing(&name)).map(|atom| Term::atom(atom).into())
}

/// The kinds of `ErlNifTermType`.
fn kind(term: Term) -> c_int {
    match () {
        () if term.is_atom() => 1,
        () if term.is_bitstring() => 2,
        () if term.is_float() => 3,
        () if term.is_fun() => 4,
        () if term.is_integer() => 5,
        () if term.is_list() => 6,
        () if term.is_map() => 7,
        () if term.is_pid() => 8,
        () if term.is_port() => 9,
        () if term.is_reference() => 10,
        () if term.as_tuple().is_some() => 11,
        () => -1,
    }
}

fn is(truth: bool) -> c_int {
    c_int::from(truth)
}

checked_exports! {
    /// Is it an atom?
    fn enif_is_atom(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_atom()) }

    /// Is it a binary?
    fn enif_is_binary(_env: Option<&mut Env>, term: Word) -> c_int {
        is(term.term().as_bits().is_some_and(|bits| bits.is_binary()))
    }

    /// Is it a list?
    fn enif_is_list(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_list()) }

    /// Is it the empty list?
    fn enif_is_empty_list(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_nil()) }

    /// Is it a tuple?
    fn enif_is_tuple(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().as_tuple().is_some()) }

    /// Is it a number?
    fn enif_is_number(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_number()) }

    /// Is it a fun?
    fn enif_is_fun(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_fun()) }

    /// Is it a pid?
    fn enif_is_pid(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_pid()) }

    /// Is it a port?
    fn enif_is_port(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_port()) }

    /// Is it a reference?
    fn enif_is_ref(_env: Option<&mut Env>, term: Word) -> c_int { is(term.term().is_reference()) }

    /// Is it what a function has returned that raised an exception?
    fn enif_is_exception(env: &mut Env, term: MaybeTerm) -> c_int { is(term.0 == Word::NONE && env.raised().is_some()) }

    /// Which kind of term is it?
    fn enif_term_type(_env: Option<&mut Env>, term: Word) -> c_int { kind(term.term()) }

    /// `=:=`
    fn enif_is_identical(a: AnyTerm, b: AnyTerm) -> c_int { is(eq_exact(a.0.term(), b.0.term())) }

    /// Erlang's order: less than 0, 0 or more.
    fn enif_compare(a: AnyTerm, b: AnyTerm) -> c_int {
        match compare(a.0.term(), b.0.term()) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    /// A hash value: of kind 2 that of `erlang:phash2/1`, else one that is this VM's.
    fn enif_hash(kind: c_int, term: AnyTerm, salt: c_ulong) -> u64 {
        if kind == 2 { u64::from(phash::phash2(term.0.term())) } else { u64::from(hash::internal_hash(term.0.term(), salt as u32)) }
    }

    /// An integer of 32 bits.
    fn enif_get_int(_env: Option<&mut Env>, term: Word, to: Out<c_int>) -> c_int {
        to.set_if(signed(term.term()).and_then(|value| c_int::try_from(value).ok()))
    }

    /// An integer of 32 bits without a sign.
    fn enif_get_uint(_env: Option<&mut Env>, term: Word, to: Out<c_uint>) -> c_int {
        to.set_if(unsigned(term.term()).and_then(|value| c_uint::try_from(value).ok()))
    }

    /// An integer of 64 bits.
    fn enif_get_long(_env: Option<&mut Env>, term: Word, to: Out<c_long>) -> c_int { to.set_if(signed(term.term())) }

    /// An integer of 64 bits without a sign.
    fn enif_get_ulong(_env: Option<&mut Env>, term: Word, to: Out<c_ulong>) -> c_int { to.set_if(unsigned(term.term())) }

    /// A float.
    fn enif_get_double(_env: Option<&mut Env>, term: Word, to: Out<f64>) -> c_int { to.set_if(term.term().as_float()) }

    /// An integer.
    fn enif_make_int(env: &mut Env, value: c_int) -> Word { env.int(i64::from(value)).into() }

    /// An integer.
    fn enif_make_uint(env: &mut Env, value: c_uint) -> Word { env.int(i64::from(value)).into() }

    /// An integer.
    fn enif_make_long(env: &mut Env, value: c_long) -> Word { env.int(value).into() }

    /// An integer.
    fn enif_make_ulong(env: &mut Env, value: c_ulong) -> Word { env.uint(value).into() }

    /// A float; `badarg` if it is none in Erlang.
    fn enif_make_double(env: &mut Env, value: f64) -> Word {
        if value.is_finite() { env.float(value).into() } else { env.badarg() }
    }

    /// The atom of a name in Latin-1; `badarg` if it is too long.
    fn enif_make_atom(env: &mut Env, name: Text) -> Word { make_atom(env, name.bytes(), LATIN1) }

    /// The same, of a name of this length.
    fn enif_make_atom_len(env: &mut Env, name: Row<u8>, length: usize) -> Word { make_atom(env, name.slice(length), LATIN1) }

    /// The atom of a name, if there is one.
    fn enif_make_existing_atom(_env: &mut Env, name: Text, to: Out<Word>, encoding: c_uint) -> c_int {
        to.set_if(existing_atom(name.bytes(), encoding))
    }

    /// The same, of a name of this length.
    fn enif_make_existing_atom_len(_env: &mut Env, name: Row<u8>, length: usize, to: Out<Word>, encoding: c_uint) -> c_int {
        to.set_if(existing_atom(name.slice(length), encoding))
    }

    /// The bytes of an atom's name.
    fn enif_get_atom_length(_env: Option<&mut Env>, term: Word, to: Out<c_uint>, encoding: c_uint) -> c_int {
        to.set_if(atom_text(term.term(), encoding).map(|text| text.len() as c_uint))
    }

    /// An atom's name and a zero byte, if there is room; how many bytes these are.
    fn enif_get_atom(_env: Option<&mut Env>, term: Word, to: Room, size: c_uint, encoding: c_uint) -> c_int {
        match atom_text(term.term(), encoding) {
            Some(text) if text.len() < size as usize => {
                to.slice(text.len() + 1)[..text.len()].copy_from_slice(&text);
                text.len() as c_int + 1
            }
            _ => 0,
        }
    }

    /// A list of characters as bytes and a zero byte: how many these are; less than 0 if there is no room for all, 0 if it is something else.
    fn enif_get_string(_env: Option<&mut Env>, list: Word, to: Room, size: c_uint, encoding: c_uint) -> c_int {
        let size = size as usize;
        if size == 0 {
            return 0;
        }
        let to = to.slice(size);
        let mut used = 0;
        let mut items = list.term().list_iter();
        for item in items.by_ref() {
            let Some(c) = item.as_small().and_then(|c| u32::try_from(c).ok()).and_then(char::from_u32) else {
                to[0] = 0;
                return 0;
            };
            let mut bytes = [0; 4];
            let bytes = match u8::try_from(u32::from(c)) {
                Ok(byte) if encoding == LATIN1 => { bytes[0] = byte; &bytes[..1] }
                _ if encoding == LATIN1 => { to[0] = 0; return 0; }
                _ => c.encode_utf8(&mut bytes).as_bytes(),
            };
            if used + bytes.len() >= size {
                to[used] = 0;
                return -(size as c_int);
            }
            to[used..used + bytes.len()].copy_from_slice(bytes);
            used += bytes.len();
        }
        to[used] = 0;
        if items.tail().is_nil() { used as c_int + 1 } else { 0 }
    }

    /// A list of characters.
    fn enif_make_string(env: &mut Env, text: Text, encoding: c_uint) -> Word {
        let text = text.bytes();
        enif_make_string_len(env, Row::of_data(text.as_ptr()), text.len(), encoding)
    }

    /// The same, of a text of this length.
    fn enif_make_string_len(env: &mut Env, text: Row<u8>, length: usize, encoding: c_uint) -> Word {
        match decode(text.slice(length), encoding) {
            Some(text) => env.string(&text).into(),
            None => env.badarg(),
        }
    }

    /// The elements of a tuple, and how many there are.
    fn enif_get_tuple(_env: Option<&mut Env>, term: Word, arity: Out<c_int>, to: Out<*const Word>) -> c_int {
        let term = term.term();
        let Some(tuple) = term.as_tuple() else { return 0 };
        arity.set(tuple.len() as c_int);
        let elements = tuple.elements();
        to.set(if check::is_on() { check::row(elements).cast() } else { elements.as_ptr().cast() })
    }

    /// A tuple.
    fn enif_make_tuple_from_array(env: &mut Env, elements: Row<Word>, count: c_uint) -> Word {
        let elements = elements.terms(count as usize);
        env.tuple_of(elements.len(), elements.iter().map(|word| word.term()), Term::NIL).into()
    }

    /// Head and tail.
    fn enif_get_list_cell(_env: Option<&mut Env>, list: Word, head: Out<Word>, tail: Out<Word>) -> c_int {
        let Some((first, rest)) = list.term().as_cons() else { return 0 };
        head.set(first.into());
        tail.set(rest.into())
    }

    /// The length of a proper list.
    fn enif_get_list_length(_env: Option<&mut Env>, list: Word, to: Out<c_uint>) -> c_int {
        let list = list.term();
        if !list.is_list() {
            return 0;
        }
        to.set_if(list.list_length().and_then(|length| c_uint::try_from(length).ok()))
    }

    /// A cell.
    fn enif_make_list_cell(env: &mut Env, head: Word, tail: Word) -> Word { env.cons(head.term(), tail.term()).into() }

    /// A list.
    fn enif_make_list_from_array(env: &mut Env, items: Row<Word>, count: c_uint) -> Word {
        let items = items.terms(count as usize);
        myriad_term::alloc::cells(env, items.len(), Term::NIL, |i| items[i].term()).into()
    }

    /// A list from its end to its beginning.
    fn enif_make_reverse_list(env: &mut Env, list: Word, to: Out<Word>) -> c_int {
        let list = list.term();
        if !list.is_list() {
            return 0;
        }
        let mut items = list.list_iter();
        let mut reversed: TermRef<'static> = Term::NIL;
        for item in items.by_ref() {
            reversed = env.cons(item, reversed);
        }
        to.set_if(items.tail().is_nil().then(|| reversed.into()))
    }

    /// A term of another environment.
    fn enif_make_copy(env: &mut Env, term: AnyTerm) -> Word { env.copy(term.0.term()).into() }

    /// Raises `error:badarg`.
    fn enif_make_badarg(env: &mut Env) -> Word { env.badarg() }

    /// Raises `error:Reason`.
    fn enif_raise_exception(env: &mut Env, reason: Word) -> Word { env.raise(reason.term()) }

    /// Has an exception been raised, and which?
    fn enif_has_pending_exception(env: &mut Env, reason: Option<&mut Word>) -> c_int {
        let Some(raised) = env.raised() else { return 0 };
        if let Some(reason) = reason {
            *reason = raised.into();
        }
        1
    }

    /// A term as text, for `%T`: as `snprintf` writes and counts.
    fn myriad_nif_print(to: Room, room: usize, term: AnyTerm) -> c_int {
        let text = myriad_term::print::display(term.0.term());
        let fits = text.len().min(room.saturating_sub(1));
        let to = to.slice(room.min(text.len() + 1));
        to[..fits].copy_from_slice(&text[..fits]);
        text.len() as c_int
    }
}

const _: () = assert!(size_of::<c_char>() == 1 && size_of::<c_long>() == 8);
