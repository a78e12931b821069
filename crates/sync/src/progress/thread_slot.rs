//! A registered thread in thread progress: its quiescent points, what it has retired, and when it looks at the slots of all.
//!
//! # Who leads
//!
//! All threads wait for the same epoch, so one of them, the leader, looks at the slots, each time that it comes by a quiescent point, and
//! the others learn of it from the epoch: with `n` threads a grace period costs the leader `n` lines, and each other thread two, the epoch
//! and its own slot. A thread leads as long as it has work waiting, and then leaves the post to the next one that has.
//!
//! L1. Who leads is a hint. Any thread may look and move the epoch on (sync.progress/G1), so nothing rests on there being one leader, or any.
//! L2. A leader may be held up: it lost its core, or runs a long slice. While it does not show the epoch nobody could move that on; if
//!     it has shown it, somebody could. So a thread whose work is due takes the post over when it has come by [`PATIENCE`] quiescent points
//!     at which neither the epoch nor the leader was another. Who waits behind such a one begins to count anew.
//!
//! # When work is due
//!
//! A grace period costs lines whatever it frees, so objects wait for each other: until they are [`WORTH`] (or as many as there are
//! threads, which is what a look costs), or one has waited for [`MOST_AGE`] quiescent points. Closures are due at once: somebody may wait for
//! what they do. That objects wait costs memory: of each thread three times as many as are worth it, at the most, besides
//! what one slice retires.

use super::{COUNT, GUESTS, Look, Progress, Retired, word};
use crate::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release, SeqCst},
    fence,
};
use crate::witness::{Event, tell};
use std::{
    cell::{Cell, RefCell},
    fmt,
    mem::{replace, swap, take},
    sync::Arc,
};

/// So many objects are worth a grace period.
const WORTH: usize = 16;

/// Objects that are not worth it wait for so many quiescent points, at the most.
pub(super) const MOST_AGE: u32 = 32;

/// A thread with work that is due waits for so many quiescent points for what the leader does (L2).
pub(super) const PATIENCE: u32 = if cfg!(loom) { 1 } else { 16 };

/// Epochs to be gone through until what is retired now has run.
const EPOCHS: u8 = 3;

/// Emptied lists with room for so many are kept.
const MOST_KEPT: usize = 1024;

/// Work that was retired before the thread showed an epoch.
#[derive(Default)]
struct Waiting {
    /// Before it showed the epoch that it shows.
    sealed: Vec<Retired>,
    /// Before it showed the epoch before that; or before it moved the epoch on to what it shows.
    older: Vec<Retired>,
    look: Look,
}

/// A registered thread. It may move to another thread, not be shared.
pub struct ThreadSlot {
    progress: Arc<Progress>,
    index: usize,
    /// The epoch in our slot; 0 outside.
    seen: Cell<u64>,
    /// Retired since it was shown.
    open: RefCell<Vec<Retired>>,
    waiting: RefCell<Waiting>,
    /// There is something in one of the two: all that a quiescent point looks at.
    has_work: Cell<bool>,
    /// So many epochs more are due whatever they free.
    pressing: Cell<u8>,
    /// Quiescent points with work since the epoch was another.
    age: Cell<u32>,
    /// The leader that was seen last, and at how many quiescent points in a row (L2).
    waits_for: Cell<(usize, u32)>,
}

impl ThreadSlot {
    /// Goes inside with a slot that has just been taken.
    pub(super) fn enter_first(progress: Arc<Progress>, index: usize) -> Self {
        let slot = Self {
            progress,
            index,
            seen: Cell::new(0),
            open: RefCell::default(),
            waiting: RefCell::default(),
            has_work: Cell::new(false),
            pressing: Cell::new(0),
            age: Cell::new(0),
            waits_for: Cell::new((0, 0)),
        };
        slot.enter();
        slot
    }

    /// The domain.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Runs `work` when every thread has been quiescent since now. What it frees must already be unreachable for
    /// threads that begin to look. It runs at a later quiescent point of this thread, or of another's if this one parks.
    pub fn retire(&self, work: impl FnOnce() + Send + 'static) {
        self.open.borrow_mut().push(Retired::work(work));
        self.has_work.set(true);
        self.pressing.set(EPOCHS);
    }

    /// As [`retire`](Self::retire) for work that only frees one object, and waits for more of its kind; costs no memory of its own.
    ///
    /// # Safety
    /// `free` may be called with `object`, once, on any thread, when every thread has been quiescent.
    #[inline]
    pub unsafe fn retire_object(&self, object: *mut (), free: unsafe fn(*mut ())) {
        self.open.borrow_mut().push(Retired::object(object, free));
        self.has_work.set(true);
    }

    /// This thread now holds no reference into shared structures.
    #[inline]
    pub fn quiescent(&self) {
        tell(Event::Quiescent { domain: self.progress.address(), slot: self.index });
        let epoch = self.progress.epoch();
        if epoch != self.seen.get() {
            self.move_on(epoch);
        }
        // Relaxed: a hint.
        if self.has_work() || self.progress.has_orphans.load(Relaxed) {
            self.reclaim();
        }
    }

    /// This thread will not look at shared structures until [`unpark`](Self::unpark), and holds no reference.
    /// What it has retired, and what that retires in turn, is left to others where it cannot run now.
    pub fn park(&self) {
        while !self.try_park() {}
    }

    /// As [`park`](Self::park). `false`: the work that has run now has retired more, and perhaps no other thread is inside to see to
    /// it. A caller that has better to do than to run all of it at once must come back before it sleeps.
    #[must_use]
    pub fn try_park(&self) -> bool {
        self.leave();
        let mut waiting = self.waiting.borrow_mut();
        let mut work = take(&mut waiting.older);
        work.append(&mut waiting.sealed);
        work.append(&mut self.open.borrow_mut());
        drop(waiting);
        self.has_work.set(false);
        self.pressing.set(0);
        self.resign();
        self.progress.see_through(work)
    }

    /// This thread will look at shared structures again.
    pub fn unpark(&self) {
        self.enter();
    }

    /// Whether this thread has retired what has not run yet.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.has_work.get()
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    fn word(&self) -> &AtomicU64 {
        &self.progress.slots[self.index]
    }

    fn show(&self, epoch: u64) {
        self.seen.set(epoch);
        // Release: pairs with the Acquire in `are_all_past` (sync.progress/G2). Also when entering: who looks may see this store and
        // not the one that left before it, whose release sequence a plain store ends.
        self.word().store(word(epoch, 1), Release);
    }

    fn enter(&self) {
        tell(Event::Quiescent { domain: self.progress.address(), slot: self.index });
        let mut epoch = self.progress.epoch();
        while epoch != self.seen.get() {
            self.show(epoch);
            // SeqCst: sync.progress/G3, pairs with the fence in `are_all_past`.
            fence(SeqCst);
            // sync.progress/G4: until what is shown is what is read after the fence.
            epoch = self.progress.epoch();
        }
    }

    fn leave(&self) {
        tell(Event::Outside { domain: self.progress.address(), slot: self.index });
        self.seen.set(0);
        // Release: pairs with the Acquire in `are_all_past` (sync.progress/G2).
        self.word().store(0, Release);
    }

    /// Shows an epoch that was read at a quiescent point, and runs what has waited for it.
    #[cold]
    fn move_on(&self, epoch: u64) {
        // In a model as well, which is built without debug assertions.
        assert!(cfg!(not(any(loom, debug_assertions))) || epoch == self.seen.get() + 1, "sync.progress/G4");
        debug_assert_eq!(self.word().load(Relaxed) & COUNT, 1, "a quiescent point is inside");
        self.show(epoch);
        self.age.set(0);
        self.waits_for.set((0, 0));
        if !self.has_work() {
            return;
        }
        self.pressing.set(self.pressing.get().saturating_sub(1));
        let mut waiting = self.waiting.borrow_mut();
        let sealed = replace(&mut waiting.sealed, take(&mut self.open.borrow_mut()));
        let due = replace(&mut waiting.older, sealed);
        self.has_work.set(!(waiting.sealed.is_empty() && waiting.older.is_empty()));
        drop(waiting);
        // Out of the cells first: the work may retire more.
        self.run(due);
    }

    fn run(&self, mut due: Vec<Retired>) {
        if !due.is_empty() {
            self.progress.run(&mut due);
        }
        let mut open = self.open.borrow_mut();
        if open.capacity() == 0 && due.capacity() <= MOST_KEPT {
            swap(&mut *open, &mut due);
        }
    }

    /// Sees to what this thread has retired, and to what was left to those inside.
    #[cold]
    fn reclaim(&self) {
        let mut orphans = self.progress.take_orphans();
        if !orphans.is_empty() {
            self.open.borrow_mut().append(&mut orphans);
            self.has_work.set(true);
            self.pressing.set(EPOCHS);
        }
        // Two epochs, as far as what this thread retired needs: the work that runs may retire more without end.
        for _ in 1..EPOCHS {
            if !(self.is_due() && self.leads() && self.lead()) {
                break;
            }
        }
        if !self.has_work() {
            self.resign();
        }
    }

    /// Is what waits worth a grace period?
    fn is_due(&self) -> bool {
        if self.pressing.get() > 0 {
            return true;
        }
        self.age.set(self.age.get() + 1);
        if self.age.get() > MOST_AGE {
            self.pressing.set(EPOCHS);
            return true;
        }
        let waiting = self.waiting.borrow();
        let objects = self.open.borrow().len() + waiting.sealed.len() + waiting.older.len();
        objects >= self.progress.threads().min(WORTH)
    }

    /// Is this thread the leader, or can it become it (L2)?
    fn leads(&self) -> bool {
        // Relaxed, here and below: L1.
        let leader = self.progress.clock.leader.load(Relaxed);
        if leader == self.index {
            return true;
        }
        if leader != 0 {
            let (before, points) = self.waits_for.get();
            let points = if before == leader { points + 1 } else { 0 };
            self.waits_for.set((leader, points));
            if points < PATIENCE {
                return false;
            }
        }
        self.progress.clock.leader.compare_exchange(leader, self.index, Relaxed, Relaxed).is_ok()
    }

    fn resign(&self) {
        // Relaxed: L1. Only the leader takes the line.
        if self.progress.clock.leader.load(Relaxed) == self.index {
            _ = self.progress.clock.leader.compare_exchange(self.index, 0, Relaxed, Relaxed);
        }
    }

    /// Looks at the slots; moves the epoch on, if all are past the one that this thread shows.
    fn lead(&self) -> bool {
        debug_assert!(self.index >= GUESTS, "a registered thread's slot");
        let epoch = self.seen.get();
        let mut waiting = self.waiting.borrow_mut();
        if !(self.progress.are_all_past(&mut waiting.look, epoch) && self.progress.move_on(epoch)) {
            return false;
        }
        // What is open was unlinked before this thread moved the epoch on, as what it had sealed was (sync.progress/G2).
        waiting.sealed.append(&mut self.open.borrow_mut());
        drop(waiting);
        self.move_on(epoch + 1);
        true
    }
}

impl Drop for ThreadSlot {
    fn drop(&mut self) {
        self.park();
        let mut taken = self.progress.taken.lock();
        taken[self.index - GUESTS] = false;
    }
}

impl fmt::Debug for ThreadSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadSlot").field("index", &self.index).finish_non_exhaustive()
    }
}
