//! What arguments and results of the interface's functions are for the check, by their types.

use crate::abi::{AnyObject, AnyTerm, Destructor, MaybeTerm, Message, Object};
use crate::abi::{
    Binary, Function, Identifier, IoVector, MapIterator, Monitor, Out, Piece, ResourceTypeInit, Room, Row, Text, Word,
};
use crate::check::Call;
use crate::check::registry::{self, Thing};
use crate::env::{Env, MessageEnv, OwnEnv};
use crate::queue::Queue;
use crate::resource::ResourceType;
use std::borrow::Cow;
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

/// An argument: what the library hands over, and what it is once that has been checked.
pub(crate) trait Argument: Sized {
    /// What is handed over.
    type Raw: Copy;

    /// What it is.
    ///
    /// # Safety
    /// ABI1, with the check or without.
    unsafe fn of(raw: Self::Raw) -> Self;

    /// Notes an environment, and looks at it.
    fn note(_raw: Self::Raw, _name: &str, _call: &mut Call) {}

    /// Looks at what is no environment.
    fn check(_raw: Self::Raw, _name: &str, _call: &mut Call) {}

    /// The call is over, and has put something there.
    fn settle(_raw: Self::Raw, _call: &Call) {}
}

/// A result.
pub(crate) trait Answer: Sized {
    /// Has the function put results where it was asked to?
    fn has_results(&self) -> bool {
        true
    }

    /// As the library gets it.
    fn given(self, _call: &Call) -> Self {
        self
    }
}

macro_rules! as_they_are {
    ($($type:ty),* $(,)?) => {
        $(impl Argument for $type {
            type Raw = $type;

            unsafe fn of(raw: $type) -> $type {
                raw
            }
        })*
    };
}

as_they_are! {
    c_int, c_uint, c_long, c_ulong, usize, f64, Text, Row<u8>, Row<Word>, Option<Destructor>, Function, *mut c_void,
    *const c_void, *const u8,
}

impl Argument for Room {
    type Raw = *mut u8;

    unsafe fn of(raw: *mut u8) -> Room {
        Room::at(raw)
    }
}

impl Argument for &mut Env {
    type Raw = *mut Env;

    unsafe fn of(raw: *mut Env) -> Self {
        // SAFETY: the caller's promise: an environment that is alive, and this call's alone.
        unsafe { &mut *raw }
    }

    fn note(raw: *mut Env, name: &str, call: &mut Call) {
        call.env(raw.addr(), name, false);
    }
}

impl Argument for Option<&mut Env> {
    type Raw = *mut Env;

    unsafe fn of(raw: *mut Env) -> Self {
        // SAFETY: the caller's promise: as above, or null.
        unsafe { raw.as_mut() }
    }

    fn note(raw: *mut Env, name: &str, call: &mut Call) {
        call.env(raw.addr(), name, true);
    }
}

impl Argument for OwnEnv<'_> {
    type Raw = *mut Env;

    unsafe fn of(raw: *mut Env) -> Self {
        // SAFETY: the caller's promise: as above, or null.
        OwnEnv(unsafe { raw.as_mut() })
    }

    fn note(raw: *mut Env, name: &str, call: &mut Call) {
        call.own_env(raw.addr(), name, true);
    }
}

impl Argument for MessageEnv<'_> {
    type Raw = *mut Env;

    unsafe fn of(raw: *mut Env) -> Self {
        // SAFETY: the caller's promise: as above, or null.
        MessageEnv(unsafe { raw.as_mut() })
    }

    fn note(raw: *mut Env, name: &str, call: &mut Call) {
        call.own_env(raw.addr(), name, false);
        call.message = (!raw.is_null()).then(|| raw.addr());
    }
}

impl Argument for Word {
    type Raw = Word;

    unsafe fn of(raw: Word) -> Word {
        raw
    }

    fn check(raw: Word, name: &str, call: &mut Call) {
        call.term(raw.raw(), name);
    }
}

impl Argument for AnyTerm {
    type Raw = Word;

    unsafe fn of(raw: Word) -> AnyTerm {
        AnyTerm(raw)
    }

    fn check(raw: Word, name: &str, call: &mut Call) {
        call.any_term(raw.raw(), name);
    }
}

impl Argument for Message {
    type Raw = Word;

    unsafe fn of(raw: Word) -> Message {
        Message(raw)
    }

    fn check(raw: Word, name: &str, call: &mut Call) {
        if let (Some(env), Some(own)) = (call.any_term(raw.raw(), name), call.message) {
            call.expect(name, env == own, "a term of another environment than the message's");
        }
    }
}

impl Argument for MaybeTerm {
    type Raw = Word;

    unsafe fn of(raw: Word) -> MaybeTerm {
        MaybeTerm(raw)
    }

    fn check(raw: Word, name: &str, call: &mut Call) {
        if raw != Word::NONE {
            call.term(raw.raw(), name);
        }
    }
}

impl Argument for Out<Word> {
    type Raw = *mut Word;

    unsafe fn of(raw: *mut Word) -> Out<Word> {
        Out::at(raw)
    }

    fn settle(raw: *mut Word, call: &Call) {
        // SAFETY: ABI1: a place that the call has filled.
        unsafe { raw.write(raw.read().given(call)) };
    }
}

impl Argument for Option<&mut Word> {
    type Raw = *mut Word;

    unsafe fn of(raw: *mut Word) -> Self {
        // SAFETY: the caller's promise: a place for a word, or null.
        unsafe { raw.as_mut() }
    }

    fn settle(raw: *mut Word, call: &Call) {
        if !raw.is_null() {
            <Out<Word>>::settle(raw, call);
        }
    }
}

macro_rules! places {
    ($($type:ty),* $(,)?) => {
        $(impl Argument for Out<$type> {
            type Raw = *mut $type;

            unsafe fn of(raw: *mut $type) -> Self {
                Out::at(raw)
            }
        })*
    };
}

places! { c_int, c_uint, c_long, c_ulong, f64, usize, *const Word, *mut c_void, Identifier, Monitor }

impl Argument for Out<Binary> {
    type Raw = *mut Binary;

    unsafe fn of(raw: *mut Binary) -> Self {
        Out::at(raw)
    }

    fn settle(raw: *mut Binary, call: &Call) {
        <&mut Binary>::settle(raw, call);
    }
}

impl Argument for &mut Binary {
    type Raw = *mut Binary;

    unsafe fn of(raw: *mut Binary) -> Self {
        // SAFETY: the caller's promise: a binary that is this call's alone.
        unsafe { &mut *raw }
    }

    fn check(raw: *mut Binary, name: &str, call: &mut Call) {
        call.expect(name, !raw.is_null(), "no binary");
        // SAFETY: ABI1: a library's binary, which the interface has filled in.
        let binary = unsafe { &*raw };
        let is_right = registry::has_bytes(binary.owned, binary.data);
        call.expect(name, is_right, "a binary that has been released, or is of a call or environment that is over");
    }

    fn settle(raw: *mut Binary, call: &Call) {
        // SAFETY: ABI1: a place that the call has filled.
        let binary = unsafe { &*raw };
        if !binary.owned.is_null() {
            registry::own(binary.owned, true);
        } else if let Some(env) = call.own() {
            registry::show(env, binary.data);
        }
    }
}

impl Argument for Out<MapIterator> {
    type Raw = *mut MapIterator;

    unsafe fn of(raw: *mut MapIterator) -> Self {
        Out::at(raw)
    }

    fn settle(raw: *mut MapIterator, _call: &Call) {
        // SAFETY: ABI1: a place that the call has filled.
        registry::comes(Thing::Iterator, unsafe { (*raw).pairs }.addr());
    }
}

impl Argument for &mut MapIterator {
    type Raw = *mut MapIterator;

    unsafe fn of(raw: *mut MapIterator) -> Self {
        // SAFETY: the caller's promise: an iterator that is this call's alone.
        unsafe { &mut *raw }
    }

    fn check(raw: *mut MapIterator, name: &str, call: &mut Call) {
        call.expect(name, !raw.is_null(), "no map iterator");
        // SAFETY: ABI1: a library's iterator, which the interface has filled in.
        let iterator = unsafe { &*raw };
        // Those of empty maps share the address of no pairs.
        let is_there = registry::is_there(Thing::Iterator, iterator.pairs.addr());
        call.expect(name, is_there, "a map iterator that has been destroyed");
        call.term(iterator.map.raw(), "the iterator's map");
    }
}

impl Argument for &Identifier {
    type Raw = *const Identifier;

    unsafe fn of(raw: *const Identifier) -> Self {
        // SAFETY: the caller's promise: an identifier.
        unsafe { &*raw }
    }

    fn check(raw: *const Identifier, name: &str, call: &mut Call) {
        call.expect(name, !raw.is_null(), "no identifier");
        <Option<&Identifier>>::check(raw, name, call);
    }
}

impl Argument for Option<&Identifier> {
    type Raw = *const Identifier;

    unsafe fn of(raw: *const Identifier) -> Self {
        // SAFETY: the caller's promise: an identifier, or null.
        unsafe { raw.as_ref() }
    }

    fn check(raw: *const Identifier, name: &str, call: &mut Call) {
        // SAFETY: ABI1: as above.
        if let Some(identifier) = unsafe { raw.as_ref() } {
            let is_right = registry::env_of(identifier.0.raw()) == Ok(None);
            call.expect(name, is_right, "no identifier that the interface has given");
        }
    }
}

macro_rules! references {
    ($($type:ty),* $(,)?) => {
        $(impl Argument for &$type {
            type Raw = *const $type;

            unsafe fn of(raw: *const $type) -> Self {
                // SAFETY: the caller's promise: one that stays during the call.
                unsafe { &*raw }
            }

            fn check(raw: *const $type, name: &str, call: &mut Call) {
                call.expect(name, !raw.is_null(), "null");
            }
        })*
    };
}

references! { Monitor, ResourceTypeInit }

impl Argument for Object {
    type Raw = *const c_void;

    unsafe fn of(raw: *const c_void) -> Object {
        Object(raw)
    }

    fn check(raw: *const c_void, name: &str, call: &mut Call) {
        call.wrong_if(name, registry::wrong_object(raw.addr(), false).map(Cow::from));
    }
}

impl Argument for AnyObject {
    type Raw = *const c_void;

    unsafe fn of(raw: *const c_void) -> AnyObject {
        AnyObject(raw)
    }

    fn check(raw: *const c_void, name: &str, call: &mut Call) {
        call.wrong_if(name, registry::wrong_object(raw.addr(), true).map(Cow::from));
    }
}

impl Argument for &'static ResourceType {
    type Raw = *const ResourceType;

    unsafe fn of(raw: *const ResourceType) -> Self {
        // SAFETY: the caller's promise: a type, which stays for ever.
        unsafe { &*raw }
    }

    fn check(raw: *const ResourceType, name: &str, call: &mut Call) {
        call.expect(name, registry::is_there(Thing::Type, raw.addr()), "no type of resources");
    }
}

impl Argument for &Queue {
    type Raw = *const Queue;

    unsafe fn of(raw: *const Queue) -> Self {
        // SAFETY: the caller's promise: a queue that stays during the call.
        unsafe { &*raw }
    }

    fn check(raw: *const Queue, name: &str, call: &mut Call) {
        call.expect(name, registry::is_there(Thing::Queue, raw.addr()), "no I/O queue that is alive");
    }
}

impl Argument for &mut Queue {
    type Raw = *mut Queue;

    unsafe fn of(raw: *mut Queue) -> Self {
        // SAFETY: the caller's promise: a queue that is this call's alone.
        unsafe { &mut *raw }
    }

    fn check(raw: *mut Queue, name: &str, call: &mut Call) {
        <&Queue>::check(raw, name, call);
    }
}

impl Argument for &IoVector {
    type Raw = *const IoVector;

    unsafe fn of(raw: *const IoVector) -> Self {
        // SAFETY: the caller's promise: a vector.
        unsafe { &*raw }
    }

    fn check(raw: *const IoVector, name: &str, call: &mut Call) {
        call.expect(name, registry::is_vector(raw.addr()), "no I/O vector, or one whose bytes have gone");
    }
}

impl Argument for Option<&mut IoVector> {
    type Raw = *mut IoVector;

    unsafe fn of(raw: *mut IoVector) -> Self {
        // SAFETY: the caller's promise: a vector, or null.
        unsafe { raw.as_mut() }
    }

    fn check(raw: *mut IoVector, name: &str, call: &mut Call) {
        if !raw.is_null() {
            <&IoVector>::check(raw, name, call);
        }
    }
}

impl Argument for &mut *mut IoVector {
    type Raw = *mut *mut IoVector;

    unsafe fn of(raw: *mut *mut IoVector) -> Self {
        // SAFETY: the caller's promise: a place with a vector's address.
        unsafe { &mut *raw }
    }
}

macro_rules! plain_answers {
    ($($type:ty),* $(,)?) => {
        $(impl Answer for $type {})*
    };
}

plain_answers! {
    (), u64, *const Identifier, *const Piece, *const ResourceType, *mut c_void, *mut Env, *mut Queue,
}

impl Answer for c_int {
    fn has_results(&self) -> bool {
        *self != 0
    }
}

impl Answer for usize {
    fn has_results(&self) -> bool {
        *self != 0
    }
}

impl Answer for *mut u8 {
    fn has_results(&self) -> bool {
        !self.is_null()
    }
}

impl Answer for Word {
    fn given(self, call: &Call) -> Word {
        Word::of_raw(call.give(self.raw(), || self.term()))
    }
}
