//! Messages: `send` and `'receive'`, and the specifications that choose among them.

use super::call::ask;
use super::event::{self, tracer_for};
use super::spec::{Host, Message as Said};
use super::{Filter, Filtered, flags};
use crate::Vm;
use crate::ctx::Ctx;
use myriad_term::{Arena, Atom, Term, am};

/// The world around a specification that looks at a message.
struct MessageHost {
    vm: &'static Vm,
    token: Term,
}

impl Host for MessageHost {
    fn act(&mut self, name: Atom, arguments: &[Term], memory: &mut Arena) -> Option<Term> {
        match name {
            am::caller | am::caller_line => Some(Term::UNDEFINED),
            _ => ask(self.vm, self.token, name, arguments, memory),
        }
    }
}

impl Ctx<'_> {
    fn trace_message(&mut self, of: Filtered, mask: u32, tag: Atom, subject: &[Term], parts: &[Term]) {
        let Some(tracer) = tracer_for(self.vm, self.this, mask) else { return };
        let said = match self.vm.trace.filter(of) {
            Filter::All => Said::Plain,
            Filter::Nothing => return,
            Filter::Some(spec) => {
                let mut host = MessageHost { vm: self.vm, token: self.proc.token };
                match spec.run(self.pid().term(), self.vm.node_name(), subject, &mut host) {
                    Some(verdict) => verdict.message,
                    None => return,
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
