//! [`BinaryBuffer`]: bytes that grow, and become a shared binary where they are.
//!
//! BB1. With a capacity, a buffer's `data` is behind the place of a [`Block`] in memory of [`Block::layout`], and the first `len` bytes there are written.

use super::{Block, HEAP_BINARY_LIMIT, Room, SHARED, SharedBinary};
use crate::alloc::Build;
use crate::memory;
use crate::word::TermRef;
use myriad_sync::Count;
use std::alloc::{alloc, dealloc, realloc};
use std::fmt::{self, Debug, Formatter};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The least room that is made, bytes.
const LEAST: usize = 32;

/// Bytes that grow as a vector's do. Before them is room for a shared binary's block.
pub struct BinaryBuffer {
    data: NonNull<u8>,
    len: usize,
    capacity: usize,
}

// SAFETY: the memory is the buffer's alone.
unsafe impl Send for BinaryBuffer {}
// SAFETY: as above; through a shared reference it is only read.
unsafe impl Sync for BinaryBuffer {}

/// There is no memory for so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

impl BinaryBuffer {
    /// Without memory.
    pub const fn new() -> BinaryBuffer {
        BinaryBuffer { data: NonNull::dangling(), len: 0, capacity: 0 }
    }

    /// With room for so many bytes.
    pub fn with_capacity(capacity: usize) -> BinaryBuffer {
        let mut buffer = BinaryBuffer::new();
        buffer.reserve_exact(capacity);
        buffer
    }

    /// Bytes that fit without more memory.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes room for so many more bytes. Without memory the VM ends.
    #[inline]
    pub fn reserve(&mut self, more: usize) {
        if more > self.capacity - self.len {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let wanted = self.len.saturating_add(more).max(2 * self.capacity).max(LEAST);
        self.resize(wanted);
    }

    /// Makes room for so many more bytes and hardly more. Without memory the VM ends.
    pub fn reserve_exact(&mut self, more: usize) {
        if more > self.capacity - self.len {
            self.resize(self.len.saturating_add(more));
        }
    }

    /// The same, but tells if there is no memory.
    pub fn try_reserve_exact(&mut self, more: usize) -> Result<(), NoRoom> {
        let wanted = self.len.checked_add(more).filter(|wanted| *wanted <= isize::MAX as usize / 2).ok_or(NoRoom)?;
        if wanted <= self.capacity || memory::fallibly(|| self.move_to(wanted)) { Ok(()) } else { Err(NoRoom) }
    }

    fn resize(&mut self, capacity: usize) {
        let size = Block::layout(capacity).size();
        let moved = if size < memory::NAMED {
            self.move_to(capacity)
        } else {
            memory::named(memory::BINARY, || self.move_to(capacity))
        };
        if !moved {
            memory::exhausted(memory::BINARY, capacity);
        }
    }

    /// Takes memory of another size, at least what is written. False: there is none.
    fn move_to(&mut self, capacity: usize) -> bool {
        let layout = Block::layout(capacity);
        debug_assert!(capacity >= self.len);
        // SAFETY: BB1; no layout is empty.
        let memory = unsafe {
            match self.capacity {
                0 => alloc(layout),
                capacity => realloc(self.block().cast().as_ptr(), Block::layout(capacity), layout.size()),
            }
        };
        let Some(memory) = NonNull::new(memory.cast::<Block>()) else { return false };
        // SAFETY: the block's place is in it.
        self.data = unsafe { memory.add(1) }.cast();
        self.capacity = capacity;
        true
    }

    /// The place of the block. Only with a capacity.
    fn block(&self) -> NonNull<Block> {
        // SAFETY: BB1.
        unsafe { self.data.cast::<Block>().sub(1) }
    }

    /// A byte more.
    #[inline]
    pub fn push(&mut self, byte: u8) {
        self.extend_from_slice(&[byte]);
    }

    /// Bytes more.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: there is room behind what is written, and nobody else knows of it.
        unsafe { self.data.add(self.len).as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.len += bytes.len();
    }

    /// The first bytes again, behind the others.
    pub fn repeat(&mut self, count: usize) {
        assert!(count <= self.len);
        self.reserve(count);
        // SAFETY: so many bytes are there, and so much room behind them.
        unsafe { self.data.add(self.len).as_ptr().copy_from_nonoverlapping(self.data.as_ptr(), count) };
        self.len += count;
    }

    /// Takes the last byte off.
    pub fn pop(&mut self) -> Option<u8> {
        let last = self.last().copied()?;
        self.len -= 1;
        Some(last)
    }

    /// Only so many bytes of the beginning stay.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The first bytes go, or all.
    pub fn skip(&mut self, count: usize) {
        let count = count.min(self.len);
        self.copy_within(count.., 0);
        self.len -= count;
    }

    /// The room behind the bytes.
    pub fn spare(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: BB1.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(self.len).cast().as_ptr(), self.capacity - self.len) }
    }

    /// So many bytes of the spare room have been written.
    ///
    /// # Safety
    /// They have.
    pub unsafe fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.capacity - self.len);
        self.len += count;
    }

    /// Gives room back of which there is much for the number of bytes, unless these will be on a heap.
    pub fn shrunk(mut self) -> BinaryBuffer {
        if self.len > HEAP_BINARY_LIMIT && self.capacity - self.len > self.len / 4 + 64 {
            self.resize(self.len);
        }
        self
    }

    /// The bytes as a binary, without copying them if they are many.
    pub fn into_term<'h, B: Build<'h> + ?Sized>(self, memory: &mut B) -> TermRef<'h> {
        if self.len <= HEAP_BINARY_LIMIT { memory.binary(&self) } else { memory.shared_binary(self.into_shared()) }
    }

    /// The binary that these bytes are from now on.
    pub fn into_shared(self) -> SharedBinary {
        if self.capacity == 0 {
            return SharedBinary::from_bytes(&[]);
        }
        let BinaryBuffer { data, len, capacity } = *ManuallyDrop::new(self);
        let room = Room::new(capacity, SHARED.come(Block::layout(capacity).size()));
        // SAFETY: BB1; the memory is the binary's now.
        unsafe {
            let block = data.cast::<Block>().sub(1);
            block.write(Block { references: Count::new(), room, data: data.as_ptr(), len });
            SharedBinary(block)
        }
    }

    /// A vector of these bytes, which are copied.
    pub fn to_vec(&self) -> Vec<u8> {
        self[..].to_vec()
    }
}

impl Default for BinaryBuffer {
    fn default() -> Self {
        BinaryBuffer::new()
    }
}

impl From<&[u8]> for BinaryBuffer {
    fn from(bytes: &[u8]) -> Self {
        let mut buffer = BinaryBuffer::with_capacity(bytes.len());
        buffer.extend_from_slice(bytes);
        buffer
    }
}

impl Extend<u8> for BinaryBuffer {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        let bytes = bytes.into_iter();
        self.reserve(bytes.size_hint().0);
        bytes.for_each(|byte| self.push(byte));
    }
}

impl AsMut<BinaryBuffer> for BinaryBuffer {
    fn as_mut(&mut self) -> &mut BinaryBuffer {
        self
    }
}

impl<T: AsRef<[u8]>> PartialEq<T> for BinaryBuffer {
    fn eq(&self, other: &T) -> bool {
        self[..] == *other.as_ref()
    }
}

impl Eq for BinaryBuffer {}

impl Debug for BinaryBuffer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl AsRef<[u8]> for BinaryBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Deref for BinaryBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: BB1; nothing is read of no bytes.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl DerefMut for BinaryBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and this is the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl Drop for BinaryBuffer {
    fn drop(&mut self) {
        if self.capacity > 0 {
            // SAFETY: BB1.
            unsafe { dealloc(self.block().cast().as_ptr(), Block::layout(self.capacity)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_where_they_are() {
        let mut buffer = BinaryBuffer::new();
        (0..1000).for_each(|i| buffer.push(i as u8));
        buffer.extend_from_slice(b"end");
        assert_eq!((buffer.len(), buffer[999], buffer[1002]), (1003, 231, b'd'));
        let first = buffer.as_ptr();
        let shared = buffer.into_shared();
        assert_eq!((shared.data().cast_const(), shared.len(), shared.bytes()[1000]), (first, 1003, b'e'));
        assert!(shared.counted_bytes().is_some() && shared.capacity() >= 1003);
    }

    #[test]
    fn both_ends_go() {
        let mut buffer = BinaryBuffer::from(&b"abcdef"[..]);
        buffer.skip(2);
        buffer.truncate(3);
        assert_eq!(&buffer[..], b"cde");
        buffer.skip(9);
        assert!(buffer.is_empty() && BinaryBuffer::new().is_empty());
        assert_eq!(BinaryBuffer::new().into_shared().len(), 0);
    }

    #[test]
    fn spare_room_is_written_and_given_back() {
        let mut buffer = BinaryBuffer::with_capacity(1000);
        buffer.spare()[..3].iter_mut().zip(*b"xyz").for_each(|(at, byte)| _ = at.write(byte));
        // SAFETY: just written.
        unsafe { buffer.advance(3) };
        buffer.extend_from_slice(&[0; 97]);
        let mut buffer = buffer.shrunk();
        assert_eq!((&buffer[..3], buffer.len(), buffer.capacity()), (&b"xyz"[..], 100, 100));
        assert_eq!(buffer.try_reserve_exact(usize::MAX), Err(NoRoom));
        assert_eq!(buffer.try_reserve_exact(10), Ok(()));
        buffer.extend(*b"uvw");
        assert_eq!(&buffer[100..], b"uvw");
    }
}
