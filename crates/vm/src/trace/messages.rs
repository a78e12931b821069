//! Messages: `send` and `'receive'`, and the specifications that choose among them. A process that is `silent` sends only what
//! no specification has chosen.

use super::call::CallHost;
use super::event::{self, tracer_for};
use super::spec::Message as Said;
use super::{Filter, Filtered, flags};
use crate::ctx::Ctx;
use myriad_term::{Atom, Term, am};

impl Ctx<'_> {
    fn trace_message(&mut self, of: Filtered, mask: u32, tag: Atom, subject: &[Term], parts: &[Term]) {
        let Some(tracer) = tracer_for(self.vm, self.this, mask) else { return };
        let said = match self.vm.trace.filter(of) {
            Filter::All => Said::Plain,
            Filter::Nothing => return,
            Filter::Some(spec) => {
                let (pid, node) = (self.pid().term(), self.vm.node_name());
                // What a specification for messages may not ask (who calls) has not been compiled.
                let mut host = CallHost { ctx: self, caller: &|| None };
                match spec.run(pid, node, subject, &mut host) {
                    Some(verdict) if self.this.trace.flags() & flags::SILENT == 0 => verdict.message,
                    _ => return,
                }
            }
        };
        let (flags, scheduler, pid) = (self.this.trace.flags(), self.scheduler_number(), self.pid().term());
        let mut parts = parts.to_vec();
        match &said {
            Said::None => return,
            Said::Plain => {}
            Said::Term(parcel) => parts.push(parcel.term),
        }
        event::send(self.vm, tracer, flags, scheduler, pid, tag, &parts);
    }

    /// This process sends `message` to `to`.
    #[cold]
    pub fn trace_send(&mut self, to: Term, message: Term) {
        let nobody = to.as_local_pid().is_some_and(|pid| self.vm.processes.get(pid).is_none());
        let tag = if nobody { am::send_to_non_existing_process } else { am::send };
        self.trace_message(Filtered::Send, flags::SEND, tag, &[to, message], &[message, to]);
    }

    /// A message comes to this process.
    #[cold]
    pub fn trace_receive(&mut self, from: Term, message: Term) {
        let known = from.is_pid() || from.is_port() || from.is_atom();
        let (node, from) = (self.vm.node_name().term(), if known { from } else { Term::UNDEFINED });
        self.trace_message(Filtered::Receive, flags::RECEIVE, am::receive, &[node, from, message], &[message]);
    }
}
