//! The end of a process: names, timers, tables, links and monitors, memory.
//!
//! First it gives up its names and what else it owns; then the outer queue is closed, and all that came meanwhile is answered as
//! by one that has ended. So there is one moment at which it ends for everybody, and whoever has learned of it finds its names
//! free and its tables gone.
//!
//! A process may own much: tables of millions of rows, many links, many messages. So its end is a walk of several slices
//! ([`Ending`]): when one is used up the process goes back into a run queue, where it is `exiting` and runs nothing but the rest of
//! its end. Signals stay in the outer queue till that is closed.

use crate::bif::{Escape, Resumption};
use crate::ctx::Ctx;
use crate::engine::SliceEnd;
use crate::links::{Link, Monitor, Suspension, Target, Watcher};
use crate::message::Message;
use crate::signal::{Parcel, Signal, SignalNode};
use crate::trace::flags;
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_sync::Chain;
use myriad_term::{Build, Pid, RefNumbers, Term, am, print};
use std::collections::{btree_map, hash_map};

/// Most terms of the reason that a slogan shows.
const SLOGAN_TERMS: usize = 200;

/// A slice of an ending has at least so many reductions: most processes end in one.
const LEAST_REDUCTIONS: i32 = 1000;
/// Reductions for giving up a link, a monitor, or an unanswered signal.
const PARTING: usize = 2;

type Signals = Chain<Box<SignalNode>>;

/// How far a process has come with its end.
pub struct Ending {
    stage: Stage,
    /// Signals that came after the one that ended it, to be answered once it holds nothing any more.
    unhandled: Signals,
    /// Exit hooks that have begun.
    hooks: usize,
    /// What the last of them has left.
    rest: Option<Resumption>,
}

enum Stage {
    /// It is to end.
    Before,
    /// It gives up what the upper crates keep for it.
    Hooks,
    /// The outer queue is closed, and what is left in it is answered.
    Signals(std::iter::Chain<Signals, Signals>),
    /// Those who are related to it are told.
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
    watchers: hash_map::IntoIter<RefNumbers, Watcher>,
}

/// Ends the process of `ctx` with [`crate::Private::exit_reason`], or begins to: `false` if it is to go on in another slice
/// ([`go_on`]).
pub(crate) fn finish(ctx: &mut Ctx<'_>) -> bool {
    if !has_begun(ctx) {
        begin(ctx);
        ctx.proc.reductions_left = ctx.proc.reductions_left.max(LEAST_REDUCTIONS);
        if go_on(ctx) == SliceEnd::Yielded {
            return false;
        }
    }
    free(ctx);
    true
}

fn begin(ctx: &mut Ctx<'_>) {
    let (vm, pid, process) = (ctx.vm, ctx.pid(), ctx.this);
    ctx.trace_exit();
    if let Some(name) = process.name() {
        ctx.trace(flags::PROCS, am::unregister, &[name.term()]);
    }
    vm.processes.listings.departs(process);
    process.set_exiting();
    crate::scheduler::sim_point();
    vm.names.release(process);
    if let Some(timer) = ctx.proc.receive_timer.take() {
        vm.timers.cancel(timer);
    }
    if process.has_timers() {
        vm.timers.process_ends(pid);
    }
    if ctx.proc.away {
        vm.dirty.forget(process);
    }
    ctx.proc.resumption = None;
    ctx.proc.set_saved_calls(0);
    crate::task::refuse_all(ctx);
    let ending = ctx.proc.ending.get_or_insert_with(|| Ending::before(Signals::empty()));
    ending.stage = Stage::Hooks;
}

/// Has the process begun to end?
pub(crate) fn has_begun(ctx: &Ctx<'_>) -> bool {
    ctx.proc.ending.as_ref().is_some_and(|ending| !matches!(ending.stage, Stage::Before))
}

/// A slice of its end; `Exited` once nothing is left but to free it.
pub(crate) fn go_on(ctx: &mut Ctx<'_>) -> SliceEnd {
    let Some(mut ending) = ctx.proc.ending.take() else { return SliceEnd::Exited };
    let done = loop {
        let Some(next) = ending.step(ctx) else { break false };
        ending.stage = next;
        if matches!(ending.stage, Stage::Done) {
            break true;
        }
    };
    ctx.proc.ending = Some(ending);
    if done { SliceEnd::Exited } else { SliceEnd::Yielded }
}

impl Ending {
    /// Of a process that is to end before it handles these signals.
    pub(crate) fn before(unhandled: Signals) -> Box<Ending> {
        Box::new(Ending { stage: Stage::Before, unhandled, hooks: 0, rest: None })
    }

    /// Works on this stage to its end, and gives the next; nothing if the slice is used up before.
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Option<Stage> {
        match &mut self.stage {
            Stage::Hooks => {
                self.run_hooks(ctx)?;
                if ctx.this.blocks_schedulers() {
                    ctx.vm.blocker_ends(ctx.pid());
                }
                crate::scheduler::sim_point();
                let unhandled = std::mem::replace(&mut self.unhandled, Chain::empty());
                Some(Stage::Signals(unhandled.chain(ctx.this.outer.close())))
            }
            Stage::Signals(signals) => {
                while !ctx.exhausted() {
                    let Some(node) = signals.next() else {
                        crate::scheduler::sim_point();
                        return Some(Stage::Relations(Box::new(Parting::new(ctx))));
                    };
                    answer_for_the_dead(ctx.vm, ctx.pid(), node.signal);
                    ctx.bump(PARTING);
                }
                None
            }
            Stage::Relations(parting) => parting.tell(ctx).then_some(Stage::Messages),
            Stage::Messages => {
                ctx.proc.messages.rewind();
                while !ctx.exhausted() {
                    if ctx.proc.messages.take().is_none() {
                        return Some(Stage::Done);
                    }
                    ctx.bump(1);
                }
                None
            }
            Stage::Before | Stage::Done => Some(Stage::Done),
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
            let Some(hook) = ctx.vm.exit_hooks().get(self.hooks) else { return Some(()) };
            self.hooks += 1;
            self.rest = hook(ctx);
            if self.rest.is_some() && ctx.exhausted() {
                return None;
            }
        }
    }
}

impl Parting {
    fn new(ctx: &mut Ctx<'_>) -> Parting {
        let tables = ctx.proc.relations.take();
        Parting {
            links: tables.links.into_values(),
            monitors: tables.monitors.into_iter(),
            suspending: tables.suspending.into_iter(),
            watchers: tables.watchers.into_iter(),
        }
    }

    /// Tells all of them, those who monitor it last: who gets a `'DOWN'` finds nothing of it with others. `false` if the slice is
    /// used up before.
    fn tell(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let (vm, pid, reason) = (ctx.vm, ctx.pid(), ctx.proc.exit_reason);
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
                            p.send(vm, Signal::Demonitor(reference));
                        }
                    }
                    Target::Port(port) => vm.port_demonitor(port, reference),
                    Target::TimeOffset => vm.clock.unwatch(reference),
                    Target::Gone | Target::GonePort => {}
                }
            } else if let Some((suspended, suspension)) = self.suspending.next() {
                for _ in 0..suspension.times {
                    if let Some(p) = vm.processes.get(suspended) {
                        p.send(vm, Signal::Resume(pid));
                    }
                }
            } else if let Some((reference, watcher)) = self.watchers.next() {
                if let Some(p) = vm.processes.get(watcher.from) {
                    p.send(vm, Signal::Down { reference, reason: Parcel::copy(reason) });
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
    let (vm, pid, process) = (ctx.vm, ctx.pid(), ctx.this);
    if (pid.data() == 0 || process.system) && !vm.is_stopping() {
        // Without `init` and the system processes nothing can run or stop in order.
        let (pid, reason) = (print::pid_text(pid.term()), print::text(ctx.proc.exit_reason, SLOGAN_TERMS));
        use crate::crash_dump::{Haste, report};
        report(&format!("System process {pid} terminated: {reason}"), None, Haste::Orderly);
        vm.stop(1);
    }
    ctx.trace_exited();
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
        // SAFETY: it came from `Box::into_raw` in the table, and TB1's readers have passed a quiescent point.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Answers a signal that a process can no longer handle.
pub(crate) fn answer_for_the_dead(vm: &'static Vm, dead: Pid, signal: Signal) {
    let noproc = || Parcel::immediate(Term::atom(am::noproc));
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
        Signal::Info { from, reference, .. } => answer(vm, from, reference, Term::UNDEFINED),
        Signal::SaveCalls { from, reference, .. } | Signal::GroupLeader { from, reference, .. } => {
            answer(vm, from, reference, Term::atom(am::badarg));
        }
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
    vm.signal_pid(to, Signal::Message(Message { term, fragment: Some(fragment), token: Term::NONE }));
}

fn answer_tagged(vm: &'static Vm, to: Pid, tag: Term, value: Term) {
    let mut fragment = Fragment::with_capacity(4 + myriad_heap::copied_size(tag));
    let tag = myriad_heap::copy_term(tag, &mut fragment);
    let term = fragment.tuple(&[tag, value]);
    vm.signal_pid(to, Signal::Message(Message { term, fragment: Some(fragment), token: Term::NONE }));
}
