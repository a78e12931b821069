//! Messages: `send` and `'receive'`, and the specifications that choose among them. A process that is `silent` sends only what
//! no specification has chosen.

use crate::call::CallHost;
use crate::event::tracer_for;
use crate::module::Event;
use crate::spec::Message as Said;
use crate::{Filter, Filtered, Tracing};
use myriad_term::{Atom, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::tracer::flags;

fn trace_message(
    ctx: &mut Ctx<'_>,
    of: Filtered,
    mask: u32,
    tag: Atom,
    subject: &[TermRef<'_>],
    parts: &[TermRef<'_>],
) {
    let Some(tracer) = tracer_for(ctx.vm, ctx.process, mask, tag) else { return };
    let said = match Tracing::of(ctx.vm).filter(of) {
        Filter::All => Said::Plain,
        Filter::Nothing => return,
        Filter::Some(spec) => {
            let (pid, node) = (ctx.pid().term(), ctx.vm.node_name());
            // What a specification for messages may not ask (for the caller) has not been compiled.
            let mut host = CallHost { ctx, caller: &|| None };
            match spec.run(pid, node, subject, &mut host) {
                Some(verdict) if ctx.process.trace.flags() & flags::SILENT == 0 => verdict.message,
                _ => return,
            }
        }
    };
    let (flags, scheduler, pid) = (ctx.process.trace.flags(), ctx.scheduler_number(), ctx.pid().term());
    let result = match &said {
        Said::None => return,
        Said::Plain => None,
        Said::Term(payload) => Some(payload.term()),
    };
    tracer.tell(ctx.vm, &Event { flags, scheduler, tracee: pid, tag, parts, result });
}

/// The process sends `message` to `to`.
pub(crate) fn sent(ctx: &mut Ctx<'_>, to: Term, message: Term) {
    let nobody = to.as_local_pid().is_some_and(|pid| ctx.vm.processes.get(pid).is_none());
    let tag = if nobody { am::send_to_non_existing_process } else { am::send };
    trace_message(ctx, Filtered::Send, flags::SEND, tag, &[to, message], &[message, to]);
}

/// A message, or `timeout`, comes to the process, which has the flag `'receive'`.
#[cold]
pub fn received(ctx: &mut Ctx<'_>, from: TermRef<'_>, message: TermRef<'_>) {
    let known = from.is_pid() || from.is_port() || from.is_atom();
    let (node, from) = (ctx.vm.node_name().term(), if known { from } else { Term::UNDEFINED });
    trace_message(ctx, Filtered::Receive, flags::RECEIVE, am::receive, &[node, from, message], &[message]);
}
