//! `binary_to_term`: from bytes to terms.
//!
//! Terms are built as they are read. A container is made at once, filled with nil, and a frame remembers which of its slots
//! comes next; so nothing is read twice, an error leaves only well-formed garbage, and long lists need no stack. Only the
//! pairs of hash maps wait in a buffer: their places are known at the end.

use super::reader::Reader;
use super::{NodeIdentity, VERSION, compress, scalar, tag};
use crate::alloc::Build;
use crate::atom::{Atom, AtomError};
use crate::boxed::{Header, Kind, Tuple};
use crate::code::{Export, FunEntry, FunId, Mfa};
use crate::map;
use crate::word::{Term, TermRef};

/// Bytes of a string, binary or integer that cost as much as a term.
const BYTES_PER_STEP: usize = 64;

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
    /// This node's identity.
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
        if let Some(atom) = Atom::recent(bytes)
            && (!latin1 || bytes.is_ascii())
        {
            return Ok(atom);
        }
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
pub struct Decoded<'h> {
    /// The term.
    pub term: TermRef<'h>,
    /// Bytes of the input that it took (the option `used`).
    pub used: usize,
}

/// What is done with a container once it is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    /// Nothing.
    Row,
    /// The cells of a list, whose last wants its tail.
    Cells,
    /// A flat map, whose keys want to be in order.
    FlatMap,
    /// The pairs of a hash map, in the last of the buffers, of which the map is made.
    HashMap,
    /// This was the whole term.
    Root,
}

/// An open container: where the next terms go. From one place to the next it is `step` words, then `other`, by turns.
#[derive(Clone, Copy)]
struct Frame<'h> {
    next: *mut TermRef<'h>,
    left: usize,
    step: isize,
    other: isize,
    close: Close,
}

impl<'h> Frame<'h> {
    /// Places in a row.
    #[inline]
    fn row(next: *mut TermRef<'h>, left: usize, close: Close) -> Frame<'h> {
        Frame { next, left, step: 1, other: 1, close }
    }

    /// Puts a term where it is waited for.
    ///
    /// # Safety
    /// Something is (`left` is not zero), in a container that is still where it was (term/A1, term/E3).
    #[inline(always)]
    unsafe fn put(&mut self, term: TermRef<'h>) {
        debug_assert!(self.left > 0);
        // SAFETY: the caller promises that a place waits for a term, in a container that stands. The address behind the last is not used.
        unsafe { *self.next = term };
        self.next = self.next.wrapping_offset(self.step);
        std::mem::swap(&mut self.step, &mut self.other);
        self.left -= 1;
    }

    /// The tail of a list all of whose elements are there.
    fn tail(&self) -> Frame<'h> {
        // `next` is the word behind the last cell.
        Frame::row(self.next.wrapping_sub(1), 1, Close::Row)
    }

    /// Terms that are waited for.
    fn owed(&self) -> usize {
        self.left + usize::from(self.close == Close::Cells)
    }
}

/// Decoding in progress (term/E3).
pub struct Decoder<'a, 'h> {
    options: DecodeOptions<'a>,
    /// What a compressed term held; then the input is this.
    inflated: Option<Vec<u8>>,
    /// Bytes that a compressed term took.
    compressed_size: usize,
    at: usize,
    /// The innermost open container.
    frame: Frame<'h>,
    /// Those around it; the first is the place of the whole term.
    frames: Vec<Frame<'h>>,
    /// Keys and values of the open hash maps.
    buffers: Vec<Vec<TermRef<'h>>>,
    /// Terms that the containers around the innermost wait for (term/E1).
    owed: usize,
    result: TermRef<'h>,
}

// SAFETY: the pointers in frames lead into objects of the Alloc that the decoder is used with, which goes where it goes, and
// into its own buffers.
unsafe impl Send for Decoder<'_, '_> {}

impl<'a, 'h> Decoder<'a, 'h> {
    /// A decoder of an external term: version byte, perhaps compression, term.
    pub fn new(input: &[u8], options: DecodeOptions<'a>) -> Result<Self, DecodeError> {
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
    pub fn bare(at: usize, options: DecodeOptions<'a>) -> Self {
        // Where the whole term goes, each run says anew.
        let frame = Frame::row(std::ptr::null_mut(), 1, Close::Root);
        let (frames, buffers) = (Vec::new(), Vec::new());
        Decoder { options, inflated: None, compressed_size: 0, at, frame, frames, buffers, owed: 0, result: Term::NONE }
    }

    /// Goes on until the term is complete or `budget` is used up (then nothing). `input` is the same bytes each time.
    pub fn run<A: Build<'h> + ?Sized>(
        &mut self,
        heap: &mut A,
        input: &[u8],
        budget: &mut usize,
    ) -> Result<Option<Decoded<'h>>, DecodeError> {
        let inflated = self.inflated.take();
        let mut reader = Reader::new(inflated.as_deref().unwrap_or(input), self.at);
        let mut result = self.result;
        let root = self.frames.first_mut().unwrap_or(&mut self.frame);
        if root.left > 0 {
            root.next = &raw mut result;
        }
        let finished = self.steps(heap, &mut reader, budget);
        self.result = result;
        self.at = reader.position();
        let used = if inflated.is_some() { self.compressed_size } else { self.at };
        self.inflated = inflated;
        Ok(finished?.then_some(Decoded { term: result, used }))
    }

    /// Reads terms and puts them where they belong; false if the budget is used up before the whole is there.
    fn steps<A: Build<'h> + ?Sized>(
        &mut self,
        heap: &mut A,
        reader: &mut Reader<'_>,
        budget: &mut usize,
    ) -> Result<bool, DecodeError> {
        let (mut frame, mut steps) = (self.frame, *budget);
        loop {
            if steps == 0 {
                (self.frame, *budget) = (frame, 0);
                return Ok(false);
            }
            steps -= 1;
            let term = match reader.u8()? {
                tag::SMALL_INTEGER => Term::small(i64::from(reader.u8()?)),
                tag::INTEGER => Term::small(i64::from(reader.u32()? as i32)),
                tag::NEW_FLOAT => scalar::float(heap, f64::from_bits(reader.u64()?))?,
                tag::FLOAT => scalar::float(heap, scalar::old_float(reader.take(31)?)?)?,
                tag::NIL => Term::NIL,
                tag::STRING => {
                    let len = usize::from(reader.u16()?);
                    steps = steps.saturating_sub(len / BYTES_PER_STEP);
                    heap.byte_list(reader.take(len)?, Term::NIL)
                }
                tag::BINARY => {
                    let len = reader.u32()? as usize;
                    steps = steps.saturating_sub(len / BYTES_PER_STEP);
                    heap.binary(reader.take(len)?)
                }
                tag::BIT_BINARY => scalar::bit_binary(heap, reader)?,
                tag::SMALL_BIG => {
                    let len = usize::from(reader.u8()?);
                    scalar::big(heap, reader, len)?
                }
                tag::LARGE_BIG => {
                    let len = reader.u32()? as usize;
                    steps = steps.saturating_sub(len / BYTES_PER_STEP);
                    scalar::big(heap, reader, len)?
                }
                form @ (tag::SMALL_TUPLE | tag::LARGE_TUPLE) => {
                    let arity =
                        if form == tag::SMALL_TUPLE { usize::from(reader.u8()?) } else { reader.u32()? as usize };
                    if arity > Tuple::MAX_ARITY {
                        return Err(DecodeError::BadArg);
                    }
                    self.check_claim(&frame, arity, reader)?;
                    let (tuple, slots) = container(heap, Header::new(Kind::Tuple, arity));
                    if arity > 0 {
                        self.open(&mut frame, Some(tuple), Frame::row(slots, arity, Close::Row));
                        continue;
                    }
                    tuple
                }
                tag::LIST => {
                    let len = reader.u32()? as usize;
                    if len == 0 {
                        // A list of no elements is its tail.
                        continue;
                    }
                    self.check_claim(&frame, len.saturating_add(1), reader)?;
                    let cells = blank_list(heap, len);
                    // SAFETY: the first cell of a well-formed list.
                    let list = unsafe { TermRef::from_cell(cells) };
                    let inner = Frame { next: cells, left: len, step: 2, other: 2, close: Close::Cells };
                    self.open(&mut frame, Some(list), inner);
                    continue;
                }
                tag::MAP => {
                    let size = reader.u32()? as usize;
                    self.check_claim(&frame, size.saturating_mul(2), reader)?;
                    if size > map::FLAT_LIMIT {
                        let mut pairs = vec![Term::NIL; 2 * size];
                        let inner = Frame::row(pairs.as_mut_ptr(), 2 * size, Close::HashMap);
                        self.buffers.push(pairs);
                        self.open(&mut frame, None, inner);
                        continue;
                    }
                    let (map, keys) = map::blank(heap, size);
                    if size > 0 {
                        // A value stands `size + 2` words behind its key.
                        let step = size as isize + 2;
                        let inner = Frame { next: keys, left: 2 * size, step, other: 1 - step, close: Close::FlatMap };
                        self.open(&mut frame, Some(map), inner);
                        continue;
                    }
                    map
                }
                tag::NEW_FUN => {
                    let (fun, inner) = self.fun(heap, reader, &frame)?;
                    self.open(&mut frame, Some(fun), inner);
                    continue;
                }
                tag::EXPORT => self.export(heap, reader)?,
                form @ (tag::NEW_PID | tag::PID) => scalar::pid(heap, reader, &self.options, form)?,
                form @ (tag::NEW_PORT | tag::PORT | tag::V4_PORT) => scalar::port(heap, reader, &self.options, form)?,
                form @ (tag::NEWER_REFERENCE | tag::NEW_REFERENCE | tag::REFERENCE) => {
                    scalar::reference(heap, reader, &self.options, form)?
                }
                atom => self.options.atom_of(atom, reader)?.term(),
            };
            // SAFETY: a frame with nothing left is closed before the next term is read.
            unsafe { frame.put(term) };
            while frame.left == 0 {
                if !self.close(heap, &mut frame)? {
                    (self.frame, *budget) = (frame, steps);
                    return Ok(true);
                }
            }
        }
    }

    /// A container that is not empty has begun: its term (if it is known before its end) goes where it belongs, and the next
    /// terms go into it.
    #[inline]
    fn open(&mut self, frame: &mut Frame<'h>, term: Option<TermRef<'h>>, inner: Frame<'h>) {
        if let Some(term) = term {
            // SAFETY: a frame with nothing left is closed before the next term is read.
            unsafe { frame.put(term) };
        }
        if frame.left == 0 && frame.close == Close::Cells {
            *frame = frame.tail();
        }
        // What is full and wants nothing more needs no place on the stack, so that long chains need no memory.
        if frame.left > 0 || frame.close != Close::Row {
            // The term at hand is being read: it is waited for no more.
            self.owed += frame.owed() - usize::from(term.is_none());
            self.frames.push(*frame);
        }
        *frame = inner;
    }

    /// A container is full: takes up what comes after it; false if that was all.
    #[inline]
    fn close<A: Build<'h> + ?Sized>(&mut self, heap: &mut A, frame: &mut Frame<'h>) -> Result<bool, DecodeError> {
        let mut made = None;
        match frame.close {
            Close::Row => {}
            Close::Cells => {
                *frame = frame.tail();
                return Ok(true);
            }
            Close::FlatMap => {
                // SAFETY: `next` has come to the end of the keys of a map that `map::blank` made, of this size.
                let unique = unsafe { map::sort_blank(frame.next, frame.step as usize - 2) };
                if !unique {
                    return Err(DecodeError::BadArg);
                }
            }
            Close::HashMap => {
                let buffer = self.buffers.pop().unwrap_or_default();
                let pairs: Vec<map::Pair<'h>> = buffer.chunks_exact(2).map(|kv| (kv[0], kv[1])).collect();
                made = Some(map::from_unique_pairs(heap, &pairs).ok_or(DecodeError::BadArg)?);
            }
            Close::Root => return Ok(false),
        }
        // The place of the whole term is below all.
        let Some(outer) = self.frames.pop() else { return Err(DecodeError::BadArg) };
        self.owed -= outer.owed() - usize::from(made.is_some());
        *frame = outer;
        if let Some(map) = made {
            // SAFETY: a hash map's term is still waited for while its pairs are read.
            unsafe { frame.put(map) };
        }
        Ok(true)
    }

    /// Can the input hold `terms` more than are waited for already, beside the container itself (term/E1)?
    #[inline]
    fn check_claim(&self, frame: &Frame<'h>, terms: usize, reader: &Reader<'_>) -> Result<(), DecodeError> {
        let owed = (self.owed + frame.owed() - 1).saturating_add(terms);
        if owed > reader.left() { Err(DecodeError::BadArg) } else { Ok(()) }
    }

    fn export<A: Build<'h> + ?Sized>(
        &mut self,
        heap: &mut A,
        reader: &mut Reader<'_>,
    ) -> Result<TermRef<'h>, DecodeError> {
        let (module, function) = (self.options.atom(reader)?, self.options.atom(reader)?);
        let arity = u8::try_from(scalar::integer(reader)?).map_err(|_| DecodeError::BadArg)?;
        let mfa = Mfa { module, function, arity };
        let export =
            if self.options.safe { Export::find(mfa).ok_or(DecodeError::BadArg)? } else { Export::intern(mfa) };
        Ok(heap.boxed(Header::new(Kind::ExportFun, 1), &[pointer_word(export)]))
    }

    fn fun<A: Build<'h> + ?Sized>(
        &mut self,
        heap: &mut A,
        reader: &mut Reader<'_>,
        frame: &Frame<'h>,
    ) -> Result<(TermRef<'h>, Frame<'h>), DecodeError> {
        // Nothing hangs on what it says of its size.
        let _size = reader.u32()?;
        let arity = reader.u8()?;
        let uniq = reader.array::<16>()?;
        let index = reader.u32()? as i32;
        let free = u8::try_from(reader.u32()?).map_err(|_| DecodeError::BadArg)?;
        let module = self.options.atom(reader)?;
        // Of the old numbers, the low bits count.
        let (old_index, old_uniq) = (scalar::integer(reader)? as i32, scalar::integer(reader)? as i32);
        // The creator and the free variables.
        let terms = usize::from(free) + 1;
        self.check_claim(frame, terms, reader)?;
        let entry = FunEntry::intern(FunId { module, index, old_index, old_uniq, uniq, arity, free });
        let (fun, slots) = container(heap, Header::new(Kind::Fun, 1 + terms));
        // SAFETY: the first slot of the fresh object.
        let next = unsafe {
            *slots = pointer_word(entry);
            slots.add(1)
        };
        Ok((fun, Frame::row(next, terms, Close::Row)))
    }
}

/// The address of code as a word of an object that holds terms.
fn pointer_word<T>(to: &'static T) -> Term {
    // SAFETY: exports and entries are 16-byte aligned, so their addresses look like small integers (term/B2).
    unsafe { Term::from_raw(std::ptr::from_ref(to) as u64) }
}

/// An object of `header`'s kind with all its slots nil.
fn container<'h, A: Build<'h> + ?Sized>(heap: &mut A, header: Header) -> (TermRef<'h>, *mut TermRef<'h>) {
    let at = heap.alloc(1 + header.size()).as_ptr();
    // SAFETY: 1 + size fresh words (term/A2).
    unsafe {
        *at = header.raw();
        let slots = at.add(1).cast::<TermRef<'h>>();
        for i in 0..header.size() {
            *slots.add(i) = Term::NIL;
        }
        (Term::from_boxed(at), slots)
    }
}

/// A list of `len` nils, at least one, in cells in a row: the first of them.
fn blank_list<'h, A: Build<'h> + ?Sized>(heap: &mut A, len: usize) -> *mut TermRef<'h> {
    let cells = heap.alloc(2 * len).as_ptr().cast::<TermRef<'h>>();
    // SAFETY: 2 * len fresh words (term/A2): each cell leads to the next, the last to nil.
    unsafe {
        for i in 0..len {
            *cells.add(2 * i) = Term::NIL;
            *cells.add(2 * i + 1) = TermRef::from_cell(cells.add(2 * i + 2));
        }
        *cells.add(2 * len - 1) = Term::NIL;
    }
    cells
}

/// Decodes an external term at the head of `input`.
pub fn decode<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    input: &[u8],
    options: DecodeOptions<'_>,
) -> Result<Decoded<'h>, DecodeError> {
    let mut unlimited = usize::MAX;
    Decoder::new(input, options)?.run(heap, input, &mut unlimited)?.ok_or(DecodeError::BadArg)
}
