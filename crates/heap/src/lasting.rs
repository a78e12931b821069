//! Which literals last: those that a copy of a term between heaps may share, as their areas are not about to go (heap.literal/L3).
//!
//! LA1. A copy first counts the words it needs and then takes them, so both passes see the same literals: those of the moment when it began
//!      (sync.announcements/AN1).

use crate::area_count::known;
use crate::literal::{LiteralRanges, range};
use myriad_sync::Announcements;
use myriad_sync::announcements::AsOf;
use myriad_sync::atomic::{AtomicUsize, Ordering};

/// The addresses between which literals are about to go; none if the end is 0.
static GOING_START: AtomicUsize = AtomicUsize::new(0);
static GOING_END: AtomicUsize = AtomicUsize::new(0);
/// Announcements so far.
static ANNOUNCED: Announcements = Announcements::new();

/// From now on copies of terms between heaps take the literals of these areas along (heap.literal/L3), and of others between them that were announced before. One call at
/// a time; the areas are live.
pub fn set_going(areas: &LiteralRanges) {
    debug_assert!(areas.lie_apart(), "L3: the areas that are to go are not in order, so the last does not end them");
    let start = areas.ranges.first().map_or(0, |range| range.0);
    let end = areas.ranges.last().map_or(0, |range| range.1);
    let base = range().0;
    let known = areas.ranges.iter().filter_map(|(start, _)| known(base, std::ptr::without_provenance(*start)));
    // SAFETY: the areas are live, and so is what is known of them.
    ANNOUNCED.announce(known.map(|known| &unsafe { known.as_ref() }.going));
    // Relaxed: the collector of literals waits for thread progress before it relies on it, which orders it (heap.literal/L3).
    GOING_START.store(start, Ordering::Relaxed);
    GOING_END.store(end, Ordering::Relaxed);
}

/// The literals that a copy may share: those of the moment when it began (LA1).
///
/// One that began just before [`set_going`] may share what goes; thread progress waits for it (heap.literal/L3).
#[derive(Clone, Copy)]
pub(crate) struct Lasting {
    base: usize,
    len: usize,
    going: (usize, usize),
    /// Announcements that count.
    announced: AsOf,
}

impl Lasting {
    /// As of now.
    #[inline]
    pub(crate) fn now() -> Lasting {
        let (base, len) = range();
        // Relaxed: see `set_going`.
        let going = (GOING_START.load(Ordering::Relaxed), GOING_END.load(Ordering::Relaxed));
        Lasting { base, len, going, announced: ANNOUNCED.now() }
    }

    /// Is this one of them?
    #[inline]
    pub(crate) fn holds(self, at: *const u64) -> bool {
        at.addr().wrapping_sub(self.base) < self.len
            && !((self.going.0..self.going.1).contains(&at.addr()) && self.is_going(at))
    }

    /// Was the area of this one announced?
    #[cold]
    fn is_going(self, at: *const u64) -> bool {
        // SAFETY: the caller has the term, so its area is there.
        known(self.base, at).is_none_or(|known| unsafe { known.as_ref() }.going.is_announced(self.announced))
    }
}
