//! The 64-bit term word: tags, immediates and self-tagged floats.
//!
//! The low three bits are the tag (docs/design.md, section 2):
//!
//! | tag | meaning |
//! | --- | --- |
//! | 000 | small integer, 61 bits; also any 8-byte aligned raw pointer (continuations, code) |
//! | 001 | boxed: pointer to a header word |
//! | 010 | list: pointer to a cell of two words |
//! | 011, 100 | double whose magnitude is 0x1p-255 to below 0x1p257, rotated left by four |
//! | 101 | other immediate: atom, local pid, local port, nil, markers |
//! | 110 | header of a boxed object; never a value |
//! | 111 | free |
//!
//! Float self-tagging is Melançon, Serrano and Feeley's (2024): after the rotation the low four bits are the sign and the
//! exponent's top three bits, and the exponents near zero have 011 or 100 there.

use crate::atom::Atom;
use crate::id::{Pid, Port};
use std::marker::PhantomData;

/// One Erlang term, as a word, whose memory somebody holds for `'h`: an arena, a fragment, a table row, the builder of
/// any of them (term/T2). Equality of words is identity, not Erlang equality: see [`TermRef::is`].
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TermRef<'h>(u64, PhantomData<&'h u64>);

/// A term of the running process: on its heap or stack, a literal, or without memory. No type knows how long it lives; the code
/// that the process runs keeps the promise of term/T2.
pub type Term = TermRef<'static>;

/// What the low three bits of a word say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// Small integer.
    Small,
    /// Pointer to a boxed object.
    Boxed,
    /// Pointer to a list cell.
    List,
    /// Self-tagged double.
    Float,
    /// Atom, pid, port, nil or a marker.
    Immediate,
    /// Header word of a boxed object.
    Header,
    /// The free tag.
    Free,
}

pub(crate) const TAG_MASK: u64 = 0b111;
pub(crate) const BOXED: u64 = 0b001;
pub(crate) const LIST: u64 = 0b010;
const IMMEDIATE: u64 = 0b101;
const HEADER: u64 = 0b110;

/// Immediates keep their sub-tag in bits 3 to 7 and 56 bits of data above.
pub(crate) const SUB_MASK: u64 = 0xff;
const DATA_SHIFT: u32 = 8;
pub(crate) const ATOM: u64 = IMMEDIATE;
pub(crate) const PID: u64 = IMMEDIATE | 1 << 3;
const PORT: u64 = IMMEDIATE | 2 << 3;
const NIL: u64 = IMMEDIATE | 3 << 3;
const MARKER: u64 = IMMEDIATE | 4 << 3;
const CATCH: u64 = IMMEDIATE | 5 << 3;

/// Exponent-carrying low bits after rotation: 0.0 rotated has tag 000, so zeros (and far exponents) are boxed.
pub(crate) const FLOAT_ROTATE: u32 = 4;

impl<'h> TermRef<'h> {
    /// The empty list.
    pub const NIL: Self = Self::of_word(NIL);
    /// Not a value: "no term here". Never visible to Erlang code.
    pub const NONE: Self = Self::of_word(MARKER);
    /// The atom `true`.
    pub const TRUE: Self = Self::atom(crate::am::true_);
    /// The atom `false`.
    pub const FALSE: Self = Self::atom(crate::am::false_);
    /// The atom `ok`.
    pub const OK: Self = Self::atom(crate::am::ok);
    /// The atom `undefined`.
    pub const UNDEFINED: Self = Self::atom(crate::am::undefined);
    /// Largest small integer.
    pub const SMALL_MAX: i64 = (1 << 60) - 1;
    /// Smallest small integer.
    pub const SMALL_MIN: i64 = -(1 << 60);

    #[inline(always)]
    const fn of_word(word: u64) -> Self {
        TermRef(word, PhantomData)
    }

    /// The word itself, for the crates that store or compile terms (heap, interpreter, JIT).
    #[inline(always)]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// A term from its word.
    ///
    /// # Safety
    /// `word` came from [`Term::raw`] and term/T1 and term/T2 hold for it.
    #[inline(always)]
    pub const unsafe fn from_raw(word: u64) -> Self {
        Self::of_word(word)
    }

    /// The same term, with memory that is held for another time.
    ///
    /// # Safety
    /// term/T2 for `'x`: its memory stays for as long as the result, or what is read through it, is used.
    #[inline(always)]
    pub const unsafe fn assume_held<'x>(self) -> TermRef<'x> {
        TermRef(self.0, PhantomData)
    }

    /// Which of the word classes this is.
    #[inline]
    pub const fn tag(self) -> Tag {
        match self.0 & TAG_MASK {
            0 => Tag::Small,
            BOXED => Tag::Boxed,
            LIST => Tag::List,
            3 | 4 => Tag::Float,
            IMMEDIATE => Tag::Immediate,
            HEADER => Tag::Header,
            _ => Tag::Free,
        }
    }

    /// The very same word. For atoms, small integers, local pids and ports, nil: Erlang's `=:=`.
    #[inline(always)]
    pub const fn is(self, other: TermRef<'_>) -> bool {
        self.0 == other.0
    }

    /// A value that needs no memory beside the word.
    #[inline(always)]
    pub const fn is_immediate(self) -> bool {
        // Tags 1 and 2 are the pointers; one subtraction and one test.
        self.0.wrapping_sub(BOXED) & (TAG_MASK & !1) != 0
    }

    /// The term, if it needs no memory beside the word, and so nobody to hold that.
    #[inline(always)]
    pub const fn as_immediate(self) -> Option<Term> {
        if self.is_immediate() { Some(TermRef(self.0, PhantomData)) } else { None }
    }

    // ---- small integers

    /// A small integer. The value must be in `SMALL_MIN..=SMALL_MAX`.
    #[inline(always)]
    pub const fn small(value: i64) -> Self {
        debug_assert!(value >= Self::SMALL_MIN && value <= Self::SMALL_MAX);
        Self::of_word((value as u64) << 3)
    }

    /// A small integer if the value fits one.
    #[inline]
    pub const fn try_small(value: i64) -> Option<Self> {
        if value >= Self::SMALL_MIN && value <= Self::SMALL_MAX {
            Some(Self::of_word((value as u64) << 3))
        } else {
            None
        }
    }

    /// Is this a small integer?
    #[inline(always)]
    pub const fn is_small(self) -> bool {
        self.0 & TAG_MASK == 0
    }

    /// The value of a small integer.
    #[inline(always)]
    pub const fn as_small(self) -> Option<i64> {
        if self.is_small() { Some(self.0 as i64 >> 3) } else { None }
    }

    /// The value, without looking at the tag; meaningful only if [`Term::is_small`].
    #[inline(always)]
    pub const fn small_value(self) -> i64 {
        self.0 as i64 >> 3
    }

    /// A non-negative small integer as an index or count.
    #[inline]
    pub fn as_usize(self) -> Option<usize> {
        self.as_small().and_then(|v| usize::try_from(v).ok())
    }

    // ---- floats

    /// The self-tagged word of a double, if its magnitude has one; others are boxed ([`crate::Build::float`]).
    #[inline(always)]
    pub const fn immediate_float(value: f64) -> Option<Self> {
        let word = value.to_bits().rotate_left(FLOAT_ROTATE);
        match word & TAG_MASK {
            3 | 4 => Some(Self::of_word(word)),
            _ => None,
        }
    }

    /// A self-tagged double?
    #[inline(always)]
    pub const fn is_immediate_float(self) -> bool {
        matches!(self.0 & TAG_MASK, 3 | 4)
    }

    /// The double of a self-tagged word, without looking at the tag.
    #[inline(always)]
    pub(crate) const fn immediate_float_value(self) -> f64 {
        f64::from_bits(self.0.rotate_right(FLOAT_ROTATE))
    }

    // ---- other immediates

    /// An atom.
    #[inline(always)]
    pub const fn atom(atom: Atom) -> Self {
        Self::of_word((atom.index() as u64) << DATA_SHIFT | ATOM)
    }

    /// `true` or `false`.
    #[inline(always)]
    pub const fn bool(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Is this an atom?
    #[inline(always)]
    pub const fn is_atom(self) -> bool {
        self.0 & SUB_MASK == ATOM
    }

    /// The term as an atom, if it is one.
    #[inline(always)]
    pub const fn as_atom(self) -> Option<Atom> {
        if self.is_atom() { Some(Atom::from_index((self.0 >> DATA_SHIFT) as u32)) } else { None }
    }

    /// Is this the given atom?
    #[inline(always)]
    pub const fn is_am(self, atom: Atom) -> bool {
        self.0 == Term::atom(atom).0
    }

    /// The Boolean that the atom stands for.
    #[inline]
    pub const fn as_bool(self) -> Option<bool> {
        if self.0 == Self::TRUE.0 {
            Some(true)
        } else if self.0 == Self::FALSE.0 {
            Some(false)
        } else {
            None
        }
    }

    /// The empty list?
    #[inline(always)]
    pub const fn is_nil(self) -> bool {
        self.0 == NIL
    }

    /// Is this the marker for "no term"?
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == MARKER
    }

    /// Anything but the marker for "no term".
    #[inline(always)]
    pub const fn is_some(self) -> bool {
        self.0 != MARKER
    }

    /// A process of this node.
    #[inline(always)]
    pub const fn pid(pid: Pid) -> Self {
        Self::of_word(pid.data() << DATA_SHIFT | PID)
    }

    /// A process of this node?
    #[inline(always)]
    pub const fn is_local_pid(self) -> bool {
        self.0 & SUB_MASK == PID
    }

    /// The process of this node.
    #[inline]
    pub const fn as_local_pid(self) -> Option<Pid> {
        if self.is_local_pid() { Some(Pid::from_data(self.0 >> DATA_SHIFT)) } else { None }
    }

    /// A port of this node.
    #[inline(always)]
    pub const fn port(port: Port) -> Self {
        Self::of_word(port.number() << DATA_SHIFT | PORT)
    }

    /// The port of this node.
    #[inline]
    pub const fn as_local_port(self) -> Option<Port> {
        if self.0 & SUB_MASK == PORT { Some(Port::from_number(self.0 >> DATA_SHIFT)) } else { None }
    }

    /// A catch marker for a stack slot: `data` finds the handler.
    #[inline(always)]
    pub const fn catch(data: u64) -> Self {
        Self::of_word(data << DATA_SHIFT | CATCH)
    }

    /// The data of a catch marker.
    #[inline(always)]
    pub const fn as_catch(self) -> Option<u64> {
        if self.0 & SUB_MASK == CATCH { Some(self.0 >> DATA_SHIFT) } else { None }
    }

    // ---- lists

    /// Is this a list cell?
    #[inline(always)]
    pub const fn is_cons(self) -> bool {
        self.0 & TAG_MASK == LIST
    }

    /// Nil or a list cell (what `is_list/1` asks).
    #[inline(always)]
    pub const fn is_list(self) -> bool {
        self.is_cons() || self.is_nil()
    }

    /// Head and tail of a list cell.
    #[inline(always)]
    pub fn as_cons(self) -> Option<(Self, Self)> {
        if self.is_cons() {
            let cell = self.cell();
            // SAFETY: term/T1 and term/T2, a list word points at two initialised words that stay.
            Some(unsafe { (*cell, *cell.add(1)) })
        } else {
            None
        }
    }

    /// Address of the cell of a list word.
    #[inline(always)]
    pub const fn cell(self) -> *mut Self {
        debug_assert!(self.is_cons());
        self.0.wrapping_sub(LIST) as *mut Self
    }

    /// The list word of a cell.
    ///
    /// # Safety
    /// `cell` is 8-byte aligned and points at two words that are terms, or are made so before the term is used.
    #[inline(always)]
    pub unsafe fn from_cell(cell: *const Self) -> Self {
        Self::of_word(cell as u64 | LIST)
    }

    /// The elements of a list, up to an improper tail; see [`ListIter::tail`].
    #[inline]
    pub const fn list_iter(self) -> ListIter<'h> {
        ListIter { rest: self }
    }

    /// Length of a proper list.
    pub fn list_length(self) -> Option<usize> {
        let mut it = self.list_iter();
        let n = it.by_ref().count();
        it.tail().is_nil().then_some(n)
    }

    // ---- boxed objects

    /// Is this a boxed object?
    #[inline(always)]
    pub const fn is_boxed(self) -> bool {
        self.0 & TAG_MASK == BOXED
    }

    /// Address of the header word of a boxed word.
    #[inline(always)]
    pub const fn boxed_ptr(self) -> *mut u64 {
        debug_assert!(self.is_boxed());
        self.0.wrapping_sub(BOXED) as *mut u64
    }

    /// The boxed word of an object.
    ///
    /// # Safety
    /// `header` is 8-byte aligned and points at a header whose object is, or is made before use, initialised.
    #[inline(always)]
    pub unsafe fn from_boxed(header: *const u64) -> Self {
        Self::of_word(header as u64 | BOXED)
    }

    /// Is this word a header (the collector asks)?
    #[inline(always)]
    pub const fn is_header(self) -> bool {
        self.0 & TAG_MASK == HEADER
    }

    /// Address of the object behind a list or boxed word.
    #[inline(always)]
    pub const fn object_ptr(self) -> *mut u64 {
        (self.0 & !TAG_MASK) as *mut u64
    }
}

pub(crate) const HEADER_TAG: u64 = HEADER;

/// Iterator over the elements of a list.
#[derive(Clone)]
pub struct ListIter<'h> {
    rest: TermRef<'h>,
}

impl<'h> ListIter<'h> {
    /// What is left: nil at the end of a proper list, the tail of an improper one.
    pub const fn tail(&self) -> TermRef<'h> {
        self.rest
    }
}

impl<'h> Iterator for ListIter<'h> {
    type Item = TermRef<'h>;

    #[inline]
    fn next(&mut self) -> Option<TermRef<'h>> {
        let (head, tail) = self.rest.as_cons()?;
        self.rest = tail;
        Some(head)
    }
}

impl From<Atom> for TermRef<'_> {
    fn from(atom: Atom) -> Self {
        Self::atom(atom)
    }
}

impl From<bool> for TermRef<'_> {
    fn from(value: bool) -> Self {
        Self::bool(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smalls_keep_their_value() {
        for v in [0, 1, -1, Term::SMALL_MAX, Term::SMALL_MIN] {
            assert_eq!(Term::small(v).as_small(), Some(v));
        }
        assert!(Term::try_small(Term::SMALL_MAX + 1).is_none());
        assert!(Term::try_small(Term::SMALL_MIN - 1).is_none());
    }

    #[test]
    fn floats_of_middle_magnitude_are_immediate() {
        for v in [1.0, -1.0, 2.0, 3.25, 1e-70, -1e70, f64::from_bits(768 << 52)] {
            assert_eq!(Term::immediate_float(v).and_then(TermRef::as_float), Some(v));
        }
        for v in [0.0, -0.0, 1e-80, 1e80, f64::MAX, f64::MIN_POSITIVE] {
            assert!(Term::immediate_float(v).is_none());
        }
    }

    #[test]
    fn immediates_do_not_collide() {
        let all = [
            Term::NIL,
            Term::NONE,
            Term::TRUE,
            Term::pid(Pid::from_data(0)),
            Term::port(Port::from_number(0)),
            Term::small(0),
        ];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(a.is(*b), i == j);
            }
        }
    }
}
