//! The part of a process that only its owner touches.

use crate::code_ptr::CodePtr;
use crate::dictionary::Dictionary;
use crate::ending::Ending;
use crate::exception::Exception;
use crate::lazy_box::{LazyBox, StaticDefault};
use crate::links::Relations;
use crate::message::{MessageQueue, QueueMark};
use crate::reductions::Reductions;
use crate::runtime::Runtime;
use crate::signal::Signals;
use crate::suspensions::Suspensions;
use crate::tasks::Tasks;
use crate::timer::ReceiveTimer;
use myriad_heap::Heap;
use myriad_term::{Atom, Mfa, RefNumbers, Term};

/// Where a process resumes; the live X registers stand in [`OwnerState::saved_x`].
pub struct Resume<R: Runtime> {
    /// The instruction; [`CodePtr::NULL`] = the entry of `function`.
    pub pc: CodePtr,
    /// The function to enter (a call that has not begun), or null: then `pc` is inside one.
    pub function: *const R::Function,
}

impl<R: Runtime> Resume<R> {
    /// At an instruction inside a function.
    #[inline(always)]
    pub const fn inside(pc: CodePtr) -> Self {
        Resume { pc, function: std::ptr::null() }
    }

    /// At the entry of a function.
    #[inline(always)]
    pub const fn entry(function: *const R::Function) -> Self {
        Resume { pc: CodePtr::NULL, function }
    }
}

impl<R: Runtime> Clone for Resume<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Runtime> Copy for Resume<R> {}

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
    /// It cannot run on schedulers, so nobody takes its private thread away.
    pub keeps_thread: bool,
    /// `save_calls`: how many calls are asked to be remembered.
    pub save_calls: u16,
}

/// Kinds of frames that may be on a process's stack, and that somebody looks for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Frames(u8);

impl Frames {
    /// They report exceptions as they pass.
    pub const TRACED: Frames = Frames(1);
    /// They are those of loops whose parts others may do ([`crate::parallel`]).
    pub const LOOPS: Frames = Frames(2);

    /// May there be some of this kind?
    #[inline(always)]
    pub const fn has(self, kind: Frames) -> bool {
        self.0 & kind.0 != 0
    }

    /// Some of this kind come.
    #[inline]
    pub fn add(&mut self, kind: Frames) {
        self.0 |= kind.0;
    }

    /// There are none of this kind any more.
    pub fn remove(&mut self, kind: Frames) {
        self.0 &= !kind.0;
    }
}

/// The part of a process that only its owner touches (process/P2).
///
/// Kept small: an idle process is to cost no more than OTP's (docs/design.md, section 13).
pub struct OwnerState<R: Runtime> {
    /// Heap and Erlang stack.
    pub heap: Heap,
    /// Its reductions.
    pub reductions: Reductions,
    /// Where it resumes.
    pub resume: Resume<R>,
    /// X registers while it does not run.
    pub saved_x: Vec<Term>,
    /// Signals fetched and not handled yet (process/G3).
    pub unhandled: Option<Box<Signals<R>>>,
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
    pub markers: LazyBox<Markers>,
    /// The time of the receive that the process is in.
    pub receive_timer: ReceiveTimer,
    /// What `process_flag/2` has set.
    pub flags: Flags,
    /// The last slice ended with waiting.
    pub waiting: bool,
    /// A signal is being handled before the slice: the process itself does not run.
    pub answering: bool,
    /// The built-in that it has called runs on a dirty scheduler (`dirty_call.rs`): until it returns only signals are handled.
    pub in_dirty_call: bool,
    /// What keeps it from running.
    pub suspensions: Suspensions,
    /// Module of the functions `undefined_function/3` and `undefined_lambda/3`.
    pub error_handler: Atom,
    /// First call.
    pub initial_call: Mfa,
    /// The process that spawned it.
    pub parent: Term,
    /// The exception on its way (roots).
    pub exception: LazyBox<Exception<R>>,
    /// `cause` of the `error_info` of the error being raised, or [`Term::NONE`].
    pub error_cause: Term,
    /// Arguments of the Erlang function that a built-in traps to.
    pub trap_args: LazyBox<Vec<Term>>,
    /// What is to be done before it runs on.
    pub tasks: Option<Box<Tasks>>,
    /// Rest of a long built-in; the heap is not collected while there is one.
    pub resumption: Option<Box<R::Suspended>>,
    /// How far it has come with its end.
    pub ending: Option<Box<Ending<R>>>,
    /// Why it ended.
    pub exit_reason: Term,
    /// What tracing counts and measures.
    pub watched: LazyBox<R::Watched>,
    /// What there may be among the frames of the stack.
    pub frames: Frames,
    /// State of built-ins that wait or go dirty and are run again (a reference, a phase).
    pub retry_state: Term,
}

// SAFETY: the heap, the code pointers and the signals in it belong to it, and go with it from thread to thread (process/P2).
unsafe impl<R: Runtime> Send for OwnerState<R> {}

impl<R: Runtime> OwnerState<R> {
    /// A state with this heap, which begins at `resume`, and nothing else.
    pub fn new(heap: Heap, resume: Resume<R>, initial_call: Mfa) -> Self {
        use myriad_term::am;
        OwnerState {
            heap,
            reductions: Reductions::default(),
            resume,
            saved_x: Vec::new(),
            unhandled: None,
            messages: MessageQueue::new(),
            dictionary: None,
            relations: Relations::new(),
            group_leader: Term::UNDEFINED,
            token: Term::NONE,
            markers: LazyBox::new(),
            receive_timer: ReceiveTimer::default(),
            flags: Flags::default(),
            waiting: false,
            answering: false,
            in_dirty_call: false,
            suspensions: Suspensions::default(),
            error_handler: am::error_handler,
            initial_call,
            parent: Term::UNDEFINED,
            exception: LazyBox::new(),
            error_cause: Term::NONE,
            trap_args: LazyBox::new(),
            tasks: None,
            resumption: None,
            ending: None,
            exit_reason: Term::atom(am::normal),
            retry_state: Term::NONE,
            watched: LazyBox::new(),
            frames: Frames::default(),
        }
    }
}

impl<R: Runtime> OwnerState<R> {
    /// Sets anew how many reductions are kept from the engine, which looks up after `look` ([`Reductions::count_negatively`]).
    pub fn count_negatively(&mut self, look: i32) {
        let saves_calls = self.saves_calls();
        self.reductions.count_negatively(saves_calls, look);
    }

    /// Does its next slice begin with the signals that have come? Not with others before them (process/G1), not while a built-in runs
    /// on a dirty scheduler, and not at its end, which closes the queue.
    #[inline]
    pub fn takes_signals(&self) -> bool {
        self.unhandled.is_none() && self.ending.is_none() && !self.in_dirty_call
    }

    /// Something has come up that is done between two slices. If the process runs, and has looked at its signals on the way, it gives
    /// way at the next chance.
    pub fn interrupt(&mut self) {
        if !self.answering {
            self.reductions.give_way();
        }
    }

    /// Does the process note its calls (`save_calls`)?
    #[inline(always)]
    pub fn saves_calls(&self) -> bool {
        self.flags.save_calls != 0
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

impl StaticDefault for Markers {
    fn static_default() -> &'static Markers {
        const { &Markers { list: Vec::new(), serial: 0 } }
    }
}
