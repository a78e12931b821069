//! Bytes in pieces: I/O vectors (`ErlNifIOVec`) and queues of them (`ErlNifIOQueue`), as the system call `writev` takes them.
//!
//! IQ1. A piece's bytes are those of the counted binary beside it, which is held, or those of a term of the environment in which the
//!      vector was made, and is alive as long as that is used.

use crate::abi::{IoVector, Piece};
use crate::check::{self, registry};
use myriad_term::binary::SharedBinary;
use myriad_term::{Build, Kind, Term};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;

/// What is behind an I/O vector in a library's hands.
pub(crate) struct Vector {
    pieces: Vec<Piece>,
    /// The words of the counted binaries, which this holds; null where a piece is of a term.
    owners: Vec<*const ()>,
    /// The library's vector, where it brings none.
    own: IoVector,
}

impl Drop for Vector {
    fn drop(&mut self) {
        if check::is_on() {
            registry::vector_goes((&raw const *self).addr());
        }
        for owner in self.owners.drain(..).filter(|owner| !owner.is_null()) {
            // SAFETY: from `into_raw` in `add`, and given back once.
            drop(unsafe { SharedBinary::from_raw(owner) });
        }
    }
}

impl Vector {
    /// The first binaries of a list, `most` of them at most, but one at least, and the rest of the list; nothing if something else is among
    /// them. What has not one whole byte is left out. One that is `lasting` holds all of its bytes.
    pub(crate) fn of_list(list: Term, most: usize, lasting: bool) -> Option<(Box<Vector>, Term)> {
        let mut vector = Box::new(Vector { pieces: Vec::new(), owners: Vec::new(), own: IoVector::EMPTY });
        let mut rest = list;
        for _ in 0..most.max(1) {
            let Some((head, tail)) = rest.as_cons() else { break };
            vector.add(head, lasting)?;
            rest = tail;
        }
        rest.is_list().then_some((vector, rest))
    }

    fn add(&mut self, term: Term, lasting: bool) -> Option<()> {
        let bits = term.as_bits()?;
        if bits.len() < 8 {
            return Some(());
        }
        if !bits.is_binary() {
            return None;
        }
        let (whole, ..) = term.binary_parts()?;
        let shared = whole.as_boxed().filter(|whole| whole.kind() == Kind::SharedBinary);
        let (piece, owner) = match (bits.as_bytes(), shared) {
            (Some(bytes), Some(shared)) => (Piece::of(bytes), Some(SharedBinary::clone(&shared.shared()))),
            (Some(bytes), None) if !lasting => (Piece::of(bytes), None),
            _ => {
                let copy = SharedBinary::from_bytes(&bits.to_bytes());
                (Piece::of(copy.bytes()), Some(copy))
            }
        };
        self.pieces.push(piece);
        self.owners.push(owner.map_or(std::ptr::null(), SharedBinary::into_raw));
        Some(())
    }

    /// Fills in a library's vector, which is this one's own if there is no other, with what leads here.
    pub(crate) fn tell(&mut self, to: *mut IoVector) -> *mut IoVector {
        let this = std::ptr::from_mut(self).cast();
        let filled = IoVector::new(&self.pieces, &self.owners, this);
        let to = if to.is_null() { &raw mut self.own } else { to };
        // SAFETY: ABI1: a library's vector, or this one's own.
        unsafe { to.write(filled) };
        if check::is_on() {
            registry::vector_comes(to.addr(), (&raw const *self).addr());
        }
        to
    }
}

/// Bytes that are to be written (`ErlNifIOQueue`).
#[derive(Default)]
pub struct Queue {
    pieces: VecDeque<Piece>,
    /// The binary of each piece (IQ1).
    owners: VecDeque<SharedBinary>,
    size: usize,
}

impl Queue {
    /// How many bytes there are.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    fn put(&mut self, piece: Piece, owner: SharedBinary) {
        if piece.len() > 0 {
            self.size += piece.len();
            self.pieces.push_back(piece);
            self.owners.push_back(owner);
        }
    }

    /// The bytes of a binary but for the first ones; false if these are more than it has.
    pub(crate) fn put_binary(&mut self, owner: SharedBinary, skip: usize) -> bool {
        let Some(bytes) = owner.bytes().get(skip..) else { return false };
        self.put(Piece::of(bytes), owner);
        true
    }

    /// The bytes of a vector but for the first ones; false if these are more than it has.
    pub(crate) fn put_vector(&mut self, vector: &IoVector, skip: usize) -> bool {
        if skip > vector.size() {
            return false;
        }
        let mut skip = skip;
        for (piece, owner) in vector.parts() {
            let skipped = skip.min(piece.len());
            skip -= skipped;
            let piece = piece.without(skipped);
            if owner.is_null() {
                let copy = SharedBinary::from_bytes(piece.bytes());
                self.put(Piece::of(copy.bytes()), copy);
            } else {
                // SAFETY: IQ1: the vector holds the binary of this word, and goes on to do so.
                let owner = ManuallyDrop::new(unsafe { SharedBinary::from_raw(owner) });
                self.put(piece, SharedBinary::clone(&owner));
            }
        }
        true
    }

    /// Takes so many bytes from the front; false if there are not so many.
    pub(crate) fn take(&mut self, count: usize) -> bool {
        if count > self.size {
            return false;
        }
        self.size -= count;
        let mut left = count;
        while left > 0
            && let Some(first) = self.pieces.front_mut()
        {
            let taken = left.min(first.len());
            left -= taken;
            *first = first.without(taken);
            if first.len() == 0 {
                self.pieces.pop_front();
                self.owners.pop_front();
            }
        }
        true
    }

    /// All pieces, in a row.
    pub(crate) fn pieces(&mut self) -> &[Piece] {
        self.pieces.make_contiguous()
    }

    /// The first piece as a binary, and its size.
    pub(crate) fn first(&self, heap: &mut crate::env::Env) -> Option<(Term, usize)> {
        let (piece, owner) = (self.pieces.front()?, self.owners.front()?);
        let start = piece.bytes().as_ptr().addr() - owner.bytes().as_ptr().addr();
        let whole = heap.shared_binary(owner.clone());
        let all = piece.len() == owner.len();
        Some((if all { whole } else { heap.sub_binary(whole, 8 * start, 8 * piece.len()) }, piece.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(queue: &mut Queue) -> Vec<u8> {
        queue.pieces().iter().flat_map(|piece| piece.bytes().to_vec()).collect()
    }

    #[test]
    fn bytes_leave_in_the_order_in_which_they_came() {
        let mut queue = Queue::default();
        assert!(queue.put_binary(SharedBinary::from_bytes(b"abcdef"), 2));
        assert!(queue.put_binary(SharedBinary::from_bytes(b"none"), 4));
        assert!(!queue.put_binary(SharedBinary::from_bytes(b"none"), 5));
        assert!(queue.put_binary(SharedBinary::from_bytes(b"ghi"), 0));
        assert_eq!((queue.size(), queue.pieces().len(), bytes(&mut queue)), (7, 2, b"cdefghi".to_vec()));
        assert!(queue.take(5) && !queue.take(3));
        assert_eq!((queue.size(), bytes(&mut queue)), (2, b"hi".to_vec()));
        assert!(queue.take(2) && queue.take(0) && !queue.take(1));
        assert_eq!((queue.size(), queue.pieces().len(), queue.owners.len()), (0, 0, 0));
    }
}
