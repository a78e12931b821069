//! Boxed objects: the header word, the kinds, and typed views of them.
//!
//! A header holds, from the low bit: tag 110 (3 bits), kind (5), size in words of what follows (32), and 24 bits that
//! the kind defines (`aux`: a node's bitmap, a binary's flags).
//!
//! B1. The size in the header is the whole truth: a collector or copier needs nothing else to step over an object.
//! B2. Kinds below [`Kind::FIRST_RAW`] hold only words that look like terms (raw pointers are 8-byte aligned and so look
//!     like small integers; raw numbers are stored as small integers); the others hold no term at all.
//! B3. Off-heap kinds are chained through [`Boxed::off_heap_next`] in the list of the heap that holds them.

use crate::atom::Atom;
use crate::id::RefNumbers;
use crate::word::{HEADER_TAG, TermRef};
use std::marker::PhantomData;

/// What a boxed object is (five bits of its header).
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(u8);

#[allow(non_upper_case_globals, reason = "used as variants of an enum are")]
impl Kind {
    /// Elements.
    pub const Tuple: Kind = Kind(0);
    /// Flat map: key tuple, then values in the keys' order.
    pub const Map: Kind = Kind(1);
    /// Root of a hash map: count (small), then children; aux = bitmap of 16.
    pub const MapRoot: Kind = Kind(2);
    /// Inner node of a hash map: children; aux = bitmap of 16.
    pub const MapNode: Kind = Kind(3);
    /// Local fun: `*const FunEntry`, creator pid, free variables.
    pub const Fun: Kind = Kind(4);
    /// `fun M:F/A`: `*const Export`.
    pub const ExportFun: Kind = Kind(5);
    /// Part of a binary: the binary (heap or shared), bit offset and bit size (smalls); aux bit 0 = writable.
    pub const SubBinary: Kind = Kind(6);
    /// Match state: as a sub binary: the binary, current bit offset, end bit offset (smalls).
    pub const MatchContext: Kind = Kind(7);
    /// Native record (OTP 29): `*const RecordDefinition`, values.
    pub const Record: Kind = Kind(8);
    /// Non-negative big integer: 64-bit limbs, least significant first, the last not zero.
    pub const BigPositive: Kind = Kind(16);
    /// Negative big integer: magnitude as above.
    pub const BigNegative: Kind = Kind(17);
    /// A double that does not tag itself.
    pub const Float: Kind = Kind(18);
    /// Bit size, then the bytes.
    pub const HeapBinary: Kind = Kind(19);
    /// Size in bytes, `*SharedBinary`, next off-heap object; aux = [`crate::binary::WRITABLE`].
    pub const SharedBinary: Kind = Kind(20);
    /// Reference of this node: two words of numbers.
    pub const Ref: Kind = Kind(21);
    /// Reference of this node that is also an alias: two words of numbers, and one that makes it as large as OTP's.
    pub const AliasRef: Kind = Kind(22);
    /// Reference of this node to an object of the VM: two words of numbers, `*Magic`, next off-heap object.
    pub const MagicRef: Kind = Kind(23);
    /// Pid of another node: creation and node atom, number.
    pub const ExternalPid: Kind = Kind(24);
    /// Port of another node: creation and node atom, number.
    pub const ExternalPort: Kind = Kind(25);
    /// Reference of another node: creation and node atom, then numbers (aux = how many 32-bit ones).
    pub const ExternalRef: Kind = Kind(26);
    /// Unused words inside a heap.
    pub const Filler: Kind = Kind(31);

    /// Kinds from here on hold no terms (B2).
    pub const FIRST_RAW: u8 = 16;

    /// What it is called in listings for people; nothing for bits that are no kind.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Kind::Tuple => "tuple",
            Kind::Map => "map",
            Kind::MapRoot => "map root",
            Kind::MapNode => "map node",
            Kind::Fun => "fun",
            Kind::ExportFun => "export fun",
            Kind::SubBinary => "sub binary",
            Kind::MatchContext => "match context",
            Kind::Record => "record",
            Kind::BigPositive | Kind::BigNegative => "bignum",
            Kind::Float => "float",
            Kind::HeapBinary => "heap binary",
            Kind::SharedBinary => "shared binary",
            Kind::Ref => "reference",
            Kind::AliasRef => "alias",
            Kind::MagicRef => "magic reference",
            Kind::ExternalPid => "external pid",
            Kind::ExternalPort => "external port",
            Kind::ExternalRef => "external reference",
            Kind::Filler => "filler",
            _ => return None,
        })
    }

    /// The five bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// The tag, and the bit of the kind that tells raw ones.
const RAW_MASK: u64 = (Kind::FIRST_RAW as u64) << 3 | 0b111;

/// A header word.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Header(u64);

impl Header {
    /// Most words that can follow a header.
    pub const MAX_SIZE: usize = u32::MAX as usize;

    /// The header of a `kind` followed by `size` words.
    #[inline(always)]
    pub const fn new(kind: Kind, size: usize) -> Header {
        debug_assert!(size <= Self::MAX_SIZE);
        Header((size as u64) << 8 | (kind.0 as u64) << 3 | HEADER_TAG)
    }

    /// The same with the 24 bits that the kind defines.
    #[inline(always)]
    pub const fn with_aux(self, aux: u32) -> Header {
        Header(self.0 & 0xff_ffff_ffff | (aux as u64) << 40)
    }

    /// A header read from memory.
    #[inline(always)]
    pub const fn from_raw(word: u64) -> Header {
        Header(word)
    }

    /// The word.
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// What follows.
    #[inline(always)]
    pub const fn kind(self) -> Kind {
        Kind((self.0 >> 3) as u8 & 31)
    }

    /// Does the object hold terms (B2)?
    #[inline(always)]
    pub const fn holds_terms(self) -> bool {
        (self.0 >> 3) as u8 & 31 < Kind::FIRST_RAW
    }

    /// Words after the header.
    #[inline(always)]
    pub const fn size(self) -> usize {
        (self.0 >> 8) as u32 as usize
    }

    /// Of any word of a heap: is it the header of an object that holds no terms (B2)? One test: a collector asks it of
    /// each word that is no pointer.
    #[inline(always)]
    pub const fn is_raw(word: u64) -> bool {
        word & RAW_MASK == (Kind::FIRST_RAW as u64) << 3 | HEADER_TAG
    }

    /// The bits that the kind defines.
    #[inline(always)]
    pub const fn aux(self) -> u32 {
        (self.0 >> 40) as u32
    }

    /// Is the object in its heap's off-heap list (B3)?
    #[inline]
    pub const fn is_off_heap(self) -> bool {
        matches!(self.kind(), Kind::SharedBinary | Kind::MagicRef)
    }
}

/// A boxed object, by its address: borrowed for `'a`, with terms whose memory is held for `'h`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Boxed<'a, 'h>(*mut u64, PhantomData<&'a TermRef<'h>>);

impl<'a, 'h> Boxed<'a, 'h> {
    /// The object at an address.
    ///
    /// # Safety
    /// term/T1: `header` points at the header of an initialised object, and term/T2 holds for it, for `'a` and for `'h`.
    #[inline(always)]
    pub const unsafe fn at(header: *mut u64) -> Self {
        Boxed(header, PhantomData)
    }

    /// The same for as long as its memory is held, see [`TermRef::held_boxed`].
    #[inline(always)]
    pub(crate) const fn held(self) -> Boxed<'h, 'h> {
        Boxed(self.0, PhantomData)
    }

    /// Address of the header.
    #[inline(always)]
    pub const fn ptr(self) -> *mut u64 {
        self.0
    }

    /// The header.
    #[inline(always)]
    pub fn header(self) -> Header {
        // SAFETY: term/T1.
        Header(unsafe { *self.0 })
    }

    /// The kind.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        self.header().kind()
    }

    /// Words after the header.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.header().size()
    }

    /// The term of this object.
    #[inline(always)]
    pub fn term(self) -> TermRef<'h> {
        // SAFETY: term/T1.
        unsafe { TermRef::from_boxed(self.0) }
    }

    /// Word `i` after the header, raw.
    #[inline(always)]
    pub fn word(self, i: usize) -> u64 {
        debug_assert!(i < self.size());
        // SAFETY: term/T1 and B1, `i` is within the object.
        unsafe { *self.0.add(1 + i) }
    }

    /// Word `i` after the header of an object that holds terms (B2).
    #[inline(always)]
    pub fn slot(self, i: usize) -> TermRef<'h> {
        debug_assert!(self.header().holds_terms());
        // SAFETY: term/T1 and B2, the word is a term.
        unsafe { TermRef::from_raw(self.word(i)) }
    }

    /// All words after the header.
    #[inline(always)]
    pub fn words(self) -> &'a [u64] {
        // SAFETY: term/T1, term/T2 and term/T3.
        unsafe { std::slice::from_raw_parts(self.0.add(1), self.size()) }
    }

    /// All words after the header of an object that holds terms (B2).
    #[inline(always)]
    pub fn slots(self) -> &'a [TermRef<'h>] {
        debug_assert!(self.header().holds_terms());
        // SAFETY: term/T1, term/T2, term/T3 and B2; TermRef is transparent over u64.
        unsafe { std::slice::from_raw_parts(self.0.add(1).cast(), self.size()) }
    }

    /// The next object of an off-heap object's chain, or null (B3). The link is the object's last word; like every word
    /// of a heap it is an address, which a collector copies as a number.
    #[inline]
    pub fn off_heap_next(self) -> *mut u64 {
        debug_assert!(self.header().is_off_heap());
        // SAFETY: term/T1, off-heap objects have their link in the last word.
        unsafe { std::ptr::with_exposed_provenance_mut(*self.0.add(self.size()) as usize) }
    }

    /// Makes another object the next one of the chain.
    ///
    /// # Safety
    /// This is an off-heap object whose link no other thread reads or writes, and `next` is one, or null.
    #[inline]
    pub unsafe fn set_off_heap_next(self, next: *mut u64) {
        debug_assert!(self.header().is_off_heap());
        // SAFETY: as above, and the caller's promise.
        unsafe { *self.0.add(self.size()) = next.expose_provenance() as u64 };
    }
}

/// A boxed object whose header says that it is a tuple.
#[derive(Clone, Copy)]
pub struct Tuple<'a, 'h>(Boxed<'a, 'h>);

impl<'a, 'h> Tuple<'a, 'h> {
    /// Most elements a tuple can have.
    pub const MAX_ARITY: usize = (1 << 24) - 1;

    /// Number of elements.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(self) -> usize {
        self.0.size()
    }

    /// The elements.
    #[inline(always)]
    pub fn elements(self) -> &'a [TermRef<'h>] {
        self.0.slots()
    }

    /// Element `i`, counted from 0.
    #[inline(always)]
    pub fn get(self, i: usize) -> TermRef<'h> {
        self.0.slot(i)
    }
}

impl<'h> TermRef<'h> {
    /// The boxed object, for as long as this word is borrowed.
    #[inline(always)]
    pub fn as_boxed(&self) -> Option<Boxed<'_, 'h>> {
        self.held_boxed()
    }

    /// The boxed object, for as long as its memory is held: for walks over a whole term, which their caller holds.
    #[inline(always)]
    pub(crate) fn held_boxed(self) -> Option<Boxed<'h, 'h>> {
        // SAFETY: term/T1, a boxed word points at a header; term/T2 for 'h.
        if self.is_boxed() { Some(unsafe { Boxed::at(self.boxed_ptr()) }) } else { None }
    }

    /// The kind of the boxed object.
    #[inline(always)]
    pub fn boxed_kind(self) -> Option<Kind> {
        self.as_boxed().map(Boxed::kind)
    }

    /// A float of either form?
    #[inline(always)]
    pub fn is_float(self) -> bool {
        self.is_immediate_float() || self.boxed_kind() == Some(Kind::Float)
    }

    /// The double, of either form.
    #[inline(always)]
    pub fn as_float(self) -> Option<f64> {
        if self.is_immediate_float() {
            return Some(self.immediate_float_value());
        }
        match self.as_boxed() {
            Some(b) if b.kind() == Kind::Float => Some(f64::from_bits(b.word(0))),
            _ => None,
        }
    }

    /// A pid, of this node or another.
    #[inline]
    pub fn is_pid(self) -> bool {
        self.is_local_pid() || self.boxed_kind() == Some(Kind::ExternalPid)
    }

    /// A port, of this node or another.
    #[inline]
    pub fn is_port(self) -> bool {
        self.as_local_port().is_some() || self.boxed_kind() == Some(Kind::ExternalPort)
    }

    /// The tuple.
    #[inline(always)]
    pub fn as_tuple(&self) -> Option<Tuple<'_, 'h>> {
        self.held_tuple()
    }

    /// The tuple, as [`TermRef::held_boxed`].
    #[inline(always)]
    pub(crate) fn held_tuple(self) -> Option<Tuple<'h, 'h>> {
        match self.held_boxed() {
            Some(b) if b.kind() == Kind::Tuple => Some(Tuple(b)),
            _ => None,
        }
    }

    /// The elements of a tuple of just this arity: `let Some([a, b]) = t.as_tuple_of() else …`.
    #[inline]
    pub fn as_tuple_of<const N: usize>(self) -> Option<[Self; N]> {
        self.as_tuple().and_then(|t| t.elements().try_into().ok())
    }

    /// Is this a big integer?
    #[inline]
    pub fn is_big(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::BigPositive | Kind::BigNegative))
    }

    /// The sign (true = negative) and limbs of a big integer.
    #[inline]
    pub fn as_big(&self) -> Option<(bool, &[u64])> {
        self.held_big()
    }

    /// Sign and limbs, as [`TermRef::held_boxed`].
    #[inline]
    pub(crate) fn held_big(self) -> Option<(bool, &'h [u64])> {
        let b = self.held_boxed()?;
        match b.kind() {
            Kind::BigPositive => Some((false, b.words())),
            Kind::BigNegative => Some((true, b.words())),
            _ => None,
        }
    }

    /// Is this an integer of either form?
    #[inline]
    pub fn is_integer(self) -> bool {
        self.is_small() || self.is_big()
    }

    /// Is this an integer or a float?
    #[inline]
    pub fn is_number(self) -> bool {
        self.is_integer() || self.is_float()
    }

    /// Is this a map of either form?
    #[inline]
    pub fn is_map(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::Map | Kind::MapRoot))
    }

    /// Is this a fun of either form?
    #[inline]
    pub fn is_fun(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::Fun | Kind::ExportFun))
    }

    /// Is this a reference, of this node or another?
    #[inline]
    pub fn is_reference(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::Ref | Kind::AliasRef | Kind::MagicRef | Kind::ExternalRef))
    }

    /// Is this a bit string (a binary included; a match context is none)?
    #[inline]
    pub fn is_bitstring(self) -> bool {
        matches!(self.boxed_kind(), Some(Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary))
    }

    /// The numbers of a reference of this node.
    pub fn as_local_ref(self) -> Option<RefNumbers> {
        let b = self.as_boxed()?;
        match b.kind() {
            Kind::Ref | Kind::AliasRef | Kind::MagicRef => Some(RefNumbers::from_words(b.word(0), b.word(1))),
            _ => None,
        }
    }

    /// Node name atom index and creation of a pid, port or reference of another node.
    pub fn external_node(self) -> Option<(Atom, u32)> {
        let b = self.as_boxed()?;
        match b.kind() {
            Kind::ExternalPid | Kind::ExternalPort | Kind::ExternalRef => {
                Some((Atom::from_index(b.word(0) as u32), (b.word(0) >> 32) as u32))
            }
            _ => None,
        }
    }
}
