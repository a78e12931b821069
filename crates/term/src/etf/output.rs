//! Where the encoder's bytes go: what may become a binary, with binaries to be put between its bytes.

use crate::binary::{BinaryBuffer, SharedBinary};

/// Part of an encoded term.
pub enum Piece {
    /// Bytes made by the encoder.
    Bytes(BinaryBuffer),
    /// Bytes of a binary in the term.
    Shared {
        /// The binary.
        binary: SharedBinary,
        /// First byte.
        offset: usize,
        /// Number of bytes.
        len: usize,
    },
}

/// A binary that belongs between the bytes.
pub(super) struct Insertion {
    pub(super) at: usize,
    pub(super) binary: SharedBinary,
    pub(super) offset: usize,
    pub(super) len: usize,
}

/// Where the bytes go.
pub(super) struct Output {
    pub(super) bytes: BinaryBuffer,
    pub(super) insertions: Vec<Insertion>,
    /// Bytes of the insertions.
    pub(super) inserted: usize,
    pub(super) pieces: bool,
}

impl Output {
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// All bytes so far.
    #[inline]
    pub(super) fn total(&self) -> usize {
        self.bytes.len() + self.inserted
    }

    #[inline]
    pub(super) fn u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    #[inline]
    pub(super) fn tagged_u32(&mut self, tag: u8, value: u32) {
        let [a, b, c, d] = value.to_be_bytes();
        self.put(&[tag, a, b, c, d]);
    }

    /// All bytes, the binaries between them as they are.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        let Output { bytes, insertions, .. } = self;
        let mut pieces = Vec::with_capacity(2 * insertions.len() + 1);
        let mut from = 0;
        for Insertion { at, binary, offset, len } in insertions {
            pieces.push(Piece::Bytes(BinaryBuffer::from(&bytes[from..at])));
            pieces.push(Piece::Shared { binary, offset, len });
            from = at;
        }
        if from < bytes.len() {
            pieces.push(Piece::Bytes(BinaryBuffer::from(&bytes[from..])));
        }
        pieces
    }
}
