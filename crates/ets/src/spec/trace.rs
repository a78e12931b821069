//! Specifications for tracing: what crate `vm` asks of them ([`Specification`]).

use super::machine::{Machine, NoHost};
use super::{Dialect, Spec};
use myriad_process::Payload;
use myriad_sync::Arc;
use myriad_term::{Arena, Atom, Build, Term, TermRef, am};
use myriad_trace::Filtered;
use myriad_trace::spec::{self, Host, Message, Specification, Verdict};

struct Traced {
    spec: Spec,
    source: Payload,
}

/// Compiles a specification for filtered events, or for calls; nothing if it is none.
pub fn compile(term: Term, of: Option<Filtered>) -> Option<Arc<dyn Specification>> {
    let dialect = match of {
        None => Dialect::Trace,
        Some(Filtered::Send) => Dialect::Send,
        Some(Filtered::Receive) => Dialect::Receive,
    };
    let spec = Spec::compile(term, dialect).ok()?;
    Some(Arc::new(Traced { spec, source: Payload::whole(term) }))
}

impl Specification for Traced {
    fn source(&self) -> TermRef<'_> {
        self.source.term()
    }

    fn run(&self, pid: Term, node: Atom, arguments: &[TermRef<'_>], host: &mut dyn Host) -> Option<Verdict> {
        let memory = Arena::new();
        let list = (&mut &memory).list(arguments);
        let mut machine = Machine::new(&self.spec, pid, node);
        machine.run_for(&self.spec, list.into(), &mut &memory, host)?;
        let message = match machine.message(list.into()) {
            None => Message::Plain,
            Some(term) if term.is(Term::TRUE) => Message::Plain,
            Some(term) if term.is(Term::FALSE) => Message::None,
            Some(term) => Message::Term(Payload::whole(term)),
        };
        let asks = |action: Atom| machine.actions.contains(&action);
        let (return_trace, exception_trace) = (asks(am::return_trace), asks(am::exception_trace));
        Some(Verdict { message, return_trace, exception_trace })
    }
}

/// A specification is tested: questions are answered, and nothing is done but to display.
pub struct Tested {
    /// The trace control word.
    pub control_word: u32,
}

impl Host for Tested {
    fn act<'m>(&mut self, name: Atom, arguments: &[TermRef<'m>], memory: &'m Arena) -> Option<TermRef<'m>> {
        match name {
            am::get_tcw | am::set_tcw | am::set_tcw_fake => Some(Term::small(i64::from(self.control_word))),
            am::display => arguments.first().map(|term| spec::display(*term)),
            _ => NoHost.act(name, arguments, memory),
        }
    }
}

/// No process is traced: what asks about one gives `undefined` or nothing.
impl Host for NoHost {
    fn act<'m>(&mut self, name: Atom, _: &[TermRef<'m>], _: &'m Arena) -> Option<TermRef<'m>> {
        Some(match name {
            am::caller | am::caller_line => Term::UNDEFINED,
            am::get_tcw => Term::small(0),
            am::is_seq_trace => Term::FALSE,
            am::get_seq_token => Term::NIL,
            _ => Term::TRUE,
        })
    }
}
