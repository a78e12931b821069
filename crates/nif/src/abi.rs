//! What libraries and the VM have in common: the layouts of `erl_nif.h`, API 2.16, and the types that stand at the boundary.
//!
//! ABI1. What comes from a library is as the interface asks for: pointers lead to what they say, terms are those that the interface
//!       gave to the environment in use, and no more of a function's results is used than its documentation allows. A library that breaks
//!       this breaks the VM, as it does OTP's.

use crate::check::{self, registry};
use crate::env::Env;
use myriad_term::{RefNumbers, Term};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The version of the interface.
pub const VERSION: (c_int, c_int) = (2, 16);

/// A term in a library's hands (`ERL_NIF_TERM`).
///
/// ABI2. No term that the interface gives one by one is the word 0, which on OTP is none: libraries take 0 for "no term". The integer 0,
///       whose word that is here, has another of its own there. Both are understood: rows of terms (arguments, the elements of a tuple) are
///       the VM's own.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(u64);

impl Word {
    /// What functions return that have raised an exception: no term. The exception itself is the environment's.
    pub const NONE: Word = Word(Term::NONE.raw());
    /// The integer 0 (ABI2): a word whose tag no term has.
    const ZERO: Word = Word(0b111);

    /// The term.
    #[inline]
    pub fn term(self) -> Term {
        if self.0 & 0b111 == 0b111 {
            return self.unusual();
        }
        // SAFETY: ABI1: a term that the interface gave, whose environment is alive.
        unsafe { Term::from_raw(self.0) }
    }

    /// The term of a word whose tag no term has: the integer 0 (ABI2), or while libraries are checked, what a handle stands for (nif.check/NC1).
    #[cold]
    fn unusual(self) -> Term {
        if self == Word::ZERO {
            return Term::small(0);
        }
        registry::term_of(self.0).unwrap_or_else(|| check::wrong("a term", "no term that the interface has given"))
    }

    /// The word itself.
    pub(crate) fn raw(self) -> u64 {
        self.0
    }

    /// A word that is a term of the interface.
    pub(crate) fn of_raw(word: u64) -> Word {
        Word(word)
    }
}

impl From<Term> for Word {
    #[inline]
    fn from(term: Term) -> Word {
        match term.raw() {
            0 => Word::ZERO,
            word => Word(word),
        }
    }
}

/// A term of any environment.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AnyTerm(pub(crate) Word);

/// A message: a term of the environment that is sent with it, or if there is none, of any.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Message(pub(crate) Word);

/// A term, or no term, which a function has returned that has raised an exception.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct MaybeTerm(pub(crate) Word);

/// An object of a library that is alive.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Object(pub(crate) *const c_void);

/// One that is alive, or whose destructor runs.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct AnyObject(pub(crate) *const c_void);

/// Where a function puts a result.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// There.
    pub(crate) fn at(place: *mut T) -> Out<T> {
        Out(place)
    }

    /// Where that is.
    pub(crate) fn place(&self) -> *mut T {
        self.0
    }

    /// Puts it there; the function's answer is that it has one.
    #[inline]
    pub fn set(self, value: T) -> c_int {
        // SAFETY: ABI1: room for a `T`.
        unsafe { self.0.write(value) };
        1
    }

    /// Puts it there, if there is any.
    #[inline]
    pub fn set_if(self, value: Option<T>) -> c_int {
        value.map_or(0, |value| self.set(value))
    }

    /// As `set`, where the caller need not want it.
    pub fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            self.set(value);
        }
    }
}

/// A text that ends with a zero byte.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Default for Text {
    fn default() -> Text {
        Text(c"".as_ptr())
    }
}

impl Text {
    /// Its bytes.
    pub fn bytes<'a>(self) -> &'a [u8] {
        if self.0.is_null() {
            return &[];
        }
        // SAFETY: ABI1: it ends with a zero byte, and stays during the call.
        unsafe { CStr::from_ptr(self.0) }.to_bytes()
    }
}

/// Bytes or terms in a row, with their number beside.
#[repr(transparent)]
pub struct Row<T>(*const T);

impl<T> Clone for Row<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Row<T> {}

impl<T> Row<T> {
    /// Those that begin there.
    pub(crate) fn of_data(data: *const T) -> Row<T> {
        Row(data)
    }

    /// So many of them.
    pub fn slice<'a>(self, count: usize) -> &'a [T] {
        if count == 0 {
            return &[];
        }
        // SAFETY: ABI1: so many are there, and stay during the call.
        unsafe { std::slice::from_raw_parts(self.0, count) }
    }
}

impl Row<Word> {
    /// So many terms of the environment of the call.
    pub(crate) fn terms<'a>(self, count: usize) -> &'a [Word] {
        let words = self.slice(count);
        if check::is_on() {
            check::each(words.iter().map(|word| word.raw()));
        }
        words
    }
}

/// Room for bytes, with its size beside.
#[repr(transparent)]
pub struct Room(*mut u8);

impl Room {
    /// That which begins there.
    pub(crate) fn at(begin: *mut u8) -> Room {
        Room(begin)
    }

    /// All of it.
    pub fn slice<'a>(self, size: usize) -> &'a mut [u8] {
        if size == 0 {
            return &mut [];
        }
        // SAFETY: ABI1: so many bytes, the function's alone during the call. They are zeroed, and so initialised.
        unsafe {
            self.0.write_bytes(0, size);
            std::slice::from_raw_parts_mut(self.0, size)
        }
    }
}

/// A NIF.
pub type Function = unsafe extern "C" fn(&mut Env, c_int, *const Word) -> Word;

/// `ErlNifFunc`
#[repr(C)]
pub struct FunctionEntry {
    pub(crate) name: Text,
    pub(crate) arity: c_uint,
    pub(crate) function: Function,
    /// 0, or the kind of dirty scheduler that it runs on: 1 for processors, 2 for input and output.
    pub(crate) flags: c_uint,
}

/// `ErlNifEntry`
#[repr(C)]
pub struct LibraryEntry {
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) module: Text,
    pub(crate) count: c_int,
    functions: *const u8,
    pub(crate) load: Option<unsafe extern "C" fn(&mut Env, *mut *mut c_void, Word) -> c_int>,
    reload: *const c_void,
    pub(crate) upgrade: Option<unsafe extern "C" fn(&mut Env, *mut *mut c_void, *mut *mut c_void, Word) -> c_int>,
    pub(crate) unload: Option<unsafe extern "C" fn(&mut Env, *mut c_void)>,
    /// From 2.1 on, as what follows from later versions on.
    variant: Text,
    options: c_uint,
    size_of_resource_type: usize,
    min_erts: Text,
}

impl LibraryEntry {
    /// For which kind of VM it was compiled.
    pub(crate) fn variant(&self) -> &[u8] {
        if self.minor >= 1 { self.variant.bytes() } else { b"beam.vanilla" }
    }

    /// Its functions. Before version 2.7 entries have no flags.
    pub(crate) fn functions(&self) -> Vec<FunctionEntry> {
        let has_flags = self.minor >= 7;
        let size = size_of::<FunctionEntry>() - if has_flags { 0 } else { 8 };
        let entry = |number| {
            // SAFETY: ABI1: so many entries are there, each of this size.
            unsafe {
                let at = self.functions.add(number * size).cast::<FunctionEntry>();
                FunctionEntry {
                    name: (*at).name,
                    arity: (*at).arity,
                    function: (*at).function,
                    flags: if has_flags { (*at).flags } else { 0 },
                }
            }
        };
        (0..usize::try_from(self.count).unwrap_or(0)).map(entry).collect()
    }
}

// SAFETY: a library's static data, which nobody changes.
unsafe impl Sync for LibraryEntry {}

/// `ErlNifBinary`, but for what libraries of early versions have no room for: nothing of that is used.
#[repr(C)]
pub struct Binary {
    pub(crate) size: usize,
    pub(crate) data: *mut u8,
    /// The counted bytes that it owns, if any.
    pub(crate) owned: *const (),
}

impl Binary {
    pub(crate) fn new(size: usize, data: *mut u8, owned: *const ()) -> Binary {
        Binary { size, data, owned }
    }
}

/// `ErlNifPid`, `ErlNifPort`
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Identifier(pub(crate) Word);

/// `ErlNifMapIterator`
#[repr(C)]
pub struct MapIterator {
    pub(crate) map: Word,
    pub(crate) size: usize,
    /// The number of the pair, from 1; 0 before the first.
    pub(crate) index: usize,
    /// The pairs, `size` of them.
    pub(crate) pairs: *mut [Word; 2],
    spare: [*const c_void; 3],
}

impl MapIterator {
    pub(crate) fn new(map: Word, size: usize, index: usize, pairs: *mut [Word; 2]) -> MapIterator {
        MapIterator { map, size, index, pairs, spare: [std::ptr::null(); 3] }
    }
}

/// Destroys a resource.
pub type Destructor = unsafe extern "C" fn(&mut Env, *mut c_void);
/// Is called when a descriptor that a resource has selected may be closed; the last argument: within the call that asked for it.
pub type Stop = unsafe extern "C" fn(&mut Env, *mut c_void, c_int, c_int);
/// Is called when a process that a resource watches has ended.
pub type Down = unsafe extern "C" fn(&mut Env, *mut c_void, &mut Identifier, &Monitor);
/// Is called by other libraries.
pub type DynamicCall = unsafe extern "C" fn(&mut Env, *mut c_void, *mut c_void);

/// `ErlNifResourceTypeInit`
#[repr(C)]
pub struct ResourceTypeInit {
    pub(crate) destructor: Option<Destructor>,
    pub(crate) stop: Option<Stop>,
    pub(crate) down: Option<Down>,
    /// How many of the functions there are.
    pub(crate) members: c_int,
    pub(crate) dynamic_call: Option<DynamicCall>,
}

/// `ErlNifMonitor`: bytes that libraries copy and compare.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monitor([u8; 32]);

impl Monitor {
    /// The monitor of this reference.
    pub(crate) fn new(reference: RefNumbers) -> Monitor {
        let mut bytes = [0; 32];
        for (to, number) in bytes.chunks_exact_mut(4).zip(reference.0) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        Monitor(bytes)
    }

    /// Its reference.
    pub(crate) fn reference(&self) -> RefNumbers {
        let number = |i: usize| u32::from_ne_bytes([self.0[i], self.0[i + 1], self.0[i + 2], self.0[i + 3]]);
        RefNumbers([number(0), number(4), number(8)])
    }
}

/// `SysIOVec`: bytes that something else keeps.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Piece {
    data: *const u8,
    len: usize,
}

impl Piece {
    /// These bytes.
    pub(crate) fn of(bytes: &[u8]) -> Piece {
        Piece { data: bytes.as_ptr(), len: bytes.len() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        Row(self.data).slice(self.len)
    }

    /// All but the first ones, which are no more than there are.
    pub(crate) fn without(&self, first: usize) -> Piece {
        Piece::of(&self.bytes()[first..])
    }
}

/// `ErlNifIOVec`
#[repr(C)]
pub struct IoVector {
    count: c_int,
    size: usize,
    pieces: *const Piece,
    owners: *const *const (),
    /// 1: without an environment that keeps the vector behind it.
    flags: c_int,
    few: [Piece; 16],
    /// The vector behind it.
    vector: *mut (),
    spare: [*const (); 15],
}

impl IoVector {
    pub(crate) const EMPTY: IoVector = IoVector {
        count: 0,
        size: 0,
        pieces: std::ptr::null(),
        owners: std::ptr::null(),
        flags: 0,
        few: [Piece { data: std::ptr::null(), len: 0 }; 16],
        vector: std::ptr::null_mut(),
        spare: [std::ptr::null(); 15],
    };

    /// One of these pieces with their owners, as many.
    pub(crate) fn new(pieces: &[Piece], owners: &[*const ()], vector: *mut ()) -> IoVector {
        let size = pieces.iter().map(Piece::len).sum();
        let (count, owners) = (pieces.len() as c_int, owners.as_ptr());
        IoVector { count, size, pieces: pieces.as_ptr(), owners, vector, ..IoVector::EMPTY }
    }

    /// How many bytes there are.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The pieces with their owners.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (Piece, *const ())> {
        let count = usize::try_from(self.count).unwrap_or(0);
        Row(self.pieces).slice(count).iter().copied().zip(Row(self.owners).slice(count).iter().copied())
    }

    /// The vector behind it lasts until it is taken.
    pub(crate) fn lasts(&mut self, vector: *mut ()) {
        self.flags = 1;
        self.vector = vector;
    }

    /// The vector behind it, if that lasts.
    pub(crate) fn take_vector(&mut self) -> Option<*mut ()> {
        (std::mem::replace(&mut self.flags, 0) == 1).then_some(self.vector)
    }
}

/// `ErlNifSysInfo`
#[repr(C)]
pub struct SystemInfo {
    pub(crate) driver: [c_int; 2],
    pub(crate) erts_version: *const c_char,
    pub(crate) otp_release: *const c_char,
    pub(crate) threads: c_int,
    pub(crate) smp: c_int,
    pub(crate) async_threads: c_int,
    pub(crate) schedulers: c_int,
    pub(crate) nif: [c_int; 2],
    pub(crate) dirty_schedulers: c_int,
}

/// Latin-1 or UTF-8 (`ErlNifCharEncoding`).
pub const LATIN1: c_uint = 1;

// The sizes that the header's types have on 64-bit machines.
const _: () = {
    assert!(size_of::<FunctionEntry>() == 32 && size_of::<LibraryEntry>() == 96 && size_of::<Binary>() == 24);
    assert!(size_of::<IoVector>() == 424 && std::mem::offset_of!(IoVector, few) == 40);
    assert!(size_of::<Monitor>() == 32 && size_of::<ResourceTypeInit>() == 40);
    assert!(size_of::<MapIterator>() == 56 && size_of::<SystemInfo>() == 56);
    assert!(std::mem::offset_of!(LibraryEntry, load) == 32 && std::mem::offset_of!(LibraryEntry, variant) == 64);
};
