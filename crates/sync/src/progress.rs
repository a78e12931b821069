//! Thread progress: when may memory that lock-free readers might still see be freed?
//!
//! Quiescent-state-based reclamation (McKenney's QSBR) by epochs (Fraser 2004). Readers write nothing while they read. Each registered thread
//! announces now and then that it holds no reference into shared structures (a scheduler does so between two slices); an object that was
//! unlinked before every thread has announced so since can be freed. The time until then is a *grace period*. OTP calls the idea thread
//! progress (Zhang 5.2) and has a leader thread for it. Here one of the threads with work to free looks at all others, for all who have some.
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
//! The epoch moves from `e` to `e + 1` when each slot was seen with `e` or outside. What a thread has retired goes on a step
//! each time that the thread shows another epoch:
//!
//! ```text
//!    retire --> open --- show e ---> sealed --- show e + 1 ---> older --- epoch e + 2: run
//!                 |                    |                          ^|
//!                 +------- the leader moves the epoch on ---------+|
//!                 +--------------------+---------------------------+--- park, drop ---> see_through: run now, or left as
//!                                                                                     orphans to a thread that is inside
//! ```
//!
//! A quiescent point costs two loads when there is nothing to do. Who looks at the slots is in `progress/thread_slot.rs`.
//!
//! # Why nothing is freed too early, and nothing is forgotten
//!
//! G1. The epoch is moved on from `e` by a thread that has seen each slot, since it read `e` and made a SeqCst fence, with count 0 or with an
//!     epoch >= `e`. Any thread may do so at any time; of two, one exchange succeeds.
//! G2. What was unlinked before the epoch moved on from `e`, and in an order that who moved it knows, is seen as unlinked by who reads
//!     `e + 1` (Release and Acquire on the epoch). So it may be freed at `e + 2`: by then each thread inside was seen with an epoch >=
//!     `e + 1`. What a thread read before it showed that, it read before its Release.
//! G3. A thread seen with count 0 that enters later makes a SeqCst fence between entering and reading; who looks made one between reading
//!     the epoch `e` and looking (sync/SL1). If the look missed the entry, the looker's fence was the earlier, so the thread reads
//!     as unlinked all that is freed at `e + 1` or before (G2). The next look sees that it is inside.
//! G4. A thread that is inside shows the epoch as it is, or one less. It reads the epoch again after its fence, until that is what it shows:
//!     by G3 no look with a later one has missed it, and from then on the epoch waits for it. So what it reads as another epoch is the
//!     newest, and what it retired before it shows that is unlinked before the epoch moves on from it (its slot's Release): G2.
//! G5. Work that is left to others is left to somebody. A thread that leaves work makes a SeqCst fence and looks whether anybody is
//!     inside; a thread that goes outside makes one and looks whether work was left. One of the two sees the other (sync/SL1), and sees to
//!     the work.
//!
//! A quiescent point has no fence and writes to no line but that of the thread's own slot; entering has a fence, and is rare. A slot that
//! was never used before the looker's fence is a slot whose thread entered after it (G3), so one looks only at `used` slots.
//!
//! # A thread without a core
//!
//! A thread that loses its core *outside* (asleep, or in a system call it went outside for) holds up nobody, and one that leads only for
//! a moment (`progress/thread_slot.rs`). One that loses it *inside*, in the middle of a slice, holds up the epoch, and what is unlinked after
//! it last showed one. No scheme without a store at each read can do better: nobody can tell what it has read since, so all that was
//! reachable then may still be in its registers. What it holds up is bounded by how long it stays away.
//!
//! # What was not done
//!
//! - *Readers that announce each access* (epochs entered and left around each read, as in crossbeam-epoch). A look-up of a process by
//!   its pid would store and fence; here it loads. The price: memory waits for the longest slice.
//! - *Hazard pointers*: a store and a fence for each object that is read.
//! - *Reference counts*: the counts of what all threads read would be written by all of them.
//! - *Each thread looks at all slots for its own batches*, as it was: with 128 threads each grace period fetched 128 lines 128 times, and
//!   each batch wrote to the epoch that all read.
//! - *A thread of its own that leads*, or one that others wake. It has to run although its VM is idle; here an idle VM has nobody inside,
//!   and a thread that goes outside runs what is left.
//! - *A tree*, in which each thread reports to its group and the last of a group to the next: each report is a read-modify-write on a line
//!   that a group fights over, where now each thread writes its own and one reads them all.
//! - *One domain for all purposes.* A dirty scheduler stays inside for as long as a built-in computes. What only normal schedulers
//!   read waits for a domain of theirs (`Vm::slices`).

mod thread_slot;

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
use std::{fmt, mem::take, ptr, sync::Arc};

pub use thread_slot::ThreadSlot;

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
const fn is_past(seen: u64, epoch: u64) -> bool {
    seen & COUNT == 0 || seen >> COUNT_BITS >= epoch
}

/// Calls what it is given, once: by it the maker of a domain does something around all work that runs.
pub type Runner = fn(&mut dyn FnMut());

/// What all threads read and one writes.
struct Clock {
    epoch: AtomicU64,
    /// The slot of the thread that looks at all slots now; 0, a guest's, for nobody's (`thread_slot.rs`).
    leader: AtomicUsize,
}

/// A domain of threads that reclaim together.
pub struct Progress {
    clock: CachePadded<Clock>,
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
            clock: CachePadded::new(Clock { epoch: AtomicU64::new(1), leader: AtomicUsize::new(0) }),
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
        Some(ThreadSlot::enter_first(self.clone(), index))
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
                    0 => word(self.epoch(), 1),
                    _ => seen + 1,
                };
                // Release: who sees this count must see what earlier guests did. Acquire: a guest that joins another inherits
                // its epoch, and so must see what the other saw (G2).
                match slot.compare_exchange_weak(seen, new, AcqRel, Relaxed) {
                    Ok(_) => {
                        if seen & COUNT == 0 {
                            tell(Event::Quiescent { domain: self.address(), slot: guest });
                        }
                        // SeqCst: G3, pairs with the fence in `are_all_past`.
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
        let mut passage = Passage::default();
        let mut backoff = Backoff::new();
        while !self.pass(&mut passage) {
            backoff.pause();
        }
    }

    fn epoch(&self) -> u64 {
        // Acquire: pairs with the Release in `move_on` (G2).
        self.clock.epoch.load(Acquire)
    }

    /// What a checker knows the domain by.
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// Runs all of it.
    fn run(&self, work: &mut Vec<Retired>) {
        work.iter().for_each(|Retired(_, retired)| tell(Event::Freed { domain: self.address(), retired: *retired }));
        (self.runner)(&mut || work.drain(..).for_each(Retired::run));
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
            if self.pass(&mut Passage::default()) {
                self.run(&mut work);
                // Relaxed: what this thread has left itself it sees.
                return !self.has_orphans.load(Relaxed);
            }
            self.adopt(take(&mut work));
            // SeqCst: G5, between leaving work and looking whether a thread is inside; pairs with the fence above.
            fence(SeqCst);
            if self.is_anybody_inside() {
                return true;
            }
        }
    }

    /// Has a grace period gone by since the passage began? Moves the epoch on, where it can.
    fn pass(&self, passage: &mut Passage) -> bool {
        loop {
            let epoch = self.epoch();
            if passage.moved_to.is_some_and(|to| epoch > to) {
                return true;
            }
            if !self.are_all_past(&mut passage.look, epoch) {
                return false;
            }
            if self.move_on(epoch) {
                // G2: what this thread has unlinked it has unlinked before this.
                passage.moved_to.get_or_insert(epoch + 1);
            }
        }
    }

    /// G1: looks at the slots, from where the last look at the same epoch has stopped, up to one that is not past it.
    fn are_all_past(&self, look: &mut Look, epoch: u64) -> bool {
        if look.epoch != epoch {
            *look = Look { epoch, cursor: 0 };
            // SeqCst: G3, pairs with the fences in `enter` and `pin`.
            fence(SeqCst);
        }
        // Relaxed: a slot that is missed was first used after our fence (G3).
        let used = self.used.load(Relaxed);
        // Acquire: pairs with the Release of the thread that was inside (G2): its reads happen before what it held is freed.
        while look.cursor < used && is_past(self.slots[look.cursor].load(Acquire), epoch) {
            look.cursor += 1;
        }
        look.cursor >= used
    }

    /// Moves the epoch on from `epoch`, which all slots are past. `false`: another thread has done it.
    fn move_on(&self, epoch: u64) -> bool {
        // Release: pairs with the Acquire in `epoch`: it hands on what the slots have told this thread (G2). Relaxed on failure: nothing follows.
        self.clock.epoch.compare_exchange(epoch, epoch + 1, Release, Relaxed).is_ok()
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

/// How far a thread has looked at the slots, of one epoch.
#[derive(Default)]
struct Look {
    epoch: u64,
    /// Slots below it are past the epoch. Once seen past it, each stays so for this look (G1, G3).
    cursor: usize,
}

/// A thread that waits for a grace period while it shows no epoch itself.
#[derive(Default)]
struct Passage {
    look: Look,
    /// The epoch to which the thread has moved on first.
    moved_to: Option<u64>,
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
        // Release: pairs with the Acquire in `are_all_past` (G2). A read-modify-write, so that the last of several guests
        // continues the release sequences of the others.
        let before = self.slot.fetch_sub(1, Release);
        if before & COUNT == 1 {
            tell(Event::Outside { domain: self.progress.address(), slot: self.index });
        }
        while !self.progress.see_through(Vec::new()) {}
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, not(loom)))]
mod tests;
