//! The process: what others see of it, and what is its own.
//!
//! P2 (`status.rs`) gives the private part to one thread at a time; everything that others do to a process is a signal.

use crate::bif::Suspended;
use crate::code::{CodePtr, Function};
use crate::error::Exception;
use crate::links::Relations;
use crate::message::{MessageQueue, QueueMark};
use crate::rare::{Nothing, Rare};
use crate::saved_calls::Saved;
use crate::signal::{SignalNode, Signals};
use crate::status::{Status, Wake};
use crate::trace::sequential::Counts;
use crate::trace::times::Stopwatch;
use crate::vm::Vm;
use hashbrown::HashTable;
use myriad_heap::Heap;
use myriad_sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use myriad_sync::cell::UnsafeCell;
use myriad_sync::{Backoff, ExitFlag, Mpsc, StateWord};
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;
use myriad_term::{Atom, Mfa, Pid, RefNumbers, Term};
use std::collections::VecDeque;

/// Erlang's four priorities.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Priority {
    /// `max`
    Max = 0,
    /// `high`
    High = 1,
    /// `normal`
    Normal = 2,
    /// `low`
    Low = 3,
}

impl Priority {
    /// From its number.
    pub const fn from_bits(bits: u8) -> Priority {
        match bits {
            0 => Priority::Max,
            1 => Priority::High,
            3 => Priority::Low,
            _ => Priority::Normal,
        }
    }
}

/// Above the number of any priority: all bits of the urgency but [`ASKED`].
const NOT_URGENT: u8 = !ASKED;
/// The bit of the urgency that says that someone waits for an answer.
const ASKED: u8 = 1 << 7;

/// A process.
///
/// No larger than a size of the allocator: one word more would cost each process 128 bytes.
pub struct Process {
    /// Its pid.
    pub pid: Pid,
    /// How many processes there were before it: tells apart those that have had one pid.
    pub born: u64,
    status: StateWord,
    priority: AtomicU8,
    /// The priority at which it goes into a queue next, if that is higher (a lower number): it has been asked for something. And
    /// whether someone waits for its answer.
    urgency: AtomicU8,
    /// Ends as a system process does: not listed by some tools, never killed by `init:stop`.
    pub system: bool,
    /// The scheduler that ran it last, where it goes when it wakes.
    pub home: AtomicU32,
    /// Registered name: atom index + 1, or 0.
    pub name: AtomicU32,
    /// Whether it is traced, for what and by whom.
    pub trace: crate::trace::Tracee,
    /// The scheduler it is bound to + 1, or 0.
    bound: AtomicU32,
    exiting: ExitFlag,
    suspended: AtomicBool,
    blocks_schedulers: AtomicBool,
    has_timers: AtomicBool,
    /// Where the built-in runs that it has called ([`Place`]).
    place: AtomicU8,
    /// Signals not fetched yet.
    pub outer: Mpsc<Box<SignalNode>>,
    private: UnsafeCell<Private>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Process>() <= 512);

// SAFETY: P2 gives `private` to one thread at a time; the rest is atomic or lock-free.
unsafe impl Sync for Process {}
// SAFETY: `Private` holds raw heap pointers that belong to it.
unsafe impl Send for Process {}

impl Process {
    /// A process that waits for its first wake-up.
    pub fn new(pid: Pid, priority: Priority, system: bool, home: u32, private: Private) -> Process {
        Process {
            pid,
            born: 0,
            status: StateWord::new(Status::Waiting as u32),
            priority: AtomicU8::new(priority as u8),
            urgency: AtomicU8::new(NOT_URGENT),
            system,
            home: AtomicU32::new(home),
            name: AtomicU32::new(0),
            trace: crate::trace::Tracee::default(),
            bound: AtomicU32::new(0),
            exiting: ExitFlag::new(),
            suspended: AtomicBool::new(false),
            blocks_schedulers: AtomicBool::new(false),
            has_timers: AtomicBool::new(false),
            place: AtomicU8::new(Place::Here as u8),
            outer: Mpsc::new(),
            private: UnsafeCell::new(private),
        }
    }

    /// The scheduling state (a figure, already old).
    pub fn status(&self) -> Status {
        Status::from_bits(self.status.get())
    }

    /// To a state in which it is nobody's, or its owner's still.
    fn transition<R>(&self, f: impl Fn(Status) -> (Status, R)) -> R {
        crate::scheduler::sim_point();
        self.status.change(|bits| {
            let (next, result) = f(Status::from_bits(bits));
            (next as u32, result)
        })
    }

    /// As [`Process::transition`], to a state in which it may be the calling thread's: waits until nobody visits it (P3).
    fn take_up<R>(&self, f: impl Fn(Status) -> (Status, R)) -> R {
        let mut backoff = Backoff::new();
        loop {
            crate::scheduler::sim_point();
            let taken = self.status.try_give(|bits| {
                let (next, result) = f(Status::from_bits(bits));
                (next as u32, result)
            });
            match taken {
                Some(result) => return result,
                None => backoff.pause(),
            }
        }
    }

    /// Calls `look` with what it is and its private part, if it does not run and nobody else visits it (P3).
    pub(crate) fn visit<R>(&self, look: impl FnOnce(Status, &Private) -> R) -> Option<R> {
        let visit = self.status.visit(|bits| Status::from_bits(bits).admits_visitors())?;
        crate::scheduler::sim_point();
        // SAFETY: P3: nobody changes it as long as `visit` lives.
        Some(look(Status::from_bits(visit.state), unsafe { self.seen() }))
    }

    /// Wakes the process after a signal.
    pub fn wake(&self, vm: &'static Vm) {
        match self.transition(Status::on_signal) {
            Wake::Enqueue => {
                crate::trace::profile::awoken(vm, self);
                vm.enqueue_woken(self);
            }
            Wake::AlreadyAwake | Wake::Gone => {}
        }
    }

    /// Makes a process that nobody runs `Running` for the calling thread, which never lets it go: the VM is about to end. One
    /// that is in a run queue only if `queued` (no scheduler takes any out any more).
    pub(crate) fn seize(&self, queued: bool) -> bool {
        let seized = self.status.try_give(|bits| match Status::from_bits(bits) {
            Status::Waiting => (Status::Running as u32, true),
            Status::Runnable if queued => (Status::Running as u32, true),
            _ => (bits, false),
        });
        // One that is visited is left alone: the visitor may be the very thread that ends the VM.
        seized.unwrap_or(false)
    }

    /// A scheduler has taken it out of a run queue.
    pub fn start_running(&self) {
        self.take_up(|s| {
            debug_assert!(s == Status::Runnable);
            (Status::Running, ())
        });
    }

    /// Signals have been fetched: later ones count as new.
    pub fn signals_seen(&self) {
        self.transition(|s| (if s == Status::RunningSignalled { Status::Running } else { s }, ()));
    }

    /// Has a signal come since [`Process::signals_seen`]?
    #[inline]
    pub fn is_signalled(&self) -> bool {
        self.status() == Status::RunningSignalled
    }

    /// The slice is over and it wants to go on.
    pub fn stay_runnable(&self) {
        self.transition(|_| (Status::Runnable, ()));
    }

    /// Nothing to do: `true` if it waits now, `false` if a signal has come and it is runnable.
    #[must_use]
    pub fn try_wait(&self) -> bool {
        self.transition(|s| {
            let next = s.on_wait();
            (next, next == Status::Waiting)
        })
    }

    /// Marks that it is ending: from now on it gets no name and nothing to own ([`ExitFlag`]).
    pub fn set_exiting(&self) {
        self.exiting.set();
    }

    /// To be asked once this process was given something in its own right (a name, a timer, a table): is that to be taken back, for
    /// the process is ending ([`ExitFlag`])?
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
    pub(crate) fn set_suspended(&self, suspended: bool) {
        // Relaxed: a figure for others to look at; the owner knows.
        self.suspended.store(suspended, Ordering::Relaxed);
    }

    /// Its status as others see it, by OTP's name (a figure, already old).
    pub fn seen_status(&self) -> Atom {
        use myriad_term::am;
        match self.status() {
            Status::Free => am::undefined,
            _ if self.is_exiting() => am::exiting,
            _ if self.is_away() => self.away_status(),
            Status::Running | Status::RunningSignalled => am::running,
            // Relaxed: as above.
            _ if self.suspended.load(Ordering::Relaxed) => am::suspended,
            Status::Waiting => am::waiting,
            Status::Runnable => am::runnable,
        }
    }

    /// Says where the built-in runs that it has called.
    pub(crate) fn set_place(&self, place: Place) {
        // Relaxed: a figure for others to look at; the owner knows.
        self.place.store(place as u8, Ordering::Relaxed);
    }

    /// Is a built-in that it has called on its way to a dirty scheduler, or there (a figure, already old)?
    #[inline]
    pub(crate) fn is_away(&self) -> bool {
        self.place.load(Ordering::Relaxed) != Place::Here as u8
    }

    /// The status of one that is away.
    pub(crate) fn away_status(&self) -> Atom {
        use myriad_term::am;
        // Relaxed: as above.
        match (self.place.load(Ordering::Relaxed) == Place::Queued as u8, self.suspended.load(Ordering::Relaxed)) {
            (false, _) => am::running,
            (true, true) => am::suspended,
            (true, false) => am::runnable,
        }
    }

    /// A timer is about to be set that will send it a message.
    pub fn set_has_timers(&self) {
        // Relaxed: ordered by the protocol of `set_exiting`: a timer is a gift.
        self.has_timers.store(true, Ordering::Relaxed);
    }

    /// Was there ever such a timer?
    pub fn has_timers(&self) -> bool {
        self.has_timers.load(Ordering::Relaxed)
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

    /// The scheduler that it is bound to.
    #[inline]
    pub fn bound_to(&self) -> Option<usize> {
        // Relaxed: changed only by the process itself while it runs, or before it is published.
        (self.bound.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Binds it to scheduler number `bound` (from 1), or (0) to none; gives what it was.
    pub fn bind(&self, bound: u32) -> u32 {
        self.bound.swap(bound, Ordering::Relaxed)
    }

    /// It has ended.
    pub fn set_free(&self) {
        self.transition(|_| (Status::Free, ()));
    }

    /// The priority.
    pub fn priority(&self) -> Priority {
        // Relaxed: a hint to the scheduler.
        Priority::from_bits(self.priority.load(Ordering::Relaxed))
    }

    /// Sets the priority.
    pub fn set_priority(&self, priority: Priority) {
        // Relaxed: as above.
        self.priority.store(priority as u8, Ordering::Relaxed);
    }

    /// The priority at which it goes into a queue.
    pub(crate) fn queue_priority(&self) -> Priority {
        // Relaxed: as above.
        match self.urgency.load(Ordering::Relaxed) & !ASKED {
            NOT_URGENT => self.priority(),
            urgency => self.priority().min(Priority::from_bits(urgency)),
        }
    }

    /// Someone of this priority waits for it: until it has run next, it does not wait behind others of a lower one.
    pub(crate) fn make_urgent(&self, priority: Priority) {
        // Relaxed: a hint to the scheduler.
        let more = |old: u8| Some(old & ASKED | (old & !ASKED).min(priority as u8));
        let _ = self.urgency.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Someone has sent it a signal, and waits for the answer: it shall not keep that one waiting for a whole slice.
    pub(crate) fn ask(&self) {
        // Relaxed: a hint; the signal queue orders the signal.
        self.urgency.fetch_or(ASKED, Ordering::Relaxed);
    }

    /// Does someone wait for an answer, since it last gave way?
    #[inline]
    pub fn is_asked(&self) -> bool {
        // Relaxed: as above.
        self.urgency.load(Ordering::Relaxed) & ASKED != 0
    }

    /// It gives way to who has asked; `false` if nobody has.
    pub(crate) fn gives_way(&self) -> bool {
        // Relaxed: as above.
        self.is_asked() && self.urgency.fetch_and(!ASKED, Ordering::Relaxed) & ASKED != 0
    }

    /// It runs: gives the priority of who waited for that.
    pub(crate) fn take_urgency(&self) -> Option<Priority> {
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

    /// The private part, to look at.
    ///
    /// # Safety
    /// Nobody changes it as long as the reference lives.
    pub(crate) unsafe fn seen(&self) -> &Private {
        // SAFETY: the caller's promise.
        self.private.with(|p| unsafe { &*p })
    }

    /// The private part.
    ///
    /// # Safety
    /// P2: the caller's thread has made the process `Running`, or made the process and not published it, and no other
    /// reference from this function is alive.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn private(&self) -> &mut Private {
        // SAFETY: the caller's promise.
        self.private.with_mut(|p| unsafe { &mut *p })
    }
}

/// Where the built-in runs that a process has called (`dirty_call.rs`).
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Where the process runs.
    Here = 0,
    /// It waits for a dirty scheduler.
    Queued = 1,
    /// On a dirty scheduler.
    Dirty = 2,
}

/// Where a process goes on; the live X registers stand in [`Private::saved_x`].
#[derive(Clone, Copy)]
pub struct Resume {
    /// The instruction; [`CodePtr::NULL`] = the entry of `function`.
    pub pc: CodePtr,
    /// The function to enter (a call that has not begun), or null: then `pc` is inside one.
    pub function: *const Function,
}

/// Flags that `process_flag/2` sets.
#[derive(Clone, Copy, Default)]
pub struct Flags {
    /// `trap_exit`
    pub trap_exit: bool,
    /// `sensitive`
    pub sensitive: bool,
    /// `message_queue_data` is `off_heap`.
    pub off_heap_messages: bool,
    /// `async_dist`
    pub async_dist: bool,
    /// Nothing that others ask for may move its terms.
    pub gc_disabled: bool,
    /// It waits for a port that is busy, which counts as suspended.
    pub at_busy_port: bool,
    /// `save_calls`: how many calls are asked to be remembered.
    pub save_calls: u16,
}

/// The part of a process that only its owner touches (P2).
///
/// Kept small: an idle process is to cost no more than OTP's (docs/design.md, section 13).
pub struct Private {
    /// Heap and Erlang stack.
    pub heap: Heap,
    /// Reductions left in this slice; at or below zero the process gives way at the next call.
    pub reductions_left: i32,
    /// By so many reductions fewer the engine believes to have, so that it comes by now and then (`saved_calls.rs`).
    pub withheld: i32,
    /// Where to go on.
    pub resume: Resume,
    /// X registers while it does not run.
    pub saved_x: Vec<Term>,
    /// Reductions done in earlier slices.
    pub reductions: u64,
    /// Signals fetched and not handled yet (G3).
    pub unhandled: Option<Box<Signals>>,
    /// Messages fetched.
    pub messages: MessageQueue,
    /// Process dictionary.
    pub dictionary: Option<Box<Dictionary>>,
    /// Links, monitors, aliases, suspensions.
    pub relations: Relations,
    /// Group leader (a root: may be a pid of another node).
    pub group_leader: Term,
    /// Sequential trace token, or [`Term::NONE`].
    pub token: Term,
    /// Receive markers.
    pub markers: Rare<Markers>,
    /// The timer of the receive that the process is in, if it is set.
    pub receive_timer: Option<crate::timer::TimerId>,
    /// The receive that the process is in has read its time: infinite, or that of `receive_timer`.
    pub receive_armed: bool,
    /// The current receive timer has fired.
    pub timed_out: bool,
    /// Flags.
    pub flags: Flags,
    /// The last slice ended with waiting.
    pub waiting: bool,
    /// A signal is being handled before the slice: the process itself does not run.
    pub answering: bool,
    /// The built-in that it has called runs on a dirty scheduler (`dirty_call.rs`): only signals are handled meanwhile.
    pub away: bool,
    /// How many suspensions are in force.
    pub suspended: u32,
    /// Module of the functions `undefined_function/3` and `undefined_lambda/3`.
    pub error_handler: Atom,
    /// First call.
    pub initial_call: Mfa,
    /// Who spawned it.
    pub parent: Term,
    /// The exception on its way (roots).
    pub exception: Rare<Exception>,
    /// `cause` of the `error_info` of the error being raised, or [`Term::NONE`].
    pub error_cause: Term,
    /// Arguments of [`crate::Escape::Trap`].
    pub trap_args: Rare<Vec<Term>>,
    /// What is to be done before it runs on.
    pub tasks: Option<Box<crate::task::Tasks>>,
    /// Rest of a long built-in; the heap is not collected while there is one.
    pub resumption: Option<Box<Suspended>>,
    /// How far it has come with its end.
    pub ending: Option<Box<crate::exit::Ending>>,
    /// Why it ended.
    pub exit_reason: Term,
    /// What tracing counts and measures.
    pub watched: Rare<Watched>,
    /// There may be frames on the stack that tell of exceptions that pass.
    pub trace_frames: bool,
    /// State of built-ins that wait or go dirty and are run again (a reference, a phase).
    pub retry_state: Term,
}

impl Private {
    /// One with this heap, which is to go on at `resume`, and nothing else.
    pub(crate) fn new(heap: Heap, resume: Resume, initial_call: Mfa) -> Private {
        use myriad_term::am;
        Private {
            heap,
            reductions_left: 0,
            withheld: 0,
            resume,
            saved_x: Vec::new(),
            reductions: 0,
            unhandled: None,
            messages: MessageQueue::new(),
            dictionary: None,
            relations: Relations::new(),
            group_leader: Term::UNDEFINED,
            token: Term::NONE,
            markers: Rare::new(),
            receive_timer: None,
            receive_armed: false,
            timed_out: false,
            flags: Flags::default(),
            waiting: false,
            answering: false,
            away: false,
            suspended: 0,
            error_handler: am::error_handler,
            initial_call,
            parent: Term::UNDEFINED,
            exception: Rare::new(),
            error_cause: Term::NONE,
            trap_args: Rare::new(),
            tasks: None,
            resumption: None,
            ending: None,
            exit_reason: Term::atom(am::normal),
            retry_state: Term::NONE,
            watched: Rare::new(),
            trace_frames: false,
        }
    }
}

/// Receive markers.
#[derive(Default)]
pub struct Markers {
    /// Reference numbers (or others while only reserved) and place.
    pub list: Vec<(RefNumbers, QueueMark)>,
    /// Number of the next one.
    pub serial: u64,
}

impl Nothing for Markers {
    fn nothing() -> &'static Markers {
        const { &Markers { list: Vec::new(), serial: 0 } }
    }
}

/// What tracing counts and measures of a process.
#[derive(Default)]
pub struct Watched {
    /// The time of calls that is being taken.
    pub stopwatch: Option<Stopwatch>,
    /// What sequential tracing counts.
    pub sequence: Counts,
    /// The last calls, the oldest first, while they are saved.
    pub saved: Option<VecDeque<Saved>>,
}

impl Nothing for Watched {
    fn nothing() -> &'static Watched {
        const { &Watched { stopwatch: None, sequence: Counts::NONE, saved: None } }
    }
}

/// The process dictionary: a small open map, in a plain vector while short.
#[derive(Default)]
pub struct Dictionary {
    /// Key and value.
    pub entries: Vec<(Term, Term)>,
    /// Positions in `entries` by the hashes of their keys, once there are many.
    index: HashTable<u32>,
}

/// How many entries a dictionary searches one by one.
const LINEAR_ENTRIES: usize = 12;

/// The hash of a key, in all bits of the word.
fn key_hash(key: Term) -> u64 {
    u64::from(internal_hash(key, 0)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Dictionary {
    fn position(&self, key: Term) -> Option<usize> {
        if self.entries.len() <= LINEAR_ENTRIES {
            return self.entries.iter().position(|(k, _)| eq_exact(*k, key));
        }
        self.index.find(key_hash(key), |i| eq_exact(self.entries[*i as usize].0, key)).map(|i| *i as usize)
    }

    /// The value of a key.
    pub fn get(&self, key: Term) -> Option<Term> {
        self.position(key).map(|i| self.entries[i].1)
    }

    /// Sets a value; gives the old one.
    pub fn put(&mut self, key: Term, value: Term) -> Option<Term> {
        if let Some(i) = self.position(key) {
            return Some(std::mem::replace(&mut self.entries[i].1, value));
        }
        self.entries.push((key, value));
        match self.entries.len() {
            n if n <= LINEAR_ENTRIES => {}
            n if n == LINEAR_ENTRIES + 1 => (0..n).for_each(|i| self.enter(i)),
            n => self.enter(n - 1),
        }
        None
    }

    /// Takes a key out; gives its value.
    pub fn erase(&mut self, key: Term) -> Option<Term> {
        let i = self.position(key)?;
        let last = self.entries.len() - 1;
        if last > LINEAR_ENTRIES {
            if let Ok(entry) = self.index.find_entry(key_hash(key), |place| *place as usize == i) {
                entry.remove();
            }
            if let Some(place) = self.index.find_mut(key_hash(self.entries[last].0), |place| *place as usize == last) {
                *place = i as u32;
            }
        } else {
            self.index.clear();
        }
        Some(self.entries.swap_remove(i).1)
    }

    /// Enters the key at the position in the index.
    fn enter(&mut self, position: usize) {
        let entries = &self.entries;
        let hash = |place: &u32| key_hash(entries[*place as usize].0);
        self.index.insert_unique(hash(&(position as u32)), position as u32, hash);
    }
}
