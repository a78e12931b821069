//! The end of a process: timers, tables, names, links and monitors, memory.
//!
//! First it gives up what it owns, and then its name; then the outer queue is closed, and all signals that came until then are
//! answered as by a process that has ended. So there is one moment at which it ends for all others, and a process that has learned
//! of it finds its names free and its tables gone.
//!
//! A process may own much: tables of millions of rows, many links, many messages. So its end is a walk of several slices
//! ([`Ending`]): when one is used up the process goes back into a run queue, where it is `exiting` and runs nothing but the rest of
//! its end. Signals stay in the outer queue till that is closed.

use crate::bif::{Escape, Suspended};
use crate::ctx::Ctx;
use crate::dirty::Dead;
use crate::engine::SliceEnd;
use crate::task::LONG_COLLECTION;
use crate::tracer::flags;
use crate::vm::Vm;
use crate::{Ending, Signal, Signals};
use myriad_heap::meter::{self, Work};
use myriad_process::ending::Parting;
use myriad_process::links::{Link, Target};
use myriad_process::{Message, Payload};
use myriad_sync::Retirer;
use myriad_sync::thread::CAN_SPAWN;
use myriad_term::{Build, Pid, RefNumbers, Term, TermRef, am, print};

type Stage = myriad_process::ending::Stage<Vm>;

/// Most terms of the reason that a slogan shows.
const SLOGAN_TERMS: usize = 200;

/// Least reductions of a slice of an ending: most processes end in one.
const LEAST_REDUCTIONS: i32 = 1000;
/// Reductions for giving up a link, a monitor, a timer, or an unanswered signal.
const PARTING: usize = 2;

/// Ends the process of `ctx` with [`crate::OwnerState::exit_reason`], or begins to: `false` if it is to go on in another slice
/// ([`go_on`]).
pub(crate) fn finish(ctx: &mut Ctx<'_>) -> bool {
    if !has_begun(ctx) {
        begin(ctx);
        ctx.state.reductions.allow(LEAST_REDUCTIONS);
        if go_on(ctx) == SliceEnd::Yielded {
            return false;
        }
    }
    free(ctx);
    true
}

fn begin(ctx: &mut Ctx<'_>) {
    let (vm, process) = (ctx.vm, ctx.process);
    ctx.trace_exit();
    vm.processes.departs(process);
    process.set_exiting();
    myriad_sync::sim_point();
    if let Some(timer) = ctx.state.receive_timer.end() {
        vm.timers.cancel(timer);
    }
    if ctx.state.in_dirty_call {
        vm.schedulers.dirty.forget(process);
    }
    ctx.state.resumption = None;
    ctx.forget_saved_calls();
    crate::task::refuse_all(ctx);
    ctx.state.ending = Some(Box::new(Ending::new(process.timer_wheels())));
}

/// Has the process begun to end?
pub(crate) fn has_begun(ctx: &Ctx<'_>) -> bool {
    ctx.state.ending.is_some()
}

/// A slice of its end; `Exited` once nothing is left but to free it.
pub(crate) fn go_on(ctx: &mut Ctx<'_>) -> SliceEnd {
    let Some(mut ending) = ctx.state.ending.take() else { return SliceEnd::Exited };
    let done = loop {
        let Some(next) = step(&mut ending, ctx) else { break false };
        ending.stage = next;
        if matches!(ending.stage, Stage::Done) {
            break true;
        }
    };
    ctx.state.ending = Some(ending);
    if done { SliceEnd::Exited } else { SliceEnd::Yielded }
}

/// Works on this stage to its end, and gives the next; nothing if the slice is used up before.
fn step(ending: &mut Ending, ctx: &mut Ctx<'_>) -> Option<Stage> {
    match &mut ending.stage {
        Stage::Timers { on, wheel } => {
            while !ctx.exhausted() {
                if *wheel == ctx.vm.timers.wheels() {
                    return Some(Stage::Hooks);
                }
                if on.contains(*wheel) && ctx.vm.timers.cancel_one_of(*wheel, ctx.pid()).is_some() {
                    ctx.bump(PARTING);
                } else {
                    *wheel += 1;
                }
            }
            None
        }
        Stage::Hooks => {
            run_hooks(ending, ctx)?;
            release_name(ctx);
            ctx.leave_nodes();
            ctx.end_parts();
            if ctx.process.blocks_schedulers() {
                ctx.vm.schedulers.blocker_ends(ctx.pid());
            }
            // Before anybody is told of the end, who may want it next. What is left to do here the schedulers do.
            ctx.vm.release_private_thread(ctx.process);
            myriad_sync::sim_point();
            let unhandled = ctx.state.unhandled.take().map_or(Signals::empty(), |signals| *signals);
            Some(Stage::Signals([unhandled, ctx.process.close()]))
        }
        Stage::Signals(signals) => {
            for signals in signals {
                if !answer_all(ctx, signals) {
                    return None;
                }
            }
            myriad_sync::sim_point();
            Some(Stage::Relations(Box::new(Parting::new(ctx.state.relations.take()))))
        }
        Stage::Relations(parting) => tell_relatives(parting, ctx).then_some(Stage::Messages),
        Stage::Messages => {
            ctx.state.messages.rewind();
            while !ctx.exhausted() {
                if ctx.state.messages.take().is_none() {
                    return Some(Stage::Done);
                }
                ctx.bump(1);
            }
            None
        }
        Stage::Done => Some(Stage::Done),
    }
}

/// Gives up its name: who finds that free finds its tables gone. It gets none any more, since it is exiting.
fn release_name(ctx: &mut Ctx<'_>) {
    if let Some(name) = ctx.process.name() {
        ctx.trace(flags::PROCS, am::unregister, &[name.term()]);
    }
    ctx.vm.names.release(ctx.process, Retirer::Thread(&ctx.sched.slot));
}

/// Has the subsystems let go of the process, one by one; nothing if the slice is used up before.
fn run_hooks(ending: &mut Ending, ctx: &mut Ctx<'_>) -> Option<()> {
    loop {
        if let Some(suspended) = &mut ending.rest {
            if matches!((suspended.rest)(ctx), Err(Escape::Yield)) {
                return None;
            }
            ending.rest = None;
        }
        let Some(subsystem) = ctx.vm.subsystems.get(ending.let_go) else { return Some(()) };
        ending.let_go += 1;
        let rest = subsystem.process_exits(ctx);
        ending.rest = rest.map(|rest| Box::new(Suspended { rest, name: None, collectable: false }));
        if ending.rest.is_some() && ctx.exhausted() {
            return None;
        }
    }
}

/// Tells all related processes, those who monitor it last: who gets a `'DOWN'` finds nothing of it with others. `false` if the slice is
/// used up before.
fn tell_relatives(left: &mut Parting, ctx: &mut Ctx<'_>) -> bool {
    let (vm, pid, reason) = (ctx.vm, ctx.pid(), ctx.state.exit_reason);
    while !ctx.exhausted() {
        ctx.bump(PARTING);
        if let Some((other, link)) = left.links.next() {
            if link == Link::Active {
                let exit = ctx.exit_signal_to(other, reason, true);
                vm.signal_term(other, exit);
            }
        } else if let Some((reference, monitor)) = left.monitors.next() {
            match monitor.target {
                Target::Process(target) => {
                    if let Some(p) = vm.processes.get(target) {
                        vm.send(p, Signal::Demonitor(reference));
                    }
                }
                Target::Port(port) => vm.port_demonitor(port, reference),
                Target::TimeOffset => vm.clock.unwatch(reference),
                Target::Gone | Target::GonePort => {}
            }
        } else if let Some((suspended, times)) = left.resuming.filter(|(_, times)| *times > 0) {
            vm.signal_pid(suspended, Signal::Resume(pid));
            left.resuming = Some((suspended, times - 1));
        } else if let Some((suspended, suspension)) = left.suspending.next() {
            left.resuming = Some((suspended, suspension.times));
        } else if let Some((reference, watcher)) = left.watchers.next() {
            if let Some(p) = vm.processes.get(watcher.from) {
                vm.send(p, Signal::Down { reference, reason: ctx.payload(reason) });
            }
        } else if let Some(watch) = left.watches.next() {
            drop(watch);
        } else {
            return true;
        }
    }
    false
}

/// Takes it out of the table, and leaves it to thread progress: others may have found it just before. A large one is freed by a dirty scheduler then, not
/// by the scheduler that comes by.
fn free(ctx: &mut Ctx<'_>) {
    let (vm, pid, process) = (ctx.vm, ctx.pid(), ctx.process);
    if (pid.data() == 0 || process.system) && !vm.schedulers.is_stopping() {
        // Without `init` and the system processes nothing can run or stop in order.
        let (pid, reason) = (print::pid_text(pid.term()), print::text(ctx.state.exit_reason, SLOGAN_TERMS));
        vm.observer().fatal(&format!("System process {pid} terminated: {reason}"));
        vm.stop(1);
    }
    ctx.trace(flags::EXITING, am::out_exited, &[Term::small(0)]);
    ctx.state.heap.abandon();
    process.set_free();
    meter::count(Work::Process, 1);
    let is_large = CAN_SPAWN && vm.config.dirty_cpu > 0 && words_to_free(ctx) > LONG_COLLECTION;
    let priority = process.priority();
    if let Some(raw) = vm.processes.remove(pid) {
        if is_large {
            // SAFETY: the table gave it now, and it is moved on by thread progress.
            let dead = unsafe { Dead::of(raw) };
            return ctx.sched.slot.retire(move || vm.free_dirty(dead, priority));
        }
        /// Ends a process that has left the table.
        unsafe fn free(process: *mut ()) {
            // SAFETY: the table gave it, and process/TB1's readers have passed a quiescent point.
            drop(unsafe { Dead::of(process.cast()) });
        }
        // SAFETY: it has left the table and is freed once, by any thread.
        unsafe { ctx.sched.slot.retire_object(raw.cast(), free) };
    }
}

/// Words of its heap, and of the binaries that it holds, which may be nobody else's.
fn words_to_free(ctx: &Ctx<'_>) -> usize {
    let info = ctx.state.heap.info();
    info.heap_block_size + info.old_heap_block_size + info.mbuf_size + info.bin_vheap_size + info.bin_old_vheap_size
}

/// Answers signals that the process can no longer handle; `false` if the slice is used up before.
fn answer_all(ctx: &mut Ctx<'_>, signals: &mut Signals) -> bool {
    while !ctx.exhausted() {
        if ctx.put_in_order(signals, 0) {
            let Some(node) = signals.next() else { return true };
            answer_for_the_dead(ctx.vm, ctx.pid(), node.open());
            ctx.bump(PARTING);
        }
    }
    false
}

/// Answers a signal that a process can no longer handle.
pub(crate) fn answer_for_the_dead(vm: &'static Vm, dead: Pid, signal: Signal) {
    let noproc = || Payload::immediate(Term::atom(am::noproc));
    match signal {
        Signal::Link(from) => {
            let exit = Signal::Exit { from: dead.term(), reason: noproc(), linked: true };
            vm.signal_pid(from, exit);
        }
        Signal::Unlink { from, id } => {
            vm.signal_pid(from, Signal::UnlinkAck { from: dead, id });
        }
        Signal::Monitor { from, reference, .. } => {
            vm.signal_pid(from, Signal::Down { reference, reason: noproc() });
        }
        Signal::IsAlive { from, reference } => answer(vm, from, reference, Term::FALSE),
        Signal::Ask { from, reference, question } => answer(vm, from, reference, question.of_the_dead()),
        Signal::GroupLeader { from, reference, .. } => answer(vm, from, reference, Term::atom(am::badarg)),
        Signal::Task { from, request, .. } => crate::task::refuse(vm, from, &request),
        Signal::Returned(returned) => returned.to_nobody(vm, dead),
        Signal::Suspend { reply: Some(reply), .. } => {
            if let Some([to, message]) = reply.term().as_tuple_of::<2>()
                && let Some([tag, _]) = message.as_tuple_of::<2>()
                && let Some(pid) = to.as_local_pid()
            {
                answer_tagged(vm, pid, tag, Term::atom(am::exited));
            }
        }
        _ => {}
    }
}

fn answer(vm: &'static Vm, to: Pid, reference: RefNumbers, value: Term) {
    let answer = Payload::build(6, |draft| {
        let reference = draft.reference(reference);
        draft.tuple(&[reference, value])
    });
    vm.signal_pid(to, Signal::Message(Message::new(answer, Term::NONE)));
}

fn answer_tagged(vm: &'static Vm, to: Pid, tag: TermRef<'_>, value: Term) {
    let answer = Payload::build(4 + myriad_heap::copied_size(tag), |draft| {
        let tag = myriad_heap::copy_term(tag, draft);
        draft.tuple(&[tag, value])
    });
    vm.signal_pid(to, Signal::Message(Message::new(answer, Term::NONE)));
}
