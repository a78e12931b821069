//! A heap walk: every object of every heap, message, table and timer, visited while the world is stopped.
//!
//! For questions that are asked seldom, by tests and by people: OTP counts the references to funs and to nodes' entries object by
//! object, as they come and go; here nothing is kept, and a thread that asks has all of them looked at.
//!
//! Objects count as long as their memory is theirs, as on OTP: dead ones of a heap until the next collection. Left out are literals of
//! modules, what a process that has ended leaves to thread progress, and what is held neither in a heap nor in a fragment that belongs to
//! one of the [`Holder`]s: results that a built-in on a dirty scheduler is making, trace specifications, terms that a resumption
//! keeps for itself.

use myriad_heap::{Fragment, Heap, QueueLink};
use myriad_process::{Message, Packet};
use myriad_sched::Destination;
use myriad_term::{Boxed, Kind};
use myriad_vm::heap_walk::{Holder, Place, Visit};
use myriad_vm::{Ctx, OwnerState, Process, Signal};
use std::collections::HashSet;
use std::ptr::NonNull;
use std::time::Duration;

/// Slices are over within milliseconds; a scheduler that is stuck for longer is not waited for in one go.
const PATIENCE: Duration = Duration::from_millis(500);

fn fragment(of: Option<&Fragment>, holder: Holder, place: Place, visit: Visit<'_>) {
    if let Some(fragment) = of {
        fragment.each_object(|object| visit(holder, place, object));
    }
}

/// The fragments of a signal that has not been handled.
fn signal(of: &Signal, holder: Holder, visit: Visit<'_>) {
    let payload = match of {
        Signal::Message(message) | Signal::AliasMessage(_, message) => {
            return fragment(message.fragment(), holder, Place::Heap, visit);
        }
        Signal::ExitWithToken(inner, token) => {
            signal(inner, holder, visit);
            token
        }
        Signal::Exit { reason, .. } | Signal::Down { reason, .. } => reason,
        Signal::GroupLeader { leader, .. } => leader,
        Signal::Ask { question, .. } => return fragment(question.memory(), holder, Place::Heap, visit),
        Signal::Task { request, .. } => request,
        Signal::Suspend { reply: Some(reply), .. } => reply,
        _ => return,
    };
    fragment(payload.memory(), holder, Place::Heap, visit);
}

fn process(of: &Process, state: &OwnerState, heap: &mut dyn FnMut(&Heap), visit: Visit<'_>) {
    let holder = Holder::Process(of.pid);
    heap(&state.heap);
    state.heap.each_object(|object| visit(holder, Place::Heap, object));
    for message in state.messages.iter() {
        fragment(message.fragment(), holder, Place::Heap, visit);
    }
    let mut packet = |link: NonNull<QueueLink>| {
        let look = |packet: Result<&Message, &Signal>| match packet {
            Ok(message) => fragment(message.fragment(), holder, Place::Heap, visit),
            Err(other) => signal(other, holder, visit),
        };
        // SAFETY: a link of the process's queues, which no other thread touches now (sched/SF2).
        unsafe { Packet::look(link, look) }
    };
    if let Some(signals) = &state.unhandled {
        signals.nodes().for_each(&mut packet);
    }
    // SAFETY: only a process's owner takes signals, and no other thread is one now (sched/SF2).
    unsafe { of.waiting_signals() }.for_each(packet);
}

/// Calls `visit` with every object of the VM, while the world is stopped. `false`: it could not be stopped, and
/// nothing was visited; to be tried again in another slice.
///
/// `visit` takes no lock.
#[must_use]
pub fn walk_heaps(ctx: &mut Ctx<'_>, visit: Visit<'_>) -> bool {
    walk(ctx, &mut |_| {}, visit)
}

/// The same; `heap` gets each heap of a process.
pub(crate) fn walk(ctx: &mut Ctx<'_>, heap: &mut dyn FnMut(&Heap), visit: Visit<'_>) -> bool {
    let vm = ctx.vm;
    let Some(_stopped) = vm.schedulers.stop_world(PATIENCE) else { return false };
    let mut magics = HashSet::new();
    let mut all = |holder: Holder, place: Place, object: Boxed| {
        visit(holder, place, object);
        if object.kind() == Kind::MagicRef && magics.insert(object.word(2)) {
            let magic = object.magic();
            vm.subsystems().for_each(|one| one.each_object_of(&magic, visit));
        }
    };
    vm.processes.each(|other| {
        if std::ptr::eq(other, ctx.process) {
            process(other, ctx.state, heap, &mut all);
        } else {
            // SAFETY: sched/SF2: no other thread touches it until `_stopped` is dropped, and there is no other reference.
            process(other, unsafe { other.owner_state() }, heap, &mut all);
        }
    });
    vm.timers.each_message(|to, _, payload| {
        let holder = match to {
            Destination::Process(pid) => Holder::Process(pid),
            Destination::Name(name) => Holder::Name(name),
        };
        fragment(payload.memory(), holder, Place::Timer, &mut all);
    });
    vm.subsystems().for_each(|one| one.each_object(&mut all));
    true
}
