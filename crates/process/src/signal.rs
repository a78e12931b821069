//! Signals: the only way in which one process acts on another (Hedqvist 5.2.1; docs/design.md, section 6).
//!
//! A sender leaves a signal in the receiver's outer queue without a lock, then wakes the receiver (`status.rs`). The owner
//! takes the outer queue whole and handles the signals in order; messages go to the inner queue (`message.rs`).
//!
//! G1. Signals of one sender to one receiver are handled in the order they were sent.
//! G2. A signal owns everything in it: terms that need memory live in the signal's own fragment.
//! G3. Handling signals costs reductions, and a slice handles only so many. What is left of a queue that was taken stays in
//!     [`crate::OwnerState::unhandled`], before all that comes later; as long as there is any, the process does not wait.

use crate::message::Message;
use crate::priority::Priority;
use crate::process::Process;
use crate::runtime::Runtime;
use crate::status::Wake;
use crate::timer::TimerId;
use myriad_heap::Payload;
use myriad_heap::{QueueLink, Queued};
use myriad_sync::atomic::AtomicBool;
use myriad_sync::cell::UnsafeCell;
use myriad_sync::{Arc, Chain, Link, WasEmpty};
use myriad_term::{Pid, RefNumbers, Term};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The block of a signal that is no message.
#[repr(C)]
pub struct SignalNode<R: Runtime> {
    link: QueueLink,
    signal: Signal<R>,
}

/// What stands in a queue of signals: a message as its own block, any other signal in a block.
pub enum Packet<R: Runtime> {
    /// `Pid ! Term`.
    Message(Message),
    /// Any other signal.
    Other(Box<SignalNode<R>>),
}

// SAFETY: a signal owns what is in it (G2), and its block is in one queue, or one thread's hands.
unsafe impl<R: Runtime> Send for Packet<R> {}

// SAFETY: both kinds of blocks begin with their link, which says of which kind it is; both ways there and back are inverse.
unsafe impl<R: Runtime> Link for Packet<R> {
    type Node = QueueLink;

    #[inline]
    fn into_raw(self) -> NonNull<QueueLink> {
        match self {
            Packet::Message(message) => message.into_link(),
            Packet::Other(node) => NonNull::from(Box::leak(node)).cast(),
        }
    }

    #[inline]
    unsafe fn from_raw(link: NonNull<QueueLink>) -> Self {
        // SAFETY: the caller's promise: from `into_raw`, once.
        unsafe {
            match link.as_ref().queued() {
                Queued::Message => Packet::Message(Message::from_link(link)),
                Queued::Other => Packet::Other(Box::from_raw(link.cast().as_ptr())),
            }
        }
    }

    #[inline]
    unsafe fn next(link: NonNull<QueueLink>) -> *const UnsafeCell<*mut QueueLink> {
        // SAFETY: the block lives and is only shared here (the caller's promise).
        unsafe { std::ptr::from_ref(link.as_ref().next()) }
    }
}

impl<R: Runtime> Packet<R> {
    /// The signal in a packet.
    #[inline]
    pub fn new(signal: Signal<R>) -> Packet<R> {
        match signal {
            Signal::Message(message) => Packet::Message(message),
            signal => Packet::Other(Box::new(SignalNode { link: QueueLink::of_other(), signal })),
        }
    }

    /// The signal.
    #[inline]
    pub fn open(self) -> Signal<R> {
        match self {
            Packet::Message(message) => Signal::Message(message),
            Packet::Other(node) => node.signal,
        }
    }

    /// Calls `look` with the message, or the signal, that a link of a queue of signals leads to.
    ///
    /// # Safety
    /// It is the link of a packet of this type in a queue, and nobody takes it out meanwhile.
    pub unsafe fn look<T>(link: NonNull<QueueLink>, look: impl FnOnce(Result<&Message, &Signal<R>>) -> T) -> T {
        // SAFETY: the caller's promise: the block lives, and is of the kind that it says. The copy of the message is not dropped.
        unsafe {
            match link.as_ref().queued() {
                Queued::Message => look(Ok(&ManuallyDrop::new(Message::from_link(link)))),
                Queued::Other => look(Err(&link.cast::<SignalNode<R>>().as_ref().signal)),
            }
        }
    }
}

/// Signals that were taken out of an outer queue.
pub type Signals<R> = Chain<Packet<R>>;

/// What a signal says.
pub enum Signal<R: Runtime> {
    /// `Pid ! Term`.
    Message(Message),
    /// A message sent to an alias: dropped if the alias is no longer active.
    AliasMessage(RefNumbers, Message),
    /// The sender links itself to the receiver.
    Link(Pid),
    /// The sender takes its link back; `id` comes back in the acknowledgement.
    Unlink {
        /// Who.
        from: Pid,
        /// Which unlinking of the sender this answers.
        id: u64,
    },
    /// Answer to `Unlink`.
    UnlinkAck {
        /// Who.
        from: Pid,
        /// The number in `Unlink`.
        id: u64,
    },
    /// An exit signal.
    Exit {
        /// Who (a pid or port term).
        from: Term,
        /// Why.
        reason: Payload,
        /// Over a link: counts only while the receiver still has the link, and `kill` is not special.
        linked: bool,
    },
    /// An exit signal of a process with a sequential trace token.
    ExitWithToken(Box<Signal<R>>, Payload),
    /// The sender monitors the receiver.
    Monitor {
        /// Who.
        from: Pid,
        /// Which monitor.
        reference: RefNumbers,
        /// The name it was addressed by, or [`Term::NONE`].
        name: Term,
    },
    /// The sender takes its monitor back.
    Demonitor(RefNumbers),
    /// What the receiver monitors has ended.
    Down {
        /// Which monitor of the receiver.
        reference: RefNumbers,
        /// Why.
        reason: Payload,
    },
    /// The offset between system time and monotonic time, which the receiver monitors, has changed.
    TimeOffset {
        /// Which monitor of the receiver.
        reference: RefNumbers,
        /// The new one, nanoseconds.
        offset_ns: i64,
    },
    /// A receive timer has fired; counts only if it is still the current one.
    ReceiveTimeout(TimerId),
    /// Suspend (or take one suspension back); `reply` is sent when it is so.
    Suspend {
        /// Set once it is so.
        active: Arc<AtomicBool>,
        /// Message to send back: `{Reference, suspended}` (synchronous and asynchronous forms).
        reply: Option<Payload>,
    },
    /// Take one suspension by `from` back.
    Resume(Pid),
    /// Set the group leader: answer `{Reference, true}`.
    GroupLeader {
        /// It.
        leader: Payload,
        /// Who asks.
        from: Pid,
        /// Reference in the answer.
        reference: RefNumbers,
    },
    /// `erlang:is_process_alive/1`: answer `{Reference, Alive}`.
    IsAlive {
        /// Who asks.
        from: Pid,
        /// Reference in the answer.
        reference: RefNumbers,
    },
    /// A question that the receiver's own thread answers, or whoever ends it: answer `{Reference, Result}`.
    Ask {
        /// Who asks.
        from: Pid,
        /// Reference in the answer.
        reference: RefNumbers,
        /// What is asked.
        question: R::Question,
    },
    /// A system task (`erts_internal:request_system_task`): garbage collection, code check. Answer `{Atom, Id, Result}`.
    Task {
        /// Who asks.
        from: Pid,
        /// `{Type, Id, ...}`.
        request: Payload,
        /// How urgent it is.
        priority: Priority,
    },
    /// Runs in the owner's thread with its private state: what other parts of the VM (ports, tables, tracing) need.
    Call(R::Request),
    /// The built-in that the process called on a dirty scheduler has returned.
    Returned(Box<R::Returned>),
}

impl<R: Runtime> Process<R> {
    /// Leaves a signal. `Err`: the process has ended, and the signal comes back; otherwise the caller has to do what the
    /// [`Wake`] says.
    #[inline]
    pub fn push(&self, signal: Signal<R>) -> Result<Wake, Signal<R>> {
        self.leave(Packet::new(signal)).map_err(Packet::open)
    }

    /// As [`Process::push`], of a message: nobody wants it back if the process has ended.
    #[inline]
    pub fn push_message(&self, message: Message) -> Wake {
        self.leave(Packet::Message(message)).unwrap_or(Wake::Gone)
    }

    #[inline]
    fn leave(&self, packet: Packet<R>) -> Result<Wake, Packet<R>> {
        // A closed queue has no owner any more.
        let WasEmpty(was_empty) = self.outer.push(packet)?;
        myriad_sync::sim_point();
        // Whatever the state is now: the signal was left, and an owner that ends answers all that was left. Who left the first
        // one tells of all of them (sync/SW3).
        Ok(if was_empty { self.signalled() } else { Wake::AlreadyAwake })
    }
}
