//! Magazines: small blocks that a thread has just freed, kept for what it allocates next (Bonwick and Adams, USENIX 2001).
//!
//! A message's block is freed by the thread that has read it, which often sends one of the same size next. The allocator underneath puts a
//! freed block behind all that its page has left, and one of another thread's page on that page's list: what is allocated is then memory
//! that no cache of this processor has. The last freed block is in the cache, and taking it needs no atomic operation, whoever made it.
//!
//! A magazine keeps few blocks. What is freed beside goes to the allocator underneath, which keeps blocks of a page together: a queue of many
//! messages is read faster where these lie side by side.
//!
//! MG1. A magazine is used by the thread that has its place's number ([`slot::known`]) alone. A number passes from a thread to the next by way of a
//!      lock, and its magazines, with what is in them, with it.
//! MG2. Each block of a class came from the allocator underneath with the class's whole size, so it serves every layout of that class.
//! MG3. A magazine keeps [`MOST`] blocks and [`MOST_BYTES`] bytes at most; a thread that stays idle gives back all of them ([`give_back`]).

use myriad_sync::atomic::{AtomicU16, Ordering::Relaxed};
use myriad_sync::slot;
use myriad_term::memory::Kept;
use std::cell::Cell;
use std::ptr;

/// Bytes of the largest blocks that are kept.
pub const LARGEST: usize = 1024;
/// MG3. More blocks would be warm no longer: with 512 of them a program with long queues (Hackbench) takes 1.2 times as long.
const MOST: usize = 64;
const MOST_BYTES: usize = 16 << 10;

/// Classes by multiples of a word, as the allocator's own.
const BY_WORDS: usize = 8;
/// Above these there are so many between a power of two and the next, as the allocator has.
const BY_DOUBLING: usize = 4;
const CLASSES: usize = BY_WORDS + BY_DOUBLING * (LARGEST.ilog2() - 64_usize.ilog2()) as usize;

/// So many threads have magazines: the most schedulers that there can be (`+S`), and some beside.
const PLACES: usize = 1024 + 64;

unsafe extern "C" {
    fn mi_malloc(size: usize) -> *mut u8;
    fn mi_zalloc(size: usize) -> *mut u8;
    fn mi_realloc(block: *mut u8, size: usize) -> *mut u8;
    fn mi_free(block: *mut u8);
}

/// The class of blocks of so many bytes, from 1 to [`LARGEST`].
#[inline(always)]
const fn class_of(size: usize) -> usize {
    let last = size - 1;
    if size <= 64 {
        return last / 8;
    }
    let doublings = last.ilog2() as usize;
    BY_WORDS + (doublings - 6) * BY_DOUBLING + (last >> (doublings - 2)) % BY_DOUBLING
}

/// The bytes of a class's blocks.
const fn bytes_of(class: usize) -> usize {
    if class < BY_WORDS {
        return (class + 1) * 8;
    }
    let above = class - BY_WORDS;
    (BY_DOUBLING + above % BY_DOUBLING + 1) << (above / BY_DOUBLING + 4)
}

/// [`bytes_of`] of each class, and how many blocks of it are kept (MG3).
const SIZES: [(u16, u16); CLASSES] = {
    let mut sizes = [(0, 0); CLASSES];
    let mut class = 0;
    while class < CLASSES {
        let bytes = bytes_of(class);
        let blocks = MOST_BYTES / bytes;
        sizes[class] = (bytes as u16, if blocks < MOST { blocks as u16 } else { MOST as u16 });
        class += 1;
    }
    sizes
};

/// A block that nobody uses.
struct Free {
    next: *mut Free,
}

/// The blocks of one class, the one that was freed last before the others.
struct Magazine {
    first: Cell<*mut Free>,
    /// Others read it, for [`kept`]: Relaxed, as it orders nothing.
    blocks: AtomicU16,
}

impl Magazine {
    const fn new() -> Magazine {
        Magazine { first: Cell::new(ptr::null_mut()), blocks: AtomicU16::new(0) }
    }

    /// The block that was freed last, or null.
    #[inline(always)]
    fn take(&self) -> *mut u8 {
        let block = self.first.get();
        if !block.is_null() {
            // SAFETY: nobody else uses the block, which begins with this word since it was kept.
            self.first.set(unsafe { (*block).next });
            self.count(|blocks| blocks - 1);
        }
        block.cast()
    }

    /// Keeps a block, unless there are `most` already.
    ///
    /// # Safety
    /// It is of the magazine's class, and nobody uses it.
    #[inline(always)]
    unsafe fn keep(&self, block: *mut u8, most: u16) -> bool {
        if self.blocks.load(Relaxed) >= most {
            return false;
        }
        let block: *mut Free = block.cast();
        // SAFETY: each class has room for a word, and every block is aligned to one.
        unsafe { block.write(Free { next: self.first.get() }) };
        self.first.set(block);
        self.count(|blocks| blocks + 1);
        true
    }

    #[inline(always)]
    fn count(&self, change: impl FnOnce(u16) -> u16) {
        self.blocks.store(change(self.blocks.load(Relaxed)), Relaxed);
    }
}

/// The magazines of one thread, alone on their cache lines.
#[repr(align(128))]
struct Place([Magazine; CLASSES]);

// SAFETY: MG1; what others read is atomic.
unsafe impl Sync for Place {}

/// What no thread has come to takes no memory.
static PLACED: [Place; PLACES] = [const { Place([const { Magazine::new() }; CLASSES]) }; PLACES];

/// The calling thread's magazine of a class, if it has one.
#[inline(always)]
fn own(class: usize) -> Option<&'static Magazine> {
    Some(&PLACED[slot::known(PLACES)?].0[class])
}

/// A block with room for so many bytes, of no more than a word's alignment; null: there is no memory.
#[inline]
pub fn take(size: usize) -> *mut u8 {
    if size.wrapping_sub(1) >= LARGEST {
        // SAFETY: any size may be asked for.
        return unsafe { mi_malloc(size) };
    }
    let class = class_of(size);
    let warm = own(class).map_or(ptr::null_mut(), Magazine::take);
    if warm.is_null() {
        // SAFETY: any size may be asked for (MG2).
        return unsafe { mi_malloc(SIZES[class].0.into()) };
    }
    warm
}

/// As [`take`], of zeroed bytes.
#[inline]
pub fn take_zeroed(size: usize) -> *mut u8 {
    // SAFETY: any size may be asked for.
    unsafe { mi_zalloc(whole(size)) }
}

/// Makes a block larger or smaller; null: there is no memory, and the block is as it was.
///
/// # Safety
/// The block came from this module, and is used no more by its old address.
pub unsafe fn resize(block: *mut u8, size: usize) -> *mut u8 {
    // SAFETY: the caller's promise (MG2).
    unsafe { mi_realloc(block, whole(size)) }
}

/// The size that blocks of so many bytes have.
#[inline]
fn whole(size: usize) -> usize {
    if size.wrapping_sub(1) >= LARGEST { size } else { SIZES[class_of(size)].0.into() }
}

/// Gives back a block of so many bytes.
///
/// # Safety
/// It came from this module for a size of that class, and nobody uses it.
#[inline]
pub unsafe fn give(block: *mut u8, size: usize) {
    if size.wrapping_sub(1) < LARGEST {
        let class = class_of(size);
        // SAFETY: MG2, and the caller's promise.
        if own(class).is_some_and(|magazine| unsafe { magazine.keep(block, SIZES[class].1) }) {
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { mi_free(block) };
}

/// What the thread with this number keeps, or what the last one that had it left.
pub fn kept(thread: usize) -> Vec<Kept> {
    let magazines = PLACED.get(thread).into_iter().flat_map(|place| place.0.iter().zip(SIZES));
    let kept = magazines
        .map(|(magazine, (bytes, _))| Kept { bytes: bytes.into(), blocks: magazine.blocks.load(Relaxed).into() });
    kept.filter(|kept| kept.blocks > 0).collect()
}

/// Gives back what the calling thread keeps.
pub fn give_back() {
    for class in 0..CLASSES {
        while let Some(block) = own(class).map(Magazine::take).filter(|block| !block.is_null()) {
            // SAFETY: nobody uses it.
            unsafe { mi_free(block) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_room_for_its_sizes_and_wastes_little() {
        for size in 1..=LARGEST {
            let (bytes, blocks) = SIZES[class_of(size)];
            let bytes = usize::from(bytes);
            assert!(bytes >= size && bytes - size < (size / BY_DOUBLING).max(8), "{size} in {bytes}");
            assert_eq!(class_of(bytes), class_of(size));
            assert!(usize::from(blocks) <= MOST && usize::from(blocks) * bytes <= MOST_BYTES);
        }
        assert_eq!(class_of(LARGEST), CLASSES - 1);
    }

    #[test]
    fn what_was_freed_last_is_taken_first_and_no_more_than_a_few_are_kept() {
        slot::index();
        give_back();
        let blocks: Vec<*mut u8> = (0..MOST + 5).map(|_| take(100)).collect();
        // SAFETY: each is given once, as what it was taken for or of its class.
        blocks.iter().for_each(|block| unsafe { give(*block, 99) });
        let kept: Vec<*mut u8> = (0..MOST).map(|_| take(112)).collect();
        assert!(kept.iter().eq(blocks[..MOST].iter().rev()));
        assert!(own(class_of(100)).is_some_and(|magazine| magazine.first.get().is_null()));
        assert_eq!(super::kept(slot::index()), []);
        // SAFETY: as above.
        kept.iter().for_each(|block| unsafe { give(*block, 112) });
        assert_eq!(super::kept(slot::index()), [Kept { bytes: 112, blocks: MOST }]);
        give_back();
        assert!(own(class_of(100)).is_some_and(|magazine| magazine.first.get().is_null()));
        assert_eq!(super::kept(slot::index()), []);
    }

    #[test]
    fn a_block_of_any_size_serves_its_class() {
        let small = take_zeroed(33);
        // SAFETY: the blocks' own bytes; each given back once.
        unsafe {
            assert!(std::slice::from_raw_parts(small, 40).iter().all(|byte| *byte == 0));
            small.write_bytes(7, 40);
            let larger = resize(small, 1000);
            assert!(std::slice::from_raw_parts(larger, 40).iter().all(|byte| *byte == 7));
            larger.write_bytes(8, 1024);
            let large = resize(larger, LARGEST + 1);
            assert!(std::slice::from_raw_parts(large, 1024).iter().all(|byte| *byte == 8));
            give(large, LARGEST + 1);
            let none = take(0);
            assert!(!none.is_null());
            give(none, 0);
        }
    }
}
