//! A call of a built-in on a dirty scheduler, and the process that waits for it.
//!
//! The call does not take the process along. It gets an owner state of its own ([`state_for_call`]), in which it is the
//! process that calls: the same X registers, group leader and flags, and a heap of fragments alone. The process's own state
//! stays behind, and the process *waits*: a signal makes it runnable, a normal scheduler handles its signals and lets it
//! wait again. So it answers, is traced, suspended, linked, or killed while a built-in of its computes or blocks for long. When
//! the call is over, it comes back as a signal ([`crate::Signal::Returned`]), and the process runs on with the result.
//!
//! ```text
//!    the process, on normal schedulers             the call, on a dirty scheduler          DirtyState
//!    ---------------------------------             ------------------------------          ----------
//!    its slice ends: SliceEnd::Dirty                                                       Not
//!    begin: owner state for the call
//!    enqueue in the pool ------------------------> waits in the pool's queue               Queued
//!    try_wait: Waiting                             a dirty thread takes it (sched/DP1)     Running
//!      signals come: runnable, a slice of            reads the caller's terms,
//!      nothing but signals, Waiting again            makes its own (DC1)
//!    Returned is handled: call_returns <---------- the result is pushed as a signal        Not
//!    the call's heap is joined, its links are
//!    taken over; the slice runs on with the result
//!
//!    it ends before: a call that waits is          a call that has begun runs to its end; its signal comes back,
//!    taken out of the queue                        and what it gave is taken back (DC3)
//! ```
//!
//! DC1. Both sides read the terms of the process's heap; neither changes a term. What the call makes is in the heap of the
//!      call, what signals bring in is attached to the process's; neither is collected before the call is back (the process has
//!      a resumption all the while, which forbids it). So collections and the copying of literals wait for the call.
//! DC2. The process's memory outlives the call: a process that ends is freed by thread progress, which waits for the dirty
//!      thread that runs the call; a call that has not begun yet is taken out of the queue by the process that ends, and a
//!      dirty thread that takes one begins to count for thread progress before it lets go of the queue
//!      (sched/DP1).
//! DC3. The call gives the process something (a link, to a port that it opens) in its own owner state: it is the process's when
//!      the call comes back, and taken back if the process has ended. What it gives elsewhere in the process's name (an open
//!      file) it gives as any other thread would ([`Process::set_exiting`]).
//! DC4. A collection on a dirty scheduler (`task.rs`) is no call: it moves the terms, so it does take the process along, and
//!      signals wait.
//!
//! Nothing here needs an ordering of its own. The lock of the pool's queue hands the call to the dirty thread, the process's outer queue
//! hands it back (process/G2), and the process's status (process/P2) says which thread may touch the owner state that stays behind.
//! [`DirtyState`] is a figure for other processes.
//!
//! What was not done:
//! - *Taking the process along*, as OTP does. It cannot be scheduled then, so processes made for that purpose handle its signals, and each
//!   kind of signal needs a way to be handled without the process.
//! - *A lock around the owner state*, for which signals and the call take turns. A call would have to give it up and take it again in all
//!   places where it may block or compute for long, and find all terms changed.
//! - *Copying the arguments.* They may be large, and what is read of them (`file:write/2` of many binaries) is often little; DC1 makes it
//!   unnecessary.

use crate::bif::{BADARG, DirtyKind, Escape, Suspended};
use crate::ctx::Ctx;
use crate::deliver::Handled;
use crate::dirty::Job;
use crate::engine::SliceEnd;
use crate::runtime::Returned;
use crate::vm::Vm;
use crate::{OwnerState, Process, Signal, Signals};
use myriad_heap::Heap;
use myriad_process::links::Link;
use myriad_process::{DirtyState, Payload};
use myriad_sched::Local;
use myriad_term::{Pid, Term, am};

/// A call that has not begun.
pub struct DirtyCall {
    process: *const Process,
    state: Box<OwnerState>,
}

// SAFETY: DC2 keeps the process, which is `Sync`, for as long as this is in a queue or runs.
unsafe impl Send for DirtyCall {}

/// What a call on a dirty scheduler sees as the process.
fn state_for_call(caller: &mut OwnerState) -> OwnerState {
    let heap = Heap::without_block(&caller.heap.settings());
    let mut call = OwnerState::new(heap, caller.resume, caller.initial_call);
    call.reductions.begin_slice(caller.reductions.left());
    call.saved_x.clone_from(&caller.saved_x);
    call.group_leader = caller.group_leader;
    call.token = caller.token;
    if caller.token.is_some() {
        call.watched.sequence = caller.watched.sequence;
    }
    call.flags = caller.flags;
    call.error_handler = caller.error_handler;
    call.parent = caller.parent;
    call.retry_state = caller.retry_state;
    call.resumption = caller.resumption.take();
    call
}

/// The other ends of the links that a call has made.
fn links_made(call: &OwnerState) -> impl Iterator<Item = Term> {
    let links = call.relations.get().into_iter().flat_map(|tables| tables.links.values());
    links.filter(|(_, link)| *link == Link::Active).map(|(other, _)| *other)
}

impl DirtyCall {
    /// The call that the process of `ctx` has stopped at; from here on the process waits for it.
    pub(crate) fn begin(ctx: &mut Ctx<'_>) -> DirtyCall {
        let state = Box::new(state_for_call(ctx.state));
        ctx.state.in_dirty_call = true;
        // DC1. It says too that the process is inside that built-in.
        let name = state.resumption.as_ref().and_then(|suspended| suspended.name);
        ctx.state.resumption =
            Some(Box::new(Suspended { rest: Box::new(|_| Err(Escape::Yield)), name, collectable: false }));
        ctx.process.set_dirty_state(DirtyState::Queued);
        DirtyCall { process: ctx.process, state }
    }

    /// Is it a call of this process?
    pub(crate) fn is_of(&self, process: &Process) -> bool {
        std::ptr::eq(self.process, process)
    }

    /// Runs the call, on a dirty scheduler, and sends its result back as a signal.
    pub(crate) fn run(mut self, vm: &'static Vm, local: &mut Local) {
        // SAFETY: DC2: the process's memory outlives the call.
        let process = unsafe { &*self.process };
        process.set_dirty_state(DirtyState::Running);
        let mut ctx = Ctx { state: &mut self.state, process, sched: local, vm };
        let result = vm.engine().run_dirty(&mut ctx);
        let returned = Signal::Returned(Box::new(Returned { state: self.state, result }));
        if let Err(signal) = vm.try_send(process, returned) {
            crate::exit::answer_for_the_dead(vm, process.pid, signal);
        }
    }
}

impl Returned {
    /// The process has ended before the call came back: what the call has given it is taken back (DC3).
    pub(crate) fn to_nobody(&self, vm: &'static Vm, dead: Pid) {
        for other in links_made(&self.state) {
            let reason = Payload::immediate(Term::atom(am::noproc));
            vm.signal_term(other, Signal::Exit { from: dead.term(), reason, linked: true });
        }
    }
}

impl Ctx<'_> {
    /// A slice of a process in a dirty call, when it begins: its signals, and its own code if the call has come back.
    pub(crate) fn run_in_dirty_call(&mut self) -> SliceEnd {
        if self.answer_signals() == Handled::Fatal {
            SliceEnd::Exited
        } else if self.state.in_dirty_call {
            SliceEnd::Waiting
        } else {
            self.run_slice(Signals::empty())
        }
    }

    /// The call is back.
    pub(crate) fn call_returns(&mut self, returned: Returned) {
        let Returned { state: mut call, result } = returned;
        let state = &mut *self.state;
        let heap = std::mem::replace(&mut call.heap, Heap::without_block(&state.heap.settings()));
        state.heap.join(heap);
        for other in links_made(&call) {
            state.relations.link(other);
        }
        if state.token.is_some() {
            state.token = call.token;
            state.watched.sequence = call.watched.sequence;
        }
        state.retry_state = call.retry_state;
        state.error_cause = call.error_cause;
        std::mem::swap(&mut state.trap_args, &mut call.trap_args);
        std::mem::swap(&mut state.exception, &mut call.exception);
        if matches!(result, Err(Escape::Dead)) {
            state.exit_reason = call.exit_reason;
        }
        state.resumption = match result {
            Err(Escape::Yield) => call.resumption.take(),
            result => {
                let mut result = Some(result);
                let rest = Box::new(move |_: &mut Ctx<'_>| result.take().unwrap_or(Err(BADARG)));
                Some(Box::new(Suspended { rest, name: None, collectable: false }))
            }
        };
        state.in_dirty_call = false;
        self.process.set_dirty_state(DirtyState::Not);
    }
}

impl Vm {
    /// The process stops for a call on a dirty scheduler.
    pub(crate) fn call_dirty(&'static self, ctx: &mut Ctx<'_>, kind: DirtyKind) {
        let call = DirtyCall::begin(ctx);
        self.schedulers.enqueue_dirty(kind, ctx.process.priority(), Job::Call(call));
    }
}
