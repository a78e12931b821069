//! The array of a shard's buckets: each is the link to the first row of a chain (`hash`).

use crate::row::Link;
use myriad_term::memory;

/// Most buckets of a shard.
pub const MOST: usize = u32::MAX as usize;

/// What OTP calls the memory of buckets.
const PURPOSE: memory::Purpose = memory::Purpose("ets", "db_seg");

/// Links in a line of the cache.
const IN_A_LINE: usize = 8;

/// A line of links: no two shards have links in one line.
#[repr(C, align(64))]
struct Line([Link; IN_A_LINE]);

const _: () = assert!(size_of::<Line>() == IN_A_LINE * size_of::<Link>());

/// Room for buckets, a multiple of the links in a line.
pub struct Buckets(Box<[Line]>);

impl Buckets {
    /// Room for so many buckets at least.
    pub fn new(room: usize) -> *mut Buckets {
        debug_assert!((1..=MOST).contains(&room));
        let line = |_| Line(std::array::from_fn(|_| Link::end()));
        let lines = memory::named(PURPOSE, || (0..room.div_ceil(IN_A_LINE)).map(line).collect());
        Box::into_raw(Box::new(Buckets(lines)))
    }

    /// All of its links.
    #[inline]
    pub fn links(&self) -> &[Link] {
        // SAFETY: a line is its links, and nothing else (asserted above).
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * IN_A_LINE) }
    }

    /// Frees it.
    ///
    /// # Safety
    /// It came from `new`, and no reader can have it any more.
    pub unsafe fn free(this: *mut Buckets) {
        // SAFETY: the caller promises that the array came from `new`, and that no reader can have it any more.
        drop(unsafe { Box::from_raw(this) });
    }

    /// As [`Buckets::free`], for thread progress.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn free_at(this: *mut ()) {
        // SAFETY: the caller promises that the array came from `new`, and that no reader can have it any more.
        unsafe { Self::free(this.cast()) };
    }
}
