//! Counts of literal areas by bundles, whose words nobody may replace when an area goes (heap.literal/L4).
//!
//! A table has for each page of the range of literals what is known of its area: so an address leads to the count. An area that bundles count when it is
//! to go stays announced, so that no others come to count it, and goes when the last of them has gone (sync.announcements/AN2).

use crate::literal::{self, PAGE};
use crate::reserved;
use myriad_sync::announcements::Mark;
use myriad_sync::atomic::{AtomicPtr, Ordering};
use myriad_sync::{Count, OnceLock};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

/// Of each page of the range of literals, what is known of the area that has it; null: none has. There is none where there are no addresses for it.
static PAGES: OnceLock<&[AtomicPtr<Known>]> = OnceLock::new();

/// The range of literals is reserved.
pub(crate) fn begin(base: usize, len: usize) {
    debug_assert!(base.is_multiple_of(PAGE));
    let pages = len / PAGE;
    if let Some(table) = reserved::reserve_usable(pages * size_of::<AtomicPtr<Known>>()) {
        // SAFETY: fresh memory for ever, of zeros, which are null pointers; what of it is never touched takes none.
        PAGES.get_or_init(|| unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(table), pages) });
    }
}

/// Notes what is known of the area that has the pages of these words; null: none has them.
pub(crate) fn set_known(start: *const u64, words: usize, known: *mut Known) {
    let first = (start.addr() - literal::range().0) / PAGE;
    if let Some(pages) = PAGES.get() {
        // Relaxed: who looks for it has a term of the area, and has synchronised with its maker.
        pages[first..first + words * 8 / PAGE].iter().for_each(|page| page.store(known, Ordering::Relaxed));
    }
}

/// What is known of an area, by the addresses of its terms. It is there as long as the area.
pub(crate) struct Known {
    /// The announcement by which the area is to go (heap.lasting/LA1).
    pub(crate) going: Mark,
    /// The area itself, and the bundles that refer to it (heap.literal/L4).
    count: Count,
    /// It never goes, so nobody counts it.
    stays: bool,
}

impl Known {
    /// Of a new area.
    pub(crate) fn new(stays: bool) -> NonNull<Known> {
        NonNull::from(Box::leak(Box::new(Known { going: Mark::new(), count: Count::new(), stays })))
    }

    /// # Safety
    /// The area goes, which nobody counts, and nobody has a term of.
    pub(crate) unsafe fn free(known: NonNull<Known>) {
        // SAFETY: from `new`; the caller's promise.
        drop(unsafe { Box::from_raw(known.as_ptr()) });
    }

    /// Does a bundle count it?
    pub(crate) fn is_counted(&self) -> bool {
        !self.count.is_one()
    }
}

/// What is known of the area in which an address of the range lies.
#[inline]
pub(crate) fn known(base: usize, at: *const u64) -> Option<NonNull<Known>> {
    let page = (at.addr() - base) / PAGE;
    // Relaxed: written before the area's first term is made, and taken away when nobody has one any more (heap.literal/L2).
    NonNull::new(PAGES.get()?.get(page)?.load(Ordering::Relaxed))
}

/// The areas to which the words of a term lead that becomes a bundle, as its copy meets them.
#[derive(Default)]
pub(crate) struct AreasMet {
    areas: RefCell<Vec<NonNull<Known>>>,
    /// The page of the last one.
    last: Cell<usize>,
    /// Nobody can tell of what area one is.
    is_unknown: Cell<bool>,
}

impl AreasMet {
    /// A literal that lasts is met.
    #[inline]
    pub(crate) fn meet(&self, at: *const u64) {
        let page = at.addr() / PAGE;
        if self.last.replace(page) != page {
            self.note(at);
        }
    }

    #[cold]
    fn note(&self, at: *const u64) {
        let Some(known) = known(literal::range().0, at) else { return self.is_unknown.set(true) };
        let mut areas = self.areas.borrow_mut();
        // SAFETY: whoever copies a term has it, so its area is there.
        if !unsafe { known.as_ref() }.stays && !areas.contains(&known) {
            areas.push(known);
        }
    }

    /// Counts them, which last. `None`: they are not all known.
    pub(crate) fn hold(&self) -> Option<Box<[AreaHold]>> {
        let areas = self.areas.borrow();
        (!self.is_unknown.get()).then(|| areas.iter().map(|known| AreaHold::new(*known)).collect())
    }
}

/// A count of an area, of a bundle whose words lead there (heap.literal/L4).
pub(crate) struct AreaHold(NonNull<Known>);

// SAFETY: a count, which any thread may give back.
unsafe impl Send for AreaHold {}
// SAFETY: as above.
unsafe impl Sync for AreaHold {}

impl AreaHold {
    fn new(known: NonNull<Known>) -> AreaHold {
        // SAFETY: the caller has a term of the area.
        unsafe { known.as_ref() }.count.hold();
        AreaHold(known)
    }
}

impl Drop for AreaHold {
    fn drop(&mut self) {
        // SAFETY: counted, so it is there.
        let known = unsafe { self.0.as_ref() };
        // The area's own count is left.
        let _ = known.count.release();
    }
}
