//! The end of a process: names, timers, tables, links and monitors, memory.
//!
//! First it gives up its names and what else it owns; then the outer queue is closed, and all signals that came until then are
//! answered as by a process that has ended. So there is one moment at which it ends for all others, and a process that has learned
//! of it finds its names free and its tables gone.
//!
//! A process may own much: tables of millions of rows, many links, many messages. So its end is a walk of several slices
//! ([`Ending`]): when one is used up the process goes back into a run queue, where it is `exiting` and runs nothing but the rest of
//! its end. Signals stay in the outer queue till that is closed.

use crate::bif::{Escape, Resumption};
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::tracer::flags;
use crate::vm::Vm;
use crate::{Signal, Signals};
use myriad_heap::Fragment;
use myriad_process::links::{Link, Monitor, Suspension, Target, Watcher};
use myriad_process::{Message, Payload};
use myriad_term::{Build, Pid, RefNumbers, Term, am, print};
use std::collections::{btree_map, hash_map};

/// Most terms of the reason that a slogan shows.
const SLOGAN_TERMS: usize = 200;

/// Least reductions of a slice of an ending: most processes end in one.
const LEAST_REDUCTIONS: i32 = 1000;
/// Reductions for giving up a link, a monitor, a timer, or an unanswered signal.
const PARTING: usize = 2;

/// How far a process has come with its end.
pub struct Ending {
    stage: Stage,
    /// Subsystems that have let go of it, or begun to.
    let_go: usize,
    /// What the last of them has left.
    rest: Option<Resumption>,
}

enum Stage {
    /// Timers that would send it messages are taken back; those of the wheels before this one are.
    Timers { wheel: usize },
    /// It gives up what the upper crates keep for it.
    Hooks,
    /// The outer queue is closed, and what is left is answered: what came after the signal that ended it, then what was in the
    /// queue.
    Signals([Signals; 2]),
    /// The processes that are linked to it, monitored by it, or monitor it get their signals.
    Relations(Box<Parting>),
    /// Its messages are dropped.
    Messages,
    /// Nothing is left.
    Done,
}

/// The relations that are left.
struct Parting {
    links: btree_map::IntoValues<u64, (Term, Link)>,
    monitors: hash_map::IntoIter<RefNumbers, Monitor>,
    suspending: hash_map::IntoIter<Pid, Suspension>,
    /// A process that it has suspended, and how often it is still to be resumed.
    resuming: Option<(Pid, u32)>,
    watchers: hash_map::IntoIter<RefNumbers, Watcher>,
}

/// Ends the process of `ctx` with [`crate::OwnerState::exit_reason`], or begins to: `false` if the rest is for another slice
/// ([`go_on`]).
pub(crate) fn finish(ctx: &mut Ctx<'_>) -> bool {
    if !has_begun(ctx) {
        begin(ctx);
        ctx.state.reductions_left = ctx.state.reductions_left.max(LEAST_REDUCTIONS);
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
    if let Some(name) = process.name() {
        ctx.trace(flags::PROCS, am::unregister, &[name.term()]);
    }
    vm.processes.listings.departs(process);
    process.set_exiting();
    myriad_sync::sim_point();
    vm.names.release(process);
    if let Some(timer) = ctx.state.receive_timer.take() {
        vm.timers.cancel(timer);
    }
    if ctx.state.in_dirty_call {
        vm.schedulers.dirty.forget(process);
    }
    ctx.state.resumption = None;
    ctx.forget_saved_calls();
    crate::task::refuse_all(ctx);
    let stage = if process.has_timers() { Stage::Timers { wheel: 0 } } else { Stage::Hooks };
    ctx.state.ending = Some(Box::new(Ending { stage, let_go: 0, rest: None }));
}

/// Has the process begun to end?
pub(crate) fn has_begun(ctx: &Ctx<'_>) -> bool {
    ctx.state.ending.is_some()
}

/// A slice of its end; `Exited` once nothing is left but to free it.
pub(crate) fn go_on(ctx: &mut Ctx<'_>) -> SliceEnd {
    let Some(mut ending) = ctx.state.ending.take() else { return SliceEnd::Exited };
    let done = loop {
        let Some(next) = ending.step(ctx) else { break false };
        ending.stage = next;
        if matches!(ending.stage, Stage::Done) {
            break true;
        }
    };
    ctx.state.ending = Some(ending);
    if done { SliceEnd::Exited } else { SliceEnd::Yielded }
}

impl Ending {
    /// Works on this stage to its end, and gives the next; nothing if the slice is used up before.
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Option<Stage> {
        match &mut self.stage {
            Stage::Timers { wheel } => {
                while !ctx.exhausted() {
                    if *wheel == ctx.vm.timers.wheels() {
                        return Some(Stage::Hooks);
                    }
                    match ctx.vm.timers.cancel_one_of(*wheel, ctx.pid()) {
                        Some(()) => ctx.bump(PARTING),
                        None => *wheel += 1,
                    }
                }
                None
            }
            Stage::Hooks => {
                self.run_hooks(ctx)?;
                if ctx.process.blocks_schedulers() {
                    ctx.vm.schedulers.blocker_ends(ctx.pid());
                }
                myriad_sync::sim_point();
                let unhandled = ctx.state.unhandled.take().map_or(Signals::empty(), |signals| *signals);
                Some(Stage::Signals([unhandled, ctx.process.outer.close()]))
            }
            Stage::Signals(signals) => {
                for signals in signals {
                    if !answer_all(ctx, signals) {
                        return None;
                    }
                }
                myriad_sync::sim_point();
                Some(Stage::Relations(Box::new(Parting::new(ctx))))
            }
            Stage::Relations(parting) => parting.tell(ctx).then_some(Stage::Messages),
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

    fn run_hooks(&mut self, ctx: &mut Ctx<'_>) -> Option<()> {
        loop {
            if let Some(rest) = &mut self.rest {
                if matches!(rest(ctx), Err(Escape::Yield)) {
                    return None;
                }
                self.rest = None;
            }
            let Some(subsystem) = ctx.vm.subsystems.get(self.let_go) else { return Some(()) };
            self.let_go += 1;
            self.rest = subsystem.process_exits(ctx);
            if self.rest.is_some() && ctx.exhausted() {
                return None;
            }
        }
    }
}

impl Parting {
    fn new(ctx: &mut Ctx<'_>) -> Parting {
        let tables = ctx.state.relations.take();
        Parting {
            links: tables.links.into_values(),
            monitors: tables.monitors.into_iter(),
            suspending: tables.suspending.into_iter(),
            resuming: None,
            watchers: tables.watchers.into_iter(),
        }
    }

    /// Sends all of them their signals, last those that monitor it: a process that gets a `'DOWN'` finds nothing of this one with
    /// others. `false` if the slice is
    /// used up before.
    fn tell(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let (vm, pid, reason) = (ctx.vm, ctx.pid(), ctx.state.exit_reason);
        while !ctx.exhausted() {
            ctx.bump(PARTING);
            if let Some((other, link)) = self.links.next() {
                if link == Link::Active {
                    let exit = ctx.exit_signal_to(other, reason, true);
                    vm.signal_term(other, exit);
                }
            } else if let Some((reference, monitor)) = self.monitors.next() {
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
            } else if let Some((suspended, times)) = self.resuming.filter(|(_, times)| *times > 0) {
                vm.signal_pid(suspended, Signal::Resume(pid));
                self.resuming = Some((suspended, times - 1));
            } else if let Some((suspended, suspension)) = self.suspending.next() {
                self.resuming = Some((suspended, suspension.times));
            } else if let Some((reference, watcher)) = self.watchers.next() {
                if let Some(p) = vm.processes.get(watcher.from) {
                    vm.send(p, Signal::Down { reference, reason: ctx.payload(reason) });
                }
            } else {
                return true;
            }
        }
        false
    }
}

/// Takes it out of the table.
fn free(ctx: &mut Ctx<'_>) {
    let (vm, pid, process) = (ctx.vm, ctx.pid(), ctx.process);
    if (pid.data() == 0 || process.system) && !vm.schedulers.is_stopping() {
        // Without `init` and the system processes nothing can run or stop in order.
        let (pid, reason) = (print::pid_text(pid.term()), print::text(ctx.state.exit_reason, SLOGAN_TERMS));
        vm.observer().fatal(&format!("System process {pid} terminated: {reason}"));
        vm.stop(1);
    }
    ctx.trace(flags::EXITING, am::out_exited, &[Term::small(0)]);
    process.set_free();
    if let Some(raw) = vm.processes.remove(pid) {
        let doomed = Doomed(raw);
        // Thread progress: others may have found the process in the table just before.
        ctx.sched.slot.retire(move || doomed.free());
    }
}

struct Doomed(*mut crate::Process);
// SAFETY: sole owner of a process that has left the table.
unsafe impl Send for Doomed {}

impl Doomed {
    fn free(self) {
        // SAFETY: it came from `Box::into_raw` in the table, and process/TB1's readers have passed a quiescent point.
        drop(unsafe { Box::from_raw(self.0) });
    }
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
            if let Some([to, message]) = reply.term.as_tuple_of::<2>()
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
    let mut fragment = Fragment::with_capacity(6);
    let reference = fragment.reference(reference);
    let term = fragment.tuple(&[reference, value]);
    vm.signal_pid(to, Signal::Message(Message::new(term, Some(fragment), Term::NONE)));
}

fn answer_tagged(vm: &'static Vm, to: Pid, tag: Term, value: Term) {
    let mut fragment = Fragment::with_capacity(4 + myriad_heap::copied_size(tag));
    let tag = myriad_heap::copy_term(tag, &mut fragment);
    let term = fragment.tuple(&[tag, value]);
    vm.signal_pid(to, Signal::Message(Message::new(term, Some(fragment), Term::NONE)));
}
