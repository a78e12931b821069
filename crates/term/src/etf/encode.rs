//! `term_to_binary`: from terms to bytes.
//!
//! What is still to be written is on a stack of runs (slots, lists, maps), so nesting costs no native stack (term/E2) and the
//! work can stop between any two terms (term/E3). Large binaries need not be copied: [`Encoder::into_pieces`] gives them as they
//! are.

use super::output::{Insertion, Output, Piece};
use super::{NodeIdentity, VERSION, compress, tag};
use crate::alloc::Build;
use crate::atom::Atom;
use crate::binary::{BinaryBuffer, SharedBinary};
use crate::boxed::{Boxed, Kind};
use crate::compare::compare_exact;
use crate::map::{Map, MapIter, View};
use crate::stack::Slots;
use crate::word::{Tag, TermRef};

/// How to encode.
#[derive(Clone, Copy, Debug)]
pub struct EncodeOptions {
    /// 0: floats as text; 1: Latin-1 atoms in Latin-1 (the default up to OTP 25); 2: all atoms in UTF-8 (from 26).
    pub minor_version: u8,
    /// Keys of large maps in their order too.
    pub deterministic: bool,
    /// Level of compression, 0 (none) to 9.
    pub compressed: u8,
    /// This node's identity.
    pub node: NodeIdentity,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        EncodeOptions { minor_version: 1, deterministic: false, compressed: 0, node: NodeIdentity::local() }
    }
}

/// Longer binaries are pieces of their own: those that are not on the heap, as in OTP.
const PIECE_LIMIT: usize = crate::binary::HEAP_BINARY_LIMIT;
/// Room that an encoder starts with: most messages need no more.
const FIRST_BYTES: usize = 128;
/// Longest list of bytes that is written as a string.
pub(super) const MAX_STRING: usize = 65_535;
/// Ports up to this number have the short form.
pub(super) const MAX_SHORT_PORT: u64 = (1 << 28) - 1;

/// Terms still to be written.
enum Run<'h> {
    /// One.
    One(TermRef<'h>),
    /// Slots in a row.
    Slots(Slots<'h>),
    /// The rest of a list, then its tail.
    List(TermRef<'h>),
    /// Keys and values of a flat map by turns: with an even number left, a key.
    Pairs { key: *const TermRef<'h>, value: *const TermRef<'h>, left: usize },
    /// The rest of a hash map; a key's value.
    Map(Box<MapIter<'h>>, Option<TermRef<'h>>),
    /// Keys and values, last first.
    Reversed(Vec<TermRef<'h>>),
    /// Slots of a fun, whose size belongs at this place of the bytes when they are written; that place counted in all bytes.
    Fun { slots: Slots<'h>, at: usize, before: usize },
}

impl<'h> Run<'h> {
    fn slots(slots: &[TermRef<'h>]) -> Run<'h> {
        Run::Slots(Slots::of(slots))
    }

    /// The next term; none at the end.
    #[inline(always)]
    fn next(&mut self) -> Option<TermRef<'h>> {
        match self {
            Run::Slots(slots) | Run::Fun { slots, .. } => slots.next(),
            Run::List(rest) => match rest.as_cons() {
                Some((head, tail)) => {
                    *rest = tail;
                    Some(head)
                }
                None => {
                    let tail = *rest;
                    *self = Run::Slots(Slots::NONE);
                    Some(tail)
                }
            },
            Run::Pairs { key, value, left } => {
                *left = left.checked_sub(1)?;
                let next = if *left % 2 == 1 { key } else { value };
                // SAFETY: one of the keys or values of a map that stays (term/T2, term/E3); `left` counts both.
                unsafe {
                    let term = **next;
                    *next = next.add(1);
                    Some(term)
                }
            }
            Run::One(term) => {
                let term = *term;
                *self = Run::Slots(Slots::NONE);
                Some(term)
            }
            Run::Map(iter, value) => value.take().or_else(|| {
                let (key, next) = iter.next()?;
                *value = Some(next);
                Some(key)
            }),
            Run::Reversed(terms) => terms.pop(),
        }
    }

    /// Has it nothing more to give or to do?
    fn is_over(&self) -> bool {
        match self {
            Run::Slots(slots) => slots.is_over(),
            Run::Pairs { left, .. } => *left == 0,
            _ => false,
        }
    }
}

/// Encoding in progress (term/E3).
pub struct Encoder<'h> {
    options: EncodeOptions,
    output: Output,
    run: Run<'h>,
    /// What comes after it, last first.
    runs: Vec<Run<'h>>,
}

// SAFETY: the pointers in runs lead into the term being encoded, which goes where the encoder goes (term/E3).
unsafe impl Send for Encoder<'_> {}

impl<'h> Encoder<'h> {
    /// An encoder of a term with its version byte.
    pub fn new(term: TermRef<'h>, options: EncodeOptions) -> Encoder<'h> {
        let mut encoder = Self::bare(term, options);
        encoder.output.u8(VERSION);
        encoder
    }

    /// An encoder of a term without the version byte; `compressed` means nothing to it.
    pub fn bare(term: TermRef<'h>, options: EncodeOptions) -> Encoder<'h> {
        let output = Output {
            bytes: BinaryBuffer::with_capacity(FIRST_BYTES),
            insertions: Vec::new(),
            inserted: 0,
            pieces: false,
        };
        Encoder { options, output, run: Run::One(term), runs: Vec::new() }
    }

    /// Leaves large binaries where they are, for [`Encoder::into_pieces`], unless all is to be compressed.
    pub fn in_pieces(mut self) -> Encoder<'h> {
        self.output.pieces = self.options.compressed == 0;
        self
    }

    /// Goes on until all is written (true) or `budget` is used up.
    pub fn run(&mut self, budget: &mut usize) -> bool {
        let mut steps = *budget;
        let mut run = std::mem::replace(&mut self.run, Run::slots(&[]));
        let finished = loop {
            if steps == 0 {
                break false;
            }
            let Some(term) = run.next() else {
                if let Run::Fun { at, before, .. } = run {
                    self.end_fun(at, before);
                }
                match self.runs.pop() {
                    Some(outer) => run = outer,
                    None => {
                        run = Run::slots(&[]);
                        break true;
                    }
                }
                continue;
            };
            steps -= 1;
            let inner = match term.tag() {
                Tag::Small => {
                    self.integer(term.small_value());
                    continue;
                }
                Tag::Float => {
                    self.float(term.as_float().unwrap_or(0.0));
                    continue;
                }
                Tag::Immediate => {
                    self.immediate(term);
                    continue;
                }
                Tag::List => self.list(term, &mut steps),
                Tag::Boxed => term.held_boxed().and_then(|object| self.boxed(term, object, &mut steps)),
                Tag::Header | Tag::Free => {
                    self.output.u8(tag::NIL);
                    continue;
                }
            };
            if let Some(inner) = inner {
                let outer = std::mem::replace(&mut run, inner);
                // What is over needs no place on the stack, so that long chains need no memory.
                if !outer.is_over() {
                    self.runs.push(outer);
                }
            }
        };
        self.run = run;
        *budget = steps;
        finished
    }

    /// The size of a fun is known at its end.
    fn end_fun(&mut self, at: usize, before: usize) {
        let size = (self.output.total() - before) as u32;
        if let Some(place) = self.output.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&size.to_be_bytes());
        }
    }

    /// Bytes so far.
    pub fn size(&self) -> usize {
        self.output.total()
    }

    /// All bytes, compressed if the options say so and it makes them fewer. (For one that is not in pieces.)
    pub fn into_bytes(self) -> BinaryBuffer {
        let bytes = self.output.bytes;
        if self.options.compressed == 0 || bytes.len() < 6 {
            return bytes;
        }
        let term = &bytes[1..];
        match compress::deflate(term, self.options.compressed, term.len() - 5) {
            Some(stream) => {
                let mut all = BinaryBuffer::with_capacity(6 + stream.len());
                all.extend_from_slice(&[VERSION, tag::COMPRESSED]);
                all.extend_from_slice(&(term.len() as u32).to_be_bytes());
                all.extend_from_slice(&stream);
                all
            }
            None => bytes,
        }
    }

    /// All bytes, large binaries as they are.
    pub fn into_pieces(self) -> Vec<Piece> {
        if self.options.compressed != 0 {
            return vec![Piece::Bytes(self.into_bytes())];
        }
        self.output.into_pieces()
    }

    fn integer(&mut self, value: i64) {
        if let Ok(byte) = u8::try_from(value) {
            self.output.put(&[tag::SMALL_INTEGER, byte]);
        } else if let Ok(word) = i32::try_from(value) {
            self.output.tagged_u32(tag::INTEGER, word as u32);
        } else {
            self.big(value < 0, &[value.unsigned_abs()]);
        }
    }

    fn big(&mut self, negative: bool, limbs: &[u64]) {
        let top = limbs.last().copied().unwrap_or(0);
        let mut len = limbs.len() * 8 - top.leading_zeros() as usize / 8;
        if let Ok(len) = u8::try_from(len) {
            self.output.put(&[tag::SMALL_BIG, len]);
        } else {
            self.output.tagged_u32(tag::LARGE_BIG, len as u32);
        }
        self.output.u8(u8::from(negative));
        for limb in limbs {
            let bytes = limb.to_le_bytes();
            let used = len.min(8);
            self.output.put(&bytes[..used]);
            len -= used;
        }
    }

    fn float(&mut self, value: f64) {
        if self.options.minor_version > 0 {
            self.output.u8(tag::NEW_FLOAT);
            self.output.put(&value.to_bits().to_be_bytes());
            return;
        }
        let text = scientific(value);
        let mut field = [0; 31];
        let len = text.len().min(31);
        field[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.output.u8(tag::FLOAT);
        self.output.put(&field);
    }

    fn atom(&mut self, atom: Atom) {
        let text = atom.text();
        if self.options.minor_version < 2
            && let Some(length) = atom.latin1_length()
        {
            let [high, low] = (length as u16).to_be_bytes();
            self.output.put(&[tag::ATOM, high, low]);
            if length == text.len() {
                self.output.put(text.as_bytes());
            } else {
                text.chars().for_each(|c| self.output.u8(u32::from(c) as u8));
            }
            return;
        }
        if let Ok(len) = u8::try_from(text.len()) {
            self.output.put(&[tag::SMALL_ATOM_UTF8, len]);
        } else {
            let [high, low] = (text.len() as u16).to_be_bytes();
            self.output.put(&[tag::ATOM_UTF8, high, low]);
        }
        self.output.put(text.as_bytes());
    }

    fn immediate(&mut self, term: TermRef<'h>) {
        let node = (self.options.node.name, self.options.node.creation);
        if let Some(atom) = term.as_atom() {
            self.atom(atom);
        } else if let Some(pid) = term.as_local_pid() {
            self.pid(node, pid.number(), pid.serial());
        } else if let Some(port) = term.as_local_port() {
            self.port(node, port.number());
        } else {
            self.output.u8(tag::NIL);
        }
    }

    fn pid(&mut self, (node, creation): (Atom, u32), number: u32, serial: u32) {
        self.output.u8(tag::NEW_PID);
        self.atom(node);
        for part in [number, serial, creation] {
            self.output.put(&part.to_be_bytes());
        }
    }

    fn port(&mut self, (node, creation): (Atom, u32), number: u64) {
        if number <= MAX_SHORT_PORT {
            self.output.u8(tag::NEW_PORT);
            self.atom(node);
            self.output.put(&(number as u32).to_be_bytes());
        } else {
            self.output.u8(tag::V4_PORT);
            self.atom(node);
            self.output.put(&number.to_be_bytes());
        }
        self.output.put(&creation.to_be_bytes());
    }

    fn reference(&mut self, (node, creation): (Atom, u32), count: usize, number: impl Fn(usize) -> u32) {
        let [high, low] = (count as u16).to_be_bytes();
        self.output.put(&[tag::NEWER_REFERENCE, high, low]);
        self.atom(node);
        self.output.put(&creation.to_be_bytes());
        for i in 0..count {
            self.output.put(&number(i).to_be_bytes());
        }
    }

    fn list(&mut self, term: TermRef<'h>, budget: &mut usize) -> Option<Run<'h>> {
        let (len, tail, bytes) = measure_list(term);
        *budget = budget.saturating_sub(len / 32);
        if bytes && len <= MAX_STRING && tail.is_nil() {
            let [high, low] = (len as u16).to_be_bytes();
            self.output.put(&[tag::STRING, high, low]);
            self.output.bytes.extend(term.list_iter().map(|element| element.small_value() as u8));
            return None;
        }
        self.output.tagged_u32(tag::LIST, len as u32);
        Some(Run::List(term))
    }

    fn boxed(&mut self, term: TermRef<'h>, object: Boxed<'h, 'h>, budget: &mut usize) -> Option<Run<'h>> {
        let external = |object: Boxed<'h, 'h>| (Atom::from_index(object.word(0) as u32), (object.word(0) >> 32) as u32);
        let local = (self.options.node.name, self.options.node.creation);
        match object.kind() {
            Kind::Tuple => {
                let elements: &[TermRef<'h>] = object.slots();
                match u8::try_from(elements.len()) {
                    Ok(arity) => self.output.put(&[tag::SMALL_TUPLE, arity]),
                    Err(_) => self.output.tagged_u32(tag::LARGE_TUPLE, elements.len() as u32),
                }
                return Some(Run::slots(elements));
            }
            Kind::Map | Kind::MapRoot => return term.held_map().map(|map| self.map(map)),
            Kind::BigPositive => self.big(false, object.words()),
            Kind::BigNegative => self.big(true, object.words()),
            Kind::Float => self.float(f64::from_bits(object.word(0))),
            Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => self.bits(term, budget),
            Kind::Fun => return self.fun(term),
            Kind::ExportFun => {
                if let Some(export) = term.as_export_fun() {
                    self.output.u8(tag::EXPORT);
                    self.atom(export.mfa.module);
                    self.atom(export.mfa.function);
                    self.integer(i64::from(export.mfa.arity));
                }
            }
            Kind::Ref | Kind::AliasRef | Kind::MagicRef => {
                if object.kind() == Kind::MagicRef {
                    object.magic().keep();
                }
                self.reference(local, 3, |i| (object.word(i / 2) >> (32 * (i % 2))) as u32);
            }
            Kind::ExternalRef => {
                let count = object.header().aux() as usize;
                self.reference(external(object), count, |i| (object.word(1 + i / 2) >> (32 * (i % 2))) as u32);
            }
            Kind::ExternalPid => {
                self.pid(external(object), object.word(1) as u32, (object.word(1) >> 32) as u32);
            }
            Kind::ExternalPort => self.port(external(object), object.word(1)),
            // No other object is a value.
            _ => self.output.u8(tag::NIL),
        }
        None
    }

    fn map(&mut self, map: Map<'h, 'h>) -> Run<'h> {
        self.output.tagged_u32(tag::MAP, map.size() as u32);
        match map.view() {
            View::Flat { keys, values } => {
                Run::Pairs { key: keys.as_ptr(), value: values.as_ptr(), left: 2 * keys.len().min(values.len()) }
            }
            View::Hash { .. } if self.options.deterministic => {
                let mut pairs: Vec<(TermRef<'h>, TermRef<'h>)> = map.iter().collect();
                pairs.sort_unstable_by(|(a, _), (b, _)| compare_exact(*b, *a));
                Run::Reversed(pairs.into_iter().flat_map(|(k, v)| [v, k]).collect())
            }
            View::Hash { .. } => Run::Map(Box::new(map.pairs()), None),
        }
    }

    fn fun(&mut self, term: TermRef<'h>) -> Option<Run<'h>> {
        let (entry, _, free) = term.held_local_fun()?;
        let object = term.held_boxed()?;
        self.output.u8(tag::NEW_FUN);
        let (at, before) = (self.output.bytes.len(), self.output.total());
        self.output.put(&[0; 4]);
        self.output.u8(entry.id.arity);
        self.output.put(&entry.id.uniq);
        self.output.put(&entry.id.index.to_be_bytes());
        self.output.put(&(free.len() as u32).to_be_bytes());
        self.atom(entry.id.module);
        self.integer(i64::from(entry.id.old_index));
        self.integer(i64::from(entry.id.old_uniq));
        // The creator and the free variables.
        let slots = &object.slots()[1..];
        Some(Run::Fun { slots: Slots::of(slots), at, before })
    }

    fn bits(&mut self, term: TermRef<'h>, budget: &mut usize) {
        let Some(bits) = term.held_bits() else { return };
        let len = bits.len().div_ceil(8);
        *budget = budget.saturating_sub(len / 1024);
        if bits.is_binary() {
            self.output.tagged_u32(tag::BINARY, len as u32);
        } else {
            self.output.tagged_u32(tag::BIT_BINARY, len as u32);
            self.output.u8((bits.len() % 8) as u8);
        }
        if self.output.pieces && len > PIECE_LIMIT && bits.as_bytes().is_some() && self.insert(term, len) {
            return;
        }
        self.output.put(&bits.to_bytes());
    }

    /// Leaves the bytes of a shared binary where they are.
    fn insert(&mut self, term: TermRef<'h>, len: usize) -> bool {
        let Some((whole, offset, _)) = term.binary_parts() else { return false };
        let Some(object) = whole.held_boxed().filter(|b| b.kind() == Kind::SharedBinary) else { return false };
        let binary = SharedBinary::clone(&object.shared());
        self.output.insertions.push(Insertion { at: self.output.bytes.len(), binary, offset: offset / 8, len });
        self.output.inserted += len;
        true
    }
}

/// Number of elements of a list, what comes after them, and whether they all are bytes.
pub(super) fn measure_list<'h>(list: TermRef<'h>) -> (usize, TermRef<'h>, bool) {
    let (mut len, mut bytes, mut rest) = (0, true, list);
    while let Some((head, tail)) = rest.as_cons() {
        bytes = bytes && matches!(head.as_small(), Some(0..=255));
        len += 1;
        rest = tail;
    }
    (len, rest, bytes)
}

/// As C's `%.20e`.
fn scientific(value: f64) -> String {
    let text = format!("{value:.20e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// The external form of a term.
pub fn encode<'h>(term: TermRef<'h>, options: EncodeOptions) -> BinaryBuffer {
    let mut encoder = Encoder::new(term, options);
    let mut unlimited = usize::MAX;
    encoder.run(&mut unlimited);
    encoder.into_bytes()
}

/// The external form of a term, as a binary.
pub fn encode_to_binary<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    term: TermRef<'h>,
    options: EncodeOptions,
) -> TermRef<'h> {
    encode(term, options).into_term(heap)
}
