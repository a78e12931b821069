//! The end of a process: names, timers, tables, links and monitors, memory.
//!
//! First it gives up its names and what else it owns; then the outer queue is closed, and all that came meanwhile is answered as
//! by one that has ended. So there is one moment at which it ends for everybody, and whoever has learned of it finds its names
//! free and its tables gone.

use crate::ctx::Ctx;
use crate::links::{Link, Target};
use crate::message::Message;
use crate::signal::{Parcel, Signal};
use crate::trace::flags;
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_sync::Chain;
use myriad_term::{Build, Pid, RefNumbers, Term, am, print};

/// Most terms of the reason that a slogan shows.
const SLOGAN_TERMS: usize = 200;

/// Ends the process of `ctx` with [`crate::Private::exit_reason`].
pub(crate) fn finish(ctx: &mut Ctx<'_>) {
    let (vm, pid, process) = (ctx.vm, ctx.pid(), ctx.this);
    ctx.trace_exit();
    if let Some(name) = process.name() {
        ctx.trace(flags::PROCS, am::unregister, &[name.term()]);
    }
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
    for hook in vm.exit_hooks() {
        hook(ctx);
    }
    if process.blocks_schedulers() {
        vm.blocker_ends(pid);
    }
    crate::scheduler::sim_point();
    let unhandled = std::mem::replace(&mut ctx.proc.unhandled, Chain::empty());
    for node in unhandled.chain(process.outer.close()) {
        answer_for_the_dead(vm, pid, node.signal);
    }
    crate::scheduler::sim_point();
    let reason = ctx.proc.exit_reason;
    let tables = ctx.proc.relations.take();
    for (other, link) in tables.links.into_values() {
        if link == Link::Active {
            let exit = ctx.exit_signal_to(other, reason, true);
            vm.signal_term(other, exit);
        }
    }
    for (reference, watcher) in tables.watchers {
        if let Some(p) = vm.processes.get(watcher.from) {
            p.send(vm, Signal::Down { reference, reason: Parcel::copy(reason) });
        }
    }
    for (reference, monitor) in tables.monitors {
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
    }
    for (suspended, suspension) in tables.suspending {
        for _ in 0..suspension.times {
            if let Some(p) = vm.processes.get(suspended) {
                p.send(vm, Signal::Resume(pid));
            }
        }
    }
    if (pid.data() == 0 || process.system) && !vm.is_stopping() {
        // Without `init` and the system processes nothing can run or stop in order.
        let (pid, reason) = (print::pid_text(pid.term()), print::text(reason, SLOGAN_TERMS));
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
