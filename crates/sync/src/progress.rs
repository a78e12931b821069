//! Thread progress: when may memory that lock-free readers might still see be freed?
//!
//! Quiescent-state-based reclamation (McKenney's QSBR). Readers write nothing while they read. Each registered thread announces now and
//! then that it holds no reference into shared structures (a scheduler does so between two slices); an object that was unlinked before
//! every thread has announced so since can be freed. The time until then is a *grace period*. OTP calls the idea thread progress
//! (Zhang 5.2) and has a leader thread for it; here the thread that retires an object also finds out when its grace period is over.
//!
//! # States
//!
//! Each slot holds one word: an epoch, and a count of threads inside (0 or 1 for a registered thread; slots for guests are shared).
//!
//! ```text
//!               enter, register, pin: epoch and count 1; SeqCst fence
//!    outside ----------------------------------------------------------> inside, epoch e
//!    (count 0) <---------------------------------------------------------   |      ^
//!               park, drop: count 0 (Release)                               |      | quiescent: the epoch as it is now
//!                                                                           +------+ (Release)
//! ```
//!
//! A thread that blocks must go outside first (`park`), or it holds everything up. A thread that is not registered pins instead: what
//! it finds stays until it drops the [`Pinned`].
//!
//! Retired work goes by batches, so that the shared epoch moves once for a batch:
//!
//! ```text
//!    retire --> open --- quiescent: seal, draws tag t ---> sealed --- each quiescent: scan ---> all slots past t: run
//!                 |                                           |
//!                 +------------ park, drop ------------> see_through: run now, or left as orphans to a thread that is inside
//! ```
//!
//! A scan resumes where it last met a slot that was not past the tag. A quiescent point costs two loads when there is nothing to do.
//!
//! # Why nothing is freed too early, and nothing is forgotten
//!
//! G1. A batch with tag `t` runs when each slot was seen, since `t` was drawn, with count 0 or with an epoch >= `t`.
//! G2. A thread seen with epoch >= `t` drew it from the global epoch with Acquire after the tag's Release: what it
//!     reads from then on was unlinked already; what it read earlier, it read before its Release.
//! G3. A thread seen with count 0 that enters later makes a SeqCst fence between entering and reading; the retirer
//!     made one between unlinking and looking (sync/SL1). If the look missed the entry, the retirer's fence was the earlier,
//!     so the thread reads what was unlinked as unlinked.
//! G4. So each slot, once seen past `t`, is past it for good, and a scan need not go back.
//! G5. Work that is left to others is left to somebody. A thread that leaves work makes a SeqCst fence and looks whether anybody is
//!     inside; a thread that goes outside makes one and looks whether work was left. One of the two sees the other (sync/SL1), and sees to
//!     the work.
//!
//! G2 needs only Release and Acquire, so a quiescent point has no fence; entering has one, and is rare. The tag is drawn by a
//! read-modify-write, so a thread that reads a later tag reads in the release sequence of all earlier ones. A slot that was never
//! used before the retirer's fence is a slot whose thread entered after it (G3), so a scan looks only at `used` slots.
//!
//! # What was not done
//!
//! - *Readers that announce each access* (epochs entered and left around each read, as in crossbeam-epoch). A look-up of a process by
//!   its pid would store and fence; here it loads. The price: memory waits for the longest slice.
//! - *Hazard pointers*: a store and a fence for each object that is read.
//! - *Reference counts*: the counts of what all threads read would be written by all of them.
//! - *A leader*, which waits for all threads and then tells them. It has to run, or be woken, although its VM is idle; here an idle
//!   VM has nobody inside, and a thread that goes outside runs what is left.
//! - *One domain for all purposes.* A dirty scheduler stays inside for as long as a built-in computes. What only normal schedulers
//!   read waits for a domain of theirs (`Vm::slices`).

use crate::{
    atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
        fence,
    },
    backend::{locks, thread},
    backoff::Backoff,
    pad::CachePadded,
    slot,
    witness::{Event, Moment, tell},
};
use std::{
    cell::{Cell, RefCell},
    fmt,
    mem::take,
    ptr,
    sync::Arc,
};

/// What is done when all have made progress, and since when it waits.
struct Retired(What, Moment);

enum What {
    /// Runs.
    Work(Box<dyn FnOnce() + Send>),
    /// Is freed, by this function.
    Object(*mut (), unsafe fn(*mut ())),
}

// SAFETY: a thread that retires an object promises that any thread may free it (`retire_object`).
unsafe impl Send for Retired {}

impl Retired {
    fn work(work: impl FnOnce() + Send + 'static) -> Self {
        Retired(What::Work(Box::new(work)), Moment::now())
    }

    fn object(object: *mut (), free: unsafe fn(*mut ())) -> Self {
        Retired(What::Object(object, free), Moment::now())
    }

    fn run(self) {
        match self.0 {
            What::Work(work) => work(),
            // SAFETY: the promise that `retire_object` asks for.
            What::Object(object, free) => unsafe { free(object) },
        }
    }
}

/// Slots shared by threads that pin; each is a count, so any number of threads may.
const GUESTS: usize = if cfg!(any(loom, feature = "single")) { 1 } else { 16 };

/// The low bits of a slot's word: how many threads are inside. The rest is an epoch, enough for ages.
const COUNT_BITS: u32 = 16;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

const fn word(epoch: u64, count: u64) -> u64 {
    epoch << COUNT_BITS | count
}

/// G1, of one slot.
const fn is_past(seen: u64, tag: u64) -> bool {
    seen & COUNT == 0 || seen >> COUNT_BITS >= tag
}

/// Calls what it is given, once: by it the maker of a domain does something around all work that runs.
pub type Runner = fn(&mut dyn FnMut());

/// A domain of threads that reclaim together.
pub struct Progress {
    epoch: CachePadded<AtomicU64>,
    /// Guests, then registered threads.
    slots: Box<[CachePadded<AtomicU64>]>,
    /// Slots from here on were never used.
    used: AtomicUsize,
    /// Which slots are registered. A leaf lock, like the next.
    taken: locks::Mutex<Vec<bool>>,
    /// Work that its retirer could not see through, left to the threads that are inside.
    orphans: locks::Mutex<Vec<Retired>>,
    has_orphans: AtomicBool,
    /// Runs retired work.
    runner: Runner,
}

impl Progress {
    /// A domain for at most `max_threads` registered threads.
    pub fn new(max_threads: usize) -> Arc<Self> {
        Self::running_by(max_threads, |work| work())
    }

    /// As [`new`](Self::new); what threads have retired is run by `runner`.
    pub fn running_by(max_threads: usize, runner: Runner) -> Arc<Self> {
        let slots: Box<[_]> = (0..GUESTS + max_threads).map(|_| CachePadded::new(AtomicU64::new(0))).collect();
        let taken = vec![false; max_threads];
        Arc::new(Self {
            epoch: CachePadded::new(AtomicU64::new(1)),
            slots,
            used: AtomicUsize::new(GUESTS),
            taken: locks::Mutex::new(taken),
            orphans: locks::Mutex::new(Vec::new()),
            has_orphans: AtomicBool::new(false),
            runner,
        })
    }

    /// How many threads have been registered at a time, at most.
    pub fn threads(&self) -> usize {
        // Relaxed: a figure.
        self.used.load(Relaxed) - GUESTS
    }

    /// Joins the calling thread, as not quiescent; nothing if the domain is full.
    pub fn register(self: &Arc<Self>) -> Option<ThreadSlot> {
        let index = {
            let mut taken = self.taken.lock();
            let free = taken.iter().position(|taken| !taken)?;
            taken[free] = true;
            GUESTS + free
        };
        // Relaxed: ordered by the fence in `enter`, as the slot's own word is (G3).
        self.used.fetch_max(index + 1, Relaxed);
        let slot = ThreadSlot {
            progress: self.clone(),
            index,
            seen: Cell::new(0),
            open: RefCell::new(Vec::new()),
            sealed: RefCell::new(Batch::default()),
            has_work: Cell::new(false),
        };
        slot.enter();
        Some(slot)
    }

    /// Keeps everything alive that is reachable now, until dropped: for threads that are not registered. A thread that drops it
    /// must hold no locks: work may run then that was left to it.
    pub fn pin(&self) -> Pinned<'_> {
        let mut guest = slot::index() % GUESTS;
        loop {
            let slot = &self.slots[guest];
            // Relaxed: a first guess; the exchange checks it.
            let mut seen = slot.load(Relaxed);
            while seen & COUNT < COUNT {
                let new = match seen & COUNT {
                    // Acquire: pairs with the Release on the epoch in `seal` (G2).
                    0 => word(self.epoch.load(Acquire), 1),
                    _ => seen + 1,
                };
                // Release: a retirer that sees this count must see what earlier guests did. Acquire: a guest that
                // joins another inherits its epoch, and so must see what the other saw (G2).
                match slot.compare_exchange_weak(seen, new, AcqRel, Relaxed) {
                    Ok(_) => {
                        if seen & COUNT == 0 {
                            tell(Event::Quiescent { domain: self.address(), slot: guest });
                        }
                        // SeqCst: G3, pairs with the fence in `seal`.
                        fence(SeqCst);
                        return Pinned { progress: self, slot, index: guest };
                    }
                    Err(newer) => seen = newer,
                }
            }
            // 65,535 pins in this slot already: try the next.
            guest = (guest + 1) % GUESTS;
            thread::yield_now();
        }
    }

    /// As [`ThreadSlot::retire`], from a thread that is not registered: a thread that is inside sees it through, at one of
    /// its next quiescent points. If no thread is inside, the next one to enter does, at some time: work that a thread waits for must
    /// not be left so.
    pub fn retire_unregistered(&self, work: impl FnOnce() + Send + 'static) {
        self.adopt(vec![Retired::work(work)]);
    }

    /// As [`ThreadSlot::retire_object`], from a thread that is not registered.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn retire_object(&self, object: *mut (), free: unsafe fn(*mut ())) {
        self.adopt(vec![Retired::object(object, free)]);
    }

    /// Waits until every thread has made progress. The caller must be neither registered (unless parked) nor
    /// pinned: it would wait for itself.
    pub fn wait_for_all(&self) {
        let mut batch = self.seal(Vec::new());
        let mut backoff = Backoff::new();
        while !self.scan(&mut batch) {
            backoff.pause();
        }
    }

    /// What a checker knows the domain by.
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    fn run(&self, work: Vec<Retired>) {
        work.iter().for_each(|Retired(_, retired)| tell(Event::Freed { domain: self.address(), retired: *retired }));
        let mut work = work.into_iter();
        (self.runner)(&mut || work.by_ref().for_each(Retired::run));
    }

    fn adopt(&self, work: Vec<Retired>) {
        if work.is_empty() {
            return;
        }
        let mut orphans = self.orphans.lock();
        orphans.extend(work);
        // Relaxed: a hint to look; the lock orders the list.
        self.has_orphans.store(true, Relaxed);
    }

    fn take_orphans(&self) -> Vec<Retired> {
        // Relaxed: as in `adopt`.
        if !self.has_orphans.load(Relaxed) {
            return Vec::new();
        }
        let mut orphans = self.orphans.lock();
        self.has_orphans.store(false, Relaxed);
        take(&mut *orphans)
    }

    /// Is any thread inside?
    fn is_anybody_inside(&self) -> bool {
        // Relaxed: ordered by the fence in `see_through` (G5). A slot that is missed was first used after it.
        let used = self.used.load(Relaxed);
        self.slots[..used].iter().any(|slot| slot.load(Relaxed) & COUNT != 0)
    }

    /// For a thread that has just gone outside: runs this work and what others have left, or leaves both to the threads inside
    /// (G5). `false`: the work that has run has left more.
    fn see_through(&self, mut work: Vec<Retired>) -> bool {
        // SeqCst: G5, between going and looking what was left; pairs with the fence below.
        fence(SeqCst);
        loop {
            work.append(&mut self.take_orphans());
            if work.is_empty() {
                return true;
            }
            let mut batch = self.seal(take(&mut work));
            if self.scan(&mut batch) {
                self.run(batch.work);
                // Relaxed: what this thread has left itself it sees.
                return !self.has_orphans.load(Relaxed);
            }
            self.adopt(batch.work);
            // SeqCst: G5, between leaving work and looking whether a thread is inside; pairs with the fence above.
            fence(SeqCst);
            if self.is_anybody_inside() {
                return true;
            }
        }
    }

    /// Draws a tag for work whose objects are all unlinked.
    fn seal(&self, work: Vec<Retired>) -> Batch {
        // Release: pairs with the Acquire loads of the epoch (G2): a thread that sees the tag sees the unlinking. A
        // read-modify-write, so later tags continue the release sequence. Acquire: another's tag may be inherited.
        let tag = self.epoch.fetch_add(1, AcqRel) + 1;
        // SeqCst: G3, pairs with the fences in `enter` and `pin`.
        fence(SeqCst);
        Batch { tag, cursor: 0, work }
    }

    /// Moves the batch's cursor over the slots that are past its tag; true when all are.
    fn scan(&self, batch: &mut Batch) -> bool {
        // Relaxed: a slot that is missed was first used after our fence (G3).
        let used = self.used.load(Relaxed);
        // Acquire: pairs with the Release of the thread that was inside (G2): its reads happen before this thread frees.
        while batch.cursor < used && is_past(self.slots[batch.cursor].load(Acquire), batch.tag) {
            batch.cursor += 1;
        }
        batch.cursor >= used
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Slots hold an `Arc` and pins a borrow, so no thread is inside.
        for work in take(self.orphans.get_mut()) {
            work.run();
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

/// Work that waits for all threads to pass one tag.
#[derive(Default)]
struct Batch {
    tag: u64,
    /// Slots below it are past the tag.
    cursor: usize,
    work: Vec<Retired>,
}

/// A registered thread. It may move to another thread, not be shared.
pub struct ThreadSlot {
    progress: Arc<Progress>,
    index: usize,
    /// The epoch in our slot.
    seen: Cell<u64>,
    /// Retired since the last batch was sealed.
    open: RefCell<Vec<Retired>>,
    /// The one batch that is waiting; the next is sealed when it has run.
    sealed: RefCell<Batch>,
    /// There is something in one of the two: all that a quiescent point looks at.
    has_work: Cell<bool>,
}

impl ThreadSlot {
    /// The domain.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Runs `work` when every thread has been quiescent since now. What it frees must already be unreachable for
    /// threads that begin to look. It runs at a later quiescent point of this thread, or of another's if this one parks.
    pub fn retire(&self, work: impl FnOnce() + Send + 'static) {
        self.open.borrow_mut().push(Retired::work(work));
        self.has_work.set(true);
    }

    /// As [`retire`](Self::retire) for work that only frees one object; costs no memory of its own.
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
        // Acquire: pairs with the Release on the epoch in `seal` (G2).
        let epoch = self.progress.epoch.load(Acquire);
        if epoch != self.seen.get() {
            self.show(epoch);
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
        let mut work = take(&mut *self.sealed.borrow_mut()).work;
        work.append(&mut self.open.borrow_mut());
        self.has_work.set(false);
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

    fn word(&self) -> &AtomicU64 {
        &self.progress.slots[self.index]
    }

    fn show(&self, epoch: u64) {
        self.seen.set(epoch);
        // Release: pairs with the Acquire in `scan` (G2). Also when entering: a retirer may see this store and
        // not the one that left before it, whose release sequence a plain store ends.
        self.word().store(word(epoch, 1), Release);
    }

    fn enter(&self) {
        tell(Event::Quiescent { domain: self.progress.address(), slot: self.index });
        // Acquire: pairs with the Release on the epoch in `seal` (G2).
        self.show(self.progress.epoch.load(Acquire));
        // SeqCst: G3, pairs with the fence in `seal`.
        fence(SeqCst);
    }

    fn leave(&self) {
        tell(Event::Outside { domain: self.progress.address(), slot: self.index });
        self.seen.set(0);
        // Release: pairs with the Acquire in `scan` (G2).
        self.word().store(0, Release);
    }

    #[cold]
    fn reclaim(&self) {
        if self.sealed.borrow().work.is_empty() {
            let mut work = take(&mut *self.open.borrow_mut());
            work.append(&mut self.progress.take_orphans());
            if work.is_empty() {
                return;
            }
            let batch = self.progress.seal(work);
            // We are quiescent, and have seen our own unlinking.
            self.show(batch.tag);
            *self.sealed.borrow_mut() = batch;
            // Perhaps it was all left by others.
            self.has_work.set(true);
        }
        if self.progress.scan(&mut self.sealed.borrow_mut()) {
            // Out of the cell first: the work may retire more.
            let work = take(&mut self.sealed.borrow_mut().work);
            self.has_work.set(!self.open.borrow().is_empty());
            self.progress.run(work);
        }
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

/// Keeps alive what was reachable when it was made. Made by [`Progress::pin`].
#[derive(Debug)]
#[must_use = "protects only as long as it is kept"]
pub struct Pinned<'a> {
    progress: &'a Progress,
    slot: &'a AtomicU64,
    index: usize,
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `scan` (G2). A read-modify-write, so that the last of several guests
        // continues the release sequences of the others.
        let before = self.slot.fetch_sub(1, Release);
        if before & COUNT == 1 {
            tell(Event::Outside { domain: self.progress.address(), slot: self.index });
        }
        while !self.progress.see_through(Vec::new()) {}
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Progress;
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };

    fn counter() -> (Arc<AtomicUsize>, impl Fn() -> Box<dyn FnOnce() + Send>) {
        let count = Arc::new(AtomicUsize::new(0));
        let shared = count.clone();
        let work = move || -> Box<dyn FnOnce() + Send> {
            let shared = shared.clone();
            Box::new(move || {
                shared.fetch_add(1, Relaxed);
            })
        };
        (count, work)
    }

    #[test]
    fn alone_the_next_quiescent_point_runs_it() {
        let (ran, work) = counter();
        let slot = Progress::new(1).register().expect("room");
        slot.retire(work());
        assert_eq!(ran.load(Relaxed), 0);
        slot.quiescent();
        assert_eq!((ran.load(Relaxed), slot.has_work()), (1, false));
    }

    #[test]
    fn waits_for_every_thread_inside() {
        let (ran, work) = counter();
        let progress = Progress::new(3);
        let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
        let parked = progress.register().expect("room");
        parked.park();
        let pin = progress.pin();
        one.retire(work());
        one.quiescent();
        two.quiescent();
        one.quiescent();
        assert_eq!(ran.load(Relaxed), 0, "pinned");
        drop(pin);
        one.quiescent();
        assert_eq!(ran.load(Relaxed), 1);
        parked.unpark();
        one.retire(work());
        one.quiescent();
        two.quiescent();
        one.quiescent();
        assert_eq!(ran.load(Relaxed), 1, "no longer parked");
        parked.quiescent();
        one.quiescent();
        assert_eq!(ran.load(Relaxed), 2);
    }

    #[test]
    fn a_later_pin_does_not_hold_it_up() {
        let (ran, work) = counter();
        let progress = Progress::new(1);
        let slot = progress.register().expect("room");
        let early = progress.pin();
        slot.retire(work());
        slot.quiescent();
        drop(early);
        let _late = progress.pin();
        slot.quiescent();
        assert_eq!(ran.load(Relaxed), 1);
    }

    #[test]
    fn who_leaves_bequeaths() {
        let (ran, work) = counter();
        let progress = Progress::new(2);
        let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
        assert!(progress.register().is_none(), "full");
        one.retire(work());
        drop(one);
        assert_eq!(ran.load(Relaxed), 0);
        assert!(progress.register().is_some(), "the place is free again");
        progress.retire_unregistered(work());
        two.quiescent();
        assert_eq!(ran.load(Relaxed), 2);
        two.retire(work());
        two.park();
        assert_eq!(ran.load(Relaxed), 3, "nobody else is inside");
    }

    #[test]
    fn work_may_retire_work() {
        let (ran, work) = counter();
        let progress = Progress::new(1);
        let slot = progress.register().expect("room");
        let (again, more) = (progress.clone(), work());
        slot.retire(move || again.retire_unregistered(more));
        slot.quiescent();
        slot.quiescent();
        assert_eq!(ran.load(Relaxed), 1);
    }

    #[test]
    fn who_parks_leaves_no_work_of_work() {
        let (ran, work) = counter();
        let progress = Progress::new(1);
        let slot = progress.register().expect("room");
        let retire_twice = || {
            let (again, more) = (progress.clone(), work());
            slot.retire(move || again.retire_unregistered(more));
        };
        retire_twice();
        assert!(!slot.try_park(), "more to do");
        assert!(slot.try_park());
        assert_eq!(ran.load(Relaxed), 1);
        slot.unpark();
        retire_twice();
        slot.park();
        assert_eq!(ran.load(Relaxed), 2);
    }

    #[test]
    fn the_last_guest_to_leave_sees_to_what_was_left() {
        let (ran, work) = counter();
        let progress = Progress::new(1);
        let slot = progress.register().expect("room");
        let pin = progress.pin();
        slot.retire(work());
        slot.park();
        assert_eq!(ran.load(Relaxed), 0, "pinned");
        drop(pin);
        assert_eq!(ran.load(Relaxed), 1);
    }

    #[test]
    fn an_object_is_freed_like_work() {
        let shared = Arc::new(());
        let object = Arc::into_raw(shared.clone()).cast_mut().cast();
        /// Takes back one count.
        unsafe fn free(object: *mut ()) {
            // SAFETY: it came from `into_raw`.
            drop(unsafe { Arc::from_raw(object.cast_const()) });
        }
        let progress = Progress::new(2);
        let (one, two) = (progress.register().expect("room"), progress.register().expect("room"));
        // SAFETY: the count is nobody else's.
        unsafe { one.retire_object(object, free) };
        one.quiescent();
        one.quiescent();
        assert_eq!(Arc::strong_count(&shared), 2, "the other has not moved");
        two.quiescent();
        one.quiescent();
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    fn the_last_one_frees_what_is_left() {
        let (ran, work) = counter();
        let progress = Progress::new(1);
        progress.retire_unregistered(work());
        drop(progress);
        assert_eq!(ran.load(Relaxed), 1);
    }

    /// Threads replace a shared object while others read it; a freed one is poisoned first.
    #[cfg(not(feature = "single"))]
    #[test]
    fn nobody_reads_what_was_freed() {
        use crate::atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire},
        };
        use std::cell::Cell;
        const LIVE: u64 = 0x11FE;
        let rounds = if cfg!(miri) { 40 } else { 20_000 };
        let progress = Progress::new(3);
        let shared = AtomicPtr::new(Box::into_raw(Box::new(Cell::new(LIVE))));
        let read = || {
            // SAFETY: protected by the slot or pin of the caller.
            assert_eq!(unsafe { (*shared.load(Acquire)).get() }, LIVE);
        };
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (progress, shared, read) = (progress.clone(), &shared, &read);
                scope.spawn(move || {
                    let slot = progress.register().expect("room");
                    for round in 0..rounds {
                        read();
                        if round % 4 == thread {
                            let old = shared.swap(Box::into_raw(Box::new(Cell::new(LIVE))), AcqRel);
                            let old = old.expose_provenance();
                            slot.retire(move || {
                                // SAFETY: unlinked, and by now nobody reads it.
                                let old =
                                    unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Cell<u64>>(old)) };
                                old.set(0);
                            });
                        }
                        slot.quiescent();
                        if round % 64 == 0 {
                            slot.park();
                            slot.unpark();
                        }
                    }
                });
            }
            let (progress, read) = (progress.clone(), &read);
            scope.spawn(move || {
                for _ in 0..rounds {
                    let _pin = progress.pin();
                    read();
                }
            });
        });
        // SAFETY: the last one, and all have ended.
        drop(unsafe { Box::from_raw(shared.load(Acquire)) });
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn waiting_for_all_ends_when_all_have_moved() {
        let progress = Progress::new(1);
        let moved = AtomicUsize::new(0);
        let slot = progress.register().expect("room");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                moved.store(1, Relaxed);
                slot.quiescent();
                slot.park();
                drop(slot);
            });
            progress.wait_for_all();
            assert_eq!(moved.load(Relaxed), 1);
        });
    }
}

/// An object is unlinked and retired while others look it up. Every atomic of the test is Relaxed, so all order comes
/// from the domain. The "freed" object is a checked cell: a read that does not happen before its freeing is a race,
/// one that comes after it reads `false`.
///
/// Caught when tried: either SeqCst fence of G3 removed or made AcqRel; Relaxed for the Release of the epoch in `seal`,
/// for the Acquire in `scan` and in `quiescent`, and for the Releases in `show`, `leave`
/// and `Pinned::drop`; a tag off by one; either fence of G5 removed. Not caught, for a reason: the Acquires
/// of the epoch that a SeqCst fence follows in the same function (`enter`, `pin`, `seal`), because that fence acquires
/// too. They stay, so that G2 does not lean on G3's fences. Not caught, for want of a deeper model: the Release of
/// the exchange in `pin`, which matters only when one guest joins another (three threads, three preemptions).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Progress, ThreadSlot};
    use crate::{
        atomic::{AtomicBool, Ordering::Relaxed},
        cell::UnsafeCell,
    };
    use loom::thread;
    use std::sync::Arc;

    struct Shared {
        linked: AtomicBool,
        live: UnsafeCell<bool>,
    }

    // SAFETY: the domain orders the accesses to `live`, and loom checks that it does.
    unsafe impl Sync for Shared {}
    // SAFETY: the domain orders the accesses to `live`, and loom checks that it does.
    unsafe impl Send for Shared {}

    impl Shared {
        fn new() -> Arc<Self> {
            Arc::new(Self { linked: AtomicBool::new(true), live: UnsafeCell::new(true) })
        }

        fn read(&self) {
            if self.linked.load(Relaxed) {
                // SAFETY: still linked for a thread that began to look after a quiescent point.
                self.live.with(|live| assert!(unsafe { *live }, "used after retire"));
            }
        }

        fn free(&self) {
            // SAFETY: run by the domain, when nobody can have a reference.
            self.live.with_mut(|live| unsafe { *live = false });
        }

        fn unlink_and_retire(self: &Arc<Self>, slot: &ThreadSlot) {
            self.linked.store(false, Relaxed);
            let shared = self.clone();
            slot.retire(move || shared.free());
        }

        /// At the end, with nobody inside: freed, once (twice would be caught by the caller's assertion on it).
        fn assert_freed(&self) {
            // SAFETY: all threads have been joined and the domain is gone.
            self.live.with(|live| assert!(!unsafe { *live }, "never freed"));
        }
    }

    /// The body races a thread that unlinks, retires and passes two quiescent points.
    fn against_retirer(registered: bool, body: fn(&Arc<Progress>, Option<&ThreadSlot>, &Shared)) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let progress = Progress::new(2);
            let shared = Shared::new();
            let mine = progress.register().unwrap();
            let theirs = registered.then(|| progress.register().unwrap());
            if let Some(slot) = &theirs {
                slot.quiescent();
            }
            let reader = {
                let (progress, shared) = (progress.clone(), shared.clone());
                // The slot comes back, so that leaving the domain orders nothing here.
                thread::spawn(move || {
                    body(&progress, theirs.as_ref(), &shared);
                    theirs
                })
            };
            shared.unlink_and_retire(&mine);
            mine.quiescent();
            mine.quiescent();
            drop(reader.join().unwrap());
            drop(mine);
            drop(progress);
            shared.assert_freed();
        });
    }

    #[test]
    fn a_thread_inside_is_waited_for() {
        against_retirer(true, |_, slot, shared| {
            let slot = slot.unwrap();
            shared.read();
            slot.quiescent();
            shared.read();
        });
    }

    #[test]
    fn a_thread_may_park_and_return() {
        against_retirer(true, |_, slot, shared| {
            let slot = slot.unwrap();
            shared.read();
            slot.park();
            slot.unpark();
            shared.read();
        });
    }

    #[test]
    fn a_thread_may_join_late() {
        against_retirer(false, |progress, _, shared| {
            let slot = progress.register().unwrap();
            shared.read();
            slot.park();
        });
    }

    #[test]
    fn a_pin_is_waited_for() {
        against_retirer(false, |progress, _, shared| {
            for _ in 0..2 {
                let _pin = progress.pin();
                shared.read();
            }
        });
    }

    /// Two guests share one slot: the second may inherit the epoch of the first.
    #[test]
    fn two_pins_are_waited_for() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let progress = Progress::new(1);
            let shared = Shared::new();
            let mine = progress.register().unwrap();
            let readers = [(); 2].map(|()| {
                let (progress, shared) = (progress.clone(), shared.clone());
                thread::spawn(move || {
                    let _pin = progress.pin();
                    shared.read();
                })
            });
            shared.unlink_and_retire(&mine);
            mine.quiescent();
            mine.quiescent();
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            drop(mine);
            drop(progress);
            shared.assert_freed();
        });
    }

    /// A thread that retires too shows its own tag, which is later than the other's: it must have seen the other's
    /// unlinking by then.
    #[test]
    fn a_retirer_sees_what_others_unlinked() {
        against_retirer(true, |_, slot, shared| {
            let slot = slot.unwrap();
            slot.retire(|| ());
            slot.quiescent();
            shared.read();
        });
    }

    /// Two threads park at once, one of them with work: one of the two runs it.
    #[test]
    fn two_who_park_leave_nothing() {
        loom::model(|| {
            let progress = Progress::new(2);
            let ran = Arc::new(AtomicBool::new(false));
            let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
            // The slot comes back: dropping it would be another look.
            let other = thread::spawn(move || {
                theirs.park();
                theirs
            });
            let told = ran.clone();
            mine.retire(move || told.store(true, Relaxed));
            mine.park();
            let theirs = other.join().unwrap();
            assert!(ran.load(Relaxed), "left to nobody");
            drop((mine, theirs));
        });
    }

    /// As above, where a guest leaves while the only thread parks.
    #[test]
    fn a_guest_who_leaves_last_leaves_nothing() {
        loom::model(|| {
            let progress = Progress::new(1);
            let ran = Arc::new(AtomicBool::new(false));
            let slot = progress.register().unwrap();
            let guest = {
                let progress = progress.clone();
                thread::spawn(move || drop(progress.pin()))
            };
            let told = ran.clone();
            slot.retire(move || told.store(true, Relaxed));
            slot.park();
            guest.join().unwrap();
            assert!(ran.load(Relaxed), "left to nobody");
            drop(slot);
        });
    }

    /// A thread that retires and parks leaves the work to the other one, which frees it.
    #[test]
    fn what_is_bequeathed_is_freed() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let progress = Progress::new(2);
            let shared = Shared::new();
            let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
            let heir = {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.read();
                    theirs.quiescent();
                    shared.read();
                    theirs.quiescent();
                })
            };
            shared.unlink_and_retire(&mine);
            mine.park();
            heir.join().unwrap();
            drop(mine);
            drop(progress);
            shared.assert_freed();
        });
    }
}
