//! A queue of bytes in pieces: shared binaries go in and come out without being copied. And reading to where bytes are to stay.

use myriad_term::{BinaryBuffer, Build, Kind, SharedBinary, Term, TermRef};
use myriad_vm::Ctx;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ops::Deref;
use std::os::fd::BorrowedFd;

/// Pieces up to this size are copied together rather than kept apart.
const SMALL: usize = 256;
/// A piece that small ones are gathered in is filled up to this size.
const GATHERED: usize = 4096;

/// A run of bytes.
pub enum Piece {
    /// Part of a shared binary.
    Shared(SharedBinary, usize, usize),
    /// Own bytes, of which some at the start are used up.
    Own(Vec<u8>, usize),
}

impl Piece {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Piece::Shared(binary, start, len) => binary.bytes().get(*start..*start + *len).unwrap_or(&[]),
            Piece::Own(bytes, start) => bytes.get(*start..).unwrap_or(&[]),
        }
    }

    /// Drops the first `count` bytes, or all.
    pub fn skip(&mut self, count: usize) {
        match self {
            Piece::Shared(_, start, len) => {
                let count = count.min(*len);
                (*start, *len) = (*start + count, *len - count);
            }
            Piece::Own(bytes, start) => *start = (*start + count).min(bytes.len()),
        }
    }

    /// A part of a shared binary if the term is one, else a copy; nothing if the term is no binary.
    pub fn of(term: TermRef<'_>) -> Option<Piece> {
        let bits = term.as_bits()?;
        if !bits.is_binary() {
            return None;
        }
        if bits.len() / 8 > SMALL
            && let Some(shared) = Piece::shared(term)
        {
            return Some(shared);
        }
        Some(Piece::Own(bits.to_bytes().into_owned(), 0))
    }

    /// A part of a shared binary, if the term is one.
    fn shared(term: TermRef<'_>) -> Option<Piece> {
        let (whole, offset, len) = term.binary_parts()?;
        if offset % 8 != 0 || len % 8 != 0 || whole.boxed_kind() != Some(Kind::SharedBinary) {
            return None;
        }
        Some(Piece::Shared(SharedBinary::clone(&whole.as_boxed()?.shared()), offset / 8, len / 8))
    }

    /// As a binary, without copying a large piece.
    pub fn into_term(self, ctx: &mut Ctx<'_>) -> Term {
        match self {
            Piece::Shared(binary, start, len) if len > SMALL => {
                let all = start == 0 && len == binary.len();
                let whole = ctx.shared_binary(binary);
                if all { whole } else { ctx.sub_binary(whole, start * 8, len * 8) }
            }
            other => ctx.binary(other.bytes()),
        }
    }
}

/// Bytes that are told to somebody.
#[derive(Debug)]
pub enum Run<'a> {
    /// Of another.
    Borrowed(&'a [u8]),
    /// In memory that they can stay in.
    Owned(BinaryBuffer),
}

impl PartialEq for Run<'_> {
    fn eq(&self, other: &Run<'_>) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Run<'_> {}

impl Run<'_> {
    /// As a binary, without copying those that may stay.
    pub fn into_term<'b, B: Build<'b>>(self, memory: &mut B) -> TermRef<'b> {
        match self {
            Run::Borrowed(bytes) => memory.binary(bytes),
            Run::Owned(bytes) => bytes.into_term(memory),
        }
    }
}

impl Deref for Run<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Run::Borrowed(bytes) => bytes,
            Run::Owned(bytes) => bytes,
        }
    }
}

/// A queue of pieces.
#[derive(Default)]
pub struct ByteQueue {
    pieces: VecDeque<Piece>,
    len: usize,
}

impl ByteQueue {
    /// Number of bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// No bytes?
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a piece at the end.
    pub fn push(&mut self, piece: Piece) {
        let bytes = piece.bytes();
        if bytes.is_empty() {
            return;
        }
        self.len += bytes.len();
        if bytes.len() <= SMALL
            && let Some(Piece::Own(last, _)) = self.pieces.back_mut()
            && last.len() + bytes.len() <= GATHERED
        {
            last.extend_from_slice(bytes);
        } else {
            self.pieces.push_back(piece);
        }
    }

    /// The pieces, first one first.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces.iter().map(Piece::bytes)
    }

    /// The bytes of the first piece.
    pub fn front(&self) -> &[u8] {
        self.pieces.front().map_or(&[], Piece::bytes)
    }

    /// The first piece again as a binary; it stays in the queue.
    pub fn front_term(&mut self, ctx: &mut Ctx<'_>) -> Option<Term> {
        let front = self.pieces.front_mut()?;
        if let Piece::Own(bytes, start) = front {
            let (start, len) = (*start, bytes.len() - *start);
            *front = Piece::Shared(SharedBinary::from_bytes(bytes), start, len);
        }
        match front {
            Piece::Shared(binary, start, len) => Some(Piece::Shared(binary.clone(), *start, *len).into_term(ctx)),
            Piece::Own(..) => None,
        }
    }

    /// Drops the first `count` bytes, or all.
    pub fn skip(&mut self, mut count: usize) {
        count = count.min(self.len);
        self.len -= count;
        while count > 0 {
            let Some(front) = self.pieces.front_mut() else { return };
            let size = front.bytes().len();
            if size <= count {
                count -= size;
                self.pieces.pop_front();
                continue;
            }
            return front.skip(count);
        }
    }

    /// Takes out the first `count` bytes, or all.
    pub fn take(&mut self, count: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(count.min(self.len));
        for piece in self.pieces() {
            let part = piece.len().min(count - out.len());
            out.extend_from_slice(&piece[..part]);
            if out.len() == count {
                break;
            }
        }
        self.skip(count);
        out
    }

    /// Place of the first `byte`.
    pub fn find(&self, byte: u8) -> Option<usize> {
        let mut before = 0;
        for piece in self.pieces() {
            if let Some(at) = memchr::memchr(byte, piece) {
                return Some(before + at);
            }
            before += piece.len();
        }
        None
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.len = 0;
    }
}

/// The binaries of an I/O vector; nothing if the term is none.
pub fn io_vector(list: TermRef<'_>) -> Option<Vec<Piece>> {
    let mut items = list.list_iter();
    let pieces: Option<Vec<Piece>> = items.by_ref().map(Piece::of).collect();
    pieces.filter(|_| items.tail().is_nil())
}

/// All bytes of an iolist or binary, in one run; nothing if the term is none. Iterative: iolists may be millions deep.
pub fn iodata(term: TermRef<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(FEW);
    for part in Parts::of(term) {
        match part {
            Part::Byte(byte) => out.push(u8::try_from(byte).ok()?),
            Part::Binary(binary) => out.extend_from_slice(&binary.as_binary()?),
        }
    }
    Some(out)
}

/// What is sent at once: all in one piece, or several where large binaries are among it.
pub enum Output {
    /// One piece.
    One(Piece),
    /// Several, in order.
    Several(Vec<Piece>),
}

/// Binaries in a list that are at least so large stand for themselves, where that is only a question of cost: to copy a smaller one costs less.
pub const APART: usize = 4096;

impl Output {
    /// The bytes of a binary or an iolist; nothing if the term is none. Shared binaries of `apart` bytes or more stand for themselves, uncopied.
    pub fn of(term: TermRef<'_>, apart: usize) -> Option<Output> {
        let shared = |term: TermRef<'_>| Piece::shared(term).filter(|piece| piece.bytes().len() >= apart);
        if term.is_bitstring() {
            return shared(term).or_else(|| Piece::of(term)).map(Output::One);
        }
        if !term.is_list() {
            return None;
        }
        let (mut pieces, mut run) = (Vec::new(), Vec::with_capacity(FEW));
        for part in Parts::of(term) {
            match part {
                Part::Byte(byte) => run.push(u8::try_from(byte).ok()?),
                Part::Binary(binary) => match shared(binary) {
                    Some(piece) => {
                        if !run.is_empty() {
                            pieces.push(Piece::Own(std::mem::take(&mut run), 0));
                        }
                        pieces.push(piece);
                    }
                    None => run.extend_from_slice(&binary.as_binary()?),
                },
            }
        }
        if pieces.is_empty() {
            return Some(Output::One(Piece::Own(run, 0)));
        }
        if !run.is_empty() {
            pieces.push(Piece::Own(run, 0));
        }
        Some(Output::Several(pieces))
    }

    /// Number of bytes.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.pieces().iter().map(|piece| piece.bytes().len()).sum()
    }

    /// The pieces.
    pub fn pieces(&self) -> &[Piece] {
        match self {
            Output::One(piece) => std::slice::from_ref(piece),
            Output::Several(pieces) => pieces,
        }
    }

    /// All in one piece.
    pub fn into_one(self) -> Piece {
        match self {
            Output::One(piece) => piece,
            Output::Several(pieces) => Piece::Own(pieces.iter().flat_map(|piece| piece.bytes()).copied().collect(), 0),
        }
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces().iter().flat_map(|piece| piece.bytes()).copied().collect()
    }
}

/// Room for a short iolist, such as a request to a port.
const FEW: usize = 64;

/// A part of an iolist.
enum Part<'h> {
    /// What stands where a byte may.
    Byte(i64),
    /// What stands where a binary may.
    Binary(TermRef<'h>),
}

/// The parts of what may be an iolist, in order.
struct Parts<'h> {
    at: Option<TermRef<'h>>,
    /// The lists around it, behind it.
    rest: Vec<TermRef<'h>>,
}

impl<'h> Parts<'h> {
    fn of(term: TermRef<'h>) -> Parts<'h> {
        Parts { at: Some(term), rest: Vec::new() }
    }
}

impl<'h> Iterator for Parts<'h> {
    type Item = Part<'h>;

    #[inline]
    fn next(&mut self) -> Option<Part<'h>> {
        loop {
            let at = self.at?;
            let Some((head, tail)) = at.as_cons() else {
                self.at = self.rest.pop();
                if at.is_nil() {
                    continue;
                }
                // A binary, alone or as the tail of a list. A byte may not be a tail.
                return Some(Part::Binary(at));
            };
            self.at = Some(tail);
            if let Some(byte) = head.as_small() {
                return Some(Part::Byte(byte));
            }
            if !head.is_list() {
                return Some(Part::Binary(head));
            }
            self.rest.push(tail);
            self.at = Some(head);
        }
    }
}

/// Reads at most `most` bytes to the end of a buffer that has room.
pub(crate) fn read_onto(fd: BorrowedFd<'_>, bytes: &mut BinaryBuffer, most: usize) -> Result<usize, Errno> {
    let room = bytes.spare();
    let most = most.min(room.len());
    let (read, _) = rustix::io::read(fd, &mut room[..most])?;
    let count = read.len();
    // SAFETY: that many bytes have been read to there.
    unsafe { bytes.advance(count) };
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(bytes: &[u8]) -> Piece {
        Piece::Own(bytes.to_vec(), 0)
    }

    #[test]
    fn small_pieces_are_gathered_and_large_ones_kept() {
        let mut q = ByteQueue::default();
        q.push(own(b"abc"));
        q.push(own(b"de"));
        q.push(own(&[b'x'; 1000]));
        q.push(Piece::Shared(SharedBinary::from_bytes(b"..yz.."), 2, 2));
        assert_eq!(q.pieces().map(<[u8]>::len).collect::<Vec<_>>(), [5, 1002]);
        assert_eq!((q.len(), q.find(b'z'), q.find(b'q')), (1007, Some(1006), None));
        assert_eq!(q.take(4), b"abcd");
        q.skip(1000);
        assert_eq!(q.take(10), b"xyz"[..].to_vec());
        assert!(q.is_empty() && q.front().is_empty());
    }

    #[test]
    fn iodata_is_flattened() {
        use myriad_term::{Arena, Build};
        let mut arena = &Arena::new();
        let binary = arena.binary(b"xyz");
        let inner = arena.list_onto(&[Term::small(1), binary], binary);
        let list = arena.list(&[inner, Term::NIL, Term::small(255)]);
        assert_eq!(iodata(list).as_deref(), Some(&b"\x01xyzxyz\xff"[..]));
        assert_eq!(iodata(binary).as_deref(), Some(&b"xyz"[..]));
        let bad = arena.list(&[Term::small(256)]);
        assert_eq!((iodata(bad), iodata(Term::small(1)), iodata(Term::OK)), (None, None, None));
        let improper = arena.cons(Term::small(1), Term::small(2));
        assert_eq!(iodata(improper), None);
        let mut deep = Term::NIL;
        (0..1_000_000).for_each(|_| deep = arena.cons(deep, Term::NIL));
        assert_eq!(iodata(deep).as_deref(), Some(&[][..]));
    }

    #[test]
    fn large_binaries_in_a_list_stay_where_they_are() {
        use myriad_term::{Arena, Build};
        let mut arena = &Arena::new();
        let large = arena.binary(&[7; APART]);
        let small = arena.binary(b"abc");
        let inner = arena.list(&[small, large, small]);
        let list = arena.list_onto(&[Term::small(1), inner, large], small);
        let Some(Output::Several(pieces)) = Output::of(list, APART) else { panic!("several pieces") };
        assert_eq!(pieces.iter().map(|p| p.bytes().len()).collect::<Vec<_>>(), [4, APART, 3, APART, 3]);
        assert!(matches!(pieces[1], Piece::Shared(..)));
        assert_eq!(Output::Several(pieces).to_vec(), iodata(list).unwrap());
        assert!(matches!(Output::of(small, APART), Some(Output::One(_))));
        let bad = arena.list(&[large, Term::OK]);
        assert!(Output::of(bad, APART).is_none() && Output::of(Term::OK, APART).is_none());
    }

    #[test]
    fn skipping_stops_inside_a_shared_piece() {
        let mut q = ByteQueue::default();
        q.push(Piece::Shared(SharedBinary::from_bytes(&[7; 2000]), 500, 1000));
        q.skip(999);
        assert_eq!((q.len(), q.front()), (1, &[7u8][..]));
        q.skip(5);
        assert!(q.is_empty());
    }
}
