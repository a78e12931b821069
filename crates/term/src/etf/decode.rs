//! `binary_to_term`: from bytes to terms.
//!
//! Terms are built as they are read. A container is made at once, filled with nil, and a frame remembers which of its slots
//! comes next; so nothing is read twice, an error leaves only well-formed garbage, and long lists need no stack.

use super::reader::Reader;
use super::{NodeIdentity, VERSION, compress, scalar, tag};
use crate::alloc::Build;
use crate::atom::{Atom, AtomError};
use crate::boxed::{Header, Kind, Tuple};
use crate::code::{Export, FunEntry, Mfa};
use crate::map;
use crate::word::Term;

/// Why bytes are no term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// Malformed, or not allowed by the options: `badarg`.
    BadArg,
    /// An atom too many: `system_limit`.
    SystemLimit,
}

/// How to decode.
#[derive(Clone, Copy, Debug)]
pub struct DecodeOptions<'a> {
    /// Make no atoms and no references to functions that do not exist yet.
    pub safe: bool,
    /// Who this node is.
    pub node: NodeIdentity,
    /// Atoms that tag 82 refers to by index (a distribution header's); none in an ordinary term.
    pub atoms: &'a [Atom],
}

impl Default for DecodeOptions<'_> {
    fn default() -> Self {
        DecodeOptions { safe: false, node: NodeIdentity::local(), atoms: &[] }
    }
}

impl DecodeOptions<'_> {
    /// An atom where nothing else may stand.
    pub(super) fn atom(&self, reader: &mut Reader<'_>) -> Result<Atom, DecodeError> {
        let tag = reader.u8()?;
        self.atom_of(tag, reader)
    }

    fn atom_of(&self, tag: u8, reader: &mut Reader<'_>) -> Result<Atom, DecodeError> {
        let len = match tag {
            tag::ATOM_CACHE_REF => {
                let index = usize::from(reader.u8()?);
                return self.atoms.get(index).copied().ok_or(DecodeError::BadArg);
            }
            tag::ATOM | tag::ATOM_UTF8 => usize::from(reader.u16()?),
            tag::SMALL_ATOM | tag::SMALL_ATOM_UTF8 => usize::from(reader.u8()?),
            _ => return Err(DecodeError::BadArg),
        };
        let bytes = reader.take(len)?;
        let latin1 = matches!(tag, tag::ATOM | tag::SMALL_ATOM);
        if latin1 && !bytes.is_ascii() {
            let text: String = bytes.iter().map(|b| char::from(*b)).collect();
            return self.intern(&text);
        }
        self.intern(std::str::from_utf8(bytes).map_err(|_| DecodeError::BadArg)?)
    }

    fn intern(&self, text: &str) -> Result<Atom, DecodeError> {
        if self.safe {
            return Atom::existing(text).ok_or(DecodeError::BadArg);
        }
        Atom::new(text).map_err(|e| match e {
            AtomError::TooLong => DecodeError::BadArg,
            AtomError::TableFull => DecodeError::SystemLimit,
        })
    }
}

/// A decoded term.
#[derive(Clone, Copy)]
pub struct Decoded {
    /// The term.
    pub term: Term,
    /// Bytes of the input that it took (the option `used`).
    pub used: usize,
}

/// An open container: where the next terms go.
enum Frame {
    /// Slots in a row.
    Slots { next: *mut Term, left: usize },
    /// Elements of a list whose cells lie in a row, then its tail.
    List { cell: *mut Term, left: usize },
    /// Keys and values, on the stack of values from `first` on.
    Map { first: usize, left: usize },
}

/// Decoding in progress (E3).
pub struct Decoder<'a> {
    options: DecodeOptions<'a>,
    /// What a compressed term held; then the input is this.
    inflated: Option<Vec<u8>>,
    /// Bytes that a compressed term took.
    compressed_size: usize,
    at: usize,
    frames: Vec<Frame>,
    values: Vec<Term>,
    /// Terms that are waited for (E1); an open map is not, until it is complete.
    owed: usize,
    result: Term,
}

// SAFETY: the pointers in frames lead into objects of the Alloc that the decoder is used with, which goes where it goes.
unsafe impl Send for Decoder<'_> {}

/// What was read.
enum Read {
    /// A finished term.
    Term(Term),
    /// A container whose slots are to be filled.
    Open(Term, Frame),
    /// A map of so many keys and values, which becomes a term at its end.
    OpenMap(usize),
}

impl<'a> Decoder<'a> {
    /// A decoder of an external term: version byte, perhaps compression, term.
    pub fn new(input: &[u8], options: DecodeOptions<'a>) -> Result<Decoder<'a>, DecodeError> {
        let mut reader = Reader::new(input, 0);
        if reader.u8()? != VERSION {
            return Err(DecodeError::BadArg);
        }
        if input.get(1) != Some(&tag::COMPRESSED) {
            return Ok(Self::bare(1, options));
        }
        reader.u8()?;
        let size = reader.u32()? as usize;
        let start = reader.position();
        let (inflated, taken) = compress::inflate(reader.take(reader.left())?, size)?;
        let mut decoder = Self::bare(0, options);
        decoder.inflated = Some(inflated);
        decoder.compressed_size = start + taken;
        Ok(decoder)
    }

    /// A decoder of a term without the version byte, from byte `at` on (inside distribution messages).
    pub fn bare(at: usize, options: DecodeOptions<'a>) -> Decoder<'a> {
        let (frames, values) = (Vec::new(), Vec::new());
        Decoder { options, inflated: None, compressed_size: 0, at, frames, values, owed: 1, result: Term::NONE }
    }

    /// Goes on until the term is complete or `budget` is used up (then nothing). `input` is the same bytes each time.
    pub fn run<A: Build + ?Sized>(
        &mut self,
        heap: &mut A,
        input: &[u8],
        budget: &mut usize,
    ) -> Result<Option<Decoded>, DecodeError> {
        let inflated = self.inflated.take();
        let mut reader = Reader::new(inflated.as_deref().unwrap_or(input), self.at);
        let finished = self.steps(heap, &mut reader, budget);
        self.at = reader.position();
        let used = if inflated.is_some() { self.compressed_size } else { self.at };
        self.inflated = inflated;
        Ok(finished?.then_some(Decoded { term: self.result, used }))
    }

    fn steps<A: Build + ?Sized>(
        &mut self,
        heap: &mut A,
        reader: &mut Reader<'_>,
        budget: &mut usize,
    ) -> Result<bool, DecodeError> {
        while self.owed > 0 {
            if *budget == 0 {
                return Ok(false);
            }
            let before = reader.position();
            match self.read(heap, reader)? {
                Read::Term(term) => self.deliver(term),
                Read::Open(term, frame) => {
                    self.deliver(term);
                    self.frames.push(frame);
                }
                Read::OpenMap(left) => {
                    self.owed -= 1;
                    self.frames.push(Frame::Map { first: self.values.len(), left });
                }
            }
            *budget = budget.saturating_sub(1 + (reader.position() - before) / 64);
            self.close_maps(heap)?;
        }
        Ok(true)
    }

    /// Puts a term where it is waited for.
    #[inline]
    fn deliver(&mut self, term: Term) {
        self.owed -= 1;
        let Some(frame) = self.frames.last_mut() else {
            self.result = term;
            return;
        };
        match frame {
            Frame::Slots { next, left } => {
                // SAFETY: `left` more slots of a container made by `read`, which is still where it was (A1, E3).
                unsafe {
                    **next = term;
                    *next = next.add(1);
                }
                *left -= 1;
                if *left == 0 {
                    self.frames.pop();
                }
            }
            Frame::List { cell, left } => {
                *left -= 1;
                // SAFETY: as above; `left` more cells in a row, the last of which has its tail slot behind the head.
                unsafe {
                    **cell = term;
                    if *left == 0 {
                        *frame = Frame::Slots { next: cell.add(1), left: 1 };
                    } else {
                        *cell = cell.add(2);
                    }
                }
            }
            Frame::Map { left, .. } => {
                *left -= 1;
                self.values.push(term);
            }
        }
    }

    /// Builds the maps on top of the stack that are complete.
    #[inline]
    fn close_maps<A: Build + ?Sized>(&mut self, heap: &mut A) -> Result<(), DecodeError> {
        while let Some(Frame::Map { first, left: 0 }) = self.frames.last() {
            let first = *first;
            self.frames.pop();
            let pairs: Vec<map::Pair> = self.values[first..].chunks_exact(2).map(|kv| (kv[0], kv[1])).collect();
            self.values.truncate(first);
            let map = map::from_unique_pairs(heap, &pairs).ok_or(DecodeError::BadArg)?;
            self.owed += 1;
            self.deliver(map);
        }
        Ok(())
    }

    /// Counts `terms` more that are waited for, beside the container itself, if the input can hold them (E1).
    fn owe(&mut self, terms: usize, reader: &Reader<'_>) -> Result<(), DecodeError> {
        let owed = self.owed.checked_add(terms).ok_or(DecodeError::BadArg)?;
        if owed - 1 > reader.left() {
            return Err(DecodeError::BadArg);
        }
        self.owed = owed;
        Ok(())
    }

    /// Reads one term, or the head of a container.
    fn read<A: Build + ?Sized>(&mut self, heap: &mut A, reader: &mut Reader<'_>) -> Result<Read, DecodeError> {
        let term = match reader.u8()? {
            tag::SMALL_INTEGER => Term::small(i64::from(reader.u8()?)),
            tag::INTEGER => Term::small(i64::from(reader.u32()? as i32)),
            tag::NEW_FLOAT => scalar::float(heap, f64::from_bits(reader.u64()?))?,
            tag::FLOAT => scalar::float(heap, scalar::old_float(reader.take(31)?)?)?,
            tag::NIL => Term::NIL,
            tag::STRING => {
                let len = usize::from(reader.u16()?);
                string(heap, reader.take(len)?)
            }
            tag::BINARY => {
                let len = reader.u32()? as usize;
                heap.binary(reader.take(len)?)
            }
            tag::BIT_BINARY => scalar::bit_binary(heap, reader)?,
            tag::SMALL_BIG => {
                let len = usize::from(reader.u8()?);
                scalar::big(heap, reader, len)?
            }
            tag::LARGE_BIG => {
                let len = reader.u32()? as usize;
                scalar::big(heap, reader, len)?
            }
            tag::SMALL_TUPLE => {
                let arity = usize::from(reader.u8()?);
                return self.tuple(heap, reader, arity);
            }
            tag::LARGE_TUPLE => {
                let arity = reader.u32()? as usize;
                return self.tuple(heap, reader, arity);
            }
            tag::LIST => return self.list(heap, reader),
            tag::MAP => {
                let terms = (reader.u32()? as usize).checked_mul(2).ok_or(DecodeError::BadArg)?;
                self.owe(terms, reader)?;
                return Ok(Read::OpenMap(terms));
            }
            tag::NEW_FUN => return self.fun(heap, reader),
            tag::EXPORT => self.export(heap, reader)?,
            form @ (tag::NEW_PID | tag::PID) => scalar::pid(heap, reader, &self.options, form)?,
            form @ (tag::NEW_PORT | tag::PORT | tag::V4_PORT) => scalar::port(heap, reader, &self.options, form)?,
            form @ (tag::NEWER_REFERENCE | tag::NEW_REFERENCE | tag::REFERENCE) => {
                scalar::reference(heap, reader, &self.options, form)?
            }
            atom => self.options.atom_of(atom, reader)?.term(),
        };
        Ok(Read::Term(term))
    }

    fn tuple<A: Build + ?Sized>(
        &mut self,
        heap: &mut A,
        reader: &Reader<'_>,
        arity: usize,
    ) -> Result<Read, DecodeError> {
        if arity > Tuple::MAX_ARITY {
            return Err(DecodeError::BadArg);
        }
        self.owe(arity, reader)?;
        let (tuple, slots) = container(heap, Header::new(Kind::Tuple, arity));
        Ok(if arity == 0 { Read::Term(tuple) } else { Read::Open(tuple, Frame::Slots { next: slots, left: arity }) })
    }

    fn list<A: Build + ?Sized>(&mut self, heap: &mut A, reader: &mut Reader<'_>) -> Result<Read, DecodeError> {
        let mut len = reader.u32()? as usize;
        // A list of no elements is its tail: skip the heads of such lists, however many follow each other (E2).
        while len == 0 {
            let mut ahead = *reader;
            if ahead.u8()? != tag::LIST {
                return self.read(heap, reader);
            }
            len = ahead.u32()? as usize;
            *reader = ahead;
        }
        self.owe(len + 1, reader)?;
        let cells = heap.alloc(2 * len).as_ptr().cast::<Term>();
        // SAFETY: 2 * len fresh words (A2): each cell leads to the next, the last to nil; then a well-formed list.
        let list = unsafe {
            for i in 0..len {
                *cells.add(2 * i) = Term::NIL;
                *cells.add(2 * i + 1) = if i + 1 < len { Term::from_cell(cells.add(2 * i + 2)) } else { Term::NIL };
            }
            Term::from_cell(cells)
        };
        Ok(Read::Open(list, Frame::List { cell: cells, left: len }))
    }

    fn export<A: Build + ?Sized>(&mut self, heap: &mut A, reader: &mut Reader<'_>) -> Result<Term, DecodeError> {
        let (module, function) = (self.options.atom(reader)?, self.options.atom(reader)?);
        let arity = u8::try_from(scalar::integer(reader)?).map_err(|_| DecodeError::BadArg)?;
        let mfa = Mfa { module, function, arity };
        let export =
            if self.options.safe { Export::find(mfa).ok_or(DecodeError::BadArg)? } else { Export::intern(mfa) };
        Ok(heap.boxed(Header::new(Kind::ExportFun, 1), &[pointer_word(export)]))
    }

    fn fun<A: Build + ?Sized>(&mut self, heap: &mut A, reader: &mut Reader<'_>) -> Result<Read, DecodeError> {
        let _size = reader.u32()?;
        let arity = reader.u8()?;
        let uniq = reader.array::<16>()?;
        let index = reader.u32()?;
        let free = reader.u32()? as usize;
        let module = self.options.atom(reader)?;
        let _old_index = scalar::integer(reader)?;
        let old_uniq = scalar::integer(reader)? as u32;
        // The creator and the free variables.
        let terms = free.checked_add(1).ok_or(DecodeError::BadArg)?;
        self.owe(terms, reader)?;
        let entry = FunEntry::intern(module, index, old_uniq, uniq, arity);
        let (fun, slots) = container(heap, Header::new(Kind::Fun, 1 + terms));
        // SAFETY: the first slot of the fresh object.
        let next = unsafe {
            *slots = pointer_word(entry);
            slots.add(1)
        };
        Ok(Read::Open(fun, Frame::Slots { next, left: terms }))
    }
}

/// The address of code as a word of an object that holds terms.
fn pointer_word<T>(to: &'static T) -> Term {
    // SAFETY: exports and entries are 16-byte aligned, so their addresses look like small integers (B2).
    unsafe { Term::from_raw(std::ptr::from_ref(to) as u64) }
}

/// An object of `header`'s kind with all its slots nil.
fn container<A: Build + ?Sized>(heap: &mut A, header: Header) -> (Term, *mut Term) {
    let at = heap.alloc(1 + header.size()).as_ptr();
    // SAFETY: 1 + size fresh words (A2).
    unsafe {
        *at = header.raw();
        let slots = at.add(1).cast::<Term>();
        for i in 0..header.size() {
            *slots.add(i) = Term::NIL;
        }
        (Term::from_boxed(at), slots)
    }
}

fn string<A: Build + ?Sized>(heap: &mut A, bytes: &[u8]) -> Term {
    if bytes.is_empty() {
        return Term::NIL;
    }
    let cells = heap.alloc(2 * bytes.len()).as_ptr().cast::<Term>();
    // SAFETY: 2 * len fresh words (A2); each cell leads to the next, the last to nil.
    unsafe {
        for (i, byte) in bytes.iter().enumerate() {
            *cells.add(2 * i) = Term::small(i64::from(*byte));
            *cells.add(2 * i + 1) = if i + 1 < bytes.len() { Term::from_cell(cells.add(2 * i + 2)) } else { Term::NIL };
        }
        Term::from_cell(cells)
    }
}

/// Decodes an external term at the head of `input`.
pub fn decode<A: Build + ?Sized>(
    heap: &mut A,
    input: &[u8],
    options: DecodeOptions<'_>,
) -> Result<Decoded, DecodeError> {
    let mut unlimited = usize::MAX;
    Decoder::new(input, options)?.run(heap, input, &mut unlimited)?.ok_or(DecodeError::BadArg)
}
