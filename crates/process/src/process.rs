//! The process: what others see of it, and what is its own.
//!
//! process/P2 (`status.rs`) gives the owner state to one thread at a time; everything that others do to a process is a signal.

use crate::owner::OwnerState;
use crate::priority::Priority;
use crate::runtime::Runtime;
use crate::signal::Packet;
use crate::status::{Status, Wake};
use crate::timer::WheelSet;
use crate::tracee::Tracee;
use myriad_heap::QueueLink;
use myriad_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use myriad_sync::cell::UnsafeCell;
use myriad_sync::witness::{Event, tell};
use myriad_sync::{Backoff, Chain, ExitFlag, Mailbox};
use myriad_term::{Atom, Pid};
use std::ptr::NonNull;

/// Above the number of any priority: all bits of the urgency but [`ASKED`].
const NOT_URGENT: u8 = !ASKED;
/// The half of the placement that says to which scheduler a process is bound; the other one is its private thread.
const BOUND: u32 = (1 << PRIVATE_SHIFT) - 1;
const PRIVATE_SHIFT: u32 = 16;
/// The bit of the urgency that says that a process waits for an answer.
const ASKED: u8 = 1 << 7;

/// A process.
///
/// No larger than a size of the allocator: one word more would cost each process 128 bytes. What others look at is one cache line, which
/// whoever leaves a signal fetches once; what its owner writes stands in other lines.
#[repr(C, align(64))]
pub struct Process<R: Runtime> {
    /// The scheduling state, and signals not fetched yet.
    pub(crate) mailbox: Mailbox<Packet<R>>,
    /// The pid by which the process table finds it.
    pub pid: Pid,
    /// The era in which it was born (sync/ID3): tells apart those that have had one pid.
    pub born: u64,
    /// Whether it is traced, for what and by whom.
    pub trace: Tracee,
    /// The scheduler that ran it last, where it goes when it wakes.
    pub home: AtomicU32,
    /// Registered name: atom index + 1, or 0.
    pub name: AtomicU32,
    /// Where it has to run: in the low half the scheduler that it is bound to + 1, or 0; in the high half its private thread + 1, or 0.
    placement: AtomicU32,
    priority: AtomicU8,
    /// The priority at which it goes into a queue next, if that is higher (a lower number): it has been asked for something. And
    /// whether a process waits for its answer.
    urgency: AtomicU8,
    /// Ends as a system process does: not listed by some tools, never killed by `init:stop`.
    pub system: bool,
    exiting: ExitFlag,
    suspended: AtomicBool,
    /// Does it fall behind those who send it messages?
    is_behind: AtomicBool,
    blocks_schedulers: AtomicBool,
    /// Wheels on which timers may stand that will send it messages: bits of a [`WheelSet`].
    timer_wheels: AtomicU8,
    /// Where the built-in runs that it has called ([`DirtyState`]).
    place: AtomicU8,
    owner_state: UnsafeCell<OwnerState<R>>,
}

// SAFETY: process/P2 gives `owner_state` to one thread at a time; the rest is atomic or lock-free.
unsafe impl<R: Runtime> Sync for Process<R> {}

impl<R: Runtime> Process<R> {
    #[cfg(not(loom))]
    const SHARED_LINE: () = assert!(std::mem::offset_of!(Self, owner_state) == 64, "what others look at is one line");

    /// A process that waits for its first wake-up.
    pub fn new(pid: Pid, priority: Priority, system: bool, home: u32, state: OwnerState<R>) -> Self {
        #[cfg(not(loom))]
        const {
            Self::SHARED_LINE
        }
        Process {
            mailbox: Mailbox::new(Status::Waiting as u8),
            pid,
            born: 0,
            trace: Tracee::default(),
            home: AtomicU32::new(home),
            name: AtomicU32::new(0),
            placement: AtomicU32::new(0),
            priority: AtomicU8::new(priority.bits()),
            urgency: AtomicU8::new(NOT_URGENT),
            system,
            exiting: ExitFlag::new(),
            suspended: AtomicBool::new(false),
            is_behind: AtomicBool::new(false),
            blocks_schedulers: AtomicBool::new(false),
            timer_wheels: AtomicU8::new(WheelSet::default().bits()),
            place: AtomicU8::new(DirtyState::Not as u8),
            owner_state: UnsafeCell::new(state),
        }
    }

    /// The scheduling state (a figure, already old).
    pub fn status(&self) -> Status {
        Status::from_bits(self.mailbox.state())
    }

    /// Changes the state to one without an owner, or to one in which the owner stays the same.
    /// What `f` makes of it and of whether signals are left.
    fn transition<T>(&self, f: impl Fn(Status, bool) -> (Status, T)) -> T {
        myriad_sync::sim_point();
        self.mailbox.change(|bits, signalled| {
            let (next, result) = f(Status::from_bits(bits), signalled);
            (next as u8, result)
        })
    }

    /// Makes the calling thread its owner, by `take`, which gives nothing as long as it has a visitor (process/P3).
    #[inline]
    fn take_up<T>(&self, take: impl Fn(&Mailbox<Packet<R>>, fn(u8) -> (u8, ())) -> Option<T>) -> T {
        tell(Event::Runs(self.pid.data()));
        let run = |bits| {
            let status = Status::from_bits(bits);
            debug_assert!(
                status == Status::Runnable,
                "P1: only what was in a run queue is run, not what is {status:?}"
            );
            (Status::Running as u8, ())
        };
        let mut backoff = Backoff::new();
        loop {
            myriad_sync::sim_point();
            match take(&self.mailbox, run) {
                Some(taken) => return taken,
                None => backoff.pause(),
            }
        }
    }

    /// Calls `look` with its status and its owner state, if it does not run and no other thread visits it (process/P3).
    pub fn visit<T>(&self, look: impl FnOnce(Status, &OwnerState<R>) -> T) -> Option<T> {
        let visit = self.mailbox.visit(|bits| Status::from_bits(bits).admits_visitors())?;
        myriad_sync::sim_point();
        debug_assert!(Status::from_bits(visit.state).admits_visitors(), "P3: a thread owns it");
        // SAFETY: process/P3: no thread changes it as long as `visit` lives.
        Some(look(Status::from_bits(visit.state), unsafe { self.seen() }))
    }

    /// It has been made, and is to run: the caller has to do what the [`Wake`] says.
    pub fn wake(&self) -> Wake {
        self.transition(|status, _| match status.on_signal() {
            Some(runnable) => (runnable, Wake::Enqueue),
            None => (status, Wake::AlreadyAwake),
        })
    }

    /// Makes a process that no thread runs `Running` for the calling thread, which never lets it go: the VM is about to end. A
    /// process that is in a run queue only if `queued` (no scheduler takes any out any more).
    pub fn seize(&self, queued: bool) -> bool {
        let seized = self.mailbox.try_give(|bits| match Status::from_bits(bits) {
            Status::Waiting => (Status::Running as u8, true),
            Status::Runnable if queued => (Status::Running as u8, true),
            _ => (bits, false),
        });
        // One that is visited is left alone: the visitor may be the very thread that ends the VM.
        seized.unwrap_or(false)
    }

    /// A scheduler has taken it out of a run queue.
    pub fn start_running(&self) {
        self.take_up(|mailbox, run| mailbox.try_give(run));
    }

    /// As [`Process::start_running`]; gives the signals that have come, in the same exchange.
    #[inline]
    pub fn start_with_signals(&self) -> Chain<Packet<R>> {
        self.take_up(|mailbox, run| mailbox.try_give_all(run)).1
    }

    /// Has no signal come since they were taken (a figure, already old)?
    #[inline]
    pub fn has_no_signals(&self) -> bool {
        self.mailbox.is_empty()
    }

    /// Takes all signals that have come.
    #[inline]
    pub fn take_signals(&self) -> Chain<Packet<R>> {
        myriad_sync::sim_point();
        debug_assert!(self.status().has_owner(), "P2: signals are fetched by the owner, and it is {:?}", self.status());
        self.mailbox.take_all()
    }

    /// It ends: takes all signals that have come, and refuses what comes later.
    pub fn close(&self) -> Chain<Packet<R>> {
        debug_assert!(
            self.is_exiting() && self.status().has_owner(),
            "P2: it is closed by its owner, once it is ending"
        );
        self.mailbox.close()
    }

    /// The signals that wait, the newest first; those that are left from now on are left out.
    ///
    /// # Safety
    /// Its owner takes no signals as long as the iterator or a link that it gave is in use (process/P3: while it is visited); they are to be read.
    pub unsafe fn waiting_signals(&self) -> impl Iterator<Item = NonNull<QueueLink>> {
        // SAFETY: the caller's promise.
        unsafe { self.mailbox.waiting() }
    }

    /// The slice is over and the process has more to do: it is runnable, and the caller enqueues it.
    pub fn stay_runnable(&self) {
        self.transition(|s, _| {
            debug_assert!(s.has_owner(), "P2: only its owner ends a slice, and it is {s:?}");
            (Status::Runnable, ())
        });
    }

    /// Nothing to do: `true` if it waits now, `false` if a signal has come and it is runnable.
    #[must_use]
    pub fn try_wait(&self) -> bool {
        self.transition(|s, signalled| {
            debug_assert!(s.has_owner(), "P2: only its owner lets it wait, and it is {s:?}");
            let next = s.on_wait(signalled);
            (next, next == Status::Waiting)
        })
    }

    /// Marks that it is ending: what it is given from now on, a name or something to own, is taken back ([`ExitFlag`]).
    pub fn set_exiting(&self) {
        debug_assert!(self.status().has_owner(), "P2: only its owner ends it");
        self.exiting.set();
    }

    /// To be asked by a thread that has given this process something (a name, a timer, a table): must the thread take it back,
    /// because the process is ending ([`ExitFlag`])?
    #[must_use]
    pub fn must_take_back(&self) -> bool {
        self.exiting.must_take_back()
    }

    /// Is it ending, or has it ended (a figure, already old)?
    #[inline]
    pub fn is_exiting(&self) -> bool {
        self.exiting.is_set()
    }

    /// Whether suspensions are in force, for [`Process::seen_status`].
    pub fn set_suspended(&self, suspended: bool) {
        // Relaxed: a figure for others to look at; the owner knows.
        self.suspended.store(suspended, Ordering::Relaxed);
    }

    /// Whether it has not come to many of its messages, or to some signals, in a whole slice: its owner says so when a slice ends.
    #[inline]
    pub fn set_behind(&self, is_behind: bool) {
        debug_assert!(self.status().has_owner(), "P2: its owner knows what is left");
        // Written only when it changes: senders read its line. Relaxed: a figure by which they are paced.
        if self.is_behind.load(Ordering::Relaxed) != is_behind {
            self.is_behind.store(is_behind, Ordering::Relaxed);
        }
    }

    /// Does it fall behind those who send it messages (a figure, already old)?
    #[inline]
    pub fn is_behind(&self) -> bool {
        // Relaxed: as above.
        self.is_behind.load(Ordering::Relaxed)
    }

    /// Its status as others see it, by OTP's name (a figure, already old).
    pub fn seen_status(&self) -> Atom {
        use myriad_term::am;
        match self.status() {
            Status::Free => am::undefined,
            _ if self.is_exiting() => am::exiting,
            _ if self.is_dirty() => self.dirty_status(),
            Status::Running => am::running,
            // Relaxed: as above.
            _ if self.suspended.load(Ordering::Relaxed) => am::suspended,
            Status::Waiting => am::waiting,
            Status::Runnable => am::runnable,
        }
    }

    /// Says where the built-in runs that it has called.
    pub fn set_dirty_state(&self, place: DirtyState) {
        // Relaxed: a figure for others to look at; the owner knows.
        self.place.store(place as u8, Ordering::Relaxed);
    }

    /// Is a built-in that it has called on its way to a dirty scheduler, or there (a figure, already old)?
    #[inline]
    pub fn is_dirty(&self) -> bool {
        self.place.load(Ordering::Relaxed) != DirtyState::Not as u8
    }

    /// The status of a process in a dirty call, as others see it.
    pub fn dirty_status(&self) -> Atom {
        use myriad_term::am;
        // Relaxed: as above.
        match (self.place.load(Ordering::Relaxed) == DirtyState::Queued as u8, self.suspended.load(Ordering::Relaxed)) {
            (false, _) => am::running,
            (true, true) => am::suspended,
            (true, false) => am::runnable,
        }
    }

    /// A timer that will send it a message is about to be set on this wheel.
    pub fn note_timer_on(&self, wheel: usize) {
        let wheels = WheelSet::of(wheel).bits();
        // Relaxed: ordered by the protocol of `set_exiting`: a timer is a gift. A bit that is set stays so.
        if self.timer_wheels.load(Ordering::Relaxed) & wheels == 0 {
            self.timer_wheels.fetch_or(wheels, Ordering::Relaxed);
        }
    }

    /// The wheels on which such timers were ever set, and perhaps some more.
    pub fn timer_wheels(&self) -> WheelSet {
        // Relaxed: as in `note_timer_on`.
        WheelSet::from_bits(self.timer_wheels.load(Ordering::Relaxed))
    }

    /// It has blocked multi-scheduling.
    pub fn set_blocks_schedulers(&self) {
        // Relaxed: only its own thread looks.
        self.blocks_schedulers.store(true, Ordering::Relaxed);
    }

    /// Has it ever blocked multi-scheduling?
    pub fn blocks_schedulers(&self) -> bool {
        self.blocks_schedulers.load(Ordering::Relaxed)
    }

    /// The placement. Relaxed: changed only by the process itself while it runs, or before it is published.
    #[inline]
    fn placement(&self) -> u32 {
        self.placement.load(Ordering::Relaxed)
    }

    /// May it run on this scheduler: is it bound to no other one, and has no private thread?
    #[inline]
    pub fn may_run_on(&self, scheduler: usize) -> bool {
        let placement = self.placement() as usize;
        placement == 0 || placement == scheduler + 1
    }

    /// May it run on any scheduler?
    #[inline]
    pub fn may_run_anywhere(&self) -> bool {
        self.placement() == 0
    }

    /// The scheduler that it is bound to.
    #[inline]
    pub fn bound_to(&self) -> Option<usize> {
        ((self.placement() & BOUND) as usize).checked_sub(1)
    }

    /// Binds it to scheduler number `bound` (from 1), or (0) to none; gives what it was.
    pub fn bind(&self, bound: u32) -> u32 {
        debug_assert!(bound <= BOUND, "a scheduler's number");
        let before = self.placement();
        self.placement.store(before & !BOUND | bound, Ordering::Relaxed);
        before & BOUND
    }

    /// Its private thread.
    #[inline]
    pub fn private_thread(&self) -> Option<usize> {
        ((self.placement() >> PRIVATE_SHIFT) as usize).checked_sub(1)
    }

    /// From now on it has this private thread, or none; gives the one that it had. It moves when it is put into a queue next.
    pub fn set_private_thread(&self, thread: Option<usize>) -> Option<usize> {
        let before = self.private_thread();
        let number = thread.map_or(0, |thread| thread as u32 + 1);
        debug_assert!(number <= BOUND, "a private thread's number");
        self.placement.store(self.placement() & BOUND | number << PRIVATE_SHIFT, Ordering::Relaxed);
        before
    }

    /// It has ended.
    pub fn set_free(&self) {
        debug_assert!(self.is_exiting(), "it ends before it says so");
        self.transition(|s, _| {
            debug_assert!(s.has_owner(), "P2: only its owner ends it, and it is {s:?}");
            (Status::Free, ())
        });
    }

    /// The priority that `process_flag(priority, _)` has set.
    pub fn priority(&self) -> Priority {
        // Relaxed: a hint to the scheduler.
        Priority::from_bits(self.priority.load(Ordering::Relaxed))
    }

    /// Sets the priority; it counts when the process goes into a queue next.
    pub fn set_priority(&self, priority: Priority) {
        // Relaxed: as above.
        self.priority.store(priority.bits(), Ordering::Relaxed);
    }

    /// The priority at which it goes into a queue.
    pub fn queue_priority(&self) -> Priority {
        // Relaxed: as above.
        match self.urgency.load(Ordering::Relaxed) & !ASKED {
            NOT_URGENT => self.priority(),
            urgency => self.priority().min(Priority::from_bits(urgency)),
        }
    }

    /// A process of this priority waits for it: until it has run next, it does not wait behind processes of a lower priority.
    pub fn make_urgent(&self, priority: Priority) {
        // Relaxed: a hint to the scheduler.
        debug_assert!(priority.bits() & ASKED == 0, "a priority is no flag");
        let more = |old: u8| Some(old & ASKED | (old & !ASKED).min(priority.bits()));
        let _ = self.urgency.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// A process has sent it a signal, and waits for the answer: it must not keep that process waiting for a whole slice.
    pub fn ask(&self) {
        // Relaxed: a hint; the signal queue orders the signal.
        self.urgency.fetch_or(ASKED, Ordering::Relaxed);
    }

    /// Has a process asked for an answer since this one last gave way?
    #[inline]
    pub fn is_asked(&self) -> bool {
        // Relaxed: as above.
        self.urgency.load(Ordering::Relaxed) & ASKED != 0
    }

    /// It gives way to the process that has asked; `false` if none has.
    pub fn gives_way(&self) -> bool {
        // Relaxed: as above.
        self.is_asked() && self.urgency.fetch_and(!ASKED, Ordering::Relaxed) & ASKED != 0
    }

    /// It runs: gives the priority of the process that waited for that.
    pub fn take_urgency(&self) -> Option<Priority> {
        // Relaxed: as above; the load saves the line of most processes a write.
        if self.urgency.load(Ordering::Relaxed) & !ASKED == NOT_URGENT {
            return None;
        }
        Some(Priority::from_bits(self.urgency.fetch_or(NOT_URGENT, Ordering::Relaxed) & !ASKED))
    }

    /// The registered name.
    pub fn name(&self) -> Option<Atom> {
        // Relaxed: the registry's lock orders names; this is a shortcut.
        self.name.load(Ordering::Relaxed).checked_sub(1).map(Atom::from_index)
    }

    /// The owner state, to look at.
    ///
    /// # Safety
    /// No thread changes it as long as the reference lives (process/P2, process/P3).
    pub unsafe fn seen(&self) -> &OwnerState<R> {
        // SAFETY: the caller promises that no thread changes it meanwhile.
        self.owner_state.with(|p| unsafe { &*p })
    }

    /// The owner state.
    ///
    /// # Safety
    /// process/P2: the caller's thread has made the process `Running`, or made the process and not published it, and no other
    /// reference from this function is alive.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that it is the only one")]
    pub unsafe fn owner_state(&self) -> &mut OwnerState<R> {
        // SAFETY: process/P2: the caller promises that its thread owns the process, and that this is the only reference.
        self.owner_state.with_mut(|p| unsafe { &mut *p })
    }
}

/// Where the call of a built-in is that a process makes on a dirty scheduler (`dirty_call.rs`).
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DirtyState {
    /// Nowhere: the process is in no such call.
    Not = 0,
    /// It waits for a dirty scheduler.
    Queued = 1,
    /// It runs on a dirty scheduler.
    Running = 2,
}
