//! Signals: the only way in which one process acts on another (Hedqvist 5.2.1; docs/design.md, section 6).
//!
//! Message, link, monitor, exit, suspension, question, system task: each is a [`Signal`], and a signal takes one way.
//!
//! ```text
//!    sender                         receiver's outer queue          receiver, in its own slice
//!    ------                         ----------------------          --------------------------
//!    Packet::new
//!    push: one compare-exchange --> newest -> ... -> oldest
//!                                   Waiting becomes Runnable
//!    does what the Wake says                                        start_with_signals, take_signals: the queue is empty again
//!                                                                   turned round: the oldest first
//!                                                                   handled one by one, each for reductions
//!                                                                     message -> inner queue (message.rs)
//!                                                                     other   -> acts on the owner state
//!                                                                   budget used up: the rest is `unhandled` (G3)
//!
//!                                   closed, at the end of the       what was left is answered as by a process that
//!    push gives the signal back <-- process                         has ended (G4)
//! ```
//!
//! A message is a block of its own, which begins with the queue's link ([`Message`]); another signal is boxed with its link
//! ([`SignalNode`]). Both are a [`Packet`], so one queue holds them in one order. A message goes from the outer queue to the inner one
//! by its link, without another allocation.
//!
//! G1. Signals of one sender to one receiver are handled in the order they were sent.
//! G2. A signal owns everything in it: terms that need memory live in the signal's own fragment.
//! G3. Handling signals costs reductions, and a slice handles no more than its share. What is left of a queue that was taken stays in
//!     [`crate::OwnerState::unhandled`], before all that comes later; as long as there is any, the process does not wait.
//! G4. Each signal is handled once, or comes back to its sender, or is answered by the thread that ends the receiver: a signal
//!     that was pushed before the queue was closed is in what closing it gives.
//!
//! # Orderings
//!
//! - *A signal's contents* are written before the push (Release) and read after the take (Acquire): sync.mailbox has both sides.
//! - *Order (G1).* One sender's pushes follow each other in the queue (sync.mailbox/N2), which is a stack, taken whole and turned round. A
//!   long one is turned bit by bit, each bit for reductions, and none of it is handled before all of it is turned. What was taken
//!   first is handled to its end before the next is taken.
//! - *The wake-up* is the affair of `status.rs` (process/P4): the exchange that leaves a signal changes the state.
//! - *The end (G4).* Closing exchanges the queue's one word, so a push comes before it and is in what it gives, or fails. The
//!   Acquire of the sender that finds the queue closed pairs with the Release of closing: it sees what the ending process did before,
//!   its names free and its tables gone.
//!
//! # What was not done
//!
//! - *A lock around the queue*: many senders to one receiver would wait for each other, and for a holder that was preempted.
//! - *A queue for each sender, or for each scheduler*, so that senders do not meet at one word. The receiver would have to look at
//!   all of them at each fetch, and closing them all would not be one moment any more (G4).
//! - *Copying a message to the receiver's heap at once.* The sender would have to own that heap for as long as the copy takes; the
//!   receiver could not run until then.
//! - *Boxing a message like any other signal.* A message would then take two allocations more on its way: for the outer and for the
//!   inner queue.

use crate::message::Message;
use crate::priority::Priority;
use crate::process::Process;
use crate::runtime::Runtime;
use crate::status::{Status, Wake};
use crate::timer::TimerId;
use myriad_heap::Payload;
use myriad_heap::{QueueLink, Queued};
use myriad_sync::atomic::AtomicBool;
use myriad_sync::cell::UnsafeCell;
use myriad_sync::witness::{Event, tell};
use myriad_sync::{Arc, Chain, Link};
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
        tell(Event::Taken(link.as_ptr().addr()));
        // SAFETY: the caller promises that the link came from `into_raw`, and is taken back once; it says which kind it is.
        unsafe {
            match link.as_ref().queued() {
                Queued::Message => Packet::Message(Message::from_link(link)),
                Queued::Other => Packet::Other(Box::from_raw(link.cast().as_ptr())),
            }
        }
    }

    #[inline]
    unsafe fn next(link: NonNull<QueueLink>) -> *const UnsafeCell<*mut QueueLink> {
        // SAFETY: the caller promises that the block has not been taken back; its link is only shared here.
        unsafe { std::ptr::from_ref(link.as_ref().next()) }
    }

    #[inline]
    unsafe fn earlier(link: NonNull<QueueLink>) -> Option<*const u8> {
        // SAFETY: the caller promises that the block has not been taken back.
        unsafe { link.as_ref() }.earlier()
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

    /// What a checker knows it by.
    #[inline]
    fn address(&self) -> usize {
        match self {
            Packet::Message(message) => message.address(),
            Packet::Other(node) => std::ptr::from_ref(&**node).addr(),
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

    /// Where the term of a message is that a link of a queue of signals leads to, if it is not in the message's own memory.
    ///
    /// # Safety
    /// As for [`Packet::look`]; and nobody else looks at the message as long as the place is used.
    pub(crate) unsafe fn pointer(link: NonNull<QueueLink>) -> Option<NonNull<Term>> {
        // SAFETY: the caller promises that the block is in a queue and stays there; it is of the kind that it says. The copy of
        // the message is not dropped.
        unsafe {
            match link.as_ref().queued() {
                Queued::Message => ManuallyDrop::new(Message::from_link(link)).pointer().map(NonNull::from),
                Queued::Other => match &mut link.cast::<SignalNode<R>>().as_mut().signal {
                    Signal::AliasMessage(_, message) => message.pointer().map(NonNull::from),
                    _ => None,
                },
            }
        }
    }

    /// Calls `look` with the message, or the signal, that a link of a queue of signals leads to.
    ///
    /// # Safety
    /// It is the link of a packet of this type in a queue, and no thread takes it out before `look` has returned.
    pub unsafe fn look<T>(link: NonNull<QueueLink>, look: impl FnOnce(Result<&Message, &Signal<R>>) -> T) -> T {
        // SAFETY: the caller promises that the block is in a queue and stays there; it is of the kind that it says. The copy of
        // the message is not dropped.
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
        /// The sender.
        from: Pid,
        /// Which unlinking of the sender this answers.
        id: u64,
    },
    /// Answer to `Unlink`.
    UnlinkAck {
        /// The sender.
        from: Pid,
        /// The number in `Unlink`.
        id: u64,
    },
    /// An exit signal.
    Exit {
        /// The process or port that it comes from (a pid or port term).
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
        /// The sender, which gets the `Down`.
        from: Pid,
        /// The monitor's reference.
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
        /// The new group leader.
        leader: Payload,
        /// The process that asks, and gets the answer.
        from: Pid,
        /// Reference in the answer.
        reference: RefNumbers,
    },
    /// `erlang:is_process_alive/1`: answer `{Reference, Alive}`.
    IsAlive {
        /// The process that asks, and gets the answer.
        from: Pid,
        /// Reference in the answer.
        reference: RefNumbers,
    },
    /// A question that the receiver's owner answers, or the thread that ends the receiver: answer `{Reference, Result}`.
    Ask {
        /// The process that asks, and gets the answer.
        from: Pid,
        /// Reference in the answer.
        reference: RefNumbers,
        /// What is asked.
        question: R::Question,
    },
    /// A system task (`erts_internal:request_system_task`): garbage collection, code check. Answer `{Atom, Id, Result}`.
    Task {
        /// The process that asks, and gets the answer.
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
        let signal = packet.address();
        let woken = self.mailbox.push(packet, |bits| Status::from_bits(bits).on_signal().map(|status| status as u8))?;
        tell(Event::Left { receiver: self.pid.data(), signal });
        myriad_sync::sim_point();
        Ok(if woken { Wake::Enqueue } else { Wake::AlreadyAwake })
    }
}
