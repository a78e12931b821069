//! Bit strings: shared binaries, and one view over all the forms.
//!
//! Bits are numbered from the most significant bit of the first byte.
//!
//! S1. A [`SharedBinary`]'s bytes below its length never change while more than one reference exists; bytes between
//!     length and capacity belong to the one writable reference ([`WRITABLE`]).
//! S2. Bytes follow the block that counts them in the same memory, unless they are another object's, and the last word of the block is their number. So
//!     both together are a C driver's binary (`ErlDrvBinary`) as they are.

mod buffer;

pub use buffer::{BinaryBuffer, NoRoom};

use crate::boxed::{Boxed, Kind};
use crate::magic::Magic;
use crate::memory;
use crate::word::TermRef;
use myriad_sync::{Account, Count, Counted, Credits, Ledger, Tally};
use std::alloc::{Layout, dealloc, realloc};
use std::borrow::Cow;
use std::ptr::NonNull;

/// Binaries up to this many bytes live on the heap.
pub const HEAP_BINARY_LIMIT: usize = 64;

/// Header `aux` bit of a shared or sub binary whose end may still be appended to in place.
pub const WRITABLE: u32 = 1;

/// The counted block behind shared binaries, before its bytes (S2).
#[repr(C)]
struct Block {
    references: Count,
    room: Room,
    data: *mut u8,
    len: usize,
}

/// The capacity of a block, and above it the account that it is on.
#[derive(Clone, Copy)]
struct Room(usize);

impl Room {
    /// Addresses have fewer bits, and so have sizes.
    const BITS: u32 = 48;

    #[inline]
    fn new(capacity: usize, account: Account) -> Room {
        debug_assert!(capacity <= FOREIGN, "{capacity} bytes are more than there are addresses");
        Room(capacity | usize::from(account.number()) << Self::BITS)
    }

    /// [`FOREIGN`] where the bytes are another object's.
    #[inline]
    fn capacity(self) -> usize {
        self.0 & FOREIGN
    }

    #[inline]
    fn account(self) -> Account {
        Account::of_number((self.0 >> Self::BITS) as u16)
    }
}

/// The capacity of a block that is a [`ForeignBlock`].
const FOREIGN: usize = (1 << Room::BITS) - 1;

/// A block whose bytes are part of an object, which it holds.
#[repr(C)]
struct ForeignBlock {
    block: Block,
    owner: Magic,
}

/// Where the address of the bytes is in a block.
pub(crate) const DATA_OFFSET: usize = std::mem::offset_of!(Block, data);
/// Where the length is in a block.
const LEN_OFFSET: usize = std::mem::offset_of!(Block, len);

const _: () = assert!(LEN_OFFSET + size_of::<usize>() == size_of::<Block>(), "S2");
const _: () = assert!(size_of::<Block>() == memory::BINARY_HEAD);

impl Block {
    /// What a block takes whose bytes follow it.
    fn layout(capacity: usize) -> Layout {
        memory::layout::<u8>(capacity.saturating_add(size_of::<Block>()), memory::BINARY)
            .align_to(align_of::<Block>())
            .unwrap_or_else(|_| memory::exhausted(memory::BINARY, capacity))
    }
}

impl Counted for Block {
    #[inline]
    fn count(&self) -> &Count {
        &self.references
    }

    #[inline(never)]
    unsafe fn free(block: NonNull<Block>) {
        // SAFETY: the last reference; a block of this capacity is a `ForeignBlock` in a box, any other came with its bytes from the global allocator.
        unsafe {
            let room = block.as_ref().room;
            let capacity = room.capacity();
            if capacity == FOREIGN {
                SHARED.go(room.account(), size_of::<ForeignBlock>());
                return drop(Box::from_raw(block.cast::<ForeignBlock>().as_ptr()));
            }
            let layout = Layout::from_size_align_unchecked(capacity + size_of::<Block>(), align_of::<Block>());
            SHARED.go(room.account(), layout.size());
            dealloc(block.cast().as_ptr(), layout);
        }
    }
}

/// All shared binaries, their blocks included.
static SHARED: Ledger<1> = Ledger::new();

/// References to widely shared binaries that schedulers keep.
static CREDITS: Credits<Block> = Credits::new();

/// All shared binaries, and the bytes that they take: `erlang:memory(binary)`. What only other threads keep ([`renew_references`])
/// counts.
pub fn shared() -> Tally {
    ledger().now()
}

/// The same, by the thread that each was made by.
pub fn ledger() -> &'static Ledger<1> {
    CREDITS.give_back();
    &SHARED
}

/// The bytes that all shared binaries take, with those that only schedulers' kept references keep: costs no more than to add up.
pub fn shared_bytes() -> usize {
    SHARED.now().size
}

/// Gives back the references that the calling thread keeps, and lets it keep some from now on: it must call this again soon and before
/// it sleeps, and [`keep_no_references`] before it ends.
pub fn renew_references() {
    CREDITS.settle();
}

/// Gives back the references that the calling thread keeps; it keeps none from now on.
pub fn keep_no_references() {
    CREDITS.close();
}

/// A counted, immutable run of bytes outside all heaps.
pub struct SharedBinary(NonNull<Block>);

// SAFETY: the count is atomic and the bytes do not change while shared (S1).
unsafe impl Send for SharedBinary {}
// SAFETY: the count is atomic and the bytes do not change while shared (S1).
unsafe impl Sync for SharedBinary {}

impl SharedBinary {
    /// `len` bytes, which `fill` writes; room for `capacity`.
    #[inline]
    pub fn with_capacity(len: usize, capacity: usize, fill: impl FnOnce(&mut [u8])) -> SharedBinary {
        let (shared, data) = Self::fresh(len, capacity.max(len));
        // SAFETY: so many fresh bytes; zeroed first, so that `fill` sees initialised memory.
        unsafe {
            data.write_bytes(0, len);
            fill(std::slice::from_raw_parts_mut(data, len));
        }
        shared
    }

    /// A copy of the bytes.
    pub fn from_bytes(bytes: &[u8]) -> SharedBinary {
        let (shared, data) = Self::fresh(bytes.len(), bytes.len());
        // SAFETY: as many fresh bytes as the source has.
        unsafe { data.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        shared
    }

    /// A new one with its bytes behind its block, and where these are: the caller is to write the first `len` of them.
    #[inline]
    fn fresh(len: usize, capacity: usize) -> (SharedBinary, *mut u8) {
        let layout = Block::layout(capacity);
        // SAFETY: the layout is not empty.
        let block = unsafe { memory::allocate(layout, memory::BINARY) }.cast::<Block>();
        let room = Room::new(capacity, SHARED.come(layout.size()));
        // SAFETY: fresh memory for a block and so many bytes.
        unsafe {
            let data = block.add(1).cast().as_ptr();
            block.write(Block { references: Count::new(), room, data, len });
            (SharedBinary(block), data)
        }
    }

    /// Bytes that are part of an object, which the binary holds.
    ///
    /// # Safety
    /// So many bytes are there, and do not change, for as long as `owner` is held.
    pub unsafe fn of_object(owner: Magic, data: *const u8, len: usize) -> SharedBinary {
        let room = Room::new(FOREIGN, SHARED.come(size_of::<ForeignBlock>()));
        let block = Block { references: Count::new(), room, data: data.cast_mut(), len };
        SharedBinary(NonNull::from(Box::leak(Box::new(ForeignBlock { block, owner }))).cast())
    }

    /// The object whose bytes these are, if there is one.
    pub fn object(&self) -> Option<Magic> {
        // SAFETY: a block of this capacity is a foreign one, which holds its object.
        (self.block().room.capacity() == FOREIGN)
            .then(|| unsafe { self.0.cast::<ForeignBlock>().as_ref() }.owner.clone())
    }

    /// The word with the length, which the bytes follow (S2), unless they are another object's: an `ErlDrvBinary`. It is there while the binary is held. The
    /// length grows where a process appends to the binary in place.
    pub fn counted_bytes(&self) -> Option<NonNull<usize>> {
        // SAFETY: within the block.
        (self.block().room.capacity() != FOREIGN).then(|| unsafe { self.0.byte_add(LEN_OFFSET).cast() })
    }

    /// The binary of what [`SharedBinary::counted_bytes`] gave, with a count of it.
    ///
    /// # Safety
    /// The binary is held by whoever gives this count away.
    pub unsafe fn of_counted_bytes(bytes: NonNull<usize>) -> SharedBinary {
        // SAFETY: the caller's promise.
        SharedBinary(unsafe { bytes.byte_sub(LEN_OFFSET).cast() })
    }

    fn block(&self) -> &Block {
        // SAFETY: counted: the block lives while this reference does.
        unsafe { self.0.as_ref() }
    }

    /// Number of bytes.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.block().len
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: S1.
        unsafe { std::slice::from_raw_parts(self.block().data, self.block().len) }
    }

    /// Bytes that fit without moving.
    pub fn capacity(&self) -> usize {
        let Block { len, room, .. } = *self.block();
        if room.capacity() == FOREIGN { len } else { room.capacity() }
    }

    /// Is this the only reference?
    pub fn is_unique(&self) -> bool {
        self.block().references.is_one()
    }

    /// How many references there are (a figure, already old), those included that other threads keep ([`renew_references`]).
    pub fn references(&self) -> usize {
        CREDITS.give_back();
        self.block().references.get()
    }

    /// The count's holder as a word for a boxed object; [`SharedBinary::from_raw`] takes it back.
    pub fn into_raw(self) -> *const () {
        std::mem::ManuallyDrop::new(self).0.as_ptr().cast()
    }

    /// Takes back what [`SharedBinary::into_raw`] gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and its count has not been given back yet.
    pub unsafe fn from_raw(raw: *const ()) -> SharedBinary {
        // SAFETY: the caller's promise; never null.
        SharedBinary(unsafe { NonNull::new_unchecked(raw.cast_mut().cast()) })
    }

    /// Sets the length to `len`, within the capacity. New bytes are zero.
    ///
    /// # Safety
    /// The caller is the only one that reads or writes bytes at or beyond the present length (S1), and the capacity suffices.
    pub unsafe fn extend_to(&self, len: usize) {
        let block = self.0.as_ptr();
        debug_assert!(len <= self.capacity());
        // SAFETY: the caller's promise of exclusive use of the tail.
        unsafe {
            if len > (*block).len {
                (*block).data.add((*block).len).write_bytes(0, len - (*block).len);
            }
            (*block).len = len;
        }
    }

    /// Makes room for more bytes, by which the binary moves.
    ///
    /// # Safety
    /// This is the only reference, and the bytes are behind the block ([`SharedBinary::with_capacity`]).
    unsafe fn grow(self, capacity: usize) -> SharedBinary {
        let room = self.block().room;
        let old = Block::layout(room.capacity());
        let new = Block::layout(capacity.max(room.capacity()));
        let block = self.into_raw().cast_mut();
        // SAFETY: the caller's promise: nobody else knows of the block, which came from the global allocator with this layout.
        unsafe {
            let moved = memory::named(memory::BINARY, || realloc(block.cast(), old, new.size()));
            let Some(moved) = NonNull::new(moved.cast::<Block>()) else {
                memory::exhausted(memory::BINARY, capacity);
            };
            SHARED.resize(room.account(), old.size(), new.size());
            (*moved.as_ptr()).room = Room::new(new.size() - size_of::<Block>(), room.account());
            (*moved.as_ptr()).data = moved.add(1).cast().as_ptr();
            SharedBinary(moved)
        }
    }

    /// Address of the first byte.
    pub fn data(&self) -> *mut u8 {
        self.block().data
    }
}

impl Clone for SharedBinary {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: this reference is held.
        unsafe { CREDITS.hold(self.0) };
        SharedBinary(self.0)
    }
}

impl Drop for SharedBinary {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this reference is held, and used no more.
        unsafe { CREDITS.release(self.0) };
    }
}

/// A run of bits inside a binary.
#[derive(Clone, Copy, Debug)]
pub struct Bits<'a> {
    /// The bytes that hold the run (from the byte of the first bit to the byte of the last).
    bytes: &'a [u8],
    /// First bit, 0 to 7.
    offset: usize,
    /// Number of bits.
    len: usize,
}

impl<'a> Bits<'a> {
    /// `len` bits of `bytes` from bit `offset`. The caller has checked that they are there.
    pub fn new(bytes: &'a [u8], offset: usize, len: usize) -> Bits<'a> {
        let first = offset / 8;
        let last = (offset + len).div_ceil(8);
        Bits { bytes: &bytes[first..last], offset: offset % 8, len }
    }

    /// Number of bits.
    pub const fn len(self) -> usize {
        self.len
    }

    /// No bits?
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// First bit within the first byte, 0 to 7.
    pub const fn offset(self) -> usize {
        self.offset
    }

    /// A whole number of bytes?
    pub const fn is_binary(self) -> bool {
        self.len.is_multiple_of(8)
    }

    /// The covering bytes: first and last may be shared with other bits.
    pub const fn covering_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes, if the run starts at a byte border and is a whole number of bytes.
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        (self.offset == 0 && self.len.is_multiple_of(8)).then_some(self.bytes)
    }

    /// Byte `i` of the run, counted from its own start; a last partial byte is filled with zero bits.
    pub fn byte(self, i: usize) -> u8 {
        let rest = self.len - i * 8;
        let value = if self.offset == 0 {
            self.bytes[i]
        } else {
            let high = self.bytes[i] << self.offset;
            let low = self.bytes.get(i + 1).map_or(0, |b| b >> (8 - self.offset));
            high | low
        };
        if rest < 8 { value & !(0xff >> rest) } else { value }
    }

    /// The run moved to a byte border, a last partial byte filled with zero bits; borrowed where possible.
    pub fn to_bytes(self) -> Cow<'a, [u8]> {
        match self.as_bytes() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => Cow::Owned((0..self.len.div_ceil(8)).map(|i| self.byte(i)).collect()),
        }
    }

    /// `len` bits from bit `start` of this run, if they are there.
    pub fn part(self, start: usize, len: usize) -> Option<Bits<'a>> {
        let end = start.checked_add(len)?;
        (end <= self.len).then(|| Bits::new(self.bytes, self.offset + start, len))
    }
}

impl<'a> Boxed<'a, '_> {
    /// The counted bytes of a `SharedBinary` object, without touching the count.
    pub fn shared(self) -> std::mem::ManuallyDrop<SharedBinary> {
        debug_assert!(self.kind() == Kind::SharedBinary);
        // SAFETY: word 1 is what `into_raw` gave; the object keeps its count.
        std::mem::ManuallyDrop::new(unsafe { SharedBinary::from_raw(self.word(1) as *const ()) })
    }

    /// Makes room for more bytes in the binary of a `SharedBinary` object, by which that moves.
    ///
    /// # Safety
    /// The object's is the only reference to the binary, which was made [with a capacity](SharedBinary::with_capacity), and nobody else reads the object.
    pub unsafe fn grow_shared(self, capacity: usize) {
        let shared = std::mem::ManuallyDrop::into_inner(self.shared());
        // SAFETY: the caller's promise; the object keeps the count of what has moved, as term/T3 names it.
        unsafe { *self.ptr().add(2) = shared.grow(capacity).into_raw() as u64 };
    }

    /// Address of the first byte of a `SharedBinary` object. No reference to a local variable is made on the way: the
    /// interpreter's instructions must have none (see crate `interp`, `run`).
    #[inline(always)]
    pub fn shared_data(self) -> *mut u8 {
        debug_assert!(self.kind() == Kind::SharedBinary);
        // SAFETY: word 1 is what `into_raw` gave; the object keeps its count.
        unsafe { (*(self.word(1) as *const Block)).data }
    }

    /// All the bytes of a heap or shared binary object.
    #[inline]
    pub fn whole_bytes(self) -> &'a [u8] {
        if self.kind() == Kind::HeapBinary {
            let len = (self.word(0) as usize).div_ceil(8);
            // SAFETY: term/T1, term/T2: the object's bytes begin at word 1.
            unsafe { std::slice::from_raw_parts(self.ptr().add(2).cast(), len) }
        } else {
            let shared = self.shared();
            // SAFETY: term/T2 keeps the object, the object keeps its count, S1 keeps the bytes; the object's own size may be less
            // than the block's length, after another reference appended.
            unsafe { std::slice::from_raw_parts(shared.data(), self.word(0) as usize) }
        }
    }
}

impl<'h> TermRef<'h> {
    /// The bits of a bit string.
    #[inline]
    pub fn as_bits(&self) -> Option<Bits<'_>> {
        self.held_bits()
    }

    /// The bits, as [`TermRef::held_boxed`].
    #[inline]
    pub(crate) fn held_bits(self) -> Option<Bits<'h>> {
        let b = self.held_boxed()?;
        match b.kind() {
            Kind::HeapBinary => Some(Bits { bytes: b.whole_bytes(), offset: 0, len: b.word(0) as usize }),
            Kind::SharedBinary => {
                let bytes = b.whole_bytes();
                Some(Bits { bytes, offset: 0, len: bytes.len() * 8 })
            }
            Kind::SubBinary => {
                let whole = b.slot(0).held_boxed()?.whole_bytes();
                Some(Bits::new(whole, b.slot(1).as_usize()?, b.slot(2).as_usize()?))
            }
            _ => None,
        }
    }

    /// The bytes of a binary, if it lies at a byte border.
    #[inline]
    pub fn as_aligned_bytes(&self) -> Option<&[u8]> {
        let b = self.as_boxed()?;
        match b.kind() {
            Kind::HeapBinary => b.word(0).is_multiple_of(8).then(|| b.whole_bytes()),
            Kind::SharedBinary => Some(b.whole_bytes()),
            _ => self.as_bits()?.as_bytes(),
        }
    }

    /// The bytes of a binary (a whole number of bytes), copied only if it does not lie at a byte border.
    #[inline]
    pub fn as_binary(&self) -> Option<Cow<'_, [u8]>> {
        match self.as_aligned_bytes() {
            Some(bytes) => Some(Cow::Borrowed(bytes)),
            None => self.as_moved_binary(),
        }
    }

    #[cold]
    fn as_moved_binary(&self) -> Option<Cow<'_, [u8]>> {
        let bits = self.as_bits()?;
        bits.is_binary().then(|| bits.to_bytes())
    }

    /// The heap or shared binary that holds a bit string, and the bit offset in it.
    pub fn binary_parts(self) -> Option<(Self, usize, usize)> {
        let b = self.as_boxed()?;
        match b.kind() {
            Kind::HeapBinary => Some((self, 0, b.word(0) as usize)),
            Kind::SharedBinary => Some((self, 0, b.word(0) as usize * 8)),
            Kind::SubBinary => Some((b.slot(0), b.slot(1).as_usize()?, b.slot(2).as_usize()?)),
            _ => None,
        }
    }
}
