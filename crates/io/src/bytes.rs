//! A queue of bytes in pieces: shared binaries go in and come out without being copied.

use myriad_term::{Build, Kind, SharedBinary, Term, TermRef};
use myriad_vm::Ctx;
use std::collections::VecDeque;

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
        let (whole, offset, len) = term.binary_parts()?;
        if len / 8 > SMALL && offset % 8 == 0 && whole.boxed_kind() == Some(Kind::SharedBinary) {
            let shared = whole.as_boxed()?.shared();
            return Some(Piece::Shared(SharedBinary::clone(&shared), offset / 8, len / 8));
        }
        Some(Piece::Own(bits.to_bytes().into_owned(), 0))
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
            *front = Piece::Shared(SharedBinary::from_vec(std::mem::take(bytes)), start, len);
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
    let mut out = Vec::new();
    let mut rest = vec![term];
    while let Some(mut at) = rest.pop() {
        loop {
            if let Some((head, tail)) = at.as_cons() {
                if let Some(byte) = head.as_small() {
                    out.push(u8::try_from(byte).ok()?);
                    at = tail;
                } else if head.is_list() {
                    rest.push(tail);
                    at = head;
                } else {
                    out.extend_from_slice(&head.as_binary()?);
                    at = tail;
                }
            } else if at.is_nil() {
                break;
            } else {
                // A binary, alone or as the tail of a list. A byte may not be a tail.
                out.extend_from_slice(&at.as_binary()?);
                break;
            }
        }
    }
    Some(out)
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
    fn skipping_stops_inside_a_shared_piece() {
        let mut q = ByteQueue::default();
        q.push(Piece::Shared(SharedBinary::from_bytes(&[7; 2000]), 500, 1000));
        q.skip(999);
        assert_eq!((q.len(), q.front()), (1, &[7u8][..]));
        q.skip(5);
        assert!(q.is_empty());
    }
}
