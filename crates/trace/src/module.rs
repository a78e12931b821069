//! Tracer modules (`{tracer, Module, State}`): NIFs that the VM asks about each event, and tells of it, where it happens.
//!
//! TM1. A function of the module is looked up at each call, as an external call does: code that has changed counts from the next event on.

use myriad_process::Payload;
use myriad_term::{Arena, Atom, Export, Mfa, Term, TermRef, am, map};
use myriad_vm::bif::Foreign;
use myriad_vm::code::Function;
use myriad_vm::tracer::flags;

/// What is told of a tracee.
#[derive(Clone, Copy)]
pub struct Event<'p, 'h> {
    /// What its messages have besides.
    pub flags: u32,
    /// The number of the scheduler from 1, 0 for a thread that is none.
    pub scheduler: usize,
    /// The process or port; of sequential tracing the label.
    pub tracee: TermRef<'h>,
    /// What happens.
    pub tag: Atom,
    /// With whom and what.
    pub parts: &'p [TermRef<'h>],
    /// What a specification adds.
    pub result: Option<TermRef<'h>>,
}

/// Kinds of events for which a module may have functions of their own, in the order of [`Kind::NAMES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Calls and returns.
    Call,
    /// Garbage collections.
    Collection,
    /// The life of ports.
    Ports,
    /// The life of processes.
    Procs,
    /// Messages received.
    Receive,
    /// Ports that run.
    RunningPorts,
    /// Processes that run.
    RunningProcs,
    /// Messages sent.
    Send,
    /// All others: `enabled/3` and `trace/5` alone.
    Other,
}

impl Kind {
    const NAMES: [Atom; 8] = [
        am::call,
        am::garbage_collection,
        am::ports,
        am::procs,
        am::receive,
        am::running_ports,
        am::running_procs,
        am::send,
    ];

    /// That of the events that these flags ask for.
    pub fn of(mask: u32) -> Kind {
        const KINDS: [(u32, Kind); 8] = [
            (flags::CALL | flags::RETURN_TO, Kind::Call),
            (flags::GARBAGE_COLLECTION, Kind::Collection),
            (flags::PORTS, Kind::Ports),
            (flags::PROCS, Kind::Procs),
            (flags::RECEIVE, Kind::Receive),
            (flags::RUNNING_PORTS, Kind::RunningPorts),
            (flags::RUNNING | flags::RUNNING_PROCS | flags::EXITING, Kind::RunningProcs),
            (flags::SEND, Kind::Send),
        ];
        KINDS.into_iter().find(|(bits, _)| mask & bits != 0).map_or(Kind::Other, |(_, kind)| kind)
    }

    /// Is the tracee that which calls the module's function, as this sees it (`enif_self`)?
    fn is_called_by_tracee(self) -> bool {
        matches!(self, Kind::Call | Kind::Collection | Kind::RunningProcs | Kind::Send)
    }
}

/// What a module has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The event is to be told.
    Trace,
    /// It is not.
    Discard,
    /// The tracee is to be traced no more: anything else, or there is no such function.
    Remove,
}

/// A module's functions of one arity: that for all kinds of events, and those of their own.
struct Functions {
    all: &'static Export,
    own: [&'static Export; 8],
}

impl Functions {
    fn of(module: Atom, name: &str, arity: u8) -> Functions {
        let export = |name: &str| {
            let function = Atom::new(name).unwrap_or(am::undefined);
            Export::intern(Mfa { module, function, arity })
        };
        Functions { all: export(name), own: Kind::NAMES.map(|kind| export(&format!("{name}_{}", kind.text()))) }
    }

    fn find(&self, kind: Kind, behind: Behind) -> Option<&'static dyn Foreign> {
        let own = self.own.get(kind as usize).and_then(|export| nif(export, behind));
        own.or_else(|| nif(self.all, behind))
    }
}

/// What finds the function that runs in the end ([`crate::breakpoint::behind`]).
pub type Behind = fn(&'static Function) -> &'static Function;

/// The NIF of a library that stands in place of a function, if one does now (TM1).
fn nif(export: &'static Export, behind: Behind) -> Option<&'static dyn Foreign> {
    behind(Function::of_export(export)).bif()?.foreign
}

/// A tracer module with its state.
pub struct ModuleTracer {
    module: Atom,
    state: Payload,
    enabled: Functions,
    trace: Functions,
    behind: Behind,
    match_spec_result: Atom,
}

// SAFETY: the state is never changed.
unsafe impl Sync for ModuleTracer {}

impl ModuleTracer {
    /// That of a module and a state.
    pub fn new(module: Atom, state: Payload, behind: Behind) -> ModuleTracer {
        ModuleTracer {
            module,
            state,
            enabled: Functions::of(module, "enabled", 3),
            trace: Functions::of(module, "trace", 5),
            behind,
            match_spec_result: Atom::new("match_spec_result").unwrap_or(am::undefined),
        }
    }

    /// The module.
    pub fn module(&self) -> Atom {
        self.module
    }

    /// Its state.
    pub fn state(&self) -> TermRef<'_> {
        self.state.term()
    }

    /// Has the module the two functions that it must have?
    pub fn is_complete(&self) -> bool {
        nif(self.enabled.all, self.behind).is_some() && nif(self.trace.all, self.behind).is_some()
    }

    /// Is an event to be told?
    pub(crate) fn asks(&self, kind: Kind, tag: Atom, tracee: TermRef<'_>) -> Answer {
        let Some(function) = self.enabled.find(kind, self.behind) else { return Answer::Remove };
        match function.observe(None, &[tag.term(), self.state(), tracee]) {
            Some(am::trace) => Answer::Trace,
            Some(am::discard) => Answer::Discard,
            _ => Answer::Remove,
        }
    }

    /// Is it to go on? All answers but `remove` say so.
    pub(crate) fn goes_on(&self, tracee: TermRef<'_>) -> bool {
        let asked = [am::trace_status.term(), self.state(), tracee];
        self.enabled
            .find(Kind::Other, self.behind)
            .is_some_and(|function| function.observe(None, &asked) != Some(am::remove))
    }

    /// Tells it of an event; `of_processor`: times are those of the processor's work.
    pub(crate) fn tell(&self, kind: Kind, of_processor: bool, event: &Event<'_, '_>) {
        let Some(function) = self.trace.find(kind, self.behind) else { return };
        let (mut memory, mut options) = (&Arena::new(), Vec::new());
        let mut parts = event.parts.iter().copied();
        let told = parts.next().unwrap_or(Term::UNDEFINED);
        options.extend(parts.next().map(|extra| (am::extra.term(), extra)));
        options.extend(event.result.map(|result| (self.match_spec_result.term(), result)));
        if event.flags & flags::SCHEDULER_ID != 0 {
            options.push((am::scheduler_id.term(), Term::small(event.scheduler as i64)));
        }
        options.extend(time(event.flags, of_processor).map(|kind| (am::timestamp.term(), kind.term())));
        let options = map::from_pairs(&mut memory, &options);
        let caller = event.tracee.as_local_pid().filter(|_| kind.is_called_by_tracee());
        function.observe(caller, &[event.tag.term(), self.state(), event.tracee, told, options]);
    }
}

/// The kind of time that the flags ask for.
fn time(flags: u32, of_processor: bool) -> Option<Atom> {
    if flags & flags::TIMESTAMP != 0 {
        Some(if of_processor { am::cpu_timestamp } else { am::timestamp })
    } else if flags & flags::STRICT_MONOTONIC_TIMESTAMP != 0 {
        Atom::new("strict_monotonic").ok()
    } else if flags & flags::MONOTONIC_TIMESTAMP != 0 {
        Some(am::monotonic)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_kinds_of_their_functions() {
        assert_eq!(Kind::of(flags::RETURN_TO), Kind::Call);
        assert_eq!(Kind::of(flags::EXITING), Kind::RunningProcs);
        assert_eq!(Kind::of(0), Kind::Other);
        for (kind, name) in [(Kind::Call, am::call), (Kind::Receive, am::receive), (Kind::Send, am::send)] {
            assert_eq!(Kind::NAMES[kind as usize], name);
        }
    }
}
