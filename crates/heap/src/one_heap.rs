//! Whether there is one heap of all processes ([`crate::shared`]), where its old generation is, how much of it is young, and when it is to be collected.

use myriad_sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Words that are taken between two collections, for each scheduler: 8 MB.
pub(crate) const NURSERY: usize = if cfg!(any(test, heap_check)) { 16 * 1024 } else { 1 << 20 };

/// In the place of a time: no marking is due.
pub(crate) const NEVER: u64 = u64::MAX;

static ON: AtomicBool = AtomicBool::new(false);
/// Words of young memory that were taken since the last collection.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
/// So many may be.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
/// A collection is due.
static DUE: AtomicBool = AtomicBool::new(false);
/// Somebody asks for a collection of all.
static FULL: AtomicBool = AtomicBool::new(false);
/// The next collection is one of all: there is something that has waited for it.
static FULL_NEXT: AtomicBool = AtomicBool::new(false);
/// Nobody has anything to do: a marking may be due where it would not be else.
static IDLE: AtomicBool = AtomicBool::new(false);
/// When a marking is due while there is work, and while there is none; or [`NEVER`].
static MARK_NS: AtomicU64 = AtomicU64::new(NEVER);
static MARK_IDLE_NS: AtomicU64 = AtomicU64::new(NEVER);
/// A collection is under way, and it is not one of all.
static UNDER_WAY: AtomicBool = AtomicBool::new(false);
/// Collections of all that are over.
static FULLS: AtomicUsize = AtomicUsize::new(0);
/// Where the old generation is: its first address, and the first behind it.
static OLD_START: AtomicUsize = AtomicUsize::new(0);
static OLD_END: AtomicUsize = AtomicUsize::new(0);

/// There is one heap from now on, with an old generation of so many words.
pub(crate) fn begin(start: *mut u64, words: usize, schedulers: usize) {
    // Relaxed: no other thread has begun.
    OLD_START.store(start.addr(), Ordering::Relaxed);
    OLD_END.store(start.addr() + words * 8, Ordering::Relaxed);
    MOST.store(NURSERY * schedulers.clamp(1, 8), Ordering::Relaxed);
    ON.store(true, Ordering::Relaxed);
}

/// Have all processes one heap?
#[inline(always)]
pub fn is_on() -> bool {
    // Relaxed: it changes only before there are other threads.
    ON.load(Ordering::Relaxed)
}

/// Is a collection due? Whoever finds so stops the world and collects ([`crate::shared::collect`]).
#[inline(always)]
pub fn is_due() -> bool {
    // Relaxed: a hint.
    DUE.load(Ordering::Relaxed)
}

/// Do all wait for a collection, or for those who are to stop for it, so that helpers are in the way?
pub(crate) fn is_awaited() -> bool {
    // Relaxed: hints.
    DUE.load(Ordering::Relaxed) || UNDER_WAY.load(Ordering::Relaxed)
}

/// Asks for a collection of all; [`is_over`] tells, of what this gives, when one has ended that has begun since.
pub fn request() -> usize {
    // Relaxed: hints; that the world stops orders what the collection sees.
    let number = FULLS.load(Ordering::Relaxed);
    FULL.store(true, Ordering::Relaxed);
    DUE.store(true, Ordering::Relaxed);
    number
}

/// Has a collection ended that was asked for?
pub fn is_over(request: usize) -> bool {
    // Relaxed: as above.
    FULLS.load(Ordering::Relaxed) != request
}

/// Does this address lie in the old generation?
#[inline(always)]
pub(crate) fn is_old(at: *const u64) -> bool {
    // Relaxed: they do not change once there are other threads.
    (OLD_START.load(Ordering::Relaxed)..OLD_END.load(Ordering::Relaxed)).contains(&at.addr())
}

/// So many words of young memory were taken.
pub(crate) fn taken(words: usize) {
    // Relaxed: figures.
    if TAKEN.fetch_add(words, Ordering::Relaxed) + words > MOST.load(Ordering::Relaxed) {
        DUE.store(true, Ordering::Relaxed);
    }
}

/// What there is to do for who rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtRest {
    /// A collection is due.
    Collect,
    /// A marking will be due then.
    Later(u64),
    /// No collection is due, and none will be before something runs.
    Nothing,
}

/// Nobody has anything to do, and the caller `has_run` something since it last asked: a collection is due for that, or if memory was taken since the last, or for a marking that goes on or is due.
pub fn look_at_rest(has_run: bool, now_ns: u64) -> AtRest {
    // Relaxed: figures and hints.
    let mark_ns = MARK_IDLE_NS.load(Ordering::Relaxed);
    if has_run || TAKEN.load(Ordering::Relaxed) > 0 || mark_ns <= now_ns {
        IDLE.store(true, Ordering::Relaxed);
        DUE.store(true, Ordering::Relaxed);
        return AtRest::Collect;
    }
    if mark_ns == NEVER { AtRest::Nothing } else { AtRest::Later(mark_ns) }
}

/// Somebody has nothing to do, for a while at least: is a marking due, or to go on? Then a collection is due.
pub fn look_before_rest(now_ns: u64) -> bool {
    // Relaxed: figures and hints.
    let is_due = MARK_NS.load(Ordering::Relaxed) <= now_ns;
    if is_due {
        DUE.store(true, Ordering::Relaxed);
    }
    is_due
}

/// When a marking is due while there is work, and while there is none.
pub(crate) fn set_marking(mark_ns: u64, mark_idle_ns: u64) {
    // Relaxed: figures.
    MARK_NS.store(mark_ns, Ordering::Relaxed);
    MARK_IDLE_NS.store(mark_idle_ns, Ordering::Relaxed);
}

/// What is about to be done.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// Somebody has asked for a collection of all.
    pub(crate) full: bool,
    /// Memory was taken since the last collection.
    pub(crate) taken: bool,
}

/// What is due is about to be done.
pub(crate) fn begin_collection() -> Asked {
    // Relaxed: all threads that write them are stopped; a dirty one may ask once more.
    let taken = TAKEN.swap(0, Ordering::Relaxed) > 0;
    DUE.store(false, Ordering::Relaxed);
    let full = FULL.swap(false, Ordering::Relaxed) | FULL_NEXT.swap(false, Ordering::Relaxed);
    UNDER_WAY.store(!full, Ordering::Relaxed);
    Asked { full, taken }
}

/// Is the collection under way made while nobody has anything to do?
pub(crate) fn is_at_rest() -> bool {
    // Relaxed: a hint.
    IDLE.load(Ordering::Relaxed)
}

/// It is over.
pub(crate) fn end_collection() {
    // Relaxed: hints.
    UNDER_WAY.store(false, Ordering::Relaxed);
    IDLE.store(false, Ordering::Relaxed);
}

/// The next collection is one of all.
pub(crate) fn ask_next() {
    // Relaxed: as above.
    FULL_NEXT.store(true, Ordering::Relaxed);
}

/// A collection is due, whatever was taken.
#[cfg(heap_check)]
pub(crate) fn be_due() {
    // Relaxed: a hint.
    DUE.store(true, Ordering::Relaxed);
}

/// A collection of all is over.
pub(crate) fn end_full() {
    // Relaxed: a number that is looked at.
    FULLS.fetch_add(1, Ordering::Relaxed);
}

/// Words that each of so many processes may keep when nothing lives in its block: all of them together a quarter of what may be taken between two collections.
pub(crate) fn share(processes: usize) -> usize {
    // Relaxed: it does not change once there are other threads.
    MOST.load(Ordering::Relaxed) / 4 / processes.max(1)
}
